-- Question   How many people in patients have records in exactly the same classes?
-- Where      patients: diagnosis <> 'Flu'
-- Model      k-anonymity. Every combination of quasi-identifier values occurs in at least k
--            records, so these columns never point at fewer than k of them. (Sweeney 2002,
--            k-anonymity: a model for protecting privacy, IJUFKS 10(5), definition 3)
-- Runs       where people have records in several classes; else their class is their profile
-- Dialect    duckdb, as executed

with

-- Each person once in a class, however many records they have there.
class_people as (
    select
        "diagnosis",
        "patient" as kanon_entity
    from (
        select
            "diagnosis",
            "patient"
        from "main"."patients"
        where ("diagnosis" <> 'Flu')
    ) as kanon_source
    group by
        "diagnosis",
        "patient"
),

-- Each person with the number of their classes, and the values of the class if it is one.
people as (
    select
        kanon_entity,
        any_value("diagnosis") as "diagnosis",
        count(*) as kanon_classes
    from class_people
    group by kanon_entity
),

-- People of one class: their profile is this class.
profiles_of_one_class as (
    select count(*) as kanon_people
    from people
    where kanon_classes = 1
    group by
        "diagnosis"
),

-- People of several classes, with each of their classes.
memberships as (
    select class_people.*
    from class_people
    inner join people
        on people.kanon_entity = class_people.kanon_entity
    where people.kanon_classes > 1
),

-- The numbers of their classes.
classes as (
    select
        "diagnosis",
        row_number() over (order by "diagnosis") as kanon_class
    from memberships
    group by
        "diagnosis"
),

-- Their profile: the sorted numbers of their classes, as one text.
people_of_several_classes as (
    select
        memberships.kanon_entity,
        string_agg(cast(classes.kanon_class as varchar), ',' order by classes.kanon_class) as kanon_profile
    from memberships
    inner join classes
        on memberships."diagnosis" is not distinct from classes."diagnosis"
    group by memberships.kanon_entity
),

profiles_of_several_classes as (
    select count(*) as kanon_people
    from people_of_several_classes
    group by kanon_profile
),

profiles as (
    select kanon_people
    from profiles_of_one_class

    union all

    select kanon_people
    from profiles_of_several_classes
)

select
    kanon_people as kanon_size,
    count(*) as kanon_profiles
from profiles
group by kanon_people
order by kanon_size
