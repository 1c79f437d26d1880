"""The blocks of a profile on identifying columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kanon_sql.report.document import Block, Grid, GridRow, Prose
from kanon_sql.report.words.numbers import (
    KEPT_TOGETHER,
    NONE,
    counted,
    listed,
    member,
    members,
    number,
    percent,
    printable,
    short_percent,
    short_share,
)
from kanon_sql.results.profile import (
    BEST_OF,
    BY_NAME,
    UNKNOWN_NAME,
    ColumnProfile,
    SpecialUniques,
    SubsetProfile,
    TableProfile,
    most_tried,
)

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
_ROLES = {
    "sensitive": "sensitive, as named",
    "identifier": "an identifier, as named",
    "entity": "the entity, as named",
    "weight": "the weight, as named",
}


def columns_told(table: TableProfile) -> Iterator[Block]:
    """Statistics of each column, and what each candidate adds."""
    found = table.columns or ()
    if not found:
        return
    in_order = sorted(found, key=_place)
    yield Grid(
        f"Each column by itself. Unique: {members(table)} whose value occurs only once:",
        GridRow(("column", "looks like"), ("values", "NULL", "unique")),
        [_column(each, table) for each in in_order[:MOST_COLUMNS]],
        below=_left_out(len(in_order) - MOST_COLUMNS),
        spacious=True,
    )
    ranked = sorted((each for each in found if each.rank), key=lambda each: each.rank or 0)
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
    title: str, some: Sequence[ColumnProfile], table: TableProfile, below: str = ""
) -> Grid:
    heads = ("newly unique", "share", "distinction", "separation")
    rows = [_added(each, table) for each in some]
    return Grid(title, GridRow(("column",), heads), rows, below, spacious=True)


def in_turn(candidates: int) -> str:
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


def _added(column: ColumnProfile, table: TableProfile) -> GridRow:
    added = column.adds or 0
    return GridRow(
        (printable(column.column),),
        (
            number(added),
            short_share(added, table.summary.members or 0),
            short_percent(column.distinction),
            short_percent(column.separation),
        ),
    )


def _in_words(table: TableProfile, ranked: Sequence[ColumnProfile]) -> Iterator[str]:
    first = ranked[:BEST_OF]
    unique = sum(each.adds or 0 for each in first)
    if len(first) > 1 and len(ranked) > len(first):
        yield (f"By {listed([each.column for each in first])} together {_unique(unique, table)}.")
    in_all = table.together
    if in_all is not None and len(in_all.columns) > 1:
        yield (
            f"{_all(len(in_all.columns))} candidates together: k is {number(in_all.k)}, and "
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
        "with the open columns listed under undecided."
    )


def _unique(uniques: int, table: TableProfile) -> str:
    if not uniques:
        return f"no {member(table)} is unique"
    share = short_share(uniques, table.summary.members or 0)
    return f"{counted(uniques, member(table))} {'is' if uniques == 1 else 'are'} unique ({share})"


def subsets_told(table: TableProfile) -> Iterator[Block]:
    """The column sets with most records in small classes, several of each size."""
    found = table.subsets
    if not found:
        return
    k = number(table.k_threshold)
    sizes = sorted({len(each.columns) for each in found})
    worst = [_worst([each for each in found if len(each.columns) == size]) for size in sizes]
    # The stable sort keeps the declared order among equals.
    shown = sorted((each for some in worst for each in some), key=_violating, reverse=True)
    yield Grid(
        f"Sets of at most {counted(sizes[-1], 'column')}, by their records in classes below {k}:",
        GridRow(("columns",), (f"below {k}", "share", "unique", "k")),
        [_subset(each, table) for each in shown],
        below=_more(len(found) - len(shown)),
        spacious=True,
    )
    keys = _least_keys(found)
    if keys:
        yield Prose(
            [
                f"{listed(each.columns)}: {'a key' if len(each.columns) == 1 else 'a key together'}"
                ", with as many classes as all columns."
                for each in keys[:MOST_OF_A_SIZE]
            ]
        )


def _all(candidates: int) -> str:
    return "Both" if candidates == 2 else f"All {number(candidates)}"


def _violating(each: SubsetProfile) -> int:
    return each.violating_records


def _worst(sets: Sequence[SubsetProfile]) -> list[SubsetProfile]:
    """The worst sets of one size; if none has a small class, the first."""
    bad = [each for each in sets if each.violating_records]
    return list(bad or sets[:1])[:MOST_OF_A_SIZE]


def _more(sets: int) -> str:
    return f"{counted(sets, 'more set')} in --format json." if sets > 0 else ""


def _left_out(columns: int) -> str:
    return f"{counted(columns, 'more column')} in --format json." if columns > 0 else ""


def _least_keys(found: Sequence[SubsetProfile]) -> list[SubsetProfile]:
    """The minimal keys; all columns together don't count, and neither does a single class."""
    keys = sorted(
        (each for each in found if each.key and each.classes > 1),
        key=lambda each: len(each.columns),
    )
    in_all = {name for each in found for name in each.columns}
    least: list[SubsetProfile] = []
    for key in keys:
        if not any(set(each.columns) <= set(key.columns) for each in least):
            least.append(key)
    return [each for each in least if len(each.columns) < len(in_all)]


def _subset(each: SubsetProfile, table: TableProfile) -> GridRow:
    below = each.violating_records
    records, members = table.summary.records or 0, table.summary.members or 0
    return GridRow(
        (listed(each.columns),),
        (
            number(below),
            short_share(below, records),
            short_share(each.uniques, members),
            number(each.k),
        ),
    )


def special_uniques_told(table: TableProfile) -> Iterator[Block]:
    """The special uniques, and the columns responsible."""
    found = table.special_uniques
    if found is None:
        return
    yield Prose(list(_special(found, table)))
    if found.by_size:
        yield Grid(
            "Minimal sample uniques: sets of columns on which a record is unique, and on no "
            "smaller set within:",
            GridRow(("columns in the set",), ("minimal sample uniques", "each scores")),
            [
                GridRow(
                    (number(each.size),),
                    (number(each.minimal_sample_uniques), _factorial(found, each.size)),
                )
                for each in found.by_size
            ],
            spacious=True,
        )
        shares = sorted(found.contributions.items(), key=lambda each: -(each[1] or 0))
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


def _special(found: SpecialUniques, table: TableProfile) -> Iterator[str]:
    records = table.summary.records or 0
    size = counted(found.max_size, "column")
    single = "singles" if found.max_size == 1 else "single"
    if not found.records:
        yield f"Nobody is singled out by at most {size} of {listed(found.columns)}."
        return
    yield (
        f"At most {size} {single} out {counted(found.records, 'record')} "
        f"({short_share(found.records, records)}): special uniques (SUDA2). The score of all is "
        f"{_large(found.score)}, the highest of a record {_large(found.highest)}."
    )
    nulls = (
        "NULL counts as a value." if found.nulls == "value" else "A NULL makes no record special."
    )
    yield (
        f"DIS-SUDA at a sampling fraction of {number(found.sampling_fraction)} sums to "
        f"{number(found.dis)}: a heuristic, not a probability. {nulls}"
    )


def _large(score: int) -> str:
    """A score; large ones in scientific notation.

    >>> _large(16_869_600), _large(10**40 + 1)
    ('16,869,600', 'about 1.0e+40')
    """
    return number(score) if score < _LARGE else f"about {score:.1e}"


def _factorial(found: SpecialUniques, size: int) -> str:
    rest = len(found.columns) - size
    return f"{number(rest)}!"


def _bar(share: float) -> str:
    return "█" * max(round(share / 100 * _WIDEST_BAR), 1 if share else 0)
