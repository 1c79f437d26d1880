"""Warnings to accompany the verdicts, a sentence or two each."""

from __future__ import annotations

from collections.abc import Iterator

from kanon_sql.auditing.answers import Answers, smallest, total
from kanon_sql.auditing.unassigned import said_of
from kanon_sql.errors import plural
from kanon_sql.plan.audit_plan import SURVEY_CLASSES, Plan, ReferenceStep
from kanon_sql.plan.earlier_plan import EarlierStep
from kanon_sql.plan.join_columns import are_of_one_kind
from kanon_sql.plan.question import ResolvedQuestion
from kanon_sql.plan.sensitive_plan import SpellingLook
from kanon_sql.spec.earlier_release import the_earlier
from kanon_sql.spec.hierarchy_table import summary as summary_of_faults
from kanon_sql.spec.question_parts import the_reference
from kanon_sql.sql.tables import Row


def warnings(plan: Plan, answers: Answers) -> Iterator[str]:
    """All warnings of an audit, a sentence or two each."""
    if not answers.sizes:
        return
    yield from left_out(plan.bound)
    referred = (each for bound in plan.bound.beside for each in bound.levels)
    faults = [
        summary_of_faults(each.levels.faults, show_values=plan.bound.facts.show_values)
        for each in (*plan.bound.levels, *referred)
    ]
    for fault in dict.fromkeys(faults):
        yield from fault.splitlines()
    yield from said_of(answers.telling_apart, of_people=plan.bound.entity is not None)
    yield from _profiles(answers)
    for look in plan.looks:
        yield from _constant(look, answers)
        yield from _sham_diversity(look, plan, answers)
    yield from _unheard_of_values(plan, answers)
    yield from _survey(answers)
    if plan.bound.wildcard and plan.bound.sensitive:
        yield (
            "nulls: wildcard: the sensitive attributes are not measured, because compatible "
            "records form no classes."
        )
    for step in plan.references:
        yield from _matching(step, answers.matches[step.step.name], plan.bound.wildcard)
    for release in plan.earlier:
        yield from _with_earlier(release, plan, answers)
    if len(plan.earlier) > 1:
        yield (
            f"Each of the {len(plan.earlier)} earlier releases is measured with this one by "
            "itself. What all of them say together is not measured, and may be more."
        )


def left_out(bound: ResolvedQuestion) -> Iterator[str]:
    """Warnings about files that a glob skips."""
    for table in bound.tables:
        if table.left_out:
            yield (
                f"{table.name} leaves out {', '.join(table.left_out)}, as a shell does: a name "
                "that begins with a dot is hidden, and may be left by a program that was killed."
            )


def _profiles(answers: Answers) -> Iterator[str]:
    if not answers.profiles:
        return
    k = int(answers.profiles[0]["kanon_size"])
    alone = int(answers.profiles[0]["kanon_profiles"]) if k == 1 else 0
    if k < smallest(answers.sizes):
        yield (
            f"People have records in several classes, and the combination says more than each "
            f"class: {alone:,} {'person is' if alone == 1 else 'people are'} alone with "
            f"theirs, and the fewest who share one are {k:,}, against a k of "
            f"{smallest(answers.sizes):,}."
        )


def _constant(look: SpellingLook, answers: Answers) -> Iterator[str]:
    """A warning about a constant sensitive attribute, which classes cannot reveal more of."""
    name, row = look.column.name, answers.looks.get(look.at_all.name)
    if row is None or row["kanon_values"] > 1:
        return
    if row["kanon_values"] == 0:
        yield (
            f"{name} is NULL in every record, so nothing is shown to be protected: no model on it "
            "says anything."
        )
    elif not row["kanon_nulls"]:
        yield (
            f"{name} has the same value in every record: whoever is in the table has it. "
            "t-closeness, δ-disclosure and β-likeness compare with the table and hold all the same."
        )


def _sham_diversity(look: SpellingLook, plan: Plan, answers: Answers) -> Iterator[str]:
    name = look.column.name
    read = next(each for each in plan.sensitive if each.column.name == name)
    sizes = answers.sensitive[read.step.name]
    by_null = 0 if plan.bound.unknown else total(sizes, "kanon_diverse_by_null_classes")
    if by_null:
        yield (
            f"Only NULL makes {plural(by_null, 'class')} look diverse in {name}: without it "
            "there is a single value. --sensitive-nulls unknown counts NULL as no value."
        )
    row = answers.looks.get(look.by_spelling.name) if look.by_spelling else None
    by_spelling = int(row["kanon_diverse_by_spelling_classes"] or 0) if row else 0
    if by_spelling:
        yield (
            f"Only spelling makes {plural(by_spelling, 'class')} look diverse in {name}: the "
            "values differ by case, outer spaces or the way a number is written."
        )


def _unheard_of_values(plan: Plan, answers: Answers) -> Iterator[str]:
    for step, row in zip(plan.named_values, answers.named_values, strict=True):
        lacking = step.named - int(row["kanon_occurring"] or 0)
        if lacking:
            values = (
                "The one value" if step.named == 1 else f"{lacking:,} of the {step.named:,} values"
            )
            yield (
                f"{values} that {step.check.model.name()} names never "
                f"{'occurs' if step.named == 1 else 'occur'} in "
                f"{step.check.model.parameters['sensitive']}: spelled as there?"
            )


def _survey(answers: Answers) -> Iterator[str]:
    if answers.survey is not None and len(answers.survey) > SURVEY_CLASSES:
        yield (
            f"The individual risk is not computed: more than {SURVEY_CLASSES:,} classes differ in "
            "their size or the sum of their weights. Round the weights."
        )


def _matching(step: ReferenceStep, row: Row, wildcard: bool) -> Iterator[str]:
    unmatched = int(row["kanon_unmatched_classes"])
    exceeding = int(row["kanon_exceeding_classes"])
    reference = the_reference(step.reference)
    if unmatched:
        records = plural(int(row["kanon_unmatched_records"]), "record")
        yield (
            f"Nobody in {reference} matches {plural(unmatched, 'class')} ({records}) of the "
            "release, so it can't contain the release: look for another spelling, another time "
            "or another region."
        )
    if exceeding:
        yield (
            f"There are fewer people in {reference} than in the release in "
            f"{plural(exceeding, 'class')}, so it can't contain the release"
            f"{' with its NULLs, which match everything' if wildcard else ''}."
        )


def _with_earlier(step: EarlierStep, plan: Plan, answers: Answers) -> Iterator[str]:
    earlier, row = plan.bound.earlier[step.earlier], answers.earlier[step.name]
    k, name = int(row["kanon_least"]), the_earlier(step.earlier)
    for which, where in (("joiners", "this release"), ("leavers", name)):
        alone = row[f"kanon_{which}_k"]
        if alone is not None and alone < k:
            people = int(row[f"kanon_{which}"])
            yield (
                f"{plural(people, 'person')} {'is' if people == 1 else 'are'} only in {where}, and "
                f"the fewest of them who share their classes are {int(alone):,}, against a "
                f"composed k of {k:,}: whoever knows that someone "
                f"{'came' if which == 'joiners' else 'left'} looks among them alone."
            )
    for column in plan.bound.sensitive:
        there = earlier.sensitive.get(column.name)
        if there and not are_of_one_kind(column, there):
            yield (
                f'"{there.name}" of {earlier.table.name} is {there.type}, and "{column.name}" of '
                f"this release is {column.type}, so nothing is said of them together. Give both "
                "the same type."
            )
        elif not there:
            yield (
                f'{earlier.table.name} has no column "{column.name}", so nothing is said of it '
                "together with this release. If it has another name there, say which: columns of "
                f"{name}."
            )
    for each in step.candidates:
        if row[f"kanon_least_{each.place}"] is None:
            yield (
                f"No value of {each.column.name} is in both classes of anyone who is in this "
                f"release and in {name}, so composed l-diversity says nothing: are the values "
                "spelled alike in both?"
            )
