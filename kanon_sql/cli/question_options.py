"""The options that are part of the question."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from kanon_sql.cli.fields import Fields
from kanon_sql.cli.option_kinds import (
    COLUMNS,
    Share,
    check_option,
    question_count,
    question_option,
)
from kanon_sql.spec.other_tables import AGAINST, EARLIER, REFERENCE, OtherTableKind

OF_TABLE = Fields("spec/spec.py", "TableSpec")
_OF_OTHERS = {
    REFERENCE: Fields("spec/question_parts.py", "ReferenceSpec"),
    EARLIER: Fields("spec/question_parts.py", "EarlierReleaseSpec"),
    AGAINST: Fields("spec/question_parts.py", "AgainstSpec"),
}
_METAVARS = {
    "columns": "COL=COL,…",
    "qi": "COL,…",
    "by": "COL,…",
    "where": "EXPR",
    "entity": "COL",
    "weight": "COL",
    "level": "COL=N,…",
    "header": "yes|no",
}
_FIELDS = {"qi": "quasi_identifiers", "level": "levels"}
_EXAMPLES = {"columns": ": zip=zip_code.", "level": ": zip=2."}


def other_table(kind: OtherTableKind, help: str, *parts: str) -> Iterator[Callable[[Any], Any]]:
    """The option for a kind of other table, and one for each of its parts."""
    yield question_option(f"--{kind.prefix}", help, multiple=True, metavar="[NAME=]SRC")
    for part in parts:
        yield _OF_OTHERS[kind].option(
            _FIELDS.get(part, part),
            f"--{kind.prefix}-{part}",
            f"{kind.prefix}_{part}",
            ends=_EXAMPLES.get(part, "."),
            multiple=True,
            metavar=f"[NAME:]{_METAVARS[part]}",
            callback=None,
        )


_ENTITY = OF_TABLE.option("entity", metavar="COL")
_ROLES = (OF_TABLE.option("sensitive"), OF_TABLE.option("identifiers"))
PARTS = (
    OF_TABLE.option("quasi_identifiers", "--qi", "--quasi-identifiers", **COLUMNS),
    OF_TABLE.option("events", **COLUMNS),
    *_ROLES,
    _ENTITY,
)
DEMANDS = (
    question_count("--k", "k-anonymity: at least N records in each class."),
    question_count("--k-map", "k-map: at least N matches in the reference."),
    question_count(
        "--l", "l-diversity: at least N sensitive values in each class, for each --sensitive."
    ),
    question_option(
        "--t",
        "t-closeness: each class within distance X of the whole table, for each --sensitive.",
        type=Share(),
        metavar="X",
    ),
    check_option("Any model, as in l_diversity:l=3,sensitive=COL; kanon-sql explain lists them."),
    *other_table(
        REFERENCE,
        "The reidentification dataset. With several, start the value of each option below "
        "with NAME and a colon, and name one in --check.",
        *("columns", "where", "entity", "weight", "level", "header"),
    ),
)
EARLIER_RELEASES = tuple(
    other_table(
        EARLIER,
        "An earlier release of the same people, linked to this one by --entity. With "
        "several, start the value of each option below with NAME and a colon.",
        *("columns", "qi", "entity", "where", "level", "header"),
    )
)
FAULTS = OF_TABLE.option("hierarchy_faults")
HIERARCHIES = (
    question_option(
        "--hierarchy",
        "The generalisation hierarchy of a column: a file, a table, or width:5,10 round:10 "
        "mask:right date:month,year,5y prefix:3 cuts:18,65 suppress.",
        multiple=True,
        metavar="COL=HOW",
    ),
    question_option(
        "--clip",
        "Replace values outside the range by its nearer end, from level 1 on; level 0 is the raw "
        "value: age=10:90.",
        multiple=True,
        metavar="COL=LOW:HIGH",
    ),
    FAULTS,
)
POLICY = (OF_TABLE.option("policy", multiple=True, metavar="ID|FILE"),)
LEVELS = (OF_TABLE.option("levels", "--level", ends=": age=1,zip=2."),)
RECORDS_READ = (OF_TABLE.option("where", metavar="EXPR"), OF_TABLE.option("first"))
RECORDS = (*RECORDS_READ, OF_TABLE.option("nulls"), OF_TABLE.option("sensitive_nulls"))
OTHERS_KNOWN = (OF_TABLE.option("with_other_sensitive"),)
SOURCE = (
    OF_TABLE.option("weight", metavar="COL"),
    OF_TABLE.option("null_strings", "--null-string", metavar="TEXT"),
    OF_TABLE.option("delimiter", metavar="C"),
    OF_TABLE.option("decimal"),
    OF_TABLE.option("header"),
    OF_TABLE.option("connect", metavar="URL"),
)
RELEASE_QUESTION = (
    *PARTS,
    *DEMANDS,
    *EARLIER_RELEASES,
    *HIERARCHIES,
    Fields("anonymizing/release/options.py", "ReleaseOptions").option(
        "levels", "--level", ends=": age=1,zip=2."
    ),
    *RECORDS,
    *OTHERS_KNOWN,
    *SOURCE,
)
QUESTION = (
    *PARTS,
    *DEMANDS,
    *POLICY,
    *EARLIER_RELEASES,
    *HIERARCHIES,
    *LEVELS,
    *RECORDS,
    *OTHERS_KNOWN,
    *SOURCE,
)
INITIAL_PARTS = (*_ROLES, _ENTITY)
