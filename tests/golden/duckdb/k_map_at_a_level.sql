-- Question   How many people in voters (zip_code at mask 1 from the right) match each combination
--            of zip and age in patients (zip at mask 1 from the right), at least and in all? At
--            risk is whoever has a chance above 0.2.
-- Required   kanon_k_map_violated_classes = 0.
-- Model      k-map. Every combination of quasi-identifier values in the release occurs at least k
--            times in the reference, so linking the two never leaves fewer than k candidates.
--            (Sweeney 2002, Achieving k-anonymity privacy protection using generalization and
--            suppression, IJUFKS 10(5), section 2)
-- Dialect    duckdb, as executed

with

release_classes as (
    select
        coalesce('=' || cast("zip" as varchar), '') as "zip",
        "age",
        count(*) as kanon_size
    from (
        select
            rpad(substring("zip", 1, 4), 5, '*') as "zip",
            "age"
        from "main"."patients"
    ) as kanon_source
    group by
        coalesce('=' || cast("zip" as varchar), ''),
        "age"
),

reference_classes as (
    select
        coalesce('=' || cast("zip_code" as varchar), '') as "zip",
        "age",
        sum(cast("people" as bigint)) as kanon_population
    from (
        select
            rpad(substring("zip_code", 1, 4), 5, '*') as "zip_code",
            "age",
            "people"
        from "main"."voters"
    ) as kanon_source
    group by
        coalesce('=' || cast("zip_code" as varchar), ''),
        "age"
),

-- Each distinct cell with the place of its column; '=' precedes its text, and '' is NULL.
cell_texts as (
    select
        kanon_column,
        kanon_cell,
        max(kanon_released) as kanon_released,
        max(kanon_referred) as kanon_referred,
        case when kanon_cell <> '' then substring(kanon_cell, 2, length(kanon_cell)) end as kanon_text
    from (
        select distinct
            1 as kanon_column,
            "zip" as kanon_cell,
            1 as kanon_released,
            0 as kanon_referred
        from release_classes

        union all

        select distinct
            1 as kanon_column,
            "zip" as kanon_cell,
            0 as kanon_released,
            1 as kanon_referred
        from reference_classes
    ) as kanon_cells
    group by
        kanon_column,
        kanon_cell
),

-- The first and last characters of a text, and the marks of an interval, a range or a mask.
cells_taken_apart as (
    select
        cell_texts.*,
        length(kanon_text) as kanon_length,
        length(kanon_text) - length(ltrim(kanon_text, '*')) as kanon_stars_left,
        length(kanon_text) - length(rtrim(kanon_text, '*')) as kanon_stars_right,
        substring(kanon_text, 1, 1) as kanon_opens,
        substring(kanon_text, length(kanon_text), 1) as kanon_closes,
        position(',' in kanon_text) as kanon_comma,
        position('-' in substring(kanon_text, 2, length(kanon_text))) as kanon_dash
    from cell_texts
),

-- Whether it may be an interval or a range, and which ends of the interval are open.
cells_with_notation as (
    select
        cells_taken_apart.*,
        kanon_length - kanon_stars_left - kanon_stars_right as kanon_kept,
        case when kanon_opens in ('(', ']') then 1 else 0 end as kanon_low_open,
        case when kanon_closes in (')', '[') then 1 else 0 end as kanon_high_open,
        case
            when kanon_opens in ('[', '(', ']') and kanon_closes in (']', ')', '[') and kanon_comma > 1
            then 'interval'
            when kanon_dash > 0
            then 'range'
        end as kanon_notation
    from cells_taken_apart
),

cells_with_ends as (
    select
        cells_with_notation.*,
        case kanon_notation
            when 'interval' then trim(substring(kanon_text, 2, kanon_comma - 2))
            when 'range' then substring(kanon_text, 1, kanon_dash)
        end as kanon_low_text,
        case kanon_notation
            when 'interval' then trim(substring(kanon_text, kanon_comma + 1, kanon_length - kanon_comma - 1))
            when 'range' then substring(kanon_text, kanon_dash + 2, kanon_length)
        end as kanon_high_text
    from cells_with_notation
),

cells_with_numbers as (
    select
        cells_with_ends.*,
        case
            when length(kanon_text) <= 15 and regexp_full_match(kanon_text, '-?[0-9]+([.][0-9]+)?')
            then cast(kanon_text as double)
        end as kanon_number,
        case
            when length(kanon_low_text) <= 15 and regexp_full_match(kanon_low_text, '-?[0-9]+([.][0-9]+)?')
            then cast(kanon_low_text as double)
        end as kanon_low,
        case
            when length(kanon_high_text) <= 15 and regexp_full_match(kanon_high_text, '-?[0-9]+([.][0-9]+)?')
            then cast(kanon_high_text as double)
        end as kanon_high
    from cells_with_ends
),

-- The kind of each cell: a number, an interval, a range, a mask or else a text.
cells as (
    select
        cells_with_numbers.*,
        case
            when kanon_text is null then 'null'
            when kanon_length > 0 and kanon_stars_left = kanon_length then 'any'
            when kanon_number is not null then 'number'
            when kanon_notation = 'interval' and kanon_low <= kanon_high then 'interval'
            when kanon_notation = 'range' and kanon_low < kanon_high then 'range'
            when kanon_stars_left + kanon_stars_right > 0 then 'mask'
            else 'text'
        end as kanon_kind
    from cells_with_numbers
),

-- The lower end of each number, interval and range of the release.
starts as (
    select distinct
        kanon_column,
        coalesce(kanon_number, kanon_low) as kanon_start
    from cells
    where kanon_released = 1 and kanon_kind in ('number', 'interval', 'range')
),

-- Columns in which a-b may be an ordinary text.
columns_of_texts as (
    select distinct kanon_column
    from cells
    where kanon_kind in ('mask', 'text')
),

-- The cells that match numbers; a-b is open at b if another cell begins there.
ranges as (
    select
        cells.kanon_column,
        cells.kanon_cell,
        cells.kanon_low,
        cells.kanon_high,
        cells.kanon_low_open,
        case
            when cells.kanon_kind = 'range' and starts.kanon_start is not null then 1
            else cells.kanon_high_open
        end as kanon_high_open
    from cells
    left join starts
        on starts.kanon_column = cells.kanon_column
        and starts.kanon_start = cells.kanon_high
    left join columns_of_texts
        on columns_of_texts.kanon_column = cells.kanon_column
    where
        cells.kanon_released = 1
        and (
            cells.kanon_kind = 'interval'
            or (cells.kanon_kind = 'range' and columns_of_texts.kanon_column is null)
        )
),

-- The shapes of the release's masks: their length, and the stars before the kept characters.
masks as (
    select distinct
        kanon_column,
        kanon_length,
        kanon_stars_left,
        kanon_kept
    from cells
    where kanon_released = 1 and kanon_kind = 'mask'
),

-- The characters that each mask keeps of the cells of its length.
stems as (
    select
        cells.kanon_column,
        cells.kanon_cell,
        cells.kanon_kind,
        cells.kanon_released,
        cells.kanon_referred,
        masks.kanon_length,
        masks.kanon_stars_left,
        masks.kanon_kept,
        case
            when cells.kanon_stars_left = masks.kanon_stars_left and cells.kanon_kept = masks.kanon_kept
            then 1
            else 0
        end as kanon_is_mask,
        substring(cells.kanon_text, masks.kanon_stars_left + 1, masks.kanon_kept) as kanon_stem
    from cells
    inner join masks
        on masks.kanon_column = cells.kanon_column
        and masks.kanon_length = cells.kanon_length
),

-- A cell matches itself; '*' any cell; a mask cells with its stem; a range its numbers.
matching_cells as (
    select
        kanon_column,
        kanon_cell as kanon_released,
        kanon_cell as kanon_referred
    from cells
    where kanon_released = 1 and kanon_referred = 1

    union

    select
        released.kanon_column,
        released.kanon_cell as kanon_released,
        referred.kanon_cell as kanon_referred
    from cells as released
    inner join cells as referred
        on referred.kanon_column = released.kanon_column
    where
        released.kanon_released = 1
        and referred.kanon_referred = 1
        and released.kanon_kind = 'any'

    union

    select
        released.kanon_column,
        released.kanon_cell as kanon_released,
        referred.kanon_cell as kanon_referred
    from stems as released
    inner join stems as referred
        on referred.kanon_column = released.kanon_column
        and referred.kanon_length = released.kanon_length
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
        ranges.kanon_column,
        ranges.kanon_cell as kanon_released,
        referred.kanon_cell as kanon_referred
    from ranges
    inner join cells as referred
        on referred.kanon_column = ranges.kanon_column
        and referred.kanon_number >= ranges.kanon_low
        and referred.kanon_number <= ranges.kanon_high
    where
        referred.kanon_referred = 1
        and (referred.kanon_number > ranges.kanon_low or ranges.kanon_low_open = 0)
        and (referred.kanon_number < ranges.kanon_high or ranges.kanon_high_open = 0)
),

-- The people of the reference in each combination of the release's cells.
reference_as_released as (
    select
        matching_1.kanon_released as "zip",
        reference_classes."age" as "age",
        sum(reference_classes.kanon_population) as kanon_population
    from reference_classes
    inner join matching_cells as matching_1
        on matching_1.kanon_referred = reference_classes."zip"
        and matching_1.kanon_column = 1
    group by
        matching_1.kanon_released,
        reference_classes."age"
),

-- Each class of the release, with 0 where the reference has nobody in it. kanon_union is how many the
-- least reference that contains the release would have.
classes as (
    select
        release_classes.*,
        coalesce(reference_as_released.kanon_population, 0) as kanon_population,
        case
            when reference_as_released.kanon_population > release_classes.kanon_size
            then reference_as_released.kanon_population
            else release_classes.kanon_size
        end as kanon_union
    from release_classes
    left join reference_as_released
        on reference_as_released."zip" = release_classes."zip"
        and reference_as_released."age" is not distinct from release_classes."age"
)

select
    count(*) as kanon_classes,
    sum(kanon_size) as kanon_sizes,
    min(kanon_population) as kanon_least_population,
    min(kanon_union) as kanon_least_union,
    sum(kanon_union) as kanon_unions,
    sum(cast(kanon_size as double) / nullif(kanon_union, 0)) as kanon_reidentified,
    sum(case when kanon_population = 0 then 1 else 0 end) as kanon_unmatched_classes,
    sum(case when kanon_population = 0 then kanon_size else 0 end) as kanon_unmatched_records,
    sum(
        case when kanon_population > 0 and kanon_population < kanon_size then 1 else 0 end
    ) as kanon_exceeding_classes,
    sum(case when kanon_union < 5 then kanon_size else 0 end) as kanon_at_risk_people,
    sum(case when kanon_population < 5 then 1 else 0 end) as kanon_k_map_violated_classes,
    sum(case when kanon_population < 5 then kanon_size else 0 end) as kanon_k_map_violated_records
from classes
