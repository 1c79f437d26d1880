-- Question   How many combinations of at most 2 events occur in patients and how many are shared by
--            fewer than 2 people, and which is the smallest number who share one?
-- Model      k^m-anonymity. An attacker who knows at most m events of a person finds at least k
--            people who have all of them. (Terrovitis, Mamoulis, Kalnis 2008, Privacy-preserving
--            anonymization of set-valued data, PVLDB 1(1), section 3)
-- Runs       if there are no more than 500,000,000 combinations to count
-- Dialect    spark, generated; not executed here, as the tests of this release do
-- Table      `patients` stands for patients; its columns are assumed to have the same types as
--            here.

with

-- A person with an event.
held as (
    select
        `patient` as kanon_entity,
        `zip`,
        `diagnosis`
    from `patients`
    group by
        `patient`,
        `zip`,
        `diagnosis`
),

-- An event with its holders; rarest first.
slots as (
    select
        `zip`,
        `diagnosis`,
        row_number() over (
            order by count(*) nulls last, `zip` nulls last, `diagnosis` nulls last
        ) as kanon_event,
        count(*) as kanon_holders_1
    from held
    group by
        `zip`,
        `diagnosis`
),

numbered_people as (
    select
        kanon_entity,
        row_number() over (order by kanon_entity nulls last) as kanon_person
    from held
    group by
        kanon_entity
),

coded as (
    select
        numbered_people.kanon_person,
        slots.kanon_event,
        slots.kanon_holders_1
    from held
    inner join slots
        on slots.`zip` is not distinct from held.`zip`
        and slots.`diagnosis` is not distinct from held.`diagnosis`
    inner join numbered_people
        on numbered_people.kanon_entity = held.kanon_entity
),

slots_in_all as (
    select
        count(*) + 1 as kanon_slots
    from slots
),

-- The slots of each person that somebody else holds too.
shared as (
    select
        kanon_person,
        kanon_event as kanon_slot
    from coded
    where
        kanon_holders_1 > 1
),

combinations_2 as (
    select
        shorter.kanon_person,
        shorter.kanon_slot * slots_in_all.kanon_slots + added.kanon_slot as kanon_pair
    from shared as shorter
    inner join shared as added
        on added.kanon_person = shorter.kanon_person
        and added.kanon_slot > shorter.kanon_slot
    cross join slots_in_all
),

crowds_2 as (
    select
        kanon_pair,
        count(*) as kanon_crowd
    from combinations_2
    group by
        kanon_pair
),

-- Combinations of each size with a slot of one person alone.
slots_of_people as (
    select
        cast(count(*) as double) as kanon_events_1,
        cast(sum(case when kanon_holders_1 > 1 then 1 else 0 end) as double) as kanon_shared_1
    from coded
    group by
        kanon_person
),

alone as (
    select
        sum(
            cast(kanon_events_1 * (kanon_events_1 - 1) as double) / nullif(2, 0)
                - (cast(kanon_shared_1 * (kanon_shared_1 - 1) as double) / nullif(2, 0))
        ) as kanon_combinations_2
    from slots_of_people
),

people as (
    select
        kanon_person,
        count(*) as kanon_events
    from coded
    group by
        kanon_person
),

-- The combinations of each person that somebody else has too.
found as (
    select
        coded.kanon_person,
        count(*) as kanon_enough
    from coded
    inner join people
        on people.kanon_person = coded.kanon_person
    where
        people.kanon_events = 1 and coded.kanon_holders_1 >= 2
    group by
        coded.kanon_person
    union all
    select
        combinations_2.kanon_person,
        count(*) as kanon_enough
    from combinations_2
    inner join crowds_2
        on crowds_2.kanon_pair = combinations_2.kanon_pair
    where
        crowds_2.kanon_crowd >= 2
    group by
        combinations_2.kanon_person
),

-- Each person with their largest combinations, and with those that enough people share.
chosen as (
    select
        case
            when cast(people.kanon_events as double) <= 2
            then cast(1 as double)
            else cast(
                cast(people.kanon_events as double) * (cast(people.kanon_events as double) - 1) as double
            ) / nullif(2, 0)
        end as kanon_choices,
        coalesce(found.kanon_enough, 0) as kanon_enough
    from people
    left join found
        on found.kanon_person = people.kanon_person
),

-- A superset has no larger crowd, so the largest combinations of a person decide.
violating_people as (
    select
        sum(case when kanon_enough < kanon_choices then 1 else 0 end) as kanon_violating_people
    from chosen
),

counted_2 as (
    select
        count(*) as kanon_combinations,
        sum(case when kanon_crowd < 2 then 1 else 0 end) as kanon_violating,
        sum(case when kanon_crowd < 2 then 2 - kanon_crowd else 0 end) as kanon_shortfall,
        min(kanon_crowd) as kanon_least
    from crowds_2
),

sizes as (
    select
        1 as kanon_size,
        cast(count(*) as double) as kanon_combinations,
        cast(sum(case when kanon_holders_1 < 2 then 1 else 0 end) as double) as kanon_violating,
        cast(
            sum(case when kanon_holders_1 < 2 then 2 - kanon_holders_1 else 0 end) as double
        ) as kanon_shortfall,
        min(kanon_holders_1) as kanon_least
    from slots
    union all
    select
        2 as kanon_size,
        counted_2.kanon_combinations + alone.kanon_combinations_2 as kanon_combinations,
        coalesce(counted_2.kanon_violating, 0) + alone.kanon_combinations_2 as kanon_violating,
        coalesce(counted_2.kanon_shortfall, 0) + 1 * alone.kanon_combinations_2 as kanon_shortfall,
        case when alone.kanon_combinations_2 > 0 then 1 else counted_2.kanon_least end as kanon_least
    from counted_2
    cross join alone
)

select
    kanon_size,
    kanon_combinations,
    kanon_violating,
    kanon_shortfall,
    kanon_violating_people,
    kanon_least
from sizes
cross join violating_people
order by
    kanon_size nulls last
