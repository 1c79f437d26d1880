"""Warnings to accompany the verdicts, a sentence or two each."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence

from kanon_sql.auditing.summary import profile
from kanon_sql.errors import plural
from kanon_sql.plan.answers import Answers, everyone, smallest, total, uniques
from kanon_sql.plan.audit_plan import (
    SURVEY,
    SURVEY_CLASSES,
    InsensitiveStep,
    Plan,
    ReferenceStep,
    UnassignedStep,
)
from kanon_sql.plan.earlier_plan import EarlierStep
from kanon_sql.plan.join_columns import can_be_equal
from kanon_sql.plan.question import ResolvedQuestion
from kanon_sql.plan.sensitive_plan import (
    AttributeStep,
    DiverseBySpellingStep,
    NamedValuesStep,
    SensitiveStep,
    ValuesStep,
)
from kanon_sql.question.hierarchy import DATES, Years
from kanon_sql.question.hierarchy_table import summary as summary_of_faults
from kanon_sql.question.other_tables import REFERENCE
from kanon_sql.results.table import CheckResult, Summary, homogeneous_members
from kanon_sql.sql.tables import Row, Table

_FEW = 20
"""Number of records below which nearly all values differ in any column."""
_MOST_CERTAIN = _MOST_ALONE = 0.05
"""Share of the records (people) above which a warning names certain sensitive values, or records
unique in an insensitive column."""
_MOST_SENTENCES, _MOST_NAMED = 3, 5
"""Maximum number of unassigned columns with a sentence each, and named in the one for all."""


def warnings(plan: Plan, answers: Answers) -> Iterator[str]:
    """All warnings of an audit, a sentence or two each."""
    if not answers.sizes:
        return
    yield from left_out(plan.question)
    yield from time_zones(
        plan.question, [name for name, at in plan.question.spec.levels.items() if at]
    )
    referred = (column for other in plan.question.others for column in other.generalised)
    faults = [
        summary_of_faults(level.levels.faults, show_values=plan.question.facts.show_values)
        for level in (*plan.question.levels, *referred)
    ]
    for fault in dict.fromkeys(faults):
        yield from fault.splitlines()
    for column in plan.question.roles.unassigned:
        if plan.question.table.embedded and column.unusable_because:
            yield f'"{column.name}" is not looked at: it {column.unusable_because}'
    yield from _unassigned_warnings(plan, answers)
    yield from _insensitive_warnings(plan, answers)
    yield from _profile_warnings(answers)
    for attribute in plan.question.sensitive if not plan.question.wildcard else ():
        yield from _constant_warning(attribute.name, plan, answers)
        yield from _sham_diversity(attribute.name, plan, answers)
    yield from _unmatched_values(plan, answers)
    yield from _survey_warnings(answers.rows(SURVEY))
    if plan.question.wildcard and plan.question.sensitive:
        yield (
            "nulls: wildcard: the sensitive attributes are not measured, because compatible "
            "records form no classes."
        )
    for step in plan.of(ReferenceStep):
        yield from _match_warnings(step, answers.rows(step.name)[0], plan.question.wildcard)
    for release in plan.of(EarlierStep):
        yield from _earlier_warnings(release, plan, answers)
    if len(plan.question.earlier) > 1:
        yield (
            f"Each of the {len(plan.question.earlier)} earlier releases is measured with this one "
            "by itself. What all of them disclose together is not measured, and may be more."
        )


def certain_values(checks: Iterable[CheckResult], summary: Summary) -> Iterator[str]:
    """A warning about each attribute that a class makes certain and no homogeneity check covers."""
    checks = tuple(checks)
    diverse = [
        check.parameters["sensitive"]
        for check in checks
        if check.model == "l_diversity" and check.holds is not None
    ]
    for check, count, out_of in homogeneous_members(checks, summary):
        if check.holds is None and count > _MOST_CERTAIN * out_of:
            members = "record" if summary.people is None else "person"
            sensitive = check.parameters["sensitive"]
            advice = " A check of l-diversity or homogeneity bounds how many."
            yield (
                f"The {sensitive} of {plural(count, members)} ({100 * count / out_of:.1f} %) is "
                f"certain: their class has no other.{'' if sensitive in diverse else advice}"
            )


WITH_ZONE = ("WITH TIME ZONE", "TIMESTAMPTZ_NS")
"""How the type of a point in time with a zone ends."""


def time_zones(question: ResolvedQuestion, generalised: Container[str]) -> Iterator[str]:
    """A warning about each quasi-identifier with a time zone that is generalised to dates."""
    for column in question.roles.quasi_identifiers:
        levels = question.roles.hierarchy(column).levels or ()
        has_dates = any(level in DATES or isinstance(level, Years) for level in levels)
        if has_dates and column.name in generalised and column.type.endswith(WITH_ZONE):
            yield f'"{column.name}" has a time zone. Its days, months and years are those of UTC.'


def zones_kept(table: Table, but: Container[str]) -> Iterator[str]:
    """A warning that names the columns, `but` some, that a release publishes with a time zone."""
    names = [
        f'"{column.name}"'
        for column in table.columns
        if column.type.endswith(WITH_ZONE) and column.name not in but
    ]
    if names:
        yield (
            f"{', '.join(names)} {'has' if len(names) == 1 else 'have'} a time zone: a data frame "
            "keeps it, a file holds the same points in time in UTC."
        )


def left_out(question: ResolvedQuestion) -> Iterator[str]:
    """Warnings about files that a glob skips."""
    for table in question.tables:
        if table.left_out:
            yield (
                f"{table.name} leaves out {', '.join(table.left_out)}, as a shell does: a name "
                "that begins with a dot is hidden, and may be left by an interrupted program."
            )


def _unassigned_warnings(plan: Plan, answers: Answers) -> Iterator[str]:
    """Warnings about unassigned columns with about as many different values as records (people)."""
    step = next(plan.of(UnassignedStep), None)
    distinct_of = None if step is None else answers.row(step.name)
    if step is None or distinct_of is None:
        return
    members = everyone(answers.counted)
    least = members * plan.question.table.nearly_all
    names = [
        f'"{name}"'
        for number, name in enumerate(step.columns, start=1)
        if members > 1
        and (
            (distinct := int(distinct_of[f"kanon_distinct_{number}"])) >= members
            or (members >= _FEW and distinct > least)
        )
    ]
    about = (
        "at least about as many different values as there are people"
        if plan.question.entity
        else "about as many different values as there are records"
    )
    if len(names) > _MOST_SENTENCES:
        more = plural(max(0, len(names) - _MOST_NAMED), "more column")
        others = f" and {more}" if len(names) > _MOST_NAMED else ""
        yield (
            f"{', '.join(names[:_MOST_NAMED])}{others} each have {about} (an approximate count), "
            "so each may identify people by itself. What is published of them is a "
            "quasi-identifier; declare the others as identifiers."
        )
        return
    for name in names:
        yield (
            f"{name} has {about} (an approximate count), so it may identify people by itself. If "
            "it is published, it is a quasi-identifier; if not, declare it as an identifier or as "
            "the entity."
        )


def _insensitive_warnings(plan: Plan, answers: Answers) -> Iterator[str]:
    """A warning about each insensitive column, without a reason, in which many are alone."""
    members = everyone(answers.counted)
    of_columns = (
        (step, row) for step in plan.of(InsensitiveStep) for row in answers.rows(step.name)
    )
    for step, row in of_columns:
        alone = int(row["kanon_alone"])
        if alone > _MOST_ALONE * members:
            name = step.columns[int(row["kanon_column"]) - 1]
            whom = plural(alone, "person" if plan.question.entity else "record")
            yield (
                f'"{name}" is declared insensitive, and {whom} ({100 * alone / members:.1f} %) '
                f"{'has' if alone == 1 else 'have'} a value of it that no other has, so it "
                "identifies them. Make it a quasi-identifier, or write in the spec why it is "
                "harmless: insensitive: {COLUMN: {why: …}}."
            )


def _profile_warnings(answers: Answers) -> Iterator[str]:
    """A warning where all records of a person say more than one of them."""
    if not answers.profiles:
        return
    k, alone = profile(answers).values()
    of_classes = smallest(answers.sizes)
    if alone > uniques(answers):
        yield (
            f"{plural(alone, 'person')} {_verb(alone)} a combination of classes that nobody else "
            "has: whoever knows all their records finds them with certainty."
        )
    elif k < of_classes:
        yield (
            f"The rarest combination of classes is that of {plural(k, 'person')}, where the "
            f"smallest class has {plural(of_classes, 'person')}: whoever knows all their records "
            "finds them among fewer."
        )


def row_on(kind: type[AttributeStep], name: str, plan: Plan, answers: Answers) -> Row | None:
    """The row of the step of a kind on a sensitive attribute; None if it was not run."""
    steps = (step for step in plan.of(kind) if step.column.name == name)
    return next((answers.row(step.name) for step in steps), None)


def _constant_warning(name: str, plan: Plan, answers: Answers) -> Iterator[str]:
    """A warning about a constant sensitive attribute, which classes cannot reveal more of."""
    row = row_on(ValuesStep, name, plan, answers)
    if row is None or row["kanon_values"] > 1:
        return
    if row["kanon_values"] == 0:
        yield (
            f"{name} is NULL in every record, so no model on it shows that anything is protected."
        )
    elif not row["kanon_nulls"]:
        yield (
            f"{name} has the same value in every record: everyone in the table has it. "
            "t-closeness, δ-disclosure and β-likeness compare with the table and hold anyway."
        )


def _sham_diversity(name: str, plan: Plan, answers: Answers) -> Iterator[str]:
    read = next(step for step in plan.of(SensitiveStep) if step.column.name == name)
    sizes = answers.rows(read.name)
    by_null = 0 if plan.question.unknown else total(sizes, "kanon_diverse_by_null_classes")
    if by_null:
        yield (
            f"{plural(by_null, 'class')} {_verb(by_null)} one {name} plus missing values: anyone "
            f"who ignores the missing ones knows the {name}. To count missing values as no value: "
            "--sensitive-nulls unknown."
        )
    row = row_on(DiverseBySpellingStep, name, plan, answers)
    by_spelling = int(row["kanon_diverse_by_spelling_classes"] or 0) if row else 0
    if by_spelling:
        yield (
            f"{plural(by_spelling, 'class')} {_verb(by_spelling)} several values of {name} by "
            "spelling alone: they differ by case, outer spaces or the way a number is written."
        )


def _verb(count: int) -> str:
    return "has" if count == 1 else "have"


def _unmatched_values(plan: Plan, answers: Answers) -> Iterator[str]:
    of_values = (
        (step, row) for step in plan.of(NamedValuesStep) for row in answers.rows(step.name)
    )
    for step, row in of_values:
        lacking = step.named - int(row["kanon_occurring"] or 0)
        if lacking:
            values = (
                "The one value" if step.named == 1 else f"{lacking:,} of the {step.named:,} values"
            )
            yield (
                f"{values} named in {step.check.model.name()} never "
                f"{'occurs' if step.named == 1 else 'occur'} in "
                f"{step.check.model.parameters['sensitive']}: check the spelling."
            )


def _survey_warnings(survey: Sequence[Row]) -> Iterator[str]:
    if len(survey) > SURVEY_CLASSES:
        yield (
            f"The individual risk is not computed: more than {SURVEY_CLASSES:,} classes differ in "
            "their size or the sum of their weights. Round the weights."
        )


def _match_warnings(step: ReferenceStep, row: Row, wildcard: bool) -> Iterator[str]:
    unmatched = int(row["kanon_unmatched_classes"])
    exceeding = int(row["kanon_exceeding_classes"])
    reference = REFERENCE.called(step.reference)
    if unmatched:
        records = plural(int(row["kanon_unmatched_records"]), "record")
        yield (
            f"Nobody in {reference} matches {plural(unmatched, 'class')} ({records}) of the "
            "release, so it can't contain the release: check for another spelling, another time "
            "or another region."
        )
    if exceeding:
        yield (
            f"In {plural(exceeding, 'class')} {reference} has fewer people than the release, so it "
            "can't contain the release"
            f"{' with its NULLs, which match everything' if wildcard else ''}."
        )


def _earlier_warnings(step: EarlierStep, plan: Plan, answers: Answers) -> Iterator[str]:
    earlier, row = plan.question.earlier[step.earlier], step.row(answers)
    k, name = int(row["kanon_least"]), earlier.called
    for group, where in (("joiners", "this release"), ("leavers", name)):
        alone = row[f"kanon_{group}_k"]
        if alone is not None and alone < k:
            people = int(row[f"kanon_{group}"])
            yield (
                f"{plural(people, 'person')} {'is' if people == 1 else 'are'} only in {where}, and "
                f"the smallest crowd among them has {plural(int(alone), 'person')}, against "
                f"{plural(k, 'person')} among those in both: an attacker who knows that someone "
                f"{'joined' if group == 'joiners' else 'left'} searches among them alone."
            )
    for column in plan.question.sensitive:
        before = earlier.sensitive.get(column.name)
        if before and not can_be_equal(column, before):
            yield (
                f'"{before.name}" of {earlier.table.name} is {before.type}, and "{column.name}" of '
                f"this release is {column.type}, so they are not compared. Give both the same type."
            )
        elif not before:
            yield (
                f'{earlier.table.name} has no column "{column.name}", so the two '
                "releases are not compared on it. If it has another name there, give it under "
                f"columns of {name}."
            )
    for candidate in step.candidates:
        if row[f"kanon_least_{candidate.place}"] is None:
            yield (
                f"The classes of this release and of {name} have "
                f"no {candidate.column.name} in common "
                "for anyone who is in both, so composed l-diversity measures nothing: are the "
                "values spelled alike in both?"
            )
