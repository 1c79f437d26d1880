"""YAML files with the line of every value, for error messages.

Plain scalars follow YAML 1.2: `no` is a word, 02138 and 2025-01-01 are text. A repeated key in a
mapping is an error.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from importlib.resources import files
from itertools import accumulate
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from kanon_sql.errors import SpecError, in_one, irregular_kind, truncated

Location = Sequence[int | str]

LISTS_OF_VALUES = ("values", "allowed", "order")
"""Parameters of checks that contain values of a sensitive attribute."""
MOST_LEVELS = 50
MOST_NODES = 100_000
"""Maximum number of values after expanding aliases, which a few lines can multiply without
bound."""


class Place(NamedTuple):
    """A location in a file; lines and columns start at 1."""

    file: Path
    line: int
    column: int


class _Bounded(yaml.SafeLoader):
    """A loader that raises `RecursionError` above a maximum depth."""

    _level = 0

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        self._level += 1
        if self._level > MOST_LEVELS:
            raise RecursionError
        node: yaml.Node | None = super().compose_node(parent, index)
        self._level -= 1
        return node


class _Loader(_Bounded):
    yaml_implicit_resolvers = {}  # noqa: RUF012  PyYAML's own name for it


for _tag, _pattern, _first_characters in (
    ("bool", r"true|True|TRUE|false|False|FALSE", "tTfF"),
    ("null", r"~|null|Null|NULL|", ["~", "n", "N", ""]),
    ("int", r"[-+]?(0|[1-9][0-9]*)", "-+0123456789"),
    ("float", r"[-+]?(0|[1-9][0-9]*)?(\.[0-9]+)([eE][-+]?[0-9]+)?", "-+.0123456789"),
    ("float", r"[-+]?(0|[1-9][0-9]*)(\.[0-9]*)?[eE][-+]?[0-9]+", "-+0123456789"),
):
    _Loader.add_implicit_resolver(
        f"tag:yaml.org,2002:{_tag}", re.compile(f"^(?:{_pattern})$"), list(_first_characters)
    )


def _loader(name: str | Path, text: str, loader_of: type[_Bounded]) -> _Bounded:
    """A loader over a text. Raises `SpecError` for a character that YAML does not allow."""
    try:
        return loader_of(text)
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise SpecError(
            f"{name}:{line}: the character U+{error.character:04X} is not allowed in YAML. Remove "
            "it."
        ) from None


def shipped(package: str, name: str) -> Any:
    """The values of a YAML file shipped in a package."""
    return yaml.safe_load(files(package).joinpath(name).read_text(encoding="utf-8"))


def scalar_or_list(text: str) -> Any:
    """Parse the value of an option as a YAML scalar or flow list.

    >>> scalar_or_list('[HIV, "a,b", no, 02138]')
    ['HIV', 'a,b', 'no', '02138']
    >>> scalar_or_list("0.2")
    0.2

    Raises `SpecError` if it is neither.
    """
    loader = _loader("the value", text, _Loader)
    try:
        root = loader.get_single_node()
        if root is not None:
            _Walk(Path(), (), repeated_keys=True).count_values(root)
        return loader.construct_document(root) if root is not None else None
    except (yaml.YAMLError, SpecError, ValueError, RecursionError):
        raise SpecError(
            f"{truncated(text)!r} is not a value: a number, a word or a [list, of, them]."
        ) from None
    finally:
        loader.dispose()


def as_yaml(value: Any, *, in_lines: bool = False) -> str:
    """Plain values as YAML, in insertion order; texts of several lines as such if `in_lines`."""
    dumper = _InLines if in_lines else _Dumper
    return yaml.dump(value, Dumper=dumper, sort_keys=False, allow_unicode=True, width=96)


class _Dumper(yaml.SafeDumper):
    def ignore_aliases(self, data: Any) -> bool:
        """Write repeated lists out instead of using aliases."""
        return True


class _InLines(_Dumper):
    """Writes a text of several lines as a literal block."""


def _as_block(dumper: yaml.SafeDumper, text: str) -> yaml.Node:
    style = "|" if "\n" in text else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_InLines.add_representer(str, _as_block)


class ItemLines(NamedTuple):
    """Where the items of a list stand: the column of their dashes, and their lines from 0."""

    column: int
    starts: tuple[int, ...]
    ends: tuple[int, ...]
    """The line after the last one of each item."""


class YamlDocument(NamedTuple):
    """A parsed file: its value, and its nodes with their locations."""

    path: Path
    lines: tuple[str, ...]
    value: Any
    root: yaml.Node

    @classmethod
    def read(cls, path: Path) -> YamlDocument:
        """Parse a file. Raises `SpecError` if it can't be read or is not YAML."""
        return cls._read(path, _Loader, repeated_keys=False)

    @classmethod
    def read_as_dbt_does(cls, path: Path) -> YamlDocument:
        """Parse a file as YAML 1.1, where `yes` is true and the last of repeated keys wins.

        Raises `SpecError` like `read`.
        """
        return cls._read(path, _Bounded, repeated_keys=True)

    @classmethod
    def _read(cls, path: Path, loader_of: type[_Bounded], *, repeated_keys: bool) -> YamlDocument:
        try:
            if kind := irregular_kind(path):
                raise SpecError(f"{path} is {kind}, and a file is needed.")
            text = path.read_text(encoding="utf-8-sig")
        except FileNotFoundError:
            raise SpecError(f"there is no file {path}.") from None
        except UnicodeDecodeError:
            raise SpecError(f"{path} is not UTF-8 text.") from None
        except OSError as error:
            raise SpecError(f"{path} can't be read: {error.strerror}.") from None
        lines = tuple(text.splitlines())
        loader = _loader(path, text, loader_of)
        try:
            root = loader.get_single_node()
            if root is None:
                raise SpecError(f"{path} is empty; kanon-sql demo writes an example of a spec.")
            _Walk(path, lines, repeated_keys=repeated_keys).count_values(root)
            value = loader.construct_document(root)
        except yaml.MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            raise SpecError(
                _with_excerpt(
                    path, lines, mark, f"this is not YAML: {error.problem or error.context}."
                )
            ) from None
        except SpecError:
            raise
        except RecursionError:
            raise SpecError(
                f"{path} is nested more than {MOST_LEVELS} levels deep, and no spec needs more "
                "than a dozen. Look for brackets that are never closed."
            ) from None
        except yaml.YAMLError as error:
            raise SpecError(f"{path} is not YAML: {error}") from None
        except ValueError:
            raise SpecError(f"{path} has a number or a date that can't be read.") from None
        finally:
            loader.dispose()
        return cls(path, lines, value, root)

    @property
    def is_contract(self) -> bool:
        """Whether it is a data contract by the Open Data Contract Standard."""
        return isinstance(self.value, dict) and self.value.get("kind") == "DataContract"

    def error(self, location: Location, message: str, *, at_key: bool = False) -> SpecError:
        """An error that points at the value (or the key) at `location`, or at its nearest existing
        parent; at what the message quotes first, where that stands there."""
        node = self._quoted(location, message) or self._node(location, at_key)
        is_on_lines = node.start_mark.line != node.end_mark.line
        if isinstance(node, yaml.MappingNode) and is_on_lines and len(node.value) == 1:
            node = node.value[0][0]
        return SpecError(
            _with_excerpt(self.path, self.lines, node.start_mark, message, _width(node))
        )

    def place(self, location: Location) -> Place:
        """The location where the value at `location` begins, or its nearest existing parent."""
        mark = self._node(location).start_mark
        return Place(self.path, mark.line + 1, mark.column + 1)

    def items(self, location: Location) -> ItemLines | None:
        """The lines of the items of a list in block style; None where there is no such list.

        Raises `SpecError` for a list in flow style, with an anchor or with an alias.
        """
        *above, key = location
        child = _child(self._node(above), key)
        if child is None or child[1].value in ("", "null", "~"):
            return None
        node = child[1]
        is_block_list = isinstance(node, yaml.SequenceNode) and not node.flow_style and node.value
        if not is_block_list or self._has_anchor(node):
            raise self.error(
                location,
                "these rules are not a plain list in block style, so single ones can't be "
                "replaced. Write each on lines of its own, without anchors.",
            )
        starts = [child.start_mark.line for child in node.value]
        followed = [*starts[1:], node.end_mark.line]
        ends = [self._last_line(*pair) for pair in zip(starts, followed, strict=True)]
        return ItemLines(node.start_mark.column, tuple(starts), tuple(ends))

    def mapping_lines(self, location: Location) -> tuple[int, int]:
        """The column of the keys of a mapping in block style, and the line after its last one.

        Raises `SpecError` for a mapping in flow style.
        """
        node = self._node(location)
        if not isinstance(node, yaml.MappingNode) or node.flow_style:
            raise self.error(location, "this is in flow style; write each key on its own line.")
        last = node.value[-1][1]
        end = last.end_mark.line + (1 if last.end_mark.column else 0)
        return node.start_mark.column, self._last_line(node.start_mark.line, end)

    def _has_anchor(self, node: yaml.Node) -> bool:
        """Whether the lines of a node, or the line of its key, have an anchor or an alias."""
        lines = range(node.start_mark.line - 1, node.end_mark.line)
        return any(
            isinstance(token, yaml.AnchorToken | yaml.AliasToken) and token.start_mark.line in lines
            for token in yaml.scan("\n".join(self.lines))
        )

    def _last_line(self, start: int, end: int) -> int:
        """`end` without the blank lines and comments before it."""
        while end > start + 1 and self.lines[end - 1].strip()[:1] in ("", "#"):
            end -= 1
        return end

    def text_without(self, keys: Sequence[str]) -> str:
        """The file's text with URLs masked, and … in place of the values of these keys."""
        text = "\n".join(self.lines)
        starts = list(accumulate((len(line) + 1 for line in self.lines), initial=0))
        marks = [
            tuple(starts[mark.line] + mark.column for mark in (node.start_mark, node.end_mark))
            for node in _values_of(keys, self.root)
        ]
        for start, end in sorted(set(marks), reverse=True):
            replaced = text[start:end]
            text = f"{text[:start]}…{replaced[len(replaced.rstrip()) :]}{text[end:]}"
        return "\n".join(map(without_secrets, text.split("\n")))

    def _quoted(self, location: Location, message: str) -> yaml.Node | None:
        """The key or value at a location, or below it, that a message quotes first."""
        quoted = re.search(r'"([^"\n]+)"', message)
        if quoted is None:
            return None
        key, node = self._node(location, at_key=True), self._node(location)
        scalars = [key, *_scalars(node)]
        return next((each for each in scalars if each.value == quoted[1]), None)

    def _node(self, location: Location, at_key: bool = False) -> yaml.Node:
        node = self.root
        for position, step in enumerate(location):
            child = _child(node, step)
            if child is None:
                break
            key, node_below = child
            last = position == len(location) - 1
            node = key if last and at_key and key is not None else node_below
        return node


def _scalars(node: yaml.Node) -> Iterator[yaml.Node]:
    """The keys and values below a node, in the order of the text."""
    if isinstance(node, yaml.ScalarNode):
        yield node
    for below in node.value if isinstance(node, yaml.CollectionNode) else ():
        for each in below if isinstance(below, tuple) else (below,):
            yield from _scalars(each)


def _values_of(keys: Sequence[str], node: yaml.Node) -> Iterator[yaml.Node]:
    """The nodes of all values that mappings have under these keys."""
    pairs = node.value if isinstance(node, yaml.MappingNode) else ()
    yield from (value for key, value in pairs if key.value in keys)
    others = node.value if isinstance(node, yaml.SequenceNode) else ()
    for below in (*others, *(value for key, value in pairs if key.value not in keys)):
        yield from _values_of(keys, below)


def _child(node: yaml.Node, step: int | str) -> tuple[yaml.Node | None, yaml.Node] | None:
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            if key.value == str(step):
                return key, value
    if isinstance(node, yaml.SequenceNode) and isinstance(step, str):
        return next(((None, child) for child in node.value if child.value == step), None)
    if isinstance(node, yaml.SequenceNode) and isinstance(step, int) and step < len(node.value):
        return None, node.value[step]
    return None


class _Walk:
    """Refuses repeated keys, recursive aliases and aliases that expand too far."""

    def __init__(self, path: Path, lines: tuple[str, ...], *, repeated_keys: bool) -> None:
        self._path, self._lines, self._repeated_keys = path, lines, repeated_keys
        self._sizes: dict[yaml.Node, int] = {}

    def count_values(self, node: yaml.Node, inside: tuple[yaml.Node, ...] = ()) -> int:
        """The number of values in a node, with aliases expanded.

        Raises `SpecError` for too many values, for a repeated key unless these are allowed, and for
        an alias within its own anchor.
        """
        if node in self._sizes:
            return self._sizes[node]
        if node in inside:
            raise self._error(node, "an alias must not occur inside its own anchor.")
        size = 1 + sum(self.count_values(value, (*inside, node)) for value in self._values(node))
        if size > MOST_NODES:
            raise self._error(
                node, f"its aliases expand this to more than {MOST_NODES:,} values. Use fewer."
            )
        self._sizes[node] = size
        return size

    def _values(self, node: yaml.Node) -> Iterator[yaml.Node]:
        keys: set[str] = set()
        again: list[SpecError] = []
        for key, value in node.value if isinstance(node, yaml.MappingNode) else ():
            if isinstance(key, yaml.ScalarNode) and not self._repeated_keys:
                if key.value in keys:
                    again.append(self._error(key, f'the key "{key.value}" is given twice.'))
                keys.add(key.value)
            yield value
        if again:
            raise in_one(again)
        yield from node.value if isinstance(node, yaml.SequenceNode) else ()

    def _error(self, node: yaml.Node, message: str) -> SpecError:
        return SpecError(
            _with_excerpt(self._path, self._lines, node.start_mark, message, _width(node))
        )


def _width(node: yaml.Node) -> int:
    same_line = node.end_mark.line == node.start_mark.line
    return max(1, node.end_mark.column - node.start_mark.column) if same_line else 1


def without_secrets(line: str) -> str:
    """A line of a spec for an error message, with URLs masked, as they may contain passwords.

    >>> without_secrets("    connect: 'postgresql://ann:secret@host/db'")
    '    connect: …'
    >>> without_secrets("# once postgresql://ann:secret@host/db")
    '# once postgresql://…'
    """
    line = re.sub(r"""(\bconnect["']?\s*:\s*)\S.*""", r"\1…", line)
    return re.sub(r"://\S+", "://…", line)


def _with_excerpt(
    path: Path, lines: Sequence[str], mark: yaml.Mark | None, message: str, width: int = 1
) -> str:
    """The message with its location, the line before, the line itself and a marker below."""
    if mark is None:
        return f"{path}: {message}"
    shown = [
        f"{number + 1:>5} | {without_secrets(lines[number])}"
        for number in (mark.line - 1, mark.line)
        if 0 <= number < len(lines)
    ]
    marker = f"{'':>5} | {' ' * mark.column}{'^' * width}"
    return "\n".join([f"{path}:{mark.line + 1}:{mark.column + 1}: {message}", *shown, marker])
