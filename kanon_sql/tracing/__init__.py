"""Roles followed through the models of a dbt project, a satellite that only the verbs import."""
