"""The table that is explored, with the looks that are open."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

from kanon_sql.anonymizing.look import Look
from kanon_sql.auditing.opening import open_table, opened
from kanon_sql.cli.streams import tell
from kanon_sql.engines import is_embedded
from kanon_sql.engines.run_options import RunOptions
from kanon_sql.engines.session import Session
from kanon_sql.errors import EngineError, SpecError, no_records, plural, without_control
from kanon_sql.explore.address import ROLES, Question
from kanon_sql.explore.given_spec import thresholds_of
from kanon_sql.explore.turns import Turns
from kanon_sql.profiling.identifying import counted_records
from kanon_sql.profiling.profile_plan import DEFAULT_K
from kanon_sql.profiling.propose import Proposal, propose, proposed_by_name
from kanon_sql.question.hierarchy import SUPPRESS, GeneralizationHierarchy, builder_of, built
from kanon_sql.question.roles import columns_by_role
from kanon_sql.question.spec import AuditSpec, table_spec
from kanon_sql.question.table import TableSpec
from kanon_sql.sql.tables import Column, find

MEASURED = 1_000_000
"""Number of records up to which the columns are measured at once."""
COUNTED = 10_000_000
"""Number of records up to which the figures are counted at once: some ten seconds of a processor,
as `benchmarks/explore.py` shows."""
LARGEST_TEXT = 2**27
"""Bytes of a text file up to which its records are counted at the start."""
KEPT = 3
"""Number of looks that are kept open; of a large table one, which needs the memory."""
ROLE_OF = {key: role for role, key in ROLES.items()}
_OTHER_COLUMNS = (
    "The table has other columns than this page began with. Bring those back, or start explore "
    "again."
)


class ExploredTable:
    """A table with its open looks and its profile, in the turns of one thread."""

    name: str
    columns: list[Column]
    records: int | None
    """Number of records, where it is known without a count."""

    def __init__(
        self,
        spec: TableSpec,
        run: RunOptions,
        turns: Turns,
        hierarchies: Mapping[str, GeneralizationHierarchy] | None = None,
        *,
        output: Path | None = None,
        show_values: bool = False,
    ) -> None:
        self.given, self.turns, self.output, self.show_values = spec, turns, output, show_values
        self._as_given = spec
        self.run = replace(run, watch=turns.watch, opens=turns.opens, announce=self._announce)
        self.files: dict[str, GeneralizationHierarchy] = {}
        """The hierarchies that no address can change."""
        self.secret = ""
        """The secret of the form that saves."""
        self._hierarchies = {**spec.quasi_identifiers, **(hierarchies or {})}
        self._builders: dict[str, str] = {}
        self._base = ExitStack()
        self._looks: dict[Any, Look] = {}
        self._profiled: Proposal | None = None
        self._has_other_columns = False

    def _announce(self, sentence: str) -> None:
        """Say on the page and in the terminal what is fetched from a database."""
        self.turns.watch(sentence, str)
        tell(without_control(sentence))

    @property
    def names(self) -> list[str]:
        """The columns in the order of the table."""
        return [column.name for column in self.columns]

    @property
    def about(self) -> str:
        """The size of the table, in words."""
        records = [] if self.records is None else [plural(self.records, "record")]
        return " · ".join([*records, plural(len(self.columns), "column")])

    # --- its engines ------------------------------------------------------------------------

    def start(self) -> None:
        """Open the table. Raises the errors of an audit."""
        self._open()
        for name, hierarchy in self._hierarchies.items():
            column = find(name, self._table).name
            if (builder := builder_of(hierarchy)) is None:
                self.files[column] = hierarchy
            elif builder:
                self._builders[column] = builder

    def close(self) -> None:
        """Close all engines."""
        for look in self._looks.values():
            look.close()
        self._looks, self._profiled = {}, None
        self._base.close()

    def _open(self) -> None:
        raw = self.given.model_copy(update={"levels": {}, "checks": [], "undecided": []})
        with ExitStack() as stack:
            engine = stack.enter_context(opened(raw, self.run))
            question = open_table(AuditSpec(tables=[raw]), 0, engine, is_open=True).question
            table = question.table
            self.records = None if raw.where or raw.first else table.records
            paths = map(Path, engine.files_read())
            size = sum(path.stat().st_size for path in paths if path.is_file())
            is_small = not table.parsed or size <= LARGEST_TEXT
            if self.records is None and table.embedded and is_small:
                session = Session(engine, None, threading.Event(), started=0)
                self.records = counted_records(question, session).records
            if self.records == 0:
                raise no_records(table.name, "there is nothing to explore")
            self.name, self.columns, self._table = table.name, list(table.columns), table
            self._engine, self._roles = engine, question.roles
            self._base = stack.pop_all()

    def recount(self) -> bool:
        """Whether a file has changed since it was read; then everything is read again. Raises
        `SpecError` as long as the table has other columns."""
        try:
            self._engine.verify_unchanged()
        except EngineError:
            columns, self.given = self.columns, self._as_given
            self.close()
            self._open()
            self._has_other_columns = self.names != [column.name for column in columns]
            if not self._has_other_columns:
                self.begin()
                return True
            self.columns = columns
        if self._has_other_columns:
            raise SpecError(_OTHER_COLUMNS)
        return False

    @property
    def inputs(self) -> list[str]:
        """The files that are read, of which none is written."""
        return [*AuditSpec(tables=[self.given]).files(), *self._engine.files_read()]

    @property
    def is_local(self) -> bool:
        """Whether the table is read here: that of another database is fetched in parts."""
        return is_embedded(self.given.connect)

    @property
    def release_kind(self) -> str:
        """The ending of a release: records, or views where another database has them."""
        return "parquet" if self.is_local else "sql"

    @property
    def saved_files(self) -> dict[str, str]:
        """The names of the files that are saved."""
        stem = "".join(c if c.isalnum() or c in "-_" else "_" for c in Path(self.name).stem)
        endings = {"spec": "kanon.yml", "report": "html", "result": "json",
                   "release": f"release.{self.release_kind}"}  # fmt: skip
        return {name: f"{stem or 'table'}.{ending}" for name, ending in endings.items()}

    @property
    def spec_file(self) -> str:
        """The name of the spec file in a command."""
        return self.saved_files["spec"] if self.output else "kanon.yml"

    # --- the first question -----------------------------------------------------------------

    def begin(self) -> Question:
        """The question to begin with: that of the spec, or the proposal."""
        spec = self.given
        if self.has_spec:
            roles = {
                column.name: ROLE_OF[role.key]
                for role, column in columns_by_role(self._roles)
                if role.key in ROLE_OF
            }
            given = spec.levels.items()
            levels = {find(name, self._table).name: level for name, level in given if level}
            return Question(roles, self._builders, levels, **thresholds_of(spec))
        by_name = proposed_by_name(self.columns)
        proposed = self.proposal().spec.columns if self.is_measured else by_name
        roles = {each.name: ROLE_OF[each.section] for each in proposed if each.section in ROLE_OF}
        if spec.entity:
            roles[find(spec.entity, self._table).name] = "entity"
        builders = {
            each.name: builder_of(GeneralizationHierarchy.model_validate({"levels": each.levels}))
            for each in proposed
            if each.levels and roles.get(each.name) == "qi"
        } | self._builders
        named = {name: text for name, text in builders.items() if text and name not in self.files}
        has_sensitive = "sensitive" in roles.values()
        return Question(roles, named, k=DEFAULT_K, l=2 if has_sensitive else None)

    @property
    def has_spec(self) -> bool:
        """Whether roles or checks were given, so that nothing is proposed."""
        return bool(self.given.quasi_identifiers or self.given.sensitive or self.given.checks)

    @property
    def is_measured(self) -> bool:
        """Whether the columns are measured at once."""
        return self._profiled is not None or (self._is_small and not self.has_spec)

    @property
    def _is_small(self) -> bool:
        return self.records is not None and self.records <= MEASURED

    @property
    def is_large(self) -> bool:
        """Whether its figures are counted only if a button asks for them."""
        return self.records is None or self.records > COUNTED

    def proposal(self) -> Proposal:
        """The columns with the roles that names and values suggest."""
        if self._profiled is None:
            raw = self.base_spec(entity=self.given.entity)
            self._profiled = propose(AuditSpec(tables=[raw]), self.run)
            dates = self._profiled.spec.settings.get("dates")
            # Above, a figure would depend on whether a button was pressed before.
            if dates and self._is_small and not self.has_spec:
                self.given = self._as_given.model_copy(update={"dates": dates})
        return self._profiled

    @property
    def assumed_dates(self) -> Mapping[str, str]:
        """The formats of dates that the proposal found, by column."""
        dates: Any = None if self._as_given.dates else self.given.dates
        return dates or {}

    # --- a question -------------------------------------------------------------------------

    def base_spec(self, **fields: Any) -> TableSpec:
        """The table with the settings that no address changes, and these fields."""
        settings = {
            name: getattr(self.given, name)
            for name in self.given.model_fields_set
            if name not in (*ROLES.values(), "levels", "checks", "undecided", "events")
        }
        return table_spec(**settings | fields)

    def spec(self, question: Question) -> TableSpec:
        """The spec of a question. Raises `SpecError`."""
        given = self.given.insensitive.items()
        whys = {find(name, self._table).name: why for name, why in given}
        return self.base_spec(
            quasi_identifiers={
                name: self.files.get(name) or built(question.hierarchies.get(name, SUPPRESS))
                for name in question.of("qi")
            },
            sensitive=question.of("sensitive"),
            identifiers=question.of("identifier"),
            insensitive={name: whys.get(name, {}) for name in question.of("insensitive")},
            entity=next(iter(question.of("entity")), None),
            levels=question.raised,
            checks=question.checks,
        )

    def look(self, question: Question) -> Look:
        """The open look of a choice of columns and hierarchies."""
        of_qi = [(name, question.hierarchies.get(name)) for name in question.of("qi")]
        key = (*of_qi, None, *question.of("sensitive"), None, *question.of("entity"))
        if key in self._looks:
            look = self._looks.pop(key)
        else:
            kept, run = 1 if self.is_large and self.is_local else KEPT, self.run
            while len(self._looks) >= kept:
                self._looks.pop(next(iter(self._looks))).close()
            if self.is_local:
                # The engines of the looks share the memory.
                of_each = replace(run, jobs=kept).of_each_job()
                run = replace(run, memory_limit=of_each.memory_limit)
            look = Look.open(AuditSpec(tables=[self.spec(question)]), run)
        self._looks[key] = look
        for name, level in question.level_of.items():
            if level >= len(look.levels()[name]):
                raise SpecError(
                    f'"{name}" has levels 0 to {len(look.levels()[name]) - 1}; level {level} was '
                    "asked for. Choose a lower one."
                )
        return look
