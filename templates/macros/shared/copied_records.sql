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
{{ kanon_sql.failures_of_uniques(stack, "kanon_unique_found", max_share, max_excess, once=false) }}
{%- endmacro %}


{% test copied_records(model) -%}
{% set arguments = kanon_sql.test_arguments(
    "copied_records", model, kwargs, {"max_share": {"most": 1}, "max_excess": {"least": -1, "most": 1}}, ["original"]
) -%}
{{ kanon_sql.tidy(kanon_sql.copied_records_failures(**arguments), model) }}
{%- endtest %}
