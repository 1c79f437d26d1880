"""The page of a release: how it was made, its information loss, its verdicts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from kanon_sql.report import audit
from kanon_sql.report.document import Block, Heading, Prose, Verdicts
from kanon_sql.report.release_tables import (
    comparison_of_algorithms,
    grids,
    minimal_nodes,
    search_course,
    sole_required_k,
    tenths,
)
from kanon_sql.report.words import models, tables
from kanon_sql.report.words.check_phrases import phrases
from kanon_sql.report.words.models import Verdict
from kanon_sql.report.words.numbers import (
    KEPT_TOGETHER,
    counted,
    listed,
    number,
    number_or_none,
    percent,
    printable,
    quasi_identifiers,
    sentence,
    short_percent,
)
from kanon_sql.results.check import CheckResult
from kanon_sql.results.release import (
    METRICS,
    Anonymization,
    Release,
    ReleaseFindings,
)
from kanon_sql.results.table import TableResult
from kanon_sql.sql.dialects.traits import TRAITS, Traits


def page(result: ReleaseFindings) -> Iterator[Block]:
    """The blocks of a release: its verdict, then what it cost and how it was made."""
    yield from _opening(result, verdicts(result))
    [table] = result.tables
    if not tables.unanswered(table):
        release = result.anonymization.release
        if release is not None and release.records is not None:
            yield Prose([sentence("as_sql")])
        steps, comparison, *further = grids(result)
        yield from audit.limits(table)
        yield steps
        yield comparison
        yield Prose([other_metrics(result)])
        yield from further
        views = counted(len(result.anonymization.views_for_reading), "view")
        statements = counted(len(table.sql), "statement")
        sql_note = f"{views} and {statements}, --format json holds them"
        yield Prose([f"{_footer(table)} · {sql_note}"], "footer")


def brief(result: ReleaseFindings) -> Iterator[Block]:
    """The verdict of a release and its cost, without the tables of `page`."""
    [table] = result.tables
    yield from _opening(result, (_in_a_line(table, *check) for check in _compared_checks(result)))
    if not tables.unanswered(table):
        if result.anonymization.minimal_nodes is not None:
            yield minimal_nodes(result.anonymization.minimal_nodes)
        yield Prose([f"{_footer(table)} · {sentence('more_with_v')}"], "footer")


def _opening(result: ReleaseFindings, checks: Iterable[Verdict]) -> Iterator[Block]:
    if why := unanswered(result):
        yield Prose([why], "strong")
        return
    [table] = result.tables
    verdict, *further = outcome(result)
    yield Heading(headline(result))
    yield Prose([verdict], "strong")
    yield Verdicts(list(checks))
    yield from audit.warnings(table)
    release = result.anonymization
    course = search_course(release)
    yield Prose([*_cost(result), *([course] if course else []), *further])
    if release.compared:
        yield comparison_of_algorithms(release)
    if advice := [*algorithm_hint(result), *finer_levels(result)]:
        yield Prose(advice)


def _cost(result: ReleaseFindings) -> Iterator[str]:
    """The records and classes released, and the information lost."""
    release, [table] = result.anonymization, result.tables
    if release.reached_top:
        return
    released, records_before = table.summary.records or 0, release.before.summary.records or 0
    treatment = "kept as *" if release.suppressed_as == "star" else "suppressed"
    suppressed = f", {number(release.suppressed)} {treatment}" if release.suppressed else ""
    lost = (
        ""
        if release.metrics.loss is None
        else f"; {percent(release.metrics.loss)} information lost"
    )
    yield (
        f"{number(released)} of {counted(records_before, 'record')} released in "
        f"{counted(table.summary.classes or 0, 'class')}{suppressed}{lost}."
    )


def algorithm_hint(result: ReleaseFindings) -> Iterator[str]:
    """A hint at the other algorithms, after Datafly."""
    release = result.anonymization
    if (
        release.algorithm == "datafly"
        and release.steps
        and not release.reached_top
        and not release.compared
    ):
        yield "Less is lost by optimal (one level a column) and local (several): --compare."


def finer_levels(result: ReleaseFindings) -> Iterator[str]:
    """Hierarchies that would keep more of numeric and date columns."""
    builders = result.anonymization.builders
    hierarchies = [f"{name}={builder}" for name, builder in builders.items()]
    if hierarchies:
        options = " ".join(
            f"--hierarchy {hierarchy}"
            if hierarchy.isascii() and " " not in hierarchy
            else f"--hierarchy '{printable(hierarchy)}'"
            for hierarchy in hierarchies
        )
        yield (
            f"{listed(list(builders))} {'has' if len(hierarchies) == 1 else 'have'} no level but "
            f"*: {options} would keep more."
        )


def unanswered(result: ReleaseFindings) -> str | None:
    """The sentence for a table without a release, or None."""
    [table] = result.tables
    before = result.anonymization.before.summary.records
    if table.status == "no_data" and before:
        all_records = "the only record" if before == 1 else f"all {counted(before, 'record')}"
        return (
            f"{printable(table.name)}: {all_records} would be suppressed, so "
            "nothing is left to release (exit code 4). With a lower --max-suppressed the values "
            "are generalised further instead."
        )
    return tables.unanswered(table)


def headline(result: ReleaseFindings) -> list[str]:
    """The parts of the headline; record counts are in a table below."""
    [table] = result.tables
    names = dict.fromkeys([result.anonymization.before.name, table.name])
    parts = [" → ".join(map(printable, names))]
    if table.entity:
        parts.append(f"people {printable(table.entity)}")
    parts.append(quasi_identifiers(table.quasi_identifiers))
    if table.sensitive:
        parts.append(f"sensitive {listed(table.sensitive)}")
    return parts


def other_metrics(result: ReleaseFindings) -> str:
    """The metrics without a column of their own, as a sentence."""
    metrics = result.anonymization.metrics
    bits = metrics.non_uniform_entropy_bits
    in_bits = "" if bits is None else f"{KEPT_TOGETHER}({tenths(bits)}{KEPT_TOGETHER}bits)"
    losses = {
        "loss_geometric": short_percent(metrics.loss_geometric),
        "non_uniform_entropy": f"{short_percent(metrics.non_uniform_entropy)}{in_bits}",
        "discernibility": number_or_none(metrics.discernibility),
    }
    values = ", ".join(f"{METRICS[name].title.lower()} {value}" for name, value in losses.items())
    weighted = (
        ""
        if metrics.loss_weighted is None
        else f"Loss by the weights: {short_percent(metrics.loss_weighted)}. "
    )
    return f"{weighted}Lost by other measures: {values}. kanon-sql explain says what each means."


def verdicts(result: ReleaseFindings) -> Iterator[Verdict]:
    """The verdicts of the release, each with the original table's."""
    for _, verdict, before in _compared_checks(result):
        yield verdict._replace(extent=_joined(verdict.extent, before))


def _compared_checks(result: ReleaseFindings) -> Iterator[tuple[CheckResult, Verdict, str]]:
    """Each check with its verdict, and with the original table's figure in words."""
    [table], before = result.tables, result.anonymization.before
    original = replace(table, summary=before.summary)
    for check in table.checks:
        same = (
            f"before: {phrases(other, original).achieved}"
            for other in before.checks
            if (other.model, other.parameters) == (check.model, check.parameters)
        )
        yield check, models.verdict(check, table), next(same, "")


def _in_a_line(table: TableResult, check: CheckResult, verdict: Verdict, before: str) -> Verdict:
    """The verdict on one line where nothing violates the check, with its extent otherwise."""
    if check.holds is False or check.violating_records or check.violating_people:
        return verdict._replace(extent=_joined(verdict.extent, before))
    is_same = before == f"before: {phrases(check, table).achieved}"
    compared = "as before" if is_same else before
    return verdict._replace(achieved=_joined(verdict.achieved, compared), extent="")


def _joined(*parts: str) -> str:
    return "; ".join(filter(None, parts))


def outcome(result: ReleaseFindings) -> list[str]:
    """The outcome of a release: whether it holds, the files written or the reason for none, and the
    next step."""
    anonymization, [table] = result.anonymization, result.tables
    failed = [check for check in table.checks if check.holds is False]
    if anonymization.reached_top:
        return _why_infeasible(result)
    written = (
        [_written(anonymization.release, len(anonymization.views_for_reading), table)]
        if anonymization.release
        else []
    )
    if failed:
        titles = listed([models.verdict(check, table).title for check in failed])
        fails = f"The release fails its own audit: {titles}."
        if written:
            return [fails, "It was written anyway (--force).", *written]
        unwritten = "It is not written; --force writes it."
        return [
            fails,
            unwritten,
            *_nearest_levels(anonymization),
            *_star_class(anonymization, table),
        ]
    hint = "how_to_write" if _is_embedded(table) else "how_to_write_views"
    if anonymization.entity_in_release == "renumber":
        hint = "how_to_write_records"
    return [tables.outcome(table), *(written or [sentence(hint)])]


def _star_class(release: Anonymization, table: TableResult) -> Iterator[str]:
    """Why a class of suppressed records may be the one that fails."""
    if release.suppressed_as == "star" and release.suppressed:
        too_few = release.suppressed == table.summary.k and release.algorithm == "datafly"
        by_step_4 = (
            ", or let --max-suppressed be k or more, so that step 4 suppresses enough"
            if too_few
            else ""
        )
        yield (
            f"The {counted(release.suppressed, 'suppressed record')} are a class of their "
            f"own, all *. Leave them out (--suppressed remove){by_step_4}."
        )


def _why_infeasible(result: ReleaseFindings) -> list[str]:
    """Why no levels satisfy the checks, and the remedies."""
    release, k, [table] = result.anonymization, sole_required_k(result), result.tables
    if table.summary.classes == 1 and release.records_violating in (0, table.summary.records):
        return [
            "With every quasi-identifier at its coarsest level all records are one class, which "
            "fails too, so no coarser level can help. Nothing is written.",
            *_limit_by_earlier_release(release, table),
            *_nearest_levels(release, of=table.summary.records),
            "What would help: require less, or release more records.",
        ]
    classes = "violating classes" if k is None else f"classes below {number(k)}"
    many, at_most = release.records_violating, release.max_suppressed
    obstacle = (
        f"{counted(many, 'record')} still {'lies' if many == 1 else 'lie'} in {classes}, where "
        f"{number(at_most)} may be suppressed"
    )
    fewer = "allow more with --max-suppressed"
    if release.suppressed_as == "star" and 0 < many <= at_most:
        obstacle += ": with * in every quasi-identifier they would be a class that fails as well"
        fewer = "have them removed (--suppressed remove)"
    elif many <= at_most:
        obstacle = "a requirement on all classes together still fails"
    if release.algorithm == "levels":
        return [
            f"At these levels {obstacle}. Nothing is written.",
            f"What would help: {fewer}, higher levels, or a search for them (without --level).",
        ]
    return [
        f"Every quasi-identifier is at its coarsest level, and {obstacle}. Nothing is written.",
        *_nearest_levels(release),
        *_limit_by_earlier_release(release, table),
        f"What would help: {fewer}, {_columns_to_coarsen(release)}, or leave out a "
        "quasi-identifier that nobody could know.",
    ]


def _nearest_levels(release: Anonymization, of: int | None = None) -> Iterator[str]:
    """The levels with the fewest violating records, where no levels satisfy; none if these are all
    the records `of` the table."""
    nearest = release.nearest
    if nearest is None or nearest.records_violating == of:
        return
    levels = ", ".join(
        f"{printable(name)} {level} ({printable(nearest.labels[name])})"
        for name, level in nearest.levels.items()
    )
    many = nearest.records_violating
    there = f"{counted(many, 'record')} {'lies' if many == 1 else 'lie'}"
    left_out = f", which --max-suppressed {many} would leave out" if many else ""
    yield f"The nearest levels are {levels}: {there} in violating classes there{left_out}."


def _limit_by_earlier_release(release: Anonymization, table: TableResult) -> Iterator[str]:
    """Why no coarser level can help, where all records of this release are alike."""
    if any(many > 1 for many in release.values_at_top.values()):
        return
    for check in table.checks:
        if check.model == "composed_k_anonymity" and check.holds is False:
            yield (
                "At these levels this release tells nobody apart: the crowds of "
                f"{number(check.achieved)} are the earlier release's, and no level of this one "
                "makes them larger. Require less, or leave the people in them out."
            )


def _columns_to_coarsen(release: Anonymization) -> str:
    """The quasi-identifiers that still distinguish records, and how to generalise them further."""
    distinguishing = [
        f"{printable(name)} ({counted(many, 'value')} left)"
        for name, many in release.values_at_top.items()
        if many > 1
    ]
    if not distinguishing:
        return "give a quasi-identifier a coarser level"
    return f"let {' and '.join(distinguishing)} go up to suppress (kanon-sql explain hierarchies)"


def _is_embedded(table: TableResult) -> bool:
    """Whether the engine can write a file of the records."""
    return TRAITS.get(table.engine, Traits()).embedded


def _written(release: Release, views: int, table: TableResult) -> str:
    path = printable(release.path)
    if release.holds == "dbt-model":
        seed = (
            f" It reads the seed {printable(release.seed)}, which was written too and is as "
            "private as the table: it holds quasi-identifier values."
            if release.seed
            else ""
        )
        return (
            f"{path} written, with a .yml of its roles and tests: a model that makes "
            f"this release in a dbt project.{seed}"
        )
    if release.records is None:
        next_step = (
            "--output release.parquet writes the release itself."
            if _is_embedded(table)
            else f"Nothing was created in {table.engine}; running them makes the release."
        )
        return f"{path} written: {counted(views, 'view')}, no records. {next_step}"
    columns = f", {counted(release.columns, 'column')}" if release.columns is not None else ""
    null = ""
    if release.null_string is not None:
        null = f"; NULL is {printable(release.null_string) or 'an empty field'}"
    return f"{path} written: {counted(release.records, 'record')}{columns}{null}."


def _footer(table: TableResult) -> str:
    """Duration and engine."""
    return f"{table.seconds:.1f}{KEPT_TOGETHER}s · {table.engine}"
