{#
    A model of a dbt project that releases another: dbt reads what is written here, so what it is
    to render itself stands in quotes.
#}
{% macro dbt_model(comment, source, hierarchies, identifiers, violating, released, in_order=none) %}
{% for line in comment %}
-- {{ line }}
{% endfor %}
with

generalised as (
    {{ "{{" }} kanon_sql.generalized(ref({{ source }}), {
{% for column, how in hierarchies.items() %}
        {{ column }}: {{ how }},
{% endfor %}
    }{{ ", identifiers=" ~ identifiers if identifiers is not none }}) {{ "}}" }}
),

violating_classes as (
    {{ violating | indent(4) }}
)
{%- if in_order is not none %},

published_records as (
    {{ released | indent(4) }}
)

{{ in_order }}
{%- else %}


{{ released }}
{%- endif %}
{%- endmacro %}
