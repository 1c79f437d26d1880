"""The specs of a dbt project, which is read, never run."""
