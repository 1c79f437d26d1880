{#
    A mart of cells without those in violation of a rule:

        {{ kanon_sql.published(
            ref("ledger"), by=["region", "sector"], value="turnover", contributor="firm_id",
            n=10, dominance=[[2, 67]], total_label="Total"
        ) }}

    The records of the violating inner cells are left out, and the rest is aggregated again. Every margin
    is then the sum of the shown cells, and no cell follows by subtraction. The totals differ from those
    of all records; publish the latter nowhere.

    Green, Ritchie, Smith 2021, Automatic checking of research outputs (ACRO), UNECE expert meeting
    on statistical data confidentiality.
#}
{% macro published(
    relation, by=none, value=none, contributor=none, n=none, dominance=none, p_percent=none,
    total_label="Total", margins="all", count="contributors", quote_columns=none
) -%}
{% if not kanon_sql.is_relation(relation) -%}
{{ kanon_sql.refuse("published: the records must be a relation, as in ref('ledger'); found " ~ relation) }}
{%- endif %}
{% do kanon_sql.list_of_columns("published", "by", by) %}
{% do kanon_sql.needs_one_of("published", {"n": n, "dominance": dominance, "p_percent": p_percent}) %}
{% for name in ["dominance", "p_percent"] if value is none and (dominance if name == "dominance" else p_percent) is not none -%}
{{ kanon_sql.refuse("published: " ~ name ~ " needs value, the column that is summed") }}
{%- endfor %}
{% set own = kanon_sql.columns_of_cells("published", relation, by, quote_columns, contributor, value) %}
{% set margins = kanon_sql.margins_of_test("published", margins, by, own["columns"]) %}
{% set total = none if total_label is none else kanon_sql.value_as_text(total_label) %}
{% set records = kanon_sql.records_of(
    relation, "kanon_source", own["columns"] + [own["contributor"]] | reject("none") | list,
    kanon_sql.read_without_doubt(own, total)
) %}
{% set rules = kanon_sql.rules_of_published(n, dominance, p_percent) %}
{% set digits = none %}
{% if value is not none %}
{% set digits = kanon_sql.digits_of(relation, own["relation"], own["figure"], rules["factor"])[0] %}
{% endif %}
{% set violated = [] %}
{% if n is not none %}
{% do violated.append(kanon_sql.min_contributors_violated(rules["n"]) | trim) %}
{% endif %}
{% for rank, k in rules["dominance"] %}
{% do violated.append(kanon_sql.dominance_violated(rank, k, false, digits is not none) | trim) %}
{% endfor %}
{% if p_percent is not none %}
{% do violated.append(kanon_sql.p_percent_violated(rules["p_percent"], 100, 1, digits is not none) | trim) %}
{% endif %}
{{- return(kanon_sql.tidy(kanon_sql.cells_without_disclosive(
    records, own["columns"], kanon_sql.groupings_of(own["columns"], margins), violated, rules["ranks"],
    kanon_sql.column_of("published", "count", count, kanon_sql.quotes_all(quote_columns)), total,
    own["contributor"], own["figure"], digits
), total_label)) -}}
{%- endmacro %}


{# The thresholds of `published`, checked, the ranks that they add, and their largest factor. #}
{% macro rules_of_published(n, dominance, p_percent) -%}
{% set rules = {"n": kanon_sql.count_of("published", "n", n), "dominance": [], "p_percent": p_percent} %}
{% set ranks = [1] %}
{% set factors = [1] %}
{% if dominance is not none and (dominance is string or dominance is mapping or dominance is not iterable) -%}
{{ kanon_sql.refuse("published: dominance must be a list of [n, k], as in [[2, 67]]; found " ~ dominance) }}
{%- endif %}
{% for rule in dominance or [] %}
{% if rule is string or rule is mapping or rule is not iterable or rule | length != 2 -%}
{{ kanon_sql.refuse("published: dominance must be a list of [n, k], as in [[2, 67]]; found " ~ dominance) }}
{%- endif %}
{% set arguments = {"n": rule[0], "k": rule[1]} %}
{% set rank = kanon_sql.parameter_of_cells("published", "n", arguments, "count") %}
{% set k = kanon_sql.parameter_of_cells("published", "k", arguments, {"above": true, "below": 100}) %}
{% do rules["dominance"].append([rank, k]) %}
{% do ranks.append(rank) %}
{% do factors.append(kanon_sql.largest_factor({"k": k})) %}
{% endfor %}
{% if p_percent is not none %}
{% do kanon_sql.parameter_of_cells("published", "p_percent", {"p_percent": p_percent}, {"above": true}) %}
{% do ranks.append(2) %}
{% do factors.append(kanon_sql.largest_factor({"p": p_percent, "q": 100})) %}
{% endif %}
{% do rules.update({"ranks": ranks | unique | sort | list, "factor": factors | max}) %}
{{ return(rules) }}
{%- endmacro %}


{# The statement: the cells, those that violate, the records of the others, and their cells. #}
{% macro cells_without_disclosive(
    relation, columns, groupings, violated, ranks, count, total_label=none, contributor=none,
    value=none, digits=none
) %}
{% set figure = none if value is none else kanon_sql.typed_figure(value, digits) | trim %}
with

{{ kanon_sql.ctes_of_cells(kanon_sql.cells_of(
    relation, columns, [groupings[0]], contributor, figure, ranks=ranks if value is not none else []
)) | trim }},

disclosive_cells as (
    select
        1 as kanon_is_disclosive,
{{ kanon_sql.aliases(columns) | indent(4, first=true) }}
    from cells
    where
        ({{ violated | join(")\n        or (") }})
        or kanon_contributors = 0
),

kept_records as (
    select
{% for column in columns %}
        cast(kanon_source.{{ column }} as {{ kanon_sql.text_type() }}) as {{ column }},
{% endfor %}
{% if contributor is not none %}
        kanon_source.{{ contributor }},
{% endif %}
        {{ figure if value is not none else "1" }} as kanon_figure
    from {{ relation | indent(4) }}
    left join disclosive_cells
{% for column in columns %}
        {{ "on" if loop.first else "and" }} {{ kanon_sql.same("disclosive_cells." ~ column, "kanon_source." ~ column) }}
{% endfor %}
    where disclosive_cells.kanon_is_disclosive is null
)

{% for grouping in groupings %}
select
{% for column in columns %}
    {{ column if column in grouping.columns else "cast(" ~ (kanon_sql.literal(total_label) if total_label is not none else "null") ~ " as " ~ kanon_sql.text_type() ~ ")" }}{{ " as " ~ column if column not in grouping.columns }},
{% endfor %}
{% if value is not none %}
    sum(kanon_figure) as {{ value }},
{% endif %}
    {{ "count(kanon_figure)" if contributor is none else "count(distinct case when kanon_figure is not null then " ~ contributor ~ " end)" }} as {{ count }}
from kept_records
{% if grouping.columns %}
group by
{{ kanon_sql.aliases(grouping.columns) }}
{% else %}
having count(*) > 0
{% endif %}
{% if not loop.last %}

union all

{% endif %}
{% endfor %}
{%- endmacro %}


{#
    Predicate over every record, which ends with an error of the database where a label is that of its
    total, a value is no finite number, or a record has no contributor.
#}
{% macro read_without_doubt(own, total_label) -%}
{% set doubts = [] %}
{% for column in own["columns"] %}
{% set text = "cast(" ~ column ~ " as " ~ kanon_sql.text_type() ~ ")" %}
{% do doubts.append([
    column ~ " is null" if total_label is none else text ~ " = " ~ kanon_sql.literal(total_label), column,
    "is NULL in a record, as in its total. Give published a total_label" if total_label is none
        else "has a value that is the label of its total. Give published another total_label",
]) %}
{% endfor %}
{% if own["contributor"] is not none %}
{% do doubts.append([own["contributor"] ~ " is null", own["contributor"], "is NULL in a record, so nobody knows whose it is"]) %}
{% endif %}
{% if own["figure"] is not none %}
{% set number = kanon_sql.figure_number(own["figure"]) | trim %}
{% do doubts.append([
    own["figure"] ~ " is not null and " ~ number ~ " is null", own["figure"], "has a value that is no number",
]) %}
{% do doubts.append([
    number ~ " is not null and not (" ~ kanon_sql.is_finite(number) ~ ")", own["figure"], "has a value that is NaN or infinite",
]) %}
{% endif %}
case
{%- for predicate, column, words in doubts %}
    when {{ predicate }} then {{ kanon_sql.raised(kanon_sql.literal(
        "kanon_sql: error, " ~ kanon_sql.unquoted(column) ~ " " ~ words
    ) ~ " || " ~ kanon_sql.nothing_of(column)) }}
{%- endfor %}
    else 1
end = 1
{%- endmacro %}


{# The empty text, which no planner knows before it reads the record. #}
{% macro nothing_of(column) -%}
{% set text = "cast(" ~ column ~ " as " ~ kanon_sql.text_type() ~ ")" -%}
coalesce(nullif({{ text }}, {{ text }}), '')
{%- endmacro %}
