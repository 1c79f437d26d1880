"""The options on execution and output."""

from __future__ import annotations

from typing import get_args

import click

from kanon_sql.cli.option_kinds import (
    COLUMNS,
    FORMATS,
    PIPELINE_FORMATS,
    QUIET,
    VERBOSITY,
    Decimal,
    OneALine,
    Seconds,
    WholeNumber,
    WholeNumberOrAll,
    format_option,
    run,
)
from kanon_sql.results.algorithms import Algorithm

KNOWLEDGE = (
    run(
        "--attacker-knows",
        **COLUMNS,
        type=OneALine(),
        help="What else may be known: look at these columns only; without it at all that are no "
        "identifier.",
    ),
    run(
        "--k",
        type=WholeNumber(),
        metavar="N",
        default=5,
        show_default=True,
        help="A class of fewer than N records is small.",
    ),
)
IDENTIFYING = (
    run(
        "--columns",
        **COLUMNS,
        type=OneALine(),
        help="In place of --qi: the columns to look at by themselves and in sets; without both "
        "all that somebody may know.",
    ),
    run(
        "--subsets",
        type=WholeNumber(),
        metavar="D",
        help="The classes of every set of at most D columns, the worst first.",
    ),
    run(
        "--suda",
        type=WholeNumberOrAll(),
        metavar="M|all",
        help="Special uniques: whom at most M columns single out, and no fewer (SUDA2).",
    ),
    run(
        "--sampling-fraction",
        type=Decimal(),
        metavar="X",
        default=0.01,
        show_default=True,
        help="The share of the population that the records are, for DIS-SUDA.",
    ),
    run(
        "--scores",
        metavar="FILE",
        help="Write the number and the score of each special record there: personal data, so it "
        "needs --show-values.",
    ),
)
VALUES_OF = (
    run("--from", "target", required=True, metavar="TARGET", help="The table of the column."),
    run("--output", required=True, metavar="FILE.csv", help="Write the hierarchy there."),
    run("--force", is_flag=True, help="Overwrite the file."),
)
WORKSHEET = (
    run(
        "--sample",
        type=WholeNumber(),
        metavar="N",
        default=20,
        show_default=True,
        help="How many records are to be tried.",
    ),
    run(
        "--seed",
        type=WholeNumber(),
        metavar="N",
        default=1,
        show_default=True,
        help="Chooses between records of the same risk.",
    ),
    run("--read", metavar="FILE", help="In place of TARGET: what came of a filled worksheet."),
    run("--output", metavar="FILE.csv", help="Write the worksheet, or what came of it, there."),
    run("--force", is_flag=True, help="Overwrite the file."),
)
WRITTEN_SPEC = (
    run("--output", metavar="FILE.yml", help="Write the spec there; without it, print it."),
    run("--force", is_flag=True, help="Overwrite the file."),
)
SHOWN = (run("--show-values", is_flag=True, help="Show values of small classes: personal data."),)
LIMITS = (
    run(
        "--memory-limit",
        metavar="SIZE",
        help="Of DuckDB, as in 2GB; more is spilled to a private folder.",
    ),
    run("--threads", type=WholeNumber(), metavar="N", help="Of DuckDB, at most so many."),
    run(
        "--timeout",
        type=Seconds(),
        metavar="SECONDS",
        help="Give up after so long, with exit code 3.",
    ),
)
RUN = (*SHOWN, *LIMITS)
DRY_RUN = (
    run(
        "--dry-run",
        is_flag=True,
        help="Only say what would run, on which tables, and what the engine expects of it.",
    ),
)
OUTPUT = (
    run(
        "--output",
        metavar="FILE",
        help="Write the result there, whole or not at all, in the form that the name ends with.",
    ),
    run("--force", is_flag=True, help="Overwrite the output."),
)
PREFERENCES = (
    run(
        "--keep",
        **COLUMNS,
        type=OneALine(),
        help="Quasi-identifiers that stay as they are.",
    ),
    run(
        "--at-most",
        multiple=True,
        type=OneALine(),
        metavar="COL=N,…",
        help="The highest level that a quasi-identifier may have: zip=2.",
    ),
    run(
        "--weight-of",
        multiple=True,
        type=OneALine(),
        metavar="COL=X,…",
        help="What the loss of a quasi-identifier weighs, where it is not 1: age=2.5.",
    ),
)
SIZES = (
    run(
        "--k",
        multiple=True,
        type=OneALine(),
        metavar="N,…",
        help="Each k of which the cost is asked; 2,3,5,8,11,15,20,50 without it.",
    ),
)
WEIGHED = (
    run(
        "--algorithm",
        metavar="optimal|local",
        default="optimal",
        show_default=True,
        help="How levels are found: one for all, or each class its own, with both costs.",
    ),
    run("--metric", metavar="NAME", help="What the best levels lose least of: loss without it."),
    run(
        "--max-suppressed",
        metavar="N|P%",
        help="How many records may be left out, as a number or a share: 5%. None without it.",
    ),
    *PREFERENCES,
    run(
        "--gap",
        metavar="P%",
        help="Settle for levels of whose loss at most this share could be saved.",
    ),
    run(
        "--pull-frequencies",
        is_flag=True,
        help="Fetch a warehouse's frequency set, with the values of its quasi-identifiers, and "
        "search here.",
    ),
)
SEARCH = (
    run(
        "--algorithm",
        metavar="|".join(get_args(Algorithm)),
        default="datafly",
        show_default=True,
        help="How the levels are found.",
    ),
    run("--metric", metavar="NAME", help="What optimal minimises: loss without it."),
    run(
        "--max-suppressed",
        metavar="N|P%",
        help="How many records may be left out, as a number or a share: 5%. Without it K for "
        "datafly, and none for all others.",
    ),
    *PREFERENCES,
    run(
        "--gap",
        metavar="P%",
        help="Let optimal settle for levels of whose loss at most this share could be saved.",
    ),
    run(
        "--minimal-nodes",
        is_flag=True,
        help="Beside the best levels list all that will do and could not be lowered.",
    ),
    run(
        "--suppressed",
        metavar="remove|star",
        default="remove",
        show_default=True,
        help="Leave these records out, or keep them with * in every quasi-identifier.",
    ),
    run(
        "--pull-frequencies",
        is_flag=True,
        help="Fetch a warehouse's frequency set, with the values of its quasi-identifiers, and "
        "search here; without it each step is a query there.",
    ),
)
RELEASE = (
    run(
        "--output",
        metavar="FILE",
        help="The release: .parquet, .csv or .tsv, or .sql for the views that make it.",
    ),
    run("--dialect", help="The SQL to write the views in; without it, that of the database."),
    run(
        "--emit",
        metavar="views|dbt-model",
        default="views",
        show_default=True,
        help="What the .sql file holds; a dbt model has a .yml with its tests beside it.",
    ),
    run(
        "--name",
        "view_name",
        metavar="NAME",
        help="What the views are called, as in patients_release; after the table without it.",
    ),
    run("--single-view", is_flag=True, help="One view in place of one a step."),
    run(
        "--keep-order",
        is_flag=True,
        help="Leave the records in the order of their source, which links them to other releases "
        "of it; without it they are in the order of what is published.",
    ),
    run(
        "--untouched",
        metavar="warn|drop|error",
        help="Columns without a part: released as they are with a warning (default), left out, "
        "or refused.",
    ),
    run(
        "--result",
        metavar="FILE",
        help="Write the result there, whole or not at all, in the form that the name ends with.",
    ),
    run(
        "--force",
        is_flag=True,
        help="Overwrite the files, and write a release that fails its audit.",
    ),
)


FORMAT = (format_option(FORMATS),)
AUDIT_FORMAT = (
    format_option((*FORMATS, *PIPELINE_FORMATS)),
    run(
        "--also",
        multiple=True,
        metavar="FILE",
        help="Write the same result there too, in the form that the name ends with.",
    ),
)
MANIFEST = (
    run(
        "--manifest",
        metavar="FILE",
        help="In place of TARGET: the models of a dbt project whose columns have roles.",
    ),
    run(
        "--select",
        multiple=True,
        type=OneALine(),
        metavar="NAME|tag:…|path:…",
        help="Only these models of the manifest; state:modified are those that changed, and a + "
        "adds what they are made from (+NAME) or what is made from them (NAME+).",
    ),
    run(
        "--exclude",
        multiple=True,
        type=OneALine(),
        metavar="NAME|tag:…|path:…",
        help="All but these models.",
    ),
    run(
        "--state",
        metavar="FOLDER",
        help="Where an older manifest.json lies, for state:modified and state:new.",
    ),
    run(
        "--profiles-dir",
        metavar="FOLDER",
        help="Where profiles.yml lies, which says how to connect where --connect does not.",
    ),
)
BY = run(
    "--by",
    type=click.Choice(["share", "count"]),
    default="share",
    help="Compare what share of the records violates (default), or how many: for a table that "
    "always has the same size.",
)
BASELINE = (
    run(
        "--baseline",
        metavar="FILE",
        help="Fail only on what got worse since kanon-sql baseline wrote FILE.",
    ),
    BY,
)
WORSE = (
    run("--fail-on-worse", is_flag=True, help="End with exit code 1 where anything got worse."),
    BY,
)
REPORT = (
    run(
        "--output",
        metavar="FILE.html",
        help="Write the page there; without it, print it.",
    ),
    run(
        "--earlier-result",
        metavar="OLD.json",
        help="An earlier result: the page says what is better, worse, or asked less.",
    ),
    run(
        "--profile",
        metavar="FILE",
        help="A result of profile as JSON: the page says what each column adds.",
    ),
    run(
        "--tradeoff",
        metavar="FILE",
        help="A result of tradeoff as JSON: the page says what each k costs.",
    ),
    run(
        "--worksheet",
        metavar="FILE",
        help="A filled worksheet: the page says what came of trying by hand, in counts.",
    ),
    run(
        "--audience",
        type=click.Choice(["internal", "external"]),
        default="internal",
        show_default=True,
        help="Whom the page is for: people outside get small counts pooled, and no SQL.",
    ),
    run(
        "--min-cell",
        type=WholeNumber(),
        metavar="N",
        default=10,
        show_default=True,
        help="Counts of fewer records than this are pooled for people outside.",
    ),
    run("--force", is_flag=True, help="Overwrite the output."),
)
COMPILED = (
    run("--dialect", metavar="NAME", help="The SQL to write; that of the engine without it."),
    run(
        "--quote",
        metavar="always|needed",
        default="always",
        show_default=True,
        help="Quote every name, or only those that need it.",
    ),
    run(
        "--table", metavar="NAME", help="What the table is called there, as in analytics.patients."
    ),
    run("--step", metavar="NAME", help="Only this statement."),
    run(
        "--until",
        metavar="SET",
        help="A statement up to one of the sets that it names, as class_values, to see its rows.",
    ),
    run("--output-dir", metavar="FOLDER", help="Write a file a statement, all of them or none."),
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
        help="Tell each step on stderr; -vv also where an error came from.",
    ),
    click.option(
        "-q",
        "--quiet",
        envvar="KANON_SQL_QUIET",
        is_flag=True,
        expose_value=False,
        callback=_remember_quiet,
        help="Verdicts and warnings only; on stderr nothing but errors.",
    ),
)
