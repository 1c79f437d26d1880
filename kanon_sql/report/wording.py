"""The words of a report: numbers with their units, one sentence a model, what follows from it.

Nothing here knows a terminal, Markdown or HTML. A space that must not be folded is `\\u00a0`;
who writes plain text turns it into a space at the end, with `plain`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from kanon_sql.answers import the_reference
from kanon_sql.models import MODELS
from kanon_sql.result import SHOWN, AuditFindings, CheckResult, HistogramBin, TableResult

KEPT_TOGETHER = "\u00a0"
PERSONAL_DATA = "This output now contains personal data (--show-values). Handle it as such."
STATUS_WORDS = {
    "holds": "holds",
    "violated": "VIOLATED",
    "accepted": "accepted",
    "measured": "measured",
    "no_data": "no data",
    "error": "failed",
}
_TO = "\u2013"
_BIN_STARTS = (1, 2, 5, 10, 100)
_PLURALS = {"class": "classes", "person": "people"}


VerdictStatus = Literal["holds", "violated", "accepted", "measured"]


class Phrases(NamedTuple):
    """What a check found: what is achieved beside what was asked, and how far it reaches."""

    achieved: str
    extent: str


@dataclass(frozen=True)
class Verdict:
    """One check in words."""

    status: VerdictStatus
    title: str
    achieved: str
    extent: str

    @property
    def word(self) -> str:
        return STATUS_WORDS[self.status]


@dataclass(frozen=True)
class Bin:
    """The records (people) in classes of some neighbouring sizes. `small` is below a demanded k."""

    label: str
    count: int
    share: str
    fraction: float
    small: bool
    note: str = ""


# --- numbers and names ----------------------------------------------------------------------


def plain(text: str) -> str:
    """The text with ordinary spaces, once it is folded."""
    return text.replace(KEPT_TOGETHER, " ")


def number(value: int | float) -> str:
    """A number with its thousands apart; a fraction with four digits.

    >>> number(1204311), number(0.25), number(float("inf"))
    ('1,204,311', '0.25', 'infinite')
    """
    if isinstance(value, int):
        return f"{value:,}"
    if value in (float("inf"), float("-inf")):
        return "infinite"
    return f"{value:,.4g}"


def counted(value: int, noun: str) -> str:
    """A number with the thing it counts.

    >>> plain(counted(1, "class")), plain(counted(2100, "class"))
    ('1 class', '2,100 classes')
    """
    word = noun if value == 1 else _PLURALS.get(noun, f"{noun}s")
    return f"{value:,}{KEPT_TOGETHER}{word}"


def ordinal(place: int) -> str:
    """
    >>> [ordinal(place) for place in (1, 2, 3, 4, 11, 22)]
    ['1st', '2nd', '3rd', '4th', '11th', '22nd']
    """
    teen = place % 100 in (11, 12, 13)
    return f"{place}{'th' if teen else {1: 'st', 2: 'nd', 3: 'rd'}.get(place % 10, 'th')}"


def percent(fraction: float) -> str:
    """A share that never rounds to nothing or to all.

    >>> [plain(percent(x)) for x in (0, 0.0001, 0.675, 0.9999, 1)]
    ['0 %', 'less than 0.1 %', '67.5 %', 'more than 99.9 %', '100 %']
    """
    if fraction in (0, 1):
        figure = f"{fraction:.0%}"[:-1]
    elif fraction < 0.001:
        figure = f"less than{KEPT_TOGETHER}0.1"
    elif fraction > 0.999:
        figure = f"more than{KEPT_TOGETHER}99.9"
    else:
        figure = f"{fraction * 100:.1f}"
    return f"{figure}{KEPT_TOGETHER}%"


def printable(name: str) -> str:
    r"""A name that can't move the cursor or break a line.

    >>> printable("zip\x1b[31m"), printable("Straße 🏠")
    ('zip\\x1b[31m', 'Straße 🏠')
    """
    return "".join(
        character if character.isprintable() else repr(character)[1:-1] for character in name
    )


def listed(names: Sequence[str]) -> str:
    return ", ".join(printable(name) for name in names)


def cells(rows: Sequence[Mapping[str, Any]]) -> list[list[str]]:
    """Shown rows as text under their column names; nothing where there are no rows."""
    if not rows:
        return []
    values = ((("NULL" if v is None else str(v)) for v in row.values()) for row in rows)
    return [[printable(cell) for cell in row] for row in (rows[0], *values)]


def member(table: TableResult) -> str:
    """What a class is made of: records, or people where an entity is set."""
    return "person" if table.entity else "record"


def members(table: TableResult) -> str:
    return "people" if table.entity else "records"


# --- one entry a model ----------------------------------------------------------------------


def _k_anonymity(check: CheckResult, table: TableResult) -> Phrases:
    k: int | None = check.parameters.get("k")
    as_value = check.details.get("achieved_nulls_as_value")
    found = f"k is {number(check.achieved)}"
    if as_value is not None and as_value != check.achieved:
        found = (
            f"k is {number(as_value)} with NULL as a value, "
            f"{number(check.achieved)} with NULL as a wildcard"
        )
    if check.holds is False:
        extent = f"{_violating(check, table)} of fewer than {counted(k or 0, member(table))}"
    elif check.holds:
        extent = f"every class has {number(check.achieved)} or more {members(table)}"
    else:
        extent = f"the smallest class has {counted(check.achieved, member(table))}"
    return Phrases(_asked(found, k), extent)


def _k_map(check: CheckResult, table: TableResult) -> Phrases:
    k: int | None = check.parameters.get("k")
    reference = _reference(check)
    found = f"k is {number(check.achieved)} in {reference}"
    if check.holds is False:
        extent = f"{_violating(check, table)} that match fewer than {number(k or 0)} in {reference}"
    elif check.achieved == 0:
        unmatched = counted(check.details["unmatched_classes"], "class")
        extent = f"nobody in {reference} matches {unmatched} of the release"
    else:
        extent = f"every class matches {number(check.achieved)} or more in {reference}"
    return Phrases(_asked(found, k), extent)


def _homogeneity(check: CheckResult, table: TableResult) -> Phrases:
    sensitive = printable(check.parameters["sensitive"])
    if check.achieved == 0:
        return Phrases(f"no class with a single {sensitive}", "no class gives a value of it away")
    several = check.details.get("several_valued_classes", 1 if table.entity else 0)
    which = f"a {sensitive} that everyone of the class has" if several else f"a single {sensitive}"
    found = f"{counted(check.achieved, 'class')} with {which}"
    alone = check.details.get("singleton_classes", 0)
    parts = _homogeneous_parts(check.achieved - alone, alone, table)
    if check.holds is None:
        return Phrases(found, parts)
    return Phrases(_asked(found, "none"), f"{_violating(check, table)}: {parts}")


def _homogeneous_parts(together: int, alone: int, table: TableResult) -> str:
    return (
        f"{counted(together, 'class')} of 2 or more {members(table)} "
        f"{'shares' if together == 1 else 'share'} one value, "
        f"{counted(alone, member(table))} {'is' if alone == 1 else 'are'} alone"
    )


@dataclass(frozen=True)
class ClassWords:
    """What is said of a model that is judged on its worst class; {0} is a number."""

    found: str
    thresholds: tuple[str, ...]
    violating: str
    """Of the classes that fail, after how many they are; {0} is the threshold."""
    worst: str
    """Of the worst class, where it is good enough."""
    always: bool = False
    """Whether that is worth a line where nothing was demanded, too."""
    certain: bool = False
    """Whether a class fails too in which everyone has some value, whatever others there are."""


def _worst_class(words: ClassWords) -> Callable[[CheckResult, TableResult], Phrases]:
    """The words of a model that is judged on its worst class."""

    def phrases(check: CheckResult, table: TableResult) -> Phrases:
        given = [key for key in words.thresholds if check.parameters.get(key) is not None]
        asked = " and ".join(
            number(check.parameters[key])
            if given == [words.thresholds[0]]
            else f"{key} {number(check.parameters[key])}"
            for key in given
        )
        if check.achieved is None:
            return Phrases(_asked("no class has a known value", asked or None), "")
        found = words.found.format(number(check.achieved), **_plain_details(check))
        if check.holds is False:
            threshold = check.parameters.get(words.thresholds[0])
            extent = words.violating.format(number(threshold) if threshold is not None else asked)
            if words.certain and table.entity:
                extent += ", or with one that everyone of the class has"
            return Phrases(_asked(found, asked), f"{_violating(check, table)} {extent}".strip())
        worst = words.worst.format(number(check.achieved), **_plain_details(check))
        return Phrases(_asked(found, asked or None), worst if check.holds or words.always else "")

    return phrases


def _plain_details(check: CheckResult) -> dict[str, str]:
    return {
        key: number(value) for key, value in check.details.items() if isinstance(value, int | float)
    }


def _recursive(check: CheckResult, table: TableResult) -> Phrases:
    length = check.parameters["l"]
    words = ClassWords(
        found="no c would do" if check.achieved == math.inf else "c must exceed {0}",
        thresholds=("c",),
        violating=f"where too little is left from the {ordinal(length)} value on",
        worst=_too_few_values(length, table)
        if check.achieved == math.inf
        else _confidence(check, length),
        always=True,
    )
    return _worst_class(words)(check, table)


def _too_few_values(length: int, table: TableResult) -> str:
    """Why no number would do; people may have several values, and all of a class one of them."""
    or_certain = ", or one that everyone of the class has" if table.entity else ""
    return f"a class has fewer than {counted(length, 'value')}{or_certain}"


def _confidence(check: CheckResult, length: int) -> str:
    """How sure whoever rules out values becomes; of allowed values one may be surer."""
    confidence = check.details.get("confidence")
    if confidence is None:
        return "of the values that are not allowed to become known"
    ruled_out = f"after {counted(length - 2, 'value')} ruled out, " if length > 2 else ""
    return f"{ruled_out}one is {percent(confidence)} sure of a value at most"


def _t_closeness(check: CheckResult, table: TableResult) -> Phrases:
    distance = {"equal": "", "ordered": " by rank", "hierarchical": " in the tree"}
    words = ClassWords(
        f"t is {{0}}{distance[check.parameters.get('distance', 'equal')]}",
        ("t",),
        "farther than that from the table",
        "the farthest class is {0} from the table",
    )
    return _worst_class(words)(check, table)


def _delta_disclosure(check: CheckResult, table: TableResult) -> Phrases:
    present = check.details.get("present_only")
    lacking = check.achieved == math.inf
    words = ClassWords(
        "δ is {0}",
        ("delta",),
        "where a value is too much more or less frequent",
        "a class lacks a value of the table"
        + (f"; over the values present δ is {number(present)}" if present is not None else "")
        if lacking
        else "no value is more or less frequent by a larger factor than exp {0}",
        always=lacking,
    )
    return _worst_class(words)(check, table)


def _enhanced_beta(check: CheckResult, table: TableResult) -> Phrases:
    infinite = check.achieved == math.inf
    words = ClassWords(
        "no β would do" if infinite else "β is {0}",
        ("beta",),
        "where a value gains too much",
        "a value gains more than −ln of its share"
        if infinite
        else "a value is more frequent than in the table by {0} of its share",
        always=infinite,
    )
    return _worst_class(words)(check, table)


def _delta_presence(check: CheckResult, table: TableResult) -> Phrases:
    least, most = check.achieved["min"], check.achieved["max"]
    if least is None:
        found = "no class of the reference has people"
    else:
        found = f"from {number(least)} to {number(most)}"
    bounds = [check.parameters.get(end) for end in ("min", "max")]
    asked = " to ".join(number(bound) if bound is not None else "any" for bound in bounds)
    if check.holds is None:
        return Phrases(found, f"the chance of being in the release, over {_reference(check)}")
    if check.holds:
        return Phrases(_asked(found, asked), f"every class of {_reference(check)} is within")
    classes = counted(check.violating_classes or 0, "class")
    of_people = check.violating_people
    outside = (check.violating_records or 0) if of_people is None else of_people
    people = counted(outside, "person")
    return Phrases(_asked(found, asked), f"{people} of {_reference(check)} in {classes} are out")


def _risk(check: CheckResult, table: TableResult) -> Phrases:
    """Prosecutor and journalist: the highest chance, the average, the share at risk."""
    asked = ", ".join(
        f"{name} {percent(check.parameters[key])}"
        for key, name in (
            ("max_highest", "highest"), ("max_average", "average"), ("max_at_risk", "at risk"),
        )
        if check.parameters.get(key) is not None
    )  # fmt: skip
    extent = (
        f"average {percent(check.details['average'])}, "
        f"{percent(check.details['at_risk'])} of the {members(table)} above "
        f"{percent(check.parameters['threshold'])}"
    )
    if check.violating_classes:
        extent += f"; {_violating(check, table)} too high"
    return Phrases(_asked(f"highest {percent(check.achieved)}", asked or None), extent)


def _share(what: str, bound: str) -> Callable[[CheckResult, TableResult], Phrases]:
    def phrases(check: CheckResult, table: TableResult) -> Phrases:
        asked = check.parameters.get(bound)
        found = _asked(percent(check.achieved), percent(asked) if asked is not None else None)
        return Phrases(found, what.format(members(table)))

    return phrases


def _population_uniqueness(check: CheckResult, table: TableResult) -> Phrases:
    asked = check.parameters.get("max_share")
    found = "no estimate" if check.achieved is None else percent(check.achieved)
    each = ", ".join(
        f"{name} {'none' if share is None else percent(share)}"
        for name, share in check.details["estimates"].items()
    )
    return Phrases(
        _asked(f"estimate {found}", percent(asked) if asked is not None else None),
        f"of {number(check.parameters['population'])} people are unique, by estimate: {each}",
    )


def _k_map_estimate(check: CheckResult, table: TableResult) -> Phrases:
    required = check.details["required"]
    found = f"the smallest class has {counted(check.achieved, member(table))}"
    if check.holds is False:
        extent = f"{_violating(check, table)} of fewer than {number(required)}"
    else:
        extent = "every class is large enough"
    return Phrases(
        f"{found}, estimated need {number(required)}",
        f"{extent} for {number(check.parameters['k'])} people of "
        f"{number(check.parameters['population'])}, by estimate",
    )


PHRASES: dict[str, Callable[[CheckResult, TableResult], Phrases]] = {
    "k_anonymity": _k_anonymity,
    "k_map": _k_map,
    "delta_presence": _delta_presence,
    "homogeneity": _homogeneity,
    "l_diversity": _worst_class(
        ClassWords(
            "l is {0}",
            ("l",),
            "with fewer than {0} values",
            "the least diverse class has l = {0}",
            certain=True,
        )
    ),
    "entropy_l_diversity": _worst_class(
        ClassWords(
            "l is {0}",
            ("l",),
            "less uncertain than {0} equally likely values",
            "the least uncertain class is like {0} equally likely values",
        )
    ),
    "recursive_cl_diversity": _recursive,
    "alpha_k_anonymity": _worst_class(
        ClassWords(
            "α is {0}, k is {k}",
            ("alpha", "k"),
            "where a value is more frequent, or that are too small",
            "a value is held by a share of {0} of a class at most",
        )
    ),
    "p_sensitive_k_anonymity": _worst_class(
        ClassWords(
            "p is {0}, k is {k}",
            ("p", "k"),
            "with fewer values, or that are too small",
            "the least diverse class has p = {0}",
            certain=True,
        )
    ),
    "k_e_anonymity": _worst_class(
        ClassWords(
            "range {0}, {distinct} values",
            ("e", "k"),
            "with a smaller range, or fewer values",
            "the numbers of a class span {0} or more",
            certain=True,
        )
    ),
    "t_closeness": _t_closeness,
    "delta_disclosure": _delta_disclosure,
    "basic_beta_likeness": _worst_class(
        ClassWords(
            "β is {0}",
            ("beta",),
            "where a value gains more",
            "a value is more frequent than in the table by {0} of its share",
        )
    ),
    "enhanced_beta_likeness": _enhanced_beta,
    "prosecutor_risk": _risk,
    "journalist_risk": _risk,
    "marketer_risk": _share("of the {0} are linked to the right person", "max_average"),
    "sample_uniqueness": _share("of the {0} are alone in their class", "max_share"),
    "population_uniqueness": _population_uniqueness,
    "k_map_estimate": _k_map_estimate,
}
"""What is said of each model's result."""


def verdict(check: CheckResult, table: TableResult) -> Verdict:
    """One check in words."""
    phrases = PHRASES[check.model](check, table)
    extent = "; ".join(part for part in (phrases.extent, _beside_baseline(check, table)) if part)
    return Verdict(verdict_status(check), title(check), phrases.achieved, extent)


def verdict_status(check: CheckResult) -> VerdictStatus:
    """What became of a check; `accepted` is violated, and a baseline accepts that."""
    if check.holds is None:
        return "measured"
    if check.holds:
        return "holds"
    return "accepted" if check.accepted else "violated"


def _beside_baseline(check: CheckResult, table: TableResult) -> str:
    """What a baseline says of a check that is violated."""
    if check.holds is not False or check.accepted is None:
        return ""
    if check.accepted:
        then = check.baseline.figures if check.baseline else {}
        had, records = then.get("violating_records"), then.get("records")
        if (
            not had
            or not records
            or (had, records)
            == (
                check.violating_records,
                table.summary.records,
            )
        ):
            return "accepted by the baseline"
        return f"accepted by the baseline, which had {share_of(had, records, 'records')}"
    if check.baseline is None:
        return "not in the baseline"
    if "holds" in check.baseline.worse:
        return "it held in the baseline"
    then, now = check.baseline.figures, check.figures
    worse = ", ".join(
        f"{figure_name(name)} {_of_records(name, now, table.summary.records)} "
        f"(was {_of_records(name, then, then.get('records'))})"
        for name in check.baseline.worse
    )
    return f"worse than in the baseline: {worse}"


def _of_records(name: str, figures: Mapping[str, Any], records: Any) -> str:
    """A figure, with its share of the records if it counts some."""
    value = figures.get(name)
    if value is None or not records or not name.endswith("_records"):
        return figure(value)
    return share_of(value, records)


def share_of(part: int, whole: int, noun: str = "") -> str:
    """A count with what it is a part of, and how large a part.

    >>> plain(share_of(765, 4856)), plain(share_of(647, 4000, "records"))
    ('765 of 4,856, 15.8 %', '647 of 4,000 records, 16.2 %')
    """
    return f"{part:,} of {whole:,}{f' {noun}' if noun else ''}, {percent(part / whole)}"


_FIGURE_NAMES = {
    "achieved": "found",
    "violating_classes": "violating classes",
    "violating_records": "violating records",
    "violating_people": "violating people",
    "min": "least",
    "max": "greatest",
    "at_risk": "at risk",
    "distinct": "distinct values",
    "step4": "of them in step 4",
}


def figure_name(name: str) -> str:
    """What people call a figure of a result.

    >>> figure_name("violating_records"), figure_name("unmatched_classes"), figure_name("k")
    ('violating records', 'unmatched classes', 'k')
    """
    return _FIGURE_NAMES.get(name, name.replace("_", " "))


def figure(value: Any) -> str:
    """A figure of any result; one that is undefined is none.

    >>> figure(1200), figure(None)
    ('1,200', 'none')
    """
    return number(value) if isinstance(value, int | float) else "none"


def title(check: CheckResult) -> str:
    """`homogeneity diagnosis`, `k-map voters`: the model and what it is judged on."""
    about = (check.parameters.get(key) for key in ("sensitive", "reference"))
    joined = ["(others known)"] if check.parameters.get("with_other_sensitive") else []
    named = [printable(name) for name in about if name]
    return " ".join([MODELS[check.model].title, *named, *joined])


def _asked(found: str, threshold: Any) -> str:
    if threshold is None:
        return found
    return f"{found}, asked for {number(threshold) if isinstance(threshold, int) else threshold}"


def _violating(check: CheckResult, table: TableResult) -> str:
    """`812,340 records (67.5 %) in 640,112 classes`; where people count, whose they are, each
    person once: `9 records (4.1 %) of 3 people (2.6 %) in 2 classes`."""
    records, classes = check.violating_records or 0, check.violating_classes or 0
    share = percent(records / (table.summary.records or 1))
    of_whom = ""
    if check.violating_people is not None and table.summary.people:
        of_people = percent(check.violating_people / table.summary.people)
        of_whom = f" of {counted(check.violating_people, 'person')}{KEPT_TOGETHER}({of_people})"
    return (
        f"{counted(records, 'record')}{KEPT_TOGETHER}({share}){of_whom} in "
        f"{counted(classes, 'class')}"
    )


def _reference(check: CheckResult) -> str:
    return printable(str(check.parameters.get("reference") or "the reference"))


# --- the parts of a table's report ----------------------------------------------------------


def headline(table: TableResult) -> list[str]:
    """What was looked at, in parts that stand in one line where it is wide enough."""
    people = table.summary.people
    hypothetical = []
    if table.levels:
        levels = ", ".join(f"{printable(name)} {level}" for name, level in table.levels.items())
        hypothetical = [f"If the table were generalised to {levels}"]
    parts = [*hypothetical, printable(table.name), counted(table.summary.records or 0, "record")]
    if people is not None:
        parts.append(f"{counted(people, 'person')} ({printable(table.entity or '')})")
    parts.append(f"quasi-identifiers {listed(table.quasi_identifiers)}")
    if table.sensitive:
        parts.append(f"sensitive {listed(table.sensitive)}")
    if table.nulls == "wildcard":
        parts.append("NULL matches every value")
    return parts


def verdicts(table: TableResult) -> list[Verdict]:
    return [verdict(check, table) for check in table.checks]


def warnings(table: TableResult) -> list[str]:
    return [printable(warning) for warning in table.warnings]


def histogram_title(table: TableResult) -> str:
    counted_once = any(size.people is not None for size in table.histogram)
    of_several = "smallest " if counted_once else ""
    return f"{members(table).capitalize()} by the size of their {of_several}class"


def histogram(table: TableResult) -> list[Bin]:
    """The class sizes in few bins, such that every demanded k begins one."""
    demanded = {
        check.parameters["k"]
        for check in table.checks
        if check.model == "k_anonymity" and "k" in check.parameters
    }
    starts = sorted({*_BIN_STARTS, *demanded})
    ends = [*(start - 1 for start in starts[1:]), None]
    counts = [_members_between(table, start, end) for start, end in zip(starts, ends, strict=True)]
    total = sum(counts)
    bins = [
        Bin(
            label=_bin_label(start, end),
            count=count,
            share=percent(count / total),
            fraction=count / total,
            small=start < max(demanded, default=0),
            note="alone in their class" if start == 1 else "",
        )
        for start, end, count in zip(starts, ends, counts, strict=True)
        if total
    ]
    return _without_empty_ends(bins)


def _members_between(table: TableResult, start: int, end: int | None) -> int:
    """How many records (people) have a class, or a smallest one, of these sizes; an earlier
    kanon-sql counted a person in each of their classes."""

    def of(size: HistogramBin) -> int:
        if not table.entity:
            return size.records
        return size.size * size.classes if size.people is None else size.people

    return sum(
        of(size)
        for size in table.histogram
        if start <= size.size and (end is None or size.size <= end)
    )


def _bin_label(start: int, end: int | None) -> str:
    if end is None:
        return f"{start:,}+"
    return f"{start:,}" if start == end else f"{start:,}{_TO}{end:,}"


def _without_empty_ends(bins: Sequence[Bin]) -> list[Bin]:
    filled = [position for position, size in enumerate(bins) if size.count]
    return list(bins[filled[0] : filled[-1] + 1]) if filled else []


def findings(table: TableResult) -> list[str]:
    """What the sizes mean: a sentence or two for each kind of attacker."""
    return [
        *_prosecutor(table),
        *_assumed_attackers(table),
        *_generalised_references(table),
        *_journalist(table),
        *_individual(table),
    ]


def _prosecutor(table: TableResult) -> Iterator[str]:
    """The risk to someone of whom it is known that the table has them."""
    risk = table.risk.get("prosecutor")
    if not risk:
        return
    uniques, whose = table.summary.uniques, members(table)
    of_all = sum(size.count for size in histogram(table))
    found = (
        f"with certainty for {number(uniques)} of {number(of_all)} {whose}, and with a chance of"
        if uniques
        else f"with a chance of {percent(risk['highest'])} at most, and of"
    )
    yield (
        "Someone who knows that a person is in this table, and knows these columns, finds the "
        f"person {found} {percent(risk['average'])} on average (prosecutor risk). "
        f"{_above_threshold(risk, table)}"
    )


def _assumed_attackers(table: TableResult) -> Iterator[str]:
    """Whom a check against a reference has in mind, once for each reference."""
    assumed = {
        title(check): check.details["assumes"]
        for check in table.checks
        if "assumes" in check.details
    }
    for check_title, attacker in assumed.items():
        yield f"{check_title} has this attacker in mind: {attacker}."


def _generalised_references(table: TableResult) -> Iterator[str]:
    """The levels at which a reference was looked at, where it was not as it lies."""
    levels = {
        check.parameters["reference"]: check.details["reference_levels"]
        for check in table.checks
        if "reference_levels" in check.details
    }
    for reference, by_column in levels.items():
        named = ", ".join(f"{printable(column)} {level}" for column, level in by_column.items())
        yield (
            f"The records of {printable(the_reference(reference))} were looked at as if "
            f"generalised to {named}."
        )


def _journalist(table: TableResult) -> Iterator[str]:
    """The risk to someone of whom it is not known, through a reference."""
    risk = table.risk.get("journalist")
    if risk:
        yield (
            f"Linking through the reference finds a person with a chance of "
            f"{percent(risk['highest'])} at most, and of {percent(risk['average'])} on average "
            f"(journalist risk). {_above_threshold(risk, table)}"
        )


def _individual(table: TableResult) -> Iterator[str]:
    """The risk to the people of a survey, by how many of the population each stands for."""
    risk = table.risk.get("individual")
    if risk:
        yield (
            f"By the survey weights, {number(risk['expected_reidentifications'])} correct "
            "re-identifications are to be expected; a person's chance is "
            f"{percent(risk['highest'])} at most, and {percent(risk['average'])} on average "
            "(individual risk, an estimate)."
        )


def _above_threshold(risk: Mapping[str, Any], table: TableResult) -> str:
    threshold = f"{number(risk['threshold'] * 100)}{KEPT_TOGETHER}%"
    whom = f"{percent(risk['at_risk'])} of the" if risk["at_risk"] else "none of the"
    return f"The chance is above {threshold} for {whom} {members(table)}."


def silences(table: TableResult) -> list[tuple[str, str]]:
    """What each model that holds does not protect against, as (title, sentence)."""
    held = dict.fromkeys(check.model for check in table.checks if check.holds)
    return [(MODELS[name].title, MODELS[name].silence) for name in held]


def outcome(table: TableResult) -> str:
    """How many of the checks that can fail do."""
    gated = [check for check in table.checks if check.holds is not None]
    accepted = sum(bool(check.accepted) for check in gated)
    violated = sum(check.holds is False for check in gated) - accepted
    if not gated:
        return "Nothing was demanded, so nothing can fail."
    if accepted:
        return _outcome_with_baseline(violated, accepted, len(gated))
    if len(gated) == 1:
        return "The check is violated." if violated else "The check holds."
    if violated:
        return f"{violated} of {len(gated)} checks {'is' if violated == 1 else 'are'} violated."
    return f"{'Both' if len(gated) == 2 else f'All {len(gated)}'} checks hold."


def _outcome_with_baseline(violated: int, accepted: int, gated: int) -> str:
    accepts = f"the baseline accepts {'that' if not violated else f'{accepted} more'}"
    if violated:
        return (
            f"{violated} of {gated} checks {'is' if violated == 1 else 'are'} violated; {accepts}."
        )
    what = (
        "The check is"
        if gated == 1
        else f"{accepted} of {gated} checks {'is' if accepted == 1 else 'are'}"
    )
    return f"{what} violated, and {accepts}: nothing got worse."


def advice(table: TableResult) -> list[str]:
    """What to try next."""
    if table.status == "measured":
        return ["With --k 5 the audit ends with exit code 1 if a class is smaller than 5."]
    return [*_larger_classes(table), *_new_baseline(table)]


def _larger_classes(table: TableResult) -> Iterator[str]:
    if table.status != "violated":
        return
    yield (
        "Fewer or coarser quasi-identifiers make larger classes: leave one out to see what it "
        "costs, or publish a year for a date and the first digits of a code."
    )
    too_small = any(check.model == "k_anonymity" and check.holds is False for check in table.checks)
    if too_small and table.shown is None and table.nulls == "value":
        yield "--show-values lists classes that are too small."


def _new_baseline(table: TableResult) -> Iterator[str]:
    """What to do once a check is better than a baseline accepts."""
    better = [title(check) for check in table.checks if _is_better(check)]
    if better:
        yield (
            f"Better than the baseline accepts: {listed(better)}. kanon-sql baseline writes it "
            "again, so that it stays so."
        )


def _is_better(check: CheckResult) -> bool:
    if check.baseline is None or check.baseline.holds or check.baseline.worse:
        return False
    return bool(check.holds or check.baseline.better)


def footer(table: TableResult) -> str:
    """How long it took, where, and how to see what was asked."""
    statements = counted(len(table.sql), "statement")
    return (
        f"{table.seconds:.1f}{KEPT_TOGETHER}s · {table.engine} · {statements}, "
        f"kanon-sql compile shows {'it' if len(table.sql) == 1 else 'them'}"
    )


def unanswered(table: TableResult) -> str | None:
    """The sentence for a table of which nothing can be said, or None."""
    name = printable(table.name)
    if table.status == "error":
        return f"{name}: the audit failed: {table.error}"
    if table.status == "no_data":
        return (
            f"{name}: no data. No record was found, so nothing is shown to hold (exit code 4). "
            "Look at the source and at the filter."
        )
    return None


def closing(result: AuditFindings) -> str | None:
    """One line over several tables, or None for a single one."""
    if len(result.tables) == 1:
        return None
    if not result.tables:
        return "Nothing was selected, so nothing is shown to hold (exit code 4)."
    by_status: dict[str, list[str]] = {}
    for table in result.tables:
        by_status.setdefault(table.status, []).append(table.name)
    parts = (
        f"{len(names)} {STATUS_WORDS[status]} ({listed(names)})"
        for status, names in by_status.items()
    )
    return f"{len(result.tables)} tables: {'; '.join(parts)}."


def shown_heading(name: str, rows: Sequence[Mapping[str, Any]]) -> str:
    """What the rows of a step are, and whether there may be more of them."""
    title = {"small_classes": "Classes that are too small"}.get(name, name)
    return f"{title}, the first {SHOWN} of them" if len(rows) == SHOWN else title
