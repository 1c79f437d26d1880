-- Join
select release_classes.x from release_classes join earlier_classes on release_classes.x is not distinct from earlier_classes.x and release_classes.y is not distinct from earlier_classes.y;

select
    release_classes.x
from release_classes
join earlier_classes
    on array[row(release_classes.x, release_classes.y)] = array[row(earlier_classes.x, earlier_classes.y)];

-- TimeToStr
select strftime(x, '%Y-%m') as y from t;

select
    coalesce(to_char(x, 'YYYY-MM'), cast(x as text)) as y
from t;

-- TimeToStr
select strftime(cast(x as date), '%Y') as y from t;

select
    coalesce(to_char(cast(x as date), 'YYYY'), cast(cast(x as date) as text)) as y
from t;

-- Extract
select extract(year from x) as y from t;

select
    case when isfinite(x) then extract(year from x) end as y
from t;

-- Extract
select extract(year from cast(x as date)) as y from t;

select
    case when isfinite(cast(x as date)) then extract(year from cast(x as date)) end as y
from t;

-- Year
select year(x) as y from t;

select
    case when isfinite(x) then extract(year from x) end as y
from t;

-- NullSafeEQ
select x from t where a is not distinct from b;

select
    x
from t
where
    array[a] = array[b];

-- TryCast
select try_cast(x as double) as y from t;

select
    case
        when cast(x as text) ~ '^\s*[-+]?(\d{1,200}(\.\d{0,200})?|\.\d{1,200})([eE][-+]?\d{1,2})?\s*$'
        then cast(x as double precision)
    end as y
from t;

-- TryCast
select try_cast(x as date) as y from t;

select
    case
        when cast(x as text) ~ '^\s*\d{1,4}-\d{1,2}-\d{1,2}([ T]\d{1,2}:\d{2}(:\d{2}(\.\d{1,6})?)?)?\s*$'
        and pg_input_is_valid(cast(x as text), 'date')
        then cast(x as date)
    end as y
from t;

-- TryCast
select try_cast(x as timestamp) as y from t;

select
    case
        when cast(x as text) ~ '^\s*\d{1,4}-\d{1,2}-\d{1,2}([ T]\d{1,2}:\d{2}(:\d{2}(\.\d{1,6})?)?)?\s*$'
        and pg_input_is_valid(cast(x as text), 'timestamp')
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
                when cast(x as text) ~ '^\s*[-+]?(\d{1,200}(\.\d{0,200})?|\.\d{1,200})([eE][-+]?\d{1,2})?\s*$'
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

-- IgnoreNulls
select any_value(x) as y from t;

select
    (array_agg(x))[1] as y
from t;

-- Like
select x from t where x like 'a\b%';

select
    x
from t
where
    x like 'a\\b%';

-- ILike
select x from t where x ilike 'A\b%';

select
    x
from t
where
    x ilike 'A\\b%';

-- Encode
select encode(x) as y from t;

select
    convert_to(cast(x as text), 'UTF8') as y
from t;
