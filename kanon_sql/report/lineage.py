"""The page of a project's lineage, its proposal as YAML, the outcomes of its gate."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from kanon_sql.errors import plural
from kanon_sql.question.yaml_document import Place
from kanon_sql.report.document import Block, Facts, Heading, Points, Prose, Verdicts
from kanon_sql.report.pipelines.outcomes import CheckOutcome, OutcomeKind, TableOutcomes, one_line
from kanon_sql.report.words.models import Verdict
from kanon_sql.report.words.numbers import printable
from kanon_sql.results.lineage import (
    ColumnLineage,
    Composition,
    Gate,
    ModelLineage,
    ProjectLineage,
    Unclear,
)
from kanon_sql.results.table import TableResult

_EXPOSING = ("identifier", "personal", "quasi_identifier", "event")
_HEADER = ("model", "what it exposes", "audit")
_REASONS = {
    "python_model": "a model that is not SQL",
    "not_compiled": "no compiled SQL",
    "not_parsed": "SQL that can't be parsed",
    "empty_select": "a SELECT without columns",
    "unresolved_column": "the column {} of no known table",
    "function": "the function {}, which may read anything",
    "unknown_table": "the table {}, which is no node",
    "pivot": "PIVOT",
    "columns_expression": "an expression on COLUMNS()",
    "statement": "a statement that is no SELECT",
    "union": "a UNION by place of tables whose columns nobody listed",
    "recursion": "a query that reads itself and never settles",
}
_HOWS = {
    "carried": "The value itself: renamed, cast, spelled otherwise, by default, or in part.",
    "hashed": "One-to-one with it: a hash, a pseudonym.",
    "combined": "A concatenation or a list that holds it beside others.",
    "generalised": "A function of it alone, as coarse as it or coarser.",
    "looked_up": "A column of a table without people that is joined by it.",
    "derived": "A function of it and of others.",
    "aggregated": "A figure of a group: a count, a sum, a mean.",
    "ranked": "A position in its order, which gives no role.",
    "hinted": "Whether an outer join finds a partner depends on it, which gives no role.",
}
"""What each way of carrying means."""
_TITLES = {
    "identified": "identifies people",
    "quasi_identified": "has quasi-identifiers of people",
    "table": "has figures about groups of people",
    "cant_tell": "may expose people: its lineage can't be told",
}


def page(lineage: ProjectLineage, *, is_whole: bool = False) -> Iterator[Block]:
    """The models that expose people, what is audited of them, what composes."""
    summary = lineage.summary
    yield Heading(
        [
            printable(lineage.project or lineage.manifest),
            plural(summary.models, "model"),
            f"{summary.with_role} of {plural(summary.columns, 'column')} carry a role",
            f"lineage certain for {plural(summary.certain, 'model')}",
        ],
        "page",
    )
    if lineage.warnings:
        yield Points(lineage.warnings, "warning")
    exposing = [model for model in lineage.models if model.exposes]
    published = [model for model in exposing if model.published]
    others = [model for model in exposing if not model.published]
    quiet = [model for model in lineage.models if not model.exposes]
    sections = [("Published", published), ("Others that expose people", others)]
    sections += [("Models that expose nobody", quiet)] if is_whole else []
    for title, models in sections:
        if models:
            yield Heading([title], "section")
            yield Verdicts([_verdict(model) for model in models], header=_HEADER)
    for each in lineage.compositions:
        yield Prose([*_composed(each)], name="Together")
    yield Prose([last_line(lineage)], "strong")
    if any(model.proposal for model in lineage.models):
        yield Prose([f"To paste: kanon-sql lineage {lineage.manifest} --format yaml"], "flush")


def signed(lineage: ProjectLineage) -> Iterator[Block]:
    """The whole page as a section of a report, with the rules that were used."""
    for block in page(lineage, is_whole=True):
        if isinstance(block, Heading):
            block = block._replace(of="table")
        yield block
    used = {
        each.how for model in lineage.models for column in model.columns for each in column.carries
    }
    yield Heading(["Rules"], "section")
    yield Facts([(how, text) for how, text in _HOWS.items() if how in used])


def _verdict(model: ModelLineage) -> Verdict:
    if not model.exposes:
        role = _exposed(model) or "no role"
        return Verdict("measured", printable(model.name), role, "", model.exposure)
    status, label = "holds", "audited"
    if model.gap:
        is_partly = model.audit == "partly"
        status, label = ("accepted", "PARTLY") if is_partly else ("violated", "GAP")
    extent = [_audit(model)] if model.gap else []
    if model.kind == "groups" and "groups, for" not in _exposed(model):
        extent.append("groups, for kanon-sql tables")
    tells = [
        label for each in model.selected_by if each.role == "sensitive" for label in each.origins
    ]
    if tells:
        extent.append(f"selected by {', '.join(tells)}: being in this model tells it")
    extent += model.notes if model.gap else ()
    words = printable("; ".join(extent))
    return Verdict(status, printable(model.name), _exposed(model), words, label)


def _audit(model: ModelLineage) -> str:
    if model.audit == "partly":
        named = [name for name in dict.fromkeys(model.missing) if name != "*"]
        named += ["columns that nobody listed"] if "*" in model.missing else []
        return f"audited without {', '.join(named)}"
    return "no rules" if model.exposure == "table" else "not audited"


def _exposed(model: ModelLineage) -> str:
    """The exposing columns in words, and what can't be told."""
    roles = (*_EXPOSING, "sensitive") if model.kind == "groups" or not model.exposes else _EXPOSING
    # A join may give several columns one name.
    parts = [*dict.fromkeys(_column(each) for each in model.columns if each.role in roles)]
    own = [each for each in model.cant_tell if each.node == model.name]
    passed = sorted({each.node for each in model.cant_tell} - {model.name})
    parts += [f"can't tell: {_doubt(each)}" for each in own]
    parts += [f"can't tell: reads {', '.join(passed)}"] if passed else []
    if "*" in model.missing or (model.open and model.exposes and not parts):
        parts.append("columns that nobody listed")
    return printable(", ".join(parts))


def _column(column: ColumnLineage) -> str:
    """A column with its origin, unless it is the origin's value by the same name."""
    carried = next((each for each in column.carries if each.role == column.role), None)
    if carried is None:
        return column.name
    names = sorted({label.rpartition(".")[2] for label in carried.origins})
    if carried.how == "carried" and names == [column.name]:
        return column.name
    way = "" if carried.how == "carried" else f" ({carried.how})"
    return f"{column.name} ← {', '.join(names)}{way}"


def _doubt(doubt: Unclear) -> str:
    line = f"compiled line {doubt.compiled_line}" if doubt.compiled_line else ""
    place = ", ".join(filter(None, (doubt.file, line)))
    return f"{_REASONS[doubt.reason].format(doubt.what)} ({place})"


def _composed(composition: Composition) -> Iterator[str]:
    models = _listed(composition.models)
    names = sorted({label.rpartition(".")[2] for label in composition.together})
    yield f"{models} are about the same people ({composition.people}):"
    whose = "both" if len(composition.models) == 2 else "all"
    yield f"who has {whose} knows {_listed(names)} of a person."


def _listed(names: Sequence[str]) -> str:
    *first, last = names
    return printable(" and ".join([*([", ".join(first)] if first else []), last]))


def last_line(lineage: ProjectLineage) -> str:
    """How many models expose people, and how many of them are audited."""
    summary = lineage.summary
    quiet = summary.models - summary.exposed
    without = summary.exposed - summary.audited - summary.partly
    verb = "exposes" if summary.exposed == 1 else "expose"
    parts = [f"{summary.audited} {'is' if summary.audited == 1 else 'are'} audited"]
    parts += [f"{summary.partly} in part"] if summary.partly else []
    parts += [f"{without} not at all"] if without else []
    exposed = f"{plural(summary.exposed, 'model')} {verb} people; {', '.join(parts)}."
    return f"{exposed} {plural(quiet, 'model')} {'exposes' if quiet == 1 else 'expose'} nobody."


# --- the proposal ---------------------------------------------------------------------------


def proposal(lineage: ProjectLineage) -> str:
    """The roles and rules that close the gaps, as YAML with the origin of each in a comment."""
    models = [model for model in lineage.models if model.proposal]
    lines = ["# Proposed by kanon-sql lineage. Review each role before you paste it."]
    lines += ["models:"] if models else ["models: []"]
    for model in models:
        lines += _proposed(model)
    for each in lineage.compositions:
        for test in each.proposals:
            arguments = json.dumps(dict(test.arguments), ensure_ascii=False)
            lines.append(f"# {test.model}: a test of what it tells together with others:")
            lines.append(f"#   - kanon_sql.{test.test}: {{arguments: {arguments}}}")
    return "\n".join(lines)


def _proposed(model: ModelLineage) -> Iterator[str]:
    assert model.proposal is not None
    yield f"  - name: {_scalar(model.name)}"
    if model.proposal.meta:
        yield f"    config: {{meta: {{kanon_sql: {_flow(model.proposal.meta)}}}}}"
    columns = {column.name: column for column in model.columns}
    if model.proposal.columns:
        yield "    columns:"
    for name, role in model.proposal.columns.items():
        yield f"      - name: {_scalar(name)}"
        setting = f"config: {{meta: {{kanon_sql: {{role: {role}}}}}}}"
        yield f"        {setting}  # {_origins(columns[name])}"


def _origins(column: ColumnLineage) -> str:
    parts = (f"{each.how} from {', '.join(each.origins)}" for each in column.carries)
    return one_line("; ".join(parts))


def _flow(value: Any) -> str:
    """A value as YAML on one line."""
    match value:
        case Mapping():
            return (
                f"{{{', '.join(f'{_scalar(key)}: {_flow(item)}' for key, item in value.items())}}}"
            )
        case list() | tuple():
            return f"[{', '.join(map(_flow, value))}]"
        case str():
            return _scalar(value)
    return json.dumps(value)


_WORDS = {"true", "false", "yes", "no", "on", "off", "null", "y", "n"}


def _scalar(text: str) -> str:
    """A text as YAML, in quotes where it would be read as something else.

    >>> _scalar("zip"), _scalar("no"), _scalar("post code")
    ('zip', '"no"', '"post code"')
    """
    is_plain = re.fullmatch(r"[A-Za-z_]\w*", text) and text.casefold() not in _WORDS
    return text if is_plain else json.dumps(text, ensure_ascii=False)


# --- the gate -------------------------------------------------------------------------------


def outcomes(
    models: Iterable[ModelLineage], folder: Path, gate: Gate | None
) -> list[TableOutcomes]:
    """An outcome for each model that exposes people; without a gate a gap is a warning."""
    found = []
    for model in models:
        if not model.exposes:
            continue
        is_gated = gate == "all" or (gate == "published" and bool(model.published))
        kind: OutcomeKind = ("violated" if is_gated else "warned") if model.gap else "holds"
        place = Place(folder / model.file, model.line, 1)
        name = printable(model.name)
        is_partly = model.audit == "partly"
        verdict = _verdict(model)
        outcome = CheckOutcome(
            kind=kind,
            table=name,
            rule=f"lineage/{'partly' if is_partly else model.exposure}",
            name="lineage",
            title=f"{name} {_TITLES[model.exposure]}",
            text=one_line(f"{name}: {'; '.join(filter(None, verdict[2:4]))}"),
            place=place,
        )
        table = TableResult(name, model.file, "violated" if model.gap else "holds", ())
        found.append(TableOutcomes(table, place, (outcome,)))
    return found


def rules() -> Iterator[dict[str, Any]]:
    """The rules of SARIF, by exposure."""
    titles = {**_TITLES, "partly": "is audited without columns that expose people"}
    for exposure, title in titles.items():
        yield {
            "id": f"lineage/{exposure}",
            "name": "".join(word.title() for word in f"lineage_{exposure}".split("_")),
            "shortDescription": {"text": f"A model {title}"},
            "fullDescription": {"text": f"A model of the project {title}, and is not covered."},
            "help": {"text": "kanon-sql explain lineage has the whole page."},
            "defaultConfiguration": {"level": "error"},
            "properties": {"tags": ["privacy"]},
        }
