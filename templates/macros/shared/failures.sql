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
    The end of a test. `ctes` end with `measured`, one row of what was found; `violated` is true
    where the model fails, `failures` says how many records that concerns, `columns` are what is
    told beside it. The other arguments say what could keep the question from being asked: records
    without an entity, weights of the reference that are none, values that a list lacks or that are
    no number, values that are `named` and never occur. An error concerns the records that have it,
    or those that the model fails where they are more; nothing is known of any record where what
    is looked for does not occur.
#}
{% macro told_failures(
    ctes, violated, failures, columns,
    relation=none, entity=none, reference=none, reference_weight=none,
    sensitive=none, listed=none, named=none, numbers=false
) %}
{% set errors = [] %}
{% if entity is not none %}
{% set errors = errors + [{
    "statement": kanon_sql.without_entity(relation, entity),
    "counted": "kanon_without_entity",
    "told": "records_without_entity",
}] %}
{% endif %}
{% if reference_weight is not none %}
{% set errors = errors + [{
    "statement": kanon_sql.not_a_weight(reference, reference_weight),
    "counted": "kanon_not_a_weight",
    "told": "not_a_weight",
}] %}
{% endif %}
{% if listed is not none %}
{% set errors = errors + [{
    "statement": kanon_sql.values_not_listed(relation, sensitive, listed, unknown=true),
    "counted": "kanon_records_not_listed",
    "told": "records_not_listed",
}] %}
{% endif %}
{% if numbers %}
{% set errors = errors + [{
    "statement": kanon_sql.not_a_number(relation, sensitive),
    "counted": "kanon_not_a_number",
    "told": "records_without_number",
}] %}
{% endif %}
{% if named is not none %}
{% set errors = errors + [{
    "statement": kanon_sql.named_values_that_never_occur(relation, sensitive, named),
    "counted": "kanon_never_occurring",
    "told": "values_that_never_occur",
    "concerns": "records",
}] %}
{% endif %}
{{ ctes | trim }},

{% for error in errors %}
{{ error.told }} as (
    {{ error.statement | trim | indent(4) }}
),

{% endfor %}
verdicts as (
    select
        case
            when measured.records = 0 then 'no_data'
{% for error in errors %}
            when {{ error.told }}.{{ error.counted }} > 0 then 'error'
{% endfor %}
            when {{ violated | trim | indent(16) }} then 'violated'
            else 'holds'
        end as status,
        {{ failures | trim }} as at_risk,
        measured.records
{%- for column in columns %},
        measured.{{ column }}
{%- endfor %}
{%- for error in errors %},
        {{ error.told }}.{{ error.counted }} as {{ error.told }}
{%- endfor %}

    from measured
{% for error in errors %}
    cross join {{ error.told }}
{% endfor %}
)

select
    status,
    case
        when status = 'no_data' then 1
{% for error in errors %}
{% set concerns = error.concerns | default(error.told) %}
        when {{ error.told }} > 0 and {{ concerns }} > coalesce(at_risk, 0) then {{ concerns }}
{% endfor %}
        when at_risk > 1 then at_risk
        else 1
    end as failures,
    records
{%- for column in columns %},
    {{ column }}
{%- endfor %}
{%- for error in errors %},
    {{ error.told }}
{%- endfor %}

from verdicts
where status <> 'holds'
{%- endmacro %}


{# The end of a test on classes: it fails where any class does. #}
{% macro class_failures(
    statement, label, achieved, relation,
    entity=none, sensitive=none, listed=none, named=none, numbers=false
) %}
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
{{ kanon_sql.told_failures(
    ctes,
    violated="measured.violating_classes > 0",
    failures="measured.violating_records",
    columns=["violating_classes", "violating_records", "achieved"],
    relation=relation, entity=entity, sensitive=sensitive, listed=listed, named=named, numbers=numbers
) }}
{%- endmacro %}


{#
    The test of one model of sensitive values: the statement of an audit that asks nothing else.
    `measure` is what the model says of a class, `violated` whether the class fails it, `infinite`
    whether no threshold would do, `class_columns` what is measured over the values of the class,
    an expression of one line or several and at the end of the last ` as kanon_` with its name;
    `named` are values that must occur, and with `numbers` every value must be one.
#}
{% macro sensitive_failures(
    relation, columns, sensitive, label, measure, violated,
    entity=none, unknown=false, needs=[], class_columns="", infinite=none, least=false,
    named=none, numbers=false
) %}
{% set asked = namespace(columns=[], lines=[]) %}
{% for line in class_columns.split("\n") if line | trim %}
{% set asked.lines = asked.lines + [line] %}
{% set parts = (asked.lines | join("\n") | trim).split(" as kanon_") %}
{% if parts | length > 1 and parts[-1].replace("_", "").isalnum() %}
{% set asked.columns = asked.columns + [{
    "expression": parts[:-1] | join(" as kanon_"),
    "name": "kanon_" ~ parts[-1],
}] %}
{% set asked.lines = [] %}
{% endif %}
{% endfor %}
{% set verdicts = [{"expression": kanon_sql.flag(violated | trim), "name": "kanon_" ~ label ~ "_violated"}] %}
{% set told = [
    kanon_sql.worst_class(least, label),
    kanon_sql.flagged_classes(label ~ "_violated"),
    kanon_sql.flagged_records(label ~ "_violated"),
] %}
{% if infinite is not none %}
{% set verdicts = [
    {"expression": kanon_sql.flag(infinite | trim), "name": "kanon_" ~ label ~ "_infinite"}
] + verdicts %}
{% set told = [kanon_sql.flagged_classes(label ~ "_infinite")] + told %}
{% endif %}
{% set statement = kanon_sql.sensitive_values(
    relation, columns, sensitive, entity, unknown, needs,
    class_columns=asked.columns,
    class_measures=[{"expression": measure | trim, "name": "kanon_" ~ label}],
    class_verdicts=verdicts,
    measures=told
) %}
{{ kanon_sql.class_failures(
    statement, label, kanon_sql.achieved(label, least, infinite is not none), relation, entity,
    sensitive=sensitive, named=named, numbers=numbers
) }}
{%- endmacro %}


{# The worst of all classes; NULL where that is infinite. #}
{% macro achieved(label, least=false, may_be_infinite=false) -%}
{% if may_be_infinite -%}
case when sum(kanon_{{ label }}_infinite_classes) = 0 then max(kanon_{{ label }}) end
{%- else -%}
{{ "min" if least else "max" }}(kanon_{{ label }})
{%- endif %}
{%- endmacro %}


{# Whether the reference can't contain the release, so that it proves nothing. #}
{% macro not_contained() -%}
measured.unmatched_classes + measured.exceeding_classes > 0
{%- endmacro %}


{# The smallest whole number of records that is no less than an expected number of them. #}
{% macro whole_records(expected) -%}
cast(ceil({{ expected }}) as {{ kanon_sql.whole_type() }})
{%- endmacro %}
