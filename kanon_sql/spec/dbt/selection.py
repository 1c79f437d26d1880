"""Node selection with the common subset of dbt's selectors.

https://docs.getdbt.com/reference/node-selection/syntax
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from kanon_sql.errors import SpecError, option
from kanon_sql.spec.dbt.node import Node


@dataclass(frozen=True)
class Selection:
    """The nodes of a project, and those of an older manifest."""

    nodes: Sequence[Node]
    before: Sequence[Node] | None = None
    """The nodes of the older manifest that `state:` compares with."""

    def of(self, given: str, selectors: Iterable[str]) -> frozenset[str]:
        """The unique ids of the nodes that any selector matches; `given` is the option, for
        messages.

        Selectors are a name, `tag:`, `path:` or `state:`, with a `+` before it for its ancestors
        and behind it for its descendants. Raises `SpecError` for any other.
        """
        found: frozenset[str] = frozenset()
        for selector in selectors:
            found |= self._of(given, selector)
        return found

    def _of(self, given: str, selector: str) -> frozenset[str]:
        inner = selector.removeprefix("+").removesuffix("+")
        if any(operator in inner for operator in "+@,"):
            raise SpecError(
                f"{option(given, selector)}: the only supported operator of dbt is + before or "
                "after a selector. Replace intersections and other operators by the models' names."
            )
        found = frozenset(
            node.unique_id for node in self.nodes if self._matches(given, inner, node)
        )
        parents = {node.unique_id: node.parents for node in self.nodes}
        children: dict[str, list[str]] = {}
        for node in self.nodes:
            for parent in node.parents:
                children.setdefault(parent, []).append(node.unique_id)
        before = _reached(found, parents) if selector.startswith("+") else frozenset()
        after = _reached(found, children) if selector.endswith("+") else frozenset()
        return found | before | after

    def _matches(self, given: str, selector: str, node: Node) -> bool:
        method, colon, pattern = selector.partition(":")
        if not colon and "/" in selector:
            method, colon, pattern = "path", ":", selector
        if not colon:
            return any(fnmatchcase(name, selector) for name in node.names)
        if method == "tag":
            return any(fnmatchcase(tag, pattern) for tag in node.tags)
        if method == "path":
            folder = pattern.removeprefix("./").rstrip("/")
            return any(
                fnmatchcase(file, folder) or file.startswith(f"{folder}/")
                for file in (node.original, node.location)
            )
        if method == "state" and pattern in ("modified", "new"):
            return self._is_changed(given, selector, node)
        raise SpecError(
            f"{option(given, selector)}: a selector is a model's name, tag:NAME, path:FOLDER, "
            "state:modified or state:new."
        )

    def _is_changed(self, given: str, selector: str, node: Node) -> bool:
        if self.before is None:
            raise SpecError(
                f"{option(given, selector)} compares with an older manifest: name its folder with "
                f"{option('state', 'FOLDER')}."
            )
        old = next((each for each in self.before if each.unique_id == node.unique_id), None)
        if old is None or selector == "state:new":
            return old is None
        return old.content != node.content


def _reached(
    start: frozenset[str], edges: dict[str, tuple[str, ...]] | dict[str, list[str]]
) -> frozenset[str]:
    """The nodes reachable over edges."""
    found: set[str] = set()
    ahead = list(start)
    while ahead:
        for each in edges.get(ahead.pop(), ()):
            if each not in found:
                found.add(each)
                ahead.append(each)
    return frozenset(found)
