"""Questions that a dbt project holds; it never runs dbt."""
