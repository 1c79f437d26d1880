{#
    What is asked of SQLite before an audit, which has no catalogue of the standard. It is sent as it
    stands here.
#}

{# The schemas, in the order in which a name is looked up in them: temporary tables come first,
   and are not listed where there are none. #}
{% macro sqlite_schemas() %}
select name
from pragma_database_list
order by name <> 'temp', seq
{%- endmacro %}


{# The files of the databases; one in memory has none. #}
{% macro sqlite_files() %}
select file
from pragma_database_list
where file <> ''
{%- endmacro %}


{# Every table and view of these schemas. #}
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
    The columns of a table, with the types that they were declared with: generated ones too, and
    none that a virtual table hides. A table of the same name in another schema is another one.
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
    For each column, in their order, which of these types it holds nothing but values of: a sum of
    1, 2, 4 and so on for the types. A column takes any value, whatever it was declared with. All
    of them are looked at in one scan.
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
    Whether a value that is not NULL is one of this type: a whole number is a double only where one
    holds it, and a date has one spelling. Beside integers no text may be spelled as one is: GROUP BY
    tells '1' from 1, which a cast to text would merge.
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


{# A table of which some columns are read as text. Each name comes with whether it is one of them. #}
{% macro sqlite_view(relation, columns) %}
select
{% for name, is_read_as_text in columns %}
    {{ "cast(" ~ kanon_sql.ident(name) ~ " as text) as " ~ kanon_sql.ident(name) if is_read_as_text else kanon_sql.ident(name) }}{{ "," if not loop.last }}
{% endfor %}
from {{ relation }}
{%- endmacro %}


{#
    How a table is defined. A view may read any other of these schemas, so for one this is how all
    of them are. An index is no part of what is read, whatever it compares by.
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
