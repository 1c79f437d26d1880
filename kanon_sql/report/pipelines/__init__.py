"""Audit results in formats for continuous integration."""
