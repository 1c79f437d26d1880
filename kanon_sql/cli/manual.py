"""The commands that query no table: schema, policy, explain, dbt-package, demo, diff, report."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from kanon_sql.cli.command_record import with_files
from kanon_sql.cli.main import main
from kanon_sql.cli.options import options_of
from kanon_sql.cli.output import (
    deliver,
    deliver_result,
    rendered,
    report_file_of,
    result_file_of,
    watching,
)
from kanon_sql.cli.question import at_most_one


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
@click.argument("policy", nargs=-1, metavar="[ID|FILE.yml]", callback=at_most_one)
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
@click.argument("name", nargs=-1, metavar="[MODEL|METRIC|PAGE]")
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
@click.argument("folder", default="kanon-demo")
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
@click.argument("old", metavar="OLD.json")
@click.argument("new", metavar="NEW.json")
@options_of("diff")
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
    deliver_result(context, values, result, report.page(result), output)
    return int(values["fail_on_worse"] and result.is_worse)


@main.command()
@click.argument("result", metavar="RESULT.json")
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
    settings = {key: values[key] for key in ("audience", "min_cell")}
    deliver(page_of_file(Path(result), **inputs, **settings), output, form="html")
    return 0
