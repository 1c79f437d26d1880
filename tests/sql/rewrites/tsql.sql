-- NullSafeEQ
select x from t where a is not distinct from b;

select
    x
from t
where
    exists(
        select
            a
        intersect
        select
            b
    );

-- Join
select a.x from a join b on a.x is not distinct from b.x and a.y is not distinct from b.y;

select
    a.x
from a
join b
    on exists(
        select
            a.x,
            a.y
        intersect
        select
            b.x,
            b.y
    );

-- Join
select release_classes.x from release_classes join earlier_classes on release_classes.x is not distinct from earlier_classes.x and release_classes.y is not distinct from earlier_classes.y;

select
    release_classes.x
from release_classes
join earlier_classes
    on exists(
        select
            release_classes.x,
            release_classes.y
        intersect
        select
            earlier_classes.x,
            earlier_classes.y
    );

-- NullSafeNEQ
select x from t where a is distinct from b;

select
    x
from t
where
    not exists(
        select
            a
        intersect
        select
            b
    );

-- TryCast
select try_cast(x as double) as y from t;

select
    case
        when cast(x as nvarchar(max)) collate Latin1_General_100_BIN2 like '%[0-9]%'
        then try_cast(x as float)
    end as y
from t;

-- TryCast
select try_cast(x as date) as y from t;

select
    case
        when cast(
            x as nvarchar(max)
        ) collate Latin1_General_100_BIN2 like '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]%'
        then cast(try_cast(x as datetime2) as date)
    end as y
from t;

-- TryCast
select try_cast(x as timestamp) as y from t;

select
    case
        when cast(
            x as nvarchar(max)
        ) collate Latin1_General_100_BIN2 like '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]%'
        then try_cast(x as datetime2)
    end as y
from t;

-- Cast
select cast(x as varchar) as y from t;

select
    cast(x as nvarchar(max)) collate Latin1_General_100_BIN2 as y
from t;

-- Cast
select cast(case when x > 1 then cast(x as double) end as varchar) as y from t;

select
    convert(nvarchar(max), case when x > 1 then cast(x as float) end, 3) collate Latin1_General_100_BIN2 as y
from t;

-- Cast
select cast(cast(x as decimal(38, 2)) as varchar) as y from t;

select
    cast(cast(x as numeric(38, 2)) as nvarchar(max)) collate Latin1_General_100_BIN2 as y
from t;

-- Case
select case when x = floor(x) then '1' else cast(x as varchar) end as y from t;

select
    case
        when x = floor(x)
        then '1'
        else convert(nvarchar(max), x, 3) collate Latin1_General_100_BIN2
    end as y
from t;

-- Case
select case when x = floor(x) then '1' else cast(cast(x as decimal(9)) as text) end as y from t;

select
    case
        when x = floor(x)
        then '1'
        else convert(nvarchar(max), cast(x as numeric(9)), 3) collate Latin1_General_100_BIN2
    end as y
from t;

-- RegexpFullMatch
select x from t where regexp_full_match(x, '-?[0-9]+([.][0-9]+)?');

select
    x
from t
where
    (
        cast(x as nvarchar(max)) collate Latin1_General_100_BIN2 not like '%[^-0-9.]%'
        and cast(x as nvarchar(max)) collate Latin1_General_100_BIN2 like '%[0-9]'
        and (
            cast(x as nvarchar(max)) collate Latin1_General_100_BIN2 like '[0-9]%'
            or cast(x as nvarchar(max)) collate Latin1_General_100_BIN2 like '-[0-9]%'
        )
        and cast(x as nvarchar(max)) collate Latin1_General_100_BIN2 not like '_%-%'
        and cast(x as nvarchar(max)) collate Latin1_General_100_BIN2 not like '%.%.%'
    );

-- IgnoreNulls
select any_value(x) as y from t;

select
    max(x) as y
from t;

-- MD5
select md5(x) as y from t;

select
    lower(
        convert(
            varchar(32),
            hashbytes('MD5', cast(x collate Latin1_General_100_BIN2_UTF8 as varchar(max))),
            2
        )
    ) as y
from t;

-- Length
select length(x) as y from t;

select
    (len(x + '.') - 1) as y
from t;

-- Trim
select trim(leading '*' from x) as y from t;

select
    substring(x, patindex('%[^*]%', x + '.'), len(x + '.')) as y
from t;

-- Trim
select ltrim(x, '*') as y from t;

select
    substring(x, patindex('%[^*]%', x + '.'), len(x + '.')) as y
from t;

-- Trim
select rtrim(x, '*') as y from t;

select
    left(x, len(x + '.') - patindex('%[^*]%', reverse(x) + '.')) as y
from t;

-- Trim
select rtrim(x, '0') as y from t;

select
    rtrim(x, '0') as y
from t;

-- Pad
select rpad(x, 5, '*') as y from t;

select
    left(x + '*****', 5) as y
from t;

-- Pad
select lpad(x, 5, '*') as y from t;

select
    case when len(x + '.') - 1 >= 5 then left(x, 5) else right('*****' + x, 5) end as y
from t;

-- TimeToStr
select strftime(x, '%Y-%m') as y from t;

select
    convert(nvarchar(7), x, 23) as y
from t;

-- TimeToStr
select strftime(cast(x as date), '%Y') as y from t;

select
    convert(nvarchar(4), cast(x as date), 23) as y
from t;

-- Like
select x from t where x like 'a\b%';

select
    x
from t
where
    cast(x as nvarchar(max)) collate Latin1_General_100_BIN2 like 'a\b%';

-- Like
select x from t where x not like '0%';

select
    x
from t
where
    not (cast(x as nvarchar(max)) collate Latin1_General_100_BIN2 like '0%');

-- Like
select x like 'a%_*' as y from t;

select
    cast(x as nvarchar(max)) collate Latin1_General_100_BIN2 like 'a%_*' as y
from t;

-- ILike
select x from t where x ilike 'A\b%';

select
    x
from t
where
    cast(lower(x) as nvarchar(max)) collate Latin1_General_100_BIN2 like 'a\b%';

-- ILike
select x from t where x not ilike 'A%';

select
    x
from t
where
    not (cast(lower(x) as nvarchar(max)) collate Latin1_General_100_BIN2 like 'a%');

-- Order
select count(*) as n, y as z from t group by y order by n, z limit 2;

select
top 2
    count_big(*) as n,
    y as z
from t
group by
    y
order by
    n,
    case when y is null then 1 else 0 end,
    z;

-- Order
select rank() over (order by case when a is null then 1 else 0 end, t.a) as place from t;

select
    rank() over (order by case when a is null then 1 else 0 end, t.a) as place
from t;

-- Literal
select 'é' as y from t;

select
    N'é' as y
from t;

-- Encode
select encode(x) as y from t;

select
    cast(x as varbinary(max)) as y
from t;
