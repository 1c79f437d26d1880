-- Question   How many people of patients are found among each number of people, by the 2 of their
--            events, each as often as it occurs, that tell most?
-- Model      known events. Whichever m events of a person an attacker knows, only a bounded share
--            of the people is among fewer than k who have all of them. (Pellungrini, Pappalardo,
--            Pratesi, Monreale 2018, A data mining approach to assess privacy risk in human
--            mobility data, ACM TIST 9(3); de Montjoye, Hidalgo, Verleysen, Blondel 2013, Unique in
--            the Crowd, Scientific Reports 3:1376)
-- Runs       if there are no more than 500,000,000 combinations to count
-- Dialect    mysql, generated and not executed
-- Table      `patients` stands for patients; its columns are assumed to have the same types as
--            here.

with

-- A person with an event, and how often.
held as (
    select
        `patient` as kanon_entity,
        `zip`,
        `diagnosis`,
        count(*) as kanon_records
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
            order by count(*),
                case when `zip` is null then 1 else 0 end,
                `zip`,
                case when `diagnosis` is null then 1 else 0 end,
                `diagnosis`
        ) as kanon_event,
        count(*) as kanon_holders_1,
        sum(case when kanon_records >= 2 then 1 else 0 end) as kanon_holders_2
    from held
    group by
        `zip`,
        `diagnosis`
),

numbered_people as (
    select
        kanon_entity,
        row_number() over (
            order by case when kanon_entity is null then 1 else 0 end, kanon_entity
        ) as kanon_person
    from held
    group by
        kanon_entity
),

coded as (
    select
        numbered_people.kanon_person,
        slots.kanon_event,
        held.kanon_records as kanon_times,
        slots.kanon_holders_1,
        slots.kanon_holders_2
    from held
    inner join slots
        on slots.`zip` <=> held.`zip` and slots.`diagnosis` <=> held.`diagnosis`
    inner join numbered_people
        on numbered_people.kanon_entity = held.kanon_entity
),

slots_in_all as (
    select
        (count(*) + 1) * 2 as kanon_slots
    from slots
),

-- The slots of each person that somebody else holds too.
shared as (
    select
        kanon_person,
        kanon_event * 2 + 0 as kanon_slot,
        1 as kanon_copy,
        kanon_times
    from coded
    where
        kanon_holders_1 > 1
    union all
    select
        kanon_person,
        kanon_event * 2 + 1 as kanon_slot,
        2 as kanon_copy,
        kanon_times
    from coded
    where
        kanon_holders_2 > 1 and kanon_times >= 2
),

combinations_2 as (
    select
        shorter.kanon_person,
        shorter.kanon_slot * slots_in_all.kanon_slots + added.kanon_slot as kanon_pair,
        cast(shorter.kanon_times as double)
            * cast(added.kanon_times - added.kanon_copy + 1 as double)
            / nullif(added.kanon_copy, 0) as kanon_weight
    from shared as shorter
    inner join shared as added
        on added.kanon_person = shorter.kanon_person
        and added.kanon_slot > shorter.kanon_slot
        and (added.kanon_copy = 1 or added.kanon_slot = shorter.kanon_slot + 1)
    cross join slots_in_all
    where
        shorter.kanon_copy = 1
),

crowds_2 as (
    select
        kanon_pair,
        count(*) as kanon_crowd
    from combinations_2
    group by
        kanon_pair
    having
        count(*) >= 2
),

people as (
    select
        kanon_person,
        sum(kanon_times) as kanon_events
    from coded
    group by
        kanon_person
),

-- The combinations of each person that somebody else has too.
found as (
    select
        coded.kanon_person,
        min(coded.kanon_holders_1) as kanon_least,
        sum(
            cast(cast(coded.kanon_times as double) as double) / nullif(coded.kanon_holders_1, 0)
        ) as kanon_chance,
        sum(cast(coded.kanon_times as double)) as kanon_together,
        sum(
            case
                when coded.kanon_holders_1 >= 2
                then cast(coded.kanon_times as double)
                else 0
            end
        ) as kanon_enough
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
        min(crowds_2.kanon_crowd) as kanon_least,
        sum(cast(combinations_2.kanon_weight as double) / nullif(crowds_2.kanon_crowd, 0)) as kanon_chance,
        sum(combinations_2.kanon_weight) as kanon_together,
        sum(case when crowds_2.kanon_crowd >= 2 then combinations_2.kanon_weight else 0 end) as kanon_enough
    from combinations_2
    inner join crowds_2
        on crowds_2.kanon_pair = combinations_2.kanon_pair
    where
        crowds_2.kanon_crowd >= 2
    group by
        combinations_2.kanon_person
),

-- Each person with the number of choices of events that an attacker may know.
chosen as (
    select
        people.kanon_events,
        found.kanon_least,
        case
            when cast(people.kanon_events as double) <= 2
            then cast(1 as double)
            else cast(
                cast(people.kanon_events as double) * (cast(people.kanon_events as double) - 1) as double
            ) / nullif(2, 0)
        end as kanon_choices,
        coalesce(found.kanon_enough, 0) as kanon_enough,
        coalesce(found.kanon_together, 0) as kanon_together,
        coalesce(found.kanon_chance, 0) as kanon_chance
    from people
    left join found
        on found.kanon_person = people.kanon_person
),

-- Each person: alone by any choice that nobody shares.
judged_people as (
    select
        kanon_events,
        case when kanon_together < kanon_choices then 1 else kanon_least end as kanon_crowd,
        cast(kanon_choices - kanon_enough as double) / nullif(kanon_choices, 0) as kanon_below,
        cast(kanon_choices - kanon_together as double) / nullif(kanon_choices, 0) as kanon_alone,
        cast(kanon_chance + kanon_choices - kanon_together as double)
            / nullif(kanon_choices, 0) as kanon_chance
    from chosen
)

select
    kanon_crowd,
    count(*) as kanon_people,
    sum(case when kanon_events < 2 then 1 else 0 end) as kanon_fewer,
    sum(kanon_below) as kanon_below,
    sum(kanon_alone) as kanon_alone,
    sum(kanon_chance) as kanon_chance
from judged_people
group by
    kanon_crowd
order by
    kanon_crowd
