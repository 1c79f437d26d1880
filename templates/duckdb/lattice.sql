{#
    What an optimal search asks of the nodes of a lattice, several at a time. It reads one set, in
    which each combination of raw values has its place at every level, so that a node is a choice
    of columns to group by.

    LeFevre, DeWitt, Ramakrishnan 2005, Incognito: efficient full-domain k-anonymity, SIGMOD,
    section 3.1 (roll-up property).
#}

{#
    Each combination of places with the place at every level that may be chosen. `sets` are the
    quasi-identifiers: their key, their table of values, and the highest level; `small` are the
    columns that hold few places, in which rows are compared faster.
#}
{% macro set_at_all_levels(set, sets, carried, small=[]) %}
select
{% for each in sets %}
{% for level in range(each.highest + 1) %}
{% set place = each.values ~ ".kanon_place_" ~ level %}
    {{ "cast(" ~ place ~ " as smallint)" if each.key in small else place }} as {{ each.key }}_{{ level }},
{% endfor %}
{% endfor %}
{% for column in carried %}
    held.{{ kanon_sql.alias(column) }} as {{ kanon_sql.alias(column) }},
{% endfor %}
    held.kanon_records as kanon_records
from {{ set }} as held
{% for each in sets %}
inner join {{ each.values }} as {{ each.values }}
    on {{ each.values }}.kanon_place_0 = held.{{ each.key }}
{% endfor %}
{%- endmacro %}


{# How many rows a set has. #}
{% macro rows_of_set(set) %}
select count(*) as kanon_rows
from {{ set }}
{%- endmacro %}


{#
    A coarser set of the same kind: of the classes of a node. `sets` are the quasi-identifiers, with
    the level of the node and the higher ones whose places follow from its own; they are looked up
    once there are few classes.
#}
{% macro coarser_set(set, sets, small=[]) %}
with

classes as (
    select
{% for each in sets %}
        {{ each.key }}_{{ each.level }},
{% endfor %}
        cast(sum(kanon_records) as bigint) as kanon_records
    from {{ set }}
    group by
{% for each in sets %}
        {{ each.key }}_{{ each.level }}{{ "," if not loop.last }}
{% endfor %}
)

select
{% for each in sets %}
    classes.{{ each.key }}_{{ each.level }},
{% for level in each.higher %}
{% set place = "places_" ~ each.key ~ ".kanon_place_" ~ level %}
    {{ "cast(" ~ place ~ " as smallint)" if each.key in small else place }} as {{ each.key }}_{{ level }},
{% endfor %}
{% endfor %}
    classes.kanon_records
from classes
{% for each in sets if each.higher %}
inner join (
    select distinct
        kanon_place_{{ each.level }},
{% for level in each.higher %}
        kanon_place_{{ level }}{{ "," if not loop.last }}
{% endfor %}
    from {{ each.values }}
) as places_{{ each.key }}
    on places_{{ each.key }}.kanon_place_{{ each.level }} = classes.{{ each.key }}_{{ each.level }}
{% endfor %}
{%- endmacro %}


{# The classes of some nodes, each with its records and its size: people, where an entity is set.
   Where a set is that of the node itself, its rows are the classes. #}
{% macro classes_of_nodes(nodes, entity=none) %}
{% for node in nodes %}
    select
        {{ node.number }} as kanon_node,
        {{ "kanon_records" if node.is_own else "cast(sum(kanon_records) as bigint) as kanon_records" }}{{ "," if entity is not none }}
{% if entity is not none %}
        count(distinct {{ kanon_sql.alias(entity) }}) as kanon_size
{% endif %}
    from {{ node.set }}
{% if node.columns and not node.is_own %}
    group by
{% for column in node.columns %}
        {{ column }}{{ "," if not loop.last }}
{% endfor %}
{% endif %}
{% if not loop.last %}
    union all
{% endif %}
{% endfor %}
{%- endmacro %}


{#
    How many classes each node has and how large they are, and how many of them lie below some
    sizes. The squares are those of discernibility: Bayardo and Agrawal 2005, Data privacy through
    optimal k-anonymization, ICDE, section 3.
#}
{% macro sizes_of_nodes(nodes, sizes, entity=none) %}
{% set size = "kanon_records" if entity is none else "kanon_size" %}
with

classes as (
{{ kanon_sql.classes_of_nodes(nodes, entity) }}
)

select
    kanon_node,
    count(*) as kanon_classes,
    sum(kanon_records) as kanon_records,
    sum(cast(kanon_records as {{ kanon_sql.widest_type() }}) * kanon_records) as kanon_squares
{%- for each in sizes %},
    sum(case when {{ size }} < {{ each }} then 1 else 0 end) as kanon_classes_below_{{ each }},
    sum(
        case when {{ size }} < {{ each }} then kanon_records else 0 end
    ) as kanon_records_below_{{ each }},
    sum(
        case
            when {{ size }} < {{ each }}
            then cast(kanon_records as {{ kanon_sql.widest_type() }}) * kanon_records
            else 0
        end
    ) as kanon_squares_below_{{ each }}
{%- endfor %}

from classes
group by kanon_node
{%- endmacro %}


{# The classes of some nodes with what a demand reads beside, in one set: a class is told apart by
   its node, and by its places. #}
{% macro sets_of_nodes(nodes, keys, carried) %}
{% for node in nodes %}
    select
        {{ node.number }} as kanon_at_node,
{% for key in keys %}
        {{ key }}_{{ node.levels[loop.index0] }} as {{ key }},
{% endfor %}
{% for column in carried %}
        {{ kanon_sql.alias(column) }},
{% endfor %}
        cast(sum(kanon_records) as bigint) as kanon_records
    from {{ node.set }}
    group by
{% for key in keys %}
        {{ key }}_{{ node.levels[loop.index0] }}{{ "," if not loop.last or carried }}
{% endfor %}
{% for column in carried %}
        {{ kanon_sql.alias(column) }}{{ "," if not loop.last }}
{% endfor %}
{% if not loop.last %}
    union all
{% endif %}
{% endfor %}
{%- endmacro %}


{# The classes of a set with their sizes, of people where an `entity` is given; `with_records` with
   how many records they have. #}
{% macro held_classes(set, keys, entity=none, with_records=true) -%}
held_classes as (
    select
{% for key in keys %}
        {{ key }},
{% endfor %}
{% if with_records %}
        sum(kanon_records) as kanon_records,
{% endif %}
        {{ "sum(kanon_records)" if entity is none else "count(distinct " ~ kanon_sql.alias(entity) ~ ")" }} as kanon_size
    from {{ set }}
    group by
{% for key in keys %}
        {{ key }}{{ "," if not loop.last }}
{% endfor %}
)
{%- endmacro %}


{# How many classes each node has and how large they are, where those that violate a demand are
   known: what is left below some sizes is of those that are kept. #}
{% macro sizes_of_kept(set, violating, keys, sizes, entity=none) %}
with

{{ kanon_sql.held_classes(set, keys, entity) }},

marked_classes as (
    select
        held_classes.kanon_at_node,
        held_classes.kanon_records,
        held_classes.kanon_size,
        case when violating.kanon_records is null then 0 else 1 end as kanon_violating
    from held_classes
    left join {{ violating }} as violating
{% for key in keys %}
        {{ "on" if loop.first else "and" }} violating.{{ key }} = held_classes.{{ key }}
{% endfor %}
)

select
    kanon_at_node as kanon_node,
    count(*) as kanon_classes,
    sum(cast(kanon_records as {{ kanon_sql.widest_type() }}) * kanon_records) as kanon_squares,
    sum(kanon_violating) as kanon_violating_classes,
    sum(kanon_violating * kanon_records) as kanon_violating_records,
    sum(kanon_violating * cast(kanon_records as {{ kanon_sql.widest_type() }}) * kanon_records) as kanon_violating_squares
{%- for each in sizes %},
    sum(case when kanon_violating = 0 and kanon_size < {{ each }} then kanon_records else 0 end) as kanon_records_below_{{ each }}
{%- endfor %}

from marked_classes
group by kanon_at_node
{%- endmacro %}


{# The classes of some nodes as a release has them that keeps suppressed records: those that violate
   a demand are one, of the place 0, which no value has. #}
{% macro starred_sets(set, violating, keys, carried) %}
with

starred_classes as (
    select
        held.kanon_at_node,
{% for key in keys if key != "kanon_at_node" %}
        case when violating.kanon_records is null then held.{{ key }} else 0 end as {{ key }},
{% endfor %}
{% for column in carried %}
        held.{{ kanon_sql.alias(column) }},
{% endfor %}
        held.kanon_records
    from {{ set }} as held
    left join {{ violating }} as violating
{% for key in keys %}
        {{ "on" if loop.first else "and" }} violating.{{ key }} = held.{{ key }}
{% endfor %}
)

select
{% for key in keys %}
    {{ key }},
{% endfor %}
{% for column in carried %}
    {{ kanon_sql.alias(column) }},
{% endfor %}
    cast(sum(kanon_records) as bigint) as kanon_records
from starred_classes
group by
{% for key in keys %}
    {{ key }}{{ "," if not loop.last or carried }}
{% endfor %}
{% for column in carried %}
    {{ kanon_sql.alias(column) }}{{ "," if not loop.last }}
{% endfor %}
{%- endmacro %}


{# The nodes that some classes are of. #}
{% macro nodes_of_classes(classes) %}
select distinct kanon_at_node
from (
    {{ classes | indent(4) }}
) as classes
{%- endmacro %}


{#
    What each place at each level stands for: how many leaves of the hierarchy lie under its label,
    less one, and how many records have the label. `leaves` is the table of the leaves under each
    label at each level, where a hierarchy lists them; without it they are the table's values.
#}
{% macro labels_of_levels(values, highest, leaves=none) %}
{% for level in range(highest + 1) %}
select
    {{ level }} as kanon_level,
    value_places.kanon_place_{{ level }} as kanon_place,
{% if level == 0 %}
    0 as kanon_leaves_more,
{% elif leaves is none %}
    count(*) - 1 as kanon_leaves_more,
{% else %}
    max(coalesce(leaves.kanon_leaves, 1)) - 1 as kanon_leaves_more,
{% endif %}
    cast(sum(value_places.kanon_records) as bigint) as kanon_under_label
from {{ values }} as value_places
{% if leaves is not none and level %}
left join {{ leaves }} as leaves
    on leaves.kanon_label = value_places.kanon_label_{{ level }}
    and leaves.kanon_level = {{ level }}
{% endif %}
group by value_places.kanon_place_{{ level }}
{% if not loop.last %}

union all

{% endif %}
{% endfor %}
{%- endmacro %}


{# How many records of each quasi-identifier lie at each level under labels that stand for as many
   leaves and records; `labels` are the tables of values with what `labels_of_levels` takes. #}
{% macro portions_of_levels(labels) %}
{% for each in labels %}
select
    {{ each.place }} as kanon_number,
    kanon_level,
    kanon_leaves_more,
    kanon_under_label,
    sum(kanon_under_label) as kanon_records
from (
    {{ kanon_sql.labels_of_levels(each.values, each.highest, each.leaves) | trim | indent(4) }}
) as labels_of_levels
group by
    kanon_level,
    kanon_leaves_more,
    kanon_under_label
{% if not loop.last %}

union all

{% endif %}
{% endfor %}
{%- endmacro %}


{# The classes of some nodes that are smaller than may be, with their places. #}
{% macro small_classes_of_nodes(nodes, keys, entity=none) %}
{% for node in nodes %}
    select
        {{ node.number }} as kanon_node,
{% for key in keys %}
        {{ node.levels[loop.index0] }} as {{ key }}_level,
        {{ "max" if node.constant[loop.index0] and not node.is_own }}({{ key }}_{{ node.levels[loop.index0] }}) as {{ key }},
{% endfor %}
        {{ "kanon_records" if node.is_own else "cast(sum(kanon_records) as bigint) as kanon_records" }}
    from {{ node.set }}
{% if node.columns and not node.is_own %}
    group by
{% for column in node.columns %}
        {{ column }}{{ "," if not loop.last }}
{% endfor %}
{% endif %}
    {{ "where kanon_records"
        if node.is_own
        else "having sum(kanon_records)"
        if entity is none
        else "having count(distinct " ~ kanon_sql.alias(entity) ~ ")" }} < {{ node.size }}
{% if not loop.last %}
    union all
{% endif %}
{% endfor %}
{%- endmacro %}


{# The same of classes that violate a demand, which are known. #}
{% macro violating_classes_of_nodes(nodes, keys, violating) %}
{% for node in nodes %}
    select
        kanon_at_node as kanon_node,
{% for key in keys %}
        {{ node.levels[node.places[loop.index0]] }} as {{ key }}_level,
        {{ key }},
{% endfor %}
        kanon_records
    from {{ violating }}
    where kanon_at_node = {{ node.number }}
{% if not loop.last %}
    union all
{% endif %}
{% endfor %}
{%- endmacro %}


{# What the suppressed records of some nodes have: `labels` is for each key the table of what its
   places stand for. #}
{% macro lost_by_nodes(suppressed, keys, labels) %}
with

suppressed_classes as (
{{ suppressed }}
)

select
    suppressed_classes.kanon_node as kanon_node,
    sum(suppressed_classes.kanon_records) as kanon_records
{%- for key in keys %},
    sum(
        suppressed_classes.kanon_records * labels_{{ key }}.kanon_leaves_more
    ) as kanon_leaves_more_{{ key }},
    sum(
        suppressed_classes.kanon_records * ln(labels_{{ key }}.kanon_under_label)
    ) / ln(2) as kanon_bits_{{ key }}
{%- endfor %}

from suppressed_classes
{% for key in keys %}
inner join {{ labels[loop.index0] }} as labels_{{ key }}
    on labels_{{ key }}.kanon_level = suppressed_classes.{{ key }}_level
    and labels_{{ key }}.kanon_place = suppressed_classes.{{ key }}
{% endfor %}
group by suppressed_classes.kanon_node
{%- endmacro %}
