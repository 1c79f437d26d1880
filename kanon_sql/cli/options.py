"""The options of each command."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import click

from kanon_sql.cli.option_kinds import (
    COLUMNS,
    DATES,
    FORMATS,
    PIPELINE_FORMATS,
    QUIET,
    SHARE,
    VERBOSITY,
    WHOLE_NUMBER_OR_ALL,
    Command,
    Fields,
    declared,
    format_option,
    retired,
    together,
)
from kanon_sql.errors import NO_SOURCE_ORDER
from kanon_sql.question.other_tables import (
    AGAINST,
    EARLIER,
    HOLDOUT,
    ORIGINAL,
    REFERENCE,
    OtherTableKind,
)
from kanon_sql.question.roles import ROLES

OF_TABLE = Fields("question/table.py", "TableSpec")
_OF_OTHERS = {
    REFERENCE: Fields("question/question_parts.py", "ReferenceSpec"),
    EARLIER: Fields("question/question_parts.py", "EarlierReleaseSpec"),
    ORIGINAL: Fields("question/question_parts.py", "OriginalSpec"),
    HOLDOUT: Fields("question/question_parts.py", "HoldoutSpec"),
    AGAINST: Fields("question/question_parts.py", "AgainstSpec"),
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
    "encoding": "NAME",
    "skip": "N",
    "date-format": "[COL=]FORMAT",
}
_FIELDS = {"qi": "quasi_identifiers", "level": "levels", "date-format": "dates"}
TEXT_FILE = ("header", "encoding", "skip", "date-format")
"""How another table is read, if it is a text file."""
_EXAMPLES = {"columns": ": zip=zip_code.", "level": ": zip=2."}


def other_table(kind: OtherTableKind, *parts: str) -> Iterator[Callable[[Any], Any]]:
    """The option for a kind of other table, and one for each of its parts."""
    yield from declared("question", kind.prefix)
    for setting in parts:
        yield _OF_OTHERS[kind].option(
            _FIELDS.get(setting, setting),
            f"--{kind.prefix}-{setting}",
            f"{kind.prefix}_{setting.replace('-', '_')}",
            ends=_EXAMPLES.get(setting, "."),
            multiple=True,
            metavar=f"{'' if kind.is_single else '[NAME:]'}{_METAVARS[setting]}",
            callback=None,
        )


_ENTITY = OF_TABLE.option("entity", metavar="COL")
_ROLES = (OF_TABLE.option("sensitive"), OF_TABLE.option("identifiers"))
SINGLE_ROLES = tuple(
    OF_TABLE.option(role.key, metavar="COL")
    for role in ROLES
    if role.is_single and role.key not in ("entity", "weight")
)
"""The roles of one column, but for two that more commands take."""
ROLE_OPTIONS = (
    OF_TABLE.option("quasi_identifiers", "--qi", "--quasi-identifiers", **COLUMNS),
    OF_TABLE.option("events", **COLUMNS),
    *_ROLES,
    _ENTITY,
)
CHECKS = (
    *declared("question", "checks"),
    *other_table(REFERENCE, *("columns", "where", "entity", "weight", "level", *TEXT_FILE)),
)
EARLIER_RELEASES = tuple(
    other_table(EARLIER, *("columns", "qi", "entity", "where", "level", *TEXT_FILE))
)
MADE_FROM = (
    *other_table(ORIGINAL, *("columns", "entity", "where", "level", *TEXT_FILE)),
    *other_table(HOLDOUT, *("where", *TEXT_FILE)),
)
FAULTS = OF_TABLE.option("hierarchy_faults")
HIERARCHIES = (*declared("question", "hierarchies"), FAULTS)
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
    OF_TABLE.option("encoding", metavar="NAME"),
    OF_TABLE.option("skip", metavar="N"),
    OF_TABLE.option("dates", "--date-format", **DATES),
    OF_TABLE.option("connect", metavar="URL"),
)
RELEASE_QUESTION = (
    *ROLE_OPTIONS,
    *SINGLE_ROLES,
    *CHECKS,
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
    *ROLE_OPTIONS,
    *SINGLE_ROLES,
    *CHECKS,
    *POLICY,
    *EARLIER_RELEASES,
    *MADE_FROM,
    *HIERARCHIES,
    *LEVELS,
    *RECORDS,
    *OTHERS_KNOWN,
    *SOURCE,
)
INITIAL_ROLES = (*_ROLES, _ENTITY)


OF_CELLS = Fields("question/published.py", "PublishedSpec")
CELLS = (
    OF_CELLS.option("by"),
    OF_CELLS.option("value", metavar="COL"),
    OF_CELLS.option("contributor", metavar="COL"),
    OF_CELLS.option("margins", ends=" (written '()').", multiple=True, metavar="all|none|COL,…"),
)
CELL_RULES = declared("question", "rules")
POLICY_ON_CELLS = (OF_CELLS.option("policy", multiple=True, metavar="ID|FILE"),)
CELL_CHECKS = declared("question", "checks_of_cells")
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
    OF_CELLS.option("totals", metavar="true|shown|rounded:BASE"),
    OF_CELLS.option("thousands", type=str, metavar="C"),
    OF_CELLS.option("flags"),
    OF_CELLS.option("wide", metavar="COL"),
)
SECOND_TABLE = tuple(other_table(AGAINST, *("by", "columns", "where", *TEXT_FILE)))
CELL_OPTIONS = (*CELLS, *CELL_RULES, *AS_PUBLISHED, *SECOND_TABLE)
"""The options that only a question on cells has."""
CELL_LIST = declared("run", "cells")
QUESTION_ON_CELLS = (
    *CELLS,
    HIERARCHIES[0],
    FAULTS,
    *RECORDS_READ,
    *CELL_RULES,
    *CELL_CHECKS,
    *POLICY_ON_CELLS,
    *AS_PUBLISHED,
    *SECOND_TABLE,
    *SOURCE,
)


OF_RUN = Fields("engines/run_options.py", "RunOptions", is_question=False)
OF_RELEASE = Fields("anonymizing/release/options.py", "ReleaseOptions", is_question=False)
OF_SETS = Fields("profiling/profile_plan.py", "Identifying", is_question=False)
_REPLACE = declared("run", "overwrite")
_FORCE_NO_LONGER_OVERWRITES = retired("--force", "Write --overwrite to replace existing files.")
OVERWRITE = (*_REPLACE, _FORCE_NO_LONGER_OVERWRITES)
DEMO = (
    click.option("--overwrite", is_flag=True, help="Write into a folder that is not empty."),
    _FORCE_NO_LONGER_OVERWRITES,
)
SCHEMA = declared("run", "schema")
KNOWLEDGE = declared("run", "knowledge")
IDENTIFYING = (
    OF_SETS.option("columns"),
    OF_SETS.option("subsets", metavar="D"),
    OF_SETS.option("suda", type=WHOLE_NUMBER_OR_ALL, metavar="M|all"),
    OF_SETS.option("sampling_fraction", type=SHARE, metavar="X"),
    OF_SETS.option("scores", metavar="FILE"),
)
VALUES_OF = (*declared("run", "hierarchy"), *OVERWRITE)
WORKSHEET = (*declared("run", "worksheet"), *OVERWRITE)
WRITTEN_SPEC = (*declared("run", "init"), *OVERWRITE)
SHOWN = declared("run", "show_values")
LIMITS = (
    OF_RUN.option("memory_limit", metavar="SIZE"),
    OF_RUN.option("threads"),
    OF_RUN.option("timeout"),
)
RUN = (*SHOWN, *LIMITS)
MAX_SECONDS = (OF_RUN.option("max_seconds"),)
JOBS = (OF_RUN.option("jobs"),)
DRY_RUN = declared("run", "dry_run")
OUTPUT = (*declared("run", "output"), *OVERWRITE)
PREFERENCES = (
    OF_RELEASE.option("metric", metavar="NAME"),
    OF_RELEASE.option("max_suppressed", metavar="N|P%"),
    OF_RELEASE.option("keep"),
    OF_RELEASE.option("at_most", ends=": zip=2."),
    OF_RELEASE.option("weights", "--weight-of", ends=": age=2.5."),
    OF_RELEASE.option("gap", metavar="P%"),
)
PULL = OF_RELEASE.option("pull_frequencies")
SIZES = declared("run", "sizes")
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
    *declared("run", "compare"),
    OF_RELEASE.option("minimal_nodes"),
    OF_RELEASE.option(
        "suppressed",
        metavar="remove|star",
        envvar=["KANON_SQL_ANONYMIZE_SUPPRESSED", "KANON_SQL_SUPPRESSED"],
    ),
    PULL,
)
RELEASE = (
    *declared("run", "release"),
    OF_RELEASE.option("partition_by", metavar="COL"),
    OF_RELEASE.option("dialect"),
    OF_RELEASE.option("emit", metavar="views|dbt-model"),
    OF_RELEASE.option("view_name", "--name", metavar="NAME"),
    OF_RELEASE.option("single_view"),
    retired("--keep-order", NO_SOURCE_ORDER),
    OF_RELEASE.option("entity_in_release", metavar="keep|renumber|drop"),
    OF_RELEASE.option("seed", type=int, metavar="N"),
    OF_RELEASE.option("untouched", "--unassigned", "--untouched", metavar="warn|drop|error"),
    *declared("run", "result"),
    OF_RELEASE.option("overwrite"),
    OF_RELEASE.option("force"),
)


FORMAT = (format_option(FORMATS),)
AUDIT_FORMAT = (format_option((*FORMATS, *PIPELINE_FORMATS)), *declared("run", "also"))
LINEAGE_FORMAT = (
    format_option(
        (*FORMATS, *(form for form in PIPELINE_FORMATS if form != "openlineage"), "yaml")
    ),
    *declared("run", "also"),
)
SERVER = declared("run", "server")
MANIFEST = (*declared("run", "manifest"), *SERVER)
INHERIT = declared("run", "inherit")
LINEAGE = (*declared("run", "project"), *declared("run", "lineage"))
_BY = declared("run", "compared_by")
BASELINE = (*declared("run", "baseline"), *_BY)
WORSE = (*declared("run", "worse"), *_BY)
AUDIENCE = declared("run", "audience")
REPORT = (*declared("run", "report"), *AUDIENCE, *declared("run", "pooled"), *OVERWRITE)
MCP = declared("run", "mcp")
EXPLORED = declared("run", "explore")
COMPILED = declared("run", "compile")
COMPILE_OUTPUT = (
    *declared("run", "compile_output"),
    *_REPLACE,
    *declared("run", "contract_force"),
)


def _remember_verbosity(context: click.Context, _: click.Parameter, value: int) -> int:
    context.meta[VERBOSITY] = value
    return value


def _remember_quiet(context: click.Context, _: click.Parameter, value: bool) -> bool:
    context.meta[QUIET] = value
    return value


VERBOSE = (
    click.option(
        "-v",
        "--verbose",
        envvar=["KANON_SQL_VERBOSE"],
        count=True,
        expose_value=False,
        callback=_remember_verbosity,
        help="Print each step on stderr; -vv also prints the traceback of an error.",
    ),
    click.option(
        "-q",
        "--quiet",
        envvar=["KANON_SQL_QUIET"],
        is_flag=True,
        expose_value=False,
        callback=_remember_quiet,
        help="Print verdicts and warnings only, and on stderr only errors.",
    ),
)


# --- the options of each command, in the order in which --help lists them -------------------

_OF_COMMAND: dict[str, tuple[Iterable[Callable[[Any], Any]], ...]] = {
    "audit": (QUESTION, MANIFEST, INHERIT, BASELINE, AUDIT_FORMAT, OUTPUT, RUN, JOBS, DRY_RUN,
              VERBOSE),
    "baseline": (QUESTION, CELL_OPTIONS, MANIFEST, OUTPUT, LIMITS, VERBOSE),
    "tables": (QUESTION_ON_CELLS, MANIFEST[:-1], BASELINE[:1], AUDIT_FORMAT, CELL_LIST, OUTPUT,
               AUDIENCE, RUN, DRY_RUN, VERBOSE),
    "diff": (FORMAT, WORSE, OUTPUT, VERBOSE),
    "compile": (QUESTION, CELL_OPTIONS, MANIFEST, INHERIT, COMPILED, COMPILE_OUTPUT, RUN, VERBOSE),
    "validate": (QUESTION, CELL_OPTIONS, MANIFEST, INHERIT, SHOWN, VERBOSE),
    "anonymize": (RELEASE_QUESTION, SERVER, SEARCH, RELEASE, FORMAT, LIMITS, DRY_RUN, VERBOSE),
    "tradeoff": (ROLE_OPTIONS, SIZES, CHECKS[1:], HIERARCHIES, RECORDS, OTHERS_KNOWN, SOURCE,
                 SERVER, WEIGHED, FORMAT, OUTPUT, LIMITS, VERBOSE),
    "profile": (ROLE_OPTIONS, KNOWLEDGE, IDENTIFYING, HIERARCHIES, LEVELS, RECORDS, SOURCE, SERVER,
                FORMAT, OUTPUT, RUN, MAX_SECONDS, VERBOSE),
    "init": (INITIAL_ROLES, RECORDS_READ, SOURCE, WRITTEN_SPEC, LIMITS, VERBOSE),
    "new": (VALUES_OF, RECORDS_READ, SOURCE, SHOWN, LIMITS, VERBOSE),
    "worksheet": (QUESTION, SERVER, WORKSHEET, (format_option(("human", "json")),), RUN, VERBOSE),
    "lineage": (LINEAGE, LINEAGE_FORMAT, OUTPUT, VERBOSE),
    "report": (REPORT, VERBOSE),
    "schema": (SCHEMA, VERBOSE),
    "mcp": (SERVER, MCP, LIMITS, VERBOSE),
    "demo": (DEMO, VERBOSE),
    "explore": ((_ENTITY,), HIERARCHIES[:1], RECORDS_READ, SOURCE[1:], EXPLORED, SHOWN, LIMITS[:2],
                VERBOSE),
    "policy": ((format_option(("human", "json")),),),
}  # fmt: skip


def options_of(name: str) -> Callable[[Command], Command]:
    """Decorator that gives a command its options."""
    return together(*_OF_COMMAND[name])
