"""Translates command line advice into Python calls."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar

_SENTENCES = {
    "With --k 5 the audit ends with exit code 1 if a class is smaller than 5.": (
        "With k=5 the result is violated if a class is smaller than 5, and raise_if_violated() "
        "raises."
    ),
    "--show-values lists classes that are too small.": (
        "show_values=True lists classes that are too small."
    ),
    "kanon-sql compile shows it": "kanon.compile(…) shows it",
    "kanon-sql compile shows them": "kanon.compile(…) shows them",
    "--format json holds it": "to_dict() has it",
    "--format json holds them": "to_dict() has them",
    "kanon-sql baseline writes it again": "kanon-sql baseline in a shell writes it again",
    "The same as SQL: --output release.sql.": "The same as SQL: anonymization.views.",
    "(exit code 4)": "(status no_data)",
    "(add it to --qi)": "(add it to quasi_identifiers)",
    "(--show-values)": "(show_values=True)",
    "(--force)": "(force=True)",
    "--force writes it": "force=True writes it",
    "in --format json.": "in to_dict().",
    "-v shows how the release": "A notebook, or to_html(), shows how the release",
    "--compare shows all three": "compare=True shows all three",
}
_CALL = re.compile(r"kanon-sql (?P<name>\w+) …(?P<options>(?: --[a-z-]+ [^\s;,]+)+)")
"""A command with options."""
_FUNCTION = re.compile(r"kanon-sql (tradeoff|compile|profile|anonymize|init|audit|explain)\b")
_PAGE = re.compile(r"(?:kanon-sql )?\bexplain (?P<page>[a-z_-]+)(?=[.,;)])")
"""A reference to a manual page."""
_CHOICE = re.compile(
    r"--(unassigned|algorithm|suppressed|sensitive-nulls|nulls|output) "
    r"(?P<value>[a-z]+(?:\.[a-z]+)?)"
)
"""An option with a keyword value."""
_HIERARCHY = re.compile(r"--hierarchy (?P<name>[^\s=]+)=(?P<levels>[\w:,.]*\w)")
"""The levels of a quasi-identifier."""
_FLAG = re.compile(r"(?<![\w-])--([a-z][a-z-]+)")
_Text = TypeVar("_Text")
_Result = TypeVar("_Result")


def in_python(blocks: Iterable[_Text]) -> Iterator[_Text]:
    """The blocks with command line options replaced by Python parameters."""
    for block in blocks:
        yield _spoken(block)


def with_python_words(result: _Result) -> _Result:
    """The result with its warnings in Python's words."""
    whole: Any = result
    tables = (replace(each, warnings=tuple(map(spoken, each.warnings))) for each in whole.tables)
    spoken_result: _Result = replace(whole, tables=tuple(tables))
    return spoken_result


def _spoken(value: Any) -> Any:
    match value:
        case str():
            return spoken(value)
        case tuple() if hasattr(value, "_fields"):
            return type(value)(*map(_spoken, value))
        case tuple():
            return tuple(map(_spoken, value))
        case list():
            return [_spoken(each) for each in value]
        case Mapping():
            return value
    if is_dataclass(value) and not isinstance(value, type):
        parts = {each.name: _spoken(getattr(value, each.name)) for each in fields(value)}
        return replace(value, **parts)
    return value


def spoken(text: str) -> str:
    """A sentence with command line options replaced by Python parameters.

    >>> spoken("Allow more with --max-suppressed.")
    'Allow more with max_suppressed.'
    >>> spoken("kanon-sql anonymize … --k 5 --metric loss --output release.parquet")
    'kanon.anonymize(…, k=5, metric="loss", output="release.parquet")'
    >>> spoken("Which thresholds there are: kanon-sql explain thresholds.")
    'Which thresholds there are: kanon.explain("thresholds").'
    """
    # Several of them contain non-breaking spaces.
    for ours, theirs in _SENTENCES.items():
        text = text.replace(ours, theirs)
    text = _CALL.sub(_called, text)
    text = _PAGE.sub(lambda found: f'kanon.explain("{found["page"]}")', text)
    text = _FUNCTION.sub(r"kanon.\1(…)", text)
    text = _CHOICE.sub(lambda each: _given(each[1], each["value"]), text)
    text = _HIERARCHY.sub(r'{"\g<name>": "\g<levels>"}', text)
    return _FLAG.sub(lambda flag: flag[1].replace("-", "_"), text)


def _called(command: re.Match[str]) -> str:
    given = re.findall(r"--([a-z-]+) (\S+)", command["options"])
    return f"kanon.{command['name']}({', '.join(['…', *(_given(*each) for each in given)])})"


def _given(option: str, value: str) -> str:
    """An option as a keyword argument; non-numeric values are quoted."""
    is_number = re.fullmatch(r"\d+(\.\d+)?", value)
    return f"{option.replace('-', '_')}={value if is_number else chr(34) + value + chr(34)}"
