"""From a question to the SQL that answers it. Knows the templates, touches no database.

A plan is a short list of steps, each one SELECT over the declared tables. Everything is read off
frequency sets: one over the quasi-identifiers, one for each sensitive attribute, one for each
reference. The text of a step is what runs and what `compile` prints.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from kanon_sql.binding import (
    BoundCheck,
    BoundColumn,
    BoundReference,
    BoundSpec,
    Pair,
    bind,
    pairs,
)
from kanon_sql.column_types import family
from kanon_sql.engines.base import Row, Table
from kanon_sql.expressions import Condition, TextCast
from kanon_sql.models import Homogeneity, KAnonymity, KMap, Model
from kanon_sql.result import LEAST_SIZE, SHOWN
from kanon_sql.spec import TableSpec
from kanon_sql.templates import checked_select, render

FIRST_RECORDS = 10_000
"""How many records are looked at to find columns that tell every one of them apart."""
AT_ONCE = 40
"""How many columns one statement counts: more cost more than their number."""
LEAST_HASHED = 3
"""From how many columns on it pays to group by their hashes, the proof included. A sensitive
attribute counts twice, because its frequency set is the larger one."""


@dataclass(frozen=True)
class Step:
    """One SELECT: its name, the question it answers, the models it serves, when it runs."""

    name: str
    question: str
    sql: str
    models: tuple[type[Model], ...] = ()
    only: str = ""

    def text(self, dialect: str) -> str:
        """The statement under a header that says what it asks, and after whom."""
        header = [
            ("Question", self.question),
            *(("Model", f"{m.title}. {m.promise} ({m.source})") for m in self.models),
            *([("Runs", self.only)] if self.only else []),
            ("Dialect", dialect),
        ]
        return "\n".join([*_comment(header), "", self.sql])


@dataclass(frozen=True)
class Precaution:
    """A step whose one row says whether the question can be asked at all."""

    step: Step
    fault: Callable[[Row], str | None]
    """The sentence to refuse with, or None where all is well."""


@dataclass(frozen=True)
class SensitiveStep:
    """The step that reads one sensitive attribute, and the two that look for sham diversity."""

    column: BoundColumn
    step: Step
    spellings: Step | None = None
    by_spelling: Step | None = None


@dataclass(frozen=True)
class ReferenceStep:
    """The step that matches the release with one reference, and the checks it answers."""

    reference: str
    step: Step
    checks: tuple[BoundCheck, ...]


@dataclass(frozen=True)
class Plan:
    """Everything one table's audit asks, in the order in which it runs."""

    bound: BoundSpec
    precautions: tuple[Precaution, ...]
    keys: Step | None
    """Proves that the short keys of the next steps are exact; without any there is none."""
    classes: Step | None
    sensitive: tuple[SensitiveStep, ...]
    profiles: Step | None
    references: tuple[ReferenceStep, ...]
    first_records: tuple[tuple[Step, tuple[str, ...]], ...]
    """Each counts the different values of these columns among the first records."""
    shown: tuple[Step, ...]

    @property
    def steps(self) -> tuple[Step, ...]:
        """Every step, in the order in which it runs."""
        optional = (
            *(precaution.step for precaution in self.precautions),
            self.keys,
            self.classes,
            *(
                step
                for sensitive in self.sensitive
                for step in (sensitive.step, sensitive.spellings, sensitive.by_spelling)
            ),
            self.profiles,
            *(reference.step for reference in self.references),
            *(step for step, _ in self.first_records),
            *self.shown,
        )
        return tuple(step for step in optional if step is not None)


def plan_audit(
    spec: TableSpec, table: Table, references: Mapping[str, Table], *, short_keys: bool = True
) -> Plan:
    """The plan that answers `spec` over `table` and its references. Raises `SpecError`.

    With `short_keys` text of few values is grouped by its hash, which is several times cheaper;
    the plan's `keys` step says whether that is exact in this table.
    """
    bound = bind(spec, table, references)
    keyed = _with_short_keys(bound) if short_keys else bound
    reads_sensitive = bound.sensitive and not bound.wildcard
    return Plan(
        bound=bound,
        precautions=tuple(_precautions(bound)),
        keys=_keys(keyed),
        classes=None if reads_sensitive else _classes(keyed),
        sensitive=tuple(_sensitive(keyed)) if reads_sensitive else (),
        profiles=_profiles(bound) if bound.entity else None,
        references=tuple(_references(bound)),
        first_records=tuple(_first_records(bound)),
        shown=tuple(_shown(bound)),
    )


def without_short_keys(plan: Plan) -> Plan:
    """The same plan grouping by the values themselves."""
    references = {name: reference.table for name, reference in plan.bound.references.items()}
    return plan_audit(plan.bound.spec, plan.bound.table, references, short_keys=False)


# --- the steps ------------------------------------------------------------------------------


def _with_short_keys(bound: BoundSpec) -> BoundSpec:
    """The same question with text of few values grouped by its hash, where that pays."""

    def keyed(column: BoundColumn) -> BoundColumn:
        return replace(column, hashed=column.type == "VARCHAR" and column.few_values)

    quasi_identifiers = tuple(keyed(column) for column in bound.quasi_identifiers)
    sensitive = tuple(keyed(column) for column in bound.sensitive)
    hashed = sum(column.hashed for column in quasi_identifiers)
    hashed += 2 * any(column.hashed for column in sensitive)
    if bound.wildcard or bound.spec.first or hashed < LEAST_HASHED:
        return bound
    return replace(bound, quasi_identifiers=quasi_identifiers, sensitive=sensitive)


def _keys(bound: BoundSpec) -> Step | None:
    hashed = [c for c in (*bound.quasi_identifiers, *bound.sensitive) if c.hashed]
    if not hashed:
        return None
    return _step(
        bound,
        "keys",
        f"Does the hash of {_spoken(hashed)} tell all its values apart, so that classes may be "
        "grouped by it?",
        render("keys_tell_values_apart", relation=bound.table.sql, columns=hashed),
        only="before the steps that group by hash(); if the two counts differ, they group by the "
        "values instead",
    )


def _classes(bound: BoundSpec) -> Step:
    columns = list(bound.quasi_identifiers)
    if bound.wildcard:
        return _step(
            bound,
            "classes",
            f"How many records in {bound.table.name} are compatible with each combination of "
            f"{_spoken(bound.quasi_identifiers)}, if NULL matches everything?",
            render(
                "k_anonymity_with_wildcards", relation=_records(bound, columns), columns=columns
            ),
            KAnonymity,
        )
    relation = _records(bound, _with_entity(bound, columns))
    return _step(
        bound,
        "classes",
        f"How many {_counted(bound)} in {bound.table.name} share each combination of "
        f"{_spoken(bound.quasi_identifiers)}?",
        render("k_anonymity", relation=relation, columns=columns, entity=bound.entity),
        KAnonymity,
    )


def _sensitive(bound: BoundSpec) -> Iterator[SensitiveStep]:
    """The first of these steps is also the one that the sizes of the classes are read off."""
    columns = list(bound.quasi_identifiers)
    for place, sensitive in enumerate(bound.sensitive):
        relation = _records(bound, _with_entity(bound, [*columns, sensitive]))
        step = _step(
            bound,
            "classes" if place == 0 else f"classes_{sensitive.name}",
            f"How many {_counted(bound)} in {bound.table.name} share each combination of "
            f"{_spoken(bound.quasi_identifiers)}, and what do they share of {sensitive.name}?",
            render(
                "sensitive_values",
                relation=relation,
                columns=columns,
                sensitive=sensitive,
                entity=bound.entity,
                unknown=bound.spec.sensitive_nulls == "unknown",
            ),
            KAnonymity,
            Homogeneity,
        )
        if not sensitive.is_text:
            yield SensitiveStep(sensitive, step)
            continue
        yield SensitiveStep(
            sensitive,
            step,
            spellings=_step(
                bound,
                f"spellings_{sensitive.name}",
                f"Do any values of {sensitive.name} differ only by case, outer spaces or the "
                "spelling of a number?",
                render("spellings", relation=_records(bound, [sensitive]), column=sensitive),
            ),
            by_spelling=_step(
                bound,
                f"diverse_by_spelling_{sensitive.name}",
                f"How many classes of {bound.table.name} look diverse in {sensitive.name} only "
                "thanks to spelling?",
                render(
                    "diverse_by_spelling",
                    relation=_records(bound, [*columns, sensitive]),
                    columns=columns,
                    sensitive=sensitive,
                ),
                only=f"where spellings_{sensitive.name} finds fewer spellings than values",
            ),
        )


def _profiles(bound: BoundSpec) -> Step:
    columns = list(bound.quasi_identifiers)
    return _step(
        bound,
        "profiles",
        f"How many people in {bound.table.name} have records in exactly the same classes?",
        render(
            "profiles",
            relation=_records(bound, _with_entity(bound, columns)),
            columns=columns,
            entity=bound.entity,
        ),
        KAnonymity,
    )


def _references(bound: BoundSpec) -> Iterator[ReferenceStep]:
    """One step for each reference and way of matching, for all checks that ask it."""
    asked: dict[tuple[str, str], list[BoundCheck]] = {}
    for check in bound.checks:
        if isinstance(check.model, KMap) and check.model.reference is not None:
            asked.setdefault((check.model.reference, check.model.match), []).append(check)
    for (name, match), checks in asked.items():
        reference = bound.references[name]
        matched = pairs(bound, reference, match)
        yield ReferenceStep(
            name,
            _step(
                bound,
                f"k_map_{name}" if match == "containment" else f"exact_k_map_{name}",
                f"How many {'people' if reference.entity or reference.weight else 'records'} in "
                f"{reference.table.name} match each combination of "
                f"{_spoken(bound.quasi_identifiers)} in {bound.table.name}?",
                render(
                    "k_map",
                    release=_records(bound, _with_entity(bound, list(bound.quasi_identifiers))),
                    columns=list(bound.quasi_identifiers),
                    entity=bound.entity,
                    reference=_reference_records(reference),
                    pairs=list(matched),
                    reference_entity=reference.entity,
                    reference_weight=reference.weight,
                    measures=list(_k_map_measures(checks)),
                    wildcard=bound.wildcard,
                ),
                KMap,
            ),
            tuple(checks),
        )


def _k_map_measures(checks: list[BoundCheck]) -> Iterator[str]:
    """What each check counts beside the least population, named by its place."""
    yield render("people_where", predicate=f"kanon_union < {LEAST_SIZE}", name="at_risk")
    for place, check in enumerate(checks, start=1):
        model = check.model
        if isinstance(model, KMap) and model.k is not None:
            population = "kanon_union" if model.missing == "union" else "kanon_population"
            below = f"{population} < {model.k}"
            yield render("classes_where", predicate=below, name=f"violating_{place}")
            yield render("records_where", predicate=below, name=f"violating_{place}")


def _first_records(bound: BoundSpec) -> Iterator[tuple[Step, tuple[str, ...]]]:
    """Look at the columns without a part that could tell every record apart."""
    columns = [column.name for column in bound.unassigned if not column.few_values]
    for place, start in enumerate(range(0, len(columns), AT_ONCE), start=1):
        looked_at = tuple(columns[start : start + AT_ONCE])
        yield (
            _step(
                bound,
                "first_records" if place == 1 else f"first_records_{place}",
                f"Which columns of {bound.table.name} that have no part differ in each of the "
                f"first {FIRST_RECORDS:,} records?",
                render(
                    "distinct_in_first",
                    relation=bound.table.sql,
                    columns=list(looked_at),
                    first=FIRST_RECORDS,
                ),
            ),
            looked_at,
        )


def _shown(bound: BoundSpec) -> Iterator[Step]:
    """The classes behind the counts, by their values: personal data, run on demand only."""
    if bound.wildcard:
        return
    columns = list(bound.quasi_identifiers)
    k = next((c.model.k for c in bound.checks if isinstance(c.model, KAnonymity) and c.model.k), 2)
    yield _step(
        bound,
        "small_classes",
        f"Which classes of {bound.table.name} have fewer than {k} {_counted(bound)}?",
        render(
            "small_classes",
            relation=_records(bound, _with_entity(bound, columns)),
            columns=columns,
            k=k,
            entity=bound.entity,
            first=SHOWN,
        ),
        KAnonymity,
        only="with --show-values only: its rows are personal data",
    )


# --- precautions ----------------------------------------------------------------------------


def _precautions(bound: BoundSpec) -> Iterator[Precaution]:
    yield from _castable(bound, "release", bound.where, bound.table)
    for reference in bound.references.values():
        name, table = reference.name, reference.table
        yield from _castable(bound, name, reference.where, table)
        records = _reference_records(reference)
        if reference.entity:
            yield Precaution(
                _step(
                    bound,
                    f"people_of_{name}",
                    f"How many records in {table.name} belong to no one?",
                    render("without_entity", relation=records, entity=reference.entity),
                ),
                partial(without_entity, table.name, reference.entity.name),
            )
        if reference.weight:
            yield Precaution(
                _step(
                    bound,
                    f"weights_of_{name}",
                    f"How many weights in {table.name} are no number of people?",
                    render("not_a_weight", relation=records, weight=reference.weight),
                ),
                partial(_not_a_weight, table.name, reference.weight.name),
            )
        for pair in pairs(bound, reference, "containment"):
            yield from _comparable(bound, reference, pair)


def _castable(
    bound: BoundSpec, role: str, where: Condition | None, table: Table
) -> Iterator[Precaution]:
    for cast in where.casts if where else ():
        yield Precaution(
            _step(
                bound,
                f"castable_{role}_{cast.column}",
                f"How many values of {cast.column} in {table.name} are no {cast.type.lower()}?",
                render("not_castable", relation=table.sql, column=cast.column, type=cast.type),
            ),
            partial(_not_castable, "" if role == "release" else f"reference {role}: ", cast),
        )


def _comparable(bound: BoundSpec, reference: BoundReference, pair: Pair) -> Iterator[Precaution]:
    """Text that stands against numbers must spell them as the numbers are spelled."""
    sides = (
        (pair.column, bound.table, _records(bound, [pair.column])),
        (pair.reference, reference.table, _reference_records(reference)),
    )
    if {family(column.type) for column, _, _ in sides} != {"text", "number"}:
        return
    column, table, relation = next(side for side in sides if side[0].is_text)
    number, numbers, _ = next(side for side in sides if not side[0].is_text)
    yield Precaution(
        _step(
            bound,
            f"comparable_{reference.name}_{pair.column.name}",
            f"Is the text of {column.name} in {table.name} spelled like the numbers of "
            f"{number.name} in {numbers.name}?",
            render("text_beside_numbers", relation=relation, column=column),
        ),
        partial(
            _not_comparable,
            f"{table.name}: {column.name}",
            f"{numbers.name}: {number.name}",
            number.type,
        ),
    )


def _not_castable(place: str, cast: TextCast, row: Row) -> str | None:
    if not row["kanon_not_castable"]:
        return None
    kind = "number" if cast.type == "DOUBLE" else "date"
    return (
        f"{place}where: {row['kanon_not_castable']:,} of {row['kanon_values']:,} values of "
        f'"{cast.column}" are no {kind}. Compare them as text, or mend them first.'
    )


def without_entity(table: str, entity: str, row: Row) -> str | None:
    """The sentence to refuse records of no one with, where there are any."""
    if not row["kanon_without_entity"]:
        return None
    return (
        f"{table}: {row['kanon_without_entity']:,} of {row['kanon_records']:,} records have no "
        f'"{entity}", so nobody knows whose they are. Fill it in, or leave those records out '
        "with a condition."
    )


def _not_a_weight(table: str, weight: str, row: Row) -> str | None:
    if not row["kanon_not_a_weight"]:
        return None
    return (
        f"{table}: {row['kanon_not_a_weight']:,} of {row['kanon_records']:,} values of "
        f'"{weight}" are no whole number of people, 0 or more.'
    )


def _not_comparable(text: str, numbers: str, type: str, row: Row) -> str | None:
    if row["kanon_spelled_otherwise"]:
        return (
            f"{text} is text and {numbers} is {type}: {row['kanon_spelled_otherwise']:,} values "
            "are spelled as no number is (a leading zero, say), so they could never match. Give "
            "both columns the same type."
        )
    if row["kanon_text"] and not row["kanon_like_numbers"]:
        return (
            f"{text} is text and {numbers} is {type}: no value of the text is a number, so they "
            "could never match. Give both columns the same type."
        )
    return None


# --- their parts ----------------------------------------------------------------------------


def _step(
    bound: BoundSpec, name: str, question: str, sql: str, *models: type[Model], only: str = ""
) -> Step:
    """A step whose statement was parsed and found to read nothing but the declared tables."""
    declared = [bound.table, *(reference.table for reference in bound.references.values())]
    checked_select(sql, frozenset(table.sql for table in declared))
    return Step(name, question, sql, models, only)


def _records(bound: BoundSpec, columns: list[BoundColumn]) -> str:
    return render(
        "records",
        relation=bound.table.sql,
        columns=columns,
        where=bound.where.sql if bound.where else None,
        first=bound.spec.first,
    )


def _reference_records(reference: BoundReference) -> str:
    columns = [*reference.columns.values(), reference.entity, reference.weight]
    return render(
        "records",
        relation=reference.table.sql,
        columns=list({column.name: column for column in columns if column}.values()),
        where=reference.where.sql if reference.where else None,
    )


def _with_entity(bound: BoundSpec, columns: list[BoundColumn]) -> list[BoundColumn]:
    return [*columns, bound.entity] if bound.entity else columns


def _counted(bound: BoundSpec) -> str:
    return "people" if bound.entity else "records"


def _spoken(columns: Sequence[BoundColumn]) -> str:
    """The columns as one reads them aloud."""
    *others, last = [column.name for column in columns]
    return f"{', '.join(others)} and {last}" if others else last


def _comment(header: list[tuple[str, str]]) -> Iterator[str]:
    for label, words in header:
        lines = textwrap.wrap(" ".join(words.split()), width=86, break_on_hyphens=False)
        for place, line in enumerate(lines):
            yield f"-- {label if place == 0 else '':<10} {line}"
