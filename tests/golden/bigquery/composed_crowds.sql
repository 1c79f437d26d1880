-- Question   How many people are in both patients and patients_before, and share their classes in
--            either: zip and age, and there zip_code?
-- Model      composed k-anonymity. Whoever links the records of a person in this release and in an
--            earlier one, and knows the quasi-identifiers of both, finds at least k people who are
--            in both and share them. (Ganta, Kasiviswanathan, Smith 2008, Composition attacks and
--            auxiliary information in data privacy, ACM KDD, section 2)
-- Dialect    bigquery, generated and not executed
-- Table      "patients" stands for patients; its columns are taken to have the types that they have
--            here.
-- Table      "patients_before" stands for patients_before; its columns are taken to have the types
--            that they have here.

with

release_records as (
    select
        `zip`,
        `age`,
        `patient` as kanon_entity
    from `patients`
),

earlier_records as (
    select
        `zip_code` as kanon_earlier_1,
        `person` as kanon_entity
    from `patients_before`
),

release_classes as (
    select
        `zip`,
        `age`,
        row_number() over (
            order by case when `zip` is null then 1 else 0 end, `zip`, case when `age` is null then 1 else 0 end, `age`
        ) as kanon_class
    from release_records
    group by
        `zip`,
        `age`
),

earlier_classes as (
    select
        kanon_earlier_1,
        row_number() over (order by case when kanon_earlier_1 is null then 1 else 0 end, kanon_earlier_1) as kanon_class
    from earlier_records
    group by
        kanon_earlier_1
),

memberships as (
    select
        release_records.kanon_entity,
        0 as kanon_is_earlier,
        release_classes.kanon_class
    from release_records
    inner join release_classes
        on (
            release_classes.`zip` = release_records.`zip`
            or (
                release_classes.`zip` is null and release_records.`zip` is null
            )
        )
        and (
            release_classes.`age` = release_records.`age`
            or (
                release_classes.`age` is null and release_records.`age` is null
            )
        )
    union all
    select
        earlier_records.kanon_entity,
        1 as kanon_is_earlier,
        earlier_classes.kanon_class
    from earlier_records
    inner join earlier_classes
        on (
            earlier_classes.kanon_earlier_1 = earlier_records.kanon_earlier_1
            or (
                earlier_classes.kanon_earlier_1 is null
                and earlier_records.kanon_earlier_1 is null
            )
        )
),

persons as (
    select
        kanon_entity,
        min(case when kanon_is_earlier = 0 then kanon_class end) as kanon_release_first,
        max(case when kanon_is_earlier = 0 then kanon_class end) as kanon_release_last,
        min(case when kanon_is_earlier = 1 then kanon_class end) as kanon_earlier_first,
        max(case when kanon_is_earlier = 1 then kanon_class end) as kanon_earlier_last
    from memberships
    group by
        kanon_entity
),

release_several as (
    select distinct
        memberships.kanon_entity,
        memberships.kanon_class
    from memberships
    inner join persons
        on persons.kanon_entity = memberships.kanon_entity
    where
        kanon_is_earlier = 0 and persons.kanon_release_first < persons.kanon_release_last
),

release_sets as (
    select
        kanon_entity,
        string_agg(cast(kanon_class as string), ','
        order by
            kanon_class) as kanon_numbers
    from release_several
    group by
        kanon_entity
),

earlier_several as (
    select distinct
        memberships.kanon_entity,
        memberships.kanon_class
    from memberships
    inner join persons
        on persons.kanon_entity = memberships.kanon_entity
    where
        kanon_is_earlier = 1 and persons.kanon_earlier_first < persons.kanon_earlier_last
),

earlier_sets as (
    select
        kanon_entity,
        string_agg(cast(kanon_class as string), ','
        order by
            kanon_class) as kanon_numbers
    from earlier_several
    group by
        kanon_entity
),

crowds as (
    select
        persons.kanon_release_first,
        release_sets.kanon_numbers as kanon_release_numbers,
        persons.kanon_earlier_first,
        earlier_sets.kanon_numbers as kanon_earlier_numbers,
        count(*) as kanon_size
    from persons
    left join release_sets
        on release_sets.kanon_entity = persons.kanon_entity
    left join earlier_sets
        on earlier_sets.kanon_entity = persons.kanon_entity
    group by
        persons.kanon_release_first,
        release_sets.kanon_numbers,
        persons.kanon_earlier_first,
        earlier_sets.kanon_numbers
),

joint_classes as (
    select
        kanon_size
    from crowds
    where
        not kanon_release_first is null and not kanon_earlier_first is null
),

joiner_classes as (
    select
        kanon_size
    from crowds
    where
        kanon_earlier_first is null
),

leaver_classes as (
    select
        kanon_size
    from crowds
    where
        kanon_release_first is null
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

earlier_parts as (
    select
        kanon_earlier_first as kanon_class,
        kanon_size
    from crowds
    where
        not kanon_earlier_first is null and kanon_earlier_numbers is null
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
