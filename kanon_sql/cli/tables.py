"""The command on published tables: tables."""

from __future__ import annotations

from typing import Any

import click

from kanon_sql.cli.clock import CLOCK
from kanon_sql.cli.command_record import with_command
from kanon_sql.cli.main import main
from kanon_sql.cli.option_kinds import PIPELINE_FORMATS, GroupedTables, together
from kanon_sql.cli.output import (
    AUDIT_FORMS,
    NO_DATA,
    Failure,
    also_of,
    baseline_of,
    deliver,
    expected_page,
    files_of,
    for_pipeline,
    form_of,
    output_of,
    refuse_failed,
    refuse_format,
    rendered,
    run_of,
    say_skipped,
    watching,
)
from kanon_sql.cli.question import at_most_one
from kanon_sql.cli.run_options import (
    AUDIENCE,
    AUDIT_FORMAT,
    BASELINE,
    DRY_RUN,
    MANIFEST,
    OUTPUT,
    RUN,
    TELL,
)
from kanon_sql.cli.table_options import QUESTION_ON_CELLS, cells_selected
from kanon_sql.errors import SpecError
from kanon_sql.spec.flags import with_flags

EXAMPLES = """\b
Examples:
  kanon-sql tables turnover.parquet --by region,sector --value turnover --contributor firm_id \\
      --threshold 10 --dominance 2,67
  kanon-sql tables published.csv --by region --value n --published --suppressed '*=1..9' \\
      --total-label Total --derivable
"""


@main.command(cls=GroupedTables, epilog=EXAMPLES)
@click.argument("target", nargs=-1, callback=at_most_one)
@together(
    QUESTION_ON_CELLS,
    MANIFEST[:-1],
    BASELINE[:1],
    AUDIT_FORMAT,
    OUTPUT,
    AUDIENCE,
    RUN,
    DRY_RUN,
    TELL,
)
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
    from kanon_sql.auditing.published_tables import audit_cells
    from kanon_sql.results.confidential import for_outsiders

    is_external = values["audience"] == "external"
    if is_external and values["show_values"]:
        raise SpecError("--show-values is not for an external audience. Leave out one of them.")
    chosen = cells_selected(context, target, values)
    spec = chosen.spec
    if spec is None:
        raise Failure(with_flags(chosen.reason), NO_DATA)
    say_skipped(chosen)
    baseline = baseline_of(values)
    output = output_of(context, spec, values)
    also = also_of(spec, output, values)
    if values["dry_run"]:
        from kanon_sql.auditing.published_tables import dry_run_of_cells

        refuse_format(context)
        expected = dry_run_of_cells(spec, writes=files_of(output))
        deliver(expected_page(expected, to_terminal=output is None), output)
        return 0
    forms = [(output, form_of(context, values, output, AUDIT_FORMS)), *also.items()]
    events = any(form == "openlineage" for _, form in forms)
    if events:
        from kanon_sql.report.pipelines.openlineage import emission

        emission()
    with watching(context) as watch:
        run = run_of(values, watch, [*files_of(output), *also])
        found_in = audit_cells(spec, run, show_values=values["show_values"], with_lineage=events)
        result = CLOCK.timed(found_in)
    if chosen.notes:
        result = result.noted(chosen.notes)
    if baseline:
        result = baseline.applied_to(result, "count")
    if is_external:
        result = for_outsiders(result)
    found = result.status.replace("_", " ")
    for path, form in forms:
        if form in PIPELINE_FORMATS:
            deliver(for_pipeline(result, chosen.places, form), path, found)
    refuse_failed(result)
    for path, form in forms:
        if form not in PIPELINE_FORMATS:
            recorded = result
            if not is_external:
                recorded = with_command(result, context, path, spec, always=path in also)
            page = rendered(recorded, recorded.page(), form, to_terminal=path is None)
            deliver(page, path, found)
    return result.exit_code
