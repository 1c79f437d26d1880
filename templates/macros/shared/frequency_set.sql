{#
    The records to audit: a relation, a filtered relation, or one with some columns generalised. A
    hierarchy of many values is joined as a table of labels, and the start of an interval is
    computed once. The filter reads raw values and keeps the records' order. `rolled_up`: the
    relation is a frequency set, whose counts are read too.
#}
{% macro records(relation, columns, where=none, first=none, generalised=false, rolled_up=false) %}
{% set joins = columns | selectattr("joined") | map(attribute="joined") | list %}
{% set started = columns | selectattr("started") | list %}
{% if where is none and first is none and not generalised %}
{{ relation }}
{%- else %}
(
    select
{% for column in columns %}
        {{ "kanon_raw." if joins and not column.generalised }}{{ kanon_sql.source(column) | indent(8) }}{{ "," if rolled_up or not loop.last }}
{% endfor %}
{% if rolled_up %}
        kanon_records
{% endif %}
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


{# FROM clause with the filter and the limit. #}
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
    Frequency set: each combination of values with its number of records. GROUP BY treats NULL as a
    value like any other. `rolled_up`: the relation is a finer frequency set, so its counts are
    summed. `counted=false` leaves out the number of records.

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


{# Number of rows of a frequency set. #}
{% macro rows_of_set(set) %}
select count(*) as kanon_combinations
from (
    {{ set | indent(4) }}
) as fetched
{%- endmacro %}


{# Number of records: counted, or summed from a finer frequency set. #}
{% macro records_counted(rolled_up) -%}
{{ "sum(kanon_records)" if rolled_up else "count(*)" }}
{%- endmacro %}


{#
    Rolls a finer frequency set up to a coarser one, without reading the records again.

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
