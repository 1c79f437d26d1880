"""Loads the SQL macros of `templates/` and renders them; holds Python's side of the host contract.

The macros in `templates/macros/shared` are plain Jinja that dbt loads unchanged. What differs
between the two hosts has one name in the `kanon_sql` namespace and two implementations: the
functions of `HOST` here, and the macros of `templates/macros/dbt_only/host.sql` there. A column is
a `BoundColumn` or, as always in dbt, a plain name whose type nobody has looked up.
`templates/searching` holds what a search asks, here or in a warehouse, `templates/duckdb` what is
for the embedded engine alone, and `templates/warehouses` what is for the others.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

from jinja2 import StrictUndefined, Template
from jinja2.sandbox import ImmutableSandboxedEnvironment

from kanon_sql.sql.compiled import compiled
from kanon_sql.sql.host import EMBEDDED, HOST


def folder() -> Path:
    """Where the templates lie: inside the installed package, or beside it in a checkout."""
    package = Path(__file__).parent.parent
    installed = package / "templates"
    return installed if installed.is_dir() else package.parent / "templates"


_MACRO = re.compile(
    r"{%-?\s*macro\s+(?P<name>\w+)\(.*?{%-?\s*endmacro\s*-?%}", re.DOTALL | re.ASCII
)


class _Source(NamedTuple):
    """Where a macro is written: its own text, with as many empty lines above it as the file has,
    so that an error tells the line."""

    path: Path
    text: str


@cache
def _sources() -> dict[str, _Source]:
    """Every macro by its name, as it is written."""
    found: dict[str, _Source] = {}
    for place in ("macros/shared", "searching", "duckdb", "warehouses"):
        for path in sorted((folder() / place).glob("*.sql")):
            text = path.read_text(encoding="utf-8")
            for macro in _MACRO.finditer(text):
                name = macro["name"]
                if name in found or name in HOST or name in EMBEDDED:
                    raise RuntimeError(f"the macro {name} is defined twice, in {path.name} too")
                above = "\n" * text.count("\n", 0, macro.start())
                found[name] = _Source(path, above + macro[0])
    return found


@cache
def _names_by_file() -> dict[Path, list[str]]:
    """The macros that each file holds."""
    found: dict[Path, list[str]] = {}
    for name, source in _sources().items():
        found.setdefault(source.path, []).append(name)
    return found


class _Macros(dict[str, Any]):
    """Host functions and macros by name: what `kanon_sql.name` finds in a macro.

    A macro is compiled when it is first used, since a question uses few of them.
    """

    def __init__(self) -> None:
        super().__init__(HOST | EMBEDDED)
        self._environment = ImmutableSandboxedEnvironment(
            undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, autoescape=False
        )
        self._environment.globals["kanon_sql"] = _Namespace(self)
        self._environment.globals["return"] = _return

    def __missing__(self, name: str) -> Any:
        source = _sources()[name]
        beside = {each: partial(self._called, each) for each in _names_by_file()[source.path]}
        code = compiled(
            name,
            source.text,
            source.path,
            lambda: self._environment.compile(source.text, name, str(source.path)),
        )
        known = self._environment.make_globals(beside)
        template = Template.from_code(self._environment, code, known)
        self[name] = macro = _Macro(getattr(template.module, name))
        return macro

    def _called(self, name: str, *by_place: Any, **by_name: Any) -> Any:
        """A macro as those of its own file call it."""
        return self[name](*by_place, **by_name)


class _ReturnedError(Exception):
    """Ends a macro that gives a value other than a text, as dbt's `return` does."""

    def __init__(self, value: Any) -> None:
        super().__init__()
        self.value = value


def _return(value: Any) -> None:
    raise _ReturnedError(value)


@dataclass(frozen=True)
class _Macro:
    """A macro that may return a value instead of a text."""

    written: Any

    @property
    def arguments(self) -> tuple[str, ...]:
        """The names of what it takes."""
        return tuple(self.written.arguments)

    def __call__(self, *by_place: Any, **by_name: Any) -> Any:
        try:
            return self.written(*by_place, **by_name)
        except _ReturnedError as returned:
            return returned.value


class _Namespace:
    """The macros as attributes, which is how macros call each other."""

    def __init__(self, macros: _Macros) -> None:
        self._macros = macros

    def __getattr__(self, name: str) -> Any:
        try:
            return self._macros[name]
        except KeyError:
            raise AttributeError(name) from None


@cache
def _macros() -> _Macros:
    return _Macros()


def render(macro: str, **arguments: Any) -> str:
    """The text of one macro, without the blank lines around it."""
    text: str = _macros()[macro](**arguments)
    return text.strip()


def render_known(macro: str, **arguments: Any) -> str:
    """The text of one macro, given those of the arguments that it takes."""
    return render(macro, **_taken(macro, arguments))


def declared(macro: str, **arguments: Any) -> list[Mapping[str, str]]:
    """The list that one macro returns, given those of the arguments that it takes."""
    found: list[Mapping[str, str]] = _macros()[macro](**_taken(macro, arguments))
    return found


def _taken(macro: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    takes = _macros()[macro].arguments
    return {name: arguments[name] for name in takes if name in arguments}


def macro_names() -> list[str]:
    """Every macro, host functions left out."""
    return sorted(_sources())
