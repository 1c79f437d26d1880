"""A local recoding as SQL: views that assign each record to its class.

With few classes, one `CASE` gives the levels of each. With many, there is one view per round, which
joins the round's splits to each class. In a run with materialised recodings, the records are joined
to those instead.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

from kanon_sql.anonymizing.recoding.recoded_sets import RECODINGS
from kanon_sql.anonymizing.recoding.split_tree import Case, SplitTree, label_name
from kanon_sql.anonymizing.release.views import RELEASE, View, ViewChain
from kanon_sql.anonymizing.search.lattice import label_of
from kanon_sql.anonymizing.violating_classes import sensitive_requirements
from kanon_sql.errors import SpecError, plural
from kanon_sql.models.base import ReferenceModel
from kanon_sql.plan.question import JoinedLabels, ResolvedQuestion
from kanon_sql.sql.dialects.traits import TRAITS
from kanon_sql.sql.macros import render
from kanon_sql.sql.quoting import identifier
from kanon_sql.sql.tables import Column

MOST_CASES = 64
"""Maximum number of classes in one CASE."""
LABELS = "labels"
LEVELS = "levels"
_LEVELS = "kanon_levels"


class _LabelColumn(NamedTuple):
    """A label column added to the records."""

    name: str
    sql: str
    joined: JoinedLabels | None


class _Look(NamedTuple):
    """The label by which some classes are split, and the mark of these classes."""

    mark: str
    name: str


class _ShownAt(NamedTuple):
    """The label released at a level."""

    level: str
    name: str


@dataclass(frozen=True)
class _Published:
    """A column of the release: with its label at each level, or, if recodings are materialised, the
    position of its quasi-identifier."""

    name: str
    type: str
    shown: tuple[_ShownAt, ...] = ()
    start: int = 0
    number: int = 0


@dataclass(frozen=True)
class RecodedChain(ViewChain):
    """The views of a release in which each class has its own levels."""

    tree: SplitTree | None = None
    """The splits of the classes; None if `no_views` gives the reason why they cannot be written."""
    mixed: frozenset[str] = frozenset()
    """The quasi-identifiers generalised in at least one record."""
    seed: str | None = None
    """The table with the splits, if the views do not contain them."""

    @property
    def generalised(self) -> frozenset[str]:
        return self.mixed

    @property
    def views(self) -> tuple[View, ...]:
        return () if self.no_views else super().views

    @property
    def can_be_modelled(self) -> bool:
        return self.tree is not None

    @property
    def seed_rows(self) -> Iterator[tuple[int, str, str]]:
        """The parts of each class in each round, as rows of a seed; none if one CASE suffices."""
        if not self._is_short:
            for number, (_, rows) in enumerate(self._tree.steps(), start=1):
                yield from ((number, value, f"to {label}") for value, label in rows)

    @property
    def values(self) -> frozenset[str]:
        if self.tree is None or self.no_views:
            return frozenset()
        keys = (key for _, rows in self.tree.steps() for key, _ in rows)
        return (self.tree.labels | frozenset(keys)) - {"", "*"}

    @property
    def before_release(self) -> tuple[View, ...]:
        return (self.raw_records, *self._walk)

    @property
    def views_to_run(self) -> tuple[View, ...]:
        return (
            (self.raw_records, self.release) if self.kept else (*self.before_release, self.release)
        )

    @property
    def release(self) -> View:
        treatment = "are *" if self.suppressed_as == "star" else "are left out"
        return View(
            self.named(RELEASE),
            (f"What may be published: each record at its levels; those without any {treatment}.",),
            self._recoded_records_sql if self.kept else self._records_at_levels_sql,
            is_personal=False,
        )

    # --- internal ---------------------------------------------------------------------------

    @property
    def _recoded_records_sql(self) -> str:
        shown = self.published_as_text
        places = {qi.name: qi.number for qi in self.quasi_identifiers if qi.name in shown}
        return render(
            "recoded_records",
            records=self.named("step_0"),
            columns=[
                _Published(column.name, column.type, number=places.get(column.name, 0))
                for column in self.released_columns
            ],
            raw=[
                replace(qi.column, name=self.raw_name(qi.column)) for qi in self.quasi_identifiers
            ],
            recodings=RECODINGS,
            star=self.suppressed_as == "star",
        )

    @property
    def _records_at_levels_sql(self) -> str:
        tree = self._tree
        return render(
            "records_at_their_levels",
            records=self._walk[-1].name,
            columns=[self._shown(column) for column in self.released_columns],
            levels=_LEVELS if self._is_short else f"kanon_class_{len(tree.rounds)}",
            digits=tree.digits,
            star=self.suppressed_as == "star",
        )

    def _shown(self, column: Column) -> _Published:
        by_name = {column.name: column.number for column in self.quasi_identifiers}
        if column.name not in self.published_as_text:
            return _Published(column.name, column.type)
        qi, tree = by_name[column.name], self._tree
        shown = tuple(
            _ShownAt(f"{level:0{tree.digits}}", label_name(qi, level))
            for level in sorted(self._levels_shown[qi - 1])
        )
        return _Published(column.name, column.type, shown, (qi - 1) * tree.digits + 1)

    @property
    def published_as_text(self) -> frozenset[str]:
        """The quasi-identifiers published as text; all of them if suppressed records become `*`."""
        if self.suppressed_as == "star":
            return frozenset(column.name for column in self.question.quasi_identifiers)
        return self.generalised

    @property
    def _tree(self) -> SplitTree:
        assert self.tree is not None
        return self.tree

    @cached_property
    def _levels_shown(self) -> tuple[frozenset[int], ...]:
        """The released levels of each quasi-identifier."""
        tree = self._tree
        width = tree.digits
        return tuple(
            frozenset(
                int(case.value[index * width : (index + 1) * width]) for case in tree.released
            )
            for index in range(len(tree.starts))
        )

    @property
    def _is_short(self) -> bool:
        return len(self._tree.released) <= MOST_CASES

    @cached_property
    def _walk(self) -> tuple[View, ...]:
        return tuple(self._short_walk() if self._is_short else self._long_walk())

    def _short_walk(self) -> Iterator[View]:
        tree = self._tree
        labels = {fits.name for case in tree.released for fits in case.conditions}
        yield self._labelled(labels)
        classes = plural(len(tree.released), "class")
        yield View(
            self.named(LEVELS),
            (
                f"The levels of each record, {self._digits_in_words}: there are {classes}, and a "
                "record is in the first one that it fits.",
            ),
            render(
                "levels_by_case",
                records=self.named(LABELS),
                cases=list(tree.released),
            ),
        )

    def _long_walk(self) -> Iterator[View]:
        tree = self._tree
        looked_at = {
            label_name(split.qi, split.level)
            for splits in tree.rounds
            for split in splits
            if split.level is not None
        }
        looked_at |= {fits.name for conditions in tree.first.values() for fits in conditions}
        first = [
            Case(conditions, tree.value(number, tree.starts))
            for number, conditions in tree.first.items()
        ]
        yield self._labelled(looked_at, first)
        before = self.named(LABELS)
        for number, (looks, rows) in enumerate(tree.steps(), start=1):
            name = self.named(f"round_{number}")
            yield View(
                name,
                (
                    f"Round {number}: each class that could be split, by a label or as the rest. A "
                    f"class that can't be split any more is its levels, {self._digits_in_words}.",
                ),
                render(
                    "recoding_round",
                    records=before,
                    number=number,
                    looks=[_Look(mark, label_name(*map(int, mark.split(".")))) for mark in looks],
                    parts=self._parts_of_round(number, rows),
                ),
            )
            before = name

    def _parts_of_round(self, number: int, rows: list[tuple[str, str]]) -> str:
        if self.seed is not None:
            return render("parts_in_seed", seed=identifier(self.seed), number=number)
        in_lines = TRAITS[self.dialect].embedded and not any("\n" in key for key, _ in rows)
        return render("table_of_labels" if in_lines else "rows_of_labels", rows=rows)

    @property
    def _digits_in_words(self) -> str:
        digits = plural(self._tree.digits, "digit")
        names = ", ".join(column.name for column in self.quasi_identifiers)
        return f"{digits} for each of {names}"

    def _labelled(self, looked_at: set[str], first: list[Case] | None = None) -> View:
        """The records with every label that a split or the release reads."""
        columns = []
        for column in self.quasi_identifiers:
            shown = self._levels_shown[column.number - 1]
            is_text = column.name in self.published_as_text
            for level in range(self._tree.starts[column.number - 1] + 1):
                name = label_name(column.number, level)
                if name in looked_at or (is_text and level in shown):
                    columns.append(self._label(column.number, level, name))
        return View(
            self.named(LABELS),
            ("The same with what each quasi-identifier is at each level that is needed.",),
            render(
                "labelled_records",
                records=self.named("step_0"),
                labels=columns,
                first=first,
            ),
        )

    def _label(self, number: int, level: int, name: str) -> _LabelColumn:
        qi = self.quasi_identifiers[number - 1]
        value = f"records.{identifier(self.raw_name(qi.column))}"
        if level == 0:
            is_text = qi.column.type == "VARCHAR"
            text = value if is_text else render("raw_as_text", value=value, type=qi.column.type)
            return _LabelColumn(name, text, None)
        label = label_of(qi.levels, level, value, portable=not TRAITS[self.dialect].embedded)
        if label.joined is None:
            return _LabelColumn(name, label.sql, None)
        joined = label.joined._replace(name=f"kanon_hierarchy_{number}_{level}")
        return _LabelColumn(name, f"{joined.name}.kanon_label", joined)


def refuse_equality(question: ResolvedQuestion) -> None:
    """Raise `SpecError` where a release of mixed levels would be compared with a reference at fixed
    levels, or by equality of cells."""
    for reference in question.references.values():
        if reference.levels:
            raise SpecError(
                f"{reference.called} is at levels of its own, but a local recoding "
                "is compared with the raw values. Leave out the levels "
                "of the reference."
            )
    for check in question.checks:
        if isinstance(check.model, ReferenceModel) and check.model.match == "exact":
            raise SpecError(
                f"{check.model.name()} with match: exact compares a release of mixed levels with "
                "raw values cell by cell, and would match nobody. Leave out match."
            )


def recoding_warnings(question: ResolvedQuestion, chain: RecodedChain) -> Iterator[str]:
    """Warnings about a release in which each class has its own levels."""
    sensitive_checks = list(
        dict.fromkeys(check.model.name() for check in sensitive_requirements(question))
    )
    if sensitive_checks:
        yield (
            f"The splits depend on sensitive values, because of {' and '.join(sensitive_checks)}: "
            "someone who knows how the release was made may conclude from a class that stayed "
            "coarse that one of its parts had too little variety (a minimality attack; Wong, Fu, "
            "Wang, Pei 2007). The audit can't detect that."
        )
    compared = [
        check.model.name() for check in question.checks if isinstance(check.model, ReferenceModel)
    ]
    if compared:
        yield (
            f"{' and '.join(dict.fromkeys(compared))}: the release is compared with the raw values "
            "of the reference by containment. A cell at any level stands for every value under it."
        )
    if chain.no_views:
        yield f"{chain.no_views.why}, so there are none."
