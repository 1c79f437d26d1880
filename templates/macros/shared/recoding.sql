{#
    A local recoding as a chain of views: the records with their labels at all levels, then one view
    per round of splits, which gives each record its class, and at the end the records at the levels
    of their class.

    The levels are one text, with a fixed number of digits for each quasi-identifier.

    Fung, Wang, Yu 2005, Top-down specialization for information and privacy preservation, ICDE;
    that what can't go stays together, as a rest, is a rule of this project.
#}

{#
    Records with their labels, and their class before the first round: the only class, or the one
    with their labels.
#}
{% macro labelled_records(records, labels, first=none) %}
{% set is_single = first is not none and first | length == 1 and not first[0].conditions %}
{% if first is not none and not is_single %}
with

labelled as (
    {{ kanon_sql.records_with_labels(records, labels) | trim | indent(4) }}
)

select
    labelled.*,
    {{ kanon_sql.first_that_fits(first) | indent(4) }} as kanon_class_0
from labelled
{%- else %}
{{ kanon_sql.records_with_labels(records, labels, first[0].value if is_single else none) }}
{%- endif %}
{%- endmacro %}


{% macro records_with_labels(records, labels, class=none) %}
select
    records.*
{%- for label in labels %},
    {{ label.sql | indent(4) }} as {{ label.name }}
{%- endfor %}
{%- if class is not none %},
    {{ kanon_sql.literal(class) }} as kanon_class_0
{%- endif %}

from {{ records }} as records
{%- for label in labels if label.joined %}

{{ kanon_sql.join_labels(label.joined) }}
{%- endfor %}
{%- endmacro %}


{# Value of the first case whose labels the record has. #}
{% macro first_that_fits(cases) -%}
{% if not cases -%}
cast(null as {{ kanon_sql.text_type() }})
{%- else -%}
case
{% for each in cases if each.conditions %}
    when {% for condition in each.conditions %}{{ " and " if not loop.first }}{{ condition.name }}{{ " is null"
        if condition.label is none
        else " = " ~ kanon_sql.literal(condition.label) }}{% endfor %} then {{ kanon_sql.literal(each.value) }}
{% endfor %}
{% for each in cases if not each.conditions %}
    else {{ kanon_sql.literal(each.value) }}
{% endfor %}
end
{%- endif %}
{%- endmacro %}


{# Records with their levels by a CASE, if there are few classes; the first that fits applies. #}
{% macro levels_by_case(records, cases) %}
select
    records.*,
{% if cases | length == 1 and not cases[0].conditions %}
    {{ kanon_sql.literal(cases[0].value) }} as kanon_levels
{% else %}
    {{ kanon_sql.first_that_fits(cases) | indent(4) }} as kanon_levels
{% endif %}
from {{ records }} as records
{%- endmacro %}


{#
    One round. The name of a class that is split ends with the label column to split by; `parts`
    maps the name and the label to the new class, and the name alone to the class of the rest. Other
    classes stay unchanged.
#}
{% macro recoding_round(records, number, looks, parts) %}
with

parts as (
    select
        kanon_value,
        kanon_label
    from {{ parts | indent(4) }} as kanon_parts
)

select
    records.*,
    coalesce(going.kanon_label, rests.kanon_label, records.kanon_class_{{ number - 1 }}) as kanon_class_{{ number }}
from {{ records }} as records
left join parts as going
    on going.kanon_value = records.kanon_class_{{ number - 1 }} || case
{% for look in looks %}
        when records.kanon_class_{{ number - 1 }} like {{ kanon_sql.literal("% by " ~ look.mark) }} then coalesce('=' || records.{{ look.name }}, ' null')
{% endfor %}
    end
left join parts as rests
    on rests.kanon_value = records.kanon_class_{{ number - 1 }}
{%- endmacro %}


{#
    Splits of one round from a dbt seed that holds all rounds; its labels begin with `to`, so that
    dbt does not infer numbers from labels of digits alone.
#}
{% macro parts_in_seed(seed, number) -%}
(
    select
        kanon_value,
        substring(kanon_label, 4) as kanon_label
    from {{ seed }}
    where kanon_round = {{ number }}
)
{%- endmacro %}


{# Released records, each at its levels. A record without levels is suppressed. #}
{% macro records_at_their_levels(records, columns, levels, digits, star=false) %}
select
{% for column in columns %}
{% if not column.start %}
    {{ kanon_sql.one_zero(column) }}{{ "," if not loop.last }}
{% elif not column.shown %}
    {{ "'*'" if star else "cast(null as " ~ kanon_sql.text_type() ~ ")" }} as {{ kanon_sql.ident(column) }}{{ "," if not loop.last }}
{% else %}
    case
{% if star %}
        when records.{{ levels }} is null then '*'
{% endif %}
{% for shown in column.shown %}
        when substring(records.{{ levels }}, {{ column.start }}, {{ digits }}) = {{ kanon_sql.literal(shown.level) }} then records.{{ shown.name }}
{% endfor %}
    end as {{ kanon_sql.ident(column) }}{{ "," if not loop.last }}
{% endif %}
{% endfor %}
from {{ records }} as records
{% if not star %}
where records.{{ levels }} is not null
{% endif %}
{%- endmacro %}


{# Raw value as the text in the release. #}
{% macro raw_as_text(value, type) -%}
{{ kanon_sql.as_text(value, type) }}
{%- endmacro %}
