"""A release: its options, views and dbt model, what is suppressed, and how files are written."""
