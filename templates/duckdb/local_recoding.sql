{#
    Local recoding by top-down specialisation with a staying rest. A class is a set of
    combinations with one level for each quasi-identifier; in a round each class that can still be
    split sends the children that can stand alone one level down in one quasi-identifier, and what
    is left stays together where it is.

    Fung, Wang, Yu 2005, Top-down specialization for information and privacy preservation, ICDE
    (the move); LeFevre, DeWitt, Ramakrishnan 2006, Mondrian multidimensional k-anonymity, ICDE
    (each class by itself). That the rest stays is a rule of this project.

    Quasi-identifiers are numbered from 1; values and labels are places among those of a level.
#}

{# What every raw value becomes at every level, and how many leaves lie under that. `levels` has
   a row for each level: its quasi-identifier, its number, the table of the values, and where a
   file lists the leaves, the table of these. #}
{% macro descents(levels) %}
{% for each in levels %}
select
    {{ each.qi }} as kanon_qi,
    {{ each.level }} as kanon_level,
    value_places.kanon_place_0 as kanon_raw_place,
    value_places.kanon_place_{{ each.level }} as kanon_place,
{% if not each.level %}
    cast(1 as bigint) as kanon_leaves
{% elif each.leaves is none %}
    count(*) over (partition by value_places.kanon_place_{{ each.level }}) as kanon_leaves
{% else %}
    cast(coalesce(leaves.kanon_leaves, 1) as bigint) as kanon_leaves
{% endif %}
from {{ each.values }} as value_places
{% if each.leaves is not none %}
left join {{ each.leaves }} as leaves
    on leaves.kanon_label = value_places.kanon_label_{{ each.level }}
{% endif %}
{% if not loop.last %}

union all

{% endif %}
{% endfor %}
{%- endmacro %}


{# Every label by its place, with the leaves under it. #}
{% macro label_places(descents) %}
select distinct
    kanon_qi,
    kanon_level,
    kanon_place,
    kanon_leaves
from {{ descents }}
{%- endmacro %}


{# The combinations by the labels that they begin with, as classes. `starts` are the levels. #}
{% macro starting_members(records, keys, starts, values, carried) %}
select
    cast(dense_rank() over (
        order by
{% for key in keys %}
            started_{{ loop.index }}.kanon_place_{{ starts[loop.index0] }}{{ "," if not loop.last }}
{% endfor %}
    ) as integer) as kanon_class,
{% for key in keys %}
    held.{{ key }},
    {{ "started_" ~ loop.index ~ ".kanon_place_" ~ (starts[loop.index0] - 1)
        if starts[loop.index0]
        else "cast(null as integer)" }} as kanon_next_{{ loop.index }},
{% endfor %}
{% for column in carried %}
    held.{{ kanon_sql.alias(column) }},
{% endfor %}
    held.kanon_records
from {{ records }} as held
{% for key in keys %}
inner join {{ values[loop.index0] }} as started_{{ loop.index }}
    on started_{{ loop.index }}.kanon_place_0 = held.{{ key }}
{% endfor %}
{%- endmacro %}


{# The level of each class in each quasi-identifier at the start, with its label, the leaves under
   it and the records of the class. #}
{% macro starting_levels(members, keys, starts, descents) %}
with

class_members as (
    select
        kanon_class,
{% for key in keys %}
        min({{ key }}) as {{ key }},
{% endfor %}
        cast(sum(kanon_records) as bigint) as kanon_records
    from {{ members }}
    group by kanon_class
)

{% for key in keys %}
select
    class_members.kanon_class,
    descents.kanon_qi,
    descents.kanon_level,
    descents.kanon_place,
    descents.kanon_leaves,
    class_members.kanon_records
from class_members
inner join {{ descents }} as descents
    on descents.kanon_qi = {{ loop.index }}
    and descents.kanon_level = {{ starts[loop.index0] }}
    and descents.kanon_raw_place = class_members.{{ key }}
{% if not loop.last %}

union all

{% endif %}
{% endfor %}
{%- endmacro %}


{# The children of each class in each quasi-identifier, one level down. With `k` only those of as
   many records; without it all, with what a demand reads beside. #}
{% macro children(members, keys, carried=[], k=none) %}
{% for key in keys %}
select
    kanon_class,
    {{ loop.index }} as kanon_qi,
    kanon_next_{{ loop.index }} as kanon_place,
{% for column in carried %}
    {{ kanon_sql.alias(column) }},
{% endfor %}
    cast(sum(kanon_records) as bigint) as kanon_records
from {{ members }}
where kanon_next_{{ loop.index }} is not null
group by
    kanon_class,
    kanon_next_{{ loop.index }}{{ "," if carried }}
{{ kanon_sql.aliases(carried) if carried }}
{% if k is not none %}
having sum(kanon_records) >= {{ kanon_sql.positive_int(k, "k") }}
{% endif %}
{% if not loop.last %}

union all

{% endif %}
{% endfor %}
{%- endmacro %}


{# The children that pass every check, of all that there are. #}
{% macro passing_children(children, violating) %}
select
    children.kanon_class,
    children.kanon_qi,
    children.kanon_place,
    cast(sum(children.kanon_records) as bigint) as kanon_records
from {{ children }} as children
left join (
    {{ violating | indent(4) }}
) as violating
    on violating.kanon_class = children.kanon_class
    and violating.kanon_qi = children.kanon_qi
    and violating.kanon_place = children.kanon_place
where violating.kanon_records is null
group by
    children.kanon_class,
    children.kanon_qi,
    children.kanon_place
{%- endmacro %}


{# The same children with what each would gain, in the order in which a rest takes them back, and
   how many records there are before each and beside all. #}
{% macro ranked_children(children, class_levels, labels) %}
with

passing_children as (
    {{ children | indent(4) }}
),

gaining_children as (
    select
        passing_children.kanon_class,
        passing_children.kanon_qi,
        passing_children.kanon_place,
        passing_children.kanon_records,
        labels.kanon_level,
        labels.kanon_leaves,
        class_levels.kanon_records as kanon_class_records,
        passing_children.kanon_records * (class_levels.kanon_leaves - labels.kanon_leaves) as kanon_gain
    from passing_children
    inner join {{ class_levels }} as class_levels
        on class_levels.kanon_class = passing_children.kanon_class
        and class_levels.kanon_qi = passing_children.kanon_qi
    inner join {{ labels }} as labels
        on labels.kanon_qi = passing_children.kanon_qi
        and labels.kanon_level = class_levels.kanon_level - 1
        and labels.kanon_place = passing_children.kanon_place
)

select
    gaining_children.*,
    kanon_class_records - sum(kanon_records) over (partition by kanon_class, kanon_qi) as kanon_rest,
    sum(kanon_records) over in_order - kanon_records as kanon_before,
    row_number() over in_order as kanon_rank,
    count(*) over (partition by kanon_class, kanon_qi) as kanon_passing
from gaining_children
window in_order as (
    partition by kanon_class, kanon_qi
    order by kanon_gain, kanon_place
    rows between unbounded preceding and current row
)
{%- endmacro %}


{# The children that go where only sizes count: a rest that is too small has taken back as many as
   it takes. #}
{% macro going_by_size(ranked, k) %}
select *
from (
    {{ ranked | indent(4) }}
) as ranked_children
where kanon_rest = 0 or kanon_rest + kanon_before >= {{ kanon_sql.positive_int(k, "k") }}
{%- endmacro %}


{# The rests that are still to be judged, after a first look at their sizes: each has taken back so
   many children, and none needs to be looked at that has fewer than `k` records. #}
{% macro rests_to_judge(ranked, k) %}
select
    kanon_class,
    kanon_qi,
    min(kanon_passing) as kanon_passing,
    coalesce(
        min(case when kanon_rest = 0 or kanon_rest + kanon_before >= {{ kanon_sql.positive_int(k, "k") }} then kanon_rank - 1 end),
        min(kanon_passing)
    ) as kanon_taken,
    min(kanon_rest) as kanon_rest
from {{ ranked }}
group by
    kanon_class,
    kanon_qi
{%- endmacro %}


{# What the rests hold that have taken back so many children and up to `batch` - 1 more. #}
{% macro rests(children, ranked, asked, batch, carried) %}
with

taken as (
    select
        kanon_class,
        kanon_qi,
        kanon_taken + kanon_more as kanon_taken
    from {{ asked }}
    cross join (
        select unnest(range({{ kanon_sql.positive_int(batch, "batch") }})) as kanon_more
    ) as more
    where kanon_taken + kanon_more < kanon_passing
)

select
    taken.kanon_class,
    taken.kanon_qi,
    taken.kanon_taken,
{% for column in carried %}
    children.{{ kanon_sql.alias(column) }},
{% endfor %}
    cast(sum(children.kanon_records) as bigint) as kanon_records
from {{ children }} as children
left join {{ ranked }} as ranked
    on ranked.kanon_class = children.kanon_class
    and ranked.kanon_qi = children.kanon_qi
    and ranked.kanon_place = children.kanon_place
inner join taken
    on taken.kanon_class = children.kanon_class
    and taken.kanon_qi = children.kanon_qi
    and coalesce(ranked.kanon_rank, 0) <= taken.kanon_taken
group by
    taken.kanon_class,
    taken.kanon_qi,
    taken.kanon_taken{{ "," if carried }}
{{ kanon_sql.aliases_in("children", carried) if carried }}
{%- endmacro %}


{# How many children each rest has taken back when it first holds, of those just looked at. An
   empty rest holds. #}
{% macro rests_that_hold(asked, rests, violating) %}
with

holding as (
    select
        rests.kanon_class,
        rests.kanon_qi,
        min(rests.kanon_taken) as kanon_taken
    from {{ rests }} as rests
    left join (
        {{ violating | indent(8) }}
    ) as violating
        on violating.kanon_class = rests.kanon_class
        and violating.kanon_qi = rests.kanon_qi
        and violating.kanon_taken = rests.kanon_taken
    where violating.kanon_records is null
    group by
        rests.kanon_class,
        rests.kanon_qi
)

select
    asked.kanon_class,
    asked.kanon_qi,
    case when asked.kanon_rest = 0 then 0 else holding.kanon_taken end as kanon_taken
from {{ asked }} as asked
left join holding
    on holding.kanon_class = asked.kanon_class
    and holding.kanon_qi = asked.kanon_qi
where asked.kanon_rest = 0 or holding.kanon_taken is not null
{%- endmacro %}


{# The rests that hold with none of those: they take back more, as long as there is a child left. #}
{% macro rests_still_to_judge(asked, held, batch) %}
select
    asked.kanon_class,
    asked.kanon_qi,
    asked.kanon_passing,
    asked.kanon_taken + {{ kanon_sql.positive_int(batch, "batch") }} as kanon_taken,
    asked.kanon_rest
from {{ asked }} as asked
left join {{ held }} as held
    on held.kanon_class = asked.kanon_class
    and held.kanon_qi = asked.kanon_qi
where held.kanon_class is null
    and asked.kanon_taken + {{ kanon_sql.positive_int(batch, "batch") }} < asked.kanon_passing
{%- endmacro %}


{# The children that go where rests were judged: those that their rest hasn't taken back. #}
{% macro going_by_rest(ranked, held) %}
select ranked.*
from {{ ranked }} as ranked
inner join (
{% for each in held %}
    select *
    from {{ each }}
{% if not loop.last %}

    union all

{% endif %}
{% endfor %}
) as held
    on held.kanon_class = ranked.kanon_class
    and held.kanon_qi = ranked.kanon_qi
    and ranked.kanon_rank > held.kanon_taken
{%- endmacro %}


{#
    What each class chooses: the quasi-identifier that gains most, the first one where several gain
    as much. A row for each class that comes of it, numbered from `first`: the children that go,
    and the rest, which has no place of its own.

    `factors` make gains of different quasi-identifiers comparable, as whole numbers.
#}
{% macro splits(going, factors, first) %}
with

going_children as (
    {{ going | indent(4) }}
),

offers as (
    select
        kanon_class,
        kanon_qi,
        sum(cast(kanon_gain as hugeint)) * case kanon_qi
{% for factor in factors %}
            when {{ loop.index }} then cast({{ factor }} as hugeint)
{% endfor %}
        end as kanon_offer,
        cast(max(kanon_class_records) - sum(kanon_records) as bigint) as kanon_left
    from going_children
    group by
        kanon_class,
        kanon_qi
),

choices as (
    select
        kanon_class,
        kanon_qi,
        kanon_left
    from (
        select
            offers.*,
            row_number() over (partition by kanon_class order by kanon_offer desc, kanon_qi) as kanon_rank
        from offers
    ) as ranked_offers
    where kanon_rank = 1
),

parts as (
    select
        going_children.kanon_class,
        going_children.kanon_qi,
        going_children.kanon_place,
        going_children.kanon_level,
        going_children.kanon_leaves,
        going_children.kanon_records
    from going_children
    inner join choices
        on choices.kanon_class = going_children.kanon_class
        and choices.kanon_qi = going_children.kanon_qi

    union all

    select
        kanon_class,
        kanon_qi,
        null as kanon_place,
        null as kanon_level,
        null as kanon_leaves,
        kanon_left as kanon_records
    from choices
    where kanon_left > 0
)

select
    parts.*,
    cast({{ first }} - 1 + row_number() over (order by kanon_class, kanon_place nulls last) as integer) as kanon_part
from parts
{%- endmacro %}


{# How many classes were split, and into how many. #}
{% macro splits_in_short(splits) %}
select
    count(distinct kanon_class) as kanon_split,
    count(*) as kanon_parts
from {{ splits }}
{%- endmacro %}


{# The level of each new class in each quasi-identifier. #}
{% macro levels_of_parts(splits, class_levels) %}
select
    splits.kanon_part as kanon_class,
    class_levels.kanon_qi,
{% for figure in ["level", "place", "leaves"] %}
    case
        when splits.kanon_qi = class_levels.kanon_qi and splits.kanon_place is not null then splits.kanon_{{ figure }}
        else class_levels.kanon_{{ figure }}
    end as kanon_{{ figure }},
{% endfor %}
    splits.kanon_records
from {{ splits }} as splits
inner join {{ class_levels }} as class_levels
    on class_levels.kanon_class = splits.kanon_class
{%- endmacro %}


{# The members of the classes that were split, by their new classes. #}
{% macro members_of_parts(members, splits, descents, keys, carried) %}
with

chosen as (
    select distinct
        kanon_class,
        kanon_qi
    from {{ splits }}
),

split_members as (
    select
        members.*,
        chosen.kanon_qi,
        case chosen.kanon_qi
{% for key in keys %}
            when {{ loop.index }} then members.kanon_next_{{ loop.index }}
{% endfor %}
        end as kanon_place,
        case chosen.kanon_qi
{% for key in keys %}
            when {{ loop.index }} then members.{{ key }}
{% endfor %}
        end as kanon_raw_place
    from {{ members }} as members
    inner join chosen
        on chosen.kanon_class = members.kanon_class
)

select
    coalesce(going.kanon_part, rests.kanon_part) as kanon_class,
{% for key in keys %}
    split_members.{{ key }},
    case
        when going.kanon_qi = {{ loop.index }} then descents.kanon_place
        else split_members.kanon_next_{{ loop.index }}
    end as kanon_next_{{ loop.index }},
{% endfor %}
{% for column in carried %}
    split_members.{{ kanon_sql.alias(column) }},
{% endfor %}
    split_members.kanon_records
from split_members
left join {{ splits }} as going
    on going.kanon_class = split_members.kanon_class
    and going.kanon_place = split_members.kanon_place
left join {{ splits }} as rests
    on rests.kanon_class = split_members.kanon_class
    and rests.kanon_place is null
left join {{ descents }} as descents
    on descents.kanon_qi = going.kanon_qi
    and descents.kanon_level = going.kanon_level - 1
    and descents.kanon_raw_place = split_members.kanon_raw_place
{%- endmacro %}


{# The combinations of the classes that nothing was offered to. #}
{% macro finished_members(members, splits, keys) %}
select
    members.kanon_class,
{% for key in keys %}
    members.{{ key }},
{% endfor %}
    members.kanon_records
from {{ members }} as members
left join (
    select distinct kanon_class
    from {{ splits }}
) as split
    on split.kanon_class = members.kanon_class
where split.kanon_class is null
{%- endmacro %}


{# The members of all classes but some. #}
{% macro members_without(members, classes) %}
select members.*
from {{ members }} as members
left join {{ classes }} as classes
    on classes.kanon_class = members.kanon_class
where classes.kanon_class is null
{%- endmacro %}


{# How many classes some members are in, and the number of the last one. #}
{% macro classes_in_short(members) %}
select
    count(distinct kanon_class) as kanon_classes,
    coalesce(max(kanon_class), 0) as kanon_last
from {{ members }}
{%- endmacro %}


{# How many rests there are. #}
{% macro rests_in_short(rests) %}
select count(*) as kanon_rests
from {{ rests }}
{%- endmacro %}


{# The levels of the classes that were not split any more. #}
{% macro finished_levels(all_levels, splits) %}
{% for levels in all_levels %}
select class_levels.*
from {{ levels }} as class_levels
{% if loop.index0 < splits | length %}
left join (
    select distinct kanon_class
    from {{ splits[loop.index0] }}
) as split
    on split.kanon_class = class_levels.kanon_class
where split.kanon_class is null
{% endif %}
{% if not loop.last %}

union all

{% endif %}
{% endfor %}
{%- endmacro %}


{# Each combination once, with the class that it ended in; with none where it is suppressed. #}
{% macro recoded_combinations(finished, members, failing, keys) %}
select
    any_value(kanon_class) as kanon_class,
{% for key in keys %}
    {{ key }},
{% endfor %}
    cast(sum(kanon_records) as bigint) as kanon_records
from (
{% for each in finished %}
    select *
    from {{ each }}

    union all

{% endfor %}
    select
        cast(null as integer) as kanon_class,
{% for key in keys %}
        members.{{ key }},
{% endfor %}
        members.kanon_records
    from {{ members }} as members
{% if failing is not none %}
    inner join {{ failing }} as failing
        on failing.kanon_class = members.kanon_class
{% else %}
    where false
{% endif %}
) as combinations
group by
{% for key in keys %}
    {{ key }}{{ "," if not loop.last }}
{% endfor %}
{%- endmacro %}


{# Every label as the text that a release shows. `levels` has a row for each level: its
   quasi-identifier, its number, the table of the values, and the type of these. #}
{% macro label_texts(levels) %}
{% for each in levels %}
select distinct
    {{ each.qi }} as kanon_qi,
    {{ each.level }} as kanon_level,
    kanon_place_{{ each.level }} as kanon_place,
    {{ "kanon_label_" ~ each.level
        if each.level
        else "kanon_raw"
        if each.type == "VARCHAR"
        else kanon_sql.as_text("kanon_raw", each.type) | indent(4) }} as kanon_text
from {{ each.values }}
{% if not loop.last %}

union all

{% endif %}
{% endfor %}
{%- endmacro %}


{# The released classes with their records, as they are shown. #}
{% macro shown_classes(class_levels, texts, keys) %}
select
    class_levels.kanon_class,
    any_value(class_levels.kanon_records) as kanon_records{{ "," if keys }}
{% for key in keys %}
    max(case when class_levels.kanon_qi = {{ loop.index }} then texts.kanon_text end) as kanon_shown_{{ loop.index }}{{ "," if not loop.last }}
{% endfor %}
from {{ class_levels }} as class_levels
inner join {{ texts }} as texts
    on texts.kanon_qi = class_levels.kanon_qi
    and texts.kanon_level = class_levels.kanon_level
    and texts.kanon_place = class_levels.kanon_place
group by class_levels.kanon_class
{%- endmacro %}


{# What each combination of raw values is shown as. #}
{% macro recodings(members, shown, keys, values) %}
select
{% for key in keys %}
    value_places_{{ loop.index }}.kanon_raw as kanon_raw_{{ loop.index }},
    shown.kanon_shown_{{ loop.index }},
{% endfor %}
    members.kanon_class is null as kanon_is_suppressed
from {{ members }} as members
{% for key in keys %}
inner join {{ values[loop.index0] }} as value_places_{{ loop.index }}
    on value_places_{{ loop.index }}.kanon_place_0 = members.{{ key }}
{% endfor %}
left join {{ shown }} as shown
    on shown.kanon_class = members.kanon_class
{%- endmacro %}


{# The records of a release, each as its combination is shown. `columns` are those published, each
   with the place of its quasi-identifier, which is 0 where the records have what is shown. #}
{% macro recoded_records(records, columns, raw, recodings, star=false) %}
select
{% for column in columns %}
{% set value = "recodings.kanon_shown_" ~ column.place if column.place else "records." ~ kanon_sql.ident(column) %}
{% if not column.place %}
    {{ kanon_sql.one_zero(column) }}{{ "," if not loop.last }}
{% else %}
    {{ "case when recodings.kanon_is_suppressed then '*' else " ~ value ~ " end" if star else value }} as {{ kanon_sql.ident(column) }}{{ "," if not loop.last }}
{% endif %}
{% endfor %}
from {{ records }} as records
inner join {{ recodings }} as recodings
{% for column in raw %}
    {{ "on" if loop.first else "and" }} {{ kanon_sql.same("recodings.kanon_raw_" ~ loop.index, "records." ~ kanon_sql.ident(column)) }}
{% endfor %}
{% if not star %}
where not recodings.kanon_is_suppressed
{% endif %}
{%- endmacro %}


{# The classes of the release, where those that are shown alike are one. Discernibility adds up the
   squares of their sizes: Bayardo and Agrawal 2005, ICDE, section 3. #}
{% macro shown_classes_in_short(shown, keys) %}
select
    count(*) as kanon_classes,
    coalesce(sum(kanon_released), 0) as kanon_released,
    coalesce(sum(cast(kanon_released as hugeint) * kanon_released), 0) as kanon_squares
from (
    select sum(kanon_records) as kanon_released
    from {{ shown }}
    group by
{% for key in keys %}
        kanon_shown_{{ loop.index }}{{ "," if not loop.last }}
{% endfor %}
) as released_classes
{%- endmacro %}


{# How many records ended at which level of each quasi-identifier, and the leaves under what they
   show beside the one that each has. #}
{% macro levels_reached(class_levels) %}
select
    kanon_qi,
    kanon_level,
    cast(sum(kanon_records) as bigint) as kanon_records,
    sum(cast(kanon_records as hugeint) * (kanon_leaves - 1)) as kanon_leaves_more
from {{ class_levels }}
group by
    kanon_qi,
    kanon_level
order by
    kanon_qi,
    kanon_level
{%- endmacro %}


{# The bits lost of one quasi-identifier; see loss_of_values. #}
{% macro bits_of_recoded(values, members, class_levels, descents, qi, key) %}
with

held_values as (
    select
        members.{{ key }} as kanon_raw_place,
        class_levels.kanon_level,
        cast(sum(members.kanon_records) as double) as kanon_held
    from {{ members }} as members
    left join {{ class_levels }} as class_levels
        on class_levels.kanon_class = members.kanon_class
        and class_levels.kanon_qi = {{ qi }}
    group by
        members.{{ key }},
        class_levels.kanon_level
),

places as (
    select
        descents.kanon_level,
        descents.kanon_raw_place,
        sum(cast(value_places.kanon_records as double)) over (
            partition by
                descents.kanon_level,
                descents.kanon_place
        ) as kanon_under_label
    from {{ descents }} as descents
    inner join {{ values }} as value_places
        on value_places.kanon_place_0 = descents.kanon_raw_place
    where descents.kanon_qi = {{ qi }}
),

in_all as (
    select sum(cast(kanon_records as double)) as kanon_in_all
    from {{ values }}
)

select
    coalesce(sum(held_values.kanon_held * ln(coalesce(places.kanon_under_label, in_all.kanon_in_all) / value_places.kanon_records)), 0) / ln(2) as kanon_bits,
    coalesce(sum(held_values.kanon_held * ln(in_all.kanon_in_all / value_places.kanon_records)), 0) / ln(2) as kanon_most_bits
from held_values
cross join in_all
inner join {{ values }} as value_places
    on value_places.kanon_place_0 = held_values.kanon_raw_place
left join places
    on places.kanon_level = held_values.kanon_level
    and places.kanon_raw_place = held_values.kanon_raw_place
{%- endmacro %}


{# How strongly a recoded quasi-identifier and a sensitive attribute go together; see association. #}
{% macro association_of_recoded(records, members, shown, keys, qi, key, sensitive, unknown=false) %}
with

held_pairs as (
    select
        held.{{ key }} as kanon_raw_place,
        coalesce(shown.kanon_shown_{{ qi }}, '*') as kanon_place,
        held.{{ kanon_sql.alias(sensitive) }} as kanon_sensitive,
        cast(sum(held.kanon_records) as double) as kanon_held,
        cast(sum(case when members.kanon_class is null then 0 else held.kanon_records end) as double) as kanon_released
    from {{ records }} as held
    inner join {{ members }} as members
{% for each in keys %}
        {{ "on" if loop.first else "and" }} members.{{ each }} = held.{{ each }}
{% endfor %}
    left join {{ shown }} as shown
        on shown.kanon_class = members.kanon_class
{% if unknown %}
    where held.{{ kanon_sql.alias(sensitive) }} is not null
{% endif %}
    group by
        held.{{ key }},
        coalesce(shown.kanon_shown_{{ qi }}, '*'),
        held.{{ kanon_sql.alias(sensitive) }}
),

{{ kanon_sql.cramers_v("before", "kanon_raw_place", "kanon_held") }},

{{ kanon_sql.cramers_v("after", "kanon_place", "kanon_released") }}

select
    before_v.kanon_v as kanon_before,
    after_v.kanon_v as kanon_after
from before_v
cross join after_v
{%- endmacro %}


{# What a round made of each class, with the labels that went. #}
{% macro parts_as_texts(splits, texts) %}
select
    splits.kanon_class,
    splits.kanon_part,
    splits.kanon_qi,
    splits.kanon_level,
    splits.kanon_place is null as kanon_is_rest,
    texts.kanon_text
from {{ splits }} as splits
left join {{ texts }} as texts
    on texts.kanon_qi = splits.kanon_qi
    and texts.kanon_level = splits.kanon_level
    and texts.kanon_place = splits.kanon_place
order by splits.kanon_part
{%- endmacro %}


{# The labels with which each class begins. #}
{% macro starts_as_texts(class_levels, texts) %}
select
    class_levels.kanon_class,
    class_levels.kanon_qi,
    texts.kanon_text
from {{ class_levels }} as class_levels
inner join {{ texts }} as texts
    on texts.kanon_qi = class_levels.kanon_qi
    and texts.kanon_level = class_levels.kanon_level
    and texts.kanon_place = class_levels.kanon_place
order by
    class_levels.kanon_class,
    class_levels.kanon_qi
{%- endmacro %}


{# How many parts there are in all rounds. #}
{% macro parts_in_all(splits) %}
select sum(kanon_parts) as kanon_total
from (
{% for each in splits %}
    select count(*) as kanon_parts
    from {{ each }}
{% if not loop.last %}

    union all

{% endif %}
{% endfor %}
) as parts
{%- endmacro %}
