select coalesce(sum(failures), 0) as failures
from (
    with

    -- A person with an event.
    held as (
        select
            "patient" as kanon_entity,
            "zip",
            "age",
            "diagnosis"
        from "main"."patients"
        group by
            "patient",
            "zip",
            "age",
            "diagnosis"
    ),

    -- An event with its holders; rarest first.
    slots as (
        select
            "zip",
            "age",
            "diagnosis",
            row_number() over (
                order by
                    count(*),
                    "zip",
                    "age",
                    "diagnosis"
            ) as kanon_event,
            count(*) as kanon_holders_1
        from held
        group by
            "zip",
            "age",
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
            and slots."age" is not distinct from held."age"
            and slots."diagnosis" is not distinct from held."diagnosis"
        inner join numbered_people
            on numbered_people.kanon_entity = held.kanon_entity
    ),

    slots_in_all as (
        select count(*) + 1 as kanon_slots
        from slots
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
            shorter.kanon_slot * slots_in_all.kanon_slots + added.kanon_slot as kanon_pair
        from shared as shorter
        inner join shared as added
            on added.kanon_person = shorter.kanon_person
            and added.kanon_slot > shorter.kanon_slot
        cross join slots_in_all
    ),

    crowds_2 as (
        select
            kanon_pair,
            count(*) as kanon_crowd
        from combinations_2
        group by
            kanon_pair
        having count(*) >= 2
    ),

    people as (
        select
            kanon_person,
            count(*) as kanon_events
        from coded
        group by kanon_person
    ),

    -- The combinations of each person that somebody else has too.
    found as (
        select
            coded.kanon_person,
            min(coded.kanon_holders_1) as kanon_least,
            sum(cast(1 as double) / nullif(coded.kanon_holders_1, 0)) as kanon_chance,
            count(*) as kanon_together,
            sum(case when coded.kanon_holders_1 >= 2 then 1 else 0 end) as kanon_enough
        from coded
        inner join people
            on people.kanon_person = coded.kanon_person
        where people.kanon_events = 1
            and coded.kanon_holders_1 >= 2
        group by coded.kanon_person

        union all

        select
            combinations_2.kanon_person,
            min(crowds_2.kanon_crowd) as kanon_least,
            sum(cast(1 as double) / nullif(crowds_2.kanon_crowd, 0)) as kanon_chance,
            count(*) as kanon_together,
            sum(case when crowds_2.kanon_crowd >= 2 then 1 else 0 end) as kanon_enough
        from combinations_2
        inner join crowds_2
            on crowds_2.kanon_pair = combinations_2.kanon_pair
        where crowds_2.kanon_crowd >= 2
        group by combinations_2.kanon_person
    ),

    -- Each person with the number of choices of events that an attacker may know.
    chosen as (
        select
            people.kanon_events,
            found.kanon_least,
            case
                when cast(people.kanon_events as double) <= 2 then cast(1 as double)
                else cast(
                    cast(people.kanon_events as double) * (cast(people.kanon_events as double) - 1) as double
                ) / nullif(2, 0)
            end as kanon_choices,
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
            cast(kanon_choices - kanon_enough as double) / nullif(kanon_choices, 0) as kanon_below,
            cast(kanon_choices - kanon_together as double) / nullif(kanon_choices, 0) as kanon_alone,
            cast(kanon_chance + kanon_choices - kanon_together as double)
                / nullif(kanon_choices, 0) as kanon_chance
        from chosen
    ),

    measured as (
        select
            (
                select count(*)
                from "main"."patients"
            ) as records,
            count(*) as kanon_people,
            coalesce(sum(case when kanon_crowd < 2 then 1 else 0 end), 0) as violating_people,
            min(kanon_crowd) as kanon_least,
            cast(sum(case when kanon_crowd < 2 then 1 else 0 end) as double)
                / nullif(count(*), 0) as achieved,
            cast(1 as double) / nullif(min(kanon_crowd), 0) as highest,
            cast(sum(cast(1 as double) / nullif(kanon_crowd, 0)) as double) / nullif(count(*), 0) as average
        from judged_people
    ),

    records_without_entity as (
        select
            sum(case when "patient" is null then 1 else 0 end) as kanon_without_entity
        from "main"."patients"
    ),

    -- Each person once with a combination of the quasi-identifiers.
    known_of_people as (
        select
            "zip",
            "age",
            "patient" as kanon_entity
        from "main"."patients"
        group by
            "zip",
            "age",
            "patient"
    ),

    known_combinations as (
        select count(*) as kanon_combinations
        from known_of_people
        group by kanon_entity
    ),

    people_of_several as (
        select coalesce(sum(case when kanon_combinations > 1 then 1 else 0 end), 0) as kanon_in_several
        from known_combinations
    ),

    verdicts as (
        select
            case
                when measured.records = 0 then 'no_data'
                when records_without_entity.kanon_without_entity > 0 then 'error'
                when people_of_several.kanon_in_several > 0 then 'error'
                when cast(
                    measured.violating_people as decimal(18, 0)
                ) * 10 > measured.kanon_people then 'violated'
                else 'holds'
            end as status,
            measured.violating_people as at_risk,
            measured.records,
            measured.violating_people,
            measured.achieved,
            measured.highest,
            measured.average,
            records_without_entity.kanon_without_entity as records_without_entity,
            people_of_several.kanon_in_several as people_of_several
        from measured
        cross join records_without_entity
        cross join people_of_several
    )

    select
        status,
        case when at_risk > 1 then at_risk else 1 end as failures,
        records,
        violating_people,
        achieved,
        highest,
        average
    from verdicts
    where
        case
            when status = 'no_data' then cast(
                error('kanon_sql: ' || status || ', there is no record to look at') as integer
            )
            when status = 'error' and records_without_entity > 0
            then cast(
                error(
                    'kanon_sql: '
                        || status
                        || ', '
                        || cast(records_without_entity as varchar)
                        || ' records without an entity'
                ) as integer
            )
            when status = 'error' and people_of_several > 0
            then cast(
                error(
                    'kanon_sql: '
                        || status
                        || ', '
                        || cast(people_of_several as varchar)
                        || ' people with several values of the quasi-identifiers'
                ) as integer
            )
            when status = 'violated' then 1
            else 0
        end = 1
) as kanon_test
