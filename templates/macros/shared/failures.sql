{#
    A model as a test: one row of counts where it fails, no row where it holds, and an error of the
    database where there is nothing to look at or the question can't be asked of these records: no
    threshold of the tool that runs the test lets that pass, nor does a test that only warns. Neither
    ever holds a value of the table. `<model>_failures` is the macro of each model; what they share
    is here.

    status              violated
    failures            records at risk, 1 at least: what a threshold of the tool that runs the
                        test should be compared with
    records             all records looked at
    violating_classes   classes that fail the model, and the records in them; of a model that
    violating_records   judges no single class, NULL
    achieved            what the model measures, as in the result of an audit; NULL for infinity
    model, test         in dbt: what was tested, by which test, on which columns, and the numbers
    columns, asked      that were asked
#}

{#
    The end of a test. `ctes` end with `measured`, one row of what was found; `violated` is true
    where the model fails, `failures` says how many records that concerns, `columns` are what is
    told beside it. The other arguments say what keeps the question from being asked: records
    without an entity, in the reference too, weights of it that are none, values that a list lacks
    or that are no number, or none that have an order, values that are `named` and never occur, and where the reference must be
    `complete` classes that it lacks; of an `earlier` release records without an entity, and what
    the caller counts itself in `more`.
#}
{% macro told_failures(
    ctes, violated, failures, columns,
    relation=none, entity=none, reference=none, reference_weight=none, reference_entity=none,
    sensitive=none, listed=none, named=none, numbers=false, ordered=false, complete=false,
    earlier=none, earlier_entity=none, more=[]
) %}
{% set errors = [
    kanon_sql.counted_error(
        "records_without_entity", "records without an entity", "kanon_without_entity",
        kanon_sql.without_entity(relation, entity, counted=false)
    ) if entity is not none else none,
    kanon_sql.counted_error(
        "reference_without_entity", "records of the reference without an entity", "kanon_without_entity",
        kanon_sql.without_entity(reference, reference_entity, counted=false)
    ) if reference_entity is not none else none,
    kanon_sql.counted_error(
        "earlier_without_entity", "records of the earlier release without an entity", "kanon_without_entity",
        kanon_sql.without_entity(earlier, earlier_entity, counted=false)
    ) if earlier_entity is not none else none,
    kanon_sql.counted_error(
        "not_a_weight", "weights of the reference that are no number of people", "kanon_not_a_weight",
        kanon_sql.not_a_weight(reference, reference_weight, counted=false)
    ) if reference_weight is not none else none,
    kanon_sql.counted_error(
        "records_not_listed", "records with a value that the order does not list", "kanon_records_not_listed",
        kanon_sql.counts_of_values_not_listed(records_alone=true),
        sets=kanon_sql.held_values(relation, sensitive, listed, unknown=true)
    ) if listed is not none else none,
    kanon_sql.counted_error(
        "records_without_number", "records with a value that is no number", "kanon_not_a_number",
        kanon_sql.not_a_number(relation, sensitive)
    ) if numbers else none,
    kanon_sql.counted_error(
        "records_without_order", "records with a value that is no number, or no date where others are",
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
{% if error.sets is not none %}
{{ error.sets | trim }},

{% endif %}
{{ error.set }} as (
    {{ error.statement | trim | indent(4) }}
),

{% endfor %}
verdicts as (
    select
        case
            when measured.records = 0 then 'no_data'
{% for error in errors %}
            when {{ error.set }}.{{ error.counted }} > 0 then 'error'
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
        {{ error.set }}.{{ error.counted }} as {{ error.set }}
{%- endfor %}

    from measured
{% for error in errors %}
    cross join {{ error.set }}
{% endfor %}
)

select
    status,
    case when at_risk > 1 then at_risk else 1 end as failures,
    records
{%- for column in columns %},
    {{ column }}
{%- endfor %}
{%- for told in kanon_sql.about_the_test() %},
    {{ kanon_sql.literal(told["text"]) }} as {{ told["name"] }}
{%- endfor %}

from verdicts
where
    case
        when status = 'no_data' then {{ kanon_sql.raised("'kanon_sql: ' || status || ', there is no record to look at'") }}
{% for error in errors %}
        when status = 'error' and {{ error.set }} > 0 then {{ kanon_sql.raised(kanon_sql.not_judged(error)) }}
{% endfor %}
        when status = 'violated' then 1
        else 0
    end = 1
{%- endmacro %}


{# What keeps a question from being asked: the CTE `set` holds the `statement`, which counts what `are`
   so in its column `counted`; `sets` are CTEs that it names. #}
{% macro counted_error(set, are, counted, statement, sets=none) -%}
{{ return({"set": set, "are": are, "counted": counted, "statement": statement, "sets": sets}) }}
{%- endmacro %}


{# Why a question can't be asked of these records: how many there are of what keeps it from that. #}
{% macro not_judged(error) -%}
'kanon_sql: ' || status || ', ' || cast({{ error.set }} as {{ kanon_sql.text_type() }}) || ' {{ error.are }}'
{%- endmacro %}


{# The end of a test on classes, of which `sets` are all that are named: it fails where any does. #}
{% macro class_failures(
    sets, classes, violated, achieved, relation, records="kanon_records",
    entity=none, sensitive=none, listed=none, named=none, numbers=false, ordered=false
) %}
{% set ctes %}
with

{{ sets | trim }},

measured as (
    {{ kanon_sql.counts_of_violating(violated, achieved, classes, records) | trim | indent(4) }}
)
{%- endset %}
{{ kanon_sql.told_failures(
    ctes,
    violated="measured.violating_classes > 0",
    failures="measured.violating_records",
    columns=["violating_classes", "violating_records", "achieved"],
    relation=relation, entity=entity, sensitive=sensitive, listed=listed, named=named, numbers=numbers,
    ordered=ordered
) }}
{%- endmacro %}


{# How many classes fail, and the records in them. #}
{% macro counts_of_violating(violated, achieved, classes, records) %}
select
    coalesce(sum({{ records }}), 0) as records,
    coalesce(sum({{ kanon_sql.flag(violated) | indent(4) }}), 0) as violating_classes,
    coalesce(sum(case when {{ violated | indent(4) }} then {{ records }} else 0 end), 0) as violating_records,
    {{ achieved }} as achieved
from {{ classes }}
{%- endmacro %}


{#
    The test of one model of sensitive values: the statement of an audit that asks nothing else.
    `measure` is what the model says of a class, `violated` whether the class fails it, `infinite`
    whether no threshold would do, `class_columns` what is measured over the values of the class;
    `named` are values that must occur, and with `numbers` every value must be one.
#}
{% macro sensitive_failures(
    relation, columns, sensitive, label, measure, violated,
    entity=none, unknown=false, needs=[], class_columns=[], infinite=none, least=false,
    named=none, numbers=false
) %}
{% set measures = [{"expression": measure | trim, "name": "kanon_" ~ label}] %}
{{ kanon_sql.class_failures(
    kanon_sql.sets_of_sensitive_values(
        relation, columns, sensitive, entity, unknown, needs, class_columns, measures
    ),
    kanon_sql.figured_classes(measures, needs) | trim,
    violated | trim,
    kanon_sql.achieved(kanon_sql.figure(measures[0]) | trim, least, infinite),
    relation, kanon_sql.records_of_class(entity),
    entity=entity, sensitive=sensitive, named=named, numbers=numbers
) }}
{%- endmacro %}


{# What a model says of a class, by what it is called where it has to be made. #}
{% macro figure_of(label, measure) -%}
{{ kanon_sql.figure({"expression": measure | trim, "name": "kanon_" ~ label}) | trim }}
{%- endmacro %}


{# The worst of all classes; NULL where that is infinite. #}
{% macro achieved(figure, least=false, infinite=none) -%}
{% if infinite is not none -%}
case when sum({{ kanon_sql.flag(infinite | trim) }}) = 0 then max({{ figure }}) end
{%- else -%}
{{ "min" if least else "max" }}({{ figure }})
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
