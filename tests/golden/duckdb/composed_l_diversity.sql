-- Question   How many values of diagnosis are left of someone who is in both patients and
--            patients_before, by the classes of either?
-- Model      composed l-diversity. Whoever looks for a person in both releases, and knows that the
--            sensitive value is the same in both, is left with at least l values. (Ganta,
--            Kasiviswanathan, Smith 2008, Composition attacks and auxiliary information in data
--            privacy, ACM KDD, section 2 (intersection attack))
-- Dialect    duckdb, as executed

with

release_people as (
    select distinct
        "zip",
        "age",
        "patient" as kanon_entity
    from "main"."patients"
),

earlier_people as (
    select distinct
        "zip_code" as kanon_earlier_1,
        "person" as kanon_entity
    from "main"."patients_before"
),

pairs as (
    select
        release_people."zip",
        release_people."age",
        earlier_people.kanon_earlier_1,
        count(*) as kanon_size
    from release_people
    inner join earlier_people
        on earlier_people.kanon_entity = release_people.kanon_entity
    group by
        release_people."zip",
        release_people."age",
        earlier_people.kanon_earlier_1
),

release_values as (
    select distinct
        "zip",
        "age",
        "diagnosis" as kanon_value
    from "main"."patients"
),

earlier_values as (
    select distinct
        "zip_code" as kanon_earlier_1,
        "dx" as kanon_value
    from "main"."patients_before"
),

pair_values as (
    select distinct
        pairs."zip",
        pairs."age",
        pairs.kanon_earlier_1,
        release_values.kanon_value
    from pairs
    inner join release_values
        on release_values."zip" is not distinct from pairs."zip"
        and release_values."age" is not distinct from pairs."age"
),

candidates as (
    select
        pair_values."zip",
        pair_values."age",
        pair_values.kanon_earlier_1,
        count(*) as kanon_candidates
    from pair_values
    inner join earlier_values
        on earlier_values.kanon_earlier_1 is not distinct from pair_values.kanon_earlier_1
        and earlier_values.kanon_value is not distinct from pair_values.kanon_value
    group by
        pair_values."zip",
        pair_values."age",
        pair_values.kanon_earlier_1
),

pair_sides as (
    select
        "zip",
        "age",
        kanon_earlier_1,
        kanon_size,
        0 as kanon_candidates
    from pairs

    union all

    select
        "zip",
        "age",
        kanon_earlier_1,
        0 as kanon_size,
        kanon_candidates
    from candidates
),

measured_pairs as (
    select
        "zip",
        "age",
        kanon_earlier_1,
        sum(kanon_size) as kanon_size,
        sum(kanon_candidates) as kanon_candidates
    from pair_sides
    group by
        "zip",
        "age",
        kanon_earlier_1
)

select
    count(*) as kanon_classes,
    coalesce(sum(kanon_size), 0) as kanon_memberships,
    min(case when kanon_candidates > 0 then kanon_candidates end) as kanon_least,
    sum(case when kanon_candidates = 1 then 1 else 0 end) as kanon_certain_classes,
    sum(case when kanon_candidates = 1 then kanon_size else 0 end) as kanon_certain_people,
    sum(case when kanon_candidates = 0 then 1 else 0 end) as kanon_changed_classes,
    sum(case when kanon_candidates = 0 then kanon_size else 0 end) as kanon_changed_people,
    sum(
        case when kanon_candidates > 0 and kanon_candidates < 2 then 1 else 0 end
    ) as kanon_composed_l_diversity_violated_classes,
    sum(
        case when kanon_candidates > 0 and kanon_candidates < 2 then kanon_size else 0 end
    ) as kanon_composed_l_diversity_violated_people
from measured_pairs
