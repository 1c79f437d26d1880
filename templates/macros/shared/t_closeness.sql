{#
    t-closeness: the earth mover's distance between the distribution of the sensitive values in a
    class (shares q) and in the table (shares p) is at most t.

    With the equal distance it is the sum of q - p over the values with q > p; values missing in the
    class need no row.

    Li, Li, Venkatasubramanian 2007, t-closeness, ICDE, section 4 (equal distance). For the
    others see ordered_distance.sql and hierarchical_distance.sql.
#}
{% macro t_closeness(unknown=false) -%}
{{ "case when kanon_total > 0 then kanon_distance end" if unknown else "kanon_distance" }}
{%- endmacro %}


{% macro t_closeness_violated(t, measure) -%}
{{ measure }} > {{ kanon_sql.number(t) }} + {{ kanon_sql.slack_of_distances() }}
{%- endmacro %}


{% macro t_closeness_columns(counted, unknown=false) -%}
{{ return([
    {"name": "kanon_distance", "expression":
        "sum(\n    case when kanon_class_share > kanon_share then kanon_class_share - kanon_share else 0 end\n)"},
] + (kanon_sql.total_columns(counted) if unknown else [])) }}
{%- endmacro %}


{#
    Generic test of t-closeness: with the equal distance, or an order given by `order`, or that of
    numbers or dates. A value without a rank is an error. NULL ranks last.
#}
{% macro t_closeness_failures(
    relation, columns, sensitive, t, distance="equal", order=none, entity=none, unknown=false, paths=[]
) %}
{% set measure = kanon_sql.t_closeness(unknown) | trim %}
{% set violated = kanon_sql.t_closeness_violated(t, kanon_sql.figure_of("t_closeness", measure)) %}
{% if distance == "equal" -%}
{{ kanon_sql.sensitive_failures(
    relation, columns, sensitive, "t_closeness",
    entity=entity, unknown=unknown,
    needs=["shares", "class_shares"],
    measure=measure,
    violated=violated,
    class_columns=kanon_sql.t_closeness_columns(kanon_sql.counted(entity, unknown), unknown)
) }}
{%- else -%}
{% set listed = namespace(values=[]) %}
{% for value in order or paths %}
{% set listed.values = listed.values + [[value[0]]] %}
{% endfor %}
{% set measures = [{"expression": measure, "name": "kanon_t_closeness"}] %}
{% set class_ctes %}
{% if paths %}
{{ kanon_sql.inline_values("listed_values", ["kanon_value"], listed.values) }},

{{ kanon_sql.ctes_of_hierarchical_distance(relation, columns, sensitive, entity, unknown, paths, measures) }}
{%- else -%}
{{ kanon_sql.ctes_of_ordered_distance(relation, columns, sensitive, entity, unknown, order, measures) }}
{%- endif %}
{%- endset %}
{{ kanon_sql.class_failures(
    class_ctes,
    kanon_sql.figured_classes(measures) | trim,
    violated | trim,
    kanon_sql.achieved(kanon_sql.figure(measures[0]) | trim),
    relation, kanon_sql.records_of_class(entity),
    entity=entity, sensitive=sensitive, listed=listed.values or none,
    ordered=order is none and not paths, nulls_listed=unknown or not paths
) }}
{%- endif %}
{%- endmacro %}


{% test t_closeness(model) -%}
{% set arguments = kanon_sql.test_arguments("t_closeness", model, kwargs, {
    "t": {"most": 1}, "distance": ["equal", "ordered"], "order": "order",
}, ["sensitive"]) -%}
{% if arguments["order"] is not none and arguments["distance"] != "ordered" -%}
{{ kanon_sql.refuse("t_closeness: order is for distance: ordered") }}
{%- endif -%}
{{ kanon_sql.tidy(kanon_sql.t_closeness_failures(**arguments), model) }}
{%- endtest %}
