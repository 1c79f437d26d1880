"""The public Python functions, from data to results in one call each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, Unpack

from kanon_sql.anonymizing import anonymizer
from kanon_sql.anonymizing import tradeoff as weighed
from kanon_sql.anonymizing.release.options import ReleaseArguments, ReleaseOptions, SearchArguments
from kanon_sql.anonymizing.release.result import AnonymizationResult
from kanon_sql.anonymizing.release.views import is_unnamed_frame, require_name, views_of_no_table
from kanon_sql.anonymizing.tradeoff import TradeoffResult
from kanon_sql.auditing import auditor, compiler
from kanon_sql.auditing.compiler import CompiledAudit
from kanon_sql.auditing.result import AuditResult
from kanon_sql.engines.run_options import RunArguments, RunOptions
from kanon_sql.errors import percentage
from kanon_sql.profiling import profiler
from kanon_sql.profiling.profile_plan import SAMPLING_FRACTION, Identifying
from kanon_sql.profiling.propose import Proposal, propose
from kanon_sql.profiling.result import ProfileResult
from kanon_sql.question.arguments import (
    CellArguments,
    CellRules,
    Checks,
    TableArguments,
    Thresholds,
    by_column,
    column_list,
    keywords_of,
    only,
    path_argument,
    published_from_arguments,
    spec_from_arguments,
)
from kanon_sql.question.policy import Policy
from kanon_sql.question.policy import policies as shipped_policies
from kanon_sql.question.published import PublishedSpec
from kanon_sql.question.roles import Names, QuasiIdentifiers
from kanon_sql.question.spec import AuditSpec
from kanon_sql.question.table import TableSpec
from kanon_sql.report.explain import Explanation, explained
from kanon_sql.report.words.numbers import with_python_words
from kanon_sql.results.release import Algorithm, ReleaseFindings
from kanon_sql.results.stored import StoredProfile, StoredTradeoff, result_of
from kanon_sql.results.writing import check_writable
from kanon_sql.sql.dialects import Quote
from kanon_sql.tracing.result import LineageResult


class _Read(TableArguments, RunArguments, total=False): ...


class _Compiled(Thresholds, TableArguments, total=False): ...


class _Question(Thresholds, _Read, total=False): ...


class _Search(SearchArguments, _Question, total=False): ...


class _Release(ReleaseArguments, _Question, total=False): ...


class _Cells(CellRules, CellArguments, RunArguments, total=False): ...


@keywords_of(TableSpec, RunOptions)
def audit(
    data: Any,
    quasi_identifiers: QuasiIdentifiers = (),
    *,
    sensitive: Names = (),
    k: int | None = None,
    checks: Checks = (),
    references: Any = None,
    earlier_releases: Any = None,
    original: Any = None,
    holdout: Any = None,
    show_values: bool = False,
    jobs: int = 1,
    **others: Unpack[_Question],
) -> AuditResult:
    """Audit one table: measure its quasi-identifiers' equivalence classes and judge the checks.

    `data` is a path or a glob, a pandas, polars or pyarrow table, a DuckDB relation, the name of a
    table in the database given as `engine`, or an `AuditSpec`, which replaces all arguments about
    the table. `quasi_identifiers` are the columns an attacker may know ("*": every column without
    another role), or a mapping from column to `GeneralizationHierarchy`; with `levels` the table is
    audited as if generalised to these levels. `events` are the columns that make an event of a
    person (`entity`), with or without levels; an attacker knows some of them, and
    `quasi_identifiers` may be left out. `sensitive` are the attributes to protect.
    `references` are the reference tables of k-map, by name or a single one: data like `data`, or a
    `ReferenceSpec`. `earlier_releases` are releases of the same people published before, by name or
    a single one: data like `data`, or an `EarlierReleaseSpec`; with `entity`, each is joined with
    this release to measure what both reveal together. `original` is the table that a synthetic one
    was made from, and `holdout` records that its generator has not seen: data like `data`, or a
    mapping with `source`. `weight` is the survey weight column.
    `engine` is a URL, an open connection, or the result of `connect`. `timeout` is in seconds, for
    each table. `jobs` is how many tables of an `AuditSpec` are audited at a time.

    Thresholds: `k`, the smallest class size; for each sensitive attribute, `l`, the fewest distinct
    values in a class, and `t`, the largest distance from the table's distribution; `k_map`, the
    fewest matches in the reference. `checks` takes any model. `policy` names the rules of an
    institution (see `policies`), whose threshold for cells becomes k-anonymity. Without a
    threshold the audit only measures.

    With `show_values` the result contains values of the data, so it is personal data.

    Raises `SpecError` for an invalid or contradictory argument, `InputError` for data that can't be
    read completely, `EngineError` for data that can't be opened within the time limit. A table that
    fails in the database later gets the status `error`.

    >>> import pyarrow
    >>> people = pyarrow.table({"zip": ["02138", "02138", "02139"], "age": [30, 30, 41]})
    >>> audit(people, ["zip", "age"], k=2).tables[0].summary.k
    1
    """
    made_from = {"original": original, "holdout": holdout}
    spec = _spec(
        data, quasi_identifiers, sensitive, checks, references, earlier_releases, k, others,
        **made_from,
    )  # fmt: skip
    run = RunOptions(**only(RunArguments, others), jobs=jobs)
    return with_python_words(auditor.audit(spec, run, show_values=show_values))


@keywords_of(TableSpec)
def compile(
    data: Any,
    quasi_identifiers: QuasiIdentifiers = (),
    *,
    sensitive: Names = (),
    k: int | None = None,
    checks: Checks = (),
    references: Any = None,
    earlier_releases: Any = None,
    original: Any = None,
    holdout: Any = None,
    engine: Any = None,
    dialect: str | None = None,
    quote: Quote = "always",
    table: str | None = None,
    **others: Unpack[_Compiled],
) -> CompiledAudit:
    """Return the SQL that `audit` would run, step by step, without running it.

    Takes the arguments of `audit` except the limits and `show_values`. `dialect` defaults to the
    engine's. In another dialect a file is replaced by a table of the same name, or by `table`, and
    a table name needs no engine. `quote="needed"` quotes only the identifiers that need it.

    >>> compiled = compile("people", quasi_identifiers="zip", dialect="snowflake", quote="needed")
    >>> print(compiled.tables[0].steps["classes"].partition("from ")[2][:31])
    people
        group by
            zip
    """
    if isinstance(data, AuditSpec) and not data.tables:
        return compiler.compile(data, engine=engine, dialect=dialect, quote=quote, table=table)
    made_from = {"original": original, "holdout": holdout}
    spec = _spec(
        data, quasi_identifiers, sensitive, checks, references, earlier_releases, k, others,
        **made_from,
    )  # fmt: skip
    return compiler.compile(spec, engine=engine, dialect=dialect, quote=quote, table=table)


@keywords_of(PublishedSpec, RunOptions)
def tables(
    data: Any,
    by: Names = (),
    *,
    checks: Checks = (),
    published: bool = False,
    against: Any = None,
    list_cells: bool = False,
    show_values: bool = False,
    **others: Unpack[_Cells],
) -> AuditResult:
    """Audit a table that is published: judge its cells, and what can be computed from them.

    `data` are the records, or with `published` the table itself, one row a cell: data as `audit`
    takes them, or an `AuditSpec` with published tables, which replaces all arguments about the
    table. `by` are the dimensions. From records a cell is a count, or with `value` the sum of a
    magnitude; `contributor` identifies whose value it is, by default each record; `margins` are
    published beside the inner cells: "all", "none", or lists of dimensions.

    Of a published table `value` is the figure, `suppressed` what stands in its place, with the
    range that it tells as in {"*": (1, 9)}, `total_label` what stands in a dimension for its total,
    one for all or by dimension, None for the NULL of GROUPING SETS.

    Rules: `threshold` contributors in each cell; `dominance` pairs of n and k; `p_percent`;
    `derivable`; `min_difference` to each table in `against`; `policy` names institutions' rules.
    `checks` takes any model of cells.
    Without one the cells are measured. `list_cells` fills `cells` of the result, one row a cell
    with the rules it breaks and how it can be computed; a small published table has them anyway,
    without intervals.

    The errors are those of `audit`. A table of which nothing can be concluded, as one whose labels
    could be read in two ways, is an `InputError`.

    >>> import pyarrow
    >>> firms = pyarrow.table({"region": ["N", "N", "S"], "turnover": [90, 10, 50]})
    >>> result = tables(firms, "region", value="turnover", threshold=2, margins="none")
    >>> result.checks[0].achieved, result.checks[0].details["violating_cells"]
    (1, 1)
    """
    rules, settings = only(CellRules, others), only(CellArguments, others)
    spec = published_from_arguments(data, by, checks, against, rules, cells=published, **settings)
    run = RunOptions(**only(RunArguments, others))
    kind = auditor.published_tables(list_cells=list_cells)
    result = auditor.audit(spec, run, kind=kind, show_values=show_values)
    return with_python_words(result)


@keywords_of(TableSpec, ReleaseOptions, RunOptions)
def anonymize(
    data: Any,
    quasi_identifiers: QuasiIdentifiers = (),
    *,
    k: int | None = None,
    sensitive: Names = (),
    checks: Checks = (),
    references: Any = None,
    earlier_releases: Any = None,
    compare: bool = False,
    output: str | Path | None = None,
    **others: Unpack[_Release],
) -> AnonymizationResult:
    """Generalise and suppress until every class has `k` records and passes every check.

    `quasi_identifiers` maps columns to a `GeneralizationHierarchy`; a column without one can only
    be suppressed entirely. `max_suppressed` is how many records may be suppressed (default: `k` for
    Datafly, none for the other algorithms), or a share of them as in "5%" or 0.05;
    `suppressed="star"` keeps them with `*` in every quasi-identifier. `keep` lists
    quasi-identifiers to publish raw, `at_most` maps columns to their highest level, and `weights`
    to their weight in the metric loss; `compare` adds what a release by each algorithm loses. The
    release is audited again, and written only if it passes; `release` of the result returns its
    records as a data frame.

    `output` is a .parquet, .csv or .tsv file for the records, or a .sql file for the views that
    define the release, in `dialect` (default: the database's); for a data frame these need its
    `name` in the database. With `emit="dbt-model"` the output is a dbt model and its .yml. The
    views are named `view_name`, or after the table; `single_view` merges them into one.
    `overwrite` replaces files; `force` writes a release that fails its audit.

    On Spark, `output` may also be a folder, as a path or URI: the cluster writes the records there
    as Parquet, in folders by the values of `partition_by` if that column is given. With `levels`
    nothing is searched, and the release is at these levels.

    The release is sorted by its published values, never by the source's order, which would allow
    linking with other releases. `untouched` (or `unassigned` of the table) says what becomes of
    columns without a role: published with a warning that counts the records they identify
    ("warn"), removed ("drop") or refused ("error"). `insensitive` columns were reviewed and are
    published unchanged.

    In a warehouse nothing is created and no rows are fetched: each step is a query, and the release
    is a set of views. `pull_frequencies` fetches the frequency set once and searches it locally,
    which saves most queries; the frequency set contains values of quasi-identifiers, and the result
    warns of it.

    `data`, the limits, the other arguments and the errors are those of `audit`. If no combination
    of levels satisfies the checks, the result's status is "violated" and nothing is written.

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
    spec = _spec(
        data, quasi_identifiers, sensitive, checks, references, earlier_releases, k, others
    )
    run = RunOptions(**only(RunArguments, others))
    at = spec.tables[0].connect if run.engine is None else run.engine
    options = _options(**ReleaseOptions.place_of(output, at), **only(ReleaseArguments, others))
    require_name(spec.tables[0], writes_views=options.writes_views)
    result = anonymizer.anonymize(spec, options, run, keep_records=True)
    if compare:
        result = anonymizer.compared(result, spec, options, run)
    result = with_python_words(result)
    if is_unnamed_frame(spec.tables[0]):
        result = replace(
            result, anonymization=views_of_no_table(result.anonymization, spec.tables[0])
        )
    return result


@keywords_of(TableSpec, Identifying, RunOptions)
def profile(
    data: Any,
    quasi_identifiers: QuasiIdentifiers = (),
    *,
    sensitive: Names = (),
    attacker_knows: Names = (),
    k: int | None = None,
    known: int | Iterable[int] | None = None,
    times: bool = False,
    columns: Names = (),
    subsets: int | None = None,
    suda: int | Literal["all"] | None = None,
    sampling_fraction: float | str = SAMPLING_FRACTION,
    scores: str | Path | None = None,
    show_values: bool = False,
    overwrite: bool = False,
    max_seconds: float | None = None,
    **others: Unpack[_Read],
) -> ProfileResult:
    """Measure how columns identify people, alone, in combination, and as extra attacker knowledge.

    Without `quasi_identifiers`: describe each column, and count the records (people, with `entity`)
    that become unique when a candidate is added to the others. `columns` restricts this to some
    columns. `subsets` measures the classes of every combination of at most that many columns, and
    lists the combinations with the most records below `k` first. `suda` counts special uniques, the
    records that some minimal set of at most that many columns ("all": any number) makes unique,
    with SUDA2 scores and, for a `sampling_fraction`, DIS-SUDA scores; a NULL never makes a record
    special unless `nulls="value"`. Both run on the quasi-identifiers, or `columns`, or all
    candidates. `scores` is a file for the row number and score of each special record: personal
    data, so it needs `show_values` and is readable by its owner only.

    With `quasi_identifiers`: for each other column that is no identifier, entity or weight, or for
    those in `attacker_knows`, how many records (people, with `entity`) become unique if the
    attacker knows it too. For each quasi-identifier: how many would leave the classes below `k` if
    it were unknown, and how many of these have a value in the lowest or highest 0.5 % of all
    records. For each sensitive attribute: the attacker's confidence in the worst class after ruling
    out other values.

    `data`, the limits, the other arguments and the errors are those of `audit`; the checks and
    references of an `AuditSpec` are ignored. The result contains no values. After `max_seconds`
    for a table the result is what is measured by then, and `stopped` says what is missing; after
    `timeout` the profile fails.

    With `events` and `entity`: for each number of `known` events of a person (default: 1 to 4), how
    many people are among fewer than `k` (default: 2) who have them all, in the worst case and at
    random; with `times` an event counts as often as it occurs.

    Sweeney 2002, k-anonymity: a model for protecting privacy, section 4; Machanavajjhala, Kifer,
    Gehrke, Venkitasubramaniam 2007, l-diversity, section 2; Manning, Haglin, Keane 2008, SUDA2,
    DMKD 16.

    >>> import pyarrow
    >>> people = pyarrow.table({"zip": ["02138"] * 4, "sex": ["F", "M", "M", "M"]})
    >>> [column] = profile(people, quasi_identifiers="zip").tables[0].attacker_knows
    >>> column.column, column.k, column.newly_unique_records
    ('sex', 1, 1)
    """
    spec = _spec(data, quasi_identifiers, sensitive, (), None, None, None, others)
    run = RunOptions(**only(RunArguments, others), max_seconds=max_seconds)
    percent = percentage(sampling_fraction)
    share: Any = sampling_fraction if percent is None else float(percent)
    identifying = Identifying(
        subsets=subsets,
        suda=suda,
        columns=tuple(column_list("columns", columns)),
        sampling_fraction=share,
        scores=profiler.scores_file(
            path_argument(scores, "scores"),
            spec.files(run.engine),
            show_values=show_values,
            overwrite=overwrite,
        ),
    )
    result = profiler.profile(
        spec,
        run,
        attacker_knows=column_list("attacker_knows", attacker_knows),
        k=k,
        identifying=identifying,
        known=None if known is None else _numbers(known),
        times=times,
    )
    return with_python_words(result)


@keywords_of(TableSpec, RunOptions)
def init(
    data: Any,
    *,
    output: str | Path | None = None,
    sensitive: Names = (),
    overwrite: bool = False,
    **others: Unpack[_Read],
) -> Proposal:
    """Propose a spec: a role for each column with its reason, fitting levels, and checks.

    `data` is as for `audit`; for a data frame or a relation, which a file can't name, `source` is
    left for you to fill in. Roles given as arguments are adopted. The result's `text` is a
    commented YAML file, also written to `output` if given. Its `undecided` are the columns that
    names and counts can't classify; `audit` and `anonymize` refuse the spec until you have
    assigned them. The spec contains no values of the table: interval widths are round numbers
    chosen by the range.

    The errors are those of `audit`; a table without records is an `InputError`.
    """
    spec = _spec(data, (), sensitive, (), None, None, None, others)
    run = RunOptions(**only(RunArguments, others))
    path = path_argument(output)
    if path is not None:
        check_writable(path, inputs=spec.files(run.engine), overwrite=overwrite)
    return propose(spec, run, output=path)


@keywords_of(TableSpec, ReleaseOptions, RunOptions)
def tradeoff(
    data: Any,
    quasi_identifiers: QuasiIdentifiers = (),
    *,
    k: int | Iterable[int] | None = None,
    sensitive: Names = (),
    checks: Checks = (),
    references: Any = None,
    algorithm: Algorithm = "optimal",
    **others: Unpack[_Search],
) -> TradeoffResult:
    """Compute the least information loss by `metric` for each `k`, and the levels that attain it.

    `k` are the class sizes to compare (default: 2 to 50), all from one search. Nothing is released:
    `anonymize` with `algorithm="optimal"` and the same arguments produces one of the points.
    `max_suppressed` is how many records may be suppressed (default: none). A `k` that no levels
    satisfy has a point without levels. With `algorithm="local"` the points are of local recoding
    and their `levels` are None; `optimal` then holds the loss of the best full-domain levels.

    The other arguments and the errors are those of `anonymize`.

    LeFevre, DeWitt, Ramakrishnan 2005, Incognito: efficient full-domain k-anonymity, SIGMOD.

    >>> import pyarrow
    >>> people = pyarrow.table({"zip": ["02138", "02139", "02141", "02142"]})
    >>> found = tradeoff(people, {"zip": {"levels": [{"mask": "right"}]}}, k=[2, 4])
    >>> [(point.k, point.levels, point.metrics.loss) for point in found.tradeoff.points]
    [(2, {'zip': 1}, 0.3333333333333333), (4, {'zip': 2}, 1.0)]
    """
    spec = _spec(data, quasi_identifiers, sensitive, checks, references, None, None, others)
    options = _options(algorithm=algorithm, **only(SearchArguments, others))
    run = RunOptions(**only(RunArguments, others))
    return weighed.tradeoff(spec, options, weighed.KS if k is None else _numbers(k), run)


def _spec(
    data: Any,
    quasi_identifiers: QuasiIdentifiers,
    sensitive: Names,
    checks: Checks,
    references: Any,
    earlier_releases: Any,
    k: int | None,
    others: Mapping[str, Any],
    **made_from: Any,
) -> AuditSpec:
    """The spec of the arguments of a call, `others` being those of several functions."""
    thresholds = {"k": k, **only(Thresholds, others)}
    return spec_from_arguments(
        data, quasi_identifiers, sensitive, checks, references, earlier_releases, thresholds,
        **only(TableArguments, others), **made_from,
    )  # fmt: skip


def _options(**settings: Any) -> ReleaseOptions:
    return ReleaseOptions(
        **settings
        | {"keep": tuple(column_list("keep", settings.get("keep")))}
        | {name: by_column(name, settings.get(name)) for name in ("at_most", "weights")}
    )


def _numbers(value: Any) -> Sequence[int]:
    """One number, or several."""
    return list(value) if isinstance(value, Iterable) and not isinstance(value, str) else [value]


@keywords_of()
def lineage(
    manifest: str | Path,
    *,
    select: Names = (),
    exclude: Names = (),
    state: str | Path | None = None,
    cache: str | Path | None = None,
) -> LineageResult:
    """Follow the roles of columns through the models of a dbt project.

    `manifest` is the target/manifest.json that dbt compile writes. `models` of the result say what
    each model exposes, by which way, and whether that is audited; `raise_if_unaudited` raises
    `PrivacyViolation` for a published model with a gap. `select` and `exclude` choose the models
    that are shown, in the words of dbt; `state` is the folder of an older manifest. `cache` is a
    folder for what was found, so that only models that changed are read again.

    Raises `InputError` for a file that is no manifest or has no compiled SQL, and if no column has
    a role; `SpecError` for an unknown role or key.
    """
    from kanon_sql.tracing.lineage import lineage_of

    return lineage_of(
        manifest,
        select=column_list("select", select),
        exclude=column_list("exclude", exclude),
        state=state,
        cache=cache,
    )


@keywords_of()
def explain(name: str | None = None) -> Explanation:
    """Return the manual page of a model, a metric or a topic; without a name, the list of pages.

    `name` is matched by synonyms too, in any spelling. The page is a string whose repr is its
    text. Raises `SpecError`, with the nearest name, if there is no such page.

    >>> print(explain("Cramér's V").splitlines()[0])
    Association (Cramér's V) (association)
    """
    return Explanation(explained(name))


def policies() -> dict[str, Policy]:
    """The policies that are known by name: an institution's rules, each with its sentence.

    >>> policies()["cms-cell-11"].required_size
    11
    """
    return dict(shipped_policies())


def from_json(
    source: str | Path | Mapping[str, Any],
) -> AuditResult | ProfileResult | TradeoffResult:
    """Load a result saved by `to_json()`, `to_dict()` or `--format json`.

    `source` is a path, the JSON text, or the parsed mapping. Returns the class that was saved: an
    `AuditResult`, an `AnonymizationResult` without its records, a `ProfileResult` or a
    `TradeoffResult`. Comparisons are not loaded: load the two results and call `diff`. Raises
    `InputError` for anything else, with the location of the fault and without its value, and for
    a result that was edited after it was written, which breaks its seal.

    >>> import pyarrow
    >>> result = audit(pyarrow.table({"zip": ["02138", "02138"]}), ["zip"], k=2)
    >>> from_json(result.to_json()).holds
    True
    """
    match stored := result_of(source):
        case StoredProfile():
            return ProfileResult(stored.tables, stored.kanon_sql, sealed=stored.sealed)
        case StoredTradeoff():
            return TradeoffResult(
                stored.tradeoff, stored.kanon_sql, asked=stored.asked, sealed=stored.sealed
            )
        case ReleaseFindings():
            return AnonymizationResult(
                stored.tables,
                stored.version,
                stored.anonymization,
                **_command_and_files(stored),
            )
    return AuditResult(stored.tables, stored.version, **_command_and_files(stored))


def _command_and_files(stored: Any) -> dict[str, Any]:
    """The fields of a result besides its tables."""
    return {name: getattr(stored, name) for name in ("audited", "asked", "files", "spec", "sealed")}
