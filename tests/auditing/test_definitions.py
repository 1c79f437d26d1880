"""What is kept in a database in which nothing may be created: its definition."""

from __future__ import annotations

import pytest

from kanon_sql.engines.cte_store import CteStore


class Kept(CteStore):
    dialect = "duckdb"


@pytest.fixture
def kept() -> Kept:
    """Three definitions, the last of which reads the first."""
    kept = Kept()
    kept.materialise("classes", "select q from people")
    kept.materialise("others", "select r from people")
    kept.create_view("few", "select q from classes limit 2")
    return kept


def test_a_statement_carries_what_it_reads(kept: Kept) -> None:
    assert kept.in_dialect("select count(*) from few") == (
        "with classes as (\nselect q from people\n),\n"
        "few as (\nselect q from classes limit 2\n)\n"
        "select count(*) from few"
    )


def test_a_statement_that_reads_none_is_itself(kept: Kept) -> None:
    assert kept.in_dialect("select count(*) from people") == "select count(*) from people"
    assert kept.transpile("select count(*) from few") == "select count(*) from few"


def test_a_statement_with_ctes_of_its_own(kept: Kept) -> None:
    assert kept.in_dialect("WITH n as (select r from others) select * from n") == (
        "with others as (\nselect r from people\n),\nn as (select r from others) select * from n"
    )


def test_what_is_defined_anew_comes_after_what_it_reads(kept: Kept) -> None:
    kept.materialise("classes", "select r as q from others")

    assert kept.in_dialect("select q from classes") == (
        "with others as (\nselect r from people\n),\n"
        "classes as (\nselect r as q from others\n)\n"
        "select q from classes"
    )


def test_what_is_forgotten_is_not_carried(kept: Kept) -> None:
    kept.drop("few")

    assert kept.in_dialect("select count(*) from few") == "select count(*) from few"


def test_rows_at_hand_are_written_out(kept: Kept) -> None:
    kept.materialise_rows("labels", ("kanon_value", "leaves"), [("it's", 1), ("b", 20)])

    assert " ".join(kept.in_dialect("select leaves from labels").split()) == (
        'with labels as ( select "kanon_value", "leaves" from ( values '
        "('it''s', 1), ('b', 20) ) as kanon_rows (\"kanon_value\", \"leaves\") ) "
        "select leaves from labels"
    )
