"""The address of a page: the whole question, nothing else."""

from __future__ import annotations

import pytest
from generated import NAMES, few
from hypothesis import given
from hypothesis import strategies as st

from kanon_sql.explore.address import (
    ALGORITHMS,
    REQUESTS,
    ROLES,
    Question,
    RefusedAddress,
    parsed,
    query,
)
from kanon_sql.question.hierarchy import GeneralizationHierarchy, builder_of, built

COLUMNS = ["zip", "birth.date", "sex", "ill"]
BUILDERS = ["width:5,10", "mask:right", "date:month,year,5y", "prefix:3,2", "suppress"]
HEIGHTS = {"width:5,10": 2, "mask:right": 9, "date:month,year,5y": 3, "prefix:3,2": 2, "": 1}


@st.composite
def questions(draw: st.DrawFn) -> tuple[Question, list[str]]:
    text = st.one_of(st.sampled_from(NAMES), st.text(st.characters(codec="utf-8"), max_size=8))
    columns = draw(st.lists(text, min_size=1, max_size=6, unique_by=str.casefold))
    columns = [name.replace("\r\n", "\n") for name in columns]
    columns = list(dict.fromkeys(columns))
    chosen = [draw(st.sampled_from([*(r for r in ROLES if r != "entity"), ""])) for _ in columns]
    roles = {column: role for column, role in zip(columns, chosen, strict=True) if role}
    hierarchies = {c: draw(st.sampled_from(BUILDERS)) for c in columns if draw(st.booleans())}
    levels = {
        column: draw(st.integers(1, HEIGHTS.get(hierarchies.get(column, ""), 1)))
        for column in columns
        if draw(st.booleans())
    }
    whole = st.one_of(st.none(), st.integers(1, 10**9))
    asked = draw(st.sets(st.sampled_from(REQUESTS)))
    return Question(
        roles, hierarchies, levels, draw(whole), draw(whole),
        draw(st.one_of(st.none(), st.floats(0, 1).map(lambda t: round(t, 9)))),
        tuple(name for name in REQUESTS if name in asked), draw(st.sampled_from(ALGORITHMS)),
        draw(st.sampled_from(["", "5%", "0.5%", "12", "100%"])),
    ), columns  # fmt: skip


@few
@given(case=questions())
def test_a_question_is_its_address(case):
    question, columns = case
    address = query(question, columns)
    assert parsed(address, columns) == question
    assert query(parsed(address, columns), columns) == address
    assert address.isascii()


@few
@given(text=st.text(max_size=40))
def test_any_other_text_is_a_question_or_is_refused(text):
    try:
        question = parsed(text, COLUMNS)
    except RefusedAddress:
        return
    assert parsed(query(question, COLUMNS), COLUMNS) == question


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("role.zap=qi", "the table lacks"),
        ("zip=qi", "no part of a question"),
        ("role.zip=admin", "A role is none of"),
        ("role.zip=qi&role.zip=qi", "given twice"),
        ("role.zip=&role.zip=qi", "given twice"),
        ("k=5&k=5", "given twice"),
        ("role.zip=entity&role.sex=entity", "Two columns"),
        ("level.zip=2", "above the top"),
        ("hierarchy.zip=width:5,10&level.zip=3", "above the top"),
        ("hierarchy.zip=/etc/passwd", "no builder"),
        ("hierarchy.zip=zip.csv", "no builder"),
        ("hierarchy.zip=file", "only if the command"),
        ("hierarchy.zip=width:" + "5," * 200, "no builder"),
        ("hierarchy.zip=width:x", "no builder"),
        ("hierarchy.zip=width:10,15", None),
        ("k=0", "from 1 to"), ("k=-1", "from 1 to"), ("k=1000000001", "from 1 to"),
        ("k=5.0", "whole number"), ("k=\u0665", "whole number"), ("l=0", "from 1 to"),
        ("level.zip=-1", "from 0 to"),
        ("t=1.1", "from 0 to 1"), ("t=nan", "from 0 to 1"), ("t=inf", "from 0 to 1"),
        ("t=-0.1", "from 0 to 1"), ("t=.", "from 0 to 1"),
        ("ask=shell", "asked for"), ("algorithm=best", "algorithm"),
        ("max_suppressed=101%", "share"), ("max_suppressed=-1", "share"),
        ("where=1=1", "no part of a question"), ("source=x.parquet", "no part of a question"),
        ("role.zip", "fields of a form"), ("role.zip=%ff", "fields of a form"),
        ("a.b=c", "the table lacks"), ("role.=qi", "the table lacks"),
    ],
)  # fmt: skip
def test_what_is_refused(text, why):
    if why is None:
        assert parsed(text, COLUMNS).hierarchies
        return
    with pytest.raises(RefusedAddress, match=why) as refused:
        parsed(text, COLUMNS)
    for part in ("zap", "passwd", "zip.csv", "admin", "shell", "width:x", "birth"):
        assert part not in str(refused.value)


def test_a_builder_named_like_a_file_opens_none(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mask:right").write_text("secret,1\n")
    (tmp_path / "suppress").write_text("secret,1\n")
    assert built("mask:right").hierarchy is None
    assert parsed("hierarchy.zip=mask:right", COLUMNS).hierarchies == {"zip": "mask:right"}
    assert built(parsed("hierarchy.zip=suppress", COLUMNS).hierarchies["zip"]).hierarchy is None


def test_a_hierarchy_of_the_command_stands_whatever_the_address_says():
    fixed = {"zip": GeneralizationHierarchy(hierarchy={"a": ["b"]})}
    assert parsed("hierarchy.zip=file&level.zip=1", COLUMNS, fixed) == Question(levels={"zip": 1})
    with pytest.raises(RefusedAddress, match="only if the command"):
        parsed("hierarchy.zip=mask:right", COLUMNS, fixed)


def test_the_canonical_address_has_the_order_of_the_table():
    mixed = "t=0.20&role.ill=sensitive&k=05&role.birth.date=qi&level.sex=0&ask=sets,measure&l="
    question = parsed(mixed, COLUMNS)
    assert query(question, COLUMNS) == (
        "role.birth.date=qi&role.ill=sensitive&k=5&t=0.2&ask=measure%2Csets"
    )


@pytest.mark.parametrize(
    "text", [*BUILDERS, "cuts:18,40", "depths:1,2", "round:10", "width:5,suppress"]
)
def test_a_builder_is_found_again_from_its_levels(text):
    assert builder_of(built(text)) == text


@pytest.mark.parametrize(
    "hierarchy",
    [
        {"levels": [{"width": 5}, {"cuts": [10]}]},
        {"levels": [{"width": 5}], "clip": [0, 9]},
        {"hierarchy": {"a": ["b"]}},
        {"levels": [{"width": 5, "origin": 2}]},
    ],
)
def test_what_no_builder_makes_has_none(hierarchy):
    assert builder_of(GeneralizationHierarchy.model_validate(hierarchy)) is None
