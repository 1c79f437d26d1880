{#
    Catalogue queries before an audit. Those on the catalogue of the SQL standard are transpiled,
    and quote names in upper case, as SQL Server may know no other. A dialect's own queries, and
    those on a session, are sent as written.
#}

{# Readable tables and views, with their database and schema. #}
{% macro catalogued_tables(catalogue) %}
select
    "TABLE_CATALOG",
    "TABLE_SCHEMA",
    "TABLE_NAME"
from {{ catalogue }}."TABLES"
{%- endmacro %}


{#
    Columns of a table: name, type, precision and scale if the type does not include them, and the
    collation if the catalogue has one.
#}
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


{#
    Values of session functions: current schemas, session id, version. One of them may cancel
    another session.
#}
{% macro session_values(functions) %}
select {{ functions | join(", ") }}
{%- endmacro %}
