{% set caseless = [
    "create collation if not exists clinic.caseless from \"C\"",
    "update pg_collation set collisdeterministic = false where collname = 'caseless'",
    "drop domain if exists clinic.padded cascade",
    "create domain clinic.padded as bpchar",
] %}
{{ config(materialized="view", pre_hook=caseless if target.type == "postgres" else []) }}

{# Columns of which different values are one. `exact` and `short` are in types that would merge,
   were they not all written alike. #}
select
    patient,
    sex,
{% if target.type == "postgres" %}
    cast(case when age < 50 then 'a' else 'A' end as text) collate clinic.caseless as word,
    cast(case when age < 50 then 'a' else 'a ' end as clinic.padded) as folded,
    cast(case when age < 50 then 'a' else 'a ' end as bpchar) as padded,
    cast(case when age < 50 then '1.0' else '1.00' end as numeric) as rough,
    cast(case when age < 50 then '{"a": 1.0}' else '{"a": 1.00}' end as jsonb) as document,
    cast(case when age < 50 then '1 month' else '30 days' end as interval) as span,
    array[cast(case when age < 50 then '1.0' else '1.00' end as numeric)] as listed,
    numrange(cast(case when age < 50 then '1.0' else '1.00' end as numeric), 9) as range,
    cast('1.50' as numeric) as exact,
    cast('ab' as char(5)) as short,
{% else %}
    case when age < 50 then 'a' else 'A' end collate nocase as word,
    case when age < 50 then 'á' else 'a' end collate noaccent as folded,
    case when age < 50 then 'a' else 'A' end collate nocase.noaccent as padded,
    {'a': case when age < 50 then 1.0::variant else 1::variant end} as rough,
    case when age < 50 then 1.0::variant else 1::variant end as document,
    case when age < 50 then interval '1 month' else interval '30 days' end as span,
    [case when age < 50 then interval '1 month' else interval '30 days' end] as listed,
    cast('10:00:00+01' as time with time zone) as range,
    cast('1.50' as decimal(9, 2)) as exact,
    'ab' as short,
{% endif %}
    case when age < 50 then 0.0 else -cast(0.0 as double precision) end as nought
from {{ ref("patients") }}
