-- Question   How many combinations of at most 2 events occur in patients and how many are shared by
--            fewer than 2 people, and which is the smallest number who share one?
-- Model      k^m-anonymity. An attacker who knows at most m events of a person finds at least k
--            people who have all of them. (Terrovitis, Mamoulis, Kalnis 2008, Privacy-preserving
--            anonymization of set-valued data, PVLDB 1(1), section 3)
-- Runs       if a person has no more than 500,000,000 combinations in all
-- Dialect    duckdb, as executed

with

-- A person with an event.
held as (
    select
        "patient" as kanon_entity,
        "zip",
        "diagnosis"
    from "main"."patients"
    group by
        "patient",
        "zip",
        "diagnosis"
),

-- An event with its holders; rarest first.
slots as (
    select
        "zip",
        "diagnosis",
        row_number() over (
            order by
                count(*),
                "zip",
                "diagnosis"
        ) as kanon_event,
        count(*) as kanon_holders_1
    from held
    group by
        "zip",
        "diagnosis"
),

numbered_people as (
    select
        kanon_entity,
        row_number() over (order by kanon_entity) as kanon_person
    from held
    group by kanon_entity
),

coded as (
    select
        numbered_people.kanon_person,
        slots.kanon_event,
        slots.kanon_holders_1
    from held
    inner join slots
        on slots."zip" is not distinct from held."zip"
        and slots."diagnosis" is not distinct from held."diagnosis"
    inner join numbered_people
        on numbered_people.kanon_entity = held.kanon_entity
),

-- The slots of each person that somebody else holds too.
shared as (
    select
        kanon_person,
        kanon_event as kanon_slot
    from coded
    where kanon_holders_1 > 1
),

combinations_2 as (
    select
        shorter.kanon_person,
        shorter.kanon_slot as kanon_slot_1,
        added.kanon_slot as kanon_slot_2
    from shared as shorter
    inner join shared as added
        on added.kanon_person = shorter.kanon_person
        and added.kanon_slot > shorter.kanon_slot
),

crowds_2 as (
    select
        kanon_slot_1,
        kanon_slot_2,
        count(*) as kanon_crowd
    from combinations_2
    group by
        kanon_slot_1,
        kanon_slot_2
),

-- Combinations of each size with a slot of one person alone.
people as (
    select
        cast(count(*) as double) as kanon_events_1,
        cast(sum(case when kanon_holders_1 > 1 then 1 else 0 end) as double) as kanon_shared_1
    from coded
    group by kanon_person
),

alone as (
    select
        sum(
            cast(kanon_events_1 * (kanon_events_1 - 1) as double) / nullif(2, 0)
                - (cast(kanon_shared_1 * (kanon_shared_1 - 1) as double) / nullif(2, 0))
        ) as kanon_combinations_2
    from people
),

-- People with a combination of fewer than k people, once for each size.
violators as (
    select kanon_person
    from coded
    where kanon_holders_1 < 2
    group by kanon_person

    union all

    select combinations_2.kanon_person
    from combinations_2
    inner join crowds_2
        on crowds_2.kanon_slot_1 = combinations_2.kanon_slot_1
        and crowds_2.kanon_slot_2 = combinations_2.kanon_slot_2
    where crowds_2.kanon_crowd < 2
    group by combinations_2.kanon_person
),

violating_people as (
    select count(distinct kanon_person) as kanon_violating_people
    from violators
),

counted_2 as (
    select
        count(*) as kanon_combinations,
        sum(case when kanon_crowd < 2 then 1 else 0 end) as kanon_violating,
        min(kanon_crowd) as kanon_least
    from crowds_2
),

sizes as (
    select
        1 as kanon_size,
        cast(count(*) as double) as kanon_combinations,
        cast(sum(case when kanon_holders_1 < 2 then 1 else 0 end) as double) as kanon_violating,
        min(kanon_holders_1) as kanon_least
    from slots

    union all

    select
        2 as kanon_size,
        counted_2.kanon_combinations + alone.kanon_combinations_2 as kanon_combinations,
        coalesce(counted_2.kanon_violating, 0) + alone.kanon_combinations_2 as kanon_violating,
        case when alone.kanon_combinations_2 > 0 then 1 else counted_2.kanon_least end as kanon_least
    from counted_2
    cross join alone
)

select
    kanon_size,
    kanon_combinations,
    kanon_violating,
    kanon_violating_people,
    kanon_least
from sizes
cross join violating_people
order by kanon_size
