"""The commands that make a release, or say what one would lose."""

from __future__ import annotations

from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kanon_sql.cli.command_record import release_command, with_command
from kanon_sql.cli.main import CLOCK, main
from kanon_sql.cli.option_kinds import (
    VERBOSITY,
    Grouped,
    argument,
)
from kanon_sql.cli.options import options_of
from kanon_sql.cli.output import (
    deliver,
    deliver_result,
    expected_page,
    files_of,
    form_of,
    is_quiet,
    output_of,
    printing_steps,
    refuse_format,
    rendered,
    report_written,
    result_file_of,
    run_of,
    watching,
    writable,
)
from kanon_sql.cli.question import (
    only_one,
    question,
    sizes,
)
from kanon_sql.cli.signals import stops
from kanon_sql.errors import SpecError

if TYPE_CHECKING:
    from kanon_sql.anonymizing.release.options import ReleaseOptions
    from kanon_sql.question.spec import AuditSpec


@main.command(cls=Grouped)
@argument("target", nargs=-1, required=True, callback=only_one)
@options_of("anonymize")
@click.pass_context
def anonymize(context: click.Context, /, target: str, **values: Any) -> int:
    """Generalise and suppress until the checks hold.

    TARGET is as for audit. A quasi-identifier without a hierarchy can only be suppressed. The
    release is audited again, and is not written if it fails.

    Exit codes: 0 the release holds; 1 no levels meet the checks, or the release fails its audit;
    2 invalid options, spec or input; 3 the engine failed; 4 no data; 130 interrupted.
    """
    from kanon_sql.anonymizing.anonymizer import anonymize as run
    from kanon_sql.anonymizing.anonymizer import compared, dry_run

    spec = question(context, target, values)
    result_file = result_file_of(context, values["result"], spec.files(), values)
    options = _release_options(values, _release_place(spec, values))
    if options.output is not None and options.output == result_file:
        raise SpecError("--output and --result name the same file. Give each its own.")
    if values["dry_run"]:
        refuse_format(context)
        if result_file is not None:
            raise SpecError("--dry-run has no result for --result. Leave out one of the two.")
        deliver(expected_page([dry_run(spec, options)], to_terminal=True), None)
        return 0
    with watching(context) as watch, printing_steps(context) as on_step:
        run_options = run_of(values, watch, files_of(result_file))
        result = CLOCK.timed(run(spec, options, run_options, on_step=on_step))
        if values["compare"]:
            result = compared(result, spec, options, run_options)
    result = with_command(result, context, result_file, spec)
    if result.anonymization.release:
        stops.code = result.exit_code
    form = form_of(context, values, result_file)
    release = result.anonymization.release
    if result_file:
        if release:
            report_written(Path(release.path))
        text = rendered(result, result.page(), form, to_terminal=False)
        deliver(text, result_file, result.status.replace("_", " "))
        if is_quiet():
            return result.exit_code
        form = "human"
    is_short = form == "human" and not context.meta.get(VERBOSITY)
    page = result.brief() if is_short else result.page()
    deliver(rendered(result, page, form), None, form=form)
    return result.exit_code


@main.command(cls=Grouped)
@argument("target", nargs=-1, required=True, callback=only_one)
@options_of("tradeoff")
@click.pass_context
def tradeoff(context: click.Context, /, target: str, **values: Any) -> int:
    """Compare the information loss of several k.

    TARGET is as for audit. For each k, one search finds the levels with the least loss and prints
    both; --algorithm local adds the loss of a local recoding. Nothing is released: the last lines
    print the command that makes the release.

    Exit codes: 0 measured; 2 invalid options, spec or input; 3 the engine failed; 4 no data.
    """
    from kanon_sql.anonymizing.tradeoff import KS
    from kanon_sql.anonymizing.tradeoff import tradeoff as run
    from kanon_sql.report import tradeoff as report

    ks = sizes(values) or KS
    spec = question(context, target, {**values, "k": None})
    output = output_of(context, spec, values)
    options = _release_options(values, {})
    with watching(context) as watch:
        result = run(spec, options, ks, run_of(values, watch, files_of(output)))
    result = with_command(result, context, output)
    page = report.page(result.tradeoff, partial(release_command, context))
    deliver_result(context, values, result, page, output)
    return result.exit_code


def _release_place(spec: AuditSpec, values: dict[str, Any]) -> dict[str, Any]:
    """The file of a release, or the folder that a cluster writes."""
    from kanon_sql.anonymizing.release.options import ReleaseOptions

    place = ReleaseOptions.place_of(values["output"], spec.tables[0].connect)
    if place.get("output"):
        writable(values["output"], spec.files(), values)
    return place


def _release_options(values: dict[str, Any], place: dict[str, Any]) -> ReleaseOptions:
    """The release options of a command."""
    from kanon_sql.anonymizing.release.options import ReleaseOptions

    named = {
        field.name: values[field.name] for field in fields(ReleaseOptions) if field.name in values
    }
    # The levels are those of the table, to which `at_levels` compares the options.
    return ReleaseOptions(**named | {"levels": {}, "output": None} | place)
