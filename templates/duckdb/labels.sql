{#
    Each raw value of a hierarchy with its label, as a table to join. Its rows are the lines of one
    text, because a database parses one long text a hundred times faster than many short ones. The
    part of a line before the first divider is indentation.
#}
{% macro table_of_labels(rows) -%}
{% set divider = kanon_sql.unused_character(rows) %}
(
    select
        {{ kanon_sql.part("kanon_line", divider, 2) }} as kanon_value,
        {{ kanon_sql.part("kanon_line", divider, 3) }} as kanon_label
    from (
        select {{ kanon_sql.lines(kanon_sql.rows_as_text(rows, divider)) | indent(8) }} as kanon_line
    ) as kanon_lines
)
{%- endmacro %}


{# Distinct values of a column, each with its records and its label at every level. NULL has none. #}
{% macro hierarchy_of_values(relation, column, labels) %}
select
    kanon_records,
    {{ kanon_sql.as_text("kanon_raw", kanon_sql.type_of(column)) }} as kanon_value
{%- for label in labels %},
    {{ label | indent(4) }} as kanon_label_{{ loop.index }}
{%- endfor %}

from (
    select
        {{ kanon_sql.ident(column) }} as kanon_raw,
        count(*) as kanon_records
    from {{ relation | indent(4) }}
    group by {{ kanon_sql.ident(column) }}
) as known
where kanon_raw is not null
{%- endmacro %}
