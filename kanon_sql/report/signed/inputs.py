"""The inputs of a sign-off report: results, in files or in memory."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from kanon_sql.errors import InputError, SpecError, did_you_mean, kind_of, option
from kanon_sql.report import html
from kanon_sql.report import lineage as lineage_page
from kanon_sql.report.display import Chart
from kanon_sql.report.document import Block, Heading, Points
from kanon_sql.report.signed import costs, evidence, figures, scope
from kanon_sql.report.signed.figures import risk_chart, sizes_chart
from kanon_sql.report.signed.subject import Audience, ShownSql, Signed, digest_of
from kanon_sql.report.words.numbers import listed, sentence
from kanon_sql.results.confidential import LEAST_CELL
from kanon_sql.results.diff import diff
from kanon_sql.results.profile import TableProfile
from kanon_sql.results.release import ReleaseFindings, Tradeoff
from kanon_sql.results.stored import (
    StoredLineage,
    read_compared,
    read_costs,
    read_lineage,
    read_profile,
    read_to_sign,
)
from kanon_sql.results.table import AuditFindings, ResultFile, TableResult
from kanon_sql.results.worksheet import read_worksheet
from kanon_sql.results.writing import check_writable, write_atomically

Companion = TypeVar("Companion")
ENDINGS = (".html", ".htm")
CHARTS = {"class_sizes": sizes_chart, "risk": risk_chart}
"""The charts of an audited table, by name."""


def page_of_file(path: Path, **options: Any) -> str:
    """The report on a result stored as JSON. Raises `InputError` for any other file."""
    lineage = read_lineage(path)
    if lineage is not None:
        companions = [
            key for key in ("profile", "tradeoff", "worksheet", "earlier") if options.get(key)
        ]
        companions += [option("sql")] if options.get("sql") == "linked" else []
        if companions:
            raise SpecError(f"{path} is the lineage of a project, which takes no {companions[0]}.")
        return _lineage_document(lineage, digest_of(path.read_text(encoding="utf-8")))
    stored = read_to_sign(path)
    digest = digest_of(stored.text)
    signed = _signed(stored.result, digest, path, costs=stored.costs, file=str(path), **options)
    try:
        return write(signed)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError):
        raise InputError(
            f"{path}: a figure is missing, or is of another kind than kanon-sql writes. Is this "
            "file as it was written? kanon-sql audit … --output FILE.json writes one."
        ) from None


def _lineage_document(stored: StoredLineage, digest: str) -> str:
    """The report on the lineage of a project."""
    title = f"Lineage of {stored.lineage.project or stored.lineage.manifest}"
    headline = lineage_page.last_line(stored.lineage)
    unsealed = [] if stored.sealed else [Points([sentence("no_seal")], "warning")]
    page = [Heading(["Lineage"], "section"), *unsealed, *lineage_page.signed(stored.lineage)]
    return html.document(title, stored.status, headline, digest, page)


def page_of(result: AuditFindings, **options: Any) -> str:
    """The report on a result in memory, with the digest of the file it would be written to."""
    return write(_signed(result, digest_of(f"{result.to_json()}\n"), result, **options))


def page_of_costs(tradeoff: Any, **options: Any) -> str:
    """The report on a trade-off in memory."""
    costs_of_k: Tradeoff = tradeoff.tradeoff
    result = AuditFindings(
        (),
        tradeoff.version,
        audited=costs_of_k.audited,
        asked=tradeoff.asked,
        sealed=tradeoff.sealed,
    )
    digest = digest_of(f"{tradeoff.to_json()}\n")
    return write(_signed(result, digest, result, costs=costs_of_k, **options))


def _signed(
    result: AuditFindings,
    digest: str,
    compared: AuditFindings | Path,
    *,
    costs: Tradeoff | None = None,
    earlier: AuditFindings | str | Path | None = None,
    profile: Any = None,
    tradeoff: Any = None,
    worksheet: str | Path | None = None,
    audience: Audience = "internal",
    min_cell: int = LEAST_CELL,
    sql: ShownSql = "attached",
    file: str | None = None,
) -> Signed:
    """The result with what accompanies it, each in memory or in a file; `compared` is the result,
    or its file, that an earlier one is compared with."""
    before = file_of(earlier, "earlier") if earlier else None
    profile, tradeoff = _read(profile, read_profile), _read(tradeoff, read_costs)
    sources = {
        "this result": result,
        "the earlier result": before and before.result,
        "the profile": profile,
        "the trade-off": tradeoff,
    }
    return Signed(
        result,
        digest,
        earlier=diff(before, file_of(compared, "this")) if before else None,
        profiles=_companions("profile", profile, "tables", TableProfile),
        costs=(
            *((costs,) if costs else ()),
            *_companions("tradeoff", tradeoff, "tradeoff", Tradeoff),
        ),
        attempts=read_worksheet(Path(worksheet)) if worksheet else None,
        audience=audience,
        min_cell=min_cell,
        sql=sql,
        file=file,
        unsealed=tuple(
            name for name, source in sources.items() if not getattr(source, "sealed", True)
        ),
    )


def _read(source: Any, read: Callable[[Path], Any]) -> Any:
    """A companion of a result, in memory or in a file."""
    return read(Path(source)) if isinstance(source, str | Path) else source


def _companions(
    name: str, source: Any, attribute: str, result_type: type[Companion]
) -> tuple[Companion, ...]:
    """The companions of a result; none if `source` is None."""
    if source is None:
        return ()
    content = getattr(source, attribute, None)
    companions = content if isinstance(content, tuple) else (content,)
    if not all(isinstance(companion, result_type) for companion in companions):
        raise InputError(f"{name} is a result or the path of one, and not {kind_of(source)}.")
    return companions


def returned_or_written(
    write_page: Callable[[], str], path: str | Path | None, *, overwrite: bool
) -> str | None:
    """Return the page as text, or write it to `path`."""
    if path is not None:
        refuse_ending(Path(path))
        check_writable(Path(path), inputs=(), overwrite=overwrite)
    text = write_page()
    if path is None:
        return text
    write_atomically(Path(path), f"{text}\n")
    return None


def file_of(result: Any, name: str) -> ResultFile:
    """A result or a baseline as `read_compared` would return it, under a given name."""
    if isinstance(result, str | Path):
        return read_compared(Path(result))
    if not isinstance(result, AuditFindings):
        kind = kind_of(result)
        raise InputError(f"a result is compared with another or its path, and not with {kind}.")
    anonymization: Mapping[str, Any] | None = None
    if isinstance(result, ReleaseFindings):
        anonymization = json.loads(result.to_json())["anonymization"]
    return ResultFile(Path(name), result, anonymization)


def refuse_ending(path: Path) -> None:
    """Raise `SpecError` for an output suffix other than HTML's."""
    if path.suffix and path.suffix.lower() not in ENDINGS:
        raise SpecError(
            f"{path}: a report is a page of HTML. Name a file that ends with {ENDINGS[0]}."
        )


def chart_names(tables: tuple[TableResult, ...]) -> list[str]:
    """The charts that one of the tables has."""
    is_drawn = any(table.histogram and table.has_classes for table in tables)
    return [*CHARTS] if is_drawn else []


def chart_of(tables: tuple[TableResult, ...], name: str, table: str | None) -> Chart:
    """A chart of one table as a Vega-Lite dictionary. Raises `SpecError` for an unknown name."""
    if name not in CHARTS:
        raise SpecError(
            f'there is no chart "{name}"; there are {", ".join(CHARTS)}.'
            f"{did_you_mean(name, list(CHARTS))}"
        )
    matching = [candidate for candidate in tables if table is None or candidate.name == table]
    if len(matching) != 1:
        names = ", ".join(table.name for table in tables) or "none"
        raise SpecError(f"name one table for the chart, as in table=…. Tables: {names}.")
    if not matching[0].has_classes:
        raise SpecError(f"{matching[0].name} is a published table, which has no classes to draw.")
    if not matching[0].histogram:
        raise SpecError(f"{matching[0].name}: no record was found, so there is nothing to draw.")
    return Chart(CHARTS[name](matching[0]))


def _not_shown(signed: Signed) -> Iterator[Block]:
    """What no check covers, and the parts that internal readers have besides."""
    yield from evidence.limits(signed)
    if signed.is_external:
        inside = replace(signed, audience="internal", result=signed.whole)
        others = [(title, of) for title, of in SECTIONS if of is not _not_shown]
        parts = [title for title, of in others if [*of(inside)] and not [*of(signed)]]
        yield from evidence.left_out(signed, parts)


SECTIONS: tuple[tuple[str, Callable[[Signed], Iterator[Block]]], ...] = (
    ("What was audited", scope.subject),
    ("The finding", scope.finding),
    ("Decision", evidence.decision),
    ("The data audited", scope.data_audited),
    ("Made from", figures.made_from),
    ("What was lost", costs.losses),
    ("Risk", figures.risk),
    ("Class sizes", figures.sizes),
    ("Risk curve", figures.curve),
    ("Known events", figures.known_events),
    ("What each column adds", figures.columns),
    ("Sensitive attributes", figures.sensitive),
    ("What k costs", costs.costs),
    ("Since the last release", evidence.changes),
    ("Policies", evidence.policies),
    ("What this page does not show", _not_shown),
    ("Evidence", evidence.evidence),
)
"""The sections in order; empty ones are left out."""


def write(signed: Signed) -> str:
    """The whole page as HTML. The same result gives the same text."""
    return html.document(
        _title(signed), signed.status, scope.headline(signed), signed.digest, _page(signed)
    )


def _title(signed: Signed) -> str:
    names = listed([table.name for table in signed.result.tables])
    if not names:
        return "What each k costs"
    if not any(table.has_classes for table in signed.result.tables):
        return f"Privacy audit of the published table {names}"
    return (
        f"{'Privacy audit of the release' if signed.anonymization else 'Privacy audit of'} {names}"
    )


def _page(signed: Signed) -> Iterator[Block]:
    for title, blocks_of in SECTIONS:
        blocks = list(blocks_of(signed))
        if blocks:
            yield Heading([title], "section")
            yield from blocks
