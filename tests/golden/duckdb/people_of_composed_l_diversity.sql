-- Question   How many people are in a pair of classes of patients and patients_before that leaves
--            one value of zip, none, or too few?
-- Model      composed l-diversity. Whoever looks for a person in both releases, and knows that the
--            sensitive value is the same in both, is left with at least l values. (Ganta,
--            Kasiviswanathan, Smith 2008, Composition attacks and auxiliary information in data
--            privacy, ACM KDD, section 2 (intersection attack))
-- Runs       where people have records in several classes of either release
-- Dialect    duckdb, as executed

with

release_people as (
    select distinct
        "diagnosis",
        "patient" as kanon_entity
    from "main"."patients"
),

earlier_people as (
    select distinct
        "dx" as kanon_earlier_1,
        "person" as kanon_entity
    from "main"."patients_before"
),

pairs as (
    select
        release_people."diagnosis",
        earlier_people.kanon_earlier_1,
        count(*) as kanon_size
    from release_people
    inner join earlier_people
        on earlier_people.kanon_entity = release_people.kanon_entity
    group by
        release_people."diagnosis",
        earlier_people.kanon_earlier_1
),

release_values as (
    select distinct
        "diagnosis",
        "zip" as kanon_value
    from "main"."patients"
),

earlier_values as (
    select distinct
        "dx" as kanon_earlier_1,
        "zip_code" as kanon_value
    from "main"."patients_before"
),

pair_values as (
    select distinct
        pairs."diagnosis",
        pairs.kanon_earlier_1,
        release_values.kanon_value
    from pairs
    inner join release_values
        on release_values."diagnosis" is not distinct from pairs."diagnosis"
),

candidates as (
    select
        pair_values."diagnosis",
        pair_values.kanon_earlier_1,
        count(*) as kanon_candidates
    from pair_values
    inner join earlier_values
        on earlier_values.kanon_earlier_1 is not distinct from pair_values.kanon_earlier_1
        and earlier_values.kanon_value is not distinct from pair_values.kanon_value
    group by
        pair_values."diagnosis",
        pair_values.kanon_earlier_1
),

pair_sides as (
    select
        "diagnosis",
        kanon_earlier_1,
        kanon_size,
        0 as kanon_candidates
    from pairs

    union all

    select
        "diagnosis",
        kanon_earlier_1,
        0 as kanon_size,
        kanon_candidates
    from candidates
),

measured_pairs as (
    select
        "diagnosis",
        kanon_earlier_1,
        sum(kanon_size) as kanon_size,
        sum(kanon_candidates) as kanon_candidates
    from pair_sides
    group by
        "diagnosis",
        kanon_earlier_1
),

judged_pairs as (
    select
        measured_pairs.*,
        case when kanon_candidates = 1 then 1 else 0 end as kanon_certain,
        case when kanon_candidates = 0 then 1 else 0 end as kanon_changed,
        case when kanon_candidates > 0 and kanon_candidates < 2 then 1 else 0 end as kanon_composed_l_diversity_violated
    from measured_pairs
),

people as (
    select
        release_people.kanon_entity,
        max(judged_pairs.kanon_certain) as kanon_certain,
        max(judged_pairs.kanon_changed) as kanon_changed,
        max(judged_pairs.kanon_composed_l_diversity_violated) as kanon_composed_l_diversity_violated
    from release_people
    inner join earlier_people
        on earlier_people.kanon_entity = release_people.kanon_entity
    inner join judged_pairs
        on judged_pairs."diagnosis" is not distinct from release_people."diagnosis"
        and judged_pairs.kanon_earlier_1 is not distinct from earlier_people.kanon_earlier_1
    group by release_people.kanon_entity
)


select
    count(*) as kanon_in_both,
    sum(kanon_certain) as kanon_certain_people,
    sum(kanon_changed) as kanon_changed_people,
    sum(kanon_composed_l_diversity_violated) as kanon_composed_l_diversity_violated_people
from people
