"""The last sections: changes, limitations, evidence, decision."""

from __future__ import annotations

from collections.abc import Iterator

from kanon_sql.report import diff
from kanon_sql.report.document import Block, Facts, Points, Prose, Verbatim
from kanon_sql.report.signed.again import command_of, folded
from kanon_sql.report.signed.subject import Signed, digest_of
from kanon_sql.report.words.numbers import counted, printable
from kanon_sql.results.table import TableResult
from kanon_sql.spec.models.catalogue import MODELS

_MOST_SQL = 80_000
"""Maximum number of SQL characters quoted; the rest is left to compile."""
_ASKED = (
    "The command that was given, without what says how the result is written; paths in it begin "
    "where it was given. It asks the same again. … stands for what is not kept: who connects to a "
    "database, and values that a check names."
)
_MADE_UP = (
    "The result does not keep the command that was given, as one that --output result.json or "
    "--result wrote does. This command is made up from the result and asks the same. Where the "
    "table has its name from a spec, write what is the source there; one in memory is asked from "
    "Python."
)
_OF_COMPILE = "kanon-sql compile, with the same options, prints the SQL without asking anything."
_OF_THE_VIEWS = (
    "The statements audited the release, and the views are how it was made: --output release.sql "
    "writes them to be run."
)
_OF_STATEMENTS = (
    "Each statement can be pasted into the database's own shell. Beside it stands how the SHA-256 "
    "of its text begins."
)
_OF_THE_RELEASE = "It asks the release; the views below are how that was made."
BESIDE_THE_MODELS = (
    "Several releases about the same people: each may hold alone and give a person away together "
    "with another one. kanon-sql explain releases.",
    "Which columns someone may know is a person's judgement, and every figure stands or falls with "
    "it: kanon-sql explain quasi-identifiers.",
    "Which threshold is right is one too: it depends on who receives the table, what they have "
    "promised, and what harm would be done. kanon-sql explain thresholds.",
    "Where an attacker with any background knowledge must be excluded, differential privacy is the "
    "way out; none of these models is. kanon-sql explain limits.",
)


# --- 10 ---------------------------------------------------------------------------------------


def changes(signed: Signed) -> Iterator[Block]:
    """The changes since the earlier result; for external readers without figures."""
    if signed.earlier is not None:
        yield from (diff.in_words if signed.is_external else diff.page)(signed.earlier)


# --- 11 ---------------------------------------------------------------------------------------


def limits(signed: Signed) -> Iterator[Block]:
    """Limitations of the models used, and those of any model."""
    asked = [check for table in signed.answered for check in table.checks]
    gated = [check for check in asked if check.holds is not None] or asked
    models = dict.fromkeys(check.model for check in gated)
    if models:
        yield Facts([(MODELS[name].title, MODELS[name].silence) for name in models], "limit")
    yield Points(BESIDE_THE_MODELS)


# --- 12 ---------------------------------------------------------------------------------------


def evidence(signed: Signed) -> Iterator[Block]:
    """The SQL and the command to reproduce the figures; internal readers only."""
    if signed.is_external:
        return
    yield from _command(signed)
    if not signed.result.tables:
        return
    yield Prose([_OF_THE_VIEWS if signed.made else _OF_COMPILE, _OF_STATEMENTS])
    left = _MOST_SQL
    for table in signed.result.tables:
        blocks = list(_statements(table, signed, left))
        left -= sum(len(each.text) for each in blocks if isinstance(each, Verbatim))
        yield from signed.under_its_name(table, iter(blocks))


def _command(signed: Signed) -> Iterator[Block]:
    """The original command, or a reconstructed one if it wasn't stored."""
    result = signed.result
    if result.asked:
        yield Prose([_ASKED])
        yield Verbatim(folded(printable(result.asked)))
    elif result.tables:
        yield Prose([_MADE_UP, *([_OF_THE_RELEASE] if signed.made else [])])
        for table in result.tables:
            yield Verbatim(command_of(table))


def _statements(table: TableResult, signed: Signed, left: int) -> Iterator[Block]:
    """The statements as collapsible blocks, up to a total size."""
    texts = dict(table.sql)
    if signed.made:
        views = signed.made.views_for_reading
        texts |= {f"view {place}": text for place, text in enumerate(views, start=1)}
    too_much = []
    for name, text in texts.items():
        if len(text) > left:
            too_much.append(f"{name}: {digest_of(text)}")
            continue
        left -= len(text)
        yield Verbatim(text, name, digest_of(text)[:16])
    if too_much:
        yield Prose(
            [
                f"{counted(len(too_much), 'statement')} would make the page too large; kanon-sql "
                "compile prints them. Their SHA-256:"
            ]
        )
        yield Points(too_much)


# --- 13 ---------------------------------------------------------------------------------------


def decision(signed: Signed) -> Iterator[Block]:
    """Blanks for the decision and the signature."""
    yield Points(["released", "released under these conditions", "not released"], "choice")
    blanks = ("Conditions", "Name", "Role", "Date", "Signature")
    yield Facts([(blank, None) for blank in blanks])
