{#
    The end of a statement on distances that have a statement of their own: each class with its
    records and its distance, and what is so of all of them. A class of which no value is known
    has no distance.
#}
{% macro classes_with_distances(
    columns, counted, class_measures, class_verdicts, measures, violating=none, entity=none, flags=[]
) %}
distances_and_values as (
    select
{{ kanon_sql.aliases(columns) | indent(4, first=true) }},
        kanon_distance,
        0 as kanon_total,
        0 as kanon_records
    from class_distances

    union all

    select
{{ kanon_sql.aliases(columns) | indent(4, first=true) }},
        null as kanon_distance,
        {{ counted }} as kanon_total,
        kanon_records
    from class_values
),

classes as (
    select
{{ kanon_sql.aliases(columns) | indent(4, first=true) }},
        max(kanon_distance) as kanon_distance,
        sum(kanon_total) as kanon_total,
        sum(kanon_records) as kanon_records
    from distances_and_values
    group by
{{ kanon_sql.aliases(columns) | indent(4, first=true) }}
),

{{ kanon_sql.judged_classes("classes", class_measures, class_verdicts) }}
{%- if flags %},

{{ kanon_sql.people_of_flagged_classes("class_value_people", "judged_classes", columns, entity, flags) }}
{%- else %}


{% if violating is not none %}
{{ kanon_sql.violating_classes(columns, violating, "judged_classes") }}
{%- else %}
select
    count(*) as kanon_classes,
    sum(kanon_records) as kanon_records
{%- for measure in measures %},
    {{ measure }}
{%- endfor %}

from judged_classes
{%- endif %}
{%- endif %}

{%- endmacro %}
