{#
    A table whose values are told apart as they are: `casts` has the type that some columns are read
    as. Of two texts whatever collation they have counts, and of a short float six digits are shown.
#}
{% macro mysql_view(relation, columns, casts) %}
select
{% for name in columns %}
    {% set column = kanon_sql.ident(name) %}
    {{ "cast(" ~ column ~ " as " ~ casts[name] ~ ") as " ~ column if name in casts else column }}{{ "," if not loop.last }}
{% endfor %}
from {{ relation }}
{%- endmacro %}


{# Whether each of these columns holds nothing but true and false, which are 1 and 0. #}
{% macro mysql_flags(relation, columns) %}
select
{% for name in columns %}
    {% set column = kanon_sql.ident(name) %}
    coalesce(min(case when {{ column }} in (0, 1) or {{ column }} is null then 1 else 0 end), 1){{ "," if not loop.last }}
{% endfor %}
from {{ relation }}
{%- endmacro %}
