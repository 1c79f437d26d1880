"""What is kept, spelled for a file such that no value changes on the way."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from kanon_sql.errors import InputError
from kanon_sql.sql.quoting import identifier
from kanon_sql.sql.tables import Column

EMPTY_IN_TEXT = {"VARCHAR", "ENUM", "BLOB"}
"""The types of which a value is an empty field in a text file."""
_NOT_IN_PARQUET = "HUGEINT|INTERVAL|TIME WITH TIME ZONE"


def as_files_have_them(columns: Iterable[Column], *, parquet: bool) -> Iterator[str]:
    """The columns of what is kept, such that no value changes in a file, and equal ones are
    spelled alike there: in DuckDB NaN has a sign, and in a text 0 has. An ENUM would bring all
    its categories.

    Raises `InputError` for a column of which Parquet has no like.
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
            # The sum of -0.0 and 0 is 0.0.
            number = quoted if parquet else f"{quoted} + 0"
            yield f"case when isnan({quoted}) then {nan} else {number} end as {quoted}"
        elif column.type == "ENUM":
            yield f"cast({quoted} as varchar) as {quoted}"
        else:
            yield quoted
