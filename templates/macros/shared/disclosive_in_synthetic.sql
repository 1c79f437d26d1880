{#
    Disclosive in synthetic: a class of the synthetic table whose records have one value tells that
    value as certain. Counted are the records of the original for whom it is true (DiSCO), with those
    who are told anything, and those of the holdout.

    Raab, Nowok, Dibben 2024, Practical privacy metrics for synthetic data, arXiv:2406.16826, section
    3.2.

    The statement answers correct attribution too (see there). `stack` has the quasi-identifiers, and
    the sensitive attribute last. `allowed`: for each check the list of values that do no harm.
    `unknown`: records with NULL in the attribute are left out.
#}

{#
    Rows of counts by the size of a class in the synthetic table, as a guess is right with the chance
    count / size. Of people there is one row with the sums of their greatest chances.
#}
{% macro disclosive_in_synthetic(stack, allowed, unknown=false) %}
with

{{ kanon_sql.ctes_of_disclosed(stack, allowed, unknown) | trim }}

{{ kanon_sql.sums_of_disclosed(stack, allowed) | trim }}
order by kanon_size
{%- endmacro %}


{# The sums, by the size of a class, or over people. #}
{% macro sums_of_disclosed(stack, allowed) %}
{% set with_holdout = stack.tables | length > 2 %}
{% if stack.people %}
{{ kanon_sql.sums_of_disclosed_people(allowed, with_holdout) | trim }}
{% else %}
{{ kanon_sql.sums_of_classes(allowed, with_holdout) | trim }}
{% endif %}
{%- endmacro %}


{# CTEs of the classes with a value, and of the people who are told it. #}
{% macro ctes_of_disclosed(stack, allowed, unknown=false) %}
{% set keys, target = stack.columns[:-1] | list, stack.columns | last %}
{% set with_holdout = stack.tables | length > 2 %}
{{ kanon_sql.cte_of_stacked_records(stack, known=unknown, distinct=true) | trim }},

-- Each combination with a value, with its {{ "people" if stack.people else "records" }} in each table.
cells as (
    select
{{ kanon_sql.aliases(stack.columns) | indent(4, first=true) }},
{{ kanon_sql.counts_of_tables(stack, distinct=true) | indent(4, first=true) }}
{%- if stack.people %},
        min(case when kanon_table = 'o' then kanon_person end) as kanon_first_person,
        max(case when kanon_table = 'o' then kanon_person end) as kanon_last_person
{%- endif %}

    from stacked
    group by
{{ kanon_sql.aliases(stack.columns) | indent(4, first=true) }}
),

-- Each value, with its {{ "people" if stack.people else "records" }} of the original.
holders as (
    select
        {{ kanon_sql.alias(target) }},
{% if stack.people %}
        count(distinct kanon_person) as kanon_holders
    from (
        {{ kanon_sql.stacked_records(stack, known=unknown, tables=stack.tables[1:2]) | trim | indent(8) }}
    ) as original
{% else %}
        count(case when kanon_table = 'o' then 1 end) as kanon_holders
    from stacked
{% endif %}
    group by {{ kanon_sql.alias(target) }}
),

{% if not stack.people %}
held_cells as (
    select
        cells.*,
        holders.kanon_holders
    from cells
    inner join holders
        on {{ kanon_sql.same_class([target], "holders", "cells", other_is_set=true) | indent(8) }}
),

{% endif %}
-- A class: a product of counts says how many pairs of both tables have the same value.
classes as (
    select
{{ kanon_sql.aliases(keys) | indent(4, first=true) }},
{% for table in stack.tables %}
        sum(kanon_{{ table.letter }}) as kanon_all_{{ table.letter }},
{% endfor %}
        max(kanon_s) as kanon_most_s,
        max(kanon_o) as kanon_most_o
{%- for values in allowed if values %},
        {{ kanon_sql.sum_of_allowed(target, values, "kanon_s") }} as kanon_allowed_s_{{ allowed.index(values) + 1 }},
        {{ kanon_sql.sum_of_allowed(target, values, "kanon_o") }} as kanon_allowed_o_{{ allowed.index(values) + 1 }}
{%- endfor %}
{%- if not stack.people %},
        sum(case when kanon_s > 0 then kanon_o else 0 end) as kanon_told_o,
        sum(kanon_o * kanon_s) as kanon_pairs_o,
{% if with_holdout %}
        sum(case when kanon_s > 0 then kanon_h else 0 end) as kanon_told_h,
        sum(kanon_h * kanon_s) as kanon_pairs_h,
{% endif %}
        sum(kanon_o * kanon_o) as kanon_own_pairs,
        sum(kanon_o * kanon_holders) as kanon_base
{%- else %},
        case when min(kanon_first_person) = max(kanon_last_person) then 1 else 0 end as kanon_of_one_person
{%- endif %}

    from {{ "cells" if stack.people else "held_cells" }}
    group by
{{ kanon_sql.aliases(keys) | indent(4, first=true) }}
)
{%- if stack.people %},

{{ kanon_sql.ctes_of_disclosed_people(stack, allowed, unknown) | trim }}
{%- endif %}
{%- endmacro %}


{# Number of records of a class with a value that does no harm. #}
{% macro sum_of_allowed(target, values, counted) -%}
sum(case when {{ kanon_sql.is_one_of(target, values) }} then {{ counted }} else 0 end)
{%- endmacro %}


{# Predicate: all records of the class have one value, none of the allowed ones. #}
{% macro is_disclosive(letter, allowed, number) -%}
kanon_all_{{ letter }} > 0 and kanon_most_{{ letter }} = kanon_all_{{ letter }}
{%- if allowed[number - 1] %} and kanon_allowed_{{ letter }}_{{ number }} = 0{% endif %}
{%- endmacro %}


{# The sums over the classes of each size in the synthetic table. #}
{% macro sums_of_classes(allowed, with_holdout) %}
select
    kanon_all_s as kanon_size,
    sum(kanon_all_o) as kanon_attacked,
    sum(kanon_pairs_o) as kanon_right,
    sum(case when kanon_all_o = 1 then 1 else 0 end) as kanon_alone,
    sum(case when kanon_all_o = 1 then kanon_pairs_o else 0 end) as kanon_right_alone,
    sum({{ kanon_sql.quotient("kanon_own_pairs", "kanon_all_o") }}) as kanon_right_by_original,
    sum(kanon_base) as kanon_base
{%- if with_holdout %},
    sum(kanon_all_h) as kanon_holdout,
    sum(kanon_pairs_h) as kanon_right_in_holdout
{%- endif %}
{%- for values in allowed %}
{%- set number = loop.index %}
{%- set disclosive = kanon_sql.is_disclosive("s", allowed, number) %},
    sum(case when {{ disclosive }} then kanon_all_o else 0 end) as kanon_claimed_{{ number }},
    sum(case when {{ disclosive }} then kanon_told_o else 0 end) as kanon_correct_{{ number }},
    sum(case when {{ disclosive }} and kanon_most_o = kanon_all_o then kanon_told_o else 0 end) as kanon_correct_in_original_{{ number }},
    sum(case when {{ disclosive }} and kanon_all_o = 1 then kanon_told_o else 0 end) as kanon_unique_correct_{{ number }},
    sum(case when {{ kanon_sql.is_disclosive("o", allowed, number) }} then kanon_all_o else 0 end) as kanon_disclosive_in_original_{{ number }}
{%- if with_holdout %},
    sum(case when {{ disclosive }} then kanon_told_h else 0 end) as kanon_correct_in_holdout_{{ number }}
{%- endif %}
{%- endfor %}

from classes
group by kanon_all_s
{%- endmacro %}


{# CTEs of the people of the original and the holdout, each with the record that tells most. #}
{% macro ctes_of_disclosed_people(stack, allowed, unknown) %}
{% set keys, target = stack.columns[:-1] | list, stack.columns | last %}
{% set chance = kanon_sql.quotient("cells.kanon_s", "classes.kanon_all_s") %}
-- What each value in each class tells of those who have it. A value of the holdout alone has no holder.
told as (
    select
{{ kanon_sql.aliases_in("cells", stack.columns) | indent(4, first=true) }},
        {{ chance }} as kanon_chance,
        case when classes.kanon_of_one_person = 1 then {{ chance }} end as kanon_chance_alone,
        {{ kanon_sql.quotient("cells.kanon_o", "classes.kanon_all_o") }} as kanon_chance_by_original,
        case when classes.kanon_all_s > 0 then coalesce(holders.kanon_holders, 0) else 0 end as kanon_holders_if_found
{%- for values in allowed %}
{%- set number = loop.index %}
{%- set disclosive = kanon_sql.is_disclosive("s", allowed, number) %},
        {{ kanon_sql.flag(disclosive) | indent(8) }} as kanon_claimed_{{ number }},
        {{ kanon_sql.flag(disclosive ~ " and kanon_s > 0") | indent(8) }} as kanon_correct_{{ number }},
        {{ kanon_sql.flag(disclosive ~ " and kanon_s > 0 and kanon_most_o = kanon_all_o") | indent(8) }} as kanon_correct_in_original_{{ number }},
        {{ kanon_sql.flag(disclosive ~ " and kanon_s > 0 and kanon_of_one_person = 1") | indent(8) }} as kanon_unique_correct_{{ number }},
        {{ kanon_sql.flag(kanon_sql.is_disclosive("o", allowed, number)) | indent(8) }} as kanon_disclosive_{{ number }}
{%- endfor %}

    from cells
    inner join classes
        on {{ kanon_sql.same_class(keys, "classes", "cells", other_is_set=true) | indent(8) }}
    left join holders
        on {{ kanon_sql.same_class([target], "holders", "cells", other_is_set=true) | indent(8) }}
    where cells.kanon_o > 0{{ " or cells.kanon_h > 0" if stack.tables | length > 2 }}
),

-- Each person of a table, with the most that any of their records tells.
people as (
    select
        records.kanon_person,
        case when records.kanon_table = 'o' then 1 else 0 end as kanon_in_o,
        case when max(told.kanon_chance) is null then 0 else 1 end as kanon_found,
        max(told.kanon_chance) as kanon_chance,
        case when max(told.kanon_chance_alone) is null then 0 else 1 end as kanon_is_alone,
        max(told.kanon_chance_alone) as kanon_chance_alone,
        max(told.kanon_chance_by_original) as kanon_chance_by_original,
        max(told.kanon_holders_if_found) as kanon_most_holders
{%- for values in allowed %}
{%- set number = loop.index %}
{%- for name in ["claimed", "correct", "correct_in_original", "unique_correct", "disclosive"] %},
        max(told.kanon_{{ name }}_{{ number }}) as kanon_is_{{ name }}_{{ number }}
{%- endfor %}
{%- endfor %}

    from (
        {{ kanon_sql.stacked_records(stack, known=unknown, tables=stack.tables[1:]) | trim | indent(8) }}
    ) as records
    inner join told
        on {{ kanon_sql.same_class(stack.columns, "told", "records", other_is_set=true) | indent(8) }}
    group by
        records.kanon_person,
        records.kanon_table
)
{%- endmacro %}


{# The sums over people, in two rows: those found, whose chances are out of 1, and the others. #}
{% macro sums_of_disclosed_people(allowed, with_holdout) %}
select
    kanon_found as kanon_size,
    sum(kanon_in_o) as kanon_attacked,
    sum(kanon_in_o * kanon_chance) as kanon_right,
    sum(kanon_in_o * kanon_is_alone) as kanon_alone,
    sum(kanon_in_o * kanon_chance_alone) as kanon_right_alone,
    sum(kanon_in_o * kanon_chance_by_original) as kanon_right_by_original,
    sum(kanon_in_o * kanon_most_holders) as kanon_base
{%- if with_holdout %},
    sum(1 - kanon_in_o) as kanon_holdout,
    sum((1 - kanon_in_o) * kanon_chance) as kanon_right_in_holdout
{%- endif %}
{%- for values in allowed %}
{%- set number = loop.index %},
    sum(kanon_in_o * kanon_is_claimed_{{ number }}) as kanon_claimed_{{ number }},
    sum(kanon_in_o * kanon_is_correct_{{ number }}) as kanon_correct_{{ number }},
    sum(kanon_in_o * kanon_is_correct_in_original_{{ number }}) as kanon_correct_in_original_{{ number }},
    sum(kanon_in_o * kanon_is_unique_correct_{{ number }}) as kanon_unique_correct_{{ number }},
    sum(kanon_in_o * kanon_is_disclosive_{{ number }}) as kanon_disclosive_in_original_{{ number }}
{%- if with_holdout %},
    sum((1 - kanon_in_o) * kanon_is_correct_{{ number }}) as kanon_correct_in_holdout_{{ number }}
{%- endif %}
{%- endfor %}

from people
group by kanon_found
{%- endmacro %}


{#
    Generic test of disclosive in synthetic. Failures are the records (people) of the original who
    are told their own value. With `max_excess` it passes only where the difference to the holdout is
    shown.
#}
{% macro disclosive_in_synthetic_failures(stack, allowed=none, unknown=false, max_share=none, max_excess=none) %}
{% set lists = [allowed if allowed is not none else []] %}
{% set ctes %}
with

{{ kanon_sql.ctes_of_disclosed(stack, lists, unknown) | trim }},

told_by_size as (
    {{ kanon_sql.sums_of_disclosed(stack, lists) | trim | indent(4) }}
),

counted as (
    select
        sum(kanon_attacked) as kanon_attacked,
        sum(kanon_claimed_1) as kanon_claimed,
        sum(kanon_correct_1) as kanon_correct{{ "," if max_excess is not none }}
{% if max_excess is not none %}
        sum(kanon_holdout) as kanon_holdout,
        sum(kanon_correct_in_holdout_1) as kanon_correct_in_holdout
{% endif %}
    from told_by_size
)
{%- endset %}
{{ kanon_sql.synthetic_failures(
    stack, ctes,
    failures="measured.kanon_correct",
    columns=["kanon_attacked", "kanon_claimed", "kanon_correct"],
    over=[kanon_sql.more_than_share("measured.kanon_correct", max_share, "measured.kanon_attacked")] if max_share is not none else [],
    max_excess=max_excess,
    compared={
        "x": "kanon_correct", "n": "kanon_attacked", "y": "kanon_correct_in_holdout", "m": "kanon_holdout",
    }
) }}
{%- endmacro %}


{% test disclosive_in_synthetic(model) -%}
{% set arguments = kanon_sql.test_arguments("disclosive_in_synthetic", model, kwargs, {
    "max_share": {"most": 1}, "max_excess": {"least": -1, "most": 1}, "allowed": "values",
}, ["sensitive", "original"]) -%}
{{ kanon_sql.tidy(kanon_sql.disclosive_in_synthetic_failures(**arguments), model) }}
{%- endtest %}
