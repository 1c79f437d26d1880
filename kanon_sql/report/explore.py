"""The pages to explore a table with: its columns, its risk, its levels, the evidence."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from kanon_sql.report import audit as audits
from kanon_sql.report import release as releases
from kanon_sql.report.charts import cost_of_k, is_drawn
from kanon_sql.report.document import (
    Block,
    Button,
    Cell,
    Choices,
    Control,
    Datum,
    Drawing,
    Grid,
    Heading,
    Link,
    Points,
    Prose,
    ShareCell,
    Strip,
    StripFigure,
    Values,
    Verbatim,
    Verdicts,
    named_row,
)
from kanon_sql.report.profile import subset_blocks
from kanon_sql.report.signed.evidence import folded
from kanon_sql.report.signed.figures import curve_of, sizes_of
from kanon_sql.report.words import numbers, tables
from kanon_sql.report.words.models import SIGNS, STATUS_WORDS
from kanon_sql.results.profile import BY_NAME, ColumnProfile, TableProfile
from kanon_sql.results.release import ReleaseFindings, Tradeoff
from kanon_sql.results.table import TableResult

ROLE_WORDS = (
    ("", "— undecided —"),
    ("qi", "quasi-identifier"),
    ("sensitive", "sensitive"),
    ("identifier", "identifier"),
    ("entity", "person (entity)"),
    ("insensitive", "insensitive"),
)
Hidden = Sequence[tuple[str, str]]
"""The fields of a form that stand for the rest of the question."""


class ColumnChoice(NamedTuple):
    """A column with the role chosen for it, and what suggests one."""

    name: str
    type: str
    role: str
    looks_like: str
    why: str
    measured: ColumnProfile | None


class WithoutOne(NamedTuple):
    """The figures without a quasi-identifier, and the address that leaves it out."""

    column: str
    address: str
    table: TableResult
    below: int


class LevelChoice(NamedTuple):
    """A level with what it would give, and its address."""

    label: str
    values: int
    below: int
    address: str
    is_current: bool


class ColumnCard(NamedTuple):
    """A quasi-identifier with its levels, and the form that changes its hierarchy."""

    column: str
    builder: str | None
    """None for a hierarchy that can't be changed here."""
    lost: float | None
    levels: Sequence[LevelChoice]
    action: str
    hidden: Hidden


class ThresholdForm(NamedTuple):
    """The form of k, l and t."""

    action: str
    hidden: Hidden
    k: str
    l: str  # noqa: E741
    t: str
    has_sensitive: bool


def columns(
    choices: Sequence[ColumnChoice],
    records: int,
    members: int,
    hidden: Hidden,
    to: Callable[[str], str],
    *,
    is_measured: bool,
) -> Iterator[Block]:
    """Every column with a selection of its role."""
    yield from undecided([each.name for each in choices if not each.role], len(choices))
    measured = Button("Measure the columns", name="ask", value="measure", action="/columns")
    yield Choices(
        action="/risk",
        hidden=hidden,
        buttons=[
            Button("Measure the risk", is_main=True),
            Button("Only update the roles", action="/columns"),
            *([] if is_measured else [measured]),
            Link("Back to the proposal", to("/")),
        ],
        header=("column", "role", "type", "looks like", "values", "NULL", "unique", "adds"),
        rows=[_column_row(each, records, members) for each in choices],
        figures=(4, 5, 6, 7),
        caption=_MEASURED if is_measured else _BY_NAME,
        style="table",
    )


_MEASURED = (
    "Unique: records whose value occurs once. Adds: records that become unique when the column is "
    "added to those that single out most."
)
_BY_NAME = "The roles are suggested by the names of the columns alone; their values are not read."


def _column_row(each: ColumnChoice, records: int, members: int) -> list[Cell]:
    role = Control(
        f"role.{each.name}", f"Role of {each.name}", each.role, "select", ROLE_WORDS,
        is_on=not each.role,
    )  # fmt: skip
    why = each.why.removeprefix(BY_NAME)
    figures = ["", "", "", ""]
    if each.measured and each.measured.distinct is not None:
        figures = [
            numbers.number(each.measured.distinct),
            numbers.short_share(each.measured.nulls or 0, records),
            numbers.short_share(each.measured.alone or 0, members),
            "" if each.measured.adds is None else numbers.short_share(each.measured.adds, members),
        ]
    looks = each.looks_like.replace("_", "-")
    return [each.name, role, each.type.lower(), f"{looks}: {why}" if looks else why, *figures]


def undecided(names: Sequence[str], of: int, to: str = "") -> Iterator[Block]:
    """A notice of the columns without a role."""
    if not names:
        return
    which = f"{numbers.number(len(names))} of {numbers.counted(of, 'column')} undecided"
    listed = f"{which}: {numbers.listed(names)}." if len(names) <= _MOST_LISTED else f"{which}."
    yield Prose(
        [
            "Figures hold for the quasi-identifiers you name and for no other column. A spec with "
            "undecided columns is refused until each has a role."
        ],
        name=listed,
    )
    if to:
        yield Choices(buttons=[Link("Decide", to)])


_MOST_LISTED = 12


def strip(table: TableResult, lost: tuple[float | None, float | None, int] | None = None) -> Strip:
    """The figures above every page: verdict, k, records below k, unique records, what is lost."""
    summary, k = table.summary, tables.required_k(table)
    gated = [check for check in table.checks if check.holds is not None]
    violated = sum(check.holds is False for check in gated)
    below, size = below_k(table)
    word = {"measured": "nothing required"}.get(table.status, STATUS_WORDS[table.status])
    records, classes = summary.records or 0, summary.classes or 0
    shown = f"{SIGNS.get(table.status, '')} {word}".strip()
    figures = [
        StripFigure(
            "checks",
            Datum(shown, "status", table.status),
            [Datum(f"{violated} of {len(gated)} violated" if gated else "no threshold given")],
            table.status,
        ),
        StripFigure(
            "k",
            Datum(numbers.number_or_none(summary.k), "k", str(summary.k or 0)),
            [Datum(f"required: {numbers.number(k)}" if k else "the smallest class")],
        ),
        StripFigure(
            f"in classes below {numbers.number(size)}",
            Datum(numbers.short_share(below, records)),
            [
                Datum(numbers.number(below), "below", str(below)),
                Datum(" of "),
                Datum(numbers.number(records), "records", str(records)),
                Datum(" records"),
            ],
        ),
        StripFigure(
            "unique",
            Datum(numbers.short_share(summary.uniques or 0, summary.people or records)),
            [
                Datum(numbers.number(summary.uniques or 0), "unique", str(summary.uniques or 0)),
                Datum("; "),
                Datum(numbers.number(classes), "classes", str(classes)),
                Datum(" classes in all"),
            ],
        ),
    ]
    if lost is not None:
        alone, with_suppression, suppressed = lost
        records_left_out = numbers.counted(suppressed, "record")
        note = f"{numbers.short_percent(with_suppression)} with {records_left_out} suppressed"
        figures.append(
            StripFigure(
                "information lost",
                Datum(numbers.short_percent(alone), "lost", repr(alone or 0.0)),
                [Datum(note if suppressed else "by these levels")],
            )
        )
    return Strip(figures)


def below_k(table: TableResult) -> tuple[int, int]:
    """The number of records in classes that are too small, and the size; without a required k the
    unique ones."""
    for check in table.checks:
        if check.model == "k_anonymity" and check.parameters.get("k"):
            return check.violating_records or 0, int(check.parameters["k"])
    return sum(each.records for each in table.histogram if each.size == 1), 2


def lead(table: TableResult, labels: Mapping[str, str]) -> str:
    """The question of a page, in words."""
    parts = [numbers.quasi_identifiers(table.quasi_identifiers)]
    if table.sensitive:
        parts.append(f"sensitive {numbers.listed(table.sensitive)}")
    if table.entity:
        parts.append(f"people by {numbers.printable(table.entity)}")
    if labels:
        levels = ", ".join(f"{numbers.printable(name)} at {at}" for name, at in labels.items())
        parts.append(f"generalised: {levels}")
    return " · ".join(parts)


def thresholds(form: ThresholdForm) -> Choices:
    """The form of k, l and t."""
    fields = [Control("k", "k", form.k, "number", hint="records in each class, at least")]
    if form.has_sensitive:
        fields.append(
            Control(
                "l",
                "l",
                form.l,
                "number",
                hint="different sensitive values in each class, at least",
            )
        )
        fields.append(
            Control(
                "t",
                "t",
                form.t,
                "number",
                hint="distance of each class from the whole table, at most",
            )
        )
    return Choices(
        action=form.action,
        hidden=form.hidden,
        controls=fields,
        buttons=[Button("Update")],
        anchor="thresholds",
    )


def risk(
    table: TableResult,
    form: ThresholdForm,
    without: Sequence[WithoutOne] | None,
    sets: TableProfile | None,
    hidden: Hidden,
    to_levels: str,
) -> Iterator[Block]:
    """The blocks of the audit with the risk curve, and what each quasi-identifier adds."""
    yield strip(table)
    yield thresholds(form)
    yield Heading(["Checks"], "section")
    if table.checks:
        yield Verdicts(tables.verdicts(table))
    yield from audits.warnings(table)
    yield Heading(["Class sizes"], "section")
    yield from sizes_of(table)
    yield from curve_of(table)
    for finding in tables.findings(table):
        yield Prose([finding])
    yield from audits.limits(table)
    yield Prose([tables.outcome(table)], "strong")
    if table.shown:
        yield Heading(["The smallest classes"], "section")
        yield from (
            Values(tables.PERSONAL_DATA, [(tables.shown_heading(name, rows), numbers.cells(rows))])
            for name, rows in table.shown.items()
        )
    if len(table.quasi_identifiers) > 1:
        yield _without(table, without, hidden)
    if sets is not None:
        yield Heading(["Small sets of columns"], "section")
        yield from subset_blocks(sets)
    else:
        yield Choices(
            "Small sets of columns",
            "An attacker rarely knows everything: how much do two or three columns give away, at "
            "raw values?",
            action="/risk",
            hidden=hidden,
            buttons=[Button("Measure every set of up to three", name="ask", value="sets")],
        )
    yield Choices(buttons=[Link("Coarsen the levels", to_levels)])


def _without(table: TableResult, without: Sequence[WithoutOne] | None, hidden: Hidden) -> Choices:
    title = "Without one of them"
    if without is None:
        return Choices(
            title,
            "What each quasi-identifier adds: the figures if it were not published, and nobody "
            "knew it.",
            action="/risk",
            hidden=hidden,
            buttons=[Button("Measure without each of them", name="ask", value="without")],
        )
    records, size = table.summary.records or 0, below_k(table)[1]
    rows: list[list[Cell]] = [
        [
            Link(each.column, each.address, label=f"Do not publish {each.column}"),
            numbers.number_or_none(each.table.summary.k),
            share(each.below, records),
            numbers.short_share(
                each.table.summary.uniques or 0, each.table.summary.people or records
            ),
        ]
        for each in without
    ]
    return Choices(
        title,
        header=("do not publish", "k", f"below {numbers.number(size)}", "unique"),
        rows=rows,
        figures=(1, 2, 3),
        caption="If one column were not published, and nobody knew it; the one that adds most to "
        "the risk comes first. A link makes it an identifier.",
        style="table",
    )


def share(count: int, total: int) -> ShareCell:
    """A share as a cell with a bar."""
    fraction = count / total if total else 0.0
    return ShareCell("none" if not count else numbers.short_percent(fraction), fraction)


def levels(
    table: TableResult,
    raw: TableResult,
    lost: tuple[float | None, float | None, int],
    form: ThresholdForm,
    cards: Sequence[ColumnCard],
    search: Choices,
    to_evidence: str,
) -> Iterator[Block]:
    """A card for each quasi-identifier with what each of its levels gives, and the searches."""
    below, size = below_k(raw)
    records = raw.summary.records or 0
    unique = numbers.short_share(raw.summary.uniques or 0, raw.summary.people or records)
    yield strip(table, lost)
    yield Prose(
        [
            f"Raw values: k {numbers.number_or_none(raw.summary.k)}, "
            f"{numbers.short_share(below, records)} below {numbers.number(size)}, {unique} unique."
        ]
    )
    yield thresholds(form)
    yield Heading(["Levels"], "section")
    yield Prose(
        [
            f"Choose a level of each column. Below {numbers.number(size)}: the share of the "
            f"records that would be in classes of fewer than {numbers.number(size)}, with the "
            "other columns as they are."
        ]
    )
    yield from (_card(card, number, records, size) for number, card in enumerate(cards))
    yield from audits.warnings(table)
    yield search
    yield Choices(buttons=[Link("Take it with you", to_evidence)])


def _card(card: ColumnCard, number: int, records: int, size: int) -> Choices:
    hint = f"How {card.column} is generalised"
    builder = Control(
        f"hierarchy.{card.column}", f"{hint}, as in width:5,10 or mask:right", card.builder or ""
    )
    fixed = "its hierarchy is that of the command" if card.builder is None else ""
    lost = "" if card.lost is None else f"lost {numbers.short_percent(card.lost)}"
    return Choices(
        card.column,
        " · ".join(filter(None, [lost, fixed])),
        f"c{number}",
        action="" if card.builder is None else card.action,
        hidden=card.hidden,
        controls=[] if card.builder is None else [builder],
        buttons=[] if card.builder is None else [Button("Build")],
        header=("level", "values", f"below {numbers.number(size)}"),
        rows=[
            [
                Link(f"{at} · {level.label}", level.address, level.is_current),
                numbers.number(level.values),
                share(level.below, records),
            ]
            for at, level in enumerate(card.levels)
        ],
        figures=(1, 2),
        style="card",
    )


def search_form(hidden: Hidden, algorithm: str, max_suppressed: str) -> Choices:
    """The form of the searches."""
    ways = {
        "optimal": "the levels that lose least, proved over all combinations",
        "datafly": "coarsens the column with most values until it holds: fast, loses more",
        "local": "each class only as coarse as it must be: loses least, has no single level",
    }
    return Choices(
        "Find levels for me",
        action="/find",
        hidden=hidden,
        controls=[
            *(
                Control("algorithm", name, name, "radio", hint=words, is_on=name == algorithm)
                for name, words in ways.items()
            ),
            Control(
                "max_suppressed", "Records that may be suppressed", max_suppressed, "number",
                hint="a number, or a share as in 1%",
            ),
        ],
        buttons=[
            Button("Find levels", is_main=True),
            Button("Compare values of k", action="/tradeoff"),
        ],
        anchor="find",
        style="list",
    )  # fmt: skip


def found(result: ReleaseFindings, use: str | None, back: str) -> Iterator[Block]:
    """The outcome of a search, as the page of the release has it."""
    links = [Link("Use these levels", use)] if use else []
    yield Choices(buttons=[*links, Link("Back to the levels", back)])
    _, *blocks = releases.page(result)
    for block in blocks:
        is_of_command = isinstance(block, Verbatim | Heading) or (
            isinstance(block, Prose) and block.style == "footer"
        )
        if not is_of_command:
            yield block


def costs(
    tradeoff: Tradeoff, k: int | None, addresses: Sequence[str | None], back: str
) -> Iterator[Block]:
    """What each k costs, as a chart and as a table whose rows lead to their levels; `k` is that of
    the question."""
    chart = cost_of_k(tradeoff, k)
    if is_drawn(chart):
        described = (
            "The loss for each k. The table has the same points; each row leads to its levels."
        )
        yield Grid("", named_row(""), (), drawing=Drawing(chart, described))
    proved = tradeoff.search is not None and tradeoff.search.optimal
    rows: list[list[Cell]] = []
    for point, address in zip(tradeoff.points, addresses, strict=True):
        name = numbers.number(point.k)
        words = releases_levels(point.levels, point.labels)
        rows.append(
            [
                Link(f"k {name}", address, point.k == k, f"Use the levels of k {name}")
                if address
                else name,
                numbers.short_percent(point.lost(tradeoff.metric)),
                numbers.number_or_none(point.suppressed),
                words,
            ]
        )
    yield Choices(
        header=("use", "lost", "suppressed", "levels"),
        rows=rows,
        figures=(1, 2),
        caption="No other choice of these levels loses less (proved)."
        if proved
        else "Not every row is proved to be the least possible.",
        style="table",
    )
    if tradeoff.warnings:
        yield Points(tradeoff.warnings, "warning")
    yield Choices(buttons=[Link("Back to the levels", back)])


def releases_levels(levels: Mapping[str, int] | None, labels: Mapping[str, str] | None) -> str:
    """The levels of a search above the raw values, in words."""
    if levels is None or labels is None:
        return "no levels hold"
    raised = [
        f"{numbers.printable(name)} {level} ({labels[name]})"
        for name, level in levels.items()
        if level
    ]
    return ", ".join(raised) or "all raw"


class Taken(NamedTuple):
    """What a person leaves with."""

    spec: str
    commands: Sequence[tuple[str, str]]
    """What each command does, with its words."""
    sql: str
    downloads: Sequence[Link]
    save: Choices | None


def evidence(
    table: TableResult, open_columns: Sequence[str], of: int, decide: str, taken: Taken
) -> Iterator[Block]:
    """The spec, the commands and the SQL, to be downloaded or saved."""
    yield strip(table)
    yield from undecided(open_columns, of, decide)
    yield Choices("Download", buttons=taken.downloads)
    if taken.save:
        yield taken.save
    else:
        yield Prose(["To save files here, start explore with --output DIR."])
    yield Heading(["Commands"], "section")
    for words, command in taken.commands:
        yield Prose([words])
        yield Verbatim(folded(command))
    yield Heading(["Spec"], "section")
    yield Verbatim(taken.spec, "kanon.yml")
    yield Heading(["SQL"], "section")
    yield Verbatim(taken.sql, "The statements of the audit", "as executed on the records")
