"""The DuckDB engine with what it reads."""
