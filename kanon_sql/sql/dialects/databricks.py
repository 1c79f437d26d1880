"""Databricks, which speaks Spark's SQL."""

from __future__ import annotations

from kanon_sql.sql.dialects.spark import RULES

__all__ = ["RULES"]
