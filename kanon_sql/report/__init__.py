"""Results as pages, for terminals, documents, notebooks."""

from __future__ import annotations
