"""The conversion of figures to data frames."""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib import import_module
from types import GenericAlias
from typing import Any, TypeVar, get_args

from kanon_sql.errors import MissingDriverError, plural

Row = TypeVar("Row")


class Tabular:
    """Figures that convert to a data frame."""

    def rows(self) -> list[dict[str, Any]]:
        """One mapping per row, with the JSON's names."""
        raise NotImplementedError

    def to_pandas(self) -> Any:
        """A pandas DataFrame with the JSON's column names.

        Like the other conversions it raises `MissingDriverError` where the library is missing.
        """
        return imported("pandas").DataFrame(self.rows())

    def to_polars(self) -> Any:
        """A polars DataFrame, as `to_arrow` has it."""
        return imported("polars").from_arrow(self.to_arrow())

    def to_arrow(self) -> Any:
        """A pyarrow Table. A column of several types, such as a figure with two bounds in some
        rows, holds JSON texts."""
        arrow = imported("pyarrow")
        rows = self.rows()
        names = dict.fromkeys(name for row in rows for name in row)
        columns = {name: [row.get(name) for row in rows] for name in names}
        return arrow.table({name: _one_type(column, arrow) for name, column in columns.items()})


def _one_type(values: list[Any], arrow: Any) -> Any:
    try:
        return arrow.array(
            [dict(value) if isinstance(value, Mapping) else value for value in values]
        )
    except (arrow.ArrowInvalid, arrow.ArrowTypeError):
        return arrow.array([None if value is None else json.dumps(value) for value in values])


class Rows(Tabular, tuple[Row, ...]):
    """A tuple of result parts."""

    def rows(self) -> list[dict[str, Any]]:
        return [_as_row(item) for item in self]

    def __repr__(self) -> str:
        """One line; `to_pandas()` shows the parts."""
        if not self:
            return "<no rows>"
        return (
            f"<{plural(len(self), 'row')} of {type(self[0]).__name__}: to_pandas(), to_polars(), "
            "to_arrow()>"
        )

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
        from pydantic_core import core_schema

        return core_schema.no_info_after_validator_function(
            cls,
            handler(GenericAlias(tuple, (get_args(source)[0], ...))),
        )


class Risk(Tabular, dict[str, Mapping[str, float] | None]):
    """Figures by attacker; None for one not measured."""

    def __repr__(self) -> str:
        """One line with what was measured."""
        return f"<Risk {', '.join(f'{name} {risk}' for name, risk in self.items() if risk)}>"

    def rows(self) -> list[dict[str, Any]]:
        return [{"attacker": attacker, **risk} for attacker, risk in self.items() if risk]

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
        from pydantic_core import core_schema

        return core_schema.no_info_after_validator_function(
            cls, handler(dict[str, dict[str, float] | None])
        )


def _as_row(item: Any) -> dict[str, Any]:
    """A part as a mapping with the JSON's keys."""
    row: dict[str, Any] = item.to_dict() if hasattr(item, "to_dict") else dict(vars(item))
    return row


def imported(package: str) -> Any:
    """Import a data frame package. Raises `MissingDriverError` where it is missing."""
    try:
        return import_module(package)
    except ImportError:
        raise MissingDriverError(f"{package} is not installed: pip install {package}.") from None
