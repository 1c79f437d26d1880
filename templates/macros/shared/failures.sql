{#
    A model as a generic test: one row of counts if it fails, no row if it passes, and a database
    error if there are no records or the check can't be evaluated on them. The error fails the run
    whatever thresholds or severity the test has. Neither rows nor errors contain a value of the
    table. Each model has a macro `<model>_failures`; the macros here are common to all of them.

    status              violated
    failures            records at risk, at least 1: the number to compare with the thresholds of
                        the test runner
    records             all records
    violating_classes   classes in violation of the model, and the records in them; NULL for a model
    violating_records   without a figure by class
    achieved            the model's measure, as in an audit's result; NULL for infinity
    model, test         in dbt: the tested model, the test, its columns and its thresholds
    columns, asked
#}

{#
    End of a test. `ctes` end with `measured`, one row of counts; `violated` is the failure
    predicate, `failures` the number of records at risk, `columns` the further columns to return.
    The other arguments describe the preconditions, and a violated one is an error. Records need an
    entity, also in the reference of `sides` and in the `earlier` release, and valid weights in the
    reference. Sensitive values must be `listed` (except NULL, if `nulls_listed`), `numbers` or
    `ordered`, `named` values must occur, and a `complete` reference must have all classes. `more` are
    errors of the caller.
#}
{% macro raise_or_count(
    ctes, violated, failures, columns,
    relation=none, entity=none, sides=none, sensitive=none, listed=none, named=none, numbers=false,
    ordered=false, complete=false, earlier=none, earlier_entity=none, more=[], nulls_listed=true
) %}
{% set relation, entity = (relation, entity) if sides is none else (sides.release, sides.entity) %}
{% set errors = [
    kanon_sql.counted_error(
        "records_without_entity", "records without an entity", "kanon_without_entity",
        kanon_sql.without_entity(relation, entity, counted=false)
    ) if entity is not none else none,
    kanon_sql.counted_error(
        "reference_without_entity", "records of the reference without an entity", "kanon_without_entity",
        kanon_sql.without_entity(sides.reference, sides.reference_entity, counted=false)
    ) if sides is not none and sides.reference_entity is not none else none,
    kanon_sql.counted_error(
        "earlier_without_entity", "records of the earlier release without an entity", "kanon_without_entity",
        kanon_sql.without_entity(earlier, earlier_entity, counted=false)
    ) if earlier_entity is not none else none,
    kanon_sql.counted_error(
        "not_a_weight", "weights of the reference that are no number of people", "kanon_not_a_weight",
        kanon_sql.not_a_weight(sides.reference, sides.reference_weight, counted=false)
    ) if sides is not none and sides.reference_weight is not none else none,
    kanon_sql.counted_error(
        "records_not_listed", "records with a value that the order does not list", "kanon_records_not_listed",
        kanon_sql.counts_of_values_not_listed(records_alone=true),
        ctes=kanon_sql.held_values(relation, sensitive, listed, unknown=nulls_listed)
    ) if listed is not none else none,
    kanon_sql.counted_error(
        "records_without_number", "records with a value that is no number below 2^53", "kanon_not_a_number",
        kanon_sql.not_a_number(relation, sensitive)
    ) if numbers else none,
    kanon_sql.counted_error(
        "records_without_order", "records with a value that is no number below 2^53, or no date where others are",
        "kanon_not_in_order", kanon_sql.not_in_order(relation, sensitive)
    ) if ordered else none,
    kanon_sql.counted_error(
        "values_that_never_occur", "named values that never occur", "kanon_never_occurring",
        kanon_sql.named_values_that_never_occur(relation, sensitive, named)
    ) if named is not none else none,
    kanon_sql.counted_error(
        "records_unmatched", "records in classes that the reference lacks", "unmatched_records",
        "select unmatched_records from measured"
    ) if complete else none,
] | reject("none") | list + more %}
{{ ctes | trim }},

{% for error in errors %}
{% if error.ctes is not none %}
{{ error.ctes | trim }},

{% endif %}
{{ error.cte }} as (
    {{ error.statement | trim | indent(4) }}
),

{% endfor %}
verdicts as (
    select
        case
            when measured.records = 0 then 'no_data'
{% for error in errors %}
            when {{ error.cte }}.{{ error.counted }} > 0 then 'error'
{% endfor %}
            when {{ violated | trim | indent(16) }} then 'violated'
            else 'holds'
        end as status,
        {{ failures | trim | indent(8) }} as at_risk,
        measured.records
{%- for column in columns %},
        measured.{{ column }}
{%- endfor %}
{%- for error in errors %},
        {{ error.cte }}.{{ error.counted }} as {{ error.cte }}
{%- endfor %}

    from measured
{% for error in errors %}
    cross join {{ error.cte }}
{% endfor %}
)

select
    status,
    case when at_risk > 1 then at_risk else 1 end as failures,
    records
{%- for column in columns %},
    {{ column }}
{%- endfor %}
{%- for detail in kanon_sql.about_the_test() %},
    {{ kanon_sql.literal(detail["text"]) }} as {{ detail["name"] }}
{%- endfor %}

from verdicts
where
    case
        when status = 'no_data' then {{ kanon_sql.raised("'kanon_sql: ' || status || ', there is no record to look at'") }}
{% for error in errors %}
        when status = 'error' and {{ error.cte }} > 0 then {{ kanon_sql.raised(kanon_sql.not_judged(error)) }}
{% endfor %}
        when status = 'violated' then 1
        else 0
    end = 1
{%- endmacro %}


{#
    A precondition: the CTE `cte` runs `statement`, which counts the offending records or values in
    its column `counted`; `are` describes them in the message, the statement reads the
    CTEs in `ctes`.
#}
{% macro counted_error(cte, are, counted, statement, ctes=none) -%}
{{ return({"cte": cte, "are": are, "counted": counted, "statement": statement, "ctes": ctes}) }}
{%- endmacro %}


{# Error message: the number of offending records or values, and what they are. #}
{% macro not_judged(error) -%}
'kanon_sql: ' || status || ', ' || cast({{ error.cte }} as {{ kanon_sql.text_type() }}) || ' {{ error.are }}'
{%- endmacro %}


{#
    End of a test that is evaluated by class: it fails if any class does. `class_ctes` end with
    `classes`.
#}
{% macro class_failures(
    class_ctes, classes, violated, achieved, relation, records="kanon_records",
    entity=none, sensitive=none, listed=none, named=none, numbers=false, ordered=false, nulls_listed=true
) %}
{% set ctes %}
with

{{ class_ctes | trim }},

measured as (
    {{ kanon_sql.counts_of_violating(violated, achieved, classes, records) | trim | indent(4) }}
)
{%- endset %}
{{ kanon_sql.raise_or_count(
    ctes,
    violated="measured.violating_classes > 0",
    failures="measured.violating_records",
    columns=["violating_classes", "violating_records", "achieved"],
    relation=relation, entity=entity, sensitive=sensitive, listed=listed, named=named, numbers=numbers,
    ordered=ordered, nulls_listed=nulls_listed
) }}
{%- endmacro %}


{# A test's number of failures alone, 0 if it passes: the figure of a check for any test runner. #}
{% macro sum_of_failures(statement) %}
select coalesce(sum(failures), 0) as failures
from (
    {{ statement | trim | indent(4) }}
) as kanon_test
{%- endmacro %}


{# Counts of the violating classes and of the records in them. #}
{% macro counts_of_violating(violated, achieved, classes, records) %}
select
    coalesce(sum({{ records }}), 0) as records,
    coalesce(sum({{ kanon_sql.flag(violated) | indent(4) }}), 0) as violating_classes,
    coalesce(sum(case when {{ violated | indent(4) }} then {{ records }} else 0 end), 0) as violating_records,
    {{ achieved }} as achieved
from {{ classes }}
{%- endmacro %}


{#
    Generic test of one sensitive model, with the statement that an audit of this model alone would
    run. `measure` is the model's figure for a class, `violated` the failure predicate, `infinite`
    the predicate of classes that fail for every threshold, `class_columns` the aggregates over the
    values of a class. `named` values must occur; with `numbers`, every value must be a number.
#}
{% macro sensitive_failures(
    relation, columns, sensitive, label, measure, violated,
    entity=none, unknown=false, needs=[], class_columns=[], infinite=none, least=false,
    named=none, numbers=false
) %}
{% set measures = [{"expression": measure | trim, "name": "kanon_" ~ label}] %}
{{ kanon_sql.class_failures(
    kanon_sql.ctes_of_sensitive_values(
        relation, columns, sensitive, entity, unknown, needs, class_columns, measures
    ),
    kanon_sql.figured_classes(measures, needs) | trim,
    violated | trim,
    kanon_sql.achieved(kanon_sql.figure(measures[0]) | trim, least, infinite),
    relation, kanon_sql.records_of_class(entity),
    entity=entity, sensitive=sensitive, named=named, numbers=numbers
) }}
{%- endmacro %}


{# Column or expression with a model's figure for a class. #}
{% macro figure_of(label, measure) -%}
{{ kanon_sql.figure({"expression": measure | trim, "name": "kanon_" ~ label}) | trim }}
{%- endmacro %}


{# Worst figure of any class; NULL if it is infinite. #}
{% macro achieved(figure, least=false, infinite=none) -%}
{% if infinite is not none -%}
case when sum({{ kanon_sql.flag(infinite | trim) }}) = 0 then max({{ figure }}) end
{%- else -%}
{{ "min" if least else "max" }}({{ figure }})
{%- endif %}
{%- endmacro %}


{# Predicate: the reference can't contain the release, so the result would be meaningless. #}
{% macro not_contained() -%}
measured.unmatched_classes + measured.exceeding_classes > 0
{%- endmacro %}


{# An expected number of records, rounded up. #}
{% macro whole_records(expected) -%}
cast(ceil({{ expected }}) as {{ kanon_sql.whole_type() }})
{%- endmacro %}
