"""DuckDB, and the files and frames that it reads."""
