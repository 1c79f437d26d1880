-- Question   How many people are in a pair of classes of patients and patients_before that leaves
--            one value of diagnosis, none, or too few?
-- Model      composed l-diversity. Whoever looks for a person in both releases, and knows that the
--            sensitive value is the same in both, is left with at least l values. (Ganta,
--            Kasiviswanathan, Smith 2008, Composition attacks and auxiliary information in data
--            privacy, ACM KDD, section 2 (intersection attack))
-- Runs       where people have records in several classes of either release
-- Dialect    postgres, generated; not executed here, as the tests of this release do
-- Table      "patients" stands for patients; its columns are taken to have the types that they have
--            here.
-- Table      "patients_before" stands for patients_before; its columns are taken to have the types
--            that they have here.

with

-- The classes by number, in the order of all columns: it is the same wherever it is read.
release_classes as (
    select
        "zip",
        "age",
        row_number() over (order by "zip", "age") as kanon_class
    from "patients"
    group by
        "zip",
        "age"
),

earlier_classes as (
    select
        "zip_code" as kanon_earlier_1,
        row_number() over (order by "zip_code") as kanon_class
    from "patients_before"
    group by "zip_code"
),

-- array[a] = array[b] is a = b and true where both are NULL, joined by hashing.
release_members as (
    select
        release_records.kanon_entity,
        release_classes.kanon_class
    from (
        select
            "zip",
            "age",
            "patient" as kanon_entity
        from "patients"
    ) as release_records
    inner join release_classes
        on array[row(release_classes."zip", release_classes."age")]
            = array[row(release_records."zip", release_records."age")]
),

earlier_members as (
    select
        earlier_records.kanon_entity,
        earlier_classes.kanon_class
    from (
        select
            "zip_code" as kanon_earlier_1,
            "person" as kanon_entity
        from "patients_before"
    ) as earlier_records
    inner join earlier_classes
        on array[earlier_classes.kanon_earlier_1] = array[earlier_records.kanon_earlier_1]
),

-- Each person once, with the first and the last of their classes.
release_people as (
    select
        kanon_entity,
        min(kanon_class) as kanon_first,
        max(kanon_class) as kanon_last
    from release_members
    group by kanon_entity
),

earlier_people as (
    select
        kanon_entity,
        min(kanon_class) as kanon_first,
        max(kanon_class) as kanon_last
    from earlier_members
    group by kanon_entity
),

-- Whoever is in several classes, with each of them.
release_several as (
    select distinct
        release_members.kanon_entity,
        release_members.kanon_class
    from release_members
    inner join release_people
        on release_people.kanon_entity = release_members.kanon_entity
    where release_people.kanon_first < release_people.kanon_last
),

earlier_several as (
    select distinct
        earlier_members.kanon_entity,
        earlier_members.kanon_class
    from earlier_members
    inner join earlier_people
        on earlier_people.kanon_entity = earlier_members.kanon_entity
    where earlier_people.kanon_first < earlier_people.kanon_last
),

-- Whoever is in both releases.
people as (
    select
        release_people.kanon_entity,
        release_people.kanon_first as kanon_release_first,
        earlier_people.kanon_first as kanon_earlier_first
    from release_people
    inner join earlier_people
        on earlier_people.kanon_entity = release_people.kanon_entity
),

-- Each person of both in every pair of their classes.
people_in_pairs as (
    select
        people.kanon_entity,
        coalesce(release_several.kanon_class, people.kanon_release_first) as kanon_release_class,
        coalesce(earlier_several.kanon_class, people.kanon_earlier_first) as kanon_earlier_class
    from people
    left join release_several
        on release_several.kanon_entity = people.kanon_entity
    left join earlier_several
        on earlier_several.kanon_entity = people.kanon_entity
),

pairs as (
    select
        kanon_release_class,
        kanon_earlier_class,
        count(*) as kanon_size
    from people_in_pairs
    group by
        kanon_release_class,
        kanon_earlier_class
),

release_values_1 as (
    select
        release_classes.kanon_class,
        release_cells.kanon_value
    from (
        select distinct
            "zip",
            "age",
            "diagnosis" as kanon_value
        from "patients"
    ) as release_cells
    inner join release_classes
        on array[row(release_classes."zip", release_classes."age")]
            = array[row(release_cells."zip", release_cells."age")]
),

earlier_values_1 as (
    select
        earlier_classes.kanon_class,
        earlier_cells.kanon_value
    from (
        select distinct
            "zip_code" as kanon_earlier_1,
            "dx" as kanon_value
        from "patients_before"
    ) as earlier_cells
    inner join earlier_classes
        on array[earlier_classes.kanon_earlier_1] = array[earlier_cells.kanon_earlier_1]
),

-- The values that a pair may have by this release; distinct, so that no planner joins the values of
-- both first, with a row for any two classes that share one.
pair_values_1 as (
    select distinct
        pairs.kanon_release_class,
        pairs.kanon_earlier_class,
        release_values_1.kanon_value
    from pairs
    inner join release_values_1
        on release_values_1.kanon_class = pairs.kanon_release_class
),

-- How many of them the earlier release leaves.
candidates_1 as (
    select
        pair_values_1.kanon_release_class,
        pair_values_1.kanon_earlier_class,
        count(*) as kanon_candidates
    from pair_values_1
    inner join earlier_values_1
        on earlier_values_1.kanon_class = pair_values_1.kanon_earlier_class
        and array[earlier_values_1.kanon_value] = array[pair_values_1.kanon_value]
    group by
        pair_values_1.kanon_release_class,
        pair_values_1.kanon_earlier_class
),

-- Every pair, those to which none is left too.
measured_pairs_1 as (
    select
        pairs.*,
        coalesce(candidates_1.kanon_candidates, 0) as kanon_candidates
    from pairs
    left join candidates_1
        on candidates_1.kanon_release_class = pairs.kanon_release_class
        and candidates_1.kanon_earlier_class = pairs.kanon_earlier_class
),

judged_pairs as (
    select
        measured_pairs_1.*,
        case when kanon_candidates = 1 then 1 else 0 end as kanon_certain_1,
        case when kanon_candidates = 0 then 1 else 0 end as kanon_changed_1,
        case
            when kanon_candidates > 0 and kanon_candidates < 2 then 1
            else 0
        end as kanon_composed_l_diversity_violated_1
    from measured_pairs_1
),

judged_people as (
    select
        people_in_pairs.kanon_entity,
        max(judged_pairs.kanon_certain_1) as kanon_certain_1,
        max(judged_pairs.kanon_changed_1) as kanon_changed_1,
        max(judged_pairs.kanon_composed_l_diversity_violated_1) as kanon_composed_l_diversity_violated_1
    from people_in_pairs
    inner join judged_pairs
        on judged_pairs.kanon_release_class = people_in_pairs.kanon_release_class
        and judged_pairs.kanon_earlier_class = people_in_pairs.kanon_earlier_class
    group by people_in_pairs.kanon_entity
)

select
    count(*) as kanon_in_both,
    sum(kanon_certain_1) as kanon_certain_1_people,
    sum(kanon_changed_1) as kanon_changed_1_people,
    sum(kanon_composed_l_diversity_violated_1) as kanon_composed_l_diversity_violated_1_people
from judged_people
