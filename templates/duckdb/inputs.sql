{#
    What the embedded engine asks of its catalogue and of files before an audit: never of what a
    privacy model is about. DuckDB only, so none of it travels.
#}

{# Where a name is looked up. #}
{% macro current_place() %}
select
    current_database(),
    current_schema()
{%- endmacro %}


{# Every table and view, with its database and schema. #}
{% macro tables_and_views() %}
select
    database_name,
    schema_name,
    table_name
from duckdb_tables()
where not internal

union all

select
    database_name,
    schema_name,
    view_name
from duckdb_views()
where not internal
{%- endmacro %}


{# The files that a pattern matches. #}
{% macro matching_files(pattern) %}
select file
from glob({{ pattern }})
order by file
{%- endmacro %}


{# The schema of each Parquet file, depth first, as its footer has it. #}
{% macro parquet_schemas(files) %}
select
    file_name,
    name,
    type,
    type_length,
    num_children,
    converted_type,
    scale,
    precision,
    cast(logical_type as varchar)
from parquet_schema({{ files }})
{%- endmacro %}


{# The keys of all JSON objects. #}
{% macro json_object_keys(source) %}
select distinct unnest(json_keys(json))
from {{ source }}
{%- endmacro %}


{# For each column, read as text, whether it has an integer that a DOUBLE may merge with another. #}
{% macro json_wide_integers(source, columns) %}
select
{% for column in columns %}
    bool_or(length({{ kanon_sql.ident(column) }}) > 15 and not regexp_matches({{ kanon_sql.ident(column) }}, '[.eE]')){{ "," if not loop.last }}
{% endfor %}
from {{ source }}
{%- endmacro %}


{#
    A record of JSON that has a number which a DOUBLE does not hold as it is written: its nearest
    double, in the fewest digits that mean it, has other digits. A number of which that is not so is
    the only one with that double, so two different numbers stay two. What texts hold is no number;
    they are taken out where there is something to find, which is slower than to look.
#}
{% macro json_record_with_a_rounded_number(source) %}
{% set without_texts = "regexp_replace(json, '\"(?:[^\"\\\\]|\\\\.)*\"', '\"\"', 'g')" %}
with
doubtful_records as (
    {{ records_with_a_rounded_number("json", source) | indent(4) }}
)

{{ records_with_a_rounded_number(without_texts, "doubtful_records") }}
limit 1
{%- endmacro %}


{# The records in whose text, or a part of it, stands such a number: one row for each number. #}
{% macro records_with_a_rounded_number(text, source) -%}
select json
from (
    select
        json,
        unnest(
            regexp_extract_all(
                {{ text }},
                '[0-9.]{16,}(?:[eE][-+]?[0-9]+)?|[0-9.]+[eE][-+]?[0-9]+'
            )
        ) as number
    from {{ source }}
) as numbers
where
    cast(try_cast(number as double) as varchar) is distinct from number
    and regexp_matches(number, '[.eE]')
    and (
        {{ digits_that_mean("lower(number)") }}
        is distinct from {{ digits_that_mean("cast(try_cast(number as double) as varchar)") }}
    )
{%- endmacro %}


{# The digits of a positive number without the zeros around them and without its exponent. #}
{% macro digits_that_mean(number) -%}
trim(replace(split_part({{ number }}, 'e', 1), '.', ''), '0')
{%- endmacro %}


{# What the reader makes of a CSV file: its records, and the bytes of their values without quotes. #}
{% macro csv_account(source, columns) %}
select
    count(*),
    coalesce(
        sum(
            strlen(
                replace(
                    concat(
{% for column in columns %}
                        {{ kanon_sql.ident(column) }}{{ "," if not loop.last }}
{% endfor %}
                    ),
                    '"',
                    ''
                )
            )
        ),
        0
    )
from {{ source }}
{%- endmacro %}


{# How many records of a release hold a text that a text file gives back as NULL, by column. #}
{% macro read_as_null(relation, columns, texts) %}
select
{% for column in columns %}
    count(*) filter (
        where cast({{ kanon_sql.ident(column) }} as varchar) in ({{ texts | join(", ") }})
    ){{ "," if not loop.last }}
{% endfor %}
from {{ relation }}
{%- endmacro %}


{# How every table and view was defined. #}
{% macro definitions() %}
select
    schema_name,
    table_name,
    sql
from duckdb_tables()
where not internal

union all

select
    schema_name,
    view_name,
    sql
from duckdb_views()
where not internal
{%- endmacro %}


{# The files of the databases that are open. #}
{% macro database_files() %}
select path
from duckdb_databases()
where path is not null
{%- endmacro %}


{# What may name a file: how every view, macro and table was defined. #}
{% macro definitions_of_all() %}
select sql
from duckdb_tables()
where sql is not null

union all

select sql
from duckdb_views()
where sql is not null and not internal

union all

select macro_definition
from duckdb_functions()
where macro_definition is not null and not internal
{%- endmacro %}


{# The folders in which files are looked for, with commas between them. #}
{% macro file_search_path() %}
select current_setting('file_search_path')
{%- endmacro %}


{# The collation of every text that has none of its own. #}
{% macro default_collation() %}
select current_setting('default_collation')
{%- endmacro %}


{# Whether `order by` goes up or down where it does not say. #}
{% macro default_order() %}
select current_setting('default_order')
{%- endmacro %}


{# Whether records come in the order in which a file has them. #}
{% macro keeps_order() %}
select current_setting('preserve_insertion_order')
{%- endmacro %}


{#
    Whether each column takes texts for one that differ: by case, by accent, or by how an accent is
    encoded. A collation of its own makes them equal. No record is read.
#}
{% macro texts_merged(relation, columns) %}
select
{% for column in columns %}
{% set of_no_record = "any_value(" ~ kanon_sql.ident(column) ~ ")" %}
    (
        coalesce({{ of_no_record }}, 'a') = 'A'
        or coalesce({{ of_no_record }}, chr(225)) = 'a' || chr(769)
    ){{ "," if not loop.last }}
{% endfor %}
from {{ relation }}
where false
{%- endmacro %}


{# Asked twice, the same answer means that a transaction is open. #}
{% macro current_transaction() %}
select txid_current()
{%- endmacro %}


{# Macros of the user's that stand in for functions of the database. #}
{% macro shadowing_macros() %}
select distinct function_name
from duckdb_functions()
where
    not internal
    and function_name in (select function_name from duckdb_functions() where internal)
{%- endmacro %}


{# Tables and views that only their own session sees. #}
{% macro temporary_names() %}
select table_name
from duckdb_tables()
where temporary

union all

select view_name
from duckdb_views()
where temporary and not internal
{%- endmacro %}


{# The records of a text file, and how it is read. #}
{% macro records_of_file(name, reader, columns) %}
{{ name }} as (
    select
{% for column in columns %}
        {{ kanon_sql.ident(column) }}{{ "," if not loop.last }}
{% endfor %}
    from {{ reader | indent(4) }}
)
{%- endmacro %}


{# A statement, and before its own sets some that it reads. #}
{% macro with_sets_before(sets, statement) %}
with

{{ sets | join(",\n\n") }}
{%- if statement.startswith("with\n") %},

{{ statement[4:] | trim }}
{%- else %}


{{ statement }}
{%- endif %}
{%- endmacro %}
