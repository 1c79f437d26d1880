-- Question   How many people in patients have records in exactly the same classes?
-- Model      k-anonymity. Every combination of quasi-identifier values occurs in at least k
--            records, so these columns never point at fewer than k of them. (Sweeney 2002,
--            k-anonymity: a model for protecting privacy, IJUFKS 10(5), definition 3)
-- Runs       where people have records in several classes; else their class is their profile
-- Dialect    mariadb, generated; not executed here, as the tests of this release do
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

-- Each person with the number of their classes, and the values of the class if it is one.
people as (
    select
        kanon_entity,
        max(`zip`) as `zip`,
        max(`age`) as `age`,
        count(*) as kanon_classes
    from class_people
    group by
        kanon_entity
),

-- People of one class: their profile is this class.
profiles_of_one_class as (
    select
        count(*) as kanon_people
    from people
    where
        kanon_classes = 1
    group by
        `zip`,
        `age`
),

-- People of several classes, with each of their classes.
memberships as (
    select
        class_people.*
    from class_people
    inner join people
        on people.kanon_entity = class_people.kanon_entity
    where
        people.kanon_classes > 1
),

-- The numbers of their classes.
classes as (
    select
        `zip`,
        `age`,
        row_number() over (order by case when `zip` is null then 1 else 0 end, `zip`) as kanon_class
    from memberships
    group by
        `zip`,
        `age`
),

-- Their profile: the sorted numbers of their classes, as one text.
people_of_several_classes as (
    select
        memberships.kanon_entity,
        case
            when char_length(
                group_concat(
                    cast(classes.kanon_class as char character set utf8mb4) collate utf8mb4_nopad_bin
                    order by classes.kanon_class separator ','
                )
            ) = sum(
                char_length(
                    cast(classes.kanon_class as char character set utf8mb4) collate utf8mb4_nopad_bin
                )
            ) + count(
                cast(classes.kanon_class as char character set utf8mb4) collate utf8mb4_nopad_bin
            ) - 1
            then group_concat(
                cast(classes.kanon_class as char character set utf8mb4) collate utf8mb4_nopad_bin
                order by classes.kanon_class separator ','
            )
            else (
                select
                    'cut at group_concat_max_len'
                union all
                select
                    'raise it'
            )
        end as kanon_profile
    from memberships
    inner join classes
        on memberships.`zip` <=> classes.`zip` and memberships.`age` <=> classes.`age`
    group by
        memberships.kanon_entity
),

profiles_of_several_classes as (
    select
        count(*) as kanon_people
    from people_of_several_classes
    group by
        kanon_profile
),

profiles as (
    select
        kanon_people
    from profiles_of_one_class
    union all
    select
        kanon_people
    from profiles_of_several_classes
)

select
    kanon_people as kanon_size,
    count(*) as kanon_profiles
from profiles
group by
    kanon_people
order by
    kanon_size
