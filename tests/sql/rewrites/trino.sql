-- RegexpFullMatch
select x from t where regexp_full_match(x, '-?[0-9]+([.][0-9]+)?');

select
    x
from t
where
    regexp_like(x, '^(-?[0-9]+([.][0-9]+)?)\z');

-- IgnoreNulls
select any_value(x) as y from t;

select
    arbitrary(x) as y
from t;

-- Right
select right(x, 2) as y from t;

select
    case when length(x) <= 2 then x else substr(x, length(x) - 2 + 1) end as y
from t;

-- Encode
select encode(x) as y from t;

select
    to_utf8(cast(x as varchar)) as y
from t;
