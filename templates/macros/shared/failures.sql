{#
    A model as a test: one row of counts where it fails, no row where it holds. No row ever holds
    a value of the table. `<model>_failures` is the macro of each model; what they share is here.

    status              no_data where there is nothing to look at, error where the question can't
                        be asked of these records, else violated
    failures            records at risk, 1 at least: what a threshold of the tool that runs the
                        test should be compared with
    records             all records looked at
    violating_classes   classes that fail the model, and the records in them; of a model that
    violating_records   judges no single class, NULL
    achieved            what the model measures, as in the result of an audit; NULL for infinity
#}

{#
    The end of a test. `summary` names the CTE of one row with what was measured, `violated` is
    true where the model fails, `failures` how many records that concerns, `columns` what is told
    of it.
#}
{% macro told_failures(ctes, violated, failures, columns, entity=none, relation=none, weights=false) %}
{{ ctes | trim }},
{% if entity is not none %}

entities as (
    {{ kanon_sql.without_entity(relation, entity) | trim | indent(4) }}
),
{% endif %}

verdicts as (
    select
        case
            when measured.records = 0 then 'no_data'
{% if entity is not none %}
            when entities.kanon_without_entity > 0 then 'error'
{% endif %}
{% if weights %}
            when weights.kanon_not_a_weight > 0 then 'error'
{% endif %}
            when {{ violated | trim | indent(16) }} then 'violated'
            else 'holds'
        end as status,
        case
            when measured.records = 0 then 1
{% if entity is not none %}
            when entities.kanon_without_entity > 0 then entities.kanon_without_entity
{% endif %}
{% if weights %}
            when weights.kanon_not_a_weight > 0 then weights.kanon_not_a_weight
{% endif %}
            when {{ failures }} > 1 then {{ failures }}
            else 1
        end as failures,
        measured.records
{%- for column in columns %},
        measured.{{ column }}
{%- endfor %}
{%- if entity is not none %},
        entities.kanon_without_entity as records_without_entity
{%- endif %}
{%- if weights %},
        weights.kanon_not_a_weight as not_a_weight
{%- endif %}

    from measured
{% if entity is not none %}
    cross join entities
{% endif %}
{% if weights %}
    cross join weights
{% endif %}
)

select
    status,
    failures,
    records
{%- for column in columns %},
    {{ column }}
{%- endfor %}
{%- if entity is not none %},
    records_without_entity
{%- endif %}
{%- if weights %},
    not_a_weight
{%- endif %}

from verdicts
where status <> 'holds'
{%- endmacro %}


{# The end of a test on classes: it fails where any class does. #}
{% macro class_failures(statement, label, achieved, entity=none, relation=none) %}
{% set ctes %}
with

classes_asked as (
    {{ statement | trim | indent(4) }}
),

measured as (
    select
        coalesce(sum(kanon_records), 0) as records,
        coalesce(sum(kanon_{{ label }}_violated_classes), 0) as violating_classes,
        coalesce(sum(kanon_{{ label }}_violated_records), 0) as violating_records,
        {{ achieved }} as achieved
    from classes_asked
)
{%- endset %}
{{ kanon_sql.told_failures(ctes, "measured.violating_classes > 0", "measured.violating_records", ["violating_classes", "violating_records", "achieved"], entity, relation) }}
{%- endmacro %}


{#
    The test of one model of sensitive values: the statement of an audit that asks nothing else.
    `measure` is what the model says of a class, `violated` whether the class fails it, `infinite`
    whether no threshold would do, `class_columns` what is measured over the values of the class.
#}
{% macro sensitive_failures(relation, columns, sensitive, label, measure, violated, entity=none, unknown=false, needs=[], class_columns="", infinite=none, least=false) %}
{% set asked = namespace(columns=[]) %}
{% for line in class_columns.split("\n") if line | trim %}
{% set parts = line.split(" as ") %}
{% set asked.columns = asked.columns + [{"expression": parts[:-1] | join(" as ") | trim, "name": parts[-1] | trim}] %}
{% endfor %}
{% set measures = [{"expression": measure | trim, "name": "kanon_" ~ label}] %}
{% set verdicts = [{"expression": kanon_sql.flag(violated | trim), "name": "kanon_" ~ label ~ "_violated"}] %}
{% set infinity = [{"expression": kanon_sql.flag(infinite | trim), "name": "kanon_" ~ label ~ "_infinite"}] if infinite is not none else [] %}
{% set told = [kanon_sql.worst_class(least, label), kanon_sql.flagged_classes(label ~ "_violated"), kanon_sql.flagged_records(label ~ "_violated")] %}
{% set told_infinity = [kanon_sql.flagged_classes(label ~ "_infinite")] if infinite is not none else [] %}
{% set statement = kanon_sql.sensitive_values(relation, columns, sensitive, entity, unknown, needs, asked.columns, measures, infinity + verdicts, told_infinity + told) %}
{{ kanon_sql.class_failures(statement, label, kanon_sql.achieved(label, least, infinite is not none), entity, relation) }}
{%- endmacro %}


{# The worst of all classes; NULL where that is infinite. #}
{% macro achieved(label, least=false, may_be_infinite=false) -%}
{% if may_be_infinite -%}
case when sum(kanon_{{ label }}_infinite_classes) = 0 then max(kanon_{{ label }}) end
{%- else -%}
{{ "min" if least else "max" }}(kanon_{{ label }})
{%- endif %}
{%- endmacro %}


{#
    What the classes of a release say together beside a reference, as `measured`, and where the
    reference has weights those that are none, as `weights`. `figures` are more of its columns.
#}
{% macro measured_beside_reference(statement, figures, reference, reference_weight=none) %}
with

{% if reference_weight is not none %}
weights as (
    {{ kanon_sql.not_a_weight(reference, reference_weight) | trim | indent(4) }}
),

{% endif %}
matched_classes as (
    {{ statement | trim | indent(4) }}
),

measured as (
    select
        coalesce(kanon_records, 0) as records,
{% for figure in figures %}
        {{ figure }},
{% endfor %}
        kanon_unmatched_classes as unmatched_classes,
        kanon_unmatched_records as unmatched_records,
        kanon_exceeding_classes as exceeding_classes,
        matched_classes.*
    from matched_classes
)
{%- endmacro %}


{# Whether the reference can't contain the release, so that it proves nothing. #}
{% macro not_contained() -%}
measured.unmatched_classes + measured.exceeding_classes > 0
{%- endmacro %}


{# The smallest whole number of records that is no less than an expected number of them. #}
{% macro whole_records(expected) -%}
cast(ceil({{ expected }}) as {{ kanon_sql.whole_type() }})
{%- endmacro %}
