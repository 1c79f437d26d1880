"""Wording of figures, models and tables, without layout."""
