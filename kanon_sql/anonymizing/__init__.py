"""Releases of an audited table that pass its checks; the source is only ever read."""
