"""The commands on stored results: diff, report."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from kanon_sql.cli.main import main
from kanon_sql.cli.options import diff_options, report_options
from kanon_sql.cli.output import deliver, form_of, rendered, report_file_of, result_file_of


@main.command()
@click.argument("old", metavar="OLD.json")
@click.argument("new", metavar="NEW.json")
@diff_options
@click.pass_context
def diff(context: click.Context, /, old: str, new: str, **values: Any) -> int:
    """Compare two results.

    OLD.json and NEW.json are JSON results of audit, tables or anonymize. Lists the checks, sizes
    and risks that got better or worse, and the tables that appeared or disappeared. To find out
    what two releases of the same people disclose together, use audit --earlier.

    Exit codes: 0 compared; 1 with --fail-on-worse, if anything got worse or is no longer checked;
    2 invalid input.
    """
    from kanon_sql.report import diff as report
    from kanon_sql.results.diff import diff as compare
    from kanon_sql.results.stored import read_result

    output = result_file_of(context, values["output"], (old, new), values)
    result = compare(read_result(Path(old)), read_result(Path(new)), values["by"])
    form = form_of(context, values, output)
    to_terminal = output is None
    text = rendered(result, report.page(result), form, to_terminal=to_terminal)
    deliver(text, output)
    return int(values["fail_on_worse"] and result.is_worse)


@main.command()
@click.argument("result", metavar="RESULT.json")
@report_options
@click.pass_context
def report(context: click.Context, /, result: str, **values: Any) -> int:
    """Write the sign-off report as one HTML page.

    RESULT.json is a JSON result of audit, tables, anonymize or tradeoff; the data are not read
    again. The
    page is one HTML file without scripts and holds counts only: the checks and their verdicts, the
    data audited, the risks, the limits of the models, the SQL, and lines for the decision.

    Exit codes: 0 written, even with violations; 2 invalid input.
    """
    from kanon_sql.report.signed.inputs import page_of_file

    quoted = ("earlier_result", "profile", "tradeoff", "worksheet")
    attachments = {key: values[key] for key in quoted}
    inputs = [result, *(each for each in attachments.values() if each)]
    output = report_file_of(values, inputs)
    earlier, profile, tradeoff, attempts = (
        Path(each) if each else None for each in attachments.values()
    )
    text = page_of_file(
        Path(result),
        earlier=earlier,
        profile=profile,
        tradeoff=tradeoff,
        worksheet=attempts,
        audience=values["audience"],
        min_cell=values["min_cell"],
    )
    deliver(text, output)
    return 0
