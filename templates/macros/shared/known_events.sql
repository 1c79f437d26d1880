{#
    Known events: an attacker who knows m events of a person looks for the people who have all of
    them. In the worst case these are the m events with the smallest crowd (Pellungrini, Pappalardo,
    Pratesi, Monreale 2018, A data mining approach to assess privacy risk in human mobility data,
    ACM TIST 9(3)); at random they are any m of the person's records (de Montjoye, Hidalgo,
    Verleysen, Blondel 2013, Unique in the Crowd, Scientific Reports 3:1376). Whoever has fewer is
    attacked with all of theirs.
#}

{#
    Number of people by the crowd of their worst combination; `kanon_fewer` of them have fewer than m
    events. The other figures are sums over people of the chance, for events chosen at random, of a
    crowd of fewer than k or of one person, and of the mean of 1 / crowd. `counted`, for one event and
    the columns of events alone, adds the figures of the events: of the people of each row, but
    `kanon_distinct` and `kanon_with_null` of all.
#}
{% macro known_events(relation, columns, entity, m, k, times=false, counted=false) %}
with

{{ kanon_sql.ctes_of_judged_people(relation, columns, entity, m, k, times, counted) | trim }}
{%- if counted %},

{{ kanon_sql.cte_of_counted_events("slots", columns) | trim }}
{%- endif %}


select
    kanon_crowd,
    count(*) as kanon_people,
    sum(case when kanon_events < {{ m }} then 1 else 0 end) as kanon_fewer,
    sum(kanon_below) as kanon_below,
    sum(kanon_alone) as kanon_alone,
    sum(kanon_chance) as kanon_chance
{%- if counted %},
    {{ kanon_sql.figures_of_events() | trim | indent(4) }}
{%- endif %}

from judged_people
{% if counted %}
cross join counted_events
{% endif %}
group by kanon_crowd
order by kanon_crowd
{%- endmacro %}


{# CTEs of the people, each with the crowd of their worst combination and their chances at random. #}
{% macro ctes_of_judged_people(relation, columns, entity, m, k, times, counted=false) %}
{{ kanon_sql.ctes_of_slots(relation, columns, entity, m, times, numbered=m > 1, counted=counted) | trim }},
{%- if m == 1 %}


{{ kanon_sql.people_of_one_event(k, times, counted) | trim }}
{%- else %}


{{ kanon_sql.people_of_combinations(m, k, times) | trim }}
{%- endif %}
{%- endmacro %}


{# People by one event: its holders are the crowd, so each person is one group. #}
{% macro people_of_one_event(k, times, counted=false) %}
{% set weight = "cast(kanon_times as " ~ kanon_sql.float_type() ~ ")" if times else "1" %}
people as (
    select
        kanon_person,
        {{ "sum(kanon_times)" if times else "count(*)" }} as kanon_events,
        min(kanon_holders_1) as kanon_crowd,
        sum(case when kanon_holders_1 < {{ kanon_sql.positive_int(k, "k") }} then {{ weight }} else 0 end) as kanon_below,
        sum(case when kanon_holders_1 = 1 then {{ weight }} else 0 end) as kanon_alone,
        sum({{ kanon_sql.quotient(weight, "kanon_holders_1") }}) as kanon_chance
{%- if counted %},
        count(*) as kanon_person_events,
        sum(kanon_records) as kanon_records
{%- endif %}

    from coded
    group by kanon_person
),

judged_people as (
    select
{% if counted %}
        kanon_person,
        kanon_person_events,
        kanon_records,
{% endif %}
        kanon_events,
        kanon_crowd,
        {{ kanon_sql.quotient("kanon_below", "kanon_events") }} as kanon_below,
        {{ kanon_sql.quotient("kanon_alone", "kanon_events") }} as kanon_alone,
        {{ kanon_sql.quotient("kanon_chance", "kanon_events") }} as kanon_chance
    from people
)
{%- endmacro %}


{# People by several events: alone by any combination that nobody shares. #}
{% macro people_of_combinations(m, k, times) %}
{{ kanon_sql.ctes_of_combinations(m, times, weighted=true, least=2) | trim }},

{{ kanon_sql.ctes_of_choices(m, times, {
    "least": 2, "k": kanon_sql.positive_int(k, "k"), "random": true,
}) | trim }},

-- Each person with the number of choices of events that an attacker may know.
chosen as (
    select
        people.kanon_events,
        found.kanon_least,
        {{ kanon_sql.choices(m, "people.kanon_events") | trim | indent(8) }} as kanon_choices,
        coalesce(found.kanon_enough, 0) as kanon_enough,
        coalesce(found.kanon_together, 0) as kanon_together,
        coalesce(found.kanon_chance, 0) as kanon_chance
    from people
    left join found
        on found.kanon_person = people.kanon_person
),

-- Each person: alone by any choice that nobody shares.
judged_people as (
    select
        kanon_events,
        case when kanon_together < kanon_choices then 1 else kanon_least end as kanon_crowd,
        {{ kanon_sql.quotient("kanon_choices - kanon_enough", "kanon_choices") }} as kanon_below,
        {{ kanon_sql.quotient("kanon_choices - kanon_together", "kanon_choices") }} as kanon_alone,
        {{ kanon_sql.quotient("kanon_chance + kanon_choices - kanon_together", "kanon_choices") }} as kanon_chance
    from chosen
)
{%- endmacro %}


{#
    The same attack on a sample: the first people and the first m of their records, each in the order
    of a seeded hash. A row for each size of the crowd has the number of attacked people in a crowd of
    this size. A crowd starts as the people with the rarest known event; each step keeps those with the
    next event too. The join is on one number for person and slot, as a join on two columns would expand
    the most common events.

    `rereads`: the database inlines a CTE at each reference, and a chain of steps would take exponential
    time and memory. The known slots of all candidates are then looked up in one step, and DISTINCT
    keeps the planner from merging the sides of the join.
#}
{% macro drawn_events(relation, columns, entity, m, times, sample, seed, qi=0, rereads=false) %}
{% set events = columns[qi:] %}
with

{{ kanon_sql.ctes_of_slots(relation, columns, entity, m, times, with_holders=false) | trim }},

people as (
    select
        {{ kanon_sql.alias(entity) }},
        {{ "sum(kanon_records)" if times else "count(*)" }} as kanon_events
    from held
    group by {{ kanon_sql.alias(entity) }}
),

fewer as (
    select coalesce(sum(case when kanon_events < {{ m }} then 1 else 0 end), 0) as kanon_fewer
    from people
),

-- The people attacked.
targets as (
    select {{ kanon_sql.alias(entity) }}
    from people
    order by
        {{ kanon_sql.seeded_hash(seed, [entity]) | indent(8) }},
        {{ kanon_sql.alias(entity) }}
    limit {{ kanon_sql.positive_int(sample, "sample") }}
),

{% if times %}
-- Their records, those of one event numbered.
records_of_targets as (
    select
{{ kanon_sql.aliases_in("numbered", [entity] + columns) | indent(4, first=true) }},
        numbered.kanon_copy
    from (
        select
{{ kanon_sql.aliased_names([entity] + columns) | indent(8, first=true) }},
            row_number() over (
                partition by
{{ kanon_sql.names([entity] + columns) | indent(16, first=true) }}
                order by {{ kanon_sql.ident(entity) }}
            ) as kanon_copy
        from {{ relation | indent(8) }}
    ) as numbered
    inner join targets
        on targets.{{ kanon_sql.alias(entity) }} = numbered.{{ kanon_sql.alias(entity) }}
),

{% endif %}
-- Their events, in the order in which they become known.
drawn as (
    select
{{ kanon_sql.aliases_in("held", [entity] + columns) | replace("held.", "records_of_targets." if times else "held.") | indent(4, first=true) }},
        row_number() over (
            partition by {{ "records_of_targets" if times else "held" }}.{{ kanon_sql.alias(entity) }}
            order by
                {{ kanon_sql.seeded_hash(
                    seed, [entity] + events, "kanon_copy" if times else none,
                    "records_of_targets." if times else "held."
                ) | indent(16) }}
        ) as kanon_place
    from {{ "records_of_targets" if times else "held" }}
{% if not times %}
    inner join targets
        on targets.{{ kanon_sql.alias(entity) }} = held.{{ kanon_sql.alias(entity) }}
{% endif %}
),

-- The events that are known{{ ", and how often" if times }}.
known as (
    select
{{ kanon_sql.aliases([entity] + columns) | indent(4, first=true) }}{{ ",\n        count(*) as kanon_copy" if times }}
    from drawn
    where kanon_place <= {{ m }}
{% if times %}
    group by
{{ kanon_sql.aliases([entity] + columns) | indent(4, first=true) }}
{% endif %}
),

-- Their slots, rarest first.
known_slots as (
    select
        numbered_people.kanon_person,
        {{ kanon_sql.slot_of(m, "slots.kanon_event", "known.kanon_copy", times) }} as kanon_slot,
        row_number() over (
            partition by numbered_people.kanon_person
            order by
                {{ kanon_sql.holders_of(m, times) | trim | indent(16) }},
                slots.kanon_event
        ) as kanon_rank
{%- if rereads %},
        count(*) over (partition by numbered_people.kanon_person) as kanon_known
{%- endif %}

    from known
    inner join slots
        on {{ kanon_sql.same_class(columns, "slots", "known", other_is_set=true) | indent(8) }}
    inner join numbered_people
        on numbered_people.{{ kanon_sql.alias(entity) }} = known.{{ kanon_sql.alias(entity) }}
),

{% if not rereads %}
-- One row for each person attacked; with fewer slots than m, the rarest one again.
knowns as (
    select
        kanon_person as kanon_target,
{% for i in range(1, m + 1) %}
        {{ kanon_sql.ranked_slot(i) if i == 1 else "coalesce(" ~ kanon_sql.ranked_slot(i) ~ ", " ~ kanon_sql.ranked_slot(1) ~ ")" }} as kanon_known_{{ i }}{{ "," if not loop.last }}
{% endfor %}
    from known_slots
    group by kanon_person
),

{% endif %}
slots_in_all as (
    select {{ "(count(*) + 1) * " ~ m if times else "count(*) + 1" }} as kanon_slots
    from slots
),

-- Who holds a slot, with one number for both.
holders as (
{% for i in range(1, (m if times else 1) + 1) %}
{{ "\n    union all\n\n" if not loop.first }}    select{{ " distinct" if rereads }}
        {{ kanon_sql.slot_of(m, "kanon_event", i, times) }} as kanon_slot,
        kanon_person * slots_in_all.kanon_slots + {{ kanon_sql.slot_of(m, "kanon_event", i, times) }} as kanon_held
    from coded
    cross join slots_in_all
{% if i > 1 %}
    where coded.kanon_times >= {{ i }}
{% endif %}
{% endfor %}
),

{% if rereads %}
-- The holders of the rarest known slot.
candidates as (
    select distinct
        known_slots.kanon_person as kanon_target,
        known_slots.kanon_known,
        holders.kanon_held - holders.kanon_slot as kanon_base
    from known_slots
    inner join holders
        on holders.kanon_slot = known_slots.kanon_slot
    where known_slots.kanon_rank = 1
),

-- Those who hold all known slots.
holders_of_all as (
    select candidates.kanon_target
    from candidates
    inner join known_slots
        on known_slots.kanon_person = candidates.kanon_target
    inner join holders
        on holders.kanon_held = candidates.kanon_base + known_slots.kanon_slot
    group by
        candidates.kanon_target,
        candidates.kanon_base,
        candidates.kanon_known
    having count(*) = candidates.kanon_known
),

{% else %}
-- The holders of the rarest known slot.
crowd_1 as (
    select
        knowns.kanon_target,
        holders.kanon_held - holders.kanon_slot as kanon_base
{%- for i in range(2, m + 1) %},
        knowns.kanon_known_{{ i }}
{%- endfor %}

    from knowns
    inner join holders
        on holders.kanon_slot = knowns.kanon_known_1
),

{% for j in range(2, m + 1) %}
-- Those who hold the next one too.
crowd_{{ j }} as (
    select
        crowd_{{ j - 1 }}.kanon_target{{ ",\n        crowd_" ~ (j - 1) ~ ".kanon_base" if j < m }}
{%- for i in range(j + 1, m + 1) %},
        crowd_{{ j - 1 }}.kanon_known_{{ i }}
{%- endfor %}

    from crowd_{{ j - 1 }}
    inner join holders
        on holders.kanon_held = crowd_{{ j - 1 }}.kanon_base + crowd_{{ j - 1 }}.kanon_known_{{ j }}
),

{% endfor %}
{% endif %}
crowds as (
    select
        kanon_target,
        count(*) as kanon_crowd
    from {{ "holders_of_all" if rereads else "crowd_" ~ m }}
    group by kanon_target
)

select
    crowds.kanon_crowd,
    count(*) as kanon_people,
    min(fewer.kanon_fewer) as kanon_fewer
from crowds
cross join fewer
group by crowds.kanon_crowd
order by crowds.kanon_crowd
{%- endmacro %}


{# Number of the slot of an event with a copy. #}
{% macro slot_of(m, event, copy, times) -%}
{{ event ~ " * " ~ m ~ " + " ~ (copy - 1 if copy is number else copy ~ " - 1") if times else event }}
{%- endmacro %}


{# Number of holders of a known slot. #}
{% macro holders_of(m, times) %}
{% if not times %}
slots.kanon_holders_1
{%- else %}
case known.kanon_copy
{% for i in range(1, m + 1) %}
    when {{ i }} then slots.kanon_holders_{{ i }}
{% endfor %}
end
{%- endif %}
{%- endmacro %}


{# The known slot of a rank. #}
{% macro ranked_slot(rank) -%}
max(case when kanon_rank = {{ rank }} then kanon_slot end)
{%- endmacro %}


{#
    Hash of the seed and some cells, the same in every database: each cell as a comma, its number of
    characters, a colon and its text, and NULL as a comma.
#}
{% macro seeded_hash(seed, columns, copy=none, of="") %}
md5(
    {{ kanon_sql.literal(seed | string) }}
{%- for column in columns %}

    || {{ kanon_sql.hashed_cell(kanon_sql.text_of_cell(of ~ kanon_sql.alias(column), kanon_sql.type_of(column)) | trim) }}
{%- endfor %}
{%- if copy is not none %}

    || {{ kanon_sql.hashed_cell("cast(" ~ of ~ copy ~ " as " ~ kanon_sql.text_type() ~ ")") }}
{%- endif %}

)
{%- endmacro %}


{% macro hashed_cell(text) -%}
coalesce(',' || cast(length({{ text }}) as {{ kanon_sql.text_type() }}) || ':' || {{ text }}, ',')
{%- endmacro %}


{# Text of a value: a fraction of a second without zeros at the end, and a truth value as a word. #}
{% macro text_of_cell(value, type) %}
{% set text = "cast(" ~ value ~ " as " ~ kanon_sql.text_type() ~ ")" %}
{% if type == "BOOLEAN" %}
case when {{ value }} then 'true' when not {{ value }} then 'false' end
{%- elif type.startswith("TIMESTAMP") %}
case when {{ text }} like '%.%' then rtrim(rtrim({{ text }}, '0'), '.') else {{ text }} end
{%- else %}
{{ text }}
{%- endif %}
{%- endmacro %}


{#
    Generic test of known events in the worst case, for one event or two; failures are people among
    fewer than k. Quasi-identifiers are the first of the columns, and a person may have one
    combination of their values.
#}
{% macro known_events_failures(
    relation, columns, entity, m, k=2, times=false,
    max_share=none, max_highest=none, max_average=none, known=[]
) %}
{% set chances = "sum(" ~ kanon_sql.quotient("1", "kanon_crowd") ~ ")" %}
{% set ctes %}
with

{{ kanon_sql.ctes_of_judged_people(relation, columns, entity, m, k, times) | trim }},

measured as (
    select
        {{ kanon_sql.records_in(relation) | trim | indent(8) }} as records,
        count(*) as kanon_people,
        coalesce(sum(case when kanon_crowd < {{ kanon_sql.positive_int(k, "k") }} then 1 else 0 end), 0) as violating_people,
        min(kanon_crowd) as kanon_least,
        {{ kanon_sql.quotient("sum(case when kanon_crowd < " ~ k ~ " then 1 else 0 end)", "count(*)") }} as achieved,
        {{ kanon_sql.quotient("1", "min(kanon_crowd)") }} as highest,
        {{ kanon_sql.quotient(chances, "count(*)") }} as average
    from judged_people
)
{%- endset %}
{% set violated = [
    kanon_sql.more_than_share("measured.violating_people", max_share, "measured.kanon_people")
    if max_share is not none else none,
    kanon_sql.chance_above(max_highest, "measured.kanon_least") if max_highest is not none else none,
    kanon_sql.above_average("measured.average", max_average) if max_average is not none else none,
] | reject("none") %}
{{ kanon_sql.raise_or_count(
    ctes,
    violated=violated | join(" or "),
    failures="measured.violating_people",
    columns=["violating_people", "achieved", "highest", "average"],
    relation=relation, entity=entity,
    more=kanon_sql.known_of_people(relation, known, entity)
) }}
{%- endmacro %}


{% test known_events(model) -%}
{% set arguments = kanon_sql.test_arguments("known_events", model, kwargs, {
    "m": "events", "k": {"least": 2, "default": 2}, "times": [false, true],
    "max_share": {"most": 1}, "max_highest": {"most": 1}, "max_average": {"most": 1},
}, ["events"]) -%}
{{ kanon_sql.tidy(kanon_sql.known_events_failures(**arguments), model) }}
{%- endtest %}
