"""Outcomes as continuous integration reads them; no page for people."""
