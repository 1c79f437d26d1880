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
            any_value(people.kanon_entity) as kanon_example,
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

    -- Each crowd in every pair of its classes.
    crowds_in_pairs as (
        select
            joint_classes.kanon_example,
            joint_classes.kanon_size,
            coalesce(
                release_several.kanon_class, joint_classes.kanon_release_first
            ) as kanon_release_class,
            coalesce(
                earlier_several.kanon_class, joint_classes.kanon_earlier_first
            ) as kanon_earlier_class
        from joint_classes
        left join release_several
            on release_several.kanon_entity = joint_classes.kanon_example
        left join earlier_several
            on earlier_several.kanon_entity = joint_classes.kanon_example
    ),

    pairs as (
        select distinct
            kanon_release_class,
            kanon_earlier_class
        from crowds_in_pairs
    ),

    release_values_1 as (
        select
            release_classes.kanon_class,
            release_cells.kanon_value
        from (
            select distinct
                "zip",
                "age",
                "diagnosis" as kanon_value
            from "main"."patients"
        ) as release_cells
        inner join release_classes
            on release_classes."zip" is not distinct from release_cells."zip"
            and release_classes."age" is not distinct from release_cells."age"
    ),

    earlier_values_1 as (
        select
            earlier_classes.kanon_class,
            earlier_cells.kanon_value
        from (
            select distinct
                "zip_code" as kanon_earlier_1,
                "dx" as kanon_value
            from "main"."patients_before"
        ) as earlier_cells
        inner join earlier_classes
            on earlier_classes.kanon_earlier_1 is not distinct from earlier_cells.kanon_earlier_1
    ),

    -- The number of values that a pair has in both releases.
    measured_pairs_1 as (
        select
            pairs.kanon_release_class,
            pairs.kanon_earlier_class,
            count(earlier_values_1.kanon_class) as kanon_candidates
        from pairs
        left join release_values_1
            on release_values_1.kanon_class = pairs.kanon_release_class
        left join earlier_values_1
            on earlier_values_1.kanon_class = pairs.kanon_earlier_class
            and earlier_values_1.kanon_value is not distinct from release_values_1.kanon_value
        group by
            pairs.kanon_release_class,
            pairs.kanon_earlier_class
    ),

    candidates_in_short_1 as (
        select
            min(case when kanon_candidates > 0 then kanon_candidates end) as kanon_least_1,
            sum(case when kanon_candidates = 1 then 1 else 0 end) as kanon_certain_1_classes,
            sum(case when kanon_candidates = 0 then 1 else 0 end) as kanon_changed_1_classes,
            sum(
                case when kanon_candidates > 0 and kanon_candidates < 2 then 1 else 0 end
            ) as kanon_violated_1_classes
        from measured_pairs_1
    ),

    -- The crowds in flagged pairs.
    judged_crowds_1 as (
        select
            crowds_in_pairs.kanon_example,
            crowds_in_pairs.kanon_size,
            max(case when kanon_candidates = 1 then 1 else 0 end) as kanon_certain,
            max(case when kanon_candidates = 0 then 1 else 0 end) as kanon_changed,
            max(case when kanon_candidates > 0 and kanon_candidates < 2 then 1 else 0 end) as kanon_violated
        from crowds_in_pairs
        inner join measured_pairs_1
            on measured_pairs_1.kanon_release_class = crowds_in_pairs.kanon_release_class
            and measured_pairs_1.kanon_earlier_class = crowds_in_pairs.kanon_earlier_class
        where
            (kanon_candidates = 1)
            or (kanon_candidates = 0)
            or (kanon_candidates > 0 and kanon_candidates < 2)
        group by
            crowds_in_pairs.kanon_example,
            crowds_in_pairs.kanon_size
    ),

    people_in_short_1 as (
        select
            coalesce(
                sum(kanon_size * kanon_certain), 0
            ) as kanon_certain_1_people,
            coalesce(
                sum(kanon_size * kanon_changed), 0
            ) as kanon_changed_1_people,
            coalesce(
                sum(kanon_size * kanon_violated), 0
            ) as kanon_violated_1_people
        from judged_crowds_1
    ),

    measured as (
        select
            (
                select count(*)
                from "main"."patients"
            ) as records,
            coalesce(kanon_violated_1_classes, 0) as violating_classes,
            kanon_violated_1_people as violating_people,
            kanon_least_1 as achieved,
            (
                select coalesce(sum(kanon_size), 0)
                from joint_classes
            ) as in_both,
            kanon_certain_1_people as certain_people,
            kanon_changed_1_people as changed_people
        from candidates_in_short_1
        cross join people_in_short_1
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
        select case when in_both = 0 then records else 0 end as kanon_strangers
        from measured
    ),

    without_candidates as (
        select case when achieved is null then in_both else 0 end as kanon_without_candidates
        from measured
    ),

    verdicts as (
        select
            case
                when measured.records = 0 then 'no_data'
                when records_without_entity.kanon_without_entity > 0 then 'error'
                when earlier_without_entity.kanon_without_entity > 0 then 'error'
                when strangers.kanon_strangers > 0 then 'error'
                when without_candidates.kanon_without_candidates > 0 then 'error'
                when measured.violating_people > 0 then 'violated'
                else 'holds'
            end as status,
            measured.violating_people as at_risk,
            measured.records,
            measured.violating_classes,
            measured.violating_people,
            measured.achieved,
            measured.in_both,
            measured.certain_people,
            measured.changed_people,
            records_without_entity.kanon_without_entity as records_without_entity,
            earlier_without_entity.kanon_without_entity as earlier_without_entity,
            strangers.kanon_strangers as strangers,
            without_candidates.kanon_without_candidates as without_candidates
        from measured
        cross join records_without_entity
        cross join earlier_without_entity
        cross join strangers
        cross join without_candidates
    )

    select
        status,
        case when at_risk > 1 then at_risk else 1 end as failures,
        records,
        violating_classes,
        violating_people,
        achieved,
        in_both,
        certain_people,
        changed_people
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
                        || ' records and nobody of them in the earlier release'
                ) as integer
            )
            when status = 'error' and without_candidates > 0
            then cast(
                error(
                    'kanon_sql: '
                        || status
                        || ', '
                        || cast(without_candidates as varchar)
                        || ' people and no value that any of them may have in both releases'
                ) as integer
            )
            when status = 'violated' then 1
            else 0
        end = 1
) as kanon_test
