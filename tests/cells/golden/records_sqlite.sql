-- Question   Are the values of turnover in ledger.csv numbers, and of somebody?
-- Dialect    sqlite, generated; not executed here, as the tests of this release do
-- Table      "ledger" stands for ledger.csv; the types of its columns are unknown, so values are
--            cast.

select
    count(*) as kanon_records,
    count("turnover") as kanon_values,
    sum(
        case
            when not "turnover" is null
            and case
                when typeof("turnover") in ('integer', 'real')
                or (
                    not trim("turnover") glob '*[^0-9.+-]*'
                    and trim("turnover") glob '*[0-9]'
                    and trim("turnover") glob '[-+0-9.]*'
                    and not trim("turnover") glob '?*[-+]*'
                    and not trim("turnover") glob '*.*.*'
                )
                or (json_valid(trim("turnover")) and trim("turnover") glob '[-0-9]*')
                then cast("turnover" as real)
            end is null
            then 1
            else 0
        end
    ) as kanon_no_number,
    sum(
        case
            when not case
                when typeof("turnover") in ('integer', 'real')
                or (
                    not trim("turnover") glob '*[^0-9.+-]*'
                    and trim("turnover") glob '*[0-9]'
                    and trim("turnover") glob '[-+0-9.]*'
                    and not trim("turnover") glob '?*[-+]*'
                    and not trim("turnover") glob '*.*.*'
                )
                or (json_valid(trim("turnover")) and trim("turnover") glob '[-0-9]*')
                then cast("turnover" as real)
            end is null
            and not (
                abs(
                    case
                        when typeof("turnover") in ('integer', 'real')
                        or (
                            not trim("turnover") glob '*[^0-9.+-]*'
                            and trim("turnover") glob '*[0-9]'
                            and trim("turnover") glob '[-+0-9.]*'
                            and not trim("turnover") glob '?*[-+]*'
                            and not trim("turnover") glob '*.*.*'
                        )
                        or (json_valid(trim("turnover")) and trim("turnover") glob '[-0-9]*')
                        then cast("turnover" as real)
                    end
                ) <= 1.7976931348623157e308
            )
            then 1
            else 0
        end
    ) as kanon_not_finite,
    max(
        case
            when case
                when typeof("turnover") in ('integer', 'real')
                or (
                    not trim("turnover") glob '*[^0-9.+-]*'
                    and trim("turnover") glob '*[0-9]'
                    and trim("turnover") glob '[-+0-9.]*'
                    and not trim("turnover") glob '?*[-+]*'
                    and not trim("turnover") glob '*.*.*'
                )
                or (json_valid(trim("turnover")) and trim("turnover") glob '[-0-9]*')
                then cast("turnover" as real)
            end is null
            then 0
            when lower(
                case
                    when typeof("turnover") = 'real'
                    then printf('%!.17g', "turnover")
                    else cast("turnover" as text)
                end
            ) glob '*e-*'
            then 99
            when instr(
                case
                    when typeof("turnover") = 'real'
                    then printf('%!.17g', "turnover")
                    else cast("turnover" as text)
                end,
                '.'
            ) = 0
            then 0
            else length(
                case
                    when typeof("turnover") = 'real'
                    then printf('%!.17g', "turnover")
                    else cast("turnover" as text)
                end
            ) - instr(
                case
                    when typeof("turnover") = 'real'
                    then printf('%!.17g', "turnover")
                    else cast("turnover" as text)
                end,
                '.'
            )
        end
    ) as kanon_decimals,
    max(
        abs(
            case
                when typeof("turnover") in ('integer', 'real')
                or (
                    not trim("turnover") glob '*[^0-9.+-]*'
                    and trim("turnover") glob '*[0-9]'
                    and trim("turnover") glob '[-+0-9.]*'
                    and not trim("turnover") glob '?*[-+]*'
                    and not trim("turnover") glob '*.*.*'
                )
                or (json_valid(trim("turnover")) and trim("turnover") glob '[-0-9]*')
                then cast("turnover" as real)
            end
        )
    ) as kanon_largest,
    sum(
        abs(
            case
                when typeof("turnover") in ('integer', 'real')
                or (
                    not trim("turnover") glob '*[^0-9.+-]*'
                    and trim("turnover") glob '*[0-9]'
                    and trim("turnover") glob '[-+0-9.]*'
                    and not trim("turnover") glob '?*[-+]*'
                    and not trim("turnover") glob '*.*.*'
                )
                or (json_valid(trim("turnover")) and trim("turnover") glob '[-0-9]*')
                then cast("turnover" as real)
            end
        )
    ) as kanon_size
from "ledger";


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
-- Dialect    sqlite, generated; not executed here, as the tests of this release do
-- Table      "ledger" stands for ledger.csv; the types of its columns are unknown, so values are
--            cast.

with

figures as (
    select
        "region",
        "sector",
        abs(
            case
                when typeof("turnover") in ('integer', 'real')
                or (
                    not trim("turnover") glob '*[^0-9.+-]*'
                    and trim("turnover") glob '*[0-9]'
                    and trim("turnover") glob '[-+0-9.]*'
                    and not trim("turnover") glob '?*[-+]*'
                    and not trim("turnover") glob '*.*.*'
                )
                or (json_valid(trim("turnover")) and trim("turnover") glob '[-0-9]*')
                then cast(round("turnover" * 1e6) as integer)
            end
        ) as kanon_size,
        abs(
            case
                when typeof("turnover") in ('integer', 'real')
                or (
                    not trim("turnover") glob '*[^0-9.+-]*'
                    and trim("turnover") glob '*[0-9]'
                    and trim("turnover") glob '[-+0-9.]*'
                    and not trim("turnover") glob '?*[-+]*'
                    and not trim("turnover") glob '*.*.*'
                )
                or (json_valid(trim("turnover")) and trim("turnover") glob '[-0-9]*')
                then cast(round("turnover" * 1e6) as integer)
            end
        ) as kanon_weighted,
        case
            when case
                when typeof("turnover") in ('integer', 'real')
                or (
                    not trim("turnover") glob '*[^0-9.+-]*'
                    and trim("turnover") glob '*[0-9]'
                    and trim("turnover") glob '[-+0-9.]*'
                    and not trim("turnover") glob '?*[-+]*'
                    and not trim("turnover") glob '*.*.*'
                )
                or (json_valid(trim("turnover")) and trim("turnover") glob '[-0-9]*')
                then cast(round("turnover" * 1e6) as integer)
            end < 0
            then 1
        end as kanon_negative
    from "ledger"
),

placed_figures as (
    select
        figures.*,
        row_number() over (
            partition by "region", "sector"
            order by case when kanon_size is null then 0 else kanon_size end desc
        ) as kanon_place
    from figures
),

-- The largest contributions of a margin are among those of its cells.
contributions as (
    select
        "region",
        "sector",
        case when kanon_place <= 2 then kanon_place else 0 end as kanon_place_of_cell,
        count(*) as kanon_records,
        count(kanon_size) as kanon_contributors,
        coalesce(sum(kanon_weighted), 0) as kanon_total,
        max(case when kanon_place <= 2 and not kanon_size is null then kanon_size else 0 end) as kanon_size,
        count(kanon_negative) as kanon_negatives
    from placed_figures
    group by
        "region",
        "sector",
        case when kanon_place <= 2 then kanon_place else 0 end
),

cells as (
    select
        0 as kanon_grouping,
        "region",
        "sector",
        sum(kanon_records) as kanon_records,
        sum(kanon_contributors) as kanon_contributors,
        sum(kanon_total) as kanon_total,
        sum(case when kanon_place <= 1 then kanon_size else 0 end) as kanon_largest_1,
        sum(case when kanon_place <= 2 then kanon_size else 0 end) as kanon_largest_2,
        sum(kanon_negatives) as kanon_negatives
    from (
        select
            "region",
            "sector",
            kanon_records,
            kanon_contributors,
            kanon_total,
            kanon_size,
            kanon_negatives,
            row_number() over (partition by "region", "sector" order by kanon_size desc) as kanon_place
        from contributions
    ) as placed
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
        sum(case when kanon_place <= 1 then kanon_size else 0 end) as kanon_largest_1,
        sum(case when kanon_place <= 2 then kanon_size else 0 end) as kanon_largest_2,
        sum(kanon_negatives) as kanon_negatives
    from (
        select
            "region",
            kanon_records,
            kanon_contributors,
            kanon_total,
            kanon_size,
            kanon_negatives,
            row_number() over (partition by "region" order by kanon_size desc) as kanon_place
        from contributions
    ) as placed
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
        sum(case when kanon_place <= 1 then kanon_size else 0 end) as kanon_largest_1,
        sum(case when kanon_place <= 2 then kanon_size else 0 end) as kanon_largest_2,
        sum(kanon_negatives) as kanon_negatives
    from (
        select
            "sector",
            kanon_records,
            kanon_contributors,
            kanon_total,
            kanon_size,
            kanon_negatives,
            row_number() over (partition by "sector" order by kanon_size desc) as kanon_place
        from contributions
    ) as placed
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
        sum(case when kanon_place <= 1 then kanon_size else 0 end) as kanon_largest_1,
        sum(case when kanon_place <= 2 then kanon_size else 0 end) as kanon_largest_2,
        sum(kanon_negatives) as kanon_negatives
    from (
        select
            kanon_records,
            kanon_contributors,
            kanon_total,
            kanon_size,
            kanon_negatives,
            row_number() over (order by kanon_size desc) as kanon_place
        from contributions
    ) as placed
),

nodes as (
    select
        count(distinct "region") + max(case when "region" is null then 1 else 0 end) as kanon_nodes_1_0,
        count(distinct "sector") + max(case when "sector" is null then 1 else 0 end) as kanon_nodes_2_0
    from cells
    where
        kanon_grouping = 0
),

judged_cells as (
    select
        cells.*,
        case when kanon_grouping > 0 then 1 else 0 end as kanon_is_margin,
        case when kanon_contributors < 10 and kanon_contributors > 0 then 1 else 0 end as kanon_violates_1,
        case
            when kanon_largest_2 > 0 and kanon_largest_2 * 100 > kanon_total * 67
            then 1
            else 0
        end as kanon_violates_2,
        case
            when kanon_largest_1 > 0
            and (kanon_total - kanon_largest_2) * 100 < kanon_largest_1 * 10
            then 1
            else 0
        end as kanon_violates_3
    from cells
),

sensitive_cells as (
    select
        judged_cells.*,
        case
            when kanon_violates_1 = 1 or kanon_violates_2 = 1 or kanon_violates_3 = 1
            then 1
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
        case
            when kanon_is_margin = 0 and kanon_is_sensitive = 1
            then kanon_records
            else 0
        end
    ) as kanon_sensitive_records,
    sum(case when kanon_is_margin = 0 then kanon_total else 0 end) as kanon_whole,
    sum(
        case when kanon_is_margin = 0 and kanon_is_sensitive = 1 then kanon_total else 0 end
    ) as kanon_hidden,
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
            then cast(100 * cast(kanon_largest_2 as real) as real) / nullif(kanon_total, 0) - 67
            else 0
        end
    ) as kanon_shortfall_2,
    max(cast(100 * cast(kanon_largest_2 as real) as real) / nullif(kanon_total, 0)) as kanon_achieved_2,
    sum(kanon_violates_3) as kanon_violating_cells_3,
    sum(kanon_violates_3 * kanon_is_margin) as kanon_violating_margin_cells_3,
    sum(
        case
            when kanon_violates_3 = 1
            then cast(1000 as real) / nullif(100, 0)
                - cast(100 * cast(kanon_total - kanon_largest_2 as real) as real) / nullif(kanon_largest_1, 0)
            else 0
        end
    ) as kanon_shortfall_3,
    min(
        cast(100 * cast(kanon_total - kanon_largest_2 as real) as real) / nullif(kanon_largest_1, 0)
    ) as kanon_achieved_3,
    max(cast(100 * cast(kanon_largest_1 as real) as real) / nullif(kanon_total, 0)) as kanon_achieved_4,
    sum(case when kanon_grouping = 0 then 1 else 0 end) as kanon_cells_0,
    sum(case when kanon_grouping = 1 then 1 else 0 end) as kanon_cells_1,
    sum(case when kanon_grouping = 2 then 1 else 0 end) as kanon_cells_2,
    sum(case when kanon_grouping = 3 then 1 else 0 end) as kanon_cells_3,
    max(kanon_nodes_1_0) as kanon_nodes_1_0,
    max(kanon_nodes_2_0) as kanon_nodes_2_0
from sensitive_cells
cross join nodes;
