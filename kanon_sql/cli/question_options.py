"""The options that are part of the question."""

from __future__ import annotations

import click

from kanon_sql.cli.option_kinds import COLUMNS, Decimal, WholeNumber, asked

PARTS = (
    asked("--qi", **COLUMNS, help="Quasi-identifiers; '*' is every column without another part."),
    asked("--sensitive", **COLUMNS, help="What must not become known of a person."),
    asked("--identifiers", **COLUMNS, help="Columns that name a person outright."),
    asked("--entity", metavar="COL", help="Whom a record is about; k then counts people."),
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
        help="t-closeness: at most X from how the table is spread, for each --sensitive.",
    ),
    asked(
        "--check",
        multiple=True,
        metavar="MODEL[:KEY=VALUE,…]",
        help="Any model, as in l_diversity:l=3,sensitive=COL. kanon-sql explain lists them.",
    ),
    asked(
        "--reference",
        multiple=True,
        metavar="[NAME=]SRC",
        help="The reidentification dataset. Where there are several, begin the value of the "
        "options below with NAME and a colon, and name one in --check.",
    ),
    asked(
        "--reference-columns",
        multiple=True,
        metavar="[NAME:]COL=COL,…",
        help="Its own name for a quasi-identifier: zip=zip_code.",
    ),
    asked(
        "--reference-where", multiple=True, metavar="[NAME:]EXPR", help="Only these of its records."
    ),
    asked(
        "--reference-entity", multiple=True, metavar="[NAME:]COL", help="Whom its record is about."
    ),
    asked(
        "--reference-weight",
        multiple=True,
        metavar="[NAME:]COL",
        help="How many people its record stands for.",
    ),
    asked(
        "--reference-level",
        multiple=True,
        metavar="[NAME:]COL=N,…",
        help="Generalise it to where the table already is: zip=2, by the table's --hierarchy.",
    ),
    asked(
        "--reference-header",
        multiple=True,
        metavar="[NAME:]yes|no",
        help="Whether its first line names its columns.",
    ),
)
EARLIER = (
    asked(
        "--earlier",
        multiple=True,
        metavar="[NAME=]SRC",
        help="An earlier release of the same people, which someone may link with this one by "
        "--entity. Where there are several, begin the value of the options below with NAME and a "
        "colon.",
    ),
    asked(
        "--earlier-columns",
        multiple=True,
        metavar="[NAME:]COL=COL,…",
        help="Its own name for a quasi-identifier, a sensitive attribute or the entity.",
    ),
    asked(
        "--earlier-qi",
        multiple=True,
        metavar="[NAME:]COL,…",
        help="Its quasi-identifiers, where it published others.",
    ),
    asked(
        "--earlier-entity", multiple=True, metavar="[NAME:]COL", help="Whom its record is about."
    ),
    asked(
        "--earlier-where", multiple=True, metavar="[NAME:]EXPR", help="Only these of its records."
    ),
    asked(
        "--earlier-level",
        multiple=True,
        metavar="[NAME:]COL=N,…",
        help="Generalise it to what was released: zip=2, by the table's --hierarchy.",
    ),
    asked(
        "--earlier-header",
        multiple=True,
        metavar="[NAME:]yes|no",
        help="Whether its first line names its columns.",
    ),
)
HIERARCHIES = (
    asked(
        "--hierarchy",
        multiple=True,
        metavar="COL=HOW",
        help="How a column may be generalised: a file, a table, or width:5,10 round:10 mask:right "
        "date:month,year,5y prefix:3 cuts:18,65 suppress.",
    ),
    asked(
        "--clip",
        multiple=True,
        metavar="COL=LOW:HIGH",
        help="Take what lies outside to the nearer end, before any level: age=10:90.",
    ),
    asked(
        "--hierarchy-faults",
        type=click.Choice(["error", "warn"]),
        help="A hierarchy that is no clean tree: refused (default), or a warning.",
    ),
)
LEVELS = (
    asked(
        "--level",
        multiple=True,
        metavar="COL=N,…",
        help="Look at the table as it would be at these levels: age=1,zip=2.",
    ),
)
RECORDS = (
    asked("--where", metavar="EXPR", help="Only the records for which this holds."),
    asked(
        "--first",
        type=WholeNumber(),
        metavar="N",
        help="Only the first N records, in the file's order.",
    ),
    asked(
        "--nulls",
        type=click.Choice(["value", "wildcard"]),
        help="NULL in a quasi-identifier: a value of its own (default), or it matches everything.",
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
        help="Whoever attacks may know the other sensitive attributes of a person.",
    ),
)
SOURCE = (
    asked(
        "--weight", metavar="COL", help="The survey weight: how many people a record stands for."
    ),
    asked(
        "--null-string",
        multiple=True,
        metavar="TEXT",
        help="Stands for NULL in a text file, written ones too.",
    ),
    asked("--delimiter", metavar="C", help="What separates the fields of a text file."),
    asked(
        "--header",
        type=click.Choice(["yes", "no"]),
        help="Whether the first line of a text file names its columns, where it looks like a "
        "record.",
    ),
    asked(
        "--connect",
        metavar="URL",
        help="Where the table lies: duckdb:FILE, sqlite:FILE, postgresql://…, snowflake://…",
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
    asked("--sensitive", **COLUMNS, help="What must not become known of a person, if decided."),
    asked("--identifiers", **COLUMNS, help="Columns that name a person outright, if decided."),
    asked("--entity", metavar="COL", help="Whom a record is about; people are counted then."),
)
