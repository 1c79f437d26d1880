{#
    Entropy l-diversity: the sensitive values of a class are as uncertain as l equally likely
    ones. The measure is the exponential of the entropy H = -sum(q ln q), which needs no second
    look at the values: with n counted values of which x are the same, H = ln n - sum(x ln x) / n.
    What every person of a class has is certain, so that its H is 0, whatever else they have.

    Machanavajjhala, Kifer, Gehrke, Venkitasubramaniam 2007, l-diversity, ACM TKDD 1(1),
    definition 4.1.
#}
{% macro entropy_l_diversity(entity=none, unknown=false) -%}
case when kanon_total > 0 then exp({{ kanon_sql.entropy(entity, unknown) }}) else 0 end
{%- endmacro %}


{# Three equal values have the entropy of ln 3 but for the last digit, hence the slack. #}
{% macro entropy_l_diversity_violated(l, entity=none, unknown=false) -%}
kanon_total = 0 or {{ kanon_sql.entropy(entity, unknown) }} < ln({{ kanon_sql.number(l) }}) - {{ kanon_sql.slack() }}
{%- endmacro %}


{% macro entropy(entity=none, unknown=false) -%}
{% set of_counts = "ln(cast(nullif(kanon_total, 0) as " ~ kanon_sql.float_type() ~ ")) - " ~ kanon_sql.quotient("kanon_log_sum", "kanon_total") -%}
{{ kanon_sql.unless_certain(of_counts, "0", entity, unknown) }}
{%- endmacro %}


{% macro entropy_l_diversity_columns(counted) -%}
sum({{ counted }}) as kanon_total
sum(case when {{ counted }} > 0 then {{ counted }} * ln(cast({{ counted }} as {{ kanon_sql.float_type() }})) end) as kanon_log_sum
{%- endmacro %}


{# The test: the entropy of l equally likely values in every class. #}
{% macro entropy_l_diversity_failures(relation, columns, sensitive, l, entity=none, unknown=false) %}
{% set counted = kanon_sql.counted(entity, unknown) %}
{{ kanon_sql.sensitive_failures(
    relation, columns, sensitive, "entropy_l_diversity",
    entity=entity, unknown=unknown,
    measure=kanon_sql.entropy_l_diversity(entity, unknown),
    violated=kanon_sql.entropy_l_diversity_violated(l, entity, unknown),
    class_columns=kanon_sql.entropy_l_diversity_columns(counted),
    least=true
) }}
{%- endmacro %}
