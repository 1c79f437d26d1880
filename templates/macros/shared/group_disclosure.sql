{#
    Group attribute disclosure: of a group (a cell P with N_P > 0) nearly all members fall into one
    child along a dimension, N_C >= max_share * N_P, or all but the insiders do,
    N_P - N_C <= insiders. The largest child decides both.

    ESSnet, Handbook on Statistical Disclosure Control, 2nd edition, chapter 5.2.
#}
{% macro group_disclosure(max_share=1, insiders=0) -%}
{{ kanon_sql.times("kanon_most", kanon_sql.denominator(max_share)) }} >= {{ kanon_sql.times("kanon_members", kanon_sql.numerator(max_share)) }}
    or kanon_members - kanon_most <= {{ insiders }}
{%- endmacro %}


{#
    The groups of a table, counted from its records, and those that a check finds disclosed.
    `families` pair the grouping of the children with that of their parents, along a dimension.
#}
{% macro group_counts(relation, columns, groupings, families, nodes, checks, contributor=none) %}
with

{{ kanon_sql.sets_of_cells(relation, columns, groupings, contributor) | trim }},

nodes as (
    select
{% for node in nodes %}
        {{ kanon_sql.distinct_nodes(node) }} as kanon_nodes_{{ node.name }}{{ "," if not loop.last }}
{% endfor %}
    from contributions
),

groups as (
{% for family in families %}
    select
        {{ family.dimension }} as kanon_dimension,
        parents.kanon_contributors as kanon_members,
        max(children.kanon_contributors) as kanon_most
    from (
        select *
        from cells
        where kanon_grouping = {{ family.parents }}{{ "\n            and not (" ~ family.alone ~ ")" if family.alone }}
    ) as parents
    {{ "inner" if family.keyed_by else "cross" }} join (
        select *
        from cells
        where kanon_grouping = {{ family.children }}
    ) as children
{% for column in family.keyed_by %}
        {{ "on" if loop.first else "and" }} {{ kanon_sql.same(
            "children." ~ kanon_sql.alias(column), "parents." ~ kanon_sql.alias(column)
        ) }}
{% endfor %}
{% if family.node %}
    cross join nodes
    where nodes.kanon_nodes_{{ family.node }} > 1
{% endif %}
    group by
{% for column in family.keyed_by %}
        parents.{{ kanon_sql.alias(column) }},
{% endfor %}
        parents.kanon_contributors
{% if not loop.last %}

    union all

{% endif %}
{% endfor %}
)

{{ kanon_sql.disclosed_groups(checks) | trim }}
{%- endmacro %}


{# The number of groups that each check finds disclosed, and of those with a single member. #}
{% macro disclosed_groups(checks) %}
select
    count(*) as kanon_groups
{%- for check in checks %}
{% set along = "kanon_dimension in (" ~ check.along | join(", ") ~ ")\n    and (" ~ check.disclosed ~ ")" %},
    sum({{ kanon_sql.flag(along) | indent(4) }}) as kanon_disclosed_{{ check.number }},
    sum({{ kanon_sql.flag("kanon_members = 1 and " ~ along) | indent(4) }}) as kanon_alone_{{ check.number }}
{%- endfor %}

from groups
where kanon_members > 0
{%- endmacro %}
