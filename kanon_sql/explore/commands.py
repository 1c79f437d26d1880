"""The commands that ask for what a page shows."""

from __future__ import annotations

import csv
import io
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from kanon_sql.engines import is_embedded
from kanon_sql.errors import plural
from kanon_sql.explore.address import Question, fields_of
from kanon_sql.files import without_credentials
from kanon_sql.question.hierarchy import GeneralizationHierarchy
from kanon_sql.question.spec import TableSpec


class Commands(NamedTuple):
    """A question with its spec, as words of a shell."""

    question: Question
    spec: TableSpec
    hierarchies: Mapping[str, GeneralizationHierarchy]
    """The hierarchies that no address can change."""
    spec_file: str
    """The name of the spec file, for a question that options can't ask."""

    @property
    def audit(self) -> str:
        """The audit at these levels."""
        words, levels = self._words
        return _shell(["kanon-sql", "audit", *words, *levels])

    def listed(self, suppressed: int) -> Iterator[tuple[str, str]]:
        """Each command after what it does; the release leaves out so many records."""
        words, levels = self._words
        yield "Audit at these levels:", self.audit
        release = [
            "--output",
            "release.parquet" if is_embedded(self.spec.connect) else "release.sql",
        ]
        if not self.question.k:
            return
        if self.question.algorithm == "local":
            most = ["--max-suppressed", self.question.max_suppressed or "0"]
            how = ["--algorithm", "local", *most]
            yield (
                "Write the release of the local search:",
                _shell(["kanon-sql", "anonymize", *words, *how, *release]),
            )
            return
        most = ["--max-suppressed", str(suppressed)]
        left_out = f", without the {plural(suppressed, 'record')} in violation of a check"
        yield (
            f"Write the release{left_out if suppressed else ''}:",
            _shell(["kanon-sql", "anonymize", *words, *levels, *most, *release]),
        )

    @property
    def _words(self) -> tuple[list[str], list[str]]:
        """The options of a question, and those of its levels; a spec file, if options can't say
        it."""
        spec = self.spec
        files = {
            name: each.hierarchy
            for name, each in self.hierarchies.items()
            if name in spec.quasi_identifiers
        }
        is_long = spec.dates or not all(isinstance(file, str) for file in files.values())
        if is_long or spec.sensitive_nulls != "value":
            return [self.spec_file], []
        words = [without_credentials(str(spec.source))]
        lists = {"--qi": spec.quasi_identifiers, "--sensitive": spec.sensitive,
                 "--identifiers": spec.identifiers}  # fmt: skip
        for flag, names in lists.items():
            words += [flag, ",".join(map(_csv, names))] if names else []
        words += ["--entity", spec.entity] if spec.entity else []
        for name, value in fields_of(self.question, []):
            is_shown = name == "k" or (name in ("l", "t") and spec.sensitive)
            words += [f"--{name}", value] if is_shown else []
        hierarchies = {
            **self.question.hierarchies,
            **{name: str(file) for name, file in files.items()},
        }
        for name in spec.quasi_identifiers:
            if name in hierarchies:
                words += ["--hierarchy", f"{_csv(name)}={hierarchies[name]}"]
        for flag, value in _input_options(spec):
            words += [flag, value]
        at = [f"{_csv(name)}={level}" for name, level in spec.levels.items()]
        return words, ["--level", ",".join(at)] if at else []


def _csv(name: str) -> str:
    """A name as an option takes it: quoted as in CSV if it has a comma, a quote, a blank or =."""
    if re.fullmatch(r"[^\s,\"=']+", name):
        return name
    text = io.StringIO()
    csv.writer(text, quoting=csv.QUOTE_ALL, lineterminator="").writerow([name])
    return text.getvalue()


def _shell(words: Sequence[str]) -> str:
    return " ".join(map(shlex.quote, words))


def _input_options(spec: TableSpec) -> Iterator[tuple[str, str]]:
    """The options by which the table is read."""
    if spec.connect:
        yield "--connect", without_credentials(spec.connect)
    if spec.header is not None:
        yield "--header", "yes" if spec.header else "no"
    for flag in ("where", "first", "delimiter", "encoding", "skip"):
        if (value := getattr(spec, flag)) is not None:
            yield f"--{flag}", str(value)
    if spec.decimal != ".":
        yield "--decimal", spec.decimal
    for text in spec.null_strings:
        yield "--null-string", text
    if spec.hierarchy_faults != "error":
        yield "--hierarchy-faults", spec.hierarchy_faults
