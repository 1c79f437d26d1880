-- Question   Which values of sector in ledger.csv have no place at the level column 1 of nace.csv?
-- Dialect    sqlite, generated; not executed here, as the tests of this release do
-- Table      "ledger" stands for ledger.csv; the types of its columns are unknown, so values are
--            cast.

with

raw_values as (
    select
        "sector",
        count(*) as kanon_held
    from "ledger"
    where
        not "sector" is null
    group by
        "sector"
),

labelled_values as (
    select
        case
            when case
                when typeof("sector") = 'real'
                then printf('%!.17g', "sector")
                else cast("sector" as text)
            end in ('a', 'b')
            then 'A'
            when case
                when typeof("sector") = 'real'
                then printf('%!.17g', "sector")
                else cast("sector" as text)
            end = 'c'
            then 'B'
        end as kanon_label,
        kanon_held
    from raw_values as kanon_raw
)

select
    count(*) as kanon_values,
    coalesce(sum(case when kanon_label is null then 1 else 0 end), 0) as kanon_values_without_label,
    coalesce(sum(case when kanon_label is null then kanon_held else 0 end), 0) as kanon_records_without_label
from labelled_values;


-- Question   Are the values of turnover and firm in ledger.csv numbers, and of somebody?
-- Dialect    sqlite, generated; not executed here, as the tests of this release do
-- Table      "ledger" stands for ledger.csv; the types of its columns are unknown, so values are
--            cast.

select
    count(*) as kanon_records,
    count(distinct "firm") as kanon_everyone,
    sum(case when "firm" is null then 1 else 0 end) as kanon_of_nobody,
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


-- Question   What do the cells of ledger.csv by sector hold of their contributors?
-- Model      dominance. In every cell the n largest contributors together have at most k per cent
--            of the sum, so that none of their values can be estimated closely from it. (ESSnet,
--            Handbook on Statistical Disclosure Control, 2nd edition, chapter 4, (n,k) dominance
--            rule)
-- Model      threshold. Every cell of the table is made from at least n contributors, so no figure
--            is that of one or a few. (ESSnet, Handbook on Statistical Disclosure Control, 2nd
--            edition, chapter 4, minimum frequency rule)
-- Dialect    sqlite, generated; not executed here, as the tests of this release do
-- Table      "ledger" stands for ledger.csv; the types of its columns are unknown, so values are
--            cast.

with

-- The records of one contributor in a cell are added first.
contributions as (
    select
        "sector",
        "kanon_level_1_of_1" as kanon_level_1_of_1,
        "firm" as kanon_entity,
        count(*) as kanon_records,
        sum(
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
        ) as kanon_figure
    from (
        select
            "sector",
            "turnover",
            "firm",
            case
                when case
                    when typeof("sector") = 'real'
                    then printf('%!.17g', "sector")
                    else cast("sector" as text)
                end in ('a', 'b')
                then 'A'
                when case
                    when typeof("sector") = 'real'
                    then printf('%!.17g', "sector")
                    else cast("sector" as text)
                end = 'c'
                then 'B'
            end as "kanon_level_1_of_1"
        from "ledger"
    ) as kanon_source
    group by
        "sector",
        "kanon_level_1_of_1",
        "firm"
),

all_cells as (
    select
        0 as kanon_grouping,
        "sector",
        kanon_level_1_of_1,
        sum(kanon_records) as kanon_records,
        sum(kanon_contributors) as kanon_contributors,
        sum(kanon_total) as kanon_total,
        sum(case when kanon_place <= 1 then kanon_size else 0 end) as kanon_largest_1,
        sum(case when kanon_place <= 2 then kanon_size else 0 end) as kanon_largest_2,
        sum(kanon_negatives) as kanon_negatives
    from (
        select
            "sector",
            kanon_level_1_of_1,
            kanon_records,
            kanon_contributors,
            kanon_total,
            kanon_size,
            kanon_negatives,
            row_number() over (
                partition by "sector", kanon_level_1_of_1 order by kanon_size desc
            ) as kanon_place
        from (
            select
                "sector",
                kanon_level_1_of_1,
                kanon_records as kanon_records,
                case when kanon_figure is null then 0 else 1 end as kanon_contributors,
                coalesce(abs(kanon_figure), 0) as kanon_total,
                coalesce(abs(kanon_figure), 0) as kanon_size,
                case when kanon_figure < 0 then 1 else 0 end as kanon_negatives
            from contributions
        ) as contributors
    ) as placed
    group by
        "sector",
        kanon_level_1_of_1
    union all
    select
        1 as kanon_grouping,
        null as "sector",
        kanon_level_1_of_1,
        sum(kanon_records) as kanon_records,
        sum(kanon_contributors) as kanon_contributors,
        sum(kanon_total) as kanon_total,
        sum(case when kanon_place <= 1 then kanon_size else 0 end) as kanon_largest_1,
        sum(case when kanon_place <= 2 then kanon_size else 0 end) as kanon_largest_2,
        sum(kanon_negatives) as kanon_negatives
    from (
        select
            kanon_level_1_of_1,
            kanon_records,
            kanon_contributors,
            kanon_total,
            kanon_size,
            kanon_negatives,
            row_number() over (partition by kanon_level_1_of_1 order by kanon_size desc) as kanon_place
        from (
            select
                kanon_level_1_of_1,
                sum(kanon_records) as kanon_records,
                case when sum(kanon_figure) is null then 0 else 1 end as kanon_contributors,
                coalesce(abs(sum(kanon_figure)), 0) as kanon_total,
                coalesce(abs(sum(kanon_figure)), 0) as kanon_size,
                case when sum(kanon_figure) < 0 then 1 else 0 end as kanon_negatives
            from contributions
            group by
                kanon_level_1_of_1,
                kanon_entity
        ) as contributors
    ) as placed
    group by
        kanon_level_1_of_1
    union all
    select
        2 as kanon_grouping,
        null as "sector",
        null as kanon_level_1_of_1,
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
        from (
            select
                sum(kanon_records) as kanon_records,
                case when sum(kanon_figure) is null then 0 else 1 end as kanon_contributors,
                coalesce(abs(sum(kanon_figure)), 0) as kanon_total,
                coalesce(abs(sum(kanon_figure)), 0) as kanon_size,
                case when sum(kanon_figure) < 0 then 1 else 0 end as kanon_negatives
            from contributions
            group by
                kanon_entity
        ) as contributors
    ) as placed
),

cells as (
    select
        *
    from all_cells
    where
        not (kanon_grouping in (1) and (kanon_level_1_of_1 is null))
),

nodes as (
    select
        count(distinct "sector") + max(case when "sector" is null then 1 else 0 end) as kanon_nodes_1_0,
        count(
            distinct case when not (kanon_level_1_of_1 is null) then kanon_level_1_of_1 end
        ) as kanon_nodes_1_1
    from cells
    where
        kanon_grouping = 0
),

judged_cells as (
    select
        cells.*,
        case when kanon_grouping > 0 then 1 else 0 end as kanon_is_margin,
        case
            when kanon_largest_1 > 0 and kanon_largest_1 * 100 >= kanon_total * 50
            then 1
            else 0
        end as kanon_violates_1
    from cells
),

sensitive_cells as (
    select
        judged_cells.*,
        case when kanon_violates_1 = 1 then 1 else 0 end as kanon_is_sensitive
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
    sum(
        case
            when kanon_violates_1 = 1
            then cast(100 * cast(kanon_largest_1 as real) as real) / nullif(kanon_total, 0) - 50
            else 0
        end
    ) as kanon_shortfall_1,
    max(cast(100 * cast(kanon_largest_1 as real) as real) / nullif(kanon_total, 0)) as kanon_achieved_1,
    max(cast(100 * cast(kanon_largest_2 as real) as real) / nullif(kanon_total, 0)) as kanon_achieved_4,
    sum(case when kanon_grouping = 0 then 1 else 0 end) as kanon_cells_0,
    sum(case when kanon_grouping = 1 then 1 else 0 end) as kanon_cells_1,
    sum(case when kanon_grouping = 2 then 1 else 0 end) as kanon_cells_2,
    max(kanon_nodes_1_0) as kanon_nodes_1_0,
    max(kanon_nodes_1_1) as kanon_nodes_1_1
from sensitive_cells
cross join nodes;


-- Question   In which groups of ledger.csv do all members fall into one category?
-- Model      group disclosure. In no group of the table do all members fall into one category of a
--            further dimension, so that membership does not give the category away. (ESSnet,
--            Handbook on Statistical Disclosure Control, 2nd edition, chapter 5.2, group attribute
--            disclosure)
-- Dialect    sqlite, generated; not executed here, as the tests of this release do
-- Table      "ledger" stands for ledger.csv; the types of its columns are unknown, so values are
--            cast.

with

contributions as (
    select
        "sector",
        "kanon_level_1_of_1" as kanon_level_1_of_1,
        "firm" as kanon_entity,
        count(*) as kanon_records,
        count("turnover") as kanon_values
    from (
        select
            "sector",
            "turnover",
            "firm",
            case
                when case
                    when typeof("sector") = 'real'
                    then printf('%!.17g', "sector")
                    else cast("sector" as text)
                end in ('a', 'b')
                then 'A'
                when case
                    when typeof("sector") = 'real'
                    then printf('%!.17g', "sector")
                    else cast("sector" as text)
                end = 'c'
                then 'B'
            end as "kanon_level_1_of_1"
        from "ledger"
    ) as kanon_source
    group by
        "sector",
        "kanon_level_1_of_1",
        "firm"
),

cells as (
    select
        0 as kanon_grouping,
        "sector",
        kanon_level_1_of_1,
        sum(kanon_records) as kanon_records,
        sum(case when kanon_values > 0 then 1 else 0 end) as kanon_contributors
    from (
        select
            "sector",
            kanon_level_1_of_1,
            kanon_entity,
            sum(kanon_records) as kanon_records,
            sum(kanon_values) as kanon_values
        from contributions
        group by
            "sector",
            kanon_level_1_of_1,
            kanon_entity
    ) as contributors
    group by
        "sector",
        kanon_level_1_of_1
    union all
    select
        1 as kanon_grouping,
        null as "sector",
        kanon_level_1_of_1,
        sum(kanon_records) as kanon_records,
        sum(case when kanon_values > 0 then 1 else 0 end) as kanon_contributors
    from (
        select
            kanon_level_1_of_1,
            kanon_entity,
            sum(kanon_records) as kanon_records,
            sum(kanon_values) as kanon_values
        from contributions
        group by
            kanon_level_1_of_1,
            kanon_entity
    ) as contributors
    group by
        kanon_level_1_of_1
    union all
    select
        2 as kanon_grouping,
        null as "sector",
        null as kanon_level_1_of_1,
        sum(kanon_records) as kanon_records,
        sum(case when kanon_values > 0 then 1 else 0 end) as kanon_contributors
    from (
        select
            kanon_entity,
            sum(kanon_records) as kanon_records,
            sum(kanon_values) as kanon_values
        from contributions
        group by
            kanon_entity
    ) as contributors
),

nodes as (
    select
        count(distinct "sector") + max(case when "sector" is null then 1 else 0 end) as kanon_nodes_1_0,
        count(distinct kanon_level_1_of_1)
            + max(case when kanon_level_1_of_1 is null then 1 else 0 end) as kanon_nodes_1_1
    from cells
    where
        kanon_grouping = 0
),

groups as (
    select
        1 as kanon_dimension,
        parents.kanon_contributors as kanon_members,
        max(children.kanon_contributors) as kanon_most
    from (
        select
            *
        from cells
        where
            kanon_grouping = 1
            and not (kanon_level_1_of_1 is null or kanon_level_1_of_1 in ('B'))
    ) as parents
    inner join (
        select
            *
        from cells
        where
            kanon_grouping = 0
    ) as children
        on children.kanon_level_1_of_1 is parents.kanon_level_1_of_1
    cross join nodes
    where
        nodes.kanon_nodes_1_0 > 1
    group by
        parents.kanon_level_1_of_1,
        parents.kanon_contributors
    union all
    select
        1 as kanon_dimension,
        parents.kanon_contributors as kanon_members,
        max(children.kanon_contributors) as kanon_most
    from (
        select
            *
        from cells
        where
            kanon_grouping = 2
    ) as parents
    cross join (
        select
            *
        from cells
        where
            kanon_grouping = 1
    ) as children
    cross join nodes
    where
        nodes.kanon_nodes_1_0 > 1
    group by
        parents.kanon_contributors
)

select
    count(*) as kanon_groups,
    sum(
        case
            when kanon_dimension in (1)
            and (kanon_most >= kanon_members or kanon_members - kanon_most <= 0)
            then 1
            else 0
        end
    ) as kanon_disclosed_2,
    sum(
        case
            when kanon_members = 1
            and kanon_dimension in (1)
            and (kanon_most >= kanon_members or kanon_members - kanon_most <= 0)
            then 1
            else 0
        end
    ) as kanon_alone_2
from groups
where
    kanon_members > 0;
