{#
    Household risk: the chance that at least one person of a household is found, 1 - Π (1 - r) over its
    people. Each is found independently of the others with the prosecutor risk r = 1 / size of their
    class; a person in several classes counts with the smallest. Averages and shares are of people,
    each with the risk of their household; a person in several households has the highest.

    Templ, Kowarik, Meindl 2015, Statistical disclosure control for micro-data using the R package
    sdcMicro, Journal of Statistical Software 67(4); Franconi, Polettini 2004, Individual risk
    estimation in μ-Argus: a review, Privacy in Statistical Databases.
#}

{# Households, people, and the figures of their risks. #}
{% macro household_risk(relation, columns, household, threshold, entity=none) %}
with

{% if entity is none %}
-- The records of each household in each class.
household_classes as (
    {{ kanon_sql.frequency_set(relation, columns + [household]) | trim | indent(4) }}
),

classes as (
    select
{{ kanon_sql.aliases(columns) | indent(4, first=true) }},
        sum(kanon_records) as kanon_size
    from household_classes
    group by
{{ kanon_sql.aliases(columns) | indent(4, first=true) }}
),

members as (
    select
        household_classes.{{ kanon_sql.alias(household) }},
        household_classes.kanon_records as kanon_people,
        classes.kanon_size
    from household_classes
    inner join classes
        on {{ kanon_sql.same_class(columns, "classes", "household_classes", other_is_set=true) | indent(8) }}
),
{% else %}
{{ kanon_sql.ctes_of_smallest_classes(relation, columns, entity) | trim }},

-- Each person once in a household.
household_people as (
    {{ kanon_sql.frequency_set(relation, [household, entity], counted=false) | trim | indent(4) }}
),

members as (
    select
        household_people.{{ kanon_sql.alias(household) }},
        household_people.{{ kanon_sql.alias(entity) }},
        people.kanon_size
    from household_people
    inner join people
        on people.{{ kanon_sql.alias(entity) }} = household_people.{{ kanon_sql.alias(entity) }}
),
{% endif %}

households as (
    select
        {{ kanon_sql.alias(household) }},
{% if entity is none %}
        sum(kanon_people) as kanon_people,
{% endif %}
        {{ kanon_sql.chance_of_any("kanon_people" if entity is none else none) | indent(8) }} as kanon_risk
    from members
    group by {{ kanon_sql.alias(household) }}
)
{%- if entity is none %}


select
    count(*) as kanon_households,
    sum(kanon_people) as kanon_people,
    max(kanon_risk) as kanon_highest,
    sum(kanon_people * kanon_risk) as kanon_found,
    sum(case when {{ kanon_sql.above_average("kanon_risk", threshold) }} then kanon_people else 0 end) as kanon_at_risk
from households
{%- else %},

-- Each person once, with the highest risk of their households.
risks as (
    select max(households.kanon_risk) as kanon_risk
    from members
    inner join households
        on households.{{ kanon_sql.alias(household) }} = members.{{ kanon_sql.alias(household) }}
    group by members.{{ kanon_sql.alias(entity) }}
),

counted_people as (
    select
        count(*) as kanon_people,
        max(kanon_risk) as kanon_highest,
        sum(kanon_risk) as kanon_found,
        sum({{ kanon_sql.flag(kanon_sql.above_average("kanon_risk", threshold)) }}) as kanon_at_risk
    from risks
),

counted_households as (
    select count(*) as kanon_households
    from households
)

select
    counted_households.kanon_households,
    counted_people.kanon_people,
    counted_people.kanon_highest,
    counted_people.kanon_found,
    counted_people.kanon_at_risk
from counted_households
cross join counted_people
{%- endif %}
{%- endmacro %}


{#
    1 - Π (1 - 1 / size) over the members of a household, as a sum of logarithms; `people` is the number
    of them in a row. Of someone alone in their class the logarithm is NULL, which the sum leaves out,
    and the chance is 1.
#}
{% macro chance_of_any(people=none) -%}
{% set missed = "ln(" ~ kanon_sql.quotient("nullif(kanon_size - 1, 0)", "kanon_size") ~ ")" -%}
case
    when min(kanon_size) = 1 then 1
    else 1 - exp(sum({{ missed if people is none else people ~ " * " ~ missed }}))
end
{%- endmacro %}
