"""The last sections: changes, limitations, evidence, decision."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence

from kanon_sql.models.catalogue import ALL_MODELS
from kanon_sql.report import diff
from kanon_sql.report.document import Block, Facts, Points, Prose, Verbatim
from kanon_sql.report.policies import to_sign
from kanon_sql.report.signed.scope import outcome
from kanon_sql.report.signed.subject import Signed, digest_of
from kanon_sql.report.words.models import STATUS_WORDS
from kanon_sql.report.words.numbers import counted, number, printable, sentence, wording
from kanon_sql.report.words.tables import limitation, limitation_in
from kanon_sql.results.table import TableResult

_MOST_SQL = 80_000
"""Maximum number of SQL characters quoted; the rest is left to compile."""


# --- 10 ---------------------------------------------------------------------------------------


def changes(signed: Signed) -> Iterator[Block]:
    """The changes since the earlier result; for external readers without figures."""
    if signed.earlier is not None:
        yield from (diff.in_words if signed.is_external else diff.page)(signed.earlier)


# --- 11 ---------------------------------------------------------------------------------------


def policies(signed: Signed) -> Iterator[Block]:
    """Each policy with the sentences that its checks rest on, and lines for its open questions."""
    for table in signed.answered:
        for policy in table.policies:
            yield from to_sign(policy)


# --- 12 ---------------------------------------------------------------------------------------


def limits(signed: Signed) -> Iterator[Block]:
    """Limitations of the models used, and those of any model."""
    checks = [check for table in signed.answered for check in table.checks]
    gated = [check for check in checks if check.holds is not None or check.undecided] or checks
    models = dict.fromkeys(check.model for check in gated)
    if models:
        yield Facts(
            [(ALL_MODELS[name].title, _limitation(name, signed)) for name in models], "limit"
        )
    has_classes = any(table.has_classes for table in signed.answered)
    yield Points(
        wording("beside_the_models" if has_classes or not signed.answered else "beside_the_rules")
    )


def left_out(signed: Signed, parts: Sequence[str]) -> Iterator[Block]:
    """What external readers are not told, with the parts that are for internal readers only."""
    if signed.is_external:
        yield Prose(["Left out for external readers:"])
        yield Points(list(_left_out(signed, parts)))


def _left_out(signed: Signed, parts: Sequence[str]) -> Iterator[str]:
    words = wording("left_out")
    cells = [table for table in signed.answered if not table.has_classes]
    classes = [table for table in signed.answered if table.has_classes]
    if signed.is_rounded and (classes or signed.costs):
        yield words["counts"].format(number(signed.min_cell), number(signed.fewest_classes))
    if signed.is_rounded and any(table.checks for table in classes):
        yield words["quotients"]
    for table in classes:
        reason = "withheld" if signed.withholds(table) else "coarse"
        if signed.hides_sizes(table):
            yield words[reason].format(printable(table.name), number(signed.fewest_classes))
    if cells:
        yield words["sizes_of_cells"].format(number(signed.min_cell))
    if any(signed.withholds(table) for table in cells):
        yield words["parameters"]
    release = signed.anonymization
    if release and (release.associations or release.distributions):
        yield words["columns"]
    if signed.earlier:
        yield words["changes"]
    if parts:
        yield words["parts"].format(", ".join(parts))


def _limitation(model: str, signed: Signed) -> str:
    tables = signed.answered
    if len(tables) == 1:
        return limitation_in(tables[0], model)
    names = list(dict.fromkeys(name for table in tables for name in table.sensitive))
    return limitation(model, names)


# --- 13 ---------------------------------------------------------------------------------------


def evidence(signed: Signed) -> Iterator[Block]:
    """The SQL and the command to reproduce the figures; internal readers only."""
    if signed.is_external:
        return
    yield from _command(signed)
    if not signed.result.tables:
        return
    if signed.result.spec:
        yield Verbatim(signed.result.spec, "The spec; … stands for values and secrets.")
    if signed.sql == "linked":
        yield from _linked(signed)
        return
    texts = [sql for table in signed.result.tables for sql in _texts(table, signed).values()]
    pasted = sentence("pasted") if all(map(_can_be_pasted, texts)) else sentence("not_pasted")
    yield Prose(
        [
            sentence("about_views") if signed.anonymization else sentence("about_compile"),
            pasted,
            sentence("about_codes"),
        ]
    )
    left = _MOST_SQL
    for table in signed.result.tables:
        blocks = list(_statements(table, signed, left))
        left -= sum(len(block.text) for block in blocks if isinstance(block, Verbatim))
        yield from signed.under_its_name(table, iter(blocks))


def _linked(signed: Signed) -> Iterator[Block]:
    """The SHA-256 of each statement, and the command that prints it."""
    if signed.file is None:
        yield Prose([sentence("attached_in_python")])
    else:
        yield Prose([sentence("attached_by")])
        yield Verbatim(f"kanon-sql report {shlex.quote(printable(signed.file))} --sql attached")
    for table in signed.result.tables:
        digests = [f"{name}: {digest_of(text)}" for name, text in _texts(table, signed).items()]
        yield from signed.under_its_name(table, iter([Points(digests)]))


def _command(signed: Signed) -> Iterator[Block]:
    """The command that was run, if the result stores it."""
    command = signed.result.asked
    if command:
        yield Prose([sentence("command")])
        yield Verbatim(folded(printable(command)))
    elif signed.result.tables:
        yield Prose([sentence("no_command")])


def folded(command: str) -> str:
    """A command with one option per line, joined by backslashes.

    >>> print(folded("kanon-sql audit t.csv --qi 'a b' --k 5"))
    kanon-sql audit t.csv \\
        --qi 'a b' \\
        --k 5
    """
    try:
        arguments = shlex.split(command)
    except ValueError:  # not from a shell: the file was edited
        return command
    lines: list[list[str]] = [[]]
    for word in arguments:
        if word.startswith("--"):
            lines.append([])
        lines[-1].append(shlex.quote(word))
    return " \\\n    ".join(" ".join(words) for words in lines)


def _statements(table: TableResult, signed: Signed, left: int) -> Iterator[Block]:
    """The statements as collapsible blocks, up to a total size."""
    too_much = []
    for name, text in _texts(table, signed).items():
        if len(text) > left:
            too_much.append(f"{name}: {digest_of(text)}")
            continue
        left -= len(text)
        mark = "" if _can_be_pasted(text) else " (can't be pasted)"
        yield Verbatim(text, f"{name}{mark}", digest_of(text)[:16])
    if too_much:
        yield Prose(
            [
                f"{counted(len(too_much), 'statement')} would make the page too large; kanon-sql "
                "compile prints them. Their SHA-256:"
            ]
        )
        yield Points(too_much)


def _texts(table: TableResult, signed: Signed) -> dict[str, str]:
    """The statements of a table, and the views of a release."""
    views = signed.anonymization.views_for_reading if signed.anonymization else ()
    return dict(table.sql) | {f"view {number}": text for number, text in enumerate(views, start=1)}


def _can_be_pasted(text: str) -> bool:
    """Whether a statement runs in a shell: it has no redacted value, and reads no table of the run
    or of Python."""
    own = ("…", '"kanon_private', '"pandas.', '"polars.', '"pyarrow.')
    return not any(mark in text for mark in own)


# --- 14 ---------------------------------------------------------------------------------------


def decision(signed: Signed) -> Iterator[Block]:
    """The verdict, and blanks for the decision and the signature, on one sheet."""
    outcomes = [outcome(table, signed) for table in signed.answered]
    word = STATUS_WORDS[signed.status].lower()
    yield Prose([*(outcomes or [f"The verdict: {word}."]), f"SHA-256: {signed.digest}"], "flush")
    yield Points(["released", "released under these conditions", "not released"], "choice")
    blanks = ("Conditions", "Name", "Role", "Date", "Signature")
    yield Facts([(blank, None) for blank in blanks])
