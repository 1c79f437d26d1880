"""A release as a dbt model: its SQL, and the YAML with its roles and tests.

The levels are those that the search chose; `kanon_sql.generalized` builds the table at them, and
the same statement as in the views removes the violating classes. The classes of a local recoding
are one CASE if they are few, otherwise a seed that the model reads.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import Any

from kanon_sql.anonymizing.recoding.recoded_views import RecodedChain
from kanon_sql.anonymizing.release.view_names import PUBLISHED, VIOLATING
from kanon_sql.anonymizing.release.views import ViewChain
from kanon_sql.anonymizing.search.qi_levels import PRIVATE, QuasiIdentifier
from kanon_sql.errors import SpecError, option
from kanon_sql.files import stem
from kanon_sql.plan.levels import CASE_ROWS
from kanon_sql.plan.question import BoundCheck, ResolvedQuestion
from kanon_sql.plan.violating_classes import violating_classes
from kanon_sql.spec.yaml_document import as_yaml
from kanon_sql.sql.dialects import translated
from kanon_sql.sql.macros import render
from kanon_sql.sql.statement import readable

GENERALISED = "generalised"
_SIGNED = "# Written by kanon-sql, which leaves this file alone once it is changed ({}).\n"
_SUPPRESS = "suppress"
_LONGEST_NAME = 60
"""A number behind it included, Postgres has 63 characters for the name of a table."""
_READ = f"{PRIVATE}source"
_SEEDED = f"{PRIVATE}cuts"
"""Placeholders in SQL for the `ref()` calls of dbt."""
SEED_COLUMNS = ("kanon_round", "kanon_value", "kanon_label")
_TEXT = {"bigquery": "string", "databricks": "string", "spark": "string", "clickhouse": "String"}
_NUMBER = {"clickhouse": "Int32", "bigquery": "int64"}


@dataclass(frozen=True)
class DbtModel:
    """The files of a model, as text."""

    sql: str
    yaml: str
    seed: str | None = None
    """The CSV that the model reads if it has many classes."""


def dbt_model(
    chain: ViewChain, name: str, source: str, levels: Mapping[str, int], max_share: float
) -> DbtModel:
    """The model `name` that releases the model or seed `source`, which it reads by `ref`. Its
    tests let it leave out `max_share` of the records.

    Raises `SpecError` for a request that a model or its tests cannot express.
    """
    if chain.bound.where or chain.bound.spec.first:
        raise SpecError(
            "a dbt model is made of a whole table. Put the condition into a model of its own, and "
            "release that."
        )
    if not re.fullmatch(r"\w+", source):
        raise SpecError(
            f"a dbt model releases one model or seed, and {source!r} is no name of one. "
            "Give the table its name in the project: name in the spec."
        )
    if not re.fullmatch(r"\w+", name):
        raise SpecError(
            f"dbt takes no model called {name!r}. Name the file with letters, digits and "
            "underscores alone, as in models/people_released.sql."
        )
    if name == source:
        raise SpecError(
            f"the model would be called {name}, as what it is made of, and dbt refuses a project "
            f"with two of one name. Name the file otherwise, as in models/{name}_released.sql."
        )
    demanded = [check for check in chain.bound.checks if check.gates]
    for check in demanded:
        _refuse_untestable(check, is_mixed=isinstance(chain, RecodedChain))
    said = _properties(chain, name, demanded)
    [described] = said["models"]
    described["data_tests"].append(_share_left_out(chain, name, source, levels, max_share))
    if not isinstance(chain, RecodedChain):
        return DbtModel(readable(_sql(chain, source, levels)), _signed(said))
    rows = list(chain.seed_rows)
    if not rows:
        return DbtModel(readable(_sql_of_classes(chain, source, None)), _signed(said))
    seed = seed_name(name)
    said |= {"seeds": [_seed_properties(seed, source, chain.dialect)]}
    return DbtModel(readable(_sql_of_classes(chain, source, seed)), _signed(said), _as_csv(rows))


def seed_name(model: str) -> str:
    """Name of a model's seed."""
    return f"{model}_cuts"


def is_seed(text: str) -> bool:
    """Whether a file begins like a seed written by this module."""
    return text.splitlines()[:1] == _as_csv(()).splitlines()


def _as_csv(rows: Iterable[tuple[int, str, str]]) -> str:
    written = io.StringIO()
    lines = csv.writer(written, quoting=csv.QUOTE_NONNUMERIC, lineterminator="\n")
    lines.writerows([SEED_COLUMNS, *rows])
    return written.getvalue()


def _seed_properties(seed: str, source: str, dialect: str) -> dict[str, Any]:
    """YAML properties of the seed, with column types that dbt would otherwise guess."""
    number, text = _NUMBER.get(dialect, "integer"), _TEXT.get(dialect, "varchar")
    return {
        "name": seed,
        "description": (
            f"How the classes of a local recoding of {source} were split. It holds values of "
            f"quasi-identifiers, and is as private as {source}."
        ),
        "config": {"column_types": dict(zip(SEED_COLUMNS, (number, text, text), strict=True))},
    }


def is_unchanged(yaml: str) -> bool:
    """Whether a model's YAML is as written by this module, without manual edits."""
    first, end, rest = yaml.partition("\n")
    return first + end == _signature(rest)


def _signed(said: Mapping[str, Any]) -> str:
    properties = as_yaml(said)
    return _signature(properties) + properties


def _signature(properties: str) -> str:
    return _SIGNED.format(hashlib.sha256(properties.encode()).hexdigest()[:16])


def _refuse_untestable(check: BoundCheck, *, is_mixed: bool) -> None:
    """Raise `SpecError` for a check that no dbt test of a single model can express."""
    model = check.model
    if model.answered_by == "reference" and is_mixed:
        raise SpecError(
            f"{model.name()} is no dbt test of a release of mixed levels: what its cells stand for "
            "is in its hierarchies, which no test reads. Leave the check out of the model, and "
            f"demand it without {option('emit', 'dbt-model')}."
        )
    if model.answered_by in ("reference", "earlier"):
        raise SpecError(
            f"{model.name()} compares with a table that the dbt project has under a name of its "
            f"own. Leave the check out, and add the test kanon_sql.{model.name()} with that "
            "table to the .yml by hand."
        )
    if check.paths:
        raise SpecError(
            f"{model.name()} with a hierarchical distance is no dbt test. Leave the check out, and "
            "audit the release for it."
        )


def _sql(chain: ViewChain, source: str, levels: Mapping[str, int]) -> str:
    hierarchies = {
        each.name: _spelled(each, levels[each.name])
        for each in chain.quasi_identifiers
        if levels[each.name]
    }
    dropped = list(chain.dropped)
    released = chain.released
    columns = list(chain.columns)
    comment = _comment(chain, source, levels)
    violating = translated(violating_classes(released, GENERALISED), chain.dialect)
    _refuse_jinja([*comment, *(column.name for column in columns), violating])
    published = render(
        "released_records",
        records=GENERALISED,
        violating=VIOLATING,
        columns=columns,
        quasi_identifiers=list(released.quasi_identifiers),
        star=chain.suppressed_as == "star",
    )
    in_order = chain.in_order(PUBLISHED) if chain.is_ordered else None
    return render(
        "dbt_model",
        comment=comment,
        source=_jinja(source),
        hierarchies={_jinja(column): _jinja(how) for column, how in hierarchies.items()},
        identifiers=_jinja(dropped) if dropped else None,
        violating=violating,
        released=translated(published, chain.dialect),
        in_order=in_order and translated(in_order, chain.dialect),
    )


def _sql_of_classes(chain: RecodedChain, source: str, seed: str | None) -> str:
    """The views of a local recoding as CTEs of one statement that reads `ref()` relations."""
    read = replace(chain, is_single=True, no_views=None, reads=_READ, seed=seed and _SEEDED)
    [view] = read.views
    comment = [
        f"{source} at the levels that make it {chain.k}-anonymous, each class at its own (local",
        f"recoding), by SQL of {chain.dialect}, where they were found. kanon-sql explain local.",
        f"Personal data: {f'the seed {seed}' if seed else 'it'} holds the values of",
        f"quasi-identifiers by which classes were split, and is as private as {source}.",
    ]
    sql = translated(view.sql, chain.dialect)
    _refuse_jinja([*comment, sql])
    for stands, referred in ((_READ, source), (_SEEDED, seed)):
        of_dbt = f"{{{{ ref({_jinja(referred)}) }}}}"
        sql = re.sub(rf'["`]?{stands}["`]?', of_dbt, sql)
    return "\n".join([*(f"-- {line}" for line in comment), sql])


def _refuse_jinja(texts: Iterable[str]) -> None:
    """Raise `SpecError` for names or values with Jinja delimiters, which dbt would render."""
    mark = next((mark for mark in ("{{", "{%", "{#") for text in texts if mark in text), None)
    if mark:
        raise SpecError(
            f"a column, or a value that a check names, has {mark} in it, which dbt would render. "
            "Rename it before it is released as a model."
        )


def _comment(chain: ViewChain, source: str, levels: Mapping[str, int]) -> list[str]:
    return [
        f"{source} at the levels that make it {chain.k}-anonymous "
        f"({chain.algorithm.capitalize()}):",
        *(
            f"    {each.name} at level {levels[each.name]} ({each.levels.label(levels[each.name])})"
            for each in chain.quasi_identifiers
        ),
        "The records of violating classes are left out, and nothing is added (step 4), by SQL of "
        f"{chain.dialect}, where the levels were found.",
    ]


def _spelled(each: QuasiIdentifier, level: int) -> Any:
    """A hierarchy at a level, as an argument of `kanon_sql.generalized`."""
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
    labels = [table.labels(n) for n in range(1, table.height + 1)]
    spelled["hierarchy"] = {raw: [level[raw] for level in labels] for raw in labels[0]}
    return spelled


def _jinja(value: Any) -> str:
    """A value as a Jinja literal."""
    match value:
        case None:
            return "none"
        case Mapping():
            pairs = (f"{_jinja(key)}: {_jinja(item)}" for key, item in value.items())
            return f"{{{', '.join(pairs)}}}"
        case list() | tuple():
            return f"[{', '.join(map(_jinja, value))}]"
    return json.dumps(value, ensure_ascii=False)


def _properties(chain: ViewChain, name: str, demanded: Sequence[BoundCheck]) -> dict[str, Any]:
    bound = chain.bound
    roles = {each.name: "quasi_identifier" for each in bound.quasi_identifiers}
    roles |= {each.name: "sensitive" for each in bound.sensitive}
    roles |= {bound.entity.name: "entity"} if bound.entity else {}
    roles |= {bound.weight.name: "weight"} if bound.weight else {}
    said: dict[str, Any] = {
        "checks": [{check.model.name(): _parameters(check)} for check in demanded]
    }
    if bound.unknown:
        said["sensitive_nulls"] = "unknown"
    return {
        "version": 2,
        "models": [
            {
                "name": name,
                "config": {"meta": {"kanon_sql": said}},
                "columns": [
                    {"name": column, "config": {"meta": {"kanon_sql": {"role": role}}}}
                    for column, role in roles.items()
                ],
                "data_tests": list(_tests(bound, name, demanded)),
            }
        ],
    }


def _tests(
    bound: ResolvedQuestion, name: str, demanded: Sequence[BoundCheck]
) -> Iterator[dict[str, Any]]:
    """The test of each check that has one. It is named: dbt would make a name of its arguments, in
    which True stands for `quote_columns`."""
    taken: set[str] = set()
    for check in demanded:
        if check.model.answered_by == "estimate":
            continue
        of_column = f"_{check.column.name}" if check.column else ""
        called = _test_name(check.model.name(), f"{name}{of_column}")
        number = next(n for n in count(1) if (called if n == 1 else f"{called}_{n}") not in taken)
        called = called if number == 1 else f"{called}_{number}"
        taken.add(called)
        yield {
            f"kanon_sql.{check.model.name()}": {
                "name": called,
                "arguments": _arguments(bound, check),
            }
        }


def _test_name(test: str, of: str) -> str:
    """A name that no other model's test has, and short enough for a table of failures.

    >>> _test_name("l_diversity", "release_post code")
    'kanon_sql_l_diversity_release_post_code'
    """
    name = re.sub(r"\W+", "_", f"kanon_sql_{test}_{of}")
    if len(name) <= _LONGEST_NAME:
        return name
    return f"{name[: _LONGEST_NAME - 9]}_{hashlib.sha256(name.encode()).hexdigest()[:8]}"


def _share_left_out(
    chain: ViewChain, name: str, source: str, levels: Mapping[str, int], max_share: float
) -> dict[str, Any]:
    """The test of how many records the model leaves out, or has as *."""
    arguments: dict[str, Any] = {"made_of": f"ref('{source}')", "max_share": max_share}
    if chain.suppressed_as == "star":
        arguments["starred"] = [
            each.name
            for each in chain.quasi_identifiers
            if each.levels.label(levels.get(each.name, 0)) != _SUPPRESS
        ]
        arguments["quote_columns"] = True
    test = "share_left_out"
    return {f"kanon_sql.{test}": {"name": _test_name(test, name), "arguments": arguments}}


def _arguments(bound: ResolvedQuestion, check: BoundCheck) -> dict[str, Any]:
    """What the test of a check takes; every name is quoted, as it is in the model."""
    said = _parameters(check)
    known = [each.name for each in bound.quasi_identifiers]
    if said.pop("with_other_sensitive", False):
        known += [each.name for each in bound.sensitive if each != check.column]
    arguments = {"quasi_identifiers": known, **said, "quote_columns": True}
    if bound.entity:
        arguments["entity"] = bound.entity.name
    if bound.unknown and check.model.answered_by == "values":
        arguments["sensitive_nulls"] = "unknown"
    return arguments


def _parameters(check: BoundCheck) -> dict[str, Any]:
    """The parameters of a check that differ from their defaults."""
    return check.model.model_dump(mode="json", exclude_defaults=True, exclude_none=True)


def name_of(source: str) -> str:
    """Name of a file or table in a dbt project.

    >>> name_of("data/patients.parquet"), name_of("main.visits")
    ('patients', 'visits')
    """
    return stem(source).rpartition(".")[2].strip('"')
