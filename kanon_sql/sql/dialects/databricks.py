"""Rules for Databricks: Spark's."""

from __future__ import annotations

from kanon_sql.sql.dialects.spark import RULES

__all__ = ["RULES"]
