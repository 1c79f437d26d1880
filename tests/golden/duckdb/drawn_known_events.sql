-- Question   How many of 10,000 people of patients are found among each number of people, by 4 of
--            their events drawn at random?
-- Model      known events. Whichever m events of a person an attacker knows, only a bounded share
--            of the people is among fewer than k who have all of them. (Pellungrini, Pappalardo,
--            Pratesi, Monreale 2018, A data mining approach to assess privacy risk in human
--            mobility data, ACM TIST 9(3); de Montjoye, Hidalgo, Verleysen, Blondel 2013, Unique in
--            the Crowd, Scientific Reports 3:1376)
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
        slots.kanon_event
    from held
    inner join slots
        on slots."zip" is not distinct from held."zip"
        and slots."diagnosis" is not distinct from held."diagnosis"
    inner join numbered_people
        on numbered_people.kanon_entity = held.kanon_entity
),

people as (
    select
        kanon_entity,
        count(*) as kanon_events
    from held
    group by kanon_entity
),

fewer as (
    select coalesce(sum(case when kanon_events < 4 then 1 else 0 end), 0) as kanon_fewer
    from people
),

-- The people attacked.
targets as (
    select kanon_entity
    from people
    order by
        md5(
            '1'
            || coalesce(
                ',' || cast(
                    length(cast(kanon_entity as varchar)) as varchar
                ) || ':' || cast(kanon_entity as varchar), ','
            )
        ),
        kanon_entity
    limit 10000
),

-- Their events, in the order in which they become known.
drawn as (
    select
        held.kanon_entity,
        held."zip",
        held."diagnosis",
        row_number() over (
            partition by held.kanon_entity
            order by
                md5(
                    '1'
                    || coalesce(
                        ',' || cast(
                            length(cast(held.kanon_entity as varchar)) as varchar
                        ) || ':' || cast(held.kanon_entity as varchar), ','
                    )
                    || coalesce(
                        ',' || cast(
                            length(cast(held."zip" as varchar)) as varchar
                        ) || ':' || cast(held."zip" as varchar), ','
                    )
                    || coalesce(
                        ',' || cast(
                            length(cast(held."diagnosis" as varchar)) as varchar
                        ) || ':' || cast(held."diagnosis" as varchar), ','
                    )
                )
        ) as kanon_place
    from held
    inner join targets
        on targets.kanon_entity = held.kanon_entity
),

-- The events that are known.
known as (
    select
        kanon_entity,
        "zip",
        "diagnosis"
    from drawn
    where kanon_place <= 4
),

-- Their slots, rarest first.
known_slots as (
    select
        numbered_people.kanon_person,
        slots.kanon_event as kanon_slot,
        row_number() over (
            partition by numbered_people.kanon_person
            order by
                slots.kanon_holders_1,
                slots.kanon_event
        ) as kanon_rank
    from known
    inner join slots
        on slots."zip" is not distinct from known."zip"
        and slots."diagnosis" is not distinct from known."diagnosis"
    inner join numbered_people
        on numbered_people.kanon_entity = known.kanon_entity
),

-- One row for each person attacked; with fewer slots than m, the rarest one again.
knowns as (
    select
        kanon_person as kanon_target,
        max(case when kanon_rank = 1 then kanon_slot end) as kanon_known_1,
        coalesce(
            max(case when kanon_rank = 2 then kanon_slot end),
            max(case when kanon_rank = 1 then kanon_slot end)
        ) as kanon_known_2,
        coalesce(
            max(case when kanon_rank = 3 then kanon_slot end),
            max(case when kanon_rank = 1 then kanon_slot end)
        ) as kanon_known_3,
        coalesce(
            max(case when kanon_rank = 4 then kanon_slot end),
            max(case when kanon_rank = 1 then kanon_slot end)
        ) as kanon_known_4
    from known_slots
    group by kanon_person
),

slots_in_all as (
    select count(*) + 1 as kanon_slots
    from slots
),

-- Who holds a slot, with one number for both.
holders as (
    select
        kanon_event as kanon_slot,
        kanon_person * slots_in_all.kanon_slots + kanon_event as kanon_held
    from coded
    cross join slots_in_all
),

-- The holders of the rarest known slot.
crowd_1 as (
    select
        knowns.kanon_target,
        holders.kanon_held - holders.kanon_slot as kanon_base,
        knowns.kanon_known_2,
        knowns.kanon_known_3,
        knowns.kanon_known_4
    from knowns
    inner join holders
        on holders.kanon_slot = knowns.kanon_known_1
),

-- Those who hold the next one too.
crowd_2 as (
    select
        crowd_1.kanon_target,
        crowd_1.kanon_base,
        crowd_1.kanon_known_3,
        crowd_1.kanon_known_4
    from crowd_1
    inner join holders
        on holders.kanon_held = crowd_1.kanon_base + crowd_1.kanon_known_2
),

-- Those who hold the next one too.
crowd_3 as (
    select
        crowd_2.kanon_target,
        crowd_2.kanon_base,
        crowd_2.kanon_known_4
    from crowd_2
    inner join holders
        on holders.kanon_held = crowd_2.kanon_base + crowd_2.kanon_known_3
),

-- Those who hold the next one too.
crowd_4 as (
    select
        crowd_3.kanon_target
    from crowd_3
    inner join holders
        on holders.kanon_held = crowd_3.kanon_base + crowd_3.kanon_known_4
),

crowds as (
    select
        kanon_target,
        count(*) as kanon_crowd
    from crowd_4
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
