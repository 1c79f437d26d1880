{#
    Final CTEs of ordered and hierarchical t-closeness: each class with its records and its
    distance, and the figures of the models. A class without a known value has no distance.
#}
{% macro classes_with_distances(columns, counted, class_measures, entity=none, counted_records=true) %}
class_totals as (
    select
{{ kanon_sql.aliases(columns) | indent(4, first=true) }}
{%- if counted == "kanon_counted" %},
        sum(kanon_counted) as kanon_total
{%- endif %}
{%- if counted_records %},
        sum(kanon_records) as {{ kanon_sql.records_of_class(entity) }}
{%- endif %}

    from class_values
    group by
{{ kanon_sql.aliases(columns) | indent(4, first=true) }}
),

-- Each class with its distance, NULL if none of its values has a rank.
classes as (
    select
        class_totals.*,
        class_distances.kanon_distance
    from class_totals
    left join class_distances
        on {{ kanon_sql.same_class(columns, "class_distances", "class_totals", other_is_set=true) | indent(8) }}
)
{%- if kanon_sql.figured_classes(class_measures) | trim == "measured_classes" %},

{{ kanon_sql.measured_classes(class_measures) }}
{%- endif %}
{%- endmacro %}


{#
    SELECT over these classes: aggregates, the violating classes, or the people in flagged classes.
#}
{% macro select_of_distances(columns, class_measures, measures, violating=none, entity=none, flags=[]) %}
{% set classes = kanon_sql.figured_classes(class_measures) | trim %}
{%- if flags -%}
,

{{ kanon_sql.people_of_flagged_classes("class_value_people", classes, columns, entity, flags) }}
{%- elif violating is not none %}


{{ kanon_sql.violating_classes(columns, violating, classes, kanon_sql.records_of_class(entity)) }}
{%- else %}


select
    count(*) as kanon_classes,
    sum({{ kanon_sql.records_of_class(entity) }}) as kanon_records
{%- for measure in measures %},
    {{ measure | indent(4) }}
{%- endfor %}

from {{ classes }}
{%- endif %}
{%- endmacro %}
