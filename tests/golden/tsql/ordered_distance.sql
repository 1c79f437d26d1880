-- Question   How far is age in each combination of zip of patients from how it is spread in the
--            table, at most?
-- Required   kanon_t_closeness_violated_classes = 0.
-- Model      t-closeness. In every class, the distribution of the sensitive values is at most t
--            away from their distribution in the table, so the class adds little to what the table
--            says. (Li, Li, Venkatasubramanian 2007, t-closeness: privacy beyond k-anonymity and
--            l-diversity, ICDE, sections 3 and 4)
-- Dialect    tsql, generated and not executed
-- Table      [patients] stands for patients; its columns are assumed to have the same types as
--            here.

with

class_values as (
    select
        [zip],
        [age] as kanon_sensitive_1,
        count_big(*) as kanon_records
    from [patients]
    group by
        [zip],
        [age]
),

value_totals as (
    select
        kanon_sensitive_1 as kanon_sensitive_1,
        sum(kanon_records) as kanon_value_total
    from class_values
    group by
        kanon_sensitive_1
),

-- The values of the table in their order, NULL last.
ranked_values as (
    select
        value_totals.kanon_sensitive_1 as kanon_sensitive_1,
        value_totals.kanon_value_total as kanon_value_total,
        dense_rank() over (
            order by case when kanon_sensitive_1 is null then 1 else 0 end, value_totals.kanon_sensitive_1
        ) as kanon_rank
    from value_totals
),

ranks as (
    select
        kanon_rank as kanon_rank,
        sum(kanon_value_total) as kanon_rank_total
    from ranked_values
    group by
        kanon_rank
),

-- What the table has up to each rank, and in all.
cumulated_ranks as (
    select
        kanon_rank as kanon_rank,
        sum(kanon_rank_total) over (
            order by case when kanon_rank is null then 1 else 0 end, kanon_rank
        ) as kanon_up_to,
        sum(kanon_rank_total) over () as kanon_table_total,
        count_big(*) over () as kanon_ranks
    from ranks
),

-- The sum of that over all ranks before one: two of them tell what lies between.
table_steps as (
    select
        kanon_rank as kanon_rank,
        kanon_up_to as kanon_up_to,
        kanon_table_total as kanon_table_total,
        kanon_ranks as kanon_ranks,
        sum(kanon_up_to) over (order by case when kanon_rank is null then 1 else 0 end, kanon_rank)
            - kanon_up_to as kanon_sum_before,
        sum(kanon_up_to) over () as kanon_sum
    from cumulated_ranks
),

-- exists (select a intersect select b) is a = b, and true where both are NULL.
class_ranks as (
    select
        class_values.[zip] as [zip],
        ranked_values.kanon_rank as kanon_rank,
        sum(class_values.kanon_records) as kanon_held
    from class_values
    inner join ranked_values
        on exists(
            select
                ranked_values.kanon_sensitive_1
            intersect
            select
                class_values.kanon_sensitive_1
        )
    group by
        class_values.[zip],
        ranked_values.kanon_rank
),

-- What a class has up to each of its ranks, as if it were as large as the table, and which of its
-- ranks is next: from one to the next the class stays where it is, and the table grows.
class_steps as (
    select
        class_ranks.[zip] as [zip],
        table_steps.kanon_rank as kanon_rank,
        table_steps.kanon_sum_before as kanon_sum_before,
        table_steps.kanon_table_total as kanon_table_total,
        table_steps.kanon_ranks as kanon_ranks,
        cast(sum(kanon_held) over (
            partition by class_ranks.[zip]
            order by case when table_steps.kanon_rank is null then 1 else 0 end, table_steps.kanon_rank
        ) as float)
            / nullif(sum(kanon_held) over (partition by class_ranks.[zip]), 0)
            * table_steps.kanon_table_total as kanon_class_up_to,
        coalesce(
            lead(table_steps.kanon_rank) over (
                partition by class_ranks.[zip]
                order by case when table_steps.kanon_rank is null then 1 else 0 end, table_steps.kanon_rank
            ),
            table_steps.kanon_ranks + 1
        ) as kanon_next_rank,
        coalesce(
            lead(table_steps.kanon_sum_before) over (
                partition by class_ranks.[zip]
                order by case when table_steps.kanon_rank is null then 1 else 0 end, table_steps.kanon_rank
            ),
            table_steps.kanon_sum
        ) as kanon_next_sum_before,
        row_number() over (
            partition by class_ranks.[zip]
            order by case when table_steps.kanon_rank is null then 1 else 0 end, table_steps.kanon_rank
        ) as kanon_step
    from class_ranks
    inner join table_steps
        on table_steps.kanon_rank = class_ranks.kanon_rank
),

-- The steps of all classes and of the table in one list, to be sorted once.
steps_of_both as (
    select
        [zip],
        kanon_rank,
        kanon_next_rank,
        kanon_sum_before,
        kanon_next_sum_before,
        kanon_table_total,
        kanon_ranks,
        kanon_step,
        kanon_class_up_to as kanon_position,
        0 as kanon_is_of_table,
        0 as kanon_up_to
    from class_steps
    union all
    select
        null as [zip],
        kanon_rank,
        0 as kanon_next_rank,
        0 as kanon_sum_before,
        0 as kanon_next_sum_before,
        kanon_table_total,
        kanon_ranks,
        0 as kanon_step,
        cast(kanon_up_to as float) as kanon_position,
        1 as kanon_is_of_table,
        kanon_up_to
    from table_steps
),

-- kanon_crossing is the first rank at which the table has more than the class has here.
crossed_steps as (
    select
        steps_of_both.*,
        sum(kanon_is_of_table) over (
            order by case
                when kanon_position is null then 1
                else 0
            end, kanon_position, kanon_is_of_table desc
            rows between unbounded preceding and current row
        ) + 1 as kanon_crossing,
        sum(kanon_up_to) over (
            order by case
                when kanon_position is null then 1
                else 0
            end, kanon_position, kanon_is_of_table desc
            rows between unbounded preceding and current row
        ) as kanon_crossing_sum
    from steps_of_both
),

-- The crossing within its gap: before it the class has no less, from there on the table has more.
gaps as (
    select
        [zip],
        kanon_table_total as kanon_table_total,
        kanon_ranks as kanon_ranks,
        kanon_step as kanon_step,
        kanon_rank as kanon_rank,
        kanon_next_rank as kanon_next_rank,
        kanon_sum_before as kanon_sum_before,
        kanon_next_sum_before as kanon_next_sum_before,
        kanon_position as kanon_position,
        case
            when kanon_crossing < kanon_rank
            then kanon_rank
            when kanon_crossing > kanon_next_rank
            then kanon_next_rank
            else kanon_crossing
        end as kanon_crossing,
        case
            when kanon_crossing < kanon_rank
            then kanon_sum_before
            when kanon_crossing > kanon_next_rank
            then kanon_next_sum_before
            else kanon_crossing_sum
        end as kanon_crossing_sum
    from crossed_steps
    where
        kanon_is_of_table = 0
),

-- What class and table differ by, added up over all ranks; before its first rank a class has nothing.
distances as (
    select
        [zip],
        max(kanon_ranks) as kanon_ranks,
        max(kanon_table_total) as kanon_table_total,
        sum(
            case when kanon_step = 1 then kanon_sum_before else 0 end
                + kanon_position * (kanon_crossing - kanon_rank)
                - (kanon_crossing_sum - kanon_sum_before)
                + (kanon_next_sum_before - kanon_crossing_sum)
                - kanon_position * (kanon_next_rank - kanon_crossing)
        ) as kanon_moved
    from gaps
    group by
        [zip]
),

-- The mean over the steps from rank to rank, as a share; only rounding takes it below 0.
class_distances as (
    select
        [zip],
        case
            when kanon_ranks = 1 or kanon_moved < 0
            then 0
            else cast(kanon_moved as float) / nullif((kanon_table_total * (kanon_ranks - 1.0)), 0)
        end as kanon_distance
    from distances
),

class_totals as (
    select
        [zip],
        sum(kanon_records) as kanon_size
    from class_values
    group by
        [zip]
),

-- Each class with its distance, NULL if none of its values has a rank.
classes as (
    select
        class_totals.*,
        class_distances.kanon_distance as kanon_distance
    from class_totals
    left join class_distances
        on exists(
            select
                class_distances.[zip]
            intersect
            select
                class_totals.[zip]
        )
)

select
    count_big(*) as kanon_classes,
    sum(kanon_size) as kanon_records,
    max(kanon_distance) as kanon_t_closeness,
    sum(case when kanon_distance > 0.2 + 1e-09 then 1 else 0 end) as kanon_t_closeness_violated_classes,
    sum(
        case when kanon_distance > 0.2 + 1e-09 then kanon_size else 0 end
    ) as kanon_t_closeness_violated_records
from classes
