-- Question   Which figures of counts.csv are neither a number nor a declared mark?
-- Dialect    spark, generated; not executed here, as the tests of this release do
-- Table      `counts` stands for counts.csv; the types of its columns are unknown, so values are
--            cast.

select
    count(*) as kanon_records,
    count(`n`) as kanon_values,
    sum(
        case
            when not `n` is null
            and not (coalesce(cast(`n` as string), '') = '*')
            and kanon_number is null
            then 1
            else 0
        end
    ) as kanon_no_number,
    sum(case when `n` is null then 1 else 0 end) as kanon_unmarked_null,
    sum(
        case
            when not kanon_number is null and not (abs(kanon_number) <= 1.7976931348623157e308)
            then 1
            else 0
        end
    ) as kanon_not_finite,
    max(
        case
            when kanon_number is null
            then 0
            when lower(cast(`n` as string)) like '%e-%'
            then 99
            when locate('.', cast(`n` as string)) = 0
            then 0
            else length(cast(`n` as string)) - locate('.', cast(`n` as string))
        end
    ) as kanon_decimals,
    max(abs(kanon_number)) as kanon_largest,
    sum(abs(kanon_number)) as kanon_size,
    sum(case when cast(`region` as string) is null then 1 else 0 end) as kanon_null_1,
    sum(0) as kanon_unknown_1,
    sum(
        case
            when lower(cast(`region` as string)) in (
                'total',
                'totals',
                'all',
                'sum',
                'overall',
                'grand total',
                'subtotal',
                'gesamt',
                'insgesamt',
                'summe',
                'alle',
                'ensemble',
                'tous',
                'totale',
                'totaal',
                'suma'
            )
            then 1
            else 0
        end
    ) as kanon_like_total_1,
    sum(0) as kanon_no_flag_1,
    sum(case when cast(`age` as string) is null then 1 else 0 end) as kanon_null_2,
    sum(0) as kanon_unknown_2,
    sum(0) as kanon_like_total_2,
    sum(0) as kanon_no_flag_2,
    sum(case when kanon_number < 0 then 1 else 0 end) as kanon_below_zero,
    sum(
        case
            when not kanon_number is null
            and (
                (
                    trim(cast(`n` as string)) like '%.%'
                    or lower(trim(cast(`n` as string))) like '%e%'
                )
                and (length(trim(cast(`n` as string))) > 16 or kanon_number <> floor(kanon_number))
                or trim(cast(`n` as string)) like '%.___'
                and trim(cast(`n` as string)) not like '0.%'
                and length(trim(cast(`n` as string))) <= 7
            )
            then 1
            else 0
        end
    ) as kanon_not_whole
from (
    select
        `region`,
        `age`,
        `n`,
        case
            when not (coalesce(cast(`n` as string), '') = '*')
            then case
                when cast(
                    `n` as string
                ) rlike '^\\s*[-+]?([0-9]{1,200}([.][0-9]{0,200})?|[.][0-9]{1,200})([eE][-+]?[0-9]{1,2})?\\s*\\z'
                then try_cast(`n` as double)
            end
        end as kanon_number
    from `counts`
) as kanon_numbered;


-- Question   Which cells of counts.csv have more than one row?
-- Dialect    spark, generated; not executed here, as the tests of this release do
-- Table      `counts` stands for counts.csv; the types of its columns are unknown, so values are
--            cast.

with

published_cells as (
    select
        cast(`region` as string) as kanon_d1,
        0 as kanon_t1,
        case
            when coalesce(cast(`age` as string), '') = 'Total'
            then null
            else cast(`age` as string)
        end as kanon_d2,
        case when coalesce(cast(`age` as string), '') = 'Total' then 1 else 0 end as kanon_t2,
        case when coalesce(cast(`n` as string), '') = '*' then 1 else 0 end as kanon_suppressed,
        case
            when coalesce(cast(`n` as string), '') = '*'
            then null
            else case
                when abs(
                    case
                        when cast(
                            `n` as string
                        ) rlike '^\\s*[-+]?([0-9]{1,200}([.][0-9]{0,200})?|[.][0-9]{1,200})([eE][-+]?[0-9]{1,2})?\\s*\\z'
                        then try_cast(`n` as double)
                    end
                ) < 1e38
                then cast(`n` as decimal(38, 0))
            end
        end as kanon_figure,
        case
            when coalesce(cast(`n` as string), '') = '*'
            then null
            else case
                when abs(
                    case
                        when cast(
                            `n` as string
                        ) rlike '^\\s*[-+]?([0-9]{1,200}([.][0-9]{0,200})?|[.][0-9]{1,200})([eE][-+]?[0-9]{1,2})?\\s*\\z'
                        then try_cast(`n` as double)
                    end
                ) < 1e38
                then cast(`n` as decimal(38, 0))
            end
        end as kanon_contributors
    from `counts`
),

repeated as (
    select
        kanon_d1,
        kanon_t1,
        kanon_d2,
        kanon_t2,
        count(*) as kanon_rows
    from published_cells
    group by
        kanon_d1,
        kanon_t1,
        kanon_d2,
        kanon_t2
    having
        count(*) > 1
)

select
    count(*) as kanon_repeated
from repeated;


-- Question   How many contributors do the cells of counts.csv show?
-- Model      threshold. Every cell of the table is made from at least n contributors, so no figure
--            is that of one or a few. (ESSnet, Handbook on Statistical Disclosure Control, 2nd
--            edition, chapter 4, minimum frequency rule)
-- Model      rounded. Every figure that is shown is a multiple of the base, or of its band's step.
--            (ESSnet, Handbook on Statistical Disclosure Control, 2nd edition, chapter 5.4,
--            rounding)
-- Dialect    spark, generated; not executed here, as the tests of this release do
-- Table      `counts` stands for counts.csv; the types of its columns are unknown, so values are
--            cast.

with

published_cells as (
    select
        cast(`region` as string) as kanon_d1,
        0 as kanon_t1,
        case
            when coalesce(cast(`age` as string), '') = 'Total'
            then null
            else cast(`age` as string)
        end as kanon_d2,
        case when coalesce(cast(`age` as string), '') = 'Total' then 1 else 0 end as kanon_t2,
        case when coalesce(cast(`n` as string), '') = '*' then 1 else 0 end as kanon_suppressed,
        case
            when coalesce(cast(`n` as string), '') = '*'
            then null
            else case
                when abs(
                    case
                        when cast(
                            `n` as string
                        ) rlike '^\\s*[-+]?([0-9]{1,200}([.][0-9]{0,200})?|[.][0-9]{1,200})([eE][-+]?[0-9]{1,2})?\\s*\\z'
                        then try_cast(`n` as double)
                    end
                ) < 1e38
                then cast(`n` as decimal(38, 0))
            end
        end as kanon_figure,
        case
            when coalesce(cast(`n` as string), '') = '*'
            then null
            else case
                when abs(
                    case
                        when cast(
                            `n` as string
                        ) rlike '^\\s*[-+]?([0-9]{1,200}([.][0-9]{0,200})?|[.][0-9]{1,200})([eE][-+]?[0-9]{1,2})?\\s*\\z'
                        then try_cast(`n` as double)
                    end
                ) < 1e38
                then cast(`n` as decimal(38, 0))
            end
        end as kanon_contributors
    from `counts`
)

select
    count(*) as kanon_cells,
    sum(case when kanon_t1 = 1 or kanon_t2 = 1 then 1 else 0 end) as kanon_margin_cells,
    sum(kanon_suppressed) as kanon_suppressed,
    sum(case when kanon_figure = 0 then 1 else 0 end) as kanon_zero_cells,
    min(kanon_contributors) as kanon_least,
    min(case when kanon_contributors > 0 then kanon_contributors end) as kanon_least_above_zero,
    sum(case when kanon_contributors < 10 then 1 else 0 end) as kanon_violating_cells_1,
    sum(
        case
            when (kanon_contributors < 10) and (kanon_t1 = 1 or kanon_t2 = 1)
            then 1
            else 0
        end
    ) as kanon_violating_margin_cells_1,
    sum(case when kanon_contributors < 10 then 10 - kanon_contributors else 0 end) as kanon_shortfall_1,
    sum(
        case
            when kanon_figure < 15
            or (
                kanon_figure >= 15
                and kanon_figure < 100
                and (
                    kanon_figure <> floor(kanon_figure)
                    or cast(floor(kanon_figure) as decimal(38, 0)) % 10 <> 0
                )
            )
            or (
                kanon_figure >= 100
                and (
                    kanon_figure <> floor(kanon_figure)
                    or cast(floor(kanon_figure) as decimal(38, 0)) % 50 <> 0
                )
            )
            then 1
            else 0
        end
    ) as kanon_violating_cells_2,
    sum(
        case
            when (
                kanon_figure < 15
                or (
                    kanon_figure >= 15
                    and kanon_figure < 100
                    and (
                        kanon_figure <> floor(kanon_figure)
                        or cast(floor(kanon_figure) as decimal(38, 0)) % 10 <> 0
                    )
                )
                or (
                    kanon_figure >= 100
                    and (
                        kanon_figure <> floor(kanon_figure)
                        or cast(floor(kanon_figure) as decimal(38, 0)) % 50 <> 0
                    )
                )
            )
            and (kanon_t1 = 1 or kanon_t2 = 1)
            then 1
            else 0
        end
    ) as kanon_violating_margin_cells_2,
    count(distinct case when kanon_t1 = 0 then kanon_d1 end)
        + max(case when kanon_t1 = 0 and kanon_d1 is null then 1 else 0 end) as kanon_nodes_1_0,
    count(distinct case when kanon_t2 = 0 then kanon_d2 end)
        + max(case when kanon_t2 = 0 and kanon_d2 is null then 1 else 0 end) as kanon_nodes_2_0
from published_cells;


-- Question   Which margins of counts.csv are published?
-- Dialect    spark, generated; not executed here, as the tests of this release do
-- Table      `counts` stands for counts.csv; the types of its columns are unknown, so values are
--            cast.

with

published_cells as (
    select
        cast(`region` as string) as kanon_d1,
        0 as kanon_t1,
        case
            when coalesce(cast(`age` as string), '') = 'Total'
            then null
            else cast(`age` as string)
        end as kanon_d2,
        case when coalesce(cast(`age` as string), '') = 'Total' then 1 else 0 end as kanon_t2,
        case when coalesce(cast(`n` as string), '') = '*' then 1 else 0 end as kanon_suppressed,
        case
            when coalesce(cast(`n` as string), '') = '*'
            then null
            else case
                when abs(
                    case
                        when cast(
                            `n` as string
                        ) rlike '^\\s*[-+]?([0-9]{1,200}([.][0-9]{0,200})?|[.][0-9]{1,200})([eE][-+]?[0-9]{1,2})?\\s*\\z'
                        then try_cast(`n` as double)
                    end
                ) < 1e38
                then cast(`n` as decimal(38, 0))
            end
        end as kanon_figure,
        case
            when coalesce(cast(`n` as string), '') = '*'
            then null
            else case
                when abs(
                    case
                        when cast(
                            `n` as string
                        ) rlike '^\\s*[-+]?([0-9]{1,200}([.][0-9]{0,200})?|[.][0-9]{1,200})([eE][-+]?[0-9]{1,2})?\\s*\\z'
                        then try_cast(`n` as double)
                    end
                ) < 1e38
                then cast(`n` as decimal(38, 0))
            end
        end as kanon_contributors
    from `counts`
)

select
    kanon_t1,
    kanon_t2,
    count(*) as kanon_cells
from published_cells
group by
    kanon_t1,
    kanon_t2;


-- Question   In which groups of counts.csv do all members fall into one category?
-- Model      group disclosure. In no group of the table do all members fall into one category of a
--            further dimension, so that membership does not give the category away. (ESSnet,
--            Handbook on Statistical Disclosure Control, 2nd edition, chapter 5.2, group attribute
--            disclosure)
-- Dialect    spark, generated; not executed here, as the tests of this release do
-- Table      `counts` stands for counts.csv; the types of its columns are unknown, so values are
--            cast.

with

published_cells as (
    select
        cast(`region` as string) as kanon_d1,
        0 as kanon_t1,
        case
            when coalesce(cast(`age` as string), '') = 'Total'
            then null
            else cast(`age` as string)
        end as kanon_d2,
        case when coalesce(cast(`age` as string), '') = 'Total' then 1 else 0 end as kanon_t2,
        case when coalesce(cast(`n` as string), '') = '*' then 1 else 0 end as kanon_suppressed,
        case
            when coalesce(cast(`n` as string), '') = '*'
            then null
            else case
                when abs(
                    case
                        when cast(
                            `n` as string
                        ) rlike '^\\s*[-+]?([0-9]{1,200}([.][0-9]{0,200})?|[.][0-9]{1,200})([eE][-+]?[0-9]{1,2})?\\s*\\z'
                        then try_cast(`n` as double)
                    end
                ) < 1e38
                then cast(`n` as decimal(38, 0))
            end
        end as kanon_figure,
        case
            when coalesce(cast(`n` as string), '') = '*'
            then null
            else case
                when abs(
                    case
                        when cast(
                            `n` as string
                        ) rlike '^\\s*[-+]?([0-9]{1,200}([.][0-9]{0,200})?|[.][0-9]{1,200})([eE][-+]?[0-9]{1,2})?\\s*\\z'
                        then try_cast(`n` as double)
                    end
                ) < 1e38
                then cast(`n` as decimal(38, 0))
            end
        end as kanon_contributors
    from `counts`
),

groups as (
    select
        1 as kanon_dimension,
        sum(kanon_contributors) as kanon_members,
        max(kanon_contributors) as kanon_most
    from published_cells
    where
        kanon_t1 = 0
    group by
        kanon_d2,
        kanon_t2
    having
        sum(case when kanon_contributors is null then 1 else 0 end) = 0
    union all
    select
        2 as kanon_dimension,
        sum(kanon_contributors) as kanon_members,
        max(kanon_contributors) as kanon_most
    from published_cells
    where
        kanon_t2 = 0
    group by
        kanon_d1,
        kanon_t1
    having
        sum(case when kanon_contributors is null then 1 else 0 end) = 0
)

select
    count(*) as kanon_groups,
    sum(
        case
            when kanon_dimension in (2)
            and (
                cast(kanon_most as decimal(18, 0)) * 10 >= cast(kanon_members as decimal(18, 0)) * 9
                or kanon_members - kanon_most <= 0
            )
            then 1
            else 0
        end
    ) as kanon_disclosed_3,
    sum(
        case
            when kanon_members = 1
            and kanon_dimension in (2)
            and (
                cast(kanon_most as decimal(18, 0)) * 10 >= cast(kanon_members as decimal(18, 0)) * 9
                or kanon_members - kanon_most <= 0
            )
            then 1
            else 0
        end
    ) as kanon_alone_3
from groups
where
    kanon_members > 0;


-- Question   By how many contributors do the cells of counts.csv differ from those of males.csv?
-- Model      differences. Where a cell of this table and that of a second one differ, they differ
--            by at least n contributors. (ESSnet, Handbook on Statistical Disclosure Control, 2nd
--            edition, chapter 5.2, disclosure by differencing)
-- Dialect    spark, generated; not executed here, as the tests of this release do
-- Table      `counts` stands for counts.csv; the types of its columns are unknown, so values are
--            cast.

with

published_here as (
    select
        cast(`region` as string) as kanon_d1,
        0 as kanon_t1,
        case
            when coalesce(cast(`age` as string), '') = 'Total'
            then null
            else cast(`age` as string)
        end as kanon_d2,
        case when coalesce(cast(`age` as string), '') = 'Total' then 1 else 0 end as kanon_t2,
        case when coalesce(cast(`n` as string), '') = '*' then 1 else 0 end as kanon_suppressed,
        case
            when coalesce(cast(`n` as string), '') = '*'
            then null
            else case
                when abs(
                    case
                        when cast(
                            `n` as string
                        ) rlike '^\\s*[-+]?([0-9]{1,200}([.][0-9]{0,200})?|[.][0-9]{1,200})([eE][-+]?[0-9]{1,2})?\\s*\\z'
                        then try_cast(`n` as double)
                    end
                ) < 1e38
                then cast(`n` as decimal(38, 0))
            end
        end as kanon_figure,
        case
            when coalesce(cast(`n` as string), '') = '*'
            then null
            else case
                when abs(
                    case
                        when cast(
                            `n` as string
                        ) rlike '^\\s*[-+]?([0-9]{1,200}([.][0-9]{0,200})?|[.][0-9]{1,200})([eE][-+]?[0-9]{1,2})?\\s*\\z'
                        then try_cast(`n` as double)
                    end
                ) < 1e38
                then cast(`n` as decimal(38, 0))
            end
        end as kanon_contributors
    from `counts`
),

published_there as (
    select
        cast(`region` as string) as kanon_d1,
        0 as kanon_t1,
        case
            when coalesce(cast(`age` as string), '') = 'Total'
            then null
            else cast(`age` as string)
        end as kanon_d2,
        case when coalesce(cast(`age` as string), '') = 'Total' then 1 else 0 end as kanon_t2,
        case when coalesce(cast(`n` as string), '') = '*' then 1 else 0 end as kanon_suppressed,
        case
            when coalesce(cast(`n` as string), '') = '*'
            then null
            else case
                when abs(
                    case
                        when cast(
                            `n` as string
                        ) rlike '^\\s*[-+]?([0-9]{1,200}([.][0-9]{0,200})?|[.][0-9]{1,200})([eE][-+]?[0-9]{1,2})?\\s*\\z'
                        then try_cast(`n` as double)
                    end
                ) < 1e38
                then cast(`n` as decimal(38, 0))
            end
        end as kanon_figure,
        case
            when coalesce(cast(`n` as string), '') = '*'
            then null
            else case
                when abs(
                    case
                        when cast(
                            `n` as string
                        ) rlike '^\\s*[-+]?([0-9]{1,200}([.][0-9]{0,200})?|[.][0-9]{1,200})([eE][-+]?[0-9]{1,2})?\\s*\\z'
                        then try_cast(`n` as double)
                    end
                ) < 1e38
                then cast(`n` as decimal(38, 0))
            end
        end as kanon_contributors
    from `males`
),

cells_here as (
    select
        kanon_d1 as kanon_d1,
        kanon_t1 as kanon_t1,
        kanon_d2 as kanon_d2,
        kanon_t2 as kanon_t2,
        kanon_contributors
    from published_here
),

cells_there as (
    select
        kanon_d1 as kanon_d1,
        kanon_t1 as kanon_t1,
        kanon_d2 as kanon_d2,
        kanon_t2 as kanon_t2,
        kanon_contributors
    from published_there
),

compared_cells as (
    select
        cells_here.kanon_contributors as kanon_here,
        cells_there.kanon_contributors as kanon_there
    from cells_here
    inner join cells_there
        on cells_there.kanon_t1 = cells_here.kanon_t1
        and cells_there.kanon_t2 = cells_here.kanon_t2
        and cells_there.kanon_d1 is not distinct from cells_here.kanon_d1
        and cells_there.kanon_d2 is not distinct from cells_here.kanon_d2
)

select
    (
        select
            count(*)
        from cells_here
    ) as kanon_cells_here,
    (
        select
            count(*)
        from cells_there
    ) as kanon_cells_there,
    count(*) as kanon_cells_of_both,
    sum(case when not kanon_here is null and not kanon_there is null then 1 else 0 end) as kanon_compared,
    sum(case when kanon_here = kanon_there then 1 else 0 end) as kanon_equal,
    sum(case when kanon_here > kanon_there then 1 else 0 end) as kanon_greater,
    sum(case when kanon_here < kanon_there then 1 else 0 end) as kanon_smaller,
    sum(case when kanon_here is null and not kanon_there is null then 1 else 0 end) as kanon_hidden_here,
    min(case when kanon_here <> kanon_there then abs(kanon_here - kanon_there) end) as kanon_least,
    sum(
        case
            when kanon_here <> kanon_there and abs(kanon_here - kanon_there) < 3
            then 1
            else 0
        end
    ) as kanon_violating,
    sum(
        case
            when kanon_here <> kanon_there and abs(kanon_here - kanon_there) < 3
            then 3 - abs(kanon_here - kanon_there)
            else 0
        end
    ) as kanon_shortfall
from compared_cells;


-- Question   What does each cell of counts.csv show?
-- Model      derivable. No suppressed cell can be computed from the cells and totals that are
--            shown, exactly or to within a width. (ESSnet, Handbook on Statistical Disclosure
--            Control, 2nd edition, chapter 4.2.2; Fischetti, Salazar 2000, Models and algorithms
--            for optimizing cell suppression in tabular data with linear constraints, JASA 95)
-- Runs       if one is suppressed. What follows from these cells is computed in an embedded DuckDB,
--            by subtraction in as many rounds as it takes, bounds and linear programming: no single
--            statement does that, so none is compiled
-- Dialect    spark, generated; not executed here, as the tests of this release do
-- Table      `counts` stands for counts.csv; the types of its columns are unknown, so values are
--            cast.

with

published_cells as (
    select
        cast(`region` as string) as kanon_d1,
        0 as kanon_t1,
        case
            when coalesce(cast(`age` as string), '') = 'Total'
            then null
            else cast(`age` as string)
        end as kanon_d2,
        case when coalesce(cast(`age` as string), '') = 'Total' then 1 else 0 end as kanon_t2,
        case when coalesce(cast(`n` as string), '') = '*' then 1 else 0 end as kanon_suppressed,
        case when coalesce(cast(`n` as string), '') = '*' then null else `n` end as kanon_figure,
        case when coalesce(cast(`n` as string), '') = '*' then 1 end as kanon_low,
        case when coalesce(cast(`n` as string), '') = '*' then 9 end as kanon_high,
        case
            when coalesce(cast(`n` as string), '') = '*'
            then null
            else case
                when abs(
                    case
                        when cast(
                            `n` as string
                        ) rlike '^\\s*[-+]?([0-9]{1,200}([.][0-9]{0,200})?|[.][0-9]{1,200})([eE][-+]?[0-9]{1,2})?\\s*\\z'
                        then try_cast(`n` as double)
                    end
                ) < 1e38
                then cast(`n` as decimal(38, 0))
            end
        end as kanon_contributors
    from `counts`
)

select
    kanon_d1,
    kanon_t1,
    kanon_d2,
    kanon_t2,
    kanon_suppressed,
    kanon_figure,
    kanon_low,
    kanon_high
from published_cells;
