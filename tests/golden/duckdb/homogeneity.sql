-- Question   How many classes of patients by zip and age have each size, in records, and what do
--            they share of diagnosis?
-- Required   kanon_size >= 2 in every row; kanon_too_small is 1 in those that fail. k is kanon_size
--            of the first row.
-- Model      k-anonymity. Every combination of quasi-identifier values occurs in at least k
--            records, so these columns never point at fewer than k of them. (Sweeney 2002,
--            k-anonymity: a model for protecting privacy, IJUFKS 10(5), definition 3)
-- Model      homogeneity. No class has a single value of the sensitive attribute, so knowing the
--            class alone never gives the value away. (Machanavajjhala, Kifer, Gehrke,
--            Venkitasubramaniam 2007, l-diversity: privacy beyond k-anonymity, ACM TKDD 1(1),
--            section 2.1 (homogeneity attack))
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

-- One row per class, with the figures over its values.
classes as (
    select
        "zip",
        "age",
        sum(kanon_records) as kanon_size,
        count(*) as kanon_distinct,
        sum(case when kanon_sensitive_1 is null then 0 else 1 end) as kanon_known
    from class_values
    group by
        "zip",
        "age"
)

select
    kanon_size,
    case when kanon_size < 2 then 1 else 0 end as kanon_too_small,
    count(*) as kanon_classes,
    sum(kanon_size) as kanon_records,
    sum(case when "zip" is null or "age" is null then kanon_size else 0 end) as kanon_with_null,
    0 as kanon_suppressed,
    sum(case when kanon_distinct = 1 then 1 else 0 end) as kanon_homogeneous_classes,
    sum(case when kanon_distinct = 1 then kanon_size else 0 end) as kanon_homogeneous_records,
    sum(
        case when kanon_known = 1 and kanon_distinct > 1 then 1 else 0 end
    ) as kanon_diverse_by_null_classes,
    sum(case when kanon_distinct < 2 then 1 else 0 end) as kanon_single_value_classes
from classes
group by kanon_size
order by kanon_size
