-- Question   How many people are in both patients and patients_before, and share their classes in
--            either: zip and age, and there zip_code?
-- Required   kanon_composed_k_anonymity_violated_classes = 0.
-- Model      composed k-anonymity. An attacker who links a person's records in this release and in
--            an earlier one, and knows the quasi-identifiers of both, finds at least k people who
--            are in both and share them. (Ganta, Kasiviswanathan, Smith 2008, Composition attacks
--            and auxiliary information in data privacy, ACM KDD, section 2)
-- Dialect    duckdb, as executed

with

-- The classes, numbered in the order of all columns: the numbers are the same at each reference.
release_classes as (
    select
        "zip",
        "age",
        row_number() over (
            order by
                "zip",
                "age"
        ) as kanon_class
    from "main"."patients"
    group by
        "zip",
        "age"
),

earlier_classes as (
    select
        "zip_code" as kanon_earlier_1,
        row_number() over (
            order by
                "zip_code"
        ) as kanon_class
    from "main"."patients_before"
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
        from "main"."patients"
    ) as release_records
    inner join release_classes
        on release_classes."zip" is not distinct from release_records."zip"
        and release_classes."age" is not distinct from release_records."age"
),

earlier_members as (
    select
        earlier_records.kanon_entity,
        earlier_classes.kanon_class
    from (
        select
            "zip_code" as kanon_earlier_1,
            "person" as kanon_entity
        from "main"."patients_before"
    ) as earlier_records
    inner join earlier_classes
        on earlier_classes.kanon_earlier_1 is not distinct from earlier_records.kanon_earlier_1
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

-- The people of several classes, with each of their classes.
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
        string_agg(cast(kanon_class as varchar), ',' order by kanon_class) as kanon_numbers
    from release_several
    group by kanon_entity
),

earlier_numbers as (
    select
        kanon_entity,
        string_agg(cast(kanon_class as varchar), ',' order by kanon_class) as kanon_numbers
    from earlier_several
    group by kanon_entity
),

-- The people who are in exactly the same classes of both: a crowd.
joint_classes as (
    select
        people.kanon_release_first,
        release_numbers.kanon_numbers as kanon_release_numbers,
        people.kanon_earlier_first,
        earlier_numbers.kanon_numbers as kanon_earlier_numbers,
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
    select sum(kanon_size) as kanon_size
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
    where kanon_size > 0
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
    select sum(kanon_size) as kanon_size
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
    where kanon_size > 0
),

-- The earlier release: the people of each class, in this class only or in several.
earlier_parts as (
    select
        kanon_first as kanon_class,
        kanon_size
    from earlier_crowds
    where kanon_numbers is null

    union all

    select
        kanon_class,
        1 as kanon_size
    from earlier_several
),

earlier_alone_classes as (
    select sum(kanon_size) as kanon_size
    from earlier_parts
    group by kanon_class
),

earlier_alone as (
    select min(kanon_size) as kanon_earlier_k
    from earlier_alone_classes
)

select *
from people_in_both
cross join joiners
cross join leavers
cross join earlier_alone
