-- NullSafeEQ
select x from t where a is not distinct from b;

select
    x
from t
where
    (a = b or (a is null and b is null));

-- NullSafeNEQ
select x from t where a is distinct from b;

select
    x
from t
where
    not (a = b or (a is null and b is null)) is true;

-- TryCast
select try_cast(x as double) as y from t;

select
    case
        when cast(
            x as varchar(max)
        ) ~ '^ *[-+]?([0-9]{1,200}([.][0-9]{0,200})?|[.][0-9]{1,200})([eE][-+]?[0-9]{1,2})? *$'
        then cast(x as double precision)
    end as y
from t;

-- TryCast
select try_cast(x as date) as y from t;

select
    case
        when cast(
            x as varchar(max)
        ) ~ '^[0-9]{4}-[0-9]{2}-[0-9]{2}([ T][0-9]{2}:[0-9]{2}(:[0-9]{2}([.][0-9]{1,6})?)?)?$'
        then cast(cast(x as timestamp) as date)
    end as y
from t;

-- TryCast
select try_cast(x as timestamp) as y from t;

select
    case
        when cast(
            x as varchar(max)
        ) ~ '^[0-9]{4}-[0-9]{2}-[0-9]{2}([ T][0-9]{2}:[0-9]{2}(:[0-9]{2}([.][0-9]{1,6})?)?)?$'
        then cast(x as timestamp)
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
        when abs(
            case
                when cast(
                    x as varchar(max)
                ) ~ '^ *[-+]?([0-9]{1,200}([.][0-9]{0,200})?|[.][0-9]{1,200})([eE][-+]?[0-9]{1,2})? *$'
                then cast(x as double precision)
            end
        ) < 1e38
        then cast(x as decimal(38, 2))
    end as y
from t;

-- RegexpFullMatch
select x from t where regexp_full_match(x, '-?[0-9]+([.][0-9]+)?');

select
    x
from t
where
    x ~ '^(-?[0-9]+([.][0-9]+)?)$';

-- Window
select sum(x) over (order by y) as n from t;

select
    sum(x) over (order by y rows between unbounded preceding and current row) as n
from t;

-- GroupConcat
select string_agg(x, ',' order by y) as z from t;

select
    listagg(x, ',') within group (order by y) as z
from t;

-- GroupConcat
select string_agg(x, ',' order by x) as z from t;

select
    listagg(x, ',') within group (order by x) as z
from t;

-- IgnoreNulls
select any_value(x) as y from t;

select
    any_value(x) as y
from t;

-- Like
select x from t where x like 'a\b%';

select
    x
from t
where
    x like 'a\\\\b%';

-- ILike
select x from t where x ilike 'A\b%';

select
    x
from t
where
    x ilike 'A\\\\b%';

-- Encode
select encode(x) as y from t;

select
    cast(cast(x as varchar(max)) as varbyte(65535)) as y
from t;
