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
    `families` pair the grouping of the children with that of their parents, along a dimension. With
    `first`, the first of those groups instead, with their labels.
#}
{% macro group_counts(cells, families, nodes, checks, first=none) %}
with

{{ kanon_sql.ctes_of_groups(cells, families, nodes, first is not none) | trim }}

{% if first is none %}
{{ kanon_sql.disclosed_groups(checks) | trim }}
{%- else %}
{{ kanon_sql.first_groups(checks, ["kanon_grouping"] + kanon_sql.aliases_of(cells.columns), first) | trim }}
{%- endif %}
{%- endmacro %}


{# CTEs up to `groups`. A node whose records have no value is one. #}
{% macro ctes_of_groups(cells, families, nodes, labelled=false) %}
{{ kanon_sql.ctes_of_cells(cells) | trim }},

nodes as (
    select
{% for node in nodes %}
        {{ kanon_sql.distinct_nodes(node) }} as kanon_nodes_{{ node.name }}{{ "," if not loop.last }}
{% endfor %}
    from cells
    where kanon_grouping = 0
),

groups as (
{% for family in families %}
    select
        {{ family.dimension }} as kanon_dimension,
{% if labelled %}
        {{ family.parents }} as kanon_grouping,
{% for column in cells.columns %}
        {{ "parents." if column in family.keyed_by else "null as " }}{{ kanon_sql.alias(column) }},
{% endfor %}
{% endif %}
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
        where kanon_grouping = {{ family.children }}{{ "\n            and " ~ family.among if family.among }}
    ) as children
{% if family.keyed_by %}
        on {{ kanon_sql.same_class(family.keyed_by, "children", "parents", other_is_set=true) | indent(8) }}
{% endif %}
    cross join nodes
    where nodes.kanon_nodes_{{ family.node }} > 1
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
{%- endmacro %}


{# Predicate: a check finds a group disclosed. #}
{% macro disclosed_along(check) -%}
{{ "kanon_dimension in (" ~ check.along | join(", ") ~ ")\n    and (" ~ check.disclosed ~ ")" }}
{%- endmacro %}


{# The first groups that a check finds disclosed. #}
{% macro first_groups(checks, labels, first) %}
select
    kanon_dimension,
    {{ labels | join(",\n    ") }},
    kanon_members,
    kanon_most
from groups
where kanon_members > 0
    and (
{% for check in checks %}
        {{ "or " if not loop.first }}({{ kanon_sql.disclosed_along(check) | indent(8) }})
{% endfor %}
    )
order by
    kanon_dimension,
    {{ labels | join(",\n    ") }}
limit {{ kanon_sql.positive_int(first, "first") }}
{%- endmacro %}


{# The number of groups that each check finds disclosed, and of those with a single member. #}
{% macro disclosed_groups(checks) %}
select
    count(*) as kanon_groups
{%- for check in checks %}
{% set along = kanon_sql.disclosed_along(check) | trim %},
    sum({{ kanon_sql.flag(along) | indent(4) }}) as kanon_disclosed_{{ check.number }},
    sum({{ kanon_sql.flag("kanon_members = 1 and " ~ along) | indent(4) }}) as kanon_alone_{{ check.number }}
{%- endfor %}

from groups
where kanon_members > 0
{%- endmacro %}


{#
    Predicate: a dimension of a published table has several values, which are the labels that are no
    `parent` of another one.
#}
{% macro has_several_values(place, parent=none) %}
(
    select count(distinct kanon_d{{ place }}) + max(case when kanon_d{{ place }} is null then 1 else 0 end)
    from published_cells
    where kanon_t{{ place }} = 0
{% if parent is not none %}
        and coalesce(kanon_d{{ place }}, '') not in (
            select {{ parent }}
            from published_cells
            where {{ parent }} is not null
        )
{% endif %}
) > 1
{%- endmacro %}


{# Generic test of group disclosure: on records, or on a mart with its counts in the column `count`. #}
{% macro group_disclosure_failures(
    relation, columns, along, max_share=1, insiders=0, contributor=none, value=none, count=none,
    dimensions=[], suppressed="1 = 0"
) %}
{% set checks = [{
    "number": 1, "disclosed": kanon_sql.group_disclosure(max_share, insiders) | trim, "along": along,
}] %}
{% set groups = namespace(families=[]) %}
{% if count is none %}
{% set groupings = kanon_sql.groupings_of(columns) %}
{% for grouping in groupings %}
{% for column in grouping.columns %}
{% set above = grouping.columns | reject("equalto", column) | list %}
{% set parents = groupings | selectattr("columns", "equalto", above) | first %}
{% set place = columns.index(column) + 1 %}
{% set groups.families = groups.families + [{
    "dimension": place, "parents": parents.number, "children": grouping.number, "keyed_by": above,
    "node": place ~ "_0", "alone": none, "among": none,
}] %}
{% endfor %}
{% endfor %}
{% else %}
{% for column in columns %}
{% set place = loop.index %}
{% set keys = namespace(others=[]) %}
{% for other in columns if other != column %}
{% set keys.others = keys.others + ["kanon_d" ~ (columns.index(other) + 1), "kanon_t" ~ (columns.index(other) + 1)] %}
{% endfor %}
{% set groups.families = groups.families + [{
    "dimension": place, "keyed_by": keys.others or ["kanon_t" ~ place], "alone": none, "children": none,
    "several": kanon_sql.has_several_values(place) | trim,
}] %}
{% endfor %}
{% endif %}
{% set ctes %}
with

{% if count is none %}
{{ kanon_sql.ctes_of_groups(
    kanon_sql.cells_of(relation, columns, groupings, contributor), groups.families, kanon_sql.nodes_of(columns)
) | trim }},
{% else %}
{{ kanon_sql.ctes_of_published(
    relation, dimensions, kanon_sql.typed_figure(value) | trim, suppressed,
    contributors=kanon_sql.typed_figure(count, 0) | trim
) | trim }},

{{ kanon_sql.cte_of_published_groups(groups.families) | trim }},
{% endif %}

counted_groups as (
    {{ kanon_sql.disclosed_groups(checks) | trim | indent(4) }}
),

measured as (
    select
        {{ kanon_sql.records_in(relation) | trim | indent(8) }} as records,
        kanon_groups as judged_groups,
        coalesce(kanon_disclosed_1, 0) as achieved,
        coalesce(kanon_alone_1, 0) as alone
    from counted_groups
)
{%- endset %}
{{ kanon_sql.raise_or_count(
    ctes,
    violated="measured.achieved > 0",
    failures="measured.achieved",
    columns=["judged_groups", "achieved", "alone"],
    more=kanon_sql.figure_errors(relation, none, contributor) if count is none
        else kanon_sql.mart_errors(relation, dimensions, value, suppressed, count) + [kanon_sql.nothing_shown()]
) }}
{%- endmacro %}


{% test group_disclosure(model) -%}
{% set arguments = kanon_sql.cell_arguments("group_disclosure", model, kwargs, {
    "along": "dimensions", "max_share": {"above": true, "most": 1, "default": 1},
    "insiders": {"whole": true, "default": 0},
}, ["by", "contributor", "value", "count", "total_label", "suppressed"]) -%}
{{ kanon_sql.tidy(kanon_sql.group_disclosure_failures(**arguments), model) }}
{%- endtest %}
