"""Rules for MariaDB, from 10.6 on: MySQL's with another collation, and REGEXP as an operator."""

from __future__ import annotations

from typing import Any

from sqlglot import exp
from sqlglot.dialects.mysql import MySQL
from sqlglot.generator import Generator

from kanon_sql.sql.dialects.mysql import rules_with
from kanon_sql.sql.dialects.rules import Rules
from kanon_sql.sql.dialects.spelling import with_handlers


class MariaDB(MySQL):
    """MySQL's grammar as a dialect of its own; defining it registers it with sqlglot."""

    def generator(self, **options: Any) -> Generator:
        made = super().generator(**options)
        return with_handlers(made, {exp.RegexpLike: lambda own, node: own.binary(node, "REGEXP")})


RULES: Rules = rules_with("utf8mb4_nopad_bin")
