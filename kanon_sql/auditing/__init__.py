"""The audit of a spec: opens its tables, plans, queries and judges; it never changes a table."""
