"""The parts of results.md, each table with where and when it was measured."""

from __future__ import annotations

import os
import platform
import re
import subprocess
from collections.abc import Iterable, Sequence
from datetime import date
from importlib.metadata import version
from pathlib import Path

HERE = Path(__file__).parent
RESULTS = HERE / "results.md"

AUDIT = (
    "kanon_sql/plan/audit_plan.py",
    "kanon_sql/plan/other_columns.py",
    "kanon_sql/models/values/plan.py",
    "kanon_sql/auditing/auditor.py",
    "kanon_sql/auditing/running.py",
    "kanon_sql/engines/duckdb",
    "templates/macros/shared/classes.sql",
    "templates/macros/shared/frequency_set.sql",
    "templates/macros/shared/k_anonymity.sql",
    "templates/macros/shared/sensitive_values.sql",
    "templates/warehouses/other_columns.sql",
    "templates/duckdb/keys.sql",
)
RELEASE = (*AUDIT, "kanon_sql/anonymizing", "templates/macros/shared/release.sql")
MEASURED_FILES = {
    "^Benchmarks$": (
        *AUDIT,
        "kanon_sql/cli/main.py",
        "kanon_sql/models/catalogue.py",
        "kanon_sql/question/spec.py",
        "kanon_sql/question/table.py",
    ),
    "of anonymize$": RELEASE,
    "^Postgres": (*AUDIT, "kanon_sql/engines/postgres.py", "kanon_sql/sql/dialects"),
    "^Spark,": (*AUDIT, "kanon_sql/engines/spark", "kanon_sql/sql/dialects"),
    "searches,": (
        *RELEASE,
        "kanon_sql/engines/spark",
        "templates/searching",
        "templates/macros/shared/people.sql",
    ),
    "^Lineage of roles$": ("kanon_sql/tracing", "kanon_sql/sql/flows.py"),
    "of explore$": (*RELEASE, "kanon_sql/explore", "templates/duckdb/lattice.sql"),
    "of subsets$": ("kanon_sql/profiling", "templates/duckdb/subsets.sql"),
    "^Two releases": (
        "templates/macros/shared/composed_k_anonymity.sql",
        "templates/macros/shared/composed_l_diversity.sql",
    ),
    "^Local recoding$": (*RELEASE, "templates/duckdb/local_recoding.sql"),
    "of the best levels$": (*RELEASE, "templates/duckdb/lattice.sql"),
    "of published tables$": (
        "templates/macros/shared/cells.sql",
        "templates/macros/shared/published_cells.sql",
        "templates/macros/shared/differences.sql",
    ),
    "records on one machine": AUDIT,
    "of known events$": (
        "templates/macros/shared/events.sql",
        "templates/macros/shared/known_events.sql",
        "templates/macros/shared/km_anonymity.sql",
    ),
    "of synthetic tables$": (
        "templates/macros/shared/made_from.sql",
        "templates/macros/shared/stacked.sql",
        "templates/macros/shared/uniques_of_stacked.sql",
        "templates/macros/shared/values_in_common.sql",
        "templates/macros/shared/replicated_uniques.sql",
        "templates/macros/shared/copied_records.sql",
        "templates/macros/shared/singling_out.sql",
        "templates/macros/shared/disclosive_in_synthetic.sql",
        "templates/macros/shared/correct_attribution.sql",
    ),
    "for assistants$": (*AUDIT, "kanon_sql/assistant"),
}
"""By a pattern of the title of a part: the files whose last change ages its tables."""
OLD = "Measured before the last change of what it measures."


def machine() -> str:
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return f"{os.cpu_count()} cores, {memory:.0f} GiB, {platform.system()} {platform.machine()}"


def measured(timed: str) -> str:
    """The line below a heading: commit, day, machine and versions."""
    commit = git("rev-parse", "--short=8", "HEAD")
    changed = " with changes" if git("status", "--porcelain", "kanon_sql", "templates") else ""
    return (
        f"Commit {commit}{changed}, {date.today()}. {machine()}; Python "
        f"{platform.python_version()}, DuckDB {version('duckdb')}, kanon-sql "
        f"{version('kanon-sql')}. {timed}"
    )


def publish(
    title: str,
    sections: Iterable[tuple[str, Iterable[str]]],
    timed: str = "Median of paired runs, files warm.",
) -> None:
    """Print the sections as they are measured, and write what there is of them after each row, so
    that nothing is lost if the rest takes too long."""
    for heading, rows in sections:
        lines = [measured(timed), ""]
        for row in rows:
            print(row, flush=True)
            lines.append(row)
            write(title, heading, lines)


def write(title: str, heading: str, lines: Sequence[str]) -> None:
    """Put a section in the place of the one of its part that has its heading. The others stay."""
    parts = read()
    parts.setdefault(title, {"": ""})[heading] = "\n".join(lines)
    RESULTS.write_text(text_of(parts), encoding="utf-8")


Parts = dict[str, dict[str, str]]
"""By title of a part: its sections by heading, "" for what stands before the first."""


def read() -> Parts:
    """The parts of results.md, in order."""
    text = RESULTS.read_text(encoding="utf-8") if RESULTS.exists() else ""
    parts: Parts = {}
    for part in re.split("^# ", text, flags=re.M)[1:]:
        title, _, body = part.partition("\n")
        before, *sections = re.split("^## ", body, flags=re.M)
        parts[title] = {"": before.strip()} | {
            heading: body.strip()
            for heading, _, body in (section.partition("\n") for section in sections)
        }
    return parts


def text_of(parts: Parts) -> str:
    blocks = []
    for title, sections in parts.items():
        blocks.append(f"# {title}")
        for heading, body in sections.items():
            blocks += [*([f"## {heading}"] if heading else []), *([body] if body else [])]
    return "\n\n".join(blocks) + "\n"


def mark_old() -> list[str]:
    """Mark each table that is older than the last change of what it measures; return their
    headings."""
    parts, old = read(), []
    for title, sections in parts.items():
        of_part = re.search(r"^Commit (\w+)", sections[""], flags=re.M)
        for heading, body in sections.items():
            if not heading:
                continue
            body = body.replace(f"**{OLD}**\n\n", "")
            commit = re.search(r"^Commit (\w+)", body, flags=re.M) or of_part
            if is_old(commit[1] if commit else "", title):
                body = f"**{OLD}**\n\n{body}"
                old.append(f"{title}: {heading}")
            sections[heading] = body
    RESULTS.write_text(text_of(parts), encoding="utf-8")
    return old


def is_old(commit: str, title: str) -> bool:
    """Whether the files that a part measures have changed since a commit, or it is unknown."""
    files = files_of(title)
    return not commit or git("diff", "--name-only", commit, "HEAD", "--", *files) != ""


def files_of(title: str) -> tuple[str, ...]:
    """The files that a part measures."""
    return next(files for words, files in MEASURED_FILES.items() if re.search(words, title))


def git(*arguments: str) -> str:
    """What git prints; where it fails, as for a commit that it does not have, its error."""
    ran = subprocess.run(
        ["git", *arguments], cwd=HERE.parent, capture_output=True, text=True, check=False
    )
    return (ran.stdout if ran.returncode == 0 else ran.stderr).strip()
