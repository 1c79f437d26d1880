-- Question   How many of 10,000 people of patients are found among each number of people, by 4 of
--            their events, each as often as it occurs, drawn at random?
-- Model      known events. Whichever m events of a person an attacker knows, only a bounded share
--            of the people is among fewer than k who have all of them. (Pellungrini, Pappalardo,
--            Pratesi, Monreale 2018, A data mining approach to assess privacy risk in human
--            mobility data, ACM TIST 9(3); de Montjoye, Hidalgo, Verleysen, Blondel 2013, Unique in
--            the Crowd, Scientific Reports 3:1376)
-- Dialect    trino, generated and not executed
-- Table      "patients" stands for patients; its columns are assumed to have the same types as
--            here.

with

-- A person with an event, and how often.
held as (
    select
        "patient" as kanon_entity,
        "zip",
        "diagnosis",
        count(*) as kanon_records
    from "patients"
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
        row_number() over (order by count(*), "zip", "diagnosis") as kanon_event,
        count(*) as kanon_holders_1,
        sum(case when kanon_records >= 2 then 1 else 0 end) as kanon_holders_2,
        sum(case when kanon_records >= 3 then 1 else 0 end) as kanon_holders_3,
        sum(case when kanon_records >= 4 then 1 else 0 end) as kanon_holders_4
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
    group by
        kanon_entity
),

coded as (
    select
        numbered_people.kanon_person,
        slots.kanon_event,
        held.kanon_records as kanon_times
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
        sum(kanon_records) as kanon_events
    from held
    group by
        kanon_entity
),

fewer as (
    select
        coalesce(sum(case when kanon_events < 4 then 1 else 0 end), 0) as kanon_fewer
    from people
),

-- The people attacked.
targets as (
    select
        kanon_entity
    from people
    order by
        lower(
            to_hex(
                md5(
                    to_utf8(
                        concat(
                            cast('1' as varchar),
                            cast(coalesce(
                                concat(
                                    cast(',' as varchar),
                                    cast(length(cast(kanon_entity as varchar)) as varchar),
                                    cast(':' as varchar),
                                    cast(kanon_entity as varchar)
                                ),
                                ','
                            ) as varchar)
                        )
                    )
                )
            )
        ),
        kanon_entity
    limit 10000
),

-- Their records, those of one event numbered.
records_of_targets as (
    select
        numbered.kanon_entity,
        numbered."zip",
        numbered."diagnosis",
        numbered.kanon_copy
    from (
        select
            "patient" as kanon_entity,
            "zip",
            "diagnosis",
            row_number() over (partition by "patient", "zip", "diagnosis" order by "patient") as kanon_copy
        from "patients"
    ) as numbered
    inner join targets
        on targets.kanon_entity = numbered.kanon_entity
),

-- Their events, in the order in which they become known.
drawn as (
    select
        records_of_targets.kanon_entity,
        records_of_targets."zip",
        records_of_targets."diagnosis",
        row_number() over (
            partition by records_of_targets.kanon_entity
            order by lower(
                to_hex(
                    md5(
                        to_utf8(
                            concat(
                                cast('1' as varchar),
                                cast(coalesce(
                                    concat(
                                        cast(',' as varchar),
                                        cast(
                                            length(
                                                cast(records_of_targets.kanon_entity as varchar)
                                            ) as varchar
                                        ),
                                        cast(':' as varchar),
                                        cast(records_of_targets.kanon_entity as varchar)
                                    ),
                                    ','
                                ) as varchar),
                                cast(coalesce(
                                    concat(
                                        cast(',' as varchar),
                                        cast(length(cast(records_of_targets."zip" as varchar)) as varchar),
                                        cast(':' as varchar),
                                        cast(records_of_targets."zip" as varchar)
                                    ),
                                    ','
                                ) as varchar),
                                cast(coalesce(
                                    concat(
                                        cast(',' as varchar),
                                        cast(
                                            length(cast(records_of_targets."diagnosis" as varchar)) as varchar
                                        ),
                                        cast(':' as varchar),
                                        cast(records_of_targets."diagnosis" as varchar)
                                    ),
                                    ','
                                ) as varchar),
                                cast(coalesce(
                                    concat(
                                        cast(',' as varchar),
                                        cast(
                                            length(cast(records_of_targets.kanon_copy as varchar)) as varchar
                                        ),
                                        cast(':' as varchar),
                                        cast(records_of_targets.kanon_copy as varchar)
                                    ),
                                    ','
                                ) as varchar)
                            )
                        )
                    )
                )
            )
        ) as kanon_place
    from records_of_targets
),

-- The events that are known, and how often.
known as (
    select
        kanon_entity,
        "zip",
        "diagnosis",
        count(*) as kanon_copy
    from drawn
    where
        kanon_place <= 4
    group by
        kanon_entity,
        "zip",
        "diagnosis"
),

-- Their slots, rarest first.
known_slots as (
    select
        numbered_people.kanon_person,
        slots.kanon_event * 4 + known.kanon_copy - 1 as kanon_slot,
        row_number() over (
            partition by numbered_people.kanon_person
            order by case known.kanon_copy
                when 1
                then slots.kanon_holders_1
                when 2
                then slots.kanon_holders_2
                when 3
                then slots.kanon_holders_3
                when 4
                then slots.kanon_holders_4
            end, slots.kanon_event
        ) as kanon_rank,
        count(*) over (partition by numbered_people.kanon_person) as kanon_known
    from known
    inner join slots
        on slots."zip" is not distinct from known."zip"
        and slots."diagnosis" is not distinct from known."diagnosis"
    inner join numbered_people
        on numbered_people.kanon_entity = known.kanon_entity
),

slots_in_all as (
    select
        (count(*) + 1) * 4 as kanon_slots
    from slots
),

-- Who holds a slot, with one number for both.
holders as (
    select distinct
        kanon_event * 4 + 0 as kanon_slot,
        kanon_person * slots_in_all.kanon_slots + kanon_event * 4 + 0 as kanon_held
    from coded
    cross join slots_in_all
    union all
    select distinct
        kanon_event * 4 + 1 as kanon_slot,
        kanon_person * slots_in_all.kanon_slots + kanon_event * 4 + 1 as kanon_held
    from coded
    cross join slots_in_all
    where
        coded.kanon_times >= 2
    union all
    select distinct
        kanon_event * 4 + 2 as kanon_slot,
        kanon_person * slots_in_all.kanon_slots + kanon_event * 4 + 2 as kanon_held
    from coded
    cross join slots_in_all
    where
        coded.kanon_times >= 3
    union all
    select distinct
        kanon_event * 4 + 3 as kanon_slot,
        kanon_person * slots_in_all.kanon_slots + kanon_event * 4 + 3 as kanon_held
    from coded
    cross join slots_in_all
    where
        coded.kanon_times >= 4
),

-- The holders of the rarest known slot.
candidates as (
    select distinct
        known_slots.kanon_person as kanon_target,
        known_slots.kanon_known,
        holders.kanon_held - holders.kanon_slot as kanon_base
    from known_slots
    inner join holders
        on holders.kanon_slot = known_slots.kanon_slot
    where
        known_slots.kanon_rank = 1
),

-- Those who hold all known slots.
holders_of_all as (
    select
        candidates.kanon_target
    from candidates
    inner join known_slots
        on known_slots.kanon_person = candidates.kanon_target
    inner join holders
        on holders.kanon_held = candidates.kanon_base + known_slots.kanon_slot
    group by
        candidates.kanon_target,
        candidates.kanon_base,
        candidates.kanon_known
    having
        count(*) = candidates.kanon_known
),

crowds as (
    select
        kanon_target,
        count(*) as kanon_crowd
    from holders_of_all
    group by
        kanon_target
)

select
    crowds.kanon_crowd,
    count(*) as kanon_people,
    min(fewer.kanon_fewer) as kanon_fewer
from crowds
cross join fewer
group by
    crowds.kanon_crowd
order by
    crowds.kanon_crowd
