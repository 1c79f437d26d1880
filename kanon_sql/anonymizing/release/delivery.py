"""Writes the files of a release atomically, all or none."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

from kanon_sql.anonymizing.release.dbt_model import DbtModel, dbt_model, is_seed, name_of
from kanon_sql.anonymizing.release.options import ReleaseOptions
from kanon_sql.anonymizing.release.result import AnonymizationResult
from kanon_sql.anonymizing.release.views import ViewChain
from kanon_sql.anonymizing.release.views_file import as_text
from kanon_sql.errors import InputError, SpecError, option, plural
from kanon_sql.files import file_kind, written_null
from kanon_sql.results.release import Release
from kanon_sql.results.writing import beside, put_in_place, write_together, write_whole
from kanon_sql.spec.dbt.project import seeds_around

_LEVELS_OF_THEIR_OWN = "Levels: each class has its own, so that a column shows several."


@contextmanager
def new_file(wanted: ReleaseOptions) -> Iterator[Path | None]:
    """The temporary file next to the output to which the release is first written."""
    if wanted.output is None or not wanted.writes_records:
        yield None
        return
    with ExitStack() as stack:
        with _writing(wanted.output):
            new = stack.enter_context(beside(wanted.output))
        yield new


@contextmanager
def _writing(path: Path) -> Iterator[None]:
    """Raise `SpecError` naming the file if it cannot be written."""
    try:
        yield
    except OSError as error:
        raise SpecError(f"{path} can't be written: {error.strerror}.") from None


def delivered(
    result: AnonymizationResult, chain: ViewChain | None, wanted: ReleaseOptions, new: Path | None
) -> AnonymizationResult:
    """Put the release in place, if it may be published."""
    table = result.tables[0]
    if chain is None or wanted.output is None or not wanted.publishes(table.status):
        return result
    if new is not None:
        with _writing(wanted.output):
            put_in_place(new, wanted.output)
        is_text = file_kind(wanted.output.name) == "csv"
        release = Release(
            str(wanted.output),
            table.summary.records,
            len(chain.columns),
            null_string=written_null(chain.bound.spec.null_strings) if is_text else None,
        )
    elif chain.no_views and not (wanted.emit == "dbt-model" and chain.can_be_modelled):
        holds = "views" if wanted.emit == "views" else "a model"
        raise InputError(
            f"{wanted.output} would hold {holds}. {chain.no_views.why}. Write the release itself, "
            f"{option('output', 'release.parquet')}."
        )
    elif wanted.emit == "dbt-model":
        source = name_of(chain.bound.spec.name or chain.bound.table.name)
        levels, share = result.anonymization.levels or {}, _allowed_share(result, wanted)
        model = dbt_model(chain, wanted.output.stem, source, levels, share)
        result = _with_seed_told(_with_description_kept(result, wanted), wanted, model)
        seeds = {} if model.seed is None else {wanted.seed: model.seed}
        files = {wanted.properties: model.yaml, **seeds, wanted.output: model.sql + "\n"}
        write_together(files, private=seeds)
        seed = str(wanted.seed) if seeds else None
        release = Release(str(wanted.output), None, None, "dbt-model", seed)
    else:
        dialect = wanted.dialect or chain.dialect
        text = as_text(chain, result.anonymization.views, _closing(result), dialect)
        write_whole(wanted.output, text)
        release = Release(str(wanted.output), None, None, "views")
    return replace(result, anonymization=replace(result.anonymization, release=release))


def _allowed_share(result: AnonymizationResult, wanted: ReleaseOptions) -> float:
    """The share of the records that may be left out; a number of records as a share, rounded up."""
    asked = str(wanted.max_suppressed)
    if asked.endswith("%"):
        return float(Fraction(asked.rstrip("% ")) / 100)
    records = result.anonymization.before.summary.records or 1
    return min(math.ceil(10_000 * result.anonymization.max_suppressed / records) / 10_000, 1)


def refuse_described(wanted: ReleaseOptions) -> None:
    """Raise `SpecError` for a dbt model that the project already has, naming each of its files."""
    if wanted.emit != "dbt-model" or wanted.output is None:
        return
    for seed in wanted.seeds:
        _refuse_another_seed(seed)
    if wanted.force:
        return
    paths = [wanted.output, wanted.described, *wanted.seeds]
    there = [str(path) for path in paths if path.is_file()]
    if there:
        kept = (
            f"; what a person wrote in {wanted.described} stays, and the new tests go into "
            f"{wanted.properties}"
            if wanted.keeps_description
            else ""
        )
        *others, last = there
        listed = f"{', '.join(others)} and {last}" if others else last
        raise SpecError(
            f"{listed} {'is' if len(there) == 1 else 'are'} there already; "
            f"{option('force', True)} overwrites {'it' if len(there) == 1 else 'them'}{kept}."
        )


def _refuse_another_seed(seed: Path) -> None:
    """Raise `SpecError` if the seed's file exists and was not written by kanon-sql."""
    if not seed.exists():
        return
    try:
        with seed.open(encoding="utf-8", newline="") as lines:
            is_ours = is_seed(lines.readline(200))
    except (OSError, UnicodeDecodeError):
        is_ours = False
    if not is_ours:
        raise SpecError(
            f"{seed} is there, and is no seed that kanon-sql wrote for a model: it is left alone, "
            f"with {option('force', True)} too. Name the model otherwise."
        )


def _with_seed_told(
    result: AnonymizationResult, wanted: ReleaseOptions, model: DbtModel
) -> AnonymizationResult:
    """The result with warnings about personal data in the model's files and the seed's place."""
    if wanted.algorithm != "local":
        return result
    [table] = result.tables
    holder = wanted.output if model.seed is None else wanted.seed
    warnings = [
        f"{holder} holds values of quasi-identifiers, by which classes were split: it is as "
        "private as the table that was released."
    ]
    if model.seed is not None and seeds_around(wanted.seed) is None:
        warnings.append(
            f"{wanted.output} lies in no dbt project, so {wanted.seed.name} was written beside it. "
            "Move it to the project's seeds."
        )
    return replace(result, tables=(replace(table, warnings=(*table.warnings, *warnings)),))


def _with_description_kept(
    result: AnonymizationResult, wanted: ReleaseOptions
) -> AnonymizationResult:
    """The result with a warning if the model's YAML was edited by hand and is kept."""
    if not wanted.keeps_description:
        return result
    [table] = result.tables
    warning = (
        f"{wanted.described} holds what a person wrote, and was left as it is. What it should say "
        f"of the new release is in {wanted.properties}: take it over by hand."
    )
    return replace(result, tables=(replace(table, warnings=(*table.warnings, warning)),))


def _closing(result: AnonymizationResult) -> list[str]:
    """Comments of a views file on the levels and counts of the release."""
    found, summary = result.anonymization, result.tables[0].summary
    levels = "; ".join(
        f"{name} {level} ({found.labels[name]})" for name, level in (found.levels or {}).items()
    )
    reached = f"Levels: {levels}." if found.levels is not None else _LEVELS_OF_THEIR_OWN
    donated = f", {found.step4:,} of them donated" if found.step4 else ""
    return [
        reached,
        f"Released: {summary.records:,} records in {summary.classes:,} classes, k = "
        f"{summary.k:,}. Suppressed: {plural(found.suppressed, 'record')}{donated}; at most "
        f"{found.max_suppressed:,} might be.",
    ]
