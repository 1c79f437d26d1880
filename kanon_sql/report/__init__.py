"""Renders results as text and charts, for terminals, documents and notebooks."""

from __future__ import annotations
