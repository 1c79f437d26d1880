"""What an optimal search learns of the nodes of a lattice: counted by SQL, several in one
statement, each once.

Sizes are counted first, of all classes of some nodes at once; they rule out most. What else is
demanded of a class is asked of those nodes alone whose sizes would do.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property

from kanon_sql.anonymizing.costs import CellCosts, ClassCosts, Column, Portion, Sizes, Suppressed
from kanon_sql.anonymizing.estimated_sizes import estimates_searched
from kanon_sql.anonymizing.frequency_sets import FrequencySets
from kanon_sql.anonymizing.lattice import PRIVATE, QuasiIdentifier
from kanon_sql.anonymizing.losses import Loss, metrics
from kanon_sql.anonymizing.nodes import Ladder, Lattice, Node
from kanon_sql.anonymizing.optimal import AT_ONCE, Found
from kanon_sql.anonymizing.preferences import Preferences
from kanon_sql.anonymizing.references import NodeOfSet, ReferenceSets
from kanon_sql.plan.bound import BoundCheck, BoundSpec
from kanon_sql.plan.violating_classes import (
    class_size,
    grows_never,
    holds_together,
    reference_demands,
    sensitive_demands,
    with_k,
)
from kanon_sql.results.release import MetricName, Metrics
from kanon_sql.results.release import Suppressed as SuppressedAs
from kanon_sql.spec.models.risk import ProsecutorRisk, SampleUniqueness
from kanon_sql.sql.macros import render
from kanon_sql.sql.tables import Row
from kanon_sql.sql.thresholds import exactly

Costs = CellCosts | ClassCosts
MOST_KEPT = 2_000_000
"""How many combinations of values may be kept at once, of all nodes that are judged together."""
_LEVELS = f"{PRIVATE}frequency_set_at_all_levels"
_SEARCHED = f"{PRIVATE}searched_set_at_all_levels"


@dataclass(frozen=True)
class AtMost:
    """What may be of all classes that are kept: so many classes a record, or such a share of the
    records in classes below some size."""

    most: Fraction
    below: int | None = None

    def holds(self, counted: Counted) -> bool:
        """Whether it does; where nothing is kept there is nothing to be found."""
        found = counted.classes if self.below is None else counted.below[self.below]
        return found <= self.most * counted.kept


@dataclass(frozen=True)
class Counted:
    """The classes of a node by what is demanded."""

    violating: int
    """How many records lie in violating classes."""
    kept: int
    """How many records lie in the others."""
    classes: int
    """How many others there are."""
    squares: int
    all_squares: int
    below: Mapping[int, int]
    """How many kept records lie in classes below some sizes."""

    @property
    def sizes(self) -> Sizes:
        return Sizes(self.classes, self.squares, self.all_squares, self.violating)


@dataclass(frozen=True)
class _Asked:
    """A node as a statement on its sizes reads it."""

    number: int
    set: str
    columns: Sequence[str]
    levels: Sequence[int] = ()
    constant: Sequence[bool] = ()
    size: int = 1


def bounds_of_all(bound: BoundSpec) -> list[AtMost]:
    """The demands on all classes together that their sizes decide."""
    return [each for check in bound.checks if check.gates for each in bounds_of(bound, check)]


def searched_beside(bound: BoundSpec) -> list[BoundCheck]:
    """The demands that an optimal search looks for beside those that any class fails or not by
    itself: of all classes together, and of what a reference has of each."""
    of_all = [check for check in bound.checks if check.gates and bounds_of(bound, check)]
    return [*of_all, *reference_demands(bound), *estimates_searched(bound)]


def bounds_of(bound: BoundSpec, check: BoundCheck) -> list[AtMost]:
    """What a check demands of all classes together, if their sizes decide that."""
    if bound.entity:
        # People are counted once, with the smallest of their classes.
        return []
    found = []
    match check.model:
        case ProsecutorRisk(max_average=average, max_at_risk=share, threshold=threshold):
            if average is not None:
                found.append(AtMost(exactly(average)))
            if share is not None:
                found.append(AtMost(exactly(share), _first_size_not_above(exactly(threshold))))
        case SampleUniqueness(max_share=share) if share is not None:
            found.append(AtMost(exactly(share), 2))
    return found


def _first_size_not_above(threshold: Fraction) -> int:
    """The smallest class whose members' chance is no more than a threshold."""
    return -(-threshold.denominator // threshold.numerator) if threshold else _ENDLESS


_ENDLESS = 2**62


class Nodes:
    """What is counted at the nodes of one lattice, for one k or several."""

    def __init__(self, sets: FrequencySets, preferred: Preferences, ks: Sequence[int]) -> None:
        self.sets = sets
        self.lattice = Lattice(
            tuple(
                _ladder(each, preferred.highest(each.name, each.levels.height))
                for each in sets.quasi_identifiers
            )
        )
        self.bounds = {k: with_k(sets.bound, k) for k in ks}
        self.whole = bounds_of_all(sets.bound)
        thresholds = {each.below for each in self.whole if each.below is not None}
        sizes = {class_size(bound.checks) or 1 for bound in self.bounds.values()}
        self._sizes = sorted(sizes | thresholds)
        highest = {each.name: each.highest for each in self.lattice.ladders}
        self.references = ReferenceSets(sets, highest)
        self.asks_more = bool(sensitive_demands(sets.bound)) or self.references.is_demanded_of
        """Whether more is demanded of a class than its size."""
        self._highest = highest
        self._rows: dict[Node, Row] = {}
        self._counted: dict[tuple[Node, int], Counted] = {}
        self._suppressed: dict[tuple[Node, int], Suppressed] = {}

    @property
    def looked_at(self) -> Sequence[Node]:
        """The nodes whose classes were counted."""
        return tuple(self._rows)

    @cached_property
    def records(self) -> int:
        """How many records there are."""
        row = self._row(self.lattice.bottom)
        return int(row["kanon_records"])

    def levels(self, node: Node) -> dict[str, int]:
        names = (each.name for each in self.sets.quasi_identifiers)
        return dict(zip(names, node, strict=True))

    def below(self, node: Node, k: int) -> int:
        """How many records lie in classes that are too small."""
        size = class_size(self.bounds[k].checks) or 1
        return int(self._row(node)[f"kanon_records_below_{size}"])

    def count(self, nodes: Sequence[Node], *, saying: str = "") -> None:
        """Count the classes of some nodes, and how many of them are small."""
        missing = [node for node in dict.fromkeys(nodes) if node not in self._rows]
        for start in range(0, len(missing), AT_ONCE):
            part = missing[start : start + AT_ONCE]
            asked = [self._asked(number, node) for number, node in enumerate(part)]
            rows = self.sets.ask(
                "sizes_of_nodes",
                f"Which of {len(part)} choices of levels will do?{saying}",
                render(
                    "sizes_of_nodes",
                    nodes=asked,
                    sizes=self._sizes,
                    entity=self.sets.bound.entity,
                ),
            )
            for row in rows:
                self._rows[part[int(row["kanon_node"])]] = row

    def counted(self, node: Node, k: int) -> Counted:
        """The classes of a node by all that is demanded of one."""
        self.judge([node], k)
        return self._counted[node, k]

    def judge(self, nodes: Sequence[Node], k: int) -> None:
        """Count the classes of some nodes by all that is demanded of one."""
        missing = [node for node in dict.fromkeys(nodes) if (node, k) not in self._counted]
        if not self.asks_more:
            self.count(missing)
            self._counted |= {(node, k): self._by_size(node, k) for node in missing}
            return
        for start in range(0, len(missing), self._at_once):
            self._judge(missing[start : start + self._at_once], k)

    def suppressed(self, nodes: Sequence[Node], k: int) -> dict[Node, Suppressed]:
        """What the records have that some nodes suppress."""
        self.judge(nodes, k)
        missing = [node for node in nodes if (node, k) not in self._suppressed]
        for node in missing:
            if not self.counted(node, k).violating:
                self._suppressed[node, k] = Suppressed(0, {}, {})
        asked = [node for node in missing if (node, k) not in self._suppressed]
        for start in range(0, len(asked), AT_ONCE):
            self._ask_suppressed(asked[start : start + AT_ONCE], k)
        return {node: self._suppressed[node, k] for node in nodes}

    def violating_beside(self, node: Node) -> list[str]:
        """The classes of the set at a node of which a reference has too few people, by their
        places: a SELECT for each reference."""
        keys = [each.key for each in self.sets.quasi_identifiers]
        found = self.sets.at(self.levels(node)).name
        return self.references.violating(found, keys, [NodeOfSet(0, node)])

    # --- what can be lost -------------------------------------------------------------------

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        """The quasi-identifiers of which something can be lost."""
        return tuple(
            Column(
                each.place - 1,
                each.leaves,
                each.levels.height,
                self._portions(each, highest.highest),
                highest.climbs,
            )
            for each, highest in zip(self.sets.quasi_identifiers, self.lattice.ladders, strict=True)
            if each.levels.height and each.leaves > 1
        )

    def costs(
        self, metric: MetricName, k: int, max_suppressed: int, weights: Mapping[str, float]
    ) -> Costs:
        """What each node costs by a metric."""
        if metric in ("discernibility", "average_class_size"):
            bound = self.bounds[k]
            return ClassCosts(
                metric,
                self.records,
                max_suppressed,
                max(class_size(bound.checks) or 1, 1),
                not self.asks_more and not bound.entity,
                [each.attribute.distinct for each in self.sets.quasi_identifiers],
                _SizesOf(self, k),
            )
        places = {each.name: each.place - 1 for each in self.sets.quasi_identifiers}
        return CellCosts(
            self.columns, metric, {places[name]: weight for name, weight in weights.items()}
        )

    def metrics(self, node: Node, k: int, weights: Mapping[str, float]) -> Metrics:
        """What a release of a node would lose by every metric."""
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

    # --- within -----------------------------------------------------------------------------

    def _row(self, node: Node) -> Row:
        self.count([node])
        return self._rows[node]

    @cached_property
    def _set(self) -> str:
        """The set that sizes are read off: it holds the people, and no sensitive value."""
        return self.sets.at_all_levels(_LEVELS, self._highest, self.sets.by_people)

    @cached_property
    def _searched_set(self) -> str:
        """The set with all that a demand reads."""
        if len(self.sets.searched_beside) == len(self.sets.by_people):
            return self._set
        return self.sets.at_all_levels(_SEARCHED, self._highest, self.sets.searched_beside)

    @cached_property
    def _at_once(self) -> int:
        """How many nodes are judged at once, whose sets are kept for that."""
        classes = int(self._row(self.lattice.bottom)["kanon_classes"])
        return max(1, min(AT_ONCE, MOST_KEPT // max(1, classes)))

    def _asked(self, number: int, node: Node) -> _Asked:
        columns = [
            f"{each.key}_{level}"
            for each, level in zip(self.sets.quasi_identifiers, node, strict=True)
            if each.attribute.distinct[level] > 1
        ]
        return _Asked(number, self._set, columns)

    def _by_size(self, node: Node, k: int) -> Counted:
        row, size = self._row(node), class_size(self.bounds[k].checks) or 1

        def below(what: str) -> int:
            return int(row[f"kanon_{what}_below_{size}"])

        return Counted(
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

    def _judge(self, nodes: Sequence[Node], k: int) -> None:
        """Count some nodes' classes by all demands, and what the violating ones have, at once."""
        keys = [each.key for each in self.sets.quasi_identifiers]
        lossy = [each.place for each in self.columns]
        asked = [
            NodeOfSet(number, node, self._searched_set, lossy) for number, node in enumerate(nodes)
        ]
        of_nodes = self.sets.keep(
            f"{PRIVATE}nodes",
            f"Which classes have {len(nodes)} choices of levels?",
            render("sets_of_nodes", nodes=asked, keys=keys, carried=self.sets.searched_beside),
        )
        keys = ["kanon_at_node", *keys]
        violating = self.sets.keep(
            f"{PRIVATE}violating_of_nodes",
            "Which of them violate a demand?",
            render(
                "violating_by_any",
                statements=[
                    self.sets.violating_among(keys, of_nodes, k),
                    *self.references.violating(of_nodes, keys, asked),
                ],
            ),
        )
        rows = self.sets.ask(
            "sizes_of_kept",
            "How large are the others?",
            render(
                "sizes_of_kept",
                set=of_nodes,
                violating=violating,
                keys=keys,
                sizes=self._thresholds,
                entity=self.sets.bound.entity,
            ),
        )
        for row in rows:
            self._counted[nodes[int(row["kanon_node"])], k] = self._by_all_demands(row)
        self._ask_lost(
            nodes,
            k,
            render(
                "violating_classes_of_nodes", nodes=asked, keys=self._lossy, violating=violating
            ),
        )
        self.sets.forget(violating)
        self.sets.forget(of_nodes)

    def _by_all_demands(self, row: Row) -> Counted:
        violating = int(row["kanon_violating_records"])
        return Counted(
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

    @property
    def _lossy(self) -> list[str]:
        """The keys of the quasi-identifiers of which something can be lost."""
        return [self.sets.quasi_identifiers[each.place].key for each in self.columns]

    def _ask_suppressed(self, nodes: Sequence[Node], k: int) -> None:
        """Ask what the classes have that are too small."""
        lossy = [self.sets.quasi_identifiers[each.place] for each in self.columns]
        asked = []
        for number, node in enumerate(nodes):
            levels = [node[each.place - 1] for each in lossy]
            constant = [
                each.attribute.distinct[level] <= 1
                for each, level in zip(lossy, levels, strict=True)
            ]
            columns, size = self._asked(number, node).columns, class_size(self.bounds[k].checks)
            asked.append(_Asked(number, self._set, columns, levels, constant, size or 1))
        entity = self.sets.bound.entity
        self._ask_lost(
            nodes,
            k,
            render("small_classes_of_nodes", nodes=asked, keys=self._lossy, entity=entity),
        )

    def _ask_lost(self, nodes: Sequence[Node], k: int, suppressed: str) -> None:
        """Ask what suppressed classes have, each of which has its node's number."""
        lossy = [self.sets.quasi_identifiers[each.place] for each in self.columns]
        rows = self.sets.ask(
            "lost_by_nodes",
            "What do the suppressed records lose?",
            render(
                "lost_by_nodes",
                suppressed=suppressed,
                keys=self._lossy,
                labels=[_labels_of(each) for each in lossy],
            ),
        )
        for row in rows:
            self._suppressed[nodes[int(row["kanon_node"])], k] = Suppressed(
                int(row["kanon_records"]),
                {each.place - 1: int(row[f"kanon_leaves_more_{each.key}"]) for each in lossy},
                {each.place - 1: float(row[f"kanon_bits_{each.key}"]) for each in lossy},
            )

    def _portions(self, each: QuasiIdentifier, highest: int) -> list[list[Portion]]:
        """The records of a quasi-identifier at each level, by what they lose."""
        table = each.levels.table
        leaves = None
        if table:
            rows = [
                (level, label, count)
                for level in range(1, highest + 1)
                for label, count in (
                    {"*": each.leaves}
                    if level > table.height
                    else Counter(table.labels(level).values())
                ).items()
            ]
            if rows:
                leaves = self.sets.keep_rows(
                    f"{PRIVATE}leaves_of_levels_{each.place}",
                    ("kanon_level", "kanon_label", "kanon_leaves"),
                    rows,
                )
        labels = self.sets.keep(
            _labels_of(each),
            f"What does each label of {each.name} stand for?",
            render("labels_of_levels", values=each.values, highest=highest, leaves=leaves),
        )
        found: list[list[Portion]] = [[] for _ in range(highest + 1)]
        for row in self.sets.ask(
            f"portions_{each.place}",
            f"What does each level of {each.name} lose?",
            render("portions_of_levels", labels=labels),
        ):
            found[int(row["kanon_level"])].append(
                Portion(
                    int(row["kanon_records"]),
                    int(row["kanon_leaves_more"]),
                    int(row["kanon_under_label"]),
                )
            )
        return found


class _SizesOf(Mapping[Node, Sizes]):
    """The sizes at the nodes that were looked at, for one k."""

    def __init__(self, nodes: Nodes, k: int) -> None:
        self._nodes, self._k = nodes, k

    def __getitem__(self, node: Node) -> Sizes:
        return self._nodes.counted(node, self._k).sizes

    def __iter__(self) -> Iterator[Node]:
        return iter(self._nodes.looked_at)

    def __len__(self) -> int:
        return len(self._nodes.looked_at)


@dataclass(frozen=True)
class DemandExplorer:
    """What is found at nodes by the demands of one k."""

    nodes: Nodes
    k: int
    max_suppressed: int
    suppressed_as: SuppressedAs
    of: Costs
    saying: Callable[[], str] = field(default=lambda: "")

    def found(self, nodes: Sequence[Node]) -> dict[Node, Found]:
        self.nodes.count(nodes, saying=self.saying())
        return self._all_found(nodes)

    def costs(self, nodes: Sequence[Node]) -> dict[Node, float]:
        if isinstance(self.of, ClassCosts):
            by_node = {node: self.of.cost(node) for node in nodes}
            return {node: cost for node, cost in by_node.items() if cost is not None}
        suppressed = self.nodes.suppressed(nodes, self.k)
        return {node: self.of.cost(node, suppressed[node]) for node in nodes}

    def known(self) -> dict[Node, Found]:
        """What is found at all nodes that were looked at."""
        return self._all_found(self.nodes.looked_at)

    def _all_found(self, nodes: Sequence[Node]) -> dict[Node, Found]:
        worth = [node for node in nodes if self.nodes.below(node, self.k) <= self.max_suppressed]
        self.nodes.judge(worth, self.k)
        return {node: self._found(node) for node in nodes}

    def _found(self, node: Node) -> Found:
        below = self.nodes.below(node, self.k)
        if below > self.max_suppressed:
            return Found(below, below, satisfies=False)
        counted = self.nodes.counted(node, self.k)
        violating = counted.violating
        bound = self.nodes.bounds[self.k]
        prunes = grows_never(bound) or (not self.max_suppressed and holds_together(bound))
        return Found(violating if prunes else below, violating, self._satisfies(counted))

    def _satisfies(self, counted: Counted) -> bool:
        if counted.violating > self.max_suppressed:
            return False
        if self.suppressed_as == "star" and 0 < counted.violating < self.k:
            return False
        return not counted.kept or all(each.holds(counted) for each in self.nodes.whole)


def _ladder(each: QuasiIdentifier, highest: int) -> Ladder:
    nested = [level == 0 or each.nested(level) for level in range(highest + 1)]
    return Ladder(each.name, highest, nested)


def _labels_of(each: QuasiIdentifier) -> str:
    return f"{PRIVATE}labels_of_levels_{each.place}"
