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

        select distinct
            "zip_code" as "zip",
            "age",
            "dx" as kanon_sensitive_1,
            "person" as kanon_person,
            'o' as kanon_table
        from "main"."patients_original"
    ),

    -- Each combination with a value, with its people in each table.
    cells as (
        select
            "zip",
            "age",
            kanon_sensitive_1,
            count(case when kanon_table = 's' then 1 end) as kanon_s,
            count(case when kanon_table = 'o' then 1 end) as kanon_o,
            min(case when kanon_table = 'o' then kanon_person end) as kanon_first_person,
            max(case when kanon_table = 'o' then kanon_person end) as kanon_last_person
        from stacked
        group by
            "zip",
            "age",
            kanon_sensitive_1
    ),

    -- Each value, with its people of the original.
    holders as (
        select
            kanon_sensitive_1,
            count(distinct kanon_person) as kanon_holders
        from (
            select
                "zip_code" as "zip",
                "age",
                "dx" as kanon_sensitive_1,
                "person" as kanon_person,
                'o' as kanon_table
            from "main"."patients_original"
        ) as original
        group by kanon_sensitive_1
    ),

    -- A class: a product of counts says how many pairs of both tables have the same value.
    classes as (
        select
            "zip",
            "age",
            sum(kanon_s) as kanon_all_s,
            sum(kanon_o) as kanon_all_o,
            max(kanon_s) as kanon_most_s,
            max(kanon_o) as kanon_most_o,
            case
                when min(kanon_first_person) = max(kanon_last_person) then 1
                else 0
            end as kanon_of_one_person
        from cells
        group by
            "zip",
            "age"
    ),

    -- What each value in each class tells of those who have it. A value of the holdout alone has no holder.
    told as (
        select
            cells."zip",
            cells."age",
            cells.kanon_sensitive_1,
            cast(cells.kanon_s as double) / nullif(classes.kanon_all_s, 0) as kanon_chance,
            case
                when classes.kanon_of_one_person = 1
                then cast(cells.kanon_s as double) / nullif(classes.kanon_all_s, 0)
            end as kanon_chance_alone,
            cast(cells.kanon_o as double) / nullif(classes.kanon_all_o, 0) as kanon_chance_by_original,
            case
                when classes.kanon_all_s > 0 then coalesce(holders.kanon_holders, 0)
                else 0
            end as kanon_holders_if_found,
            case when kanon_all_s > 0 and kanon_most_s = kanon_all_s then 1 else 0 end as kanon_claimed_1,
            case
                when kanon_all_s > 0 and kanon_most_s = kanon_all_s and kanon_s > 0 then 1
                else 0
            end as kanon_correct_1,
            case
                when kanon_all_s > 0
                    and kanon_most_s = kanon_all_s
                    and kanon_s > 0
                    and kanon_most_o = kanon_all_o
                then 1
                else 0
            end as kanon_correct_in_original_1,
            case
                when kanon_all_s > 0
                    and kanon_most_s = kanon_all_s
                    and kanon_s > 0
                    and kanon_of_one_person = 1
                then 1
                else 0
            end as kanon_unique_correct_1,
            case when kanon_all_o > 0 and kanon_most_o = kanon_all_o then 1 else 0 end as kanon_disclosive_1
        from cells
        inner join classes
            on classes."zip" is not distinct from cells."zip"
            and classes."age" is not distinct from cells."age"
        left join holders
            on holders.kanon_sensitive_1 is not distinct from cells.kanon_sensitive_1
        where cells.kanon_o > 0
    ),

    -- Each person of a table, with the most that any of their records tells.
    people as (
        select
            records.kanon_person,
            case when records.kanon_table = 'o' then 1 else 0 end as kanon_in_o,
            case when max(told.kanon_chance) is null then 0 else 1 end as kanon_found,
            max(told.kanon_chance) as kanon_chance,
            case when max(told.kanon_chance_alone) is null then 0 else 1 end as kanon_is_alone,
            max(told.kanon_chance_alone) as kanon_chance_alone,
            max(told.kanon_chance_by_original) as kanon_chance_by_original,
            max(told.kanon_holders_if_found) as kanon_most_holders,
            max(told.kanon_claimed_1) as kanon_is_claimed_1,
            max(told.kanon_correct_1) as kanon_is_correct_1,
            max(told.kanon_correct_in_original_1) as kanon_is_correct_in_original_1,
            max(told.kanon_unique_correct_1) as kanon_is_unique_correct_1,
            max(told.kanon_disclosive_1) as kanon_is_disclosive_1
        from (
            select
                "zip_code" as "zip",
                "age",
                "dx" as kanon_sensitive_1,
                "person" as kanon_person,
                'o' as kanon_table
            from "main"."patients_original"
        ) as records
        inner join told
            on told."zip" is not distinct from records."zip"
            and told."age" is not distinct from records."age"
            and told.kanon_sensitive_1 is not distinct from records.kanon_sensitive_1
        group by
            records.kanon_person,
            records.kanon_table
    ),

    told_by_size as (
        select
            kanon_found as kanon_size,
            sum(kanon_in_o) as kanon_attacked,
            sum(kanon_in_o * kanon_chance) as kanon_right,
            sum(kanon_in_o * kanon_is_alone) as kanon_alone,
            sum(kanon_in_o * kanon_chance_alone) as kanon_right_alone,
            sum(kanon_in_o * kanon_chance_by_original) as kanon_right_by_original,
            sum(kanon_in_o * kanon_most_holders) as kanon_base,
            sum(kanon_in_o * kanon_is_claimed_1) as kanon_claimed_1,
            sum(kanon_in_o * kanon_is_correct_1) as kanon_correct_1,
            sum(kanon_in_o * kanon_is_correct_in_original_1) as kanon_correct_in_original_1,
            sum(kanon_in_o * kanon_is_unique_correct_1) as kanon_unique_correct_1,
            sum(kanon_in_o * kanon_is_disclosive_1) as kanon_disclosive_in_original_1
        from people
        group by kanon_found
    ),

    counted as (
        select
            sum(kanon_attacked) as kanon_attacked,
            sum(kanon_claimed_1) as kanon_claimed,
            sum(kanon_correct_1) as kanon_correct
        from told_by_size
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
                when coalesce(measured.kanon_attacked, 0) = 0 or cast(
                    measured.kanon_correct as decimal(18, 0)
                ) * 10 > measured.kanon_attacked then 'violated'
                else 'holds'
            end as status,
            measured.kanon_correct as at_risk,
            measured.records,
            measured.kanon_attacked,
            measured.kanon_claimed,
            measured.kanon_correct,
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
        kanon_claimed,
        kanon_correct
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
