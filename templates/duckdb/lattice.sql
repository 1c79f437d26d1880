{#
    Statements of the optimal search, each for several nodes of the lattice. They read one frequency
    set that has the place of each combination at every level, so that a node is a choice of columns
    to group by.

    LeFevre, DeWitt, Ramakrishnan 2005, Incognito: efficient full-domain k-anonymity, SIGMOD,
    section 3.1 (roll-up property).
#}

{#
    Each combination with its place at every level in the search. `sets`: the quasi-identifiers with
    their key, their table of values and their highest level. `small`: columns with few places,
    stored as smallint for faster comparison.
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


{#
    The places that NULL and `*` have at each level of a column. NULL stays NULL below `suppress`, so
    that records with NULL, and those suppressed, can be counted by place.
#}
{% macro places_of_null_and_star(values, height) %}
select
{% for level in range(height + 1) %}
{% set value = "kanon_label_" ~ level if level else "kanon_raw" %}
{% set place = "kanon_place_" ~ level %}
    max(case when {{ value }} is null then {{ place }} end) as kanon_null_{{ level }},
    max(case when cast({{ value }} as varchar) = '*' then {{ place }} end) as kanon_star_{{ level }}{{ "," if not loop.last }}
{% endfor %}
from {{ values }}
{%- endmacro %}


{# A place, or NULL where it is the place of NULL. #}
{% macro place_or_null(place, null=none) -%}
{{ place if null is none else "nullif(" ~ place ~ ", " ~ null ~ ")" }}
{%- endmacro %}


{# Classes of some nodes, each with its records and, with an entity, its size in people. #}
{% macro classes_of_nodes(nodes, entity=none) %}
{% for node in nodes %}
    select
        {{ node.number }} as kanon_node,
        cast(sum(kanon_records) as bigint) as kanon_records{{ "," if entity is not none }}
{% if entity is not none %}
        count(distinct {{ kanon_sql.alias(entity) }}) as kanon_size
{% endif %}
    from {{ node.set }}
{% if node.columns %}
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
    Number of classes of each node, their sizes, and how many are below some sizes. The sum of
    squares is for discernibility: Bayardo and Agrawal 2005, Data privacy through optimal
    k-anonymization, ICDE, section 3.
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


{#
    Frequency set of some nodes with the further columns of a check; a class is identified by its
    node and its places.
#}
{% macro frequency_set_of_nodes(nodes, keys, carried) %}
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


{#
    CTE with the classes of a frequency set and their sizes (people, with an `entity`);
    `with_records` adds their records.
#}
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


{#
    Number of classes of each node and their sizes, with the violating classes given; the counts
    below some sizes are of the other classes.
#}
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


{#
    Leaves of the hierarchy under each label at each level, less one, and records with the label.
    `leaves` is the table with the leaves under each label if the hierarchy lists them; without it
    the leaves are the values of the table.
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


{#
    Number of records of each quasi-identifier and level, by the number of leaves and of records
    under their label; `labels` are the tables of `labels_of_levels` by number.
#}
{% macro portions_of_levels(labels) %}
{% for place, table in labels.items() %}
select
    {{ place }} as kanon_number,
    kanon_level,
    kanon_leaves_more,
    kanon_under_label,
    sum(kanon_under_label) as kanon_records
from {{ table }}
group by
    kanon_level,
    kanon_leaves_more,
    kanon_under_label
{% if not loop.last %}

union all

{% endif %}
{% endfor %}
{%- endmacro %}


{# Classes of some nodes below the required size, with their places. #}
{% macro small_classes_of_nodes(nodes, lossy, size, entity=none) %}
{% for node in nodes %}
    select
        {{ node.number }} as kanon_at_node,
{% for each in lossy %}
        {{ "max" if each.key in node.constant }}({{ each.key }}_{{ node.levels[each.number - 1] }}) as {{ each.key }},
{% endfor %}
        cast(sum(kanon_records) as bigint) as kanon_records
    from {{ node.set }}
{% if node.columns %}
    group by
{% for column in node.columns %}
        {{ column }}{{ "," if not loop.last }}
{% endfor %}
{% endif %}
    {{ "having sum(kanon_records)"
        if entity is none
        else "having count(distinct " ~ kanon_sql.alias(entity) ~ ")" }} < {{ size }}
{% if not loop.last %}
    union all
{% endif %}
{% endfor %}
{%- endmacro %}


{#
    Aggregates of the suppressed records of some nodes, by the classes in `suppressed`; `labels` has
    the table of `labels_of_levels` for each key.
#}
{% macro lost_by_nodes(suppressed, nodes, lossy, labels) %}
select
    suppressed_classes.kanon_at_node as kanon_node,
    sum(suppressed_classes.kanon_records) as kanon_records
{%- for each in lossy %},
    sum(
        suppressed_classes.kanon_records * labels_{{ each.key }}.kanon_leaves_more
    ) as kanon_leaves_more_{{ each.key }},
    sum(
        suppressed_classes.kanon_records * ln(labels_{{ each.key }}.kanon_under_label)
    ) / ln(2) as kanon_bits_{{ each.key }}
{%- endfor %}

from {{ suppressed }} as suppressed_classes
{% for each in lossy %}
inner join {{ labels[each.key] }} as labels_{{ each.key }}
    on labels_{{ each.key }}.kanon_place = suppressed_classes.{{ each.key }}
    and labels_{{ each.key }}.kanon_level = case suppressed_classes.kanon_at_node
{% for node in nodes %}
        when {{ node.number }} then {{ node.levels[each.number - 1] }}
{% endfor %}
    end
{% endfor %}
group by suppressed_classes.kanon_at_node
{%- endmacro %}
