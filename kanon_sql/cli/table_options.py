"""The options of the question on a published table, and the spec that they make."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from kanon_sql.cli.fields import Fields
from kanon_sql.cli.option_kinds import (
    Decimal,
    check_named,
    check_option,
    column_first,
    column_names,
    of_column,
    question_count,
    question_option,
)
from kanon_sql.cli.question import (
    given_fields,
    hierarchies,
    is_spec_file,
    of_manifest,
    other_tables,
    refuse_a_second_question,
    refuse_idle,
)
from kanon_sql.cli.question_options import FAULTS, HIERARCHIES, RECORDS_READ, SOURCE, other_table
from kanon_sql.errors import SpecError
from kanon_sql.spec.other_tables import AGAINST

if TYPE_CHECKING:
    from kanon_sql.spec.models.base import Model
    from kanon_sql.spec.spec import AuditSpec, SelectedTables

OF_CELLS = Fields("spec/published.py", "PublishedSpec")
TABLE = (
    OF_CELLS.option("by"),
    OF_CELLS.option("value", metavar="COL"),
    OF_CELLS.option("contributor", metavar="COL"),
    OF_CELLS.option("margins", ends=" (written '()').", multiple=True, metavar="all|none|COL,…"),
)
RULES = (
    question_count("--threshold", "min_contributors: at least N contributors in each cell."),
    question_option(
        "--dominance",
        "dominance: the N largest contributors have at most K % of a cell.",
        multiple=True,
        metavar="N,K",
    ),
    question_option(
        "--p-percent",
        "p_percent: the largest contributor can't be estimated to within P %.",
        type=Decimal(),
        metavar="P",
    ),
    question_option(
        "--derivable",
        "derivable: no suppressed cell can be computed from the others.",
        is_flag=True,
    ),
    question_count(
        "--min-difference",
        "differences: cells that differ from those of an --against table differ by at least N.",
    ),
)
POLICY_ON_CELLS = (OF_CELLS.option("policy", multiple=True, metavar="ID|FILE"),)
CHECK = (
    check_option(
        "Any model of cells, as in min_contributors:n=10,zeros=disclosive; kanon-sql explain lists "
        "them."
    ),
)
AS_PUBLISHED = (
    OF_CELLS.option("cells", "--published"),
    OF_CELLS.option(
        "suppressed",
        ends=""": '*=1..9'. NULL is NULL, '"NULL"' the text.""",
        multiple=True,
        metavar="MARK[=LOW..HIGH]",
    ),
    OF_CELLS.option("total_label", multiple=True, metavar="[COL=]LABEL"),
    OF_CELLS.option("total_flag", multiple=True, metavar="COL=FLAG"),
    OF_CELLS.option("count", metavar="COL"),
    OF_CELLS.option("magnitude"),
    OF_CELLS.option("value_bounds", metavar="LOW..HIGH"),
    OF_CELLS.option("absent"),
)
SECOND_TABLE = tuple(
    other_table(
        AGAINST,
        "A second table of the same kind, compared on the dimensions both have. With several, "
        "start the value of each option below with NAME and a colon.",
        *("by", "columns", "where", "header"),
    )
)
CELL_OPTIONS = (*TABLE, *RULES, *AS_PUBLISHED, *SECOND_TABLE)
"""The options that only a question on cells has."""
QUESTION_ON_CELLS = (
    *TABLE,
    HIERARCHIES[0],
    FAULTS,
    *RECORDS_READ,
    *RULES,
    *CHECK,
    *POLICY_ON_CELLS,
    *AS_PUBLISHED,
    *SECOND_TABLE,
    *SOURCE,
)


def cells_selected(
    context: click.Context, target: str | None, values: Mapping[str, Any]
) -> SelectedTables:
    """The published tables of a target, or of a dbt manifest. Raises `SpecError`."""
    from kanon_sql.spec.spec import SelectedTables

    if values["manifest"]:
        return of_manifest(context, target, values, ("published",))
    refuse_idle(values)
    spec = cells_question(context, target, values)
    return SelectedTables(spec, places=spec.places("published"))


def cells_question(
    context: click.Context, target: str | None, values: Mapping[str, Any]
) -> AuditSpec:
    """The spec of a published table, from a target and options. Raises `SpecError`."""
    from kanon_sql.spec.published import PublishedSpec
    from kanon_sql.spec.spec import AuditSpec, published_spec

    if target is None:
        raise SpecError("name what to look at: a file, a table, a spec file, or --manifest FILE.")
    if is_spec_file(target):
        refuse_a_second_question(context, target)
        spec = AuditSpec.from_file(target)
        if not spec.published:
            raise SpecError(
                f"{target} has no published tables; kanon-sql audit checks its tables of records."
            )
        return spec
    if not values["by"]:
        raise SpecError("there are no dimensions: name them, as in --by region,sector")
    against = other_tables(AGAINST, values)
    parts = {
        **given_fields(PublishedSpec, values),
        **_read(values),
        "source": target,
        "against": against,
        "checks": _rules(values, list(against)),
        "hierarchies": hierarchies(values),
    }
    return AuditSpec(published=[published_spec(**parts)])


def _read(values: Mapping[str, Any]) -> dict[str, Any]:
    """The settings that are written in another way than in a spec file."""
    from kanon_sql.spec.published import bounds, mark_of, text_or_null

    found: dict[str, Any] = {}
    if values["margins"]:
        found["margins"] = _margins(values["margins"])
    if values["suppressed"]:
        found["suppressed"] = [mark_of(text) for text in values["suppressed"]]
    if values["total_label"]:
        by = {name.casefold() for name in values["by"]}
        labels: dict[str, str | None] = {}
        for text in values["total_label"]:
            name, equals, label = column_first(text)
            is_one = bool(equals and label) and name.casefold() in by
            column = name if is_one else "*"
            if column in labels:
                raise SpecError(f"--total-label is given twice for {column}. Give it once.")
            labels[column] = text_or_null(label if is_one else text)
        found["total_label"] = labels
    if values["total_flag"]:
        found["total_flag"] = dict(of_column("--total-flag", each) for each in values["total_flag"])
    if values["value_bounds"] is not None:
        known = bounds(values["value_bounds"])
        if known is None:
            raise SpecError(
                f"--value-bounds {values['value_bounds']!r} is not LOW..HIGH, as in 0..100."
            )
        found["value_bounds"] = known
    return found


def _margins(texts: Sequence[str]) -> Any:
    """`all`, `none`, or the dimensions of each margin; a quoted "all" is a column."""
    words = {text.strip() for text in texts}
    if words & {"all", "none"}:
        if len(texts) > 1:
            raise SpecError("--margins all and none stand alone. Name the margins, or one of them.")
        return words.pop()
    return [[] if text.strip() == "()" else column_names("--margins", text) for text in texts]


def _rules(values: Mapping[str, Any], against: Sequence[str]) -> list[Model]:
    """The requested rules, short forms first."""
    from kanon_sql.spec.models.catalogue import short_rules
    from kanon_sql.spec.yaml_document import scalar_or_list

    pairs = []
    for text in values["dominance"]:
        parts = text.split(",")
        if len(parts) != 2 or not all(part.strip() for part in parts):
            raise SpecError(f"--dominance {text!r} is not N,K, as in --dominance 2,67.")
        pairs.append([scalar_or_list(part) for part in parts])
    if values["min_difference"] is not None and not against:
        raise SpecError("--min-difference needs a second table: --against SRC.")
    short = short_rules({**values, "dominance": pairs}, against)
    return [*short, *(check_named(text) for text in values["check"])]
