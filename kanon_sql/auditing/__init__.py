"""From a question to its verdicts: opens, plans, asks and judges; it never changes a table."""
