{#
    Background knowledge: how the classes change if the attacker knows one column more or one less,
    and how certain a sensitive value becomes once other values are ruled out. The statements return
    counts, never a value of the table.

    Sweeney 2002, k-anonymity: a model for protecting privacy, IJUFKS 10(5), section 4 (attacks
    against k-anonymity); Machanavajjhala, Kifer, Gehrke, Venkitasubramaniam 2007, l-diversity,
    ACM TKDD 1(1), section 2 (background knowledge attack).
#}

{# Distinct values of each column (NULL counts as one), and the number of people. #}
{% macro distinct_values(relation, columns, entity=none) %}
select
    count(*) as kanon_records
{%- if entity is not none %},
    count(distinct {{ kanon_sql.ident(entity) }}) as kanon_people
{%- endif %}
{%- for column in columns %},
    count(distinct {{ kanon_sql.ident(column) }}) + max(case when {{ kanon_sql.ident(column) }} is null then 1 else 0 end) as kanon_distinct_{{ loop.index }}
{%- endfor %}

from {{ relation }}
{%- endmacro %}


{#
    Class sizes for an attacker who also knows the column `known`. NULL in it is a value like any
    other.

    Every record unique by the quasi-identifiers stays unique with the column, so the newly unique
    records are the difference of the two counts. `each_person`: a person in several classes counts
    once, with the smallest of them.
#}
{% macro attacker_knows(relation, columns, known, k, entity=none, each_person=false) %}
{% set records = kanon_sql.records_of_class(entity) %}
with

{% if entity is none %}
classes as (
    select
{{ kanon_sql.aliased_keys(columns + [known]) | indent(4, first=true) }},
        count(*) as kanon_size
    from {{ relation | indent(4) }}
    group by
{{ kanon_sql.grouped_by(columns + [known]) | indent(4, first=true) }}
)
{%- else %}
class_people as (
    {{ kanon_sql.frequency_set(relation, columns + [known, entity]) | trim | indent(4) }}
),

classes as (
    {{ kanon_sql.count_people(
        "class_people", columns + [known], entity, aggregates=[] if each_person else ["records"]
    ) | trim | indent(4) }}
)
{%- endif %}
{% if each_person %},

people as (
    {{ kanon_sql.of_each_person("class_people", "classes", columns + [known], entity, [
        "sum(class_people.kanon_records) as kanon_records",
        "min(classes.kanon_size) as kanon_size",
    ]) | trim | indent(4) }}
)

select
    sum(kanon_records) as kanon_records,
    count(*) as kanon_members,
    sum(case when kanon_size = 1 then 1 else 0 end) as kanon_uniques,
    sum(case when kanon_size < {{ kanon_sql.positive_int(k, "k") }} then 1 else 0 end) as kanon_below_k
from people
{%- else %}


select
    sum({{ records }}) as kanon_records,
    sum(kanon_size) as kanon_members,
    count(*) as kanon_classes,
    min(kanon_size) as kanon_k,
    {{ kanon_sql.sample_uniqueness() }},
    sum(case when kanon_size < {{ kanon_sql.positive_int(k, "k") }} then kanon_size else 0 end) as kanon_below_k
from classes
{%- endif %}
{%- endmacro %}


{#
    Effect of one quasi-identifier. Counted are the records (people) in classes below k with k or more
    for an attacker without the column `lacked`, and those of them in the column's outer one per cent,
    the part changed by clipping.

    A value lies in the outer one per cent if fewer than 0.5 % of the records have this or a lower
    value, or fewer than 0.5 % this or a higher one. NULL and non-finite numbers have no rank and count
    on neither side. Text is ranked by its number; `kanon_unplaced_values` counts the values without
    one.

    `combinations` is the frequency set of the quasi-identifiers, and of the people with an entity.

    `each_person`: a person in several classes counts once, with the smallest class in either case,
    and lies in the outer one per cent if any of their small classes does.
#}
{% macro attacker_lacks(
    combinations, columns, lacked, k, entity=none, ordered_by=none, each_person=false
) %}
{% set others = columns | reject("equalto", lacked) | list %}
{% set records = kanon_sql.records_of_class(entity) %}
with

{% if entity is none %}
compared_classes as (
    select
{{ kanon_sql.aliases(columns) | indent(4, first=true) }},
        kanon_records as kanon_size,
{% if others %}
        sum(kanon_records) over (
            partition by
{{ kanon_sql.aliases(others) | indent(12, first=true) }}
        ) as kanon_size_without
{% else %}
        sum(kanon_records) over () as kanon_size_without
{% endif %}
    from {{ combinations }}
)
{%- else %}
classes as (
    {{ kanon_sql.count_people(
        combinations, columns, entity, aggregates=[] if each_person and ordered_by is none else ["records"]
    ) | trim | indent(4) }}
),

-- Each person once in a class without the column.
people_without as (
    {{ kanon_sql.roll_up(combinations, others + [entity], counted=false) | trim | indent(4) }}
),

classes_without as (
    select
{% if others %}
{{ kanon_sql.aliases(others) | indent(4, first=true) }},
{% endif %}
        count(*) as kanon_size_without
    from people_without
{% if others %}
    group by
{{ kanon_sql.aliases(others) | indent(4, first=true) }}
{% endif %}
),

compared_classes as (
    select
        classes.*,
        classes_without.kanon_size_without
    from classes
    {{ "inner" if others else "cross" }} join classes_without
{% if others %}
        on {{ kanon_sql.same_class(others, "classes_without", "classes", other_is_set=true) | indent(8) }}
{% endif %}
)
{%- endif %}
{% if ordered_by is none and each_person %},

people as (
    {{ kanon_sql.of_each_person(combinations, "compared_classes", columns, entity, [
        "sum(" ~ combinations ~ ".kanon_records) as kanon_records",
        "min(compared_classes.kanon_size) as kanon_least_size",
        "min(compared_classes.kanon_size_without) as kanon_least_without",
    ]) | trim | indent(4) }}
)

select
    sum(kanon_records) as kanon_records,
    sum({{ kanon_sql.leaves_small_classes(k) }}) as kanon_leaving
from people
{%- elif ordered_by is none %}


select
    sum({{ records }}) as kanon_records,
    {{ kanon_sql.leaving_small_classes(k) }} as kanon_leaving
from compared_classes
{%- else %},

lacked_values as (
    select
        {{ kanon_sql.alias(lacked) }},
        {{ kanon_sql.finite_number(lacked) if ordered_by == "number" else kanon_sql.alias(lacked) }} as kanon_place,
        sum({{ records }}) as kanon_records
{%- if not each_person %},
        {{ kanon_sql.leaving_small_classes(k) }} as kanon_leaving
{%- endif %}

    from compared_classes
    group by {{ kanon_sql.alias(lacked) }}
),

placed_values as (
    select
        lacked_values.*,
        sum(case when kanon_place is null then 0 else kanon_records end) over (order by kanon_place) as kanon_up_to,
        sum(case when kanon_place is null then 0 else kanon_records end) over (order by kanon_place desc) as kanon_from,
        sum(case when kanon_place is null then 0 else kanon_records end) over () as kanon_placed_records
    from lacked_values
)
{%- if each_person %},

outer_values as (
    select
        {{ kanon_sql.alias(lacked) }},
        {{ kanon_sql.flag(kanon_sql.in_outer_percent()) | indent(8) }} as kanon_is_outer
    from placed_values
),

placed_classes as (
    select
        compared_classes.*,
        outer_values.kanon_is_outer
    from compared_classes
    inner join outer_values
        on {{ kanon_sql.same(
            "outer_values." ~ kanon_sql.alias(lacked), "compared_classes." ~ kanon_sql.alias(lacked)
        ) }}
),

people as (
    {{ kanon_sql.of_each_person(combinations, "placed_classes", columns, entity, [
        "sum(" ~ combinations ~ ".kanon_records) as kanon_records",
        "min(placed_classes.kanon_size) as kanon_least_size",
        "min(placed_classes.kanon_size_without) as kanon_least_without",
        "max(case when placed_classes.kanon_size < "
            ~ kanon_sql.positive_int(k, "k") ~ " then placed_classes.kanon_is_outer else 0 end) as kanon_is_outer",
    ]) | trim | indent(4) }}
)

select
    sum(kanon_records) as kanon_records,
    sum({{ kanon_sql.leaves_small_classes(k) }}) as kanon_leaving,
    sum(kanon_is_outer * {{ kanon_sql.leaves_small_classes(k) }}) as kanon_leaving_outer
from people
{%- else %}


select
    sum(kanon_records) as kanon_records,
    sum(kanon_leaving) as kanon_leaving,
    sum(
        case
            when {{ kanon_sql.in_outer_percent() | indent(12) }}
            then kanon_leaving
            else 0
        end
    ) as kanon_leaving_outer,
    max(kanon_placed_records) as kanon_placed_records,
    sum(case when {{ kanon_sql.is_null(lacked) }} or kanon_place is not null then 0 else 1 end) as kanon_unplaced_values
from placed_values
{%- endif %}
{%- endif %}
{%- endmacro %}


{# Predicate: the value lies in the outer one per cent of its column. #}
{% macro in_outer_percent() -%}
kanon_place is not null
    and (
        {{ kanon_sql.less_than_share("kanon_up_to", "0.005", "kanon_placed_records") }}
        or {{ kanon_sql.less_than_share("kanon_from", "0.005", "kanon_placed_records") }}
    )
{%- endmacro %}


{# 1 for a person whose smallest class is below k, and at least k without the column. #}
{% macro leaves_small_classes(k) -%}
case when kanon_least_size < {{ kanon_sql.positive_int(k, "k") }} and kanon_least_without >= {{ kanon_sql.positive_int(k, "k") }} then 1 else 0 end
{%- endmacro %}


{# Records (people) in classes below k whose class has k or more without the column. #}
{% macro leaving_small_classes(k) -%}
sum(case when kanon_size < {{ kanon_sql.positive_int(k, "k") }} and kanon_size_without >= {{ kanon_sql.positive_int(k, "k") }} then kanon_size else 0 end)
{%- endmacro %}


{#
    Confidence in a person's sensitive value after the most frequent other values are ruled out: with
    the counts r1 >= r2 >= ... >= rm of a class and their sum f, r1 / (f - r2 - ... - r(j+1)) after j
    eliminations. In a class of m values the last one is certain after m - 1
    eliminations. Returns the worst class: the highest confidence, the fewest eliminations.

    With an entity, f counts people, and a value counts for each person who holds it. A person may
    hold several of the values ruled out, so more than f - r2 - ... - r(j+1) may remain, but never
    fewer: the confidence is an upper bound, and 1 if no more than r1 remain.

    Machanavajjhala, Kifer, Gehrke, Venkitasubramaniam 2007, l-diversity, ACM TKDD 1(1),
    section 4 (recursive diversity bounds this confidence).
#}
{% macro elimination(relation, columns, sensitive, ruled_out, entity=none, unknown=false) %}
{% set holders = "kanon_records" if entity is none else "kanon_people" %}
with

{{ kanon_sql.class_values(relation, columns, sensitive, entity, of_people=false, held=false) }},

ranked_values as (
    select
{{ kanon_sql.aliases(columns) | indent(4, first=true) }},
        {{ holders }} as kanon_holders,
        row_number() over (
            partition by
{{ kanon_sql.aliases(columns) | indent(12, first=true) }}
            order by {{ holders }} desc
        ) as kanon_rank
    from class_values
{% if unknown %}
    where not ({{ kanon_sql.is_null(sensitive) }})
{% endif %}
),
{% if entity is not none %}

class_people as (
    select
{{ kanon_sql.aliases(columns + [entity]) | indent(4, first=true) }}
    from class_value_people
{% if unknown %}
    where not ({{ kanon_sql.is_null(sensitive) }})
{% endif %}
    group by
{{ kanon_sql.aliases(columns + [entity]) | indent(4, first=true) }}
),

class_totals as (
    select
{{ kanon_sql.aliases(columns) | indent(4, first=true) }},
        count(*) as kanon_total
    from class_people
    group by
{{ kanon_sql.aliases(columns) | indent(4, first=true) }}
),

summed_values as (
    select
        ranked_values.*,
        class_totals.kanon_total,
        sum(ranked_values.kanon_holders) over (
            partition by
{{ kanon_sql.aliases_in("ranked_values", columns) | indent(12, first=true) }}
            order by ranked_values.kanon_rank
        ) as kanon_up_to
    from ranked_values
    inner join class_totals
        on {{ kanon_sql.same_class(columns, "class_totals", "ranked_values", other_is_set=true) | indent(8) }}
),
{% endif %}

classes as (
    select
{{ kanon_sql.aliases(columns) | indent(4, first=true) }},
        {{ "sum(kanon_holders)" if entity is none else "max(kanon_total)" }} as kanon_total,
        max(kanon_holders) as kanon_most,
{% for place in range(1, kanon_sql.positive_int(ruled_out, "ruled_out") + 1) %}
        sum(case when kanon_rank between 2 and {{ place + 1 }} then kanon_holders else 0 end) as kanon_ruled_out_{{ place }},
{% endfor %}
        {{ "count(*)"
            if entity is none
            else "min(case when kanon_up_to >= kanon_total then kanon_rank end)" }} - 1 as kanon_eliminations
    from {{ "ranked_values" if entity is none else "summed_values" }}
    group by
{{ kanon_sql.aliases(columns) | indent(4, first=true) }}
)

select
    max({{ kanon_sql.quotient("kanon_most", "kanon_total") }}) as kanon_confidence_0,
{% for place in range(1, ruled_out + 1) %}
    max({{ kanon_sql.confidence("kanon_total - kanon_ruled_out_" ~ place, entity) }}) as kanon_confidence_{{ place }},
{% endfor %}
    min(kanon_eliminations) as kanon_eliminations
from classes
{%- endmacro %}


{# Share of the most frequent value among those who remain. #}
{% macro confidence(left, entity=none) -%}
{% if entity is none -%}
{{ kanon_sql.quotient("kanon_most", left) }}
{%- else -%}
case when {{ left }} <= kanon_most then 1 else {{ kanon_sql.quotient("kanon_most", left) }} end
{%- endif %}
{%- endmacro %}
