{#
    A column at a level of its generalization hierarchy, for a SELECT in anyone's model:

        {{ kanon_sql.generalize("age", "width:5,10,20", 2) }} as age,
        {{ kanon_sql.generalize("zip", "mask:right", 2, longest=5) }} as zip,
        {{ kanon_sql.generalize("admitted", "date:month,year") }} as admitted,
        {{ kanon_sql.generalize("education", ref("education_levels")) }} as education,
        {{ kanon_sql.generalize("least(stay, 90)", "width:7", type="integer") }} as stay

    The builders are those of `--hierarchy`, and the expressions those of shared/generalize.sql.
#}
{% macro generalize(column, builder, level=1, type=none, longest=none, quote_columns=none) -%}
{% set where = "generalize: " ~ column %}
{% if column is not string or not column | trim -%}
{{ kanon_sql.refuse(where ~ ": the column must be a text, its name or another expression") }}
{%- endif %}
{% set column = kanon_sql.expression_in_sql(column, quote_columns) %}
{% do kanon_sql.one_of("generalize", "type", type, [
    none, "text", "integer", "bigint", "decimal", "double", "date", "timestamp",
]) %}
{% if level is not integer or level is boolean or level < 0 -%}
{{ kanon_sql.refuse(where ~ ": level must be a whole number, 0 for the raw value; found " ~ kanon_sql.as_found(level)) }}
{%- elif level == 0 -%}
{{ return(column) }}
{%- endif %}
{% set text = column if type == "text" else kanon_sql.text_of(column, (type or "text") | upper) | trim %}
{% if builder is not string -%}
{{ return(kanon_sql.ancestor_in(where, text, builder, level)) }}
{%- endif %}
{% set kind = builder.partition(":")[0] %}
{% set levels = kanon_sql.levels_of_builder(where, builder) %}
{% if kind == "mask" -%}
{% set longest = kanon_sql.positive_int(longest, where ~ ": longest, the characters of the longest value,") %}
{% set height = longest + levels | length - 1 %}
{%- else -%}
{% set height = levels | length %}
{%- endif %}
{% if level > height -%}
{{ kanon_sql.refuse(where ~ " has levels 0 to " ~ height ~ " in " ~ builder ~ ", so there is no level " ~ level) }}
{%- elif level == height and levels[-1] == "suppress" -%}
{{ return("'*'") }}
{%- elif kind == "mask" -%}
{{ return(kanon_sql.masked(text, levels[0], level, longest) | trim) }}
{%- endif %}
{% set argument = levels[level - 1] %}
{% if kind == "prefix" -%}
{{ return(kanon_sql.prefix(text, argument) | trim) }}
{%- elif kind == "date" -%}
{{ return(kanon_sql.at_period(column, type, argument) | trim) }}
{%- endif %}
{{- return(kanon_sql.at_number(column, type, kind, argument, text) | trim) -}}
{%- endmacro %}


{# The arguments of a builder's levels, from the finest. Each of `cuts` is one argument of one level. #}
{% macro levels_of_builder(where, builder) -%}
{% set number = "[-]?[0-9]+([.][0-9]+)?" %}
{% set whole = "[1-9][0-9]{0,17}" %}
{% set wanted = {
    "width": whole ~ "|[0-9]{1,9}[.][0-9]{0,8}[1-9]", "round": whole, "depths": "[1-9]|1[0-8]",
    "mask": "left|right", "date": "day|month|quarter|year|[1-9][0-9]{0,2}y", "prefix": whole,
    "cuts": number, "top": number, "bottom": number, "suppress": "suppress",
} %}
{% set kind, colon, parameters = builder.partition(":") %}
{% if kind not in wanted or (colon == "") != (kind == "suppress") -%}
{{ kanon_sql.refuse(where ~ ": " ~ builder ~ " is no builder. Builders: width:5,10, round:10, depths:1,2, mask:right, date:month,year,5y, prefix:3, cuts:18,65, top:90, bottom:18, suppress, or a relation, as in ref('education')") }}
{%- endif %}
{% set arguments = (parameters or "suppress").split(",") | map("trim") | list %}
{% set last = arguments[-1:] | select("equalto", "suppress") | list %}
{% set finer = arguments[:-1] if last else arguments %}
{% for argument in finer if not modules.re.fullmatch(wanted[kind], argument) -%}
{{ kanon_sql.refuse(where ~ ": " ~ kind ~ " can't be " ~ argument ~ " in " ~ builder) }}
{%- endfor %}
{% if kind == "cuts" and finer | map("float") | list != finer | map("float") | unique | sort | list -%}
{{ kanon_sql.refuse(where ~ ": cuts must be in ascending order; found " ~ builder) }}
{%- endif %}
{{ return(([finer] if kind == "cuts" and finer else finer) + last) }}
{%- endmacro %}


{# The period of a date; without its type the text of a value is read. #}
{% macro at_period(column, type, part) -%}
{% set date = kanon_sql.date_of(column, (type or "text") | upper) | trim %}
{{ kanon_sql.years(date, part[:-1] | int) if part[0] in "123456789" else kanon_sql.period(date, part) }}
{%- endmacro %}


{# A number at a level; without its type the text of a value is read. #}
{% macro at_number(column, type, kind, argument, text) -%}
{% set number = kanon_sql.number_of(column, type in [none, "text"]) | trim %}
{% set of = {"integer": "whole", "bigint": "wide", "decimal": "decimal"}.get(type, "float") %}
{% if kind == "width" -%}
{% set digits = argument.partition(".")[2] | length %}
{{ kanon_sql.interval(number, of, argument.replace(".", "") | int, digits=digits) }}
{%- elif kind in ["round", "depths"] -%}
{{ kanon_sql.truncated(number, of, 10 ** (argument | int) if kind == "depths" else argument | int) }}
{%- elif kind == "cuts" -%}
{{ kanon_sql.between_cuts(number, of, argument) }}
{%- else -%}
{{ kanon_sql.coded(number, of, ">=" if kind == "top" else "<", argument, text) }}
{%- endif %}
{%- endmacro %}


{# The ancestor of a text in a relation of few rows: the raw value, then a column a level. A value
   with two parents has the first of them. #}
{% macro ancestor_in(where, text, relation, level) -%}
{% if not kanon_sql.is_relation(relation) -%}
{{ kanon_sql.refuse(where ~ ": the builder must be a text, as in 'width:10', or a relation, as in ref('education'); found " ~ relation) }}
{%- elif not execute -%}
{{ return("null") }}
{%- endif %}
{% set columns = adapter.get_columns_in_relation(relation) if relation.is_cte is not true else [] %}
{% if level >= columns | length -%}
{{ kanon_sql.refuse(where ~ ": " ~ relation ~ (
    " has levels 1 to " ~ (columns | length - 1) ~ ", so there is no level " ~ level
        if columns
        else " has no columns yet. Build it first, as a seed or a table"
)) }}
{%- endif %}
{% set rows = run_query(kanon_sql.ancestors(
    relation, kanon_sql.quoted(columns[0].name), kanon_sql.quoted(columns[level].name)
)).rows %}
{% if rows | length > 200 -%}
{{ kanon_sql.refuse(where ~ ": " ~ relation ~ " has " ~ rows | length ~ " values, more than the 200 of a CASE. Join it in the model") }}
{%- endif %}
{% set values_by_label = {} %}
{% for value, label in rows %}
{% do values_by_label.setdefault(label, []).append(value) %}
{% endfor %}
{{- return(kanon_sql.ancestor(text, values_by_label) | trim) -}}
{%- endmacro %}


{% macro ancestors(relation, value, label) %}
select
    cast({{ value }} as {{ kanon_sql.text_type() }}) as kanon_value,
    min(cast({{ label }} as {{ kanon_sql.text_type() }})) as kanon_label
from {{ relation }}
where
    {{ value }} is not null
    and {{ label }} is not null
group by cast({{ value }} as {{ kanon_sql.text_type() }})
order by
    kanon_label,
    kanon_value
{%- endmacro %}


{# What 0.1 called the release of a whole relation; to go with the next release. #}
{% macro generalized(relation=none, quasi_identifiers=none, identifiers=none) -%}
{{ kanon_sql.refuse("generalized has gone. Write a SELECT with kanon_sql.generalize(column, builder, level) for each column, or have it written: kanon-sql anonymize … --emit dbt-model --output models/released.sql") }}
{%- endmacro %}
