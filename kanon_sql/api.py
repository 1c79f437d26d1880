"""The Python surface: one call from data to verdicts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, Unpack

from kanon_sql.anonymizing import anonymizer
from kanon_sql.anonymizing import tradeoff as weighed
from kanon_sql.anonymizing.release.options import ReleaseOptions
from kanon_sql.anonymizing.release.result import AnonymizationResult
from kanon_sql.anonymizing.release.views import is_nameless, require_name, views_of_no_table
from kanon_sql.anonymizing.tradeoff import TradeoffResult
from kanon_sql.auditing import auditor, compiler
from kanon_sql.auditing.compiler import CompiledAudit
from kanon_sql.auditing.result import AuditResult
from kanon_sql.engines.session import RunOptions
from kanon_sql.plan import profile_plan
from kanon_sql.plan.identifying import SAMPLING_FRACTION, Identifying
from kanon_sql.profiling import profiler
from kanon_sql.profiling.propose import Proposal, propose
from kanon_sql.profiling.result import ProfileResult
from kanon_sql.report.explain import Explanation, explained
from kanon_sql.results.release import (
    Algorithm,
    Emitted,
    MetricName,
    ReleaseFindings,
    Suppressed,
)
from kanon_sql.results.stored import StoredProfile, StoredTradeoff, result_of
from kanon_sql.results.writing import check_writable
from kanon_sql.spec.arguments import (
    Checks,
    Names,
    Parts,
    QuasiIdentifiers,
    by_column,
    knows_its_parameters,
    names_listed,
    path_given,
    spec_asked,
)
from kanon_sql.spec.spec import Unassigned
from kanon_sql.sql.dialects import Quote


@knows_its_parameters
def audit(
    data: Any,
    quasi_identifiers: QuasiIdentifiers = (),
    *,
    sensitive: Names = (),
    k: int | None = None,
    l: int | None = None,  # noqa: E741 - the name that the field uses
    t: float | None = None,
    k_map: int | None = None,
    checks: Checks = (),
    entity: str | None = None,
    identifiers: Names = (),
    references: Any = None,
    earlier_releases: Any = None,
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
    header: bool | Literal["yes", "no"] | None = None,
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
    not become known. `references` are the tables of k-map by name, or the only one: data like
    `data`, or a `ReferenceSpec`. `earlier_releases` are what was released of the same people
    before, by name, or the only one: data like `data`, or an `EarlierReleaseSpec`; with `entity`,
    each is measured together with this release, as someone who has both would. `weight` is a
    survey's weight of each record. `engine` is a URL or an open connection, as `connect` takes it,
    or what `connect` returns. `timeout` is in seconds.

    What is demanded is `k`, the fewest records of a class; `l` and `t`, of each sensitive
    attribute, the fewest values and the largest distance; `k_map`, the fewest matches in the
    reference; and any model in `checks`. Without a demand the audit measures what the table has.

    With `show_values` the result holds values of the data: personal data.

    Raises `SpecError` for a question that can't be asked, `InputError` for data that can't be
    read whole, `EngineError` for data that can't be opened within the time limit. A table on
    which the database fails later has the status `error`.

    >>> import pyarrow
    >>> people = pyarrow.table({"zip": ["02138", "02138", "02139"], "age": [30, 30, 41]})
    >>> audit(people, ["zip", "age"], k=2).tables[0].summary.k
    1
    """
    spec = spec_asked(
        data, quasi_identifiers, sensitive, checks, references, earlier_releases,
        {"k": k, "l": l, "t": t, "k_map": k_map},
        entity=entity, identifiers=identifiers, where=where, first=first, nulls=nulls,
        sensitive_nulls=sensitive_nulls, levels=levels,
        hierarchy_faults=hierarchy_faults, with_other_sensitive=with_other_sensitive, weight=weight,
        null_strings=null_strings, delimiter=delimiter, header=header, name=name,
    )  # fmt: skip
    run = RunOptions(engine, memory_limit, threads, timeout)
    return auditor.audit(spec, run, show_values=show_values)


@knows_its_parameters
def compile(
    data: Any,
    quasi_identifiers: QuasiIdentifiers = (),
    *,
    sensitive: Names = (),
    k: int | None = None,
    l: int | None = None,  # noqa: E741 - the name that the field uses
    t: float | None = None,
    k_map: int | None = None,
    checks: Checks = (),
    references: Any = None,
    earlier_releases: Any = None,
    engine: Any = None,
    dialect: str | None = None,
    quote: Quote = "always",
    table: str | None = None,
    **parts: Unpack[Parts],
) -> CompiledAudit:
    """The SQL that `audit` would run, step by step. None of it runs.

    Takes what `audit` takes, the limits and `show_values` left out. `dialect` is the engine's
    without it; in another one a file stands for the table that is called after it, or as `table`
    says, and the name of a table needs no engine. `quote="needed"` leaves plain names without
    quotes.

    >>> compiled = compile("people", quasi_identifiers="zip", dialect="snowflake", quote="needed")
    >>> print(compiled.tables[0].steps["classes"].partition("from ")[2][:23])
    people
        group by zip
    """
    demands = {"k": k, "l": l, "t": t, "k_map": k_map}
    spec = spec_asked(
        data, quasi_identifiers, sensitive, checks, references, earlier_releases, demands, **parts
    )
    return compiler.compile(spec, engine=engine, dialect=dialect, quote=quote, table=table)


@knows_its_parameters
def anonymize(
    data: Any,
    quasi_identifiers: QuasiIdentifiers = (),
    *,
    k: int | None = None,
    l: int | None = None,  # noqa: E741 - the name that the field uses
    t: float | None = None,
    k_map: int | None = None,
    sensitive: Names = (),
    checks: Checks = (),
    references: Any = None,
    earlier_releases: Any = None,
    algorithm: Algorithm = "datafly",
    metric: MetricName | None = None,
    max_suppressed: int | str | None = None,
    keep: Names = (),
    at_most: Mapping[str, int] | None = None,
    weights: Mapping[str, float] | None = None,
    gap: str | None = None,
    minimal_nodes: bool = False,
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
    **parts: Unpack[Parts],
) -> AnonymizationResult:
    """Generalise and suppress until every class has `k` records and passes every check.

    `quasi_identifiers` maps each to its `GeneralizationHierarchy`; one that is only named can
    only be suppressed. `max_suppressed` is how many records may be left out, `k` without it, or
    a share of them as in "5%"; `suppressed="star"` keeps them with `*` in every
    quasi-identifier. `keep` are quasi-identifiers that stay as they are, `at_most` has the
    highest level of those that are bounded, and `weights` what the loss of each weighs. The
    release is audited again, and what fails is not written; `release` of the result gives its
    records as a data frame. `output` is a .parquet, .csv or .tsv file for the release, or a .sql
    file for the views that make it, in some `dialect` (that of the database without one; of a
    data frame they need its `name` in the database), or with `emit="dbt-model"` a dbt model and
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
    >>> result.release.to_arrow().to_pydict()
    {'zip': ['0213*', '0213*', '0214*', '0214*']}
    """
    demands = {"k": k, "l": l, "t": t, "k_map": k_map}
    spec = spec_asked(
        data, quasi_identifiers, sensitive, checks, references, earlier_releases, demands, **parts
    )
    wanted = ReleaseOptions(
        algorithm=algorithm,
        metric=metric,
        max_suppressed=max_suppressed,
        keep=tuple(names_listed("keep", keep)),
        at_most=by_column("at_most", at_most),
        weights=by_column("weights", weights),
        gap=gap,
        minimal_nodes=minimal_nodes,
        suppressed=suppressed,
        pull_frequencies=pull_frequencies,
        output=path_given(output),
        dialect=dialect,
        emit=emit,
        view_name=view_name,
        single_view=single_view,
        keep_order=keep_order,
        untouched=untouched,
        force=force,
    )
    require_name(spec.tables[0], writes_views=wanted.writes_views)
    run = RunOptions(engine, memory_limit, threads, timeout)
    result = anonymizer.anonymize(spec, wanted, run, keep_records=True)
    if is_nameless(spec.tables[0]):
        result = replace(
            result, anonymization=views_of_no_table(result.anonymization, spec.tables[0])
        )
    return result


@knows_its_parameters
def profile(
    data: Any,
    quasi_identifiers: QuasiIdentifiers = (),
    *,
    sensitive: Names = (),
    attacker_knows: Names = (),
    k: int = profile_plan.DEFAULT_K,
    columns: Names = (),
    subsets: int | None = None,
    suda: int | Literal["all"] | None = None,
    sampling_fraction: float = SAMPLING_FRACTION,
    scores: str | Path | None = None,
    show_values: bool = False,
    force: bool = False,
    engine: Any = None,
    memory_limit: str | None = None,
    threads: int | None = None,
    timeout: float | None = None,
    **parts: Unpack[Parts],
) -> ProfileResult:
    """Which columns identify people, and what someone finds who knows more of them than these.

    Without `quasi_identifiers`: what each column does by itself and what it looks like, and by how
    many records (people, with `entity`) that are newly alone each candidate adds to the others.
    `columns` are then those to look at. `subsets` asks for the classes of every set of at most so
    many columns, with those below `k`, the worst first; `suda` for special uniques, the records
    that at most so many columns ("all": any number) single out and no fewer, with the scores of
    SUDA2 and of DIS-SUDA at a `sampling_fraction`. A NULL makes nobody special there, unless
    `nulls="value"` is given. Both are asked of the quasi-identifiers, or of `columns`, or of all
    candidates. `scores` is a file for the number and the score of each special record: personal
    data, so that it needs `show_values`, and only its owner may read it.

    With `quasi_identifiers`: what someone finds who knows more of a person, column by column.
    For each column that is no identifier, entity or weight, or for `attacker_knows` alone: how
    many records (people, with `entity`) are alone in their class once it is known too. For each
    quasi-identifier: how many would leave the classes below `k` if it were not known, and how
    many of these lie in its outer one per cent, with a value such that fewer than 0.5 % of all
    records have it or a lower one, or fewer than 0.5 % have it or a higher one. For each
    sensitive attribute: how sure one is in the worst class after ruling out other values.

    `data`, the limits and all other `parts` are as for `audit`; the checks and references of an
    `AuditSpec` are not asked. The errors are those of `audit`, too. No value is ever shown.

    Sweeney 2002, k-anonymity: a model for protecting privacy, section 4; Machanavajjhala, Kifer,
    Gehrke, Venkitasubramaniam 2007, l-diversity, section 2; Manning, Haglin, Keane 2008, SUDA2,
    DMKD 16.

    >>> import pyarrow
    >>> people = pyarrow.table({"zip": ["02138"] * 4, "sex": ["F", "M", "M", "M"]})
    >>> [column] = profile(people, quasi_identifiers="zip").tables[0].attacker_knows
    >>> column.column, column.k, column.newly_unique_records
    ('sex', 1, 1)
    """
    spec = spec_asked(data, quasi_identifiers, sensitive, (), None, None, {}, **parts)
    identifying = Identifying(
        subsets=subsets,
        suda=suda,
        columns=tuple(names_listed("columns", columns)),
        sampling_fraction=sampling_fraction,
        scores=profiler.scores_file(
            path_given(scores, "scores"), spec.files(engine), show_values=show_values, force=force
        ),
    )
    return profiler.profile(
        spec,
        RunOptions(engine, memory_limit, threads, timeout),
        attacker_knows=names_listed("attacker_knows", attacker_knows),
        k=k,
        identifying=identifying,
    )


@knows_its_parameters
def init(
    data: Any,
    *,
    output: str | Path | None = None,
    sensitive: Names = (),
    force: bool = False,
    engine: Any = None,
    memory_limit: str | None = None,
    threads: int | None = None,
    timeout: float | None = None,
    **parts: Unpack[Parts],
) -> Proposal:
    """A spec to begin with: a part for each column with its reason, levels that fit, and checks.

    `data` is as for `audit`; of a frame or a relation, which no file can name, `source` is left to
    be written. Parts that are given are taken for decided.
    The result's `text` is a commented YAML file, written to `output` if that is named, and its
    `undecided` the columns that nobody can decide about by names and counts: until a person has,
    such a spec is refused by `audit` and `anonymize`. No value of the table is in it; the widths of
    intervals are round numbers, chosen by how far the values reach.

    The errors are those of `audit`; a table without records is an `InputError`.
    """
    spec = spec_asked(data, (), sensitive, (), None, None, {}, **parts)
    path = path_given(output)
    if path is not None:
        check_writable(path, inputs=spec.files(engine), force=force)
    return propose(spec, RunOptions(engine, memory_limit, threads, timeout), output=path)


@knows_its_parameters
def tradeoff(
    data: Any,
    quasi_identifiers: QuasiIdentifiers = (),
    *,
    k: int | Iterable[int] | None = None,
    l: int | None = None,  # noqa: E741 - the name that the field uses
    t: float | None = None,
    k_map: int | None = None,
    sensitive: Names = (),
    checks: Checks = (),
    references: Any = None,
    algorithm: Algorithm = "optimal",
    metric: MetricName | None = None,
    max_suppressed: int | str | None = None,
    keep: Names = (),
    at_most: Mapping[str, int] | None = None,
    weights: Mapping[str, float] | None = None,
    gap: str | None = None,
    pull_frequencies: bool = False,
    engine: Any = None,
    memory_limit: str | None = None,
    threads: int | None = None,
    timeout: float | None = None,
    **parts: Unpack[Parts],
) -> TradeoffResult:
    """What each `k` would cost: the levels that lose least by `metric`, and what they lose.

    `k` are the sizes of classes to weigh, 2 to 50 without it; one search answers all. Nothing is
    released: `anonymize` with `algorithm="optimal"` and the same parameters makes one of them.
    `max_suppressed` is how many records may be left out, none without it. A k for which no
    levels will do has a point without levels. With `algorithm="local"` the points are of a local
    recoding, whose `levels` are None; what the best levels for all would lose is in `optimal`.

    All else is as for `anonymize`, and so are the errors.

    LeFevre, DeWitt, Ramakrishnan 2005, Incognito: efficient full-domain k-anonymity, SIGMOD.

    >>> import pyarrow
    >>> people = pyarrow.table({"zip": ["02138", "02139", "02141", "02142"]})
    >>> found = tradeoff(people, {"zip": {"levels": [{"mask": "right"}]}}, k=[2, 4])
    >>> [(point.k, point.levels, point.metrics.loss) for point in found.tradeoff.points]
    [(2, {'zip': 1}, 0.3333333333333333), (4, {'zip': 2}, 1.0)]
    """
    demands = {"l": l, "t": t, "k_map": k_map}
    spec = spec_asked(
        data, quasi_identifiers, sensitive, checks, references, None, demands, **parts
    )
    wanted = ReleaseOptions(
        algorithm=algorithm,
        metric=metric,
        max_suppressed=max_suppressed,
        keep=tuple(names_listed("keep", keep)),
        at_most=by_column("at_most", at_most),
        weights=by_column("weights", weights),
        gap=gap,
        pull_frequencies=pull_frequencies,
    )
    run = RunOptions(engine, memory_limit, threads, timeout)
    return weighed.tradeoff(spec, wanted, _ks(k), run)


def _ks(k: Any) -> Sequence[int]:
    """The sizes of classes that are asked for."""
    if k is None:
        return weighed.KS
    return list(k) if isinstance(k, Iterable) and not isinstance(k, str) else [k]


def explain(name: str | None = None) -> Explanation:
    """What a model or a metric means, or a page of the manual; without a name what there is.

    `name` is that of a model, a metric or a page, or a word that people know, in any spelling. The
    page is a text, which shows itself as it is read. Raises `SpecError`, with the nearest name, for
    a word of which there is no page.

    >>> print(explain("Cramér's V").splitlines()[0])
    Association (Cramér's V) (association)
    """
    return Explanation(explained(name))


def from_json(
    source: str | Path | Mapping[str, Any],
) -> AuditResult | ProfileResult | TradeoffResult:
    """The result that was written as JSON: `to_json()`, `--format json`, or `to_dict()`.

    `source` is a file's path, the text itself, or the same as plain values. What comes back is of
    the kind that was written: an `AuditResult`, an `AnonymizationResult` without its records, a
    `ProfileResult` or a `TradeoffResult`. A comparison is made of two results, so read these and
    ask one for its `diff`. Raises `InputError` for what is no result, saying which part of it is
    not, and never showing a value.

    >>> import pyarrow
    >>> result = audit(pyarrow.table({"zip": ["02138", "02138"]}), ["zip"], k=2)
    >>> from_json(result.to_json()).holds
    True
    """
    match found := result_of(source):
        case StoredProfile():
            return ProfileResult(found.tables, found.kanon_sql)
        case StoredTradeoff():
            return TradeoffResult(found.tradeoff, found.kanon_sql, asked=found.asked)
        case ReleaseFindings():
            return AnonymizationResult(
                found.tables,
                found.version,
                found.anonymization,
                audited=found.audited,
                asked=found.asked,
            )
    return AuditResult(found.tables, found.version, audited=found.audited, asked=found.asked)
