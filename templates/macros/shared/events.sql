{#
    Event tables: the events of a person are the combinations of values of the event columns in the
    person's records. With quasi-identifiers (also known to the attacker), the event is the combination
    of both. By default the events of a person are a set; with `times` they are a multiset, and an event
    counts as often as the person has such records.

    A slot is an event with a number i; its holders have the event i times or more. A combination of
    events is a set of slots, and its crowd are the holders of all of them.

    Terrovitis, Mamoulis, Kalnis 2008, Privacy-preserving anonymization of set-valued data, PVLDB
    1(1), section 3.
#}

{# Figures of the events: how many there are, how many a person has, and records with a NULL. #}
{% macro events(relation, columns, entity) %}
with

-- A person with an event, and how often.
held as (
    {{ kanon_sql.frequency_set(relation, [entity] + columns) | trim | indent(4) }}
),

different_events as (
    select
{{ kanon_sql.aliases(columns) | indent(4, first=true) }},
        sum(kanon_records) as kanon_records
    from held
    group by
{{ kanon_sql.aliases(columns) | indent(4, first=true) }}
),

people as (
    select
        {{ kanon_sql.alias(entity) }} as kanon_person,
        count(*) as kanon_person_events,
        sum(kanon_records) as kanon_records
    from held
    group by {{ kanon_sql.alias(entity) }}
),

{{ kanon_sql.cte_of_counted_events("different_events", columns) | trim }}

select
    count(*) as kanon_people,
    {{ kanon_sql.figures_of_events() | trim | indent(4) }}
from people
cross join counted_events
{%- endmacro %}


{# CTE of the number of events, and of their records with a NULL. #}
{% macro cte_of_counted_events(events, columns) %}
counted_events as (
    select
        count(*) as kanon_distinct,
        {{ kanon_sql.sum_where(kanon_sql.any_null(columns) | trim, "kanon_records", "kanon_with_null") | indent(8) }}
    from {{ events }}
)
{%- endmacro %}


{# Figures of the events, over rows of people joined with `counted_events`. #}
{% macro figures_of_events() %}
coalesce(sum(kanon_records), 0) as kanon_records,
coalesce(sum(case when kanon_person is null then kanon_records else 0 end), 0) as kanon_without_entity,
coalesce(sum(kanon_person_events), 0) as kanon_person_events,
min(kanon_person_events) as kanon_fewest,
max(kanon_person_events) as kanon_most,
min(counted_events.kanon_distinct) as kanon_distinct,
coalesce(min(counted_events.kanon_with_null), 0) as kanon_with_null
{%- endmacro %}


{# Number of people with several combinations of the quasi-identifiers. #}
{% macro quasi_identifiers_of_people(relation, columns, entity) %}
with

{{ kanon_sql.ctes_of_known(relation, columns, entity) | trim }}

select
    count(*) as kanon_people,
    coalesce(sum(case when kanon_combinations > 1 then 1 else 0 end), 0) as kanon_in_several
from known_combinations
{%- endmacro %}


{#
    Number of combinations to expand, times the orders of their events: ordered pairs and triples of
    the events that a person shares with somebody. An event of one person needs no expansion.
#}
{% macro combinations_to_count(relation, columns, entity) %}
with

{{ kanon_sql.ctes_of_slots(relation, columns, entity, 1, times=false, numbered=false) | trim }},

people as (
    select
        kanon_person,
        cast(count(*) as {{ kanon_sql.float_type() }}) as kanon_shared
    from coded
    where kanon_holders_1 > 1
    group by kanon_person
)

select
    coalesce(sum(kanon_shared * (kanon_shared - 1)), 0) as kanon_ordered_pairs,
    coalesce(sum(kanon_shared * (kanon_shared - 1) * (kanon_shared - 2)), 0) as kanon_ordered_triples
from people
{%- endmacro %}


{#
    CTEs of the events of each person: `coded` has a row for each person and event, with the number
    of holders of each slot up to m. If `numbered`, people and events are integers, the rarest event
    first, and otherwise the event has no number. `with_holders=false` leaves out the holders;
    `counted` adds the records of each.
#}
{% macro ctes_of_slots(relation, columns, entity, m, times, numbered=true, with_holders=true, counted=false) %}
-- A person with an event{{ ", and how often" if times or counted }}.
held as (
    {{ kanon_sql.frequency_set(relation, [entity] + columns, counted=times or counted) | trim | indent(4) }}
),

-- An event with its holders{{ "; rarest first" if numbered }}.
slots as (
    select
{{ kanon_sql.aliases(columns) | indent(4, first=true) }},
{% if numbered %}
        row_number() over (
            order by
                count(*),
{{ kanon_sql.aliases(columns) | indent(12, first=true) }}
        ) as kanon_event,
{% endif %}
        count(*) as kanon_holders_1
{%- if counted %},
        sum(kanon_records) as kanon_records
{%- endif %}
{%- for i in range(2, m + 1) if times %},
        sum(case when kanon_records >= {{ i }} then 1 else 0 end) as kanon_holders_{{ i }}
{%- endfor %}

    from held
    group by
{{ kanon_sql.aliases(columns) | indent(4, first=true) }}
),

{% if numbered %}
numbered_people as (
    select
        {{ kanon_sql.alias(entity) }},
        row_number() over (order by {{ kanon_sql.alias(entity) }}) as kanon_person
    from held
    group by {{ kanon_sql.alias(entity) }}
),

{% endif %}
coded as (
    select
        {{ "numbered_people.kanon_person" if numbered else "held." ~ kanon_sql.alias(entity) ~ " as kanon_person" }},
{% if numbered %}
        slots.kanon_event{{ "," if times or with_holders }}
{% endif %}
{% if counted %}
        held.kanon_records,
{% endif %}
{% if times or with_holders %}
        {{ kanon_sql.of_slots(m, times, with_holders) | trim | indent(8) }}
{% endif %}
    from held
    inner join slots
        on {{ kanon_sql.same_class(columns, "slots", "held", other_is_set=true) | indent(8) }}
{% if numbered %}
    inner join numbered_people
        on numbered_people.{{ kanon_sql.alias(entity) }} = held.{{ kanon_sql.alias(entity) }}
{% endif %}
)
{%- endmacro %}


{# How often a person has an event, and the holders of its slots. #}
{% macro of_slots(m, times, with_holders) %}
{% if times %}
held.kanon_records as kanon_times{{ "," if with_holders }}
{% endif %}
{% for i in range(1, (m if times else 1) + 1) if with_holders %}
slots.kanon_holders_{{ i }}{{ "," if not loop.last }}
{% endfor %}
{%- endmacro %}


{#
    CTEs of the combinations of 2 to m slots possibly shared by two people or more, and their crowds.
    A person has a combination once, so the crowd of a combination is its number of rows. A
    combination is one number, made of its slots, and for three slots two numbers. `weighted` adds the
    number of choices of the person's records with this combination; `least` is the smallest crowd
    kept.
#}
{% macro ctes_of_combinations(m, times, weighted, least=1) %}
slots_in_all as (
    select {{ "(count(*) + 1) * " ~ m if times else "count(*) + 1" }} as kanon_slots
    from slots
),

-- The slots of each person that somebody else holds too.
shared as (
{% for i in range(1, (m if times else 1) + 1) %}
{{ "\n    union all\n\n" if not loop.first }}    select
        kanon_person,
        {{ "kanon_event * " ~ m ~ " + " ~ (i - 1) if times else "kanon_event" }} as kanon_slot
{%- if times %},
        {{ i }} as kanon_copy{{ ",\n        kanon_times" if weighted }}
{%- endif %}

    from coded
    where kanon_holders_{{ i }} > 1{{ " and kanon_times >= " ~ i if i > 1 }}
{% endfor %}
)
{%- for j in range(2, m + 1) %},

combinations_{{ j }} as (
    select
        shorter.kanon_person,
{% if j == 2 %}
        shorter.kanon_slot * slots_in_all.kanon_slots + added.kanon_slot as kanon_pair
{%- else %}
        shorter.kanon_pair
{%- endif %}
{%- if j < m or j == 3 %},
        added.kanon_slot as kanon_last
{%- endif %}
{%- if weighted and times %},
        {{ "shorter.kanon_weight" if j > 2 else "cast(shorter.kanon_times as " ~ kanon_sql.float_type() ~ ")" }}
            * {{ kanon_sql.quotient("added.kanon_times - added.kanon_copy + 1", "added.kanon_copy") }} as kanon_weight
{%- endif %}

    from {{ "combinations_" ~ (j - 1) if j > 2 else "shared" }} as shorter
    inner join shared as added
        on added.kanon_person = shorter.kanon_person
        and added.kanon_slot > shorter.{{ "kanon_last" if j > 2 else "kanon_slot" }}
{% if times %}
        and (added.kanon_copy = 1 or added.kanon_slot = shorter.{{ "kanon_last" if j > 2 else "kanon_slot" }} + 1)
{% endif %}
{% if j == 2 %}
    cross join slots_in_all
{% if times %}
    where shorter.kanon_copy = 1
{% endif %}
{% endif %}
),

crowds_{{ j }} as (
    select
        {{ kanon_sql.slots_of(j) | indent(8) }},
        count(*) as kanon_crowd
    from combinations_{{ j }}
    group by
        {{ kanon_sql.slots_of(j) | indent(8) }}
{% if least > 1 %}
    having count(*) >= {{ least }}
{% endif %}
)
{%- endfor %}
{%- endmacro %}


{# The numbers of a combination of j slots. #}
{% macro slots_of(j) -%}
kanon_pair{{ ",\nkanon_last" if j == 3 }}
{%- endmacro %}


{#
    CTEs of the people, each with the number of choices of as many events as are known, and how many
    of these at least `enough` people share. Somebody shares a combination that has a crowd; all
    others are the person's alone, and are not looked at.
#}
{% macro ctes_of_choices(m, times, enough) %}
people as (
    select
        kanon_person,
        {{ "sum(kanon_times)" if times else "count(*)" }} as kanon_events
    from coded
    group by kanon_person
),

-- The combinations of each person that somebody else has too.
found as (
{% for j in range(1, m + 1) %}
{% set of = "coded" if j == 1 else "combinations_" ~ j %}
{% set crowd = "coded.kanon_holders_1" if j == 1 else "crowds_" ~ j ~ ".kanon_crowd" %}
{% set weight = ("cast(coded.kanon_times as " ~ kanon_sql.float_type() ~ ")" if j == 1 else of ~ ".kanon_weight") if times else "1" %}
{{ "\n    union all\n\n" if not loop.first }}    select
        {{ of }}.kanon_person,
        {{ kanon_sql.measures_of_found(crowd, weight, times, enough) | trim | indent(8) }}
    from {{ of }}
{% if j > 1 %}
    inner join crowds_{{ j }}
        on crowds_{{ j }}.kanon_pair = {{ of }}.kanon_pair
{% if j == 3 %}
        and crowds_{{ j }}.kanon_last = {{ of }}.kanon_last
{% endif %}
{% endif %}
{% if j < m %}
    inner join people
        on people.kanon_person = {{ of }}.kanon_person
    where people.kanon_events = {{ j }}
        and {{ crowd }} >= {{ enough.least }}
{% else %}
    where {{ crowd }} >= {{ enough.least }}
{% endif %}
    group by {{ of }}.kanon_person
{% endfor %}
)
{%- endmacro %}


{# Aggregates over the combinations of a person that somebody else has too. #}
{% macro measures_of_found(crowd, weight, times, enough) %}
{% set whole = "sum(" ~ weight ~ ")" if times else "count(*)" %}
{% if enough.random %}
min({{ crowd }}) as kanon_least,
sum({{ kanon_sql.quotient(weight, crowd) }}) as kanon_chance,
{{ whole }} as kanon_together,
sum(case when {{ crowd }} >= {{ enough.k }} then {{ weight }} else 0 end) as kanon_enough
{%- else %}
{{ whole }} as kanon_enough
{%- endif %}
{%- endmacro %}


{# Number of ways to choose m of n events, and 1 if there are not more than m. #}
{% macro choices(m, n) %}
{% set n = "cast(" ~ n ~ " as " ~ kanon_sql.float_type() ~ ")" %}
{% if m == 1 %}
{{ n }}
{%- else %}
case
    when {{ n }} <= {{ m }} then cast(1 as {{ kanon_sql.float_type() }})
    else {{ kanon_sql.quotient(
        n ~ " * (" ~ n ~ " - 1)" ~ (" * (" ~ n ~ " - 2)" if m == 3), "6" if m == 3 else "2"
    ) }}
end
{%- endif %}
{%- endmacro %}


{# Number of records, as a subquery. #}
{% macro records_in(relation) %}
(
    select count(*)
    from {{ relation | indent(4) }}
)
{%- endmacro %}


{# Precondition of a test: each person has one combination of the quasi-identifiers. #}
{% macro known_of_people(relation, known, entity) -%}
{{ return([kanon_sql.counted_error(
    "people_of_several", "people with several values of the quasi-identifiers", "kanon_in_several",
    kanon_sql.people_of_several(),
    ctes=kanon_sql.ctes_of_known(relation, known, entity)
)] if known else []) }}
{%- endmacro %}


{# People with several combinations of the quasi-identifiers. #}
{% macro people_of_several() -%}
select coalesce(sum(case when kanon_combinations > 1 then 1 else 0 end), 0) as kanon_in_several
from known_combinations
{%- endmacro %}


{# CTEs of the combinations of the quasi-identifiers of each person. #}
{% macro ctes_of_known(relation, known, entity) %}
-- Each person once with a combination of the quasi-identifiers.
known_of_people as (
    {{ kanon_sql.frequency_set(relation, known + [entity], counted=false) | trim | indent(4) }}
),

known_combinations as (
    select count(*) as kanon_combinations
    from known_of_people
    group by {{ kanon_sql.alias(entity) }}
)
{%- endmacro %}
