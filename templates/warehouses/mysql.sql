{#
    Table with columns cast so that different values stay different: `casts` has the target types.
    Texts are compared by their collation otherwise, and a FLOAT shows only six digits. An alias loses
    its leading blanks, and a `listed` name does not.
#}
{% macro mysql_view(relation, columns, casts, listed) %}
{% if listed %}
with read_records ({% for name in columns %}{{ kanon_sql.ident(name) }}{{ ", " if not loop.last }}{% endfor %}) as (
{% endif %}
select
{% for name in columns %}
    {% set column = kanon_sql.ident(name) %}
    {{ "cast(" ~ column ~ " as " ~ casts[name] ~ ") as " ~ column if name in casts else column }}{{ "," if not loop.last }}
{% endfor %}
from {{ relation }}
{% if listed %}
)

select *
from read_records
{% endif %}
{%- endmacro %}


{# Whether each of these columns holds booleans only, i.e. 1 and 0. #}
{% macro mysql_flags(relation, columns) %}
select
{% for name in columns %}
    {% set column = kanon_sql.ident(name) %}
    coalesce(min(case when {{ column }} in (0, 1) or {{ column }} is null then 1 else 0 end), 1){{ "," if not loop.last }}
{% endfor %}
from {{ relation }}
{%- endmacro %}
