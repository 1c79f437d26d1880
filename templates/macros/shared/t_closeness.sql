{#
    t-closeness: how the sensitive values of a class are spread differs from how those of the
    table are by t at most. The measure is the earth mover's distance: how much of the class's
    shares q must be moved how far to become the table's shares p.

    Where all values are equally far apart it is what the class has too much, sum(q - p) over the
    values with q > p; the values that a class lacks need no row for that.

    Li, Li, Venkatasubramanian 2007, t-closeness, ICDE, section 4 (equal distance). For the
    others see ordered_distance.sql and hierarchical_distance.sql.
#}
{% macro t_closeness() -%}
case when kanon_total > 0 then kanon_distance end
{%- endmacro %}


{% macro t_closeness_violated(t) -%}
kanon_total > 0 and kanon_distance > {{ kanon_sql.number(t) }} + {{ kanon_sql.slack_of_distances() }}
{%- endmacro %}


{% macro t_closeness_columns(counted) -%}
sum({{ counted }}) as kanon_total
sum(case when kanon_class_share > kanon_share then kanon_class_share - kanon_share else 0 end) as kanon_distance
{%- endmacro %}


{# What floating point may add to a number; a bound that is met exactly stays met. #}
{% macro slack() -%}
1e-12
{%- endmacro %}


{# A distance is a sum over all values, and papers print three digits of it. #}
{% macro slack_of_distances() -%}
1e-9
{%- endmacro %}
