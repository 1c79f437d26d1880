{#
    t-closeness with the hierarchical distance: values are the leaves of a tree, and the distance of
    two is the height of their lowest common ancestor divided by the height of the tree. The earth
    mover's distance moves, through the nodes of one height, half of sum |q - p| over the nodes one
    height lower less half of that sum over these nodes. Added up, it is the mean of the equal
    distances over all heights below the root: leaves, their parents, and so on.

    Li, Li, Venkatasubramanian 2007, t-closeness, ICDE, section 4 (hierarchical distance).

    `paths` has one row per leaf: the value as text, then its ancestors without the root.
#}
{% macro hierarchical_distance(
    relation, columns, sensitive, entity=none, unknown=false, paths=[], class_measures=[],
    measures=[], rolled_up=false, violating=none, flags=[], whole=none
) %}
with

{{ kanon_sql.ctes_of_hierarchical_distance(
    relation, columns, sensitive, entity, unknown, paths, class_measures, rolled_up, whole,
    counted_records=flags | length == 0
) }}
{{- kanon_sql.select_of_distances(columns, class_measures, measures, violating, entity, flags) }}
{%- endmacro %}


{# CTEs up to `classes`. #}
{% macro ctes_of_hierarchical_distance(
    relation, columns, sensitive, entity=none, unknown=false, paths=[], class_measures=[],
    rolled_up=false, whole=none, counted_records=true
) %}
{% set counted = kanon_sql.counted(entity, unknown) %}
{% set heights = range(paths[0] | length) %}
{{ kanon_sql.class_values(
    relation, columns, sensitive, entity, unknown, rolled_up, of_people=counted_records, held=counted_records
) }},

{{ kanon_sql.inline_values("paths", kanon_sql.path_columns(paths).split(","), paths) }},

-- The members of a class below each node of the tree; a value that it lacks is alone at every height.
class_nodes as (
{% for height in heights %}
    select
{{ kanon_sql.aliases_in("class_values", columns) | indent(4, first=true) }},
        {{ height }} as kanon_height,
        {{ kanon_sql.node(sensitive, height) }} as kanon_node,
        sum(class_values.{{ counted }}) as kanon_held
    from class_values
    left join paths
        on paths.kanon_node_0 = {{ kanon_sql.as_text(
            "class_values." ~ kanon_sql.alias(sensitive), kanon_sql.type_of(sensitive)
        ) }}
    group by
{{ kanon_sql.aliases_in("class_values", columns) | indent(4, first=true) }},
        {{ kanon_sql.node(sensitive, height) }}
{% if not loop.last %}

    union all

{% endif %}
{% endfor %}
),

{% if whole is not none %}
whole_nodes as (
    select
        kanon_height,
        kanon_node,
        sum(kanon_value_total) as kanon_in_all
    from (
{% for height in heights %}
        select
            {{ height }} as kanon_height,
            {{ kanon_sql.node(sensitive, height) }} as kanon_node,
            class_values.kanon_value_total
        from {{ whole }} as class_values
        left join paths
            on paths.kanon_node_0 = {{ kanon_sql.as_text(
                "class_values." ~ kanon_sql.alias(sensitive), kanon_sql.type_of(sensitive)
            ) }}
{% if not loop.last %}

        union all

{% endif %}
{% endfor %}
    ) as nodes_of_values
    group by
        kanon_height,
        kanon_node
),

{% endif %}
nodes as (
    select
        class_nodes.*,
        cast(kanon_held as {{ kanon_sql.float_type() }}) / nullif(
            sum(kanon_held) over (
                partition by
                    class_nodes.kanon_height,
{{ kanon_sql.aliases(columns) | indent(16, first=true) }}
            ),
            0
        ) as kanon_class_share,
{% if whole is none %}
        cast(sum(kanon_held) over (partition by kanon_height, kanon_node) as {{ kanon_sql.float_type() }}) / nullif(
            sum(kanon_held) over (partition by kanon_height),
            0
        ) as kanon_share
    from class_nodes
{% else %}
        {{ kanon_sql.quotient(
            "whole_nodes.kanon_in_all",
            "(select sum(kanon_value_total) from " ~ whole ~ ")"
        ) }} as kanon_share
    from class_nodes
    inner join whole_nodes
        on whole_nodes.kanon_height = class_nodes.kanon_height
        and {{ kanon_sql.same("whole_nodes.kanon_node", "class_nodes.kanon_node") }}
{% endif %}
),

-- The mean, over the heights below the root, of the class's excess over the table.
class_distances as (
    select
{{ kanon_sql.aliases(columns) | indent(4, first=true) }},
        cast(sum(
            case when kanon_class_share > kanon_share then kanon_class_share - kanon_share else 0 end
        ) as {{ kanon_sql.float_type() }}) / nullif({{ heights | length }}, 0) as kanon_distance
    from nodes
    group by
{{ kanon_sql.aliases(columns) | indent(4, first=true) }}
),

{{ kanon_sql.classes_with_distances(columns, counted, class_measures, entity, counted_records) }}
{%- endmacro %}


{# Ancestor of a value at a height; a value without a path is an ancestor of its own. #}
{% macro node(sensitive, height) -%}
coalesce(paths.kanon_node_{{ height }}, {{ kanon_sql.as_text(
    "class_values." ~ kanon_sql.alias(sensitive), kanon_sql.type_of(sensitive)
) }})
{%- endmacro %}


{# Column names of `paths`: the leaf, then one node per height. #}
{% macro path_columns(paths) -%}
{% for _ in paths[0] %}{{ "" if loop.first else "," }}kanon_node_{{ loop.index0 }}{% endfor %}
{%- endmacro %}
