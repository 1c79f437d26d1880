"""Profiles tables before any check: what columns, and small sets of them, reveal about people."""
