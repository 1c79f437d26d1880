"""A release as a page: how it was made, what it cost, whether it holds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from kanon_sql.report import audit
from kanon_sql.report.document import (
    NONE,
    Block,
    Footer,
    Grid,
    Heading,
    Prose,
    Row,
    Strong,
    Verdicts,
)
from kanon_sql.report.search import how_found, minimal_nodes
from kanon_sql.report.words import models, tables
from kanon_sql.report.words.models import Verdict
from kanon_sql.report.words.numbers import (
    KEPT_TOGETHER,
    counted,
    listed,
    number,
    percent,
    printable,
)
from kanon_sql.results.metrics import METRICS
from kanon_sql.results.release import (
    Anonymization,
    GeneralizationStep,
    Metrics,
    Recoded,
    Release,
    ReleaseFindings,
)
from kanon_sql.results.table import CheckResult, TableResult

_BY_DATAFLY = (
    "Datafly generalises one quasi-identifier at a time, the one with most distinct values. Before "
    "each step, and at the end:"
)
_BY_CLASS = (
    "Local recoding lets each class go down the hierarchies by itself, as far as what is demanded "
    "allows. At the tops, where all begin:"
)
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
_MIXED_LEVELS = (
    "A column that shows several levels can't be grouped by as it is: see kanon-sql explain local."
)
_LONGEST_BAR = 12
_A_LITTLE = 0.1
"""Which share of the records is a little to suppress."""
_WHAT_HELPS = (
    "What would help: allow more with --max-suppressed, give a quasi-identifier a coarser level, "
    "or leave out one that nobody could know."
)


def page(result: ReleaseFindings) -> Iterator[Block]:
    """How the release was made, what it cost, and whether it holds."""
    sentence = unanswered(result)
    if sentence:
        yield Strong(sentence)
        return
    [table] = result.tables
    steps, comparison, *others = grids(result)
    yield Heading(headline(result))
    yield steps
    yield comparison
    yield Prose([other_metrics(result)])
    yield from others
    yield Verdicts(verdicts(result))
    yield from audit.warnings(table)
    yield from audit.limits(table)
    yield Prose(outcome(result))
    if advice := [*after_datafly(result), *finer_levels(result)]:
        yield Prose(advice)
    yield Footer(footer(result))


def after_datafly(result: ReleaseFindings) -> Iterator[str]:
    """What a little more suppression would have spared, and what may lose less."""
    made = result.anonymization
    if made.algorithm != "datafly" or made.reached_top or not made.steps:
        return
    whole = made.before.summary.records or 0
    last = list(made.steps)[-1]
    if 0 < last.records_violating <= whole * _A_LITTLE:
        yield (
            f"Allowing {counted(last.records_violating, 'record')} "
            f"({percent(last.records_violating / whole)}) to be suppressed would have spared the "
            f"last step: {printable(last.attribute)} from level {last.to_level - 1} to "
            f"{last.to_level}."
        )
    yield (
        "Datafly does not look for the least loss; --algorithm optimal does, and may lose less. "
        "kanon-sql tradeoff shows what each k would cost."
    )


def finer_levels(result: ReleaseFindings) -> Iterator[str]:
    """Which levels would keep more of what is a number or a date."""
    for name, builder in result.anonymization.builders.items():
        given = f"{name}={builder}"
        option = given if given.isascii() and " " not in given else f"'{printable(given)}'"
        yield (
            f"{printable(name)} has no level but *, which keeps nothing of it: --hierarchy "
            f"{option} would keep more."
        )


def unanswered(result: ReleaseFindings) -> str | None:
    """The sentence for a table of which there is no release, or None."""
    [table] = result.tables
    put_in = result.anonymization.before.summary.records
    if table.status == "no_data" and put_in:
        return (
            f"{printable(table.name)}: all {counted(put_in, 'record')} would be suppressed, so "
            "nothing is left to release (exit code 4). With a lower --max-suppressed the values "
            "are generalised further instead."
        )
    return tables.unanswered(table)


def headline(result: ReleaseFindings) -> list[str]:
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


def grids(result: ReleaseFindings) -> Iterator[Grid]:
    """How the release was made, and what it cost."""
    made = result.anonymization
    yield _steps(result)
    yield _before_and_after(result)
    yield _by_attribute(result) if made.recoded is None else _by_level(result, made.recoded)
    if made.minimal_nodes is not None:
        yield minimal_nodes(made.minimal_nodes)
    if result.anonymization.associations:
        yield _associations(result)


def _steps(result: ReleaseFindings) -> Grid:
    made = result.anonymization
    whole = made.before.summary.records or 0
    k = _only_k(result)
    violating = "violating\nclasses" if k is None else f"classes\nbelow{KEPT_TOGETHER}{number(k)}"
    steps = (
        step_row(step, place, step.to_level - 1, whole)
        for place, step in enumerate(made.steps, start=1)
    )
    idle = made.algorithm == "datafly" and not made.steps
    return Grid(
        _NOTHING_TO_DO if idle else _how_found(made),
        Row(
            ("step", "attribute", "level", ""),
            ("values", f"records in\n{violating}", "share"),
        ),
        (*steps, *_ends(result)),
        below=step_4(result) or "",
    )


def _how_found(made: Anonymization) -> str:
    if made.recoded is not None:
        return _BY_CLASS
    return _BY_DATAFLY if made.algorithm == "datafly" else how_found(made)


def step_row(step: GeneralizationStep, place: int, from_level: int, whole: int = 0) -> Row:
    """A step in the columns of the table of steps."""
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


def _ends(result: ReleaseFindings) -> Iterator[Row]:
    """What was left after the last step, and what became of it."""
    made = result.anonymization
    whole = made.before.summary.records or 0
    kept = " as *" if made.suppressed_as == "star" else ""
    for words, records in (
        ("at the tops" if made.recoded else "at the end", made.records_violating),
        (f"suppressed{kept} (at most {number(made.max_suppressed)} allowed)", made.suppressed),
        ("of them in step 4", made.step4),
    ):
        if records or words != "of them in step 4":
            yield Row(("", words), ("", number(records), _share(records, whole)))


def _before_and_after(result: ReleaseFindings) -> Grid:
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


def _by_attribute(result: ReleaseFindings) -> Grid:
    made = result.anonymization
    return Grid(
        "What became of each quasi-identifier, and what it lost:",
        Row(("quasi-identifier", "level", ""), ("lost",)),
        tuple(
            Row(
                (printable(name), f"{level:>5}", printable(made.labels[name])),
                (_percentage(made.metrics.loss_by_quasi_identifier.get(name)),),
            )
            for name, level in (made.levels or {}).items()
        ),
    )


def _by_level(result: ReleaseFindings, recoded: Recoded) -> Grid:
    made = result.anonymization
    return Grid(
        f"Which level the records show, after {counted(recoded.rounds, 'round')}, and what each "
        "quasi-identifier lost:",
        Row(("quasi-identifier", "level", ""), ("records", "share", "lost")),
        tuple(
            row
            for name, reached in recoded.levels_by_records.items()
            for row in _levels_of(name, reached, recoded.labels_of_levels[name], made.metrics)
        ),
        below=" ".join(_beside(recoded, made)),
    )


def _beside(recoded: Recoded, made: Anonymization) -> Iterator[str]:
    """What one level for all would have lost, and what mixed ones ask of whoever uses them."""
    other = recoded.one_level_for_all
    if other is not None and other.metrics.loss is not None and not made.reached_top:
        suppressed = f" and suppress {counted(other.suppressed, 'record')}" * (other.suppressed > 0)
        yield (
            f"One level for each column would lose {_percentage(other.metrics.loss)} at least"
            f"{suppressed}, with {counted(other.classes, 'class')} (--algorithm optimal)."
        )
    if any(len(each) > 1 for each in recoded.levels_by_records.values()):
        yield _MIXED_LEVELS


def _levels_of(
    name: str, reached: Mapping[int, int], labels: Mapping[int, str], metrics: Metrics
) -> Iterator[Row]:
    """A row for each level that records show, with a bar as long as their share."""
    whole = sum(reached.values())
    for place, (level, records) in enumerate(sorted(reached.items())):
        yield Row(
            (
                printable(name),
                f"{level:>2} {_bar(records, whole):<{_LONGEST_BAR}}",
                printable(labels[level]),
            ),
            (
                number(records),
                _share(records, whole),
                _percentage(metrics.loss_by_quasi_identifier.get(name)) if place == 0 else "",
            ),
        )


def _bar(part: int, whole: int) -> str:
    return ("█" * round(_LONGEST_BAR * part / whole) or "▏") if whole else ""


def _associations(result: ReleaseFindings) -> Grid:
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


def step_4(result: ReleaseFindings) -> str | None:
    """What step 4 is, where it did something."""
    made = result.anonymization
    if not made.step4:
        return None
    past = ", even past the limit" if made.suppressed > made.max_suppressed else ""
    return (
        f"Step 4 suppressed {counted(made.step4, 'record')} more{past}: so that the suppressed "
        "ones are not fewer than k themselves."
    )


def other_metrics(result: ReleaseFindings) -> str:
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
    weighted = (
        ""
        if metrics.loss_weighted is None
        else f"Loss by the weights: {_percentage(metrics.loss_weighted)}. "
    )
    return f"{weighted}Lost by other measures: {each}. kanon-sql explain says what each means."


def verdicts(result: ReleaseFindings) -> list[Verdict]:
    """The checks of the release, each with what the table had before."""
    [table] = result.tables
    return [_compared(check, result) for check in table.checks]


def _compared(check: CheckResult, result: ReleaseFindings) -> Verdict:
    [table], before = result.tables, result.anonymization.before
    verdict = models.verdict(check, table)
    for earlier in before.checks:
        if (earlier.model, earlier.parameters) == (check.model, check.parameters):
            whole = replace(table, summary=before.summary)
            found, _, _ = models.verdict(earlier, whole).achieved.partition(", asked for ")
            parts = (verdict.extent, f"before: {found}")
            return replace(verdict, extent="; ".join(part for part in parts if part))
    return verdict


def outcome(result: ReleaseFindings) -> list[str]:
    """What was written or why nothing was, and what to do next."""
    made, [table] = result.anonymization, result.tables
    failed = [check for check in table.checks if check.holds is False]
    if made.reached_top:
        return _in_vain(result)
    written = [_written(made.release, len(made.views_for_reading), table)] if made.release else []
    if failed:
        titles = listed([models.verdict(check, table).title for check in failed])
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


def _in_vain(result: ReleaseFindings) -> list[str]:
    """Why there is no release, and what would help."""
    made, k, [table] = result.anonymization, _only_k(result), result.tables
    if table.summary.classes == 1 and made.records_violating == table.summary.records:
        return [
            "With every quasi-identifier as coarse as it may be all records are one class, and "
            "that fails too, so that no coarser level can help. Nothing is written.",
            "What would help: demand less, or release more records.",
        ]
    classes = "violating classes" if k is None else f"classes below {number(k)}"
    many, at_most = made.records_violating, made.max_suppressed
    said = (
        f"Every quasi-identifier is as coarse as it may be, and {counted(many, 'record')} still "
        f"{'lies' if many == 1 else 'lie'} in {classes}, where {number(at_most)} may be suppressed"
    )
    if made.suppressed_as == "star" and many <= at_most:
        said += ": with * in every quasi-identifier they would be a class that is too small"
    return [f"{said}. Nothing is written.", _WHAT_HELPS]


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


def footer(result: ReleaseFindings) -> str:
    """How long it took, where, and how to see what was asked."""
    [table] = result.tables
    return (
        f"{table.seconds:.1f}{KEPT_TOGETHER}s · {table.engine} · "
        f"{counted(len(result.anonymization.views_for_reading), 'view')} and "
        f"{counted(len(table.sql), 'statement')}, --format json holds them"
    )


def _only_k(result: ReleaseFindings) -> int | None:
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
        return NONE
    return percent(fraction).replace("less than", "<").replace("more than", ">")


def _figure(value: int | None) -> str:
    return NONE if value is None else number(value)


def _tenths(value: float | None) -> str:
    return NONE if value is None else f"{value:,.1f}"


def _hundredths(value: float | None) -> str:
    return NONE if value is None else f"{value:.2f}"
