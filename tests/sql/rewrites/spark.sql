-- Where
select a from t where (b);

select
    a
from t
where
    b;

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

-- EQ
select x from t where x = floor(x);

select
    x
from t
where
    x % 1 = 0;

-- TryCast
select try_cast(x as double) as y from t;

select
    case
        when cast(
            x as string
        ) rlike '^\\s*[-+]?([0-9]{1,200}([.][0-9]{0,200})?|[.][0-9]{1,200})([eE][-+]?[0-9]{1,2})?\\s*\\z'
        then try_cast(x as double)
    end as y
from t;

-- TryCast
select try_cast(x as date) as y from t;

select
    case
        when cast(
            x as string
        ) rlike '^\\s*[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}([ T][0-9]{1,2}:[0-9]{2}(:[0-9]{2}([.][0-9]{1,6})?)?)?\\s*\\z'
        then try_cast(x as date)
    end as y
from t;

-- TryCast
select try_cast(x as timestamp) as y from t;

select
    case
        when cast(
            x as string
        ) rlike '^\\s*[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}([ T][0-9]{1,2}:[0-9]{2}(:[0-9]{2}([.][0-9]{1,6})?)?)?\\s*\\z'
        then try_cast(x as timestamp_ntz)
    end as y
from t;

-- TryCast
select try_cast(x as bigint) as y from t;

select
    case
        when x < cast(9.223372036854775807E18 as double)
        then try_cast(x as bigint)
    end as y
from t;

-- TryCast
select try_cast(x as decimal(38, 2)) as y from t;

select
    case
        when abs(
            case
                when cast(
                    x as string
                ) rlike '^\\s*[-+]?([0-9]{1,200}([.][0-9]{0,200})?|[.][0-9]{1,200})([eE][-+]?[0-9]{1,2})?\\s*\\z'
                then try_cast(x as double)
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
    x rlike '^(?:-?[0-9]+([.][0-9]+)?)\\z';

-- Floor
select floor(x / 2) as y from t;

select
    case
        when abs((x / 2)) < 9007199254740992
        then cast(floor(x / 2) as double)
        else (x / 2)
    end as y
from t;

-- Floor
select try_cast(floor(x) as bigint) as y from t;

select
    case
        when case when abs(x) < 9007199254740992 then cast(floor(x) as double) else x end
            < cast(9.223372036854775807E18 as double)
        then try_cast(case when abs(x) < 9007199254740992 then cast(floor(x) as double) else x end as bigint)
    end as y
from t;

-- Ceil
select ceil(x / 2) as y from t;

select
    case
        when abs((x / 2)) < 9007199254740992
        then cast(ceil(x / 2) as double)
        else (x / 2)
    end as y
from t;
