"""Type families of columns, by type name."""

from __future__ import annotations

_FAMILIES = {
    "text": ("VARCHAR", "CHAR", "TEXT", "STRING", "ENUM", "UUID"),
    "number": (
        "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "UTINYINT", "USMALLINT", "UINTEGER",
        "UBIGINT", "UHUGEINT", "DOUBLE", "FLOAT", "REAL", "DECIMAL", "NUMERIC",
    ),
    "time": ("DATE", "TIMESTAMP"),
    "boolean": ("BOOL",),
    "span": ("INTERVAL", "TIME WITH TIME ZONE"),
    "nested": ("STRUCT", "MAP", "UNION", "LIST", "VARIANT"),
    "nothing": ('"NULL"', "NULL"),
}  # fmt: skip


def family(type: str) -> str:
    """The type family of a column type; a type without one is returned as is.

    >>> family("DECIMAL(10,2)"), family("VARCHAR"), family("INTEGER[]"), family("BLOB")
    ('number', 'text', 'nested', 'BLOB')
    """
    if type.endswith("]"):
        return "nested"
    return next((name for name, types in _FAMILIES.items() if type.startswith(types)), type)
