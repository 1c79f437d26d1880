{#
    k-anonymity of several column sets of one table, each with its own k: what someone knows who knows
    only some of the quasi-identifiers. The records are read once; the classes of each set are rolled up
    from the frequency set of all quasi-identifiers.

    Sweeney 2002, k-anonymity: a model for protecting privacy, IJUFKS 10(5), definition 3; LeFevre,
    DeWitt, Ramakrishnan 2005, Incognito, section 3.1 (roll-up property); Hundepool et al. 2012,
    Statistical disclosure control, section 3.3 (threshold rule for combinations, as in μ-ARGUS).
#}

{#
    One row for each set: its smallest class, and the classes below its k with their records. People
    count once in a class, and once among those in a class that is too small.
#}
{% macro k_anonymity_of_sets(relation, columns, sets, entity=none) %}
with

frequency_set as (
    {{ kanon_sql.frequency_set(relation, columns if entity is none else columns + [entity]) | trim | indent(4) }}
),

{% for set in sets %}
{% set classes, class_people = "classes_" ~ set.number, "class_people_" ~ set.number %}
{% if entity is none %}
{{ classes }} as (
    select
{{ kanon_sql.aliases(set.columns) | indent(4, first=true) }},
        sum(kanon_records) as kanon_size
    from frequency_set
    group by
{{ kanon_sql.aliases(set.columns) | indent(4, first=true) }}
),
{% else %}
{{ class_people }} as (
    {{ kanon_sql.roll_up("frequency_set", set.columns + [entity]) | trim | indent(4) }}
),

{{ classes }} as (
    {{ kanon_sql.count_people(class_people, set.columns, entity, aggregates=["records"]) | trim | indent(4) }}
),
{% if set.k is not none %}

violating_people_{{ set.number }} as (
    select count(distinct {{ class_people }}.{{ kanon_sql.alias(entity) }}) as kanon_people
    from {{ class_people }}
    inner join {{ classes }}
        on {{ kanon_sql.same_class(set.columns, classes, class_people, other_is_set=true) | indent(8) }}
    where {{ classes }}.{{ kanon_sql.too_small(set.k) }}
),
{% endif %}
{% endif %}

{% endfor %}
sizes as (
{% for set in sets %}
    {{ kanon_sql.sizes_of_set(set, entity) | trim | indent(4) }}
{% if not loop.last %}

    union all

{% endif %}
{% endfor %}
)

select
    kanon_set,
    kanon_size,
    kanon_violating_classes,
    kanon_violating_records,
    kanon_violating_people
from sizes
order by kanon_set
{%- endmacro %}


{# The row of one set. #}
{% macro sizes_of_set(set, entity=none) -%}
{% set none_counted = "cast(null as " ~ kanon_sql.whole_type() ~ ")" %}
select
    {{ set.number }} as kanon_set,
    min(kanon_size) as kanon_size,
{% if set.k is none %}
    {{ none_counted }} as kanon_violating_classes,
    {{ none_counted }} as kanon_violating_records,
    {{ none_counted }} as kanon_violating_people
{% else %}
    sum({{ kanon_sql.flag(kanon_sql.too_small(set.k)) }}) as kanon_violating_classes,
    {{ kanon_sql.sum_where(
        kanon_sql.too_small(set.k), kanon_sql.records_of_class(entity), "kanon_violating_records"
    ) | indent(4) }},
    {{ none_counted if entity is none else "min(violating_people_" ~ set.number ~ ".kanon_people)" }} as kanon_violating_people
{% endif %}
from classes_{{ set.number }}
{%- if set.k is not none and entity is not none %}

cross join violating_people_{{ set.number }}
{%- endif %}
{%- endmacro %}
