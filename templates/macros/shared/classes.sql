{#
    What is said of all classes together: how many of them something is so, how many records and
    people that concerns, and which is the worst.
#}

{# A count of what is in the classes for which something is so, in one line where that is short. #}
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


{# The number of classes for which something is so. #}
{% macro classes_where(predicate, name) -%}
{{ kanon_sql.sum_where(predicate, "1", "kanon_" ~ name ~ "_classes") }}
{%- endmacro %}


{# The number of records in them; `records` is what holds how many there are in a class. #}
{% macro records_where(predicate, name, records="kanon_records") -%}
{{ kanon_sql.sum_where(predicate, records, "kanon_" ~ name ~ "_records") }}
{%- endmacro %}


{# The number of people in them: records, where no entity is named. #}
{% macro people_where(predicate, name) -%}
{{ kanon_sql.sum_where(predicate, "kanon_size", "kanon_" ~ name ~ "_people") }}
{%- endmacro %}


{# What holds the records of a class: its size, where these are what it counts. #}
{% macro records_of_class(entity=none) -%}
{{ "kanon_size" if entity is none else "kanon_records" }}
{%- endmacro %}


{# 1 for a class of which something is so, else 0. #}
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


{# What all classes have at least, or at most, of what each model says of a class. #}
{% macro worst_class(least, figure, name) -%}
{{ "min" if least else "max" }}({{ figure }}) as {{ name }}
{%- endmacro %}


{# What a model says of a class: a column of it as it is, or one made of several. #}
{% macro figure(measure) -%}
{{ measure.expression if measure.expression.isidentifier() else measure.name }}
{%- endmacro %}


{# The set of classes that has all figures: the classes as they are, where none has to be made. #}
{% macro figured_classes(class_measures, needs=[]) -%}
{% set found = namespace(made="table_values" in needs) -%}
{% for measure in class_measures if not measure.expression.isidentifier() %}{% set found.made = true %}{% endfor -%}
{{ "measured_classes" if found.made else "classes" }}
{%- endmacro %}


{# What each model says of a class, beside the class. #}
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


{# The classes of which something is so, by their values, with the records in each. #}
{% macro violating_classes(columns, violating, classes="classes", records="kanon_records") %}
select
{{ kanon_sql.aliases(columns) }},
    {{ records ~ " as " if records != "kanon_records" }}kanon_records
from {{ classes }}
where {{ violating }}
{%- endmacro %}


{# The same where any of several statements has them; there may be one alone. #}
{% macro violating_by_any(statements) %}
{{ statements[0] if statements | length == 1 else kanon_sql.union_of(statements) }}
{%- endmacro %}


{# The classes that have a part among some, which are told apart by more than the classes are. #}
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
{% for column in columns %}
    {{ "on" if loop.first else "and" }} {{ kanon_sql.same(
        "failing." ~ kanon_sql.alias(column), "held." ~ kanon_sql.alias(column)
    ) }}
{% endfor %}
group by
{{ kanon_sql.aliases_in("held", columns) }}
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
select violating_{{ loop.index }}.*
from (
    {{ statement | indent(4) }}
) as violating_{{ loop.index }}
{% if not loop.last %}

union

{% endif %}
{% endfor %}
{%- endmacro %}
