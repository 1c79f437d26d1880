"""The page Evidence: what one leaves with."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from itertools import zip_longest
from math import isclose
from pathlib import Path
from typing import Any, NamedTuple

from kanon_sql.anonymizing.anonymizer import anonymize
from kanon_sql.auditing.auditor import audit
from kanon_sql.auditing.compiler import compile as compile_audit
from kanon_sql.cli.command_record import with_files
from kanon_sql.errors import EngineError, InputError, SpecError, plural, printable
from kanon_sql.explore.commands import audit_command, commands, release_options
from kanon_sql.explore.view import Page, PageView
from kanon_sql.profiling.propose import chosen_spec
from kanon_sql.question.spec import AuditSpec
from kanon_sql.report import document as blocks
from kanon_sql.report.document import Block, Choices, Control, Heading, Link, Prose, Verbatim
from kanon_sql.report.signed.evidence import folded
from kanon_sql.results.table import TableResult
from kanon_sql.results.writing import check_writable, temporary_file, write_together
from kanon_sql.sql.redaction import without_texts


class Download(NamedTuple):
    """A file that is downloaded."""

    name: str
    kind: str
    text: str


FILES = {
    "/kanon.yml": ("Spec (kanon.yml)", "application/yaml"),
    "/audit.sql": ("SQL", "application/sql"),
    "/audit.json": ("Result (JSON)", "application/json"),
    "/report.html": ("Report to sign", "text/html"),
}
"""The route of each file, with its words and its kind."""
BOXES = ("spec", "report", "release", "overwrite")
"""The fields of the form that saves."""
_OF_LOCAL = (
    "The figures are those of the values at these levels. The release of the local search has no "
    "single level: it is audited when it is written."
)


def page(view: PageView, saved: Sequence[Block] = ()) -> Page:
    """The spec, the commands and the SQL, to be downloaded or saved."""
    return Page("Take it with you", view.lead, [*saved, *_blocks(view)])


def _blocks(view: PageView) -> Iterator[Block]:
    is_local, suppressed = view.question.algorithm == "local", view.lost.suppressed
    is_empty = suppressed == view.result.summary.records and not is_local
    yield view.strip()
    yield from view.notice()
    if is_local:
        yield Prose([_OF_LOCAL])
    links = [Link(words, view.to(route)) for route, (words, _) in FILES.items()]
    yield Choices("Download", buttons=links)
    if view.table.output:
        yield _saving(view, view.table.output)
    else:
        yield Prose(["To save files here, start explore with --output DIR."])
    yield Heading(["Commands"], "section")
    for words, command in commands(view, None if is_empty else suppressed):
        yield Prose([words])
        yield Verbatim(folded(command))
    if is_empty:
        yield Prose(
            ["No release: every record is in violation of a check. Find other levels first."]
        )
    yield Heading(["Spec"], "section")
    yield Verbatim(_spec_text(view), "kanon.yml")
    yield Heading(["SQL"], "section")
    try:
        text = _sql(view)
    except SpecError as error:
        text = f"-- {error}"
    yield Verbatim(text, "The statements of the audit", "as executed on the records")


# --- downloads --------------------------------------------------------------------------------


def download(view: PageView) -> Download:
    """The file of a route."""
    if view.route == "/kanon.yml":
        text = _spec_text(view)
    elif view.route == "/audit.sql":
        text = _sql(view)
    else:
        result = _counted_anew(view)
        text = f"{result.to_json()}\n" if view.route == "/audit.json" else str(result.to_html())
    return Download(view.route.removeprefix("/"), FILES[view.route][1], text)


def _spec_text(view: PageView, output: Path | None = None) -> str:
    """The spec file of a question, whose paths are relative to `output`."""
    records = view.table.records or 0
    return f"{chosen_spec(view.spec, view.table.name, records, view.undecided, output).text}\n"


def _sql(view: PageView) -> str:
    text = str(compile_audit(AuditSpec(tables=[view.spec])))
    if view.table.show_values:
        return text
    return without_texts(
        text, view.look.engine.dialect, view.look.sets.question.hierarchy_texts
    )  # fmt: skip


def _counted_anew(view: PageView) -> Any:
    """The audit of the records, whose figures must be those of the page. Raises `EngineError`."""
    spec = AuditSpec(tables=[view.spec])
    result = audit(spec, view.table.run)
    [of_records] = result.tables
    if of_records.error:
        raise EngineError(of_records.error)
    if differing := _differing(view.result, of_records):
        raise EngineError(
            f"the figures of this page and those counted anew from the records differ "
            f"({differing}). Nothing was written. Start explore again, and report it."
        )
    return with_files(replace(result, asked=audit_command(view)), spec)


def _differing(of_set: TableResult, of_records: TableResult) -> str:
    """The first figures that differ: the summary, or a model; "" if none do."""
    if not _agree(of_set.summary.to_dict(), of_records.summary.to_dict()):
        return "summary"
    for one, other in zip_longest(of_set.checks, of_records.checks):
        if one is None or other is None or not _agree(one.to_dict(), other.to_dict()):
            return str((one or other).model)
    return ""


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


# --- files that are saved ---------------------------------------------------------------------


def _saving(view: PageView, folder: Path) -> Choices:
    names, is_local = view.table.saved_files, view.question.algorithm == "local"
    of_release = "of the local search" if is_local else "at these levels"
    labels = (
        (names["spec"], "the spec"),
        (f"{names['report']} and {names['result']}",
         "the report and its result, counted anew from the records"),
        (names["release"], f"the release {of_release}: personal data until it is reviewed"),
        ("Replace files that exist", ""),
    )  # fmt: skip
    return Choices(
        f"Save into {folder.name}",
        action="/save",
        method="post",
        hidden=[
            ("secret", view.table.secret),
            ("question", view.to("").removeprefix("?")),
        ],
        controls=[
            Control(name, label, "1", "checkbox", hint=hint, is_on=name in ("spec", "report"))
            for name, (label, hint) in zip(BOXES, labels, strict=True)
        ],
        buttons=[blocks.Button("Save", is_main=True)],
        style="list",
    )


def save(view: PageView, wanted: Collection[str]) -> Page:
    """Write the files of the ticked boxes into the folder, all or none; the page that says so.
    Raises `SpecError`."""
    assert view.table.output is not None
    paths = {
        name: view.table.output / file
        for name, file in view.table.saved_files.items()
        if ("report" if name == "result" else name) in wanted
    }
    if not paths:
        raise SpecError("Choose a file to save.")
    overwrite, anew = "overwrite" in wanted, ""
    _refuse(view, paths.values(), overwrite=overwrite)
    files: dict[Path, str | Path] = {}
    with ExitStack() as stack:
        if "spec" in paths:
            files[paths["spec"]] = _spec_text(view, paths["spec"])
        if "report" in paths:
            result = _counted_anew(view)
            files |= {paths["report"]: str(result.to_html()),
                      paths["result"]: f"{result.to_json()}\n"}  # fmt: skip
            anew = "Counted anew from the records: the same figures."
        if "release" in paths:
            new = stack.enter_context(temporary_file(paths["release"]))
            files[paths["release"]] = _released(view, new.with_name(paths["release"].name))
        _refuse(view, files, overwrite=overwrite)
        write_together(files)
    listed = printable(", ".join(path.name for path in paths.values()))
    return page(view, [Prose([f"{listed}. {anew}"], name="Saved:")])


def _refuse(view: PageView, paths: Iterable[Path], *, overwrite: bool) -> None:
    for path in paths:
        if path.is_symlink():
            raise SpecError(f"{path.name} is a link, which is not followed. Remove it.")
        try:
            check_writable(path, inputs=view.table.inputs, overwrite=overwrite)
        except SpecError as error:
            if path.is_file() and not overwrite and "exists" in str(error):
                raise SpecError(
                    f"{path.name} exists. To replace it, tick Replace files that exist."
                ) from None
            raise


def _released(view: PageView, path: Path) -> Path:
    """The release, written by the job of the command that the page shows."""
    if view.undecided:
        raise SpecError(
            f"A release needs a role for every column; {plural(len(view.undecided), 'column')} "
            "undecided. Nothing was written."
        )
    if not view.question.k:
        raise SpecError("A release needs k. Nothing was written.")
    options = replace(release_options(view, view.lost.suppressed), output=path)
    raw = view.spec.model_copy(update={"levels": {}})
    result = anonymize(AuditSpec(tables=[raw]), options, view.table.run)
    if result.anonymization.release is None:
        raise InputError("No release at these levels holds, so nothing was written.")
    return path
