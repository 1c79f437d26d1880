{#
    Recursive (c,l)-diversity: with the counts r1 >= r2 >= ... >= rm of a class's values, the most
    frequent value is not too frequent, r1 < c (rl + ... + rm). The measure is the quotient,
    infinite (NULL here) for a class with fewer than l values.

    With `allowed` values, which may become known, y is the rank of the most frequent other value:
    ry < c (rl + ... + rm) if y < l, else ry < c (r(l-1) + ... + rm - ry). A class of allowed values
    only passes.

    A value held by every person of a class is certain. Unless this value is allowed, the class counts as
    having no other one.

    Machanavajjhala, Kifer, Gehrke, Venkitasubramaniam 2007, l-diversity, ACM TKDD 1(1),
    definitions 4.2 and 4.5.
#}
{% macro recursive_cl_diversity(l, label, allowed=none, entity=none, unknown=false) -%}
{% set most = kanon_sql.most_known(label, allowed) -%}
{% set quotient = kanon_sql.quotient(most, kanon_sql.recursive_rest(l, label, allowed, entity, unknown)) -%}
{% if allowed is none -%}
{{ quotient }}
{%- else -%}
case
    when {{ kanon_sql.only_allowed(most, entity, unknown) }} then 0
    else {{ quotient }}
end
{%- endif %}
{%- endmacro %}


{% macro recursive_cl_diversity_violated(c, l, label, allowed=none, entity=none, unknown=false) -%}
{% set most = kanon_sql.most_known(label, allowed) -%}
{% set rare = kanon_sql.less_than_share(
    most, c, kanon_sql.recursive_rest(l, label, allowed, entity, unknown)
) -%}
not ({{ rare }}{{ "" if allowed is none else " or " ~ kanon_sql.only_allowed(most, entity, unknown) }})
{%- endmacro %}


{# Predicate: the class has fewer than l values and fails for every c. #}
{% macro recursive_cl_diversity_infinite(measure) -%}
{{ measure }} is null
{%- endmacro %}


{# Count of the most frequent value that is not allowed. #}
{% macro most_known(label, allowed=none) -%}
{{ "kanon_most" if allowed is none else "kanon_most_" ~ label }}
{%- endmacro %}


{# Predicate: the class has allowed values only. #}
{% macro only_allowed(most, entity=none, unknown=false) -%}
{{ most }} = 0{{ " and kanon_total > 0" if unknown }}
{%- endmacro %}


{# Sum of the counts that remain after the most frequent values are ruled out. #}
{% macro recursive_rest(l, label, allowed=none, entity=none, unknown=false) -%}
{% set most = kanon_sql.most_known(label, allowed) -%}
{% if entity is none -%}
kanon_rest_{{ label }}
{%- else -%}
case when {{ most }} = {{ kanon_sql.class_holders(entity, unknown) }} then {{ most if l == 1 else 0 }} else kanon_rest_{{ label }} end
{%- endif %}
{%- endmacro %}


{% macro recursive_cl_diversity_columns(counted, l, label, sensitive, allowed=none, unknown=false) -%}
{% set not_allowed = "case when " ~ kanon_sql.is_one_of(sensitive, allowed or []) ~ " then 0 else " ~ counted ~ " end" %}
{% set their_rank = "case when " ~ kanon_sql.is_one_of(sensitive, allowed or []) ~ " then null else kanon_rank end" %}
{% if allowed is none %}
{{ return([
    {"name": "kanon_most", "expression": "max(" ~ counted ~ ")"},
    {"name": "kanon_rest_" ~ label, "expression":
        "sum(" ~ counted ~ ")" if l == 1
        else "sum(" ~ counted ~ ") - max(" ~ counted ~ ")" if l == 2
        else kanon_sql.sum_of_ranks(counted, l)},
]) }}
{% else %}
{{ return([
    {"name": "kanon_most_" ~ label, "expression": "max(" ~ not_allowed ~ ")"},
    {"name": "kanon_rest_" ~ label, "expression":
        "sum(" ~ counted ~ ")" if l == 1
        else "case\n    when min(" ~ their_rank ~ ") < " ~ kanon_sql.positive_int(l, "l")
            ~ "\n    then " ~ kanon_sql.sum_of_ranks(counted, l)
            ~ "\n    else " ~ kanon_sql.sum_of_ranks(counted, l - 1) ~ " - max(" ~ not_allowed ~ ")\nend"},
] + (kanon_sql.total_columns(counted) if unknown else [])) }}
{% endif %}
{%- endmacro %}


{# Sum of a class's counts from this rank on; the most frequent value has rank 1. #}
{% macro sum_of_ranks(counted, rank) -%}
sum(case when kanon_rank >= {{ rank }} then {{ counted }} else 0 end)
{%- endmacro %}


{# Generic test of recursive (c,l)-diversity. #}
{% macro recursive_cl_diversity_failures(
    relation, columns, sensitive, c, l, allowed=none, entity=none, unknown=false, all_occur=true
) %}
{% set counted = kanon_sql.counted(entity, unknown) %}
{{ kanon_sql.sensitive_failures(
    relation, columns, sensitive, "recursive_cl_diversity",
    entity=entity, unknown=unknown,
    needs=["ranks"] if l > 2 or allowed is not none and l > 1 else [],
    measure=kanon_sql.recursive_cl_diversity(l, "recursive_cl_diversity", allowed, entity, unknown),
    violated=kanon_sql.recursive_cl_diversity_violated(
        c, l, "recursive_cl_diversity", allowed, entity, unknown
    ),
    infinite=kanon_sql.recursive_cl_diversity_infinite("kanon_recursive_cl_diversity"),
    class_columns=kanon_sql.recursive_cl_diversity_columns(
        counted, l, "recursive_cl_diversity", sensitive, allowed, unknown
    ),
    named=allowed if all_occur else none
) }}
{%- endmacro %}


{% test recursive_cl_diversity(model) -%}
{% do kanon_sql.needs_one_of("recursive_cl_diversity", {"c": kwargs.get("c")}) -%}
{% do kanon_sql.needs_one_of("recursive_cl_diversity", {"l": kwargs.get("l")}) -%}
{% set arguments = kanon_sql.test_arguments("recursive_cl_diversity", model, kwargs, {
    "c": {"above": true}, "l": "count", "allowed": "values",
}, ["sensitive"]) -%}
{{ kanon_sql.tidy(kanon_sql.recursive_cl_diversity_failures(**arguments), model) }}
{%- endtest %}
