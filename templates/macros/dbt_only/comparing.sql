{#
    Checks the columns of a test before it runs. Some types and collations treat values with different
    spellings as equal, and classes would look larger than they are. The command line refuses the same
    columns.

    For other adapters, a project can define its own `<adapter>__merging_columns`.
#}

{#
    Raises an error for a column in which the database treats different values as equal. An
    ephemeral model is part of the statement, so its values are checked when the statement runs: see
    `records_of`.
#}
{% macro needs_plain_comparison(test, relation, names) -%}
{% if kanon_sql.may_be_queried(relation) -%}
{% for name, why in kanon_sql.merging_columns(relation, names | reject("none") | unique | list) -%}
{{ kanon_sql.refuse(test ~ ": the column " ~ kanon_sql.unquoted(name) ~ " of " ~ relation ~ " " ~ why) }}
{%- endfor %}
{%- endif %}
{%- endmacro %}


{#
    Whether a relation can be queried before the test runs: not if SQL is only compiled, as the
    table may not exist yet.
#}
{% macro may_be_queried(relation) -%}
{{ return(execute and flags.WHICH in ["build", "test", "retry"] and not kanon_sql.is_ephemeral(relation)) }}
{%- endmacro %}


{% macro is_ephemeral(relation) -%}
{{ return("__dbt__cte__" in relation | string) }}
{%- endmacro %}


{# Columns in which different values are equal, each with the reason. #}
{% macro merging_columns(relation, names) -%}
{{ return(adapter.dispatch("merging_columns", "kanon_sql")(relation, names)) }}
{%- endmacro %}


{# Without knowledge of the columns, tests whether the database distinguishes texts at all. #}
{% macro default__merging_columns(relation, names) -%}
{% set different = run_query(
    "select count(distinct kanon_text) as kanon_texts from ("
        ~ "select 'a' as kanon_text union all select 'A' union all select 'a '"
        ~ ") as kanon_texts"
).columns[0].values()[0] | int %}
{% set faults = [] %}
{% if different != 3 %}
{% for name in names %}
{% do faults.append([name, "is compared by a collation that takes some of 'a', 'A' and 'a ' for one value, so classes would look larger than they are. Where it is sure that this column compares bytes, say so in a macro " ~ target.type ~ "__merging_columns of your project that returns []"]) %}
{% endfor %}
{% endif %}
{{ return(faults) }}
{%- endmacro %}


{# Otherwise dbt would dispatch to the one of Postgres. #}
{% macro redshift__merging_columns(relation, names) -%}
{{ return(kanon_sql.default__merging_columns(relation, names)) }}
{%- endmacro %}


{% macro duckdb__merging_columns(relation, names) -%}
{% set faults = [] %}
{% set texts = [] %}
{% set types = run_query(
    "describe select " ~ names | join(", ") ~ " from (select * from " ~ relation ~ ") as kanon_source"
).columns[1].values() %}
{% for name in names %}
{% set type = types[loop.index0] %}
{% if kanon_sql.begins_with(type, ["STRUCT", "MAP", "UNION", "LIST", "VARIANT"]) or type.endswith("]") %}
{% do faults.append([name, "is nested, and a test compares single values. Take its fields apart into columns of their own"]) %}
{% elif kanon_sql.begins_with(type, ["INTERVAL", "TIME WITH TIME ZONE"]) %}
{% do faults.append([name, "is " ~ type ~ ", a type in which SQL treats some different values as equal. Cast it to text in the model"]) %}
{% elif type == "VARCHAR" %}
{% do texts.append(name) %}
{% endif %}
{% endfor %}
{% if texts %}
{% set merged = run_query(kanon_sql.duckdb_texts_merged(relation, texts)).rows[0].values() %}
{% for name in texts %}
{% if merged[loop.index0] %}
{% do faults.append([name, "has a collation, which treats some different texts as equal. Cast it in the model with decode(encode(" ~ name ~ "))"]) %}
{% endif %}
{% endfor %}
{% endif %}
{{ return(faults) }}
{%- endmacro %}


{# Whether each text column is compared by anything but its bytes. Reads no record. #}
{% macro duckdb_texts_merged(relation, names) %}
select
{%- for name in names %}
    coalesce(any_value({{ name }}), 'a') = 'A'
    or coalesce(any_value({{ name }}), chr(225)) = 'a' || chr(769) as kanon_{{ loop.index }}{{ "," if not loop.last }}
{%- endfor %}

from (select * from {{ relation }}) as kanon_source
where false
{%- endmacro %}


{% macro begins_with(text, beginnings) -%}
{% for beginning in beginnings if text.startswith(beginning) -%}
{{ return(true) }}
{%- endfor %}
{{- return(false) -}}
{%- endmacro %}


{#
    Only types that distinguish different spellings are compared. Numbers without a scale and padded
    texts do so if all values of the column are written alike, which is checked on the values.
#}
{% macro postgres__merging_columns(relation, names) -%}
{% set plain = [
    "bool", "int2", "int4", "int8", "float4", "float8", "oid", "money", "text", "varchar", "name",
    "date", "time", "timestamp", "timestamptz", "uuid", "bytea", "bit", "varbit", "inet", "cidr",
    "macaddr", "macaddr8", "pg_lsn", "int4range", "int8range", "daterange", "tsrange", "tstzrange",
    "ltree", "hstore", "numeric", "bpchar",
] %}
{% set faults = [] %}
{% set written = [] %}
{% for row in run_query(kanon_sql.postgres_types(relation, names)).rows %}
{% set name = names[row[0] | int] %}
{% if not row[3] %}
{% do faults.append([name, "has a collation, which treats some different texts as equal. Cast it in the model: cast(" ~ name ~ ' as text) collate "C"']) %}
{% elif not row[2] and row[1] not in plain %}
{% do faults.append([name, "is " ~ row[1] ~ ", a type in which Postgres may treat some different values as equal. Cast it in the model: cast(" ~ name ~ ' as text) collate "C"']) %}
{% elif row[1] in ["numeric", "bpchar"] %}
{% do written.append([name, row[1]]) %}
{% endif %}
{% endfor %}
{% if written %}
{% set merged = run_query(kanon_sql.postgres_written_apart(relation, written)).rows[0].values() %}
{% for name, type in written %}
{% if merged[loop.index0] %}
{% set instead = "numeric(p, s), or to text" if type == "numeric" else 'text collate "C"' %}
{% do faults.append([name, "is " ~ type ~ " without a length, and holds values that are written in several ways and count as one, as 1.0 and 1.00 do. Cast it in the model to " ~ instead]) %}
{% endif %}
{% endfor %}
{% endif %}
{{ return(faults) }}
{%- endmacro %}


{#
    Type of each column (the base type of a domain), whether it is one of the listed names, and
    whether its texts are equal only if their bytes are.
#}
{% macro postgres_types(relation, names) %}
with recursive asked as (
{%- for name in names %}
    select
        {{ loop.index0 }} as place,
        cast(pg_typeof(kanon_source.{{ name }}) as oid) as type,
        case
            when (select typcollation from pg_type where oid = pg_typeof(kanon_source.{{ name }})) <> 0
            then cast(cast(pg_collation_for(kanon_source.{{ name }}) as regcollation) as oid)
        end as collation
    from (select 1 as one) as one_row
    left join (select * from {{ relation }} where false) as kanon_source
        on true
{{ "\n    union all\n" if not loop.last }}
{%- endfor %}
),

grounds as (
    select *
    from asked

    union all

    select
        grounds.place,
        pg_type.typbasetype,
        grounds.collation
    from grounds
    inner join pg_type
        on pg_type.oid = grounds.type
    where pg_type.typtype = 'd'
)

select
    grounds.place,
    pg_type.typname,
    pg_type.typtype = 'e',
    coalesce(pg_collation.collisdeterministic, true)
from grounds
inner join pg_type
    on pg_type.oid = grounds.type
left join pg_collation
    on pg_collation.oid = grounds.collation
where pg_type.typtype <> 'd'
order by grounds.place
{%- endmacro %}


{#
    Whether the values of each column are written in several ways: different lengths, some with
    redundant zeros or trailing spaces.
#}
{% macro postgres_written_apart(relation, columns) %}
select
{%- for name, type in columns %}
{%- set length = "scale(" ~ name ~ ")" if type == "numeric" else "length(format('%s', " ~ name ~ "))" %}
{%- set needed = "min_scale(" ~ name ~ ")" if type == "numeric" else "length(cast(" ~ name ~ " as text))" %}
    coalesce(min({{ length }}) <> max({{ length }}) and max({{ length }} - {{ needed }}) > 0, false)
        {{- "," if not loop.last }}
{%- endfor %}

from (select * from {{ relation }}) as kanon_source
{%- endmacro %}


{# --- while the statement runs ----------------------------------------------------------------- #}

{#
    Predicate over every record that raises an error if two values of these columns are equal but
    spelled differently; none if the engine can't check this.
#}
{% macro distinctly_spelled(relation, names) -%}
{{ return(adapter.dispatch("distinctly_spelled", "kanon_sql")(relation, names)) }}
{%- endmacro %}


{% macro default__distinctly_spelled(relation, names) -%}
{{ return(none) }}
{%- endmacro %}


{% macro redshift__distinctly_spelled(relation, names) -%}
{{ return(none) }}
{%- endmacro %}


{% macro duckdb__distinctly_spelled(relation, names) -%}
{{ return(kanon_sql.each_distinctly_spelled(
    relation, names, "case when typeof({0}) not in ('DOUBLE', 'FLOAT') then encode(cast({0} as varchar)) end"
)) }}
{%- endmacro %}


{% macro postgres__distinctly_spelled(relation, names) -%}
{{ return(kanon_sql.each_distinctly_spelled(
    relation, names, "case when pg_typeof({0}) not in (cast('real' as regtype), cast('double precision' as regtype)) then format('%s', {0}) collate \"C\" end"
)) }}
{%- endmacro %}


{# `spelled`: a value as it is spelled, with the column as {0}. #}
{% macro each_distinctly_spelled(relation, names, spelled) -%}
{% set conditions = [] %}
{% for name in names %}
{% set sql -%}
(
    select case when count(*) > 0 then {{ kanon_sql.raised("'kanon_sql: the column ' || " ~ kanon_sql.literal(kanon_sql.unquoted(name)) ~ " || ' has ' || cast(count(*) as varchar) || ' values that are written in several ways and count as one. Cast it in the model to a text that compares bytes'") }} else 1 end
    from (
        select 1 as kanon_one
        from {{ relation }}
        group by {{ name }}
        having count(distinct {{ spelled.format(name) }}) > 1
    ) as kanon_merged
) = 1
{%- endset %}
{% do conditions.append(sql) %}
{% endfor %}
{{ return(conditions | join("\nand ")) }}
{%- endmacro %}
