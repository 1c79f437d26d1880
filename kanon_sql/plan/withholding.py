"""SQL without the values of hierarchies that lie in files and tables: they are raw values of the
data, and a result is read by people who may not see them. `compile` and the views that someone
asks for as SQL have them all, as they are there to be run."""

from __future__ import annotations

from kanon_sql.plan.question import ResolvedQuestion

_SAY_NOTHING = frozenset({"", "*"})


def texts_of_files(bound: ResolvedQuestion) -> frozenset[str]:
    """Every text of a hierarchy that the spec itself does not hold: raw values and labels."""
    tables = [each for each in bound.facts.hierarchies.values() if not each.is_in_spec]
    rows = (row for table in tables for row in table.rows)
    of_levels = {text for row in rows for text in (row.value, *row.ancestors)}
    of_trees = {text for check in bound.checks for path in check.paths for text in path}
    return frozenset(of_levels | of_trees) - _SAY_NOTHING
