{#
    What is asked of a catalogue before an audit. The catalogue of the SQL standard is quoted in upper
    case, as SQL Server may know no other, and is translated; what a dialect has instead, and what is
    asked of a session, is sent as it stands here.
#}

{# Every table and view that may be read, with its database and schema. #}
{% macro catalogued_tables(catalogue) %}
select
    "TABLE_CATALOG",
    "TABLE_SCHEMA",
    "TABLE_NAME"
from {{ catalogue }}."TABLES"
{%- endmacro %}


{# The columns of a table: the name, the type, digits and decimals where the type does not say
   them, and the collation where the catalogue tells one. #}
{% macro catalogued_columns(catalogue, schema, table, type="DATA_TYPE", digits=true, collation=false) %}
select
    "COLUMN_NAME",
    {{ kanon_sql.ident(type) }},
    {{ kanon_sql.ident("NUMERIC_PRECISION") if digits else "null" }} as kanon_digits,
    {{ kanon_sql.ident("NUMERIC_SCALE") if digits else "null" }} as kanon_decimals,
    {{ kanon_sql.ident("COLLATION_NAME") if collation else "null" }} as kanon_collation
from {{ catalogue }}."COLUMNS"
where
    "TABLE_SCHEMA" = {{ kanon_sql.literal(schema) }}
    and "TABLE_NAME" = {{ kanon_sql.literal(table) }}
order by "ORDINAL_POSITION"
{%- endmacro %}


{# What a session tells by these functions: where it looks up a name, its number, a version. One of
   them may stop another session. #}
{% macro told_by_session(functions) %}
select {{ functions | join(", ") }}
{%- endmacro %}
