"""Redacts the values of hierarchy files and tables from SQL shown in results.

They are raw values of the data, and readers of a result may not see them. `compile` and views
requested as SQL keep them, as they are meant to be run.
"""

from __future__ import annotations

from kanon_sql.plan.question import ResolvedQuestion

_SAY_NOTHING = frozenset({"", "*"})


def texts_of_files(bound: ResolvedQuestion) -> frozenset[str]:
    """Every text of a hierarchy or tree that the spec doesn't contain: raw values and labels."""
    tables = [each for each in bound.facts.hierarchies.values() if not each.is_in_spec]
    rows = (row for table in tables for row in table.rows)
    of_levels = {text for row in rows for text in (row.value, *row.ancestors)}
    of_trees = {text for check in bound.checks for path in check.paths for text in path}
    return frozenset(of_levels | of_trees) - _SAY_NOTHING
