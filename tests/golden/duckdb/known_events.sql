-- Question   How many people of patients are found among each number of people, by the 2 of their
--            events that tell most?
-- Model      known events. Whichever m events of a person an attacker knows, only a bounded share
--            of the people is among fewer than k who have all of them. (Pellungrini, Pappalardo,
--            Pratesi, Monreale 2018, A data mining approach to assess privacy risk in human
--            mobility data, ACM TIST 9(3); de Montjoye, Hidalgo, Verleysen, Blondel 2013, Unique in
--            the Crowd, Scientific Reports 3:1376)
-- Runs       if there are no more than 500,000,000 combinations to count
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

-- Each person with their number of events, and the least copy of an event that they alone have.
people as (
    select
        kanon_person,
        count(*) as kanon_events,
        min(
            case
                when kanon_holders_1 = 1 then 1
            end
        ) as kanon_own_copy
    from coded
    group by kanon_person
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

-- The combinations of each person that somebody else shares, of as many events as are known.
found as (
    select
        coded.kanon_person,
        min(coded.kanon_holders_1) as kanon_least,
        sum(case when coded.kanon_holders_1 >= 2 then 1 else 0 end) as kanon_enough,
        sum(case when coded.kanon_holders_1 > 1 then 1 else 0 end) as kanon_together,
        count(*) as kanon_shared,
        sum(cast(1 as double) / nullif(coded.kanon_holders_1, 0)) as kanon_chance
    from coded
    inner join people
        on people.kanon_person = coded.kanon_person
    where people.kanon_events = 1
        and coded.kanon_holders_1 > 1
    group by coded.kanon_person

    union all

    select
        combinations_2.kanon_person,
        min(crowds_2.kanon_crowd) as kanon_least,
        sum(case when crowds_2.kanon_crowd >= 2 then 1 else 0 end) as kanon_enough,
        sum(case when crowds_2.kanon_crowd > 1 then 1 else 0 end) as kanon_together,
        count(*) as kanon_shared,
        sum(cast(1 as double) / nullif(crowds_2.kanon_crowd, 0)) as kanon_chance
    from combinations_2
    inner join crowds_2
        on crowds_2.kanon_slot_1 = combinations_2.kanon_slot_1
        and crowds_2.kanon_slot_2 = combinations_2.kanon_slot_2
    group by combinations_2.kanon_person
),

-- Each person with the number of choices of events that an attacker may know.
chosen as (
    select
        people.kanon_events,
        case
            when people.kanon_own_copy <= 2 and people.kanon_own_copy <= people.kanon_events then 1
            else found.kanon_least
        end as kanon_crowd,
        case
            when cast(people.kanon_events as double) <= 2 then cast(1 as double)
            else cast(
                cast(people.kanon_events as double) * (cast(people.kanon_events as double) - 1) as double
            ) / nullif(2, 0)
        end as kanon_choices,
        coalesce(found.kanon_enough, 0) as kanon_enough,
        coalesce(found.kanon_together, 0) as kanon_together,
        coalesce(found.kanon_shared, 0) as kanon_shared,
        coalesce(found.kanon_chance, 0) as kanon_chance
    from people
    left join found
        on found.kanon_person = people.kanon_person
),

judged_people as (
    select
        kanon_events,
        kanon_crowd,
        cast(kanon_choices - kanon_enough as double) / nullif(kanon_choices, 0) as kanon_below,
        cast(kanon_choices - kanon_together as double) / nullif(kanon_choices, 0) as kanon_alone,
        cast(kanon_chance + kanon_choices - kanon_shared as double) / nullif(kanon_choices, 0) as kanon_chance
    from chosen
)

select
    kanon_crowd,
    count(*) as kanon_people,
    sum(case when kanon_events < 2 then 1 else 0 end) as kanon_fewer,
    sum(kanon_below) as kanon_below,
    sum(kanon_alone) as kanon_alone,
    sum(kanon_chance) as kanon_chance
from judged_people
group by kanon_crowd
order by kanon_crowd
