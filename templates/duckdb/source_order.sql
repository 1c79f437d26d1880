{#
    A release in the order of its source, for those who ask for that. A join may put records in
    another one, so they are numbered as they are read, and put in that order at the end.
#}

{# The records as they lie, numbered. #}
{% macro numbered_as_they_lie(records) %}
select
    records.*,
    row_number() over () as kanon_number
from (
    {{ records | indent(4) }}
) as records
{%- endmacro %}


{# What may be published, in the order of these numbers. #}
{% macro published_as_numbered(published, columns) %}
select
{{ kanon_sql.names(columns) }}
from (
    {{ published | indent(4) }}
) as published_records
order by kanon_number
{%- endmacro %}
