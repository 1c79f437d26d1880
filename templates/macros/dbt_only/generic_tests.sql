{#
    The generic tests, one for each model that one SELECT decides. A test checks its arguments and
    asks the macro `<model>_failures` in `shared`, which is the same SQL that Python renders. What
    each test takes is documented in ../_macros.yml.

    A test has one row of counts where it fails and none where it holds. What dbt reports, and
    compares with warn_if and error_if, is the number of records at risk.
#}


{% test k_anonymity(
    model,
    quasi_identifiers=none,
    k=none,
    entity=none,
    nulls="value",
    quote_columns=none
) -%}
{{- config(fail_calc="coalesce(sum(failures), 0)") -}}
{% do kanon_sql.needs_one_of("k_anonymity", {"k": k}) -%}
{% set k = kanon_sql.count_of("k_anonymity", "k", k) -%}
{% set wildcard = kanon_sql.is_wildcard("k_anonymity", nulls, entity) -%}
{% set asked = kanon_sql.columns_of_test("k_anonymity", model, quasi_identifiers, quote_columns, entity) -%}
{{ kanon_sql.tidy(kanon_sql.k_anonymity_failures(
    asked["relation"], asked["columns"],
    k, asked["entity"], wildcard
), model) }}
{%- endtest %}


{% test k_map(
    model,
    quasi_identifiers=none,
    k=none,
    reference=none,
    reference_where=none,
    reference_columns=none,
    reference_entity=none,
    reference_weight=none,
    match="containment",
    missing="strict",
    entity=none,
    nulls="value",
    quote_columns=none
) -%}
{{- config(fail_calc="coalesce(sum(failures), 0)") -}}
{% do kanon_sql.needs_one_of("k_map", {"k": k}) -%}
{% set k = kanon_sql.count_of("k_map", "k", k) -%}
{% set wildcard = kanon_sql.is_wildcard("k_map", nulls, entity) -%}
{% set asked = kanon_sql.columns_of_test("k_map", model, quasi_identifiers, quote_columns, entity) -%}
{% set referred = kanon_sql.reference_of_test(
    "k_map", quasi_identifiers, reference,
    where=reference_where, columns=reference_columns,
    entity=reference_entity, weight=reference_weight,
    match=match, missing=missing, quote_columns=quote_columns, wildcard=wildcard
) -%}
{{ kanon_sql.tidy(kanon_sql.k_map_failures(
    asked["relation"],
    asked["columns"],
    reference=referred["relation"],
    pairs=referred["pairs"],
    k=k,
    entity=asked["entity"],
    reference_entity=referred["entity"],
    reference_weight=referred["weight"],
    union=referred["union"],
    complete=referred["complete"],
    wildcard=wildcard
), model) }}
{%- endtest %}


{% test delta_presence(
    model,
    quasi_identifiers=none,
    min=none,
    max=none,
    reference=none,
    reference_where=none,
    reference_columns=none,
    reference_entity=none,
    reference_weight=none,
    match="containment",
    missing="strict",
    entity=none,
    quote_columns=none
) -%}
{{- config(fail_calc="coalesce(sum(failures), 0)") -}}
{% do kanon_sql.needs_one_of("delta_presence", {"min": min, "max": max}) -%}
{% set min = kanon_sql.number_of_test("delta_presence", "min", min, 0, 1) -%}
{% set max = kanon_sql.number_of_test("delta_presence", "max", max, 0) -%}
{% if min is not none and max is not none and min > max -%}
{{ kanon_sql.refuse("delta_presence: min must not be above max") }}
{%- endif -%}
{% set asked = kanon_sql.columns_of_test("delta_presence", model, quasi_identifiers, quote_columns, entity) -%}
{% set referred = kanon_sql.reference_of_test(
    "delta_presence", quasi_identifiers, reference,
    where=reference_where, columns=reference_columns,
    entity=reference_entity, weight=reference_weight,
    match=match, missing=missing, quote_columns=quote_columns
) -%}
{{ kanon_sql.tidy(kanon_sql.delta_presence_failures(
    asked["relation"],
    asked["columns"],
    reference=referred["relation"],
    pairs=referred["pairs"],
    min=min,
    max=max,
    entity=asked["entity"],
    reference_entity=referred["entity"],
    reference_weight=referred["weight"],
    union=referred["union"],
    complete=referred["complete"]
), model) }}
{%- endtest %}


{% test homogeneity(
    model,
    quasi_identifiers=none,
    sensitive=none,
    entity=none,
    sensitive_nulls="value",
    quote_columns=none,
    column_name=none
) -%}
{{- config(fail_calc="coalesce(sum(failures), 0)") -}}
{% set unknown = kanon_sql.is_unknown("homogeneity", sensitive_nulls) -%}
{% set asked = kanon_sql.columns_of_sensitive_test(
    "homogeneity", model, quasi_identifiers, quote_columns, entity, sensitive, column_name
) -%}
{{ kanon_sql.tidy(kanon_sql.homogeneity_failures(
    asked["relation"], asked["columns"], asked["sensitive"],
    entity=asked["entity"], unknown=unknown
), model) }}
{%- endtest %}


{% test l_diversity(
    model,
    quasi_identifiers=none,
    sensitive=none,
    l=none,
    entity=none,
    sensitive_nulls="value",
    quote_columns=none,
    column_name=none
) -%}
{{- config(fail_calc="coalesce(sum(failures), 0)") -}}
{% do kanon_sql.needs_one_of("l_diversity", {"l": l}) -%}
{% set l = kanon_sql.count_of("l_diversity", "l", l) -%}
{% set unknown = kanon_sql.is_unknown("l_diversity", sensitive_nulls) -%}
{% set asked = kanon_sql.columns_of_sensitive_test(
    "l_diversity", model, quasi_identifiers, quote_columns, entity, sensitive, column_name
) -%}
{{ kanon_sql.tidy(kanon_sql.l_diversity_failures(
    asked["relation"], asked["columns"], asked["sensitive"],
    l, entity=asked["entity"], unknown=unknown
), model) }}
{%- endtest %}


{% test entropy_l_diversity(
    model,
    quasi_identifiers=none,
    sensitive=none,
    l=none,
    entity=none,
    sensitive_nulls="value",
    quote_columns=none,
    column_name=none
) -%}
{{- config(fail_calc="coalesce(sum(failures), 0)") -}}
{% do kanon_sql.needs_one_of("entropy_l_diversity", {"l": l}) -%}
{% set l = kanon_sql.number_of_test("entropy_l_diversity", "l", l, 1) -%}
{% set unknown = kanon_sql.is_unknown("entropy_l_diversity", sensitive_nulls) -%}
{% set asked = kanon_sql.columns_of_sensitive_test(
    "entropy_l_diversity", model, quasi_identifiers, quote_columns, entity, sensitive, column_name
) -%}
{{ kanon_sql.tidy(kanon_sql.entropy_l_diversity_failures(
    asked["relation"], asked["columns"], asked["sensitive"],
    l, entity=asked["entity"], unknown=unknown
), model) }}
{%- endtest %}


{% test recursive_cl_diversity(
    model,
    quasi_identifiers=none,
    sensitive=none,
    c=none,
    l=none,
    allowed=none,
    entity=none,
    sensitive_nulls="value",
    quote_columns=none,
    column_name=none
) -%}
{{- config(fail_calc="coalesce(sum(failures), 0)") -}}
{% do kanon_sql.needs_one_of("recursive_cl_diversity", {"c": c}) -%}
{% do kanon_sql.needs_one_of("recursive_cl_diversity", {"l": l}) -%}
{% set c = kanon_sql.number_of_test("recursive_cl_diversity", "c", c, 0, above=true) -%}
{% set l = kanon_sql.count_of("recursive_cl_diversity", "l", l) -%}
{% set allowed = kanon_sql.values_of_test("recursive_cl_diversity", "allowed", allowed) -%}
{% set unknown = kanon_sql.is_unknown("recursive_cl_diversity", sensitive_nulls) -%}
{% set asked = kanon_sql.columns_of_sensitive_test(
    "recursive_cl_diversity", model, quasi_identifiers, quote_columns, entity, sensitive, column_name
) -%}
{{ kanon_sql.tidy(kanon_sql.recursive_cl_diversity_failures(
    asked["relation"], asked["columns"], asked["sensitive"],
    c, l, allowed, entity=asked["entity"], unknown=unknown
), model) }}
{%- endtest %}


{% test alpha_k_anonymity(
    model,
    quasi_identifiers=none,
    sensitive=none,
    alpha=none,
    k=none,
    values=none,
    entity=none,
    sensitive_nulls="value",
    quote_columns=none,
    column_name=none
) -%}
{{- config(fail_calc="coalesce(sum(failures), 0)") -}}
{% do kanon_sql.needs_one_of("alpha_k_anonymity", {"alpha": alpha, "k": k}) -%}
{% set alpha = kanon_sql.number_of_test("alpha_k_anonymity", "alpha", alpha, 0, 1, above=true) -%}
{% set k = kanon_sql.count_of("alpha_k_anonymity", "k", k) -%}
{% set values = kanon_sql.values_of_test("alpha_k_anonymity", "values", values) -%}
{% set unknown = kanon_sql.is_unknown("alpha_k_anonymity", sensitive_nulls) -%}
{% set asked = kanon_sql.columns_of_sensitive_test(
    "alpha_k_anonymity", model, quasi_identifiers, quote_columns, entity, sensitive, column_name
) -%}
{{ kanon_sql.tidy(kanon_sql.alpha_k_anonymity_failures(
    asked["relation"], asked["columns"], asked["sensitive"],
    alpha, k, values, entity=asked["entity"], unknown=unknown
), model) }}
{%- endtest %}


{% test p_sensitive_k_anonymity(
    model,
    quasi_identifiers=none,
    sensitive=none,
    p=none,
    k=none,
    entity=none,
    sensitive_nulls="value",
    quote_columns=none,
    column_name=none
) -%}
{{- config(fail_calc="coalesce(sum(failures), 0)") -}}
{% do kanon_sql.needs_one_of("p_sensitive_k_anonymity", {"p": p, "k": k}) -%}
{% set p = kanon_sql.count_of("p_sensitive_k_anonymity", "p", p) -%}
{% set k = kanon_sql.count_of("p_sensitive_k_anonymity", "k", k) -%}
{% set unknown = kanon_sql.is_unknown("p_sensitive_k_anonymity", sensitive_nulls) -%}
{% set asked = kanon_sql.columns_of_sensitive_test(
    "p_sensitive_k_anonymity", model, quasi_identifiers, quote_columns, entity, sensitive, column_name
) -%}
{{ kanon_sql.tidy(kanon_sql.p_sensitive_k_anonymity_failures(
    asked["relation"], asked["columns"], asked["sensitive"],
    p, k, entity=asked["entity"], unknown=unknown
), model) }}
{%- endtest %}


{% test k_e_anonymity(
    model,
    quasi_identifiers=none,
    sensitive=none,
    k=none,
    e=none,
    entity=none,
    sensitive_nulls="value",
    quote_columns=none,
    column_name=none
) -%}
{{- config(fail_calc="coalesce(sum(failures), 0)") -}}
{% do kanon_sql.needs_one_of("k_e_anonymity", {"k": k, "e": e}) -%}
{% set k = kanon_sql.count_of("k_e_anonymity", "k", k) -%}
{% set e = kanon_sql.number_of_test("k_e_anonymity", "e", e, 0) -%}
{% set unknown = kanon_sql.is_unknown("k_e_anonymity", sensitive_nulls) -%}
{% set asked = kanon_sql.columns_of_sensitive_test(
    "k_e_anonymity", model, quasi_identifiers, quote_columns, entity, sensitive, column_name
) -%}
{{ kanon_sql.tidy(kanon_sql.k_e_anonymity_failures(
    asked["relation"], asked["columns"], asked["sensitive"],
    k, e, entity=asked["entity"], unknown=unknown
), model) }}
{%- endtest %}


{% test t_closeness(
    model,
    quasi_identifiers=none,
    sensitive=none,
    t=none,
    distance="equal",
    order=none,
    entity=none,
    sensitive_nulls="value",
    quote_columns=none,
    column_name=none
) -%}
{{- config(fail_calc="coalesce(sum(failures), 0)") -}}
{% do kanon_sql.needs_one_of("t_closeness", {"t": t}) -%}
{% set t = kanon_sql.number_of_test("t_closeness", "t", t, 0, 1) -%}
{% set distance = kanon_sql.one_of("t_closeness", "distance", distance, ["equal", "ordered"]) -%}
{% set order = kanon_sql.order_of_values("t_closeness", order) -%}
{% if order is not none and distance != "ordered" -%}
{{ kanon_sql.refuse("t_closeness: order is for distance: ordered") }}
{%- endif -%}
{% set unknown = kanon_sql.is_unknown("t_closeness", sensitive_nulls) -%}
{% set asked = kanon_sql.columns_of_sensitive_test(
    "t_closeness", model, quasi_identifiers, quote_columns, entity, sensitive, column_name
) -%}
{{ kanon_sql.tidy(kanon_sql.t_closeness_failures(
    asked["relation"], asked["columns"], asked["sensitive"],
    t, distance, order, entity=asked["entity"], unknown=unknown
), model) }}
{%- endtest %}


{% test delta_disclosure(
    model,
    quasi_identifiers=none,
    sensitive=none,
    delta=none,
    entity=none,
    sensitive_nulls="value",
    quote_columns=none,
    column_name=none
) -%}
{{- config(fail_calc="coalesce(sum(failures), 0)") -}}
{% do kanon_sql.needs_one_of("delta_disclosure", {"delta": delta}) -%}
{% set delta = kanon_sql.number_of_test("delta_disclosure", "delta", delta, 0, above=true) -%}
{% set unknown = kanon_sql.is_unknown("delta_disclosure", sensitive_nulls) -%}
{% set asked = kanon_sql.columns_of_sensitive_test(
    "delta_disclosure", model, quasi_identifiers, quote_columns, entity, sensitive, column_name
) -%}
{{ kanon_sql.tidy(kanon_sql.delta_disclosure_failures(
    asked["relation"], asked["columns"], asked["sensitive"],
    delta, entity=asked["entity"], unknown=unknown
), model) }}
{%- endtest %}


{% test basic_beta_likeness(
    model,
    quasi_identifiers=none,
    sensitive=none,
    beta=none,
    entity=none,
    sensitive_nulls="value",
    quote_columns=none,
    column_name=none
) -%}
{{- config(fail_calc="coalesce(sum(failures), 0)") -}}
{% do kanon_sql.needs_one_of("basic_beta_likeness", {"beta": beta}) -%}
{% set beta = kanon_sql.number_of_test("basic_beta_likeness", "beta", beta, 0) -%}
{% set unknown = kanon_sql.is_unknown("basic_beta_likeness", sensitive_nulls) -%}
{% set asked = kanon_sql.columns_of_sensitive_test(
    "basic_beta_likeness", model, quasi_identifiers, quote_columns, entity, sensitive, column_name
) -%}
{{ kanon_sql.tidy(kanon_sql.basic_beta_likeness_failures(
    asked["relation"], asked["columns"], asked["sensitive"],
    beta, entity=asked["entity"], unknown=unknown
), model) }}
{%- endtest %}


{% test enhanced_beta_likeness(
    model,
    quasi_identifiers=none,
    sensitive=none,
    beta=none,
    entity=none,
    sensitive_nulls="value",
    quote_columns=none,
    column_name=none
) -%}
{{- config(fail_calc="coalesce(sum(failures), 0)") -}}
{% do kanon_sql.needs_one_of("enhanced_beta_likeness", {"beta": beta}) -%}
{% set beta = kanon_sql.number_of_test("enhanced_beta_likeness", "beta", beta, 0) -%}
{% set unknown = kanon_sql.is_unknown("enhanced_beta_likeness", sensitive_nulls) -%}
{% set asked = kanon_sql.columns_of_sensitive_test(
    "enhanced_beta_likeness", model, quasi_identifiers, quote_columns, entity, sensitive, column_name
) -%}
{{ kanon_sql.tidy(kanon_sql.enhanced_beta_likeness_failures(
    asked["relation"], asked["columns"], asked["sensitive"],
    beta, entity=asked["entity"], unknown=unknown
), model) }}
{%- endtest %}


{% test prosecutor_risk(
    model,
    quasi_identifiers=none,
    max_highest=none,
    max_average=none,
    max_at_risk=none,
    threshold=0.2,
    entity=none,
    nulls="value",
    quote_columns=none
) -%}
{{- config(fail_calc="coalesce(sum(failures), 0)") -}}
{% do kanon_sql.needs_one_of("prosecutor_risk", {
    "max_highest": max_highest, "max_average": max_average, "max_at_risk": max_at_risk,
}) -%}
{% set max_highest = kanon_sql.number_of_test("prosecutor_risk", "max_highest", max_highest, 0, 1) -%}
{% set max_average = kanon_sql.number_of_test("prosecutor_risk", "max_average", max_average, 0, 1) -%}
{% set max_at_risk = kanon_sql.number_of_test("prosecutor_risk", "max_at_risk", max_at_risk, 0, 1) -%}
{% set threshold = kanon_sql.number_of_test("prosecutor_risk", "threshold", threshold, 0, 1) -%}
{% set wildcard = kanon_sql.is_wildcard("prosecutor_risk", nulls, entity) -%}
{% set asked = kanon_sql.columns_of_test("prosecutor_risk", model, quasi_identifiers, quote_columns, entity) -%}
{{ kanon_sql.tidy(kanon_sql.prosecutor_risk_failures(
    asked["relation"], asked["columns"],
    max_highest, max_average, max_at_risk, threshold, asked["entity"], wildcard
), model) }}
{%- endtest %}


{% test journalist_risk(
    model,
    quasi_identifiers=none,
    max_highest=none,
    max_average=none,
    max_at_risk=none,
    threshold=0.2,
    reference=none,
    reference_where=none,
    reference_columns=none,
    reference_entity=none,
    reference_weight=none,
    match="containment",
    missing="strict",
    entity=none,
    quote_columns=none
) -%}
{{- config(fail_calc="coalesce(sum(failures), 0)") -}}
{% do kanon_sql.needs_one_of("journalist_risk", {
    "max_highest": max_highest, "max_average": max_average, "max_at_risk": max_at_risk,
}) -%}
{% set max_highest = kanon_sql.number_of_test("journalist_risk", "max_highest", max_highest, 0, 1) -%}
{% set max_average = kanon_sql.number_of_test("journalist_risk", "max_average", max_average, 0, 1) -%}
{% set max_at_risk = kanon_sql.number_of_test("journalist_risk", "max_at_risk", max_at_risk, 0, 1) -%}
{% set threshold = kanon_sql.number_of_test("journalist_risk", "threshold", threshold, 0, 1) -%}
{% set asked = kanon_sql.columns_of_test("journalist_risk", model, quasi_identifiers, quote_columns, entity) -%}
{% set referred = kanon_sql.reference_of_test(
    "journalist_risk", quasi_identifiers, reference,
    where=reference_where, columns=reference_columns,
    entity=reference_entity, weight=reference_weight,
    match=match, missing=missing, quote_columns=quote_columns
) -%}
{{ kanon_sql.tidy(kanon_sql.journalist_risk_failures(
    asked["relation"],
    asked["columns"],
    reference=referred["relation"],
    pairs=referred["pairs"],
    max_highest=max_highest,
    max_average=max_average,
    max_at_risk=max_at_risk,
    threshold=threshold,
    entity=asked["entity"],
    reference_entity=referred["entity"],
    reference_weight=referred["weight"],
    union=referred["union"],
    complete=referred["complete"]
), model) }}
{%- endtest %}


{% test marketer_risk(
    model,
    quasi_identifiers=none,
    max_average=none,
    reference=none,
    reference_where=none,
    reference_columns=none,
    reference_entity=none,
    reference_weight=none,
    match="containment",
    missing="strict",
    entity=none,
    quote_columns=none
) -%}
{{- config(fail_calc="coalesce(sum(failures), 0)") -}}
{% do kanon_sql.needs_one_of("marketer_risk", {"max_average": max_average}) -%}
{% set max_average = kanon_sql.number_of_test("marketer_risk", "max_average", max_average, 0, 1) -%}
{% set asked = kanon_sql.columns_of_test("marketer_risk", model, quasi_identifiers, quote_columns, entity) -%}
{% set referred = kanon_sql.reference_of_test(
    "marketer_risk", quasi_identifiers, reference,
    where=reference_where, columns=reference_columns,
    entity=reference_entity, weight=reference_weight,
    match=match, missing=missing, quote_columns=quote_columns
) -%}
{{ kanon_sql.tidy(kanon_sql.marketer_risk_failures(
    asked["relation"],
    asked["columns"],
    reference=referred["relation"],
    pairs=referred["pairs"],
    max_average=max_average,
    entity=asked["entity"],
    reference_entity=referred["entity"],
    reference_weight=referred["weight"],
    union=referred["union"],
    complete=referred["complete"]
), model) }}
{%- endtest %}


{% test sample_uniqueness(
    model,
    quasi_identifiers=none,
    max_share=none,
    entity=none,
    nulls="value",
    quote_columns=none
) -%}
{{- config(fail_calc="coalesce(sum(failures), 0)") -}}
{% do kanon_sql.needs_one_of("sample_uniqueness", {"max_share": max_share}) -%}
{% set max_share = kanon_sql.number_of_test("sample_uniqueness", "max_share", max_share, 0, 1) -%}
{% set wildcard = kanon_sql.is_wildcard("sample_uniqueness", nulls, entity) -%}
{% set asked = kanon_sql.columns_of_test("sample_uniqueness", model, quasi_identifiers, quote_columns, entity) -%}
{{ kanon_sql.tidy(kanon_sql.sample_uniqueness_failures(
    asked["relation"], asked["columns"],
    max_share, asked["entity"], wildcard
), model) }}
{%- endtest %}


{% test composed_k_anonymity(
    model,
    quasi_identifiers=none,
    k=none,
    earlier=none,
    earlier_where=none,
    earlier_columns=none,
    earlier_quasi_identifiers=none,
    earlier_entity=none,
    entity=none,
    quote_columns=none
) -%}
{{- config(fail_calc="coalesce(sum(failures), 0)") -}}
{% do kanon_sql.needs_one_of("composed_k_anonymity", {"k": k}) -%}
{% set k = kanon_sql.count_of("composed_k_anonymity", "k", k) -%}
{% set asked = kanon_sql.columns_of_test("composed_k_anonymity", model, quasi_identifiers, quote_columns, entity) -%}
{% set before = kanon_sql.earlier_of_test(
    "composed_k_anonymity", quasi_identifiers, entity, earlier,
    where=earlier_where, columns=earlier_columns, own=earlier_quasi_identifiers,
    own_entity=earlier_entity, quote_columns=quote_columns
) -%}
{{ kanon_sql.tidy(kanon_sql.composed_k_anonymity_failures(
    asked["relation"],
    asked["columns"],
    k=k,
    entities={"column": asked["entity"], "reference": before["entity"], "how": "as_is"},
    earlier=before["relation"],
    earlier_columns=before["columns"]
), model) }}
{%- endtest %}


{% test composed_l_diversity(
    model,
    quasi_identifiers=none,
    sensitive=none,
    l=none,
    earlier=none,
    earlier_where=none,
    earlier_columns=none,
    earlier_quasi_identifiers=none,
    earlier_entity=none,
    entity=none,
    sensitive_nulls="value",
    quote_columns=none,
    column_name=none
) -%}
{{- config(fail_calc="coalesce(sum(failures), 0)") -}}
{% do kanon_sql.needs_one_of("composed_l_diversity", {"l": l}) -%}
{% set l = kanon_sql.count_of("composed_l_diversity", "l", l) -%}
{% set unknown = kanon_sql.is_unknown("composed_l_diversity", sensitive_nulls) -%}
{% set asked = kanon_sql.columns_of_sensitive_test(
    "composed_l_diversity", model, quasi_identifiers, quote_columns, entity, sensitive, column_name
) -%}
{% set before = kanon_sql.earlier_of_test(
    "composed_l_diversity", quasi_identifiers, entity, earlier,
    where=earlier_where, columns=earlier_columns, own=earlier_quasi_identifiers,
    own_entity=earlier_entity, quote_columns=quote_columns,
    sensitive=sensitive if sensitive is not none else column_name
) -%}
{{ kanon_sql.tidy(kanon_sql.composed_l_diversity_failures(
    asked["relation"],
    asked["columns"],
    l=l,
    entities={"column": asked["entity"], "reference": before["entity"], "how": "as_is"},
    values={"column": asked["sensitive"], "reference": before["sensitive"], "how": "as_is"},
    earlier=before["relation"],
    earlier_columns=before["columns"],
    unknown=unknown
), model) }}
{%- endtest %}
