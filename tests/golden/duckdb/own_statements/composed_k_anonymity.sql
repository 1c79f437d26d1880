select coalesce(sum(failures), 0) as failures
from (
    with

    -- The classes, numbered in the order of all columns: the numbers are the same at each reference.
    release_classes as (
        select
            "zip",
            "age",
            row_number() over (
                order by
                    "zip",
                    "age"
            ) as kanon_class
        from "main"."patients"
        group by
            "zip",
            "age"
    ),

    earlier_classes as (
        select
            "zip_code" as kanon_earlier_1,
            row_number() over (
                order by
                    "zip_code"
            ) as kanon_class
        from "main"."patients_before"
        group by
            "zip_code"
    ),

    release_members as (
        select
            release_records.kanon_entity,
            release_classes.kanon_class
        from (
            select
                "zip",
                "age",
                "patient" as kanon_entity
            from "main"."patients"
        ) as release_records
        inner join release_classes
            on release_classes."zip" is not distinct from release_records."zip"
            and release_classes."age" is not distinct from release_records."age"
    ),

    earlier_members as (
        select
            earlier_records.kanon_entity,
            earlier_classes.kanon_class
        from (
            select
                "zip_code" as kanon_earlier_1,
                "person" as kanon_entity
            from "main"."patients_before"
        ) as earlier_records
        inner join earlier_classes
            on earlier_classes.kanon_earlier_1 is not distinct from earlier_records.kanon_earlier_1
    ),

    -- Each person once, with the first and the last of their classes.
    release_people as (
        select
            kanon_entity,
            min(kanon_class) as kanon_first,
            max(kanon_class) as kanon_last
        from release_members
        group by kanon_entity
    ),

    earlier_people as (
        select
            kanon_entity,
            min(kanon_class) as kanon_first,
            max(kanon_class) as kanon_last
        from earlier_members
        group by kanon_entity
    ),

    -- The people of several classes, with each of their classes.
    release_several as (
        select distinct
            release_members.kanon_entity,
            release_members.kanon_class
        from release_members
        inner join release_people
            on release_people.kanon_entity = release_members.kanon_entity
        where release_people.kanon_first < release_people.kanon_last
    ),

    earlier_several as (
        select distinct
            earlier_members.kanon_entity,
            earlier_members.kanon_class
        from earlier_members
        inner join earlier_people
            on earlier_people.kanon_entity = earlier_members.kanon_entity
        where earlier_people.kanon_first < earlier_people.kanon_last
    ),

    -- The people of both releases.
    people as (
        select
            release_people.kanon_entity,
            release_people.kanon_first as kanon_release_first,
            earlier_people.kanon_first as kanon_earlier_first
        from release_people
        inner join earlier_people
            on earlier_people.kanon_entity = release_people.kanon_entity
    ),

    -- The classes of each person in several classes, as one text.
    release_numbers as (
        select
            kanon_entity,
            string_agg(cast(kanon_class as varchar), ',' order by kanon_class) as kanon_numbers
        from release_several
        group by kanon_entity
    ),

    earlier_numbers as (
        select
            kanon_entity,
            string_agg(cast(kanon_class as varchar), ',' order by kanon_class) as kanon_numbers
        from earlier_several
        group by kanon_entity
    ),

    -- The people who are in exactly the same classes of both: a crowd.
    joint_classes as (
        select
            people.kanon_release_first,
            release_numbers.kanon_numbers as kanon_release_numbers,
            people.kanon_earlier_first,
            earlier_numbers.kanon_numbers as kanon_earlier_numbers,
            count(*) as kanon_size
        from people
        left join release_numbers
            on release_numbers.kanon_entity = people.kanon_entity
        left join earlier_numbers
            on earlier_numbers.kanon_entity = people.kanon_entity
        group by
            people.kanon_release_first,
            release_numbers.kanon_numbers,
            people.kanon_earlier_first,
            earlier_numbers.kanon_numbers
    ),

    -- The people who are in exactly the same classes of a release.
    release_crowds as (
        select
            release_people.kanon_first,
            release_numbers.kanon_numbers,
            count(*) as kanon_size
        from release_people
        left join release_numbers
            on release_numbers.kanon_entity = release_people.kanon_entity
        group by
            release_people.kanon_first,
            release_numbers.kanon_numbers
    ),

    earlier_crowds as (
        select
            earlier_people.kanon_first,
            earlier_numbers.kanon_numbers,
            count(*) as kanon_size
        from earlier_people
        left join earlier_numbers
            on earlier_numbers.kanon_entity = earlier_people.kanon_entity
        group by
            earlier_people.kanon_first,
            earlier_numbers.kanon_numbers
    ),

    people_in_both as (
        select
            count(*) as kanon_classes,
            coalesce(sum(kanon_size), 0) as kanon_in_both,
            min(kanon_size) as kanon_least,
            sum(case when kanon_size < 3 then 1 else 0 end) as kanon_composed_k_anonymity_violated_classes,
            sum(
                case when kanon_size < 3 then kanon_size else 0 end
            ) as kanon_composed_k_anonymity_violated_people
        from joint_classes
    ),

    -- Crowds of this release without the people of both: the joiners.
    joiner_parts as (
        select
            kanon_first,
            kanon_numbers,
            kanon_size
        from release_crowds

        union all

        select
            kanon_release_first as kanon_first,
            kanon_release_numbers as kanon_numbers,
            -kanon_size as kanon_size
        from joint_classes
    ),

    joiner_classes as (
        select sum(kanon_size) as kanon_size
        from joiner_parts
        group by
            kanon_first,
            kanon_numbers
    ),

    joiners as (
        select
            coalesce(sum(kanon_size), 0) as kanon_joiners,
            min(kanon_size) as kanon_joiners_k
        from joiner_classes
        where kanon_size > 0
    ),

    -- Crowds of the earlier release without the people of both: the leavers.
    leaver_parts as (
        select
            kanon_first,
            kanon_numbers,
            kanon_size
        from earlier_crowds

        union all

        select
            kanon_earlier_first as kanon_first,
            kanon_earlier_numbers as kanon_numbers,
            -kanon_size as kanon_size
        from joint_classes
    ),

    leaver_classes as (
        select sum(kanon_size) as kanon_size
        from leaver_parts
        group by
            kanon_first,
            kanon_numbers
    ),

    leavers as (
        select
            coalesce(sum(kanon_size), 0) as kanon_leavers,
            min(kanon_size) as kanon_leavers_k
        from leaver_classes
        where kanon_size > 0
    ),

    measured as (
        select
            (
                select count(*)
                from "main"."patients"
            ) as records,
            kanon_composed_k_anonymity_violated_classes as violating_classes,
            kanon_composed_k_anonymity_violated_people as violating_people,
            kanon_least as achieved,
            kanon_in_both as in_both,
            kanon_joiners as joiners,
            kanon_joiners_k as joiners_k,
            kanon_leavers as leavers,
            kanon_leavers_k as leavers_k
        from people_in_both
        cross join joiners
        cross join leavers
    ),

    records_without_entity as (
        select
            sum(case when "patient" is null then 1 else 0 end) as kanon_without_entity
        from "main"."patients"
    ),

    earlier_without_entity as (
        select
            sum(case when "person" is null then 1 else 0 end) as kanon_without_entity
        from "main"."patients_before"
    ),

    strangers as (
        select case when in_both = 0 then joiners else 0 end as kanon_strangers
        from measured
    ),

    verdicts as (
        select
            case
                when measured.records = 0 then 'no_data'
                when records_without_entity.kanon_without_entity > 0 then 'error'
                when earlier_without_entity.kanon_without_entity > 0 then 'error'
                when strangers.kanon_strangers > 0 then 'error'
                when measured.violating_people > 0 then 'violated'
                else 'holds'
            end as status,
            measured.violating_people as at_risk,
            measured.records,
            measured.violating_classes,
            measured.violating_people,
            measured.achieved,
            measured.in_both,
            measured.joiners,
            measured.joiners_k,
            measured.leavers,
            measured.leavers_k,
            records_without_entity.kanon_without_entity as records_without_entity,
            earlier_without_entity.kanon_without_entity as earlier_without_entity,
            strangers.kanon_strangers as strangers
        from measured
        cross join records_without_entity
        cross join earlier_without_entity
        cross join strangers
    )

    select
        status,
        case when at_risk > 1 then at_risk else 1 end as failures,
        records,
        violating_classes,
        violating_people,
        achieved,
        in_both,
        joiners,
        joiners_k,
        leavers,
        leavers_k
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
            when status = 'error' and earlier_without_entity > 0
            then cast(
                error(
                    'kanon_sql: '
                        || status
                        || ', '
                        || cast(earlier_without_entity as varchar)
                        || ' records of the earlier release without an entity'
                ) as integer
            )
            when status = 'error' and strangers > 0
            then cast(
                error(
                    'kanon_sql: '
                        || status
                        || ', '
                        || cast(strangers as varchar)
                        || ' people and none of them in the earlier release'
                ) as integer
            )
            when status = 'violated' then 1
            else 0
        end = 1
) as kanon_test
