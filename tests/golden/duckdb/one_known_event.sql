-- Question   How many people of patients are found among each number of people, by the one of their
--            events that tells most? And how many events are there?
-- Model      known events. Whichever m events of a person an attacker knows, only a bounded share
--            of the people is among fewer than k who have all of them. (Pellungrini, Pappalardo,
--            Pratesi, Monreale 2018, A data mining approach to assess privacy risk in human
--            mobility data, ACM TIST 9(3); de Montjoye, Hidalgo, Verleysen, Blondel 2013, Unique in
--            the Crowd, Scientific Reports 3:1376)
-- Dialect    duckdb, as executed

with

-- A person with an event, and how often.
held as (
    select
        "patient" as kanon_entity,
        "zip",
        "diagnosis",
        count(*) as kanon_records
    from "main"."patients"
    group by
        "patient",
        "zip",
        "diagnosis"
),

-- An event with its holders.
slots as (
    select
        "zip",
        "diagnosis",
        count(*) as kanon_holders_1,
        sum(kanon_records) as kanon_records
    from held
    group by
        "zip",
        "diagnosis"
),

coded as (
    select
        held.kanon_entity as kanon_person,
        held.kanon_records,
        slots.kanon_holders_1
    from held
    inner join slots
        on slots."zip" is not distinct from held."zip"
        and slots."diagnosis" is not distinct from held."diagnosis"
),

people as (
    select
        kanon_person,
        count(*) as kanon_events,
        min(kanon_holders_1) as kanon_crowd,
        sum(case when kanon_holders_1 < 2 then 1 else 0 end) as kanon_below,
        sum(case when kanon_holders_1 = 1 then 1 else 0 end) as kanon_alone,
        sum(cast(1 as double) / nullif(kanon_holders_1, 0)) as kanon_chance,
        count(*) as kanon_person_events,
        sum(kanon_records) as kanon_records
    from coded
    group by kanon_person
),

judged_people as (
    select
        kanon_person,
        kanon_person_events,
        kanon_records,
        kanon_events,
        kanon_crowd,
        cast(kanon_below as double) / nullif(kanon_events, 0) as kanon_below,
        cast(kanon_alone as double) / nullif(kanon_events, 0) as kanon_alone,
        cast(kanon_chance as double) / nullif(kanon_events, 0) as kanon_chance
    from people
),

counted_events as (
    select
        count(*) as kanon_distinct,
        sum(case when "zip" is null or "diagnosis" is null then kanon_records else 0 end) as kanon_with_null
    from slots
)

select
    kanon_crowd,
    count(*) as kanon_people,
    sum(case when kanon_events < 1 then 1 else 0 end) as kanon_fewer,
    sum(kanon_below) as kanon_below,
    sum(kanon_alone) as kanon_alone,
    sum(kanon_chance) as kanon_chance,
    coalesce(sum(kanon_records), 0) as kanon_records,
    coalesce(sum(case when kanon_person is null then kanon_records else 0 end), 0) as kanon_without_entity,
    coalesce(sum(kanon_person_events), 0) as kanon_person_events,
    min(kanon_person_events) as kanon_fewest,
    max(kanon_person_events) as kanon_most,
    min(counted_events.kanon_distinct) as kanon_distinct,
    coalesce(min(counted_events.kanon_with_null), 0) as kanon_with_null
from judged_people
cross join counted_events
group by kanon_crowd
order by kanon_crowd
