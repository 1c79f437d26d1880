"""Rules for MariaDB, from 10.6 on: MySQL's with another collation, and REGEXP as an operator."""

from __future__ import annotations

from typing import ClassVar

from sqlglot import exp
from sqlglot.dialects.mysql import MySQL
from sqlglot.generators.mysql import MySQLGenerator

from kanon_sql.sql.dialects.mysql import rules_with
from kanon_sql.sql.dialects.rules import Rules


class MariaDB(MySQL):
    """MySQL's grammar as a dialect of its own; defining it registers it with sqlglot."""

    class Generator(MySQLGenerator):
        TRANSFORMS: ClassVar = {
            **MySQLGenerator.TRANSFORMS,
            exp.RegexpLike: lambda self, node: self.binary(node, "REGEXP"),
        }


RULES: Rules = rules_with("utf8mb4_nopad_bin")
