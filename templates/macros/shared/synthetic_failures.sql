{#
    Generic tests of a synthetic table beside its original: what each of them refuses, and how it
    ends.
#}

{#
    End of a test on a synthetic table. `ctes` end with `counted`, one row with the records attacked
    and the `failures`; with `max_excess` also those compared with the holdout. `over` are the predicates
    of which none may be true, besides that of the excess: it must be shown to be small, by the upper
    end of the interval of a difference (Newcombe 1998, Statistics in Medicine 17, method 10).
#}
{% macro synthetic_failures(stack, ctes, failures, columns, over, max_excess=none, compared=none) %}
{% set synthetic, original = stack.tables[0], stack.tables[1] %}
{% set bounded = ["coalesce(measured.kanon_attacked, 0) = 0"] + over + (
    ["coalesce(measured.excess_at_most, 2) > " ~ kanon_sql.number(max_excess)] if max_excess is not none else []
) %}
{% set all_ctes %}
{{ ctes | trim }},

{% if max_excess is not none %}
{{ kanon_sql.ctes_of_excess(compared) | trim }},

{% endif %}
measured as (
    select
        (
            select count(*)
            from {{ synthetic.relation | indent(12) }}
        ) as records,
{% if max_excess is not none %}
        excess.excess_at_most,
{% endif %}
        counted.*
    from counted
{% if max_excess is not none %}
    cross join excess
{% endif %}
)
{%- endset %}
{% set errors = namespace(listed=[
    kanon_sql.counted_error(
        "empty_tables", "tables without a record to compare with", "kanon_empty",
        kanon_sql.empty_tables(stack.tables[1:])
    ),
    kanon_sql.counted_error(
        "columns_without_common_values", "columns without a value in common with the original", "kanon_without_common",
        kanon_sql.columns_without_common_values(stack)
    ),
]) %}
{% for table in stack.tables if table.person is not none %}
{% set errors.listed = errors.listed + [kanon_sql.counted_error(
    "without_entity_" ~ table.letter, "records without an entity", "kanon_without_entity",
    kanon_sql.without_entity(table.relation, table.person.column, counted=false)
)] %}
{% endfor %}
{% if stack.tables | length > 2 and original.person is not none %}
{% set errors.listed = errors.listed + [kanon_sql.counted_error(
    "people_in_original_and_holdout", "people of the holdout in the original", "kanon_in_both",
    "select kanon_in_both from (" ~ kanon_sql.people_in_both(original, stack.tables[2]) | trim ~ ") as both_tables"
)] %}
{% endif %}
{{ kanon_sql.raise_or_count(
    all_ctes,
    violated=bounded | join(" or "),
    failures=failures,
    columns=columns,
    more=errors.listed
) }}
{%- endmacro %}
