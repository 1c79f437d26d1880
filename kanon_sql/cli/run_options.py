"""The options on execution and output."""

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
    WholeNumber,
    WholeNumberOrAll,
    format_option,
    retired,
    run_option,
)
from kanon_sql.errors import NO_SOURCE_ORDER
from kanon_sql.results.algorithms import SEARCHES

OF_RUN = Fields("engines/session.py", "RunOptions", is_question=False)
OF_RELEASE = Fields("anonymizing/release/options.py", "ReleaseOptions", is_question=False)
OF_SETS = Fields("plan/profile_plan.py", "Identifying", is_question=False)
_FORCE_NO_LONGER_OVERWRITES = retired("--force", "Write --overwrite to replace existing files.")
OVERWRITE = (
    run_option("--overwrite", is_flag=True, help="Replace the file if it exists."),
    _FORCE_NO_LONGER_OVERWRITES,
)
DEMO = (
    click.option("--overwrite", is_flag=True, help="Write into a folder that is not empty."),
    _FORCE_NO_LONGER_OVERWRITES,
)
SCHEMA = (
    run_option(
        "--of",
        type=click.Choice(["spec", "result", "baseline", "policy"]),
        default="spec",
        show_default=True,
        help="The file that the schema describes.",
    ),
)
KNOWLEDGE = (
    run_option(
        "--attacker-knows",
        **COLUMNS,
        help="Columns that an attacker may know as well; without it, all columns but the "
        "identifiers.",
    ),
    run_option(
        "--k",
        type=WholeNumber(),
        metavar="N",
        help="A class with fewer than N records is small (5); with --events, fewer than N people "
        "with the same events are few (2).",
    ),
    run_option(
        "--known",
        metavar="M|A-B",
        help="With --events: how many events of a person an attacker knows, 1 to 20 (1-4).",
    ),
    run_option(
        "--times",
        is_flag=True,
        help="With --events: an event counts as often as it occurs.",
    ),
)
IDENTIFYING = (
    OF_SETS.option("columns"),
    OF_SETS.option("subsets", metavar="D"),
    OF_SETS.option("suda", type=WholeNumberOrAll(), metavar="M|all"),
    OF_SETS.option("sampling_fraction", type=Share(), metavar="X"),
    OF_SETS.option("scores", metavar="FILE"),
)
VALUES_OF = (
    run_option(
        "--from", "target", required=True, metavar="TARGET", help="The table with the column."
    ),
    run_option(
        "--output", required=True, metavar="FILE.csv", help="Write the hierarchy to FILE.csv."
    ),
    *OVERWRITE,
)
WORKSHEET = (
    run_option(
        "--sample",
        type=WholeNumber(),
        metavar="N",
        default=20,
        show_default=True,
        help="How many records to sample.",
    ),
    run_option(
        "--seed",
        type=WholeNumber(),
        metavar="N",
        default=1,
        show_default=True,
        help="Random seed for the choice among records of equal risk.",
    ),
    run_option("--read", metavar="FILE", help="Instead of TARGET: evaluate a completed worksheet."),
    run_option(
        "--output", metavar="FILE.csv", help="Write the worksheet, or its outcome, to FILE.csv."
    ),
    *OVERWRITE,
)
WRITTEN_SPEC = (
    run_option(
        "--output", metavar="FILE.yml", help="Write the spec to FILE.yml (default: print it)."
    ),
    *OVERWRITE,
)
SHOWN = (
    run_option("--show-values", is_flag=True, help="Show values of small classes: personal data."),
)
LIMITS = (
    OF_RUN.option("memory_limit", metavar="SIZE"),
    OF_RUN.option("threads"),
    OF_RUN.option("timeout"),
)
RUN = (*SHOWN, *LIMITS)
MAX_SECONDS = (OF_RUN.option("max_seconds"),)
JOBS = (OF_RUN.option("jobs"),)
DRY_RUN = (
    run_option(
        "--dry-run",
        is_flag=True,
        help="List the statements and the tables they read; run nothing.",
    ),
)
OUTPUT = (
    run_option(
        "--output",
        metavar="FILE",
        help="Write the result to FILE, in the format of its suffix, whole or not at all.",
    ),
    *OVERWRITE,
)
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
        multiple=True,
        type=OneALine(),
        metavar="N,…",
        help="The values of k to compare (default: 2,3,5,8,11,15,20,50).",
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
    run_option(
        "--compare",
        is_flag=True,
        help="Also show what a release by each of the algorithms would lose.",
    ),
    OF_RELEASE.option("minimal_nodes"),
    OF_RELEASE.option("suppressed", metavar="remove|star"),
    PULL,
)
RELEASE = (
    run_option(
        "--output",
        metavar="FILE",
        help="Write the release to FILE: .parquet, .csv or .tsv, or .sql for its views. On Spark, "
        "the cluster writes a folder of Parquet: a path or URI.",
    ),
    OF_RELEASE.option("partition_by", metavar="COL"),
    OF_RELEASE.option("dialect"),
    OF_RELEASE.option("emit", metavar="views|dbt-model"),
    OF_RELEASE.option("view_name", "--name", metavar="NAME"),
    OF_RELEASE.option("single_view"),
    retired("--keep-order", NO_SOURCE_ORDER),
    OF_RELEASE.option("untouched", "--unassigned", "--untouched", metavar="warn|drop|error"),
    run_option(
        "--result",
        metavar="FILE",
        help="Write the result to FILE, in the format of its suffix, whole or not at all.",
    ),
    OF_RELEASE.option("overwrite"),
    OF_RELEASE.option("force"),
)


FORMAT = (format_option(FORMATS),)
AUDIT_FORMAT = (
    format_option((*FORMATS, *PIPELINE_FORMATS)),
    run_option(
        "--also",
        multiple=True,
        metavar="FILE",
        help="Also write the result to FILE, in the format of its suffix.",
    ),
)
SERVER = (
    run_option(
        "--server",
        metavar="NAME",
        help="The server of a data contract whose data are read, if it has several.",
    ),
)
MANIFEST = (
    run_option(
        "--manifest",
        metavar="FILE",
        help="Instead of TARGET: the manifest of a dbt project; its models with roles are used.",
    ),
    run_option(
        "--select",
        multiple=True,
        type=OneALine(),
        metavar="NAME|tag:…|path:…",
        help="Only these models of the manifest, or tables of a data contract; state:modified "
        "selects those that changed, and a + adds their parents (+NAME) or children (NAME+).",
    ),
    run_option(
        "--exclude",
        multiple=True,
        type=OneALine(),
        metavar="NAME|tag:…|path:…",
        help="Leave out these models.",
    ),
    run_option(
        "--state",
        metavar="FOLDER",
        help="The folder of an older manifest.json, for state:modified and state:new.",
    ),
    run_option(
        "--profiles-dir",
        metavar="FOLDER",
        help="The folder of profiles.yml, which is used to connect if --connect is not given.",
    ),
    *SERVER,
)
BY = run_option(
    "--by",
    type=click.Choice(["share", "count"]),
    default="share",
    help="Compare the share of violating records (default), or their number if the table keeps "
    "its size.",
)
BASELINE = (
    run_option(
        "--baseline",
        metavar="FILE",
        help="Fail only on what got worse than the baseline in FILE.",
    ),
    BY,
)
WORSE = (
    run_option("--fail-on-worse", is_flag=True, help="End with exit code 1 if anything got worse."),
    BY,
)
AUDIENCE = (
    run_option(
        "--audience",
        type=click.Choice(["internal", "external"]),
        default="internal",
        show_default=True,
        help="The readers: for external ones small counts are pooled and the SQL is left out.",
    ),
)
REPORT = (
    run_option(
        "--output",
        metavar="FILE.html",
        help="Write the report to FILE.html (default: print it).",
    ),
    run_option(
        "--earlier-result",
        metavar="OLD.json",
        help="An earlier result; the report says what got better or worse, and what is no longer "
        "checked.",
    ),
    run_option(
        "--profile",
        metavar="FILE",
        help="A JSON result of profile; the report says what each column adds.",
    ),
    run_option(
        "--tradeoff",
        metavar="FILE",
        help="A JSON result of tradeoff; the report says what each k costs.",
    ),
    run_option(
        "--worksheet",
        metavar="FILE",
        help="A completed worksheet; the report gives the counts of the manual test.",
    ),
    *AUDIENCE,
    run_option(
        "--min-cell",
        type=WholeNumber(),
        metavar="N",
        default=10,
        show_default=True,
        help="Pool counts of fewer than N records (3 or more, or 1 for none) for external readers.",
    ),
    *OVERWRITE,
)
MCP = (
    run_option(
        "--log",
        required=True,
        metavar="FILE.jsonl",
        help="Append every question and its answer to FILE.jsonl; without a log nothing is "
        "answered.",
    ),
    run_option(
        "--questions",
        type=WholeNumber(),
        metavar="N",
        default=50,
        show_default=True,
        help="How many questions to answer in any 24 hours of the log.",
    ),
    run_option(
        "--min-cell",
        type=WholeNumber(),
        metavar="N",
        default=10,
        show_default=True,
        help="Pool counts of fewer than N records (3 or more), and round others down to a multiple "
        "of N.",
    ),
)
COMPILED = (
    run_option(
        "--dialect", metavar="NAME", help="The SQL dialect to print (default: the engine's)."
    ),
    run_option(
        "--quote",
        metavar="always|needed",
        default="always",
        show_default=True,
        help="Quote every name, or only those that need it.",
    ),
    run_option(
        "--table", metavar="NAME", help="The name of the table there, as in analytics.patients."
    ),
    run_option("--step", metavar="NAME", help="Print this statement only."),
    run_option(
        "--until",
        metavar="SET",
        help="Print a statement up to one of its CTEs, such as class_values, to query its rows.",
    ),
    run_option(
        "--output-dir",
        metavar="FOLDER",
        help="Write each statement to a file of its own, all or none.",
    ),
    run_option(
        "--format",
        type=click.Choice(["sql", "odcs"]),
        default="sql",
        show_default=True,
        help="The statements, or a data contract (ODCS) with the checks as its quality rules.",
    ),
    run_option(
        "--into",
        metavar="FILE",
        help="With --format odcs: print the contract in FILE with these rules; its other lines "
        "stay.",
    ),
)
COMPILE_OUTPUT = (
    run_option("--output", metavar="FILE", help="Write the SQL or the contract to FILE."),
    run_option("--overwrite", is_flag=True, help="Replace the file if it exists."),
    run_option("--force", is_flag=True, help="Also write to the contract that --into reads."),
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
