"""Written queries held against DuckDB: a cell that changes with an origin is said to carry it.

Tables with every column listed, tables with those alone that have a role.
"""

from __future__ import annotations

import pytest
from random_queries import Trial
from soundness import untold

TRIAL = Trial()
QUERIES = """
-- names: one name for two columns, quoted names, shadowed CTEs, renamed stars
select email as x, zip as x from people
select x from (select email as x, 1 as x from people)
with people as (select email as zip, zip as email from people) select zip from people
with p as (select email as e from people), q as (with p as (select 1 as e) select e from p)
  select p.e, q.e as f from p, q
with A as (select email as "X" from people) select a.x from a
select pid as email, email as pid from people
select * exclude (p.email) from people p join people q using (pid)
select * replace (md5(email) as email) from people
select contact from (select * rename (email as contact) from people)
select t.zip from (select email, zip from people) t(zip, email)
with t(a, b) as materialized (select email, zip from people) select b from t
select columns('[[:alpha:]]+ail') from people
select columns(lambda c: c like 'e%') from people
select * like 'e%' from people
-- names that the database numbers, and those that an alias leaves
select zip, 'masked' as zip from people
select email_1, zip from (select p.*, q.email, 'x' as zip from people p join people q using (pid))
select * exclude (email) from (select 'x' as email, email from people)
select columns('email_.') from (select 'x' as email, email from people)
select email from people as t(id)
with c(id) as (select * from people) select email, zip as x from c
-- columns that the database names
select e from (select unnest({'e': email}) from people) a, zips z
select a.e from (select unnest({'e': email}) from people) a, zips z
select a."max(born)" as m from (select max(born) from people) a, zips z
select "max(born)" as m from (select max(born) from people) a, zips z
-- structs, lists, JSON
select s.* from (select {'a': email, 'b': zip} as s from people)
select a.b.email from (select p as b from people p) a
select to_json(p)->>'email' as j from people p
select k.value from people p, json_each(to_json({'e': p.email})) k
select [e || 'x' for e in [email]] as x from people
select list_reduce([email, zip], lambda a, b: a || b) as x from people
select map {email: zip} as m from people
select t.x from people p, unnest([p.email, p.zip]) as t(x)
select unnest(map_keys(histogram(email))) as k from people
-- tables that see the tables before them
select l.c from people p, lateral (select county as c from zips z where z.zip = p.zip) l
select l.c from people p, (select county as c from zips z where z.zip = p.zip) l
select l.c from people p, (select max(county) as c from zips where zips.zip = p.zip) l
select l.n from people p, lateral (select count(*) as n from codes c where c.dx < p.dx) l
select l.k from people p left join lateral
  (select 1 as k from codes c where c.dx = p.dx and c.dx = 'A') l on true
select l.x from people p, lateral (values (p.email)) l(x)
select l.x from people p, lateral (select p.email as x union all select p.zip) l
-- subqueries
select exists (select 1 from codes c where c.dx < p.dx) as e from people p
select exists (select 1 from (select 1 from codes c where c.dx < p.dx) x) as e from people p
select p.zip = any (select zip from zips where county = 'K') as e from people p
select (select count(*) from (select 1 from codes c where c.dx <= p.dx) q) as n from people p
select (select max(q) from (select z.zip as q from zips z where z.zip = p.zip) w) as m from people p
select array(select county from zips z where z.zip = p.zip) as a from people p
select (with q as (select county from zips z where z.zip = p.zip) select max(county) from q) as m
  from people p
select email as h, (select max(county) from zips where county < h) as m from people
-- joins
select z.county from people p cross join zips z
  qualify row_number() over (partition by p.pid order by (z.zip = p.zip) desc, z.zip) = 1
select max(z.county) as c from people p cross join zips z
  group by p.pid, z.zip having z.zip = max(p.zip)
select z.* from people p natural join zips z
select zip, county from people full join zips using (zip)
select * from ((zips a join people b on a.zip = b.zip) join visits c on b.pid = c.pid)
select * from (zips a join people b on a.zip = b.zip) x
select max(case when p.zip = z.zip then z.county end) as c from people p, zips z group by p.pid
select p.pid, count(z.county) as n from people p
  left join zips z on z.zip = p.zip and z.county = 'K' group by 1
select z.county from people p asof join zips z on p.zip >= z.zip
-- partners that a list of codes selects
select v.room, h.k from visits v left join
  (select p.pid, 1 as k from people p join (values ('A')) c(dx) on c.dx = p.dx) h using (pid)
select v.room, h.k from visits v left join
  (select p.pid, 1 as k from people p join codes c using (dx) where c.dx < 'C') h using (pid)
select v.room, h.k from visits v left join
  (select p.pid, 1 as k from people p semi join (values ('A')) c(dx) on c.dx = p.dx) h using (pid)
select v.room, h.k from visits v left join
  (select p.pid, 1 as k from people p semi join (values ('A')) c(dx) using (dx)) h using (pid)
select v.room, h.k from visits v left join
  (select p.pid, 1 as k from people p natural join (values ('A')) c(dx)) h using (pid)
select v.room, h.pid is null as f from visits v left join
  (select p.pid from people p, (values ('A')) c(dx) where c.dx = p.dx) h using (pid)
select v.room, h.k from visits v left join
  (select pid, 1 as k from people except select pid, 1 from people where dx = 'A') h using (pid)
select v.room, h.k from visits v left join
  (select pid, 1 as k from people group by pid having max(dx) = 'A') h using (pid)
-- unions and recursion
select zip from (select email, zip from people union all select zip, email from people)
select a from (select 1 as a, 2 as b union all by name select email as b, zip as a from people)
select county from (select * from zips union all select zip, email, size from people)
select zip from (select * from people union all select size, zip, email, born, dx, pid from people)
with recursive t(n, e) as (select 1, email from people union all select n + 1, e from t where n < 3)
  select e as x from t
with recursive t as (select 1 as n, '' as e union all
  select n + 1, (select max(email) from people) from t where n < 3) select e as x from t
-- aggregates and windows
select max_by(email, born) as m, any_value(dx order by pid) as a, mode(zip) as z from people
select histogram(zip) as h, arg_min(p, pid) as r from people p
select first(email order by born, pid) filter (where dx = 'A') as f from people
select lag(email) over (partition by size order by pid) as l, max(dx) over () as d from people
select last_value(cost) over w as s, ntile(3) over w as n from visits
  window w as (order by pid, room, day, cost)
select count(*) as n, n + 1 as m, sum(cost) as s, s / n as mean from visits group by all
select max(zip) filter (where dx = 'A') as z from people group by size
-- hashes and masks
select md5(email) as a, sha256(zip) as b, hash(p) as c, left(md5(dx), 3) as d from people p
select regexp_replace(email, '^.', '*') as m, left(zip, 4) || '**' as z from people
-- rows and reshaped tables
from people select email
select p from people p
unpivot (select pid, email, zip from people) on email, zip into name k value v
select * from visits pivot (max(cost) for room in (0, 1, 2))
select max(columns(*)) from people
"""


def written() -> list[str]:
    lines = [line for line in QUERIES.strip().splitlines() if not line.startswith("--")]
    return "\n".join(lines).replace("\n  ", " ").splitlines()


@pytest.mark.parametrize("are_open", [False, True], ids=["listed", "open"])
@pytest.mark.parametrize("sql", written())
def test_a_cell_that_changes_with_an_origin_carries_it(sql: str, are_open: bool) -> None:
    tried = TRIAL.of(sql)

    assert tried is not None
    assert any(tried.changed)
    assert untold(tried, are_open=are_open) == set()
