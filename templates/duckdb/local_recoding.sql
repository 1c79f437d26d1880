{#
    Local recoding by top-down specialisation with a rest. A class is a set of combinations with one
    level for each quasi-identifier. A split replaces a class by its children, one level down in one
    quasi-identifier, as far as a child passes by itself. All other children, the rest, stay together
    at the levels of the class. A round splits every class once, if possible.

    Fung, Wang, Yu 2005, Top-down specialization for information and privacy preservation, ICDE
    (the move); LeFevre, DeWitt, Ramakrishnan 2006, Mondrian multidimensional k-anonymity, ICDE
    (each class by itself). The rest is a rule of this project.

    Quasi-identifiers are numbered from 1; values and labels are places among those of a level.
#}

{# Labels by place, with the leaves under each. #}
{% macro label_places(labels) %}
select distinct
    kanon_qi,
    kanon_level,
    kanon_place,
    kanon_leaves
from {{ labels }}
{%- endmacro %}


{# Combinations with their class at the start; `starts` are the levels of the first classes. #}
{% macro starting_members(records, keys, starts, values, carried) %}
with

started_members as (
    select
        held.*,
{% for key in keys %}
        started_{{ loop.index }}.kanon_place_{{ starts[loop.index0] }} as kanon_start_{{ loop.index }},
        {{ "started_" ~ loop.index ~ ".kanon_place_" ~ (starts[loop.index0] - 1)
            if starts[loop.index0]
            else "cast(null as integer)" }} as kanon_next_{{ loop.index }}{{ "," if not loop.last }}
{% endfor %}
    from {{ records }} as held
{% for key in keys %}
    inner join {{ values[loop.index0] }} as started_{{ loop.index }}
        on started_{{ loop.index }}.kanon_place_0 = held.{{ key }}
{% endfor %}
),

starting_labels as (
    select distinct {% for key in keys %}kanon_start_{{ loop.index }}{{ ", " if not loop.last }}{% endfor %}

    from started_members
),

starting_classes as (
    select
        *,
        cast(row_number() over (order by {% for key in keys %}kanon_start_{{ loop.index }}{{ ", " if not loop.last }}{% endfor %}) as integer) as kanon_class
    from starting_labels
)

select
    kanon_class,
{% for key in keys %}
    {{ key }},
    kanon_next_{{ loop.index }},
{% endfor %}
{% for column in carried %}
    {{ kanon_sql.alias(column) }},
{% endfor %}
    kanon_records
from started_members
inner join starting_classes
    using ({% for key in keys %}kanon_start_{{ loop.index }}{{ ", " if not loop.last }}{% endfor %})
{%- endmacro %}


{#
    Classes at the start: the records of each, and for each quasi-identifier its level, its label
    and the leaves under it.
#}
{% macro starting_levels(members, keys, starts, labels) %}
select
    class_members.kanon_class,
{% for key in keys %}
    labels_{{ loop.index }}.kanon_level as kanon_level_{{ loop.index }},
    labels_{{ loop.index }}.kanon_place as kanon_place_{{ loop.index }},
    labels_{{ loop.index }}.kanon_leaves as kanon_leaves_{{ loop.index }},
{% endfor %}
    class_members.kanon_records
from (
    select
        kanon_class,
{% for key in keys %}
        min({{ key }}) as {{ key }},
{% endfor %}
        cast(sum(kanon_records) as bigint) as kanon_records
    from {{ members }}
    group by kanon_class
) as class_members
{% for key in keys %}
inner join {{ labels }} as labels_{{ loop.index }}
    on labels_{{ loop.index }}.kanon_qi = {{ loop.index }}
    and labels_{{ loop.index }}.kanon_level = {{ starts[loop.index0] }}
    and labels_{{ loop.index }}.kanon_raw_place = class_members.{{ key }}
{% endfor %}
{%- endmacro %}


{#
    Children of each class in each quasi-identifier, one level down. With `k`, only those of at
    least k records; otherwise all, with the further columns of a check.
#}
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
group by all
{% if k is not none %}
having sum(kanon_records) >= {{ kanon_sql.positive_int(k, "k") }}
{% endif %}
{% if not loop.last %}

union all

{% endif %}
{% endfor %}
{%- endmacro %}


{# Children that pass every check. #}
{% macro passing_children(children, violating) %}
select
    children.kanon_class,
    children.kanon_qi,
    children.kanon_place,
    cast(sum(children.kanon_records) as bigint) as kanon_records
from {{ children }} as children
anti join (
    {{ violating | indent(4) }}
) as violating using (kanon_class, kanon_qi, kanon_place)
group by all
{%- endmacro %}


{#
    Figure of a class in the quasi-identifier of its child; `many` is the number of
    quasi-identifiers.
#}
{% macro of_its_quasi_identifier(figure, many) -%}
case children.kanon_qi
{% for place in range(1, many + 1) %}
    when {{ place }} then class_levels.kanon_{{ figure }}_{{ place }}
{% endfor %}
end
{%- endmacro %}


{# Children with the gain of each. The labels are joined last, as each has several levels. #}
{% macro gaining_children(children, class_levels, labels, many) %}
select
    children.*,
    class_levels.kanon_records as kanon_class_records,
    labels.kanon_level,
    labels.kanon_leaves,
    children.kanon_records * (
        {{ kanon_sql.of_its_quasi_identifier("leaves", many) | indent(8) }} - labels.kanon_leaves
    ) as kanon_gain
from {{ children }} as children
inner join {{ class_levels }} as class_levels using (kanon_class)
left join {{ labels }} as labels
    on labels.kanon_qi = children.kanon_qi
    and labels.kanon_level = {{ kanon_sql.of_its_quasi_identifier("level", many) | indent(4) }} - 1
    and labels.kanon_place = children.kanon_place
{%- endmacro %}


{#
    Children in the order in which a rest takes them back, with the records before each and the
    records of the rest.
#}
{% macro ranked_children(gaining) %}
select
    gaining_children.*,
    kanon_class_records - sum(kanon_records) over (partition by kanon_class, kanon_qi) as kanon_rest,
    sum(kanon_records) over (partition by kanon_class, kanon_qi order by kanon_gain, kanon_place) - kanon_records as kanon_before,
    row_number() over (partition by kanon_class, kanon_qi order by kanon_gain, kanon_place) as kanon_rank,
    count(*) over (partition by kanon_class, kanon_qi) as kanon_passing
from {{ gaining }} as gaining_children
{%- endmacro %}


{#
    Children to move if all checks are on sizes. Most rests are empty or large enough; only the
    others take children back, as few as needed, and only their children are sorted.
#}
{% macro judged_by_size(children, class_levels, labels, many, k) %}
with

gaining_children as (
    {{ kanon_sql.gaining_children("(\n" ~ children ~ "\n)", class_levels, labels, many) | indent(4) }}
),

small_rests as (
    select
        kanon_class,
        kanon_qi
    from gaining_children
    group by all
    having max(kanon_class_records) - sum(kanon_records) between 1 and {{ kanon_sql.positive_int(k, "k") }} - 1
),

ranked_children as (
    {{ kanon_sql.ranked_children("(
        select *
        from gaining_children
        semi join small_rests using (kanon_class, kanon_qi)
    )") | indent(4) }}
)

select
    *,
    true as kanon_goes
from gaining_children
anti join small_rests using (kanon_class, kanon_qi)

union all

select
    * exclude (kanon_rest, kanon_before, kanon_rank, kanon_passing),
    kanon_rest + kanon_before >= {{ kanon_sql.positive_int(k, "k") }} as kanon_goes
from ranked_children
{%- endmacro %}


{#
    Rests to evaluate after the check of sizes, with the number of children taken back so far: as
    few as leave the rest empty or with at least `k` records.
#}
{% macro rests_to_judge(ranked, k) %}
select
    kanon_class,
    kanon_qi,
    min(kanon_passing) as kanon_passing,
    coalesce(
        min(kanon_rank - 1) filter (
            where kanon_rest = 0 or kanon_rest + kanon_before >= {{ kanon_sql.positive_int(k, "k") }}
        ),
        min(kanon_passing)
    ) as kanon_taken,
    min(kanon_rest) as kanon_rest
from {{ ranked }}
group by all
{%- endmacro %}


{# Records of the rests that have taken back this many children, and up to `batch` - 1 more. #}
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
left join {{ ranked }} as ranked using (kanon_class, kanon_qi, kanon_place)
inner join taken
    on taken.kanon_class = children.kanon_class
    and taken.kanon_qi = children.kanon_qi
    and coalesce(ranked.kanon_rank, 0) <= taken.kanon_taken
group by all
{%- endmacro %}


{#
    Number of children that each rest has taken back when it first passes, among those just
    evaluated. An empty rest passes.
#}
{% macro rests_that_hold(asked, rests, violating) %}
with

holding as (
    select
        kanon_class,
        kanon_qi,
        min(kanon_taken) as kanon_taken
    from {{ rests }}
    anti join (
        {{ violating | indent(8) }}
    ) as violating using (kanon_class, kanon_qi, kanon_taken)
    group by all
)

select
    asked.kanon_class,
    asked.kanon_qi,
    case when asked.kanon_rest = 0 then 0 else holding.kanon_taken end as kanon_taken
from {{ asked }} as asked
left join holding using (kanon_class, kanon_qi)
where asked.kanon_rest = 0 or holding.kanon_taken is not null
{%- endmacro %}


{# Rests that passed with none of these; they take back more while a child is left. #}
{% macro rests_still_to_judge(asked, held, batch) %}
select * replace (kanon_taken + {{ kanon_sql.positive_int(batch, "batch") }} as kanon_taken)
from {{ asked }} as asked
anti join {{ held }} as held using (kanon_class, kanon_qi)
where asked.kanon_taken + {{ kanon_sql.positive_int(batch, "batch") }} < asked.kanon_passing
{%- endmacro %}


{# Children to move after their rests were evaluated: those that the rest has not taken back. #}
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
    Split of each class: by the quasi-identifier with the largest gain, the first one in a tie. One
    row for each new class, numbered from `first`: the moved children, and the rest (without a place
    of its own).

    `factors` make gains of different quasi-identifiers comparable as integers. `offer_type` holds
    every offer times the number of quasi-identifiers: one comparison covers the offer and its
    quasi-identifier. With `closing`, only some of the `judged` children move, and each part lists
    the quasi-identifiers with passing children of its class. No other quasi-identifier can ever
    split the class or its parts.
#}
{% macro splits(judged, factors, first, offer_type, closing=false) %}
{% set many = factors | length %}
with

judged_children as (
    {{ judged | indent(4) }}
),

offers as (
    select
        kanon_class,
        kanon_qi,
        cast(sum({{ "case when kanon_goes then kanon_gain end" if closing else "kanon_gain" }}) as {{ offer_type }}) * case kanon_qi
{% for factor in factors %}
            when {{ loop.index }} then cast({{ factor }} as {{ offer_type }})
{% endfor %}
        end as kanon_offer,
        cast(max(kanon_class_records) - sum({{ "case when kanon_goes then kanon_records end" if closing else "kanon_records" }}) as bigint) as kanon_left
    from judged_children
    group by
        kanon_class,
        kanon_qi
),

best_offers as (
    select
        kanon_class,
{% for factor in factors if closing %}
        bool_or(kanon_qi = {{ loop.index }}) as kanon_open_{{ loop.index }},
{% endfor %}
        max(kanon_offer * {{ many }} + {{ many }} - kanon_qi) as kanon_best
    from offers
    group by kanon_class
),

choices as (
    select
        best_offers.* exclude (kanon_best),
        offers.kanon_qi,
        offers.kanon_left
    from offers
    inner join best_offers
        on best_offers.kanon_class = offers.kanon_class
        and best_offers.kanon_best = offers.kanon_offer * {{ many }} + {{ many }} - offers.kanon_qi
),

parts as (
    select
        choices.* exclude (kanon_left),
        judged_children.kanon_place,
        judged_children.kanon_level,
        judged_children.kanon_leaves,
        judged_children.kanon_records
    from judged_children
    inner join choices using (kanon_class, kanon_qi)
{% if closing %}
    where judged_children.kanon_goes
{% endif %}

    union all by name

    select
        * exclude (kanon_left),
        kanon_left as kanon_records
    from choices
    where kanon_left > 0
)

select
    parts.*,
    cast({{ first }} - 1 + row_number() over () as integer) as kanon_part
from parts
{%- endmacro %}


{#
    Number of split classes and of their parts, with the lowest and highest level in each
    quasi-identifier.
#}
{% macro splits_in_short(splits, keys) %}
select
    count(distinct kanon_class) as kanon_split,
{% for key in keys %}
    min(case when kanon_qi = {{ loop.index }} then kanon_level end) as kanon_lowest_{{ loop.index }},
    max(case when kanon_qi = {{ loop.index }} then kanon_level end) as kanon_highest_{{ loop.index }},
{% endfor %}
    count(*) as kanon_parts
from {{ splits }}
{%- endmacro %}


{# Levels of the new classes: those of the split class, except for the moved quasi-identifier. #}
{% macro levels_of_parts(splits, class_levels, many) %}
select
    splits.kanon_part as kanon_class,
{% for place in range(1, many + 1) %}
{% for figure in ["level", "place", "leaves"] %}
    case
        when splits.kanon_qi = {{ place }} and splits.kanon_place is not null then splits.kanon_{{ figure }}
        else class_levels.kanon_{{ figure }}_{{ place }}
    end as kanon_{{ figure }}_{{ place }},
{% endfor %}
{% endfor %}
    splits.kanon_records
from {{ splits }} as splits
inner join {{ class_levels }} as class_levels using (kanon_class)
{%- endmacro %}


{#
    Combinations of the split classes, by their new class, with the labels of the next split.
    `moved` has a row for each quasi-identifier: its key, the table of its values, and its reached
    levels above 0. `closing` leaves out the labels of quasi-identifiers without a further split of
    the class.
#}
{% macro members_of_parts(members, splits, moved, carried, closing=false) %}
select
    coalesce(going.kanon_part, choices.kanon_rest_part) as kanon_class,
{% for each in moved %}
    members.{{ each.key }},
    case
{% for level in each.levels %}
        when going.kanon_qi = {{ each.number }} and going.kanon_level = {{ level }} then values_{{ each.number }}.kanon_place_{{ level - 1 }}
{% endfor %}
        when going.kanon_qi = {{ each.number }} then null
        {{ "when choices.kanon_open_" ~ each.number ~ " then" if closing else "else" }} members.kanon_next_{{ each.number }}
    end as kanon_next_{{ each.number }},
{% endfor %}
{% for column in carried %}
    members.{{ kanon_sql.alias(column) }},
{% endfor %}
    members.kanon_records
from {{ members }} as members
{% for each in moved if each.levels %}
inner join {{ each.values }} as values_{{ each.number }}
    on values_{{ each.number }}.kanon_place_0 = members.{{ each.key }}
{% endfor %}
inner join (
    select
        kanon_class,
        any_value(kanon_qi) as kanon_qi,
{% for each in moved if closing %}
        any_value(kanon_open_{{ each.number }}) as kanon_open_{{ each.number }},
{% endfor %}
        max(case when kanon_place is null then kanon_part end) as kanon_rest_part
    from {{ splits }}
    group by kanon_class
) as choices
    on choices.kanon_class = members.kanon_class
left join {{ splits }} as going
    on going.kanon_class = members.kanon_class
    and going.kanon_place = case choices.kanon_qi
{% for each in moved %}
        when {{ each.number }} then members.kanon_next_{{ each.number }}
{% endfor %}
    end
{%- endmacro %}


{# Combinations of the classes without an offer, which are final. #}
{% macro finished_members(members, splits, keys) %}
select
    kanon_class,
{% for key in keys %}
    {{ key }},
{% endfor %}
    kanon_records
from {{ members }}
anti join {{ splits }} as splits using (kanon_class)
{%- endmacro %}


{# Combinations of the failing classes, without a class; no rows if `failing` is none. #}
{% macro suppressed_members(members, failing, keys) %}
select
    cast(null as integer) as kanon_class,
{% for key in keys %}
    {{ key }},
{% endfor %}
    kanon_records
from {{ members }}
{% if failing is none %}
where false
{% else %}
semi join {{ failing }} as failing using (kanon_class)
{% endif %}
{%- endmacro %}


{# Combinations of all but some classes. #}
{% macro members_without(members, classes) %}
select *
from {{ members }}
anti join {{ classes }} as classes using (kanon_class)
{%- endmacro %}


{# Number of classes, and the highest class number. #}
{% macro classes_in_short(members) %}
select
    count(distinct kanon_class) as kanon_classes,
    coalesce(max(kanon_class), 0) as kanon_last
from {{ members }}
{%- endmacro %}


{# Number of rests. #}
{% macro rests_in_short(rests) %}
select count(*) as kanon_rests
from {{ rests }}
{%- endmacro %}


{# Levels of the final classes. #}
{% macro finished_levels(all_levels, splits) %}
{% for levels in all_levels %}
select *
from {{ levels }}
{% if loop.index0 < splits | length %}
anti join {{ splits[loop.index0] }} as splits using (kanon_class)
{% endif %}
{% if not loop.last %}

union all

{% endif %}
{% endfor %}
{%- endmacro %}


{#
    Each combination with its final class, or NULL if it is suppressed. `several`: the combination
    has several rows because of the columns of a check; they are merged into one.
#}
{% macro recoded_combinations(parted, keys, several) %}
{% if several %}
select
    any_value(kanon_class) as kanon_class,
{% for key in keys %}
    {{ key }},
{% endfor %}
    cast(sum(kanon_records) as bigint) as kanon_records
from (
{% endif %}
{% for each in parted %}
select *
from {{ each }}
{% if not loop.last %}

union all

{% endif %}
{% endfor %}
{% if several %}
) as combinations
group by all
{% endif %}
{%- endmacro %}


{#
    Every label as the text in the release. `levels` has a row for each level: its quasi-identifier,
    its number, the table of the values, and their type.
#}
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


{# Released classes with their levels, texts and records. #}
{% macro shown_classes(class_levels, texts, keys) %}
select
    class_levels.kanon_class,
{% for key in keys %}
    class_levels.kanon_level_{{ loop.index }},
    texts_{{ loop.index }}.kanon_text as kanon_shown_{{ loop.index }},
{% endfor %}
    class_levels.kanon_records
from {{ class_levels }} as class_levels
{% for key in keys %}
inner join {{ texts }} as texts_{{ loop.index }}
    on texts_{{ loop.index }}.kanon_qi = {{ loop.index }}
    and texts_{{ loop.index }}.kanon_level = class_levels.kanon_level_{{ loop.index }}
    and texts_{{ loop.index }}.kanon_place = class_levels.kanon_place_{{ loop.index }}
{% endfor %}
{%- endmacro %}


{# Released texts of each combination of raw values. #}
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
left join {{ shown }} as shown using (kanon_class)
{%- endmacro %}


{#
    Released records, each with the texts of its combination. `columns` are the published columns,
    each with the number of its quasi-identifier, or 0 if it is published unchanged.
#}
{% macro recoded_records(records, columns, raw, recodings, star=false) %}
select
{% for column in columns %}
{% set value = "recodings.kanon_shown_" ~ column.number if column.number else "records." ~ kanon_sql.ident(column) %}
{% if not column.number %}
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


{# Sizes of the released classes; classes with equal texts are one. #}
{% macro classes_as_shown(shown, keys) %}
select sum(kanon_records) as kanon_records
from {{ shown }}
group by {% for key in keys %}kanon_shown_{{ loop.index }}{{ ", " if not loop.last }}{% endfor %}
{%- endmacro %}


{# Frequency set of the raw values, with the class and the number of suppressed records of each. #}
{% macro recoded_as_marked(records, members, keys) %}
select
    held.*,
    members.kanon_class,
    case when members.kanon_class is null then held.kanon_records else 0 end as kanon_suppressed
from {{ records }} as held
inner join {{ members }} as members using ({{ keys | join(", ") }})
{%- endmacro %}


{# The same with the label and the level of one quasi-identifier in each class. #}
{% macro shown_by_class(marked, shown, qi) %}
(
    select
        marked.*,
        coalesce(shown_classes.kanon_level_{{ qi }}, 0) as kanon_level,
        shown_classes.kanon_shown_{{ qi }} as kanon_shown
    from {{ marked }} as marked
    left join {{ shown }} as shown_classes using (kanon_class)
) as shown
{%- endmacro %}


{# Parts of each class split in a round, in the order of their labels, the rest last. #}
{% macro parts_as_texts(splits, texts) %}
select
    splits.kanon_class,
    splits.kanon_part,
    splits.kanon_qi,
    splits.kanon_level,
    splits.kanon_place is null as kanon_is_rest,
    texts.kanon_text
from {{ splits }} as splits
left join {{ texts }} as texts using (kanon_qi, kanon_level, kanon_place)
order by
    splits.kanon_class,
    splits.kanon_place nulls last
{%- endmacro %}


{# Labels of each class at the start. #}
{% macro starts_as_texts(class_levels, texts, keys) %}
{% for key in keys %}
select
    class_levels.kanon_class,
    {{ loop.index }} as kanon_qi,
    texts.kanon_text
from {{ class_levels }} as class_levels
inner join {{ texts }} as texts
    on texts.kanon_qi = {{ loop.index }}
    and texts.kanon_level = class_levels.kanon_level_{{ loop.index }}
    and texts.kanon_place = class_levels.kanon_place_{{ loop.index }}
{% if not loop.last %}

union all

{% endif %}
{% endfor %}
order by
    kanon_class,
    kanon_qi
{%- endmacro %}


{# Number of parts in all rounds. #}
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
