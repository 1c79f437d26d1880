"""The semantics that a database must have, tested on connecting."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from kanon_sql.engines.base import Engine
from kanon_sql.errors import EngineError, InputError
from kanon_sql.question.yaml_document import shipped
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


@cache
def canaries(dialect: str) -> Mapping[str, SemanticCheck]:
    """The semantic checks of a dialect, by the result column that is 1 if the database complies."""
    checks = shipped("kanon_sql.engines", "canaries.yml")
    of_spark = checks["spark"] if dialect in ("spark", "databricks") else {}
    return {
        column: SemanticCheck(**words)
        for column, words in (checks["every database"] | of_spark).items()
    }


def require_trustworthy(engine: Engine) -> None:
    """Raise `InputError` with the first deviation found."""
    try:
        [answers] = engine.query(render("canaries", dialect=engine.dialect))
    except EngineError as error:
        raise EngineError(
            f"{engine.name} can't run the statement that tests whether its results are reliable: "
            f"{error.marked}"
        ) from None
    for column, canary in canaries(engine.dialect).items():
        if int(answers[column]) != 1:
            raise InputError(canary.sentence(engine.name))
