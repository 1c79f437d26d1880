"""Optimal full-domain generalisation: finds the cheapest node that satisfies, or all minimal ones.

Bisects the open part of the lattice, a batch of nodes at a time; each is chosen so that many nodes
are ruled out whether it satisfies or not. A node is ruled out in three cases only: too many of its
records violate a monotone check, as then in all nodes below it; its lower bound exceeds the best
cost; or a lower node has the same classes and so no larger loss. The result is therefore exact for
any checks. Callbacks evaluate the nodes.

After Samarati 2001 (TKDE 13(6)), LeFevre, DeWitt, Ramakrishnan 2005 (SIGMOD) and El Emam et al.
2009 (JAMIA 16(5)), none of which minimises a metric that suppression makes non-monotone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress
from typing import Protocol

from kanon_sql.anonymizing.search.lattice import Lattice, Node

AT_ONCE = 16
"""Number of nodes evaluated per statement."""
TIE = 1e-12
"""Relative tolerance (absolute below 1) within which costs are equal."""
_COSTED = 8
"""Number of candidates whose costs are computed per statement."""
_SAMPLED = 48
"""Number of nodes sampled for the next one, before hill climbing among neighbours."""
_FLAGS = bytes.maketrans(b"01", b"\0\1")


@dataclass(frozen=True)
class NodeCounts:
    """Counts of violating records at a node."""

    necessary: int
    """Records in classes that fail a monotone check; every finer node has at least as many."""
    violating: int
    """Records in violating classes. If `necessary` is above the limit already, other checks may not
    have been counted."""
    satisfies: bool
    """Whether the node can be released without those records."""


class CostBounds(Protocol):
    """Lower bounds of node costs, before and after some nodes are evaluated. Lower is better."""

    def base(self, lattice: Lattice) -> Sequence[float]:
        """Lower bound of the cost of every node, in the order of the lattice."""

    def more(self, node: Node, suppressed: int) -> float:
        """Lower bound of the cost above the base for a node and every finer one, if it suppresses
        this many records."""

    def more_below(self, node: Node, cost: float) -> float:
        """Lower bound of the cost above the base for every finer node, given the cost of this
        satisfying node."""

    def least_above(self, node: Node) -> float:
        """Lower bound of the cost of an evaluated node and of every coarser one."""

    def value(self, cost: float) -> float:
        """The loss to report for a cost; increasing in the cost."""


class Evaluator(Protocol):
    """Evaluates nodes, each at most once."""

    def counts(self, nodes: Sequence[Node]) -> Mapping[Node, NodeCounts]:
        """The counts of each node."""

    def costs(self, nodes: Sequence[Node]) -> Mapping[Node, float]:
        """The cost of each satisfying node; nodes whose cost is undefined are left out."""

    def passes(self, node: Node) -> bool:
        """Whether a satisfying node also passes the checks that no class decides by itself."""


@dataclass(frozen=True)
class Progress:
    """Progress of a search."""

    open: int
    """Number of nodes that may still cost less than the best."""
    best: float | None
    bound: float | None
    """Proven lower bound of the loss of any node. None if no node is left."""


@dataclass(frozen=True)
class OptimalNode:
    """The best node found, and what is proven about it."""

    node: Node | None
    """None if no node satisfies, or none was found in time."""
    lost: float | None
    """Its loss."""
    bound: float | None
    """Lower bound of the loss of any satisfying node; equals `lost` if the node is proven best."""
    proved: bool
    """Whether every node that might cost less was ruled out."""


def optimal(
    lattice: Lattice,
    costs: CostBounds,
    evaluator: Evaluator,
    max_suppressed: int,
    *,
    gap: float = 0.0,
    known: Iterable[tuple[Node, NodeCounts]] = (),
    is_over: Callable[[Progress], bool] = lambda progress: False,
) -> OptimalNode:
    """The cheapest satisfying node. Ties go to the fewest suppressed records, then the lowest node,
    then the first by its levels.

    Ends when at most the share `gap` of the best cost could still be saved, or when `is_over`
    returns true between two statements. `known` are nodes evaluated earlier.
    """
    search = _Search(lattice, costs, evaluator, max_suppressed)
    search.learn(dict(known))
    ends = dict.fromkeys((lattice.lowered(lattice.top), lattice.bottom))
    first = [node for node in ends if search.is_open(node)]
    if first:
        search.look(first)
    while not is_over(search.progress) and (candidates := search.candidates(gap)):
        search.look(search.batch(candidates))
    return search.outcome()


def minimal(
    lattice: Lattice,
    evaluator: Evaluator,
    max_suppressed: int,
    *,
    known: Iterable[tuple[Node, NodeCounts]] = (),
    is_over: Callable[[Progress], bool] = lambda progress: False,
) -> tuple[tuple[Node, ...], bool]:
    """The satisfying nodes without a satisfying finer one, and whether the list is complete."""
    search = _Minimal(lattice, _Heights(), evaluator, max_suppressed)
    search.learn(dict(known))
    while search.open and not is_over(search.progress):
        search.look(search.batch(search.open))
    return tuple(sorted(search.minimal())), not search.open


@dataclass(frozen=True)
class _Best:
    """A satisfying node, with its rank among nodes of the same cost."""

    suppressed: int
    height: int
    node: Node
    cost: float

    @property
    def rank(self) -> tuple[int, int, Node]:
        return self.suppressed, self.height, self.node


class _Search:
    """The open nodes of a lattice. Sets of nodes are integers used as bit sets, with bits in order
    of the base cost."""

    def __init__(
        self, lattice: Lattice, costs: CostBounds, evaluator: Evaluator, max_suppressed: int
    ) -> None:
        self._lattice, self._costs, self._evaluator = lattice, costs, evaluator
        self._budget = max_suppressed
        base = costs.base(lattice)
        self._order = sorted(range(lattice.size), key=base.__getitem__)
        self._rank = [0] * lattice.size
        for rank, index in enumerate(self._order):
            self._rank[index] = rank
        self._base = [base[index] for index in self._order]
        self._least, self._more = list(self._base), [0.0] * lattice.size
        self._sets = lattice.sets(self._order)
        self.open = self._sets.lowest
        self._sure = 0
        self._bests: list[_Best] = []
        self._cost = math.inf

    def is_open(self, node: Node) -> bool:
        return bool(self.open >> self._rank_of(node) & 1)

    @property
    def progress(self) -> Progress:
        best = self._costs.value(self._cost) if self._bests else None
        bound = self._bound()
        return Progress(
            self.open.bit_count(), best, self._costs.value(bound) if bound < math.inf else None
        )

    def candidates(self, gap: float) -> int:
        """The open nodes, or none if no node could save more than the share `gap`."""
        if not self._bests or gap <= 0:
            return self.open
        least = self._costs.value(self._cost) * (1 - gap)
        return 0 if self._costs.value(self._bound()) >= least else self.open

    def look(self, nodes: Sequence[Node]) -> None:
        self.learn(self._evaluator.counts(nodes))

    def learn(self, counts: Mapping[Node, NodeCounts]) -> None:
        """Rule out nodes by these counts, and update the best node."""
        for node, count in counts.items():
            self.open &= ~(1 << self._rank_of(node))
            if count.necessary > self._budget:
                self.open &= ~self._sets.below(node)
            elif count.violating <= self._budget:
                self._sure |= self._sets.above(node)
            if count.necessary <= self._budget:
                self._raise(node, count.necessary)
        self._choose(counts)
        self._rule_out()

    def batch(self, candidates: int) -> list[Node]:
        """The next nodes to evaluate: three in four chosen to rule out many nodes either way, one
        in four the node with the lowest bound among those sure to satisfy the suppression limit."""
        chosen: list[Node] = []
        unsure, sure = candidates & ~self._sure, candidates & self._sure
        while len(chosen) < AT_ONCE and (unsure or sure):
            if unsure and (len(chosen) % 4 != 3 or not sure):
                node = self._most_informative(unsure)
                unsure &= ~self._sets.below(node)
            else:
                node = self._node(_lowest(sure))
                sure &= sure - 1
            chosen.append(node)
        return chosen

    def outcome(self) -> OptimalNode:
        best = min(self._bests, key=lambda best: best.rank, default=None)
        proved = not self.open
        value = self._costs.value
        if best is None:
            return OptimalNode(None, None, None if proved else value(self._bound()), proved)
        bound = best.cost if proved else min(best.cost, self._bound())
        return OptimalNode(best.node, value(best.cost), value(bound), proved)

    # --- internal ---------------------------------------------------------------------------

    def _bound(self) -> float:
        """Lower bound of the cost of all nodes."""
        if not self.open:
            return self._cost
        return min(self._cost, min(map(self._least_at, _ranks(self.open))))

    def _least_at(self, rank: int) -> float:
        return self._least[rank] + self._more[rank]

    def _raise(self, node: Node, suppressed: int) -> None:
        """Raise the lower bounds of coarser and finer nodes by the counts of this one."""
        least = self._costs.least_above(node)
        if least > self._base[0]:
            for rank in _ranks(self.open & self._sets.above(node)):
                self._least[rank] = max(self._least[rank], least)
        self._raise_below(node, self._costs.more(node, suppressed) if suppressed else 0.0)

    def _raise_below(self, node: Node, more: float) -> None:
        if more > 0:
            for rank in _ranks(self.open & self._sets.below(node)):
                self._more[rank] = max(self._more[rank], more)

    def _choose(self, counts: Mapping[Node, NodeCounts]) -> None:
        """Compute the costs of nodes that may be the best, lowest bounds first."""
        least = {
            node: self._least_of(node, count.violating)
            for node, count in counts.items()
            if count.satisfies
        }
        candidates = sorted(least, key=least.__getitem__)
        while candidates := [node for node in candidates if least[node] <= self._worst_that_ties]:
            nodes, candidates = candidates[:_COSTED], candidates[_COSTED:]
            costs = self._evaluator.costs(nodes)
            for node, cost in sorted(costs.items(), key=lambda item: item[1]):
                self._raise_below(node, self._costs.more_below(node, cost))
                if cost <= self._cost + _tie(self._cost) and self._evaluator.passes(node):
                    self._cost = min(self._cost, cost)
                    best = _Best(counts[node].violating, sum(node), node, cost)
                    self._bests = [
                        candidate
                        for candidate in (*self._bests, best)
                        if candidate.cost <= self._cost + _tie(self._cost)
                    ]

    def _least_of(self, node: Node, suppressed: int) -> float:
        """Lower bound of the cost of an evaluated node."""
        least = self._base[self._rank_of(node)] + self._costs.more(node, suppressed)
        return max(least, self._costs.least_above(node))

    @property
    def _worst_that_ties(self) -> float:
        # Twice the tolerance, because a bound is a sum of floats as well.
        return self._cost + 2 * _tie(self._cost)

    def _rule_out(self) -> None:
        """Close the nodes whose lower bound exceeds the best cost."""
        worst = self._worst_that_ties
        if worst == math.inf:
            return
        closed = bytearray(self.open.bit_length())
        for rank in _ranks(self.open):
            if self._least_at(rank) > worst:
                closed[rank] = 1
        self.open &= ~_set_of(closed)

    def _most_informative(self, among: int) -> Node:
        """A node that rules out many others whether it satisfies or not: the best of a spread
        sample, improved by hill climbing among neighbours."""
        best = max(self._spread(among), key=lambda rank: (self._ruled_out(among, rank), -rank))
        ruled_out = self._ruled_out(among, best)
        while True:
            near = [
                rank
                for neighbour in self._lattice.neighbours(self._node(best))
                if among >> (rank := self._rank_of(neighbour)) & 1
            ]
            better = max(near, key=lambda rank: (self._ruled_out(among, rank), -rank), default=best)
            if (now := self._ruled_out(among, better)) <= ruled_out:
                return self._node(best)
            best, ruled_out = better, now

    def _ruled_out(self, among: int, rank: int) -> int:
        """Minimum number of nodes that evaluating this one rules out: those below it if it fails,
        those with no lower cost if it satisfies."""
        node = self._node(rank)
        below = (among & self._sets.below(node)).bit_count()
        return min(below, (among >> rank).bit_count())

    def _spread(self, among: int) -> Iterator[int]:
        """Some ranks of a set, spread evenly."""
        length = among.bit_length()
        first = _lowest(among)
        step = max(1, (length - first) // _SAMPLED)
        for start in range(first, length, step):
            if rest := among >> start:
                yield start + _lowest(rest)

    def _rank_of(self, node: Node) -> int:
        return self._rank[self._lattice.index(node)]

    def _node(self, rank: int) -> Node:
        return self._lattice.node(self._order[rank])


class _Heights:
    """Cost bounds for a search without a metric: nodes are ordered by height."""

    def base(self, lattice: Lattice) -> Sequence[float]:
        return [float(sum(node)) for node in lattice.nodes()]

    def more(self, node: Node, suppressed: int) -> float:
        return 0.0

    def more_below(self, node: Node, cost: float) -> float:
        return 0.0

    def least_above(self, node: Node) -> float:
        return 0.0

    def value(self, cost: float) -> float:
        return cost


class _Minimal(_Search):
    """A search in which a satisfying node rules out those above it."""

    def __init__(
        self, lattice: Lattice, costs: CostBounds, evaluator: Evaluator, max_suppressed: int
    ) -> None:
        super().__init__(lattice, costs, evaluator, max_suppressed)
        self._by_level = lattice.by_level.sets(self._order)
        self._satisfying: list[Node] = []

    def learn(self, counts: Mapping[Node, NodeCounts]) -> None:
        for node, count in counts.items():
            self.open &= ~(1 << self._rank_of(node))
            if count.necessary > self._budget:
                self.open &= ~self._sets.below(node)
            if count.satisfies and self._evaluator.passes(node):
                self._satisfying.append(node)
                self.open &= ~self._by_level.above(node)

    def minimal(self) -> Iterator[Node]:
        """The satisfying nodes with no other satisfying node at or below each of their levels."""
        known = 0
        for node in self._satisfying:
            known |= 1 << self._rank_of(node)
        for node in self._satisfying:
            if self._by_level.below(node) & known == 1 << self._rank_of(node):
                yield node

    def _ruled_out(self, among: int, rank: int) -> int:
        node = self._node(rank)
        below = (among & self._sets.below(node)).bit_count()
        return min(below, (among & self._by_level.above(node)).bit_count())


def _tie(cost: float) -> float:
    return TIE * max(1.0, cost) if cost < math.inf else 0.0


def _lowest(nodes: int) -> int:
    """The lowest rank in a non-empty set."""
    return (nodes & -nodes).bit_length() - 1


def _ranks(nodes: int) -> Iterator[int]:
    """The ranks in a set, ascending."""
    digits = f"{nodes:b}"[::-1].encode().translate(_FLAGS)
    return compress(range(len(digits)), digits)


def _set_of(flags: bytearray) -> int:
    """The bit set of the flagged positions."""
    digits = bytes(flags)[::-1].translate(bytes.maketrans(b"\0\1", b"01"))
    return int(digits, 2) if digits else 0
