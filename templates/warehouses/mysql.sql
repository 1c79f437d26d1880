{# A table whose texts are equal only where they are the same: `texts` are the columns to be told
   so, whatever collation they have. #}
{% macro mysql_view(relation, columns, texts) %}
select
{% for name in columns %}
    {% set column = kanon_sql.ident(name) %}
    {{ "cast(" ~ column ~ " as varchar) as " ~ column if name in texts else column }}{{ "," if not loop.last }}
{% endfor %}
from {{ relation }}
{%- endmacro %}
