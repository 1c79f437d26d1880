{#
    Queries of the embedded engine on its catalogue and on files before an audit; no privacy model
    is computed here. DuckDB only, never transpiled.
#}

{# Current database and schema. #}
{% macro current_place() %}
select
    current_database(),
    current_schema()
{%- endmacro %}


{# Tables and views, with their database and schema. #}
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


{# Number of records of a table in the catalogue; none for a view. #}
{% macro records_of_table(place) %}
select estimated_size
from duckdb_tables()
where
    database_name = {{ place[0] }}
    and schema_name = {{ place[1] }}
    and table_name = {{ place[2] }}
{%- endmacro %}


{# Files that match a glob pattern. #}
{% macro matching_files(pattern) %}
select file
from glob({{ pattern }})
order by file
{%- endmacro %}


{# Length and time of each object at a URL, without its content. #}
{% macro object_statuses(files) %}
select
    filename,
    size,
    epoch_us(last_modified)
from read_blob({{ files }})
{%- endmacro %}


{# Content of an object. #}
{% macro object(file) %}
select content
from read_blob({{ file }})
{%- endmacro %}


{# ETag of each address that was asked for since the log was emptied; HTTP/2 has its name in lower case. #}
{% macro logged_etags() %}
with

headers as (
    select
        request.url as url,
        unnest(map_entries(response.headers)) as header
    from duckdb_logs_parsed('HTTP')
)

select
    url,
    header.value
from headers
where lower(header.key) = 'etag'
{%- endmacro %}


{# Status of each answer of a server since the log was emptied, latest first. #}
{% macro logged_statuses() %}
select cast(response.status as varchar)
from duckdb_logs_parsed('HTTP')
where response.status is not null
order by timestamp desc
{%- endmacro %}


{# The secret that DuckDB uses for a URL, if it has one. #}
{% macro secret_of(url, kind) %}
select name
from which_secret({{ url }}, {{ kind }})
{%- endmacro %}


{# Schema of each Parquet file from its footer, depth first. #}
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
    cast(logical_type as varchar),
    duckdb_type
from parquet_schema({{ files }})
{%- endmacro %}


{#
    Of INT96 columns, read as a date and a time of day: whether any has dates beyond TIMESTAMP_NS, and
    whether each has nanoseconds.
#}
{% macro int96_timestamps(source, columns) %}
select
    coalesce(
        bool_or(
{% for column in columns %}
            {{ "or " if not loop.first }}{{ kanon_sql.ident(column) }}.date not between date '1677-09-22' and date '2262-04-10'
{% endfor %}
        ),
        false
    ),
{% for column in columns %}
{% set time = kanon_sql.ident(column) ~ ".time" %}
    coalesce(bool_or(cast({{ time }} as time) <> {{ time }}), false){{ "," if not loop.last }}
{% endfor %}
from {{ source }}
{%- endmacro %}


{# Number of records of Parquet files, from their footers. #}
{% macro parquet_records(files) %}
select sum(num_rows)
from parquet_file_metadata({{ files }})
{%- endmacro %}


{#
    How many bits of each value a Parquet file stores, by column. Differences of sorted numbers are
    stored in few bits, whatever they tell, and count as 64.
#}
{% macro bits_of_values(file) %}
select
    path_in_schema,
    case
        when bool_or(contains(encodings, 'DELTA')) then 64
        else 8 * sum(total_compressed_size) / sum(num_values)
    end as bits
from parquet_metadata({{ file }})
group by path_in_schema
having sum(num_values) > 0
{%- endmacro %}


{# Of each file, named in `kanon_file`: each column's least and greatest value, and its NULLs. #}
{% macro values_by_file(source, columns) %}
select
    kanon_file,
{% for column in columns %}
    min({{ kanon_sql.ident(column) }}),
    max({{ kanon_sql.ident(column) }}),
    count(*) - count({{ kanon_sql.ident(column) }}){{ "," if not loop.last }}
{% endfor %}
from {{ source }}
group by kanon_file
order by kanon_file
{%- endmacro %}


{# Whether a file is one object of columns, each an object with the same numbers of rows from 0. #}
{% macro json_by_column(source) %}
select
    (select count(*) from {{ source }}) = 1
    and count(distinct kanon_labels) = 1
    and bool_and(json_type(kanon_column) = 'OBJECT' and coalesce(kanon_labels[1], '0') = '0')
from (
    select
        kanon_column,
        json_keys(kanon_column) as kanon_labels
    from (
        select json_extract(json, '$."' || replace(kanon_key, '"', '\"') || '"') as kanon_column
        from (
            select
                json,
                unnest(json_keys(json)) as kanon_key
            from {{ source }}
        ) as keys
    ) as columns
) as labels
{%- endmacro %}


{# Distinct keys of all JSON objects. #}
{% macro json_object_keys(source) %}
select distinct unnest(json_keys(json))
from {{ source }}
{%- endmacro %}


{# For each column read as text: whether it has an integer that a DOUBLE may merge with another. #}
{% macro json_wide_integers(source, columns) %}
select
{% for column in columns %}
    bool_or(length({{ kanon_sql.ident(column) }}) > 15 and not regexp_matches({{ kanon_sql.ident(column) }}, '[.eE]')){{ "," if not loop.last }}
{% endfor %}
from {{ source }}
{%- endmacro %}


{#
    A JSON record with a number that a DOUBLE changes: the shortest digits of its nearest double
    differ from the written ones. A number without this problem is the only one with its double, so
    different numbers stay different. Digits in strings are not numbers; strings are removed in a
    second pass over the doubtful records only, because that is slow.
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


{# Records with such a number in their text; one row for each number. #}
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


{# Significant digits of a positive number, without exponent and outer zeros. #}
{% macro digits_that_mean(number) -%}
trim(replace(split_part({{ number }}, 'e', 1), '.', ''), '0')
{%- endmacro %}


{# Number of records that the CSV reader returns, and bytes of their values without quotes. #}
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


{# For each column: released records with a text that a text file reads back as NULL. #}
{% macro read_as_null(relation, columns, texts) %}
select
{% for column in columns %}
    count(*) filter (
        where cast({{ kanon_sql.ident(column) }} as varchar) in ({{ texts | join(", ") }})
    ){{ "," if not loop.last }}
{% endfor %}
from {{ relation }}
{%- endmacro %}


{# Definitions of tables and views. #}
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


{# Files of the attached databases. #}
{% macro database_files() %}
select path
from duckdb_databases()
where path is not null
{%- endmacro %}


{# Definitions of all views, macros and tables, which may name files. #}
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


{# Folders in which DuckDB searches for files, separated by commas. #}
{% macro file_search_path() %}
select current_setting('file_search_path')
{%- endmacro %}


{# Default collation. #}
{% macro default_collation() %}
select current_setting('default_collation')
{%- endmacro %}


{# Default direction of `order by`. #}
{% macro default_order() %}
select current_setting('default_order')
{%- endmacro %}


{# Whether DuckDB preserves the order of records in a file. #}
{% macro keeps_order() %}
select current_setting('preserve_insertion_order')
{%- endmacro %}


{#
    Whether each column treats texts as equal that differ by case, by accent or by Unicode
    normalisation, because of its own collation. Reads no record.
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


{# Transaction id: the same in two calls if a transaction is open. #}
{% macro current_transaction() %}
select txid_current()
{%- endmacro %}


{# Whether an extension is loaded. #}
{% macro is_loaded(extension) %}
select loaded
from duckdb_extensions()
where extension_name = {{ extension }}
{%- endmacro %}


{# A scan that no filter is pushed into. #}
{% macro whole_scan(scan) -%}
(select * from {{ scan }} offset 0)
{%- endmacro %}


{# User macros that shadow built-in functions. #}
{% macro shadowing_macros() %}
select distinct function_name
from duckdb_functions()
where
    not internal
    and function_name in (select function_name from duckdb_functions() where internal)
{%- endmacro %}


{# Temporary tables and views. #}
{% macro temporary_names() %}
select table_name
from duckdb_tables()
where temporary

union all

select view_name
from duckdb_views()
where temporary and not internal
{%- endmacro %}


{# CTE with the records of a text file, by the reader's call. #}
{% macro records_of_file(name, reader, columns) %}
{{ name }} as (
    select
{% for column in columns %}
        {{ kanon_sql.ident(column) }}{{ "," if not loop.last }}
{% endfor %}
    from {{ reader | indent(4) }}
)
{%- endmacro %}


{# Rows of lists, one list a column, each cast to the type of its column if that is given. #}
{% macro rows_of_lists(columns, types={}) %}
select
{% for column in columns %}
    unnest({{ "cast(? as " ~ types[column] ~ "[])" if column in types else "?" }}) as {{ kanon_sql.ident(column) }}{{ "," if not loop.last }}
{% endfor %}
{%- endmacro %}


{# Statement with further CTEs before its own. #}
{% macro with_ctes_before(sets, statement) %}
with

{{ sets | join(",\n\n") }}
{%- if statement.startswith("with\n") %},

{{ statement[4:] | trim }}
{%- else %}


{{ statement }}
{%- endif %}
{%- endmacro %}


{# A private name for the copies of text files. #}
{% macro view_of_copies(name, source) %}
create or replace temporary view {{ name }} as
select *
from {{ source }}
{%- endmacro %}


{#
    Of each text column: its values but for marks of suppressed figures, those that are numbers with a
    decimal comma or whole, and those with a decimal comma.
#}
{% macro decimal_commas(relation, columns, marks=[]) %}
select
{% for column in columns %}
{% set name = kanon_sql.ident(column) %}
{% set text = kanon_sql.unless(kanon_sql.is_suppressed(column, marks), name) if marks else name %}
    count({{ text }}) as kanon_values_{{ loop.index }},
    count(*) filter (
        where regexp_full_match({{ text }}, '[-+]?[0-9]+(,[0-9]+)?')
    ) as kanon_numbers_{{ loop.index }},
    count(*) filter (
        where regexp_full_match({{ text }}, '[-+]?[0-9]+,[0-9]+')
    ) as kanon_commas_{{ loop.index }}{{ "," if not loop.last }}
{% endfor %}
from {{ relation }}
{%- endmacro %}


{#
    The records of a text file with a point in the decimals of some columns, for a FROM clause. Marks
    of suppressed figures stay as they are.
#}
{% macro with_decimal_points(relation, columns, marks=[]) -%}
(select * replace (
{%- for column in columns -%}
{% set name = kanon_sql.ident(column) -%}
    {{ "case when " ~ kanon_sql.is_suppressed(column, marks) ~ " then " ~ name ~ " else " if marks }}replace({{ name }}, ',', '.'){{ " end" if marks }} as {{ name }}{{ ", " if not loop.last }}
{%- endfor -%}
) from {{ relation }})
{%- endmacro %}


{# Predicate: a text is a date of this format. #}
{% macro is_date_of(text, format) -%}
regexp_full_match({{ text }}, {{ kanon_sql.literal(format.regex) }}) and try_strptime({{ text }}, {{ kanon_sql.text_list(format.patterns) }}) is not null
{%- endmacro %}


{#
    As values_without_label, of text that is to be dates: also the values that are dates of each
    format.
#}
{% macro values_without_date(relation, column, label, formats, joined=none, shown=false) %}
{% set name = kanon_sql.ident(column) %}
with

raw_values as (
    select
        {{ name }} as kanon_value,
        {{ label | indent(8) }} as kanon_label,
        count(*) as kanon_held
    from {{ relation | indent(4) }}
    where {{ name }} is not null
    group by {{ name }}
),

values_without_label as (
    select
        kanon_value,
        kanon_held
    from raw_values
    where kanon_label is null
)

select
    count(*) as kanon_values_without_label,
    coalesce(sum(kanon_held), 0) as kanon_records_without_label
{%- for format in formats %},
    count(*) filter (where {{ kanon_sql.looks_like_date("kanon_value", format) }}) as kanon_like_{{ format.name }}
{%- endfor %}
{%- if shown %},
    {{ kanon_sql.texts_in_order("kanon_value", "kanon_value") }} as kanon_named_values
{%- endif %}

from values_without_label
{%- endmacro %}


{# Predicate: a text looks like a date of this format, in an order that nobody declared. #}
{% macro looks_like_date(text, format) -%}
{{ kanon_sql.is_date_of(text, format) }} and (year(try_strptime({{ text }}, {{ kanon_sql.text_list(format.patterns) }})) between 1800 and 2200 or contains({{ text }}, '9999'))
{%- endmacro %}


{# Of each column: its values, and those that are dates of a format, or look like them. #}
{% macro dates_as_written(relation, columns, declared=true) %}
{% set is_date = kanon_sql.is_date_of if declared else kanon_sql.looks_like_date %}
select
{% for column, format in columns %}
{% set name = kanon_sql.ident(column) %}
    count({{ name }}) as kanon_values_{{ loop.index }},
    count(*) filter (
        where {{ is_date(name, format) }}
    ) as kanon_dates_{{ loop.index }}{{ "," if not loop.last }}
{% endfor %}
from {{ relation }}
{%- endmacro %}


{# Of each column: the shapes of its values, in which each number is 9. #}
{% macro shapes_of_dates(relation, columns) %}
select
{% for column in columns %}
    list(distinct regexp_replace({{ kanon_sql.ident(column) }}, '[0-9]+', '9', 'g')) as kanon_shapes_{{ loop.index }}{{ "," if not loop.last }}
{% endfor %}
from {{ relation }}
{%- endmacro %}


{# The records of a table with the dates of some columns as in 1956-12-24, for a FROM clause. #}
{% macro with_iso_dates(relation, columns) -%}
(select * replace (
{%- for column, patterns, shape in columns -%}
{% set name = kanon_sql.ident(column) -%}
    strftime(try_strptime({{ name }}, {{ kanon_sql.text_list(patterns) }}), {{ kanon_sql.literal(shape) }}) as {{ name }}{{ ", " if not loop.last }}
{%- endfor -%}
) from {{ relation }})
{%- endmacro %}


{% macro text_list(texts) -%}
[{% for text in texts %}{{ kanon_sql.literal(text) }}{{ ", " if not loop.last }}{% endfor %}]
{%- endmacro %}


{#
    Of each column: its figures that are no marks of suppression, those of a spelling, and those with
    what no plainer spelling has.
#}
{% macro figures_as_written(relation, columns, spelling, marks=[]) %}
select
{% for column in columns %}
{% set name = kanon_sql.ident(column) %}
{% set text = kanon_sql.unless(kanon_sql.is_suppressed(column, marks), name) if marks else name %}
    count({{ text }}) as kanon_values_{{ loop.index }},
    count(*) filter (
        where regexp_full_match({{ text }}, {{ kanon_sql.literal(spelling.regex) }})
    ) as kanon_written_{{ loop.index }},
    count(*) filter (
        where regexp_full_match({{ text }}, {{ kanon_sql.literal(spelling.regex) }})
            and regexp_matches({{ text }}, {{ kanon_sql.literal(spelling.sign) }})
    ) as kanon_marked_{{ loop.index }}{{ "," if not loop.last }}
{% endfor %}
from {{ relation }}
{%- endmacro %}


{# The rows of a table with plain numbers for the figures of a spelling, for a FROM clause. #}
{% macro with_plain_figures(relation, columns, spelling, marks=[]) -%}
(select * replace (
{%- for column in columns -%}
{% set name = kanon_sql.ident(column) -%}
{% set number = "regexp_extract(" ~ name ~ ", " ~ kanon_sql.literal(spelling.regex) ~ ", 1)" -%}
{% set number = "regexp_replace(" ~ number ~ ", " ~ kanon_sql.literal(spelling.separator) ~ ", '', 'g')" if spelling.separator else number -%}
{% set number = "replace(" ~ number ~ ", ',', '.')" if spelling.decimal == "," else number -%}
    {{ "case when " ~ kanon_sql.is_suppressed(column, marks) ~ " then " ~ name ~ " else " if marks }}{{ number }}{{ " end" if marks }} as {{ name }}{{ ", " if not loop.last }}
{%- endfor -%}
) from {{ relation }})
{%- endmacro %}


{#
    A crosstab with one row a cell, for a FROM clause: a row for each category of each of its rows.
    Figures of several types are cast to text, in which none changes.
#}
{% macro crosstab_in_rows(relation, kept, categories, dimension, value, as_text=false) -%}
(select {% for column in kept %}{{ kanon_sql.ident(column) }}, {% endfor -%}
unnest([{% for column in categories %}{{ kanon_sql.literal(column.name) }}{{ ", " if not loop.last }}{% endfor %}]) as {{ dimension }}, unnest([{% for column in categories %}{{ "cast(" ~ kanon_sql.ident(column) ~ " as varchar)" if as_text else kanon_sql.ident(column) }}{{ ", " if not loop.last }}{% endfor %}]) as {{ value }} from {{ relation }})
{%- endmacro %}
