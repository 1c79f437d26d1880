"""The commands that query no table: schema, explain, dbt-package, demo."""

from __future__ import annotations

from pathlib import Path

import click

from kanon_sql.cli.command_record import with_files
from kanon_sql.cli.main import main
from kanon_sql.cli.options import demo_options
from kanon_sql.cli.output import deliver, rendered, watching


@main.command()
def schema() -> int:
    """Print the JSON Schema of the spec file, for editors."""
    import json

    from kanon_sql.spec.spec import json_schema

    deliver(json.dumps(json_schema(), indent=2, ensure_ascii=False), None)
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
