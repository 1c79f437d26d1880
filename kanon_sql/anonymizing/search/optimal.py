"""Optimal full-domain generalisation: of the nodes that satisfy the demands, the one that costs
least, or all that are minimal.

Bisects what is still open of the lattice, some nodes at a time: each is chosen so that much is
ruled out whether it satisfies or not. A node is ruled out only where its records that violate a
monotone demand are too many (then so are those of all below it), where no less than the best
could be lost there, or where a lower one has the same classes and so loses no more; so the answer
is exact whatever is demanded. What a node holds is asked of whoever calls.

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
"""How many nodes are asked for in one question."""
TIE = 1e-12
"""By how much costs that are taken as equal may differ, of the cost or of 1."""
_COSTED = 8
"""Of how many nodes that may be the best it is asked at once what they cost."""
_SAMPLED = 48
"""Among how many nodes the next one is looked for, before its neighbours are."""
_FLAGS = bytes.maketrans(b"01", b"\0\1")


@dataclass(frozen=True)
class NodeCounts:
    """What was counted at a node."""

    necessary: int
    """How many records lie in classes that fail a demand which no coarser class fails for it."""
    violating: int
    """How many records lie in violating classes; where the necessary ones are too many already,
    these may be all that were counted."""
    satisfies: bool
    """Whether the node may be released, those records left out."""


class CostBounds(Protocol):
    """What each node costs at least, before and after some are looked at. Lower is better."""

    def base(self, lattice: Lattice) -> Sequence[float]:
        """What every node costs at least, in the order of the lattice."""

    def more(self, node: Node, suppressed: int) -> float:
        """How much more than its base a node costs at least, if it or any finer one suppresses
        so many records."""

    def more_below(self, node: Node, cost: float) -> float:
        """How much more than its base every finer node costs at least, where this one satisfies
        and costs so much."""

    def least_above(self, node: Node) -> float:
        """What a node that was looked at and every coarser one cost at least."""

    def value(self, cost: float) -> float:
        """What is lost, as people are told: it grows with the cost."""


class Evaluator(Protocol):
    """Counts what nodes hold, each at most once."""

    def found(self, nodes: Sequence[Node]) -> Mapping[Node, NodeCounts]:
        """What each of some nodes holds."""

    def costs(self, nodes: Sequence[Node]) -> Mapping[Node, float]:
        """What each of some satisfying nodes costs; one that costs nothing defined is left out."""


@dataclass(frozen=True)
class Progress:
    """How far a search is."""

    open: int
    """How many nodes may still cost less than the best."""
    best: float | None
    bound: float | None
    """What is proved: no node loses less. None where none is left."""


@dataclass(frozen=True)
class OptimalNode:
    """The best node that was found, and what is proved of it."""

    node: Node | None
    """None where no node satisfies, or none was found in time."""
    lost: float | None
    """What it loses."""
    bound: float | None
    """No node that satisfies loses less; the same, where the node is proved the best."""
    proved: bool
    """Whether every node that might cost less was ruled out."""


def optimal(
    lattice: Lattice,
    costs: CostBounds,
    explorer: Evaluator,
    max_suppressed: int,
    *,
    gap: float = 0.0,
    known: Iterable[tuple[Node, NodeCounts]] = (),
    is_over: Callable[[Progress], bool] = lambda progress: False,
) -> OptimalNode:
    """The node that costs least of those that satisfy; of several the one that suppresses least,
    then the lowest, then the first by its levels.

    Ends where at most the share `gap` of the best cost might be saved, or as soon as `is_over`
    says so between two questions. `known` are nodes that were looked at before.
    """
    search = _Search(lattice, costs, explorer, max_suppressed)
    search.learn(dict(known))
    ends = dict.fromkeys((lattice.lowered(lattice.top), lattice.bottom))
    first = [node for node in ends if search.is_open(node)]
    if first:
        search.look(first)
    while not is_over(search.progress) and (worth := search.worth_asking(gap)):
        search.look(search.batch(worth))
    return search.outcome()


def minimal(
    lattice: Lattice,
    explorer: Evaluator,
    max_suppressed: int,
    *,
    known: Iterable[tuple[Node, NodeCounts]] = (),
    is_over: Callable[[Progress], bool] = lambda progress: False,
) -> tuple[tuple[Node, ...], bool]:
    """The nodes that satisfy and have no finer one that does, and whether these are all."""
    search = _Minimal(lattice, _Heights(), explorer, max_suppressed)
    search.learn(dict(known))
    while search.open and not is_over(search.progress):
        search.look(search.batch(search.open))
    return tuple(sorted(search.minimal())), not search.open


@dataclass(frozen=True)
class _Best:
    """A node that satisfies, in the order in which nodes that cost the same are preferred."""

    suppressed: int
    height: int
    node: Node
    cost: float

    @property
    def rank(self) -> tuple[int, int, Node]:
        return self.suppressed, self.height, self.node


class _Search:
    """What is still open of a lattice. A set of nodes is a whole number with a bit for each, in
    the order of what they cost at least."""

    def __init__(
        self, lattice: Lattice, costs: CostBounds, explorer: Evaluator, max_suppressed: int
    ) -> None:
        self._lattice, self._costs, self._explorer = lattice, costs, explorer
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

    def worth_asking(self, gap: float) -> int:
        """The open nodes, unless none of them could save more than the share `gap`."""
        if not self._bests or gap <= 0:
            return self.open
        least = self._costs.value(self._cost) * (1 - gap)
        return 0 if self._costs.value(self._bound()) >= least else self.open

    def look(self, nodes: Sequence[Node]) -> None:
        self.learn(self._explorer.found(nodes))

    def learn(self, found: Mapping[Node, NodeCounts]) -> None:
        """Rule out what these nodes rule out, and see whether one of them is the best."""
        for node, each in found.items():
            self.open &= ~(1 << self._rank_of(node))
            if each.necessary > self._budget:
                self.open &= ~self._sets.below(node)
            elif each.violating <= self._budget:
                self._sure |= self._sets.above(node)
            if each.necessary <= self._budget:
                self._raise(node, each.necessary)
        self._choose(found)
        self._rule_out()

    def batch(self, worth: int) -> list[Node]:
        """The nodes to look at next: three of four such that they rule out many others either
        way, and one of four that satisfies for certain and might cost least."""
        chosen: list[Node] = []
        unsure, sure = worth & ~self._sure, worth & self._sure
        while len(chosen) < AT_ONCE and (unsure or sure):
            if unsure and (len(chosen) % 4 != 3 or not sure):
                node = self._most_telling(unsure)
                unsure &= ~self._sets.below(node)
            else:
                node = self._node(_lowest(sure))
                sure &= sure - 1
            chosen.append(node)
        return chosen

    def outcome(self) -> OptimalNode:
        best = min(self._bests, key=lambda each: each.rank, default=None)
        proved = not self.open
        value = self._costs.value
        if best is None:
            return OptimalNode(None, None, None if proved else value(self._bound()), proved)
        bound = best.cost if proved else min(best.cost, self._bound())
        return OptimalNode(best.node, value(best.cost), value(bound), proved)

    # --- within -----------------------------------------------------------------------------

    def _bound(self) -> float:
        """What no node costs less than."""
        if not self.open:
            return self._cost
        return min(self._cost, min(map(self._least_at, _ranks(self.open))))

    def _least_at(self, rank: int) -> float:
        return self._least[rank] + self._more[rank]

    def _raise(self, node: Node, suppressed: int) -> None:
        """Say what coarser and finer nodes cost at least, as this one was looked at."""
        least = self._costs.least_above(node)
        if least > self._base[0]:
            for rank in _ranks(self.open & self._sets.above(node)):
                self._least[rank] = max(self._least[rank], least)
        self._raise_below(node, self._costs.more(node, suppressed) if suppressed else 0.0)

    def _raise_below(self, node: Node, more: float) -> None:
        if more > 0:
            for rank in _ranks(self.open & self._sets.below(node)):
                self._more[rank] = max(self._more[rank], more)

    def _choose(self, found: Mapping[Node, NodeCounts]) -> None:
        """See what those cost that might be the best, the most promising first."""
        least = {
            node: self._least_of(node, each.violating)
            for node, each in found.items()
            if each.satisfies
        }
        candidates = sorted(least, key=least.__getitem__)
        while candidates := [node for node in candidates if least[node] <= self._worst_that_ties]:
            asked, candidates = candidates[:_COSTED], candidates[_COSTED:]
            for node, cost in self._explorer.costs(asked).items():
                self._raise_below(node, self._costs.more_below(node, cost))
                if cost <= self._cost + _tie(self._cost):
                    self._cost = min(self._cost, cost)
                    best = _Best(found[node].violating, sum(node), node, cost)
                    self._bests = [
                        each
                        for each in (*self._bests, best)
                        if each.cost <= self._cost + _tie(self._cost)
                    ]

    def _least_of(self, node: Node, suppressed: int) -> float:
        """What a node that was looked at costs at least."""
        least = self._base[self._rank_of(node)] + self._costs.more(node, suppressed)
        return max(least, self._costs.least_above(node))

    @property
    def _worst_that_ties(self) -> float:
        # Twice the tolerance: a bound is a sum of floats, too.
        return self._cost + 2 * _tie(self._cost)

    def _rule_out(self) -> None:
        """Close what costs more than the best."""
        worst = self._worst_that_ties
        if worst == math.inf:
            return
        closed = bytearray(self.open.bit_length())
        for rank in _ranks(self.open):
            if self._least_at(rank) > worst:
                closed[rank] = 1
        self.open &= ~_set_of(closed)

    def _most_telling(self, among: int) -> Node:
        """A node that many others follow from, whether it satisfies or not: found among some that
        lie far apart, and then uphill among neighbours."""
        best = max(self._spread(among), key=lambda rank: (self._tells(among, rank), -rank))
        told = self._tells(among, best)
        while True:
            near = [
                rank
                for each in self._lattice.neighbours(self._node(best))
                if among >> (rank := self._rank_of(each)) & 1
            ]
            better = max(near, key=lambda rank: (self._tells(among, rank), -rank), default=best)
            if (now := self._tells(among, better)) <= told:
                return self._node(best)
            best, told = better, now

    def _tells(self, among: int, rank: int) -> int:
        """How many nodes are ruled out at least: those below it if it doesn't satisfy, those that
        cost no less if it does."""
        node = self._node(rank)
        below = (among & self._sets.below(node)).bit_count()
        return min(below, (among >> rank).bit_count())

    def _spread(self, among: int) -> Iterator[int]:
        """Some of the ranks of a set, far apart."""
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
    """Nothing is minimised: nodes stand in the order of their height."""

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
    """A search in which a node that satisfies rules out those above it."""

    def __init__(
        self, lattice: Lattice, costs: CostBounds, explorer: Evaluator, max_suppressed: int
    ) -> None:
        super().__init__(lattice, costs, explorer, max_suppressed)
        self._by_level = lattice.by_level.sets(self._order)
        self._satisfying: list[Node] = []

    def learn(self, found: Mapping[Node, NodeCounts]) -> None:
        for node, each in found.items():
            self.open &= ~(1 << self._rank_of(node))
            if each.necessary > self._budget:
                self.open &= ~self._sets.below(node)
            if each.satisfies:
                self._satisfying.append(node)
                self.open &= ~self._by_level.above(node)

    def minimal(self) -> Iterator[Node]:
        """The satisfying nodes none of whose levels could be lowered for another of them."""
        known = 0
        for node in self._satisfying:
            known |= 1 << self._rank_of(node)
        for node in self._satisfying:
            if self._by_level.below(node) & known == 1 << self._rank_of(node):
                yield node

    def _tells(self, among: int, rank: int) -> int:
        node = self._node(rank)
        below = (among & self._sets.below(node)).bit_count()
        return min(below, (among & self._by_level.above(node)).bit_count())


def _tie(cost: float) -> float:
    return TIE * max(1.0, cost) if cost < math.inf else 0.0


def _lowest(nodes: int) -> int:
    """The first rank in a set that has one."""
    return (nodes & -nodes).bit_length() - 1


def _ranks(nodes: int) -> Iterator[int]:
    """The ranks in a set, ascending."""
    digits = f"{nodes:b}"[::-1].encode().translate(_FLAGS)
    return compress(range(len(digits)), digits)


def _set_of(flags: bytearray) -> int:
    """The set of the places that are marked."""
    digits = bytes(flags)[::-1].translate(bytes.maketrans(b"\0\1", b"01"))
    return int(digits, 2) if digits else 0
