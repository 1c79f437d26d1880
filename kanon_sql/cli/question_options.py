"""The options that are part of the question."""

from __future__ import annotations

import click

from kanon_sql.cli.option_kinds import COLUMNS, Decimal, WholeNumber, asked

PARTS = (
    asked(
        "--qi", **COLUMNS, help="Quasi-identifiers; '*' takes every column without another role."
    ),
    asked("--sensitive", **COLUMNS, help="Sensitive attributes, such as a diagnosis."),
    asked("--identifiers", **COLUMNS, help="Direct identifiers, such as a name; never published."),
    asked(
        "--entity",
        metavar="COL",
        help="The column that identifies the person; k then counts people instead of records.",
    ),
)
DEMANDS = (
    asked(
        "--k",
        type=WholeNumber(),
        metavar="N",
        help="k-anonymity: at least N records in each class.",
    ),
    asked(
        "--k-map",
        type=WholeNumber(),
        metavar="N",
        help="k-map: at least N matches in the reference.",
    ),
    asked(
        "--l",
        type=WholeNumber(),
        metavar="N",
        help="l-diversity: at least N sensitive values in each class, for each --sensitive.",
    ),
    asked(
        "--t",
        type=Decimal(),
        metavar="X",
        help="t-closeness: each class within distance X of the whole table, for each --sensitive.",
    ),
    asked(
        "--check",
        multiple=True,
        metavar="MODEL[:KEY=VALUE,…]",
        help="Any model, as in l_diversity:l=3,sensitive=COL; kanon-sql explain lists them.",
    ),
    asked(
        "--reference",
        multiple=True,
        metavar="[NAME=]SRC",
        help="The reidentification dataset. With several, start the value of each option below "
        "with NAME and a colon, and name one in --check.",
    ),
    asked(
        "--reference-columns",
        multiple=True,
        metavar="[NAME:]COL=COL,…",
        help="The reference's name of a quasi-identifier, if it differs: zip=zip_code.",
    ),
    asked(
        "--reference-where",
        multiple=True,
        metavar="[NAME:]EXPR",
        help="Count only reference records that meet this condition.",
    ),
    asked(
        "--reference-entity",
        multiple=True,
        metavar="[NAME:]COL",
        help="The reference's column that identifies the person.",
    ),
    asked(
        "--reference-weight",
        multiple=True,
        metavar="[NAME:]COL",
        help="The reference's column with the number of people each record stands for.",
    ),
    asked(
        "--reference-level",
        multiple=True,
        metavar="[NAME:]COL=N,…",
        help="Generalise the reference to the levels that the table already has: zip=2, by the "
        "table's --hierarchy.",
    ),
    asked(
        "--reference-header",
        multiple=True,
        metavar="[NAME:]yes|no",
        help="Whether the first line of the reference names its columns.",
    ),
)
EARLIER = (
    asked(
        "--earlier",
        multiple=True,
        metavar="[NAME=]SRC",
        help="An earlier release of the same people, linked to this one by --entity. With "
        "several, start the value of each option below with NAME and a colon.",
    ),
    asked(
        "--earlier-columns",
        multiple=True,
        metavar="[NAME:]COL=COL,…",
        help="The earlier release's name of a quasi-identifier, a sensitive attribute or the "
        "entity, if it differs.",
    ),
    asked(
        "--earlier-qi",
        multiple=True,
        metavar="[NAME:]COL,…",
        help="The earlier release's quasi-identifiers, if they differ.",
    ),
    asked(
        "--earlier-entity",
        multiple=True,
        metavar="[NAME:]COL",
        help="The earlier release's column that identifies the person.",
    ),
    asked(
        "--earlier-where",
        multiple=True,
        metavar="[NAME:]EXPR",
        help="Count only earlier records that meet this condition.",
    ),
    asked(
        "--earlier-level",
        multiple=True,
        metavar="[NAME:]COL=N,…",
        help="Generalise the earlier release to the levels that were published: zip=2, by the "
        "table's --hierarchy.",
    ),
    asked(
        "--earlier-header",
        multiple=True,
        metavar="[NAME:]yes|no",
        help="Whether the first line of the earlier release names its columns.",
    ),
)
HIERARCHIES = (
    asked(
        "--hierarchy",
        multiple=True,
        metavar="COL=HOW",
        help="The generalisation hierarchy of a column: a file, a table, or width:5,10 round:10 "
        "mask:right date:month,year,5y prefix:3 cuts:18,65 suppress.",
    ),
    asked(
        "--clip",
        multiple=True,
        metavar="COL=LOW:HIGH",
        help="Replace values outside the range by its nearer end, before any level: age=10:90.",
    ),
    asked(
        "--hierarchy-faults",
        type=click.Choice(["error", "warn"]),
        help="If a hierarchy is not a tree: refuse it (default), or warn.",
    ),
)
LEVELS = (
    asked(
        "--level",
        multiple=True,
        metavar="COL=N,…",
        help="Generalise the table to these levels first: age=1,zip=2.",
    ),
)
RECORDS = (
    asked("--where", metavar="EXPR", help="Only records that meet this condition."),
    asked(
        "--first",
        type=WholeNumber(),
        metavar="N",
        help="Only the first N records, in the file's order.",
    ),
    asked(
        "--nulls",
        type=click.Choice(["value", "wildcard"]),
        help="NULL in a quasi-identifier: a value of its own (default), or matches every value.",
    ),
    asked(
        "--sensitive-nulls",
        type=click.Choice(["value", "unknown"]),
        help="NULL in a sensitive attribute: a value of its own (default), or unknown.",
    ),
)
RECORDS_READ = RECORDS[:2]
OTHERS_KNOWN = (
    asked(
        "--with-other-sensitive",
        is_flag=True,
        help="Assume that the attacker may know a person's other sensitive attributes.",
    ),
)
SOURCE = (
    asked(
        "--weight", metavar="COL", help="The survey weight: how many people a record represents."
    ),
    asked(
        "--null-string",
        multiple=True,
        metavar="TEXT",
        help="Text that means NULL, in the text files that are read or written.",
    ),
    asked(
        "--delimiter", metavar="C", help="The character that separates the fields of a text file."
    ),
    asked(
        "--header",
        type=click.Choice(["yes", "no"]),
        help="Whether the first line of a text file names its columns; needed if it looks like "
        "a record.",
    ),
    asked(
        "--connect",
        metavar="URL",
        help="The database of the table: duckdb:FILE, sqlite:FILE, postgresql://…, snowflake://…",
    ),
)
RELEASE_QUESTION = (
    *PARTS,
    *DEMANDS,
    *EARLIER,
    *HIERARCHIES,
    *RECORDS,
    *OTHERS_KNOWN,
    *SOURCE,
)
QUESTION = (
    *PARTS,
    *DEMANDS,
    *EARLIER,
    *HIERARCHIES,
    *LEVELS,
    *RECORDS,
    *OTHERS_KNOWN,
    *SOURCE,
)
INITIAL_PARTS = (
    asked("--sensitive", **COLUMNS, help="Sensitive attributes, if decided."),
    asked("--identifiers", **COLUMNS, help="Direct identifiers, if decided."),
    asked(
        "--entity",
        metavar="COL",
        help="The column that identifies the person; people are counted then.",
    ),
)
