"""The explorer of a table: the page or the file that answers a question."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from itertools import zip_longest
from math import isclose
from pathlib import Path
from typing import Any, NamedTuple

from kanon_sql.anonymizing.anonymizer import anonymize
from kanon_sql.anonymizing.look import Look
from kanon_sql.anonymizing.release.options import ReleaseOptions
from kanon_sql.anonymizing.tradeoff import KS, tradeoff
from kanon_sql.auditing.auditor import audit
from kanon_sql.auditing.compiler import compile as compile_audit
from kanon_sql.auditing.opening import open_table, opened
from kanon_sql.cli.command_record import with_files
from kanon_sql.cli.streams import tell
from kanon_sql.engines import is_embedded
from kanon_sql.engines.run_options import RunOptions
from kanon_sql.engines.session import Session
from kanon_sql.errors import (
    EngineError,
    InputError,
    NoDataError,
    SpecError,
    plural,
    without_control,
)
from kanon_sql.explore.address import ROLES, Question, fields_of, query
from kanon_sql.explore.commands import Commands
from kanon_sql.explore.given_spec import thresholds_of
from kanon_sql.explore.turns import Turns
from kanon_sql.models.sizes.models import KAnonymity
from kanon_sql.profiling.identifying import counted_records
from kanon_sql.profiling.profile_plan import DEFAULT_K, Identifying
from kanon_sql.profiling.profiler import profile
from kanon_sql.profiling.propose import (
    Proposal,
    ProposedColumn,
    chosen_spec,
    propose,
    proposed_by_name,
)
from kanon_sql.question.hierarchy import SUPPRESS, GeneralizationHierarchy, builder_of, built
from kanon_sql.question.roles import columns_by_role
from kanon_sql.question.spec import AuditSpec, TableSpec, table_spec
from kanon_sql.report import explore as pages
from kanon_sql.report.document import Block, Button, Choices, Control, Link, Prose
from kanon_sql.report.words.numbers import counted, printable
from kanon_sql.results.table import TableResult
from kanon_sql.results.writing import check_writable, write_together
from kanon_sql.sql.redaction import without_texts
from kanon_sql.sql.tables import Column, find

MEASURED, COUNTED_WITHOUT = 1_000_000, 2_000_000
"""Number of records up to which the columns are measured at once, and of classes up to which those
without each of the quasi-identifiers are."""
LARGEST_COUNTED = 2**27
"""Bytes of a text file up to which its records are counted at the start."""
KEPT = 3
"""Number of looks that are kept open."""
_ROLE_OF = {key: role for role, key in ROLES.items()}


class Page(NamedTuple):
    """A page: its title, its question as a heading, what it is about, its blocks."""

    title: str
    question: str
    lead: str
    blocks: Sequence[Block]


class Download(NamedTuple):
    """A file that is downloaded."""

    name: str
    kind: str
    text: str


STEPS = {"/columns": "Columns", "/risk": "Risk", "/levels": "Levels", "/evidence": "Evidence"}
FILES = {
    "/kanon.yml": "application/yaml",
    "/audit.sql": "application/sql",
    "/audit.json": "application/json",
    "/report.html": "text/html",
}
SEARCHES = ("/find", "/tradeoff")
STEP_OF = dict.fromkeys(SEARCHES, "/levels")
_OTHER_COLUMNS = (
    "the columns of the table are no longer those that this page began with. Start explore again."
)


class Explorer:
    """Answers the questions on one table, in the turns of one thread."""

    def __init__(
        self, spec: TableSpec, run: RunOptions, turns: Turns, output: Path | None, show_values: bool
    ) -> None:
        self.turns, self.output, self.show_values = turns, output, show_values
        self._run = replace(run, watch=turns.watch, opens=turns.opens, announce=self._announce)
        self._given, self._base = spec, ExitStack()
        self._of_command: dict[str, GeneralizationHierarchy] = {}
        self._builders: dict[str, str] = {}
        self._looks: dict[Any, Look] = {}
        self._profiled: Proposal | None = None
        self._has_other_columns = False
        self.secret = ""
        self.name, self.records = "", None
        self.columns: list[Column] = []
        self.given: dict[str, GeneralizationHierarchy] = {}
        """The hierarchies that no address can change."""

    records: int | None

    @property
    def names(self) -> list[str]:
        """The columns in the order of the table."""
        return [column.name for column in self.columns]

    @property
    def about(self) -> str:
        """The size of the table, in words."""
        records = [] if self.records is None else [plural(self.records, "record")]
        return " · ".join([*records, plural(len(self.columns), "column")])

    def _announce(self, sentence: str) -> None:
        """Say on the page and in the terminal what is fetched from a database."""
        self.turns.watch(sentence, str)
        tell(without_control(sentence))

    def with_hierarchies(self, hierarchies: Mapping[str, GeneralizationHierarchy]) -> None:
        """Begin with the hierarchies of the command; files can't be changed by an address."""
        self._of_command = dict(hierarchies)

    # --- the table ----------------------------------------------------------------------------

    def start(self) -> None:
        """Open the table. Raises the errors of an audit."""
        self._open()
        for name, hierarchy in self._of_command.items():
            column = find(name, self._table).name
            if (builder := builder_of(hierarchy)) is None:
                self.given[column] = hierarchy
            else:
                self._builders[column] = builder
        self.begin = self._begin()

    def close(self) -> None:
        """Close all engines."""
        self._forget()
        self._base.close()

    def _open(self) -> None:
        raw = self._given.model_copy(update={"levels": {}, "checks": [], "undecided": []})
        with ExitStack() as stack:
            engine = stack.enter_context(opened(raw, self._run))
            question = open_table(AuditSpec(tables=[raw]), 0, engine, is_open=True).question
            table = question.table
            filtered = bool(raw.where or raw.first)
            self.records = None if filtered else table.records
            size = sum(
                Path(file).stat().st_size for file in engine.files_read() if Path(file).is_file()
            )
            if self.records is None and table.embedded and (
                not table.parsed or size <= LARGEST_COUNTED
            ):  # fmt: skip
                session = Session(engine, None, threading.Event(), started=0)
                self.records = counted_records(question, session).records
            if self.records == 0:
                raise NoDataError(f"{table.name} has no records, so there is nothing to explore.")
            self.name, self.columns, self._table = table.name, list(table.columns), table
            self._engine, self._roles = engine, question.roles
            self._base = stack.pop_all()

    def _forget(self) -> None:
        for look in self._looks.values():
            look.close()
        self._looks, self._profiled = {}, None

    def recount(self) -> bool:
        """Whether a file has changed since it was read; then everything is read again. Raises
        `SpecError`, from then on, for a table of other columns."""
        if self._has_other_columns:
            raise SpecError(_OTHER_COLUMNS)
        try:
            self._engine.verify_unchanged()
        except EngineError:
            columns = self.columns
            self.close()
            self._open()
            if self.names != [column.name for column in columns]:
                self.columns, self._has_other_columns = columns, True
                raise SpecError(_OTHER_COLUMNS) from None
            return True
        return False

    def _begin(self) -> Question | None:
        """The question of a spec; None for a table without roles."""
        spec, roles = self._given, {}
        for role, column in columns_by_role(self._roles):
            if role.key in _ROLE_OF:
                roles[column.name] = _ROLE_OF[role.key]
        builders: dict[str, str] = {}
        for name, hierarchy in spec.quasi_identifiers.items():
            column = next((c for c in self.names if c.casefold() == name.casefold()), name)
            if (builder := builder_of(hierarchy)) is None:
                self.given[column] = hierarchy
            elif builder:
                builders[column] = builder
        if not (spec.quasi_identifiers or spec.sensitive or spec.checks):
            return None
        in_order = {name: roles[name] for name in self.names if name in roles}
        levels = {name: level for name, level in spec.levels.items() if level}
        return Question(in_order, builders, levels, **thresholds_of(spec))

    def first(self) -> Question:
        """The question to begin with: that of the spec, or the proposal."""
        if self.begin is not None:
            return self.begin
        is_known = self.records is not None and self.records <= MEASURED
        proposed = self._proposal().spec.columns if is_known else proposed_by_name(self.columns)
        by_name = {column.name: column for column in proposed}
        roles, builders = {}, {}
        for name in self.names:
            column = by_name.get(name)
            if self._given.entity and name.casefold() == self._given.entity.casefold():
                roles[name] = "entity"
            elif column and column.section in _ROLE_OF:
                roles[name] = _ROLE_OF[column.section]
                if builder := _builder_of(column):
                    builders[name] = builder
        builders |= self._builders
        builders = {name: text for name, text in builders.items() if name not in self.given}
        has_sensitive = "sensitive" in roles.values()
        return Question(roles, builders, k=DEFAULT_K, l=2 if has_sensitive else None)

    def _proposal(self) -> Proposal:
        if self._profiled is None:
            raw = self._base_spec(entity=self._given.entity)
            self._profiled = propose(AuditSpec(tables=[raw]), self._run)
        return self._profiled

    # --- the question -------------------------------------------------------------------------

    def _base_spec(self, **fields: Any) -> TableSpec:
        """The table with the settings that no address changes, and these fields."""
        settings = {
            name: getattr(self._given, name)
            for name in self._given.model_fields_set
            if name not in (*ROLES.values(), "levels", "checks", "undecided", "events")
        }
        return table_spec(**settings | fields)

    def spec(self, question: Question, *, levels: bool = True) -> TableSpec:
        """The spec of a question. Raises `SpecError`."""
        entity = question.of("entity")
        whys = self._given.insensitive
        return self._base_spec(
            quasi_identifiers={
                name: self.given.get(name) or built(question.hierarchies.get(name, SUPPRESS))
                for name in question.of("qi")
            },
            sensitive=question.of("sensitive"),
            identifiers=question.of("identifier"),
            insensitive={name: whys.get(name, {}) for name in question.of("insensitive")},
            entity=entity[0] if entity else None,
            levels={n: at for n, at in question.level_of.items() if at} if levels else {},
            checks=question.checks,
        )

    def undecided(self, question: Question) -> list[str]:
        return [name for name in self.names if name not in question.roles]

    def to(self, route: str, question: Question, anchor: str = "") -> str:
        """The address of a page."""
        text = query(question, self.names)
        return f"{route}{'?' if text else ''}{text}{f'#{anchor}' if anchor else ''}"

    def _hidden(self, question: Question, *but: str) -> list[tuple[str, str]]:
        """The fields of a question, but for those that a form has itself."""
        return [
            (name, value)
            for name, value in fields_of(question, self.names)
            if name not in but and not any(name.startswith(f"{each}.") for each in but)
        ]

    def _run_of_look(self) -> RunOptions:
        """The options of a look, whose engine shares the memory with those of the others."""
        if not is_embedded(self._given.connect):
            return self._run
        each = replace(self._run, jobs=KEPT).of_each_job()
        return replace(self._run, memory_limit=each.memory_limit)

    def _look(self, question: Question) -> Look:
        """The open look of a choice of columns and hierarchies."""
        of_qi = [(name, question.hierarchies.get(name)) for name in question.of("qi")]
        key = (*of_qi, None, *question.of("sensitive"), None, *question.of("entity"))
        if key in self._looks:
            look = self._looks.pop(key)
        else:
            while len(self._looks) >= KEPT:
                self._looks.pop(next(iter(self._looks))).close()
            look = Look.open(
                AuditSpec(tables=[self.spec(question, levels=False)]), self._run_of_look()
            )
        self._looks[key] = look
        for name, level in question.level_of.items():
            if level >= len(look.levels()[name]):
                raise SpecError(
                    f'"{name}" has levels 0 to {len(look.levels()[name]) - 1}; level {level} was '
                    "asked for. Choose a lower one."
                )
        return look

    # --- the answers --------------------------------------------------------------------------

    def answer(self, route: str, question: Question) -> Page | Download:
        """The page or the file of a route. Raises the errors of an audit."""
        if route in FILES:
            return self._file(route, question)
        answers: dict[str, Callable[[Question], Page]] = {
            "/columns": self._columns,
            "/risk": self._risk,
            "/levels": self._levels,
            "/find": self._find,
            "/tradeoff": self._tradeoff,
            "/evidence": self._evidence,
        }
        return answers[route](question)

    def _columns(self, question: Question) -> Page:
        if "measure" in question.ask or (
            self.records is not None and self.records <= MEASURED and self.begin is None
        ):
            self._proposal()
        proposal = self._profiled
        measured = {each.column: each for each in proposal.measured} if proposal else {}
        by_name = {each.name: each for each in proposed_by_name(self.columns)}
        choices = [
            pages.ColumnChoice(
                column.name,
                column.type,
                question.roles.get(column.name, ""),
                each.looks_like if each else _looks(by_name[column.name]),
                each.why if each else by_name[column.name].reason,
                each,
            )
            for column in self.columns
            for each in [measured.get(column.name)]
        ]
        records = self.records or (proposal.spec.records if proposal else 0)
        blocks = pages.columns(
            choices,
            records,
            proposal.members if proposal else records,
            self._hidden(question, "role"),
            lambda route: route,
            is_measured=bool(proposal),
        )
        lead = (
            "The roles are proposed; you decide. A quasi-identifier is what a neighbour, an "
            "employer or a register may know of a person. In doubt, choose it: more of them make "
            "the figures stricter, never milder."
        )
        return Page("Columns", "Which columns could someone know?", lead, list(blocks))

    def _beside(self, question: Question, table: TableResult, look: Look) -> TableResult:
        """The result with the warnings about columns that no check reads."""
        said = look.beside(question.of("insensitive"), question.of("identifier"))
        if any(question.level_of.values()):
            said = tuple(f"At raw values: {each[:1].lower()}{each[1:]}" for each in said)
        return replace(table, warnings=(*table.warnings, *said))

    def _lead(self, question: Question, table: TableResult, look: Look) -> str:
        labels = look.levels()
        at = {n: labels[n][level].label for n, level in question.level_of.items() if level}
        return pages.lead(table, at)

    def _thresholds(self, route: str, question: Question) -> pages.ThresholdForm:
        fields = dict(fields_of(question, self.names))
        k, l_, t = (fields.get(name, "") for name in ("k", "l", "t"))
        shown = ("k", "l", "t") if question.of("sensitive") else ("k",)
        hidden = self._hidden(question, *shown)
        return pages.ThresholdForm(route, hidden, k, l_, t, bool(question.of("sensitive")))

    def _risk(self, question: Question) -> Page:
        look = self._look(question)
        table = look.audit(question.level_of, question.checks, show_values=self.show_values)
        table = self._beside(question, table, look)
        names = question.of("qi")
        counts = (table.summary.classes or 0) * len(names) <= COUNTED_WITHOUT
        without = None
        if len(names) > 1 and ("without" in question.ask or counts):
            without = list(self._without(look, question))
        sets = self._small_sets(question) if "sets" in question.ask else None
        blocks = pages.risk(
            table,
            self._thresholds("/risk", question),
            without,
            sets,
            self._hidden(question, "ask"),
            self.to("/levels", replace(question, ask=())),
        )
        return Page(
            "Risk", "How easily is someone found?", self._lead(question, table, look), list(blocks)
        )

    def _without(self, look: Look, question: Question) -> Iterator[pages.WithoutOne]:
        """The figures without each quasi-identifier, first the one that adds most."""
        names = question.of("qi")
        size = [KAnonymity(k=question.k)] if question.k else []
        rows = []
        for name in names:
            keep = [other for other in names if other != name]
            result = look.audit(question.level_of, size, keep, sensitive=False)
            address = self.to("/risk", question.with_role(name, "identifier"))
            rows.append(pages.WithoutOne(name, address, result, pages.below_k(result)[0]))
        yield from sorted(rows, key=lambda row: (row.below, row.table.summary.uniques or 0))

    def _small_sets(self, question: Question) -> Any:
        spec = self._base_spec(entity=self.spec(question).entity)
        columns = tuple(question.of("qi"))
        identifying = Identifying(subsets=min(3, len(columns)), columns=columns)
        result = profile(AuditSpec(tables=[spec]), self._run, k=question.k, identifying=identifying)
        [table] = result.tables
        if table.error:
            raise EngineError(table.error)
        return table

    def _levels(self, question: Question) -> Page:
        look, now = self._look(question), question.level_of
        table = self._beside(question, look.audit(now, question.checks), look)
        raw = look.audit({}, [KAnonymity(k=question.k)] if question.k else [], sensitive=False)
        lost = look.lost(now, question.checks)
        shown = look.levels()
        nodes = [
            (name, level, {**now, name: level})
            for name in now
            for level, _ in enumerate(shown[name])
        ]
        counts = look.below([node for _, _, node in nodes], question.k or 2)
        below = {(n, level): count for (n, level, _), count in zip(nodes, counts, strict=True)}
        cards = [
            pages.ColumnCard(
                name,
                None if name in self.given else question.hierarchies.get(name, ""),
                lost.by_column.get(name),
                [
                    pages.LevelChoice(
                        at.label, at.values, below[name, level],
                        self.to("/levels", question.at({name: level}), f"c{number}"),
                        level == now[name],
                    )
                    for level, at in enumerate(shown[name])
                ],
                f"/levels#c{number}",
                self._hidden(question.without_levels_of(name)),
            )
            for number, name in enumerate(now)
        ]  # fmt: skip
        search = pages.search_form(
            self._hidden(question, "algorithm", "max_suppressed", "ask"),
            question.algorithm,
            question.max_suppressed,
        )
        blocks = pages.levels(
            table,
            raw,
            (lost.by_levels, lost.with_suppression, lost.suppressed),
            self._thresholds("/levels", question),
            cards,
            search,
            self.to("/evidence", question),
        )
        return Page(
            "Levels", "How coarse must it be?", self._lead(question, table, look), list(blocks)
        )

    # --- the searches -------------------------------------------------------------------------

    def _options(self, question: Question, **fields: Any) -> ReleaseOptions:
        fields |= {"pull_frequencies": True} if not is_embedded(self._given.connect) else {}
        return ReleaseOptions(max_suppressed=question.max_suppressed or None, **fields)

    def _find(self, question: Question) -> Page:
        spec = AuditSpec(tables=[self.spec(question, levels=False)])
        algorithm: Any = question.algorithm
        result = anonymize(spec, self._options(question, algorithm=algorithm), self._run)
        found = result.anonymization
        use = None
        if found.levels is not None and not found.reached_top:
            use = self.to("/levels", replace(question, levels={}).at(found.levels))
        elif question.algorithm == "local" and not found.reached_top:
            use = self.to("/evidence", question)
        back = self.to("/levels", question)
        lead = pages.lead(result.tables[0], {})
        blocks = list(pages.found(result, use, back))
        return Page("Levels", "Which levels are enough?", lead, blocks)

    def _tradeoff(self, question: Question) -> Page:
        spec = AuditSpec(tables=[self.spec(question, levels=False)])
        result = tradeoff(
            spec, self._options(question, algorithm="optimal"), KS, self._run
        ).tradeoff
        addresses = [
            None
            if point.levels is None
            else self.to("/levels", replace(question, levels={}, k=point.k).at(point.levels))
            for point in result.points
        ]
        blocks = list(pages.costs(result, question.k, addresses, self.to("/levels", question)))
        words = f"with at most {counted(result.max_suppressed, 'record')} suppressed"
        return Page(
            "Levels", "What does each k cost?", f"The least loss for each k, {words}.", blocks
        )

    # --- leaving ------------------------------------------------------------------------------

    def _evidence(self, question: Question, said: Sequence[Block] = ()) -> Page:
        look = self._look(question)
        table = look.audit(question.level_of, question.checks)
        suppressed = look.lost(question.level_of, question.checks).suppressed
        try:
            sql = self._sql(question, look)
        except SpecError as error:
            sql = f"-- {error}"
        taken = pages.Taken(
            self._yaml(question, None),
            list(self._commands(question).listed(suppressed)),
            sql,
            [Link(words, self.to(route, question)) for route, words in _DOWNLOADS.items()],
            self._saving(question) if self.output else None,
        )
        decide = self.to("/columns", question)
        blocks = pages.evidence(table, self.undecided(question), len(self.columns), decide, taken)
        lead = self._lead(question, table, look)
        return Page("Evidence", "Take it with you", lead, [*said, *blocks])

    def _saving(self, question: Question) -> Choices:
        spec, report, result, release = self._files()
        return Choices(
            f"Save into {self.output.name if self.output else ''}",
            action="/save",
            method="post",
            hidden=[("secret", self.secret), ("question", query(question, self.names))],
            controls=[
                Control("spec", spec, "1", "checkbox", hint="the spec", is_on=True),
                Control(
                    "report", f"{report} and {result}", "1", "checkbox",
                    hint="the report and its result, counted anew from the records", is_on=True,
                ),
                Control(
                    "release", release, "1", "checkbox",
                    hint="the release at these levels: personal data until it is reviewed",
                ),
                Control("overwrite", "Replace files that exist", "1", "checkbox"),
            ],
            buttons=[Button("Save", is_main=True)],
            style="list",
        )  # fmt: skip

    def _files(self) -> tuple[str, str, str, str]:
        """The names of the files that are saved."""
        stem = re.sub(r"[^\w-]", "_", Path(self.name).stem or "table")
        endings = ("kanon.yml", "html", "json", "release.parquet")
        spec, report, result, release = (f"{stem}.{ending}" for ending in endings)
        return spec, report, result, release

    def _yaml(self, question: Question, output: Path | None) -> str:
        spec, open_columns = self.spec(question), self.undecided(question)
        text = chosen_spec(spec, self.name, self.records or 0, open_columns, output).text
        return f"{text}\n"

    def _sql(self, question: Question, look: Look) -> str:
        text = str(compile_audit(AuditSpec(tables=[self.spec(question)])))
        if self.show_values:
            return text
        return without_texts(text, look.engine.dialect, look.sets.question.hierarchy_texts)

    def _commands(self, question: Question) -> Commands:
        name = self._files()[0] if self.output else "kanon.yml"
        return Commands(question, self.spec(question), self.given, name)

    def _file(self, route: str, question: Question) -> Download:
        name = route.removeprefix("/")
        if route == "/kanon.yml":
            text = self._yaml(question, None)
        elif route == "/audit.sql":
            text = self._sql(question, self._look(question))
        else:
            result = self._counted_anew(question)
            text = f"{result.to_json()}\n" if route == "/audit.json" else str(result.to_html())
        return Download(name, FILES[route], text)

    def _counted_anew(self, question: Question) -> Any:
        """The audit of the records, whose figures must be those of the page. Raises
        `EngineError`."""
        spec = AuditSpec(tables=[self.spec(question)])
        result = audit(spec, self._run)
        [of_records] = result.tables
        if of_records.error:
            raise EngineError(of_records.error)
        of_set = self._look(question).audit(question.level_of, question.checks)
        for name, one, other in (
            ("summary", of_set.summary, of_records.summary),
            *(
                ((check or again).model, check, again)
                for check, again in zip_longest(of_set.checks, of_records.checks)
            ),
        ):
            if one is None or other is None or not _agree(one.to_dict(), other.to_dict()):
                raise EngineError(
                    f"the figures of this page and those counted anew from the records differ "
                    f"({name}). Nothing was written. Start explore again, and report it."
                )
        return with_files(replace(result, asked=self._commands(question).audit), spec)

    def save(self, question: Question, wanted: Mapping[str, str]) -> Page:
        """Write the chosen files into the folder, each whole; the page that says so.
        Raises `SpecError`."""
        folder, names = self.output, self._files()
        assert folder is not None
        overwrite = "overwrite" in wanted
        spec_file, report, result_file, release = (folder / name for name in names)
        chosen = [
            *([spec_file] if "spec" in wanted else []),
            *([report, result_file] if "report" in wanted else []),
            *([release] if "release" in wanted else []),
        ]
        if not chosen:
            raise SpecError("choose a file to save.")
        self._refuse(chosen, overwrite)
        texts: dict[Path, str] = {}
        if "spec" in wanted:
            texts[spec_file] = self._yaml(question, spec_file)
        said = ""
        if "report" in wanted:
            result = self._counted_anew(question)
            texts |= {report: str(result.to_html()), result_file: f"{result.to_json()}\n"}
            said = "Counted anew from the records: the same figures."
        if "release" in wanted:
            self._release(question, release, overwrite)
        self._refuse(texts, overwrite)
        if texts:
            write_together(texts)
        listed = ", ".join(path.name for path in chosen)
        words = Prose([f"{printable(listed)}. {said}"], name="Saved:")
        return self._evidence(question, [words])

    def _refuse(self, files: Iterable[Path], overwrite: bool) -> None:
        for path in files:
            if path.is_symlink():
                raise SpecError(f"{path.name} is a link, which is not followed. Remove it.")
            inputs = [*AuditSpec(tables=[self._given]).files(), *self._engine.files_read()]
            try:
                check_writable(path, inputs=inputs, overwrite=overwrite)
            except SpecError as error:
                if path.is_file() and not overwrite and "exists" in str(error):
                    raise SpecError(
                        f"{path.name} exists. To replace it, tick Replace files that exist."
                    ) from None
                raise

    def _release(self, question: Question, path: Path, overwrite: bool) -> None:
        if open_columns := self.undecided(question):
            raise SpecError(
                f"a release needs a role for every column; {plural(len(open_columns), 'column')} "
                "undecided. Nothing was written."
            )
        if not question.k:
            raise SpecError("a release needs k. Nothing was written.")
        look = self._look(question)
        suppressed = look.lost(question.level_of, question.checks).suppressed
        levels = {name: level for name, level in question.level_of.items() if level}
        options = ReleaseOptions(max_suppressed=suppressed, output=path, overwrite=overwrite)
        at = options.at_levels(levels or {question.of("qi")[0]: 0})
        spec = AuditSpec(tables=[self.spec(question, levels=False)])
        result = anonymize(spec, at, self._run)
        if result.anonymization.release is None:
            raise InputError("no release at these levels holds, so nothing was written.")


_DOWNLOADS = {
    "/kanon.yml": "Spec (kanon.yml)",
    "/audit.sql": "SQL",
    "/audit.json": "Result (JSON)",
    "/report.html": "Report to sign",
}


def _builder_of(column: ProposedColumn) -> str | None:
    if not column.levels:
        return None
    return builder_of(GeneralizationHierarchy.model_validate({"levels": list(column.levels)}))


def _looks(column: ProposedColumn) -> str:
    return "" if column.section == "undecided" else _LOOKS[column.section]


_LOOKS = {
    "identifiers": "identifier",
    "quasi_identifiers": "quasi-identifier",
    "sensitive": "sensitive",
    "insensitive": "insensitive",
}


def _agree(one: Any, other: Any) -> bool:
    """Whether figures are the same; sums of floats may differ in their last digits.

    >>> _agree({"t": [0.1 + 0.2, None]}, {"t": [0.3, None]}), _agree({"k": 1}, {"k": 2})
    (True, False)
    """
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(_agree(one[key], other[key]) for key in one)
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(_agree, one, other))
    if isinstance(one, float) and isinstance(other, float):
        return isclose(one, other, rel_tol=1e-9, abs_tol=1e-12)
    return bool(one == other)
