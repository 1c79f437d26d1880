"""The profile of a table before any check: what its columns reveal about people."""
