-- TryCast
select try_cast(x as double) as y from t;

select
    case
        when typeof(x) in ('integer', 'real')
        or (
            not trim(x) glob '*[^0-9.+-]*'
            and trim(x) glob '*[0-9]'
            and trim(x) glob '[-+0-9.]*'
            and not trim(x) glob '?*[-+]*'
            and not trim(x) glob '*.*.*'
        )
        or (json_valid(trim(x)) and trim(x) glob '[-0-9]*')
        then cast(x as real)
    end as y
from t;

-- TryCast
select try_cast(x as date) as y from t;

select
    case
        when x glob '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]*'
        and date(substring(x, 1, 10), '+0 days') = substring(x, 1, 10)
        and not date(x) is null
        and substring(x, 12, 2) <> '24'
        and (date(x, '+0 days') = substring(x, 1, 10) or not substring(x, 11) glob '*[-+]*')
        then substring(x, 1, 10)
    end as y
from t;

-- TryCast
select try_cast(x as timestamp) as y from t;

select
    case
        when x glob '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]*'
        and date(substring(x, 1, 10), '+0 days') = substring(x, 1, 10)
        and not date(x) is null
        and substring(x, 12, 2) <> '24'
        and (date(x, '+0 days') = substring(x, 1, 10) or not substring(x, 11) glob '*[-+]*')
        then strftime('%Y-%m-%d %H:%M:%f', x)
    end as y
from t;

-- TryCast
select try_cast(x as bigint) as y from t;

select
    case
        when x between -9223372036854775808 and 9223372036854774784
        then cast(x as integer)
    end as y
from t;

-- TryCast
select try_cast(floor(x) as decimal(38, 0)) as y from t;

select
    case
        when floor(x) between -9223372036854775808 and 9223372036854774784
        then cast(floor(x) as integer)
    end as y
from t;

-- TryCast
select try_cast(x as decimal(38, 2)) as y from t;

select
    case
        when typeof(x) in ('integer', 'real')
        or (
            not trim(x) glob '*[^0-9.+-]*'
            and trim(x) glob '*[0-9]'
            and trim(x) glob '[-+0-9.]*'
            and not trim(x) glob '?*[-+]*'
            and not trim(x) glob '*.*.*'
        )
        or (json_valid(trim(x)) and trim(x) glob '[-0-9]*')
        then cast(round(x * 1e2) as integer)
    end as y
from t;

-- Cast
select cast(x as varchar) as y from t;

select
    case when typeof(x) = 'real' then printf('%!.17g', x) else cast(x as text) end as y
from t;

-- Cast
select cast(x as decimal(9, 2)) as y from t;

select
    cast(round(x * 1e2) as integer) as y
from t;

-- Cast
select cast(case when x > 1 then cast(x as double) end as varchar) as y from t;

select
    case
        when typeof(case when x > 1 then cast(x as real) end) = 'real'
        then printf('%!.17g', case when x > 1 then cast(x as real) end)
        else cast(case when x > 1 then cast(x as real) end as text)
    end as y
from t;

-- Cast
select cast(cast(x as decimal(38, 2)) as varchar) as y from t;

select
    case
        when typeof(cast(round(x * 1e2) as integer)) = 'real'
        then printf('%!.17g', cast(round(x * 1e2) as integer))
        else cast(cast(round(x * 1e2) as integer) as text)
    end as y
from t;

-- RegexpFullMatch
select x from t where regexp_full_match(x, '-?[0-9]+([.][0-9]+)?');

select
    x
from t
where
    (
        not x glob '*[^-0-9.]*'
        and x glob '*[0-9]'
        and ltrim(x, '-') glob '[0-9]*'
        and not x glob '?*-*'
        and not x glob '*.*.*'
    );

-- IgnoreNulls
select any_value(x) as y from t;

select
    max(x) as y
from t;

-- Extract
select extract(month from x) as y from t;

select
    cast(strftime('%m', x) as integer) as y
from t;

-- Extract
select extract(year from x) as y from t;

select
    cast(strftime('%Y', x) as integer) as y
from t;

-- Extract
select extract(year from cast(x as date)) as y from t;

select
    cast(strftime('%Y', date(x)) as integer) as y
from t;

-- Year
select year(x) as y from t;

select
    cast(strftime('%Y', x) as integer) as y
from t;

-- Month
select month(x) as y from t;

select
    cast(strftime('%m', x) as integer) as y
from t;

-- Day
select day(x) as y from t;

select
    cast(strftime('%d', x) as integer) as y
from t;

-- Left
select left(x, 2) as y from t;

select
    substring(x, 1, 2) as y
from t;

-- Right
select right(x, 2) as y from t;

select
    substring(x, -2, 2) as y
from t;

-- Pad
select rpad(x, 5, '*') as y from t;

select
    substring(x || '*****', 1, 5) as y
from t;

-- Pad
select lpad(x, 5, '*') as y from t;

select
    case
        when length(x) >= 5
        then substring(x, 1, 5)
        else substring('*****' || x, -5)
    end as y
from t;

-- Like
select x from t where x like 'a\b%';

select
    x
from t
where
    x glob 'a\b*';

-- Like
select x from t where x not like '0%';

select
    x
from t
where
    not (x glob '0*');

-- Like
select x like 'a%_*' as y from t;

select
    x glob 'a*?[*]' as y
from t;

-- Values
select x, y from (values ('a', 'b')) as t (x, y);

select
    x,
    y
from (
    select
        column1 as x,
        column2 as y
    from (values
        ('a', 'b'))
) as t;

-- Encode
select encode(x) as y from t;

select
    cast(x as blob) as y
from t;
