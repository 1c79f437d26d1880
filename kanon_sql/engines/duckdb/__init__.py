"""The DuckDB engine, with the files and data frames it reads."""
