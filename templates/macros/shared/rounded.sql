{#
    Rounded: a figure is a multiple of the base, or of the step of the last band that begins at or
    below it; a figure below the first band lies off the grid.

    ESSnet, Handbook on Statistical Disclosure Control, 2nd edition, chapter 5.4.
#}
{% macro rounded() -%}
kanon_figure
{%- endmacro %}


{% macro rounded_violated(base=none, bands=none, exact=true) -%}
{% if base is not none -%}
{{ kanon_sql.off_the_grid(base, exact) }}
{%- else -%}
kanon_figure < {{ bands[0][0] }}
{%- for start, step in bands %}

    or (kanon_figure >= {{ start }}{{ " and kanon_figure < " ~ bands[loop.index][0] if not loop.last }} and ({{ kanon_sql.off_the_grid(step, exact) }}))
{%- endfor %}
{%- endif %}
{%- endmacro %}


{# Predicate: the figure is no multiple of the step; both are scaled to whole numbers. #}
{% macro off_the_grid(step, exact=true) -%}
{% set scaled = kanon_sql.scaled("kanon_figure", kanon_sql.denominator(step)) -%}
{% if exact -%}
{{ scaled }} <> floor({{ scaled }}) or mod(cast(floor({{ scaled }}) as {{ kanon_sql.widest_type() }}), {{ kanon_sql.numerator(step) }}) <> 0
{%- else -%}
{{ scaled }} <> {{ kanon_sql.numerator(step) }} * floor(cast({{ scaled }} as {{ kanon_sql.float_type() }}) / nullif({{ kanon_sql.numerator(step) }}, 0))
{%- endif %}
{%- endmacro %}


{# Generic test of rounding, on a mart with its figures in the column `value`. #}
{% macro rounded_failures(
    relation, columns, dimensions, value, base=none, bands=none, suppressed="1 = 0", digits=none
) %}
{% set ctes %}
with

{{ kanon_sql.ctes_of_published(
    relation, dimensions, kanon_sql.typed_figure(value, digits) | trim, suppressed
) | trim }},

measured as (
    select
        count(*) as records,
        coalesce(sum(kanon_suppressed), 0) as suppressed,
        coalesce(sum({{ kanon_sql.flag(kanon_sql.rounded_violated(base, bands, digits is not none) | trim) | indent(8) }}), 0) as achieved
    from published_cells
)
{%- endset %}
{{ kanon_sql.raise_or_count(
    ctes,
    violated="measured.achieved > 0",
    failures="measured.achieved",
    columns=["suppressed", "achieved"],
    more=kanon_sql.mart_errors(relation, dimensions, value, suppressed) + [kanon_sql.nothing_shown()]
) }}
{%- endmacro %}


{% test rounded(model) -%}
{% set arguments = kanon_sql.cell_arguments("rounded", model, kwargs, {
    "base": {"above": true, "default": none}, "bands": "bands",
}, ["by", "value", "suppressed"]) -%}
{% if (arguments["base"] is none) == (arguments["bands"] is none) -%}
{{ kanon_sql.refuse("rounded needs a base, or bands, and not both") }}
{%- endif %}
{{ kanon_sql.tidy(kanon_sql.rounded_failures(**arguments), model) }}
{%- endtest %}
