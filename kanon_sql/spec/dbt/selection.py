"""Which nodes of a project dbt's selectors choose, as far as they are common.

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
    """The nodes of a project, and which of them changed."""

    nodes: Sequence[Node]
    before: Sequence[Node] | None = None
    """The nodes of an older manifest, to which `state:` compares."""

    def of(self, given: str, selectors: Iterable[str]) -> frozenset[str]:
        """The unique ids that any of the selectors means; `given` is the option that has them.

        Raises `SpecError` for a selector that is none of these: a name, `tag:`, `path:`, `state:`,
        and `+` before it for what it is made from, behind it for what is made from it.
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
            node.unique_id for node in self.nodes if self._is_meant(given, inner, node)
        )
        parents = {node.unique_id: node.parents for node in self.nodes}
        children: dict[str, list[str]] = {}
        for node in self.nodes:
            for parent in node.parents:
                children.setdefault(parent, []).append(node.unique_id)
        before = _reached(found, parents) if selector.startswith("+") else frozenset()
        behind = _reached(found, children) if selector.endswith("+") else frozenset()
        return found | before | behind

    def _is_meant(self, given: str, selector: str, node: Node) -> bool:
        method, colon, wanted = selector.partition(":")
        if not colon and "/" in selector:
            method, colon, wanted = "path", ":", selector
        if not colon:
            return any(fnmatchcase(name, selector) for name in node.names)
        if method == "tag":
            return any(fnmatchcase(tag, wanted) for tag in node.tags)
        if method == "path":
            folder = wanted.removeprefix("./").rstrip("/")
            return any(
                fnmatchcase(file, folder) or file.startswith(f"{folder}/")
                for file in (node.original, node.location)
            )
        if method == "state" and wanted in ("modified", "new"):
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
    """Everything that edges lead to."""
    found: set[str] = set()
    ahead = list(start)
    while ahead:
        for each in edges.get(ahead.pop(), ()):
            if each not in found:
                found.add(each)
                ahead.append(each)
    return frozenset(found)
