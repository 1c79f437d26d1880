"""The options that are part of the question."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import click

from kanon_sql.cli.option_kinds import COLUMNS, Share, WholeNumber, question_option
from kanon_sql.spec.other_tables import EARLIER, REFERENCE, OtherTableKind

_METAVARS = {
    "columns": "COL=COL,…",
    "qi": "COL,…",
    "where": "EXPR",
    "entity": "COL",
    "weight": "COL",
    "level": "COL=N,…",
    "header": "yes|no",
}
_WHERE = "Count only {prefix} records that meet this condition."
_ENTITY = "The {noun}'s column that identifies the person."
_HEADER = "Whether the first line of the {noun} names its columns."


def _other_table(kind: OtherTableKind, help: str, **parts: str) -> Iterator[Callable[[Any], Any]]:
    """The option for a kind of other table, and one for each of its parts with its help."""
    yield question_option(f"--{kind.prefix}", multiple=True, metavar="[NAME=]SRC", help=help)
    for part, text in parts.items():
        yield question_option(
            f"--{kind.prefix}-{part}",
            multiple=True,
            metavar=f"[NAME:]{_METAVARS[part]}",
            help=text.format(prefix=kind.prefix, noun=kind.noun),
        )


PARTS = (
    question_option(
        "--qi",
        "--quasi-identifiers",
        **COLUMNS,
        help="Quasi-identifiers; '*' takes every column without another role.",
    ),
    question_option(
        "--events",
        **COLUMNS,
        help="The columns that make an event of a person; an attacker knows some events. Needs "
        "--entity.",
    ),
    question_option("--sensitive", **COLUMNS, help="Sensitive attributes, such as a diagnosis."),
    question_option(
        "--identifiers", **COLUMNS, help="Direct identifiers, such as a name; never published."
    ),
    question_option(
        "--entity",
        metavar="COL",
        help="The column that identifies the person; k then counts people instead of records.",
    ),
)
DEMANDS = (
    question_option(
        "--k",
        type=WholeNumber(),
        metavar="N",
        help="k-anonymity: at least N records in each class.",
    ),
    question_option(
        "--k-map",
        type=WholeNumber(),
        metavar="N",
        help="k-map: at least N matches in the reference.",
    ),
    question_option(
        "--l",
        type=WholeNumber(),
        metavar="N",
        help="l-diversity: at least N sensitive values in each class, for each --sensitive.",
    ),
    question_option(
        "--t",
        type=Share(),
        metavar="X",
        help="t-closeness: each class within distance X of the whole table, for each --sensitive.",
    ),
    question_option(
        "--check",
        multiple=True,
        metavar="MODEL[:KEY=VALUE,…]",
        help="Any model, as in l_diversity:l=3,sensitive=COL; kanon-sql explain lists them.",
    ),
    *_other_table(
        REFERENCE,
        "The reidentification dataset. With several, start the value of each option below "
        "with NAME and a colon, and name one in --check.",
        columns="The reference's name of a quasi-identifier, if it differs: zip=zip_code.",
        where=_WHERE,
        entity=_ENTITY,
        weight="The reference's column with the number of people each record stands for.",
        level="Generalise the reference to the levels that the table already has: zip=2, by the "
        "table's --hierarchy.",
        header=_HEADER,
    ),
)
EARLIER_RELEASES = tuple(
    _other_table(
        EARLIER,
        "An earlier release of the same people, linked to this one by --entity. With "
        "several, start the value of each option below with NAME and a colon.",
        columns="The earlier release's name of a quasi-identifier, a sensitive attribute or the "
        "entity, if it differs.",
        qi="The earlier release's quasi-identifiers, if they differ.",
        entity=_ENTITY,
        where=_WHERE,
        level="Generalise the earlier release to the levels that were published: zip=2, by the "
        "table's --hierarchy.",
        header=_HEADER,
    )
)
HIERARCHIES = (
    question_option(
        "--hierarchy",
        multiple=True,
        metavar="COL=HOW",
        help="The generalisation hierarchy of a column: a file, a table, or width:5,10 round:10 "
        "mask:right date:month,year,5y prefix:3 cuts:18,65 suppress.",
    ),
    question_option(
        "--clip",
        multiple=True,
        metavar="COL=LOW:HIGH",
        help="Replace values outside the range by its nearer end, before any level: age=10:90.",
    ),
    question_option(
        "--hierarchy-faults",
        type=click.Choice(["error", "warn"]),
        help="If a hierarchy is not a tree: refuse it (default), or warn.",
    ),
)
POLICY = (
    question_option(
        "--policy",
        multiple=True,
        metavar="ID|FILE",
        help="The rules of an institution, as kanon-sql policy lists them; a threshold for cells "
        "becomes k-anonymity.",
    ),
)
LEVELS = (
    question_option(
        "--level",
        multiple=True,
        metavar="COL=N,…",
        help="Generalise the table to these levels first: age=1,zip=2.",
    ),
)
RECORDS = (
    question_option("--where", metavar="EXPR", help="Only records that meet this condition."),
    question_option(
        "--first",
        type=WholeNumber(),
        metavar="N",
        help="Only the first N records, in the file's order.",
    ),
    question_option(
        "--nulls",
        type=click.Choice(["value", "wildcard"]),
        help="NULL in a quasi-identifier: a value of its own (default), or matches every value.",
    ),
    question_option(
        "--sensitive-nulls",
        type=click.Choice(["value", "unknown"]),
        help="NULL in a sensitive attribute: a value of its own (default), or unknown.",
    ),
)
RECORDS_READ = RECORDS[:2]
OTHERS_KNOWN = (
    question_option(
        "--with-other-sensitive",
        is_flag=True,
        help="Assume that the attacker may know a person's other sensitive attributes.",
    ),
)
SOURCE = (
    question_option(
        "--weight", metavar="COL", help="The survey weight: how many people a record represents."
    ),
    question_option(
        "--null-string",
        multiple=True,
        metavar="TEXT",
        help="Text that means NULL, in the text files that are read or written.",
    ),
    question_option(
        "--delimiter", metavar="C", help="The character that separates the fields of a text file."
    ),
    question_option(
        "--decimal",
        type=click.Choice([".", ","]),
        default=".",
        help="The mark before the decimals of a text file's numbers.",
    ),
    question_option(
        "--header",
        type=click.Choice(["yes", "no"]),
        help="Whether the first line of a text file names its columns; needed if it looks like "
        "a record.",
    ),
    question_option(
        "--connect",
        metavar="URL",
        help="The database of the table: duckdb:FILE, sqlite:FILE, postgresql://…, snowflake://…",
    ),
)
RELEASE_QUESTION = (
    *PARTS,
    *DEMANDS,
    *EARLIER_RELEASES,
    *HIERARCHIES,
    question_option(
        "--level",
        multiple=True,
        metavar="COL=N,…",
        help="Release at these levels and search none: age=1,zip=2; the others stay raw.",
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
INITIAL_PARTS = (
    question_option("--sensitive", **COLUMNS, help="Sensitive attributes, if decided."),
    question_option("--identifiers", **COLUMNS, help="Direct identifiers, if decided."),
    question_option(
        "--entity",
        metavar="COL",
        help="The column that identifies the person; people are counted then.",
    ),
)
