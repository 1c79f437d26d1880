"""The atomic delivery of a release's files: all or none."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

from kanon_sql.anonymizing.release.options import ReleaseOptions
from kanon_sql.anonymizing.release.release_job import Written
from kanon_sql.anonymizing.release.result import AnonymizationResult
from kanon_sql.anonymizing.release.scripts import DbtModel, as_text, dbt_model, is_seed, name_of
from kanon_sql.anonymizing.release.views import ViewChain
from kanon_sql.engines.base import Engine, FolderWriter, NewFolder
from kanon_sql.errors import InputError, SpecError, option, plural
from kanon_sql.files import file_kind, null_text
from kanon_sql.question.dbt.project import seeds_around
from kanon_sql.results.release import Release
from kanon_sql.results.writing import (
    listed_as_placed,
    put_in_place,
    temporary_file,
    write_atomically,
    write_together,
)

_LEVELS_OF_THEIR_OWN = "Levels: each class has its own, so that a column shows several."


@contextmanager
def new_file(options: ReleaseOptions, engine: Engine) -> Iterator[Written | None]:
    """The temporary file or folder next to the output, to which the release is first written."""
    if options.folder is not None and isinstance(engine, FolderWriter):
        with engine.new_folder(options.folder) as folder:
            yield folder
        return
    if options.output is None or not options.writes_records:
        yield None
        return
    with ExitStack() as stack:
        with _writing(options.output):
            new = stack.enter_context(temporary_file(options.output))
        yield new


@contextmanager
def _writing(path: Path) -> Iterator[None]:
    """Raise `SpecError` naming the file if it cannot be written."""
    try:
        yield
    except OSError as error:
        raise SpecError(f"{path} can't be written: {error.strerror}.") from None


def delivered(
    result: AnonymizationResult,
    chain: ViewChain | None,
    options: ReleaseOptions,
    new: Written | None,
) -> AnonymizationResult:
    """Put the release in place, if it may be published."""
    table = result.tables[0]
    if chain is not None and isinstance(new, NewFolder) and options.publishes(table.status):
        return _with_folder(result, chain, new)
    if chain is None or options.output is None or not options.publishes(table.status):
        return result
    if isinstance(new, Path):
        with _writing(options.output):
            put_in_place(new, options.output)
        is_text = file_kind(options.output.name) == "csv"
        release = Release(
            str(options.output),
            table.summary.records,
            len(chain.released_columns),
            null_string=null_text(chain.question.spec.null_strings) if is_text else None,
        )
    elif chain.no_views and not (options.emit == "dbt-model" and chain.can_be_modelled):
        holds = "views" if options.emit == "views" else "a model"
        raise InputError(
            f"{options.output} would hold {holds}. {chain.no_views.why}. Write the release itself, "
            f"{option('output', 'release.parquet')}."
        )
    elif options.emit == "dbt-model":
        source = name_of(chain.question.spec.name or chain.question.table.name)
        levels, share = result.anonymization.levels or {}, _allowed_share(result, options)
        model = dbt_model(chain, options.output.stem, source, levels, share)
        result = _with_seed_warnings(_with_description_kept(result, options), options, model)
        seeds = {} if model.seed is None else {options.dbt_seed: model.seed}
        files = {options.properties: model.yaml, **seeds, options.output: model.sql + "\n"}
        write_together(files, private=seeds)
        seed = str(options.dbt_seed) if seeds else None
        release = Release(str(options.output), None, None, "dbt-model", seed)
    else:
        dialect = options.dialect or chain.dialect
        text = as_text(chain, result.anonymization.views, _closing(result), dialect)
        write_atomically(options.output, text)
        release = Release(str(options.output), None, None, "views")
    return replace(result, anonymization=replace(result.anonymization, release=release))


def _with_folder(
    result: AnonymizationResult, chain: ViewChain, new: NewFolder
) -> AnonymizationResult:
    """The result with the folder that the cluster wrote, renamed."""
    with listed_as_placed(Path(new.place)):
        new.put_in_place()
    records = result.tables[0].summary.records
    release = Release(new.place, records, len(chain.released_columns))
    return replace(result, anonymization=replace(result.anonymization, release=release))


def _allowed_share(result: AnonymizationResult, options: ReleaseOptions) -> float:
    """The share of the records that may be left out; a number of records as a share, rounded up."""
    limit = str(options.max_suppressed)
    if limit.endswith("%"):
        return float(Fraction(limit.rstrip("% ")) / 100)
    records = result.anonymization.before.summary.records or 1
    return min(math.ceil(10_000 * result.anonymization.max_suppressed / records) / 10_000, 1)


def refuse_described(options: ReleaseOptions) -> None:
    """Raise `SpecError` for a dbt model that the project already has, naming each of its files."""
    if options.emit != "dbt-model" or options.output is None:
        return
    for seed in options.seeds:
        _refuse_another_seed(seed)
    if options.overwrite:
        return
    paths = [options.output, options.described, *options.seeds]
    existing = [str(path) for path in paths if path.is_file()]
    if existing:
        note = (
            f"; what a person wrote in {options.described} stays, and the new tests go into "
            f"{options.properties}"
            if options.keeps_description
            else ""
        )
        *others, last = existing
        listed = f"{', '.join(others)} and {last}" if others else last
        raise SpecError(
            f"{listed} {'exists' if len(existing) == 1 else 'exist'}; add "
            f"{option('overwrite', True)} to replace {'it' if len(existing) == 1 else 'them'}"
            f"{note}."
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
            f"{seed} exists, and is not a seed that kanon-sql wrote for a model: it is not "
            f"replaced, even with {option('overwrite', True)}. Choose another name for the model."
        )


def _with_seed_warnings(
    result: AnonymizationResult, options: ReleaseOptions, model: DbtModel
) -> AnonymizationResult:
    """The result with warnings about personal data in the model's files and the seed's place."""
    if options.algorithm != "local":
        return result
    [table] = result.tables
    holder = options.output if model.seed is None else options.dbt_seed
    warnings = [
        f"{holder} holds the quasi-identifier values by which classes were split: it is as "
        "private as the table that was released."
    ]
    if model.seed is not None and seeds_around(options.dbt_seed) is None:
        warnings.append(
            f"{options.output} is in no dbt project, so {options.dbt_seed.name} was written next "
            "to it. Move it to the project's seeds."
        )
    return replace(result, tables=(replace(table, warnings=(*table.warnings, *warnings)),))


def _with_description_kept(
    result: AnonymizationResult, options: ReleaseOptions
) -> AnonymizationResult:
    """The result with a warning if the model's YAML was edited by hand and is kept."""
    if not options.keeps_description:
        return result
    [table] = result.tables
    warning = (
        f"{options.described} was edited by hand and left as it is. Its entries for the new "
        f"release are in {options.properties}: copy them by hand."
    )
    return replace(result, tables=(replace(table, warnings=(*table.warnings, warning)),))


def _closing(result: AnonymizationResult) -> list[str]:
    """Comments of a views file on the levels and counts of the release."""
    release, summary = result.anonymization, result.tables[0].summary
    levels = "; ".join(
        f"{name} {level} ({release.labels[name]})" for name, level in (release.levels or {}).items()
    )
    reached = f"Levels: {levels}." if release.levels is not None else _LEVELS_OF_THEIR_OWN
    donated = f", {release.step4:,} of them donated" if release.step4 else ""
    return [
        reached,
        f"Released: {summary.records:,} records in {summary.classes:,} classes, k = "
        f"{summary.k:,}. Suppressed: {plural(release.suppressed, 'record')}{donated}; at most "
        f"{release.max_suppressed:,} might be.",
    ]
