"""The seal of a stored result, by which an edited figure is noticed.

It is the SHA-256 of the result's canonical JSON without the seal, and no signature: whoever edits a
result can seal it anew.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

SEAL = "seal"
"""The key of the seal, at the top of a result."""


def sealed(document: Mapping[str, Any]) -> dict[str, Any]:
    """The document with its seal.

    >>> is_broken(sealed({"k": 5.0})), is_broken({**sealed({"k": 5}), "k": 6}), is_broken({"k": 6})
    (False, True, False)
    """
    return {**document, SEAL: _seal_of(document)}


def is_broken(document: Mapping[str, Any]) -> bool:
    """Whether a document was changed since it was sealed; False without a seal."""
    try:
        return SEAL in document and document[SEAL] != _seal_of(document)
    except RecursionError:
        return True


def _seal_of(document: Mapping[str, Any]) -> str:
    content = {name: value for name, value in document.items() if name != SEAL}
    return hashlib.sha256(canonical(content).encode()).hexdigest()


def canonical(value: Any) -> str:
    """JSON with sorted keys and without whitespace, the same for equal values alone: a whole number
    has no point, and any other the fewest digits that give it.

    >>> canonical({"b": 1.0, "a": [1e-7, True, "1", "Infinity"]})
    '{"a":[1e-07,true,"1","Infinity"],"b":1}'
    """
    return json.dumps(_with_integers(value), sort_keys=True, separators=(",", ":"))


def _with_integers(value: Any) -> Any:
    match value:
        case float() if value.is_integer():
            return int(value)
        case Mapping():
            return {key: _with_integers(item) for key, item in value.items()}
        case list():
            return [_with_integers(item) for item in value]
    return value
