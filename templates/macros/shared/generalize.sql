{#
    A value at a level of its generalisation hierarchy. Every expression reads the raw value and
    returns text; NULL stays NULL at all levels except suppression, which gives `*`.

    Sweeney 2002, Achieving k-anonymity privacy protection using generalization and suppression,
    International Journal of Uncertainty, Fuzziness and Knowledge-Based Systems 10(5), section 3.

    A number is `whole`, `wide` (an integer of 64 bits or more), `decimal` or `float`. A float is
    compared with the float nearest to an interval's end, so that 0.3 lies in [0.3,0.4): the
    quotient of a float and a whole number never rounds up to a whole number.
#}

{# Number (or date) of a value; text is cast, and NULL if it can't be. #}
{% macro number_of(value, is_text) -%}
{{ kanon_sql.cast_or_null(value, kanon_sql.float_type()) if is_text else value }}
{%- endmacro %}


{# DuckDB's casts round nanoseconds, so that the last one of a day would fall on the next. #}
{% macro date_of(value, type) -%}
{% if type == "DATE" -%}
{{ value }}
{%- elif type == "TIMESTAMP WITH TIME ZONE" -%}
cast({{ value }} at time zone 'UTC' as date)
{%- elif type == "TIMESTAMPTZ_NS" -%}
cast(strftime({{ value }} at time zone 'UTC', '%Y-%m-%d') as date)
{%- elif type == "TIMESTAMP_NS" -%}
cast(strftime({{ value }}, '%Y-%m-%d') as date)
{%- elif type.startswith("TIMESTAMP") -%}
cast({{ value }} as date)
{%- else -%}
{{ kanon_sql.cast_or_null(value, "date") }}
{%- endif %}
{%- endmacro %}


{% macro text_of(value, type) -%}
{{ kanon_sql.as_text(value, type) }}
{%- endmacro %}


{% macro as_float(number) -%}
cast({{ number }} as {{ kanon_sql.float_type() }})
{%- endmacro %}


{# Predicate: the float is NULL, NaN or infinite, and so in no interval. #}
{% macro not_finite(number) -%}
{{ number }} is null or not abs({{ number }}) <= 1.7976931348623157e308
{%- endmacro %}


{% macro date_literal(text) -%}
cast({{ kanon_sql.literal(text) }} as date)
{%- endmacro %}


{# Number or date clipped to bounds, either of which may be none. #}
{% macro clipped(number, kind, low, high) -%}
case
{%- if kind == "float" %} when {{ kanon_sql.not_finite(number) }} then null{% endif %}
{%- if low is not none %} when {{ number }} < {{ low }} then {{ low }}{% endif %}
{%- if high is not none %} when {{ number }} > {{ high }} then {{ high }}{% endif %} else {{ number }} end
{%- endmacro %}


{# Predicate: a double represents this integer exactly. #}
{% macro held_exactly(number) -%}
abs({{ number }}) <= 9007199254740992
{%- endmacro %}


{# The label if the predicate holds, else NULL. #}
{% macro where_exact(exact, label) -%}
case
    when {{ exact }}
    then {{ label | indent(4) }}
end
{%- endmacro %}


{# Integer type for arithmetic on numbers of this kind without overflow. #}
{% macro whole_type_of(kind) -%}
{{ kanon_sql.widest_type() if kind in ("wide", "decimal") else kanon_sql.whole_type() }}
{%- endmacro %}


{# Floor of a number in units of 10^-digits; a float for floats. #}
{% macro floor_in_units(number, kind, digits) -%}
{% set units = 10 ** digits %}
{% if kind == "year" -%}
{{ number }}
{%- elif kind == "whole" or kind == "wide" -%}
{{ kanon_sql.cast_or_null(number, kanon_sql.whole_type_of("wide" if digits else kind)) }}{{ " * " ~ units if digits }}
{%- elif kind == "decimal" -%}
{{ kanon_sql.cast_or_null("floor(" ~ number ~ (" * " ~ units if digits else "") ~ ")", kanon_sql.whole_type_of(kind)) }}
{%- elif digits == 0 -%}
floor({{ number }})
{%- else -%}
{% set nearest = "round(" ~ number ~ " * " ~ units ~ ")" %}
{{ nearest }} - case when {{ kanon_sql.quotient(nearest, units) }} > {{ number }} then 1 else 0 end
{%- endif %}
{%- endmacro %}


{#
    Start of a number's interval, in units. The second mod is for negative numbers, whose first mod
    is negative. A floored quotient would be a float, so it is used for floats only.
#}
{% macro start_in_units(number, kind, width, origin, digits) -%}
{% set units = kanon_sql.floor_in_units(number, kind, digits) %}
{% if kind == "float" -%}
{% set from_origin = units ~ " - " ~ origin if origin else number if digits == 0 else units %}
floor({{ kanon_sql.quotient(from_origin, width) }}) * {{ width }}{{ " + " ~ origin if origin }}
{%- else -%}
{{ units }} - mod(mod({{ units }}{{ " - " ~ origin if origin }}, {{ width }}) + {{ width }}, {{ width }})
{%- endif %}
{%- endmacro %}


{# Number of units as plain digits. #}
{% macro units_as_text(units, kind, digits) -%}
{% set whole = kanon_sql.cast_or_null(units, kanon_sql.whole_type())
    if kind == "float"
    else "(" ~ units ~ ")" if digits else units %}
cast({{ whole }}{{ " * 0." ~ "0" * (digits - 1) ~ "1" if digits }} as {{ kanon_sql.text_type() }})
{%- endmacro %}


{#
    Interval [a, a + width) of a number, in units; one interval starts at `origin`. `start` is the
    column with the start, if computed before.
#}
{% macro interval(number, kind, width, origin=0, digits=0, start=none) -%}
{% set start = start or kanon_sql.start_in_units(number, kind, width, origin, digits) %}
'[' || {{ kanon_sql.units_as_text(start, kind, digits) }}
|| ',' || {{ kanon_sql.units_as_text(start ~ " + " ~ width, kind, digits) }}
|| ')'
{%- endmacro %}


{# Number truncated toward zero to a multiple of a step. #}
{% macro truncated(number, kind, step) -%}
{% set units = kanon_sql.toward_zero(number, kind) %}
cast({{ units }}{{ " - mod(" ~ units ~ ", " ~ step ~ ")" if step > 1 }} as {{ kanon_sql.text_type() }})
{%- endmacro %}


{% macro toward_zero(number, kind) -%}
{% if kind == "whole" or kind == "wide" -%}
{{ kanon_sql.cast_or_null(number, kanon_sql.whole_type_of(kind)) }}
{%- else -%}
{{ kanon_sql.cast_or_null(
    "case when " ~ number ~ " < 0 then ceil(" ~ number ~ ") else floor(" ~ number ~ ") end",
    kanon_sql.whole_type_of(kind)
) }}
{%- endif %}
{%- endmacro %}


{# Interval between two cuts; the first and the last are open-ended. #}
{% macro between_cuts(number, kind, cuts) -%}
case
{% if kind == "float" %}
    when {{ kanon_sql.not_finite(number) }} then null
{% endif %}
    when {{ number }} < {{ cuts[0] }} then '<{{ cuts[0] }}'
{% for cut in cuts[1:] %}
    when {{ number }} < {{ cut }} then '[{{ cuts[loop.index0] }},{{ cut }})'
{% endfor %}
    when {{ number }} >= {{ cuts[-1] }} then '>={{ cuts[-1] }}'
end
{%- endmacro %}


{# Top or bottom coding: one label beyond the bound, other values unchanged. #}
{% macro coded(number, kind, comparison, bound, text) -%}
case
{% if kind == "float" %}
    when {{ kanon_sql.not_finite(number) }} then null
{% endif %}
    when {{ number }} {{ comparison }} {{ bound }} then '{{ comparison }}{{ bound }}'
    else {{ text }}
end
{%- endmacro %}


{# Text padded to the longest length, with its last (or first) characters replaced by `*`. #}
{% macro masked(text, side, masked, longest) -%}
{% if side == "right" -%}
{{ kanon_sql.pad_right(kanon_sql.prefix(text, longest - masked), longest) }}
{%- else -%}
{{ kanon_sql.pad_left(kanon_sql.suffix(text, longest - masked), longest) }}
{%- endif %}
{%- endmacro %}


{% macro prefix(text, length) -%}
substring({{ text }}, 1, {{ length }})
{%- endmacro %}


{#
    Period of a date: `2025-01-31`, `2025-01`, `2025-Q1` or `2025`. An infinite date has no quarter
    and is a period by itself.
#}
{% macro period(date, part) -%}
{% if part == "quarter" -%}
{% set year = kanon_sql.date_text(date, "year") %}
coalesce({{ year }} || '-Q' || cast(extract(quarter from {{ date }}) as {{ kanon_sql.text_type() }}), {{ year }})
{%- else -%}
{{ kanon_sql.date_text(date, part) }}
{%- endif %}
{%- endmacro %}


{# Period of several years that contains the date. #}
{% macro years(date, years) -%}
coalesce({{ kanon_sql.interval("extract(year from " ~ date ~ ")", "year", years) }}, {{ kanon_sql.date_text(date, "year") }})
{%- endmacro %}


{# Label of a value, by a CASE over the labels with their values. #}
{% macro ancestor(text, values_by_label) -%}
case
{% for label, values in values_by_label.items() %}
{% if values | length > 8 %}
    when {{ text }} in (
{% for some in values | batch(8) %}
{{ "        " }}{% for value in some %}{{ kanon_sql.literal(value) }}{{ ", " if not loop.last }}{% endfor %}{{ "," if not loop.last }}
{% endfor %}
    ) then {{ kanon_sql.literal(label) }}
{% else %}
    when {{ text }}{{ " in (" if values | length > 1 else " = " }}{% for value in values %}{{ kanon_sql.literal(value) }}{{ ", " if not loop.last }}{% endfor %}{{ ")" if values | length > 1 }} then {{ kanon_sql.literal(label) }}
{% endif %}
{% endfor %}
end
{%- endmacro %}


{# Rows of value and label, in VALUES syntax that every database reads. #}
{% macro rows_of_labels(rows) -%}
(
    select
        kanon_value,
        kanon_label
    from (
        values
{% for value, label in rows %}
            ({{ kanon_sql.literal(value) }}, {{ kanon_sql.literal(label) }}){{ "," if not loop.last }}
{% endfor %}
    ) as kanon_rows (kanon_value, kanon_label)
)
{%- endmacro %}


{# Left join of the labels; a value missing in the hierarchy gets NULL. #}
{% macro join_labels(labels) -%}
left join {{ labels.sql }} as {{ labels.name }}
    on {{ labels.name }}.kanon_value = {{ labels.key }}
{%- endmacro %}


{# Predicate: the text is no longer than the mask. #}
{% macro no_longer_than(text, longest) -%}
length({{ text }}) <= {{ longest }}
{%- endmacro %}


{# Length of the longest value of a column. #}
{% macro longest_value(relation, column) %}
select coalesce(max(length({{ kanon_sql.as_text(
    kanon_sql.ident(column), kanon_sql.type_of(column)
) }})), 0) as kanon_longest
from {{ relation }}
{%- endmacro %}


{# Hierarchy from a table, as text: the raw value, then one column per level. #}
{% macro hierarchy_rows(relation, columns) %}
select
{% for column in columns %}
    {{ kanon_sql.as_text(
        kanon_sql.ident(column), kanon_sql.type_of(column)
    ) }} as kanon_column_{{ loop.index }}{{ "," if not loop.last }}
{% endfor %}
from {{ relation }}
{%- endmacro %}


{# Values of a column without a label at this level: not a number, not a date, or not listed. #}
{% macro values_without_label(relation, column, label, joined=none, shown=false) %}
with

raw_values as (
    select
        {{ kanon_sql.ident(column) }},
        count(*) as kanon_held
    from {{ relation | indent(4) }}
    where {{ kanon_sql.ident(column) }} is not null
    group by {{ kanon_sql.ident(column) }}
),

labelled_values as (
    select
        {{ label | indent(8) }} as kanon_label,
{% if shown %}
        {{ kanon_sql.as_text("kanon_raw." ~ kanon_sql.ident(column), kanon_sql.type_of(column)) }} as kanon_value,
{% endif %}
        kanon_held
    from raw_values as kanon_raw
{% if joined is not none %}
    {{ kanon_sql.join_labels(joined) | indent(4) }}
{% endif %}
)

select
    count(*) as kanon_values,
    coalesce(sum(case when kanon_label is null then 1 else 0 end), 0) as kanon_values_without_label,
    coalesce(sum(case when kanon_label is null then kanon_held else 0 end), 0) as kanon_records_without_label
{%- if shown %},
    {{ kanon_sql.texts_in_order("case when kanon_label is null then kanon_value end", "kanon_value") }} as kanon_named_values
{%- endif %}

from labelled_values
{%- endmacro %}
