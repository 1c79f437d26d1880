-- Cast
select cast(case when x > 1 then cast(x as double) end as varchar) as y from t;

select
    to_char(case when x > 1 then cast(x as double) end, 'TME') as y
from t;

-- Case
select case when x = floor(x) then '1' else cast(x as varchar) end as y from t;

select
    case
        when x = floor(x)
        then '1'
        else case
            when try_cast(cast(x as varchar) as double) = x
            then cast(x as varchar)
            else to_char(x, 'TME')
        end
    end as y
from t;

-- TryCast
select try_cast(x as double) as y from t;

select
    try_cast(cast(x as varchar) as double) as y
from t;

-- TryCast
select try_cast(x as date) as y from t;

select
    case
        when regexp_like(
            cast(x as varchar),
            '^[0-9]{4}-[0-9]{2}-[0-9]{2}([ T][0-9]{2}:[0-9]{2}(:[0-9]{2}([.][0-9]{1,6})?)?)?$'
        )
        then try_cast(left(cast(x as varchar), 10) as date)
    end as y
from t;

-- TryCast
select try_cast(x as timestamp) as y from t;

select
    case
        when regexp_like(
            cast(x as varchar),
            '^[0-9]{4}-[0-9]{2}-[0-9]{2}([ T][0-9]{2}:[0-9]{2}(:[0-9]{2}([.][0-9]{1,6})?)?)?$'
        )
        then try_cast(cast(x as varchar) as timestampntz)
    end as y
from t;

-- TryCast
select try_cast(x as bigint) as y from t;

select
    case
        when x between -9223372036854775808 and 9223372036854774784
        then cast(x as bigint)
    end as y
from t;

-- TryCast
select try_cast(floor(x) as decimal(38, 0)) as y from t;

select
    case when abs(floor(x)) < 1e38 then cast(floor(x) as decimal(38, 0)) end as y
from t;

-- TryCast
select try_cast(x as decimal(38, 2)) as y from t;

select
    case
        when abs(try_cast(cast(x as varchar) as double)) < 1e38
        then cast(x as decimal(38, 2))
    end as y
from t;

-- RegexpFullMatch
select x from t where regexp_full_match(x, '-?[0-9]+([.][0-9]+)?');

select
    x
from t
where
    regexp_like(x, '-?[0-9]+([.][0-9]+)?');

-- IgnoreNulls
select any_value(x) as y from t;

select
    any_value(x) as y
from t;

-- Encode
select encode(x) as y from t;

select
    hex_encode(cast(x as varchar)) as y
from t;
