"""Roles followed through one query: each rule, in other dialects, and held against DuckDB."""

from __future__ import annotations

import pytest
from random_queries import tried_queries
from soundness import missed
from sqlglot import exp

from kanon_sql.sql import flow_rules
from kanon_sql.sql.flow_rules import HOWS, RULES, Origin, TracedColumn, known_functions, rule_of
from kanon_sql.sql.flows import Reader, Unreadable
from kanon_sql.sql.query_scope import Relation

PATIENTS = {
    "patient_id": "entity",
    "email": "identifier",
    "zip": "quasi_identifier",
    "born": "quasi_identifier",
    "sex": "quasi_identifier",
    "dx": "sensitive",
}
VISITS = {"patient_id": "entity", "day": "event", "cost": "sensitive"}


def table(name: str, roles: dict[str, str]) -> Relation:
    columns = tuple(
        (each, TracedColumn({Origin(name, each, role): 0})) for each, role in roles.items()
    )
    people = frozenset(o for _, c in columns for o in c.flows if o.role == "entity")
    return Relation(columns, is_open=True, people=people, node=name)


WORLD = {
    ("patients",): table("patients", PATIENTS),
    ("visits",): table("visits", VISITS),
    ("zips",): table("zips", {}),
}


def read(sql: str, dialect: str = "duckdb", reader: type[Reader] = Reader) -> Relation:
    return reader("m", dialect, lambda parts: WORLD.get(tuple(parts[-1:]))).read(sql)


def carried(relation: Relation) -> dict[str, str]:
    """What each column carries, as `way column`."""
    return {
        name: ", ".join(sorted(f"{HOWS[how]} {each.column}" for each, how in column.flows.items()))
        + (" ?" if column.doubts else "")
        for name, column in relation.columns
    }


# --- the table of rules ---------------------------------------------------------------------


def _below(kind: type[exp.Expr]) -> set[type[exp.Expr]]:
    return {kind}.union(*(_below(each) for each in kind.__subclasses__()))


@pytest.mark.parametrize(
    "kind", sorted(_below(exp.Func), key=lambda each: each.__name__), ids=lambda each: each.__name__
)
def test_every_function_falls_under_one_rule(kind: type[exp.Expr]) -> None:
    """By a class that the table names, and no two rows name the same."""
    rows = [rule for rule, classes in RULES.items() if kind in classes]

    assert len(rows) <= 1
    assert rule_of(kind) in RULES


def test_no_class_stands_in_two_rows() -> None:
    classes = [each for row in RULES.values() for each in row]

    assert len(classes) == len(set(classes))


def test_a_rule_without_a_method_needs_its_arguments_alone() -> None:
    plain = ("keep", "value", "default", "arithmetic", "concatenation", "hash", "cut", "comparison")

    assert [rule for rule in RULES if not hasattr(Reader, f"_of_{rule}")] == [
        *(rule for rule in RULES if rule in (*plain, "function"))
    ]


def test_known_functions_are_those_that_sqlglot_has_no_class_for() -> None:
    rules = known_functions()

    assert set(rules.values()) <= set(RULES)
    assert all(name == name.lower() for name in rules)


# --- expressions ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("zip::varchar collate nocase", "carried zip"),
        ("left(zip, 3)", "generalised zip"),
        ("left(zip || sex, 3)", "derived sex, derived zip"),
        ("substr(md5(zip), 1, 4)", "hashed zip"),
        ("md5(left(zip, 3))", "generalised zip"),
        ("md5(zip || sex)", "hashed sex, hashed zip"),
        ("born + interval 3 day", "carried born"),
        ("cost_ - 3", ""),
        ("concat(left(zip, 3), '**')", "generalised zip"),
        ("[zip, sex][1]", "combined sex, combined zip"),
        ("{'a': zip}.a", "carried zip"),
        ("zip = sex", "derived sex, derived zip"),
        ("zip in ('1', '2')", "generalised zip"),
        ("zip like '0%' and dx = 'A'", "generalised dx, generalised zip"),
        ("case when dx = 'A' then zip else sex end", "carried sex, carried zip, generalised dx"),
        ("case dx when 'A' then 1 end", "generalised dx"),
        ("if(dx = 'A', zip, 'x')", "carried zip, generalised dx"),
        ("nullif(zip, dx)", "carried zip, generalised dx"),
        ("greatest(zip, sex)", "carried sex, carried zip"),
        ("random()", ""),
        ("current_date", ""),
        ("'zip'", ""),
        ("list_filter([zip, sex], each -> each <> 'x')", "derived sex, derived zip"),
        ("(select max(day) from visits v where v.patient_id = p.patient_id)",
         "carried day, derived patient_id, derived patient_id"),
        ("exists (select * from visits v where cost > 3)", "derived cost"),
        ("zip in (select z.zip from zips z)", "derived zip"),
        ("zip in (select v.room from visits v where v.cost > 3)", "derived cost, derived zip"),
        ("size in (select v.cost from visits v)", "derived cost"),
        ("p", "combined born, combined dx, combined email, combined patient_id, combined sex, "
              "combined zip"),
        ("row_number() over (order by patient_id)", "hashed patient_id"),
        ("row_number() over (partition by zip order by patient_id)", "ranked patient_id"),
        ("lag(zip) over (partition by patient_id order by born)", "carried zip"),
        ("count(distinct zip) over ()", "aggregated zip"),
        ("sum(born) over w", "derived born"),
        ("cloak(zip)", "derived zip ?"),
        ("pg_catalog.upper(zip)", "carried zip"),
        ("hash(*)", "hashed born, hashed dx, hashed email, hashed patient_id, hashed sex, "
                    "hashed zip"),
    ],
)  # fmt: skip
def test_what_an_expression_carries(expression: str, expected: str) -> None:
    found = read(f"select {expression} as x from patients p window w as (order by sex)")

    assert carried(found)["x"] == expected


@pytest.mark.parametrize(
    ("dialect", "sql", "expected"),
    [
        ("snowflake", "select f.value:name::string as x from patients p, "
                      "lateral flatten(input => p.email) f", {"x": "carried email"}),
        ("snowflake", "select iff(dx = 'A', zip, null) as x from patients",
         {"x": "carried zip, generalised dx"}),
        ("snowflake", "select decode(dx, 'A', zip, sex) as x from patients",
         {"x": "carried sex, carried zip, generalised dx"}),
        ("snowflake", "select nvl2(dx, zip, sex) as x from patients",
         {"x": "carried sex, carried zip, generalised dx"}),
        ("bigquery", "select farm_fingerprint(email) as x, safe_cast(zip as int64) as y "
                     "from `p.d.patients`", {"x": "hashed email", "y": "carried zip"}),
        ("bigquery", "select array_agg(zip order by born limit 1)[offset(0)] as x from patients",
         {"x": "carried zip, ranked born"}),
        ("bigquery", "select e as x from patients, unnest(split(email, '@')) as e",
         {"x": "generalised email"}),
        ("postgres", "select distinct on (zip) sex, born from patients order by zip, born",
         {"sex": "carried sex", "born": "carried born"}),
        ("postgres", "select percentile_cont(0.5) within group (order by born) as x from patients",
         {"x": "carried born"}),
        ("spark", "select y as x from patients lateral view explode(split(email, '@')) e as y",
         {"x": "generalised email"}),
        ("tsql", "select top 3 x = zip, hashbytes('SHA2_256', email) as h from patients p "
                 "outer apply (select v.day from visits v where v.patient_id = p.patient_id) o",
         {"x": "carried zip", "h": "hashed email"}),
    ],
)  # fmt: skip
def test_the_same_in_other_dialects(dialect: str, sql: str, expected: dict[str, str]) -> None:
    assert carried(read(sql, dialect)) == expected


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("select z.county from patients p join zips z on z.zip = left(p.zip, 3)",
         {"county": "looked_up zip"}),
        ("select county from zips where zip = (select max(p.zip) from patients p)",
         {"county": "looked_up zip"}),
        ("select a.county, b.state from patients p join zips a on a.zip = p.zip "
         "join zips b on b.county = a.county",
         {"county": "looked_up zip", "state": "looked_up zip"}),
        ("select b.state from zips b, zips a, patients p where b.county = a.county "
         "and a.zip = p.zip", {"state": "looked_up zip"}),
        ("select v.room from patients p join visits v on v.patient_id = p.patient_id",
         {"room": ""}),
        ("select p.sex, 1 as one from patients p left join "
         "(select patient_id, 1 as k from patients where zip = '1') q "
         "on q.patient_id = p.patient_id", {"sex": "carried sex", "one": ""}),
        ("select q.k as told, coalesce(q.patient_id, 0) as id from patients p left join "
         "(select patient_id, 1 as k from patients where zip = '1') q "
         "on q.patient_id = p.patient_id",
         {"told": "derived zip", "id": "carried patient_id, derived zip"}),
        ("select q.sex from patients p left join patients q "
         "on q.patient_id = p.patient_id and q.dx = 'A'", {"sex": "carried sex, derived dx"}),
        ("select p.zip from patients p join visits v on v.patient_id = p.patient_id "
         "and p.dx = 'A' right join patients q on q.patient_id = p.patient_id",
         {"zip": "carried zip, derived dx"}),
        ("with dear as (select patient_id, day from visits where cost > 3) "
         "select (select max(d.day) from dear d) as x, exists (select 1 from dear) as y "
         "from patients", {"x": "carried day, derived cost", "y": "derived cost"}),
        ("select (select sum(v.cost) from visits v where v.room = p.size) as of_room, "
         "(select sum(v.cost) from visits v) as of_all from patients p",
         {"of_room": "derived cost", "of_all": "aggregated cost"}),
        ("select 'ill' as arm from patients where dx = 'A' union all "
         "select 'well' from patients where dx <> 'A'", {"arm": "derived dx"}),
        ("select o.n from patients p "
         "join (select room, sum(cost) as n from visits group by room) o on o.room = p.size",
         {"n": "derived cost"}),
        ("select o.n from patients p join (select day, sum(cost) as n from visits group by day) o "
         "on o.day = p.born", {"n": "aggregated cost, looked_up born"}),
        ("from patients select zip as a, a || 'x' as b", {"a": "carried zip", "b": "carried zip"}),
        ("select * from (select zip, sex from patients) t(a, b)",
         {"a": "carried zip", "b": "carried sex"}),
        ("select columns('^s') from patients", {"sex": "carried sex"}),
        ("select patients.* exclude (email, dx, born, patient_id) from patients",
         {"zip": "carried zip", "sex": "carried sex"}),
        ("select count(*) filter (where dx = 'A') as n, max(zip) filter (where dx = 'A') as z "
         "from patients", {"n": "aggregated dx", "z": "carried zip, generalised dx"}),
    ],
)  # fmt: skip
def test_what_joins_unions_and_filters_add(sql: str, expected: dict[str, str]) -> None:
    assert carried(read(sql)) == expected


@pytest.mark.parametrize(
    ("sql", "reason"),
    [
        ("select * from patients pivot (count(*) for sex in ('F', 'M'))", "pivot"),
        ("pivot patients on sex using count(*)", "pivot"),
        ("select sum(columns(*)) from patients", "columns_expression"),
        ("select from patients", "empty_select"),
        ("select nowhere from (select zip from patients)", "unresolved_column"),
        ("select cloak(zip) as x from patients", "function"),
        ("select now_of(1) as x from patients", "function"),
        ("select x from elsewhere.things", "unknown_table"),
        ("select x from read_csv('people.csv')", "unknown_table"),
        ("summarize patients", "statement"),
    ],
)
def test_what_cant_be_told_is_a_doubt(sql: str, reason: str) -> None:
    found = read(sql)
    doubts = found.doubts.union(found.rest.doubts, *(each.doubts for _, each in found.columns))

    assert {doubt.reason for doubt in doubts} == {reason}


@pytest.mark.parametrize("sql", ["select 'PLANTED", "selec 'PLANTED' frm x where ((", "(" * 3000])
def test_sql_that_cant_be_parsed_says_its_line_alone(sql: str) -> None:
    with pytest.raises(Unreadable) as raised:
        read(sql)

    assert raised.value.reason == "not_parsed"
    assert "PLANTED" not in str(raised.value)


def test_two_statements_are_not_one() -> None:
    with pytest.raises(Unreadable, match="statement"):
        read("select zip from patients; select sex from patients")


# --- laws -----------------------------------------------------------------------------------

NESTED = (
    "select a.zip3, count(*) as n from (select left(zip, 3) as zip3 from patients) a group by 1"
)


@pytest.mark.parametrize(
    "sql",
    [
        "with a as (select left(zip, 3) as zip3 from patients) "
        "select a.zip3, count(*) as n from a group by 1",
        "with other as (select left(zip, 3) as zip3 from patients) "
        "select zip3, count(*) as n from other group by zip3",
        "with a as (with b as (select zip from patients) select left(zip, 3) as zip3 from b) "
        "select zip3, count(*) as n from a group by all",
    ],
)
def test_a_cte_gives_the_same_as_what_it_names(sql: str) -> None:
    assert read(sql) == read(NESTED)


def test_a_recursion_starts_from_nothing_known() -> None:
    found = read(
        "with recursive t as (select patient_id, zip from patients union all "
        "select t.patient_id, z.zip from t join zips z on z.zip = t.zip) select * from t"
    )

    assert carried(found) == {"patient_id": "carried patient_id", "zip": "carried zip"}
    assert not found.is_unknown


@pytest.mark.parametrize("turned", [False, True])
def test_of_a_recursion_everything_is_known_at_the_end(turned: bool) -> None:
    parts = ["select zip from patients", "select * from t"]
    union = " union all ".join(parts[::-1] if turned else parts)

    found = read(f"with recursive t as ({union}) select * from t")

    assert (carried(found), found.is_unknown) == ({"zip": "carried zip"}, False)


# --- soundness ------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(3))
def test_a_column_that_changes_with_an_origin_carries_it(seed: int) -> None:
    queries = list(tried_queries(seed, 60))

    assert {tried.sql: pairs for tried in queries if (pairs := missed(tried))} == {}
    assert sum(len(origins) for tried in queries for origins in tried.changed.values()) > 30


def test_the_trial_finds_a_rule_that_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """A function that is taken for a constant is missed: so the trial can fail."""
    rules = {**flow_rules._RULE_BY_CLASS, exp.Left: "nothing", exp.Case: "nothing"}
    monkeypatch.setattr(flow_rules, "_RULE_BY_CLASS", rules)

    assert any(missed(tried) for tried in tried_queries(0, 60))
