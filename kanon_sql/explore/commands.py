"""The commands that ask for what a page shows."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping

from kanon_sql.anonymizing.release.options import ReleaseOptions
from kanon_sql.errors import plural
from kanon_sql.explore.address import fields_of
from kanon_sql.explore.view import PageView
from kanon_sql.files import without_credentials

_AS_IN_A_SPEC = ("where", "first", "delimiter", "encoding", "skip")
"""The options that are called as their keys in a spec."""


def audit_command(view: PageView) -> str:
    """The audit at these levels."""
    words, levels = _words(view)
    return shlex.join(["kanon-sql", "audit", *words, *levels])


def commands(view: PageView, suppressed: int | None) -> Iterator[tuple[str, str]]:
    """Each command after what it does. `suppressed` is the number of records that the release
    leaves out, None where these are all records, so that there is no release."""
    yield "Audit at these levels:", audit_command(view)
    if not view.question.k or suppressed is None:
        return
    job, (words, _), spec = release_options(view, suppressed), _words(view), view.spec
    is_local = job.algorithm == "local"
    is_in_file = words == [view.table.spec_file] and bool(spec.levels)
    options = {
        "--algorithm": "local" if is_local else "",
        "--level": "" if is_in_file else _at(job.levels),
        "--max-suppressed": str(job.max_suppressed),
        "--unassigned": "error" if view.undecided else _unless("warn", spec.unassigned),
        "--entity-in-release": _unless("keep", spec.entity_in_release),
        "--output": f"release.{view.table.release_kind}",
    }
    words += [word for option, text in options.items() if text for word in (option, text)]
    words += ["--pull-frequencies"] if job.pull_frequencies else []
    left_out = f", without the {plural(suppressed, 'record')} in violation of a check"
    of_search = " of the local search" if is_local else ""
    does = f"Write the release{of_search or (left_out if suppressed else '')}:"
    yield does, shlex.join(["kanon-sql", "anonymize", *words])


def _unless(default: str, chosen: str) -> str:
    return "" if chosen == default else chosen


def release_options(view: PageView, suppressed: int) -> ReleaseOptions:
    """The options of the release by the local search, or else at the levels of a question, without
    so many records."""
    pulls = not view.table.is_local
    if view.question.algorithm == "local":
        most = view.question.max_suppressed or 0
        return ReleaseOptions(algorithm="local", max_suppressed=most, pull_frequencies=pulls)
    # Without a level they would be searched.
    options = ReleaseOptions(max_suppressed=suppressed, pull_frequencies=pulls)
    return options.at_levels(view.spec.levels or {view.names[0]: 0})


def _words(view: PageView) -> tuple[list[str], list[str]]:
    """The options of a question, and those of its levels; a spec file, if options can't say it."""
    spec = view.spec
    files = {name: each.hierarchy for name, each in view.table.files.items() if name in view.names}
    has_files = all(isinstance(file, str) for file in files.values())
    if not has_files or spec.sensitive_nulls != "value":
        return [view.table.spec_file], []
    thresholds = "klt" if spec.sensitive else "k"
    hierarchies = {**view.question.hierarchies, **files}
    dates = {"": spec.dates} if isinstance(spec.dates, str) else spec.dates or {}
    options = (
        ("--qi", ",".join(map(_csv, view.names))),
        ("--sensitive", ",".join(map(_csv, spec.sensitive))),
        ("--identifiers", ",".join(map(_csv, spec.identifiers))),
        ("--entity", spec.entity),
        *(
            (f"--{name}", text)
            for name, text in fields_of(view.question, [])
            if name in [*thresholds]
        ),
        *(
            ("--hierarchy", f"{_csv(name)}={hierarchies[name]}")
            for name in view.names
            if name in hierarchies
        ),
        ("--connect", spec.connect and without_credentials(spec.connect)),
        ("--header", {True: "yes", False: "no", None: None}[spec.header]),
        *((f"--{name}", getattr(spec, name)) for name in _AS_IN_A_SPEC),
        *(("--date-format", f"{name and f'{_csv(name)}='}{text}") for name, text in dates.items()),
        ("--decimal", spec.decimal if spec.decimal != "." else None),
        *(("--null-string", text) for text in spec.null_strings),
        ("--hierarchy-faults", "warn" if spec.hierarchy_faults == "warn" else None),
    )
    words = [str(word) for option in options if option[1] for word in option]
    source = without_credentials(str(spec.source))
    return [source, *words], ["--level", _at(spec.levels)] if spec.levels else []


def _at(levels: Mapping[str, int]) -> str:
    return ",".join(f"{_csv(name)}={level}" for name, level in levels.items())


def _csv(name: str) -> str:
    """A name as an option takes it: quoted as in CSV if it has a comma, a quote, a blank or =."""
    is_plain = re.fullmatch(r"[^\s,\"=']+", name)
    return name if is_plain else '"{}"'.format(name.replace('"', '""'))
