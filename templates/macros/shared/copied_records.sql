{#
    Copied records: records of the original that are in the synthetic table, whole. One that many have
    is in every good synthetic table, one that nobody else has is not.

    Raab, Nowok, Dibben 2024, Practical privacy metrics for synthetic data, arXiv:2406.16826, section
    3.1 (uniques in the original that are in the synthetic data, by all columns).
#}

{# One row of counts of records, or of people. #}
{% macro copied_records(stack) %}
{% set with_holdout = stack.tables | length > 2 %}
{{ kanon_sql.stacked_figures(stack, kanon_sql.figures_of_uniques(with_holdout, once=false)) }}
{%- endmacro %}


{#
    Generic test of copied records. Failures are the records (people) of the original that are
    copied, and that nobody else has. With `max_excess` it passes only where the difference to the holdout is shown.
#}
{% macro copied_records_failures(stack, max_share=none, max_excess=none) %}
{% set figures = kanon_sql.figures_of_uniques(stack.tables | length > 2, once=false) %}
{% set ctes %}
with

{{ kanon_sql.ctes_of_stacked_figures(stack, figures) | trim }},

counted as (
    {{ kanon_sql.sums_of_stacked_figures(stack, figures) | trim | indent(4) }}
)
{%- endset %}
{{ kanon_sql.synthetic_failures(
    stack, ctes,
    failures="measured.kanon_unique_found",
    columns=["kanon_attacked", "kanon_unique_in_original", "kanon_unique_found", "kanon_replicated"],
    over=[kanon_sql.more_than_share("measured.kanon_unique_found", max_share, "measured.kanon_attacked")] if max_share is not none else [],
    max_excess=max_excess,
    compared={
        "x": "kanon_alone_in_original", "n": "kanon_attacked", "y": "kanon_alone_in_holdout", "m": "kanon_holdout",
    }
) }}
{%- endmacro %}


{% test copied_records(model) -%}
{% set arguments = kanon_sql.test_arguments(
    "copied_records", model, kwargs, {"max_share": {"most": 1}, "max_excess": {"least": -1, "most": 1}}, ["original"]
) -%}
{{ kanon_sql.tidy(kanon_sql.copied_records_failures(**arguments), model) }}
{%- endtest %}
