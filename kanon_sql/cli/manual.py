"""The commands that query no table: schema, policy, explain, dbt-package, demo, diff, report,
lineage."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kanon_sql.cli.command_record import with_files
from kanon_sql.cli.main import main
from kanon_sql.cli.option_kinds import (
    PIPELINE_FORMATS,
    VERBOSITY,
    Grouped,
    argument,
    examples_of,
)
from kanon_sql.cli.options import options_of
from kanon_sql.cli.output import (
    LINEAGE_FORMS,
    also_of,
    deliver,
    deliver_result,
    form_of,
    rendered,
    report_file_of,
    result_file_of,
    watching,
)
from kanon_sql.cli.question import at_most_one

if TYPE_CHECKING:
    from kanon_sql.tracing.result import LineageResult


@main.command()
@options_of("schema")
def schema(of: str) -> int:
    """Print the JSON Schema of the spec file, of a policy, of a result or of a baseline.

    Those of the spec and of a policy are for editors; the other two describe what --format json and
    baseline write.
    """
    import json

    from kanon_sql.question.policy import policy_schema
    from kanon_sql.question.spec import json_schema
    from kanon_sql.results.schema import baseline_schema, result_schema, schema_id

    document = {
        "spec": json_schema,
        "policy": policy_schema,
        "result": result_schema,
        "baseline": baseline_schema,
    }[of]()
    document = {"$id": schema_id(of), **document}
    deliver(json.dumps(document, indent=2, ensure_ascii=False), None, form="json")
    return 0


@main.command()
@argument("policy", nargs=-1, metavar="[ID|FILE.yml]", callback=at_most_one)
@options_of("policy")
def policy(policy: str | None, format: str) -> int:
    """List the policies that are known by name, or print one.

    A policy is a set of an institution's rules, each with the sentence that it rests on. FILE.yml
    is a file of your own in the same form (kanon-sql schema --of policy). To check a table against
    it: kanon-sql tables … --policy ID, or kanon-sql audit … --policy ID.
    """
    import json

    from kanon_sql.question.policy import policies, policy_named
    from kanon_sql.report import policies as pages

    chosen = [policy_named(policy)] if policy else list(policies().values())
    if format == "json":
        documents = [policy.model_dump(mode="json", exclude_none=True) for policy in chosen]
        text = json.dumps(documents[0] if policy else documents, indent=2, ensure_ascii=False)
    else:
        text = pages.page(chosen[0]) if policy else pages.overview(chosen)
    deliver(text, None, form=format)
    return 0


@main.command()
@argument("name", nargs=-1, metavar="[MODEL|METRIC|PAGE]")
def explain(name: tuple[str, ...]) -> int:
    """Explain a model or a metric, or show a page of the manual.

    Each model and metric comes with an example, a formula and its paper. Names may be written with
    hyphens, spaces or Greek letters, or as people call them: l-diversity, Cramer, arx. Without a
    name, list everything.
    """
    from kanon_sql.report.explain import explained

    deliver(explained(" ".join(name) or None), None)
    return 0


@main.command(name="dbt-package")
def dbt_package() -> int:
    """Print the path of the dbt package, for packages.yml.

    The package is named kanon_sql. It is part of the installed kanon-sql, so that dbt runs the
    macros of the installed version.
    """
    from kanon_sql.sql.macros import folder

    deliver(str(folder()), None, form="path")
    return 0


@main.command()
@argument("folder", default="kanon-demo")
@options_of("demo")
@click.pass_context
def demo(context: click.Context, /, folder: str, overwrite: bool) -> int:
    """Write example data and a spec to FOLDER, and audit them.

    FOLDER defaults to kanon-demo. The data are patients and a voter list with their names; all of
    these people are made up.
    """
    from kanon_sql.cli import demo as example

    path = Path(folder)
    example.write(path, overwrite=overwrite)
    with watching(context) as watch:
        from kanon_sql.auditing.auditor import audit as run
        from kanon_sql.engines.run_options import RunOptions
        from kanon_sql.question.spec import AuditSpec

        spec = AuditSpec.from_file(path / example.SPEC)
        result = with_files(run(spec, RunOptions(watch=watch)), spec)
    command = example.own_command()
    example.write_report(path, result)
    next_steps = example.next_commands(path, command)
    deliver(f"{rendered(result, result.page(), 'human')}\n\n{next_steps}", None)
    return 0


@main.command()
@argument("old", metavar="OLD.json")
@argument("new", metavar="NEW.json")
@options_of("diff")
@click.pass_context
def diff(context: click.Context, /, old: str, new: str, **values: Any) -> int:
    """Compare two results.

    OLD.json and NEW.json are JSON results of audit, tables or anonymize, or baselines. Lists the
    checks, sizes and risks that got better or worse, and the tables that appeared or disappeared.
    To find out what two releases of the same people disclose together, use audit --earlier.

    Exit codes: 0 compared; 1 with --fail-on-worse, if anything got worse or is no longer checked;
    2 invalid input.
    """
    from kanon_sql.report import diff as report
    from kanon_sql.results.diff import diff as compare
    from kanon_sql.results.stored import read_compared

    output = result_file_of(context, values["output"], (old, new), values)
    result = compare(read_compared(Path(old)), read_compared(Path(new)), values["by"])
    deliver_result(context, values, result, report.page(result), output)
    return int(values["fail_on_worse"] and result.is_worse)


@main.command()
@argument("result", metavar="RESULT.json")
@options_of("report")
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

    inputs = {key: values[key] or None for key in ("profile", "tradeoff", "worksheet")}
    inputs["earlier"] = values["earlier_result"]
    output = report_file_of(values, [result, *filter(None, inputs.values())])
    settings = {key: values[key] for key in ("audience", "min_cell", "sql")}
    deliver(page_of_file(Path(result), **inputs, **settings), output, form="html")
    return 0


@main.command(cls=Grouped, epilog=examples_of("lineage"))
@argument("manifest", metavar="MANIFEST.json")
@options_of("lineage")
@click.pass_context
def lineage(context: click.Context, /, manifest: str, **values: Any) -> int:
    """Follow the roles of columns through the models of a dbt project.

    MANIFEST.json is the target/manifest.json that dbt compile writes. Declare roles on sources:
    which models expose people by them, in which way, and whether that is audited follows from their
    compiled SQL. Needs no connection and reads no table. Where lineage can't be told, a model
    counts as exposed.

    Exit codes: 0 followed, gaps or not; 1 with --fail-on-unaudited, if there is a gap; 2 invalid
    options or manifest; 4 no column has a role, nothing is selected, or nothing is published.
    """
    from kanon_sql.tracing.lineage import lineage_of

    output = result_file_of(context, values["output"], [manifest], values)
    also = also_of(None, output, values, LINEAGE_FORMS)
    result = lineage_of(
        manifest,
        select=values["select"],
        exclude=values["exclude"],
        state=values["state"],
        cache=values["cache"],
        gate=values["fail_on_unaudited"],
    )
    form = form_of(context, values, output, LINEAGE_FORMS)
    for path, each in [(output, form), *also.items()]:
        deliver(_written(context, result, each, path), path, form=each)
    return result.exit_code


def _written(context: click.Context, result: LineageResult, form: str, path: Path | None) -> str:
    """The lineage in a format."""
    from kanon_sql.report import lineage as report
    from kanon_sql.report.pipelines import github, junit, sarif

    if form == "yaml":
        return report.proposal(result.lineage)
    if form in PIPELINE_FORMATS:
        every = report.outcomes(result.models, result.folder, result.lineage.gate)
        uncovered = [each for each in every if not each.count("holds")]
        match form:
            case "junit":
                return junit.write(every)
            case "sarif":
                return sarif.write(result, uncovered, report.rules())
        return github.write(uncovered, f"kanon-sql: {report.last_line(result.lineage)}")
    is_short = form == "human" and not context.meta.get(VERBOSITY)
    page = result.brief() if is_short else result.page()
    return rendered(result, page, form, to_terminal=path is None)
