{#
    What is asked of SQLite before an audit, which has no catalogue of the standard. It is sent as it
    stands here.
#}

{# Every table and view. #}
{% macro sqlite_tables() %}
select
    'main',
    'main',
    name
from main.sqlite_master
where type in ('table', 'view')
{%- endmacro %}


{# The columns of a table, with the types that they were declared with. #}
{% macro sqlite_columns(table) %}
select
    name,
    type
from pragma_table_info({{ kanon_sql.literal(table) }})
order by cid
{%- endmacro %}


{# How everything in the database is defined: a view may read any table of it. #}
{% macro sqlite_definitions() %}
select sql
from main.sqlite_master
where sql is not null
{%- endmacro %}
