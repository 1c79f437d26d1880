"""Reads specs from a dbt project; never runs dbt."""
