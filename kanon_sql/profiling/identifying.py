"""The columns that identify people: each by itself, every small set, special uniques."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from kanon_sql.auditing.fetched_sets import FetchInto
from kanon_sql.auditing.running import refuse_unmet
from kanon_sql.engines.session import Session
from kanon_sql.errors import SpecError, option
from kanon_sql.plan.column_sets import number_of_sets
from kanon_sql.plan.preconditions import entity_known, preconditions
from kanon_sql.plan.question import BoundColumn, ResolvedQuestion
from kanon_sql.plan.steps import name_list, records, step, with_entity
from kanon_sql.profiling.columns import (
    MOST_RANKED,
    LookedAt,
    bound_column,
    column_profile,
    comparable,
    is_candidate,
    ranked,
    statistics,
)
from kanon_sql.profiling.profile_plan import Identifying, named_columns, refuse_sets
from kanon_sql.profiling.subsets import (
    PRIVATE,
    Combinations,
    MinimalUniques,
    score,
    special_uniques,
    subset_profiles,
    together,
)
from kanon_sql.results.profile import (
    ColumnProfile,
    SpecialNulls,
    SpecialUniques,
    Stopped,
    SubsetProfile,
)
from kanon_sql.sql.macros import render
from kanon_sql.sql.statement import Statement

KEPT = f"{PRIVATE}records"
"""Name of the materialised records."""

Scores = Sequence[tuple[int, int]]
"""The number of each special record in its file, with its score."""


@dataclass(frozen=True)
class Identified:
    """The requested statistics of sets of columns."""

    subsets: tuple[SubsetProfile, ...] | None = None
    special_uniques: SpecialUniques | None = None
    scores: Scores = ()
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True)
class RecordCounts:
    """Number of records of a table, and of people with an entity."""

    records: int
    people: int | None = None

    @property
    def members(self) -> int:
        """Number of people, or of records without an entity."""
        return self.records if self.people is None else self.people


@dataclass(frozen=True)
class OpenProfile:
    """The profile of a table without quasi-identifiers."""

    columns: tuple[ColumnProfile, ...]
    looked_at: tuple[LookedAt, ...]
    together: SubsetProfile | None = None
    identified: Identified = field(default_factory=Identified)
    sets: int | None = None
    """Number of sets that are requested."""


def refuse_unreadable(question: ResolvedQuestion, session: Session) -> None:
    """Raise `InputError` if the table or its condition can't be read as the question needs."""
    refuse_unmet(preconditions(replace(question, checks=(), weight=None)), session)


def counted_records(question: ResolvedQuestion, session: Session) -> RecordCounts:
    """Number of records (and people) that a question covers.

    Raises `InputError` if some belong to nobody, or if the condition cannot be evaluated.
    """
    refuse_unreadable(question, session)
    relation = records(question, with_entity(question, _some_column(question)))
    entity = question.entity
    if entity:
        known = entity_known(question, "without_entity", question.table, entity, relation)
        row = session.row(known.statement)
        if int(row["kanon_records"]) == 0:
            return RecordCounts(0, 0)
        known.accepted([row])
    sql = render("distinct_values", relation=relation, columns=[], entity=entity)
    words = f"How many records does {question.table.name} have?"
    row = session.row(step(question, "records", words, sql))
    return RecordCounts(int(row["kanon_records"]), int(row["kanon_people"]) if entity else None)


def _some_column(question: ResolvedQuestion) -> list[BoundColumn]:
    """The columns to read for counting records alone."""
    return [] if question.entity else [bound_column(question.table.columns[0])]


def open_profile(
    question: ResolvedQuestion,
    options: Identifying,
    counted: RecordCounts,
    k: int,
    session: Session,
    into: FetchInto | None = None,
) -> OpenProfile:
    """Every column by itself, the candidates ranked by what they add, and the requested statistics
    of sets; their combinations are fetched `into` another engine if there is one."""
    named = named_columns(options.columns, question)
    names = {column.name for column in named} or set(question.table.column_names)
    columns = [column for column in question.table.columns if column.name in names]
    read = [bound_column(column) for column in columns if comparable(column)]
    relation, tables = _read(question, read, session)
    column_statistics = statistics(session, question, relation, tables, counted.records, columns)
    roles = _roles(question)
    profiles = tuple(
        column_profile(look, counted.records, counted.members, roles.get(look.column.name))
        for look in column_statistics
    )
    if len(column_statistics) < len(columns):
        session.missed.extend(("together", *options.measures, "ranking"))
        return OpenProfile(profiles, tuple(column_statistics))
    candidates = named or _candidates(read, profiles)
    if options.is_requested and not candidates:
        raise SpecError(
            f"no column of {question.table.name} looks like one that singles out a person. "
            f"Name the columns with {option('quasi_identifiers')} or "
            f"{option('columns')}."
        )
    refuse_sets(options, candidates)
    if not candidates:
        return OpenProfile(profiles, tuple(column_statistics))
    in_all = None
    identified = Identified()
    with session.if_in_time("together"):
        combinations = Combinations(
            session, question, candidates, relation, tables, counted.records, k, into=into
        )
        in_all = together(combinations)
    if in_all is None:
        session.missed.extend((*options.measures, "ranking"))
    else:
        identified = identified_by(combinations, options)
        with session.if_in_time("ranking"):
            profiles = tuple(_ranked(profiles, combinations))
    return OpenProfile(
        profiles,
        tuple(column_statistics),
        in_all,
        replace(identified, warnings=(*_passed_over(candidates), *identified.warnings)),
        sets=sets_of(candidates, options),
    )


def _candidates(
    read: Sequence[BoundColumn], profiles: Sequence[ColumnProfile]
) -> tuple[BoundColumn, ...]:
    """The columns that an attacker may know, in table order."""
    names = {profile.column for profile in profiles if is_candidate(profile)}
    return tuple(column for column in read if column.name in names)


def _passed_over(candidates: Sequence[BoundColumn]) -> Iterator[str]:
    if len(candidates) > MOST_RANKED:
        yield (
            f"{len(candidates):,} columns are candidates, and only the {MOST_RANKED} with most "
            "values are ranked by what they add."
        )


def identified_by(combinations: Combinations, options: Identifying) -> Identified:
    """The requested statistics of sets of these columns."""
    subsets = special = None
    scores: Scores = ()
    warnings: tuple[str, ...] = ()
    if combinations.fetched_from:
        warnings = (
            f"The values of {name_list(combinations.columns)} were fetched from "
            f"{combinations.fetched_from}, each combination once, and held in this machine's "
            "memory or, if that was too small, in a private folder, which is deleted.",
        )
    if options.subsets is not None:
        subsets = subset_profiles(combinations, options.subsets)
    size = options.size(combinations.columns)
    if size is not None:
        with combinations.session.if_in_time("special_uniques"):
            special, uniques = special_uniques(
                combinations, size, options.sampling_fraction, _nulls(combinations.question)
            )
            warnings = (*warnings, *_warnings(special, uniques))
            if options.scores is not None:
                scores = _scores(combinations, uniques, size)
    return Identified(subsets, special, scores, warnings)


def sets_of(columns: Sequence[BoundColumn], options: Identifying) -> int | None:
    """Number of sets of these columns that are to be measured."""
    return None if options.subsets is None else number_of_sets(len(columns), options.subsets)


_STEP_LABELS = {
    "columns": "some columns by themselves",
    "together": "all columns together",
    "subsets": "sets of columns",
    "special_uniques": "special uniques",
    "ranking": "which columns single out most records together",
    "attacker_knows": "what knowing each other column adds",
    "without": "what leaving out each quasi-identifier changes",
    "elimination": "how soon a sensitive value is certain",
    "known_events": "what more known events tell",
}


def stopped(
    session: Session, subsets: Sequence[SubsetProfile] | None, sets: int | None
) -> tuple[Stopped | None, tuple[str, ...]]:
    """The steps that `max_seconds` left out, and a warning that lists them."""
    if session.max_seconds is None or not session.missed:
        return None, ()
    measured = len(subsets or ())
    missing = tuple(step for step in _STEP_LABELS if step in session.missed)
    has_some_sets = "subsets" in missing and bool(measured and sets)
    warning = (
        f"Stopped after {session.max_seconds:g} seconds (--max-seconds). Not measured: "
        + "; ".join(
            f"{(sets or 0) - measured:,} of the {sets:,} sets of columns"
            if step == "subsets" and has_some_sets
            else _STEP_LABELS[step]
            for step in missing
        )
        + "."
    )
    has_sets = sets is not None
    outcome = Stopped(
        session.max_seconds, missing, measured if has_sets else None, sets if has_sets else None
    )
    return outcome, (warning,)


def _nulls(question: ResolvedQuestion) -> SpecialNulls:
    """How special uniques treat NULL: it makes no record special, unless the spec sets `nulls`."""
    return "value" if "nulls" in question.spec.model_fields_set else "nobody"


def _warnings(special: SpecialUniques, uniques: MinimalUniques) -> Iterator[str]:
    if special.records and not uniques.pairs:
        yield (
            "No combination of values occurs exactly twice, so DIS-SUDA is 1 for every special "
            "record: it estimates nothing here."
        )


def _scores(combinations: Combinations, uniques: MinimalUniques, size: int) -> Scores:
    """The number and score of each special record, in file order."""
    if not uniques.kept:
        raise SpecError("scores: the records of this database have no numbers.")
    question = combinations.question
    special = combinations.materialise(
        "special_records",
        "How many minimal uniques of each size does each record have?",
        render("uniques_of_records", minimal=uniques.kept, sizes=uniques.sizes),
    )
    rows = combinations.session.rows(
        combinations.step(
            "scores",
            "Which records of the file have a minimal unique, by number?",
            render(
                "numbered_specials",
                relation=question.table.sql,
                columns=combinations.columns,
                combinations=combinations.raw,
                keys=combinations.keys,
                special=special,
                scored=uniques.sizes,
                where=question.where.sql if question.where else None,
                first=question.spec.first,
            ),
        )
    )
    in_all = len(combinations.columns)
    return [
        (
            int(row["kanon_number"]),
            score([int(row[f"kanon_of_size_{size.number}"]) for size in uniques.sizes], in_all),
        )
        for row in rows
    ]


def _read(
    question: ResolvedQuestion, columns: Sequence[BoundColumn], session: Session
) -> tuple[str, frozenset[str]]:
    """The relation to read the columns from: the records, or a materialised copy if reading them
    means parsing a file."""
    of_people = [question.entity] if question.entity else []
    others = [other for other in of_people if other.name not in {column.name for column in columns}]
    read_columns = [*columns, *others]
    tables = frozenset([question.table.sql])
    if not read_columns:
        return question.table.sql, tables
    if not (question.table.parsed and session.engine.materialises):
        return records(question, read_columns), tables
    keep_records(question, read_columns, session)
    return KEPT, tables | {KEPT}


def keep_records(
    question: ResolvedQuestion, columns: Sequence[BoundColumn], session: Session
) -> None:
    """Materialise these columns of the records, so that a text file is parsed once."""
    sql = render("records_at_hand", relation=records(question, list(columns)), columns=columns)
    words = f"Which records of {question.table.name} are profiled?"
    session.materialise(Statement(KEPT, words, sql, tables=frozenset([question.table.sql])))


def _roles(question: ResolvedQuestion) -> dict[str, str]:
    """The declared role of each column, by name."""
    roles = [
        *((column.name, "quasi_identifier") for column in question.quasi_identifiers),
        *((column.name, "sensitive") for column in question.sensitive),
        *((column.name, "identifier") for column in question.roles.identifiers),
        *((column.name, "entity") for column in (question.entity,) if column),
        *((column.name, "weight") for column in (question.weight,) if column),
    ]
    return dict(roles)


def _ranked(
    profiles: Sequence[ColumnProfile], combinations: Combinations
) -> Iterator[ColumnProfile]:
    """The columns with ranks for the candidates; only those with most values are ranked."""
    distinct = {profile.column: profile.distinct or 0 for profile in profiles}
    places = range(1, len(combinations.columns) + 1)
    most = sorted(places, key=lambda index: -distinct[combinations.columns[index - 1].name])
    yield from ranked(profiles, combinations, sorted(most[:MOST_RANKED]))
