select coalesce(sum(failures), 0) as failures
from (
    with

    -- Every record of the 2 tables.
    stacked as (
        select
            "zip",
            "age",
            "diagnosis" as kanon_sensitive_1,
            null as kanon_person,
            's' as kanon_table
        from "main"."patients"

        union all

        select
            "zip_code" as "zip",
            "age",
            "dx" as kanon_sensitive_1,
            "person" as kanon_person,
            'o' as kanon_table
        from "main"."patients_original"
    ),

    -- A whole record of the synthetic table that another table has too.
    copies as (
        select
            "zip",
            "age",
            kanon_sensitive_1
        from (
            select
                "zip_code" as "zip",
                "age",
                "dx" as kanon_sensitive_1
            from "main"."patients_original"
        ) as others

        intersect

        select
            "zip",
            "age",
            "diagnosis" as kanon_sensitive_1
        from "main"."patients"
    ),

    -- The same, with its people in each table.
    classes as (
        select
            copies."zip",
            copies."age",
            copies.kanon_sensitive_1,
            count(case when kanon_table = 's' then 1 end) as kanon_s,
            case
                when min(case when kanon_table = 'o' then kanon_person end) is null then 0
                when min(
                    case when kanon_table = 'o' then kanon_person end
                ) = max(case when kanon_table = 'o' then kanon_person end) then 1
                else 2
            end as kanon_o,
            min(case when kanon_table = 'o' then kanon_person end) as kanon_person_o
        from stacked
        inner join copies
            on copies."zip" is not distinct from stacked."zip"
            and copies."age" is not distinct from stacked."age"
            and copies.kanon_sensitive_1 is not distinct from stacked.kanon_sensitive_1
        group by
            copies."zip",
            copies."age",
            copies.kanon_sensitive_1
    ),

    -- The people who have a record in such a class.
    counted_people as (
        select
            count(
                distinct case when records.kanon_table = 'o' and kanon_s > 0 then records.kanon_person end
            ) as kanon_found
        from (
            select
                "zip_code" as "zip",
                "age",
                "dx" as kanon_sensitive_1,
                "person" as kanon_person,
                'o' as kanon_table
            from "main"."patients_original"
        ) as records
        inner join classes
            on classes."zip" is not distinct from records."zip"
            and classes."age" is not distinct from records."age"
            and classes.kanon_sensitive_1 is not distinct from records.kanon_sensitive_1
        where kanon_s > 0
    ),

    -- A whole record that one person of the original has.
    uniques as (
        select min(kanon_person) as kanon_unit
        from (
            select distinct
                "zip_code" as "zip",
                "age",
                "dx" as kanon_sensitive_1,
                "person" as kanon_person
            from "main"."patients_original"
        ) as original
        group by
            "zip",
            "age",
            kanon_sensitive_1
        having count(*) = 1
    ),

    counted as (
        select
            (
                select count(*)
                from "main"."patients"
            ) as kanon_synthetic,
            (
                select count(distinct "person")
                from "main"."patients_original"
            ) as kanon_attacked,
            (
                select count(distinct kanon_unit)
                from uniques
            ) as kanon_unique_in_original,
            (
                select kanon_found
                from counted_people
            ) as kanon_found,
            coalesce(sum(case when kanon_o > 0 then kanon_s else 0 end), 0) as kanon_copying,
            count(
                distinct case when kanon_o = 1 and kanon_s > 0 then kanon_person_o end
            ) as kanon_unique_found
        from classes
    ),

    measured as (
        select
            (
                select count(*)
                from "main"."patients"
            ) as records,
            counted.*
        from counted
    ),

    empty_tables as (
        select sum(case when kanon_records = 0 then 1 else 0 end) as kanon_empty
        from (
            select count(*) as kanon_records
            from "main"."patients_original"
        ) as sizes
    ),

    columns_without_common_values as (
        select sum(
            case when kanon_common = 0 and kanon_in_synthetic + kanon_in_original > 0 then 1 else 0 end
        ) as kanon_without_common
        from (
            select
                1 as kanon_column,
                coalesce(sum(kanon_of_s * kanon_of_o), 0) as kanon_common,
                coalesce(sum(kanon_of_s), 0) as kanon_in_synthetic,
                coalesce(sum(kanon_of_o), 0) as kanon_in_original
            from (
                select
                    "zip",
                    max(case when kanon_table = 's' then 1 else 0 end) as kanon_of_s,
                    max(case when kanon_table = 'o' then 1 else 0 end) as kanon_of_o
                from (
                    select
                        "zip",
                        's' as kanon_table
                    from "main"."patients"
                    where "zip" is not null

                    union all

                    select
                        "zip_code" as "zip",
                        'o' as kanon_table
                    from "main"."patients_original"
                    where "zip_code" is not null
                ) as stacked
                group by "zip"
            ) as column_values

            union all

            select
                2 as kanon_column,
                coalesce(sum(kanon_of_s * kanon_of_o), 0) as kanon_common,
                coalesce(sum(kanon_of_s), 0) as kanon_in_synthetic,
                coalesce(sum(kanon_of_o), 0) as kanon_in_original
            from (
                select
                    "age",
                    max(case when kanon_table = 's' then 1 else 0 end) as kanon_of_s,
                    max(case when kanon_table = 'o' then 1 else 0 end) as kanon_of_o
                from (
                    select
                        "age",
                        's' as kanon_table
                    from "main"."patients"
                    where "age" is not null

                    union all

                    select
                        "age",
                        'o' as kanon_table
                    from "main"."patients_original"
                    where "age" is not null
                ) as stacked
                group by "age"
            ) as column_values

            union all

            select
                3 as kanon_column,
                coalesce(sum(kanon_of_s * kanon_of_o), 0) as kanon_common,
                coalesce(sum(kanon_of_s), 0) as kanon_in_synthetic,
                coalesce(sum(kanon_of_o), 0) as kanon_in_original
            from (
                select
                    kanon_sensitive_1,
                    max(case when kanon_table = 's' then 1 else 0 end) as kanon_of_s,
                    max(case when kanon_table = 'o' then 1 else 0 end) as kanon_of_o
                from (
                    select
                        "diagnosis" as kanon_sensitive_1,
                        's' as kanon_table
                    from "main"."patients"
                    where "diagnosis" is not null

                    union all

                    select
                        "dx" as kanon_sensitive_1,
                        'o' as kanon_table
                    from "main"."patients_original"
                    where "dx" is not null
                ) as stacked
                group by kanon_sensitive_1
            ) as column_values
        ) as columns_of_both
    ),

    without_entity_o as (
        select
            sum(case when "person" is null then 1 else 0 end) as kanon_without_entity
        from "main"."patients_original"
    ),

    verdicts as (
        select
            case
                when measured.records = 0 then 'no_data'
                when empty_tables.kanon_empty > 0 then 'error'
                when columns_without_common_values.kanon_without_common > 0 then 'error'
                when without_entity_o.kanon_without_entity > 0 then 'error'
                when coalesce(measured.kanon_attacked, 0) = 0 or measured.kanon_unique_found > cast(
                    measured.kanon_attacked as decimal(18, 0)
                ) * 0 then 'violated'
                else 'holds'
            end as status,
            measured.kanon_unique_found as at_risk,
            measured.records,
            measured.kanon_attacked,
            measured.kanon_unique_in_original,
            measured.kanon_unique_found,
            empty_tables.kanon_empty as empty_tables,
            columns_without_common_values.kanon_without_common as columns_without_common_values,
            without_entity_o.kanon_without_entity as without_entity_o
        from measured
        cross join empty_tables
        cross join columns_without_common_values
        cross join without_entity_o
    )

    select
        status,
        case when at_risk > 1 then at_risk else 1 end as failures,
        records,
        kanon_attacked,
        kanon_unique_in_original,
        kanon_unique_found
    from verdicts
    where
        case
            when status = 'no_data' then cast(
                error('kanon_sql: ' || status || ', there is no record to look at') as integer
            )
            when status = 'error' and empty_tables > 0
            then cast(
                error(
                    'kanon_sql: '
                        || status
                        || ', '
                        || cast(empty_tables as varchar)
                        || ' tables without a record to compare with'
                ) as integer
            )
            when status = 'error' and columns_without_common_values > 0
            then cast(
                error(
                    'kanon_sql: '
                        || status
                        || ', '
                        || cast(columns_without_common_values as varchar)
                        || ' columns without a value in common with the original'
                ) as integer
            )
            when status = 'error' and without_entity_o > 0
            then cast(
                error(
                    'kanon_sql: '
                        || status
                        || ', '
                        || cast(without_entity_o as varchar)
                        || ' records without an entity'
                ) as integer
            )
            when status = 'violated' then 1
            else 0
        end = 1
) as kanon_test
