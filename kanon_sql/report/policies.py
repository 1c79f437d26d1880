"""The pages on policies: the list, one policy, its outcome on a table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kanon_sql.errors import Message
from kanon_sql.models.catalogue import ALL_MODELS
from kanon_sql.question.policy import Policy, policies
from kanon_sql.report.document import Block, Facts, Heading, Points, Prose
from kanon_sql.report.guides import folded
from kanon_sql.report.words.numbers import on_one_line, printable, sentence
from kanon_sql.results.table import PolicyOutcome, TableResult

READ_BY = {"owner": "read from the owner", "secondary": "read in somebody else's account"}


def overview(listed: Sequence[Policy]) -> str:
    """A paragraph on each policy: identifier, issuer, version, status, and how it was read."""
    lines = ["The policies that are known by name. kanon-sql policy ID prints one.", ""]
    for policy in listed:
        lines += folded(f"{policy.policy}: {_rules(policy)}", "  ", "      ")
        lines += folded(f"{policy.issuer}; {policy.version}", "      ")
        lines += [f"      {policy.status}, {_read(policy.read.by, policy.read.date)}", ""]
    return "\n".join([*lines, *folded(sentence("about_policies"), "")])


def rows() -> str:
    """A row of the page on thresholds for each shipped policy."""
    return "".join(
        f"| {name} | {policy.issuer} | {_rules(policy)} | {policy.status} | "
        f"{_read(policy.read.by, policy.read.date)} |\n"
        for name, policy in policies().items()
        if policy.concerns == "cells"
    )


def page(policy: Policy) -> str:
    """A policy with its sentences, what it expands to, its reading, and what it asks a person."""
    how = f": {' '.join(policy.read.how.split())}" if policy.read.how else ""
    lines = [
        *folded(f"{policy.title} ({policy.policy})", ""),
        "",
        *folded(policy.issuer, "  "),
        *folded(f"{policy.document}, {policy.version}", "  "),
        f"  {policy.address}",
        *folded(f"{policy.status}; {_read(policy.read.by, policy.read.date)}{how}", "  "),
        "",
        "  What it says",
    ]
    for quote in policy.quotes:
        on_page = f", page {quote.page}" if quote.page else ""
        lines += ["", f"    {quote.about}{on_page}"]
        lines += [
            folded_line
            for line in quote.text.strip().splitlines()
            for folded_line in folded(line.strip(), "      ")
        ]
    lines += ["", f"  What is checked, of {policy.concerns}", ""]
    lines += [f"    {rule(check.name(), check.parameters)}" for check in policy.checks]
    lines += [f"    {name}: no number is given; name yours" for name in policy.wanted]
    if policy.totals:
        lines += [f"    totals: {policy.totals}"]
    if policy.confidential:
        hidden = ", ".join(policy.confidential)
        lines += folded(f"Confidential, and hidden from an external audience: {hidden}", "    ")
    if policy.reading:
        lines += ["", "  How it is read", "", *folded(policy.reading, "    ")]
    if policy.asks_a_person:
        lines += ["", "  What it asks a person", ""]
        lines += [
            line for text in policy.asks_a_person for line in folded(text, "    - ", "      ")
        ]
    return "\n".join([*lines, "", *folded(sentence("about_policies"), "  ")])


def rule(model: str, parameters: Mapping[str, Any]) -> str:
    """A rule with its parameters, as --check takes it.

    >>> rule("dominance", {"n": 2, "k": 67, "inclusive": False})
    'dominance:n=2,k=67'
    """
    fields = ALL_MODELS[model].model_fields
    explicit = [
        f"{name}={_value(value)}"
        for name, value in parameters.items()
        if name not in fields or value != fields[name].default
    ]
    return f"{model}:{','.join(explicit)}" if explicit else model


def _value(value: Any) -> str:
    if isinstance(value, list | tuple):
        between = ", " if any(isinstance(item, list | tuple) for item in value) else ","
        return f"[{between.join(map(_value, value))}]"
    return str(value).lower() if isinstance(value, bool) else str(value)


def _rules(policy: Policy) -> str:
    return ", ".join(
        [*(rule(check.name(), check.parameters) for check in policy.checks), *policy.wanted]
    )


def _read(by: str, date: str | None) -> str:
    return f"{READ_BY[by]} on {date}" if date else READ_BY[by]


def outcomes(table: TableResult) -> Iterator[Block]:
    """The blocks on the policies of a table."""
    for policy in table.policies:
        yield from _outcome(policy)
        if policy.asks_a_person:
            yield Prose([f"{policy.id} also asks a person:"])
            yield Points([printable(text) for text in policy.asks_a_person])


def to_sign(policy: PolicyOutcome) -> Iterator[Block]:
    """A policy in a report to sign: its sentences, its outcome, and its questions with a blank."""
    yield Heading([f"{policy.title} ({policy.id})"])
    source = f"{policy.issuer}, {policy.version}"
    facts = [
        ("Whose", printable(source)),
        ("Address", printable(policy.address)),
        ("How it was read", _read(policy.read["by"], policy.read.get("date"))),
    ]
    facts += [
        (f"On {quote['about']}", printable(on_one_line(quote["text"]))) for quote in policy.quotes
    ]
    if policy.reading:
        facts.append(("Reading", printable(on_one_line(policy.reading))))
    yield Facts(facts)
    yield from _outcome(policy)
    if policy.asks_a_person:
        yield Prose(["Answered by a person:"])
        yield Facts([(printable(text), None) for text in policy.asks_a_person])


def _outcome(policy: PolicyOutcome) -> Iterator[Block]:
    """The number of its checks that hold, and its rules that were not checked."""
    where = f"{policy.issuer}, {policy.version}, {READ_BY[policy.read['by']]}"
    verb = "holds" if 1 in (policy.held, policy.asked) else "hold"
    noun = "check" if policy.asked == 1 else "checks"
    held = f"{policy.held} of {policy.asked} {noun} {verb}"
    held = held if policy.asked else "none of its checks was asked"
    outcome = f"{policy.id} ({printable(where)}): {held}."
    yield Prose([outcome, *([sentence("policy_for_cells")] if policy.for_cells else [])])
    if policy.not_asked:
        yield Prose(["Not checked here:"])
        yield Points([unchecked_rule(unchecked) for unchecked in policy.not_asked])


def unchecked_rule(rule_of: Mapping[str, Any]) -> str:
    """A rule that was not checked, and why."""
    reason = printable(Message(rule_of["reason"]))
    return f"{rule(rule_of['model'], rule_of['parameters'])}, {reason}"
