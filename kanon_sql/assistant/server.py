"""The MCP server: audits for an assistant that sees rounded counts, never a value.

The assistant may ask as often and as cleverly as it can, and may keep all answers. Arguments are a
closed set, figures are rounded (`figures`), nested sets of quasi-identifiers that differ by a few
records are refused, and questions are limited by the log (`question_log`). It is no differential
privacy.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from kanon_sql import api
from kanon_sql.assistant.figures import (
    HIDDEN,
    ShownFigures,
    exact_figures,
    is_answer_to,
    shown_parameters,
)
from kanon_sql.assistant.messages import Messages
from kanon_sql.assistant.question_log import Call, Outcome, QuestionLog, question_log
from kanon_sql.cli.question import is_contract, is_spec_file, refuse_server
from kanon_sql.cli.signals import stops
from kanon_sql.engines.run_options import RunArguments
from kanon_sql.errors import EngineError, KanonError, MissingDriverError, SpecError
from kanon_sql.question.arguments import only
from kanon_sql.question.hierarchy import GeneralizationHierarchy
from kanon_sql.question.roles import columns_by_role
from kanon_sql.question.spec import AuditSpec
from kanon_sql.question.table import TableSpec
from kanon_sql.results.table import Summary, TableResult
from kanon_sql.results.version import VERSION

if TYPE_CHECKING:
    from mcp.server.lowlevel import Server

Refusal = Literal["question", "guard", "budget", "engine"]
Names = frozenset[str]
Answered = tuple[str, str, Names]
"""A table, the tool that showed its figures, and a set of its quasi-identifiers."""
KS = (2, 3, 5, 10, 20)
"""The values of k of a trade-off."""
FEWEST = 3
"""The smallest `--min-cell`: with 2, a pooled count is exact."""
LONGEST_TOPIC = 100
_WITHHELD = "not told"


@dataclass(frozen=True)
class _Tool:
    """A tool with its arguments; `counts` if an answer is one of the `--questions`."""

    sentence: str
    arguments: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()
    counts: bool = False


TOOLS = {
    "tables": _Tool(
        "The tables of the spec: columns with a role, and the models that are checked."
    ),
    "audit": _Tool(
        "Audit a table: which checks hold, and how large its equivalence classes are; without some "
        "quasi-identifiers if asked.",
        ("table",),
        ("without",),
        counts=True,
    ),
    "profile": _Tool(
        "The share of records that each column makes unique by itself, and what leaving out each "
        "quasi-identifier gives.",
        ("table",),
        counts=True,
    ),
    "tradeoff": _Tool(
        f"The information loss of generalising a table to k = {', '.join(map(str, KS))}.",
        ("table",),
        counts=True,
    ),
    "explain": _Tool("The manual's page on a model, a metric or a topic.", ("topic",)),
    "compile": _Tool("The SQL of a table's audit, with ? for every literal.", ("table",)),
}


class RefusedQuestion(Exception):
    """A question that gets no answer, with a reason that repeats no argument."""

    def __init__(self, kind: Refusal, why: str) -> None:
        super().__init__(why)
        self.kind = kind
        self.why = why


def _unanswered() -> RefusedQuestion:
    why = (
        "the table can't be read now; whoever runs the server finds the cause with kanon-sql audit"
    )
    return RefusedQuestion("engine", why)


@dataclass
class Assistant:
    """Answers the questions of one assistant on the tables of a spec."""

    tables: Mapping[str, TableSpec]
    """The tables by name, as `tables_by_name` has them."""
    log: QuestionLog
    questions: int = 50
    min_cell: int = 10
    limits: Mapping[str, Any] = field(default_factory=dict)
    now: Callable[[], datetime] = lambda: datetime.now(UTC)
    failure: KanonError | None = None
    """Why the log can't be written, which ends the server."""

    _figures: dict[Answered, dict[str, int]] = field(default_factory=dict)
    """The exact figures of each answered set of quasi-identifiers."""

    # --- a question -------------------------------------------------------------------------

    def call(self, tool: str, arguments: Mapping[str, Any]) -> tuple[dict[str, Any], bool]:
        """The answer of a tool, and whether it is a refusal. Raises `EngineError` if the log can't
        be written."""
        now = self.now()
        outcome: Outcome
        try:
            known, answer, outcome = self._answer(tool, arguments, now)
            reason = None
        except Exception as error:
            refused = error if isinstance(error, RefusedQuestion) else _unanswered()
            known, reason = self._logged_arguments(tool, arguments), refused.kind
            outcome = "failed" if refused.kind == "engine" else "refused"
            answer = {"refused": refused.kind, "why": refused.why}
        left = self.questions - self._counted(now) - _costs(tool, outcome)
        answer["questions_left"] = max(left, 0)
        named = tool if tool in TOOLS else _WITHHELD
        self.log.append(now, named, known, outcome, reason, answer)
        return answer, reason is not None

    def _answer(
        self, tool: str, arguments: Mapping[str, Any], now: datetime
    ) -> tuple[dict[str, Any], dict[str, Any], Outcome]:
        """The arguments in canonical form, the answer and the outcome. Raises `RefusedQuestion`."""
        question = self._checked(tool, arguments)
        if TOOLS[tool].counts:
            if (repeated := self._repeated(tool, question, now)) is not None:
                return question, repeated, "repeated"
            if self._counted(now) >= self.questions:
                raise RefusedQuestion(
                    "budget", f"{self.questions} questions in 24 hours are allowed; none is left"
                )
        return question, self._shown(tool, question), "answered"

    def _checked(self, tool: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments in canonical form. Raises `RefusedQuestion` for any other."""
        if tool not in TOOLS:
            raise RefusedQuestion("question", f"the tools are {', '.join(TOOLS)}")
        signature = TOOLS[tool]
        known = self._logged_arguments(tool, arguments)
        takes = (*signature.arguments, *signature.optional)
        if set(arguments) - set(takes):
            words = f"the arguments {', '.join(takes)}" if takes else "no arguments"
            raise RefusedQuestion("question", f"{tool} takes {words}, and nothing else")
        if lacking := [name for name in signature.arguments if name not in arguments]:
            raise RefusedQuestion("question", f"{tool} needs {', '.join(lacking)}")
        if unknown := [name for name, value in known.items() if value == _WITHHELD]:
            raise RefusedQuestion("question", self._advice(unknown[0]))
        if not known.get("without", True):
            del known["without"]
        return known

    def _advice(self, argument: str) -> str:
        match argument:
            case "table":
                return f"the tables are {', '.join(self.tables)}"
            case "topic":
                return "there is no such page; a page is a model, a metric or a topic"
        return (
            "without is a list of quasi-identifiers of the table, each once; one at least must be "
            "left"
        )

    def _logged_arguments(self, tool: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments that the spec knows, for the log; "not told" in place of all others."""
        signature = TOOLS.get(tool, _Tool(""))
        logged: dict[str, Any] = {}
        for name in (*signature.arguments, *signature.optional):
            if name in arguments:
                logged[name] = self._known(name, arguments[name], arguments.get("table"))
        if set(arguments) - set(logged):
            logged["others"] = _WITHHELD
        return logged

    def _known(self, name: str, value: Any, table: Any) -> Any:
        """A valid argument in canonical form; else "not told"."""
        if name == "without":
            spec = self.tables.get(table) if isinstance(table, str) else None
            own = list(spec.quasi_identifiers) if spec else []
            is_valid = (
                isinstance(value, list)
                and all(isinstance(column, str) and column in own for column in value)
                and len(set(value)) == len(value) < max(len(own), 1)
            )
            return [column for column in own if column in value] if is_valid else _WITHHELD
        if not isinstance(value, str):
            return _WITHHELD
        if name == "table":
            return value if value in self.tables else _WITHHELD
        with suppress(SpecError):
            if len(value) <= LONGEST_TOPIC and value.isprintable() and _page(value):
                return value
        return _WITHHELD

    def _repeated(
        self, tool: str, question: dict[str, Any], now: datetime
    ) -> dict[str, Any] | None:
        """The answer to the same question of the same spec in the last 24 hours."""
        table = self.tables[question["table"]]
        head = self._head(table, question)
        for call in self.log.recent(now):
            if call.outcome == "answered" and (call.tool, call.arguments) == (tool, question):
                is_same = all(call.answer.get(name) == value for name, value in head.items())
                if tool == "audit":
                    is_same = is_same and is_answer_to(table.checks, call.answer)
                return dict(call.answer) if is_same else None
        return None

    def _counted(self, now: datetime) -> int:
        """The calls of the last 24 hours that count."""
        return sum(_costs(call.tool, call.outcome) for call in self.log.recent(now))

    # --- an answer --------------------------------------------------------------------------

    def _shown(self, tool: str, question: Mapping[str, Any]) -> dict[str, Any]:
        answers = {
            "tables": self._list_tables,
            "audit": self._audit,
            "profile": self._profile,
            "tradeoff": self._tradeoff,
            "explain": self._explain,
            "compile": self._compile,
        }
        return {**answers[tool](question), "not_shown": self._not_shown}

    @property
    def _not_shown(self) -> str:
        unit = "tens" if self.min_cell == 10 else f"multiples of {self.min_cell}"
        return (
            f"values, figures below {self.min_cell}, the SQL; every count is rounded down to "
            f"{unit}. This is no differential privacy: whoever knows all records but one may learn "
            "from a rounded count whether the last one is there"
        )

    def _head(self, table: TableSpec, question: Mapping[str, Any]) -> dict[str, Any]:
        """The fields of an answer that repeat its question."""
        left_out = question.get("without", ())
        return {
            "table": question["table"],
            "quasi_identifiers": [
                column for column in table.quasi_identifiers if column not in left_out
            ],
            "sensitive": list(table.sensitive),
            "entity": table.entity,
        }

    def _described_tables(self) -> Iterator[dict[str, Any]]:
        for name, table in self.tables.items():
            yield {
                **self._head(table, {"table": name}),
                **({"events": list(table.events)} if table.events else {}),
                "identifiers": list(table.identifiers),
                "insensitive": list(table.insensitive),
                "weight": table.weight,
                "checks": [
                    {"model": check.name(), "parameters": shown_parameters(check.parameters)}
                    for check in table.checks
                ],
            }

    def _list_tables(self, question: Mapping[str, Any]) -> dict[str, Any]:
        return {"tables": list(self._described_tables())}

    def _audit(self, question: Mapping[str, Any]) -> dict[str, Any]:
        table = self.tables[question["table"]]
        if table.original is not None:
            # Its figures are of other people than the table's, whom the guard doesn't count.
            raise RefusedQuestion(
                "question", "a table with an original gets no audit here; profile shows its classes"
            )
        left = frozenset(table.quasi_identifiers) - set(question.get("without", ()))
        [result] = self._audited([_with_sets(table, left)])
        self._guard(question["table"], "audit", left, result)
        return {**self._head(table, question), **ShownFigures(result, self.min_cell).audit()}

    def _profile(self, question: Mapping[str, Any]) -> dict[str, Any]:
        table = self.tables[question["table"]]
        if not table.quasi_identifiers:
            raise RefusedQuestion("question", "the table has no quasi-identifiers to profile")
        sets = _profiled_sets(table)
        audited = self._audited([_sizes_alone(table, columns) for columns in sets])
        results = dict(zip(sets, audited, strict=True))
        every = frozenset(table.quasi_identifiers)
        self._guard(question["table"], "profile", every, results[every])
        shown = {
            names: ShownFigures(result, self.min_cell)
            for names, result in results.items()
            if names == every or self._is_profiled(question["table"], names, result)
        }
        columns = []
        for role, own in (("quasi_identifier", every), ("sensitive", frozenset())):
            for name in table.quasi_identifiers if own else table.sensitive:
                alone, rest = shown.get(frozenset([name])), shown.get(own - {name})
                column: dict[str, Any] = {"column": name, "role": role}
                column["share_alone"] = alone.share_of_uniques() if alone else HIDDEN
                if len(own) > 1:
                    column["without"] = {**rest.sizes(), "small": rest.small()} if rest else HIDDEN
                columns.append(column)
        return {
            **self._head(table, question),
            "status": results[every].status,
            **shown[every].sizes(),
            "small": shown[every].small(),
            "small_below": self.min_cell,
            "columns": columns,
        }

    def _tradeoff(self, question: Mapping[str, Any]) -> dict[str, Any]:
        table = self.tables[question["table"]]
        raw = table.model_copy(update={"levels": {}})
        try:
            tradeoff = api.tradeoff(self._spec_of([raw]), k=KS, **self.limits).tradeoff
        except SpecError:
            raise RefusedQuestion(
                "question", "the checks or settings of this table allow no trade-off"
            ) from None
        summary = Summary(records=tradeoff.records)
        shown = ShownFigures(
            TableResult(tradeoff.name, "", tradeoff.status, (), summary=summary), self.min_cell
        )
        return {
            **self._head(table, question),
            "status": tradeoff.status,
            "records": shown.count(tradeoff.records),
            "points": [shown.cost(point) for point in tradeoff.points],
        }

    def _explain(self, question: Mapping[str, Any]) -> dict[str, Any]:
        return {"page": _page(question["topic"])}

    def _compile(self, question: Mapping[str, Any]) -> dict[str, Any]:
        table = self.tables[question["table"]]
        compiled = api.compile(self._spec_of([table]))
        return {"table": question["table"], "sql": compiled.without_literals(_names_in(table))}

    def _audited(self, tables: Sequence[TableSpec]) -> tuple[TableResult, ...]:
        """Audit each table. Raises `RefusedQuestion` if the database fails."""
        named = [
            table.model_copy(update={"name": str(number)}) for number, table in enumerate(tables)
        ]
        results = api.audit(self._spec_of(named), **self.limits).tables
        if any(result.status == "error" for result in results):
            raise _unanswered()
        return results

    def _spec_of(self, tables: list[TableSpec]) -> AuditSpec:
        return AuditSpec(tables=tables)

    # --- the guard --------------------------------------------------------------------------

    def _guard(self, table: str, tool: str, names: Names, result: TableResult) -> None:
        """Raise `RefusedQuestion` if the answer and that on a nested set of the same data differ by
        fewer than `min_cell` records; else remember its figures."""
        figures = exact_figures(result, self.min_cell)
        self._count_again(table, names)
        for (of, _, other), of_other in self._figures.items():
            if self._is_nested(table, names, of, other) and self._is_close(figures, of_other):
                raise RefusedQuestion(
                    "guard",
                    "together with an earlier answer it would tell figures of fewer than "
                    f"{self.min_cell} records; leave out other quasi-identifiers",
                )
        self._figures[table, tool, names] = figures

    def _is_nested(self, table: str, names: Names, of: str, other: Names) -> bool:
        """Whether one of two sets of quasi-identifiers is within the other, on the same data. The
        same set of two tables may differ by their levels."""
        if of == table:
            return names < other or other < names
        if _data_of(self.tables[of]) != _data_of(self.tables[table]):
            return False
        one, two = ({name.casefold() for name in those} for those in (names, other))
        return one <= two or two <= one

    def _is_profiled(self, table: str, names: Names, result: TableResult) -> bool:
        """Whether the guard lets a profile show this set."""
        try:
            self._guard(table, "profile", names, result)
        except RefusedQuestion as refused:
            if refused.kind != "guard":
                raise
            return False
        return True

    def _is_close(self, figures: Mapping[str, int], others: Mapping[str, int]) -> bool:
        return any(
            0 < abs(figures[name] - others[name]) < self.min_cell
            for name in figures.keys() & others.keys()
        )

    def _count_again(self, table: str, new: Names) -> None:
        """Count the figures of nested sets that were answered before this process, by the log."""
        again = {
            answered: variant
            for of, spec in self.tables.items()
            for answered, variant in self._answered(of, spec)
            if answered not in self._figures and self._is_nested(table, new, of, answered[2])
        }
        if again:
            for answered, result in zip(again, self._audited(list(again.values())), strict=True):
                self._figures[answered] = exact_figures(result, self.min_cell)

    def _answered(self, table: str, spec: TableSpec) -> Iterator[tuple[Answered, TableSpec]]:
        """The sets of quasi-identifiers of every logged answer, with the question on each."""
        for call in self.log.calls:
            if call.outcome != "answered" or call.answer.get("table") != table:
                continue
            every = frozenset(call.answer.get("quasi_identifiers", ()))
            if not every <= set(spec.quasi_identifiers):
                continue
            if call.tool == "audit":
                yield (table, call.tool, every), _with_sets(spec, every)
            elif call.tool == "profile":
                for columns in _shown_sets(call, every):
                    yield (table, call.tool, columns), _sizes_alone(spec, columns)

    # --- the server -------------------------------------------------------------------------

    def server(self, end: Callable[[], None] = lambda: None) -> Server[Any]:
        """The SDK's low-level server, which passes arguments unchecked; `end` ends it."""
        import anyio
        import mcp_types as types
        from mcp.server.lowlevel import Server

        read_only = types.ToolAnnotations(
            read_only_hint=True, destructive_hint=False, open_world_hint=False
        )

        async def list_tools(*_: Any) -> types.ListToolsResult:
            return types.ListToolsResult(
                tools=[
                    types.Tool(
                        name=name,
                        description=tool.sentence,
                        input_schema=_input_schema(tool),
                        annotations=read_only,
                    )
                    for name, tool in TOOLS.items()
                ]
            )

        async def call_tool(_: Any, given: types.CallToolRequestParams) -> types.CallToolResult:
            try:
                answer, is_error = self.call(given.name, given.arguments or {})
            except KanonError as error:
                self.failure = error
            except Exception:
                self.failure = EngineError("the log can't be written.")
            if self.failure:
                end()
                # No answer leaves without its line in the log.
                await anyio.sleep_forever()
                raise AssertionError("an end has no answer") from None
            text = json.dumps(answer, ensure_ascii=False, allow_nan=False)
            return types.CallToolResult(
                content=[types.TextContent(type="text", text=text)],
                structured_content=answer,
                is_error=is_error,
            )

        return Server(
            "kanon-sql",
            version=VERSION,
            instructions="Privacy audits of tables: verdicts and rounded counts, never a value.",
            on_list_tools=list_tools,
            on_call_tool=call_tool,
        )


def _costs(tool: str, outcome: Outcome) -> bool:
    """Whether a call counts: every refusal does, and the answers of some tools."""
    is_counted = tool in TOOLS and TOOLS[tool].counts
    return outcome in ("refused", "failed") or (outcome == "answered" and is_counted)


def tables_by_name(spec: AuditSpec) -> dict[str, TableSpec]:
    """The tables by the names of their results. Raises `SpecError` if one can't be audited."""
    by_name: dict[str, TableSpec] = {}
    for table, compiled in zip(spec.tables, api.compile(spec).tables, strict=True):
        if "*" in table.quasi_identifiers:
            raise SpecError(
                f'{compiled.name}: an assistant is told the names of quasi-identifiers, and "*" '
                "stands for every column. Name the quasi-identifiers."
            )
        if compiled.name in by_name:
            raise SpecError(f'two tables are called "{compiled.name}". Give each a name.')
        by_name[compiled.name] = table
    return by_name


def _data_of(table: TableSpec) -> tuple[Any, ...]:
    """What makes the records of two tables of a spec the same: their source and their filter."""
    return (
        table.source,
        table.connect,
        table.where,
        table.first,
        tuple(table.null_strings or ()),
        table.entity,
    )


def _with_sets(table: TableSpec, names: Names) -> TableSpec:
    """The table with these of its quasi-identifiers alone, here and in its references."""
    lacking = {column.casefold() for column in table.quasi_identifiers if column not in names}

    def left(settings: Mapping[str, Any]) -> dict[str, Any]:
        return {
            name: setting for name, setting in settings.items() if name.casefold() not in lacking
        }

    others = {
        key: {
            name: other.model_copy(
                update={"columns": left(other.columns), "levels": left(other.levels)}
            )
            for name, other in getattr(table, key).items()
        }
        for key in ("references", "earlier_releases")
    }
    return table.model_copy(
        update={
            "quasi_identifiers": left(table.quasi_identifiers),
            "levels": left(table.levels),
            **others,
        }
    )


def _sizes_alone(table: TableSpec, names: Names) -> TableSpec:
    """The question on the class sizes of these columns alone."""
    columns = {
        name: table.quasi_identifiers.get(name, GeneralizationHierarchy())
        for name in (*table.quasi_identifiers, *table.sensitive)
        if name in names
    }
    levels = {name: level for name, level in table.levels.items() if name in names}
    return table.model_copy(
        update={
            "quasi_identifiers": columns,
            "levels": levels,
            "events": {},
            "sensitive": [],
            "checks": [],
            "references": {},
            "earlier_releases": {},
            "original": None,
            "holdout": None,
        }
    )


def _profiled_sets(table: TableSpec) -> list[Names]:
    """The quasi-identifiers, these without each, and each column alone."""
    every = frozenset(table.quasi_identifiers)
    sets = [every, *(every - {column} for column in table.quasi_identifiers)]
    sets += [frozenset([column]) for column in (*table.quasi_identifiers, *table.sensitive)]
    return [columns for columns in dict.fromkeys(sets) if columns]


def _shown_sets(profile: Call, every: Names) -> Iterator[Names]:
    """The nested sets of quasi-identifiers whose figures a profile showed."""
    yield every
    for column in profile.answer["columns"]:
        if column["column"] in every:
            if column["share_alone"] != HIDDEN:
                yield frozenset([column["column"]])
            if column.get("without", HIDDEN) != HIDDEN:
                yield every - {column["column"]}


def _names_in(table: TableSpec) -> Names:
    """The names that the spec has of columns and tables."""
    names: list[str | None] = [name for _, name in columns_by_role(table)]
    sources = [table.source]
    for _, _, other in table.other_tables():
        names += [*other.columns, *other.columns.values()]
        names += [getattr(other, "entity", None), getattr(other, "weight", None)]
        sources.append(other.source)
    source_words = [word for source in sources for word in str(source).split(".")]
    return frozenset(name for name in (*names, *source_words) if name)


def _page(topic: str) -> str:
    return str(api.explain(topic))


def _input_schema(tool: _Tool) -> dict[str, Any]:
    texts = {"type": "array", "items": {"type": "string"}, "uniqueItems": True}
    return {
        "type": "object",
        "properties": {
            name: texts if name == "without" else {"type": "string"}
            for name in (*tool.arguments, *tool.optional)
        },
        "required": list(tool.arguments),
        "additionalProperties": False,
    }


# --- the server over stdin and stdout -------------------------------------------------------


def serve(target: str, values: Mapping[str, Any]) -> int:
    """Serve the tables of a spec file until stdin is closed; the exit code."""
    if not is_spec_file(target):
        raise SpecError(
            f"{target} is no spec file. Name one (.yml), as in kanon-sql mcp kanon.yml."
        )
    if values["min_cell"] < FEWEST:
        raise SpecError(f"--min-cell is {FEWEST} or more; found {values['min_cell']}.")
    _require_sdk()
    limits = only(RunArguments, values)
    if not is_contract(target):
        refuse_server(target, values)
    from kanon_sql.question.contract import read_spec

    tables = tables_by_name(read_spec(target, values["server"]))
    with question_log(Path(values["log"])) as log:
        assistant = Assistant(tables, log, values["questions"], values["min_cell"], limits)
        try:
            _serve(assistant)
        except KeyboardInterrupt:
            stops.code = 0
    if assistant.failure:
        raise assistant.failure
    return 0


def _require_sdk() -> None:
    try:
        import mcp.server.lowlevel  # noqa: F401
    except ImportError:
        raise MissingDriverError(
            "an assistant's server needs the MCP SDK. Install it: pip install 'kanon-sql[mcp]'"
        ) from None


def _serve(assistant: Assistant) -> None:
    """Serve over stdin and stdout until stdin is closed."""
    import logging

    import anyio
    from mcp.server.stdio import stdio_server

    # Hosts keep what a server prints on stderr.
    logging.disable()

    async def exchange() -> None:
        with anyio.CancelScope() as scope:
            server = assistant.server(scope.cancel)
            messages = Messages(sys.stdin.fileno())
            async with stdio_server(stdin=messages) as (read, write):  # type: ignore[arg-type]
                messages.answer_to(write)
                await server.run(read, write, server.create_initialization_options())

    anyio.run(exchange)
