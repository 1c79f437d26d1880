"""Loads the SQL macros of `templates/` and renders them; Python's side of the host contract.

The macros in `templates/macros/shared` are plain Jinja that dbt loads unchanged. Where the hosts
differ, a name in the `kanon_sql` namespace has two implementations: the functions of `HOST` here,
and the macros of `templates/macros/dbt_only/host.sql` in dbt. A column is a `BoundColumn` or, as
always in dbt, a plain name of unknown type. `templates/searching` is for the lattice search on any
engine, `templates/duckdb` for the embedded engine, `templates/warehouses` for the others.
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
    """The templates folder: inside the installed package, or next to it in a checkout."""
    package = Path(__file__).parent.parent
    installed = package / "templates"
    return installed if installed.is_dir() else package.parent / "templates"


_MACRO = re.compile(
    r"{%-?\s*macro\s+(?P<name>\w+)\(.*?{%-?\s*endmacro\s*-?%}", re.DOTALL | re.ASCII
)


class _Source(NamedTuple):
    """A macro's text, padded with empty lines so that errors report the file's line numbers."""

    path: Path
    text: str


@cache
def _sources() -> dict[str, _Source]:
    """Every macro's source by name."""
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
    """Macro names by file."""
    found: dict[Path, list[str]] = {}
    for name, source in _sources().items():
        found.setdefault(source.path, []).append(name)
    return found


class _Macros(dict[str, Any]):
    """Host functions and macros by name, resolved as `kanon_sql.name` within macros.

    A macro is compiled on first use, as a question needs few of them.
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
        siblings = {each: partial(self._called, each) for each in _names_by_file()[source.path]}
        code = compiled(
            name,
            source.text,
            source.path,
            lambda: self._environment.compile(source.text, name, str(source.path)),
        )
        known = self._environment.make_globals(siblings)
        template = Template.from_code(self._environment, code, known)
        self[name] = macro = _Macro(getattr(template.module, name))
        return macro

    def _called(self, name: str, *by_place: Any, **by_name: Any) -> Any:
        """Call a macro from another one of the same file."""
        return self[name](*by_place, **by_name)


class _ReturnedError(Exception):
    """Ends a macro with a non-text value, like dbt's `return`."""

    def __init__(self, value: Any) -> None:
        super().__init__()
        self.value = value


def _return(value: Any) -> None:
    raise _ReturnedError(value)


@dataclass(frozen=True)
class _Macro:
    """A macro that may return a value instead of text."""

    written: Any

    @property
    def arguments(self) -> tuple[str, ...]:
        """Parameter names."""
        return tuple(self.written.arguments)

    def __call__(self, *by_place: Any, **by_name: Any) -> Any:
        try:
            return self.written(*by_place, **by_name)
        except _ReturnedError as returned:
            return returned.value


class _Namespace:
    """The macros as attributes of the `kanon_sql` namespace."""

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
    """Render a macro, stripped."""
    text: str = _macros()[macro](**arguments)
    return text.strip()


def render_known(macro: str, **arguments: Any) -> str:
    """Render a macro with those of the arguments that it declares."""
    return render(macro, **_taken(macro, arguments))


def declared(macro: str, **arguments: Any) -> list[Mapping[str, str]]:
    """The list a macro returns, given those of the arguments that it declares."""
    found: list[Mapping[str, str]] = _macros()[macro](**_taken(macro, arguments))
    return found


def _taken(macro: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    takes = _macros()[macro].arguments
    return {name: arguments[name] for name in takes if name in arguments}


def macro_names() -> list[str]:
    """Names of all macros, without host functions."""
    return sorted(_sources())
