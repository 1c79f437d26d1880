{#
    The records that a question is about: a relation, or those of its records that pass a filter,
    or what they would be with some columns at a level of their hierarchy. A hierarchy of many
    values is joined as a table of labels, and the start of an interval is found once; the records
    are chosen before, in their own order.
#}
{% macro records(relation, columns, where=none, first=none, generalised=false) %}
{% set joins = columns | selectattr("joined") | map(attribute="joined") | list %}
{% set started = columns | selectattr("started") | list %}
{% if where is none and first is none and not generalised %}
{{ relation }}
{%- else %}
(
    select
{% for column in columns %}
        {{ "kanon_raw." if joins and not column.generalised }}{{ kanon_sql.source(column) | indent(8) }}{{ "," if not loop.last }}
{% endfor %}
{% if joins or started %}
    from (
        select
{{ kanon_sql.names(columns) | indent(8, first=true) }}{{ "," if started }}
{% for column in started %}
            {{ column.started.start | indent(12) }} as {{ column.started.name }}{{ "," if not loop.last }}
{% endfor %}
        {{ kanon_sql.chosen(relation, where, first) | indent(8) }}
    ) as kanon_raw
{% for labels in joins %}
    {{ kanon_sql.join_labels(labels) | indent(4) }}
{% endfor %}
{% else %}
    {{ kanon_sql.chosen(relation, where, first) | indent(4) }}
{% endif %}
) as kanon_source
{%- endif %}
{% endmacro %}


{# The relation, or those of its records that pass a filter, or the first of these. #}
{% macro chosen(relation, where, first) -%}
from {{ relation }}
{%- if where is not none %}

where {{ where }}
{%- endif %}
{%- if first is not none %}

limit {{ kanon_sql.positive_int(first, "first") }}
{%- endif %}
{%- endmacro %}


{#
    The frequency set of some columns: each combination of their values, with the number of
    records that have it. NULL is a value like any other, because GROUP BY takes it for one.
    `rolled_up` says that what is read is a finer frequency set: then its counts are added up.
    It is not `counted` where nobody reads how many records these are.

    Samarati and Sweeney 1998, Protecting privacy when disclosing information; LeFevre, DeWitt,
    Ramakrishnan 2005, Incognito: efficient full-domain k-anonymity, section 1.1.
#}
{% macro frequency_set(relation, columns, rolled_up=false, counted=true) %}
select
{{ kanon_sql.aliased_keys(columns) }}
{%- if counted %},
    {{ kanon_sql.records_counted(rolled_up) }} as kanon_records
{%- endif %}

from {{ relation }}
group by
{{ kanon_sql.grouped_by(columns) }}
{%- endmacro %}


{# The records behind what is read. #}
{% macro records_counted(rolled_up) -%}
{{ "sum(kanon_records)" if rolled_up else "count(*)" }}
{%- endmacro %}


{#
    The same law one step up: a coarser frequency set is the sum of a finer one, so that the
    records themselves are never counted twice.

    LeFevre, DeWitt, Ramakrishnan 2005, section 3.1 (roll-up property).
#}
{% macro roll_up(finer, columns, counted=true) %}
select
{{ kanon_sql.aliases(columns) }}
{%- if counted %},
    sum(kanon_records) as kanon_records
{%- endif %}

from {{ finer }}
group by
{{ kanon_sql.aliases(columns) }}
{%- endmacro %}
