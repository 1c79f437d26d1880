"""Optimal full-domain generalisation in plain Python: every node, every record, no bounds."""

from __future__ import annotations

import math
import operator
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

Record = Mapping[str, Any]
Node = tuple[int, ...]


@dataclass(frozen=True)
class Hierarchy:
    """Each raw value with its labels from level 1 on; `suppress` adds a level of `*`."""

    ancestors: Mapping[str, Sequence[str]]
    suppress: bool = False

    @property
    def listed(self) -> int:
        return len(next(iter(self.ancestors.values())))

    @property
    def height(self) -> int:
        return self.listed + self.suppress

    def label(self, value: Any, level: int) -> Any:
        if level == 0:
            return value
        if level > self.listed:
            return "*"
        return None if value is None else self.ancestors[value][level - 1]

    def leaves(self, value: Any, level: int) -> int:
        """How many raw values the label of a value stands for."""
        if level > self.listed:
            return len(self.ancestors)
        if level == 0 or value is None:
            return 1
        label = self.label(value, level)
        return sum(labels[level - 1] == label for labels in self.ancestors.values())


Passes = Callable[[Sequence[Record]], bool]


@dataclass(frozen=True)
class Problem:
    records: Sequence[Record]
    hierarchies: Mapping[str, Hierarchy]
    metric: str
    k: int
    max_suppressed: int
    entity: str | None = None
    passes: Passes = lambda group: True
    """Whether a class passes what else is demanded of it."""
    passes_at: Callable[[Sequence[Record], Node | None], bool] = lambda group, node: True
    """Whether it does at a node; None for a class that is `*` in every quasi-identifier."""
    holds: Callable[[Sequence[int]], bool] = lambda sizes: True
    """Whether a release with classes of these sizes may be published."""
    holds_at: Callable[[Sequence[tuple[Sequence[Record], Node | None]], Node], bool] = (
        lambda released, node: True
    )
    """Whether a release of these classes of a node may be; None beside the class that is `*`."""
    star: bool = False
    highest: Mapping[str, int] = field(default_factory=dict)
    weights: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Answer:
    node: Node
    value: float
    suppressed: int


def classes_at(problem: Problem, node: Node) -> list[list[Record]]:
    groups: dict[tuple[Any, ...], list[Record]] = defaultdict(list)
    for record in problem.records:
        key = tuple(
            hierarchy.label(record[name], level)
            for (name, hierarchy), level in zip(problem.hierarchies.items(), node, strict=True)
        )
        groups[key].append(record)
    return list(groups.values())


def violates(problem: Problem, group: Sequence[Record], node: Node | None) -> bool:
    people = {record[problem.entity] for record in group} if problem.entity else group
    return (
        len(people) < problem.k or not problem.passes(group) or not problem.passes_at(group, node)
    )


def satisfying(problem: Problem) -> dict[Node, list[list[Record]]]:
    """Every node that may be released, with the classes that it keeps."""
    heights = [
        min(each.height, problem.highest.get(name, each.height))
        for name, each in problem.hierarchies.items()
    ]
    found = {}
    for node in product(*(range(height + 1) for height in heights)):
        classes = classes_at(problem, node)
        kept = [each for each in classes if not violates(problem, each, node)]
        star = [record for each in classes if each not in kept for record in each]
        suppressed, starred = len(star), [star] if problem.star and star else []
        released = [*kept, *starred]
        if suppressed > problem.max_suppressed:
            continue
        if any(violates(problem, each, None) for each in starred):
            continue
        if released and not problem.holds([len(each) for each in released]):
            continue
        at = [*((each, node) for each in kept), *((each, None) for each in starred)]
        if not problem.holds_at(at, node):
            continue
        found[node] = kept
    return found


def best(problem: Problem) -> Answer | None:
    found = [
        Answer(node, value, len(problem.records) - sum(map(len, kept)))
        for node, kept in satisfying(problem).items()
        if (value := lost(problem, node, kept)) is not None
    ]
    if not found:
        return None
    least = min(each.value for each in found)
    tied = [each for each in found if each.value <= least + 1e-12 * max(1, least)]
    return min(tied, key=lambda each: (each.suppressed, sum(each.node), each.node))


def minimal(problem: Problem) -> list[Node]:
    """The satisfying nodes, no other of which has no level higher."""
    found = satisfying(problem)
    return sorted(node for node in found if not any(_is_below(other, node) for other in found))


def _is_below(node: Node, other: Node) -> bool:
    return node != other and all(map(operator.le, node, other))


def lost(problem: Problem, node: Node, kept: Sequence[Sequence[Record]]) -> float | None:
    """What a release loses by the metric; precision is told as what is left of 1."""
    n = len(problem.records)
    suppressed = n - sum(map(len, kept))
    if problem.metric == "discernibility":
        return sum(len(each) ** 2 for each in kept) + n * suppressed
    if problem.metric == "average_class_size":
        return (n - suppressed) / len(kept) if kept else None
    released = {id(record) for group in kept for record in group}
    of_columns, most, weights = [], [], []
    for (name, hierarchy), level in zip(problem.hierarchies.items(), node, strict=True):
        if hierarchy.height == 0 or len(hierarchy.ancestors) < 2:
            continue
        raw = Counter(record[name] for record in problem.records)
        shown = Counter(hierarchy.label(record[name], level) for record in problem.records)
        total = 0.0
        for record in problem.records:
            value = record[name]
            is_kept = id(record) in released
            match problem.metric:
                case "precision":
                    total += level / hierarchy.height if is_kept else 1
                case "non_uniform_entropy":
                    under = shown[hierarchy.label(value, level)] if is_kept else n
                    total += math.log2(under / raw[value])
                case _:
                    share = (hierarchy.leaves(value, level) - 1) / (len(hierarchy.ancestors) - 1)
                    total += share if is_kept else 1
        of_columns.append(total)
        most.append(sum(math.log2(n / raw[record[name]]) for record in problem.records))
        weights.append(problem.weights.get(name, 1))
    if not of_columns:
        return 0.0
    if problem.metric == "non_uniform_entropy":
        return sum(of_columns) / sum(most) if sum(most) else 0.0
    if problem.metric == "loss_geometric":
        return math.prod(1 + each / n for each in of_columns) ** (1 / len(of_columns)) - 1
    weighed = (weight * each / n for weight, each in zip(weights, of_columns, strict=True))
    return sum(weighed) / sum(weights)
