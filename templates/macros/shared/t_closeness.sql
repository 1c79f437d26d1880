{#
    t-closeness: how the sensitive values of a class are spread differs from how those of the
    table are by t at most. The measure is the earth mover's distance: how much of the class's
    shares q must be moved how far to become the table's shares p.

    Where all values are equally far apart it is what the class has too much, sum(q - p) over the
    values with q > p; the values that a class lacks need no row for that. In a small class every
    value that it has is there too often, and then the sum is 1 - sum(p): only the classes where
    some value is not are looked at value by value.

    Li, Li, Venkatasubramanian 2007, t-closeness, ICDE, section 4 (equal distance). For the
    others see ordered_distance.sql and hierarchical_distance.sql.
#}
{% macro t_closeness() -%}
case when kanon_total > 0 then kanon_distance end
{%- endmacro %}


{% macro t_closeness_violated(t, measure) -%}
{{ measure }} > {{ kanon_sql.number(t) }} + {{ kanon_sql.slack_of_distances() }}
{%- endmacro %}


{% macro t_closeness_columns(counted) -%}
sum({{ counted }}) as kanon_total
min({{ kanon_sql.quotient(counted, "kanon_share") }}) as kanon_lowest
sum(kanon_share) as kanon_present_share
{%- endmacro %}


{# The distance of each class, from the classes and the values in them. #}
{% macro equal_distances(columns, sensitive, counted) %}
distances as (
    select
{{ kanon_sql.aliases_in("class_values", columns) | indent(4, first=true) }},
        sum(
            case
                when {{ kanon_sql.quotient(counted, "classes.kanon_total") }} > value_shares.kanon_share
                then {{ kanon_sql.quotient(counted, "classes.kanon_total") }} - value_shares.kanon_share
                else 0
            end
        ) as kanon_distance
    from class_values
    inner join classes
{% for column in columns %}
        {{ "on" if loop.first else "and" }} {{ kanon_sql.same(
            "classes." ~ kanon_sql.alias(column), "class_values." ~ kanon_sql.alias(column)
        ) }}
{% endfor %}
        and classes.kanon_lowest < classes.kanon_total
    inner join value_shares
        on {{ kanon_sql.same(
            "value_shares." ~ kanon_sql.alias(sensitive),
            "class_values." ~ kanon_sql.alias(sensitive)
        ) }}
    group by
{{ kanon_sql.aliases_in("class_values", columns) | indent(4, first=true) }}
),

compared_classes as (
    select
        classes.*,
        case
            when distances.kanon_distance is not null then distances.kanon_distance
            when classes.kanon_present_share < 1 then 1 - classes.kanon_present_share
            else 0
        end as kanon_distance
    from classes
    left join distances
{% for column in columns %}
        {{ "on" if loop.first else "and" }} {{ kanon_sql.same(
            "distances." ~ kanon_sql.alias(column), "classes." ~ kanon_sql.alias(column)
        ) }}
{% endfor %}
)
{%- endmacro %}


{#
    The test. Values are equally far apart, or `order` lists them with their places, or they are
    numbers or dates; what has no place is an error, as nobody knows where it lies. NULL ranks last.
#}
{% macro t_closeness_failures(
    relation, columns, sensitive, t, distance="equal", order=none, entity=none, unknown=false
) %}
{% set violated = kanon_sql.t_closeness_violated(t, "kanon_t_closeness") %}
{% if distance == "equal" -%}
{{ kanon_sql.sensitive_failures(
    relation, columns, sensitive, "t_closeness",
    entity=entity, unknown=unknown,
    needs=["shares", "distances"],
    measure=kanon_sql.t_closeness(),
    violated=violated,
    class_columns=kanon_sql.t_closeness_columns(kanon_sql.counted(entity, unknown))
) }}
{%- else -%}
{% set listed = namespace(values=[]) %}
{% for value in order or [] %}
{% set listed.values = listed.values + [[value[0]]] %}
{% endfor %}
{% set statement = kanon_sql.ordered_distance(
    relation, columns, sensitive, entity, unknown, order,
    class_measures=[{"expression": kanon_sql.t_closeness() | trim, "name": "kanon_t_closeness"}],
    class_verdicts=[{"expression": kanon_sql.flag(violated | trim), "name": "kanon_t_closeness_violated"}],
    measures=[
        kanon_sql.worst_class(false, "t_closeness"),
        kanon_sql.flagged_classes("t_closeness_violated"),
        kanon_sql.flagged_records("t_closeness_violated"),
    ]
) %}
{{ kanon_sql.class_failures(
    statement, "t_closeness", kanon_sql.achieved("t_closeness"), relation, entity,
    sensitive=sensitive, listed=listed.values or none, ordered=order is none
) }}
{%- endif %}
{%- endmacro %}
