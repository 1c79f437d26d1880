{#
    What is asked of ClickHouse' catalogue before an audit, and how a table is read whose columns
    have to be put right. It is sent as it stands here.
#}

{#
    Every table and view that may be read, with its database, of which a temporary table is in none,
    and whether it is a view.
#}
{% macro clickhouse_tables() %}
select
    'clickhouse',
    database,
    name,
    engine = 'View'
from system.tables
where lower(database) not in ('system', 'information_schema')
{%- endmacro %}


{# The columns of a table that can be read, with their types. #}
{% macro clickhouse_columns(database, table) %}
select
    name,
    type
from system.columns
where
    database = {{ database }}
    and table = {{ table }}
    and default_kind <> 'EPHEMERAL'
order by position
{%- endmacro %}


{# How each of these tables, of which there is at least one, is stored. #}
{% macro clickhouse_engines(tables) %}
select engine
from system.tables
where (database, name) in (
{% for database, name in tables %}
    ({{ database }}, {{ name }}){{ "," if not loop.last }}
{% endfor %}
)
{%- endmacro %}


{# How a table would be read, all that is done to its rows included. #}
{% macro clickhouse_plan(relation) %}
explain actions = 1
select 1
from {{ relation }}
{%- endmacro %}


{# A table whose columns are what they are for everyone who compares them: each name comes with
   the expression that it stands for, or with none. #}
{% macro clickhouse_view(relation, columns) %}
select
{% for name, expression in columns %}
    {{ expression ~ " as " if expression }}{{ name }}{{ "," if not loop.last }}
{% endfor %}
from {{ relation }}
{%- endmacro %}


{# What stops a statement, from another session. #}
{% macro clickhouse_kill(comment) %}
kill query where Settings['log_comment'] = {{ comment }} async
{%- endmacro %}


{# The folder that chDB has in this process. #}
{% macro chdb_folder() %}
select path
from system.disks
where name = 'default'
{%- endmacro %}
