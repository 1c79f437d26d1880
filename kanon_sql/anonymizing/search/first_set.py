"""The frequency set of raw values, from which all others are rolled up."""

from __future__ import annotations

from kanon_sql.plan.question import BoundColumn, ResolvedQuestion
from kanon_sql.plan.steps import records, step
from kanon_sql.sql.macros import render
from kanon_sql.sql.statement import Statement


def columns_of_first_set(bound: ResolvedQuestion) -> list[BoundColumn]:
    """The columns that a search reads from the records."""
    entity = [bound.entity] if bound.entity else []
    return [*bound.quasi_identifiers, *bound.sensitive, *entity]


def first_set(bound: ResolvedQuestion) -> Statement:
    """The statement that computes the frequency set of raw values."""
    columns = columns_of_first_set(bound)
    sql = render("frequency_set", relation=records(bound, columns), columns=columns)
    question = f"Which combinations of values has {bound.table.name}?"
    return step(bound, "first_frequency_set", question, sql)
