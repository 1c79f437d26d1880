"""Profiles tables before any check: what each column, and small sets of them, reveal about
people."""
