{#
    k^m-anonymity: every combination of at most m events that occurs is shared by at least k people.

    Terrovitis, Mamoulis, Kalnis 2008, Privacy-preserving anonymization of set-valued data, PVLDB
    1(1), section 3.

    A combination with an event of one person alone is shared by nobody, so these are counted and
    never expanded.
#}

{# Number of combinations of each size, those of fewer than k people, and people with one of these. #}
{% macro km_anonymity(relation, columns, entity, m, k=none, times=false) %}
with

{{ kanon_sql.ctes_of_combination_sizes(relation, columns, entity, m, k, times) | trim }}

select
    kanon_size,
    kanon_combinations,
{% if k is not none %}
    kanon_violating,
    kanon_shortfall,
    kanon_violating_people,
{% endif %}
    kanon_least
from sizes
{% if k is not none %}
cross join violating_people
{% endif %}
order by kanon_size
{%- endmacro %}


{# CTEs of the sizes, each with its combinations, and of the people with one of fewer than k people. #}
{% macro ctes_of_combination_sizes(relation, columns, entity, m, k, times) %}
{% set below = kanon_sql.positive_int(k, "k") if k is not none else 0 %}
{{ kanon_sql.ctes_of_slots(relation, columns, entity, m, times, numbered=m > 1) | trim }}
{%- if m > 1 %},

{{ kanon_sql.ctes_of_combinations(m, times, weighted=below > 1) | trim }},

-- Combinations of each size with a slot of one person alone.
slots_of_people as (
    select
        cast(count(*) as {{ kanon_sql.float_type() }}) as kanon_events_1,
        cast({{ kanon_sql.slots_where("kanon_holders_1 > 1") }} as {{ kanon_sql.float_type() }}) as kanon_shared_1
{%- for i in range(2, m + 1) if times %},
        {{ kanon_sql.slots_where("kanon_times >= " ~ i) }} as kanon_events_{{ i }},
        {{ kanon_sql.slots_where("kanon_times >= " ~ i ~ " and kanon_holders_" ~ i ~ " > 1") }} as kanon_shared_{{ i }}
{%- endfor %}

    from coded
    group by kanon_person
),

alone as (
    select
{% for j in range(2, m + 1) %}
        sum({{ kanon_sql.combinations_of(j, "kanon_events", times) }} - ({{ kanon_sql.combinations_of(j, "kanon_shared", times) }})) as kanon_combinations_{{ j }}{{ "," if not loop.last }}
{% endfor %}
    from slots_of_people
)
{%- endif %}
{%- if below > 1 %},

{{ kanon_sql.ctes_of_choices(m, times, {"least": below, "random": false}) | trim }},

-- Each person with their largest combinations, and with those that enough people share.
chosen as (
    select
        {{ kanon_sql.choices(m, "people.kanon_events") | trim | indent(8) }} as kanon_choices,
        coalesce(found.kanon_enough, 0) as kanon_enough
    from people
    left join found
        on found.kanon_person = people.kanon_person
),

-- A superset has no larger crowd, so the largest combinations of a person decide.
violating_people as (
    select {{ kanon_sql.slots_where("kanon_enough < kanon_choices") }} as kanon_violating_people
    from chosen
)
{%- elif below %},

-- One person is enough, so nobody violates.
violating_people as (
    select count(*) - count(*) as kanon_violating_people
    from slots
)
{%- endif %},

{% for j in range(2, m + 1) %}
counted_{{ j }} as (
    select
        count(*) as kanon_combinations,
{% if below %}
        sum(case when kanon_crowd < {{ below }} then 1 else 0 end) as kanon_violating,
        sum(case when kanon_crowd < {{ below }} then {{ below }} - kanon_crowd else 0 end) as kanon_shortfall,
{% endif %}
        min(kanon_crowd) as kanon_least
    from crowds_{{ j }}
),

{% endfor %}
sizes as (
    select
        1 as kanon_size,
        cast(count(*) as {{ kanon_sql.float_type() }}) as kanon_combinations,
{% if below %}
        cast({{ kanon_sql.slots_where("kanon_holders_1 < " ~ below) }} as {{ kanon_sql.float_type() }}) as kanon_violating,
        cast(sum(case when kanon_holders_1 < {{ below }} then {{ below }} - kanon_holders_1 else 0 end) as {{ kanon_sql.float_type() }}) as kanon_shortfall,
{% endif %}
        min(kanon_holders_1) as kanon_least
    from slots
{%- for j in range(2, m + 1) %}


    union all

    select
        {{ j }} as kanon_size,
        counted_{{ j }}.kanon_combinations + alone.kanon_combinations_{{ j }} as kanon_combinations,
{% if below %}
        coalesce(counted_{{ j }}.kanon_violating, 0) + {{ "alone.kanon_combinations_" ~ j if below > 1 else "cast(0 as " ~ kanon_sql.float_type() ~ ")" }} as kanon_violating,
        coalesce(counted_{{ j }}.kanon_shortfall, 0) + {{ below - 1 }} * alone.kanon_combinations_{{ j }} as kanon_shortfall,
{% endif %}
        case when alone.kanon_combinations_{{ j }} > 0 then 1 else counted_{{ j }}.kanon_least end as kanon_least
    from counted_{{ j }}
    cross join alone
{%- endfor %}

)
{%- endmacro %}


{# Number of a person's events that satisfy a predicate. #}
{% macro slots_where(predicate) -%}
sum(case when {{ predicate }} then 1 else 0 end)
{%- endmacro %}


{#
    Number of combinations of size j of a person with d events, d2 of them at least twice and d3 at
    least three times: binom(d, 2) + d2, and binom(d, 3) + d2 (d - 1) + d3.
#}
{% macro combinations_of(j, events, times) -%}
{% if j == 2 -%}
{{ kanon_sql.quotient(events ~ "_1 * (" ~ events ~ "_1 - 1)", "2") }}{{ " + " ~ events ~ "_2" if times }}
{%- else -%}
{{ kanon_sql.quotient(
    events ~ "_1 * (" ~ events ~ "_1 - 1) * (" ~ events ~ "_1 - 2)", "6"
) }}{{ " + " ~ events ~ "_2 * (" ~ events ~ "_1 - 1) + " ~ events ~ "_3" if times }}
{%- endif %}
{%- endmacro %}


{#
    The combinations of one event, or at most two, with the smallest crowds, and their values: personal
    data. A row has the columns of the one event, then those of the other. The number of events tells
    the NULL of an event from an absent event.
#}
{% macro rare_combinations(relation, columns, entity, m, first) %}
with

{{ kanon_sql.ctes_of_slots(relation, columns, entity, m, times=false) | trim }}
{%- if m > 1 %},

-- Every pair of events of a person, those of one person alone too.
pairs as (
    select
        one.kanon_event as kanon_event,
        other.kanon_event as kanon_other,
        count(*) as kanon_crowd
    from coded as one
    inner join coded as other
        on other.kanon_person = one.kanon_person
        and other.kanon_event > one.kanon_event
    group by
        one.kanon_event,
        other.kanon_event
)
{%- endif %}


select
    kanon_crowd,
{% if m > 1 %}
    kanon_events,
{% endif %}
{% for column in columns %}
    {{ kanon_sql.alias(column) }}{{ "," if not loop.last or m > 1 }}
{% endfor %}
{% for column in columns if m > 1 %}
    kanon_other_{{ loop.index }}{{ "," if not loop.last }}
{% endfor %}
from (
    select
        kanon_holders_1 as kanon_crowd,
{% if m > 1 %}
        1 as kanon_events,
{% endif %}
{{ kanon_sql.aliases(columns) | indent(4, first=true) }}
{%- for column in columns if m > 1 %},
        null as kanon_other_{{ loop.index }}
{%- endfor %}

    from slots
{% if m > 1 %}

    union all

    select
        pairs.kanon_crowd,
        2 as kanon_events,
{{ kanon_sql.aliases_in("slots", columns) | indent(4, first=true) }}
{%- for column in columns %},
        others.{{ kanon_sql.alias(column) }} as kanon_other_{{ loop.index }}
{%- endfor %}

    from pairs
    inner join slots
        on slots.kanon_event = pairs.kanon_event
    inner join slots as others
        on others.kanon_event = pairs.kanon_other
{% endif %}
) as kanon_combinations
order by
    kanon_crowd,
{{ kanon_sql.aliases(columns) }}{{ "," if m > 1 }}
{% for column in columns if m > 1 %}
    kanon_other_{{ loop.index }},
{% endfor %}
{% if m > 1 %}
    kanon_events
{% endif %}
limit {{ kanon_sql.positive_int(first, "first") }}
{%- endmacro %}


{#
    Generic test of k^m-anonymity, for one event or two; failures are people. Quasi-identifiers are
    the first of the columns, and a person may have one combination of their values.
#}
{% macro km_anonymity_failures(relation, columns, entity, k, m=2, times=false, known=[]) %}
{% set ctes %}
with

{{ kanon_sql.ctes_of_combination_sizes(relation, columns, entity, m, k, times) | trim }},

measured as (
    select
        {{ kanon_sql.records_in(relation) | trim | indent(8) }} as records,
        min(violating_people.kanon_violating_people) as violating_people,
        sum(sizes.kanon_violating) as violating_combinations,
        min(sizes.kanon_least) as achieved
    from sizes
    cross join violating_people
)
{%- endset %}
{{ kanon_sql.raise_or_count(
    ctes,
    violated="measured.violating_people > 0",
    failures="measured.violating_people",
    columns=["violating_people", "violating_combinations", "achieved"],
    relation=relation, entity=entity,
    more=kanon_sql.known_of_people(relation, known, entity)
) }}
{%- endmacro %}


{% test km_anonymity(model) -%}
{% set arguments = kanon_sql.test_arguments(
    "km_anonymity", model, kwargs, {
        "k": "count", "m": "events, two by default", "times": [false, true],
    }, ["events"]
) -%}
{{ kanon_sql.tidy(kanon_sql.km_anonymity_failures(**arguments), model) }}
{%- endtest %}
