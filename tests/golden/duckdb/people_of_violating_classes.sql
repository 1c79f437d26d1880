-- Question   How many people in patients are in a combination of diagnosis that fails a check on
--            age?
-- Model      homogeneity. No class has a single value of the sensitive attribute, so belonging to a
--            class never gives the value away. (Machanavajjhala, Kifer, Gehrke, Venkitasubramaniam
--            2007, l-diversity: privacy beyond k-anonymity, ACM TKDD 1(1), section 2.1 (homogeneity
--            attack))
-- Model      l-diversity. Every class has at least l different values of the sensitive attribute,
--            so whoever can rule out l − 2 of them is still unsure. (Machanavajjhala, Kifer,
--            Gehrke, Venkitasubramaniam 2007, l-diversity: privacy beyond k-anonymity, ACM TKDD
--            1(1), section 3 (distinct l-diversity))
-- Runs       where people have records in several of these classes, and some of them fail
-- Dialect    duckdb, as executed

with

class_value_people as (
    select
        "diagnosis",
        "age" as kanon_sensitive_1,
        "patient" as kanon_entity,
        count(*) as kanon_records
    from "main"."patients"
    group by
        "diagnosis",
        "age",
        "patient"
),

class_values as (
    select
        "diagnosis",
        kanon_sensitive_1,
        count(*) as kanon_people,
        sum(kanon_records) as kanon_records
    from class_value_people
    group by
        "diagnosis",
        kanon_sensitive_1
),

class_people as (
    select
        "diagnosis",
        kanon_entity,
        sum(kanon_records) as kanon_records,
        max(case when kanon_sensitive_1 is null then 0 else 1 end) as kanon_known
    from class_value_people
    group by
        "diagnosis",
        kanon_entity
),

values_and_people as (
    select
        "diagnosis",
        0 as kanon_size,
        0 as kanon_size_known,
        0 as kanon_records,
        0 as kanon_without_entity,
        count(*) as kanon_distinct,
        sum(case when kanon_sensitive_1 is null then 0 else 1 end) as kanon_known,
        max(kanon_people) as kanon_most_people
    from class_values
    group by
        "diagnosis"

    union all

    select
        "diagnosis",
        count(*) as kanon_size,
        sum(kanon_known) as kanon_size_known,
        sum(kanon_records) as kanon_records,
        sum(case when kanon_entity is null then kanon_records else 0 end) as kanon_without_entity,
        0 as kanon_distinct,
        0 as kanon_known,
        0 as kanon_most_people
    from class_people
    group by
        "diagnosis"
),

classes as (
    select
        "diagnosis",
        sum(kanon_size) as kanon_size,
        sum(kanon_size_known) as kanon_size_known,
        sum(kanon_records) as kanon_records,
        sum(kanon_without_entity) as kanon_without_entity,
        sum(kanon_distinct) as kanon_distinct,
        sum(kanon_known) as kanon_known,
        sum(kanon_most_people) as kanon_most_people
    from values_and_people
    group by
        "diagnosis"
),

measured_classes as (
    select
        classes.*,
        case when kanon_most_people = kanon_size then 1 else kanon_distinct end as kanon_l_diversity
    from classes
),

judged_classes as (
    select
        measured_classes.*,
        case when kanon_most_people = kanon_size then 1 else 0 end as kanon_homogeneity_violated,
        case when kanon_l_diversity < 3 then 1 else 0 end as kanon_l_diversity_violated
    from measured_classes
),

people as (
    select
        class_people.kanon_entity,
        max(judged_classes.kanon_homogeneity_violated) as kanon_homogeneity_violated,
        max(judged_classes.kanon_l_diversity_violated) as kanon_l_diversity_violated
    from class_people
    inner join judged_classes
        on judged_classes."diagnosis" is not distinct from class_people."diagnosis"
    group by class_people.kanon_entity
)

select
    count(*) as kanon_people,
    sum(kanon_homogeneity_violated) as kanon_homogeneity_violated_people,
    sum(kanon_l_diversity_violated) as kanon_l_diversity_violated_people
from people
