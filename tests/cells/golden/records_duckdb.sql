-- Question   Are the values of turnover in ledger.csv numbers, and of somebody?
-- Dialect    duckdb, as executed

with

records as (
    select
        "turnover"
    from read_csv(
        'ledger.csv',
        auto_detect = false,
        header = true,
        delim = ',',
        quote = '"',
        escape = '"',
        comment = '',
        strict_mode = true,
        null_padding = false,
        ignore_errors = false,
        columns = {
            'region': 'VARCHAR',
            'sector': 'VARCHAR',
            'firm': 'VARCHAR',
            'turnover': 'VARCHAR'
        }
    )
)

select
    count(*) as kanon_records,
    count("turnover") as kanon_values,
    sum(
        case when "turnover" is not null and try_cast("turnover" as double) is null then 1 else 0 end
    ) as kanon_no_number,
    sum(
        case
            when try_cast("turnover" as double) is not null and not (
                abs(try_cast("turnover" as double)) <= 1.7976931348623157e308
            ) then 1
            else 0
        end
    ) as kanon_not_finite,
    max(
        case
            when try_cast("turnover" as double) is null then 0
            when lower("turnover") like '%e-%' then 99
            when position('.' in "turnover") = 0 then 0
            else length("turnover") - position('.' in "turnover")
        end
    ) as kanon_decimals,
    max(abs(try_cast("turnover" as double))) as kanon_largest,
    sum(abs(try_cast("turnover" as double))) as kanon_size
from records;


-- Question   What do the cells of ledger.csv by region and sector hold of their records?
-- Model      threshold. Every cell of the table is made from at least n contributors, so no figure
--            is that of one or a few. (ESSnet, Handbook on Statistical Disclosure Control, 2nd
--            edition, chapter 4, minimum frequency rule)
-- Model      dominance. In every cell the n largest contributors together have at most k per cent
--            of the sum, so that none of their values can be estimated closely from it. (ESSnet,
--            Handbook on Statistical Disclosure Control, 2nd edition, chapter 4, (n,k) dominance
--            rule)
-- Model      p%. Whoever made the second largest contribution to a cell, and subtracts it from the
--            sum, can't estimate the largest to within p per cent. (ESSnet, Handbook on Statistical
--            Disclosure Control, 2nd edition, chapter 4, p% and (p,q) rule)
-- Dialect    duckdb, as executed

with

records as (
    select
        "region",
        "sector",
        "turnover"
    from read_csv(
        'ledger.csv',
        auto_detect = false,
        header = true,
        delim = ',',
        quote = '"',
        escape = '"',
        comment = '',
        strict_mode = true,
        null_padding = false,
        ignore_errors = false,
        columns = {
            'region': 'VARCHAR',
            'sector': 'VARCHAR',
            'firm': 'VARCHAR',
            'turnover': 'VARCHAR'
        }
    )
),

figures as (
    select
        "region",
        "sector",
        abs(try_cast("turnover" as bigint)) as kanon_size,
        abs(try_cast("turnover" as bigint)) as kanon_weighted,
        case when try_cast("turnover" as bigint) < 0 then 1 end as kanon_negative
    from records
),

-- The largest contributions of a margin are among those of its cells.
largest_figures as (
    select
        "region",
        "sector",
        count(*) as kanon_records,
        count(kanon_size) as kanon_contributors,
        coalesce(sum(kanon_weighted), 0) as kanon_total,
        max(kanon_size, 2) as kanon_sizes,
        count(kanon_negative) as kanon_negatives
    from figures
    group by
        "region",
        "sector"
),

contributions as (
    select
        "region",
        "sector",
        kanon_records,
        kanon_contributors,
        kanon_total,
        0 as kanon_size,
        kanon_negatives
    from largest_figures

    union all

    select
        "region",
        "sector",
        0 as kanon_records,
        0 as kanon_contributors,
        0 as kanon_total,
        unnest(kanon_sizes) as kanon_size,
        0 as kanon_negatives
    from largest_figures
),

cells as (
    select
        0 as kanon_grouping,
        "region",
        "sector",
        sum(kanon_records) as kanon_records,
        sum(kanon_contributors) as kanon_contributors,
        sum(kanon_total) as kanon_total,
        list_sum(list_slice(max(kanon_size, 2), 1, 1)) as kanon_largest_1,
        list_sum(list_slice(max(kanon_size, 2), 1, 2)) as kanon_largest_2,
        sum(kanon_negatives) as kanon_negatives
    from contributions
    group by
        "region",
        "sector"

    union all

    select
        1 as kanon_grouping,
        "region",
        null as "sector",
        sum(kanon_records) as kanon_records,
        sum(kanon_contributors) as kanon_contributors,
        sum(kanon_total) as kanon_total,
        list_sum(list_slice(max(kanon_size, 2), 1, 1)) as kanon_largest_1,
        list_sum(list_slice(max(kanon_size, 2), 1, 2)) as kanon_largest_2,
        sum(kanon_negatives) as kanon_negatives
    from contributions
    group by
        "region"

    union all

    select
        2 as kanon_grouping,
        null as "region",
        "sector",
        sum(kanon_records) as kanon_records,
        sum(kanon_contributors) as kanon_contributors,
        sum(kanon_total) as kanon_total,
        list_sum(list_slice(max(kanon_size, 2), 1, 1)) as kanon_largest_1,
        list_sum(list_slice(max(kanon_size, 2), 1, 2)) as kanon_largest_2,
        sum(kanon_negatives) as kanon_negatives
    from contributions
    group by
        "sector"

    union all

    select
        3 as kanon_grouping,
        null as "region",
        null as "sector",
        sum(kanon_records) as kanon_records,
        sum(kanon_contributors) as kanon_contributors,
        sum(kanon_total) as kanon_total,
        list_sum(list_slice(max(kanon_size, 2), 1, 1)) as kanon_largest_1,
        list_sum(list_slice(max(kanon_size, 2), 1, 2)) as kanon_largest_2,
        sum(kanon_negatives) as kanon_negatives
    from contributions
),

nodes as (
    select
        count(distinct "region") + max(case when "region" is null then 1 else 0 end) as kanon_nodes_1_0,
        count(distinct "sector") + max(case when "sector" is null then 1 else 0 end) as kanon_nodes_2_0
    from cells
    where kanon_grouping = 0
),

judged_cells as (
    select
        cells.*,
        case when kanon_grouping > 0 then 1 else 0 end as kanon_is_margin,
        case when kanon_contributors < 10 and kanon_contributors > 0 then 1 else 0 end as kanon_violates_1,
        case
            when kanon_largest_2 > 0
                and kanon_largest_2 * 100 > kanon_total * 67 then 1
            else 0
        end as kanon_violates_2,
        case
            when kanon_largest_1 > 0
                and (kanon_total - kanon_largest_2) * 100 < kanon_largest_1 * 10 then 1
            else 0
        end as kanon_violates_3
    from cells
),

sensitive_cells as (
    select
        judged_cells.*,
        case
            when kanon_violates_1 = 1 or kanon_violates_2 = 1 or kanon_violates_3 = 1 then 1
            else 0
        end as kanon_is_sensitive
    from judged_cells
)

select
    sum(case when kanon_is_margin = 0 then kanon_records else 0 end) as kanon_records,
    count(*) as kanon_cells,
    sum(kanon_is_margin) as kanon_margin_cells,
    sum(kanon_is_sensitive) as kanon_sensitive_cells,
    sum(kanon_is_sensitive * (1 - kanon_is_margin)) as kanon_sensitive_inner_cells,
    sum(
        case when kanon_is_margin = 0 and kanon_is_sensitive = 1 then kanon_records else 0 end
    ) as kanon_sensitive_records,
    sum(case when kanon_is_margin = 0 then kanon_total else 0 end) as kanon_whole,
    sum(case when kanon_is_margin = 0 and kanon_is_sensitive = 1 then kanon_total else 0 end) as kanon_hidden,
    sum(case when kanon_contributors > 0 and kanon_largest_1 = 0 then 1 else 0 end) as kanon_zero_cells,
    sum(case when kanon_negatives > 0 then 1 else 0 end) as kanon_cells_with_negatives,
    min(kanon_contributors) as kanon_least,
    min(case when kanon_contributors > 0 then kanon_contributors end) as kanon_least_above_zero,
    sum(kanon_violates_1) as kanon_violating_cells_1,
    sum(kanon_violates_1 * kanon_is_margin) as kanon_violating_margin_cells_1,
    sum(case when kanon_violates_1 = 1 then 10 - kanon_contributors else 0 end) as kanon_shortfall_1,
    sum(kanon_violates_2) as kanon_violating_cells_2,
    sum(kanon_violates_2 * kanon_is_margin) as kanon_violating_margin_cells_2,
    sum(
        case
            when kanon_violates_2 = 1
            then 100 * cast(kanon_largest_2 as double) / nullif(kanon_total, 0) - 67
            else 0
        end
    ) as kanon_shortfall_2,
    max(100 * cast(kanon_largest_2 as double) / nullif(kanon_total, 0)) as kanon_achieved_2,
    sum(kanon_violates_3) as kanon_violating_cells_3,
    sum(kanon_violates_3 * kanon_is_margin) as kanon_violating_margin_cells_3,
    sum(
        case
            when kanon_violates_3 = 1
            then cast(1000 as double) / nullif(100, 0)
                - 100 * cast(kanon_total - kanon_largest_2 as double) / nullif(kanon_largest_1, 0)
            else 0
        end
    ) as kanon_shortfall_3,
    min(100 * cast(kanon_total - kanon_largest_2 as double) / nullif(kanon_largest_1, 0)) as kanon_achieved_3,
    max(100 * cast(kanon_largest_1 as double) / nullif(kanon_total, 0)) as kanon_achieved_4,
    sum(case when kanon_grouping = 0 then 1 else 0 end) as kanon_cells_0,
    sum(case when kanon_grouping = 1 then 1 else 0 end) as kanon_cells_1,
    sum(case when kanon_grouping = 2 then 1 else 0 end) as kanon_cells_2,
    sum(case when kanon_grouping = 3 then 1 else 0 end) as kanon_cells_3,
    max(kanon_nodes_1_0) as kanon_nodes_1_0,
    max(kanon_nodes_2_0) as kanon_nodes_2_0
from sensitive_cells
cross join nodes;
