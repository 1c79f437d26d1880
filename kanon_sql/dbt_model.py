"""A release as a model of a dbt project: its SQL, and the YAML with its roles and tests.

The levels are those that a search chose; `kanon_sql.generalized` builds the table at them, and the
violating classes are left out by the same statement that the views have.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

from kanon_sql.binding import BoundCheck
from kanon_sql.dialects import translated
from kanon_sql.errors import SpecError
from kanon_sql.frequency_sets import QuasiIdentifier
from kanon_sql.levels import CASE_ROWS
from kanon_sql.release import VIOLATING, Chain
from kanon_sql.templates import render
from kanon_sql.violations import violating_classes
from kanon_sql.yaml_document import as_yaml

GENERALISED = "generalised"
_SUPPRESS = "suppress"


@dataclass(frozen=True)
class DbtModel:
    """The two files of a model, as text."""

    sql: str
    yaml: str


def dbt_model(chain: Chain, name: str, source: str, levels: Mapping[str, int]) -> DbtModel:
    """The model `name` that releases the model, seed or source table `source`.

    Raises `SpecError` for a question that a model can't ask.
    """
    if chain.bound.where or chain.bound.spec.first:
        raise SpecError(
            "a dbt model is made of a whole table. Put the condition into a model of its own, and "
            "release that."
        )
    return DbtModel(_sql(chain, source, levels), as_yaml(_properties(chain, name)))


def _sql(chain: Chain, source: str, levels: Mapping[str, int]) -> str:
    hierarchies = {
        each.name: _spelled(each, levels[each.name])
        for each in chain.quasi_identifiers
        if levels[each.name]
    }
    dropped = list(chain.bound.spec.identifiers)
    released = chain.released
    published = render(
        "released_records",
        records=GENERALISED,
        violating=VIOLATING,
        columns=list(chain.columns),
        quasi_identifiers=list(released.quasi_identifiers),
        star=chain.suppressed_as == "star",
    )
    return render(
        "dbt_model",
        comment=_comment(chain, levels),
        source=_jinja(source),
        hierarchies={_jinja(column): _jinja(how) for column, how in hierarchies.items()},
        identifiers=_jinja(dropped) if dropped else None,
        violating=translated(violating_classes(released, GENERALISED), chain.dialect),
        released=translated(published, chain.dialect),
    )


def _comment(chain: Chain, levels: Mapping[str, int]) -> list[str]:
    return [
        f"{chain.bound.table.name} at the levels that make it {chain.k}-anonymous (Datafly):",
        *(
            f"    {each.name} at level {levels[each.name]} ({each.levels.label(levels[each.name])})"
            for each in chain.quasi_identifiers
        ),
        "The records of violating classes are left out, and nothing is added (step 4).",
    ]


def _spelled(each: QuasiIdentifier, level: int) -> Any:
    """A hierarchy at a level, as `kanon_sql.generalized` takes it."""
    if each.levels.label(level) == _SUPPRESS:
        return _SUPPRESS
    hierarchy = each.levels.hierarchy
    spelled: dict[str, Any] = {"level": level}
    if hierarchy.clip:
        spelled["clip"] = list(hierarchy.clip)
    table = each.levels.table
    if table is None:
        written = hierarchy.model_dump(exclude_defaults=True)
        spelled["levels"] = written["levels"]
        if each.levels.longest is not None:
            spelled["longest"] = each.levels.longest
        return spelled
    if len(table.rows) > CASE_ROWS:
        raise SpecError(
            f'the hierarchy of "{each.name}" has {len(table.rows):,} rows, too many for a model. '
            "Make it a seed, and name it by hand: "
            f'{{"hierarchy": ref("…"), "level": {level}}} in kanon_sql.generalized.'
        )
    labels = (table.labels(n) for n in range(1, table.height + 1))
    ancestors = list(zip(*(each.items() for each in labels), strict=True))
    spelled["hierarchy"] = {row[0][0]: [label for _, label in row] for row in ancestors}
    return spelled


def _jinja(value: Any) -> str:
    """A value as Jinja writes it."""
    match value:
        case None:
            return "none"
        case Mapping():
            pairs = (f"{_jinja(key)}: {_jinja(item)}" for key, item in value.items())
            return f"{{{', '.join(pairs)}}}"
        case list() | tuple():
            return f"[{', '.join(map(_jinja, value))}]"
    return json.dumps(value, ensure_ascii=False)


def _properties(chain: Chain, name: str) -> dict[str, Any]:
    bound = chain.bound
    demanded = [check for check in bound.checks if check.gates]
    roles = {each.name: "quasi_identifier" for each in bound.quasi_identifiers}
    roles |= {each.name: "sensitive" for each in bound.sensitive}
    roles |= {bound.entity.name: "entity"} if bound.entity else {}
    checks = [{check.model.name(): _parameters(check)} for check in demanded]
    return {
        "version": 2,
        "models": [
            {
                "name": name,
                "config": {"meta": {"kanon_sql": {"checks": checks}}},
                "columns": [
                    {"name": column, "config": {"meta": {"kanon_sql": {"role": role}}}}
                    for column, role in roles.items()
                ],
                "data_tests": list(_tests(chain, demanded)),
            }
        ],
    }


def _tests(chain: Chain, demanded: Sequence[BoundCheck]) -> Iterator[dict[str, Any]]:
    shared: dict[str, Any] = {
        "quasi_identifiers": [each.name for each in chain.bound.quasi_identifiers]
    }
    if chain.bound.entity:
        shared["entity"] = chain.bound.entity.name
    for check in demanded:
        if not (check.model.is_estimate or check.model.parameters.get("reference")):
            arguments = {**shared, **_parameters(check)}
            yield {f"kanon_sql.{check.model.name()}": {"arguments": arguments}}


def _parameters(check: BoundCheck) -> dict[str, Any]:
    """What was said of a check, without what goes without saying."""
    return check.model.model_dump(mode="json", exclude_defaults=True, exclude_none=True)


def name_of(source: str) -> str:
    """What a project calls a file or a table.

    >>> name_of("data/patients.parquet"), name_of("main.visits")
    ('patients', 'visits')
    """
    stem = PurePath(source).stem if PurePath(source).suffix.lower() in _FILES else source
    return stem.rpartition(".")[2].strip('"')


_FILES = {".parquet", ".pq", ".csv", ".tsv", ".json", ".jsonl", ".ndjson", ".arrow", ".feather"}
