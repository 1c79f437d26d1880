"""A release is written whole, or not at all."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

from kanon_sql.anonymizing.dbt_model import dbt_model, name_of
from kanon_sql.anonymizing.options import ReleaseOptions
from kanon_sql.anonymizing.result import AnonymizationResult
from kanon_sql.anonymizing.views import ViewChain
from kanon_sql.anonymizing.views_file import as_text
from kanon_sql.errors import InputError, SpecError, option, plural
from kanon_sql.results.release import Release
from kanon_sql.results.writing import beside, put_in_place, write_whole

_LEVELS_OF_THEIR_OWN = "Levels: each class has its own, so that a column shows several."


@contextmanager
def new_file(wanted: ReleaseOptions) -> Iterator[Path | None]:
    """The file beside the output that the release is first written to."""
    if wanted.output is None or not wanted.writes_records:
        yield None
        return
    with ExitStack() as stack:
        with _writing(wanted.output):
            new = stack.enter_context(beside(wanted.output))
        yield new


@contextmanager
def _writing(path: Path) -> Iterator[None]:
    """Say of a file that can't be written which one it is."""
    try:
        yield
    except OSError as error:
        raise SpecError(f"{path} can't be written: {error.strerror}.") from None


def delivered(
    result: AnonymizationResult, chain: ViewChain | None, wanted: ReleaseOptions, new: Path | None
) -> AnonymizationResult:
    """Put the release in place, if it may be published."""
    table = result.tables[0]
    fails = table.status != "holds" and not (wanted.force and table.status == "violated")
    if chain is None or wanted.output is None or fails:
        return result
    if new is not None:
        with _writing(wanted.output):
            put_in_place(new, wanted.output)
        release = Release(str(wanted.output), table.summary.records, len(chain.columns))
    elif not chain.views:
        raise InputError(
            f"{wanted.output} would hold views. {chain.no_views}. Write the release itself, "
            f"{option('output', 'release.parquet')}."
        )
    elif wanted.emit == "dbt-model":
        source = name_of(chain.bound.spec.name or chain.bound.table.name)
        model = dbt_model(chain, wanted.output.stem, source, result.anonymization.levels or {})
        result = _with_description_kept(result, wanted)
        write_whole(wanted.properties, model.yaml)
        write_whole(wanted.output, model.sql + "\n")
        release = Release(str(wanted.output), None, None, "dbt-model")
    else:
        dialect = wanted.dialect or chain.dialect
        text = as_text(chain, result.anonymization.views, _closing(result), dialect)
        write_whole(wanted.output, text)
        release = Release(str(wanted.output), None, None, "views")
    return replace(result, anonymization=replace(result.anonymization, release=release))


def refuse_described(wanted: ReleaseOptions) -> None:
    """Raise `SpecError` for a model that the project has, naming each of its files."""
    if wanted.emit != "dbt-model" or wanted.output is None or wanted.force:
        return
    there = [str(path) for path in (wanted.output, wanted.described) if path.is_file()]
    if there:
        kept = (
            f"; what a person wrote in {wanted.described} stays, and the new tests go into "
            f"{wanted.properties}"
            if wanted.keeps_description
            else ""
        )
        raise SpecError(
            f"{' and '.join(there)} {'is' if len(there) == 1 else 'are'} there already; "
            f"{option('force', True)} overwrites {'it' if len(there) == 1 else 'them'}{kept}."
        )


def _with_description_kept(
    result: AnonymizationResult, wanted: ReleaseOptions
) -> AnonymizationResult:
    """The result with a warning, where the YAML of the model is a person's."""
    if not wanted.keeps_description:
        return result
    [table] = result.tables
    warning = (
        f"{wanted.described} holds what a person wrote, and was left as it is. What it should say "
        f"of the new release is in {wanted.properties}: take it over by hand."
    )
    return replace(result, tables=(replace(table, warnings=(*table.warnings, warning)),))


def _closing(result: AnonymizationResult) -> list[str]:
    """What a file of views says of the release."""
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
