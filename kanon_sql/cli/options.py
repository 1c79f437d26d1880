"""The command line's options, in the groups that its commands have."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

import click
from click.types import FloatParamType, IntParamType, StringParamType

from kanon_sql.errors import SpecError, did_you_mean, share_meant

Command = TypeVar("Command", bound=Callable[..., Any])


VERBOSITY = "kanon_sql.verbosity"
"""Where a command's context keeps how much it tells."""
QUIET = "kanon_sql.quiet"
"""Where a command's context keeps whether only verdicts are told."""
FORMATS = ("human", "json", "markdown")
PIPELINE_FORMATS = ("junit", "sarif", "github")
"""What a pipeline reads; an audit alone has them."""


class OneALine(StringParamType):
    """Text of a repeatable option; its environment variable holds one value a line."""

    def split_envvar_value(self, rv: str) -> list[str]:
        return rv.splitlines()


class WholeNumber(IntParamType):
    """1 or more."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        if re.fullmatch(r"0*[1-9][0-9]*", str(value)):
            return int(value)
        raise SpecError(f"{_flag(param)} must be a whole number, 1 or more; found {value!r}.")


class WholeNumberOrAll(WholeNumber):
    """1 or more, or the word all."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        return "all" if value == "all" else super().convert(value, param, ctx)


class Decimal(FloatParamType):
    """A number; the model says which ones it takes."""

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        if re.fullmatch(r"-?([0-9]+(\.[0-9]*)?|\.[0-9]+)", str(value)):
            return float(value)
        raise SpecError(
            f"{_flag(param)} must be a number, as in 0.2; found {value!r}.{share_meant(value)}"
        )


class Seconds(FloatParamType):
    """More than 0."""

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        if re.fullmatch(r"[0-9]+(\.[0-9]+)?", str(value)) and float(value) > 0:
            return float(value)
        raise SpecError(f"{_flag(param)} must be a number of seconds above 0; found {value!r}.")


class Format(StringParamType):
    """One of the formats that a command has."""

    def __init__(self, formats: Sequence[str]) -> None:
        self._formats = formats

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if value in self._formats:
            return str(value)
        there_are = f"there are {', '.join(self._formats)}"
        if value in PIPELINE_FORMATS:
            raise SpecError(f"--format {value} is for an audit; {there_are}.")
        near = did_you_mean(str(value), self._formats)
        raise SpecError(f"there is no format {value!r}; {there_are}.{near}")


def _flag(param: click.Parameter | None) -> str:
    return param.opts[0] if param else "the value"


# --- the options ----------------------------------------------------------------------------


class QuestionOption(click.Option):
    """An option that is a part of the question."""


def _option(
    flag: str, *parameter: str, cls: type[click.Option], **settings: Any
) -> Callable[[Command], Command]:
    """An option that the environment can set too: `--memory-limit` is KANON_SQL_MEMORY_LIMIT."""
    variable = f"KANON_SQL_{flag.removeprefix('--').replace('-', '_').upper()}"
    return click.option(flag, *parameter, cls=cls, envvar=variable, **settings)


def _asked(flag: str, **settings: Any) -> Callable[[Command], Command]:
    if settings.get("multiple"):
        settings["type"] = OneALine()
    return _option(flag, cls=QuestionOption, **settings)


def _run(flag: str, *parameter: str, **settings: Any) -> Callable[[Command], Command]:
    return _option(flag, *parameter, cls=click.Option, **settings)


def _remember_verbosity(context: click.Context, _: click.Parameter, value: int) -> int:
    context.meta[VERBOSITY] = value
    return value


def _remember_quiet(context: click.Context, _: click.Parameter, value: bool) -> bool:
    context.meta[QUIET] = value
    return value


_COLUMNS: dict[str, Any] = {"multiple": True, "metavar": "COL,…"}

_PARTS = (
    _asked("--qi", **_COLUMNS, help="Quasi-identifiers; '*' is every column without another part."),
    _asked("--sensitive", **_COLUMNS, help="What must not become known of a person."),
    _asked("--identifiers", **_COLUMNS, help="Columns that name a person outright."),
    _asked("--entity", metavar="COL", help="Whom a record is about; k then counts people."),
)
_DEMANDS = (
    _asked(
        "--k",
        type=WholeNumber(),
        metavar="N",
        help="k-anonymity: at least N records in each class.",
    ),
    _asked(
        "--k-map",
        type=WholeNumber(),
        metavar="N",
        help="k-map: at least N matches in the reference.",
    ),
    _asked(
        "--l",
        type=WholeNumber(),
        metavar="N",
        help="l-diversity: at least N sensitive values in each class, for each --sensitive.",
    ),
    _asked(
        "--t",
        type=Decimal(),
        metavar="X",
        help="t-closeness: at most X from how the table is spread, for each --sensitive.",
    ),
    _asked(
        "--check",
        multiple=True,
        metavar="MODEL[:KEY=VALUE,…]",
        help="Any model, as in l_diversity:l=3,sensitive=COL. kanon-sql explain lists them.",
    ),
    _asked(
        "--reference",
        multiple=True,
        metavar="[NAME=]SRC",
        help="The reidentification dataset. Where there are several, begin the value of the "
        "options below with NAME and a colon, and name one in --check.",
    ),
    _asked(
        "--reference-columns",
        multiple=True,
        metavar="[NAME:]COL=COL,…",
        help="Its own name for a quasi-identifier: zip=zip_code.",
    ),
    _asked(
        "--reference-where", multiple=True, metavar="[NAME:]EXPR", help="Only these of its records."
    ),
    _asked(
        "--reference-entity", multiple=True, metavar="[NAME:]COL", help="Whom its record is about."
    ),
    _asked(
        "--reference-weight",
        multiple=True,
        metavar="[NAME:]COL",
        help="How many people its record stands for.",
    ),
    _asked(
        "--reference-level",
        multiple=True,
        metavar="[NAME:]COL=N,…",
        help="Generalise it to where the table already is: zip=2, by the table's --hierarchy.",
    ),
)
_EARLIER = (
    _asked(
        "--earlier",
        multiple=True,
        metavar="[NAME=]SRC",
        help="An earlier release of the same people, which someone may link with this one by "
        "--entity. Where there are several, begin the value of the options below with NAME and a "
        "colon.",
    ),
    _asked(
        "--earlier-columns",
        multiple=True,
        metavar="[NAME:]COL=COL,…",
        help="Its own name for a quasi-identifier, a sensitive attribute or the entity.",
    ),
    _asked(
        "--earlier-qi",
        multiple=True,
        metavar="[NAME:]COL,…",
        help="Its quasi-identifiers, where it published others.",
    ),
    _asked(
        "--earlier-entity", multiple=True, metavar="[NAME:]COL", help="Whom its record is about."
    ),
    _asked(
        "--earlier-where", multiple=True, metavar="[NAME:]EXPR", help="Only these of its records."
    ),
    _asked(
        "--earlier-level",
        multiple=True,
        metavar="[NAME:]COL=N,…",
        help="Generalise it to what was released: zip=2, by the table's --hierarchy.",
    ),
)
_HIERARCHIES = (
    _asked(
        "--hierarchy",
        multiple=True,
        metavar="COL=HOW",
        help="How a column may be generalised: a file, a table, or width:5,10 round:10 mask:right "
        "date:month,year,5y prefix:3 cuts:18,65 suppress.",
    ),
    _asked("--clip", multiple=True, metavar="COL=LOW:HIGH", help="Before any level: age=10:90."),
    _asked(
        "--hierarchy-faults",
        type=click.Choice(["error", "warn"]),
        help="A hierarchy that is no clean tree: refused (default), or a warning.",
    ),
)
_LEVELS = (
    _asked(
        "--level",
        multiple=True,
        metavar="COL=N,…",
        help="Look at the table as it would be at these levels: age=1,zip=2.",
    ),
)
_RECORDS = (
    _asked("--where", metavar="EXPR", help="Only the records for which this holds."),
    _asked(
        "--first",
        type=WholeNumber(),
        metavar="N",
        help="Only the first N records, in the file's order.",
    ),
    _asked(
        "--nulls",
        type=click.Choice(["value", "wildcard"]),
        help="NULL in a quasi-identifier: a value of its own (default), or it matches everything.",
    ),
    _asked(
        "--sensitive-nulls",
        type=click.Choice(["value", "unknown"]),
        help="NULL in a sensitive attribute: a value of its own (default), or unknown.",
    ),
)
_RECORDS_READ = _RECORDS[:2]
_OTHERS_KNOWN = (
    _asked(
        "--with-other-sensitive",
        is_flag=True,
        help="Whoever attacks may know the other sensitive attributes of a person.",
    ),
)
_SOURCE = (
    _asked("--weight", metavar="COL", help="The survey weight: how many people a record is."),
    _asked("--null-string", multiple=True, metavar="TEXT", help="Stands for NULL in a text file."),
    _asked("--delimiter", metavar="C", help="What separates the fields of a text file."),
    _asked(
        "--connect",
        metavar="URL",
        help="Where the table lies: duckdb:FILE, postgresql://…, snowflake://…",
    ),
)
_RELEASE_QUESTION = (
    *_PARTS,
    *_DEMANDS,
    *_EARLIER,
    *_HIERARCHIES,
    *_RECORDS,
    *_OTHERS_KNOWN,
    *_SOURCE,
)
_QUESTION = (
    *_PARTS,
    *_DEMANDS,
    *_EARLIER,
    *_HIERARCHIES,
    *_LEVELS,
    *_RECORDS,
    *_OTHERS_KNOWN,
    *_SOURCE,
)
_KNOWLEDGE = (
    _run(
        "--attacker-knows",
        **_COLUMNS,
        type=OneALine(),
        help="Look at these columns only; without it at all that are no identifier.",
    ),
    _run(
        "--k",
        type=WholeNumber(),
        metavar="N",
        default=5,
        show_default=True,
        help="A class of fewer than N records is small.",
    ),
)
_IDENTIFYING = (
    _run(
        "--columns",
        **_COLUMNS,
        type=OneALine(),
        help="In place of --qi: the columns to look at by themselves and in sets; without both "
        "all that somebody may know.",
    ),
    _run(
        "--subsets",
        type=WholeNumber(),
        metavar="D",
        help="The classes of every set of at most D columns, the worst first.",
    ),
    _run(
        "--suda",
        type=WholeNumberOrAll(),
        metavar="M|all",
        help="Special uniques: whom at most M columns single out, and no fewer (SUDA2).",
    ),
    _run(
        "--sampling-fraction",
        type=Decimal(),
        metavar="X",
        default=0.01,
        show_default=True,
        help="The share of the population that the records are, for DIS-SUDA.",
    ),
    _run(
        "--scores",
        metavar="FILE",
        help="Write the number and the score of each special record there: personal data, so it "
        "needs --show-values.",
    ),
)
_INITIAL_PARTS = (
    _asked("--sensitive", **_COLUMNS, help="What must not become known of a person, if decided."),
    _asked("--identifiers", **_COLUMNS, help="Columns that name a person outright, if decided."),
    _asked("--entity", metavar="COL", help="Whom a record is about; people are counted then."),
)
_VALUES_OF = (
    _run("--from", "target", required=True, metavar="TARGET", help="The table of the column."),
    _run("--output", required=True, metavar="FILE.csv", help="Write the hierarchy there."),
    _run("--force", is_flag=True, help="Overwrite the file."),
)
_WORKSHEET = (
    _run(
        "--sample",
        type=WholeNumber(),
        metavar="N",
        default=20,
        show_default=True,
        help="How many records are to be tried.",
    ),
    _run(
        "--seed",
        type=WholeNumber(),
        metavar="N",
        default=1,
        show_default=True,
        help="Chooses between records of the same risk.",
    ),
    _run("--read", metavar="FILE", help="In place of TARGET: what came of a filled worksheet."),
    _run("--output", metavar="FILE.csv", help="Write the worksheet, or what came of it, there."),
    _run("--force", is_flag=True, help="Overwrite the file."),
)
_WRITTEN_SPEC = (
    _run("--output", metavar="FILE.yml", help="Write the spec there; without it, print it."),
    _run("--force", is_flag=True, help="Overwrite the file."),
)
_SHOWN = (_run("--show-values", is_flag=True, help="Show values of small classes: personal data."),)
_LIMITS = (
    _run("--memory-limit", metavar="SIZE", help="As in 2GB; more is spilled to a private folder."),
    _run("--threads", type=WholeNumber(), metavar="N", help="At most so many."),
    _run(
        "--timeout",
        type=Seconds(),
        metavar="SECONDS",
        help="Give up after so long, with exit code 3.",
    ),
)
_RUN = (*_SHOWN, *_LIMITS)
_DRY_RUN = (
    _run(
        "--dry-run",
        is_flag=True,
        help="Only say what would run, on which tables, and what the engine expects of it.",
    ),
)
_OUTPUT = (
    _run(
        "--output",
        metavar="FILE",
        help="Write the result there, whole or not at all, in the form that the name ends with.",
    ),
    _run("--force", is_flag=True, help="Overwrite the output."),
)
_PREFERENCES = (
    _run(
        "--keep",
        **_COLUMNS,
        type=OneALine(),
        help="Quasi-identifiers that stay as they are.",
    ),
    _run(
        "--at-most",
        multiple=True,
        type=OneALine(),
        metavar="COL=N,…",
        help="The highest level that a quasi-identifier may have: zip=2.",
    ),
    _run(
        "--weight-of",
        multiple=True,
        type=OneALine(),
        metavar="COL=X,…",
        help="What the loss of a quasi-identifier weighs, where it is not 1: age=2.5.",
    ),
)
_SIZES = (
    _run(
        "--k",
        multiple=True,
        type=OneALine(),
        metavar="N,…",
        help="The sizes of classes to weigh; 2,3,5,8,11,15,20,50 without it.",
    ),
)
_WEIGHED = (
    _run("--metric", metavar="NAME", help="What the best levels lose least of: loss without it."),
    _run(
        "--max-suppressed",
        metavar="N|P%",
        help="How many records may be left out, as a number or a share: 5%. None without it.",
    ),
    *_PREFERENCES,
    _run("--gap", metavar="P%", help="End once at most this share of each loss could be saved."),
    _run(
        "--pull-frequencies",
        is_flag=True,
        help="Fetch a warehouse's frequency set, with the values of its quasi-identifiers, and "
        "search here.",
    ),
)
_SEARCH = (
    _run(
        "--algorithm",
        metavar="datafly|optimal",
        default="datafly",
        show_default=True,
        help="How the levels are found.",
    ),
    _run("--metric", metavar="NAME", help="What optimal minimises: loss without it."),
    _run(
        "--max-suppressed",
        metavar="N|P%",
        help="How many records may be left out, as a number or a share: 5%. Without it K for "
        "datafly, and none for all others.",
    ),
    *_PREFERENCES,
    _run(
        "--gap",
        metavar="P%",
        help="End an optimal search once at most this share of the loss could be saved.",
    ),
    _run(
        "--minimal-nodes",
        is_flag=True,
        help="Beside the best levels list all that will do and could not be lowered.",
    ),
    _run(
        "--suppressed",
        metavar="remove|star",
        default="remove",
        show_default=True,
        help="Leave these records out, or keep them with * in every quasi-identifier.",
    ),
    _run(
        "--pull-frequencies",
        is_flag=True,
        help="Fetch a warehouse's frequency set, with the values of its quasi-identifiers, and "
        "search here; without it each step is a query there.",
    ),
)
_RELEASE = (
    _run(
        "--output",
        metavar="FILE",
        help="The release: .parquet, .csv or .tsv, or .sql for the views that make it.",
    ),
    _run("--dialect", help="The SQL to write the views in; without it, that of the database."),
    _run(
        "--emit",
        metavar="views|dbt-model",
        default="views",
        show_default=True,
        help="What the .sql file holds; a dbt model has a .yml with its tests beside it.",
    ),
    _run(
        "--name",
        "view_name",
        metavar="NAME",
        help="What the views are called, as in patients_release; after the table without it.",
    ),
    _run("--single-view", is_flag=True, help="One view in place of one a step."),
    _run(
        "--keep-order",
        is_flag=True,
        help="Leave the records in the order of their source, which links them to other releases "
        "of it; without it they are in the order of what is published.",
    ),
    _run(
        "--untouched",
        metavar="warn|drop|error",
        help="Columns without a part: released as they are with a warning (default), left out, "
        "or refused.",
    ),
    _run(
        "--result",
        metavar="FILE",
        help="Write the result there, whole or not at all, in the form that the name ends with.",
    ),
    _run(
        "--force",
        is_flag=True,
        help="Overwrite the files, and write a release that fails its audit.",
    ),
)


def _format(formats: Sequence[str]) -> Callable[[Command], Command]:
    return _run(
        "--format",
        type=Format(formats),
        metavar="|".join(formats),
        default="human",
        show_default=True,
        help="How the result is written.",
    )


_FORMAT = (_format(FORMATS),)
_AUDIT_FORMAT = (_format((*FORMATS, *PIPELINE_FORMATS)),)
_MANIFEST = (
    _run(
        "--manifest",
        metavar="FILE",
        help="In place of TARGET: the models of a dbt project whose columns have roles.",
    ),
    _run(
        "--select",
        multiple=True,
        type=OneALine(),
        metavar="NAME|tag:…|path:…",
        help="Only these models of the manifest.",
    ),
)
_BY = _run(
    "--by",
    type=click.Choice(["share", "count"]),
    default="share",
    help="Compare what share of the records violates (default), or how many: for a table that "
    "always has the same size.",
)
_BASELINE = (
    _run(
        "--baseline",
        metavar="FILE",
        help="Fail only on what got worse since kanon-sql baseline wrote FILE.",
    ),
    _BY,
)
_WORSE = (
    _run("--fail-on-worse", is_flag=True, help="End with exit code 1 where anything got worse."),
    _BY,
)
_REPORT = (
    _run(
        "--output",
        metavar="FILE",
        help="The page: .html. Without it the page is printed.",
    ),
    _run(
        "--earlier-result",
        metavar="OLD.json",
        help="An earlier result: the page says what is better, worse, or asked less.",
    ),
    _run(
        "--profile",
        metavar="FILE",
        help="A result of profile as JSON: the page says what each column adds.",
    ),
    _run(
        "--tradeoff",
        metavar="FILE",
        help="A result of tradeoff as JSON: the page says what each k costs.",
    ),
    _run(
        "--worksheet",
        metavar="FILE",
        help="A filled worksheet: the page says what came of trying by hand, in counts.",
    ),
    _run(
        "--audience",
        type=click.Choice(["internal", "external"]),
        default="internal",
        show_default=True,
        help="For people outside, small counts are pooled and the SQL is left out.",
    ),
    _run(
        "--min-cell",
        type=WholeNumber(),
        metavar="N",
        default=10,
        show_default=True,
        help="Counts of fewer records than this are pooled for people outside.",
    ),
    _run("--force", is_flag=True, help="Overwrite the output."),
)
_COMPILED = (
    _run("--dialect", metavar="NAME", help="The SQL to write; that of the engine without it."),
    _run(
        "--quote",
        metavar="always|needed",
        default="always",
        show_default=True,
        help="Quote every name, or only those that need it.",
    ),
    _run(
        "--table", metavar="NAME", help="What the table is called there, as in analytics.patients."
    ),
    _run("--step", metavar="NAME", help="Only this statement."),
    _run(
        "--until",
        metavar="SET",
        help="A statement up to one of the sets that it names, as class_values, to see its rows.",
    ),
    _run("--output-dir", metavar="FOLDER", help="Write a file a statement, all of them or none."),
)
_TELL = (
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


def _together(
    *groups: Iterable[Callable[[Command], Command]],
) -> Callable[[Command], Command]:
    """The options of these groups as one decorator, listed by --help in this order."""

    def decorate(command: Command) -> Command:
        for group in reversed(groups):
            for option in reversed(tuple(group)):
                command = option(command)
        return command

    return decorate


audit_options = _together(
    _QUESTION, _MANIFEST, _BASELINE, _AUDIT_FORMAT, _OUTPUT, _RUN, _DRY_RUN, _TELL
)
baseline_options = _together(_QUESTION, _OUTPUT, _LIMITS, _TELL)
diff_options = _together(_FORMAT, _WORSE, _OUTPUT, _TELL)
compile_options = _together(_QUESTION, _COMPILED, _OUTPUT, _RUN, _TELL)
validate_options = _together(_QUESTION, _TELL)
anonymize_options = _together(
    _RELEASE_QUESTION, _SEARCH, _RELEASE, _FORMAT, _LIMITS, _DRY_RUN, _TELL
)
tradeoff_options = _together(
    _PARTS,
    _SIZES,
    _DEMANDS[1:],
    _HIERARCHIES,
    _RECORDS,
    _OTHERS_KNOWN,
    _SOURCE,
    _WEIGHED,
    _FORMAT,
    _OUTPUT,
    _LIMITS,
    _TELL,
)
profile_options = _together(
    _PARTS,
    _KNOWLEDGE,
    _IDENTIFYING,
    _HIERARCHIES,
    _LEVELS,
    _RECORDS,
    _SOURCE,
    _FORMAT,
    _OUTPUT,
    _RUN,
    _TELL,
)
init_options = _together(_INITIAL_PARTS, _RECORDS_READ, _SOURCE, _WRITTEN_SPEC, _LIMITS, _TELL)
hierarchy_options = _together(_VALUES_OF, _RECORDS_READ, _SOURCE, _SHOWN, _LIMITS, _TELL)
worksheet_options = _together(_QUESTION, _WORKSHEET, (_format(("human", "json")),), _RUN, _TELL)
report_options = _together(_REPORT, _TELL)
demo_options = _together(_TELL)
