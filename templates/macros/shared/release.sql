{#
    A release as a chain of views: the records as they lie, then one view for each step of the
    generalisation, which replaces one column, and at the end the records that may be published.
    The raw quasi-identifiers travel beside the generalised ones as kanon_raw_<column> up to the
    last view, so that every level is read off the raw value.

    Sweeney 2002, Achieving k-anonymity privacy protection using generalization and suppression,
    International Journal of Uncertainty, Fuzziness and Knowledge-Based Systems 10(5), section 4.
#}

{# The records as they lie, without direct identifiers. #}
{% macro raw_records(relation, columns, raw, where=none, first=none) %}
select
{{ kanon_sql.names(columns) }}
{%- for column in raw %},
    {{ kanon_sql.ident(column) }} as {{ kanon_sql.ident("kanon_raw_" ~ column.name) }}
{%- endfor %}

from {{ relation }}
{%- if where is not none %}

where {{ where }}
{%- endif %}
{%- if first is not none %}

limit {{ kanon_sql.positive_int(first, "first") }}
{%- endif %}
{%- endmacro %}


{#
    The same records with one column at a level; the labels of a large hierarchy are joined, and
    the start of an interval is found once.
#}
{% macro generalised_records(finer, columns, raw, generalised, label, joined=none, start=none) %}
{% set records = "records." if joined is not none else "" %}
select
{% for column in columns %}
    {{ label | indent(4) ~ " as " ~ kanon_sql.ident(column)
        if column.name == generalised
        else records ~ kanon_sql.ident(column) }}{{ "," if not loop.last or raw }}
{% endfor %}
{% for column in raw %}
    {{ records }}{{ kanon_sql.ident("kanon_raw_" ~ column.name) }}{{ "," if not loop.last }}
{% endfor %}
{% if start is not none %}
from (
    select
        finer.*,
        {{ start | indent(8) }} as kanon_start
    from {{ finer }} as finer
) as records
{% else %}
from {{ finer }}{{ " as records" if joined is not none }}
{% endif %}
{% if joined is not none %}
{{ kanon_sql.join_labels(joined) }}
{% endif %}
{%- endmacro %}


{# Whether two sets are at the same class; records call its columns by their own names. #}
{% macro same_class(columns, set, other="records", other_is_set=false) -%}
{% for column in columns %}
{{ "and " if not loop.first }}{{ kanon_sql.same(
    set ~ "." ~ kanon_sql.alias(column),
    other ~ "." ~ (kanon_sql.alias(column) if other_is_set else kanon_sql.ident(column))
) }}{{ "\n" if not loop.last }}
{%- endfor %}
{%- endmacro %}


{# Every class with its size, in people where there is an entity, and its records. #}
{% macro class_counts(relation, columns, entity=none) %}
select
{{ kanon_sql.aliased_names(columns) }},
    {{ "count(*)" if entity is none else "count(distinct " ~ kanon_sql.ident(entity) ~ ")" }} as kanon_size,
    count(*) as kanon_records
from {{ relation }}
group by
{{ kanon_sql.names(columns) }}
{%- endmacro %}


{#
    Step 4 of Datafly: how many more records each class loses, so that those suppressed are none
    or at least k. The smallest classes above `least`, the size that is demanded, give first, down
    to it; where all of them together have too few, they give what they have and the first whole
    class goes too.

    `classes` holds every class with kanon_size and kanon_records, `violating` those that go.
#}
{% macro donor_classes(classes, violating, columns, k, least, also=[], by_bytes=false) %}
with

held_classes as (
    select classes.*
    from {{ classes }} as classes
    left join {{ violating }} as violating
        on {{ kanon_sql.same_class(columns, "violating", "classes", other_is_set=true) | indent(8) }}
    where violating.kanon_records is null
),

lacking as (
    select {{ kanon_sql.positive_int(k, "k") }} - sum(kanon_records) as kanon_lacking
    from {{ violating }}
),

donors as (
    select
        held_classes.*,
        kanon_size - {{ kanon_sql.positive_int(least, "least") }} as kanon_spare,
        coalesce(
            sum(kanon_size - {{ kanon_sql.positive_int(least, "least") }}) over (
                order by
                    kanon_size,
{{ kanon_sql.ascending(columns, by_bytes) | indent(16, first=true) }}
                rows between unbounded preceding and 1 preceding
            ),
            0
        ) as kanon_spare_before,
        sum(kanon_size - {{ kanon_sql.positive_int(least, "least") }}) over () as kanon_spare_in_all,
        row_number() over (
            order by
{{ kanon_sql.ascending(columns, by_bytes) | indent(12, first=true) }}
        ) as kanon_place
    from held_classes
),

donations as (
    select
{{ kanon_sql.aliases(columns) | indent(4, first=true) }},
{% for column in also %}
        {{ column }},
{% endfor %}
        case
            when kanon_spare_in_all < kanon_lacking and kanon_place = 1 then kanon_records
            when kanon_spare_before + kanon_spare <= kanon_lacking then kanon_spare
            when kanon_spare_before < kanon_lacking then kanon_lacking - kanon_spare_before
            else 0
        end as kanon_donated
    from donors
    cross join lacking
)

select
{{ kanon_sql.aliases(columns) }},
{% for column in also %}
    {{ column }},
{% endfor %}
    kanon_donated
from donations
where kanon_donated > 0
{%- endmacro %}


{# What values are in ascending order by; texts by their bytes, where that has to be said. #}
{% macro ascending(columns, by_bytes) -%}
{% for column in columns %}{{ "" if loop.first else ",\n" }}    {{ kanon_sql.in_order(kanon_sql.as_text(kanon_sql.alias(column), "ENUM") if kanon_sql.type_of(column) == "ENUM" else kanon_sql.alias(column), by_bytes and kanon_sql.type_of(column) in ("VARCHAR", "ENUM")) }}{% endfor %}
{%- endmacro %}


{# A value, or a text by its bytes. #}
{% macro in_order(value, by_bytes) -%}
{{ value }}{{ ' collate "C"' if by_bytes }}
{%- endmacro %}


{# The records of the classes that give, numbered within each from the last one on, in the order
   of all columns as text. #}
{% macro numbered_records(records, donors, columns, order, shown, by_bytes=false) %}
select
{% for name in shown %}
    records.{{ kanon_sql.ident(name) }},
{% endfor %}
    donors.kanon_donated,
    row_number() over (
        partition by
{{ kanon_sql.aliases_in("donors", columns) | indent(8, first=true) }}
        order by
{% for key in order %}
            case when records.{{ kanon_sql.ident(key.name) }} is null then 1 else 0 end desc,
            {{ kanon_sql.in_order(
                "(" ~ kanon_sql.as_text("records." ~ kanon_sql.ident(key.name), key.type) ~ ")"
                    if by_bytes
                    else kanon_sql.as_text("records." ~ kanon_sql.ident(key.name), key.type),
                by_bytes
            ) }} desc{{ "," if not loop.last }}
{% endfor %}
    ) as kanon_number
from {{ records }} as records
inner join {{ donors }} as donors
    on {{ kanon_sql.same_class(columns, "donors") | indent(4) }}
{%- endmacro %}


{#
    What may be published. The records of violating classes are left out, and so are those that a
    class gives in step 4; with `star` both stay, with `*` in every quasi-identifier. `kept_order`
    says that nobody will put them in order: those of a class that gives come numbered, in an order
    that looks at what is not published, and are put in that of what is.
#}
{% macro released_records(records, violating, columns, quasi_identifiers, star=false, donors=none, numbered=none, kept_order=false) %}
select
{{ kanon_sql.shown_or_star(columns, quasi_identifiers, "violating.kanon_records is null" if star else none) }}
from {{ records }} as records
left join {{ violating }} as violating
    on {{ kanon_sql.same_class(quasi_identifiers, "violating") | indent(4) }}
{% if donors is not none %}
left join {{ donors }} as donors
    on {{ kanon_sql.same_class(quasi_identifiers, "donors") | indent(4) }}
{% endif %}
{% if not star and donors is not none %}
where
    violating.kanon_records is null
    and donors.kanon_donated is null
{% elif not star %}
where violating.kanon_records is null
{% elif donors is not none %}
where donors.kanon_donated is null
{% endif %}
{% if donors is not none %}

union all

{% set given = kanon_sql.released_of_donors(columns, quasi_identifiers, numbered, star) %}
{% if kept_order %}
select *
from (
    {{ given | indent(4) }}
    order by
{{ kanon_sql.places(columns) | indent(4, first=true) }}
) as in_published_order
{% else %}
{{ given }}
{% endif %}
{% endif %}
{%- endmacro %}


{# What may be published of the classes that give in step 4. #}
{% macro released_of_donors(columns, quasi_identifiers, numbered, star=false) -%}
select
{{ kanon_sql.shown_or_star(
    columns, quasi_identifiers, "records.kanon_number > records.kanon_donated" if star else none
) }}
from {{ numbered }} as records
{%- if not star %}

where records.kanon_number > records.kanon_donated
{%- endif %}
{%- endmacro %}


{#
    What may be published in the order of itself: of the quasi-identifiers, then of the others.
    Records in the order of their source could be laid beside another release of it.

    Sweeney 2002, k-anonymity: a model for protecting privacy, International Journal of
    Uncertainty, Fuzziness and Knowledge-Based Systems 10(5), section 4.1 (unsorted matching).
#}
{% macro records_in_published_order(published, columns, order, by_bytes=false, embedded=true, by_flags=false) %}
select
{{ kanon_sql.names(columns) }}
from {{ published }}
order by
{{ kanon_sql.published_order(order, by_bytes, embedded, by_flags) }}
{%- endmacro %}


{# By what records are in order that shows nothing but them: values, or their texts. `by_flags` says
   that there are no words for where NULL comes. #}
{% macro published_order(columns, by_bytes=false, embedded=true, by_flags=false) -%}
{% for column in columns %}
{% set value = kanon_sql.in_order(
    kanon_sql.comparable(column, embedded and kanon_sql.type_of(column) != "ENUM"),
    by_bytes and kanon_sql.type_of(column) in ("VARCHAR", "ENUM")
) %}
    {{ "case when " ~ kanon_sql.ident(column) ~ " is null then 1 else 0 end,\n    " ~ value
        if by_flags
        else value ~ " nulls last" }}{{ ",\n" if not loop.last }}
{%- endfor %}
{%- endmacro %}


{# A value, or its text where it is not sure that a database compares the values. An ENUM is in the
   order in which somebody listed its values, which may be that of the source. #}
{% macro comparable(column, sure) -%}
{% set numbers = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "DOUBLE", "FLOAT", "REAL", "DECIMAL") %}
{% set type = kanon_sql.type_of(column) %}
{{ kanon_sql.ident(column)
    if sure or type in ("VARCHAR", "BOOLEAN", "DATE") or type.startswith(numbers) or type.startswith("TIMESTAMP")
    else kanon_sql.as_text(kanon_sql.ident(column), type) }}
{%- endmacro %}


{# How many records are alone in some columns of what is published, or how many people are in any
   of their records. #}
{% macro records_alone(relation, columns, entity=none, embedded=true) %}
select count({{ "distinct kanon_person" if entity else "*" }}) as kanon_alone
from (
    select {{ kanon_sql.only_value(kanon_sql.ident(entity)) if entity else "1" }} as kanon_person
    from {{ relation }}
    group by
{% for column in columns %}
        {{ kanon_sql.comparable(column, embedded) }}{{ "," if not loop.last }}
{% endfor %}
    having count({{ "distinct " ~ kanon_sql.ident(entity) if entity else "*" }}) = 1
) as alone
{%- endmacro %}


{#
    How many of the first records are alone among all in some columns, or how many people in any of
    these records. All that is kept are the values of the first, however many records there are.
    One column that is NULL is left out: it is of one record at most that is alone.
#}
{% macro first_alone(relation, columns, first, entity=none, embedded=true) %}
{% set one = columns[0] if columns | length == 1 else none %}
with

first_records as (
    {{ kanon_sql.first_of(relation, columns, first) | indent(4) }}
){% if not one %},

first_combinations as (
    select distinct
{% for column in columns %}
        {{ kanon_sql.comparable(column, embedded) }} as kanon_value_{{ loop.index }}{{ "," if not loop.last }}
{% endfor %}
    from first_records
),

all_records as (
    select
{% for column in columns %}
        {{ kanon_sql.comparable(column, embedded) }} as kanon_value_{{ loop.index }}{{ "," if not loop.last or entity }}
{% endfor %}
{% if entity %}
        {{ kanon_sql.ident(entity) }}
{% endif %}
    from {{ relation | indent(4) }}
)
{%- endif %}


select count({{ "distinct kanon_person" if entity else "*" }}) as kanon_alone
from (
    select {{ kanon_sql.only_value(kanon_sql.ident(entity)) if entity else "1" }} as kanon_person
{% if one %}
    from {{ relation | indent(4) }}
    where {{ kanon_sql.comparable(one, embedded) }} in (
        select {{ kanon_sql.comparable(one, embedded) }}
        from first_records
    )
    group by
        {{ kanon_sql.comparable(one, embedded) }}
{% else %}
    from first_combinations
    inner join all_records
{% for column in columns %}
        {{ "and" if loop.index > 1 else "on" }} {{ kanon_sql.same(
            "first_combinations.kanon_value_" ~ loop.index,
            "all_records.kanon_value_" ~ loop.index
        ) }}
{% endfor %}
    group by
{% for column in columns %}
        first_combinations.kanon_value_{{ loop.index }}{{ "," if not loop.last }}
{% endfor %}
{% endif %}
    having count({{ "distinct " ~ kanon_sql.ident(entity) if entity else "*" }}) = 1
) as alone
{%- endmacro %}


{# The columns by their places, so that an order says nothing that they don't. #}
{% macro places(columns) -%}
{% for column in columns %}{{ "" if loop.first else ",\n" }}    {{ loop.index }}{% endfor %}
{%- endmacro %}


{# The columns that are published; a quasi-identifier is `*` where a condition is not true. #}
{% macro shown_or_star(columns, quasi_identifiers, shown_where=none) -%}
{% for column in columns %}
{% set quasi = quasi_identifiers | selectattr("name", "equalto", column.name) | list %}
    {{ kanon_sql.text_or_star(quasi[0], shown_where)
        if shown_where is not none and quasi
        else kanon_sql.one_zero(column) }}{{ ",\n" if not loop.last }}
{%- endfor %}
{%- endmacro %}


{# A value; of floats 0 is spelled in one way, because 0 and -0 are one value of a class and would
   be told apart where they are read as text. #}
{% macro one_zero(column) -%}
{% set value = "records." ~ kanon_sql.ident(column) %}
{% if kanon_sql.type_of(column).startswith(("DOUBLE", "FLOAT", "REAL")) and not kanon_sql.type_of(column).endswith("]") -%}
case when {{ value }} = 0 then 0 else {{ value }} end as {{ kanon_sql.ident(column) }}
{%- else -%}
{{ value }}
{%- endif %}
{%- endmacro %}


{# A quasi-identifier as text, and `*` where a condition is not true. #}
{% macro text_or_star(column, shown_where) -%}
{% set value = "records." ~ kanon_sql.ident(column) %}
{% set type = kanon_sql.type_of(column) %}
case when {{ shown_where }} then {{ value
    if type == "VARCHAR"
    else kanon_sql.as_text(value, type) }} else '*' end as {{ kanon_sql.ident(column) }}
{%- endmacro %}


{# A SELECT with sets of its own, each under its name and reading those before it. #}
{% macro with_sets(sets, select) %}
with
{% for name, definition in sets %}

{{ name }} as (
    {{ definition | indent(4) }}
){{ "," if not loop.last }}
{% endfor %}

{{ select }}
{%- endmacro %}
