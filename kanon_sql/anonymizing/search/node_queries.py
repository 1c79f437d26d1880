"""SQL queries on lattice nodes, several nodes per statement: class sizes, violating classes, and
the loss of suppressed records.

Every query reads one set with the place of each raw value at every level, so that a node is a
choice of GROUP BY columns.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from kanon_sql.anonymizing.search.costs import Portion, Suppressed
from kanon_sql.anonymizing.search.frequency_sets import FrequencySets
from kanon_sql.anonymizing.search.lattice import Node
from kanon_sql.anonymizing.search.other_sets import EarlierSets, NodeOfSet, ReferenceSets
from kanon_sql.anonymizing.search.qi_levels import PRIVATE, Levels, QuasiIdentifier
from kanon_sql.sql.macros import render
from kanon_sql.sql.tables import Row

_LEVELS = f"{PRIVATE}frequency_set_at_all_levels"
_SEARCHED = f"{PRIVATE}searched_set_at_all_levels"


@dataclass(frozen=True)
class _Asked:
    """A node in a statement about class sizes."""

    number: int
    set: str
    columns: Sequence[str]
    levels: Sequence[int] = ()
    constant: Sequence[bool] = ()
    size: int = 1


class _StandsFor(NamedTuple):
    """A quasi-identifier with what is needed to compute how much each of its labels covers."""

    place: int
    values: str
    highest: int
    leaves: str | None
    """The relation with the number of leaves under each label, if a hierarchy lists them."""


class Judged(NamedTuple):
    """Nodes evaluated against all checks: class sizes and statistics of suppressed records."""

    sizes: dict[Node, Row]
    suppressed: dict[Node, Suppressed]


@dataclass(frozen=True)
class NodeQueries:
    """The queries on the nodes of one lattice, by the highest level of each quasi-identifier."""

    sets: FrequencySets
    highest: Levels

    @property
    def lossy(self) -> list[QuasiIdentifier]:
        """The quasi-identifiers that can lose information."""
        return [
            each for each in self.sets.quasi_identifiers if each.levels.height and each.leaves > 1
        ]

    def sizes(self, nodes: Sequence[Node], below: Sequence[int], saying: str) -> dict[Node, Row]:
        """Class size aggregates of some nodes, with the numbers of classes and records below
        sizes."""
        asked = [
            _Asked(number, self._set, self._columns(node)) for number, node in enumerate(nodes)
        ]
        rows = self.sets.fetch(
            "sizes_of_nodes",
            f"How many classes does each of {len(nodes)} nodes have, by size?{saying}",
            render("sizes_of_nodes", nodes=asked, sizes=below, entity=self.sets.bound.entity),
        )
        return {nodes[int(row["kanon_node"])]: row for row in rows}

    def small(self, nodes: Sequence[Node], size: int) -> dict[Node, Suppressed]:
        """Statistics of the records in classes below a size, for some nodes."""
        asked = []
        for number, node in enumerate(nodes):
            levels = [node[each.place - 1] for each in self.lossy]
            constant = [
                each.attribute.distinct[level] <= 1
                for each, level in zip(self.lossy, levels, strict=True)
            ]
            asked.append(_Asked(number, self._set, self._columns(node), levels, constant, size))
        entity = self.sets.bound.entity
        return self._lost(
            nodes,
            render("small_classes_of_nodes", nodes=asked, keys=self._lossy_keys, entity=entity),
        )

    def judged(self, nodes: Sequence[Node], k: int, below: Sequence[int]) -> Judged:
        """Count some nodes' classes by the checks on classes, with what the violating ones lose."""
        keys = [each.key for each in self.sets.quasi_identifiers]
        lossy = [each.place - 1 for each in self.lossy]
        asked = [
            NodeOfSet(number, node, self._searched_set, lossy) for number, node in enumerate(nodes)
        ]
        of_nodes = self.sets.materialise(
            f"{PRIVATE}nodes",
            f"How many records share each combination of values at each of {len(nodes)} nodes?",
            render("sets_of_nodes", nodes=asked, keys=keys, carried=self.sets.searched_columns),
        )
        keys = ["kanon_at_node", *keys]
        violating = self.sets.materialise(
            f"{PRIVATE}violating_of_nodes",
            "Which classes of each node violate a check?",
            self._violating(of_nodes, keys, asked, k),
        )
        rows = self.sets.fetch(
            "sizes_of_kept",
            "How many classes of each node pass, and how many of them are small?",
            render(
                "sizes_of_kept",
                set=of_nodes,
                violating=violating,
                keys=keys,
                sizes=below,
                entity=self.sets.bound.entity,
            ),
        )
        suppressed = self._lost(
            nodes,
            render(
                "violating_classes_of_nodes",
                nodes=asked,
                keys=self._lossy_keys,
                violating=violating,
            ),
        )
        self.sets.drop(violating)
        self.sets.drop(of_nodes)
        return Judged(
            {nodes[int(row["kanon_node"])]: row for row in rows},
            suppressed,
        )

    def violating_beside(self, node: Node) -> list[str]:
        """One SELECT for each reference and earlier release: the classes of a node, by their
        places, that have too few people in the reference, or in which someone's crowd across both
        releases is too small."""
        keys = [each.key for each in self.sets.quasi_identifiers]
        names = (each.name for each in self.sets.quasi_identifiers)
        found = self.sets.at(dict(zip(names, node, strict=True))).name
        return [
            *self._references.violating(found, keys, [NodeOfSet(0, node)]),
            *self._earlier.violating(found, keys),
        ]

    def portions(self) -> dict[int, list[list[Portion]]]:
        """By position of each quasi-identifier and by level: its records grouped by loss."""
        found: dict[int, list[list[Portion]]] = {
            each.place: [[] for _ in range(self.highest[each.name] + 1)] for each in self.lossy
        }
        for row in self.sets.fetch(
            "portions",
            "How many records lose how much at each level?",
            render("portions_of_levels", labels=[*map(self._stands_for, self.lossy)]),
        ):
            found[int(row["kanon_number"])][int(row["kanon_level"])].append(
                Portion(
                    int(row["kanon_records"]),
                    int(row["kanon_leaves_more"]),
                    int(row["kanon_under_label"]),
                )
            )
        return found

    # --- internal ---------------------------------------------------------------------------

    def _violating(self, set: str, keys: Sequence[str], nodes: Sequence[NodeOfSet], k: int) -> str:
        """SQL of the classes of some nodes that violate any check."""
        is_whole = self.sets.are_spread_by_node
        return render(
            "violating_by_any",
            statements=[
                self.sets.violating_among(keys, set, k, is_whole=is_whole),
                *self._references.violating(set, keys, nodes),
                *self._earlier.violating(set, keys),
            ],
        )

    def _columns(self, node: Node) -> list[str]:
        """The columns by which the set at all levels is grouped for a node."""
        return [
            f"{each.key}_{level}"
            for each, level in zip(self.sets.quasi_identifiers, node, strict=True)
            if each.attribute.distinct[level] > 1
        ]

    def _lost(self, nodes: Sequence[Node], suppressed: str) -> dict[Node, Suppressed]:
        """Statistics of suppressed classes by node; the rows of `suppressed` carry its number."""
        rows = self.sets.fetch(
            "lost_by_nodes",
            "How much information do the suppressed records of each node lose?",
            render(
                "lost_by_nodes",
                suppressed=suppressed,
                keys=self._lossy_keys,
                labels=[self._labels(each) for each in self.lossy],
            ),
        )
        return {
            nodes[int(row["kanon_node"])]: Suppressed(
                int(row["kanon_records"]),
                {each.place - 1: int(row[f"kanon_leaves_more_{each.key}"]) for each in self.lossy},
                {each.place - 1: float(row[f"kanon_bits_{each.key}"]) for each in self.lossy},
            )
            for row in rows
        }

    def _labels(self, each: QuasiIdentifier) -> str:
        """Materialise how much each label of a quasi-identifier covers."""
        name = f"{PRIVATE}labels_of_levels_{each.place}"
        if self.sets.keeps(name):
            return name
        _, values, highest, leaves = self._stands_for(each)
        return self.sets.materialise(
            name,
            f"How many leaves and records does each label of {each.name} cover at each level?",
            render("labels_of_levels", values=values, highest=highest, leaves=leaves),
        )

    def _stands_for(self, each: QuasiIdentifier) -> _StandsFor:
        highest = self.highest[each.name]
        return _StandsFor(each.place, each.values, highest, self._leaves(each, highest))

    def _leaves(self, each: QuasiIdentifier, highest: int) -> str | None:
        """Materialise the number of leaves under each label, if a hierarchy lists them."""
        name, table = f"{PRIVATE}leaves_of_levels_{each.place}", each.levels.table
        if not table or not highest:
            return None
        if self.sets.keeps(name):
            return name
        rows = [
            (level, label, count)
            for level in range(1, highest + 1)
            for label, count in (
                {"*": each.leaves}
                if level > table.height
                else Counter(table.labels(level).values())
            ).items()
        ]
        return self.sets.materialise_rows(
            name, ("kanon_level", "kanon_label", "kanon_leaves"), rows
        )

    @property
    def _lossy_keys(self) -> list[str]:
        return [each.key for each in self.lossy]

    @cached_property
    def _references(self) -> ReferenceSets:
        return ReferenceSets(self.sets, self.highest)

    @cached_property
    def _earlier(self) -> EarlierSets:
        return EarlierSets(self.sets)

    @cached_property
    def _set(self) -> str:
        """The set for class sizes: with the entity, without sensitive values."""
        return self.sets.at_all_levels(_LEVELS, self.highest, self.sets.by_people)

    @cached_property
    def _searched_set(self) -> str:
        """The set with every column that a check reads."""
        if len(self.sets.searched_columns) == len(self.sets.by_people):
            return self._set
        return self.sets.at_all_levels(_SEARCHED, self.highest, self.sets.searched_columns)
