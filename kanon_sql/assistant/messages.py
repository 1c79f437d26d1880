"""The messages that an assistant's program sends, each held to JSON-RPC."""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mcp.shared.message import SessionMessage

LONGEST_MESSAGE = 1 << 20
"""The most bytes of a message; a question holds names of the spec alone."""


class Messages:
    """The messages on a file descriptor, one a line.

    Every other line is answered with an error, as the SDK passes over it in silence. A waiting read
    can be cancelled, unlike one in a thread.
    """

    def __init__(self, handle: int) -> None:
        import anyio

        self._handle = handle
        self._is_open = anyio.Event()

    def answer_to(self, replies: Any) -> None:
        """Send errors to a stream."""
        self._replies = replies
        self._is_open.set()

    async def __aiter__(self) -> AsyncIterator[str]:
        async for line in self._lines():
            text = line.decode(errors="replace")
            if (error := _fault(text)) is not None:
                await self._is_open.wait()
                await self._replies.send(error)
            elif text.strip():
                yield text

    async def _lines(self) -> AsyncIterator[bytes]:
        """The lines, of which one that is too long is cut off."""
        rest = b""
        while chunk := await self._chunk():
            first, *others = chunk.split(b"\n")
            rest = (rest + first)[: LONGEST_MESSAGE + 1]
            for other in others:
                yield rest
                rest = other
        if rest:
            yield rest

    async def _chunk(self) -> bytes:
        import anyio

        # A file, unlike a pipe, can't be waited for and is always ready.
        with suppress(OSError):
            await anyio.wait_readable(self._handle)
        return os.read(self._handle, 1 << 16)


def _fault(line: str) -> SessionMessage | None:
    """The error that answers a line which is no message, and repeats nothing of it; None for a
    message and for a blank line."""
    import mcp_types as types

    if len(line) > LONGEST_MESSAGE:
        return _error(types.INVALID_REQUEST, f"a message has {LONGEST_MESSAGE:,} bytes at most")
    if not line.strip():
        return None
    try:
        message = json.loads(line, parse_constant=_no_number, object_pairs_hook=_each_once)
    except (ValueError, RecursionError):
        return _error(types.PARSE_ERROR, "the message is not JSON that can be read")
    number = message.get("id") if isinstance(message, dict) else None
    is_number = isinstance(number, int | str) and not isinstance(number, bool)
    with suppress(ValueError):
        types.jsonrpc_message_adapter.validate_json(line, by_name=False)
        if is_number or "id" not in message or "method" not in message:
            return None
    return _error(
        types.INVALID_REQUEST,
        "the message is not one of JSON-RPC, is nested too deep, or has a text that is not Unicode",
        number if is_number and _is_unicode(str(number)) else None,
    )


def _error(code: int, words: str, number: int | str | None = None) -> SessionMessage:
    from mcp.shared.message import SessionMessage
    from mcp_types import ErrorData, JSONRPCError

    error = ErrorData(code=code, message=words)
    return SessionMessage(JSONRPCError(jsonrpc="2.0", id=number, error=error))


def _no_number(name: str) -> None:
    """Refuse NaN and Infinity, which JSON lacks."""
    raise ValueError(name)


def _each_once(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """An object. Raises `ValueError` for a key that is there twice, as either could be meant."""
    if len({key for key, _ in pairs}) < len(pairs):
        raise ValueError
    return dict(pairs)


def _is_unicode(text: str) -> bool:
    """Whether a text has no half of a surrogate pair."""
    return not any("\ud800" <= letter <= "\udfff" for letter in text)
