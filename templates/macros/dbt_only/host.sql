{#
    dbt's side of the host contract: one macro for each name of `HOST` in kanon_sql/sql/macros.py,
    Python's side. The macros in `shared` use no other name, and a test compares both sides.

    A column is a text here, its name as SQL (quoted where necessary, see arguments.sql), of unknown
    type. A value is cast where the type matters, to NULL if the cast fails: a test counts such values,
    and a model at given levels has no label for them. An engine without such a cast ends with an error
    of its own, and may show the value.

    Macros for which engines differ are dispatched, and a project can define its own `<adapter>__same`
    and so on (https://docs.getdbt.com/reference/dbt-jinja-functions/dispatch).
#}

{# --- a column by its name ------------------------------------------------------------------ #}

{% macro ident(column) -%}
{{ column }}
{%- endmacro %}


{% macro source(column) -%}
{{ column }}
{%- endmacro %}


{% macro alias(column) -%}
{{ column }}
{%- endmacro %}


{% macro key(column) -%}
{{ column }}
{%- endmacro %}


{% macro type_of(column) -%}
{%- endmacro %}


{% macro is_text(column) -%}
{{ return(true) }}
{%- endmacro %}


{# --- what a value of a column is ----------------------------------------------------------- #}

{% macro is_null(column, of=none) -%}
{{ of ~ "." if of else "" }}{{ column }} is null
{%- endmacro %}


{% macro is_known(column) -%}
{{ column }} is not null
{%- endmacro %}


{% macro is_star(column) -%}
cast({{ column }} as {{ kanon_sql.text_type() }}) = '*'
{%- endmacro %}


{% macro may_be_star(column) -%}
{{ return(true) }}
{%- endmacro %}


{% macro is_value(column, value) -%}
{% if value is none -%}
{{ column }} is null
{%- else -%}
cast({{ column }} as {{ kanon_sql.text_type() }}) = {{ kanon_sql.literal(kanon_sql.value_as_text(value)) }}
{%- endif %}
{%- endmacro %}


{% macro finite_number(column) -%}
case when abs({{ kanon_sql.spelled_number(column) }}) <= 1.7976931348623157e308 then {{ kanon_sql.spelled_number(column) }} end
{%- endmacro %}


{# NULL where there is none, so that no error of the database shows the value. #}
{% macro spelled_number(column) -%}
{{ return(adapter.dispatch("spelled_number", "kanon_sql")(column) | trim) }}
{%- endmacro %}


{% macro default__spelled_number(column) -%}
{{ kanon_sql.cast_or_null(column, kanon_sql.float_type()) }}
{%- endmacro %}


{# No number that passes is too large, or too small, to be cast. #}
{% macro postgres__spelled_number(column) -%}
{% set text = "cast(" ~ column ~ " as " ~ kanon_sql.text_type() ~ ")" %}
{% set short = "([0-9]{1,200}([.][0-9]{0,200})?|[.][0-9]{1,200})([eE][-+]?[0-9]{1,2})?" %}
{% set long = "[0-9]([.][0-9]{0,50})?[eE][-+]?[12][0-9]{2}" %}
{% set not_finite = "[Nn]a[Nn]|[Ii]nf(inity)?" %}
{% set number = kanon_sql.matches(text, " *[-+]?(" ~ short ~ "|" ~ long ~ "|" ~ not_finite ~ ") *") | trim %}
case when {{ number }} then cast({{ text }} as {{ kanon_sql.float_type() }}) end
{%- endmacro %}


{% macro least_difference(column, threshold) -%}
{{ kanon_sql.number(threshold) }} * (1 - {{ kanon_sql.slack() }})
{%- endmacro %}


{# Numbers and dates have an order of their own. #}
{% macro order_keys(value, type) -%}
{{ return(adapter.dispatch("order_keys", "kanon_sql")(value)) }}
{%- endmacro %}


{# Numbers alone, where an engine ends with its error for what is no date. #}
{% macro default__order_keys(value) -%}
{{ return([kanon_sql.spelled_number(value)]) }}
{%- endmacro %}


{# By way of the text, as there is no cast of a date to a number. #}
{% macro duckdb__order_keys(value) -%}
{% set text = "cast(" ~ value ~ " as " ~ kanon_sql.text_type() ~ ")" %}
{{ return([kanon_sql.spelled_number(text), kanon_sql.cast_or_null(text, "timestamp")]) }}
{%- endmacro %}


{% macro postgres__order_keys(value) -%}
{{ return(kanon_sql.duckdb__order_keys(value)) }}
{%- endmacro %}


{% macro redshift__order_keys(value) -%}
{{ return(kanon_sql.default__order_keys(value)) }}
{%- endmacro %}


{% macro spark__order_keys(value) -%}
{{ return(kanon_sql.duckdb__order_keys(value)) }}
{%- endmacro %}


{% macro bigquery__order_keys(value) -%}
{{ return(kanon_sql.duckdb__order_keys(value)) }}
{%- endmacro %}


{# --- functions that engines spell in their own way ------------------------------------------ #}

{# Whether a text matches a regular expression as a whole. #}
{% macro matches(text, pattern) -%}
{{ return(adapter.dispatch("matches", "kanon_sql")(text, pattern)) }}
{%- endmacro %}


{% macro default__matches(text, pattern) -%}
regexp_like({{ text }}, '^{{ pattern }}$')
{%- endmacro %}


{% macro duckdb__matches(text, pattern) -%}
regexp_full_match({{ text }}, '{{ pattern }}')
{%- endmacro %}


{% macro postgres__matches(text, pattern) -%}
{{ text }} ~ '^{{ pattern }}$'
{%- endmacro %}


{% macro bigquery__matches(text, pattern) -%}
regexp_contains({{ text }}, '^{{ pattern }}$')
{%- endmacro %}


{% macro same(left, right) -%}
{{ return(adapter.dispatch("same", "kanon_sql")(left, right)) }}
{%- endmacro %}


{% macro default__same(left, right) -%}
{{ left }} is not distinct from {{ right }}
{%- endmacro %}


{# Arrays are equal where both elements are NULL, and unlike the above they can be hashed. #}
{% macro postgres__same(left, right) -%}
array[{{ left }}] = array[{{ right }}]
{%- endmacro %}


{% macro redshift__same(left, right) -%}
({{ left }} = {{ right }} or ({{ left }} is null and {{ right }} is null))
{%- endmacro %}


{% macro only_value(value) -%}
{{ return(adapter.dispatch("only_value", "kanon_sql")(value)) }}
{%- endmacro %}


{% macro default__only_value(value) -%}
any_value({{ value }})
{%- endmacro %}


{# Before release 16 there is no any_value, and there is no least boolean. #}
{% macro postgres__only_value(value) -%}
(array_agg({{ value }}))[1]
{%- endmacro %}


{# It would inherit that of Postgres. #}
{% macro redshift__only_value(value) -%}
any_value({{ value }})
{%- endmacro %}


{% macro fabric__only_value(value) -%}
min({{ value }})
{%- endmacro %}


{% macro sqlserver__only_value(value) -%}
min({{ value }})
{%- endmacro %}


{% macro texts_in_order(text, order) -%}
{{ dbt.listagg(text, "','", "order by " ~ order) }}
{%- endmacro %}


{% macro position(part, text) -%}
{{ return(dbt.position(part, text)) }}
{%- endmacro %}


{# NULL where it can't be cast, where an engine can say so: see above. #}
{% macro cast_or_null(value, type) -%}
{{ return(adapter.dispatch("cast_or_null", "kanon_sql")(value, type) | trim) }}
{%- endmacro %}


{% macro default__cast_or_null(value, type) -%}
cast({{ value }} as {{ type }})
{%- endmacro %}


{% macro duckdb__cast_or_null(value, type) -%}
try_cast({{ value }} as {{ type }})
{%- endmacro %}


{% macro spark__cast_or_null(value, type) -%}
try_cast({{ value }} as {{ type }})
{%- endmacro %}


{% macro bigquery__cast_or_null(value, type) -%}
safe_cast({{ value }} as {{ type }})
{%- endmacro %}


{# Casts a number to integer where it fits, and a text where it is certain to spell one. #}
{% macro postgres__cast_or_null(value, type) -%}
{% if type | trim == kanon_sql.float_type() | trim -%}
{{ kanon_sql.spelled_number(value) }}
{%- elif type in ["date", "timestamp"] -%}
{{ kanon_sql.postgres__spelled_date(value, type) }}
{%- elif type | trim == kanon_sql.whole_type() | trim -%}
case when {{ value }} between -9223372036854775808 and 9223372036854774784 then cast({{ value }} as {{ type }}) end
{%- else -%}
case when abs({{ value }}) < 1e38 then cast({{ value }} as {{ type }}) end
{%- endif %}
{%- endmacro %}


{# The decimal that a column's text spells. #}
{% macro decimal_or_null(column, type) -%}
{% set text = "cast(" ~ column ~ " as " ~ kanon_sql.text_type() ~ ")" %}
{{ return(adapter.dispatch("decimal_or_null", "kanon_sql")(text, type) | trim) }}
{%- endmacro %}


{% macro default__decimal_or_null(text, type) -%}
{{ kanon_sql.cast_or_null(text, type) }}
{%- endmacro %}


{% macro postgres__decimal_or_null(text, type) -%}
case when abs({{ kanon_sql.spelled_number(text) }}) < 1e38 then cast({{ text }} as {{ type }}) end
{%- endmacro %}


{# The date, or the moment, that a text spells from the year down, with or without a time of the day.
   The pattern knows the days of every month, as Postgres can't be asked about a date before release 16. #}
{% macro postgres__spelled_date(column, type="date") -%}
{% set text = "cast(" ~ column ~ " as " ~ kanon_sql.text_type() ~ ")" %}
{% set year = "([0-9]{3}[1-9]|[0-9]{2}[1-9]0|[0-9][1-9]00|[1-9]000)" %}
{% set leap_year = "([0-9]{2}(0[48]|[2468][048]|[13579][26])|(0[48]|[2468][048]|[13579][26])00)" %}
{% set of_31_days = "(0?[13578]|1[02])-(0?[1-9]|[12][0-9]|3[01])" %}
{% set of_30_days = "(0?[469]|11)-(0?[1-9]|[12][0-9]|30)" %}
{% set of_28_days = "0?2-(0?[1-9]|1[0-9]|2[0-8])" %}
{% set date = year ~ "-(" ~ of_31_days ~ "|" ~ of_30_days ~ "|" ~ of_28_days ~ ")|" ~ leap_year ~ "-0?2-29" %}
{% set time = "([ T]([01]?[0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9]([.][0-9]{1,6})?)?)?" %}
case when {{ kanon_sql.matches(text, " *(" ~ date ~ ")" ~ time ~ " *") | trim }} then cast({{ text }} as {{ type }}) end
{%- endmacro %}


{# The whole number of people that a weight is, of whatever type. #}
{% macro weight_of(column) -%}
{{ return(adapter.dispatch("weight_of", "kanon_sql")(column) | trim) }}
{%- endmacro %}


{% macro default__weight_of(column) -%}
{{ kanon_sql.cast_or_null(kanon_sql.spelled_number(column), kanon_sql.whole_type() | trim) }}
{%- endmacro %}


{% macro duckdb__weight_of(column) -%}
try_cast({{ column }} as {{ kanon_sql.whole_type() }})
{%- endmacro %}


{% macro as_text(value, type) -%}
{% if type.startswith("DOUBLE") or type.startswith("DECIMAL") -%}
case when {{ value }} = floor({{ value }}) and abs({{ value }}) < 1e15 then cast({{ kanon_sql.cast_or_null(value, kanon_sql.whole_type()) }} as {{ kanon_sql.text_type() }}) else cast({{ value }} as {{ kanon_sql.text_type() }}) end
{%- else -%}
cast({{ value }} as {{ kanon_sql.text_type() }})
{%- endif %}
{%- endmacro %}


{% macro date_text(date, part) -%}
{{ return(adapter.dispatch("date_text", "kanon_sql")(date, part)) }}
{%- endmacro %}


{% macro default__date_text(date, part) -%}
to_char({{ date }}, '{{ {"day": "YYYY-MM-DD", "month": "YYYY-MM", "year": "YYYY"}[part] }}')
{%- endmacro %}


{# The text of an infinite date would be NULL. #}
{% macro postgres__date_text(date, part) -%}
coalesce({{ kanon_sql.default__date_text(date, part) }}, cast({{ date }} as {{ kanon_sql.text_type() }}))
{%- endmacro %}


{% macro duckdb__date_text(date, part) -%}
strftime({{ date }}, '{{ {"day": "%Y-%m-%d", "month": "%Y-%m", "year": "%Y"}[part] }}')
{%- endmacro %}


{% macro bigquery__date_text(date, part) -%}
format_date('{{ {"day": "%Y-%m-%d", "month": "%Y-%m", "year": "%Y"}[part] }}', {{ date }})
{%- endmacro %}


{% macro spark__date_text(date, part) -%}
date_format({{ date }}, '{{ {"day": "yyyy-MM-dd", "month": "yyyy-MM", "year": "yyyy"}[part] }}')
{%- endmacro %}


{% macro pad_right(text, length) -%}
rpad({{ text }}, {{ length }}, '*')
{%- endmacro %}


{% macro pad_left(text, length) -%}
lpad({{ text }}, {{ length }}, '*')
{%- endmacro %}


{% macro suffix(text, length) -%}
right({{ text }}, {{ length }})
{%- endmacro %}


{# What the row of a failing test says of its question: of other arguments than numbers nothing,
   as they may hold values of the table. `model` is the test's node here. #}
{% macro about_the_test() -%}
{% set written = model.test_metadata.kwargs %}
{% set raw_arguments = _dbt_generic_test_kwargs if _dbt_generic_test_kwargs is defined else written %}
{% set thresholds = namespace(texts=[]) %}
{% for name, value in raw_arguments.items() if value is number and value is not boolean %}
{% set thresholds.texts = thresholds.texts + [name ~ " = " ~ value] %}
{% endfor %}
{% set others = [raw_arguments.get("sensitive", raw_arguments.get("column_name"))] | reject("none") | list %}
{{ return([
    {"name": "model", "text": modules.re.findall("'([^']+)'", written["model"]) | join(".")},
    {"name": "test", "text": model.test_metadata.name},
    {"name": "columns", "text": ((raw_arguments.get("quasi_identifiers") or raw_arguments.get("by") or []) + others) | join(", ")},
    {"name": "asked", "text": thresholds.texts | join(", ")},
]) }}
{%- endmacro %}


{# Casts a text to integer, so that the statement fails with that text as its message. The text depends
   on a column: otherwise a planner evaluates it before any row is read. #}
{% macro raised(message) -%}
{{ return(adapter.dispatch("raised", "kanon_sql")(message) | trim) }}
{%- endmacro %}


{% macro default__raised(message) -%}
cast({{ message }} as integer)
{%- endmacro %}


{% macro duckdb__raised(message) -%}
cast(error({{ message }}) as integer)
{%- endmacro %}


{% macro spark__raised(message) -%}
cast(raise_error({{ message }}) as integer)
{%- endmacro %}


{% macro bigquery__raised(message) -%}
cast(error({{ message }}) as int64)
{%- endmacro %}


{# --- what a question says, as SQL ------------------------------------------------------------ #}

{% macro literal(value) -%}
{% if value.splitlines() | length > 1 or value.endswith("\n") -%}
{{ kanon_sql.refuse("a value has a line break in it; write it in one line") }}
{%- endif %}
{{- dbt.string_literal(dbt.escape_single_quotes(value)) -}}
{%- endmacro %}


{% macro positive_int(value, name) -%}
{% if value is boolean or value is not integer or value < 1 -%}
{{ kanon_sql.refuse(name ~ " must be a whole number, 1 or more; found " ~ kanon_sql.as_found(value)) }}
{%- endif %}
{{- return(value) -}}
{%- endmacro %}


{% macro number(threshold) -%}
{{ threshold | float }}
{%- endmacro %}


{% macro numerator(threshold) -%}
{{ return(kanon_sql.as_decimal(threshold)[0]) }}
{%- endmacro %}


{% macro denominator(threshold) -%}
{{ return(kanon_sql.as_decimal(threshold)[1]) }}
{%- endmacro %}


{% macro least_size(bound) -%}
{% set written = kanon_sql.as_decimal(bound) %}
{{ return(none if written[0] == 0 else (written[1] + written[0] - 1) // written[0]) }}
{%- endmacro %}


{% macro slack() -%}
1e-12
{%- endmacro %}


{% macro slack_of_distances() -%}
1e-09
{%- endmacro %}


{# --- types --------------------------------------------------------------------------------- #}

{% macro text_type() -%}
{{ dbt.type_string() }}
{%- endmacro %}


{# Sixty-four bits; dbt.type_float() has half of them on some engines. #}
{% macro float_type() -%}
{{ return(adapter.dispatch("float_type", "kanon_sql")()) }}
{%- endmacro %}


{% macro default__float_type() -%}
double precision
{%- endmacro %}


{% macro duckdb__float_type() -%}
double
{%- endmacro %}


{% macro spark__float_type() -%}
double
{%- endmacro %}


{% macro bigquery__float_type() -%}
float64
{%- endmacro %}


{% macro exact_type() -%}
{{ return(adapter.dispatch("exact_type", "kanon_sql")()) }}
{%- endmacro %}


{% macro default__exact_type() -%}
decimal(18, 0)
{%- endmacro %}


{% macro bigquery__exact_type() -%}
bignumeric
{%- endmacro %}


{% macro whole_type() -%}
{{ dbt.type_bigint() }}
{%- endmacro %}


{% macro widest_type(digits=0) -%}
{{ return(adapter.dispatch("widest_type", "kanon_sql")(digits)) }}
{%- endmacro %}


{% macro default__widest_type(digits=0) -%}
decimal(38, {{ digits }})
{%- endmacro %}


{% macro bigquery__widest_type(digits=0) -%}
bignumeric
{%- endmacro %}
