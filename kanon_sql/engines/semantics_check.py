"""Tests that a database has the SQL semantics on which every statement relies."""

from __future__ import annotations

from dataclasses import dataclass

from kanon_sql.engines.base import Engine
from kanon_sql.errors import EngineError, InputError
from kanon_sql.sql.macros import render


@dataclass(frozen=True)
class SemanticCheck:
    """A deviation that would make an audit wrong, with its consequence and remedy."""

    does: str
    wrong: str
    instead: str

    def sentence(self, engine: str) -> str:
        """Why the database is rejected."""
        return f"{engine} {self.does}, so {self.wrong}. {self.instead}"


CANARIES = {
    "kanon_texts_differ": SemanticCheck(
        "treats some of 'a', 'A' and 'a ' as equal",
        "classes would look larger than they are",
        "Connect with a collation that compares bytes and pads nothing, such as MySQL's "
        "utf8mb4_0900_bin or MariaDB's utf8mb4_nopad_bin; where there is none, audit a copy in a "
        "file.",
    ),
    "kanon_backslash_is_itself": SemanticCheck(
        "reads a backslash in a string literal differently than expected",
        "values named in a spec would be spelled differently and not be found",
        "Reset how the session reads literals (MySQL: no "
        "NO_BACKSLASH_ESCAPES; Spark: spark.sql.parser.escapedStringLiterals=false; Postgres: "
        "standard_conforming_strings=on).",
    ),
    "kanon_quote_is_itself": SemanticCheck(
        "reads a quote in a string literal differently than expected",
        "values named in a spec would be spelled differently and not be found",
        "Reset how the session reads literals, and check that the dialect is the database's own.",
    ),
    "kanon_empty_is_a_value": SemanticCheck(
        "treats the empty text as NULL",
        "two different values would count as one",
        "Switch to the mode in which they differ, or audit a copy in a file.",
    ),
    "kanon_texts_join": SemanticCheck(
        "does not join two texts with ||",
        "generalised values would not be what their level says",
        "Set the mode in which || joins texts (MySQL: PIPES_AS_CONCAT).",
    ),
    "kanon_parts_of_text": SemanticCheck(
        "does not count the characters of a text from 1",
        "generalised values would not be what their level says",
        "Check that the dialect is the database's own.",
    ),
    "kanon_nulls_are_a_group": SemanticCheck(
        "does not group all NULLs together",
        "records without a value would be in the wrong classes",
        "Set the mode of standard SQL, or audit a copy in a file.",
    ),
    "kanon_miss_is_null": SemanticCheck(
        "fills the unmatched rows of a left join with a value",
        "people whom the reference lacks would count as found in it",
        "Set it to give NULL there (ClickHouse: join_use_nulls=1).",
    ),
    "kanon_old_dates": SemanticCheck(
        "does not keep the date 1901-01-01",
        "dates of birth would be moved together into one class",
        "Set the date format to ISO and the widest type of dates (ClickHouse: Date32).",
    ),
    "kanon_quotients": SemanticCheck(
        "rounds or truncates the quotient of two numbers",
        "risks and distances would look smaller than they are",
        "Set the mode in which a cast to double gives a double.",
    ),
    "kanon_logarithms": SemanticCheck(
        "does not compute ln and exp as mathematics does",
        "entropies and distances would be wrong",
        "Check that the dialect is the database's own.",
    ),
}
"""By result column, which is 1 if the semantics are as expected."""

_OF_SPARK = "Take a session without legacy settings, or functions of its own in place of Spark's."
_CANARIES_OF_SPARK = {
    "kanon_literals": SemanticCheck(
        "reads a backslash before a quote in a string literal differently than expected",
        "values named in a spec would be spelled differently and not be found",
        _OF_SPARK,
    ),
    "kanon_texts_compare": SemanticCheck(
        "finds 'A' or 'a ' equal to 'a'",
        "conditions would select the wrong records",
        _OF_SPARK,
    ),
    "kanon_oldest_dates": SemanticCheck(
        "does not write the date 0999-12-31 as such",
        "generalised dates would not be what their level says",
        _OF_SPARK,
    ),
    "kanon_moments": SemanticCheck(
        "does not write a moment as it is in UTC",
        "generalised times would not be what their level says",
        "Set spark.sql.session.timeZone to UTC. " + _OF_SPARK,
    ),
}
CANARIES_OF = {"spark": _CANARIES_OF_SPARK, "databricks": _CANARIES_OF_SPARK}
"""Further checks by dialect."""


def require_trustworthy(engine: Engine) -> None:
    """Raise `InputError` with the first deviation found."""
    try:
        [answers] = engine.query(render("canaries", dialect=engine.dialect))
    except EngineError as error:
        raise EngineError(
            f"{engine.name} can't run the statement that tests whether its results are reliable: "
            f"{error.marked}"
        ) from None
    for column, canary in (CANARIES | CANARIES_OF.get(engine.dialect, {})).items():
        if int(answers[column]) != 1:
            raise InputError(canary.sentence(engine.name))
