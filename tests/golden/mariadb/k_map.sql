-- Question   How many people in voters match each combination of zip and age in patients?
-- Model      k-map. Every combination of quasi-identifier values in the release occurs at least k
--            times in the reidentification dataset, so linking the two never leaves fewer than k
--            candidates. (Sweeney 2002, Achieving k-anonymity privacy protection using
--            generalization and suppression, IJUFKS 10(5), section 2)
-- Dialect    mariadb, generated; not executed here, as the tests of this release do
-- Table      "patients" stands for patients; its columns are taken to have the types that they have
--            here.
-- Table      "voters" stands for voters; its columns are taken to have the types that they have
--            here.

with

release_classes as (
    select
        max(
            coalesce(
                concat('=', cast(`zip` as char character set utf8mb4) collate utf8mb4_nopad_bin),
                ''
            )
        ) as `zip`,
        `age`,
        count(*) as kanon_size,
        count(*) as kanon_records
    from `patients`
    group by
        coalesce(
            concat('=', cast(`zip` as char character set utf8mb4) collate utf8mb4_nopad_bin),
            ''
        ),
        `age`
),

reference_classes as (
    select
        max(
            coalesce(
                concat('=', cast(`zip_code` as char character set utf8mb4) collate utf8mb4_nopad_bin),
                ''
            )
        ) as `zip`,
        `age`,
        sum(cast(`people` as signed)) as kanon_population
    from `voters`
    group by
        coalesce(
            concat('=', cast(`zip_code` as char character set utf8mb4) collate utf8mb4_nopad_bin),
            ''
        ),
        `age`
),

cell_texts_1 as (
    select
        kanon_cell,
        max(kanon_released) as kanon_released,
        max(kanon_referred) as kanon_referred,
        case
            when kanon_cell <> ''
            then substring(kanon_cell, 2, char_length(kanon_cell))
        end as kanon_text
    from (
        select distinct
            `zip` as kanon_cell,
            1 as kanon_released,
            0 as kanon_referred
        from release_classes
        union all
        select distinct
            `zip` as kanon_cell,
            0 as kanon_released,
            1 as kanon_referred
        from reference_classes
    ) as kanon_cells
    group by
        kanon_cell
),

cells_1_taken_apart as (
    select
        cell_texts_1.*,
        char_length(kanon_text) as kanon_length,
        char_length(kanon_text) - char_length(trim(leading '*' from kanon_text)) as kanon_stars_left,
        char_length(kanon_text) - char_length(trim(trailing '*' from kanon_text)) as kanon_stars_right,
        substring(kanon_text, 1, 1) as kanon_opens,
        substring(kanon_text, char_length(kanon_text), 1) as kanon_closes,
        locate(',', kanon_text) as kanon_comma,
        locate('-', substring(kanon_text, 2, char_length(kanon_text))) as kanon_dash
    from cell_texts_1
),

cells_1_with_notation as (
    select
        cells_1_taken_apart.*,
        kanon_length - kanon_stars_left - kanon_stars_right as kanon_kept,
        case when kanon_opens in ('(', ']') then 1 else 0 end as kanon_low_open,
        case when kanon_closes in (')', '[') then 1 else 0 end as kanon_high_open,
        case
            when kanon_opens in ('[', '(', ']')
            and kanon_closes in (']', ')', '[')
            and kanon_comma > 1
            then 'interval'
            when kanon_dash > 0
            then 'range'
        end as kanon_notation
    from cells_1_taken_apart
),

cells_1_with_ends as (
    select
        cells_1_with_notation.*,
        case kanon_notation
            when 'interval'
            then trim(substring(kanon_text, 2, kanon_comma - 2))
            when 'range'
            then substring(kanon_text, 1, kanon_dash)
        end as kanon_low_text,
        case kanon_notation
            when 'interval'
            then trim(substring(kanon_text, kanon_comma + 1, kanon_length - kanon_comma - 1))
            when 'range'
            then substring(kanon_text, kanon_dash + 2, kanon_length)
        end as kanon_high_text
    from cells_1_with_notation
),

cells_1_with_numbers as (
    select
        cells_1_with_ends.*,
        case
            when char_length(kanon_text) <= 15
            and cast(kanon_text as char) regexp '^(-?[0-9]+([.][0-9]+)?)\\z'
            then cast(kanon_text as double)
        end as kanon_number,
        case
            when char_length(kanon_low_text) <= 15
            and cast(kanon_low_text as char) regexp '^(-?[0-9]+([.][0-9]+)?)\\z'
            then cast(kanon_low_text as double)
        end as kanon_low,
        case
            when char_length(kanon_high_text) <= 15
            and cast(kanon_high_text as char) regexp '^(-?[0-9]+([.][0-9]+)?)\\z'
            then cast(kanon_high_text as double)
        end as kanon_high
    from cells_1_with_ends
),

cells_1 as (
    select
        cells_1_with_numbers.*,
        case
            when kanon_text is null
            then 'null'
            when kanon_length > 0 and kanon_stars_left = kanon_length
            then 'any'
            when not kanon_number is null
            then 'number'
            when kanon_notation = 'interval' and kanon_low <= kanon_high
            then 'interval'
            when kanon_notation = 'range' and kanon_low < kanon_high
            then 'range'
            when kanon_stars_left + kanon_stars_right > 0
            then 'mask'
            else 'text'
        end as kanon_kind
    from cells_1_with_numbers
),

ranges_1 as (
    select
        kanon_cell,
        kanon_low,
        kanon_high,
        kanon_low_open,
        case
            when kanon_kind = 'range'
            and kanon_high in (
                select
                    coalesce(kanon_number, kanon_low)
                from cells_1
                where
                    kanon_released = 1 and kanon_kind in ('number', 'interval', 'range')
            )
            then 1
            else kanon_high_open
        end as kanon_high_open
    from cells_1
    where
        kanon_released = 1
        and (
            kanon_kind = 'interval'
            or (
                kanon_kind = 'range'
                and 0 = (
                    select
                        count(*)
                    from cells_1
                    where
                        kanon_kind in ('mask', 'text')
                )
            )
        )
),

masks_1 as (
    select distinct
        kanon_length,
        kanon_stars_left,
        kanon_kept
    from cells_1
    where
        kanon_released = 1 and kanon_kind = 'mask'
),

stems_1 as (
    select
        cells.kanon_cell,
        cells.kanon_kind,
        cells.kanon_released,
        cells.kanon_referred,
        masks.kanon_length,
        masks.kanon_stars_left,
        masks.kanon_kept,
        case
            when cells.kanon_stars_left = masks.kanon_stars_left
            and cells.kanon_kept = masks.kanon_kept
            then 1
            else 0
        end as kanon_is_mask,
        substring(cells.kanon_text, masks.kanon_stars_left + 1, masks.kanon_kept) as kanon_stem
    from cells_1 as cells
    inner join masks_1 as masks
        on masks.kanon_length = cells.kanon_length
),

matching_cells_1 as (
    select
        released.kanon_cell as kanon_released,
        referred.kanon_cell as kanon_referred
    from cells_1 as released
    inner join cells_1 as referred
        on referred.kanon_referred = 1 and referred.kanon_cell = released.kanon_cell
    where
        released.kanon_released = 1
    union
    select
        released.kanon_cell as kanon_released,
        referred.kanon_cell as kanon_referred
    from cells_1 as released
    cross join cells_1 as referred
    where
        released.kanon_released = 1
        and referred.kanon_referred = 1
        and released.kanon_kind = 'any'
    union
    select
        released.kanon_cell as kanon_released,
        referred.kanon_cell as kanon_referred
    from stems_1 as released
    inner join stems_1 as referred
        on referred.kanon_length = released.kanon_length
        and referred.kanon_stars_left = released.kanon_stars_left
        and referred.kanon_kept = released.kanon_kept
        and referred.kanon_stem = released.kanon_stem
    where
        released.kanon_released = 1
        and released.kanon_kind = 'mask'
        and released.kanon_is_mask = 1
        and referred.kanon_referred = 1
    union
    select
        ranges.kanon_cell as kanon_released,
        referred.kanon_cell as kanon_referred
    from ranges_1 as ranges
    inner join cells_1 as referred
        on referred.kanon_number >= ranges.kanon_low
        and referred.kanon_number <= ranges.kanon_high
    where
        referred.kanon_referred = 1
        and (
            referred.kanon_number > ranges.kanon_low or ranges.kanon_low_open = 0
        )
        and (
            referred.kanon_number < ranges.kanon_high or ranges.kanon_high_open = 0
        )
),

reference_as_released as (
    select
        matching_cells_1.kanon_released as `zip`,
        reference_classes.`age` as `age`,
        sum(reference_classes.kanon_population) as kanon_population
    from reference_classes
    inner join matching_cells_1
        on matching_cells_1.kanon_referred = reference_classes.`zip`
    group by
        matching_cells_1.kanon_released,
        reference_classes.`age`
),

both_sides as (
    select
        `zip`,
        `age`,
        kanon_size,
        kanon_records,
        0 as kanon_population
    from release_classes
    union all
    select
        `zip`,
        `age`,
        0 as kanon_size,
        0 as kanon_records,
        kanon_population
    from reference_as_released
),

matched as (
    select
        `zip`,
        `age`,
        sum(kanon_size) as kanon_size,
        sum(kanon_records) as kanon_records,
        sum(kanon_population) as kanon_population
    from both_sides
    group by
        `zip`,
        `age`
    having
        sum(kanon_size) > 0
),

classes as (
    select
        kanon_size,
        kanon_records,
        kanon_population,
        case when kanon_population < kanon_size then kanon_size else kanon_population end as kanon_union
    from matched
)

select
    count(*) as kanon_classes,
    sum(kanon_size) as kanon_sizes,
    min(kanon_population) as kanon_least_population,
    min(kanon_union) as kanon_least_union,
    sum(kanon_union) as kanon_unions,
    sum(cast(kanon_size as double) / nullif(kanon_union, 0)) as kanon_reidentified,
    sum(case when kanon_population = 0 then 1 else 0 end) as kanon_unmatched_classes,
    sum(case when kanon_population = 0 then kanon_records else 0 end) as kanon_unmatched_records,
    sum(
        case when kanon_population > 0 and kanon_population < kanon_size then 1 else 0 end
    ) as kanon_exceeding_classes,
    sum(case when cast(1 as decimal(18, 0)) * 5 > kanon_union then kanon_size else 0 end) as kanon_at_risk_people
from classes
