"""A result as each writer writes its page."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

from kanon_sql.report import html, markdown, terminal
from kanon_sql.report.document import Block


class HasPage(Protocol):
    def page(self) -> Iterator[Block]: ...


def as_text(result: HasPage, **how: Any) -> str:
    return terminal.write(result.page(), **how)


def as_markdown(result: HasPage) -> str:
    return markdown.write(result.page())


def as_html(result: HasPage) -> str:
    return html.write(result.page())
