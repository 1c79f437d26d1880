{#
    Threshold: every cell has at least n contributors. A cell without any is not judged, unless
    zeros are disclosive.

    ESSnet, Handbook on Statistical Disclosure Control, 2nd edition, chapter 4, minimum frequency
    rule.
#}
{% macro min_contributors(zeros="allowed") -%}
{{ "kanon_contributors" if zeros == "disclosive" else "nullif(kanon_contributors, 0)" }}
{%- endmacro %}


{% macro min_contributors_violated(n, zeros="allowed") -%}
kanon_contributors < {{ kanon_sql.positive_int(n, "n") }}{{ "" if zeros == "disclosive" else " and kanon_contributors > 0" }}
{%- endmacro %}


{# How many contributors a violating cell lacks. #}
{% macro min_contributors_shortfall(n) -%}
{{ n }} - kanon_contributors
{%- endmacro %}


{#
    Generic test of the threshold: on records, or on a mart with the number of contributors in the
    column `count`.
#}
{% macro min_contributors_failures(
    relation, n, zeros="allowed", columns=[], groupings=[], contributor=none, value=none, digits=none,
    count=none, dimensions=[], suppressed="1 = 0"
) %}
{% set violated = kanon_sql.min_contributors_violated(n, zeros) | trim %}
{% set achieved = "min(" ~ (kanon_sql.min_contributors(zeros) | trim) ~ ")" %}
{% if count is none -%}
{{ kanon_sql.cell_rule_failures(
    relation, columns, groupings, violated, achieved, value, contributor,
    figure=none if value is none else kanon_sql.typed_figure(value, digits) | trim,
    ranks=[] if value is none else [1],
    nodes=kanon_sql.nodes_of(columns) if zeros == "disclosive" else []
) }}
{%- else -%}
{% set ctes %}
with

{{ kanon_sql.ctes_of_published(
    relation, dimensions, kanon_sql.typed_figure(value) | trim, suppressed,
    contributors=kanon_sql.typed_figure(count, 0) | trim
) | trim }},

measured as (
    select
        count(*) as records,
        coalesce(sum(kanon_suppressed), 0) as suppressed,
        coalesce(sum({{ kanon_sql.flag(violated) }}), 0) as violating_cells,
        {{ achieved }} as achieved
    from published_cells
)
{%- endset %}
{{ kanon_sql.raise_or_count(
    ctes,
    violated="measured.violating_cells > 0",
    failures="measured.violating_cells",
    columns=["suppressed", "violating_cells", "achieved"],
    more=kanon_sql.mart_errors(relation, dimensions, value, suppressed, count) + [kanon_sql.nothing_shown()]
) }}
{%- endif %}
{%- endmacro %}


{% test min_contributors(model) -%}
{% set arguments = kanon_sql.cell_arguments("min_contributors", model, kwargs, {
    "n": "count", "zeros": ["allowed", "disclosive"],
}, ["by", "contributor", "value", "margins", "count", "suppressed"]) -%}
{{ kanon_sql.tidy(kanon_sql.min_contributors_failures(**arguments), model) }}
{%- endtest %}
