"""A result as each writer writes its page."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kanon_sql.report import diff, html, markdown, terminal
from kanon_sql.report.document import Block
from kanon_sql.report.words.numbers import in_python
from kanon_sql.results.diff import Diff


def page(result: Any) -> Iterator[Block]:
    return diff.page(result) if isinstance(result, Diff) else result.page()


def as_text(result: Any, **how: Any) -> str:
    return terminal.write(page(result), **how)


def as_markdown(result: Any) -> str:
    return markdown.write(page(result))


def as_html(result: Any) -> str:
    return html.write(in_python(page(result)))
