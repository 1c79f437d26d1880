"""The page of a profile: which columns identify people, alone or with others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain

from kanon_sql.models.events import words as events
from kanon_sql.question.roles import ROLES
from kanon_sql.report.audit import curve_grid
from kanon_sql.report.document import Block, Grid, GridRow, Heading, Points, Prose, named_row
from kanon_sql.report.words import tables
from kanon_sql.report.words.numbers import (
    KEPT_TOGETHER,
    NONE,
    counted,
    listed,
    member,
    members,
    number,
    number_or_none,
    percent,
    printable,
    quasi_identifiers,
    sentence,
    short_percent,
    short_share,
)
from kanon_sql.results.profile import (
    BEST_OF,
    BY_NAME,
    UNKNOWN_NAME,
    ColumnProfile,
    KnownColumn,
    SpecialUniques,
    SubsetProfile,
    TableProfile,
    most_tried,
)

_MANY_OUTLIERS = 0.1
"""Share of outliers from which clipping is suggested."""


def page(profiles: Sequence[TableProfile]) -> Iterator[Block]:
    """The blocks of every table."""
    for table in profiles:
        yield from _section(table)


def _section(table: TableProfile) -> Iterator[Block]:
    if why := tables.unanswered(table, "profile", "nothing is known about the risk"):
        yield Prose([why], "strong")
        return
    yield Heading(headline(table))
    if table.warnings:
        yield Points([printable(text) for text in table.warnings], "warning")
    yield from _known_events(table)
    if table.quasi_identifiers:
        yield Prose([classes_sentence(table)])
        yield from grids(table)
    yield from column_blocks(table)
    yield from subset_blocks(table)
    yield from special_unique_blocks(table)
    if table.quasi_identifiers:
        yield Prose(list(advice(table)))
    yield Prose([tables.footer(table, "--format json holds")], "footer")


def _known_events(table: TableProfile) -> Iterator[Block]:
    """The curve of known events."""
    curve = table.known_events
    if curve is None:
        return
    points = [
        events.CurvePoint(point.m, curve.k, curve.times, point.to_dict()) for point in curve.points
    ]
    people = table.summary.people or 0
    yield curve_grid(points, people)
    sentences = [*events.worst_case(points, people), events.advice(table.events)]
    yield Prose([sentence for sentence in sentences if sentence])


def headline(table: TableProfile) -> list[str]:
    """The parts of the headline: table, sizes and columns."""
    parts = [printable(table.name), *tables.sizes(table)]
    if table.events:
        return parts
    if table.quasi_identifiers:
        parts.append(quasi_identifiers(table.quasi_identifiers))
    else:
        parts.append(counted(len(table.columns or ()), "column"))
        parts.append("no quasi-identifiers chosen yet")
    if table.sensitive:
        parts.append(f"sensitive {listed(table.sensitive)}")
    return parts


def classes_sentence(table: TableProfile) -> str:
    """The classes of the quasi-identifiers alone, as a sentence."""
    summary = table.summary
    members, uniques = summary.members or 0, summary.uniques or 0
    below = summary.records_below_k or 0
    return (
        f"With these quasi-identifiers, k is {number(summary.k or 0)}: "
        f"{counted(uniques, member(table))} "
        f"{'is' if uniques == 1 else 'are'} alone in their class"
        f"{_share(uniques, members)}, {number(below)} {'is' if below == 1 else 'are'} in a class "
        f"below {number(table.k_threshold)}{_share(below, members)}; there "
        f"{'is' if summary.classes == 1 else 'are'} {counted(summary.classes or 0, 'class')}."
    )


def grids(table: TableProfile) -> list[Grid]:
    """The non-empty tables of the three questions."""
    return [grid for grid in (_one_more(table), _without(table), _elimination(table)) if grid.rows]


def _one_more(table: TableProfile) -> Grid:
    return Grid(
        f"One more column known. {members(table).capitalize()} newly alone in "
        f"their class, and in classes below {number(table.k_threshold)}:",
        named_row("also known", "newly alone", "share", f"below {number(table.k_threshold)}", "k"),
        [_known_row(column, table) for column in table.attacker_knows],
        spacious=True,
    )


def _known_row(column: KnownColumn, table: TableProfile) -> GridRow:
    name = f"{printable(column.column)}{' (sensitive)' if column.role else ''}"
    if column.identifier_like:
        alike = f"identifier-like: {counted(column.distinct, 'value')}"
        if column.k is None:
            return named_row(name, alike)
        name = f"{name} ({alike})"
    members = column.members or 0
    newly = column.newly_unique_records or 0
    return named_row(
        name,
        number(newly),
        short_share(newly, members),
        short_share(column.records_below_k or 0, members),
        number(column.k or 0),
    )


def _without(table: TableProfile) -> Grid:
    k = number(table.k_threshold)
    below = table.summary.records_below_k or 0
    return Grid(
        f"One quasi-identifier fewer. {members(table).capitalize()} that would "
        f"leave the classes below {k}, and how many of them lie in its outer 1{KEPT_TOGETHER}%:",
        named_row("left out", "would leave", "share", f"in its outer 1{KEPT_TOGETHER}%"),
        [
            named_row(
                printable(qi.column),
                number(qi.records_leaving),
                short_share(qi.records_leaving, below),
                short_percent(qi.share_in_outer_percent),
            )
            for qi in table.without
            if below
        ],
        spacious=True,
    )


def _elimination(table: TableProfile) -> Grid:
    ruled_out = max((len(elimination.confidence) for elimination in table.elimination), default=1)
    return Grid(
        "How certain a sensitive value is in the worst class, after ruling out its most frequent "
        "other values:",
        named_row("ruled out", *(str(index) for index in range(ruled_out)), "certain after"),
        [
            named_row(
                printable(elimination.sensitive),
                *map(short_percent, elimination.confidence),
                number_or_none(elimination.eliminations_to_certainty),
            )
            for elimination in table.elimination
        ],
        spacious=True,
    )


def advice(table: TableProfile) -> Iterator[str]:
    """Advice on the worst column and on the costliest quasi-identifier."""
    yield from _advice_on_identifiers(table)
    yield from _advice_on_worst_column(table)
    yield from _advice_on_outliers(table)
    yield sentence("one_by_one")


def _advice_on_identifiers(table: TableProfile) -> Iterator[str]:
    names = [column.column for column in table.attacker_knows if column.identifier_like]
    if names:
        one = len(names) == 1
        yield (
            f"{listed(names)} {'has' if one else 'have'} nearly as many values as there are "
            f"records: anyone who knows {'it' if one else 'one of them'} finds the record. Drop "
            f"{'it' if one else 'them'} before publishing, or declare with --identifiers that "
            f"{'it is' if one else 'they are'} not published."
        )


def _advice_on_worst_column(table: TableProfile) -> Iterator[str]:
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
        yield (
            "No single one of these columns singles out anyone who is not alone already. Several "
            "together may: audit the table with them as quasi-identifiers."
        )


def _advice_on_outliers(table: TableProfile) -> Iterator[str]:
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
            if share is not None and share >= _MANY_OUTLIERS
            else ""
        )
    )


def _share(count: int, total: int) -> str:
    return f" ({short_share(count, total)})" if count else ""


# --- which columns identify people --------------------------------------------------------


MOST_OF_A_SIZE = 6
"""Number of column sets shown per size; the JSON has all."""
MOST_COLUMNS = 40
"""Number of columns shown."""
_WIDEST_BAR = 24
_LARGE = 10**15
_KINDS = (
    "quasi_identifier",
    "undecided",
    "identifier",
    "sensitive",
    "free_text",
    "nested",
    "constant",
)
"""Order of columns by apparent role, candidates first."""
_LOOKS = {
    "quasi_identifier": "quasi-identifier",
    "undecided": "undecided",
    "identifier": "identifier",
    "sensitive": "sensitive",
}
_ROLES = {role.name or role.key: f"{role.phrase}, as named" for role in ROLES}


def column_blocks(table: TableProfile) -> Iterator[Block]:
    """Statistics of each column, and what each candidate adds."""
    columns = table.columns or ()
    if not columns:
        return
    in_order = sorted(columns, key=_place)
    yield Grid(
        f"Each column by itself. Unique: {members(table)} whose value occurs only once:",
        GridRow(("column", "looks like"), ("values", "NULL", "unique")),
        [_column(column, table) for column in in_order[:MOST_COLUMNS]],
        below=_remainder(len(in_order) - MOST_COLUMNS, "column"),
        spacious=True,
    )
    ranked = table.ranked
    if len(ranked) > 1:
        first, further = ranked[:BEST_OF], ranked[BEST_OF:]
        title = (
            f"The three columns that together single out most {members(table)}, added one after "
            "the other:"
            if further
            else "Added one after the other:"
        )
        most = most_tried(table.summary.records or 0)
        tried = (
            f"Of the {most} columns with most values or the highest separation; --subsets=3 tries "
            "every set of three."
        )
        yield _added_grid(title, first, table, tried if len(ranked) > most else "")
        if further:
            yield _added_grid("Each further column, added to these three:", further, table)
    yield Prose(list(_in_words(table, ranked)))


def _added_grid(
    title: str, columns: Sequence[ColumnProfile], table: TableProfile, below: str = ""
) -> Grid:
    heads = ("newly unique", "share", "distinction", "separation")
    rows = [
        named_row(
            printable(candidate.column),
            number(candidate.adds or 0),
            short_share(candidate.adds or 0, table.summary.members or 0),
            short_percent(candidate.distinction),
            short_percent(candidate.separation),
        )
        for candidate in columns
    ]
    return Grid(title, named_row("column", *heads), rows, below, spacious=True)


def addition_order(candidates: int) -> str:
    """The columns to which each candidate is added, in words."""
    if candidates <= BEST_OF:
        return "added one after the other"
    return "the first three added one after the other, each further one to these three"


def _place(column: ColumnProfile) -> tuple[bool, int, int]:
    return column.role is not None, _KINDS.index(column.looks_like), column.rank or MOST_COLUMNS


def _column(column: ColumnProfile, table: TableProfile) -> GridRow:
    words = _ROLES[column.role] if column.role else _column_text(column)
    name = printable(column.column)
    if column.distinct is None:
        return GridRow((name, words), (NONE, NONE, NONE))
    records = table.summary.records or 0
    return GridRow(
        (name, words),
        (
            number(column.distinct),
            short_share(column.nulls or 0, records),
            short_share(column.alone or 0, table.summary.members or 0),
        ),
    )


def _column_text(column: ColumnProfile) -> str:
    looks, why = _LOOKS.get(column.looks_like), column.why.removeprefix(BY_NAME)
    return why if looks is None else looks if why == UNKNOWN_NAME else f"{looks}: {why}"


def _in_words(table: TableProfile, ranked: Sequence[ColumnProfile]) -> Iterator[str]:
    first = ranked[:BEST_OF]
    unique = sum(column.adds or 0 for column in first)
    if len(first) > 1 and len(ranked) > len(first):
        yield (f"By {listed([added.column for added in first])} together {_unique(unique, table)}.")
    in_all = table.together
    if in_all is not None and len(in_all.columns) > 1:
        candidates = len(in_all.columns)
        every = "Both" if candidates == 2 else f"All {number(candidates)}"
        yield (
            f"{every} candidates together: k is {number(in_all.k)}, and "
            f"{_unique(in_all.uniques, table)}."
        )
    if len(ranked) > 1:
        yield (
            "Distinction: distinct values per record. Separation: the share of pairs of records "
            "that have different values."
        )
    if not ranked and not table.stopped:
        yield "No column looks like one that singles out a person."
    yield (
        "These guesses come from column names and values; you decide. kanon-sql init writes a spec "
        "with the open columns listed under undecided; kanon-sql explore shows them on a page."
    )


def _unique(uniques: int, table: TableProfile) -> str:
    if not uniques:
        return f"no {member(table)} is unique"
    share = short_share(uniques, table.summary.members or 0)
    return f"{counted(uniques, member(table))} {'is' if uniques == 1 else 'are'} unique ({share})"


def subset_blocks(table: TableProfile) -> Iterator[Block]:
    """The column sets with most records in small classes, several of each size."""
    subsets = table.subsets
    if not subsets:
        return
    k = number(table.k_threshold)
    sizes = sorted({len(subset.columns) for subset in subsets})
    worst = [
        _worst([subset for subset in subsets if len(subset.columns) == size]) for size in sizes
    ]
    # The stable sort keeps the declared order among equals.
    shown = sorted(chain(*worst), key=lambda subset: subset.violating_records, reverse=True)
    yield Grid(
        f"Sets of at most {counted(sizes[-1], 'column')}, by their records in classes below {k}:",
        named_row("columns", f"below {k}", "share", "unique", "k"),
        [
            named_row(
                listed(subset.columns),
                number(subset.violating_records),
                short_share(subset.violating_records, table.summary.records or 0),
                short_share(subset.uniques, table.summary.members or 0),
                number(subset.k),
            )
            for subset in shown
        ],
        below=_remainder(len(subsets) - len(shown), "set"),
        spacious=True,
    )
    keys = _least_keys(subsets)
    if keys:
        yield Prose(
            [
                f"{listed(key.columns)}: {'a key' if len(key.columns) == 1 else 'a key together'}"
                ", with as many classes as all columns."
                for key in keys[:MOST_OF_A_SIZE]
            ]
        )


def _worst(sets: Sequence[SubsetProfile]) -> list[SubsetProfile]:
    """The worst sets of one size; if none has a small class, the first."""
    bad = [subset for subset in sets if subset.violating_records]
    return list(bad or sets[:1])[:MOST_OF_A_SIZE]


def _remainder(left: int, noun: str) -> str:
    return f"{counted(left, f'more {noun}')} in --format json." if left > 0 else ""


def _least_keys(subsets: Sequence[SubsetProfile]) -> list[SubsetProfile]:
    """The minimal keys, without the set of all columns and without keys of a single class."""
    keys = sorted(
        (subset for subset in subsets if subset.key and subset.classes > 1),
        key=lambda subset: len(subset.columns),
    )
    in_all = {name for subset in subsets for name in subset.columns}
    least: list[SubsetProfile] = []
    for key in keys:
        if not any(set(subset.columns) <= set(key.columns) for subset in least):
            least.append(key)
    return [subset for subset in least if len(subset.columns) < len(in_all)]


def special_unique_blocks(table: TableProfile) -> Iterator[Block]:
    """The special uniques, and the columns responsible."""
    uniques = table.special_uniques
    if uniques is None:
        return
    yield Prose(list(_special(uniques, table)))
    if uniques.by_size:
        yield Grid(
            "Minimal sample uniques: sets of columns on which a record is unique, and on no "
            "smaller set within:",
            named_row("columns in the set", "minimal sample uniques", "each scores"),
            [
                named_row(
                    number(row.size),
                    number(row.minimal_sample_uniques),
                    f"{number(len(uniques.columns) - row.size)}!",
                )
                for row in uniques.by_size
            ],
            spacious=True,
        )
        shares = sorted(uniques.contributions.items(), key=lambda pair: -(pair[1] or 0))
        yield Grid(
            "Columns that make records special, by their share of all scores:",
            GridRow(("column", ""), ("share",)),
            [
                GridRow((printable(name), _bar(share or 0)), (percent((share or 0) / 100),))
                for name, share in shares
            ],
            below="A set counts for each of its columns, so the shares add up to more than 100"
            f"{KEPT_TOGETHER}%.",
            spacious=True,
        )


def _special(uniques: SpecialUniques, table: TableProfile) -> Iterator[str]:
    records = table.summary.records or 0
    size = counted(uniques.max_size, "column")
    single = "singles" if uniques.max_size == 1 else "single"
    if not uniques.records:
        yield f"Nobody is singled out by at most {size} of {listed(uniques.columns)}."
        return
    yield (
        f"At most {size} {single} out {counted(uniques.records, 'record')} "
        f"({short_share(uniques.records, records)}): special uniques (SUDA2). The score of all is "
        f"{_large(uniques.score)}, the highest of a record {_large(uniques.highest)}."
    )
    nulls = (
        "NULL counts as a value." if uniques.nulls == "value" else "A NULL makes no record special."
    )
    yield (
        f"DIS-SUDA at a sampling fraction of {number(uniques.sampling_fraction)} sums to "
        f"{number(uniques.dis)}: a heuristic, not a probability. {nulls}"
    )


def _large(score: int) -> str:
    """A score; large ones in scientific notation.

    >>> _large(16_869_600), _large(10**40 + 1)
    ('16,869,600', 'about 1.0e+40')
    """
    return number(score) if score < _LARGE else f"about {score:.1e}"


def _bar(share: float) -> str:
    return "█" * max(round(share / 100 * _WIDEST_BAR), 1 if share else 0)
