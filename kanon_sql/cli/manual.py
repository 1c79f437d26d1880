"""The commands that query no table: schema, explain, dbt-package, demo."""

from __future__ import annotations

from pathlib import Path

import click

from kanon_sql.cli.main import main
from kanon_sql.cli.options import demo_options
from kanon_sql.cli.output import deliver, rendered, watching


@main.command()
def schema() -> int:
    """Print the JSON Schema of a spec file, for editors."""
    import json

    from kanon_sql.spec.spec import json_schema

    deliver(json.dumps(json_schema(), indent=2, ensure_ascii=False), None)
    return 0


@main.command()
@click.argument("name", nargs=-1, metavar="[MODEL|METRIC|PAGE]")
def explain(name: tuple[str, ...]) -> int:
    """Say what a model or a metric means, or show a page.

    A model and a metric have an example, a formula and a paper; the pages are the manual. Hyphens,
    spaces, Greek letters and the words that people know will do, as in l-diversity, Cramer or arx.
    Without a name, list everything.
    """
    from kanon_sql.report.explain import explained

    deliver(explained(" ".join(name) or None), None)
    return 0


@main.command(name="dbt-package")
def dbt_package() -> int:
    """Print the folder of the dbt package, for packages.yml.

    The package is called kanon_sql. It lies inside the installed kanon-sql, so that dbt runs the
    macros of the version that is installed.
    """
    from kanon_sql.sql.macros import folder

    deliver(str(folder()), None)
    return 0


@main.command()
@click.argument("folder", default="kanon-demo")
@click.option("--force", is_flag=True, help="Write into a folder that holds files.")
@demo_options
@click.pass_context
def demo(context: click.Context, /, folder: str, force: bool) -> int:
    """Write made-up data with a spec into FOLDER, and audit it.

    FOLDER is kanon-demo if none is named. The data are patients and a voter list with their
    names; nobody in them exists.
    """
    from kanon_sql.cli import demo as example

    path = Path(folder)
    example.write(path, force=force)
    with watching(context) as watch:
        from kanon_sql.auditing.auditor import audit as run
        from kanon_sql.engines.session import RunOptions
        from kanon_sql.spec.spec import AuditSpec

        result = run(AuditSpec.from_file(path / example.SPEC), RunOptions(watch=watch))
    command = example.own_command()
    example.write_report(path, result)
    next_steps = example.what_next(path, command)
    deliver(f"{rendered(result, result.page(), 'human')}\n\n{next_steps}", None)
    return 0
