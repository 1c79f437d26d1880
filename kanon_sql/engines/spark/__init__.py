"""Spark, and the sessions that it runs in."""
