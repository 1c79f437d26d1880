{#
    Catalogue queries on ClickHouse before an audit, and the view that corrects columns of a table.
    Sent as written, without transpiling.
#}

{#
    Readable tables and views, with their database (empty for a temporary table) and whether each is
    a view.
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


{# Readable columns of a table, with their types. #}
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


{# Storage engines of these tables; there is at least one. #}
{% macro clickhouse_engines(tables) %}
select engine
from system.tables
where (database, name) in (
{% for database, name in tables %}
    ({{ database }}, {{ name }}){{ "," if not loop.last }}
{% endfor %}
)
{%- endmacro %}


{# Query plan of a table, including the actions on its rows. #}
{% macro clickhouse_plan(relation) %}
explain actions = 1
select 1
from {{ relation }}
{%- endmacro %}


{#
    Table with corrected columns: each name comes with its expression, or with none if it is read
    unchanged.
#}
{% macro clickhouse_view(relation, columns) %}
select
{% for name, expression in columns %}
    {{ expression ~ " as " if expression }}{{ name }}{{ "," if not loop.last }}
{% endfor %}
from {{ relation }}
{%- endmacro %}


{# Cancels a statement from another session. #}
{% macro clickhouse_kill(comment) %}
kill query where Settings['log_comment'] = {{ comment }} async
{%- endmacro %}


{# Folder of chDB in this process. #}
{% macro chdb_folder() %}
select path
from system.disks
where name = 'default'
{%- endmacro %}
