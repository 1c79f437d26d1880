"""The commands that query no table: schema, explain, dbt-package, demo."""

from __future__ import annotations

from pathlib import Path

import click

from kanon_sql.cli.command_record import with_files
from kanon_sql.cli.main import main
from kanon_sql.cli.options import demo_options, policy_options, schema_options
from kanon_sql.cli.output import deliver, rendered, watching
from kanon_sql.cli.question import at_most_one


@main.command()
@schema_options
def schema(of: str) -> int:
    """Print the JSON Schema of the spec file, of a policy, of a result or of a baseline.

    Those of the spec and of a policy are for editors; the other two describe what --format json and
    baseline write.
    """
    import json

    from kanon_sql.results.schema import baseline_schema, result_schema, schema_id
    from kanon_sql.spec.policy import policy_schema
    from kanon_sql.spec.spec import json_schema

    made = {
        "spec": json_schema,
        "policy": policy_schema,
        "result": result_schema,
        "baseline": baseline_schema,
    }[of]()
    made = {"$id": schema_id(of), **made}
    deliver(json.dumps(made, indent=2, ensure_ascii=False), None)
    return 0


@main.command()
@click.argument("policy", nargs=-1, metavar="[ID|FILE.yml]", callback=at_most_one)
@policy_options
def policy(policy: str | None, format: str) -> int:
    """List the policies that are known by name, or print one.

    A policy is a set of an institution's rules, each with the sentence that it rests on. FILE.yml
    is a file of your own in the same form (kanon-sql schema --of policy). To check a table against
    it: kanon-sql tables … --policy ID, or kanon-sql audit … --policy ID.
    """
    import json

    from kanon_sql.report import policies as pages
    from kanon_sql.spec.policy import policies, policy_named

    found = [policy_named(policy)] if policy else list(policies().values())
    if format == "json":
        plain = [each.model_dump(mode="json", exclude_none=True) for each in found]
        text = json.dumps(plain[0] if policy else plain, indent=2, ensure_ascii=False)
    else:
        text = pages.page(found[0]) if policy else pages.overview(found)
    deliver(text, None)
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

    deliver(str(folder()), None)
    return 0


@main.command()
@click.argument("folder", default="kanon-demo")
@demo_options
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
        from kanon_sql.engines.session import RunOptions
        from kanon_sql.spec.spec import AuditSpec

        spec = AuditSpec.from_file(path / example.SPEC)
        result = with_files(run(spec, RunOptions(watch=watch)), spec)
    command = example.own_command()
    example.write_report(path, result)
    next_steps = example.what_next(path, command)
    deliver(f"{rendered(result, result.page(), 'human')}\n\n{next_steps}", None)
    return 0
