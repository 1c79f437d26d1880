"""A release in words and in tables: how it was made, what it cost, whether it holds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from html import escape
from itertools import chain
from typing import NamedTuple

from kanon_sql.anonymization_result import (
    Anonymization,
    AnonymizationResult,
    GeneralizationStep,
    Release,
)
from kanon_sql.metrics import METRICS
from kanon_sql.report import human, markdown, notebook, wording
from kanon_sql.report.human import Line, Part
from kanon_sql.report.wording import (
    KEPT_TOGETHER,
    Verdict,
    counted,
    listed,
    number,
    percent,
    printable,
)
from kanon_sql.result import CheckResult, TableResult

_INDENT = "  "
_GAP = "  "
_NONE = "\u2013"
_WIDEST_PROSE = 100
_LIVE = (4, 12, 5, 22, 9, 11)
"""How wide the columns of a step are while the steps to come are not known."""
_MADE = {
    "datafly": "Datafly generalises one quasi-identifier at a time, the one with most distinct "
    "values. Before each step, and at the end:",
    "optimal": "Of all levels that meet what is demanded, these lose least. At the end:",
}
_NOTHING_TO_DO = (
    "No more records violate what is demanded than may be suppressed, so Datafly generalises "
    "nothing:"
)
_HOW_TO_WRITE = (
    "Nothing was asked to be written. --output release.parquet writes the release, --output "
    "release.sql the views that make it."
)
_HOW_TO_WRITE_VIEWS = (
    "Nothing was asked to be written. --output release.sql writes the views that make the release "
    "where the table lies."
)
_WHAT_HELPS = (
    "What would help: allow more with --max-suppressed, give a quasi-identifier a coarser level, "
    "or leave out one that nobody could know."
)


class Row(NamedTuple):
    """Words, then figures. With fewer words than columns the last reaches over the rest."""

    words: tuple[str, ...]
    figures: tuple[str, ...]


class Grid(NamedTuple):
    """A table under a sentence. A heading of several lines stands on the last of them."""

    title: str
    header: Row
    rows: tuple[Row, ...]


def render(result: AnonymizationResult, *, colour: bool = False, width: int = 80) -> str:
    """The result as people read it, without a newline at its end."""
    lines = _page(result, width)
    return human.coloured(lines) if colour else "\n".join(human.plain(line) for line in lines)


def render_markdown(result: AnonymizationResult) -> str:
    """The result as Markdown, without a newline at its end."""
    return wording.plain("\n\n".join(_markdown_page(result)))


def render_html(result: AnonymizationResult) -> str:
    """The result as a fragment of HTML, for a notebook."""
    return notebook.whole(list(_html_page(result)))


def step_heading() -> str:
    """What stands above the steps while they are taken."""
    *sizes, of_distinct, of_violating = _LIVE
    words = ("step", "attribute", "level", "")
    cells = [human.padded(word, size) for word, size in zip(words, sizes, strict=True)]
    figures = (f"{'values':>{of_distinct}}", f"{'violating':>{of_violating}}")
    return f"{_INDENT}{_INDENT.join(cells)}{_GAP}{_GAP.join(figures)}"


def step_line(step: GeneralizationStep, number: int, from_level: int) -> str:
    """A step while it is taken, in the columns of the table of steps.

    >>> month = GeneralizationStep("birth_date", 1, "month", 61_204, 812_340)
    >>> step_line(month, 1, 0)
    '     1  birth_date    0 → 1  month                      61,204      812,340'
    """
    words, (distinct, violating, _) = _step(step, number, from_level)
    *sizes, of_distinct, of_violating = _LIVE
    cells = [human.padded(word, size) for word, size in zip(words, sizes, strict=True)]
    figures = (f"{distinct:>{of_distinct}}", f"{violating:>{of_violating}}")
    return f"{_INDENT}{_INDENT.join(cells)}{_GAP}{_GAP.join(figures)}"


# --- the words ------------------------------------------------------------------------------


def unanswered(result: AnonymizationResult) -> str | None:
    """The sentence for a table of which there is no release, or None."""
    [table] = result.tables
    put_in = result.anonymization.before.summary.records
    if table.status == "no_data" and put_in:
        return (
            f"{printable(table.name)}: all {counted(put_in, 'record')} would be suppressed, so "
            "nothing is left to release (exit code 4). With a lower --max-suppressed the values "
            "are generalised further instead."
        )
    return wording.unanswered(table)


def headline(result: AnonymizationResult) -> list[str]:
    """What was generalised; how many records there were stands in a table."""
    [table] = result.tables
    names = dict.fromkeys([result.anonymization.before.name, table.name])
    parts = [" → ".join(map(printable, names))]
    if table.entity:
        parts.append(f"people {printable(table.entity)}")
    parts.append(f"quasi-identifiers {listed(table.quasi_identifiers)}")
    if table.sensitive:
        parts.append(f"sensitive {listed(table.sensitive)}")
    return parts


def grids(result: AnonymizationResult) -> Iterator[Grid]:
    """How the release was made, and what it cost."""
    yield _steps(result)
    yield _before_and_after(result)
    yield _by_attribute(result)
    if result.anonymization.associations:
        yield _associations(result)


def _steps(result: AnonymizationResult) -> Grid:
    made = result.anonymization
    whole = made.before.summary.records or 0
    k = _only_k(result)
    violating = "violating\nclasses" if k is None else f"classes\nbelow{KEPT_TOGETHER}{number(k)}"
    steps = (
        _step(step, place, step.to_level - 1, whole)
        for place, step in enumerate(made.steps, start=1)
    )
    idle = made.algorithm == "datafly" and not made.steps
    return Grid(
        _NOTHING_TO_DO if idle else _MADE[made.algorithm],
        Row(
            ("step", "attribute", "level", ""),
            ("values", f"records in\n{violating}", "share"),
        ),
        (*steps, *_ends(result)),
    )


def _step(step: GeneralizationStep, place: int, from_level: int, whole: int = 0) -> Row:
    return Row(
        (
            f"{place:>4}",
            printable(step.attribute),
            f"{from_level} → {step.to_level}",
            printable(step.label),
        ),
        (
            number(step.distinct_before),
            number(step.records_violating),
            _share(step.records_violating, whole),
        ),
    )


def _ends(result: AnonymizationResult) -> Iterator[Row]:
    """What was left after the last step, and what became of it."""
    made = result.anonymization
    whole = made.before.summary.records or 0
    kept = " as *" if made.suppressed_as == "star" else ""
    for words, records in (
        ("at the end", made.records_violating),
        (f"suppressed{kept} (at most {number(made.max_suppressed)} allowed)", made.suppressed),
        ("of them in step 4", made.step4),
    ):
        if records or words != "of them in step 4":
            yield Row(("", words), ("", number(records), _share(records, whole)))


def _before_and_after(result: AnonymizationResult) -> Grid:
    made, [table] = result.anonymization, result.tables
    before, after = made.before.summary, table.summary
    average = before.records / before.classes if before.records and before.classes else None
    return Grid(
        "",
        Row(
            ("",),
            ("records", "classes", "k", "lost\n(Iyengar)", "precision", "average\nclass"),
        ),
        (
            Row(
                ("before",),
                (
                    *map(_figure, (before.records, before.classes, before.k)),
                    _percentage(None if made.metrics.loss is None else 0),
                    _percentage(None if made.metrics.precision is None else 1),
                    _tenths(average),
                ),
            ),
            Row(
                ("after",),
                (
                    *map(_figure, (after.records, after.classes, after.k)),
                    _percentage(made.metrics.loss),
                    _percentage(made.metrics.precision),
                    _tenths(made.metrics.average_class_size),
                ),
            ),
        ),
    )


def _by_attribute(result: AnonymizationResult) -> Grid:
    made = result.anonymization
    return Grid(
        "What became of each quasi-identifier, and what it lost:",
        Row(("quasi-identifier", "level", ""), ("lost",)),
        tuple(
            Row(
                (printable(name), f"{level:>5}", printable(made.labels[name])),
                (_percentage(made.metrics.loss_by_quasi_identifier.get(name)),),
            )
            for name, level in made.levels.items()
        ),
    )


def _associations(result: AnonymizationResult) -> Grid:
    return Grid(
        "How strongly they go together with a sensitive attribute (Cramér's V, from 0 to 1):",
        Row(("quasi-identifier", "sensitive"), ("before", "after")),
        tuple(
            Row(
                (printable(each.quasi_identifier), printable(each.sensitive)),
                (_hundredths(each.before), _hundredths(each.after)),
            )
            for each in result.anonymization.associations
        ),
    )


def step_4(result: AnonymizationResult) -> str | None:
    """What step 4 is, where it did something."""
    made = result.anonymization
    if not made.step4:
        return None
    past = ", even past the limit" if made.suppressed > made.max_suppressed else ""
    return (
        f"Step 4 suppressed {counted(made.step4, 'record')} more{past}: so that the suppressed "
        "ones are not fewer than k themselves."
    )


def other_metrics(result: AnonymizationResult) -> str:
    """The metrics that have no column of their own."""
    metrics = result.anonymization.metrics
    bits = metrics.non_uniform_entropy_bits
    in_bits = "" if bits is None else f"{KEPT_TOGETHER}({_tenths(bits)}{KEPT_TOGETHER}bits)"
    found = {
        "loss_geometric": _percentage(metrics.loss_geometric),
        "non_uniform_entropy": f"{_percentage(metrics.non_uniform_entropy)}{in_bits}",
        "discernibility": _figure(metrics.discernibility),
    }
    each = ", ".join(f"{METRICS[name].title.lower()} {value}" for name, value in found.items())
    return f"Lost by other measures: {each}. kanon-sql explain says what each means."


def verdicts(result: AnonymizationResult) -> list[Verdict]:
    """The checks of the release, each with what the table had before."""
    [table] = result.tables
    return [_beside(check, result) for check in table.checks]


def _beside(check: CheckResult, result: AnonymizationResult) -> Verdict:
    [table], before = result.tables, result.anonymization.before
    verdict = wording.verdict(check, table)
    for earlier in before.checks:
        if (earlier.model, earlier.parameters) == (check.model, check.parameters):
            whole = replace(table, summary=before.summary)
            found, _, _ = wording.verdict(earlier, whole).achieved.partition(", asked for ")
            parts = (verdict.extent, f"before: {found}")
            return replace(verdict, extent="; ".join(part for part in parts if part))
    return verdict


def outcome(result: AnonymizationResult) -> list[str]:
    """What was written or why nothing was, and what to do next."""
    made, [table] = result.anonymization, result.tables
    failed = [check for check in table.checks if check.holds is False]
    if made.reached_top:
        return [_why_in_vain(result), _WHAT_HELPS]
    written = [_written(made.release, len(made.views), table)] if made.release else []
    if failed:
        titles = listed([wording.verdict(check, table).title for check in failed])
        fails = f"The release fails its own audit: {titles}."
        if written:
            return [f"{fails} It was written all the same (--force).", *written]
        return [f"{fails} It is not written; --force writes it.", *_star_class(made, table)]
    return written or [_HOW_TO_WRITE if _is_embedded(table) else _HOW_TO_WRITE_VIEWS]


def _star_class(made: Anonymization, table: TableResult) -> Iterator[str]:
    """Why a class of suppressed records may be the one that fails."""
    if made.suppressed_as == "star" and made.suppressed == table.summary.k:
        yield (
            f"The {counted(made.suppressed, 'suppressed record')} are a class of their own, all "
            "*. Leave them out (--suppressed remove), or let --max-suppressed be k or more, so "
            "that step 4 makes them enough."
        )


def _why_in_vain(result: AnonymizationResult) -> str:
    made, k = result.anonymization, _only_k(result)
    classes = "violating classes" if k is None else f"classes below {number(k)}"
    many, at_most = made.records_violating, made.max_suppressed
    return (
        f"Every quasi-identifier is at its top, and {counted(many, 'record')} still "
        f"{'lies' if many == 1 else 'lie'} in {classes}, where {number(at_most)} may be "
        "suppressed. Nothing is written."
    )


def _is_embedded(table: TableResult) -> bool:
    """Whether the records were read where a file of them can be written."""
    return table.engine == "duckdb"


def _written(release: Release, views: int, table: TableResult) -> str:
    path = printable(release.path)
    if release.holds == "dbt-model":
        return (
            f"{path} written, and beside it the .yml with its roles and tests: a model that makes "
            "this release in a dbt project."
        )
    if release.records is None:
        what_next = (
            "--output release.parquet writes the release itself."
            if _is_embedded(table)
            else f"Nothing was created in {table.engine}; whoever runs them has the release."
        )
        return f"{path} written: {counted(views, 'view')}, without a record. {what_next}"
    columns = f", {counted(release.columns, 'column')}" if release.columns is not None else ""
    return (
        f"{path} written: {counted(release.records, 'record')}{columns}. The same as SQL: "
        "--output release.sql."
    )


def footer(result: AnonymizationResult) -> str:
    """How long it took, where, and how to see what was asked."""
    [table] = result.tables
    return (
        f"{table.seconds:.1f}{KEPT_TOGETHER}s · {table.engine} · "
        f"{counted(len(result.anonymization.views), 'view')} and "
        f"{counted(len(table.sql), 'statement')}, --format json holds them"
    )


def _only_k(result: AnonymizationResult) -> int | None:
    """The demanded k, where nothing else is demanded."""
    [table] = result.tables
    demanded = [check for check in table.checks if check.holds is not None]
    if [check.model for check in demanded] != ["k_anonymity"]:
        return None
    k: int | None = demanded[0].parameters.get("k")
    return k


def _share(part: int, whole: int) -> str:
    return _percentage(part / whole if whole else None)


def _percentage(fraction: float | None) -> str:
    if fraction is None:
        return _NONE
    return percent(fraction).replace("less than", "<").replace("more than", ">")


def _figure(value: int | None) -> str:
    return _NONE if value is None else number(value)


def _tenths(value: float | None) -> str:
    return _NONE if value is None else f"{value:,.1f}"


def _hundredths(value: float | None) -> str:
    return _NONE if value is None else f"{value:.2f}"


# --- for a terminal -------------------------------------------------------------------------


def _page(result: AnonymizationResult, width: int) -> list[Line]:
    sentence = unanswered(result)
    if sentence:
        return human.folded(sentence, width, style="bold")
    [table] = result.tables
    prose = min(width, _WIDEST_PROSE)
    steps, comparison, *others = (_lines(grid, width, prose) for grid in grids(result))
    more = step_4(result)
    blocks = (
        human.folded(" · ".join(headline(result)), width, rest=_INDENT, style="bold"),
        [*steps, *(human.folded(more, prose, _INDENT) if more else [])],
        comparison,
        human.folded(other_metrics(result), prose, _INDENT),
        *others,
        human.verdicts(verdicts(result), width),
        human.warnings(table, prose),
        human.silences(table, prose),
        [line for text in outcome(result) for line in human.folded(text, prose, _INDENT)],
    )
    lines = chain.from_iterable(human.separated([block for block in blocks if block]))
    return [*lines, (Part(footer(result), "dim"),)]


def _lines(grid: Grid, width: int, prose: int) -> list[Line]:
    """The title, then the rows. Columns for which there is no room stand below, after the words
    again; words that are too wide have lines of their own."""
    lines = human.folded(grid.title, prose, _INDENT) if grid.title else []
    rows, room = (grid.header, *grid.rows), width - len(_INDENT)
    sizes = [_widest(row.figures[place] for row in rows) for place in range(len(rows[0].figures))]
    names = _aligned(rows)
    if _widest(names) + _taken(sizes) > room:
        names = [_INDENT.join(word.strip() for word in row.words if word) for row in rows]
    for columns in _portions(sizes, room - min(_widest(names), room // 2)):
        lines += _portion(rows, names, {place: sizes[place] for place in columns}, width)
    return lines


def _aligned(rows: Sequence[Row]) -> list[str]:
    """The words of each row, in columns; the last word of a row reaches as far as it does."""
    columns = len(rows[0].words)
    whole = [row.words for row in rows if len(row.words) == columns]
    sizes = [_widest(words[place] for words in whole) for place in range(columns)]
    return [
        _INDENT.join([*map(human.padded, row.words[:-1], sizes), row.words[-1]]) for row in rows
    ]


def _portions(sizes: Sequence[int], room: int) -> Iterator[list[int]]:
    """The columns of figures, as many at a time as there is room for."""
    portion: list[int] = []
    for place in range(len(sizes)):
        if portion and _taken(sizes[column] for column in (*portion, place)) > room:
            yield portion
            portion = []
        portion.append(place)
    yield portion


def _portion(
    rows: Sequence[Row], names: Sequence[str], sizes: Mapping[int, int], width: int
) -> Iterator[Line]:
    room = width - len(_INDENT) - _taken(sizes.values())
    beside = max((size for size in map(human.width_of, names) if size <= room), default=0)
    for row, words in zip(rows, names, strict=True):
        style = "dim" if row is rows[0] else ""
        *above, figures = _figure_lines(row, sizes)
        name = words
        if human.width_of(name) > beside:
            yield from human.folded(name, width, _INDENT, rest=_INDENT * 2, style=style)
            name = ""
        for upper in above:
            yield (Part(f"{_INDENT}{' ' * beside}{upper}".rstrip(" "), style),)
        yield (Part(f"{_INDENT}{human.padded(name, beside)}{figures}".rstrip(" "), style),)


def _figure_lines(row: Row, sizes: Mapping[int, int]) -> list[str]:
    """The figures of a row, on as many lines as the tallest heading has; the last line is full."""
    cells = {place: row.figures[place].split("\n") for place in sizes}
    height = max(map(len, cells.values()))
    stacked = {place: [""] * (height - len(cell)) + cell for place, cell in cells.items()}
    return [
        "".join(
            f"{_GAP}{' ' * (size - human.width_of(stacked[place][line]))}{stacked[place][line]}"
            for place, size in sizes.items()
        )
        for line in range(height)
    ]


def _widest(texts: Iterable[str]) -> int:
    return max(human.width_of(line) for text in texts for line in text.split("\n"))


def _taken(sizes: Iterable[int]) -> int:
    """The room that columns of figures take."""
    return sum(size + len(_GAP) for size in sizes)


# --- as Markdown, and in a notebook ---------------------------------------------------------


def _markdown_page(result: AnonymizationResult) -> Iterator[str]:
    sentence = unanswered(result)
    if sentence:
        yield f"**{markdown.escaped(sentence)}**"
        return
    [table] = result.tables
    name, *rest = headline(result)
    yield f"## {markdown.escaped(name)}"
    yield markdown.escaped(" · ".join(rest))
    for block in _blocks(result):
        if isinstance(block, str):
            yield markdown.escaped(block)
            continue
        header, *rows = ([markdown.escaped(cell) for cell in row] for row in _cells(block))
        yield markdown.grid(header, rows, numbers=True)
    yield markdown.verdicts(verdicts(result))
    yield from markdown.warnings(table)
    yield from markdown.silences(table)
    yield markdown.escaped(" ".join(outcome(result)))
    yield f"*{markdown.escaped(footer(result))}*"


def _html_page(result: AnonymizationResult) -> Iterator[str]:
    sentence = unanswered(result)
    if sentence:
        yield notebook.paragraph(f"<b>{escape(sentence)}</b>")
        return
    [table] = result.tables
    name, *rest = headline(result)
    yield notebook.paragraph(f"<b>{escape(name)}</b> · {escape(' · '.join(rest))}")
    for block in _blocks(result):
        if isinstance(block, str):
            yield notebook.paragraph(escape(block))
            continue
        header, *rows = ([escape(cell) for cell in row] for row in _cells(block))
        words = len(block.header.words)
        styles = [notebook.CELL] * words + [notebook.FIGURE] * (len(header) - words)
        yield notebook.rows([[f"<b>{cell}</b>" for cell in header], *rows], styles)
    yield notebook.verdicts(verdicts(result))
    yield from notebook.warnings(table)
    yield from notebook.silences(table)
    yield notebook.paragraph(escape(" ".join(outcome(result))))
    yield notebook.paragraph(f"<small>{escape(footer(result))}</small>")


def _blocks(result: AnonymizationResult) -> Iterator[str | Grid]:
    """What comes before the verdicts: sentences, and tables below theirs."""
    steps, comparison, *others = grids(result)
    parts = (steps.title, steps, step_4(result), comparison, other_metrics(result))
    yield from (part for part in parts if part)
    for grid in others:
        yield grid.title
        yield grid


def _cells(grid: Grid) -> Iterator[list[str]]:
    """Every row, the header first, with as many cells as it has columns."""
    columns = len(grid.header.words)
    for row in (grid.header, *grid.rows):
        words = (*row.words, *[""] * (columns - len(row.words)))
        yield [cell.strip().replace("\n", " ") for cell in (*words, *row.figures)]
