{#
    Aggregates over all classes: how many satisfy a predicate, how many records and people they
    hold, and the worst figure of any class.
#}

{# Sum of `counted` over the rows that satisfy the predicate; on one line if it fits. #}
{% macro sum_where(predicate, counted, name) -%}
{% set chosen = "case when " ~ predicate ~ " then " ~ counted ~ " else 0 end" -%}
{% if chosen | length + name | length < 95 and "\n" not in predicate -%}
sum({{ chosen }}) as {{ name }}
{%- elif "\n" not in predicate and chosen | length < 100 -%}
sum(
    {{ chosen }}
) as {{ name }}
{%- else -%}
sum(
    case
        when {{ predicate | indent(8) }}
        then {{ counted }}
        else 0
    end
) as {{ name }}
{%- endif %}
{%- endmacro %}


{# Number of classes that satisfy the predicate. #}
{% macro classes_where(predicate, name) -%}
{{ kanon_sql.sum_where(predicate, "1", "kanon_" ~ name ~ "_classes") }}
{%- endmacro %}


{# Number of records in these classes; `records` is the column with the records of a class. #}
{% macro records_where(predicate, name, records="kanon_records") -%}
{{ kanon_sql.sum_where(predicate, records, "kanon_" ~ name ~ "_records") }}
{%- endmacro %}


{# Number of people in these classes (records, if there is no entity). #}
{% macro people_where(predicate, name) -%}
{{ kanon_sql.sum_where(predicate, "kanon_size", "kanon_" ~ name ~ "_people") }}
{%- endmacro %}


{# Column with the records of a class; without an entity this is its size. #}
{% macro records_of_class(entity=none) -%}
{{ "kanon_size" if entity is none else "kanon_records" }}
{%- endmacro %}


{# 1 if the class satisfies the predicate, else 0. #}
{% macro flag(predicate) -%}
{% if "\n" in predicate or predicate | length > 70 -%}
case
    when {{ predicate | indent(4) }} then 1
    else 0
end
{%- else -%}
case when {{ predicate }} then 1 else 0 end
{%- endif %}
{%- endmacro %}


{# Smallest or largest figure of any class. #}
{% macro worst_class(least, figure, name) -%}
{{ "min" if least else "max" }}({{ figure }}) as {{ name }}
{%- endmacro %}


{# Column with a model's figure: an existing column, or one computed by `measured_classes`. #}
{% macro figure(measure) -%}
{{ measure.expression if measure.expression.isidentifier() else measure.name }}
{%- endmacro %}


{# CTE with all figures: `classes`, unless a figure has to be computed. #}
{% macro figured_classes(class_measures, needs=[]) -%}
{% set measured = namespace(made="table_values" in needs) -%}
{% for measure in class_measures if not measure.expression.isidentifier() %}{% set measured.made = true %}{% endfor -%}
{{ "measured_classes" if measured.made else "classes" }}
{%- endmacro %}


{# CTE with the computed figure of each model for each class. #}
{% macro measured_classes(class_measures, needs=[]) %}
measured_classes as (
    select
        classes.*
{%- if "table_values" in needs %},
        table_values.kanon_table_values
{%- endif %}
{%- for measure in class_measures if not measure.expression.isidentifier() %},
        {{ measure.expression | indent(8) }} as {{ measure.name }}
{%- endfor %}

    from classes
{% if "table_values" in needs %}
    cross join table_values
{% endif %}
)
{%- endmacro %}


{# Classes that satisfy a predicate, by their values, with their records. #}
{% macro violating_classes(columns, violating, classes="classes", records="kanon_records") %}
select
{{ kanon_sql.aliases(columns) }},
    {{ records ~ " as " if records != "kanon_records" }}kanon_records
from {{ classes }}
where {{ violating }}
{%- endmacro %}


{# Classes returned by at least one of several statements. #}
{% macro violating_by_any(statements) %}
{{ statements[0] if statements | length == 1 else kanon_sql.union_of(statements) }}
{%- endmacro %}


{# Classes that contain one of `parts`, which are keyed by more columns than the classes. #}
{% macro classes_with_parts(relation, columns, parts, rolled_up=false) %}
select
{{ kanon_sql.aliases_in("held", columns) }},
    {{ "sum(held.kanon_records)" if rolled_up else "count(*)" }} as kanon_records
from (
    select
{{ kanon_sql.aliased_names(columns) | indent(4, first=true) }}{{ "," if rolled_up }}
{% if rolled_up %}
        kanon_records
{% endif %}
    from {{ relation | indent(4) }}
) as held
inner join (
    select distinct
{{ kanon_sql.aliases(columns) | indent(4, first=true) }}
    from (
        {{ parts | indent(8) }}
    ) as parts
) as failing
    on {{ kanon_sql.same_class(columns, "failing", "held", other_is_set=true) | indent(4) }}
group by
{{ kanon_sql.aliases_in("held", columns) }}
{%- endmacro %}


{# Predicate: the class has fewer than k members (people, with an entity). #}
{% macro too_small(k) -%}
kanon_size < {{ kanon_sql.positive_int(k, "k") }}
{%- endmacro %}


{# Predicate: the class has fewer than k records. #}
{% macro too_few_records(k) -%}
kanon_records < {{ kanon_sql.positive_int(k, "k") }}
{%- endmacro %}


{# Disjunction of predicates. #}
{% macro any_of(predicates) -%}
{% for predicate in predicates %}{{ "" if loop.first else "\n    or " }}{{ predicate }}{% endfor %}
{%- endmacro %}


{# Distinct rows of several statements. #}
{% macro union_of(statements) %}
{% for statement in statements %}
select violating_{{ loop.index }}.*
from (
    {{ statement | indent(4) }}
) as violating_{{ loop.index }}
{% if not loop.last %}

union

{% endif %}
{% endfor %}
{%- endmacro %}
