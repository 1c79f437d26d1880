-- Like
select x from t where x like 'a\b%';

select
    x
from t
where
    x like 'a\\\\b%'
settings join_use_nulls = 1, prefer_column_name_to_alias = 1;

-- ILike
select x from t where x ilike 'A\b%';

select
    x
from t
where
    x ilike 'A\\\\b%'
settings join_use_nulls = 1, prefer_column_name_to_alias = 1;

-- Select
select cast(z as varchar) as z, count(*) as n from t group by cast(z as varchar);

select
    cast(z as Nullable(String)) as z,
    toInt64(count(*)) as n
from t
group by
    cast(z as Nullable(String))
settings join_use_nulls = 1, prefer_column_name_to_alias = 1;

-- Select
select max(z) over (partition by x) as z from t;

select
    max(z) over (partition by x) as z
from t
settings join_use_nulls = 1, prefer_column_name_to_alias = 1;

-- Select
select y from (with s as (select x as y from t) select y from s) as q;

select
    y
from (
    with s as (
        select
            x as y
        from t
    )
    select
        y
    from s
) as q
settings join_use_nulls = 1, prefer_column_name_to_alias = 1;

-- Select
select a.x, b.y from a join b on a.x = b.x;

select
    a.x as x,
    b.y as y
from a
join b
    on a.x = b.x
settings join_use_nulls = 1, prefer_column_name_to_alias = 1;

-- Values
select x, y from (values ('a', 'b')) as t (x, y);

select
    x,
    y
from (
    select
        c1 as x,
        c2 as y
    from values(('a', 'b'))
) as t
settings join_use_nulls = 1, prefer_column_name_to_alias = 1;

-- DataType
select cast(x as date) as y from t;

select
    cast(x as Date32) as y
from t
settings join_use_nulls = 1, prefer_column_name_to_alias = 1;

-- DataType
select cast(x as timestamp) as y from t;

select
    cast(x as DateTime64(6, 'UTC')) as y
from t
settings join_use_nulls = 1, prefer_column_name_to_alias = 1;

-- DataType
select cast(x as decimal(18, 0)) as y from t;

select
    cast(x as Decimal(38, 0)) as y
from t
settings join_use_nulls = 1, prefer_column_name_to_alias = 1;

-- TryCast
select try_cast(x as double) as y from t;

select
    toFloat64OrNull(trim(toString(x))) as y
from t
settings join_use_nulls = 1, prefer_column_name_to_alias = 1;

-- TryCast
select try_cast(x as date) as y from t;

select
    toDate32(
        case
            when match(
                toString(x),
                '^[0-9]{1,4}-(0?[1-9]|1[0-2])-(0?[1-9]|[12][0-9]|3[01])([ T]([01]?[0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9]([.][0-9]{1,6})?)?)?$'
            )
            and toYear(parseDateTime64BestEffortOrNull(toString(x), 6, 'UTC'))
                = toUInt16OrZero(extract(toString(x), '^[0-9]+'))
            then parseDateTime64BestEffortOrNull(toString(x), 6, 'UTC')
        end
    ) as y
from t
settings join_use_nulls = 1, prefer_column_name_to_alias = 1;

-- TryCast
select try_cast(x as timestamp) as y from t;

select
    case
        when match(
            toString(x),
            '^[0-9]{1,4}-(0?[1-9]|1[0-2])-(0?[1-9]|[12][0-9]|3[01])([ T]([01]?[0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9]([.][0-9]{1,6})?)?)?$'
        )
        and toYear(parseDateTime64BestEffortOrNull(toString(x), 6, 'UTC'))
            = toUInt16OrZero(extract(toString(x), '^[0-9]+'))
        then parseDateTime64BestEffortOrNull(toString(x), 6, 'UTC')
    end as y
from t
settings join_use_nulls = 1, prefer_column_name_to_alias = 1;

-- TryCast
select try_cast(x as bigint) as y from t;

select
    accurateCastOrNull(x, 'Int64') as y
from t
settings join_use_nulls = 1, prefer_column_name_to_alias = 1;

-- TryCast
select try_cast(floor(x) as decimal(38, 0)) as y from t;

select
    accurateCastOrNull(floor(x), 'Decimal(38, 0)') as y
from t
settings join_use_nulls = 1, prefer_column_name_to_alias = 1;

-- TryCast
select try_cast(x as decimal(38, 2)) as y from t;

select
    toDecimal128OrNull(trim(toString(x)), 2) as y
from t
settings join_use_nulls = 1, prefer_column_name_to_alias = 1;

-- Cast
select cast(cast(x as decimal(38, 2)) as varchar) as y from t;

select
    toDecimalString(x, 2) as y
from t
settings join_use_nulls = 1, prefer_column_name_to_alias = 1;

-- Alias
select 1 as y from t;

select
    toInt64(1) as y
from t
settings join_use_nulls = 1, prefer_column_name_to_alias = 1;

-- Case
select case when x > 1 then 1 else 0 end as y from t;

select
    toInt64(case when x > 1 then 1 else 0 end) as y
from t
settings join_use_nulls = 1, prefer_column_name_to_alias = 1;

-- Count
select count(*) as n from t;

select
    toInt64(count(*)) as n
from t
settings join_use_nulls = 1, prefer_column_name_to_alias = 1;

-- Window
select count(*) over (partition by y) as n from t;

select
    toInt64((count(*) over (partition by y))) as n
from t
settings join_use_nulls = 1, prefer_column_name_to_alias = 1;

-- Sum
select sum(cast(x as bigint)) as n from t;

select
    sum(cast(x as Nullable(Decimal(38, 0)))) as n
from t
settings join_use_nulls = 1, prefer_column_name_to_alias = 1;

-- RegexpFullMatch
select x from t where regexp_full_match(x, '-?[0-9]+([.][0-9]+)?');

select
    x
from t
where
    match(x, '^(-?[0-9]+([.][0-9]+)?)$')
settings join_use_nulls = 1, prefer_column_name_to_alias = 1;

-- GroupConcat
select string_agg(x, ',' order by y) as z from t;

select
    arrayStringConcat(
        arrayMap(pair -> assumeNotNull(tupleElement(pair, 2)), arraySort(groupArray(tuple(y, x)))),
        ','
    ) as z
from t
settings join_use_nulls = 1, prefer_column_name_to_alias = 1;

-- GroupConcat
select string_agg(x, ',' order by x) as z from t;

select
    arrayStringConcat(
        arrayMap(pair -> assumeNotNull(tupleElement(pair, 2)), arraySort(groupArray(tuple(x, x)))),
        ','
    ) as z
from t
settings join_use_nulls = 1, prefer_column_name_to_alias = 1;

-- Lead
select lead(x) over (order by y) as z from t;

select
    lead(toNullable(x)) over (order by y) as z
from t
settings join_use_nulls = 1, prefer_column_name_to_alias = 1;

-- MD5
select md5(x) as y from t;

select
    lower(hex(MD5(x))) as y
from t
settings join_use_nulls = 1, prefer_column_name_to_alias = 1;

-- Length
select length(x) as y from t;

select
    lengthUTF8(x) as y
from t
settings join_use_nulls = 1, prefer_column_name_to_alias = 1;

-- Substring
select substr(x, 1, 2) as y from t;

select
    substringUTF8(x, 1, 2) as y
from t
settings join_use_nulls = 1, prefer_column_name_to_alias = 1;

-- StrPosition
select strpos(x, 'a') as y from t;

select
    positionUTF8(x, 'a') as y
from t
settings join_use_nulls = 1, prefer_column_name_to_alias = 1;

-- Lower
select lower(x) as y from t;

select
    lowerUTF8(x) as y
from t
settings join_use_nulls = 1, prefer_column_name_to_alias = 1;

-- Upper
select upper(x) as y from t;

select
    upperUTF8(x) as y
from t
settings join_use_nulls = 1, prefer_column_name_to_alias = 1;

-- Left
select left(x, 2) as y from t;

select
    leftUTF8(x, 2) as y
from t
settings join_use_nulls = 1, prefer_column_name_to_alias = 1;

-- Right
select right(x, 2) as y from t;

select
    rightUTF8(x, 2) as y
from t
settings join_use_nulls = 1, prefer_column_name_to_alias = 1;

-- Pad
select rpad(x, 5, '*') as y from t;

select
    rightPadUTF8(x, 5, '*') as y
from t
settings join_use_nulls = 1, prefer_column_name_to_alias = 1;

-- Pad
select lpad(x, 5, '*') as y from t;

select
    leftPadUTF8(x, 5, '*') as y
from t
settings join_use_nulls = 1, prefer_column_name_to_alias = 1;
