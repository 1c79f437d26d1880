"""Evaluates lattice nodes for the optimal search in SQL, each once and several per statement.

Class sizes are counted first, for a batch of nodes at once; they rule out most nodes. The other
checks on classes run only for nodes whose sizes suffice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from kanon_sql.anonymizing.search.costs import CellCosts, ClassCosts, ColumnCosts, Sizes, Suppressed
from kanon_sql.anonymizing.search.frequency_sets import FrequencySets
from kanon_sql.anonymizing.search.lattice import Ladder, Lattice, Node
from kanon_sql.anonymizing.search.losses import Loss, metrics
from kanon_sql.anonymizing.search.node_queries import NodeQueries
from kanon_sql.anonymizing.search.optimal import AT_ONCE, NodeCounts
from kanon_sql.anonymizing.search.preferences import Preferences
from kanon_sql.anonymizing.search.qi_levels import QuasiIdentifier
from kanon_sql.anonymizing.search.table_constraints import (
    ClassCounts,
    audited_checks,
    bounds_of_all,
)
from kanon_sql.plan.violating_classes import (
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
from kanon_sql.sql.tables import Row

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
        is_alone = not (reference_requirements(sets.bound) or required_crowds(sets.bound))
        self.lattice = Lattice(
            tuple(
                _ladder(each, preferred.highest(each.name, each.levels.height), is_alone)
                for each in sets.quasi_identifiers
            )
        )
        self.bounds = {k: with_k(sets.bound, k) for k in ks}
        self.whole, self.audited = bounds_of_all(sets.bound), audited_checks(sets.bound)
        thresholds = {each.below for each in self.whole if each.below is not None}
        sizes = {self._least_size(k) for k in ks}
        self._sizes = sorted(sizes | thresholds)
        highest = {each.name: each.highest for each in self.lattice.ladders}
        self._questions = NodeQueries(sets, highest)
        self.asks_more = bool(
            sensitive_requirements(sets.bound)
            or reference_requirements(sets.bound)
            or required_crowds(sets.bound)
        )
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
        names = (each.name for each in self.sets.quasi_identifiers)
        return dict(zip(names, node, strict=True))

    def below(self, node: Node, k: int) -> int:
        """Number of records in classes that are too small."""
        return int(self._row(node)[f"kanon_records_below_{self._least_size(k)}"])

    def count(self, nodes: Sequence[Node], *, saying: str = "") -> None:
        """Count the classes of some nodes, and the small ones among them."""
        missing = [node for node in dict.fromkeys(nodes) if node not in self._rows]
        for start in range(0, len(missing), AT_ONCE):
            part = missing[start : start + AT_ONCE]
            self._rows |= self._questions.sizes(part, self._sizes, saying)

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
            part = missing[start : start + self._at_once]
            judged = self._questions.judged(part, k, self._thresholds)
            for node, row in judged.sizes.items():
                self._counted[node, k] = self._by_all_checks(row)
            for node, suppressed in judged.suppressed.items():
                self._suppressed[node, k] = suppressed

    def suppressed(self, nodes: Sequence[Node], k: int) -> dict[Node, Suppressed]:
        """Statistics of the suppressed records of some nodes."""
        self.judge(nodes, k)
        missing = [node for node in nodes if (node, k) not in self._suppressed]
        for node in missing:
            if not self.counted(node, k).violating:
                self._suppressed[node, k] = Suppressed(0, {}, {})
        asked = [node for node in missing if (node, k) not in self._suppressed]
        for start in range(0, len(asked), AT_ONCE):
            part = asked[start : start + AT_ONCE]
            for node, suppressed in self._questions.small(part, self._least_size(k)).items():
                self._suppressed[node, k] = suppressed
        return {node: self._suppressed[node, k] for node in nodes}

    def satisfies(self, counted: ClassCounts, k: int) -> bool:
        """Whether a node may be released, by the numbers of its classes and records."""
        if self._starred and counted.violating:
            # The suppressed records are a class of the release.
            return counted.violating >= self._least_size(k)
        return not counted.kept or all(each.holds(counted) for each in self.whole)

    def needs_audit(self, node: Node, k: int) -> bool:
        """Whether the counts of a satisfying node leave open if its release passes every check: a
        check is decided by no class, or the suppressed records stay as a class of `*`."""
        counted = self.counted(node, k)
        if self._starred and counted.violating:
            return bool(self.asks_more or self.whole or self.audited or self.sets.bound.entity)
        return bool(self.audited and counted.kept)

    def violating_beside(self, node: Node) -> list[str]:
        """One SELECT for each reference or earlier release with a check: the classes of a node, by
        their places, that violate it."""
        return self._questions.violating_beside(node)

    # --- losses and metrics -----------------------------------------------------------------

    @cached_property
    def columns(self) -> tuple[ColumnCosts, ...]:
        """The quasi-identifiers that can lose information."""
        lossy = self._questions.lossy
        portions = self._questions.portions() if lossy else {}
        return tuple(
            ColumnCosts(
                each.place - 1,
                each.leaves,
                each.levels.height,
                portions[each.place],
                ladder.climbs,
            )
            for each in lossy
            for ladder in [self.lattice.ladders[each.place - 1]]
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
                not self.asks_more and not self.sets.bound.entity,
                [each.attribute.distinct for each in self.sets.quasi_identifiers],
                _SizesOf(self, k),
            )
        places = {each.name: each.place - 1 for each in self.sets.quasi_identifiers}
        return CellCosts(
            self.columns,
            metric,
            {places[name]: weight for name, weight in weights.items()},
            is_monotone(self.bounds[k])
            and not any(each.levels.faults for each in self._questions.lossy),
        )

    def metrics(self, node: Node, k: int, weights: Mapping[str, float]) -> Metrics:
        """Every metric of a release at this node."""
        suppressed, counted = self.suppressed([node], k)[node], self.counted(node, k)
        by_name = [self.sets.quasi_identifiers[each.place].name for each in self.columns]

        def lost(metric: MetricName) -> list[float]:
            costs = CellCosts(self.columns, metric, {})
            return [costs.lost(each, node[each.place], suppressed) for each in self.columns]

        return metrics(
            [
                Loss(name, climbed / self.records, leaves / self.records, bits, each.bits)
                for each, name, climbed, leaves, bits in zip(
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

        def below(what: str) -> int:
            return int(row[f"kanon_{what}_below_{size}"])

        return ClassCounts(
            below("records"),
            int(row["kanon_records"]) - below("records"),
            int(row["kanon_classes"]) - below("classes"),
            int(row["kanon_squares"]) - below("squares"),
            int(row["kanon_squares"]),
            {
                each: max(0, int(row[f"kanon_records_below_{each}"]) - below("records"))
                for each in self._thresholds
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
            {each: int(row[f"kanon_records_below_{each}"]) for each in self._thresholds},
        )

    @property
    def _thresholds(self) -> list[int]:
        return sorted({each.below for each in self.whole if each.below is not None})


class _SizesOf(Mapping[Node, Sizes]):
    """The sizes at the evaluated nodes for one k, as a mapping."""

    def __init__(self, nodes: LatticeStatistics, k: int) -> None:
        self._nodes, self._k = nodes, k

    def __getitem__(self, node: Node) -> Sizes:
        return self._nodes.counted(node, self._k).sizes

    def __iter__(self) -> Iterator[Node]:
        return iter(self._nodes.looked_at)

    def __len__(self) -> int:
        return len(self._nodes.looked_at)


@dataclass(frozen=True)
class NodeEvaluator:
    """Evaluates nodes against the checks for one k."""

    nodes: LatticeStatistics
    k: int
    max_suppressed: int
    cost_model: Costs
    audit: Callable[[Node, int], bool]
    """Whether the release at a node passes its audit, for a value of k."""
    saying: Callable[[], str] = field(default=lambda: "")

    def found(self, nodes: Sequence[Node]) -> dict[Node, NodeCounts]:
        self.nodes.count(nodes, saying=self.saying())
        return self._all_found(nodes)

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
        return self._all_found(self.nodes.looked_at)

    def _all_found(self, nodes: Sequence[Node]) -> dict[Node, NodeCounts]:
        worth = [node for node in nodes if self.nodes.below(node, self.k) <= self.max_suppressed]
        self.nodes.judge(worth, self.k)
        return {node: self._found(node) for node in nodes}

    def _found(self, node: Node) -> NodeCounts:
        below = self.nodes.below(node, self.k)
        if below > self.max_suppressed:
            return NodeCounts(below, below, satisfies=False)
        counted = self.nodes.counted(node, self.k)
        violating = counted.violating
        bound = self.nodes.bounds[self.k]
        prunes = is_monotone(bound) or (not self.max_suppressed and closed_under_merging(bound))
        satisfies = violating <= self.max_suppressed and self.nodes.satisfies(counted, self.k)
        return NodeCounts(violating if prunes else below, violating, satisfies)


def _ladder(each: QuasiIdentifier, highest: int, is_alone: bool) -> Ladder:
    distinct, may_be_idle = each.attribute.distinct, is_alone and not each.levels.faults
    nested = [level == 0 or each.nested(level) for level in range(highest + 1)]
    idle = [
        level > 0 and may_be_idle and nested[level] and distinct[level] == distinct[level - 1]
        for level in range(highest + 1)
    ]
    return Ladder(each.name, highest, nested, idle)
