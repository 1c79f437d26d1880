"""The plan of a profile: named SELECTs on one table."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from kanon_sql.errors import SpecError, described_value, option, read_each, refuse_repeated
from kanon_sql.models.sizes.models import KAnonymity
from kanon_sql.models.sizes.plan import smallest_classes
from kanon_sql.models.values.models import Homogeneity
from kanon_sql.plan.bound_columns import column_named, refuse_uncomparable
from kanon_sql.plan.column_sets import refuse_too_many
from kanon_sql.plan.named_columns import sensitive_of
from kanon_sql.plan.question import BoundColumn, ResolvedQuestion
from kanon_sql.plan.resolve import resolve
from kanon_sql.plan.steps import counted, name_list, records, step, with_entity
from kanon_sql.question.hierarchy import GeneralizationHierarchy
from kanon_sql.question.table import TableSpec
from kanon_sql.sql.macros import render
from kanon_sql.sql.quoting import positive_int
from kanon_sql.sql.statement import Statement
from kanon_sql.sql.tables import Column, family, find

FEW_AT_ONCE = 4
"""Number of column sets one statement groups by where time is limited, as a statement that is
cancelled tells nothing."""
MOST_IN_PLACE = 511
"""Number of column sets in one statement on special uniques, without temporary tables."""
MOST_SCORED = 100
"""Maximum number of columns to score, as a score is a factorial of their number."""
DEFAULT_K = 5
"""Default k: a class with fewer records (people) is small."""
RULED_OUT = 3
"""Maximum number of values ruled out in turn by an attacker."""
AT_ONCE = 40
"""Number of columns whose distinct values one statement counts."""

COMBINATIONS = "kanon_private_classes"
"""Name of the combinations that the steps without a quasi-identifier read."""

Order = Literal["number", "time"]
_ORDERS: Mapping[str, Order] = {"number": "number", "text": "number", "time": "time"}
"""How the values of each type family are ordered."""


@dataclass(frozen=True)
class ColumnLook:
    """The step that counts distinct values of several columns."""

    columns: tuple[BoundColumn, ...]
    step: Statement


@dataclass(frozen=True)
class ColumnStep:
    """The step that answers a question on one column."""

    column: BoundColumn
    step: Statement
    people: Statement | None = None
    """The same per person, for people in several classes."""


@dataclass(frozen=True)
class ProfilePlan:
    """Every step of one table's profile, in execution order."""

    question: ResolvedQuestion
    k: int
    classes: Statement
    people: Statement | None
    """Counts people by the smallest of their classes, where some are in several."""
    looks: tuple[ColumnLook, ...]
    knows: tuple[ColumnStep, ...]
    combinations: Statement
    """The combinations of quasi-identifiers (and people), which `lacks` reads; to materialise."""
    lacks: tuple[ColumnStep, ...]
    eliminations: tuple[ColumnStep, ...]
    passed_over: tuple[str, ...]
    """Columns whose values SQL can't compare."""

    @property
    def columns(self) -> tuple[BoundColumn, ...]:
        """Every column that a step reads."""
        entity = [self.question.entity] if self.question.entity else []
        further = [step.column for step in self.knows]
        columns = [*self.question.quasi_identifiers, *self.question.sensitive, *further, *entity]
        return tuple({column.name: column for column in columns}.values())

    @property
    def sensitive(self) -> set[str]:
        """Names of the sensitive attributes."""
        return {column.name for column in self.question.sensitive}


def plan_profile(
    question: ResolvedQuestion, *, attacker_knows: Sequence[str] = (), k: int = DEFAULT_K
) -> ProfilePlan:
    """The profile plan of a resolved question. Raises `SpecError`."""
    further_columns = _further_columns(question, attacker_knows)
    return ProfilePlan(
        question=question,
        k=k,
        classes=_classes(question),
        people=smallest_classes(question) if question.entity else None,
        looks=tuple(_looks(question, further_columns)),
        knows=tuple(_column_step(_knows, question, column, k) for column in further_columns),
        combinations=_combinations(question),
        lacks=tuple(
            _column_step(_lacks, question, column, k) for column in question.quasi_identifiers
        ),
        eliminations=tuple(
            ColumnStep(column, _elimination(question, column)) for column in question.sensitive
        ),
        passed_over=()
        if attacker_knows
        else tuple(column.name for column in question.roles.unassigned if not _comparable(column)),
    )


def _column_step(
    statement_of: Callable[..., Statement], question: ResolvedQuestion, column: BoundColumn, k: int
) -> ColumnStep:
    """The statement on a column, and with an entity the same per person."""
    people = statement_of(question, column, k, each_person=True) if question.entity else None
    return ColumnStep(column, statement_of(question, column, k), people)


def as_profiled(spec: TableSpec) -> TableSpec:
    """The spec without its checks, references and levels, except those of events.

    Attributes that only a check names stay sensitive.
    """
    if spec.nulls == "wildcard":
        error = SpecError(
            "a profile counts classes, and with nulls: wildcard records form none. Leave it out: "
            "NULL is then a value of its own."
        )
        error.location = ("nulls",)
        raise error
    named = [sensitive_of(check) for check in spec.checks]
    checks = [Homogeneity(sensitive=name) for name in named if name is not None]
    return spec.model_copy(
        # Columns cleared for publication may still be known to an attacker.
        update={
            "checks": checks,
            "references": {},
            "earlier_releases": {},
            "levels": {name: n for name, n in spec.levels.items() if name in spec.events},
            "with_other_sensitive": False,
            "insensitive": {},
            "undecided": [],
        }
    )


def _further_columns(
    question: ResolvedQuestion, attacker_knows: Sequence[str]
) -> tuple[BoundColumn, ...]:
    """The columns an attacker may know in addition, each resolved as a further quasi-identifier."""
    free = {column.name for column in question.sensitive} | {
        column.name for column in question.roles.unassigned
    }
    if attacker_knows:
        names = read_each(lambda name: _named(name, question, free), attacker_knows)
        refuse_repeated(names, 'attacker_knows: column "{}" is named twice.')
    else:
        names = [c.name for c in question.table.columns if c.name in free and _comparable(c)]
    if not names:
        return ()
    quasi_identifiers = [column.name for column in question.quasi_identifiers]
    columns = {name: GeneralizationHierarchy() for name in [*quasi_identifiers, *names]}
    wider = question.spec.model_copy(
        update={"quasi_identifiers": columns, "sensitive": [], "checks": []}
    )
    try:
        resolved = resolve(wider, question.table, {}).quasi_identifiers
    except SpecError as error:
        raise SpecError(f"attacker_knows: {error.marked}") from None
    return resolved[len(quasi_identifiers) :]


def _named(name: str, question: ResolvedQuestion, free: set[str]) -> str:
    """The column of this name, if it may be known in addition to the quasi-identifiers."""
    column = find(name, question.table).name
    if column in free:
        return column
    if column in [column.name for column in question.quasi_identifiers]:
        raise SpecError(
            f'attacker_knows: column "{column}" is a quasi-identifier, so it is known already.'
        )
    role = _excluded_roles(question).get(column, "an identifier")
    raise SpecError(
        f'attacker_knows: column "{column}" is {role}, which is no '
        "knowledge of a person: it says whom a record is about, or stands for. Name another column."
    )


def _excluded_roles(question: ResolvedQuestion) -> dict[str, str]:
    """The roles of the entity and the weight, by column: neither is knowledge of a person."""
    roles = (("the entity", question.entity), ("the weight", question.weight))
    return {column.name: role for role, column in roles if column}


def _comparable(column: Column) -> bool:
    """Whether SQL can compare the column's values."""
    return column.unusable_because is None and family(column.type) not in ("nested", "span")


def _classes(question: ResolvedQuestion) -> Statement:
    columns = list(question.quasi_identifiers)
    return step(
        question,
        "classes",
        f"How many {counted(question)} in {question.table.name} share each combination of "
        f"{name_list(columns)}?",
        render(
            "k_anonymity",
            relation=records(question, with_entity(question, columns)),
            columns=columns,
            entity=question.entity,
        ),
        KAnonymity,
    )


def _looks(question: ResolvedQuestion, known: Sequence[BoundColumn]) -> Iterator[ColumnLook]:
    """Steps counting the distinct values of each column; the first one counts people too."""
    for index, start in enumerate(
        range(0, max(len(known), int(question.entity is not None)), AT_ONCE)
    ):
        columns = known[start : start + AT_ONCE]
        entity = question.entity if index == 0 else None
        columns_read = [*columns, *([entity] if entity else [])]
        yield ColumnLook(
            tuple(columns),
            step(
                question,
                "values" if index == 0 else f"values_{index + 1}",
                f"How many values has each of {name_list(columns_read)} in {question.table.name}?",
                render(
                    "distinct_values",
                    relation=records(question, columns_read),
                    columns=list(columns),
                    entity=entity,
                ),
            ),
        )


_IN_SEVERAL = "where people have records in several classes: each counts once, with the smallest"


def _knows(
    question: ResolvedQuestion, further_column: BoundColumn, k: int, *, each_person: bool = False
) -> Statement:
    columns = list(question.quasi_identifiers)
    return step(
        question,
        f"people_known_by_{further_column.name}" if each_person else f"knows_{further_column.name}",
        f"How many {counted(question)} in {question.table.name} does someone single out who knows "
        f"{further_column.name} beside {name_list(columns)}?",
        render(
            "attacker_knows",
            relation=records(question, with_entity(question, [*columns, further_column])),
            columns=columns,
            known=further_column,
            k=k,
            entity=question.entity,
            each_person=each_person,
        ),
        KAnonymity,
        only=_IN_SEVERAL if each_person else "",
    )


def _combinations(question: ResolvedQuestion) -> Statement:
    columns = with_entity(question, list(question.quasi_identifiers))
    return step(
        question,
        COMBINATIONS,
        f"Which combinations of {name_list(columns)} are in {question.table.name}?",
        render("frequency_set", relation=records(question, columns), columns=columns),
    )


def _lacks(
    question: ResolvedQuestion, lacked: BoundColumn, k: int, *, each_person: bool = False
) -> Statement:
    columns = list(question.quasi_identifiers)
    statement = step(
        question,
        f"people_without_{lacked.name}" if each_person else f"lacks_{lacked.name}",
        f"How many {counted(question)} in {question.table.name} are in a class below {k} only "
        f"because {lacked.name} is known, and how many of them lie in its outer one per cent?",
        render(
            "attacker_lacks",
            combinations=COMBINATIONS,
            columns=columns,
            lacked=lacked,
            k=k,
            entity=question.entity,
            ordered_by=_ORDERS.get(family(lacked.type)),
            each_person=each_person,
        ),
        KAnonymity,
        only=_IN_SEVERAL if each_person else "",
    )
    return replace(statement, tables=statement.tables | {COMBINATIONS})


def _elimination(question: ResolvedQuestion, sensitive: BoundColumn) -> Statement:
    columns = list(question.quasi_identifiers)
    return step(
        question,
        f"elimination_{sensitive.name}",
        f"How sure can someone be of {sensitive.name} in a class of {question.table.name} after "
        "ruling out the most frequent other values?",
        render(
            "elimination",
            relation=records(question, with_entity(question, [*columns, sensitive])),
            columns=columns,
            sensitive=sensitive,
            ruled_out=RULED_OUT,
            entity=question.entity,
            unknown=question.spec.sensitive_nulls == "unknown",
        ),
    )


SAMPLING_FRACTION = 0.01
"""Default sampling fraction of the records, as a share of the population."""


@dataclass(frozen=True)
class Identifying:
    """Parameters of the measures on column sets: their classes and the records they single out."""

    subsets: int | None = None
    """Measure the classes of every set of up to D columns; the worst come first."""
    suda: int | Literal["all"] | None = None
    """Special uniques (SUDA2): records unique in a minimal set of up to M columns."""
    columns: tuple[str, ...] = ()
    """Instead of quasi-identifiers: the columns to measure, singly and in sets; without either,
    every column that an attacker may know."""
    sampling_fraction: float = SAMPLING_FRACTION
    """The records' share of the population, for DIS-SUDA."""
    scores: Path | None = None
    """Write the row number and score of each special unique to FILE: personal data, so it needs
    --show-values."""

    @property
    def is_requested(self) -> bool:
        """Whether any measure on column sets is requested."""
        return self.subsets is not None or self.suda is not None

    @property
    def measures(self) -> list[str]:
        """The measures on column sets that are requested, as the result names them."""
        sizes = {"subsets": self.subsets, "special_uniques": self.suda}
        return [measure for measure, size in sizes.items() if size is not None]

    def refuse_invalid(self, *, has_quasi_identifiers: bool) -> None:
        """Raise `SpecError` for parameters that are invalid for any table."""
        if self.subsets is not None:
            positive_int(self.subsets, "subsets")
        if self.suda is not None and self.suda != "all":
            _size(self.suda)
        fraction: Any = self.sampling_fraction
        is_number = isinstance(fraction, int | float) and not isinstance(fraction, bool)
        if not is_number or not 0 < fraction <= 1:
            raise SpecError(
                f"{option('sampling_fraction')} must be above 0 and at most 1, the share of the "
                f"population that is in the table; found {described_value(fraction)}."
            )
        if self.columns and has_quasi_identifiers:
            raise SpecError(
                f"{option('columns')} replaces {option('quasi_identifiers')}; name the columns "
                "in one of the two."
            )
        if self.scores is not None and self.suda is None:
            raise SpecError(f"scores are those of special uniques: add {option('suda')}.")

    def size(self, columns: Sequence[BoundColumn]) -> int | None:
        """The largest set size of the special-uniques search over these columns.

        Raises `SpecError` for too many columns or sets, or a size above the number of columns.
        """
        if self.suda is None:
            return None
        if len(columns) > MOST_SCORED:
            raise SpecError(
                f"{option('suda')}: {len(columns):,} columns are too many to score, as a score is "
                f"a factorial of their number. Name at most {MOST_SCORED}."
            )
        size = len(columns) if self.suda == "all" else self.suda
        if size > len(columns):
            raise SpecError(
                f"{option('suda')} is {size}, and there {_are(len(columns))} to search. Use at "
                f"most {len(columns)}."
            )
        refuse_too_many(option("suda"), len(columns), size)
        return size


def _are(columns: int) -> str:
    return "is one column" if columns == 1 else f"are {columns:,} columns"


def _size(suda: Any) -> int:
    if isinstance(suda, int) and not isinstance(suda, bool) and suda >= 1:
        return suda
    raise SpecError(
        f'{option("suda")} must be a whole number, 1 or more, or "all"; found '
        f"{described_value(suda)}."
    )


def refuse_unsupported(requested: Identifying, question: ResolvedQuestion) -> None:
    """Raise `SpecError` for parameters that this table does not support."""
    if requested.suda is not None and question.entity:
        raise SpecError(
            f"{option('suda')}: special uniques are defined on records, not on people. Leave out "
            f"{option('entity')}, or use {option('subsets')}, which counts people."
        )
    if requested.scores is not None and not question.table.ordered:
        raise SpecError(
            f"{option('scores')}: the records of {question.table.name} have no numbers, as those "
            "of a file have. Write the table to a Parquet file first."
        )
    columns = named_columns(requested.columns, question) or question.quasi_identifiers
    if columns:
        refuse_sets(requested, columns)


def refuse_sets(requested: Identifying, columns: Sequence[BoundColumn]) -> None:
    """Raise `SpecError` if the number of column sets exceeds its limit."""
    if requested.subsets is not None:
        refuse_too_many(option("subsets"), len(columns), requested.subsets)
    requested.size(columns)


def named_columns(names: Sequence[str], question: ResolvedQuestion) -> tuple[BoundColumn, ...]:
    """Resolve the named columns.

    Raises `SpecError` for a missing or repeated column, the entity or the weight.
    """
    roles = _excluded_roles(question)

    def known(name: str) -> BoundColumn:
        try:
            column = column_named(name, question.table, ("columns", name))
            refuse_uncomparable(column, question.table)
        except SpecError as error:
            raise SpecError(f"{option('columns')}: {error.marked}") from None
        if column.name in roles:
            raise SpecError(
                f'{option("columns")}: column "{column.name}" is {roles[column.name]}, which is no '
                "knowledge of a person. Name another column."
            )
        return column

    columns = read_each(known, names)
    found = [column.name for column in columns]
    refuse_repeated(found, f'{option("columns")}: column "{{}}" is named twice.')
    return tuple(columns)
