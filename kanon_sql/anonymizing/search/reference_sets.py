"""References in the search, encoded by the places of the table's values: counts the people of a
reference in each class of a node, at the same levels."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from kanon_sql.anonymizing.search.frequency_sets import FrequencySets, LevelsOf
from kanon_sql.anonymizing.search.lattice import Node
from kanon_sql.anonymizing.search.qi_levels import (
    PRIVATE,
    Label,
    Levels,
    QuasiIdentifier,
    kept_labels,
    label_of_any,
)
from kanon_sql.plan.join_columns import pairs
from kanon_sql.plan.question import BoundCheck, BoundReference
from kanon_sql.plan.steps import reference_records
from kanon_sql.plan.violating_classes import (
    least_presence,
    reference_demands,
    reference_of,
    too_rare,
)
from kanon_sql.spec.models.base import ReferenceModel
from kanon_sql.sql.macros import render


@dataclass(frozen=True)
class NodeOfSet:
    """A node in a statement about several nodes."""

    number: int
    levels: Node
    set: str = ""
    places: Sequence[int] = ()
    """Indices of the levels that the statement reads."""


@dataclass(frozen=True)
class ReferenceSets:
    """Each reference that a search reads, by its places at every level up to the highest."""

    sets: FrequencySets
    highest: Levels

    def violating(
        self, set: str, keys: Sequence[str], nodes: Sequence[NodeOfSet], *, starred: bool = False
    ) -> list[str]:
        """A SELECT for each reference: the classes of a kept set that have too few people there.

        `keys` tell its classes apart: the places, and before them the node where it has several.
        A class of `*` of a `starred` set has everybody there, unless equal cells alone match.
        """
        return list(self._violating(set, keys, nodes, starred))

    def lacking(
        self, set: str, keys: Sequence[str], nodes: Sequence[NodeOfSet], violating: str
    ) -> list[str]:
        """One SELECT for each reference with a lower bound on presence: the nodes at which a class
        of the reference is too rare or absent in the release, once the violating classes are
        removed."""
        return list(self._lacking(set, keys, nodes, violating))

    # --- internal ---------------------------------------------------------------------------

    def _violating(
        self, set: str, keys: Sequence[str], nodes: Sequence[NodeOfSet], starred: bool
    ) -> Iterator[str]:
        for reference, asked in self._demands.items():
            # A star matches everybody, so that only a class itself can be in it too rarely.
            least = [each for each in map(least_presence, asked) if each] if starred else []
            yield render(
                "classes_beside_reference",
                set=set,
                keys=keys,
                referred=self._at_nodes(reference, nodes, starred=starred and _contains(asked)),
                failing=render("any_of", predicates=[*map(too_rare, asked), *least]),
                entity=self.sets.bound.entity,
            )

    def _lacking(
        self, set: str, keys: Sequence[str], nodes: Sequence[NodeOfSet], violating: str
    ) -> Iterator[str]:
        for reference, asked in self._demands.items():
            if failing := [each for each in map(least_presence, asked) if each]:
                yield render(
                    "nodes_lacking_classes",
                    set=set,
                    keys=keys,
                    referred=self._at_nodes(reference, nodes),
                    violating=violating,
                    failing=render("any_of", predicates=failing),
                    entity=self.sets.bound.entity,
                )

    @property
    def _demands(self) -> dict[str, list[BoundCheck]]:
        """The checks on each reference, by its name."""
        found: dict[str, list[BoundCheck]] = {}
        for each in reference_demands(self.sets.bound):
            found.setdefault(reference_of(self.sets.bound, each).name, []).append(each)
        return found

    def _at_nodes(
        self, reference: str, nodes: Sequence[NodeOfSet], *, starred: bool = False
    ) -> str:
        return render(
            "reference_at_nodes",
            nodes=nodes,
            keys=[each.key for each in self.sets.quasi_identifiers],
            set=self._kept[reference],
            entity=self.sets.bound.references[reference].entity,
            starred=starred,
        )

    @cached_property
    def _kept(self) -> dict[str, str]:
        """The temporary relation of each reference, by name."""
        references = self.sets.bound.references
        return {
            name: self._keep(place, references[name])
            for place, name in enumerate(self._demands, start=1)
        }

    def _keep(self, place: int, reference: BoundReference) -> str:
        sets = self.sets
        columns = [reference.columns[each.name] for each in sets.quasi_identifiers]
        others = [each for each in (reference.entity, reference.weight) if each]
        referred = [
            replace(each, name=name, alias=name)
            for number, each in enumerate(columns, start=1)
            for name in [f"kanon_referred_{number}"]
        ]
        found = sets.keep_beside(
            f"{PRIVATE}reference_{place}",
            f"Who is in {reference.table.name}?",
            render(
                "reference_set",
                relation=reference_records(reference),
                columns=columns,
                others=others,
            ),
            [*referred, *others],
        )
        levels = [
            LevelsOf(
                each.key,
                self._values(place, found, reference, each),
                self.highest[each.name],
            )
            for each in sets.quasi_identifiers
        ]
        return sets.keep(
            f"{PRIVATE}reference_{place}_at_all_levels",
            f"How many people has {reference.table.name} at every level?",
            render(
                "reference_at_all_levels",
                set=found,
                sets=levels,
                entity=reference.entity,
                weight=reference.weight,
            ),
        )

    def _values(
        self, place: int, found: str, reference: BoundReference, each: QuasiIdentifier
    ) -> str:
        """Materialise the reference's values of a quasi-identifier, with their places."""
        raw = self.sets.keep(
            f"{PRIVATE}referred_values_{place}_{each.place}",
            f"Which values of {each.name} has {reference.table.name}?",
            render("referred_values", set=found, place=each.place),
        )
        [pair] = [
            pair
            for pair in pairs(self.sets.bound, reference, "exact")
            if pair.column.name == each.name
        ]
        return self.sets.keep(
            f"{PRIVATE}referred_places_{place}_{each.place}",
            f"What does each of them become at each level of {each.name}?",
            render(
                "referred_places",
                referred=raw,
                values=each.values,
                labels=list(self._labels(each, pair.reference.type)),
                type=pair.reference.type,
                own_type=pair.column.type,
                as_text=pair.how == "as_text",
            ),
        )

    def _labels(self, each: QuasiIdentifier, type: str) -> Iterator[Label]:
        levels = replace(each.levels, type=type)
        for level in range(1, self.highest[each.name] + 1):
            yield label_of_any(levels, level, kept_labels(each.place, level))


def _contains(checks: Sequence[BoundCheck]) -> bool:
    """Whether a generalised cell matches the values that it contains, for all of some checks."""
    models = [check.model for check in checks]
    return all(isinstance(each, ReferenceModel) and each.match != "exact" for each in models)
