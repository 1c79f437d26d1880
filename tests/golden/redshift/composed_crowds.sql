-- Question   How many people are in both patients and patients_before, and share their classes in
--            either: zip and age, and there zip_code, and how many values of diagnosis are left of
--            them?
-- Required   kanon_composed_k_anonymity_violated_classes = 0.
-- Required   kanon_composed_l_diversity_violated_1_classes = 0.
-- Model      composed k-anonymity. An attacker who links a person's records in this release and in
--            an earlier one, and knows the quasi-identifiers of both, finds at least k people who
--            are in both and share them. (Ganta, Kasiviswanathan, Smith 2008, Composition attacks
--            and auxiliary information in data privacy, ACM KDD, section 2)
-- Model      composed l-diversity. An attacker who looks for a person in both releases, and knows
--            that the sensitive value is the same in both, is left with at least l values. (Ganta,
--            Kasiviswanathan, Smith 2008, Composition attacks and auxiliary information in data
--            privacy, ACM KDD, section 2 (intersection attack))
-- Dialect    redshift, generated and not executed
-- Table      "patients" stands for patients; its columns are assumed to have the same types as
--            here.
-- Table      "patients_before" stands for patients_before; its columns are assumed to have the same
--            types as here.

with

-- The classes, numbered in the order of all columns: the numbers are the same at each reference.
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
    group by
        "zip_code"
),

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
        on (
            release_classes."zip" = release_records."zip"
            or (release_classes."zip" is null and release_records."zip" is null)
        )
        and (
            release_classes."age" = release_records."age"
            or (release_classes."age" is null and release_records."age" is null)
        )
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
        on (
            earlier_classes.kanon_earlier_1 = earlier_records.kanon_earlier_1
            or (
                earlier_classes.kanon_earlier_1 is null
                and earlier_records.kanon_earlier_1 is null
            )
        )
),

-- Each person once, with the first and the last of their classes.
release_people as (
    select
        kanon_entity,
        min(kanon_class) as kanon_first,
        max(kanon_class) as kanon_last
    from release_members
    group by
        kanon_entity
),

earlier_people as (
    select
        kanon_entity,
        min(kanon_class) as kanon_first,
        max(kanon_class) as kanon_last
    from earlier_members
    group by
        kanon_entity
),

-- The people of several classes, with each of their classes.
release_several as (
    select distinct
        release_members.kanon_entity,
        release_members.kanon_class
    from release_members
    inner join release_people
        on release_people.kanon_entity = release_members.kanon_entity
    where
        release_people.kanon_first < release_people.kanon_last
),

earlier_several as (
    select distinct
        earlier_members.kanon_entity,
        earlier_members.kanon_class
    from earlier_members
    inner join earlier_people
        on earlier_people.kanon_entity = earlier_members.kanon_entity
    where
        earlier_people.kanon_first < earlier_people.kanon_last
),

-- The people of both releases.
people as (
    select
        release_people.kanon_entity,
        release_people.kanon_first as kanon_release_first,
        earlier_people.kanon_first as kanon_earlier_first
    from release_people
    inner join earlier_people
        on earlier_people.kanon_entity = release_people.kanon_entity
),

-- The classes of each person in several classes, as one text.
release_numbers as (
    select
        kanon_entity,
        listagg(cast(kanon_class as varchar(max)), ',') within group (order by kanon_class) as kanon_numbers
    from release_several
    group by
        kanon_entity
),

earlier_numbers as (
    select
        kanon_entity,
        listagg(cast(kanon_class as varchar(max)), ',') within group (order by kanon_class) as kanon_numbers
    from earlier_several
    group by
        kanon_entity
),

-- The people who are in exactly the same classes of both: a crowd.
joint_classes as (
    select
        people.kanon_release_first,
        release_numbers.kanon_numbers as kanon_release_numbers,
        people.kanon_earlier_first,
        earlier_numbers.kanon_numbers as kanon_earlier_numbers,
        any_value(people.kanon_entity) as kanon_example,
        count(*) as kanon_size
    from people
    left join release_numbers
        on release_numbers.kanon_entity = people.kanon_entity
    left join earlier_numbers
        on earlier_numbers.kanon_entity = people.kanon_entity
    group by
        people.kanon_release_first,
        release_numbers.kanon_numbers,
        people.kanon_earlier_first,
        earlier_numbers.kanon_numbers
),

-- The people who are in exactly the same classes of a release.
release_crowds as (
    select
        release_people.kanon_first,
        release_numbers.kanon_numbers,
        count(*) as kanon_size
    from release_people
    left join release_numbers
        on release_numbers.kanon_entity = release_people.kanon_entity
    group by
        release_people.kanon_first,
        release_numbers.kanon_numbers
),

earlier_crowds as (
    select
        earlier_people.kanon_first,
        earlier_numbers.kanon_numbers,
        count(*) as kanon_size
    from earlier_people
    left join earlier_numbers
        on earlier_numbers.kanon_entity = earlier_people.kanon_entity
    group by
        earlier_people.kanon_first,
        earlier_numbers.kanon_numbers
),

people_in_both as (
    select
        count(*) as kanon_classes,
        coalesce(sum(kanon_size), 0) as kanon_in_both,
        min(kanon_size) as kanon_least,
        sum(case when kanon_size < 2 then 1 else 0 end) as kanon_composed_k_anonymity_violated_classes,
        sum(case when kanon_size < 2 then kanon_size else 0 end) as kanon_composed_k_anonymity_violated_people
    from joint_classes
),

-- Crowds of this release without the people of both: the joiners.
joiner_parts as (
    select
        kanon_first,
        kanon_numbers,
        kanon_size
    from release_crowds
    union all
    select
        kanon_release_first as kanon_first,
        kanon_release_numbers as kanon_numbers,
        -kanon_size as kanon_size
    from joint_classes
),

joiner_classes as (
    select
        sum(kanon_size) as kanon_size
    from joiner_parts
    group by
        kanon_first,
        kanon_numbers
),

joiners as (
    select
        coalesce(sum(kanon_size), 0) as kanon_joiners,
        min(kanon_size) as kanon_joiners_k
    from joiner_classes
    where
        kanon_size > 0
),

-- Crowds of the earlier release without the people of both: the leavers.
leaver_parts as (
    select
        kanon_first,
        kanon_numbers,
        kanon_size
    from earlier_crowds
    union all
    select
        kanon_earlier_first as kanon_first,
        kanon_earlier_numbers as kanon_numbers,
        -kanon_size as kanon_size
    from joint_classes
),

leaver_classes as (
    select
        sum(kanon_size) as kanon_size
    from leaver_parts
    group by
        kanon_first,
        kanon_numbers
),

leavers as (
    select
        coalesce(sum(kanon_size), 0) as kanon_leavers,
        min(kanon_size) as kanon_leavers_k
    from leaver_classes
    where
        kanon_size > 0
),

-- The earlier release: the people of each class, in this class only or in several.
earlier_parts as (
    select
        kanon_first as kanon_class,
        kanon_size
    from earlier_crowds
    where
        kanon_numbers is null
    union all
    select
        kanon_class,
        1 as kanon_size
    from earlier_several
),

earlier_alone_classes as (
    select
        sum(kanon_size) as kanon_size
    from earlier_parts
    group by
        kanon_class
),

earlier_alone as (
    select
        min(kanon_size) as kanon_earlier_k
    from earlier_alone_classes
),

-- Each crowd in every pair of its classes.
crowds_in_pairs as (
    select
        joint_classes.kanon_example,
        joint_classes.kanon_size,
        coalesce(release_several.kanon_class, joint_classes.kanon_release_first) as kanon_release_class,
        coalesce(earlier_several.kanon_class, joint_classes.kanon_earlier_first) as kanon_earlier_class
    from joint_classes
    left join release_several
        on release_several.kanon_entity = joint_classes.kanon_example
    left join earlier_several
        on earlier_several.kanon_entity = joint_classes.kanon_example
),

pairs as (
    select distinct
        kanon_release_class,
        kanon_earlier_class
    from crowds_in_pairs
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
        on (
            release_classes."zip" = release_cells."zip"
            or (release_classes."zip" is null and release_cells."zip" is null)
        )
        and (
            release_classes."age" = release_cells."age"
            or (release_classes."age" is null and release_cells."age" is null)
        )
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
        on (
            earlier_classes.kanon_earlier_1 = earlier_cells.kanon_earlier_1
            or (
                earlier_classes.kanon_earlier_1 is null and earlier_cells.kanon_earlier_1 is null
            )
        )
),

-- The number of values that a pair has in both releases.
measured_pairs_1 as (
    select
        pairs.kanon_release_class,
        pairs.kanon_earlier_class,
        count(earlier_values_1.kanon_class) as kanon_candidates
    from pairs
    left join release_values_1
        on release_values_1.kanon_class = pairs.kanon_release_class
    left join earlier_values_1
        on earlier_values_1.kanon_class = pairs.kanon_earlier_class
        and (
            earlier_values_1.kanon_value = release_values_1.kanon_value
            or (earlier_values_1.kanon_value is null and release_values_1.kanon_value is null)
        )
    group by
        pairs.kanon_release_class,
        pairs.kanon_earlier_class
),

candidates_in_short_1 as (
    select
        min(case when kanon_candidates > 0 then kanon_candidates end) as kanon_least_1,
        sum(case when kanon_candidates = 1 then 1 else 0 end) as kanon_certain_1_classes,
        sum(case when kanon_candidates = 0 then 1 else 0 end) as kanon_changed_1_classes,
        sum(
            case when kanon_candidates > 0 and kanon_candidates < 2 then 1 else 0 end
        ) as kanon_composed_l_diversity_violated_1_classes
    from measured_pairs_1
),

-- The crowds in flagged pairs.
judged_crowds_1 as (
    select
        crowds_in_pairs.kanon_example,
        crowds_in_pairs.kanon_size,
        max(case when kanon_candidates = 1 then 1 else 0 end) as kanon_certain,
        max(case when kanon_candidates = 0 then 1 else 0 end) as kanon_changed,
        max(
            case when kanon_candidates > 0 and kanon_candidates < 2 then 1 else 0 end
        ) as kanon_composed_l_diversity_violated
    from crowds_in_pairs
    inner join measured_pairs_1
        on measured_pairs_1.kanon_release_class = crowds_in_pairs.kanon_release_class
        and measured_pairs_1.kanon_earlier_class = crowds_in_pairs.kanon_earlier_class
    where
        (kanon_candidates = 1)
        or (kanon_candidates = 0)
        or (kanon_candidates > 0 and kanon_candidates < 2)
    group by
        crowds_in_pairs.kanon_example,
        crowds_in_pairs.kanon_size
),

people_in_short_1 as (
    select
        coalesce(sum(kanon_size * kanon_certain), 0) as kanon_certain_1_people,
        coalesce(sum(kanon_size * kanon_changed), 0) as kanon_changed_1_people,
        coalesce(
            sum(kanon_size * kanon_composed_l_diversity_violated), 0
        ) as kanon_composed_l_diversity_violated_1_people
    from judged_crowds_1
)

select
    *
from people_in_both
cross join joiners
cross join leavers
cross join earlier_alone
cross join candidates_in_short_1
cross join people_in_short_1
