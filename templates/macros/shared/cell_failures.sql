{#
    A model of cells as a generic test, on the records of a table or on a mart, where a row is a
    cell: one row of counts if it fails, no row if it passes, and a database error if there are no
    rows or nothing can be concluded from them (see `raise_or_count`). Neither contains a label or a
    figure of the table.

    failures            violating cells, or groups
    records             all records, or the rows of the mart
#}

{# Test of a rule for single cells, on records. `zeros` also judges combinations without a record. #}
{% macro cell_rule_failures(
    relation, columns, groupings, violated, achieved, value=none, contributor=none, figure=none,
    ranks=[], nodes=[], details=[], weight=none, weighted=none
) %}
{% set rules = [{"number": 1, "violated": violated, "measured": achieved, "shortfall": none}] %}
{% set empty = kanon_sql.empty_combinations(columns, groupings) if nodes else [] %}
{% set cells = kanon_sql.cells_of(relation, columns, groupings, contributor, figure, weighted, ranks) %}
{% set ctes %}
with

{{ kanon_sql.ctes_of_cell_rules(cells, rules, nodes) | trim }},

counted_cells as (
    {{ kanon_sql.counts_of_cell_rules(cells, rules, nodes) | trim | indent(4) }}
),

measured as (
    select
        coalesce(kanon_records, 0) as records,
        kanon_cells as cells,
        kanon_violating_cells_1{{ "".join(empty) }} as violating_cells,
        kanon_violating_margin_cells_1{{ "".join(empty[1:]) }} as violating_margin_cells,
{% for detail in details %}
        {{ detail[0] }} as {{ detail[1] }},
{% endfor %}
        {{ "kanon_achieved_1" if not empty else "case when 0" ~ "".join(empty) ~ " > 0 then 0 else kanon_achieved_1 end" }} as achieved
    from counted_cells
)
{%- endset %}
{{ kanon_sql.raise_or_count(
    ctes,
    violated="measured.violating_cells > 0",
    failures="measured.violating_cells",
    columns=["cells", "violating_cells", "violating_margin_cells"] + details | map("last") | list + ["achieved"],
    more=kanon_sql.figure_errors(relation, value, contributor, weight)
) }}
{%- endmacro %}


{# Terms with the combinations of each grouping that have no record, inner cells first. #}
{% macro empty_combinations(columns, groupings) -%}
{% set empty = namespace(terms=[]) %}
{% for grouping in groupings %}
{% set counts = namespace(nodes=[]) %}
{% for column in columns if column in grouping.columns %}
{% set counts.nodes = counts.nodes + ["kanon_nodes_" ~ (columns.index(column) + 1) ~ "_0"] %}
{% endfor %}
{% set empty.terms = empty.terms + [" + (" ~ (counts.nodes | join(" * ") or "1") ~ " - kanon_cells_" ~ grouping.number ~ ")"] %}
{% endfor %}
{{ return(empty.terms) }}
{%- endmacro %}


{# Test of a concentration rule. Contributions are unweighted, their sum is weighted. #}
{% macro concentration_failures(
    relation, columns, groupings, violated, achieved, value, contributor, ranks, digits, weight=none,
    weight_digits=none
) %}
{% set figure = kanon_sql.typed_figure(value, digits) | trim %}
{% set factor = none if weight is none else kanon_sql.typed_figure(weight, weight_digits) | trim %}
{{ kanon_sql.cell_rule_failures(
    relation, columns, groupings, violated, achieved, value, contributor,
    figure=figure,
    weight=weight,
    weighted=none if weight is none else figure ~ " * " ~ factor,
    ranks=ranks,
    details=[
        ["kanon_zero_cells", "undefined_cells"],
        ["kanon_cells_with_negatives", "cells_with_negatives"],
    ]
) }}
{%- endmacro %}


{# Every grouping of some columns: the inner cells, and all margins, none, or those of the `margins`. #}
{% macro groupings_of(columns, margins="all") -%}
{% set lattice = namespace(kept=[columns], groupings=[]) %}
{% if margins == "all" %}
{% for mask in range(1, 2 ** (columns | length)) %}
{% set by = namespace(columns=[]) %}
{% for column in columns if mask % 2 ** (columns.index(column) + 1) < 2 ** columns.index(column) %}
{% set by.columns = by.columns + [column] %}
{% endfor %}
{% set lattice.kept = lattice.kept + [by.columns] %}
{% endfor %}
{% elif margins != "none" %}
{% for by in margins if by not in lattice.kept %}
{% set lattice.kept = lattice.kept + [by] %}
{% endfor %}
{% endif %}
{% for by in lattice.kept %}
{% set lattice.groupings = lattice.groupings + [{"number": loop.index0, "columns": by}] %}
{% endfor %}
{{ return(lattice.groupings) }}
{%- endmacro %}


{# The dimensions as levels whose nodes are counted. #}
{% macro nodes_of(columns) -%}
{% set levels = namespace(nodes=[]) %}
{% for column in columns %}
{% set levels.nodes = levels.nodes + [{"name": loop.index ~ "_0", "column": column, "below": none}] %}
{% endfor %}
{{ return(levels.nodes) }}
{%- endmacro %}


{# --- what can't be judged ------------------------------------------------------------------- #}

{# Values that are no finite number, weights below 1, and records of nobody. #}
{% macro figure_errors(relation, value=none, contributor=none, weight=none) -%}
{% set name = kanon_sql.ident(value) if value is not none -%}
{% set factor = "coalesce(" ~ (kanon_sql.figure_number(weight) | trim) ~ ", 0)" if weight is not none -%}
{% set number = kanon_sql.figure_number(value) | trim if value is not none -%}
{{ return([
    kanon_sql.rows_error(
        relation, name ~ " is not null and " ~ number ~ " is null",
        "values_without_number", "values that are no number", "kanon_no_number"
    ) if value is not none else none,
    kanon_sql.rows_error(
        relation, number ~ " is not null and not (" ~ kanon_sql.is_finite(number) ~ ")",
        "values_not_finite", "values that are NaN or infinite", "kanon_not_finite"
    ) if value is not none else none,
    kanon_sql.rows_error(
        relation, "not (" ~ factor ~ " >= 1 and " ~ factor ~ " <= 1e15)",
        "not_a_weight", "weights that are no number from 1 to 10^15", "kanon_not_a_weight"
    ) if weight is not none else none,
    kanon_sql.rows_error(
        relation, kanon_sql.ident(contributor) ~ " is null",
        "records_of_nobody", "records without a contributor", "kanon_of_nobody"
    ) if contributor is not none else none,
] | reject("none") | list) }}
{%- endmacro %}


{# An error if rows satisfy a predicate. #}
{% macro rows_error(relation, predicate, set, are, counted) -%}
{% set statement %}
select sum({{ kanon_sql.flag(predicate) | indent(4) }}) as {{ counted }}
from {{ relation }}
{%- endset %}
{{ return(kanon_sql.counted_error(set, are, counted, statement)) }}
{%- endmacro %}


{#
    What can't be read of a mart: a figure that is neither a number nor a mark, a shown one without its
    count, a NULL or a label that may be a total, and a second row for a cell. `name` tells two marts
    apart.
#}
{% macro mart_errors(relation, dimensions, value, suppressed, count=none, name="") -%}
{% set number = kanon_sql.figure_number(value) | trim %}
{% set shown = "not (" ~ suppressed ~ ")" %}
{% set nulls = dimensions | map(attribute="doubtful") | reject("equalto", "1 = 0") | join(" or ") %}
{% set totals = dimensions | map(attribute="like_total") | reject("equalto", "1 = 0") | join(" or ") %}
{% set preconditions = namespace(errors=[
    kanon_sql.rows_error(
        relation, shown ~ " and (" ~ number ~ " is null or not (" ~ kanon_sql.is_finite(number) ~ "))",
        "figures_without_number" ~ name,
        "figures that are neither a finite number nor suppressed: say suppressed", "kanon_no_number"
    ),
    kanon_sql.rows_error(
        relation, shown ~ " and " ~ number ~ " < 0",
        "counts_below_zero" ~ name, "counts below zero", "kanon_below_zero"
    ) if count == value else none,
    kanon_sql.rows_error(
        relation, shown ~ " and (" ~ kanon_sql.not_whole(count, kanon_sql.figure_number(count) | trim) ~ ")",
        "counts_not_whole" ~ name, "counts that are not written as whole numbers", "kanon_not_whole"
    ) if count is not none else none,
    kanon_sql.rows_error(
        relation, shown ~ " and not (" ~ kanon_sql.is_count(kanon_sql.figure_number(count) | trim) ~ ")",
        "counts_without_number" ~ name,
        "figures that are shown without a number of contributors", "kanon_no_count"
    ) if count is not none and count != value else none,
    kanon_sql.rows_error(
        relation, nulls, "rows_with_null" ~ name,
        "rows with NULL in a dimension, which may be a total or a value: say total_label", "kanon_doubtful"
    ) if nulls else none,
    kanon_sql.rows_error(
        relation, totals, "rows_like_totals" ~ name,
        "rows with a label that reads like a total, and none is declared: say total_label", "kanon_like_totals"
    ) if totals else none,
] | reject("none") | list) %}
{% if dimensions %}
{% set preconditions.errors = preconditions.errors + [kanon_sql.counted_error(
    "repeated_cells" ~ name, "cells with more than one row, so that a dimension is missing from by", "kanon_repeated",
    "select count(*) as kanon_repeated\nfrom repeated" ~ name,
    ctes=kanon_sql.cte_of_repeated_cells(range(1, dimensions | length + 1) | list, "published_" ~ (name.strip("_") or "cells"), "repeated" ~ name)
)] %}
{% endif %}
{{ return(preconditions.errors) }}
{%- endmacro %}


{# A mart that shows no figure. #}
{% macro nothing_shown() -%}
{{ return(kanon_sql.counted_error(
    "nothing_shown", "tables in which every count is suppressed, so nothing was judged", "kanon_hidden",
    "select case when count(*) = sum(kanon_suppressed) then 1 else 0 end as kanon_hidden\nfrom published_cells"
)) }}
{%- endmacro %}


{#
    How the dimensions of a mart are read. `labels` has the label of the total by dimension, none for
    NULL; a dimension that is not in it has no total.
#}
{% macro mart_dimensions(columns, labels, guess=true) -%}
{% set mart = namespace(dimensions=[]) %}
{% for column in columns %}
{% set text = kanon_sql.text_of_label(column) | trim %}
{% set declared = column in labels %}
{% set label = labels[column] if declared else none %}
{% set by_null = declared and label is none %}
{% set mart.dimensions = mart.dimensions + [{
    "label": text,
    "total": "1 = 0" if not declared else text ~ " is null" if label is none else "coalesce(" ~ text ~ ", '') = " ~ kanon_sql.literal(label),
    "doubtful": "1 = 0" if by_null or not guess else text ~ " is null",
    "like_total": "1 = 0" if declared or not guess else "lower(" ~ text ~ ") in ('total', 'totals', 'all', 'sum', 'overall', 'grand total', 'subtotal', 'gesamt', 'insgesamt', 'summe', 'alle', 'ensemble', 'tous', 'totale', 'totaal', 'suma')",
    "level": none,
}] %}
{% endfor %}
{{ return(mart.dimensions) }}
{%- endmacro %}


{# Predicate: one of the marks stands in place of the figure; none is NULL. #}
{% macro is_suppressed(value, marks) -%}
{% set text = "coalesce(" ~ (kanon_sql.text_of_label(value) | trim) ~ ", '')" %}
{% set predicates = namespace(any=[]) %}
{% for mark in marks %}
{% set predicates.any = predicates.any + [
    kanon_sql.ident(value) ~ " is null" if mark is none else text ~ " = " ~ (kanon_sql.literal(mark) | trim)
] %}
{% endfor %}
{{ return(predicates.any | join(" or ")) }}
{%- endmacro %}
