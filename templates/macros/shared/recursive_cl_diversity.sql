{#
    Recursive (c,l)-diversity: with the counts of a class's values r1 >= r2 >= ... >= rm, the
    most frequent one stays rare beside the rest, r1 < c (rl + ... + rm). The measure is the
    quotient, which is infinite (NULL here) where a class has fewer than l values.

    Where some values are allowed to become known, y is the rank of the most frequent other one:
    ry < c (rl + ... + rm) if y < l, else ry < c (r(l-1) + ... + rm - ry); a class of allowed
    values only satisfies it.

    What every person of a class has is certain: unless it is allowed, nothing is left beside it,
    whatever else they have.

    Machanavajjhala, Kifer, Gehrke, Venkitasubramaniam 2007, l-diversity, ACM TKDD 1(1),
    definitions 4.2 and 4.5.
#}
{% macro recursive_cl_diversity(l, label, allowed=none, entity=none, unknown=false) -%}
{% if allowed is none -%}
{{ kanon_sql.quotient("kanon_most", kanon_sql.recursive_rest(l, label, allowed, entity, unknown)) }}
{%- else -%}
case when kanon_most_{{ label }} = 0 and kanon_total > 0 then 0 else {{ kanon_sql.quotient(
    "kanon_most_" ~ label, kanon_sql.recursive_rest(l, label, allowed, entity, unknown)
) }} end
{%- endif %}
{%- endmacro %}


{% macro recursive_cl_diversity_violated(c, l, label, allowed=none, entity=none, unknown=false) -%}
{% set most = "kanon_most" if allowed is none else "kanon_most_" ~ label -%}
not ({{ kanon_sql.less_than_share(
    most, c, kanon_sql.recursive_rest(l, label, allowed, entity, unknown)
) }}{{ "" if allowed is none else " or (" ~ most ~ " = 0 and kanon_total > 0)" }})
{%- endmacro %}


{# No c will do for a class with fewer than l values. #}
{% macro recursive_cl_diversity_infinite(measure) -%}
{{ measure }} is null
{%- endmacro %}


{# The records of a class that are left once the most frequent values are ruled out. #}
{% macro recursive_rest(l, label, allowed=none, entity=none, unknown=false) -%}
{% set most = "kanon_most" if allowed is none else "kanon_most_" ~ label -%}
{% set rest = kanon_sql.rest_of_counts(l, label, allowed) | trim -%}
{% if entity is none -%}
{{ rest }}
{%- else -%}
case when {{ most }} = {{ kanon_sql.class_holders(entity, unknown) }} then {{ most if l == 1 else 0 }} else {{ rest }} end
{%- endif %}
{%- endmacro %}


{# The same by the counts of the values alone. #}
{% macro rest_of_counts(l, label, allowed=none) -%}
{% if l == 1 -%}
kanon_total
{%- elif allowed is not none -%}
case when kanon_rank_{{ label }} < {{ kanon_sql.positive_int(l, "l") }} then kanon_rest_{{ label }} else kanon_rest_before_{{ label }} - kanon_most_{{ label }} end
{%- elif l == 2 -%}
(kanon_total - kanon_most)
{%- else -%}
kanon_rest_{{ label }}
{%- endif %}
{%- endmacro %}


{% macro recursive_cl_diversity_columns(counted, l, label, sensitive, allowed=none) -%}
sum({{ counted }}) as kanon_total
max({{ counted }}) as kanon_most
{% if l > 2 or allowed is not none %}
sum(case when kanon_rank >= {{ kanon_sql.positive_int(l, "l") }} then {{ counted }} else 0 end) as kanon_rest_{{ label }}
{% endif %}
{% if allowed is not none %}
sum(case when kanon_rank >= {{ l }} - 1 then {{ counted }} else 0 end) as kanon_rest_before_{{ label }}
max(case when {{ kanon_sql.is_one_of(sensitive, allowed) }} then 0 else {{ counted }} end) as kanon_most_{{ label }}
min(case when {{ kanon_sql.is_one_of(sensitive, allowed) }} then null else kanon_rank end) as kanon_rank_{{ label }}
{% endif %}
{%- endmacro %}


{# The test: c is more than every class needs. #}
{% macro recursive_cl_diversity_failures(
    relation, columns, sensitive, c, l, allowed=none, entity=none, unknown=false
) %}
{% set counted = kanon_sql.counted(entity, unknown) %}
{{ kanon_sql.sensitive_failures(
    relation, columns, sensitive, "recursive_cl_diversity",
    entity=entity, unknown=unknown,
    needs=["ranks"],
    measure=kanon_sql.recursive_cl_diversity(l, "recursive_cl_diversity", allowed, entity, unknown),
    violated=kanon_sql.recursive_cl_diversity_violated(
        c, l, "recursive_cl_diversity", allowed, entity, unknown
    ),
    infinite=kanon_sql.recursive_cl_diversity_infinite("kanon_recursive_cl_diversity"),
    class_columns=kanon_sql.recursive_cl_diversity_columns(counted, l, "recursive_cl_diversity", sensitive, allowed),
    named=allowed
) }}
{%- endmacro %}
