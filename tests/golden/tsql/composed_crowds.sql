-- Question   How many people are in both patients and patients_before, and share their classes in
--            either: zip and age, and there zip_code?
-- Model      composed k-anonymity. Whoever links the records of a person in this release and in an
--            earlier one, and knows the quasi-identifiers of both, finds at least k people who are
--            in both and share them. (Ganta, Kasiviswanathan, Smith 2008, Composition attacks and
--            auxiliary information in data privacy, ACM KDD, section 2)
-- Dialect    tsql, generated and not executed
-- Table      "patients" stands for patients; its columns are taken to have the types that they have
--            here.
-- Table      "patients_before" stands for patients_before; its columns are taken to have the types
--            that they have here.

with

release_people as (
    select distinct
        [zip] as [zip],
        [age] as [age],
        [patient] as kanon_entity
    from [patients]
),

earlier_people as (
    select distinct
        [zip_code] as kanon_earlier_1,
        [person] as kanon_entity
    from [patients_before]
),

release_persons as (
    select
        kanon_entity as kanon_entity,
        max([zip]) as [zip],
        max([age]) as [age],
        count_big(*) as kanon_classes
    from release_people
    group by
        kanon_entity
),

release_memberships as (
    select
        release_people.*
    from release_people
    inner join release_persons
        on release_persons.kanon_entity = release_people.kanon_entity
    where
        release_persons.kanon_classes > 1
),

release_shared_classes as (
    select
        [zip] as [zip],
        [age] as [age],
        row_number() over (
            order by case when [zip] is null then 1 else 0 end, [zip], case when [age] is null then 1 else 0 end, [age]
        ) as kanon_class
    from release_memberships
    group by
        [zip],
        [age]
),

release_sets as (
    select
        release_memberships.kanon_entity as kanon_entity,
        string_agg(cast(kanon_class as nvarchar(max)) collate Latin1_General_100_BIN2, ',') within group (order by
            kanon_class) as kanon_numbers
    from release_memberships
    inner join release_shared_classes
        on exists(
            select
                release_shared_classes.[zip]
            intersect
            select
                release_memberships.[zip]
        )
        and exists(
            select
                release_shared_classes.[age]
            intersect
            select
                release_memberships.[age]
        )
    group by
        release_memberships.kanon_entity
),

release_profiles as (
    select
        release_persons.kanon_entity as kanon_entity,
        case when release_persons.kanon_classes = 1 then release_persons.[zip] end as [zip],
        case when release_persons.kanon_classes = 1 then release_persons.[age] end as [age],
        coalesce(release_sets.kanon_numbers, '') as kanon_release_classes
    from release_persons
    left join release_sets
        on release_sets.kanon_entity = release_persons.kanon_entity
),

earlier_persons as (
    select
        kanon_entity as kanon_entity,
        max(kanon_earlier_1) as kanon_earlier_1,
        count_big(*) as kanon_classes
    from earlier_people
    group by
        kanon_entity
),

earlier_memberships as (
    select
        earlier_people.*
    from earlier_people
    inner join earlier_persons
        on earlier_persons.kanon_entity = earlier_people.kanon_entity
    where
        earlier_persons.kanon_classes > 1
),

earlier_shared_classes as (
    select
        kanon_earlier_1 as kanon_earlier_1,
        row_number() over (order by case when kanon_earlier_1 is null then 1 else 0 end, kanon_earlier_1) as kanon_class
    from earlier_memberships
    group by
        kanon_earlier_1
),

earlier_sets as (
    select
        earlier_memberships.kanon_entity as kanon_entity,
        string_agg(cast(kanon_class as nvarchar(max)) collate Latin1_General_100_BIN2, ',') within group (order by
            kanon_class) as kanon_numbers
    from earlier_memberships
    inner join earlier_shared_classes
        on exists(
            select
                earlier_shared_classes.kanon_earlier_1
            intersect
            select
                earlier_memberships.kanon_earlier_1
        )
    group by
        earlier_memberships.kanon_entity
),

earlier_profiles as (
    select
        earlier_persons.kanon_entity as kanon_entity,
        case
            when earlier_persons.kanon_classes = 1
            then earlier_persons.kanon_earlier_1
        end as kanon_earlier_1,
        coalesce(earlier_sets.kanon_numbers, '') as kanon_earlier_classes
    from earlier_persons
    left join earlier_sets
        on earlier_sets.kanon_entity = earlier_persons.kanon_entity
),

joint_classes as (
    select
        release_profiles.[zip] as [zip],
        release_profiles.[age] as [age],
        release_profiles.kanon_release_classes as kanon_release_classes,
        earlier_profiles.kanon_earlier_1 as kanon_earlier_1,
        earlier_profiles.kanon_earlier_classes as kanon_earlier_classes,
        count_big(*) as kanon_size
    from release_profiles
    inner join earlier_profiles
        on earlier_profiles.kanon_entity = release_profiles.kanon_entity
    group by
        release_profiles.[zip],
        release_profiles.[age],
        release_profiles.kanon_release_classes,
        earlier_profiles.kanon_earlier_1,
        earlier_profiles.kanon_earlier_classes
),

release_sides as (
    select
        [zip],
        [age],
        kanon_release_classes,
        count_big(*) as kanon_people,
        0 as kanon_people_in_both
    from release_profiles
    group by
        [zip],
        [age],
        kanon_release_classes
    union all
    select
        [zip],
        [age],
        kanon_release_classes,
        0 as kanon_people,
        kanon_size as kanon_people_in_both
    from joint_classes
),

joiner_classes as (
    select
        sum(kanon_people) - sum(kanon_people_in_both) as kanon_size
    from release_sides
    group by
        [zip],
        [age],
        kanon_release_classes
    having
        sum(kanon_people) > sum(kanon_people_in_both)
),

earlier_sides as (
    select
        kanon_earlier_1,
        kanon_earlier_classes,
        count_big(*) as kanon_people,
        0 as kanon_people_in_both
    from earlier_profiles
    group by
        kanon_earlier_1,
        kanon_earlier_classes
    union all
    select
        kanon_earlier_1,
        kanon_earlier_classes,
        0 as kanon_people,
        kanon_size as kanon_people_in_both
    from joint_classes
),

leaver_classes as (
    select
        sum(kanon_people) - sum(kanon_people_in_both) as kanon_size
    from earlier_sides
    group by
        kanon_earlier_1,
        kanon_earlier_classes
    having
        sum(kanon_people) > sum(kanon_people_in_both)
),

people_in_both as (
    select
        count_big(*) as kanon_classes,
        coalesce(sum(kanon_size), 0) as kanon_in_both,
        min(kanon_size) as kanon_least,
        sum(case when kanon_size < 2 then 1 else 0 end) as kanon_composed_k_anonymity_violated_classes,
        sum(case when kanon_size < 2 then kanon_size else 0 end) as kanon_composed_k_anonymity_violated_people
    from joint_classes
),

joiners as (
    select
        coalesce(sum(kanon_size), 0) as kanon_joiners,
        min(kanon_size) as kanon_joiners_k
    from joiner_classes
),

leavers as (
    select
        coalesce(sum(kanon_size), 0) as kanon_leavers,
        min(kanon_size) as kanon_leavers_k
    from leaver_classes
),

earlier_classes as (
    select
        count_big(*) as kanon_size
    from earlier_people
    group by
        kanon_earlier_1
),

earlier_alone as (
    select
        min(kanon_size) as kanon_earlier_k
    from earlier_classes
)

select
    people_in_both.*,
    joiners.kanon_joiners,
    joiners.kanon_joiners_k,
    leavers.kanon_leavers,
    leavers.kanon_leavers_k,
    earlier_alone.kanon_earlier_k
from people_in_both
cross join joiners
cross join leavers
cross join earlier_alone
