{#
    Replicated uniques: those alone in the original by their quasi-identifiers, and again alone in
    the synthetic table (repU). Beside them those alone in the original who are found there at all
    (UiOiS), as repU falls when the synthetic table grows.

    Raab, Nowok, Dibben 2024, Practical privacy metrics for synthetic data, arXiv:2406.16826, section
    3.1.
#}

{# One row of counts of records, or of people. #}
{% macro replicated_uniques(stack) %}
{{ kanon_sql.stacked_figures(stack, kanon_sql.figures_of_uniques(stack.tables | length > 2)) }}
{%- endmacro %}


{#
    Generic test of replicated uniques. Failures are the records (people) of the original that are
    alone in both tables. With `max_excess` it passes only where the difference to the holdout is shown.
#}
{% macro replicated_uniques_failures(stack, max_share=none, max_excess=none) %}
{% set figures = kanon_sql.figures_of_uniques(stack.tables | length > 2) %}
{{ kanon_sql.failures_of_uniques(
    stack,
    kanon_sql.ctes_of_stacked_figures(stack, figures), kanon_sql.sums_of_stacked_figures(stack, figures),
    "kanon_replicated", ["kanon_replicated"], max_share, max_excess
) }}
{%- endmacro %}


{% test replicated_uniques(model) -%}
{% set arguments = kanon_sql.test_arguments(
    "replicated_uniques", model, kwargs, {"max_share": {"most": 1}, "max_excess": {"least": -1, "most": 1}}, ["original"]
) -%}
{{ kanon_sql.tidy(kanon_sql.replicated_uniques_failures(**arguments), model) }}
{%- endtest %}
