"""Which levels a release gets: found by Datafly, or the best there are and how that was proved."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from kanon_sql.anonymizing.exploring import DemandExplorer, Nodes
from kanon_sql.anonymizing.nodes import Lattice, Node
from kanon_sql.anonymizing.optimal import Outcome, Progress, minimal, optimal
from kanon_sql.anonymizing.preferences import Preferences
from kanon_sql.errors import InputError, option
from kanon_sql.results.metrics import METRICS
from kanon_sql.results.release import MetricName, MinimalNode, Search

MOST_NODES = 2_000_000
"""How many nodes a lattice may have that is searched whole."""


@dataclass(frozen=True)
class Deadline:
    """When a search ends with the best that it has found, if it has found any."""

    at: float | None = None
    """In seconds of the monotonic clock; None where it may take as long as it takes."""
    found_one: Callable[[], None] = field(default=lambda: None)
    """Is told once there is something to end with."""

    def is_over(self, progress: Progress) -> bool:
        if progress.best is not None:
            self.found_one()
        return self.at is not None and progress.best is not None and time.monotonic() >= self.at


@dataclass(frozen=True)
class Chosen:
    """The best levels for one k, and how the search for them ended."""

    node: Node
    """The top, where no node satisfies."""
    satisfies: bool
    search: Search


class Choice:
    """The search for the best levels of one table, for one k or several."""

    def __init__(
        self,
        nodes: Nodes,
        metric: MetricName,
        preferred: Preferences,
        *,
        gap: float = 0.0,
        deadline: Deadline = Deadline(),
    ) -> None:
        self.nodes = nodes
        self._metric, self._preferred = metric, preferred
        self._gap, self._deadline = gap, deadline
        self._progress: Progress | None = None
        refuse_large(nodes.lattice)

    def best(self, k: int, max_suppressed: int) -> Chosen:
        """The levels that lose least. Raises `EngineError` where the time is over before any are
        found that satisfy."""
        explorer = self._explorer(k, max_suppressed)
        try:
            outcome = optimal(
                self.nodes.lattice,
                explorer.of,
                explorer,
                max_suppressed,
                gap=self._gap,
                known=explorer.known().items(),
                is_over=self._is_over,
            )
        except KeyboardInterrupt as stopped:
            stopped.add_note(self._told)
            raise
        return Chosen(
            outcome.node or self.nodes.lattice.top,
            outcome.node is not None,
            self._search(outcome),
        )

    def minimal(self, k: int, max_suppressed: int) -> tuple[MinimalNode, ...]:
        """All minimal nodes that satisfy, with what each loses."""
        explorer = self._explorer(k, max_suppressed)
        found, _ = minimal(
            self.nodes.lattice, explorer, max_suppressed, known=explorer.known().items()
        )
        suppressed = self.nodes.suppressed(found, k)
        return tuple(
            MinimalNode(
                self.nodes.levels(node),
                suppressed[node].records,
                self.nodes.counted(node, k).classes,
                self.nodes.metrics(node, k, self._preferred.weights),
            )
            for node in found
        )

    # --- within -----------------------------------------------------------------------------

    def _explorer(self, k: int, max_suppressed: int) -> DemandExplorer:
        costs = self.nodes.costs(self._metric, k, max_suppressed, self._preferred.weights)
        return DemandExplorer(self.nodes, k, max_suppressed, costs, self._saying)

    def _is_over(self, progress: Progress) -> bool:
        self._progress = progress
        return self._deadline.is_over(progress)

    def _search(self, outcome: Outcome) -> Search:
        return Search(
            nodes=self.nodes.lattice.size,
            looked_at=len(self.nodes.looked_at),
            bound=None if outcome.bound is None else as_metric(self._metric, outcome.bound),
            gap=gap_of(outcome.lost, outcome.bound),
            optimal=outcome.proved and outcome.node is not None,
        )

    def _saying(self) -> str:
        """How far the search is, in words."""
        progress = self._progress
        if progress is None:
            return ""
        return f" {progress.open:,} are open. {self._told}"

    @property
    def _told(self) -> str:
        progress = self._progress
        if progress is None or progress.best is None:
            return "None that satisfies is found yet."
        title = METRICS[self._metric].title.lower()
        best = _figure(as_metric(self._metric, progress.best))
        if not progress.bound:
            return f"Best so far: {title} {best}."
        bound = _figure(as_metric(self._metric, progress.bound))
        return f"Best so far: {title} {best}; better than {bound} is impossible."


def refuse_large(lattice: Lattice) -> None:
    """Raise `InputError` for a lattice of more nodes than are searched."""
    if lattice.size <= MOST_NODES:
        return
    tallest = max(lattice.ladders, key=lambda each: each.highest)
    raise InputError(
        f"the levels of these quasi-identifiers can be combined in {lattice.size:,} ways, and "
        f"{MOST_NODES:,} are searched at most. Shorten the hierarchy of "
        f'"{tallest.name}", which has {tallest.highest} levels, bound it ({option("at_most")}), or '
        "ask for another algorithm."
    )


def as_metric(metric: MetricName, lost: float) -> float:
    """What a metric says of so much lost: precision is what is left."""
    match metric:
        case "precision":
            return 1 - lost
        case "discernibility":
            return int(lost) if lost.is_integer() else lost
    return lost


def gap_of(lost: float | None, bound: float | None) -> float | None:
    """Which share of what is lost might be saved, at most."""
    if lost is None or bound is None:
        return None
    return max(0.0, (lost - bound) / lost) if lost else 0.0


def _figure(value: float) -> str:
    return f"{value:,.4g}"
