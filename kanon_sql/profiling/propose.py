"""The proposal of a spec: a role for each column with its reason."""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal
from urllib.parse import parse_qsl, urlsplit

from kanon_sql.auditing.opening import OpenTable, answer_of_one_table
from kanon_sql.engines.run_options import RunOptions
from kanon_sql.engines.session import Session
from kanon_sql.errors import SpecError, no_records, plural
from kanon_sql.files import file_of_url, is_url_of_object
from kanon_sql.models.base import Model
from kanon_sql.plan.question import ResolvedQuestion
from kanon_sql.plan.steps import records, step
from kanon_sql.profiling.columns import LookedAt, Looks, bound_column, meaning_of
from kanon_sql.profiling.identifying import OpenProfile, RecordCounts, counted_records, open_profile
from kanon_sql.profiling.profile_plan import DEFAULT_K, Identifying, as_profiled
from kanon_sql.question.date_formats import ORDERS, date_format
from kanon_sql.question.hierarchy import SUPPRESS
from kanon_sql.question.spec import AuditSpec, json_schema
from kanon_sql.question.table import TableSpec
from kanon_sql.report.words.numbers import listed, printable
from kanon_sql.results.profile import BEST_OF, BY_NAME, UNKNOWN_NAME, ColumnProfile
from kanon_sql.results.writing import write_atomically
from kanon_sql.sql.macros import render
from kanon_sql.sql.tables import Column, family

Section = Literal["identifiers", "quasi_identifiers", "sensitive", "insensitive", "undecided"]

_PLAIN_SCALAR = re.compile(r"[^\W\d][\w-]*")
_OTHERWISE_READ = {"null", "true", "false", "yes", "no", "on", "off", "y", "n"}


@dataclass(frozen=True)
class ProposedColumn:
    """A column with its proposed role and the reason."""

    name: str
    section: Section
    reason: str
    levels: tuple[Any, ...] = ()
    """Levels of a quasi-identifier; if empty, a hierarchy file could define them."""
    orders: tuple[str, ...] = ()
    """The formats that fit all its texts, which are dates; several where no day is above 12."""
    hierarchy: Mapping[str, Any] = field(default_factory=dict)
    """The hierarchy of a quasi-identifier that was chosen, in place of levels."""
    why: str | None = None
    """Why somebody found an insensitive column harmless."""


@dataclass(frozen=True)
class Chosen:
    """The levels and the checks that a person chose."""

    levels: Mapping[str, int]
    checks: Sequence[Model]


@dataclass(frozen=True)
class ProposedSpec:
    """The content of a spec file for one table; roles that the user gave have no reason."""

    table: str
    """Display name of the table."""
    records: int
    source: str | None
    """None for data that no file can name."""
    columns: tuple[ProposedColumn, ...]
    k: int
    entity: str | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Further settings of the table, such as connect, where or delimiter."""
    schema: str | None = None
    """The file of the JSON Schema, for editors, in the spec's folder."""
    several: bool = False
    """Whether some people have several records."""
    by_connection: bool = False
    """Whether it was read through a connection object, which no file can name."""
    chosen: Chosen | None = None
    """What a person chose; else it is proposed."""

    def of(self, section: Section) -> list[ProposedColumn]:
        return [column for column in self.columns if column.section == section]

    @property
    def text(self) -> str:
        """The file, without a newline at its end."""
        return "\n".join(_lines(self))


def _lines(spec: ProposedSpec) -> Iterator[str]:
    if spec.schema:
        yield f"# yaml-language-server: $schema={spec.schema}"
        yield "#"
    of = f"{printable(spec.table)}: {plural(spec.records, 'record')}"
    yield from _comment(
        f"Chosen with kanon-sql explore for {of}. "
        "This file has no value of the table, unless a column name or a condition has one."
        if spec.chosen
        else f"A first spec, proposed from {of}. "
        "It is guessed from names and counts, so nothing is decided yet: read every line. The "
        "widths are round numbers, chosen by the range of the values; this file has no value of "
        "the table, unless a column name is one."
    )
    yield ""
    yield "version: 1"
    yield "tables:"
    if spec.source is None:
        yield f"  - source:    # a file can't name a {spec.table}: write which file or table it is"
    else:
        yield f"  - source: {scalar(spec.source)}"
    if spec.by_connection:
        yield "    # connect: a URL; from Python a connection can be passed as engine instead"
    for key, value in spec.settings.items():
        yield f"    {key}: {_flow(value)}"
    if spec.entity:
        yield f"    entity: {scalar(spec.entity)}    # identifies a person: people are counted"
        if spec.several and not spec.chosen:
            yield (
                "    events: []    # people have several records: what makes an event, as in "
                "[ward, month]?"
            )
    elif not spec.chosen:
        yield ("    # entity: person_id    # identifies a person, if people have several records")
    yield from _names(
        spec, "identifiers", "They identify a person directly and are never published."
    )
    yield from _quasi_identifiers(spec)
    yield from _names(spec, "sensitive", "What must not become known about a person.")
    yield from _names(
        spec, "insensitive", "Reviewed: published unchanged, as they reveal nothing about a person."
    )
    yield from _undecided(spec)
    yield from _checks(spec)
    yield from () if spec.chosen else _reference(spec)


def _comment(text: str, indent: str = "") -> Iterator[str]:
    line = f"{indent}#"
    for word in text.split():
        if len(line) + 1 + len(word) > 96:
            yield line
            line = f"{indent}#"
        line = f"{line} {word}"
    yield line


def _names(spec: ProposedSpec, section: Section, meaning: str) -> Iterator[str]:
    columns = spec.of(section)
    if not columns:
        return
    yield ""
    yield from _comment(meaning, "    ")
    yield f"    {section}:"
    has_whys = any(column.why for column in columns)
    for column in columns:
        name = scalar(column.name)
        if has_whys:
            yield f"      {name}: {_flow({'why': column.why} if column.why else {})}"
        else:
            yield f"      - {name}{_reason_comment(column.reason)}"


def _quasi_identifiers(spec: ProposedSpec) -> Iterator[str]:
    yield ""
    yield from _comment(
        "What somebody may know about a person: from a register, as a neighbour, from what people "
        "publish. The levels are for anonymize.",
        "    ",
    )
    columns = spec.of("quasi_identifiers")
    if not columns:
        yield "    quasi_identifiers: {}    # none was recognised: name them"
        return
    yield "    quasi_identifiers:"
    for column in columns:
        yield f"      {scalar(column.name)}:{_reason_comment(column.reason)}"
        if column.hierarchy:
            yield from (f"        {key}: {_flow(value)}" for key, value in column.hierarchy.items())
            continue
        levels = column.levels or ("suppress",)
        yield f"        levels: {_flow(list(levels))}"
        if not column.levels and not spec.chosen:
            file = re.sub(r"[^\w-]+", "_", column.name).strip("_") or "column"
            yield (
                f"        # hierarchy: hierarchies/{file}.csv    # in place of levels; kanon-sql "
                "hierarchy new begins one"
            )


def _undecided(spec: ProposedSpec) -> Iterator[str]:
    columns = spec.of("undecided")
    if not columns:
        return
    yield ""
    yield from _comment(
        'To be decided by a person, since a quasi-identifier that is missed makes a false "holds": '
        "move each to its role, or to insensitive if it reveals nothing about a person. "
        "Until then this file is refused.",
        "    ",
    )
    yield "    undecided:"
    for column in columns:
        yield f"      - {scalar(column.name)}{_reason_comment(column.reason)}"


def _checks(spec: ProposedSpec) -> Iterator[str]:
    if spec.chosen:
        if levels := {name: level for name, level in spec.chosen.levels.items() if level}:
            yield ""
            yield "    levels:"
            yield from (f"      {scalar(name)}: {level}" for name, level in levels.items())
        if spec.chosen.checks:
            yield ""
            yield "    checks:"
        for check in spec.chosen.checks:
            yield f"      - {check.name()}: {_flow(check.model_dump(exclude_defaults=True))}"
        return
    yield ""
    yield from _comment(
        "The required checks, as a start: kanon-sql explain thresholds says how to choose.", "    "
    )
    yield "    checks:"
    yield f"      - k_anonymity: {{k: {spec.k}}}"
    for column in spec.of("sensitive"):
        yield f"      - l_diversity: {{l: 2, sensitive: {scalar(column.name)}}}"


def _reference(spec: ProposedSpec) -> Iterator[str]:
    columns = [column.name for column in spec.of("quasi_identifiers")][:2]
    renamed = ", ".join(f"{scalar(name)}: its_own_name" for name in columns)
    yield ""
    yield from _comment(
        "The people whom a record could be about, if there is a register: a check k_map counts "
        "how many of them match.",
        "    ",
    )
    yield "    # references:"
    yield "    #   register:"
    yield "    #     source: register.parquet"
    yield f"    #     columns: {{{renamed}}}"
    yield "    #     entity: person_id"


def _reason_comment(reason: str) -> str:
    return f"    # {' '.join(reason.split())}" if reason else ""


def scalar(text: str) -> str:
    """A text as a YAML scalar, quoted if it could be parsed as something else.

    >>> print(scalar("Größe"), scalar("no"), scalar("a: b"), scalar("x\\ny"), scalar("🏠"))
    Größe "no" "a: b" "x\\ny" "🏠"
    """
    if _PLAIN_SCALAR.fullmatch(text) and text.isprintable() and text.lower() not in _OTHERWISE_READ:
        return text
    # YAML reads JSON escapes alike; non-printable characters get numeric escapes valid in both.
    quoted = json.dumps(text, ensure_ascii=False)
    return "".join(char if char.isprintable() else f"\\U{ord(char):08x}" for char in quoted)


def _flow(value: Any) -> str:
    """Plain values in YAML flow style, on one line.

    >>> _flow([{"width": 5}, "suppress"])
    '[{width: 5}, suppress]'
    """
    match value:
        case dict():
            return (
                f"{{{', '.join(f'{scalar(key)}: {_flow(item)}' for key, item in value.items())}}}"
            )
        case list() | tuple():
            return f"[{', '.join(map(_flow, value))}]"
        case str():
            return scalar(value)
        case bool():
            return str(value).lower()
    return str(value)


def joined_reasons(reasons: Sequence[str]) -> str:
    """The non-empty reasons, joined."""
    return "; ".join(reason for reason in reasons if reason)


SCHEMA = "kanon.schema.json"
"""The file of the JSON Schema in the folder of a spec."""
FEW_VALUES = 10
"""Maximum number of distinct numbers that are categories instead of amounts."""
_SECTIONS: dict[str, Section] = {
    "identifier": "identifiers",
    "quasi_identifier": "quasi_identifiers",
    "sensitive": "sensitive",
}
_POSTCODE = "postcode"
_DATES = {"date of birth", "date of death", "event that others may know of"}
"""Meanings that get no mask: of a date with the day first, as in 17.03.1985, a mask from the right
removes the year first and leaves the day."""
_YEARS = (1800, 2200)
"""Range in which integers are taken to be years."""
_LONGEST_AGE = 130
_LONGEST_CODE = 16


@dataclass(frozen=True)
class Proposal:
    """A proposed spec, as the text of its file."""

    spec: ProposedSpec
    output: Path | None = None
    """The path it was written to."""
    measured: tuple[ColumnProfile, ...] = ()
    """The columns as they were measured, in the order of the table."""
    members: int = 0
    """Number of people, or of records without an entity."""

    @property
    def text(self) -> str:
        return self.spec.text

    @property
    def undecided(self) -> tuple[str, ...]:
        """The columns to decide by hand."""
        return tuple(column.name for column in self.spec.of("undecided"))

    def __str__(self) -> str:
        return self.text


def propose(
    spec: AuditSpec,
    run: RunOptions,
    *,
    output: Path | None = None,
) -> Proposal:
    """Propose a spec for the single table of `spec`, keeping the roles it already gives.

    Writes it to `output` if given, and the JSON Schema of specs to the same folder unless it is
    there.
    Raises `SpecError`, `InputError` (also for a table without records) and `EngineError`.
    """
    [table_spec], engine = spec.tables, run.engine
    where = table_spec.connect or (engine if isinstance(engine, str) else None)
    source = _source(table_spec, output, is_file=where is None and engine is None)
    settings = _settings(table_spec, where, output)
    question, (counted, profile, orders) = answer_of_one_table(
        spec,
        run,
        _profiled,
        writes=[output] if output else [],
        table_spec=as_profiled(table_spec),
        is_open=True,
    )
    columns = tuple(_columns(profile, counted, orders))
    is_file = output is not None and (output.is_file() or not output.exists())
    schema = (output.parent if output else Path()) / SCHEMA
    proposed = ProposedSpec(
        table=question.table.name,
        records=counted.records,
        source=source,
        columns=columns,
        k=DEFAULT_K,
        entity=question.entity.name if question.entity else None,
        several=counted.people is not None and counted.people < counted.records,
        settings=settings | _dates(columns),
        schema=SCHEMA if is_file or schema.is_file() else None,
        by_connection=source is not None and engine is not None and where is None,
    )
    if output:
        write_atomically(output, f"{proposed.text}\n")
        if is_file and not schema.exists():
            write_atomically(schema, f"{json.dumps(json_schema(), indent=2)}\n")
    return Proposal(proposed, output, profile.columns, counted.members)


def proposed_by_name(columns: Sequence[Column]) -> tuple[ProposedColumn, ...]:
    """The columns with the roles that their names suggest, without a look at their values."""
    return tuple(map(_by_name, columns))


def _by_name(column: Column) -> ProposedColumn:
    meaning = meaning_of(column.name)
    if meaning is None:
        return ProposedColumn(column.name, "undecided", UNKNOWN_NAME)
    section = _SECTIONS.get(meaning.role, "undecided")
    is_date = section == "quasi_identifiers" and family(column.type) == "time"
    levels = ("month", "year", {"years": 5}, SUPPRESS) if is_date else ()
    return ProposedColumn(column.name, section, f"{BY_NAME}{meaning.label}", levels)


def chosen_spec(
    spec: TableSpec, table: str, records: int, undecided: Sequence[str], output: Path | None
) -> ProposedSpec:
    """The spec file of what a person chose, whose paths are relative to `output`."""
    sections: dict[Section, Iterable[str]] = {
        "identifiers": spec.identifiers, "sensitive": spec.sensitive,
        "undecided": undecided,
    }  # fmt: skip
    columns = [
        ProposedColumn(name, section, "") for section, names in sections.items() for name in names
    ]
    for name, reviewed in spec.insensitive.items():
        columns.append(ProposedColumn(name, "insensitive", "", why=reviewed.why))
    for name, hierarchy in spec.quasi_identifiers.items():
        written = hierarchy.model_dump(exclude_defaults=True) or {"levels": [SUPPRESS]}
        if isinstance(file := written.get("hierarchy"), str) and not spec.connect:
            written["hierarchy"] = _relative_to_spec(output, file)
        columns.append(ProposedColumn(name, "quasi_identifiers", "", hierarchy=written))
    return ProposedSpec(
        table,
        records,
        _source(spec, output, is_file=spec.connect is None),
        tuple(columns),
        DEFAULT_K,
        entity=spec.entity,
        settings=_settings(spec, spec.connect, output) | _nulls_and_faults(spec),
        chosen=Chosen(spec.levels, spec.checks),
    )


def _profiled(
    session: Session, table: OpenTable
) -> tuple[RecordCounts, OpenProfile, Mapping[str, tuple[str, ...]]]:
    question = table.question
    counted = counted_records(question, session)
    if not counted.records:
        raise no_records(question.table.name, "nothing can be proposed for its columns")
    profile = open_profile(question, Identifying(), counted, DEFAULT_K, session)
    return counted, profile, _orders(profile, question, session)


def _orders(
    profile: OpenProfile, question: ResolvedQuestion, session: Session
) -> dict[str, tuple[str, ...]]:
    """The formats that fit all values of a column of text, which no cast takes for dates."""
    columns = [
        bound_column(look.column)
        for look in profile.looked_at
        if look.column.type == "VARCHAR" and look.looks and _may_be_dates(look.looks)
    ]
    if not columns or not question.table.embedded:
        return {}
    formats = [(column, date_format(order)) for column in columns for order in ORDERS]
    relation = records(question, columns)
    sql = render("dates_as_written", relation=relation, columns=formats, declared=False)
    asked = "How many values of the columns of text are dates, with the day or the month first?"
    [row] = session.rows(step(question, "dates_as_written", asked, sql))
    fits: dict[str, tuple[str, ...]] = {}
    for number, (column, format) in enumerate(formats, start=1):
        if row[f"kanon_dates_{number}"] == row[f"kanon_values_{number}"]:
            fits[column.name] = (*fits.get(column.name, ()), format.name)
    return fits


def _may_be_dates(looks: Looks) -> bool:
    return not looks.are_dates and looks.shortest >= 8 and looks.longest <= 19


def _dates(columns: Sequence[ProposedColumn]) -> dict[str, Any]:
    """The setting of the date formats that leave no doubt."""
    dates = {column.name: column.orders[0] for column in columns if len(column.orders) == 1}
    return {"dates": dates} if dates else {}


def _nulls_and_faults(spec: TableSpec) -> dict[str, Any]:
    defaults = {"sensitive_nulls": "value", "hierarchy_faults": "error"}
    return {key: getattr(spec, key) for key in defaults if getattr(spec, key) != defaults[key]}


# --- source and settings --------------------------------------------------------------------


def _source(table_spec: TableSpec, output: Path | None, *, is_file: bool) -> str | None:
    """The source as named in the file: relative to the file's folder; None for data without a name,
    which the user has to fill in."""
    if not isinstance(table_spec.source, str | Path):
        return None
    source = str(table_spec.source)
    return _relative_to_spec(output, source) if is_file else source


def _relative_to_spec(output: Path | None, file: str) -> str:
    """A path relative to the folder of the spec file."""
    if output is None or is_url_of_object(file) or os.path.isabs(os.path.expanduser(file)):
        return file
    return os.path.relpath(file, output.parent)


def _settings(table_spec: TableSpec, where: str | None, output: Path | None) -> dict[str, Any]:
    """The settings for reading the table."""
    settings: dict[str, Any] = {}
    if where:
        settings["connect"] = _without_secret(where, output)
    for key in _READ:
        if getattr(table_spec, key) is not None:
            settings[key] = getattr(table_spec, key)
    if table_spec.decimal != ".":
        settings["decimal"] = table_spec.decimal
    if table_spec.null_strings:
        settings["null_strings"] = list(table_spec.null_strings)
    return settings


_READ = ("name", "where", "first", "delimiter", "encoding", "skip", "dates", "header", "weight")
"""The keys that say what is read, and how."""


def _without_secret(url: str, output: Path | None) -> str:
    """The URL, unless it holds what no file should. Raises `SpecError` that does not repeat it."""
    if file := file_of_url(url):
        return f"{url.partition(':')[0]}:{_relative_to_spec(output, file)}"
    try:
        split_url = urlsplit(url)
        password = split_url.password
        options = parse_qsl(split_url.query)
    except ValueError:
        return url
    secret = re.compile("pass|pwd|token|secret|private|credential", re.IGNORECASE)
    held = [password, *(value for name, value in options if secret.search(name))]
    if any(text and not text.startswith("env:") for text in held):
        raise SpecError(
            "the URL holds a password, and a spec file should not. Write env:NAME in its place, "
            "to read it from that environment variable."
        )
    return url


# --- roles ----------------------------------------------------------------------------------


def _columns(
    profile: OpenProfile, counted: RecordCounts, orders: Mapping[str, tuple[str, ...]]
) -> list[ProposedColumn]:
    """The columns in table order; quasi-identifiers by what they add."""
    looked_at = {look.column.name: look for look in profile.looked_at}
    ranked = sorted(
        (column for column in profile.columns if column.rank), key=lambda at: at.rank or 0
    )
    most = [candidate.column for candidate in ranked[:BEST_OF]]
    proposed = [
        (
            column.rank or math.inf,
            _with_dates(
                _proposed(column, looked_at[column.column], counted, most),
                orders.get(column.column, ()),
            ),
        )
        for column in profile.columns
        if column.role not in ("entity", "weight")
    ]
    return [column for _, column in sorted(proposed, key=lambda pair: pair[0])]


def _proposed(
    column: ColumnProfile, column_statistics: LookedAt, counted: RecordCounts, most: Sequence[str]
) -> ProposedColumn:
    section = _SECTIONS.get(column.role or column.looks_like, "undecided")
    reason = "as named" if column.role else _reason(column, counted, most)
    levels = levels_for(column, column_statistics) if section == "quasi_identifiers" else ()
    return ProposedColumn(column.column, section, reason, levels)


def _with_dates(proposed: ProposedColumn, orders: tuple[str, ...]) -> ProposedColumn:
    """The proposal of a column whose texts are dates of a format, which it says or asks about."""
    if not orders:
        return proposed
    levels = proposed.levels
    if len(orders) == 1:
        reason = f"dates, assumed to be {ORDERS[orders[0]]}"
        if proposed.section == "quasi_identifiers":
            levels = ("month", "year", {"years": 5}, SUPPRESS)
    else:
        ways = " or ".join(f"{{{scalar(proposed.name)}: {order}}}" for order in orders)
        looks = " or ".join(ORDERS[order] for order in orders)
        reason = f"{looks}? No day is above 12. Decide and write dates: {ways}"
        levels = ()
    reasons = joined_reasons([proposed.reason, reason])
    return replace(proposed, reason=reasons, levels=levels, orders=orders)


def _reason(column: ColumnProfile, counted: RecordCounts, most: Sequence[str]) -> str:
    """The reason for a column's proposed role, in words and shares; `most` are the columns that
    together single out most."""
    if column.distinct is None:
        return column.why
    by_name = column.why.startswith(BY_NAME)
    why = f"name suggests {column.why.removeprefix(BY_NAME)}" if by_name else column.why
    if column.looks_like == "identifier":
        return joined_reasons(
            [f"{_percent(column.distinct, counted.records)} distinct: identifier", why]
        )
    if column.looks_like in ("constant", "free_text"):
        return column.why
    alone = column.alone or 0
    unique = _percent(alone, counted.members) if alone else "nobody"
    adds = ""
    if column.rank and column.rank > 1 and column.adds:
        more = _percent(column.adds, counted.members)
        adds = f"{more} more become unique when it is added to {listed(most[: column.rank - 1])}"
    values = plural(column.distinct, "value") if why == UNKNOWN_NAME else ""
    return joined_reasons([why, values, f"unique by itself: {unique}", adds])


def _percent(count: int, total: int) -> str:
    """
    >>> _percent(1, 3), _percent(3, 3), _percent(1, 100_000), _percent(0, 3)
    ('33.3 %', '100 %', 'less than 0.1 %', '0 %')
    """
    if count in (0, total) or not total:
        return f"{100 if count else 0} %"
    share = 100 * count / total
    if share < 0.1:
        return "less than 0.1 %"
    return "more than 99.9 %" if share > 99.9 else f"{share:.1f} %"


# --- levels ---------------------------------------------------------------------------------


def levels_for(column: ColumnProfile, column_statistics: LookedAt) -> tuple[Any, ...]:
    """Levels that suit the values; none if only a hierarchy file could define them."""
    looks = column_statistics.looks
    if looks is None or looks.known < 2:
        return ()
    meaning = meaning_of(column.column)
    label = meaning.label if meaning else ""
    if family(column_statistics.column.type) == "time" or looks.are_dates:
        finest = ["day"] if column_statistics.column.type.startswith("TIMESTAMP") else []
        return (*finest, "month", "year", {"years": 5}, "suppress")
    if _is_code(looks, label) and label not in _DATES:
        return ({"mask": "right"},)
    widths = _widths(looks, label) if looks.are_numbers else ()
    return (*({"width": width} for width in widths), "suppress") if widths else ()


def _is_code(looks: Looks, label: str) -> bool:
    """Whether the values are codes of equal length, which a mask shortens by character."""
    one_length = 2 < looks.shortest == looks.longest <= _LONGEST_CODE
    return one_length and (bool(looks.codes) or label == _POSTCODE)


def _widths(looks: Looks, label: str) -> Sequence[float | int]:
    """Interval widths, each a multiple of the previous one, all round numbers."""
    if looks.least is None or looks.most is None:
        return ()
    span = looks.most - looks.least
    if not math.isfinite(span) or span <= 0 or looks.known <= FEW_VALUES:
        return ()
    are_years = looks.are_whole and _YEARS[0] <= looks.least and looks.most <= _YEARS[1]
    are_ages = label == "age" and looks.least >= 0 and 5 < looks.most <= _LONGEST_AGE
    if are_years or are_ages:
        return (5, 10, 20)
    power = math.floor(math.log10(span / 10))
    if looks.are_whole:
        power = max(power, 0)
    if not -6 <= power <= 15:
        return ()
    step: float | int = 10**power if power >= 0 else float(f"1e{power}")
    widths = [_round(step * times) for times in (1, 5, 10)]
    # Intervals of width one leave integers unchanged.
    return tuple(width for width in widths if width != 1 or not looks.are_whole)


def _round(width: float) -> float | int:
    exact = float(f"{width:.6g}")
    return int(exact) if exact.is_integer() else exact
