{#
    Share of records that a release suppresses: those of `made_of` missing in the model, and those
    with `*` in every column of `starred`. Fails above `max_share`.
#}
{% test share_left_out(model, made_of=none, max_share=none, starred=none, quote_columns=none) -%}
{{- config(fail_calc="coalesce(sum(failures), 0)") -}}
{% do kanon_sql.needs_one_of("share_left_out", {"max_share": max_share}) -%}
{% if not kanon_sql.is_relation(made_of) -%}
{{ kanon_sql.refuse("share_left_out: made_of must be a relation, as in ref('patients'); found " ~ made_of) }}
{%- endif %}
{% set bound = kanon_sql.as_decimal(kanon_sql.number_of_test("share_left_out", "max_share", max_share, most=1)) -%}
{% set columns = kanon_sql.columns_of_test("share_left_out", model, starred, quote_columns)["columns"] if starred else [] -%}
with

originals as (
    select count(*) as records
    from {{ made_of }}
),

releases as (
    select count(*) as released
    from {{ model }}
{%- for column in columns %}
    {{ "where not (" if loop.first else "    and " }}coalesce({{ kanon_sql.is_star(column) }}, false){{ ")" if loop.last }}
{%- endfor %}

)

select
    'violated' as status,
    records - released as failures,
    records,
    released
{%- for detail in kanon_sql.about_the_test() %},
    {{ kanon_sql.literal(detail["text"]) }} as {{ detail["name"] }}
{%- endfor %}

from originals
cross join releases
where (records - released) * {{ bound[1] }} > records * {{ bound[0] }}
{%- endtest %}
