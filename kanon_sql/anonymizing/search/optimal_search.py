"""The optimal search for one table, run within a deadline, with its proof or remaining gap."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from kanon_sql.anonymizing.search.costs import Preferences
from kanon_sql.anonymizing.search.lattice import Lattice, Node
from kanon_sql.anonymizing.search.node_evaluation import LatticeStatistics, NodeEvaluator
from kanon_sql.anonymizing.search.optimal import OptimalNode, Progress, minimal, optimal
from kanon_sql.errors import InputError, option
from kanon_sql.results.release import METRICS, MetricName, MinimalNode, Search

MOST_NODES = 2_000_000
"""Maximum number of nodes in a lattice for the optimal search."""


@dataclass(frozen=True)
class Deadline:
    """The time at which a search ends with the best node so far, if there is one."""

    at: float | None = None
    """In seconds of the monotonic clock; None without a limit."""
    on_satisfying: Callable[[], None] = field(default=lambda: None)
    """Callback once a satisfying node is found."""

    def is_over(self, progress: Progress) -> bool:
        if progress.best is not None:
            self.on_satisfying()
        return self.at is not None and progress.best is not None and time.monotonic() >= self.at


@dataclass(frozen=True)
class SearchResult:
    """The best levels for one k, and the statistics of the search."""

    node: Node
    """The top node if no node satisfies."""
    satisfies: bool
    search: Search


class OptimalSearch:
    """The search for the best levels of one table, for one or more values of k."""

    def __init__(
        self,
        nodes: LatticeStatistics,
        metric: MetricName,
        preferred: Preferences,
        audit: Callable[[Node, int], bool],
        *,
        gap: float = 0.0,
        deadline: Deadline = Deadline(),
    ) -> None:
        self.nodes = nodes
        self._metric, self._preferred = metric, preferred
        self._audit, self._gap, self._deadline = audit, gap, deadline
        self._progress: Progress | None = None
        refuse_large(nodes.lattice)

    def best(self, k: int, max_suppressed: int) -> SearchResult:
        """The levels with the least loss. Raises `EngineError` if time runs out before a satisfying
        node is found."""
        evaluator = self._evaluator(k, max_suppressed)
        try:
            outcome = optimal(
                self.nodes.lattice,
                evaluator.cost_model,
                evaluator,
                max_suppressed,
                gap=self._gap,
                known=evaluator.known().items(),
                is_over=self._is_over,
            )
        except KeyboardInterrupt as stopped:
            stopped.add_note(self._progress_text)
            raise
        return SearchResult(
            outcome.node or self.nodes.lattice.top,
            outcome.node is not None,
            self._search(outcome),
        )

    def minimal(self, k: int, max_suppressed: int) -> tuple[MinimalNode, ...]:
        """All minimal satisfying nodes, with their metrics."""
        evaluator = self._evaluator(k, max_suppressed)
        minimal_nodes, _ = minimal(
            self.nodes.lattice, evaluator, max_suppressed, known=evaluator.known().items()
        )
        suppressed = self.nodes.suppressed(minimal_nodes, k)
        return tuple(
            MinimalNode(
                self.nodes.levels(node),
                suppressed[node].records,
                self.nodes.counted(node, k).classes,
                self.nodes.metrics(node, k, self._preferred.weights),
            )
            for node in minimal_nodes
        )

    # --- internal ---------------------------------------------------------------------------

    def _evaluator(self, k: int, max_suppressed: int) -> NodeEvaluator:
        costs = self.nodes.costs(self._metric, k, max_suppressed, self._preferred.weights)
        return NodeEvaluator(
            self.nodes, k, max_suppressed, costs, self._audit, self._progress_sentence
        )

    def _is_over(self, progress: Progress) -> bool:
        self._progress = progress
        return self._deadline.is_over(progress)

    def _search(self, outcome: OptimalNode) -> Search:
        return Search(
            nodes=self.nodes.lattice.size,
            looked_at=len(self.nodes.looked_at),
            bound=None if outcome.bound is None else as_metric(self._metric, outcome.bound),
            gap=gap_of(outcome.lost, outcome.bound),
            optimal=outcome.proved and outcome.node is not None,
        )

    def _progress_sentence(self) -> str:
        """Progress of the search as text."""
        progress = self._progress
        if progress is None:
            return ""
        return f" {progress.open:,} nodes are open. {self._progress_text}"

    @property
    def _progress_text(self) -> str:
        progress = self._progress
        if progress is None or progress.best is None:
            return "No satisfying levels found yet."
        title = METRICS[self._metric].title.lower()
        best = _figure(as_metric(self._metric, progress.best))
        if not progress.bound:
            return f"Best so far: {title} {best}."
        bound = _figure(as_metric(self._metric, progress.bound))
        return f"Best so far: {title} {best}; better than {bound} is impossible."


def refuse_large(lattice: Lattice) -> None:
    """Raise `InputError` for a lattice with too many nodes."""
    if lattice.size <= MOST_NODES:
        return
    tallest = max(lattice.ladders, key=lambda ladder: ladder.highest)
    raise InputError(
        f"the levels of these quasi-identifiers can be combined in {lattice.size:,} ways, and "
        f"{MOST_NODES:,} are searched at most. Shorten the hierarchy of "
        f'"{tallest.name}", which has {tallest.highest} levels, bound it ({option("at_most")}), or '
        "choose another algorithm."
    )


def as_metric(metric: MetricName, lost: float) -> float:
    """The metric's value for a loss; precision is 1 - loss."""
    match metric:
        case "precision":
            return 1 - lost
        case "discernibility":
            return int(lost) if lost.is_integer() else lost
    return lost


def gap_of(lost: float | None, bound: float | None) -> float | None:
    """Upper bound of the share of the loss that a better node could save."""
    if lost is None or bound is None:
        return None
    return max(0.0, (lost - bound) / lost) if lost else 0.0


def _figure(value: float) -> str:
    return f"{value:,.4g}"
