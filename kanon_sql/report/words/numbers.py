"""The wording of numbers, shares, lists."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from decimal import Decimal
from functools import cache
from typing import Any, Protocol, TypeVar

from kanon_sql.errors import printable as printable

_CALL = re.compile(r"kanon-sql (?P<name>\w+) …(?P<options>(?: --[a-z-]+ [^\s;,]+)+)")
"""A command with options."""
_FUNCTION = re.compile(r"kanon-sql (tradeoff|compile|profile|anonymize|init|audit|explain)\b")
_PAGE = re.compile(r"(?:kanon-sql )?\bexplain (?P<page>[a-z_-]+)(?=[.,;)])")
"""A reference to a manual page."""
_CHOICE = re.compile(
    r"--(entity-in-release|unassigned|algorithm|suppressed|sensitive-nulls|nulls|output) "
    r"(?P<value>[a-z]+(?:\.[a-z]+)?)"
)
"""An option with a keyword value."""
_HIERARCHY = re.compile(r"--hierarchy ([^\s=]+)=([\w:,.]*\w)")
"""The levels of a quasi-identifier."""
_HIERARCHIES = re.compile(rf"{_HIERARCHY.pattern}(?: {_HIERARCHY.pattern})*")
_FLAG = re.compile(r"(?<![\w-])--([a-z][a-z-]+)")
_Text = TypeVar("_Text")
_Result = TypeVar("_Result")


def in_python(blocks: Iterable[_Text]) -> Iterator[_Text]:
    """The blocks with command line options replaced by Python parameters."""
    for block in blocks:
        yield _in_python_words(block)


def with_python_words(result: _Result) -> _Result:
    """The result with its warnings in Python's words."""
    findings: Any = result
    tables = (
        replace(table, warnings=tuple(map(in_python_words, table.warnings)))
        for table in findings.tables
    )
    translated: _Result = replace(findings, tables=tuple(tables))
    return translated


def _in_python_words(value: Any) -> Any:
    match value:
        case str():
            return in_python_words(value)
        case tuple() if hasattr(value, "_fields"):
            return type(value)(*map(_in_python_words, value))
        case tuple():
            return tuple(map(_in_python_words, value))
        case list():
            return [_in_python_words(item) for item in value]
        case Mapping():
            return value
    if is_dataclass(value) and not isinstance(value, type):
        parts = {
            field.name: _in_python_words(getattr(value, field.name)) for field in fields(value)
        }
        return replace(value, **parts)
    return value


def in_python_words(text: str) -> str:
    """A sentence with command line options replaced by Python parameters.

    >>> in_python_words("Allow more with --max-suppressed.")
    'Allow more with max_suppressed.'
    >>> in_python_words("kanon-sql anonymize … --k 5 --metric loss --output release.parquet")
    'kanon.anonymize(…, k=5, metric="loss", output="release.parquet")'
    >>> in_python_words("Which thresholds there are: kanon-sql explain thresholds.")
    'Which thresholds there are: kanon.explain("thresholds").'
    """
    # Several of them contain non-breaking spaces.
    for ours, theirs in _words("python_words.toml").items():
        text = text.replace(ours, theirs)
    text = _CALL.sub(_called, text)
    text = _PAGE.sub(lambda page: f'kanon.explain("{page["page"]}")', text)
    text = _FUNCTION.sub(r"kanon.\1(…)", text)
    text = _CHOICE.sub(lambda match: _keyword_argument(match[1], match["value"]), text)
    text = _HIERARCHIES.sub(_levels, text)
    return _FLAG.sub(lambda flag: flag[1].replace("-", "_"), text)


def _levels(options: re.Match[str]) -> str:
    return json.dumps(dict(_HIERARCHY.findall(options[0])), ensure_ascii=False)


@cache
def _words(file: str) -> dict[str, Any]:
    """A file of words in this package."""
    import tomllib
    from importlib.resources import files

    return tomllib.loads(files("kanon_sql.report.words").joinpath(file).read_text("utf-8"))


def wording(name: str) -> Any:
    """A list or a table of words of the pages, by its name in `wording.toml`."""
    return _words("wording.toml")[name]


def sentence(name: str) -> str:
    """A sentence of the pages, by its name in `wording.toml`."""
    return str(wording("sentences")[name])


def _called(command: re.Match[str]) -> str:
    options = re.findall(r"--([a-z-]+) (\S+)", command["options"])
    arguments = ["…", *(_keyword_argument(*option) for option in options)]
    return f"kanon.{command['name']}({', '.join(arguments)})"


def _keyword_argument(option: str, value: str) -> str:
    """An option as a keyword argument; non-numeric values are quoted."""
    is_number = re.fullmatch(r"\d+(\.\d+)?", value)
    return f"{option.replace('-', '_')}={value if is_number else chr(34) + value + chr(34)}"


KEPT_TOGETHER = "\u00a0"
TO = "\u2013"
NONE = "\u2013"
"""Placeholder for a missing figure."""
BLOCKS = "▏▎▍▌▋▊▉█"
"""Block characters from one to eight eighths, for text bars."""
_PLURALS = {"class": "classes", "person": "people"}


def with_spaces(text: str) -> str:
    """The text with ordinary spaces, after wrapping."""
    return text.replace(KEPT_TOGETHER, " ")


def number(value: int | float) -> str:
    """A number with thousands separators; a fraction with four significant digits.

    >>> number(1204311), number(0.25), number(float("inf"))
    ('1,204,311', '0.25', 'infinite')
    """
    if isinstance(value, int):
        return f"{value:,}"
    if value in (float("inf"), float("-inf")):
        return "infinite"
    return f"{value:,.4g}"


def counted(value: int, noun: str) -> str:
    """A count with its noun.

    >>> with_spaces(counted(1, "class")), with_spaces(counted(2100, "class"))
    ('1 class', '2,100 classes')
    """
    word = noun if value == 1 else _PLURALS.get(noun, f"{noun}s")
    return f"{value:,}{KEPT_TOGETHER}{word}"


def ordinal(index: int) -> str:
    """An English ordinal.

    >>> [ordinal(place) for place in (1, 2, 3, 4, 11, 22)]
    ['1st', '2nd', '3rd', '4th', '11th', '22nd']
    """
    teen = index % 100 in (11, 12, 13)
    return f"{index}{'th' if teen else {1: 'st', 2: 'nd', 3: 'rd'}.get(index % 10, 'th')}"


def percent(fraction: float) -> str:
    """A percentage; only exact 0 and 1 are shown as such.

    >>> [with_spaces(percent(x)) for x in (0, 0.0001, 0.675, 0.9999, 1)]
    ['0 %', 'less than 0.1 %', '67.5 %', 'more than 99.9 %', '100 %']
    """
    if fraction in (0, 1):
        figure = f"{fraction:.0%}"[:-1]
    elif fraction < 0.001:
        figure = f"less than{KEPT_TOGETHER}0.1"
    elif fraction > 0.999:
        figure = f"more than{KEPT_TOGETHER}99.9"
    else:
        figure = f"{fraction * 100:.1f}"
    return f"{figure}{KEPT_TOGETHER}%"


def exact_percent(fraction: float) -> str:
    """A percentage from a requirement, never rounded.

    >>> [with_spaces(exact_percent(x)) for x in (0, 0.2, 0.0001, 0.12345, 1)]
    ['0 %', '20.0 %', '0.01 %', '12.345 %', '100 %']
    """
    percentage = Decimal(str(fraction)) * 100
    if percentage == round(percentage, 1):
        return percent(fraction)
    return f"{percentage.normalize():f}{KEPT_TOGETHER}%"


def short_percent(fraction: float | None) -> str:
    """A percentage as a table cell, with < and > in place of words.

    >>> [with_spaces(short_percent(share)) for share in (0.0001, 0.25, 1)]
    ['< 0.1 %', '25.0 %', '100 %']
    """
    if fraction is None:
        return NONE
    return percent(fraction).replace("less than", "<").replace("more than", ">")


def short_share(count: int, total: int) -> str:
    """The percentage of a whole as a table cell."""
    return short_percent(count / total if total else None)


def number_or_none(value: int | None) -> str:
    return NONE if value is None else number(value)


def significant_percent(fraction: float) -> str:
    """A percentage with four significant digits, for a threshold.

    >>> with_spaces(significant_percent(1 / 3)), with_spaces(significant_percent(0.05))
    ('33.33 %', '5 %')
    """
    return f"{number(fraction * 100)}{KEPT_TOGETHER}%"


def bar(share: float, longest: int, *, least: int = 1) -> str:
    """A bar in eighths of a character, at least `least` for any share but 0.

    >>> bar(0.3, 4), bar(0.001, 4), bar(0, 4)
    ('█▎', '▏', '')
    """
    full, eighths = divmod(max(round(share * longest * 8), least if share else 0), 8)
    return BLOCKS[-1] * full + BLOCKS[:eighths][-1:]


class HasEntity(Protocol):
    """A result that counts people if it has an entity, and records otherwise."""

    @property
    def entity(self) -> str | None: ...


def member(table: HasEntity) -> str:
    return "person" if table.entity else "record"


def members(table: HasEntity) -> str:
    return "people" if table.entity else "records"


def listed(names: Sequence[str]) -> str:
    return ", ".join(printable(name) for name in names)


def on_one_line(text: str) -> str:
    return " ".join(text.split())


def filter_words(table: Any, noun: str, everything: str) -> str:
    """Which rows of a table were read, as in `only the first 10 records`."""
    parts = [f"only {noun}s for which {printable(table.where)}"] if table.where else []
    parts += [f"only the first {counted(table.first, noun)}"] if table.first else []
    return "; ".join(parts) or f"none: {everything}"


def name_and_snapshot(table: Any) -> str:
    """The name of a table, with the snapshot that was read: people, Delta version 12."""
    return ", ".join(map(printable, filter(None, (table.name, table.snapshots.get(table.name)))))


def quasi_identifiers(names: Sequence[str]) -> str:
    """The quasi-identifiers of a heading: by name, or their number where they would fill a page."""
    if len(names) > _MOST_NAMED:
        return counted(len(names), "quasi-identifier")
    return f"quasi-identifiers {listed(names)}"


_MOST_NAMED = 20
"""Maximum number of columns that a heading names."""


def cells(rows: Sequence[Mapping[str, Any]]) -> list[list[str]]:
    """Rows as text below their column names; empty without rows.

    >>> cells([{"region": None, "totals": ["region"], "figure": 27}])
    [['region', 'totals', 'figure'], ['NULL', 'region', '27']]
    """
    if not rows:
        return []
    values = (map(_cell, row.values()) for row in rows)
    return [[printable(cell) for cell in row] for row in (rows[0], *values)]


def _cell(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value)) or NONE
    return "NULL" if value is None else str(value)


def figure_name(name: str) -> str:
    """Display name of a figure.

    >>> figure_name("violating_records"), with_spaces(figure_name("by_size.2.violating"))
    ('violating records', 'violating combinations of 2 events')
    """
    size = re.search(r"\.(\d+)\b", name)
    if size:
        name = name.replace(size[0], "")
    words = str(wording("figures").get(name, name.replace("_", " ")))
    return words.format(counted(int(size[1]), "event")) if size else words


def is_share(name: str) -> bool:
    """Whether a figure is a share, to be shown in per cent.

    >>> is_share("prosecutor.average"), is_share("uniques")
    (True, False)
    """
    last = name.rpartition(".")[2]
    return last in ("average", "highest", "at_risk", "share") or name == "random.alone"


def figure(value: Any) -> str:
    """A figure of a result; "none" if undefined.

    >>> figure(1200), figure(None)
    ('1,200', 'none')
    """
    return number(value) if isinstance(value, int | float) else "none"
