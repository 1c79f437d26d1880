"""Options built from the fields of a model: type, choices, default and sentence.

A field is read in the model's source, as `spec/models/described` reads its sentence: importing the
model takes three times as long as help does.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from inspect import cleandoc
from itertools import pairwise
from pathlib import Path
from typing import Any

import click

from kanon_sql.cli.option_kinds import (
    COLUMNS,
    LEVELS_OF,
    WEIGHTS_OF,
    Command,
    Seconds,
    WholeNumber,
    declared_option,
)

_ROOT = Path(__file__).parent.parent
_END = re.compile(r"^(?=    def |    @|\S)", re.MULTILINE)
_LISTS = {
    "ColumnNames": COLUMNS,
    "tuple[str, ...]": COLUMNS,
    "dict[str, Annotated[int, Field(ge=0)]]": LEVELS_OF,
    "Mapping[str, int]": LEVELS_OF,
    "Mapping[str, float]": WEIGHTS_OF,
}


@dataclass(frozen=True)
class Field:
    """A field as the source of its model declares it."""

    annotation: str
    """Without `| None`."""
    default: Any
    text: str

    @property
    def sentence(self) -> str:
        """The first paragraph; what follows it is about spec files."""
        return " ".join(self.text.partition("\n\n")[0].split())

    @property
    def settings(self) -> dict[str, Any]:
        """Type and metavar, as click has them."""
        is_choice = self.annotation.startswith("Literal[")
        choices = re.findall(r"""["'](.+?)["']""", self.annotation) if is_choice else []
        match self.annotation:
            case "bool" if self.default is False:
                return {"is_flag": True}
            case "bool":
                return {"type": click.Choice(["yes", "no"])}
            case "int" | "Count":
                return {"type": WholeNumber(), "metavar": "N"}
            case "float":
                return {"type": Seconds(), "metavar": "SECONDS"}
        return {"type": click.Choice(choices)} if is_choice else _LISTS.get(self.annotation, {})


@dataclass(frozen=True)
class Fields:
    """The fields of a model, and the options built from them."""

    file: str
    model: str
    is_question: bool = True
    """Whether they are part of the question, whose defaults are the model's alone."""

    @cached_property
    def _source(self) -> str:
        return (_ROOT / self.file).read_text(encoding="utf-8")

    @cached_property
    def _statements(self) -> dict[str, tuple[ast.AnnAssign, ast.stmt]]:
        """Each field with the statement below it."""
        body = self._source.partition(f"\nclass {self.model}")[2].partition(":\n")[2]
        own = _END.split(body, maxsplit=1)[0]
        parts = ast.parse(f"if True:\n{own}\n    ...").body[0].body  # type: ignore[attr-defined]
        return {
            ast.unparse(each.target): (each, below)
            for each, below in pairwise(parts)
            if isinstance(each, ast.AnnAssign)
        }

    def __getitem__(self, name: str) -> Field:
        declared, below = self._statements[name]
        default = None
        with suppress(ValueError):
            value = declared.value and self._constant(declared.value)
            default = value and ast.literal_eval(value)
        return Field(
            self._constant(declared.annotation).removesuffix(" | None"),
            default,
            cleandoc(ast.literal_eval(below.value)) if isinstance(below, ast.Expr) else "",
        )

    def _constant(self, declared: ast.expr) -> str:
        """An expression, or what its name stands for in the model's file."""
        text = ast.unparse(declared)
        found = self._source.partition(f"\n{text} = ")[2].partition("\n")[0]
        return found or text

    def option(
        self, name: str, *flags: str, ends: str = ".", **settings: Any
    ) -> Callable[[Command], Command]:
        """The option of a field, by default with its name as flag; `ends` ends its sentence."""

        def decorate(command: Command) -> Command:
            field = self[name]
            declared = field.settings | {"help": field.sentence.removesuffix(".") + ends}
            if not self.is_question and isinstance(field.default, str | int | float):
                declared |= {"default": field.default, "show_default": bool(field.default)}
            named = flags or (f"--{name.replace('_', '-')}",)
            parameter = () if named[-1].isidentifier() else (name,)
            make = declared_option(
                *named, *parameter, is_question=self.is_question, **declared | settings
            )
            return make(command)

        return decorate
