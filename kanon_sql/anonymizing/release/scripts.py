"""A release as text to run elsewhere: a script of views, or a dbt model.

The model is the release as a single SELECT, with a `ref()` in place of the table. The classes of a
local recoding are one CASE if they are few, otherwise a seed that the model reads.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import Any

from kanon_sql.anonymizing.recoding.recoded_views import RecodedChain
from kanon_sql.anonymizing.release.views import View, ViewChain
from kanon_sql.anonymizing.search.lattice import PRIVATE
from kanon_sql.errors import SpecError, option, without_control
from kanon_sql.files import stem
from kanon_sql.plan.question import BoundCheck, ResolvedQuestion
from kanon_sql.question.hierarchy import SUPPRESS
from kanon_sql.question.roles import columns_by_role
from kanon_sql.question.yaml_document import as_yaml
from kanon_sql.results.release import Algorithm
from kanon_sql.results.version import VERSION
from kanon_sql.sql.dialects import translated
from kanon_sql.sql.dialects.traits import TRAITS
from kanon_sql.sql.line_wrapping import wrapped
from kanon_sql.sql.statement import require_readable

_ALGORITHM_WORDS: dict[Algorithm, str] = {
    "datafly": "with Datafly (Sweeney 2002, Achieving k-anonymity privacy protection using "
    "generalization and suppression, IJUFKS 10(5))",
    "optimal": "with the levels that lose least (full-domain generalisation: Samarati 2001, "
    "Protecting respondents' identities in microdata release, IEEE TKDE 13(6))",
    "levels": "at levels that were given",
    "local": "with local recoding (after Fung, Wang, Yu 2005, Top-down specialization for "
    "information and privacy preservation, ICDE; that a rest stays is a rule of kanon-sql)",
}


def as_text(chain: ViewChain, run: Sequence[str], closing: Sequence[str], dialect: str) -> str:
    """The chain as a SQL file: every view below a comment that describes it, ready to run.

    `run` are its statements in the chain's own dialect, as they were run.
    """
    executed = dialect == chain.dialect
    label = _as_executed(chain) if executed else f"{dialect}, generated and not executed"
    shipped = chain if executed else replace(chain, dialect=dialect)
    views = shipped.views
    head = [
        f"{chain.question.table.name} as it may be released, by kanon-sql {VERSION} "
        f"{_ALGORITHM_WORDS[chain.algorithm]}.",
        f"Required: {'; '.join(_requirements(chain.question))}.",
        *closing,
        f"Dialect: {label}.",
        *_privacy_notes(views, chain.question.table.name),
        *_run_notes(views, dialect),
    ]
    table = chain.question.table
    if not executed and (table.sql.startswith("read_") or table.read_in_views):
        head.append(f"Put the name of your table where {views[0].name} reads it.")
    statements = run if executed else _generated(shipped)
    traits = TRAITS[dialect]
    before = "\n".join(f"{sql};" for sql in _setup_statements(views, statements, dialect))
    texts = [
        *([before] if before else []),
        *(
            f"{_remark(_words_of(view))}\n{require_readable(statement)};"
            for view, statement in zip(views, statements, strict=True)
        ),
        *(["commit;"] if traits.begins else []),
    ]
    between = f"\n{traits.ends_batch}\n\n\n".replace("\n\n\n\n", "\n\n\n")
    return (
        between.join([f"{_remark(head)}\n\n\n{texts[0]}", *texts[1:], _drop_comments(views)]) + "\n"
    )


def _privacy_notes(views: Sequence[View], table: str) -> Iterator[str]:
    """The views with personal data."""
    *before, release = views
    if before:
        yield (
            f"Personal data: {', '.join(view.name for view in before)}. They show raw values and "
            f"records that are left out: nobody may read them who may not read {table}. Only "
            f"{release.name} may be published."
        )
    else:
        yield f"{release.name} shows nothing but what may be published."


def _run_notes(views: Sequence[View], dialect: str) -> Iterator[str]:
    """The effect of a run on the views of an earlier release, and of a run that fails."""
    traits, release = TRAITS[dialect], views[-1].name
    if traits.client:
        yield f"Run it with: {traits.client} FILE"
    if traits.begins:
        yield "Views of these names are replaced in one transaction: all of them, or none."
    else:
        yield (
            f"Views of these names are replaced, {release} last. {dialect} commits each statement, "
            f"so {release} is dropped first: a run that fails leaves none, rather than one that "
            "reads views of two releases. Run it again then."
        )
    if not traits.tracks_dependents:
        yield "Views of an earlier release that have other names stay: drop them by hand."
    elif len(views) > 1:
        yield f"Any other view that reads {views[0].name} is dropped with it."
    if not (traits.replaces_views and traits.begins) and traits.grants:
        yield f"Grant anew who may read {release}, where the grants on it went with the old one."


def _setup_statements(
    views: Sequence[View], statements: Sequence[str], dialect: str
) -> Iterator[str]:
    """The statements that make room for the views."""
    traits, names = TRAITS[dialect], [view.name for view in views]
    longest = max(len(statement.encode()) for statement in statements)
    if traits.raises_limits and longest > traits.longest_statement:
        yield traits.raises_limits.format(length=longest, twice=2 * longest)
    if traits.begins:
        yield traits.begins
    if traits.tracks_dependents:
        # An earlier release may have had more views, each of which reads the first.
        yield f"drop view if exists {names[-1]}"
        yield from [f"drop view if exists {names[0]} cascade"] if len(names) > 1 else []
    elif not traits.replaces_views:
        yield from (f"drop view if exists {name}" for name in reversed(names))
    elif not traits.begins:
        yield f"drop view if exists {names[-1]}"


def _words_of(view: View) -> tuple[str, ...]:
    return (*view.words, "Personal data.") if view.is_personal else view.words


def _drop_comments(views: Sequence[View]) -> str:
    """Commented-out statements that drop the views."""
    release = views[-1]
    reads = ", which reads the others, " if len(views) > 1 else " "
    words = _remark(
        [f"To drop the views again, once {release.name}{reads}has been copied into a table:"]
    )
    return "\n".join([words, *(f"-- drop view {view.name};" for view in reversed(views))])


def _generated(chain: ViewChain) -> tuple[str, ...]:
    """The statements transpiled to a dialect in which nothing was run."""
    return chain.statements(lambda sql: translated(sql, chain.dialect))


def _as_executed(chain: ViewChain) -> str:
    if chain.question.table.embedded:
        return f"{chain.dialect}, as executed"
    return (
        f"{chain.dialect}. What each view selects was executed there, as a common table "
        "expression; no view was created"
    )


def _requirements(question: ResolvedQuestion) -> Iterator[str]:
    """The gating checks with their parameters."""
    for check in question.checks:
        if check.gates:
            settings = check.model.model_dump(exclude_defaults=True, exclude_none=True)
            parameters = ", ".join(f"{key} {value}" for key, value in settings.items())
            yield f"{check.model.name()} ({parameters})" if parameters else check.model.name()


def _remark(sentences: Sequence[str]) -> str:
    lines = (
        line
        for sentence in sentences
        for line in textwrap.wrap(
            without_control(" ".join(sentence.split())), width=96, break_on_hyphens=False
        )
    )
    return "\n".join(f"-- {line}" for line in lines)


_SIGNED = "# Written by kanon-sql, which leaves this file alone once it is changed ({}).\n"
_LONGEST_NAME = 60
"""A number behind it included, Postgres has 63 characters for the name of a table."""
_READ = f"{PRIVATE}source"
_SEEDED = f"{PRIVATE}cuts"
"""Placeholders in SQL for the `ref()` calls of dbt."""
SEED_COLUMNS = ("kanon_round", "kanon_value", "kanon_label")


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
    if chain.question.where or chain.question.spec.first:
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
    gating = [check for check in chain.question.checks if check.gates]
    for check in gating:
        _refuse_untestable(check, is_mixed=isinstance(chain, RecodedChain))
    properties = _properties(chain, name, gating)
    [described] = properties["models"]
    described["data_tests"].append(_share_left_out(chain, name, source, levels, max_share))
    if not isinstance(chain, RecodedChain):
        return DbtModel(_sql(chain, source, _comment(chain, source, levels)), _signed(properties))
    rows = list(chain.seed_rows)
    seed = seed_name(name) if rows else None
    if seed:
        properties |= {"seeds": [_seed_properties(seed, source, chain.dialect)]}
        chain = replace(chain, seed=_SEEDED)
    comment = _comment_of_classes(chain, source, seed)
    return DbtModel(
        _sql(chain, source, comment, seed), _signed(properties), _as_csv(rows) if rows else None
    )


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
    traits = TRAITS[dialect]
    number, text = traits.seed_integer, traits.seed_text
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


def _signed(content: Mapping[str, Any]) -> str:
    properties = as_yaml(content)
    mark = next((mark for mark in ("{{", "{%", "{#") if mark in properties), None)
    if mark:
        raise SpecError(
            f"a column, or a value that a check names, has {mark} in it, which dbt would render in "
            "the .yml of the model. Rename it before it is released as a model."
        )
    return _signature(properties) + properties


def _signature(properties: str) -> str:
    return _SIGNED.format(hashlib.sha256(properties.encode()).hexdigest()[:16])


def _refuse_untestable(check: BoundCheck, *, is_mixed: bool) -> None:
    """Raise `SpecError` for a check that no dbt test of a single model can express."""
    model = check.model
    if model.family == "reference" and is_mixed:
        raise SpecError(
            f"{model.name()} is no dbt test of a release of mixed levels: what its cells stand for "
            "is in its hierarchies, which no test reads. Leave the check out of the model, and "
            f"demand it without {option('emit', 'dbt-model')}."
        )
    if model.family in ("reference", "earlier"):
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


def _sql(chain: ViewChain, source: str, comment: Sequence[str], seed: str | None = None) -> str:
    """The release as one SELECT that reads `ref()` relations."""
    [view] = replace(chain, is_single=True, no_views=None, reads=_READ).views
    sql = wrapped(translated(view.sql, chain.dialect), chain.dialect)
    sql = _verbatim("\n".join([*(f"-- {line}" for line in comment), sql]))
    for stands, referred in ((_READ, source), (_SEEDED, seed)):
        sql = re.sub(rf'["`]?{stands}["`]?', f"{{{{ ref({json.dumps(referred)}) }}}}", sql)
    return require_readable(sql)


def _verbatim(sql: str) -> str:
    """The SQL with its Jinja delimiters as expressions, so that dbt renders them as they stand.

    >>> print(_verbatim("select '{{ x }} {% y %} {# z #}'"))
    select '{{ "{{" }} x }} {{ "{%" }} y %} {{ "{#" }} z #}'
    """
    return re.sub(r"{[{%#]", lambda mark: f'{{{{ "{mark[0]}" }}}}', sql)


def _comment_of_classes(chain: RecodedChain, source: str, seed: str | None) -> list[str]:
    return [
        f"{source} at the levels that make it {chain.k}-anonymous, each class at its own (local",
        f"recoding), by SQL of {chain.dialect}, where they were found. kanon-sql explain local.",
        f"Personal data: {f'the seed {seed}' if seed else 'it'} holds the values of",
        f"quasi-identifiers by which classes were split, and is as private as {source}.",
    ]


def _comment(chain: ViewChain, source: str, levels: Mapping[str, int]) -> list[str]:
    return [
        f"{source} at the levels that make it {chain.k}-anonymous "
        f"({chain.algorithm.capitalize()}):",
        *(
            f"    {column.name} at level {levels[column.name]} "
            f"({column.levels.label(levels[column.name])})"
            for column in chain.quasi_identifiers
        ),
        f"SQL of {chain.dialect}, where the levels were found.",
    ]


def _properties(chain: ViewChain, name: str, gating: Sequence[BoundCheck]) -> dict[str, Any]:
    question = chain.question
    roles = {column.name: role.name for role, column in columns_by_role(question) if role.name}
    settings: dict[str, Any] = {
        "checks": [{check.model.name(): _parameters(check)} for check in gating]
    }
    if question.unknown:
        settings["sensitive_nulls"] = "unknown"
    return {
        "version": 2,
        "models": [
            {
                "name": name,
                "config": {"meta": {"kanon_sql": settings}},
                "columns": [
                    {"name": column, "config": {"meta": {"kanon_sql": {"role": role}}}}
                    for column, role in roles.items()
                ],
                "data_tests": list(_tests(question, name, gating)),
            }
        ],
    }


def _tests(
    question: ResolvedQuestion, name: str, gating: Sequence[BoundCheck]
) -> Iterator[dict[str, Any]]:
    """The test of each check that has one. It is named: dbt would make a name of its arguments, in
    which True stands for `quote_columns`."""
    test_names: set[str] = set()
    for check in gating:
        if check.model.family == "population":
            continue
        of_column = f"_{check.column.name}" if check.column else ""
        test_name = _test_name(check.model.name(), f"{name}{of_column}")
        number = next(
            n for n in count(1) if (test_name if n == 1 else f"{test_name}_{n}") not in test_names
        )
        test_name = test_name if number == 1 else f"{test_name}_{number}"
        test_names.add(test_name)
        yield {
            f"kanon_sql.{check.model.name()}": {
                "name": test_name,
                "arguments": _arguments(question, check),
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
            column.name
            for column in chain.quasi_identifiers
            if column.levels.label(levels.get(column.name, 0)) != SUPPRESS
        ]
        arguments["quote_columns"] = True
    test = "share_left_out"
    return {f"kanon_sql.{test}": {"name": _test_name(test, name), "arguments": arguments}}


def _arguments(question: ResolvedQuestion, check: BoundCheck) -> dict[str, Any]:
    """What the test of a check takes; every name is quoted, as it is in the model."""
    settings = _parameters(check)
    known = settings.pop("columns", [column.name for column in question.quasi_identifiers])
    if settings.pop("with_other_sensitive", False):
        known += [column.name for column in question.sensitive if column != check.column]
    arguments = {"quasi_identifiers": known, **settings, "quote_columns": True}
    if question.entity:
        arguments["entity"] = question.entity.name
    if question.unknown and check.model.family == "values":
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
