{#
    Catalogue queries on SQLite before an audit, which has no standard catalogue. Sent as written,
    without transpiling.
#}

{#
    Schemas in the order of name resolution: temp comes first, and is missing if there are no
    temporary tables.
#}
{% macro sqlite_schemas() %}
select name
from pragma_database_list
order by name <> 'temp', seq
{%- endmacro %}


{# Files of the databases; an in-memory database has none. #}
{% macro sqlite_files() %}
select file
from pragma_database_list
where file <> ''
{%- endmacro %}


{# Tables and views of these schemas. #}
{% macro sqlite_tables(schemas) %}
{% for schema in schemas %}
select
    {{ kanon_sql.literal(schema) }},
    name
from {{ kanon_sql.ident(schema) }}.sqlite_master
where type in ('table', 'view')
{% if not loop.last %}

union all

{% endif %}
{% endfor %}
{%- endmacro %}


{#
    Columns of a table with their declared types, including generated columns, without hidden ones
    of a virtual table. The schema is given because another may have a table of the same name.
#}
{% macro sqlite_columns(schema, table) %}
select
    name,
    type
from pragma_table_xinfo({{ kanon_sql.literal(table) }}, {{ kanon_sql.literal(schema) }})
where hidden <> 1
order by cid
{%- endmacro %}


{#
    For each column, the types that all its values have, as a bit mask in the order of `types`. A
    SQLite column takes any value whatever its declared type. One scan covers all columns.
#}
{% macro sqlite_types_that_hold(schema, table, columns) %}
select
{% for name, types in columns %}
    {% set value = kanon_sql.ident(name) %}
    {% for type in types %}
    {{ 2 ** loop.index0 }} * coalesce(min({{ value }} is null or {{ sqlite_is_of(type, value) }}), 1){{ " +" if not loop.last }}
    {% endfor %}
    {{- "," if not loop.last }}
{% endfor %}
from {{ kanon_sql.ident(schema) }}.{{ kanon_sql.ident(table) }}
{%- endmacro %}


{#
    Predicate: the value is of this type. An integer counts as a double only if a double represents
    it exactly, and a date has one spelling. In a column with integers, no text may be spelled like
    one: GROUP BY distinguishes '1' from 1, and the cast to text would merge them.
#}
{% macro sqlite_is_of(type, value) %}
{% if type == "BOOLEAN" -%}
    (typeof({{ value }}) = 'integer' and {{ value }} in (0, 1))
{%- elif type == "BIGINT" -%}
    typeof({{ value }}) = 'integer'
{%- elif type == "VARCHAR" -%}
    typeof({{ value }}) = 'text'
{%- elif type == "VARCHAR OR BIGINT" -%}
    (typeof({{ value }}) = 'integer'
    {{- " " }}or (typeof({{ value }}) = 'text' and cast(cast({{ value }} as integer) as text) <> {{ value }}))
{%- elif type == "BLOB" -%}
    typeof({{ value }}) = 'blob'
{%- elif type == "DOUBLE" -%}
    (typeof({{ value }}) = 'real' or (typeof({{ value }}) = 'integer'
    {{- " " }}and {{ value }} between -9007199254740992 and 9007199254740992))
{%- elif type == "DATE" -%}
    ({{ value }} glob '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]' and date({{ value }}, '+0 days') is {{ value }})
{%- endif %}
{% endmacro %}


{# Table with some columns cast to text. Each name comes with whether it is one of them. #}
{% macro sqlite_view(relation, columns) %}
select
{% for name, is_read_as_text in columns %}
    {{ "cast(" ~ kanon_sql.ident(name) ~ " as text) as " ~ kanon_sql.ident(name) if is_read_as_text else kanon_sql.ident(name) }}{{ "," if not loop.last }}
{% endfor %}
from {{ relation }}
{%- endmacro %}


{#
    Definition of a table. A view may read any other view of these schemas, so for a view all
    definitions are returned. Indexes are left out, as they don't change results.
#}
{% macro sqlite_definitions(schema, table, read) %}
{% for other in read %}
select each.sql
from {{ kanon_sql.ident(schema) }}.sqlite_master as asked
inner join {{ kanon_sql.ident(other) }}.sqlite_master as each
    on {{ "asked.name = each.name or " if other == schema }}asked.type = 'view'
where asked.name = {{ kanon_sql.literal(table) }}
    and asked.type in ('table', 'view')
    and each.type in ('table', 'view')
    and each.sql is not null
{% if not loop.last %}

union all

{% endif %}
{% endfor %}
{%- endmacro %}
