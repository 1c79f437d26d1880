{#
    Rounded: a figure is a multiple of the base, or of the step of the last band that begins at or
    below it; a figure below the first band lies off the grid.

    ESSnet, Handbook on Statistical Disclosure Control, 2nd edition, chapter 5.4.
#}
{% macro rounded() -%}
kanon_figure
{%- endmacro %}


{% macro rounded_violated(base=none, bands=none) -%}
{% if base is not none -%}
{{ kanon_sql.off_the_grid(base) }}
{%- else -%}
kanon_figure < {{ bands[0][0] }}
{%- for start, step in bands %}

    or (kanon_figure >= {{ start }}{{ " and kanon_figure < " ~ bands[loop.index][0] if not loop.last }} and {{ kanon_sql.off_the_grid(step) }})
{%- endfor %}
{%- endif %}
{%- endmacro %}


{# Predicate: the figure is no multiple of the step; both are scaled to whole numbers. #}
{% macro off_the_grid(step) -%}
{% set scaled = kanon_sql.scaled("kanon_figure", kanon_sql.denominator(step)) -%}
{{ scaled }} <> {{ kanon_sql.numerator(step) }} * floor(cast({{ scaled }} as {{ kanon_sql.float_type() }}) / nullif({{ kanon_sql.numerator(step) }}, 0))
{%- endmacro %}
