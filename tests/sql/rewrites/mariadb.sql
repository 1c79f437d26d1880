-- TryCast
select try_cast(x as double) as y from t;

select
    case
        when cast(
            x as char
        ) regexp '^ *[-+]?([0-9]{1,200}([.][0-9]{0,200})?|[.][0-9]{1,200})([eE][-+]?[0-9]{1,2})? *\\z'
        then cast(x as double)
    end as y
from t;

-- TryCast
select try_cast(x as date) as y from t;

select
    case
        when cast(
            x as char
        ) regexp '^[0-9]{4}-[0-9]{2}-[0-9]{2}([ T][0-9]{2}:[0-9]{2}(:[0-9]{2}([.][0-9]{1,6})?)?)?\\z'
        then cast(x as date)
    end as y
from t;

-- TryCast
select try_cast(x as timestamp) as y from t;

select
    case
        when cast(
            x as char
        ) regexp '^[0-9]{4}-[0-9]{2}-[0-9]{2}([ T][0-9]{2}:[0-9]{2}(:[0-9]{2}([.][0-9]{1,6})?)?)?\\z'
        then cast(x as datetime(6))
    end as y
from t;

-- TryCast
select try_cast(x as bigint) as y from t;

select
    case
        when x between -9223372036854775808 and 9223372036854774784
        then cast(x as signed)
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
                    x as char
                ) regexp '^ *[-+]?([0-9]{1,200}([.][0-9]{0,200})?|[.][0-9]{1,200})([eE][-+]?[0-9]{1,2})? *\\z'
                then cast(x as double)
            end
        ) < 1e38
        then cast(x as decimal(38, 2))
    end as y
from t;

-- Cast
select cast(x as varchar) as y from t;

select
    cast(x as char character set utf8mb4) collate utf8mb4_nopad_bin as y
from t;

-- Cast
select cast(case when x > 1 then cast(x as double) end as varchar) as y from t;

select
    cast(
        case when x > 1 then cast(x as double) end as char character set utf8mb4
    ) collate utf8mb4_nopad_bin as y
from t;

-- Cast
select cast(cast(x as decimal(38, 2)) as varchar) as y from t;

select
    cast(cast(x as decimal(38, 2)) as char character set utf8mb4) collate utf8mb4_nopad_bin as y
from t;

-- Select
select cast(z as varchar) as z, count(*) as n from t group by cast(z as varchar);

select
    max(cast(z as char character set utf8mb4) collate utf8mb4_nopad_bin) as z,
    count(*) as n
from t
group by
    cast(z as char character set utf8mb4) collate utf8mb4_nopad_bin;

-- Select
select max(z) over (partition by x) as z from t;

select
    max(`t`.z) over (partition by x) as z
from t;

-- Select
select y from (with s as (select x as y from t) select y from s) as q;

with

s as (
    select
        x as y
    from t
)

select
    y
from (
    select
        y
    from s
) as q;

-- RegexpFullMatch
select x from t where regexp_full_match(x, '-?[0-9]+([.][0-9]+)?');

select
    x
from t
where
    cast(x as char) regexp '^(-?[0-9]+([.][0-9]+)?)\\z';

-- IgnoreNulls
select any_value(x) as y from t;

select
    max(x) as y
from t;

-- Order
select count(*) as n, y as z from t group by y order by n, z limit 2;

select
    count(*) as n,
    y as z
from t
group by
    y
order by
    n,
    case when y is null then 1 else 0 end,
    z
limit 2;

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
    cast(x as char character set utf8mb4) collate utf8mb4_nopad_bin like 'a\\\\b%';

-- Like
select x from t where x not like '0%';

select
    x
from t
where
    not (cast(x as char character set utf8mb4) collate utf8mb4_nopad_bin like '0%');

-- Like
select x like 'a%_*' as y from t;

select
    cast(x as char character set utf8mb4) collate utf8mb4_nopad_bin like 'a%_*' as y
from t;

-- ILike
select x from t where x ilike 'A\b%';

select
    x
from t
where
    cast(lower(x) as char character set utf8mb4) collate utf8mb4_nopad_bin like 'a\\\\b%';

-- ILike
select x from t where x not ilike 'A%';

select
    x
from t
where
    not (cast(lower(x) as char character set utf8mb4) collate utf8mb4_nopad_bin like 'a%');

-- GroupConcat
select string_agg(x, ',' order by y) as z from t;

select
    case
        when char_length(group_concat(x order by y separator ',')) = sum(char_length(x)) + count(x) - 1
        then group_concat(x order by y separator ',')
        else (
            select
                'cut at group_concat_max_len'
            union all
            select
                'raise it'
        )
    end as z
from t;

-- GroupConcat
select string_agg(x, ',' order by x) as z from t;

select
    case
        when char_length(group_concat(x order by x separator ',')) = sum(char_length(x)) + count(x) - 1
        then group_concat(x order by x separator ',')
        else (
            select
                'cut at group_concat_max_len'
            union all
            select
                'raise it'
        )
    end as z
from t;

-- Encode
select encode(x) as y from t;

select
    cast(x as binary) as y
from t;
