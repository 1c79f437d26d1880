"""Maps ClickHouse types to DuckDB's, and normalises columns before they are grouped."""

from __future__ import annotations

import re

_NAMES = {
    "Int8": "TINYINT",
    "Int16": "SMALLINT",
    "Int32": "INTEGER",
    "Int64": "BIGINT",
    "Int128": "HUGEINT",
    "Int256": "HUGEINT",
    "UInt8": "UTINYINT",
    "UInt16": "USMALLINT",
    "UInt32": "UINTEGER",
    "UInt64": "UBIGINT",
    "UInt128": "UHUGEINT",
    "UInt256": "UHUGEINT",
    "Float32": "FLOAT",
    "BFloat16": "FLOAT",
    "Float64": "DOUBLE",
    "Decimal": "DECIMAL",
    "Bool": "BOOLEAN",
    "UUID": "UUID",
    "Nothing": '"NULL"',
    **dict.fromkeys(("Date", "Date32"), "DATE"),
    **dict.fromkeys(("DateTime", "DateTime64"), "TIMESTAMP"),
    **dict.fromkeys(("Time", "Time64"), "TIME"),
    **dict.fromkeys(("String", "FixedString", "Enum8", "Enum16", "IPv4", "IPv6"), "VARCHAR"),
}


def duckdb_type(type: str) -> str:
    """DuckDB's name of a column type; incomparable types become VARIANT, which is rejected.

    >>> [duckdb_type(type) for type in ("LowCardinality(Nullable(String))", "Decimal(9, 2)")]
    ['VARCHAR', 'DECIMAL(9, 2)']
    """
    inner = _unwrapped(type)
    name = _NAMES.get(inner.partition("(")[0], "VARIANT")
    return inner.upper() if name == "DECIMAL" else name


def put_right(name: str, type: str) -> str | None:
    """The expression to read instead of a column, or None.

    It normalises floats, whose equal values would form several groups, and casts types that don't
    compare with any other.
    """
    inner = _unwrapped(type)
    match inner.partition("(")[0]:
        case "Float64":
            return f"if(isNaN({name}), nan, {name} + 0.)"
        case "Float32" | "BFloat16":
            return f"toFloat32(if(isNaN({name}), nan, {name} + 0.))"
        case "FixedString" | "Enum8" | "Enum16" | "IPv4" | "IPv6":
            return f"toString({name})"
        case "Date":
            return f"toDate32({name})"
        case "UInt64":
            return f"toDecimal128({name}, 0)"
    return None


def _unwrapped(type: str) -> str:
    """The type without storage wrappers.

    >>> _unwrapped("LowCardinality(Nullable(FixedString(2)))")
    'FixedString(2)'
    """
    found = re.fullmatch(
        r"(?:(?:LowCardinality|Nullable)\(|SimpleAggregateFunction\(\w+, )(.*)\)", type
    )
    return _unwrapped(found[1]) if found else type
