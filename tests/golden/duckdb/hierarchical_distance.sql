-- Question   How far is diagnosis in each combination of zip and age of patients from how it is
--            spread in the table, at most?
-- Model      t-closeness. In every class, the distribution of the sensitive values is at most t
--            away from their distribution in the table, so the class adds little to what the table
--            says. (Li, Li, Venkatasubramanian 2007, t-closeness: privacy beyond k-anonymity and
--            l-diversity, ICDE, sections 3 and 4)
-- Dialect    duckdb, as executed

with

class_values as (
    select
        "zip",
        "age",
        "diagnosis" as kanon_sensitive_1,
        count(*) as kanon_records
    from "main"."patients"
    group by
        "zip",
        "age",
        "diagnosis"
),

paths as (
    select 'flu' as kanon_node_0, 'infection' as kanon_node_1

    union all

    select 'Flu' as kanon_node_0, 'infection' as kanon_node_1

    union all

    select 'cold' as kanon_node_0, 'infection' as kanon_node_1

    union all

    select 'asthma' as kanon_node_0, 'chronic' as kanon_node_1
),

-- The members of a class below each node of the tree; a value that it lacks is alone at every height.
class_nodes as (
    select
        class_values."zip",
        class_values."age",
        0 as kanon_height,
        coalesce(paths.kanon_node_0, cast(class_values.kanon_sensitive_1 as varchar)) as kanon_node,
        sum(class_values.kanon_records) as kanon_held
    from class_values
    left join paths
        on paths.kanon_node_0 = cast(class_values.kanon_sensitive_1 as varchar)
    group by
        class_values."zip",
        class_values."age",
        coalesce(paths.kanon_node_0, cast(class_values.kanon_sensitive_1 as varchar))

    union all

    select
        class_values."zip",
        class_values."age",
        1 as kanon_height,
        coalesce(paths.kanon_node_1, cast(class_values.kanon_sensitive_1 as varchar)) as kanon_node,
        sum(class_values.kanon_records) as kanon_held
    from class_values
    left join paths
        on paths.kanon_node_0 = cast(class_values.kanon_sensitive_1 as varchar)
    group by
        class_values."zip",
        class_values."age",
        coalesce(paths.kanon_node_1, cast(class_values.kanon_sensitive_1 as varchar))
),

nodes as (
    select
        class_nodes.*,
        cast(kanon_held as double) / nullif(
            sum(kanon_held) over (
                partition by
                    class_nodes.kanon_height,
                    "zip",
                    "age"
            ),
            0
        ) as kanon_class_share,
        cast(sum(kanon_held) over (partition by kanon_height, kanon_node) as double) / nullif(
            sum(kanon_held) over (partition by kanon_height),
            0
        ) as kanon_share
    from class_nodes
),

-- The mean, over the heights below the root, of the class's excess over the table.
class_distances as (
    select
        "zip",
        "age",
        cast(sum(
            case when kanon_class_share > kanon_share then kanon_class_share - kanon_share else 0 end
        ) as double) / nullif(2, 0) as kanon_distance
    from nodes
    group by
        "zip",
        "age"
),

class_totals as (
    select
        "zip",
        "age",
        sum(kanon_records) as kanon_size
    from class_values
    group by
        "zip",
        "age"
),

-- Each class with its distance, NULL if none of its values has a rank.
classes as (
    select
        class_totals.*,
        class_distances.kanon_distance
    from class_totals
    left join class_distances
        on class_distances."zip" is not distinct from class_totals."zip"
        and class_distances."age" is not distinct from class_totals."age"
)

select
    count(*) as kanon_classes,
    sum(kanon_size) as kanon_records,
    max(kanon_distance) as kanon_t_closeness
from classes
