{#
    Relations of a search for levels: materialised in the private hub, or, in a warehouse without
    temporary relations, CTEs of each statement. Every value of a quasi-identifier gets an integer
    place at each level, so that frequency sets group by integers; the records are read once, and
    each further set is rolled up from a finer one.

    LeFevre, DeWitt, Ramakrishnan 2005, Incognito: efficient full-domain k-anonymity, SIGMOD,
    section 3.1 (roll-up property) and section 2.2 (a table for each hierarchy).
#}

{# Distinct values of a column with their records. #}
{% macro column_values(relation, column, rolled_up=false) %}
select
    {{ kanon_sql.ident(column) }} as kanon_raw,
    {{ kanon_sql.records_counted(rolled_up) }} as kanon_records
from {{ relation }}
group by {{ kanon_sql.ident(column) }}
{%- endmacro %}


{# These values with their label at every level from 1 on, and their place at each level. #}
{% macro values_at_levels(relation, column, labels, rolled_up=false) %}
with

column_values as (
    {{ kanon_sql.column_values(relation, column, rolled_up) | trim | indent(4) }}
),

labelled_values as (
    select
        kanon_raw,
        kanon_records
{%- for label in labels %},
        {{ label.sql | indent(8) }} as kanon_label_{{ loop.index }}
{%- if label.exact %},
        case when {{ label.exact }} then 0 else 1 end as kanon_inexact_{{ loop.index }}
{%- endif %}
{%- endfor %}

    from column_values
{% for label in labels if label.joined %}
    {{ kanon_sql.join_labels(label.joined) | indent(4) }}
{% endfor %}
)

select
    labelled_values.*,
    cast(row_number() over (order by kanon_raw) as integer) as kanon_place_0
{%- for label in labels %},
    cast(dense_rank() over (order by kanon_label_{{ loop.index }}) as integer) as kanon_place_{{ loop.index }}
{%- endfor %}

from labelled_values
{%- endmacro %}


{#
    Summary of a quasi-identifier: number of labels at each level, number of distinct edges between
    a level and the next (equal to the labels below if the hierarchy is nested), and values and
    records without a label, or without an exact one. Places are consecutive, so the highest is the
    number of labels. An edge is packed in one integer, because not every database counts distinct
    pairs, and no level has two thousand million labels. `inexact`: levels with labels that may be
    inexact; `formats`: of dates, to count values without a first label that are such dates.
#}
{% macro values_in_short(values, height, inexact=[], formats=[]) %}
select
    count(*) as kanon_labels_0
{%- for format in formats %},
    count(*) filter (
        where kanon_label_1 is null and {{ kanon_sql.looks_like_date("kanon_raw", format) }}
    ) as kanon_like_{{ format.name }}
{%- endfor %}
{%- for level in range(1, height + 1) %}
{% set lacking = "(kanon_label_" ~ level ~ " is null or kanon_inexact_" ~ level ~ " = 1)"
    if level in inexact
    else "kanon_label_" ~ level ~ " is null" %},
    coalesce(max(kanon_place_{{ level }}), 0) as kanon_labels_{{ level }},
{% if level > 1 %}
    count(distinct cast(kanon_place_{{ level - 1 }} as bigint) * 2147483648 + kanon_place_{{ level }}) as kanon_edges_{{ level }},
{% endif %}
    coalesce(sum(case when kanon_raw is not null and {{ lacking }} then 1 else 0 end), 0) as kanon_values_without_label_{{ level }},
    coalesce(sum(case when kanon_raw is not null and {{ lacking }} then kanon_records else 0 end), 0) as kanon_records_without_label_{{ level }}
{%- endfor %}

from {{ values }}
{%- endmacro %}


{#
    Number of values of a quasi-identifier that are numbers, with the number of intervals of some
    widths they fall in, and of values that are dates or codes (digits with a leading zero).
#}
{% macro kinds_of_values(values, widths, date=none) %}
{% set text = "cast(kanon_raw as " ~ kanon_sql.text_type() ~ ")" %}
select
    count(kanon_raw) as kanon_values,
{% if date is not none %}
    count({{ date | indent(4) }}) as kanon_dates,
    coalesce(sum(
        case when {{ text }} like '0_%' and {{ text }} not like '0.%' then 1 else 0 end
    ), 0) as kanon_codes,
{% endif %}
    count({{ widths[0] | indent(4) }}) as kanon_numbers
{%- for width in widths %},
    count(distinct {{ width | indent(4) }}) as kanon_labels_{{ loop.index }}
{%- endfor %}

from {{ values }}
{%- endmacro %}


{# Frequency set of the records, with the place of the raw value of each quasi-identifier. #}
{% macro frequency_set_of_places(relation, quasi_identifiers, values, carried, rolled_up=false) %}
select
{% for column in quasi_identifiers %}
    kanon_values_{{ loop.index }}.kanon_place_0 as kanon_key_{{ loop.index }},
{% endfor %}
{% for column in carried %}
    held.{{ kanon_sql.alias(column) }},
{% endfor %}
    cast({{ "sum(held.kanon_records)" if rolled_up else "count(*)" }} as bigint) as kanon_records
from (
    select
{% for column in quasi_identifiers %}
        {{ kanon_sql.ident(column) }} as kanon_raw_{{ loop.index }}{{ "," if not loop.last or carried or rolled_up }}
{% endfor %}
{% for column in carried %}
        {{ kanon_sql.ident(column) }} as {{ kanon_sql.alias(column) }}{{ "," if not loop.last or rolled_up }}
{% endfor %}
{% if rolled_up %}
        kanon_records
{% endif %}
    from {{ relation | indent(4) }}
) as held
{% for column in quasi_identifiers %}
inner join {{ values[loop.index0] }} as kanon_values_{{ loop.index }}
    on {{ kanon_sql.same("kanon_values_" ~ loop.index ~ ".kanon_raw", "held.kanon_raw_" ~ loop.index) }}
{% endfor %}
group by
{% for column in quasi_identifiers %}
    kanon_values_{{ loop.index }}.kanon_place_0{{ "," if not loop.last or carried }}
{% endfor %}
{{ kanon_sql.aliases_in("held", carried) }}
{%- endmacro %}


{#
    Rolls a finer frequency set up: some keys move from their place at one level to the place at
    another.
#}
{% macro set_rolled_up(finer, keys, moves, carried) %}
select
{% for key in keys %}
    {{ "moved_" ~ key ~ ".kanon_to" if key in moves else "finer." ~ key }} as {{ key }},
{% endfor %}
{% for column in carried %}
    finer.{{ kanon_sql.alias(column) }},
{% endfor %}
    cast(sum(finer.kanon_records) as bigint) as kanon_records
from {{ finer }} as finer
{% for key, move in moves.items() %}
inner join (
    select distinct
        kanon_place_{{ move.start }} as kanon_from,
        kanon_place_{{ move.end }} as kanon_to
    from {{ move.values }}
) as moved_{{ key }}
    on moved_{{ key }}.kanon_from = finer.{{ key }}
{% endfor %}
group by
{% for key in keys %}
    {{ "moved_" ~ key ~ ".kanon_to" if key in moves else "finer." ~ key }}{{ "," if not loop.last or carried }}
{% endfor %}
{{ kanon_sql.aliases_in("finer", carried) }}
{%- endmacro %}


{# Number of violating classes and of their records. #}
{% macro violating_in_short(violating) %}
select
    count(*) as kanon_classes,
    coalesce(sum(kanon_records), 0) as kanon_records
from (
    {{ violating | indent(4) }}
) as violating_classes
{%- endmacro %}


{# Classes with released values instead of places. #}
{% macro classes_as_released(classes, quasi_identifiers, shown) %}
select
{% for column in quasi_identifiers %}
    shown_{{ loop.index }}.kanon_shown as {{ kanon_sql.alias(column) }},
{% endfor %}
    classes.*
from {{ classes }} as classes
{% for each in shown %}
inner join (
    select distinct
        kanon_place_{{ each.level }} as kanon_place,
        {{ "kanon_label_" ~ each.level if each.level else "kanon_raw" }} as kanon_shown
    from {{ each.values }}
) as shown_{{ loop.index }}
    on shown_{{ loop.index }}.kanon_place = classes.kanon_key_{{ loop.index }}
{% endfor %}
{%- endmacro %}


{# Union of several statements with the same columns, each with its number. #}
{% macro answers_together(statements) %}
{% for statement in statements %}
select
    {{ loop.index }} as kanon_question,
    answers.*
from (
    {{ statement | indent(4) }}
) as answers
{% if not loop.last %}

union all

{% endif %}
{% endfor %}
{%- endmacro %}


{# Literal rows of texts and integers, in VALUES syntax that every database reads. #}
{% macro rows_at_hand(columns, rows) %}
select
{% for column in columns %}
    {{ column }}{{ "," if not loop.last }}
{% endfor %}
from (
    values
{% for row in rows %}
        ({% for value in row %}{{ value if value is number else kanon_sql.literal(value) }}{{ ", " if not loop.last }}{% endfor %}){{ "," if not loop.last }}
{% endfor %}
) as kanon_rows ({{ columns | join(", ") }})
{%- endmacro %}


{# Count of each sensitive value in the whole table, in records or people. #}
{% macro whole_values(records, sensitive, entity=none, unknown=false) %}
select
    {{ kanon_sql.alias(sensitive) }},
    {{ "cast(sum(kanon_records) as bigint)" if entity is none else "count(distinct kanon_entity)" }} as kanon_value_total
from {{ records }}
{% if unknown %}
where {{ kanon_sql.is_known(sensitive) }}
{% endif %}
group by {{ kanon_sql.alias(sensitive) }}
{%- endmacro %}
