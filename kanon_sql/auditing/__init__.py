"""The audit of a spec, which never changes a table."""
