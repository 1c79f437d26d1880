"""The casts that write a relation to a file without changing a value."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from kanon_sql.errors import InputError
from kanon_sql.sql.quoting import identifier
from kanon_sql.sql.tables import Column

EMPTY_IN_TEXT = {"VARCHAR", "ENUM", "BLOB"}
"""The types with a value that a text file represents as an empty field."""
_NOT_IN_PARQUET = "HUGEINT|INTERVAL|TIME WITH TIME ZONE"


def as_files_have_them(columns: Iterable[Column], *, parquet: bool) -> Iterator[str]:
    """SELECT expressions for an export that preserves values and spells equal ones alike.

    NaN has a sign in DuckDB, and zero has one in text. An ENUM would export all its categories.
    Raises `InputError` for a type without an equivalent in Parquet.
    """
    for column in columns:
        huge = column.type in ("HUGEINT", "UHUGEINT")
        if parquet and not huge and re.search(_NOT_IN_PARQUET, column.type):
            raise InputError(
                f'a Parquet file can\'t hold the values of "{column.name}" ({column.type}) as '
                "they are. Write a .csv, or cast the column in a view."
            )
        quoted = identifier(column.name)
        if parquet and huge:
            yield f"cast({quoted} as decimal(38, 0)) as {quoted}"
        elif column.type in ("DOUBLE", "FLOAT"):
            nan = f"cast('nan' as {column.type})"
            # -0.0 + 0 is 0.0.
            number = quoted if parquet else f"{quoted} + 0"
            yield f"case when isnan({quoted}) then {nan} else {number} end as {quoted}"
        elif column.type == "ENUM":
            yield f"cast({quoted} as varchar) as {quoted}"
        else:
            yield quoted
