{#
    A release as a chain of views: the source records, then one view per generalised column, and at
    the end the released records. The views before the last carry the raw quasi-identifiers as
    kanon_raw_<column>, so that every level is computed from the raw value.

    Sweeney 2002, Achieving k-anonymity privacy protection using generalization and suppression,
    International Journal of Uncertainty, Fuzziness and Knowledge-Based Systems 10(5), section 4.
#}

{#
    Source records without direct identifiers. `read_as_text`: the file was read as text, but the table
    that stands for it may have types, so raw values are cast to text.
#}
{% macro raw_records(relation, columns, raw, where=none, first=none, read_as_text=false) %}
select
{{ kanon_sql.names(columns) }}
{%- for column in raw %},
    {{ kanon_sql.as_text(kanon_sql.ident(column), kanon_sql.type_of(column))
        if read_as_text
        else kanon_sql.ident(column) }} as {{ kanon_sql.ident("kanon_raw_" ~ column.name) }}
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
    The records with one more column generalised; the labels of a large hierarchy are joined, and
    the start of an interval is computed once.
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


{# Every class with its size (people, with an entity) and its records. #}
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
    Step 4 of Datafly: how many further records each class loses, so that none or at least k records
    are suppressed. The smallest classes above `least`, the required size, give records first, down
    to that size; if all of them together have too few, they give what they can and the first whole
    class is suppressed too.

    `classes` has every class with kanon_size and kanon_records, `violating` the suppressed ones.
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


{# Ascending order of values; texts by their bytes if the collation has to be given. #}
{% macro ascending(columns, by_bytes) -%}
{% for column in columns %}{{ "" if loop.first else ",\n" }}    {{ kanon_sql.in_order(kanon_sql.as_text(kanon_sql.alias(column), "ENUM") if kanon_sql.type_of(column) == "ENUM" else kanon_sql.alias(column), by_bytes and kanon_sql.type_of(column) in ("VARCHAR", "ENUM")) }}{% endfor %}
{%- endmacro %}


{# Value, or text with the byte-order collation. #}
{% macro in_order(value, by_bytes) -%}
{{ value }}{{ ' collate "C"' if by_bytes }}
{%- endmacro %}


{#
    Records of the classes that give some, numbered in each class from the last one on, in the order
    of all columns as text.
#}
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
    Released records, without the violating classes and without the records that classes give in
    step 4; with `star`, both stay, with `*` in every quasi-identifier.
#}
{% macro released_records(records, violating, columns, quasi_identifiers, star=false, donors=none, numbered=none) %}
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

{{ kanon_sql.released_of_donors(columns, quasi_identifiers, numbered, star) }}
{% endif %}
{%- endmacro %}


{# Released records of the classes that give some in step 4. #}
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
    Released records in an order of their own: by the quasi-identifiers, then by the other columns.
    In source order they could be matched with another release of the same source.

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


{# Number of released records with an empty text, which as the name of a folder would be NULL. #}
{% macro empty_texts(relation, column) %}
select count(*) as kanon_total
from {{ relation }}
where {{ kanon_sql.ident(column) }} = ''
{%- endmacro %}


{#
    ORDER BY that depends on released values only: values, or their texts. `by_flags`: the database
    has no NULLS LAST.
#}
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


{#
    Value, or its text if the database may not compare the values. ENUM values sort in their
    declared order, which may be the order of the source.
#}
{% macro comparable(column, sure) -%}
{% set numbers = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "DOUBLE", "FLOAT", "REAL", "DECIMAL") %}
{% set type = kanon_sql.type_of(column) %}
{{ kanon_sql.ident(column)
    if sure or type in ("VARCHAR", "BOOLEAN", "DATE") or type.startswith(numbers) or type.startswith("TIMESTAMP")
    else kanon_sql.as_text(kanon_sql.ident(column), type) }}
{%- endmacro %}


{#
    Number of records that are unique on some released columns; with an entity, the people in them.
#}
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


{# Columns by position, so that the order depends on nothing else. #}
{% macro places(columns) -%}
{% for column in columns %}{{ "" if loop.first else ",\n" }}    {{ loop.index }}{% endfor %}
{%- endmacro %}


{# Released columns; a quasi-identifier is `*` unless the predicate is true. #}
{% macro shown_or_star(columns, quasi_identifiers, shown_where=none) -%}
{% for column in columns %}
{% set quasi = quasi_identifiers | selectattr("name", "equalto", column.name) | list %}
    {{ kanon_sql.text_or_star(quasi[0], shown_where)
        if shown_where is not none and quasi
        else kanon_sql.one_zero(column) }}{{ ",\n" if not loop.last }}
{%- endfor %}
{%- endmacro %}


{# Value; 0 and -0 of a float are equal in GROUP BY but differ as text, so both become 0. #}
{% macro one_zero(column) -%}
{% set value = "records." ~ kanon_sql.ident(column) %}
{% if kanon_sql.type_of(column).startswith(("DOUBLE", "FLOAT", "REAL")) and not kanon_sql.type_of(column).endswith("]") -%}
case when {{ value }} = 0 then 0 else {{ value }} end as {{ kanon_sql.ident(column) }}
{%- else -%}
{{ value }}
{%- endif %}
{%- endmacro %}


{# Quasi-identifier as text, or `*` unless the predicate is true. #}
{% macro text_or_star(column, shown_where) -%}
{% set value = "records." ~ kanon_sql.ident(column) %}
{% set type = kanon_sql.type_of(column) %}
case when {{ shown_where }} then {{ value
    if type == "VARCHAR"
    else kanon_sql.as_text(value, type) }} else '*' end as {{ kanon_sql.ident(column) }}
{%- endmacro %}


{# SELECT with CTEs, each of which may read those before it. #}
{% macro with_ctes(sets, select) %}
with
{% for name, definition in sets %}

{{ name }} as (
    {{ definition | indent(4) }}
){{ "," if not loop.last }}
{% endfor %}

{{ select }}
{%- endmacro %}
