{#
    What the tests of cells take, checked: a test looks at the records of a table, or at a mart, where
    a row is a cell. Every error names the test, the argument and what was found.
#}

{#
    The checked arguments of a model's test, as `<model>_failures` takes them. `parameters` are the
    model's own, each with its permitted values; `takes` are its other arguments.
#}
{% macro cell_arguments(test, model, raw_arguments, parameters, takes) -%}
{% for name in ["hierarchy", "hierarchies"] if name in raw_arguments -%}
{{ kanon_sql.refuse(
    test ~ ": a hierarchy is read by kanon-sql tables, not by a test. Where margins are taken, its levels can be columns of by"
) }}
{%- endfor %}
{% if "totals" in raw_arguments -%}
{{ kanon_sql.refuse(
    test ~ ": what totals are is read by kanon-sql tables (totals in a spec), and a test takes them for the sums of all their parts"
) }}
{%- endif %}
{% do kanon_sql.begin_test(test, raw_arguments, takes + ["quote_columns", "column_name"] + parameters | list) %}
{% set arguments = {} %}
{% for name, values in parameters.items() %}
{% do arguments.update({name: kanon_sql.parameter_of_cells(test, name, raw_arguments, values)}) %}
{% endfor %}
{% set count = raw_arguments.get("count") %}
{% set on_mart = "count" in takes and count is not none or test in ["derivable", "differences", "rounded"] %}
{% for name in ["contributor", "margins"] if on_mart and raw_arguments.get(name) is not none -%}
{{ kanon_sql.refuse(test ~ ": count is for a mart, where a row is a cell, and " ~ name ~ " for records. Leave one of them out") }}
{%- endfor %}
{% for name in ["total_label", "suppressed"] + (["value"] if "margins" not in takes else []) if not on_mart and name in raw_arguments -%}
{{ kanon_sql.refuse(test ~ ": " ~ name ~ " is for a mart, where a row is a cell: name its count") }}
{%- endfor %}
{% for name in ["value"] if test in ["dominance", "p_percent", "derivable", "rounded"] and raw_arguments.get(name) is none -%}
{{ kanon_sql.refuse(test ~ " needs value, the column " ~ ("with the figure of a cell" if test in ["derivable", "rounded"] else "that is summed")) }}
{%- endfor %}
{% if test == "differences" and count is none -%}
{{ kanon_sql.refuse("differences needs count, the column with the number of contributors of a cell") }}
{%- elif test == "derivable" and "total_label" not in raw_arguments -%}
{{ kanon_sql.refuse("derivable needs total_label, which stands in a dimension for its total: a label, null for NULL, or one for each dimension, as in {region: Total}") }}
{%- endif %}
{% if count is not none and "suppressed" in raw_arguments and raw_arguments.get("value") is none -%}
{{ kanon_sql.refuse(
    test ~ ": suppressed needs value, the column with the figure of a cell, in whose place it stands. In a table of counts that is "
    ~ count ~ " itself"
) }}
{%- endif %}
{% set by = raw_arguments.get("by") %}
{% if by is none and on_mart and test in ["min_contributors", "rounded"] %}
{% set by = [] %}
{% else %}
{% do kanon_sql.list_of_columns(test, "by", by) %}
{% endif %}
{% set own = kanon_sql.columns_of_cells(
    test, model, by, raw_arguments.get("quote_columns"), raw_arguments.get("contributor"), raw_arguments.get("value"), count,
    raw_arguments.get("weight")
) %}
{% do arguments.update({"relation": own["relation"], "columns": own["columns"]}) %}
{% if "along" in parameters %}
{% do arguments.update({"along": kanon_sql.places_along(test, by, raw_arguments.get("along"))}) %}
{% endif %}
{% if on_mart %}
{% do arguments.update(kanon_sql.mart_of_test(test, raw_arguments, by, own)) %}
{% if test == "differences" %}
{% do arguments.update(kanon_sql.second_mart(test, raw_arguments, by, own)) %}
{% endif %}
{{ return(arguments) }}
{% endif %}
{% do arguments.update({"contributor": own["contributor"]}) %}
{% if "margins" in takes %}
{% set margins = kanon_sql.margins_of_test(test, raw_arguments.get("margins", "all"), by, own["columns"]) %}
{% do arguments.update({"groupings": kanon_sql.groupings_of(own["columns"], margins), "value": own["figure"]}) %}
{% if own["figure"] is not none %}
{% set digits = kanon_sql.digits_of(
    model, own["relation"], own["figure"], kanon_sql.largest_factor(arguments), own["weight"]
) %}
{% do arguments.update({"digits": digits[0]}) %}
{% do arguments.update({"weight_digits": digits[1]} if own["weight"] is not none else {}) %}
{% endif %}
{% do arguments.update({"weight": own["weight"]} if own["weight"] is not none else {}) %}
{% endif %}
{{ return(arguments) }}
{%- endmacro %}


{# A parameter of a test: a "count" that must be given, "dimensions", one of a list of words (the first
   where none is given), or a number with its bounds. #}
{% macro parameter_of_cells(test, name, raw_arguments, values) -%}
{% set value = raw_arguments.get(name) %}
{% if values == "dimensions" -%}
{{ return(none) }}
{%- elif values == "bands" -%}
{{ return(kanon_sql.bands_of_test(test, value)) }}
{%- elif values == "count" or values is mapping and "default" not in values -%}
{% do kanon_sql.needs_one_of(test, {name: value}) %}
{%- endif %}
{% if values == "count" -%}
{{ return(kanon_sql.count_of(test, name, value)) }}
{%- elif values is not mapping -%}
{{ return(kanon_sql.one_of(test, name, raw_arguments.get(name, values[0]), values)) }}
{%- endif %}
{% set value = values["default"] if value is none else value %}
{% if values.get("whole") and (value is not integer or value is boolean or value < values.get("least", 0)) -%}
{{ kanon_sql.refuse(test ~ ": " ~ name ~ " must be a whole number, " ~ values.get("least", 0) ~ " or more; found " ~ kanon_sql.as_found(value)) }}
{%- elif "below" in values and (not kanon_sql.is_number(value) or value <= 0 or value >= values["below"]) -%}
{{ kanon_sql.refuse(test ~ ": " ~ name ~ " must be a percentage between 0 and 100, as in 67; found " ~ kanon_sql.as_found(value)) }}
{%- endif %}
{{- return(kanon_sql.number_of_test(
    test, name, value, values.get("least", 0), values.get("most"), values.get("above", false)
)) -}}
{%- endmacro %}


{# Pairs of a start and a step, in ascending order; none where none is given. #}
{% macro bands_of_test(test, bands) -%}
{% set pairs = [] %}
{% set is_list = bands is not none and bands is not string and bands is not mapping and bands is iterable %}
{% for band in (bands if is_list else []) %}
{% set is_pair = band is not string and band is not mapping and band is iterable and band | length == 2 %}
{% if is_pair and kanon_sql.is_number(band[0]) and kanon_sql.is_number(band[1]) and band[1] > 0 and (not pairs or band[0] > pairs[-1][0]) %}
{% do pairs.append([band[0], band[1]]) %}
{% endif %}
{% endfor %}
{% if bands is not none and (not pairs or pairs | length != bands | length) -%}
{{ kanon_sql.refuse(test ~ ": bands must be pairs of a start and a step in ascending order, as in [[15, 10]]; found " ~ bands) }}
{%- endif %}
{{- return(pairs or none) -}}
{%- endmacro %}


{% macro list_of_columns(test, argument, names) -%}
{% if names is none or names is string or names is mapping or names is not iterable or not names -%}
{{ kanon_sql.refuse(test ~ " needs " ~ argument ~ ", a list of columns, as in [region, sector]; found " ~ names) }}
{%- endif %}
{%- endmacro %}


{#
    The relation of a test, its dimensions, contributor, figure, count and weight, as they stand in
    SQL. A count without a value is the figure.
#}
{% macro columns_of_cells(
    test, model, by, quote_columns, contributor, value, count=none, weight=none, alias="kanon_source"
) -%}
{% set is_count = value is none or count is not none and kanon_sql.bare_name(value) == kanon_sql.bare_name(count) %}
{% set own = kanon_sql.columns_in_parts(
    test, model, "by", by,
    {"contributor": contributor, "value": none if is_count else value, "count": count, "weight": weight},
    "a dimension, the contributor, the figure, the count or the weight", quote_columns, alias,
    plain=["value", "count", "weight"]
) %}
{% do own.update({"figure": own["count"] if is_count else own["value"]}) %}
{{ return(own) }}
{%- endmacro %}


{# The numbers of the dimensions that a test looks along; all of them where none is named. #}
{% macro places_along(test, by, along, argument="along") -%}
{% set along = [along] if along is string else along %}
{% set names = by | map("lower") | list %}
{% set places = [] %}
{% for name in (along if along is not none else by) %}
{% if name | lower not in names -%}
{{ kanon_sql.refuse(test ~ ": " ~ argument ~ " names " ~ name ~ ", which is not one of by: " ~ by | join(", ")) }}
{%- endif %}
{% do places.append(names.index(name | lower) + 1) %}
{% endfor %}
{{ return(places) }}
{%- endmacro %}


{# all, none, or the columns of each margin. #}
{% macro margins_of_test(test, margins, by, columns) -%}
{% if margins in ["all", "none"] -%}
{{ return(margins) }}
{%- elif margins is none or margins is string or margins is mapping or margins is not iterable -%}
{{ kanon_sql.refuse(test ~ ": margins must be all, none, or lists of dimensions, as in [[region], []]; found " ~ margins) }}
{%- endif %}
{% set kept_by_margin = [] %}
{% for margin in margins %}
{% set kept = [] %}
{% set places = kanon_sql.places_along(test, by, margin, "margins") if margin else [] %}
{% for column in columns if columns.index(column) + 1 in places %}
{% do kept.append(column) %}
{% endfor %}
{% do kept_by_margin.append(kept) %}
{% endfor %}
{{ return(kept_by_margin) }}
{%- endmacro %}


{#
    How a mart is read: its dimensions with their totals, and the predicate of a suppressed figure,
    whose count is not read. A NULL figure is suppressed if `suppressed` says so, and always in
    derivable.
#}
{% macro mart_of_test(test, raw_arguments, by, own) -%}
{% set marks = [] %}
{% set given_marks = raw_arguments.get("suppressed") %}
{% set is_list = given_marks is not string and given_marks is not mapping and given_marks is iterable %}
{% for mark in (given_marks if is_list else [given_marks]) %}
{% do marks.append(none if mark is none else kanon_sql.value_as_text(mark)) if mark is string or mark is not iterable %}
{% endfor %}
{% if not marks or "" in marks or is_list and marks | length != given_marks | length -%}
{{ kanon_sql.refuse(
    test ~ ": suppressed must be a value, null, or a list of them, without a range, which kanon-sql tables reads; found "
    ~ given_marks
) }}
{%- endif %}
{% set labels = {} %}
{% if "total_label" in raw_arguments %}
{% set label = raw_arguments["total_label"] %}
{% if label is mapping %}
{% for name in label %}
{% do kanon_sql.places_along(test, by, [name], "total_label") %}
{% endfor %}
{% endif %}
{% for column in own["columns"] %}
{% set name = by[loop.index0] %}
{% if label is not mapping %}
{% do labels.update({column: none if label is none else kanon_sql.value_as_text(label)}) %}
{% else %}
{% for each, text in label.items() if each | lower == name | lower %}
{% do labels.update({column: none if text is none else kanon_sql.value_as_text(text)}) %}
{% endfor %}
{% endif %}
{% endfor %}
{% endif %}
{% set arguments = {
    "dimensions": kanon_sql.mart_dimensions(
        own["columns"], labels, guess=test in ["derivable", "group_disclosure"]
    ),
    "suppressed": kanon_sql.is_suppressed(own["figure"], marks) if test == "derivable" or "suppressed" in raw_arguments else "1 = 0",
    "value": own["figure"],
} %}
{% if own["count"] is not none %}
{% do arguments.update({"count": own["count"]}) %}
{% else %}
{% do arguments.update({"digits": kanon_sql.digits_of(own["relation"], own["relation"], own["figure"])[0]}) %}
{% endif %}
{{ return(arguments) }}
{%- endmacro %}


{# The second mart of a comparison, with columns of the same names. #}
{% macro second_mart(test, raw_arguments, by, own) -%}
{% set relation = kanon_sql.relation_of_test(test, "against", raw_arguments.get("against"), "admissions_2025") %}
{% set there = kanon_sql.columns_of_cells(
    test, relation, by, raw_arguments.get("quote_columns"), none, raw_arguments.get("value"), raw_arguments["count"],
    alias="kanon_against"
) %}
{{ return({
    "against": there["relation"],
    "there": kanon_sql.mart_dimensions(there["columns"], {}, guess=false),
}) }}
{%- endmacro %}


{# --- the type in which figures are added ------------------------------------------------------ #}

{#
    The decimals in which all values are exact, and fit with the factor of a rule, and those of the
    weights; none for floating point numbers, whose slack counts towards a violation. The values of an
    ephemeral model can't be read before the statement runs. Where SQL is only compiled, 6 are taken, and
    none beside weights. The products of some databases keep 6 decimals.
#}
{% macro digits_of(model, relation, value, factor=1, weight=none) -%}
{% if not execute or flags.WHICH not in ["build", "test", "retry", "run"] -%}
{{ return([6 if weight is none else none, none]) }}
{%- elif kanon_sql.is_ephemeral(model) -%}
{{ return([none, none]) }}
{%- endif %}
{% set facts = run_query(kanon_sql.figure_facts(relation, value, weight=weight)).rows[0].values() %}
{% set weights = 0 if weight is none else (facts[7] or 0) | int %}
{% set digits = (facts[4] or 0) | int %}
{% set size = [(facts[6] or 0) | float * (1 if weight is none else (facts[8] or 1) | float), 1.0] | max %}
{% set kept = 38 if target.type in ["duckdb", "postgres"] else 6 %}
{% set fits = digits + weights <= kept and size * 10 ** (digits + weights) * factor <= 1e36 %}
{{ return([digits, weights] if fits else [none, none]) }}
{%- endmacro %}


{# The largest factor by which a rule multiplies a sum. #}
{% macro largest_factor(arguments) -%}
{% if arguments.get("k") is not none -%}
{{ return([100 * kanon_sql.denominator(arguments["k"]), kanon_sql.numerator(arguments["k"])] | max) }}
{%- elif arguments.get("p") is not none -%}
{{ return([
    kanon_sql.denominator(arguments["p"]) * kanon_sql.numerator(arguments["q"]),
    kanon_sql.numerator(arguments["p"]) * kanon_sql.denominator(arguments["q"]),
] | max) }}
{%- endif %}
{{- return(1) -}}
{%- endmacro %}
