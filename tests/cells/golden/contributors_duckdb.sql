-- Question   Which values of sector in ledger.csv have no place at the level column 1 of nace.csv?
-- Dialect    duckdb, as executed

with

records as (
    select
        "sector"
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

raw_values as (
    select
        "sector",
        count(*) as kanon_held
    from records
    where "sector" is not null
    group by "sector"
),

labelled_values as (
    select
        case
            when "sector" in ('a', 'b') then 'A'
            when "sector" = 'c' then 'B'
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
-- Dialect    duckdb, as executed

with

records as (
    select
        "firm",
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
    count(distinct "firm") as kanon_everyone,
    sum(case when "firm" is null then 1 else 0 end) as kanon_of_nobody,
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


-- Question   What do the cells of ledger.csv by sector hold of their contributors?
-- Model      dominance. In every cell the n largest contributors together have at most k per cent
--            of the sum, so that none of their values can be estimated closely from it. (ESSnet,
--            Handbook on Statistical Disclosure Control, 2nd edition, chapter 4, (n,k) dominance
--            rule)
-- Model      threshold. Every cell of the table is made from at least n contributors, so no figure
--            is that of one or a few. (ESSnet, Handbook on Statistical Disclosure Control, 2nd
--            edition, chapter 4, minimum frequency rule)
-- Dialect    duckdb, as executed

with

records as (
    select
        "sector",
        "firm",
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

-- The records of one contributor in a cell are added first.
contributions as (
    select
        "sector",
        "kanon_level_1_of_1" as kanon_level_1_of_1,
        "firm" as kanon_entity,
        count(*) as kanon_records,
        sum(try_cast("turnover" as decimal(38, 6))) as kanon_figure
    from (
        select
            "sector",
            "turnover",
            "firm",
            case
                when "sector" in ('a', 'b') then 'A'
                when "sector" = 'c' then 'B'
            end as "kanon_level_1_of_1"
        from records
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
        list_sum(list_slice(max(kanon_size, 2), 1, 1)) as kanon_largest_1,
        list_sum(list_slice(max(kanon_size, 2), 1, 2)) as kanon_largest_2,
        sum(kanon_negatives) as kanon_negatives
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
        list_sum(list_slice(max(kanon_size, 2), 1, 1)) as kanon_largest_1,
        list_sum(list_slice(max(kanon_size, 2), 1, 2)) as kanon_largest_2,
        sum(kanon_negatives) as kanon_negatives
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
        list_sum(list_slice(max(kanon_size, 2), 1, 1)) as kanon_largest_1,
        list_sum(list_slice(max(kanon_size, 2), 1, 2)) as kanon_largest_2,
        sum(kanon_negatives) as kanon_negatives
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
),

cells as (
    select *
    from all_cells
    where not (
        kanon_grouping in (1) and (kanon_level_1_of_1 is null)
    )
),

nodes as (
    select
        count(distinct "sector") + max(case when "sector" is null then 1 else 0 end) as kanon_nodes_1_0,
        count(
            distinct case when not (kanon_level_1_of_1 is null) then kanon_level_1_of_1 end
        ) as kanon_nodes_1_1
    from cells
    where kanon_grouping = 0
),

judged_cells as (
    select
        cells.*,
        case when kanon_grouping > 0 then 1 else 0 end as kanon_is_margin,
        case
            when kanon_largest_1 > 0
                and kanon_largest_1 * 100 >= kanon_total * 50 then 1
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
    sum(
        case
            when kanon_violates_1 = 1
            then 100 * cast(kanon_largest_1 as double) / nullif(kanon_total, 0) - 50
            else 0
        end
    ) as kanon_shortfall_1,
    max(100 * cast(kanon_largest_1 as double) / nullif(kanon_total, 0)) as kanon_achieved_1,
    max(100 * cast(kanon_largest_2 as double) / nullif(kanon_total, 0)) as kanon_achieved_4,
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
-- Dialect    duckdb, as executed

with

records as (
    select
        "sector",
        "firm",
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
                when "sector" in ('a', 'b') then 'A'
                when "sector" = 'c' then 'B'
            end as "kanon_level_1_of_1"
        from records
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
    where kanon_grouping = 0
),

groups as (
    select
        1 as kanon_dimension,
        parents.kanon_contributors as kanon_members,
        max(children.kanon_contributors) as kanon_most
    from (
        select *
        from cells
        where kanon_grouping = 1
            and not (kanon_level_1_of_1 is null or kanon_level_1_of_1 in ('B'))
    ) as parents
    inner join (
        select *
        from cells
        where kanon_grouping = 0
    ) as children
        on children.kanon_level_1_of_1 is not distinct from parents.kanon_level_1_of_1
    cross join nodes
    where nodes.kanon_nodes_1_0 > 1
    group by
        parents.kanon_level_1_of_1,
        parents.kanon_contributors

    union all

    select
        1 as kanon_dimension,
        parents.kanon_contributors as kanon_members,
        max(children.kanon_contributors) as kanon_most
    from (
        select *
        from cells
        where kanon_grouping = 2
    ) as parents
    cross join (
        select *
        from cells
        where kanon_grouping = 1
    ) as children
    cross join nodes
    where nodes.kanon_nodes_1_0 > 1
    group by
        parents.kanon_contributors
)

select
    count(*) as kanon_groups,
    sum(case
        when kanon_dimension in (1)
            and (kanon_most >= kanon_members
            or kanon_members - kanon_most <= 0) then 1
        else 0
    end) as kanon_disclosed_2,
    sum(case
        when kanon_members = 1 and kanon_dimension in (1)
            and (kanon_most >= kanon_members
            or kanon_members - kanon_most <= 0) then 1
        else 0
    end) as kanon_alone_2
from groups
where kanon_members > 0;
