{#
    Composed checks against an earlier release at the nodes of a lattice. The crowd of a person are
    the people who are in exactly the same classes of either release; coarser levels only make
    crowds larger. A class of the table violates if anyone in it has too small a crowd. Suppressing
    all such classes leaves the other crowds intact, because the people of a crowd are in the same
    classes.

    Ganta, Kasiviswanathan, Smith 2008, Composition attacks and auxiliary information in data
    privacy, ACM KDD, section 2; the levels as in lattice.sql.
#}

{#
    Each person of an earlier release with the numbers of their classes there, as one text.
    `columns`: its quasi-identifiers. `entities`: its entity column and how it is compared.
#}
{% macro people_before(set, columns, entities) %}
with

earlier_classes as (
    select
{% for column in columns %}
        kanon_referred_{{ loop.index }},
{% endfor %}
        row_number() over (
            order by
{% for column in columns %}
                kanon_referred_{{ loop.index }}{{ "," if not loop.last }}
{% endfor %}
        ) as kanon_class
    from {{ set }}
    group by
{% for column in columns %}
        kanon_referred_{{ loop.index }}{{ "," if not loop.last }}
{% endfor %}
),

memberships as (
    select distinct
        {{ kanon_sql.cell(
            entities, "held.kanon_entity", kanon_sql.type_of(entities.reference)
        ) }} as kanon_entity,
        earlier_classes.kanon_class
    from {{ set }} as held
    inner join earlier_classes
{% for column in columns %}
{% set name = "kanon_referred_" ~ loop.index %}
        {{ "on" if loop.first else "and" }} {{ kanon_sql.same("earlier_classes." ~ name, "held." ~ name) }}
{% endfor %}
)

select
    kanon_entity,
    {{ kanon_sql.texts_in_order(
        "cast(kanon_class as " ~ kanon_sql.text_type() ~ ")", "kanon_class"
    ) }} as kanon_before
from memberships
group by kanon_entity
{%- endmacro %}


{#
    Classes of a frequency set in which someone has a crowd of fewer than k. `keys` identify its
    classes (the node is a key if there are several); `before` are the people of the earlier
    release.
#}
{% macro classes_beside_earlier(set, keys, before, entities, k) %}
{% set node = ["kanon_at_node"] if "kanon_at_node" in keys else [] %}
{% set entity = kanon_sql.alias(entities.column) %}
with

held_classes as (
    select
{% for key in keys %}
        {{ key }},
{% endfor %}
        sum(kanon_records) as kanon_records,
        row_number() over (
            order by
{% for key in keys %}
                {{ key }}{{ "," if not loop.last }}
{% endfor %}
        ) as kanon_class
    from {{ set }}
    group by
{% for key in keys %}
        {{ key }}{{ "," if not loop.last }}
{% endfor %}
),

memberships as (
    select distinct
{% for name in node %}
        held.{{ name }},
{% endfor %}
        people_before.kanon_entity,
        people_before.kanon_before,
        held_classes.kanon_class
    from {{ set }} as held
    inner join held_classes
{% for key in keys %}
        {{ "on" if loop.first else "and" }} held_classes.{{ key }} = held.{{ key }}
{% endfor %}
    inner join {{ before }} as people_before
        on people_before.kanon_entity = {{ kanon_sql.cell(
            entities, "held." ~ entity, kanon_sql.type_of(entities.column)
        ) }}
),

persons as (
    select
{% for name in node %}
        {{ name }},
{% endfor %}
        kanon_entity,
        kanon_before,
        {{ kanon_sql.texts_in_order(
            "cast(kanon_class as " ~ kanon_sql.text_type() ~ ")", "kanon_class"
        ) }} as kanon_now
    from memberships
    group by
{% for name in node %}
        {{ name }},
{% endfor %}
        kanon_entity,
        kanon_before
),

small_crowds as (
    select
        kanon_before,
        kanon_now
    from persons
    group by
        kanon_before,
        kanon_now
    having count(*) < {{ kanon_sql.positive_int(k, "k") }}
),

exposed_classes as (
    select distinct memberships.kanon_class
    from memberships
    inner join persons
        on persons.kanon_entity = memberships.kanon_entity
{% for name in node %}
        and persons.{{ name }} = memberships.{{ name }}
{% endfor %}
    inner join small_crowds
        on small_crowds.kanon_before = persons.kanon_before
        and small_crowds.kanon_now = persons.kanon_now
)

select
{% for key in keys %}
    held_classes.{{ key }},
{% endfor %}
    held_classes.kanon_records
from held_classes
inner join exposed_classes
    on exposed_classes.kanon_class = held_classes.kanon_class
{%- endmacro %}


{#
    Number of candidates of an attribute for each pair of classes, with 60 values packed in one
    integer: bit i is set if the class has the value i. Values in only one release are never
    candidates.
#}
{% macro candidates_by_bits(place) %}
numbered_values_{{ place }} as (
    select
        kanon_value,
        row_number() over (order by kanon_value) as kanon_number
    from (
        select kanon_value
        from release_values_{{ place }}

        intersect

        select kanon_value
        from earlier_values_{{ place }}
    ) as values_of_both
),
{% for side in ["release", "earlier"] %}

{{ side }}_bits_{{ place }} as (
    select
        {{ side }}_values_{{ place }}.kanon_class,
        numbered_values_{{ place }}.kanon_number // 60 as kanon_block,
        bit_or(cast(1 as bigint) << (numbered_values_{{ place }}.kanon_number % 60)) as kanon_bits
    from {{ side }}_values_{{ place }}
    inner join numbered_values_{{ place }}
        on {{ kanon_sql.same(
            "numbered_values_" ~ place ~ ".kanon_value", side ~ "_values_" ~ place ~ ".kanon_value"
        ) }}
    group by
        {{ side }}_values_{{ place }}.kanon_class,
        kanon_block
),
{% endfor %}

-- How many values of this release the earlier one leaves to a pair.
measured_pairs_{{ place }} as (
    select
        pairs.kanon_release_class,
        pairs.kanon_earlier_class,
        cast(coalesce(
            sum(bit_count(
                release_bits_{{ place }}.kanon_bits & earlier_bits_{{ place }}.kanon_bits
            )), 0
        ) as bigint) as kanon_candidates
    from pairs
    left join release_bits_{{ place }}
        on release_bits_{{ place }}.kanon_class = pairs.kanon_release_class
    left join earlier_bits_{{ place }}
        on earlier_bits_{{ place }}.kanon_class = pairs.kanon_earlier_class
        and earlier_bits_{{ place }}.kanon_block = release_bits_{{ place }}.kanon_block
    group by
        pairs.kanon_release_class,
        pairs.kanon_earlier_class
)
{%- endmacro %}
