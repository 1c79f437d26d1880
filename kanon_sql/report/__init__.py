"""What an audit found, in words and pictures: for a terminal, a document and a notebook."""

from __future__ import annotations
