"""The page of a profile: what each additional column singles out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kanon_sql.report.audit import curve_grid
from kanon_sql.report.document import Block, Grid, GridRow, Heading, Points, Prose
from kanon_sql.report.identifying import columns_told, special_uniques_told, subsets_told
from kanon_sql.report.words import events
from kanon_sql.report.words.numbers import (
    KEPT_TOGETHER,
    counted,
    listed,
    member,
    members,
    number,
    number_or_none,
    printable,
    quasi_identifiers,
    short_percent,
    short_share,
)
from kanon_sql.results.profile import Elimination, KnownColumn, LackedColumn, TableProfile

_MUCH = 0.1
"""Share of outliers from which clipping is suggested."""
ONE_BY_ONE = (
    "Columns are measured one at a time; an attacker who knows several singles out more. A small "
    "number here promises nothing about further knowledge."
)


def page(tables: Sequence[TableProfile]) -> Iterator[Block]:
    """The blocks of every table."""
    for table in tables:
        yield from _section(table)


def _section(table: TableProfile) -> Iterator[Block]:
    sentence = unanswered(table)
    if sentence:
        yield Prose([sentence], "strong")
        return
    yield Heading(headline(table))
    if table.warnings:
        yield Points([printable(text) for text in table.warnings], "warning")
    yield from _known_events(table)
    if table.quasi_identifiers:
        yield Prose([as_it_is(table)])
        yield from grids(table)
    yield from columns_told(table)
    yield from subsets_told(table)
    yield from special_uniques_told(table)
    if table.quasi_identifiers:
        yield Prose(list(advice(table)))
    yield Prose([footer(table)], "footer")


def _known_events(table: TableProfile) -> Iterator[Block]:
    """The curve of known events."""
    curve = table.known_events
    if curve is None:
        return
    points = [
        events.CurvePoint(each.m, curve.k, curve.times, each.to_dict()) for each in curve.points
    ]
    people = table.summary.people or 0
    yield curve_grid(points, people)
    sentences = [*events.worst_case(points, people), events.advice(table.events)]
    yield Prose([each for each in sentences if each])


def unanswered(table: TableProfile) -> str | None:
    """The sentence for a table without a profile, or None."""
    name = printable(table.name)
    if table.status == "error":
        return f"{name}: the profile failed: {table.error}"
    if table.status == "no_data":
        return (
            f"{name}: no data. No record was found, so nothing is known about the risk "
            "(exit code 4). Check the source and the filter."
        )
    return None


def headline(table: TableProfile) -> list[str]:
    """The parts of the headline: table, sizes and columns."""
    summary = table.summary
    records = counted(summary.records or 0, "record")
    if table.events:
        of_people = f"{records} of {counted(summary.people or 0, 'person')}"
        return [printable(table.name), of_people, *events.headline(table)]
    parts = [printable(table.name), records]
    if summary.people is not None:
        parts.append(f"{counted(summary.people, 'person')} ({printable(table.entity or '')})")
    if table.quasi_identifiers:
        parts.append(quasi_identifiers(table.quasi_identifiers))
    else:
        parts.append(counted(len(table.columns or ()), "column"))
        parts.append("no quasi-identifiers chosen yet")
    if table.sensitive:
        parts.append(f"sensitive {listed(table.sensitive)}")
    return parts


def as_it_is(table: TableProfile) -> str:
    """The classes of the quasi-identifiers alone, as a sentence."""
    summary = table.summary
    members, uniques = summary.members or 0, summary.uniques or 0
    below = summary.records_below_k or 0
    return (
        f"With these quasi-identifiers, k is {number(summary.k or 0)}: "
        f"{counted(uniques, member(table))} "
        f"{'is' if uniques == 1 else 'are'} alone in their class"
        f"{_of(uniques, members)}, {number(below)} {'is' if below == 1 else 'are'} in a class "
        f"below {number(table.k_threshold)}{_of(below, members)}; there "
        f"{'is' if summary.classes == 1 else 'are'} {counted(summary.classes or 0, 'class')}."
    )


def grids(table: TableProfile) -> list[Grid]:
    """The non-empty tables of the three questions."""
    return [grid for grid in (_knows(table), _without(table), _elimination(table)) if grid.rows]


def _knows(table: TableProfile) -> Grid:
    return Grid(
        f"One more column known. {members(table).capitalize()} newly alone in "
        f"their class, and in classes below {number(table.k_threshold)}:",
        GridRow(
            ("also known",),
            ("newly alone", "share", f"below {number(table.k_threshold)}", "k"),
        ),
        [_known_row(column, table) for column in table.attacker_knows],
        spacious=True,
    )


def _known_row(column: KnownColumn, table: TableProfile) -> GridRow:
    name = f"{printable(column.column)}{' (sensitive)' if column.role else ''}"
    if column.identifier_like:
        alike = f"identifier-like: {counted(column.distinct, 'value')}"
        if column.k is None:
            return GridRow((name,), (alike,))
        name = f"{name} ({alike})"
    members = column.members or 0
    newly = column.newly_unique_records or 0
    return GridRow(
        (name,),
        (
            number(newly),
            short_share(newly, members),
            short_share(column.records_below_k or 0, members),
            number(column.k or 0),
        ),
    )


def _without(table: TableProfile) -> Grid:
    k = number(table.k_threshold)
    below = table.summary.records_below_k or 0
    return Grid(
        f"One quasi-identifier fewer. {members(table).capitalize()} that would "
        f"leave the classes below {k}, and how many of them lie in its outer 1{KEPT_TOGETHER}%:",
        GridRow(("left out",), ("would leave", "share", f"in its outer 1{KEPT_TOGETHER}%")),
        [_left_out(column, below) for column in table.without if below],
        spacious=True,
    )


def _left_out(column: LackedColumn, below: int) -> GridRow:
    share = column.share_in_outer_percent
    return GridRow(
        (printable(column.column),),
        (
            number(column.records_leaving),
            short_share(column.records_leaving, below),
            short_percent(share),
        ),
    )


def _elimination(table: TableProfile) -> Grid:
    ruled_out = max((len(each.confidence) for each in table.elimination), default=1)
    return Grid(
        "How certain a sensitive value is in the worst class, after ruling out its most frequent "
        "other values:",
        GridRow(("ruled out",), (*(str(place) for place in range(ruled_out)), "certain after")),
        [_ruled_out(each) for each in table.elimination],
        spacious=True,
    )


def _ruled_out(each: Elimination) -> GridRow:
    certain = each.eliminations_to_certainty
    return GridRow(
        (printable(each.sensitive),),
        (
            *(short_percent(share) for share in each.confidence),
            number_or_none(certain),
        ),
    )


def advice(table: TableProfile) -> Iterator[str]:
    """Advice on the worst column and on the costliest quasi-identifier."""
    yield from _about_identifiers(table)
    yield from _about_the_worst(table)
    yield from _about_outliers(table)
    yield ONE_BY_ONE


def _about_identifiers(table: TableProfile) -> Iterator[str]:
    names = [column.column for column in table.attacker_knows if column.identifier_like]
    if names:
        one = len(names) == 1
        yield (
            f"{listed(names)} {'has' if one else 'have'} nearly as many values as there are "
            f"records: anyone who knows {'it' if one else 'one of them'} finds the record. Drop "
            f"{'it' if one else 'them'} before publishing, or declare with --identifiers that "
            f"{'it is' if one else 'they are'} not published."
        )


def _about_the_worst(table: TableProfile) -> Iterator[str]:
    measured = [column for column in table.attacker_knows if not column.identifier_like]
    single = [column for column in measured if column.newly_unique_records]
    worst = next((column for column in single if column.role is None), None)
    if worst is not None:
        newly = worst.newly_unique_records or 0
        yield (
            f"{printable(worst.column)} singles out {counted(newly, member(table))} more. If "
            "somebody could know it, treat it as a quasi-identifier (add it to --qi), drop it, or "
            "generalise it."
        )
    elif single:
        yield (
            f"Only sensitive attributes single anyone out: anyone who knows a person's "
            f"{printable(single[0].column)} finds the record, and all else in it."
        )
    elif measured:
        yield "None of these columns singles out anyone who is not alone already."


def _about_outliers(table: TableProfile) -> Iterator[str]:
    leaving = [column for column in table.without if column.records_leaving]
    costliest = max(leaving, key=lambda column: column.records_leaving, default=None)
    if costliest is None:
        return
    name, share = printable(costliest.column), costliest.share_in_outer_percent
    yield (
        f"Of the quasi-identifiers, {name} costs most: without it "
        f"{counted(costliest.records_leaving, member(table))} would leave the classes below "
        f"{number(table.k_threshold)}. Leave it out, or generalise it first."
        + (
            f" {short_percent(share)} of them lie in its outer 1{KEPT_TOGETHER}%: clip its lowest "
            "and highest values."
            if share is not None and share >= _MUCH
            else ""
        )
    )


def footer(table: TableProfile) -> str:
    """Duration, engine and number of statements."""
    return (
        f"{table.seconds:.1f}{KEPT_TOGETHER}s · {table.engine} · "
        f"{counted(len(table.sql), 'statement')}, --format json holds "
        f"{'it' if len(table.sql) == 1 else 'them'}"
    )


def _of(part: int, whole: int) -> str:
    return f" ({short_share(part, whole)})" if part else ""
