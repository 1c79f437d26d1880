"""The people of a project's models: which keys are the same, which models compose."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations

from kanon_sql.results.lineage import ComposedTest, Composition, ModelLineage
from kanon_sql.sql.flow_rules import DERIVED, Origin
from kanon_sql.sql.query_scope import Relation

OF_A_PERSON = ("quasi_identifier", "event", "personal", "sensitive")
"""The roles that tell something of a person."""


class People:
    """The classes of identifiers and entities that belong to the same people (union-find)."""

    def __init__(self, same: Iterable[tuple[Origin, Origin]]) -> None:
        self._above: dict[Origin, Origin] = {}
        for one, other in same:
            first, second = sorted((self._top(one), self._top(other)), key=_rank)
            if first != second:
                self._above[second] = first

    def _top(self, origin: Origin) -> Origin:
        while origin in self._above:
            origin = self._above[origin]
        return origin

    def classes(self, origins: Iterable[Origin]) -> tuple[str, ...]:
        """The classes of some origins by name; of entities alone where there are any."""
        tops = {self._top(origin) for origin in origins}
        entities = {top for top in tops if top.role == "entity"}
        return tuple(sorted(f"{top.node}.{top.column}" for top in entities or tops))


def _rank(origin: Origin) -> tuple[bool, Origin]:
    """Entities stand for a class before identifiers."""
    return origin.role != "entity", origin


def compositions(
    models: Sequence[ModelLineage], relations: Mapping[str, Relation], people: People
) -> Iterator[Composition]:
    """The published models of records about the same people that tell more together."""
    by_people: dict[str, list[ModelLineage]] = {}
    carried: dict[str, set[str]] = {}
    for model in models:
        if not model.published or model.kind == "groups":
            continue
        columns = [column for _, column in relations[model.unique_id].columns]
        carried[model.name] = {
            f"{origin.node}.{origin.column}"
            for column in columns
            for origin, how in column.flows.items()
            if origin.role in OF_A_PERSON and how <= DERIVED
        }
        keys = {each for column in columns for each in column.persons}
        for name in people.classes(keys):
            by_people.setdefault(name, []).append(model)
    for name, about in sorted(by_people.items()):
        ordered = sorted(about, key=lambda each: each.name)
        together = set().union(*(carried[model.name] for model in about))
        beyond = {
            model.name: tuple(sorted(together - carried[model.name]))
            for model in ordered
            if together - carried[model.name]
        }
        if beyond:
            yield Composition(
                name,
                tuple(model.name for model in ordered),
                tuple(sorted(together)),
                beyond,
                tuple(_proposed(ordered)),
            )


def _proposed(models: Sequence[ModelLineage]) -> Iterator[ComposedTest]:
    """A test of each pair that both have quasi-identifiers and one entity."""
    for model, earlier in combinations(models, 2):
        own, other = (
            [column.name for column in each.columns if column.role == "quasi_identifier"]
            for each in (model, earlier)
        )
        if own and other and model.entity and earlier.entity:
            arguments = {
                "quasi_identifiers": own,
                "entity": model.entity[0],
                "earlier": f"ref('{earlier.name}')",
                "earlier_quasi_identifiers": other,
                "earlier_entity": earlier.entity[0],
            }
            yield ComposedTest(model.name, "composed_k_anonymity", arguments)
