"""The section on what a release lost: in all, by column, and how distributions changed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kanon_sql.report.document import Block, Facts, Grid, GridRow, Prose
from kanon_sql.report.release_grids import associations
from kanon_sql.report.signed.subject import Signed
from kanon_sql.report.words.numbers import NONE, TO, number, percent, printable, short_percent
from kanon_sql.results.metrics import METRICS
from kanon_sql.results.release import Anonymization, Distribution

_METRICS = ("loss", "precision", "non_uniform_entropy", "average_class_size")
_MEANING = (
    "A loss of 0 % is the raw value in every record, and 100 % is * in every record (Iyengar 2002)."
)
_OF_OTHER_K = "What other k would cost is in the part on k."


def losses(signed: Signed) -> Iterator[Block]:
    """The metrics of a release, the loss and levels of each column, and distributions.

    External readers get no figure that tells the number of few suppressed records, no distribution,
    and nothing at all where a threshold is confidential.
    """
    made = signed.made
    if made is None or made.reached_top or not signed.answered:
        return
    if any(map(signed.withholds, signed.answered)):
        return
    is_hidden = signed.is_small(made.suppressed)
    if not is_hidden:
        yield Facts([*_in_all(made)])
        yield Prose([_MEANING, *([_OF_OTHER_K] if signed.costs else [])])
    yield _by_column(made, signed, is_hidden=is_hidden)
    if signed.is_external:
        return
    if made.associations:
        yield associations(made)
    if made.distributions:
        yield _distributions(made.distributions, made, signed)


def _in_all(made: Anonymization) -> Iterator[tuple[str, str]]:
    found = made.metrics.to_dict()
    for name in _METRICS:
        value = found[name]
        if value is not None:
            words = f"{value:,.1f}" if name == "average_class_size" else percent(value)
            yield "Information lost" if name == "loss" else METRICS[name].title, words


def _by_column(made: Anonymization, signed: Signed, *, is_hidden: bool) -> Grid:
    """The loss of each quasi-identifier, and its level or the records at each of its levels."""
    rows = []
    for name, levels in _reached(made).items():
        lost = None if is_hidden else made.metrics.loss_by_quasi_identifier.get(name)
        for place, (level, label, records) in enumerate(levels):
            many = NONE if records is None else signed.cell(records)
            words = ("" if place else printable(name), f"{level} · {printable(label)}")
            rows.append(GridRow(words, (many, "" if place else short_percent(lost))))
    return Grid(
        "What each quasi-identifier lost, and the records at each of its levels.",
        GridRow(("quasi-identifier", "level"), ("records", "lost")),
        rows,
    )


def _reached(made: Anonymization) -> dict[str, list[tuple[int, str, int | None]]]:
    """The levels of each quasi-identifier with labels and records."""
    if made.recoded is None:
        kept = (made.before.summary.records or 0) - made.suppressed
        return {
            name: [(level, made.labels.get(name, ""), kept)]
            for name, level in (made.levels or {}).items()
        }
    return {
        name: [
            (level, made.recoded.labels_of_levels.get(name, {}).get(level, ""), records)
            for level, records in sorted(reached.items())
        ]
        for name, reached in made.recoded.levels_by_records.items()
    }


def _distributions(found: Sequence[Distribution], made: Anonymization, signed: Signed) -> Grid:
    """The share of the records by the rank of their value, before and after."""
    whole = made.before.summary.records or 0
    ranks = found[0].ranks
    heads = [*map(_ranks, ranks, ranks[1:]), f"{ranks[-1]}+"]
    rows = [
        GridRow(
            ("" if place else printable(each.column), when),
            (number(values), *(_share(count, of, signed) for count in counts)),
        )
        for each in found
        for place, (when, values, counts, of) in enumerate(
            (
                ("before", each.values_before, each.before, whole),
                ("after", each.values_after, each.after, whole - made.suppressed),
            )
        )
    ]
    return Grid(
        "Distributions before and after: the share of the records with the most frequent value of "
        "a column (1), the second (2) and so on. Values are not named, and fewer than "
        f"{number(signed.min_cell)} records are left out.",
        GridRow(("column", ""), ("values", *heads)),
        rows,
    )


def _ranks(first: int, after: int) -> str:
    return str(first) if after == first + 1 else f"{first}{TO}{after - 1}"


def _share(count: int, whole: int, signed: Signed) -> str:
    """A share of the records; neither few of them nor none."""
    return short_percent(count / whole) if whole and count >= signed.min_cell else NONE
