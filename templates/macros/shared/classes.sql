{#
    What is said of all classes together: how many of them something is so, how many records and
    people that concerns, and which is the worst.
#}

{# The number of classes for which something is so. #}
{% macro classes_where(predicate, name) -%}
sum(case when {{ predicate }} then 1 else 0 end) as kanon_{{ name }}_classes
{%- endmacro %}


{# The number of records in them. #}
{% macro records_where(predicate, name) -%}
sum(case when {{ predicate }} then kanon_records else 0 end) as kanon_{{ name }}_records
{%- endmacro %}


{# The number of people in them: records, where no entity is named. #}
{% macro people_where(predicate, name) -%}
sum(case when {{ predicate }} then kanon_size else 0 end) as kanon_{{ name }}_people
{%- endmacro %}


{# 1 for a class of which something is so, else 0. #}
{% macro flag(predicate) -%}
case when {{ predicate }} then 1 else 0 end
{%- endmacro %}


{# The classes that are flagged. #}
{% macro flagged_classes(name) -%}
sum(kanon_{{ name }}) as kanon_{{ name }}_classes
{%- endmacro %}


{# The records in them. #}
{% macro flagged_records(name) -%}
sum(kanon_{{ name }} * kanon_records) as kanon_{{ name }}_records
{%- endmacro %}


{# What all classes have at least, or at most. #}
{% macro worst_class(least, name) -%}
{{ "min" if least else "max" }}(kanon_{{ name }}) as kanon_{{ name }}
{%- endmacro %}


{# What each model says of a class, and then whether the class fails it. #}
{% macro judged_classes(classes, class_measures, class_verdicts) %}
measured_classes as (
    select
        {{ classes }}.*
{%- for measure in class_measures if measure.expression != measure.name %},
        {{ measure.expression }} as {{ measure.name }}
{%- endfor %}

    from {{ classes }}
),

judged_classes as (
    select
        measured_classes.*
{%- for verdict in class_verdicts %},
        {{ verdict.expression }} as {{ verdict.name }}
{%- endfor %}

    from measured_classes
)
{%- endmacro %}


{# The classes of which something is so, by their values, with the records in each. #}
{% macro violating_classes(columns, violating, classes="classes") %}
select
{{ kanon_sql.aliases(columns) }},
    kanon_records
from {{ classes }}
where {{ violating }}
{%- endmacro %}


{# A class of too few. #}
{% macro too_small(k) -%}
kanon_size < {{ kanon_sql.positive_int(k, "k") }}
{%- endmacro %}


{# The same where records are what is counted. #}
{% macro too_few_records(k) -%}
kanon_records < {{ kanon_sql.positive_int(k, "k") }}
{%- endmacro %}


{# Whether any of some conditions is true. #}
{% macro any_of(predicates) -%}
{% for predicate in predicates %}{{ "" if loop.first else "\n    or " }}{{ predicate }}{% endfor %}
{%- endmacro %}


{# The rows that any of some statements has, each once. #}
{% macro union_of(statements) %}
{% for statement in statements %}
(
    {{ statement | indent(4) }}
)
{% if not loop.last %}

union

{% endif %}
{% endfor %}
{%- endmacro %}
