{#
    The frequency set of the records where few combinations of values are possible: each record is
    counted by one small number, of which the places of its values are the digits. DuckDB counts by
    one number faster than by several.

    LeFevre, DeWitt, Ramakrishnan 2005, Incognito: efficient full-domain k-anonymity, SIGMOD,
    section 3.1.
#}

{# `units` are what the place of each quasi-identifier is multiplied by, and `bases` how many digits
   it may be: one more than places, as none is 0. #}
{% macro set_of_codes(relation, quasi_identifiers, values, units, bases, rolled_up=false) %}
with

coded_records as (
    select
{% for column in quasi_identifiers %}
        {{ "+ " if not loop.first }}codes_{{ loop.index }}.kanon_part{{ " as kanon_code" if loop.last }}{{ "," if loop.last and rolled_up }}
{% endfor %}
{% if rolled_up %}
        held.kanon_records
{% endif %}
    from (
        select
{% for column in quasi_identifiers %}
            {{ kanon_sql.ident(column) }} as kanon_raw_{{ loop.index }}{{ "," if not loop.last or rolled_up }}
{% endfor %}
{% if rolled_up %}
            kanon_records
{% endif %}
        from {{ relation | indent(8) }}
    ) as held
{% for column in quasi_identifiers %}
    inner join (
        select
            kanon_raw,
            kanon_place_0 * {{ units[loop.index0] }} as kanon_part
        from {{ values[loop.index0] }}
    ) as codes_{{ loop.index }}
        on {{ kanon_sql.same("codes_" ~ loop.index ~ ".kanon_raw", "held.kanon_raw_" ~ loop.index) }}
{% endfor %}
),

counted_codes as (
    select
        kanon_code,
        cast({{ kanon_sql.records_counted(rolled_up) }} as bigint) as kanon_records
    from coded_records
    group by kanon_code
)

select
{% for unit in units %}
    kanon_code // {{ unit }} % {{ bases[loop.index0] }} as kanon_key_{{ loop.index }},
{% endfor %}
    kanon_records
from counted_codes
{%- endmacro %}
