{#
    A reference at the nodes of a lattice: each value gets the places of its labels among those of
    the table, to be grouped at any levels. A value has no place if the table lacks its label, or if
    there is none. The people of such a value are not counted, and the population is smaller.

    Sweeney 2002, Achieving k-anonymity privacy protection using generalization and suppression,
    IJUFKS 10(5), section 2 (k-map); the levels as in lattice.sql.
#}

{# Number of people of a reference by their quasi-identifiers, entity and weight. #}
{% macro reference_set(relation, columns, others) %}
select
{% for column in columns %}
    {{ kanon_sql.ident(column) }} as kanon_referred_{{ loop.index }},
{% endfor %}
{% for column in others %}
    {{ kanon_sql.ident(column) }} as {{ kanon_sql.alias(column) }},
{% endfor %}
    count(*) as kanon_records
from {{ relation }}
group by
{% for column in columns + others %}
    {{ kanon_sql.ident(column) }}{{ "," if not loop.last }}
{% endfor %}
{%- endmacro %}


{#
    Values of a quasi-identifier in the reference with their place at each level, by label. `values`
    is the table of the released table's values, `as_text` whether the two are compared as text.
#}
{% macro referred_places(set, place, values, labels, type, own_type, as_text=false) %}
{% set here = kanon_sql.as_text("kanon_raw", own_type) if as_text else "kanon_raw" %}
{% set there = kanon_sql.as_text("kanon_raw", type) if as_text else "kanon_raw" %}
with

referred_values as (
    select distinct kanon_referred_{{ place }} as kanon_raw
    from {{ set }}
),

labelled_values as (
    select
        kanon_raw,
        {{ there }} as kanon_same
{%- for label in labels %},
        {{ label.sql | indent(8) }} as kanon_label_{{ loop.index }}
{%- endfor %}

    from referred_values
{% for label in labels if label.joined %}
    {{ kanon_sql.join_labels(label.joined) | indent(4) }}
{% endfor %}
),

own_values as (
    select
        {{ here }} as kanon_same,
        kanon_place_0 as kanon_place
    from {{ values }}
)
{%- for label in labels %},

own_labels_{{ loop.index }} as (
    select distinct
        kanon_label_{{ loop.index }} as kanon_label,
        kanon_place_{{ loop.index }} as kanon_place
    from {{ values }}
)
{%- endfor %}


select
    labelled_values.kanon_raw,
    own_values.kanon_place as kanon_place_0
{%- for label in labels %},
    case
        when labelled_values.kanon_raw is null or labelled_values.kanon_label_{{ loop.index }} is not null
        then own_labels_{{ loop.index }}.kanon_place
    end as kanon_place_{{ loop.index }}
{%- endfor %}

from labelled_values
left join own_values
    on {{ kanon_sql.same("own_values.kanon_same", "labelled_values.kanon_same") }}
{% for label in labels %}
left join own_labels_{{ loop.index }}
    on {{ kanon_sql.same(
        "own_labels_" ~ loop.index ~ ".kanon_label", "labelled_values.kanon_label_" ~ loop.index
    ) }}
{% endfor %}
{%- endmacro %}


{#
    People of a reference by their places at every level. `sets`: the quasi-identifiers with their
    key, their table of places in the reference and their highest level.
#}
{% macro reference_at_all_levels(set, sets, entity=none, weight=none) %}
select
{% for each in sets %}
{% for level in range(each.highest + 1) %}
    {{ each.values }}.kanon_place_{{ level }} as {{ each.key }}_{{ level }},
{% endfor %}
{% endfor %}
{% if entity is not none %}
    held.{{ kanon_sql.alias(entity) }} as kanon_entity
{% else %}
    cast(sum(held.kanon_records{{ " * " ~ "held.kanon_weight" if weight is not none }}) as bigint) as kanon_population
{% endif %}
from {% if weight is none %}{{ set }}{% else %}(
    select
        {{ set }}.*,
        {{ kanon_sql.weight_of(weight) }} as kanon_weight
    from {{ set }}
){% endif %} as held
{% for each in sets %}
inner join {{ each.values }} as {{ each.values }}
    on {{ kanon_sql.same(
        each.values ~ ".kanon_raw", "held.kanon_referred_" ~ loop.index
    ) }}
{% endfor %}
group by
{% for each in sets %}
{% set last = loop.last and entity is none %}
{% for level in range(each.highest + 1) %}
    {{ each.values }}.kanon_place_{{ level }}{{ "," if not (last and loop.last) }}
{% endfor %}
{% endfor %}
{% if entity is not none %}
    held.{{ kanon_sql.alias(entity) }}
{% endif %}
{%- endmacro %}


{# The number of people of the reference in each class of some nodes. #}
{% macro reference_at_nodes(nodes, keys, set, entity=none) %}
{% set people = "cast(sum(kanon_population) as bigint)" if entity is none else "count(distinct kanon_entity)" %}
{% for node in nodes %}
    select
        {{ node.number }} as kanon_at_node,
{% for key in keys %}
        {{ key }}_{{ node.levels[loop.index0] }} as {{ key }},
{% endfor %}
        {{ people }} as kanon_population
    from {{ set }}
    group by
{% for key in keys %}
        {{ key }}_{{ node.levels[loop.index0] }}{{ "," if not loop.last }}
{% endfor %}
{% if not loop.last %}
    union all
{% endif %}
{% endfor %}
{%- endmacro %}


{# Classes of a frequency set with too small a population in the reference. #}
{% macro classes_beside_reference(set, keys, referred, failing, entity=none) %}
with

{{ kanon_sql.held_classes(set, keys, entity) }},

referred_classes as (
{{ referred }}
),

both_sides as (
    select
        held_classes.*,
        coalesce(referred_classes.kanon_population, 0) as kanon_population,
        case
            when referred_classes.kanon_population > held_classes.kanon_size
            then referred_classes.kanon_population
            else held_classes.kanon_size
        end as kanon_union
    from held_classes
    left join referred_classes
{% for key in keys %}
        {{ "on" if loop.first else "and" }} referred_classes.{{ key }} = held_classes.{{ key }}
{% endfor %}
)

select
{% for key in keys %}
    {{ key }},
{% endfor %}
    kanon_records
from both_sides
where {{ failing | indent(4) }}
{%- endmacro %}
