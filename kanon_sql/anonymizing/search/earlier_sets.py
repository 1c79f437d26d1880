"""Earlier releases in the search: finds classes of a node in which a person's crowd, the people who
share their class in both releases, is too small."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from kanon_sql.anonymizing.search.frequency_sets import FrequencySets
from kanon_sql.anonymizing.search.qi_levels import PRIVATE
from kanon_sql.plan.join_columns import of_both_releases
from kanon_sql.plan.question import BoundEarlier, Pair
from kanon_sql.plan.steps import earlier_records
from kanon_sql.plan.violating_classes import crowds_demanded
from kanon_sql.sql.macros import render


@dataclass(frozen=True)
class EarlierSets:
    """The people of each earlier release with a crowd check, with their classes in that release."""

    sets: FrequencySets

    def violating(self, set: str, keys: Sequence[str]) -> Iterator[str]:
        """One SELECT for each earlier release: the classes of a materialised frequency set in which
        someone's crowd is too small. `keys` are the columns that identify a class; with several
        nodes, the node number is one of them."""
        for name, k in crowds_demanded(self.sets.bound).items():
            yield render(
                "classes_beside_earlier",
                set=set,
                keys=keys,
                before=self._kept[name],
                entities=self._entities(self.sets.bound.earlier[name]),
                k=k,
            )

    # --- internal ---------------------------------------------------------------------------

    def _entities(self, earlier: BoundEarlier) -> Pair:
        entity = self.sets.bound.entity
        assert entity is not None
        return of_both_releases(self.sets.bound, earlier, entity, earlier.entity)

    @cached_property
    def _kept(self) -> dict[str, str]:
        """The temporary relation of each earlier release's people, by release name."""
        earlier = self.sets.bound.earlier
        return {
            name: self._keep(place, earlier[name])
            for place, name in enumerate(crowds_demanded(self.sets.bound), start=1)
        }

    def _keep(self, place: int, earlier: BoundEarlier) -> str:
        columns = list(earlier.quasi_identifiers)
        entity = replace(earlier.entity, alias="kanon_entity")
        referred = [
            replace(each, name=name, alias=name, generalised=None, joined=None)
            for number, each in enumerate(columns, start=1)
            for name in [f"kanon_referred_{number}"]
        ]
        found = self.sets.keep_beside(
            f"{PRIVATE}earlier_{place}",
            f"Who is in {earlier.table.name}?",
            render(
                "reference_set",
                relation=earlier_records(earlier, [*columns, entity]),
                columns=columns,
                others=[entity],
            ),
            [*referred, replace(entity, name="kanon_entity")],
        )
        return self.sets.keep(
            f"{PRIVATE}people_before_{place}",
            f"In which classes of {earlier.table.name} is each of them?",
            render("people_before", set=found, columns=columns, entities=self._entities(earlier)),
        )
