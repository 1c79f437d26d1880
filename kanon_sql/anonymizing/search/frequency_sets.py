"""The frequency sets of a table at the nodes of its lattice, computed on request.

Values are dictionary-encoded: for each quasi-identifier a small table maps each raw value to an
integer, its *place*, at every level. The set of a node is rolled up from the coarsest materialised
finer set if every level in between is nested in this table, otherwise from the set of raw values.
In the embedded engine sets are temporary tables, so the records are read once; the first set may
have been fetched from a database. Where nothing may be materialised, each statement carries the
CTEs of the sets it reads and reads the records once, and a node's violating classes are computed
directly from the records.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import count
from typing import Any, NamedTuple

from kanon_sql.anonymizing.search.lattice import (
    PRIVATE,
    Attribute,
    Levels,
    Move,
    QuasiIdentifier,
    at_level,
    kept_labels,
    label_of,
)
from kanon_sql.anonymizing.violating_classes import (
    class_size,
    compares_with_table,
    sensitive_requirements,
    too_small_classes,
    violating_classes,
    with_k,
)
from kanon_sql.auditing.fetched_sets import fetch
from kanon_sql.engines.session import Session, keeps_sets
from kanon_sql.errors import InputError
from kanon_sql.models.values.plan import other_sensitive
from kanon_sql.plan.levels import ColumnLevels
from kanon_sql.plan.preconditions import LABELLED, WRITTEN, may_have_commas
from kanon_sql.plan.question import BoundColumn, ResolvedQuestion
from kanon_sql.plan.steps import name_list, records, step
from kanon_sql.sql.dialects.traits import TRAITS
from kanon_sql.sql.macros import render
from kanon_sql.sql.quoting import identifier
from kanon_sql.sql.statement import Statement
from kanon_sql.sql.tables import Row


class NodeQuery(NamedTuple):
    """A query on temporary relations."""

    name: str
    question: str
    sql: str


class TempRelations:
    """The temporary relations of one table and its references, by name.

    `session` is the session of the engine that holds them, `records` that of the engine with the
    records if it is another one.
    """

    def __init__(
        self, question: ResolvedQuestion, session: Session, records: Session | None = None
    ) -> None:
        self.question = question
        self._session = session
        self._records = records or session
        self._kept: dict[str, Session] = {}

    @property
    def hold_records(self) -> bool:
        """Whether the records are in an engine that materialises the sets, so that views of the
        records can read the sets."""
        return self._records.engine.materialises

    @property
    def are_rows(self) -> bool:
        """Whether temporary relations are materialised, so that reading one again is cheap."""
        return self._session.engine.materialises

    @property
    def dialect(self) -> str:
        """SQL dialect of the engine that holds the sets."""
        return self._session.engine.dialect

    def materialise_rows(
        self, name: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]
    ) -> str:
        """Materialise rows given in memory."""
        self._session.engine.materialise_rows(name, columns, rows)
        self._kept[name] = self._session
        return name

    def create_view(self, name: str, question: str, sql: str) -> str:
        """Create a temporary view for later queries on the sets."""
        self._session.create_view(self._step(name, question, sql))
        self._kept[name] = self._session
        return name

    def create_view_of_records(self, name: str, question: str, sql: str) -> str:
        """Create a temporary view for later queries on the records."""
        self._records.create_view(self._step(name, question, sql))
        self._kept[name] = self._records
        return name

    def materialise(self, name: str, question: str, sql: str) -> str:
        """Materialise the result of a query, or keep the query as a CTE where the engine
        materialises nothing. What a cancelled question has left is replaced."""
        if name in self._kept:
            self.drop(name)
        self._session.materialise(self._step(name, question, sql))
        self._kept[name] = self._session
        return name

    def materialise_other(
        self, name: str, question: str, sql: str, columns: Sequence[BoundColumn]
    ) -> str:
        """Materialise a query on another table in the engine of the records, with these columns;
        its rows are fetched if the sets are in another engine."""
        if self._records is self._session:
            return self.materialise(name, question, sql)
        fetch(self._records, self._session, self._step(name, question, sql), columns)
        self._kept[name] = self._session
        return name

    def _fetch(
        self, name: str, question: str, relation: str, columns: Sequence[BoundColumn]
    ) -> None:
        sql = render("frequency_set", relation=relation, columns=columns)
        fetch(self._records, self._session, self._step(name, question, sql), columns)
        self._kept[name] = self._session

    def keeps(self, name: str) -> bool:
        """Whether a temporary relation of this name exists."""
        return name in self._kept

    def drop(self, name: str) -> None:
        """Drop a temporary relation."""
        self._kept.pop(name).engine.drop(name)

    def fetch(self, name: str, question: str, sql: str) -> list[Row]:
        """The rows of one query on temporary relations."""
        return self._session.rows(self._step(name, question, sql))

    def fetch_each(self, questions: Sequence[NodeQuery]) -> list[list[Row]]:
        """The rows of each of several queries with the same columns.

        They are combined into one statement if each would compute the sets again and the combined
        one would not.
        """
        engine = self._session.engine
        if keeps_sets(engine) or TRAITS[engine.dialect].rereads or len(questions) < 2:
            return [self.fetch(item.name, item.question, item.sql) for item in questions]
        together = render("answers_together", statements=[question.sql for question in questions])
        rows = self.fetch(questions[0].name, questions[0].question, together)
        return [
            [row for row in rows if int(row["kanon_question"]) == number]
            for number, _ in enumerate(questions, start=1)
        ]

    def _step(self, name: str, question: str, sql: str) -> Statement:
        tables = frozenset([*(table.sql for table in self.question.tables), *self._kept])
        return Statement(name, question, sql, tables=tables)


def first_set(question: ResolvedQuestion) -> Statement:
    """The statement that computes the frequency set of raw values."""
    columns = question.of_classes
    sql = render("frequency_set", relation=records(question, columns), columns=columns)
    words = f"Which combinations of values occur in {question.table.name}?"
    return step(question, "first_frequency_set", words, sql)


RAW = f"{PRIVATE}raw_frequency_set"
RECORDS = f"{PRIVATE}frequency_set"
"""The frequency set of all records by places of raw values, with every sensitive attribute."""
MARKED = f"{PRIVATE}marked_records"
_FEW = 2**15
"""Number of places from which they no longer fit in a small integer."""


class LevelsOf(NamedTuple):
    """A quasi-identifier of a set with columns for its places at every level up to the highest."""

    key: str
    values: str
    highest: int


@dataclass(frozen=True)
class NodeSet:
    """The frequency set of a lattice node: each class by its places, with the other columns that
    checks read. It is valid until it is dropped to make room for others."""

    levels: Levels
    name: str
    """Name of its relation in the engine that holds it."""


class FrequencySets(TempRelations):
    """The frequency sets of one table, from the raw values up.

    `session` is that of the engine with the sets; `records` that of the engine with the
    records if it is another one, from which the set of raw values is then fetched. Besides that set
    the last `most_kept` nodes stay materialised: each is about as large if nearly every record is
    unique. With `of_all_levels` that set has the places at every level, and no other is rolled up.
    """

    def __init__(
        self,
        question: ResolvedQuestion,
        session: Session,
        levels: Mapping[str, ColumnLevels],
        records: Session | None = None,
        *,
        most_kept: int = 1,
        of_all_levels: bool = False,
    ) -> None:
        super().__init__(question, session, records)
        self._most_kept = most_kept
        self.by_people = [question.entity] if question.entity else []
        """The entity column, if classes are counted in people."""
        self._numbers = count()
        relation, rolled_up = self._source()
        self.quasi_identifiers = tuple(
            self._values(column, number, levels[column.name], relation, rolled_up)
            for number, column in enumerate(question.quasi_identifiers, start=1)
        )
        sql = self._places(relation, question.quasi_identifiers, rolled_up)
        if of_all_levels:
            heights = {column.name: column.levels.height for column in self.quasi_identifiers}
            sql = self._at_all_levels(f"({sql})", heights, self.carried)
        self.materialise(
            RECORDS,
            f"How many records of {question.table.name} have each combination of "
            f"{name_list(question.quasi_identifiers)}?",
            sql,
        )
        raw = NodeSet({column.name: 0 for column in question.quasi_identifiers}, self._searched())
        self._nodes = {self._node(raw.levels): raw}

    # --- queries on nodes -------------------------------------------------------------------

    @property
    def attributes(self) -> list[Attribute]:
        return [column.attribute for column in self.quasi_identifiers]

    def values_at(self, levels: Levels) -> dict[str, int]:
        """Number of distinct values of each quasi-identifier at its level, with NULL as one."""
        return {
            attribute.name: attribute.distinct[levels[attribute.name]]
            for attribute in self.attributes
        }

    def labels_at(self, levels: Levels) -> dict[str, str]:
        """The words for the level of each quasi-identifier."""
        return {qi.name: qi.levels.label(levels[qi.name]) for qi in self.quasi_identifiers}

    def at(self, levels: Levels) -> NodeSet:
        """The set of a node, rolled up from the coarsest usable materialised set."""
        node = self._node(levels)
        if node not in self._nodes:
            finer, moves = self._nearest(levels)
            name = self._rolled_up(finer, self._new_name(), moves)
            self._nodes[node] = NodeSet(dict(levels), name)
            self._drop_oldest()
        return self._nodes[node]

    def records_violating(self, levels: Levels) -> int:
        """Number of records in violating classes at these levels."""
        question = f"How many records are in violating classes at {_at(levels)}?"
        violating = (
            self.violating(self.at(levels)) if self.are_rows else self._violating_records(levels)
        )
        sql = render("violating_in_short", violating=violating)
        return int(self._session.row(self._step("kanon_violating", question, sql))["kanon_records"])

    def violating(self, node: NodeSet) -> str:
        """SQL of a node's violating classes, by their places."""
        if not self.searched_columns:
            # Every row of the set is already a class.
            return too_small_classes(self._keyed, node.name)
        return violating_classes(self._keyed, node.name, rolled_up=True)

    def at_all_levels(self, name: str, highest: Levels, carried: Sequence[BoundColumn]) -> str:
        """Materialise the set of raw values with the place of each value at every level up to the
        highest, so that any node is a choice of GROUP BY columns. `carried` are the further columns
        to include."""
        if self.keeps(name):
            return name
        raw = self.raw.name
        if len(self.searched_columns) > len(carried):
            raw = self._rolled_up(RECORDS, self._new_name(), {}, carried)
        return self.materialise(
            name,
            "Which place does each combination of values have at every level?",
            self._at_all_levels(raw, highest, carried),
        )

    def _at_all_levels(self, raw: str, highest: Levels, carried: Sequence[BoundColumn]) -> str:
        sets = self.levels_up_to(highest)
        return render("set_at_all_levels", set=raw, sets=sets, carried=carried, small=self.small)

    @property
    def small(self) -> list[str]:
        """Keys of the quasi-identifiers whose places fit in a small integer."""
        return [
            column.key
            for column in self.quasi_identifiers
            if self._session.engine.materialises and column.attribute.distinct[0] < _FEW
        ]

    def levels_up_to(self, highest: Levels) -> list[LevelsOf]:
        """The quasi-identifiers with their highest levels."""
        return [
            LevelsOf(column.key, column.values, highest[column.name])
            for column in self.quasi_identifiers
        ]

    @property
    def raw(self) -> NodeSet:
        """The set of raw values with the columns that the search reads."""
        return next(iter(self._nodes.values()))

    @property
    def least_records(self) -> int:
        """The class size that all checks on sizes require."""
        return class_size(self.question.checks) or 1

    def violating_among(
        self, keys: Sequence[str], kept: str, k: int | None = None, *, is_whole: bool = False
    ) -> str:
        """SQL of the violating classes of a materialised set whose classes are identified by
        `keys`, optionally for another `k`. With `is_whole` the set holds all classes of one node,
        so that the table-wide frequencies of sensitive values are computed from it."""
        columns = tuple(BoundColumn(key, "INTEGER", key) for key in keys)
        keyed = self._keyed if k is None else with_k(self._keyed, k)
        question = replace(keyed, quasi_identifiers=columns, keys=columns)
        frequencies = {} if is_whole else self._table_frequencies
        return violating_classes(question, kept, rolled_up=True, table_counts=frequencies)

    def ask(self, question: ResolvedQuestion) -> None:
        """Require the checks of another question on the same columns."""
        self.question = question
        self.__dict__.pop("_keyed", None)

    @contextmanager
    def with_k(self, k: int) -> Iterator[None]:
        """Require another k within the context; relations materialised in it are dropped at its
        end."""
        # The distributions of sensitive values do not depend on k.
        question, before = self.question, {*self._table_frequencies.values(), *self._kept}
        self.ask(with_k(question, k))
        try:
            yield
        finally:
            self.ask(question)
            for name in [name for name in reversed(self._kept) if name not in before]:
                self.drop(name)
            self._nodes = {
                node: nodes for node, nodes in self._nodes.items() if nodes.name in self._kept
            }

    @cached_property
    def are_spread_by_node(self) -> bool:
        """Whether the table-wide frequencies of sensitive values depend on the node, because a
        person counts once in each class they are in."""
        return bool(self.by_people) and any(
            map(compares_with_table, sensitive_requirements(self.question))
        )

    @property
    def carried(self) -> list[BoundColumn]:
        """The columns of the set of raw values other than the quasi-identifiers."""
        return [*self.question.sensitive, *self.by_people]

    def keep_places_of(
        self, name: str, question: str, view: str, raw: Sequence[BoundColumn]
    ) -> str:
        """Materialise the frequency set of some records, given by a view, by the places of their
        raw values; `raw` are the view's columns with these values."""
        if self._records is self._session:
            return self.materialise(name, question, self._places(view, raw, rolled_up=False))
        self._fetch(f"{name}_fetched", question, view, [*raw, *self.carried])
        sql = self._places(f"{name}_fetched", raw, rolled_up=True)
        return self.materialise(name, question, sql)

    # --- internal ---------------------------------------------------------------------------

    def _source(self) -> tuple[str, bool]:
        """The relation to count values in, and whether it is a frequency set: the records, or a set
        of them if reading them again would mean parsing the file again."""
        columns = self.question.of_classes
        relation, first = records(self.question, columns), first_set(self.question)
        if self._records is not self._session:
            self._fetch(RAW, first.words, relation, columns)
        elif self.question.table.parsed or not self._session.engine.materialises:
            self.materialise(RAW, first.words, first.sql)
        else:
            return relation, False
        return RAW, True

    def _places(
        self, relation: str, quasi_identifiers: Sequence[BoundColumn], rolled_up: bool
    ) -> str:
        """SQL of the frequency set of a relation, by the places of raw values."""
        return render(
            "frequency_set_of_places",
            relation=relation,
            quasi_identifiers=[_spelled(column, rolled_up) for column in quasi_identifiers],
            values=[column.values for column in self.quasi_identifiers],
            carried=[_spelled(column, rolled_up) for column in self.carried],
            rolled_up=rolled_up,
        )

    def _values(
        self,
        column: BoundColumn,
        index: int,
        levels: ColumnLevels,
        relation: str,
        rolled_up: bool,
    ) -> QuasiIdentifier:
        spelled = _spelled(column, rolled_up)
        if levels.needs_longest:
            sql = render("longest_value", relation=relation, column=spelled)
            [row] = self.fetch(
                f"longest_{index}", f"How long is the longest value of {column.name}?", sql
            )
            levels = levels.with_longest(int(row["kanon_longest"]))
        for level in filter(levels.is_joined, range(1, levels.height + 1)):
            kept = kept_labels(index, level)
            self.materialise_rows(kept, ("kanon_value", "kanon_label"), levels.mapping(level))
        labels = [
            label_of(levels, level, identifier("kanon_raw"), kept_labels(index, level))
            for level in range(1, levels.height + 1)
        ]
        values = self.materialise(
            f"{PRIVATE}values_{index}",
            f"Which label and place does each value of {column.name} have at each level?",
            render(
                "values_at_levels",
                relation=relation,
                column=spelled,
                labels=labels,
                rolled_up=rolled_up,
            ),
        )
        inexact = [level for level, label in enumerate(labels, start=1) if label.exact]
        is_read_here = self.question.table.embedded and column.type == "VARCHAR"
        sql = render(
            "values_in_short",
            values=values,
            height=levels.height,
            inexact=inexact,
            formats=WRITTEN if is_read_here and levels.needs == "date" else (),
        )
        [row] = self.fetch(
            f"values_in_short_{index}",
            f"How many labels does each level of {column.name} have, and how many values lack one?",
            sql,
        )
        self._refuse_without_label(column, levels, row)
        return QuasiIdentifier(column, levels, index, row)

    def _refuse_without_label(self, column: BoundColumn, levels: ColumnLevels, row: Row) -> None:
        for level in range(1, levels.height + 1) if levels.needs else ():
            counts = dict(row) | {
                name: row[f"{name}_{level}"]
                for name in ("kanon_values_without_label", "kanon_records_without_label")
            }
            fault = LABELLED.fault(
                counts,
                table=self.question.table.name,
                column=column.name,
                levels=levels,
                level=levels.label(level),
                commas=may_have_commas(self.question, self.question.table),
            )
            if fault is not None:
                raise InputError(fault)

    def _searched(self) -> str:
        """The set of raw values for the search, summed over the columns that no check reads."""
        if len(self.searched_columns) == len(self.carried):
            return RECORDS
        return self._rolled_up(RECORDS, self._new_name(), {})

    @cached_property
    def _keyed(self) -> ResolvedQuestion:
        """The question with every column renamed to its column in the sets."""
        keys = tuple(BoundColumn(qi.key, "INTEGER", qi.key) for qi in self.quasi_identifiers)
        return self.question.with_columns(keys, lambda column: replace(column, name=column.alias))

    def _violating_records(self, levels: Levels) -> str:
        """SQL of the violating classes at these levels, computed from the records."""
        columns = tuple(at_level(column, levels[column.name]) for column in self.quasi_identifiers)
        relation = records(self.question, [*columns, *self.searched_columns])
        question = replace(self.question, quasi_identifiers=columns, keys=columns)
        return violating_classes(question, relation)

    def _nearest(self, levels: Levels) -> tuple[str, dict[str, Move]]:
        """The coarsest materialised set from which a node can be rolled up, and the level changes
        to it: every level in between is nested, or the set is that of raw values."""
        if self._session.engine.materialises:
            for node in sorted(self._nodes.values(), key=_height, reverse=True):
                if all(column.climbs(node.levels, levels) for column in self.quasi_identifiers):
                    return node.name, self._moves(node.levels, levels)
        return RECORDS, self._moves({column.name: 0 for column in self.quasi_identifiers}, levels)

    def _moves(self, start: Levels, end: Levels) -> dict[str, Move]:
        return {
            column.key: column.move(start[column.name], end[column.name])
            for column in self.quasi_identifiers
            if start[column.name] != end[column.name]
        }

    @cached_property
    def _table_frequencies(self) -> dict[str, str]:
        """Temporary relations with the table-wide frequency of each value, for the sensitive
        attributes that a check reads."""
        return {
            column.alias: self.materialise(
                f"{PRIVATE}whole_{column.alias}",
                f"How often does each value of {column.name} occur in {self.question.table.name}?",
                render(
                    "whole_values",
                    records=RECORDS,
                    sensitive=column,
                    entity=self.question.entity,
                    unknown=self.question.unknown,
                ),
            )
            for column in self.searched_columns
            if column in self.question.sensitive
        }

    def _drop_oldest(self) -> None:
        """Drop the oldest sets above the limit, but never the set of raw values."""
        _, *others = self._nodes
        for node in others[: max(0, len(others) - self._most_kept)]:
            self.drop(self._nodes.pop(node).name)

    @cached_property
    def searched_columns(self) -> list[BoundColumn]:
        """The further columns of a searched set: those that a check reads."""
        checks = sensitive_requirements(self.question)
        required = {check.column for check in checks}
        required |= {column for check in checks for column in other_sensitive(self.question, check)}
        read = [column for column in self.question.sensitive if column in required]
        return [*read, *self.by_people]

    def _node(self, levels: Levels) -> tuple[int, ...]:
        return tuple(levels[column.name] for column in self.question.quasi_identifiers)

    def _new_name(self) -> str:
        return f"{PRIVATE}set_{next(self._numbers)}"

    def _rolled_up(
        self,
        finer: str,
        name: str,
        moves: Mapping[str, Move],
        carried: Sequence[BoundColumn] | None = None,
    ) -> str:
        return self.materialise(
            name,
            "How many records share each combination of values at a coarser node?",
            render(
                "set_rolled_up",
                finer=finer,
                keys=[column.key for column in self.quasi_identifiers],
                moves=moves,
                carried=self.searched_columns if carried is None else carried,
            ),
        )


def _spelled(column: BoundColumn, rolled_up: bool) -> BoundColumn:
    """The column as named in its source relation: frequency sets name columns by alias."""
    return replace(column, name=column.alias) if rolled_up else column


def _height(node: NodeSet) -> int:
    return sum(node.levels.values())


def _at(levels: Levels) -> str:
    return ", ".join(f"{name} {level}" for name, level in levels.items())
