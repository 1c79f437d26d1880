select
    patient,
    {{ kanon_sql.generalize("user", "prefix:2") }} as of_user,
    {{ kanon_sql.generalize("current_date", "date:year", type="date") }} as of_current_date,
    {{ kanon_sql.generalize("order", "width:10", type="integer") }} as of_order,
    {{ kanon_sql.generalize("2020", "width:10", type="integer") }} as of_2020,
    {{ kanon_sql.generalize("Post Code", "mask:right", 2, longest=5) }} as of_post_code,
    {{ kanon_sql.generalize('"Post Code"', "mask:right", 2, longest=5) }} as of_quoted,
    {{ kanon_sql.generalize("Post-Code", "mask:right", 2, longest=5, quote_columns=true) }} as of_post_dash_code,
    {{ kanon_sql.generalize('say "it"', "prefix:3") }} as of_say_it,
    {{ kanon_sql.generalize("records", "prefix:1", 0) }} as of_records,
    {{ kanon_sql.generalize("Ärztin", "prefix:2") }} as of_aerztin,
    {{ kanon_sql.generalize('coalesce("order", 0) + 10', "width:10", type="integer") }} as of_expression,
    {{ kanon_sql.generalize('"order" is null or "2020" is null', "prefix:9") }} as of_predicate,
    {{ kanon_sql.generalize("case when records = 'F' then 'f' end", "prefix:1") }} as of_case,
    {{ kanon_sql.generalize("odd.records", "prefix:1") }} as of_qualified,
    {{ kanon_sql.generalize("true", ref("odd_levels"), 1) }} as of_true
from (
    select
        patient,
        zip as "Post Code",
        zip as "Post-Code",
        age as "order",
        age as "2020",
        sex as "records",
        sex as "true",
        diagnosis as "say ""it""",
        patient as "Ärztin",
        patient as "user",
        admitted as "current_date"
    from {{ ref("patients") }}
) as odd
