"""The commands that query tables."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kanon_sql.cli.cells_question import cells_question, cells_selected
from kanon_sql.cli.command_record import with_command
from kanon_sql.cli.main import CLOCK, main, print_error
from kanon_sql.cli.option_kinds import (
    PIPELINE_FORMATS,
    VERBOSITY,
    Grouped,
    GroupedTables,
    GroupedWithTables,
    Optioned,
    argument,
    examples_of,
)
from kanon_sql.cli.options import options_of
from kanon_sql.cli.output import (
    AUDIT_FORMS,
    NO_DATA,
    Failure,
    also_of,
    baseline_of,
    cells_file_of,
    deliver,
    deliver_result,
    expected_page,
    files_of,
    for_pipeline,
    form_of,
    is_quiet,
    output_of,
    refuse_failed,
    refuse_format,
    rendered,
    report_written,
    result_file_of,
    run_of,
    warn_of_skipped,
    watching,
    writable,
)
from kanon_sql.cli.question import (
    are_results,
    at_most_one,
    column_question,
    explored_question,
    identifying_question,
    is_spec_file,
    known_events,
    manifest_tables,
    one_or_specs,
    only_one,
    profile_question,
    question,
    refuse_options_beside,
    selected,
    table_question,
)
from kanon_sql.cli.streams import tell
from kanon_sql.errors import EngineError, SpecError, plural, with_flags

if TYPE_CHECKING:
    from kanon_sql.auditing.result import AuditResult
    from kanon_sql.question.spec import AuditSpec, SelectedTables, TablesKey
    from kanon_sql.report.dry_run import ExpectedTable


@main.command(cls=Grouped, epilog=examples_of("audit"))
@argument("target", nargs=-1, callback=at_most_one)
@options_of("audit")
@click.pass_context
def audit(context: click.Context, /, target: str | None, **values: Any) -> int:
    """Check which privacy models hold for a table.

    TARGET is a file or glob (.parquet .csv .tsv .json .arrow), also at s3://, gs://, az:// or
    https:// (kanon-sql explain warehouses), a table (with --connect), or a spec file (.yml); leave
    it out with --manifest. Without a threshold, the audit measures the table and requires nothing.

    Exit codes: 0 every check holds, or nothing was required; 1 a check is violated; 2 invalid
    options, spec or input; 3 the engine failed; 4 no data; 130 interrupted.
    """
    chosen = selected(context, target, values)
    if chosen.spec is None:
        print_error(with_flags(chosen.reason))
    from kanon_sql.auditing.auditor import audit as run
    from kanon_sql.auditing.auditor import dry_run

    return _judged(context, chosen, values, run, dry_run, by=values["by"])


@main.command(cls=GroupedTables, epilog=examples_of("tables"))
@argument("target", nargs=-1, callback=at_most_one)
@options_of("tables")
@click.pass_context
def tables(context: click.Context, /, target: str | None, **values: Any) -> int:
    """Check the cells of a table that is published.

    TARGET holds the records, or with --published the table as it goes out: a file or glob, a table
    (with --connect), or a spec file with published tables (.yml); leave it out with --manifest,
    which checks the models with config.meta.kanon_sql.published. Without a rule, the cells are
    measured and nothing is required.

    Exit codes: 0 every check holds, or nothing was required; 1 a check is violated; 2 invalid
    options, spec or input; 3 the engine failed; 4 no data; 130 interrupted.
    """
    from kanon_sql.auditing.auditor import audit as run
    from kanon_sql.auditing.auditor import dry_run, published_tables

    is_external = values["audience"] == "external"
    for key in ("show_values", "list_cells"):
        if is_external and values[key]:
            flag = key.replace("list_", "").replace("_", "-")
            raise SpecError(f"--{flag} is not for an external audience. Leave out one of them.")
    chosen = cells_selected(context, target, values)
    if chosen.spec is None:
        raise Failure(with_flags(chosen.reason), NO_DATA)
    cells = cells_file_of(chosen.spec, values)
    return _judged(
        context,
        chosen,
        values,
        partial(run, kind=published_tables(list_cells=cells is not None)),
        partial(dry_run, kind=published_tables()),
        by="count",
        key="published",
        is_external=is_external,
        cells=cells,
    )


def _judged(
    context: click.Context,
    chosen: SelectedTables,
    values: dict[str, Any],
    audit: Callable[..., AuditResult],
    dry_run: Callable[..., Sequence[ExpectedTable]],
    *,
    by: Any,
    key: TablesKey = "tables",
    is_external: bool = False,
    cells: Path | None = None,
) -> int:
    """Audit the selected tables and write the result in each requested form, or list what would
    run; the exit code. A baseline is compared `by` share or count; `key` is the tables' in a
    spec, and `cells` the file for the list of cells."""
    spec = chosen.spec
    warn_of_skipped(chosen)
    baseline = baseline_of(values)
    output = output_of(context, spec, values)
    also = also_of(spec, output, values)
    if values["dry_run"]:
        refuse_format(context)
        expected = dry_run(spec, writes=files_of(output)) if spec else ()
        deliver(expected_page(expected, to_terminal=output is None), output)
        return 0 if spec else NO_DATA
    forms = [(output, form_of(context, values, output, AUDIT_FORMS)), *also.items()]
    events = any(form == "openlineage" for _, form in forms)
    if events:
        from kanon_sql.report.pipelines.openlineage import emission

        emission()
    of_pipelines = [(path, form) for path, form in forms if form in PIPELINE_FORMATS]
    try:
        with watching(context) as watch:
            run = run_of(values, watch, [*files_of(output), *also, *files_of(cells)])
            show = values["show_values"]
            result = CLOCK.timed(
                audit(spec, run, show_values=show, with_lineage=events) if spec else _nothing()
            )
    except EngineError as error:
        if spec and of_pipelines:
            from kanon_sql.auditing.datasets import result_unopened

            failed = result_unopened(getattr(spec, key), str(error))
            for path, form in of_pipelines:
                deliver(for_pipeline(failed, chosen.places, form), path, "error", form=form)
        raise
    if chosen.notes:
        result = result.noted(chosen.notes)
    if baseline:
        result = baseline.applied_to(result, by)
    if is_external:
        from kanon_sql.results.confidential import for_outsiders

        result = for_outsiders(result)
    status = result.status.replace("_", " ")
    for path, form in of_pipelines:
        deliver(for_pipeline(result, chosen.places, form), path, status, form=form)
    refuse_failed(result)
    if cells is not None and result.status != "no_data":
        from kanon_sql.results.writing import write_atomically

        # Which cell of the records breaks a rule is nobody's business yet.
        is_private = values["show_values"] or not (spec and spec.published[0].cells)
        write_atomically(cells, result.cells.to_csv(), private=is_private)
        report_written(cells, plural(len(result.cells), "cell"))
    if context.meta.get(VERBOSITY, 0):
        result = result.naming_every_cell()
    for path, form in forms:
        if form not in PIPELINE_FORMATS:
            recorded = result
            if not is_external:
                recorded = with_command(result, context, path, spec, always=path in also)
            page = rendered(recorded, recorded.page(), form, to_terminal=path is None)
            deliver(page, path, status, form=form)
    return result.exit_code


def _nothing() -> AuditResult:
    """The result of no table."""
    from kanon_sql.auditing.result import AuditResult
    from kanon_sql.results.version import VERSION

    return AuditResult((), VERSION)


def _spec_of(
    context: click.Context, target: str | None, values: dict[str, Any]
) -> tuple[AuditSpec, tuple[tuple[str, ...], ...]]:
    """The spec of a target or a manifest, with the notes on each table. Raises `Failure` if no
    table is selected."""
    if values["manifest"] and values.get("format") != "odcs":
        chosen = manifest_tables(context, target, values, ("tables", "published"))
    elif target is not None and values.get("by") and not values["manifest"]:
        if not is_spec_file(target):
            refuse_options_beside(context, "tables", "--by asks about a published table")
        return cells_question(context, target, values), ()
    else:
        if target is not None and not (is_spec_file(target) or values["manifest"]):
            refuse_options_beside(context, "audit", "A question without --by is about records")
        chosen = selected(context, target, values)
    if chosen.spec is None:
        raise Failure(with_flags(chosen.reason), NO_DATA)
    warn_of_skipped(chosen)
    return chosen.spec, chosen.notes


@main.command(name="compile", cls=GroupedWithTables)
@argument("target", nargs=-1, callback=at_most_one)
@options_of("compile")
@click.pass_context
def compile_(
    context: click.Context,
    /,
    target: str | None,
    step: str | None,
    until: str | None,
    output_dir: str | None,
    **values: Any,
) -> int:
    """Print the SQL of an audit without running it.

    Takes the options of audit, so that one word turns an audit into its SQL; --timeout and the
    other limits have no effect here. With --dialect, a file only supplies the columns, and the SQL
    reads the table of that name (or of --table) in the other database; a table name then needs no
    connection. Leave out TARGET with --manifest.
    """
    is_contract = values["format"] == "odcs"
    _refuse_idle(context, is_contract, values)
    spec = _spec_of(context, target, values)[0]
    if is_contract:
        return _contract(context, spec, values)
    if output_dir and values["output"]:
        raise SpecError("--output is one file and --output-dir a folder; choose one.")
    output = output_of(context, spec, values)
    from kanon_sql.auditing.compiler import compile as compile_audit

    form = {key: values[key] for key in ("dialect", "quote", "table")}
    written = sorted(Path(output_dir).rglob("*.sql")) if output_dir else files_of(output)
    compiled = compile_audit(spec, **form, writes=written)
    compiled = compiled.only(step) if step else compiled
    compiled = compiled.until(until) if until else compiled
    count = plural(len(compiled.statements), "statement")
    if output_dir:
        from kanon_sql.results.writing import write_files

        folder = Path(output_dir)
        write_files(folder, compiled.files, inputs=spec.files(), overwrite=values["overwrite"])
        report_written(folder, count)
    else:
        text = "\n\n".join(compiled.statements) if step else str(compiled)
        deliver(text, output, count, form="sql")
    return 0


_OF_SQL = ("dialect", "quote", "table", "step", "until", "output_dir")


def _refuse_idle(context: click.Context, is_contract: bool, values: dict[str, Any]) -> None:
    """Raise `SpecError` for options of the other format."""
    default = click.core.ParameterSource.DEFAULT
    idle = _OF_SQL if is_contract else ("into", "force")
    for name in idle:
        if context.get_parameter_source(name) is not default:
            flag = name.replace("_", "-")
            form = "sql, the statements" if is_contract else "odcs, a data contract"
            raise SpecError(f"--{flag} is for --format {form}.")
    if values["force"] and not (values["into"] and values["output"]):
        raise SpecError("--force is for a contract that is replaced: --into FILE --output FILE.")


def _contract(context: click.Context, spec: AuditSpec, values: dict[str, Any]) -> int:
    """Print or write the data contract of a spec."""
    from kanon_sql.auditing.contract import compile_contract

    into = Path(values["into"]) if values["into"] else None
    output = _contract_file(context, spec, into, values)
    folder = output.parent if output else Path()
    compiled = compile_contract(spec, into=into, folder=folder)
    if not is_quiet():
        for note in compiled.notes:
            tell(f"warning: {note}")
    deliver(compiled.text, output, plural(compiled.rules, "rule"), form="yaml")
    return 0


def _contract_file(
    context: click.Context, spec: AuditSpec, into: Path | None, values: dict[str, Any]
) -> Path | None:
    """The file to write; the contract that is read is written only with --force."""
    output = values["output"]
    if output is None or into is None:
        return output_of(context, spec, values)
    if not (Path(output).exists() and into.exists() and into.samefile(output)):
        return result_file_of(context, output, [*spec.files(), str(into)], values)
    if not values["force"]:
        raise SpecError(f"{output} is the contract that --into reads; add --force to replace it.")
    inputs = [file for file in spec.files() if not Path(file).exists() or not into.samefile(file)]
    return result_file_of(context, output, inputs, values | {"overwrite": True})


@main.command(cls=GroupedWithTables)
@argument("targets", nargs=-1, metavar="TARGET", callback=one_or_specs)
@options_of("validate")
@click.pass_context
def validate(context: click.Context, /, targets: Sequence[str], **values: Any) -> int:
    """Check a spec against its tables without running the audit.

    Checks the columns, the models' requirements, and the hierarchies, which must cover every value
    of the table. TARGET is as for audit, or with --by as for tables, and may be several spec
    files; leave it out with --manifest.
    """
    chosen = [_spec_of(context, target, values) for target in targets or (None,)]
    from kanon_sql.auditing.auditor import validate as look

    sentences = (
        sentence
        for spec, notes in chosen
        for sentence in (
            *look(spec, show_values=values["show_values"]),
            *dict.fromkeys(note for group in notes for note in group),
        )
    )
    deliver("\n".join(sentences), None)
    return 0


@main.command(cls=GroupedWithTables)
@argument("targets", nargs=-1, metavar="RESULT.json…|TARGET")
@options_of("baseline")
@click.pass_context
def baseline(context: click.Context, /, targets: Sequence[str], **values: Any) -> int:
    """Accept today's violations as a baseline.

    Takes JSON results of audit or tables, or a TARGET with the options of either (--manifest
    included), which is then audited. Under --baseline FILE, a check that is violated in the
    baseline stays accepted until it gets worse; a check that holds there must still hold.

    Exit codes: 0 written, even with violations; 2 invalid options, spec or input, or nothing to
    accept; 3 the engine failed; 4 no data.
    """
    from kanon_sql.results.baseline import Baseline

    if targets and are_results(context, targets, values):
        from kanon_sql.results.stored import read_result

        output = result_file_of(context, values["output"], targets, values)
        stored = [read_result(Path(target)).result for target in targets]
        accepted = Baseline.of(stored)
    else:
        target = at_most_one(context, context.command.params[0], targets)
        spec, _ = _spec_of(context, target, values)
        output = output_of(context, spec, values)
        results = _audited(context, spec, values, output)
        if any(result.status == "no_data" for result in results):
            raise Failure("a table has no data, so there is nothing to accept.", NO_DATA)
        accepted = Baseline.of(results)
    deliver(accepted.to_json(), output, str(accepted), form="json")
    return 0


def _audited(
    context: click.Context, spec: AuditSpec, values: dict[str, Any], output: Path | None
) -> list[AuditResult]:
    """The results of a spec's tables of records, and of its published tables."""
    with watching(context) as watch:
        from kanon_sql.auditing.auditor import RECORDS, kinds_of
        from kanon_sql.auditing.auditor import audit as run

        run_options = run_of(values, watch, files_of(output))
        kinds = [kind for kind in kinds_of(spec) if spec.tables or kind is not RECORDS]
        results = [run(spec, run_options, kind=kind) for kind in kinds]
    for result in results:
        refuse_failed(result)
    return results


@main.command(cls=Grouped, epilog=examples_of("worksheet"))
@argument("targets", nargs=-1, metavar="TARGET", callback=at_most_one)
@options_of("worksheet")
@click.pass_context
def worksheet(context: click.Context, /, targets: str | None, **values: Any) -> int:
    """Sample the riskiest records for a re-identification test.

    First, write the worksheet: a table of the riskiest records, which match the fewest people in
    the reference or, without one, lie in the smallest classes. Then testers who know only public
    facts try to identify each person by hand, and complete the last columns. Finally, --read
    prints how many they identified, with the 95 % confidence interval of that share. The worksheet
    is personal data and needs --show-values; checks play no part in it.

    Exit codes: 0 written or read; 2 invalid options, spec or input; 3 the engine failed; 4 no data.
    """
    if values["read"] is not None:
        return _read_worksheet(targets, values)
    if targets is None:
        raise SpecError("name a table or a spec file, or a completed worksheet with --read FILE.")
    spec = question(context, targets, values)
    output = result_file_of(context, values["output"], spec.files(), values)
    if output is None:
        raise SpecError("name the file to write with --output.")
    with watching(context) as watch:
        from kanon_sql.auditing.worksheet import write_worksheet

        count = write_worksheet(
            spec,
            output,
            run_of(values, watch),
            sample=values["sample"],
            seed=values["seed"],
            show_values=values["show_values"],
        )
    report_written(output, f"{plural(count, 'record')}, personal data")
    return 0


def _read_worksheet(target: str | None, values: dict[str, Any]) -> int:
    """Print the outcome of a completed worksheet."""
    from kanon_sql.report.guides import as_json, in_words
    from kanon_sql.results.worksheet import read_worksheet

    if target is not None:
        raise SpecError(
            f"--read {values['read']} reads a worksheet, so {target} can't be given too."
        )
    file = Path(values["read"])
    attempts = read_worksheet(file)
    output = writable(values["output"], [str(file)], values)
    write = as_json if values["format"] == "json" else in_words
    deliver(write(attempts), output, form=values["format"])
    return 0


@main.command(cls=Grouped)
@argument("target", nargs=-1, required=True, callback=only_one)
@options_of("profile")
@click.pass_context
def profile(context: click.Context, /, target: str, **values: Any) -> int:
    """Measure which columns identify people.

    TARGET is as for audit; a spec file's checks are ignored. Without --qi: how many records each
    column makes unique by itself, which role it seems to have, and what it adds to the others.
    With --qi: for each other column, the records that become unique if it is known too; for each
    quasi-identifier, what it costs, and how much of that is due to outliers; for each sensitive
    attribute, how certain an attacker is after ruling out other values. --subsets and --suda
    measure sets of columns. With --events: how many people are found by how many of their events.
    No value is shown.

    Exit codes: 0 measured; 2 invalid options, spec or input; 3 the engine failed; 4 no data.
    """
    spec = profile_question(context, target, values)
    identifying = identifying_question(spec, values)
    known = known_events(values)
    output = output_of(context, spec, values)
    if output and identifying.scores and output.resolve() == identifying.scores.resolve():
        raise SpecError(f"{output} can't hold both the result and the scores; name two files.")
    with watching(context) as watch:
        from kanon_sql.profiling.profiler import profile as run

        result = CLOCK.timed(
            run(
                spec,
                run_of(values, watch, files_of(output)),
                attacker_knows=values["attacker_knows"],
                k=values["k"],
                identifying=identifying,
                known=known,
                times=values["times"],
            )
        )
    refuse_failed(result)
    if identifying.scores:
        report_written(identifying.scores, "personal data")
    deliver_result(context, values, result, result.page(), output)
    return result.exit_code


@main.command()
@argument("target", nargs=-1, required=True, callback=only_one)
@options_of("init")
@click.pass_context
def init(context: click.Context, /, target: str, **values: Any) -> int:
    """Propose a spec for a table.

    TARGET is a file, a glob or a table. Each column gets the role that its name and values suggest,
    with the reason as a comment, and suitable levels. Open columns are listed under undecided; the
    spec is refused until you have decided on them. It holds no value of the table.

    Exit codes: 0 proposed; 2 invalid options or input; 3 the engine failed; 4 no data.
    """
    spec = table_question(context, target, values)
    output = result_file_of(context, values["output"], spec.files(), values)
    with watching(context) as watch:
        from kanon_sql.profiling.propose import propose

        proposal = propose(spec, run_of(values, watch), output=output)
    if output is None:
        deliver(proposal.text, None, form="yaml")
    else:
        left = len(proposal.undecided)
        report_written(
            output, f"{plural(left, 'column')} to be decided by a person" if left else ""
        )
    return 0


@main.group(invoke_without_command=True)
@click.pass_context
def hierarchy(context: click.Context, /) -> None:
    """Create generalisation hierarchy files."""
    if context.invoked_subcommand is None:
        deliver(context.get_help(), None)


@hierarchy.command(cls=Optioned)
@argument("column", metavar="COL[=BUILDER]")
@options_of("new")
@click.pass_context
def new(context: click.Context, /, column: str, target: str, **values: Any) -> int:
    """Write a hierarchy file from the values of a column.

    The file has no header. Each line holds a value, its generalisation at every level of the
    builder, as in zip=mask:right or age=width:5,10, and finally *. Without a builder, groups are
    proposed: neighbours in the order of numbers and dates, or the rare values together, until each
    has a twentieth of the records, then a fifth. Edit it by hand. Rare values are personal data, so
    the command needs --show-values.

    Exit codes: 0 written; 2 invalid options or input; 3 the engine failed; 4 no data.
    """
    spec = column_question(column, target, values)
    output = result_file_of(context, values["output"], spec.files(), values)
    if output is None:
        raise SpecError("name the file to write with --output.")
    with watching(context) as watch:
        from kanon_sql.anonymizing.hierarchy_file import new_hierarchy

        run, shown = run_of(values, watch), values["show_values"]
        count = new_hierarchy(spec, output, run, show_values=shown)
    report_written(output, f"{plural(count, 'value')}, personal data")
    return 0


@main.command(name="mcp", cls=Grouped)
@argument("target", nargs=-1, required=True, metavar="SPEC.yml", callback=only_one)
@options_of("mcp")
def mcp(target: str, **values: Any) -> int:
    """Answer an assistant's questions about privacy by rounded counts (MCP server).

    SPEC.yml is a spec file or a data contract. The server speaks the Model Context Protocol over
    stdin and stdout, and is started by the assistant's program: kanon-sql explain assistants. It
    shows verdicts and counts rounded down to tens, no value, and nothing that the spec does not
    name. Every question is logged before its answer leaves. It is no differential privacy.

    Exit codes: 0 stdin was closed, or Ctrl-C; 2 invalid options, spec or log; 3 the log can't be
    written.
    """
    from kanon_sql.assistant.server import serve

    return serve(target, values)


@main.command(cls=Grouped)
@argument("target", nargs=-1, required=True, callback=only_one)
@options_of("explore")
@click.pass_context
def explore(context: click.Context, /, target: str, **values: Any) -> int:
    """Explore a table on a local page: roles, risk, levels, evidence.

    TARGET is as for audit; a spec file has one table, and the page begins with its roles, levels
    and checks. The page is for this machine alone, has no script, and changes nothing: what you
    leave with is a spec, the SQL, the commands and a report. Every address is its question:
    kanon-sql explain explore.

    Exit codes: 0 ended by Ctrl-C; 2 invalid options, spec or input; 3 the engine failed; 4 no data.
    """
    spec, given = explored_question(context, target, values)
    from kanon_sql.explore.server import serve

    return serve(
        spec,
        run_of(values, lambda step, progress: None),
        given,
        output=values["output"],
        port=values["port"],
        show_values=values["show_values"],
        opens_browser=not values["no_browser"] and sys.stdout.isatty(),
        announce=lambda text: deliver(text, None),
    )
