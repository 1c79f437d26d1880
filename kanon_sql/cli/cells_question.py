"""The question on published tables that command line options ask."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from kanon_sql.cli.option_kinds import check_named, column_first, column_names, of_columns
from kanon_sql.cli.question import (
    fields_set,
    hierarchies,
    is_spec_file,
    manifest_tables,
    named_source,
    other_tables,
    refuse_a_second_question,
    refuse_idle,
)
from kanon_sql.errors import Faults, SpecError, read_each, refuse_repeated
from kanon_sql.question.other_tables import AGAINST

if TYPE_CHECKING:
    from kanon_sql.models.base import Model
    from kanon_sql.question.spec import AuditSpec, SelectedTables


def cells_selected(
    context: click.Context, target: str | None, values: Mapping[str, Any]
) -> SelectedTables:
    """The published tables of a target, or of a dbt manifest. Raises `SpecError`."""
    from kanon_sql.question.spec import SelectedTables

    if values["manifest"]:
        return manifest_tables(context, target, values, ("published",))
    refuse_idle(values)
    spec = cells_question(context, target, values)
    return SelectedTables(spec, places=spec.places("published"))


def cells_question(
    context: click.Context, target: str | None, values: Mapping[str, Any]
) -> AuditSpec:
    """The spec of a published table, from a target and options. Raises `SpecError`."""
    from kanon_sql.question.published import PublishedSpec
    from kanon_sql.question.spec import AuditSpec, published_spec

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
    against = [named_source(AGAINST, text)[0] for text in values["against"]]
    fields = {**fields_set(PublishedSpec, values), "source": target}
    with Faults() as faults:
        with faults.collected():
            fields["against"] = other_tables(AGAINST, values)
            fields |= _cell_settings(values)
            fields["hierarchies"] = hierarchies(values)
        are_read = not faults
        with faults.collected():
            fields["checks"] = _cell_rules(values, against)
        if are_read:
            with faults.collected():
                published = published_spec(**fields)
    return AuditSpec(published=[published])


def _cell_settings(values: Mapping[str, Any]) -> dict[str, Any]:
    """The settings that are written in another way than in a spec file."""
    from kanon_sql.question.published import bounds, mark_of, text_or_null

    settings: dict[str, Any] = {}
    if values["margins"]:
        settings["margins"] = _cell_margins(values["margins"])
    if values["suppressed"]:
        settings["suppressed"] = [mark_of(text) for text in values["suppressed"]]
    by = {name.casefold() for name in values["by"]}
    labels: list[tuple[str, str | None]] = []
    for text in values["total_label"]:
        name, equals, label = column_first(text)
        is_one = bool(equals and label) and name.casefold() in by
        labels.append((name if is_one else "*", text_or_null(label if is_one else text)))
    with Faults() as faults:
        with faults.collected():
            columns = [column for column, _ in labels]
            refuse_repeated(columns, "--total-label is given twice for {}. Give it once.")
        with faults.collected():
            flags = of_columns("--total-flag", values["total_flag"], lambda flag, _: flag)
    settings |= {"total_label": dict(labels)} if labels else {}
    settings |= {"total_flag": flags} if flags else {}
    if values["value_bounds"] is not None:
        known = bounds(values["value_bounds"])
        if known is None:
            raise SpecError(
                f"--value-bounds {values['value_bounds']!r} is not LOW..HIGH, as in 0..100."
            )
        settings["value_bounds"] = known
    return settings


def _cell_margins(texts: Sequence[str]) -> Any:
    """`all`, `none`, or the dimensions of each margin; a quoted "all" is a column."""
    words = {text.strip() for text in texts}
    if words & {"all", "none"}:
        if len(texts) > 1:
            raise SpecError("--margins all and none stand alone. Name the margins, or one of them.")
        return words.pop()
    return [[] if text.strip() == "()" else column_names("--margins", text) for text in texts]


def _cell_rules(values: Mapping[str, Any], against: Sequence[str]) -> list[Model]:
    """The requested rules, short forms first."""
    from kanon_sql.question.arguments import rule_checks
    from kanon_sql.question.yaml_document import scalar_or_list

    pairs = []
    for text in values["dominance"]:
        figures = text.split(",")
        if len(figures) != 2 or not all(figure.strip() for figure in figures):
            raise SpecError(f"--dominance {text!r} is not N,K, as in --dominance 2,67.")
        pairs.append([scalar_or_list(figure) for figure in figures])
    short = rule_checks({**values, "dominance": pairs}, against)
    return [*short, *read_each(check_named, values["check"])]
