"""The options on execution and output, and all options of each command."""

from __future__ import annotations

import click

from kanon_sql.cli.fields import Fields
from kanon_sql.cli.option_kinds import (
    COLUMNS,
    FORMATS,
    PIPELINE_FORMATS,
    QUIET,
    VERBOSITY,
    OneALine,
    Share,
    WholeNumberOrAll,
    declared_option,
    format_option,
    retired,
    run_choice,
    run_count,
    run_flag,
    run_option,
    together,
)
from kanon_sql.cli.question_options import (
    DEMANDS,
    HIERARCHIES,
    INITIAL_PARTS,
    LEVELS,
    OTHERS_KNOWN,
    PARTS,
    QUESTION,
    RECORDS,
    RECORDS_READ,
    RELEASE_QUESTION,
    SOURCE,
)
from kanon_sql.cli.table_options import CELL_OPTIONS, QUESTION_ON_CELLS
from kanon_sql.errors import NO_SOURCE_ORDER
from kanon_sql.results.algorithms import SEARCHES

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
    OF_SETS.option("suda", type=WholeNumberOrAll(), metavar="M|all"),
    OF_SETS.option("sampling_fraction", type=Share(), metavar="X"),
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
    OF_RELEASE.option("algorithm", metavar="|".join(SEARCHES)),
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

audit_options = together(
    QUESTION, MANIFEST, BASELINE, AUDIT_FORMAT, OUTPUT, RUN, JOBS, DRY_RUN, TELL
)
baseline_options = together(QUESTION, CELL_OPTIONS, MANIFEST, OUTPUT, LIMITS, TELL)
tables_options = together(
    QUESTION_ON_CELLS,
    MANIFEST[:-1],
    BASELINE[:1],
    AUDIT_FORMAT,
    OUTPUT,
    AUDIENCE,
    RUN,
    DRY_RUN,
    TELL,
)
diff_options = together(FORMAT, WORSE, OUTPUT, TELL)
compile_options = together(QUESTION, CELL_OPTIONS, MANIFEST, COMPILED, COMPILE_OUTPUT, RUN, TELL)
validate_options = together(QUESTION, CELL_OPTIONS, MANIFEST, SHOWN, TELL)
anonymize_options = together(
    RELEASE_QUESTION, SERVER, SEARCH, RELEASE, FORMAT, LIMITS, DRY_RUN, TELL
)
tradeoff_options = together(
    PARTS,
    SIZES,
    DEMANDS[1:],
    HIERARCHIES,
    RECORDS,
    OTHERS_KNOWN,
    SOURCE,
    SERVER,
    WEIGHED,
    FORMAT,
    OUTPUT,
    LIMITS,
    TELL,
)
profile_options = together(
    PARTS,
    KNOWLEDGE,
    IDENTIFYING,
    HIERARCHIES,
    LEVELS,
    RECORDS,
    SOURCE,
    SERVER,
    FORMAT,
    OUTPUT,
    RUN,
    MAX_SECONDS,
    TELL,
)
init_options = together(INITIAL_PARTS, RECORDS_READ, SOURCE, WRITTEN_SPEC, LIMITS, TELL)
hierarchy_options = together(VALUES_OF, RECORDS_READ, SOURCE, SHOWN, LIMITS, TELL)
worksheet_options = together(
    QUESTION, SERVER, WORKSHEET, (format_option(("human", "json")),), RUN, TELL
)
report_options = together(REPORT, TELL)
schema_options = together(SCHEMA, TELL)
mcp_options = together(SERVER, MCP, LIMITS, TELL)
demo_options = together(DEMO, TELL)
policy_options = together((format_option(("human", "json")),))
