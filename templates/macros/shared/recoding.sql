{#
    A local recoding as a chain of views: the records with the labels of all levels beside them,
    then the levels at which each is published, found by walking through the classes as the search
    split them, and at the end the records at these levels.

    The levels are one text, with as many digits for each quasi-identifier.

    Fung, Wang, Yu 2005, Top-down specialization for information and privacy preservation, ICDE;
    that what can't go stays together, as a rest, is a rule of this project.
#}

{# The records with labels beside them, and the class of each before the first round: the only
   class, or the one of its labels. #}
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


{# The value of the first case whose labels a record has. #}
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


{# The records with their levels, where the classes are few: the first one that fits is theirs. #}
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
    One round. A class that is split says by which label, and `parts` has what it becomes for each
    label that leaves it and for the rest; a class that isn't split stays what it is.
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


{# What a round makes of each class, where a seed of a dbt project has that of every round: its
   labels begin with `to`, so that nobody takes one of digits alone for a number. #}
{% macro parts_in_seed(seed, number) -%}
(
    select
        kanon_value,
        substring(kanon_label, 4) as kanon_label
    from {{ seed }}
    where kanon_round = {{ number }}
)
{%- endmacro %}


{# What may be published: each record at its levels. Those without any are suppressed. #}
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


{# A raw value as the text that a release shows. #}
{% macro raw_as_text(value, type) -%}
{{ kanon_sql.as_text(value, type) }}
{%- endmacro %}
