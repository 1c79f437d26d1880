{#
    Unequal hashes tell that records differ. Nearly all do, so that few have a hash that another one
    has, and these alone are compared.
#}
{% macro ctes_of_hashed_copies(stack) %}
{% set of_people = stack.tables[1].person is not none %}
{{ kanon_sql.cte_of_stacked_records(stack, inlined=true) | trim }},

hashed as not materialized (
    select
        *,
        hash(
{{ kanon_sql.aliases(stack.columns) | indent(8, first=true) }}
        ) as kanon_hash
    from stacked
),

-- Each hash of the original, and whether one {{ "person" if of_people else "record" }} has it.
hashes as materialized (
    select
        kanon_hash,
        {{ "min(kanon_person)" if of_people else "1" }} as kanon_unit,
        {{ "min(kanon_person) = max(kanon_person)" if of_people else "count(*) = 1" }} as kanon_is_one
    from hashed
    where kanon_table = 'o'
    group by kanon_hash
),

-- A record of the synthetic table with a hash that another table has too.
suspects as materialized (
    select *
    from hashed
    where
        kanon_table = 's'
        and kanon_hash in (
            select kanon_hash
            from hashes
{% if stack.tables | length > 2 %}

            union all

            select kanon_hash
            from hashed
            where kanon_table = 'h'
{% endif %}
        )
),

-- The records of these hashes in every table.
candidates as (
    select *
    from suspects

    union all

    select *
    from hashed
    where
        kanon_table <> 's'
        and kanon_hash in (select kanon_hash from suspects)
),

-- Each combination of these, with its {{ "people" if stack.people else "records" }} in each table.
classes as (
    select
{{ kanon_sql.aliases(stack.columns) | indent(4, first=true) }},
{{ kanon_sql.counts_of_tables(stack) | indent(4, first=true) }}
    from candidates
    group by
{{ kanon_sql.aliases(stack.columns) | indent(4, first=true) }}
),
{% if stack.people %}
{% set without_people = "\nwhere kanon_table <> 's'" if stack.tables[0].person is none else "" %}
{% set candidates = "select *\nfrom candidates" ~ without_people %}

{{ kanon_sql.cte_of_counted_people(stack, kanon_sql.figures_of_copies(stack), candidates) | trim }},
{% endif %}

-- A whole record that one {{ "person" if of_people else "record" }} of the original has.
uniques as (
    select kanon_unit
    from hashes
    where kanon_is_one

    union all

    select {{ "min(kanon_person)" if of_people else "1" }} as kanon_unit
    from hashed
    where
        kanon_table = 'o'
        and kanon_hash in (select kanon_hash from hashes where not kanon_is_one)
    group by
{{ kanon_sql.aliases(stack.columns) | indent(4, first=true) }}
    having {{ "min(kanon_person) = max(kanon_person)" if of_people else "count(*) = 1" }}
)
{%- endmacro %}
