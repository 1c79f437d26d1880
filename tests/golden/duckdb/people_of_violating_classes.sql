-- Question   How many people in patients are in a combination of diagnosis that fails a check on
--            age or has a single value of it?
-- Required   kanon_homogeneity_violated_people = 0.
-- Required   kanon_l_diversity_violated_people = 0.
-- Model      homogeneity. No class has a single value of the sensitive attribute, so knowing the
--            class alone never gives the value away. (Machanavajjhala, Kifer, Gehrke,
--            Venkitasubramaniam 2007, l-diversity: privacy beyond k-anonymity, ACM TKDD 1(1),
--            section 2.1 (homogeneity attack))
-- Model      l-diversity. Every class has at least l different values of the sensitive attribute,
--            so an attacker who rules out l − 2 of them is still left with two. (Machanavajjhala,
--            Kifer, Gehrke, Venkitasubramaniam 2007, l-diversity: privacy beyond k-anonymity, ACM
--            TKDD 1(1), section 3 (distinct l-diversity))
-- Runs       where people have records in several of these classes, and some of those fail or are
--            homogeneous
-- Dialect    duckdb, as executed

with

class_value_people as (
    select
        "diagnosis",
        "age" as kanon_sensitive_1,
        "patient" as kanon_entity
    from "main"."patients"
    group by
        "diagnosis",
        "age",
        "patient"
),

-- Each person counts once for a value, however many of their records have it.
class_values as (
    select
        "diagnosis",
        kanon_sensitive_1,
        count(*) as kanon_people
    from class_value_people
    group by
        "diagnosis",
        kanon_sensitive_1
),

-- Each person once in a class, whatever values they have there.
class_people as (
    select
        "diagnosis",
        kanon_entity
    from class_value_people
    group by
        "diagnosis",
        kanon_entity
),

people_of_classes as (
    select
        "diagnosis",
        count(*) as kanon_size
    from class_people
    group by
        "diagnosis"
),

values_of_classes as (
    select
        "diagnosis",
        max(kanon_people) as kanon_most_people,
        count(*) as kanon_distinct
    from class_values
    group by
        "diagnosis"
),

-- Both halves come from class_value_people and have every class, so the join loses none.
classes as (
    select
        people_of_classes.*,
        values_of_classes.kanon_most_people,
        values_of_classes.kanon_distinct
    from people_of_classes
    inner join values_of_classes
        on values_of_classes."diagnosis" is not distinct from people_of_classes."diagnosis"
),

measured_classes as (
    select
        classes.*,
        case
            when kanon_most_people = kanon_size then 1
            else kanon_distinct
        end as kanon_l_diversity
    from classes
),

people as (
    select
        class_people.kanon_entity,
        max(case when kanon_most_people = kanon_size then 1 else 0 end) as kanon_homogeneity_violated,
        max(case when kanon_l_diversity < 3 then 1 else 0 end) as kanon_l_diversity_violated
    from class_people
    inner join measured_classes
        on measured_classes."diagnosis" is not distinct from class_people."diagnosis"
    group by class_people.kanon_entity
)

select
    count(*) as kanon_people,
    sum(kanon_homogeneity_violated) as kanon_homogeneity_violated_people,
    sum(kanon_l_diversity_violated) as kanon_l_diversity_violated_people
from people
