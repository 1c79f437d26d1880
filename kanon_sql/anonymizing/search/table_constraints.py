"""The checks of a search that look beyond single classes.

The first are decided by the number of classes and of records. The others select the classes of a
node that violate a check; a reference is encoded by the places of the table's values, so that it
is at the levels of a node.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

from kanon_sql.anonymizing.search.costs import ClassCounts
from kanon_sql.anonymizing.search.frequency_sets import FrequencySets, LevelsOf
from kanon_sql.anonymizing.search.lattice import (
    PRIVATE,
    Label,
    Levels,
    Node,
    QuasiIdentifier,
    kept_labels,
    label_of_any,
)
from kanon_sql.anonymizing.violating_classes import (
    is_about_crowds,
    is_judged_by_class,
    least_presence,
    reference_requirements,
    required_crowds,
    too_rare,
)
from kanon_sql.models.population.estimates import required_class_size
from kanon_sql.models.population.models import KMapEstimate
from kanon_sql.models.sizes.models import KAnonymity, ProsecutorRisk, SampleUniqueness
from kanon_sql.plan.check_sql import reference_of
from kanon_sql.plan.join_columns import entity_pair, pairs
from kanon_sql.plan.question import BoundCheck, BoundColumn, OtherTable, Pair, ResolvedQuestion
from kanon_sql.plan.steps import other_records
from kanon_sql.results.table import TableResult
from kanon_sql.sql.macros import render
from kanon_sql.sql.quoting import exactly


@dataclass(frozen=True)
class NodeOfSet:
    """A node in a statement about several nodes."""

    number: int
    levels: Node
    set: str = ""
    columns: Sequence[str] = ()
    """The columns of the set that identify the node's classes."""
    constant: Sequence[str] = ()
    """The keys of the quasi-identifiers with a single label."""


@dataclass(frozen=True)
class ReferenceSets:
    """Each reference that a search reads, by its places at every level up to the highest."""

    sets: FrequencySets
    highest: Levels

    def violating(self, set: str, keys: Sequence[str], nodes: Sequence[NodeOfSet]) -> Iterator[str]:
        """A SELECT for each reference: the classes of a materialised set with too few people there.

        `keys` identify its classes: the places, and before them the node if it has several.
        """
        for reference, checks in self._required.items():
            yield render(
                "classes_beside_reference",
                set=set,
                keys=keys,
                referred=render(
                    "reference_at_nodes",
                    nodes=nodes,
                    keys=[column.key for column in self.sets.quasi_identifiers],
                    set=self._kept[reference],
                    entity=self.sets.question.references[reference].entity,
                ),
                failing=render("any_of", predicates=list(map(too_rare, checks))),
                entity=self.sets.question.entity,
            )

    # --- internal ---------------------------------------------------------------------------

    @cached_property
    def _required(self) -> dict[str, list[BoundCheck]]:
        """The checks on each reference, by its name."""
        required: dict[str, list[BoundCheck]] = {}
        for requirement in reference_requirements(self.sets.question):
            required.setdefault(reference_of(self.sets.question, requirement).name, []).append(
                requirement
            )
        return required

    @cached_property
    def _kept(self) -> dict[str, str]:
        """The temporary relation of each reference, by name."""
        references = self.sets.question.references
        return {
            name: self._keep(number, references[name])
            for number, name in enumerate(self._required, start=1)
        }

    def _keep(self, index: int, reference: OtherTable) -> str:
        sets = self.sets
        combinations = _combinations_of(
            sets,
            f"{PRIVATE}reference_{index}",
            reference,
            [reference.columns[column.name] for column in sets.quasi_identifiers],
            [column for column in (reference.entity, reference.weight) if column],
        )
        compared = zip(
            sets.quasi_identifiers, pairs(sets.question, reference, "exact"), strict=True
        )
        levels = [
            LevelsOf(
                column.key,
                self._values(index, combinations, pair, column),
                self.highest[column.name],
            )
            for column, pair in compared
        ]
        return sets.materialise(
            f"{PRIVATE}reference_{index}_at_all_levels",
            f"How many people of {reference.table.name} have each combination at every level?",
            render(
                "reference_at_all_levels",
                set=combinations,
                sets=levels,
                entity=reference.entity,
                weight=reference.weight,
            ),
        )

    def _values(self, index: int, combinations: str, pair: Pair, column: QuasiIdentifier) -> str:
        """Materialise the reference's values of a quasi-identifier, with their places."""
        return self.sets.materialise(
            f"{PRIVATE}referred_places_{index}_{column.number}",
            f"Which place does each value of the reference have at each level of {column.name}?",
            render(
                "referred_places",
                set=combinations,
                place=column.number,
                values=column.values,
                labels=list(self._labels(column, pair.reference.type)),
                type=pair.reference.type,
                own_type=pair.column.type,
                as_text=pair.how == "as_text",
            ),
        )

    def _labels(self, column: QuasiIdentifier, type: str) -> Iterator[Label]:
        levels = replace(column.levels, type=type)
        for level in range(1, self.highest[column.name] + 1):
            yield label_of_any(levels, level, kept_labels(column.number, level))


@dataclass(frozen=True)
class EarlierSets:
    """The people of each earlier release with a crowd check, with their classes in that release."""

    sets: FrequencySets

    def violating(self, set: str, keys: Sequence[str]) -> Iterator[str]:
        """One SELECT for each earlier release: the classes of a materialised frequency set in which
        someone's crowd is too small. `keys` are the columns that identify a class; with several
        nodes, the node number is one of them."""
        for name, k in required_crowds(self.sets.question).items():
            yield render(
                "classes_beside_earlier",
                set=set,
                keys=keys,
                before=self._kept[name],
                entities=entity_pair(self.sets.question, self.sets.question.earlier[name]),
                k=k,
            )

    # --- internal ---------------------------------------------------------------------------

    @cached_property
    def _kept(self) -> dict[str, str]:
        """The temporary relation of each earlier release's people, by release name."""
        earlier = self.sets.question.earlier
        return {
            name: self._keep(number, earlier[name])
            for number, name in enumerate(required_crowds(self.sets.question), start=1)
        }

    def _keep(self, index: int, earlier: OtherTable) -> str:
        columns = list(earlier.quasi_identifiers)
        entities = entity_pair(self.sets.question, earlier)
        combinations = _combinations_of(
            self.sets, f"{PRIVATE}earlier_{index}", earlier, columns, [entities.reference]
        )
        return self.sets.materialise(
            f"{PRIVATE}people_before_{index}",
            f"In which classes of {earlier.table.name} is each person?",
            render("people_before", set=combinations, columns=columns, entities=entities),
        )


def _combinations_of(
    sets: FrequencySets,
    name: str,
    other: OtherTable,
    columns: Sequence[BoundColumn],
    others: Sequence[BoundColumn],
) -> str:
    """Materialise the frequency set of another table, by some columns and its people or weights."""
    referred = [
        replace(column, name=key, alias=key, generalised=None, joined=None)
        for number, column in enumerate(columns, start=1)
        for key in [f"kanon_referred_{number}"]
    ]
    return sets.materialise_other(
        name,
        f"How many records of {other.table.name} have each combination of values?",
        render(
            "reference_set",
            relation=other_records(other, [*columns, *others]),
            columns=columns,
            others=others,
        ),
        [*referred, *others],
    )


_ENDLESS = 2**62


@dataclass(frozen=True)
class AtMost:
    """Upper bound on the kept classes: on classes per record, or on the share of records in classes
    below a size."""

    most: Fraction
    below: int | None = None

    def holds(self, counted: ClassCounts) -> bool:
        """Whether the bound holds; it does if no record is kept."""
        classes = counted.classes if self.below is None else counted.below[self.below]
        return classes <= self.most * counted.kept


def bounds_of_all(question: ResolvedQuestion) -> list[AtMost]:
    """The bounds of all gating checks on all classes together."""
    return [
        at_most
        for check in question.checks
        if check.gates
        for at_most in bounds_of(question, check)
    ]


def audited_checks(question: ResolvedQuestion) -> list[BoundCheck]:
    """The gating checks that the search decides by auditing the release at a node: neither classes
    by themselves nor their number decide them."""
    return [
        check
        for check in question.checks
        if check.gates
        and not (is_judged_by_class(check) or is_about_crowds(check) or bounds_of(question, check))
        and check not in estimates_searched(question)
        and (check not in reference_requirements(question) or least_presence(check))
    ]


def bounds_of(question: ResolvedQuestion, check: BoundCheck) -> list[AtMost]:
    """The bounds that a check sets on all classes together, if class sizes decide it."""
    if question.entity:
        # People are counted once, in the smallest of their classes.
        return []
    bounds = []
    match check.model:
        case ProsecutorRisk(max_average=average, max_at_risk=share, threshold=threshold):
            if average is not None:
                bounds.append(AtMost(exactly(average)))
            if share is not None:
                bounds.append(AtMost(exactly(share), _first_size_not_above(exactly(threshold))))
        case SampleUniqueness(max_share=share) if share is not None:
            bounds.append(AtMost(exactly(share), 2))
    return bounds


def _first_size_not_above(threshold: Fraction) -> int:
    """The smallest class size whose risk 1/size is at most the threshold."""
    return -(-threshold.denominator // threshold.numerator) if threshold else _ENDLESS


def with_estimated_sizes(question: ResolvedQuestion, before: TableResult) -> ResolvedQuestion:
    """The question with one more k-anonymity check for each gating k-map estimate: the class size
    that the estimate requires, computed for the size of the whole table. A release has no more
    records or people and so requires no larger size."""
    summary = before.summary
    everyone = summary.records if summary.people is None else summary.people
    sizes = [
        required_class_size(
            model.k, everyone or 0, model.population, float(model.alpha), model.test
        )
        for check in estimates_searched(question)
        for model in [check.model]
        if isinstance(model, KMapEstimate) and model.k and model.population
    ]
    more = tuple(BoundCheck(KAnonymity(k=size), requested=True) for size in sizes)
    return replace(question, checks=(*question.checks, *more))


def estimates_searched(question: ResolvedQuestion) -> list[BoundCheck]:
    """The gating estimates whose required class size is known before the search."""
    return [
        check for check in question.checks if check.gates and isinstance(check.model, KMapEstimate)
    ]
