{#
    Distinct l-diversity: every class has at least l values of the sensitive attribute. With an
    entity, a class in which every person holds some common value counts as one with a single value,
    because that value is certain.

    Machanavajjhala, Kifer, Gehrke, Venkitasubramaniam 2007, l-diversity, ACM TKDD 1(1),
    section 3.
#}
{% macro l_diversity(entity=none, unknown=false) -%}
{{ kanon_sql.unless_certain("kanon_distinct", "1", entity, unknown) }}
{%- endmacro %}


{% macro l_diversity_violated(l, measure) -%}
{{ measure }} < {{ kanon_sql.positive_int(l, "l") }}
{%- endmacro %}


{% macro l_diversity_columns(counted, sensitive, entity=none, unknown=false) -%}
{{ return(
    kanon_sql.distinct_columns(sensitive, unknown) + kanon_sql.most_people_columns(counted, entity)
) }}
{%- endmacro %}


{# Generic test of l-diversity. #}
{% macro l_diversity_failures(relation, columns, sensitive, l, entity=none, unknown=false) %}
{{ kanon_sql.sensitive_failures(
    relation, columns, sensitive, "l_diversity",
    entity=entity, unknown=unknown,
    measure=kanon_sql.l_diversity(entity, unknown),
    violated=kanon_sql.l_diversity_violated(l, kanon_sql.figure_of("l_diversity", kanon_sql.l_diversity(entity, unknown))),
    class_columns=kanon_sql.l_diversity_columns(
        kanon_sql.counted(entity, unknown), sensitive, entity, unknown
    ),
    least=true
) }}
{%- endmacro %}


{% test l_diversity(model) -%}
{% set arguments = kanon_sql.test_arguments(
    "l_diversity", model, kwargs, {"l": "count"}, ["sensitive"]
) -%}
{{ kanon_sql.tidy(kanon_sql.l_diversity_failures(**arguments), model) }}
{%- endtest %}
