"""The options of the question, of execution and of output, and those that each command has."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

import click

from kanon_sql.cli.option_kinds import (
    COLUMNS,
    DECIMAL,
    FORMATS,
    PIPELINE_FORMATS,
    QUIET,
    SHARE,
    VERBOSITY,
    WHOLE_NUMBER_OR_ALL,
    Command,
    Fields,
    OneALine,
    check_option,
    declared_option,
    format_option,
    question_count,
    question_option,
    retired,
    run_choice,
    run_count,
    run_flag,
    run_option,
    together,
)
from kanon_sql.errors import NO_SOURCE_ORDER
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
        type=SHARE,
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


if TYPE_CHECKING:
    pass

OF_CELLS = Fields("spec/published.py", "PublishedSpec")
TABLE = (
    OF_CELLS.option("by"),
    OF_CELLS.option("value", metavar="COL"),
    OF_CELLS.option("contributor", metavar="COL"),
    OF_CELLS.option("margins", ends=" (written '()').", multiple=True, metavar="all|none|COL,…"),
)
RULES = (
    question_count("--threshold", "min_contributors: at least N contributors in each cell."),
    question_option(
        "--dominance",
        "dominance: the N largest contributors have at most K % of a cell.",
        multiple=True,
        metavar="N,K",
    ),
    question_option(
        "--p-percent",
        "p_percent: the largest contributor can't be estimated to within P %.",
        type=DECIMAL,
        metavar="P",
    ),
    question_option(
        "--derivable",
        "derivable: no suppressed cell can be computed from the others.",
        is_flag=True,
    ),
    question_count(
        "--min-difference",
        "differences: cells that differ from those of an --against table differ by at least N.",
    ),
)
POLICY_ON_CELLS = (OF_CELLS.option("policy", multiple=True, metavar="ID|FILE"),)
CHECK = (
    check_option(
        "Any model of cells, as in min_contributors:n=10,zeros=disclosive; kanon-sql explain lists "
        "them."
    ),
)
AS_PUBLISHED = (
    OF_CELLS.option("cells", "--published"),
    OF_CELLS.option(
        "suppressed",
        ends=""": '*=1..9'. NULL is NULL, '"NULL"' the text.""",
        multiple=True,
        metavar="MARK[=LOW..HIGH]",
    ),
    OF_CELLS.option("total_label", multiple=True, metavar="[COL=]LABEL"),
    OF_CELLS.option("total_flag", multiple=True, metavar="COL=FLAG"),
    OF_CELLS.option("count", metavar="COL"),
    OF_CELLS.option("magnitude"),
    OF_CELLS.option("value_bounds", metavar="LOW..HIGH"),
    OF_CELLS.option("absent"),
)
SECOND_TABLE = tuple(
    other_table(
        AGAINST,
        "A second table of the same kind, compared on the dimensions both have. With several, "
        "start the value of each option below with NAME and a colon.",
        *("by", "columns", "where", "header"),
    )
)
CELL_OPTIONS = (*TABLE, *RULES, *AS_PUBLISHED, *SECOND_TABLE)
"""The options that only a question on cells has."""
QUESTION_ON_CELLS = (
    *TABLE,
    HIERARCHIES[0],
    FAULTS,
    *RECORDS_READ,
    *RULES,
    *CHECK,
    *POLICY_ON_CELLS,
    *AS_PUBLISHED,
    *SECOND_TABLE,
    *SOURCE,
)


OF_RUN = Fields("engines/session.py", "RunOptions", is_question=False)
OF_RELEASE = Fields("anonymizing/release/options.py", "ReleaseOptions", is_question=False)
OF_SETS = Fields("plan/profile_plan.py", "Identifying", is_question=False)
_REPLACE = run_flag("--overwrite", "Replace the file if it exists.")
_FORCE_NO_LONGER_OVERWRITES = retired("--force", "Write --overwrite to replace existing files.")
OVERWRITE = (_REPLACE, _FORCE_NO_LONGER_OVERWRITES)
DEMO = (
    click.option("--overwrite", is_flag=True, help="Write into a folder that is not empty."),
    _FORCE_NO_LONGER_OVERWRITES,
)
SCHEMA = (
    run_choice(
        "--of", ["spec", "result", "baseline", "policy"], "The file that the schema describes."
    ),
)
KNOWLEDGE = (
    declared_option(
        "--attacker-knows",
        **COLUMNS,
        help="Columns that an attacker may know as well; without it, all columns but the "
        "identifiers.",
        is_question=False,
    ),
    run_count(
        "--k",
        None,
        "A class with fewer than N records is small (5); with --events, fewer than N people with "
        "the same events are few (2).",
    ),
    run_option(
        "--known",
        "M|A-B",
        "With --events: how many events of a person an attacker knows, 1 to 20 (1-4).",
    ),
    run_flag("--times", "With --events: an event counts as often as it occurs."),
)
IDENTIFYING = (
    OF_SETS.option("columns"),
    OF_SETS.option("subsets", metavar="D"),
    OF_SETS.option("suda", type=WHOLE_NUMBER_OR_ALL, metavar="M|all"),
    OF_SETS.option("sampling_fraction", type=SHARE, metavar="X"),
    OF_SETS.option("scores", metavar="FILE"),
)
VALUES_OF = (
    run_option("--from", "TARGET", "The table with the column.", "target", required=True),
    run_option("--output", "FILE.csv", "Write the hierarchy to FILE.csv.", required=True),
    *OVERWRITE,
)
WORKSHEET = (
    run_count("--sample", 20, "How many records to sample."),
    run_count("--seed", 1, "Random seed for the choice among records of equal risk."),
    run_option("--read", "FILE", "Instead of TARGET: evaluate a completed worksheet."),
    run_option("--output", "FILE.csv", "Write the worksheet, or its outcome, to FILE.csv."),
    *OVERWRITE,
)
WRITTEN_SPEC = (
    run_option("--output", "FILE.yml", "Write the spec to FILE.yml (default: print it)."),
    *OVERWRITE,
)
SHOWN = (run_flag("--show-values", "Show values of small classes: personal data."),)
LIMITS = (
    OF_RUN.option("memory_limit", metavar="SIZE"),
    OF_RUN.option("threads"),
    OF_RUN.option("timeout"),
)
RUN = (*SHOWN, *LIMITS)
MAX_SECONDS = (OF_RUN.option("max_seconds"),)
JOBS = (OF_RUN.option("jobs"),)
DRY_RUN = (run_flag("--dry-run", "List the statements and the tables they read; run nothing."),)
_WHOLE_RESULT = "Write the result to FILE, in the format of its suffix, whole or not at all."
OUTPUT = (run_option("--output", "FILE", _WHOLE_RESULT), *OVERWRITE)
PREFERENCES = (
    OF_RELEASE.option("metric", metavar="NAME"),
    OF_RELEASE.option("max_suppressed", metavar="N|P%"),
    OF_RELEASE.option("keep"),
    OF_RELEASE.option("at_most", ends=": zip=2."),
    OF_RELEASE.option("weights", "--weight-of", ends=": age=2.5."),
    OF_RELEASE.option("gap", metavar="P%"),
)
PULL = OF_RELEASE.option("pull_frequencies")
SIZES = (
    run_option(
        "--k",
        "N,…",
        "The values of k to compare (default: 2,3,5,8,11,15,20,50).",
        multiple=True,
        type=OneALine(),
    ),
)
WEIGHED = (
    OF_RELEASE.option(
        "algorithm",
        metavar="optimal|local",
        default="optimal",
        help="Full-domain levels (optimal), or local recoding too (local), with both costs.",
    ),
    *PREFERENCES,
    PULL,
)
SEARCH = (
    OF_RELEASE.option("algorithm", metavar="datafly|optimal|local"),
    *PREFERENCES,
    run_flag("--compare", "Also show what a release by each of the algorithms would lose."),
    OF_RELEASE.option("minimal_nodes"),
    OF_RELEASE.option("suppressed", metavar="remove|star"),
    PULL,
)
RELEASE = (
    run_option(
        "--output",
        "FILE",
        "Write the release to FILE: .parquet, .csv or .tsv, or .sql for its views. On Spark, the "
        "cluster writes a folder of Parquet: a path or URI.",
    ),
    OF_RELEASE.option("partition_by", metavar="COL"),
    OF_RELEASE.option("dialect"),
    OF_RELEASE.option("emit", metavar="views|dbt-model"),
    OF_RELEASE.option("view_name", "--name", metavar="NAME"),
    OF_RELEASE.option("single_view"),
    retired("--keep-order", NO_SOURCE_ORDER),
    OF_RELEASE.option("untouched", "--unassigned", "--untouched", metavar="warn|drop|error"),
    run_option("--result", "FILE", _WHOLE_RESULT),
    OF_RELEASE.option("overwrite"),
    OF_RELEASE.option("force"),
)


FORMAT = (format_option(FORMATS),)
AUDIT_FORMAT = (
    format_option((*FORMATS, *PIPELINE_FORMATS)),
    run_option(
        "--also",
        "FILE",
        "Also write the result to FILE, in the format of its suffix.",
        multiple=True,
    ),
)
SERVER = (
    run_option(
        "--server", "NAME", "The server of a data contract whose data are read, if it has several."
    ),
)
_MODELS = "NAME|tag:…|path:…"
MANIFEST = (
    run_option(
        "--manifest",
        "FILE",
        "Instead of TARGET: the manifest of a dbt project, whose models with roles, or with a "
        "published table, are used.",
    ),
    run_option(
        "--select",
        _MODELS,
        "Only these models of the manifest, or tables of a data contract; state:modified selects "
        "those that changed, and a + adds their parents (+NAME) or children (NAME+).",
        multiple=True,
        type=OneALine(),
    ),
    run_option("--exclude", _MODELS, "Leave out these models.", multiple=True, type=OneALine()),
    run_option(
        "--state",
        "FOLDER",
        "The folder of an older manifest.json, for state:modified and state:new.",
    ),
    run_option(
        "--profiles-dir",
        "FOLDER",
        "The folder of profiles.yml, which is used to connect if --connect is not given.",
    ),
    *SERVER,
)
BY = run_choice(
    "--by",
    ["share", "count"],
    "Compare the share of violating records (default), or their number if the table keeps its "
    "size.",
    show_default=False,
)
BASELINE = (
    run_option("--baseline", "FILE", "Fail only on what got worse than the baseline in FILE."),
    BY,
)
WORSE = (run_flag("--fail-on-worse", "End with exit code 1 if anything got worse."), BY)
AUDIENCE = (
    run_choice(
        "--audience",
        ["internal", "external"],
        "The readers: for external ones small counts are pooled and the SQL is left out.",
    ),
)
REPORT = (
    run_option("--output", "FILE.html", "Write the report to FILE.html (default: print it)."),
    run_option(
        "--earlier-result",
        "OLD.json",
        "An earlier result; the report says what got better or worse, and what is no longer "
        "checked.",
    ),
    run_option(
        "--profile", "FILE", "A JSON result of profile; the report says what each column adds."
    ),
    run_option(
        "--tradeoff", "FILE", "A JSON result of tradeoff; the report says what each k costs."
    ),
    run_option(
        "--worksheet",
        "FILE",
        "A completed worksheet; the report gives the counts of the manual test.",
    ),
    *AUDIENCE,
    run_count(
        "--min-cell",
        10,
        "Pool counts of fewer than N records (3 or more, or 1 for none) for external readers.",
    ),
    *OVERWRITE,
)
MCP = (
    run_option(
        "--log",
        "FILE.jsonl",
        "Append every question and its answer to FILE.jsonl; without a log nothing is answered.",
        required=True,
    ),
    run_count("--questions", 50, "How many questions to answer in any 24 hours of the log."),
    run_count(
        "--min-cell",
        10,
        "Pool counts of fewer than N records (3 or more), and round others down to a multiple of "
        "N.",
    ),
)
COMPILED = (
    run_option("--dialect", "NAME", "The SQL dialect to print (default: the engine's)."),
    run_option(
        "--quote",
        "always|needed",
        "Quote every name, or only those that need it.",
        default="always",
        show_default=True,
    ),
    run_option("--table", "NAME", "The name of the table there, as in analytics.patients."),
    run_option("--step", "NAME", "Print this statement only."),
    run_option(
        "--until",
        "SET",
        "Print a statement up to one of its CTEs, such as class_values, to query its rows.",
    ),
    run_option("--output-dir", "FOLDER", "Write each statement to a file of its own, all or none."),
    run_choice(
        "--format",
        ["sql", "odcs"],
        "The statements, or a data contract (ODCS) with the checks as its quality rules.",
    ),
    run_option(
        "--into",
        "FILE",
        "With --format odcs: print the contract in FILE with these rules; its other lines stay.",
    ),
)
COMPILE_OUTPUT = (
    run_option("--output", "FILE", "Write the SQL or the contract to FILE."),
    _REPLACE,
    run_flag("--force", "Also write to the contract that --into reads."),
)


def _remember_verbosity(context: click.Context, _: click.Parameter, value: int) -> int:
    context.meta[VERBOSITY] = value
    return value


def _remember_quiet(context: click.Context, _: click.Parameter, value: bool) -> bool:
    context.meta[QUIET] = value
    return value


TELL = (
    click.option(
        "-v",
        "--verbose",
        envvar="KANON_SQL_VERBOSE",
        count=True,
        expose_value=False,
        callback=_remember_verbosity,
        help="Print each step on stderr; -vv also prints the traceback of an error.",
    ),
    click.option(
        "-q",
        "--quiet",
        envvar="KANON_SQL_QUIET",
        is_flag=True,
        expose_value=False,
        callback=_remember_quiet,
        help="Print verdicts and warnings only, and on stderr only errors.",
    ),
)


# --- the options of each command, in the order in which --help lists them -------------------

_OF_COMMAND: dict[str, tuple[Iterable[Callable[[Any], Any]], ...]] = {
    "audit": (QUESTION, MANIFEST, BASELINE, AUDIT_FORMAT, OUTPUT, RUN, JOBS, DRY_RUN, TELL),
    "baseline": (QUESTION, CELL_OPTIONS, MANIFEST, OUTPUT, LIMITS, TELL),
    "tables": (QUESTION_ON_CELLS, MANIFEST[:-1], BASELINE[:1], AUDIT_FORMAT, OUTPUT, AUDIENCE, RUN,
               DRY_RUN, TELL),
    "diff": (FORMAT, WORSE, OUTPUT, TELL),
    "compile": (QUESTION, CELL_OPTIONS, MANIFEST, COMPILED, COMPILE_OUTPUT, RUN, TELL),
    "validate": (QUESTION, CELL_OPTIONS, MANIFEST, SHOWN, TELL),
    "anonymize": (RELEASE_QUESTION, SERVER, SEARCH, RELEASE, FORMAT, LIMITS, DRY_RUN, TELL),
    "tradeoff": (PARTS, SIZES, DEMANDS[1:], HIERARCHIES, RECORDS, OTHERS_KNOWN, SOURCE, SERVER,
                 WEIGHED, FORMAT, OUTPUT, LIMITS, TELL),
    "profile": (PARTS, KNOWLEDGE, IDENTIFYING, HIERARCHIES, LEVELS, RECORDS, SOURCE, SERVER, FORMAT,
                OUTPUT, RUN, MAX_SECONDS, TELL),
    "init": (INITIAL_PARTS, RECORDS_READ, SOURCE, WRITTEN_SPEC, LIMITS, TELL),
    "new": (VALUES_OF, RECORDS_READ, SOURCE, SHOWN, LIMITS, TELL),
    "worksheet": (QUESTION, SERVER, WORKSHEET, (format_option(("human", "json")),), RUN, TELL),
    "report": (REPORT, TELL),
    "schema": (SCHEMA, TELL),
    "mcp": (SERVER, MCP, LIMITS, TELL),
    "demo": (DEMO, TELL),
    "policy": ((format_option(("human", "json")),),),
}  # fmt: skip


def options_of(name: str) -> Callable[[Command], Command]:
    """Decorator that gives a command its options."""
    return together(*_OF_COMMAND[name])
