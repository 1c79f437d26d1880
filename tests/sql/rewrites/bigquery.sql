-- Table
select "Flu" from "flu";

select
    `Flu`
from `flu` as `kanon_rows_of_flu`;

-- Table
select a, a.b from a;

select
    a,
    kanon_rows_of_a.b
from a as kanon_rows_of_a;

-- NullSafeEQ
select x from t where a is not distinct from b;

select
    x
from t
where
    (a = b or (a is null and b is null));

-- TryCast
select try_cast(x as date) as y from t;

select
    cast(safe_cast(x as datetime) as date) as y
from t;

-- TryCast
select try_cast(floor(x) as decimal(38, 0)) as y from t;

select
    safe_cast(floor(x) as bignumeric) as y
from t;

-- TryCast
select try_cast(x as decimal(38, 2)) as y from t;

select
    safe_cast(x as bignumeric) as y
from t;

-- Cast
select cast(x as decimal(9, 2)) as y from t;

select
    cast(x as bignumeric) as y
from t;

-- RegexpFullMatch
select x from t where regexp_full_match(x, '-?[0-9]+([.][0-9]+)?');

select
    x
from t
where
    regexp_contains(x, '^(-?[0-9]+([.][0-9]+)?)$');

-- IgnoreNulls
select any_value(x) as y from t;

select
    any_value(x) as y
from t;

-- Order
select count(*) as n, y as z from t group by y order by n, z limit 2;

select
    count(*) as n,
    y as z
from t
group by
    z
order by
    n,
    case when y is null then 1 else 0 end,
    z
limit 2;

-- Order
select sum(x) over (order by y) as n from t;

select
    sum(x) over (order by case when y is null then 1 else 0 end, y) as n
from t;

-- Order
select rank() over (order by case when a is null then 1 else 0 end, t.a) as place from t;

select
    rank() over (order by case when a is null then 1 else 0 end, t.a) as place
from t;

-- Like
select x from t where x like 'a\b%';

select
    x
from t
where
    x like 'a\\\\b%';

-- TimeToStr
select strftime(x, '%Y-%m') as y from t;

select
    format_date('%Y-%m', cast(x as date)) as y
from t;

-- TimeToStr
select strftime(cast(x as date), '%Y') as y from t;

select
    format_date('%Y', cast(cast(x as date) as date)) as y
from t;

-- Encode
select encode(x) as y from t;

select
    cast(cast(x as string) as bytes) as y
from t;
