"""The commands on columns: profile, init, hierarchy new."""

from __future__ import annotations

from typing import Any

import click

from kanon_sql.cli.clock import CLOCK
from kanon_sql.cli.main import main
from kanon_sql.cli.option_kinds import Grouped, Optioned
from kanon_sql.cli.options import hierarchy_options, init_options, profile_options
from kanon_sql.cli.output import (
    deliver,
    files_of,
    form_of,
    output_of,
    refuse_failed,
    rendered,
    result_file_of,
    run_of,
    say_written,
    watching,
)
from kanon_sql.cli.question import (
    column_question,
    identifying_question,
    known_events,
    only_one,
    profile_question,
    table_question,
)
from kanon_sql.errors import SpecError, plural


@main.command(cls=Grouped)
@click.argument("target", nargs=-1, required=True, callback=only_one)
@profile_options
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
        say_written(identifying.scores, "personal data")
    form = form_of(context, values, output)
    to_terminal = output is None
    text = rendered(result, result.page(), form, to_terminal=to_terminal)
    deliver(text, output)
    return result.exit_code


@main.command()
@click.argument("target", nargs=-1, required=True, callback=only_one)
@init_options
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
        deliver(proposal.text, None)
    else:
        left = len(proposal.undecided)
        say_written(output, f"{plural(left, 'column')} to be decided by a person" if left else "")
    return 0


@main.group()
def hierarchy() -> None:
    """Create generalisation hierarchy files."""


@hierarchy.command(cls=Optioned)
@click.argument("column", metavar="COL[=BUILDER]")
@hierarchy_options
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
        found = new_hierarchy(spec, output, run, show_values=shown)
    say_written(output, f"{plural(found, 'value')}, personal data")
    return 0
