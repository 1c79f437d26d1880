"""The output of a result: to the terminal or a file."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import click

from kanon_sql.cli.option_kinds import QUIET, TO_SIGN, VERBOSITY
from kanon_sql.cli.streams import for_stdout, printing, tell
from kanon_sql.errors import SpecError, printable, with_flags, without_control

if TYPE_CHECKING:
    from kanon_sql.anonymizing.tradeoff import TradeoffResult
    from kanon_sql.auditing.result import AuditResult
    from kanon_sql.engines.run_options import RunOptions, Watch
    from kanon_sql.profiling.result import ProfileResult
    from kanon_sql.question.spec import AuditSpec, SelectedTables, TablePlaces
    from kanon_sql.report.document import Block
    from kanon_sql.report.dry_run import ExpectedTable
    from kanon_sql.results.baseline import Baseline
    from kanon_sql.results.diff import Diff
    from kanon_sql.results.release import GeneralizationStep
    from kanon_sql.tracing.result import LineageResult


ENGINE_FAILED = 3
NO_DATA = 4


CONSOLE = "kanon_sql.console"
"""Key in the context's `meta` of the spinner's console."""


class Failure(Exception):
    """An error as shown to the user: message and exit code."""

    def __init__(self, message: str, exit_code: int) -> None:
        super().__init__(message)
        self.exit_code = exit_code


def refuse_format(context: click.Context) -> None:
    """Raise `SpecError` if --format is given with --dry-run."""
    if context.get_parameter_source("format") is not click.core.ParameterSource.DEFAULT:
        raise SpecError(
            "--dry-run prints text and has no result for --format. Leave out one of the two."
        )


def expected_page(tables: Sequence[ExpectedTable], *, to_terminal: bool) -> str:
    """The dry run as text."""
    from kanon_sql.report import dry_run, terminal

    return terminal.write(dry_run.page(tables), **_terminal(to_terminal))


def for_pipeline(result: AuditResult, places: tuple[TablePlaces, ...], form: str) -> str:
    """The result in a pipeline format, which also reports failed tables."""
    from importlib import import_module

    text: str = import_module(f"kanon_sql.report.pipelines.{form}").render(result, places)
    return text


def run_of(values: dict[str, Any], watch: Watch, writes: Sequence[Path] = ()) -> RunOptions:
    """The run options of a command."""
    from kanon_sql.engines.run_options import RunOptions

    options = {
        field.name: values[field.name] for field in fields(RunOptions) if field.name in values
    }
    return RunOptions(**options, watch=watch, writes=writes, announce=_announce)


def _announce(sentence: str) -> None:
    """Print on stderr what is about to leave a database."""
    if is_quiet():
        return
    console = click.get_current_context().meta.get(CONSOLE)
    if console:
        console.print(without_control(sentence), markup=False, highlight=False, soft_wrap=True)
    else:
        tell(without_control(sentence))


def output_of(
    context: click.Context, spec: AuditSpec | None, values: dict[str, Any]
) -> Path | None:
    """The file to write the result to; raises `SpecError` if it is an input of the command."""
    return result_file_of(context, values["output"], _inputs(spec, values), values)


AUDIT_FORMS = {
    ".json": "json", ".md": "markdown", ".sarif": "sarif", ".xml": "junit", ".txt": "human",
    ".jsonl": "openlineage",
}  # fmt: skip
"""The formats of an audit by file suffix."""


LINEAGE_FORMS = {
    **{suffix: form for suffix, form in AUDIT_FORMS.items() if form != "openlineage"},
    ".yml": "yaml", ".yaml": "yaml",
}  # fmt: skip
"""The formats of lineage by file suffix."""


def also_of(
    spec: AuditSpec | None,
    output: Path | None,
    values: dict[str, Any],
    suffixes: Mapping[str, str] = AUDIT_FORMS,
) -> dict[Path, str]:
    """The further result files with their formats. Raises `SpecError`."""
    forms: dict[Path, str] = {}
    for name in values["also"]:
        path = Path(name)
        writable(name, _inputs(spec, values), values)
        form = suffixes.get(path.suffix.lower())
        if form is None:
            raise SpecError(
                f"--also {name}: the suffix gives the format of the result. Name a file that ends "
                f"with {_one_of([*suffixes])}."
            )
        if path == output or path in forms:
            raise SpecError(
                f"{name} would be written twice. Name a different file for each result."
            )
        forms[path] = form
    if forms and values.get("dry_run"):
        raise SpecError("--dry-run has no result for --also. Leave out one of the two.")
    return forms


def baseline_of(values: dict[str, Any]) -> Baseline | None:
    """Read the requested baseline, before anything runs."""
    if not values["baseline"]:
        return None
    from kanon_sql.results.baseline import Baseline

    return Baseline.read(Path(values["baseline"]))


def _inputs(spec: AuditSpec | None, values: dict[str, Any]) -> list[str]:
    """The files that an audit reads."""
    others = (values.get("baseline"), values.get("manifest"))
    return [*(spec.files() if spec else ()), *(other for other in others if other)]


def files_of(output: Path | None) -> list[Path]:
    """The files that a command will write, so that no input may be one of them."""
    return [output] if output is not None else []


def form_of(
    context: click.Context,
    values: dict[str, Any],
    output: Path | None,
    more: Mapping[str, str] | None = None,
) -> str:
    """The format of the result: as requested, else by the file's suffix; `more` adds suffixes."""
    format_source = context.get_parameter_source("format")
    by_suffix = {".json": "json", ".md": "markdown", **(more or {})}
    if output is None or format_source is not click.core.ParameterSource.DEFAULT:
        return str(values["format"])
    return by_suffix.get(output.suffix.lower(), str(values["format"]))


_ENDINGS = {
    "worksheet": (".csv",),
    "audit": tuple(AUDIT_FORMS),
    "tables": tuple(AUDIT_FORMS),
    "anonymize": (".json", ".md", ".txt"),
    "profile": (".json", ".md", ".txt"),
    "diff": (".json", ".md", ".txt"),
    "tradeoff": (".json", ".md", ".txt"),
    "lineage": (".json", ".md", ".sarif", ".xml", ".txt", ".yml", ".yaml"),
    "init": (".yml", ".yaml"),
    "new": (".csv",),
    "compile": (".sql", ".txt", ".yaml", ".yml"),
    "baseline": (".json",),
}
"""Permitted suffixes of a result file, by command."""
_SIGNED = ("audit", "tables", "anonymize", "tradeoff", "lineage")
"""The commands whose results a report signs."""


def result_file_of(
    context: click.Context, name: str | None, inputs: Iterable[str], values: dict[str, Any]
) -> Path | None:
    """The result file. Raises `SpecError` for a suffix that doesn't match any available format.

    An explicit --format permits any suffix; no suffix, or a pipe, is always permitted.
    """
    path = writable(name, inputs, values)
    if path is None or not path.suffix or (path.exists() and not path.is_file()):
        return path
    format_source = context.get_parameter_source("format")
    if "format" in values and format_source is not click.core.ParameterSource.DEFAULT:
        return path
    command = context.command.name or ""
    is_for_people = command in ("audit", "tables") and values.get("dry_run")
    endings = (".txt",) if is_for_people else _ENDINGS[command]
    if path.suffix.lower() not in endings:
        has_forms = "format" in values and not is_for_people
        is_page = path.suffix.lower() in (".html", ".htm", ".pdf") and ".json" in endings
        to_sign = f" {TO_SIGN}" if is_page and command in _SIGNED else ""
        or_format = ", or choose one with --format" if has_forms else ""
        raise SpecError(
            f"{path}: this command writes no {path.suffix} file. Name a file that ends "
            f"with {_one_of(endings)}{or_format}.{to_sign}"
        )
    return path


def cells_file_of(spec: AuditSpec, values: dict[str, Any]) -> Path | None:
    """The file for the list of cells. Raises `SpecError` for an unsuitable name."""
    path = writable(values["list_cells"], _inputs(spec, values), values)
    if path is None:
        return None
    if values["dry_run"]:
        raise SpecError("--dry-run lists no cells for --cells. Leave out one of the two.")
    if path.suffix.lower() != ".csv":
        raise SpecError(
            f"--cells {path}: the list of cells is a CSV. Name a file that ends with .csv."
        )
    if len(spec.published) > 1:
        raise SpecError(
            f"--cells lists the cells of one table, and there are {len(spec.published)}. Name a "
            "table, or a spec with one."
        )
    if path in (Path(name) for name in (values["output"], *values["also"]) if name):
        raise SpecError(f"{path} would be written twice. Name a different file for each result.")
    return path


def report_file_of(values: dict[str, Any], inputs: Iterable[str]) -> Path | None:
    """The report file. Raises `SpecError` for an unsuitable suffix."""
    from kanon_sql.report.signed.inputs import refuse_ending

    if values["output"] is not None:
        refuse_ending(Path(values["output"]))
    return writable(values["output"], inputs, values)


def _one_of(endings: Sequence[str]) -> str:
    *first, last = endings
    return " or ".join([", ".join(first), last] if first else [last])


def writable(name: str | None, inputs: Iterable[str], values: dict[str, Any]) -> Path | None:
    """A file path, verified as writable and not an input."""
    if name is None:
        return None
    from kanon_sql.files import remove_leftovers
    from kanon_sql.question.arguments import require_local
    from kanon_sql.results.writing import check_writable

    require_local(name)
    path = Path(name)
    check_writable(path, inputs=inputs, overwrite=values["overwrite"])
    for message in remove_leftovers(path.parent):
        if not is_quiet():
            tell(without_control(message))
    return path


@contextmanager
def watching(context: click.Context) -> Iterator[Watch]:
    """The progress callback: prints steps with -v, or drives a spinner on a terminal."""
    if context.meta.get(VERBOSITY, 0):
        yield lambda step, progress: tell(without_control(step))
    elif _is_terminal(sys.stderr) and not is_quiet():
        from rich.console import Console

        from kanon_sql.cli.spinner import spinning

        context.meta[CONSOLE] = console = Console(stderr=True)
        with spinning(console) as watch:
            yield watch
    else:
        yield lambda step, progress: None


@contextmanager
def printing_steps(context: click.Context) -> Iterator[Callable[[GeneralizationStep], None]]:
    """The callback of a search step: prints a line if stderr is a terminal, or with -v."""
    from kanon_sql.report.release_tables import step_heading, step_line

    taken = 0

    def print_step(step: GeneralizationStep) -> None:
        nonlocal taken
        taken += 1
        if taken == 1:
            print_line(step_heading())
        print_line(step_line(step, taken, step.to_level - 1))

    def print_line(line: str) -> None:
        # Print above the spinner, if there is one.
        if console := context.meta.get(CONSOLE):
            console.print(line, markup=False, highlight=False, soft_wrap=True)
        elif context.meta.get(VERBOSITY, 0):
            tell(line)

    yield print_step


def refuse_failed(result: AuditResult | ProfileResult) -> None:
    """Raise if the database failed, as there is nothing to print."""
    if result.exit_code == ENGINE_FAILED:
        failed = (
            f"{table.name}: {with_flags(table.error)}" for table in result.tables if table.error
        )
        raise Failure("\n".join(failed), ENGINE_FAILED)


def rendered(
    result: AuditResult | LineageResult | ProfileResult | TradeoffResult | Diff,
    page: Iterable[Block],
    form: str,
    *,
    to_terminal: bool = True,
) -> str:
    """The result as JSON, Markdown or terminal text."""
    from kanon_sql.report import markdown, terminal

    if form == "json":
        return result.to_json()
    if form == "markdown":
        return markdown.write(page)
    shown = _verdicts_only(page) if is_quiet() else page
    return terminal.write(shown, **_terminal(to_terminal))


def deliver_result(
    context: click.Context,
    values: dict[str, Any],
    result: ProfileResult | TradeoffResult | Diff,
    page: Iterable[Block],
    output: Path | None,
) -> None:
    """Print or write a result in the requested format."""
    form = form_of(context, values, output)
    deliver(rendered(result, page, form, to_terminal=output is None), output, form=form)


def _verdicts_only(page: Iterable[Block]) -> Iterable[Block]:
    """The verdicts of a page, with headings and warnings; a page without verdicts is unchanged."""
    from kanon_sql.report.document import Heading, Points, Prose, Values, Verdicts

    blocks = list(page)
    if not any(isinstance(block, Verdicts) and not block.are_changes for block in blocks):
        return blocks
    return [
        block
        for block in blocks
        if isinstance(block, Heading | Values | Verdicts)
        or (isinstance(block, Points | Prose) and block.style in ("strong", "warning"))
    ]


def is_quiet() -> bool:
    """Whether --quiet is set."""
    context = click.get_current_context(silent=True)
    return bool(context and context.meta.get(QUIET))


def warn_of_skipped(chosen: SelectedTables) -> None:
    """Warn of each table that was selected and can't be audited."""
    if chosen.spec and not is_quiet():
        for sentence in chosen.skipped:
            tell(f"warning: {sentence}")


def _terminal(to_terminal: bool) -> dict[str, Any]:
    """Width and colour of terminal output; for any other stream 80 columns without colour."""
    if not (to_terminal and _is_terminal(sys.stdout)):
        return {}
    colour = not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    return {"colour": colour, "width": shutil.get_terminal_size().columns}


def _is_terminal(stream: TextIO | None) -> bool:
    """Whether the stream is a terminal; it may be None."""
    return stream is not None and stream.isatty()


def deliver(text: str, output: Path | None, summary: str = "", *, form: str = "human") -> None:
    """Print the text or write it to the file. A broken pipe doesn't affect the exit code.

    `form` is the format of the text, which is "human" if people read it.
    """
    if output:
        from kanon_sql.results.writing import write_atomically

        write_atomically(output, f"{text}\n")
        report_written(output, summary)
        return
    with printing():
        click.echo(for_stdout(text, form))


def report_written(path: Path, summary: str = "") -> None:
    """Report on stderr which file or folder was written, with a short summary."""
    if not is_quiet() and (path.is_file() or path.is_dir()):
        tell(f"{printable(str(path))} written{f': {summary}' if summary else ''}.")
