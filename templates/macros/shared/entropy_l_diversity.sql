{#
    Entropy l-diversity: the sensitive values of a class have at least the entropy of l equally
    likely values. The measure is exp(H) with H = -sum(q ln q), computed in one pass as H = ln n -
    sum(x ln x) / n over the counts x of the values, n their sum. A value that every person of a
    class holds is certain, so H is 0 whatever other values they have. A class without a known value
    has no entropy.

    Machanavajjhala, Kifer, Gehrke, Venkitasubramaniam 2007, l-diversity, ACM TKDD 1(1),
    definition 4.1.
#}
{% macro entropy_l_diversity(entity=none, unknown=false) -%}
{% set diversity = "exp(" ~ kanon_sql.entropy(entity, unknown) ~ ")" -%}
{{ "coalesce(" ~ diversity ~ ", 0)" if unknown else diversity }}
{%- endmacro %}


{#
    The slack is for rounding: three equally frequent values have the entropy ln 3 but for the last
    digit.
#}
{% macro entropy_l_diversity_violated(l, entity=none, unknown=false) -%}
{{ "kanon_entropy is null or " if unknown }}{{ kanon_sql.entropy(entity, unknown) }} < ln({{ kanon_sql.number(l) }}) - {{ kanon_sql.slack() }}
{%- endmacro %}


{% macro entropy(entity=none, unknown=false) -%}
{{ kanon_sql.unless_certain("kanon_entropy", "0", entity, unknown) }}
{%- endmacro %}


{% macro entropy_l_diversity_columns(counted, entity=none, unknown=false) -%}
{% set float = kanon_sql.float_type() %}
{% set sum_of_each = counted ~ " * ln(cast(" ~ counted ~ " as " ~ float ~ "))" %}
{% set n = "nullif(sum(" ~ counted ~ "), 0)" if unknown else "sum(" ~ counted ~ ")" %}
{% set sum_of_each = "sum(" ~ (
    "case when " ~ counted ~ " > 0 then " ~ sum_of_each ~ " end" if unknown else sum_of_each
) ~ ")" %}
{{ return(kanon_sql.most_people_columns(counted, entity) + [{
    "name": "kanon_entropy",
    "expression": "ln(cast(" ~ n ~ " as " ~ float ~ "))\n    - "
        ~ kanon_sql.quotient(sum_of_each, "sum(" ~ counted ~ ")"),
}]) }}
{%- endmacro %}


{# Generic test of entropy l-diversity. #}
{% macro entropy_l_diversity_failures(relation, columns, sensitive, l, entity=none, unknown=false) %}
{% set counted = kanon_sql.counted(entity, unknown) %}
{{ kanon_sql.sensitive_failures(
    relation, columns, sensitive, "entropy_l_diversity",
    entity=entity, unknown=unknown,
    measure=kanon_sql.entropy_l_diversity(entity, unknown),
    violated=kanon_sql.entropy_l_diversity_violated(l, entity, unknown),
    class_columns=kanon_sql.entropy_l_diversity_columns(counted, entity, unknown),
    least=true
) }}
{%- endmacro %}


{% test entropy_l_diversity(model) -%}
{% set arguments = kanon_sql.test_arguments(
    "entropy_l_diversity", model, kwargs, {"l": {"least": 1}}, ["sensitive"]
) -%}
{{ kanon_sql.tidy(kanon_sql.entropy_l_diversity_failures(**arguments), model) }}
{%- endtest %}
