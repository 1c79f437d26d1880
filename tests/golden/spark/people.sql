-- Question   How many people in patients have records in exactly the same classes, and how large is
--            the smallest of these?
-- Model      k-anonymity. Every combination of quasi-identifier values occurs in at least k
--            records, so these columns never point at fewer than k of them. (Sweeney 2002,
--            k-anonymity: a model for protecting privacy, IJUFKS 10(5), definition 3)
-- Runs       where people have records in several classes: each counts once, with the smallest
-- Dialect    spark, generated; not executed here, as the tests of this release do
-- Table      `patients` stands for patients; its columns are assumed to have the same types as
--            here.

with

-- Each person once in a class, however many records they have there.
class_people as (
    select
        `zip`,
        `age`,
        `patient` as kanon_entity
    from `patients`
    group by
        `zip`,
        `age`,
        `patient`
),

-- All columns order the numbers, so that a database which reads this twice numbers alike.
classes as (
    select
        `zip`,
        `age`,
        row_number() over (order by `zip` nulls last, `age` nulls last) as kanon_class,
        count(*) as kanon_size
    from class_people
    group by
        `zip`,
        `age`
),

memberships as (
    select
        class_people.kanon_entity,
        classes.kanon_class,
        classes.kanon_size
    from class_people
    inner join classes
        on class_people.`zip` is not distinct from classes.`zip`
        and class_people.`age` is not distinct from classes.`age`
),

-- Each person with an outline of their profile: people of one profile have one outline.
people as (
    select
        kanon_entity,
        count(*) as kanon_classes,
        min(kanon_class) as kanon_first,
        max(kanon_class) as kanon_last,
        sum(kanon_class) as kanon_sum,
        min(kanon_size) as kanon_size
    from memberships
    group by
        kanon_entity
),

outlines as (
    select
        kanon_classes,
        kanon_first,
        kanon_last,
        kanon_sum,
        kanon_size,
        count(*) as kanon_people
    from people
    group by
        kanon_classes,
        kanon_first,
        kanon_last,
        kanon_sum,
        kanon_size
),

-- Up to three numbers are known from the least, the greatest and the sum, more are not.
people_to_compare as (
    select
        people.kanon_entity
    from people
    inner join outlines
        on outlines.kanon_classes = people.kanon_classes
        and outlines.kanon_first = people.kanon_first
        and outlines.kanon_last = people.kanon_last
        and outlines.kanon_sum = people.kanon_sum
        and outlines.kanon_size = people.kanon_size
    where
        outlines.kanon_classes > 3 and outlines.kanon_people > 1
),

-- Their profile: the sorted numbers of their classes, as one text.
compared_people as (
    select
        memberships.kanon_entity,
        listagg(
            cast(memberships.kanon_class as string), ','
        ) within group (order by memberships.kanon_class nulls last) as kanon_profile,
        min(memberships.kanon_size) as kanon_size
    from memberships
    inner join people_to_compare
        on people_to_compare.kanon_entity = memberships.kanon_entity
    group by
        memberships.kanon_entity
),

profiles as (
    select
        kanon_size,
        kanon_people
    from outlines
    where
        kanon_classes <= 3 or kanon_people = 1
    union all
    select
        kanon_size,
        count(*) as kanon_people
    from compared_people
    group by
        kanon_profile,
        kanon_size
)

select
    kanon_size,
    kanon_people,
    count(*) as kanon_profiles
from profiles
group by
    kanon_size,
    kanon_people
order by
    kanon_size nulls last,
    kanon_people nulls last
