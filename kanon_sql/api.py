"""The Python surface: one call from data to verdicts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Literal

from kanon_sql import anonymizer, auditor, compiler, profiler
from kanon_sql.anonymization_result import Algorithm, AnonymizationResult, Emitted, Suppressed
from kanon_sql.anonymizer import Wanted
from kanon_sql.compiler import CompiledAudit
from kanon_sql.dialects import Quote
from kanon_sql.errors import SpecError
from kanon_sql.models import KAnonymity, Model
from kanon_sql.profile_result import ProfileResult
from kanon_sql.result import AuditResult
from kanon_sql.spec import AuditSpec, ReferenceSpec, Unassigned, table_spec

Names = str | Iterable[str]


def audit(
    data: Any,
    *,
    quasi_identifiers: Names | Mapping[str, Any] = (),
    sensitive: Names = (),
    checks: Iterable[Model] = (),
    entity: str | None = None,
    identifiers: Names = (),
    references: Mapping[str, Any] | None = None,
    where: str | None = None,
    first: int | None = None,
    nulls: Literal["value", "wildcard"] = "value",
    sensitive_nulls: Literal["value", "unknown"] = "value",
    levels: Mapping[str, int] | None = None,
    hierarchy_faults: Literal["error", "warn"] = "error",
    with_other_sensitive: bool = False,
    weight: str | None = None,
    null_strings: Names = (),
    delimiter: str | None = None,
    name: str | None = None,
    engine: Any = None,
    show_values: bool = False,
    memory_limit: str | None = None,
    threads: int | None = None,
    timeout: float | None = None,
) -> AuditResult:
    """What privacy models hold of a table, and what it has where nothing was demanded.

    `data` is a path or a glob, a pandas, polars or pyarrow table, a DuckDB relation, a table's
    name where `engine` says which database it is in, or an `AuditSpec`, which says the rest
    itself. `quasi_identifiers` are what someone may know of a person ("*" is every column that
    has no other part), or a mapping from each to its `GeneralizationHierarchy`; with `levels` the
    table is looked at as it would be with these columns at these levels. `sensitive` is what must
    not become known. `references` are the tables of k-map by name: data like `data`, or a
    `ReferenceSpec`. `weight` is a survey's weight of each record. `engine` is a URL or an
    open connection, as `connect` takes it, or what `connect` returns. `timeout` is in seconds.

    With `show_values` the result holds values of the data: personal data.

    Raises `SpecError` for a question that can't be asked, `InputError` for data that can't be
    read whole, `EngineError` for data that can't be opened within the time limit. A table on
    which the database fails later has the status `error`.

    >>> import pyarrow
    >>> people = pyarrow.table({"zip": ["02138", "02138", "02139"], "age": [30, 30, 41]})
    >>> audit(people, quasi_identifiers=["zip", "age"]).tables[0].summary.k
    1
    """
    spec = _spec(
        data, quasi_identifiers, sensitive, checks, references,
        entity=entity, identifiers=identifiers, where=where, first=first, nulls=nulls,
        sensitive_nulls=sensitive_nulls, levels=dict(levels or {}),
        hierarchy_faults=hierarchy_faults, with_other_sensitive=with_other_sensitive, weight=weight,
        null_strings=null_strings, delimiter=delimiter, name=name,
    )  # fmt: skip
    return auditor.audit(
        spec,
        engine=engine,
        show_values=show_values,
        memory_limit=memory_limit,
        threads=threads,
        timeout=timeout,
    )


def compile(
    data: Any,
    *,
    quasi_identifiers: Names | Mapping[str, Any] = (),
    sensitive: Names = (),
    checks: Iterable[Model] = (),
    references: Mapping[str, Any] | None = None,
    engine: Any = None,
    dialect: str | None = None,
    quote: Quote = "always",
    table: str | None = None,
    **parts: Any,
) -> CompiledAudit:
    """The SQL that `audit` would run, step by step. None of it runs.

    Takes what `audit` takes, the limits and `show_values` left out. `dialect` is the engine's
    without it; in another one a file stands for the table that is called after it, or as `table`
    says, and the name of a table needs no engine. `quote="needed"` leaves plain names without
    quotes.

    >>> compiled = compile("people", quasi_identifiers="zip", dialect="snowflake", quote="needed")
    >>> print(compiled.tables[0].steps["classes"].partition("from ")[2][:31])
    people
        group by
            zip
    """
    spec = _spec(data, quasi_identifiers, sensitive, checks, references, **parts)
    return compiler.compile(spec, engine=engine, dialect=dialect, quote=quote, table=table)


def anonymize(
    data: Any,
    *,
    quasi_identifiers: Names | Mapping[str, Any] = (),
    k: int | None = None,
    sensitive: Names = (),
    checks: Iterable[Model] = (),
    references: Mapping[str, Any] | None = None,
    algorithm: Algorithm = "datafly",
    max_suppressed: int | str | None = None,
    suppressed: Suppressed = "remove",
    pull_frequencies: bool = False,
    output: str | Path | None = None,
    dialect: str | None = None,
    emit: Emitted = "views",
    view_name: str | None = None,
    single_view: bool = False,
    keep_order: bool = False,
    untouched: Unassigned | None = None,
    force: bool = False,
    engine: Any = None,
    memory_limit: str | None = None,
    threads: int | None = None,
    timeout: float | None = None,
    **parts: Any,
) -> AnonymizationResult:
    """Generalise and suppress until every class has `k` records and passes every check.

    `quasi_identifiers` maps each to its `GeneralizationHierarchy`; one that is only named can
    only be suppressed. `max_suppressed` is how many records may be left out, `k` without it, or
    a share of them as in "5%"; `suppressed="star"` keeps them with `*` in every
    quasi-identifier. The release is audited again, and what fails is not written. `output` is a
    .parquet, .csv or .tsv file for the release, or a .sql file for the views that make it, in
    some `dialect` (that of the database without one), or with `emit="dbt-model"` a dbt model and
    its .yml. The views are called `view_name`, or after the table; with `single_view` they are
    one. `force` replaces files, and writes a release that fails.

    A release is in the order of what it publishes. With `keep_order` it stays in that of its
    source, which links it to other releases, and the result warns of it. Columns that no part was
    given to are published as they are, with a warning that says how many records they identify
    ("warn"), or left out ("drop"), or refused ("error"): that is `untouched`, or `unassigned` of
    the table; `insensitive` columns are those that somebody decided about.

    Where the table lies in a warehouse, nothing is created there and no rows are fetched: each
    step is a query, and the release is its views. With `pull_frequencies` the frequency set is
    fetched once and searched here, which asks the warehouse far less; it holds values of
    quasi-identifiers, and the result warns that it did.

    `data`, the limits and all other `parts` are as for `audit`, and so are the errors. Where no
    levels will do, the result's status is "violated" and nothing is written.

    Sweeney 2002, Achieving k-anonymity privacy protection using generalization and suppression,
    IJUFKS 10(5), section 4.

    >>> import pyarrow
    >>> people = pyarrow.table({"zip": ["02138", "02139", "02141", "02142"]})
    >>> result = anonymize(people, quasi_identifiers={"zip": {"levels": [{"mask": "right"}]}}, k=2)
    >>> result.anonymization.levels, result.tables[0].summary.k
    ({'zip': 1}, 2)
    """
    asked = [*checks, *([KAnonymity(k=k)] if k is not None else [])]
    spec = _spec(data, quasi_identifiers, sensitive, asked, references, **parts)
    wanted = Wanted(
        algorithm=algorithm,
        max_suppressed=max_suppressed,
        suppressed=suppressed,
        pull_frequencies=pull_frequencies,
        output=Path(output) if output is not None else None,
        dialect=dialect,
        emit=emit,
        view_name=view_name,
        single_view=single_view,
        keep_order=keep_order,
        untouched=untouched,
        force=force,
    )
    return anonymizer.anonymize(
        spec,
        wanted,
        engine=engine,
        memory_limit=memory_limit,
        threads=threads,
        timeout=timeout,
    )


def profile(
    data: Any,
    *,
    quasi_identifiers: Names | Mapping[str, Any] = (),
    sensitive: Names = (),
    attacker_knows: Names = (),
    k: int = profiler.DEFAULT_K,
    engine: Any = None,
    memory_limit: str | None = None,
    threads: int | None = None,
    timeout: float | None = None,
    **parts: Any,
) -> ProfileResult:
    """What someone finds who knows more of a person than the quasi-identifiers, column by column.

    For each column that is no identifier, entity or weight, or for `attacker_knows` alone: how
    many records (people, with `entity`) are alone in their class once it is known too. For each
    quasi-identifier: how many would leave the classes below `k` if it were not known, and how
    many of these lie in its outer one per cent, with a value such that fewer than 0.5 % of all
    records have it or a lower one, or fewer than 0.5 % have it or a higher one. For each
    sensitive attribute: how sure one is in the worst class after ruling out other values.

    `data`, the limits and all other `parts` are as for `audit`; the checks and references of an
    `AuditSpec` are not asked. The errors are those of `audit`, too. No value is ever shown.

    Sweeney 2002, k-anonymity: a model for protecting privacy, section 4; Machanavajjhala, Kifer,
    Gehrke, Venkitasubramaniam 2007, l-diversity, section 2.

    >>> import pyarrow
    >>> people = pyarrow.table({"zip": ["02138"] * 4, "sex": ["F", "M", "M", "M"]})
    >>> [column] = profile(people, quasi_identifiers="zip").tables[0].attacker_knows
    >>> column.column, column.k, column.newly_unique_records
    ('sex', 1, 1)
    """
    spec = _spec(data, quasi_identifiers, sensitive, (), None, **parts)
    return profiler.profile(
        spec,
        attacker_knows=_list(attacker_knows),
        k=k,
        engine=engine,
        memory_limit=memory_limit,
        threads=threads,
        timeout=timeout,
    )


def _spec(
    data: Any,
    quasi_identifiers: Names | Mapping[str, Any],
    sensitive: Names,
    checks: Iterable[Model],
    references: Mapping[str, Any] | None,
    **parts: Any,
) -> AuditSpec:
    asked = {
        "quasi_identifiers": quasi_identifiers
        if isinstance(quasi_identifiers, Mapping)
        else _list(quasi_identifiers),
        "sensitive": _list(sensitive),
        "checks": list(checks),
        "references": {
            name: reference if isinstance(reference, ReferenceSpec) else {"source": reference}
            for name, reference in (references or {}).items()
        },
        **{key: _list(value) if key in _LISTS else value for key, value in parts.items()},
    }
    if isinstance(data, AuditSpec):
        unsaid: tuple[Any, ...] = (None, False, [], {}, "value", "error")
        beside = [key for key, value in asked.items() if value not in unsaid or key == "unassigned"]
        if beside:
            raise SpecError(
                f"an AuditSpec asks the question itself, so {', '.join(beside)} has no place "
                "beside it."
            )
        return data
    return AuditSpec(tables=[table_spec(source=data, **asked)])


_LISTS = ("identifiers", "insensitive", "null_strings")


def _list(names: Names) -> list[str]:
    return [names] if isinstance(names, str) else list(names)
