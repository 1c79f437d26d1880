"""An audit as the rules of a data contract, which other test runners execute.

Each check becomes a `sql` rule, its own statement, and a `custom` rule, from which kanon-sql reads
the check again. Of the data only the columns are read.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from kanon_sql.auditing.check_statement import check_statement
from kanon_sql.auditing.datasets import NAMESPACES, identifiers
from kanon_sql.auditing.opening import open_table, opened
from kanon_sql.engines.base import Engine
from kanon_sql.engines.names import url_of
from kanon_sql.engines.run_options import RunOptions
from kanon_sql.errors import SpecError, option
from kanon_sql.files import file_kind, file_of_url, stem
from kanon_sql.models.base import Model
from kanon_sql.plan.question import BoundCheck, ResolvedQuestion
from kanon_sql.question.contract import (
    ENGINE,
    PROPERTY,
    RULE_ID_PREFIX,
    refuse_placeholders,
    with_rules,
)
from kanon_sql.question.other_tables import OTHER_TABLES
from kanon_sql.question.roles import columns_by_role
from kanon_sql.question.spec import AuditSpec
from kanon_sql.question.table import TableSpec
from kanon_sql.question.yaml_document import as_yaml
from kanon_sql.report.pipelines.outcomes import check_name
from kanon_sql.results.check import CheckResult
from kanon_sql.sql.gate import sets_of
from kanon_sql.sql.quoting import identifier
from kanon_sql.sql.redaction import without_texts
from kanon_sql.sql.tables import Column, Table, family

_OWN_TABLE = "${table}"
_STANDS_FOR = "kanon_table_of_contract"
"""The name by which a statement reads the table, until it is a placeholder."""
_LOGICAL = {"text": "string", "boolean": "boolean", "number": "number", "time": "timestamp"}
_INTEGER_TYPES = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "UTINYINT", "USMALLINT",
          "UINTEGER", "UBIGINT", "UHUGEINT")  # fmt: skip
_SCHEMAS = {"postgres": "public", "mysql": None, "clickhouse": None}
"""The default schema by the type of a server; in MySQL and ClickHouse the database is one."""
_LACK = (
    "has no sql rule, so that only kanon-sql judges it",
    "have no sql rule, so that only kanon-sql judges them",
)
"""What checks without a rule for other test runners lack: one of them, or several."""
_FORMATS = {"parquet": "parquet", "csv": "csv", "json": "json"}


@dataclass(frozen=True)
class CompiledContract:
    """The text of a contract, with what the rules for other test runners leave out."""

    text: str
    rules: int
    notes: tuple[str, ...]


@dataclass(frozen=True)
class _Rules:
    """The rules of one table, and the checks that only kanon-sql can judge."""

    name: str
    rules: tuple[dict[str, Any], ...]
    alone: tuple[str, ...]


def compile_contract(
    spec: AuditSpec, *, into: Path | None = None, folder: Path = Path(), engine: Any = None
) -> CompiledContract:
    """The contract of a spec, or its rules written into the contract `into`.

    Paths are relative to `folder`. Raises `SpecError` if the tables don't lie at one server, and
    for names that readers of contracts would replace.
    """
    if not spec.tables:
        raise SpecError(
            "a data contract holds rules for tables of records, and every table of the spec is "
            "published. Add the tables of records under tables."
        )
    audited, objects, files = [], {}, []
    for index, table_spec in enumerate(spec.tables):
        with opened(table_spec, RunOptions(engine)) as hub:
            question = open_table(spec, index, hub).question
            try:
                files.append(_place_of_all(table_spec, question, folder, is_new=into is None))
                own_name = table_spec.name if into is not None else None
                name = own_name or files[-1].name_of(table_spec.source)
                rules = _rules(question, name, files[-1], hub, folder)
            except SpecError as error:
                raise spec.with_location(error, index) from None
            audited.append(rules)
            objects[name] = _object(table_spec, question, rules, files[-1], folder)
            for other in question.others:
                name_in_contract = files[-1].name_of(other.spec.source)
                if name_in_contract not in [table.name for table in audited]:
                    objects.setdefault(name_in_contract, _described(name_in_contract, other.table))
    notes = tuple(
        f"{table.name}: {', '.join(table.alone)} {_LACK[len(table.alone) > 1]}."
        for table in audited
        if table.alone
    )
    if spec.published:
        names = ", ".join(table.name or str(table.source) for table in spec.published)
        notes += (f"{names}: left out, as a contract has no rules for published tables.",)
    count = sum(len(table.rules) for table in audited)
    if into is not None:
        text = with_rules(
            into, {table.name: table.rules for table in audited}, required_tables=list(objects)
        )
        return CompiledContract(text.removesuffix("\n"), count, notes)
    contract = {
        "apiVersion": "v3.1.0",
        "kind": "DataContract",
        "id": _slug("-".join(table.name for table in audited)),
        "name": ", ".join(table.name for table in audited),
        "version": "1.0.0",
        "status": "draft",
        "servers": [_one_server(files)],
        "schema": list(objects.values()),
    }
    return CompiledContract(as_yaml(contract, in_lines=True).removesuffix("\n"), count, notes)


@dataclass(frozen=True)
class _Place:
    """Where the tables of a question lie: a server, and the name of each source there."""

    server: Mapping[str, Any]
    names: Mapping[str, str]

    def name_of(self, source: Any) -> str:
        return self.names[str(source)]


def _place_of_all(
    table_spec: TableSpec, question: ResolvedQuestion, folder: Path, *, is_new: bool
) -> _Place:
    """The place of a table, its references and earlier releases; a contract that is there has its
    servers already."""
    sources = [table_spec.source, *(other.spec.source for other in question.others)]
    tables = [question.table, *(other.table for other in question.others)]
    if not all(isinstance(source, str) for source in sources):
        raise SpecError("a contract names where its tables lie, and data in memory lie nowhere.")
    pairs = list(zip(sources, tables, strict=True))
    if not is_new:
        return _Place({}, {source: _name_of(source, table) for source, table in pairs})
    places = [_place_of(source, table_spec, table, folder) for source, table in pairs]
    _one_server([_Place(server, {}) for server, _ in places])
    names = {source: name for source, (_, name) in zip(sources, places, strict=True)}
    return _Place(places[0][0], names)


def _place_of(
    source: str, table_spec: TableSpec, table: Table, folder: Path
) -> tuple[dict[str, Any], str]:
    """The server of a source, and the table's name there."""
    if table_spec.connect and not _is_file(table):
        return of_database(table_spec.connect, table)
    kind = file_kind(source)
    if kind not in _FORMATS:
        raise SpecError(f"{source} is of no format that a contract can name; write it as Parquet.")
    name = Path(source).name
    own = stem(name)
    scheme, has_scheme, _ = source.partition("://")
    is_glob = bool(set(source) & set("*?["))
    if is_glob:
        own = table_spec.name or "records"
    path = source if is_glob else f"{source[: -len(name)]}{{model}}{name[len(own) :]}"
    refuse_placeholders(source)
    if has_scheme:
        kinds = {"s3": "s3", "gs": "gcs", "az": "azure"}
        if scheme not in kinds:
            raise SpecError(f"a contract has no server for {scheme}://…; copy the file.")
        return _server(type=kinds[scheme], location=path, format=_FORMATS[kind]), own
    parent = os.path.relpath(Path(path).parent.absolute(), folder.absolute())
    path = Path(path).name if parent == "." else f"{parent}/{Path(path).name}"
    server = _server(type="local", path=path, format=_FORMATS[kind])
    return server | ({"delimiter": table_spec.delimiter} if table_spec.delimiter else {}), own


def _is_file(table: Table) -> bool:
    return table.embedded and (table.text or not table.sql.startswith('"'))


def _name_of(source: str, table: Table) -> str:
    """The name of a table in a contract: of its file, or in its database."""
    return stem(Path(source).name) if _is_file(table) else identifiers(table)[-1]


def _server(**parts: Any) -> dict[str, Any]:
    return {"server": "files", **parts}


def of_database(connect: str, table: Table) -> tuple[dict[str, Any], str]:
    """The server of a database and the table's name there; no user and no password."""
    *above, own = identifiers(table)
    scheme, file = connect.partition(":")[0], file_of_url(connect)
    if scheme == "duckdb":
        schema = {"schema": above[-1]} if above else {}
        return {"server": "database", "type": "duckdb", "database": file, **schema}, own
    kind, port = NAMESPACES.get(scheme, ("", 0))
    if kind in _SCHEMAS and (url := url_of(connect)).host and len(url.path) == 1:
        default = _SCHEMAS[kind]
        schema = {"schema": above[-1] if above else default} if default else {}
        place = {"host": url.host, "port": url.port or port, "database": url.path[0]}
        return {"server": "database", "type": kind, **place, **schema}, own
    raise SpecError(
        f"the server of {table.name} can't be written into a contract of its own. Write the rules "
        f"into the contract that there is: {option('into', 'FILE')}."
    )


def _one_server(places: Sequence[_Place]) -> dict[str, Any]:
    """The server that all tables have in common."""
    servers = [dict(place.server) for place in places]
    if any(server != servers[0] for server in servers):
        paths = list(
            dict.fromkeys(str(server.get("path", server.get("location"))) for server in servers)
        )
        raise SpecError(
            "all tables of a contract lie at one server and one path with {model}, and these are "
            f"{' and '.join(paths)}. Choose one of the tables: {option('select', 'NAME')}."
        )
    return servers[0]


# --- a table --------------------------------------------------------------------------------


def _object(
    table_spec: TableSpec, question: ResolvedQuestion, rules: _Rules, files: _Place, folder: Path
) -> dict[str, Any]:
    """The schema object of an audited table: its roles, its columns and its rules."""
    described = _described(rules.name, question.table, dict(_roles(table_spec, question, folder)))
    settings = _settings(table_spec, files, folder)
    custom = [{"property": PROPERTY, "value": settings}] if settings else []
    head = {key: described[key] for key in ("name", "physicalType")}
    return {
        **head,
        **({"customProperties": custom} if custom else {}),
        "properties": described["properties"],
        "quality": list(rules.rules),
    }


def _described(
    name: str, table: Table, roles: Mapping[str, Mapping[str, Any]] | None = None
) -> dict[str, Any]:
    """A table with all its columns, as readers copy the declared ones only."""
    refuse_placeholders(name)
    columns = [_column(column, (roles or {}).get(column.name)) for column in table.columns]
    return {"name": name, "physicalType": "table", "properties": columns}


def _column(column: Column, role: Mapping[str, Any] | None) -> dict[str, Any]:
    refuse_placeholders(column.name)
    custom = {"customProperties": [{"property": PROPERTY, "value": dict(role)}]} if role else {}
    return {"name": column.name, **_type(column.type), **custom}


def _type(type: str) -> dict[str, Any]:
    """The type of the engine, and the logical one where there is one."""
    if type in ("", "VARCHAR"):
        return {"logicalType": "string", "physicalType": "VARCHAR"}
    logical = _LOGICAL.get(family(type) or "")
    logical = "integer" if type in _INTEGER_TYPES else "date" if type == "DATE" else logical
    logical = "time" if type.startswith("TIME") and not type.startswith("TIMESTAMP") else logical
    return ({"logicalType": logical} if logical else {}) | {"physicalType": type}


def _roles(
    table_spec: TableSpec, question: ResolvedQuestion, folder: Path
) -> Iterator[tuple[str, dict[str, Any]]]:
    for role, column in columns_by_role(question.roles):
        hierarchy = {}
        if role.is_generalisable:
            hierarchy = question.roles.hierarchy(column).model_dump(
                include={"hierarchy", "levels", "clip"}, exclude_defaults=True
            )
        if isinstance(file := hierarchy.get("hierarchy"), str):
            hierarchy["hierarchy"] = os.path.relpath(file, folder)
        yield column.name, {"role": role.name, **hierarchy}


def _settings(table_spec: TableSpec, files: _Place, folder: Path) -> dict[str, Any]:
    """The settings of a table beyond the roles of its columns."""
    included = {"where", "nulls", "sensitive_nulls", "with_other_sensitive", "levels", "first",
            "null_strings", "header", "encoding", "skip", "dates", "hierarchy_faults"}  # fmt: skip
    settings = table_spec.model_dump(include=included, exclude_defaults=True)
    for kind in OTHER_TABLES:
        for name, other in table_spec.others_of(kind):
            other_settings = other.model_dump(exclude={"source"}, exclude_defaults=True)
            described = {"source": files.name_of(other.source), **other_settings}
            if kind.is_single:
                settings[kind.key] = described
            else:
                settings.setdefault(kind.key, {})[name] = described
    return settings


# --- rules ----------------------------------------------------------------------------------


def _rules(
    question: ResolvedQuestion, name: str, files: _Place, engine: Engine, folder: Path
) -> _Rules:
    rules: list[dict[str, Any]] = []
    alone, uses = [], dict[str, int]()
    own = _with_names(question, files)
    for check, renamed in zip(question.checks, own.checks, strict=True):
        if not check.gates:
            continue
        model = check.model
        label = check_name(CheckResult(model.name(), model.parameters, None, None))
        uses[label] = uses.get(label, 0) + 1
        label = label if uses[label] == 1 else f"{label} #{uses[label]}"
        rule_id = f"{RULE_ID_PREFIX}{_slug(label, '_')}"
        query = None if _is_ours_alone(question, check) else _query(own, renamed, engine)
        if query is None:
            alone.append(label)
        else:
            rules.append(
                {
                    "id": rule_id,
                    "name": label,
                    "description": f"{model.title}: {model.promise}",
                    "type": "sql",
                    "query": query,
                    "mustBe": 0,
                    "unit": "rows",
                    "severity": "error",
                    "dimension": "conformity",
                }
            )
        rules.append(
            {
                "id": f"{rule_id}_asked",
                "type": "custom",
                "engine": ENGINE,
                "implementation": {"model": model.name(), **_parameters(model, folder)},
            }
        )
    return _Rules(name, tuple(rules), tuple(alone))


def _parameters(model: Model, folder: Path) -> dict[str, Any]:
    """The parameters that differ from the defaults, as YAML has them."""
    parameters = {
        key: list(value) if isinstance(value, tuple) else value
        for key, value in model.parameters.items()
        if value != type(model).model_fields[key].default
    }
    if isinstance(file := parameters.get("hierarchy"), str):
        parameters["hierarchy"] = os.path.relpath(file, folder)
    return parameters


def _is_ours_alone(question: ResolvedQuestion, check: BoundCheck) -> bool:
    """Whether readers can't execute a check: an estimate, two releases, levels, weights, or a file
    that they read otherwise."""
    spec = question.spec
    weighed = question.weight or any(other.weight for other in question.others)
    at_levels = question.levels or any(other.generalised for other in question.others)
    read_otherwise = spec.first or spec.null_strings or spec.header is False
    return bool(
        check.model.family in ("population", "earlier", "synthetic")
        or weighed
        or at_levels
        or read_otherwise
    )


def _with_names(question: ResolvedQuestion, files: _Place) -> ResolvedQuestion:
    """The question of tables that have names instead of files."""
    table = replace(question.table, sql=identifier(_STANDS_FOR), in_lines="")
    others = tuple(
        replace(
            other,
            table=replace(
                other.table, sql=identifier(files.name_of(other.spec.source)), in_lines=""
            ),
        )
        for other in question.others
    )
    return replace(
        question, roles=replace(question.roles, table=table, others=others), others=others
    )


def _query(question: ResolvedQuestion, check: BoundCheck, engine: Engine) -> str | None:
    """The check's own statement in the engine's dialect; None where it would hold texts of a
    hierarchy file, which are values of the data."""
    statement = check_statement(question, check)
    if statement is None:
        return None
    statement.check()
    sql = statement.sql if question.table.embedded else engine.in_dialect(statement.sql)
    if without_texts(sql, engine.dialect, question.hierarchy_texts) != sql:
        return None
    refuse_placeholders(sql)
    sets = {name.casefold() for name in sets_of(statement.sql)}
    for other in question.others:
        if other.table.sql.strip('"').casefold() in sets:
            raise SpecError(
                f"a set of the statement is called {other.table.sql}, as a table of the contract "
                "is. Rename the table."
            )
    return re.sub(rf'["`]?{_STANDS_FOR}["`]?', lambda _: _OWN_TABLE, sql)


def _slug(text: str, between: str = "-") -> str:
    return re.sub(r"[^A-Za-z0-9]+", between, text).strip(between).lower()
