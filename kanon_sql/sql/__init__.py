"""Renders, gates and transpiles SQL; it knows no privacy model and no database."""
