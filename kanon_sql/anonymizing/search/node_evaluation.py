"""The evaluation of lattice nodes in SQL: each once, several per statement.

Class sizes are counted first, for a batch of nodes at once; they rule out most nodes. The other
checks on classes, and the loss of suppressed records, are queried only for nodes whose sizes
suffice. Every query reads one set with the place of each raw value at every level, so that a node
is a choice of GROUP BY columns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property

from kanon_sql.anonymizing.search.costs import (
    CellCosts,
    ClassCosts,
    ClassCounts,
    ColumnCosts,
    Portion,
    Preferences,
    Suppressed,
)
from kanon_sql.anonymizing.search.frequency_sets import FrequencySets
from kanon_sql.anonymizing.search.lattice import (
    PRIVATE,
    Ladder,
    Lattice,
    Levels,
    Node,
    QuasiIdentifier,
)
from kanon_sql.anonymizing.search.losses import Loss, leaves_of_labels, metrics
from kanon_sql.anonymizing.search.optimal import AT_ONCE, NodeCounts
from kanon_sql.anonymizing.search.table_constraints import (
    EarlierSets,
    NodeOfSet,
    ReferenceSets,
    audited_checks,
    bounds_of_all,
)
from kanon_sql.anonymizing.violating_classes import (
    class_size,
    closed_under_merging,
    is_monotone,
    reference_requirements,
    required_crowds,
    sensitive_requirements,
    with_k,
)
from kanon_sql.results.release import MetricName, Metrics
from kanon_sql.results.release import Suppressed as SuppressedAs
from kanon_sql.sql.macros import render
from kanon_sql.sql.tables import Row

_LEVELS = f"{PRIVATE}frequency_set_at_all_levels"
_SEARCHED = f"{PRIVATE}searched_set_at_all_levels"


@dataclass(frozen=True)
class NodeQueries:
    """The queries on the nodes of one lattice, by the highest level of each quasi-identifier."""

    sets: FrequencySets
    highest: Levels
    kept: str | None = None
    """A materialised set at all levels with every column that a check may read, if there is one."""

    @cached_property
    def lossy(self) -> list[QuasiIdentifier]:
        """The quasi-identifiers that can lose information."""
        return [column for column in self.sets.quasi_identifiers if column.can_lose]

    def sizes(self, nodes: Sequence[Node], below: Sequence[int], progress: str) -> dict[Node, Row]:
        """Class size aggregates of some nodes, with the numbers of classes and records below
        sizes."""
        rows = self.sets.fetch(
            "sizes_of_nodes",
            f"How many classes does each of {len(nodes)} nodes have, by size?{progress}",
            render(
                "sizes_of_nodes",
                nodes=self._set_nodes(self._set, nodes),
                sizes=below,
                entity=self.sets.question.entity,
            ),
        )
        return {nodes[int(row["kanon_node"])]: row for row in rows}

    def small(self, nodes: Sequence[Node], size: int) -> dict[Node, Suppressed]:
        """Statistics of the records in classes below a size, for some nodes."""
        set_nodes = self._set_nodes(self._set, nodes)
        classes = render(
            "small_classes_of_nodes",
            nodes=set_nodes,
            lossy=self.lossy,
            size=size,
            entity=self.sets.question.entity,
        )
        return self._lost(set_nodes, f"({classes})")

    def judged(
        self, nodes: Sequence[Node], k: int, below: Sequence[int]
    ) -> tuple[dict[Node, Row], dict[Node, Suppressed]]:
        """Count some nodes' classes by all checks on classes; and what the violating ones lose."""
        with self._violating(nodes, k) as (of_nodes, keys, violating):
            rows = self.sets.fetch(
                "sizes_of_kept",
                "How many classes of each node pass, and how many of them are small?",
                render(
                    "sizes_of_kept",
                    set=of_nodes,
                    violating=violating,
                    keys=keys,
                    sizes=below,
                    entity=self.sets.question.entity,
                ),
            )
            suppressed = self._lost(self._set_nodes(self._searched_set, nodes), violating)
        return {nodes[int(row["kanon_node"])]: row for row in rows}, suppressed

    def violating(self, nodes: Sequence[Node], k: int) -> dict[Node, Suppressed]:
        """Statistics of the records in classes that violate any check, for some nodes."""
        with self._violating(nodes, k) as (_, _, violating):
            return self._lost(self._set_nodes(self._searched_set, nodes), violating)

    @contextmanager
    def _violating(self, nodes: Sequence[Node], k: int) -> Iterator[tuple[str, Sequence[str], str]]:
        """The classes of some nodes with their keys, and those that violate a check, which are
        dropped afterwards."""
        sets, set_nodes = self.sets, self._set_nodes(self._searched_set, nodes)
        keys = [column.key for column in sets.quasi_identifiers]
        of_nodes = sets.materialise(
            f"{PRIVATE}nodes",
            f"How many records share each combination of values at each of {len(nodes)} nodes?",
            render(
                "frequency_set_of_nodes", nodes=set_nodes, keys=keys, carried=sets.searched_columns
            ),
        )
        keys = ["kanon_at_node", *keys]
        statements = [
            sets.violating_among(keys, of_nodes, k, is_whole=sets.are_spread_by_node),
            *self._references.violating(of_nodes, keys, set_nodes),
            *self._earlier.violating(of_nodes, keys),
        ]
        violating = sets.materialise(
            f"{PRIVATE}violating_of_nodes",
            "Which classes of each node violate a check?",
            render("violating_by_any", statements=statements),
        )
        try:
            yield of_nodes, keys, violating
        finally:
            sets.drop(violating)
            sets.drop(of_nodes)

    def violating_against_others(self, node: Node) -> list[str]:
        """One SELECT for each reference and earlier release: the classes of a node, by their
        places, that have too few people in the reference, or in which someone's crowd across both
        releases is too small."""
        keys = [column.key for column in self.sets.quasi_identifiers]
        names = (column.name for column in self.sets.quasi_identifiers)
        classes = self.sets.at(dict(zip(names, node, strict=True))).name
        return [
            *self._references.violating(classes, keys, [NodeOfSet(0, node)]),
            *self._earlier.violating(classes, keys),
        ]

    def portions(self) -> dict[int, list[list[Portion]]]:
        """By position of each quasi-identifier and by level: its records grouped by loss."""
        portions: dict[int, list[list[Portion]]] = {
            column.number: [[] for _ in range(self.highest[column.name] + 1)]
            for column in self.lossy
        }
        labels = {column.number: self._labels(column) for column in self.lossy}
        for row in self.sets.fetch(
            "portions",
            "How many records lose how much at each level?",
            render("portions_of_levels", labels=labels),
        ):
            portions[int(row["kanon_number"])][int(row["kanon_level"])].append(
                Portion(
                    int(row["kanon_records"]),
                    int(row["kanon_leaves_more"]),
                    int(row["kanon_under_label"]),
                )
            )
        return portions

    # --- internal ---------------------------------------------------------------------------

    def _set_nodes(self, set: str, nodes: Sequence[Node]) -> list[NodeOfSet]:
        """The nodes as statements on the set at all levels read them."""
        return [
            NodeOfSet(
                number,
                node,
                set,
                [
                    f"{column.key}_{level}"
                    for column, level in zip(self.sets.quasi_identifiers, node, strict=True)
                    if column.attribute.distinct[level] > 1
                ],
                [
                    column.key
                    for column in self.lossy
                    if column.attribute.distinct[node[column.number - 1]] <= 1
                ],
            )
            for number, node in enumerate(nodes)
        ]

    def _lost(self, nodes: Sequence[NodeOfSet], suppressed: str) -> dict[Node, Suppressed]:
        """Statistics of suppressed classes by node; each class carries the number of its node."""
        rows = self.sets.fetch(
            "lost_by_nodes",
            "How much information do the suppressed records of each node lose?",
            render(
                "lost_by_nodes",
                suppressed=suppressed,
                nodes=nodes,
                lossy=self.lossy,
                labels={column.key: self._labels(column) for column in self.lossy},
            ),
        )
        return {
            nodes[int(row["kanon_node"])].levels: Suppressed(
                int(row["kanon_records"]),
                {qi.number - 1: int(row[f"kanon_leaves_more_{qi.key}"]) for qi in self.lossy},
                {qi.number - 1: float(row[f"kanon_bits_{qi.key}"]) for qi in self.lossy},
            )
            for row in rows
        }

    def _labels(self, column: QuasiIdentifier) -> str:
        """Materialise how much each label of a quasi-identifier covers."""
        name = f"{PRIVATE}labels_of_levels_{column.number}"
        if self.sets.keeps(name):
            return name
        return self.sets.materialise(
            name,
            f"How many leaves and records does each label of {column.name} cover at each level?",
            render(
                "labels_of_levels",
                values=column.values,
                highest=self.highest[column.name],
                leaves=leaves_of_labels(self.sets, column),
            ),
        )

    @cached_property
    def _references(self) -> ReferenceSets:
        return ReferenceSets(self.sets, self.highest)

    @cached_property
    def _earlier(self) -> EarlierSets:
        return EarlierSets(self.sets)

    @cached_property
    def _set(self) -> str:
        """The set for class sizes: with the entity, without sensitive values."""
        return self.kept or self.sets.at_all_levels(_LEVELS, self.highest, self.sets.by_people)

    @cached_property
    def _searched_set(self) -> str:
        """The set with every column that a check reads."""
        if self.kept or len(self.sets.searched_columns) == len(self.sets.by_people):
            return self._set
        return self.sets.at_all_levels(_SEARCHED, self.highest, self.sets.searched_columns)


Costs = CellCosts | ClassCosts
MOST_KEPT = 2_000_000
"""Maximum number of combinations materialised at once over all nodes of a batch."""


class LatticeStatistics:
    """The counts at the nodes of one lattice, for one or more values of k; cached."""

    def __init__(
        self,
        sets: FrequencySets,
        preferred: Preferences,
        ks: Sequence[int],
        suppressed_as: SuppressedAs = "remove",
    ) -> None:
        self.sets, self._starred = sets, suppressed_as == "star"
        # References and earlier releases match by label, so a pure renaming of labels matters.
        is_compared = bool(reference_requirements(sets.question) or required_crowds(sets.question))
        highest = preferred.highest_of(sets.quasi_identifiers)
        self.lattice = Lattice(
            tuple(
                _ladder(column, highest[column.name], is_alone=not is_compared)
                for column in sets.quasi_identifiers
            )
        )
        self.bounds = {k: with_k(sets.question, k) for k in ks}
        self.table_bounds, self.audited = (
            bounds_of_all(sets.question),
            audited_checks(sets.question),
        )
        thresholds = {bound.below for bound in self.table_bounds if bound.below is not None}
        sizes = {self._least_size(k) for k in ks}
        self._sizes = sorted(sizes | thresholds)
        self.queries = NodeQueries(sets, highest)
        self.asks_more = is_compared or bool(sensitive_requirements(sets.question))
        """Whether checks need more of a class than its number of records."""
        self._rows: dict[Node, Row] = {}
        self._counted: dict[tuple[Node, int], ClassCounts] = {}
        self._suppressed: dict[tuple[Node, int], Suppressed] = {}
        self.passes: dict[tuple[Node, int], bool] = {}
        """Outcomes of the audits at nodes."""

    @property
    def looked_at(self) -> Sequence[Node]:
        """The nodes whose class sizes were counted."""
        return tuple(self._rows)

    @cached_property
    def records(self) -> int:
        """Number of records."""
        row = self._row(self.lattice.bottom)
        return int(row["kanon_records"])

    def levels(self, node: Node) -> dict[str, int]:
        names = (column.name for column in self.sets.quasi_identifiers)
        return dict(zip(names, node, strict=True))

    def below(self, node: Node, k: int) -> int:
        """Number of records in classes that are too small."""
        return int(self._row(node)[f"kanon_records_below_{self._least_size(k)}"])

    def count(self, nodes: Sequence[Node], *, progress: str = "") -> None:
        """Count the classes of some nodes, and the small ones among them."""
        missing = [node for node in dict.fromkeys(nodes) if node not in self._rows]
        for start in range(0, len(missing), AT_ONCE):
            batch = missing[start : start + AT_ONCE]
            self._rows |= self.queries.sizes(batch, self._sizes, progress)

    def counted(self, node: Node, k: int) -> ClassCounts:
        """Counts of a node's classes after all checks."""
        self.judge([node], k)
        return self._counted[node, k]

    def judge(self, nodes: Sequence[Node], k: int) -> None:
        """Evaluate the classes of some nodes against all checks."""
        missing = [node for node in dict.fromkeys(nodes) if (node, k) not in self._counted]
        if not self.asks_more:
            self.count(missing)
            self._counted |= {(node, k): self._by_size(node, k) for node in missing}
            return
        for start in range(0, len(missing), self._at_once):
            batch = missing[start : start + self._at_once]
            sizes, suppressed = self.queries.judged(batch, k, self._thresholds)
            self._counted |= {(node, k): self._by_all_checks(row) for node, row in sizes.items()}
            self._suppressed |= {(node, k): result for node, result in suppressed.items()}

    def suppressed(self, nodes: Sequence[Node], k: int) -> dict[Node, Suppressed]:
        """Statistics of the suppressed records of some nodes."""
        self.judge(nodes, k)
        missing = [node for node in nodes if (node, k) not in self._suppressed]
        for node in missing:
            if not self.counted(node, k).violating:
                self._suppressed[node, k] = Suppressed(0, {}, {})
        unqueried = [node for node in missing if (node, k) not in self._suppressed]
        for start in range(0, len(unqueried), AT_ONCE):
            batch = unqueried[start : start + AT_ONCE]
            suppressed = self.queries.small(batch, self._least_size(k))
            self._suppressed |= {(node, k): result for node, result in suppressed.items()}
        return {node: self._suppressed[node, k] for node in nodes}

    def satisfies(self, counted: ClassCounts, k: int) -> bool:
        """Whether a node may be released, by the numbers of its classes and records."""
        if self._starred and counted.violating:
            # The suppressed records are a class of the release.
            return counted.violating >= self._least_size(k)
        return not counted.kept or all(bound.holds(counted) for bound in self.table_bounds)

    def needs_audit(self, node: Node, k: int) -> bool:
        """Whether the counts of a satisfying node leave open if its release passes every check: a
        check is decided by no class, or the suppressed records stay as a class of `*`."""
        counted = self.counted(node, k)
        if self._starred and counted.violating:
            return bool(
                self.asks_more or self.table_bounds or self.audited or self.sets.question.entity
            )
        return bool(self.audited and counted.kept)

    # --- losses and metrics -----------------------------------------------------------------

    @cached_property
    def columns(self) -> tuple[ColumnCosts, ...]:
        """The quasi-identifiers that can lose information."""
        lossy = self.queries.lossy
        portions = self.queries.portions() if lossy else {}
        return tuple(
            ColumnCosts(
                column.number - 1,
                column.leaves,
                column.levels.height,
                portions[column.number],
                ladder.climbs,
            )
            for column in lossy
            for ladder in [self.lattice.ladders[column.number - 1]]
        )

    def costs(
        self, metric: MetricName, k: int, max_suppressed: int, weights: Mapping[str, float]
    ) -> Costs:
        """The costs of nodes by a metric."""
        if metric in ("discernibility", "average_class_size"):
            return ClassCosts(
                metric,
                self.records,
                max_suppressed,
                max(self._least_size(k), 1),
                not self.asks_more and not self.sets.question.entity,
                [column.attribute.distinct for column in self.sets.quasi_identifiers],
                lambda node: self.counted(node, k),
            )
        places = {column.name: column.number - 1 for column in self.sets.quasi_identifiers}
        return CellCosts(
            self.columns,
            metric,
            {places[name]: weight for name, weight in weights.items()},
            is_monotone(self.bounds[k])
            and not any(column.levels.faults for column in self.queries.lossy),
        )

    def losses(self, node: Node, suppressed: Suppressed) -> dict[str, float]:
        """The loss of each quasi-identifier at a node without these records, by Iyengar's metric.
        No class is counted."""
        costs = CellCosts(self.columns, "loss", {})
        return {
            self.sets.quasi_identifiers[column.index].name: costs.lost(
                column, node[column.index], suppressed
            )
            / column.records
            for column in self.columns
        }

    def metrics(self, node: Node, k: int, weights: Mapping[str, float]) -> Metrics:
        """Every metric of a release at this node."""
        suppressed, counted = self.suppressed([node], k)[node], self.counted(node, k)
        by_name = [self.sets.quasi_identifiers[column.index].name for column in self.columns]

        def lost(metric: MetricName) -> list[float]:
            costs = CellCosts(self.columns, metric, {})
            return [costs.lost(column, node[column.index], suppressed) for column in self.columns]

        return metrics(
            [
                Loss(name, climbed / self.records, leaves / self.records, bits, column.bits)
                for column, name, climbed, leaves, bits in zip(
                    self.columns,
                    by_name,
                    lost("precision"),
                    lost("loss"),
                    lost("non_uniform_entropy"),
                    strict=True,
                )
            ],
            {
                "kanon_released": counted.kept,
                "kanon_classes": counted.classes,
                "kanon_squares": counted.squares,
            },
            records=self.records,
            suppressed=suppressed.records,
            weights=weights,
        )

    # --- internal ---------------------------------------------------------------------------

    def _least_size(self, k: int) -> int:
        """The class size that all checks on sizes require, for this k."""
        return class_size(self.bounds[k].checks) or 1

    def _row(self, node: Node) -> Row:
        self.count([node])
        return self._rows[node]

    @cached_property
    def _at_once(self) -> int:
        """Number of nodes evaluated per batch, limited by the size of their materialised sets."""
        if self.sets.are_spread_by_node:
            return 1
        classes = int(self._row(self.lattice.bottom)["kanon_classes"])
        return max(1, min(AT_ONCE, MOST_KEPT // max(1, classes)))

    def _by_size(self, node: Node, k: int) -> ClassCounts:
        row, size = self._row(node), self._least_size(k)

        def below(counted: str) -> int:
            return int(row[f"kanon_{counted}_below_{size}"])

        return ClassCounts(
            below("records"),
            int(row["kanon_records"]) - below("records"),
            int(row["kanon_classes"]) - below("classes"),
            int(row["kanon_squares"]) - below("squares"),
            int(row["kanon_squares"]),
            {
                threshold: max(0, int(row[f"kanon_records_below_{threshold}"]) - below("records"))
                for threshold in self._thresholds
            },
        )

    def _by_all_checks(self, row: Row) -> ClassCounts:
        violating = int(row["kanon_violating_records"])
        return ClassCounts(
            violating,
            self.records - violating,
            int(row["kanon_classes"]) - int(row["kanon_violating_classes"]),
            int(row["kanon_squares"]) - int(row["kanon_violating_squares"]),
            int(row["kanon_squares"]),
            {size: int(row[f"kanon_records_below_{size}"]) for size in self._thresholds},
        )

    @property
    def _thresholds(self) -> list[int]:
        return sorted({bound.below for bound in self.table_bounds if bound.below is not None})


@dataclass(frozen=True)
class NodeEvaluator:
    """Evaluates nodes against the checks for one k."""

    nodes: LatticeStatistics
    k: int
    max_suppressed: int
    cost_model: Costs
    audit: Callable[[Node, int], bool]
    """Whether the release at a node passes its audit, for a value of k."""
    progress: Callable[[], str] = field(default=lambda: "")

    def counts(self, nodes: Sequence[Node]) -> dict[Node, NodeCounts]:
        self.nodes.count(nodes, progress=self.progress())
        return self._all_counts(nodes)

    def costs(self, nodes: Sequence[Node]) -> dict[Node, float]:
        if isinstance(self.cost_model, ClassCosts):
            by_node = {node: self.cost_model.cost(node) for node in nodes}
            return {node: cost for node, cost in by_node.items() if cost is not None}
        if self.cost_model.needs_only_count:
            counts = {node: self.nodes.counted(node, self.k).violating for node in nodes}
            suppressed = {node: Suppressed(count, {}, {}) for node, count in counts.items()}
        else:
            suppressed = self.nodes.suppressed(nodes, self.k)
        return {node: self.cost_model.cost(node, suppressed[node]) for node in nodes}

    def passes(self, node: Node) -> bool:
        if not self.nodes.needs_audit(node, self.k):
            return True
        if (node, self.k) not in self.nodes.passes:
            self.nodes.passes[node, self.k] = self.audit(node, self.k)
        return self.nodes.passes[node, self.k]

    def known(self) -> dict[Node, NodeCounts]:
        """The counts of all nodes evaluated so far."""
        return self._all_counts(self.nodes.looked_at)

    def _all_counts(self, nodes: Sequence[Node]) -> dict[Node, NodeCounts]:
        candidates = [
            node for node in nodes if self.nodes.below(node, self.k) <= self.max_suppressed
        ]
        self.nodes.judge(candidates, self.k)
        return {node: self._node_counts(node) for node in nodes}

    def _node_counts(self, node: Node) -> NodeCounts:
        below = self.nodes.below(node, self.k)
        if below > self.max_suppressed:
            return NodeCounts(below, below, satisfies=False)
        counted = self.nodes.counted(node, self.k)
        violating = counted.violating
        question = self.nodes.bounds[self.k]
        prunes = is_monotone(question) or (
            not self.max_suppressed and closed_under_merging(question)
        )
        satisfies = violating <= self.max_suppressed and self.nodes.satisfies(counted, self.k)
        return NodeCounts(violating if prunes else below, violating, satisfies)


def _ladder(column: QuasiIdentifier, highest: int, *, is_alone: bool) -> Ladder:
    distinct, may_be_idle = column.attribute.distinct, is_alone and not column.levels.faults
    nested = [level == 0 or column.nested(level) for level in range(highest + 1)]
    idle = [
        level > 0 and may_be_idle and nested[level] and distinct[level] == distinct[level - 1]
        for level in range(highest + 1)
    ]
    return Ladder(column.name, highest, nested, idle)
