{#
    What the tests and `generalize` take, checked: every error names the test, the argument and
    what was found. Whoever writes a dbt project is trusted; a mistake of theirs is not passed
    over.
#}

{# End with an error of the compiler. #}
{% macro refuse(message) -%}
{{ exceptions.raise_compiler_error("kanon_sql: " ~ message ~ ".") }}
{%- endmacro %}


{# What stands where something else should: a number in quotes looks right, and is a text. #}
{% macro as_found(value) -%}
{% set is_written = value is string and modules.re.match("^[-+]?[0-9]+([.][0-9]*)?$", value) -%}
{{ return("the text '" ~ value ~ "'. Write it without quotes" if is_written else value) }}
{%- endmacro %}


{# A value of a question as the text of the same value in a table. #}
{% macro value_as_text(value) -%}
{% if value is boolean -%}
{{ return((value | string) | lower) }}
{%- elif value is float and value == value | int -%}
{{ return((value | int) | string) }}
{%- else -%}
{{ return(value | string) }}
{%- endif %}
{%- endmacro %}


{# A threshold as the decimal that was written, in whole numbers: [29, 100] is 0.29. It has no more than
   17 digits after the point. #}
{% macro as_decimal(threshold) -%}
{% set parts = ((threshold | string) | lower).split("e") %}
{% set digits = parts[0].split(".") %}
{% set decimals = digits[1] if digits | length > 1 else "" %}
{% set places = (decimals | length) - (parts[1] | int if parts | length > 1 else 0) %}
{% set written = (digits[0] ~ decimals) | int %}
{% set fraction = namespace(
    over=written * 10 ** (0 if places > 0 else -places), under=10 ** (places if places > 0 else 0)
) %}
{% if places > 17 %}
{% set fraction.over = (fraction.over * 2 + 10 ** (places - 17)) // (2 * 10 ** (places - 17)) %}
{% set fraction.under = 10 ** 17 %}
{% endif %}
{% if fraction.over > fraction.under * 10 ** 17 %}
{% set fraction.over = 10 ** 17 %}
{% set fraction.under = 1 %}
{% endif %}
{% for _ in range(17) %}
{% if fraction.under > 1 and fraction.over % 10 == 0 %}
{% set fraction.over = fraction.over // 10 %}
{% set fraction.under = fraction.under // 10 %}
{% endif %}
{% endfor %}
{{ return([fraction.over, fraction.under]) }}
{%- endmacro %}


{# --- a test ---------------------------------------------------------------------------------- #}

{# A test sums its failures. Refuse an argument that is none of the `known`. #}
{% macro begin_test(test, raw_arguments, known) -%}
{% do config(fail_calc="coalesce(sum(failures), 0)") %}
{% for name in raw_arguments if name not in known -%}
{{ exceptions.raise_compiler_error("macro 'dbt_macro__test_" ~ test ~ "' takes no keyword argument '" ~ name ~ "'") }}
{%- endfor %}
{%- endmacro %}


{# The arguments of a test that has a part in something. #}
{% macro arguments_by_part() -%}
{{ return({
    "nulls": ["nulls"],
    "sensitive": ["sensitive", "sensitive_nulls", "column_name"],
    "reference": [
        "reference", "reference_where", "reference_columns", "reference_entity", "reference_weight",
        "match", "missing",
    ],
    "earlier": [
        "earlier", "earlier_where", "earlier_columns", "earlier_quasi_identifiers", "earlier_entity",
    ],
    "events": ["events"],
    "original": [
        "original", "original_where", "original_columns", "original_entity", "holdout", "holdout_where",
    ],
}) }}
{%- endmacro %}


{#
    The checked arguments of a model's test, as `<model>_failures` takes them. `parameters` are the
    model's own, each with its permitted values (see `parameter_of_test`); `parts` are names of
    `arguments_by_part`. A test without a threshold is refused: it could not fail.
#}
{% macro test_arguments(test, model, raw_arguments, parameters, parts) -%}
{% set known = ["quasi_identifiers", "entity", "quote_columns"] + parameters | list %}
{% for part in parts %}
{% do known.extend(kanon_sql.arguments_by_part()[part]) %}
{% endfor %}
{% do kanon_sql.begin_test(test, raw_arguments, known) %}
{% set thresholds = {} %}
{% for name, values in parameters.items() if values == "count" or values is mapping and "default" not in values %}
{% do thresholds.update({name: raw_arguments.get(name)}) %}
{% endfor %}
{% if thresholds %}
{% do kanon_sql.needs_one_of(test, thresholds) %}
{% endif %}
{% set arguments = {} %}
{% for name, values in parameters.items() %}
{% do arguments.update({name: kanon_sql.parameter_of_test(test, name, raw_arguments, values)}) %}
{% endfor %}
{% set entity = raw_arguments.get("entity") %}
{% if "nulls" in parts %}
{% do arguments.update({"wildcard": kanon_sql.is_wildcard(test, raw_arguments.get("nulls", "value"), entity)}) %}
{% endif %}
{% set sensitive = raw_arguments.get("sensitive") %}
{% if "sensitive" in parts %}
{% set nulls = kanon_sql.one_of(
    test, "sensitive_nulls", raw_arguments.get("sensitive_nulls", "value"), ["value", "unknown"]
) %}
{% do arguments.update({"unknown": nulls == "unknown"}) %}
{% set sensitive = sensitive if sensitive is not none else raw_arguments.get("column_name") %}
{% do kanon_sql.refuse(test ~ " needs sensitive, the column with the sensitive values") if sensitive is none %}
{% endif %}
{% set known = raw_arguments.get("quasi_identifiers") or [] if "events" in parts else none %}
{% set own = kanon_sql.columns_of_test(
    test, model,
    raw_arguments.get("quasi_identifiers") if known is none else known + kanon_sql.events_of_test(test, raw_arguments),
    raw_arguments.get("quote_columns"), entity, sensitive
) %}
{% if "original" in parts %}
{% do arguments.update({"stack": kanon_sql.stack_of_test(test, model, raw_arguments, own, sensitive)}) %}
{{ return(arguments) }}
{% endif %}
{% if "reference" in parts %}
{% do arguments.update(kanon_sql.reference_of_test(test, raw_arguments, own, arguments.pop("wildcard", false))) %}
{{ return(arguments) }}
{% endif %}
{% do arguments.update({"relation": own["relation"], "columns": own["columns"]}) %}
{% do arguments.update({"known": own["columns"][: known | length]} if known is not none else {}) %}
{% if "earlier" in parts %}
{% do arguments.update(kanon_sql.earlier_of_test(test, raw_arguments, own, sensitive)) %}
{% else %}
{% do arguments.update({"entity": own["entity"]}) %}
{% do arguments.update({"sensitive": own["sensitive"]} if sensitive is not none else {}) %}
{% endif %}
{{ return(arguments) }}
{%- endmacro %}


{#
    The columns that make an event. A test counts combinations of one event or two: three have no
    bound in a database, and a draw can't hold.
#}
{% macro events_of_test(test, raw_arguments) -%}
{% set events = raw_arguments.get("events") %}
{% if events is none or events is string or events is mapping or events is not iterable or not events -%}
{{ kanon_sql.refuse(test ~ " needs events, a list of the columns that make an event; found " ~ events) }}
{%- elif raw_arguments.get("entity") is none -%}
{{ kanon_sql.refuse(test ~ " needs entity, the column that identifies the person") }}
{%- elif raw_arguments.get("k", 2) is number and raw_arguments.get("k", 2) != raw_arguments.get("k", 2) | int -%}
{{ kanon_sql.refuse(test ~ ": k must be a whole number; found " ~ raw_arguments.get("k")) }}
{%- endif %}
{{- return(events) -}}
{%- endmacro %}


{# The number of events that an attacker knows. #}
{% macro events_known(test, m) -%}
{% if m is boolean or m not in [1, 2] -%}
{{ kanon_sql.refuse(
    test ~ ": m must be 1 or 2; found " ~ kanon_sql.as_found(m) ~ ". Of more events there is no bound "
    ~ "on the combinations here, and a draw can't show that it holds: kanon-sql audit has both"
) }}
{%- endif %}
{{- return(m) -}}
{%- endmacro %}


{# A parameter of a test, or none: a "count", the "values" of an attribute or their "order", one of a list
   of words (the first where none is given), the number of "events" that are known, or a number with its
   bounds. #}
{% macro parameter_of_test(test, name, raw_arguments, values) -%}
{% if values == "count" -%}
{{ return(kanon_sql.count_of(test, name, raw_arguments.get(name))) }}
{%- elif values == "values" -%}
{{ return(kanon_sql.values_of_test(test, name, raw_arguments.get(name))) }}
{%- elif values == "events" -%}
{{ return(kanon_sql.events_known(test, raw_arguments.get(name))) }}
{%- elif values == "events, two by default" -%}
{{ return(kanon_sql.events_known(test, raw_arguments.get(name, 2))) }}
{%- elif values == "order" -%}
{{ return(kanon_sql.order_of_values(test, raw_arguments.get(name))) }}
{%- elif values is not mapping -%}
{{ return(kanon_sql.one_of(test, name, raw_arguments.get(name, values[0]), values)) }}
{%- endif %}
{{- return(kanon_sql.number_of_test(
    test, name, raw_arguments.get(name, values.get("default")),
    values.get("least", 0), values.get("most"), values.get("above", false)
)) -}}
{%- endmacro %}


{# --- columns ------------------------------------------------------------------------------- #}

{# Words that can't stand for a column by themselves: the parser takes them for its own, or for a
   constant or a function, and a test on one of those looks at nothing. #}
{% macro is_word_of_sql(name) -%}
{{ return(name | lower in [
    "all", "analyse", "analyze", "and", "anti", "any", "array", "as", "asc", "asof", "asymmetric",
    "at", "authorization", "between", "binary", "both", "by", "case", "cast", "check", "collate",
    "collation", "column", "concurrently", "constraint", "create", "cross", "current_catalog",
    "current_database", "current_date", "current_datetime", "current_path", "current_role",
    "current_schema", "current_time", "current_timestamp", "current_user", "current_user_id",
    "default", "deferrable", "desc", "describe", "distinct", "do", "else", "end", "except",
    "exists", "false", "fetch", "for", "foreign", "freeze", "from", "full", "glob", "grant",
    "group", "having", "ilike", "in", "initially", "inner", "intersect", "into", "is", "isnull",
    "join", "lambda", "lateral", "leading", "left", "like", "limit", "localtime",
    "localtimestamp", "natural", "not", "notnull", "null", "offset", "on", "only", "or", "order",
    "outer", "overlaps", "pivot", "pivot_longer", "pivot_wider", "placing", "positional",
    "primary", "qualify", "references", "returning", "right", "select", "semi", "session_user",
    "show", "similar", "some", "summarize", "symmetric", "sysdate", "system_user",
    "systimestamp", "table", "tablesample", "then", "to", "trailing", "true", "union", "unique",
    "unpack", "unpivot", "user", "using", "variadic", "verbose", "when", "where", "window",
    "with",
]) }}
{%- endmacro %}


{#
    A column's name as SQL. Names are quoted if they are no plain words, reserved words, or words with
    another meaning in SQL. With `quote_columns: true`, or the project's var kanon_sql_quote_columns,
    every name is quoted.
#}
{% macro name_in_sql(name, quote_columns) -%}
{% set mark = (adapter.quote("x") | string)[:1] %}
{% set plain = modules.re.match("^[^\\W\\d]\\w*$", name) and not kanon_sql.is_word_of_sql(name) %}
{% if name[:1] == mark and name[-1:] == mark and name | length > 2 -%}
{{ return(name) }}
{%- elif plain and not quote_columns -%}
{{ return(name) }}
{%- endif %}
{{- return(kanon_sql.quoted(name)) -}}
{%- endmacro %}


{# The name of a column in quotes, with its own doubled. #}
{% macro quoted(name) -%}
{% set mark = (adapter.quote("x") | string)[:1] %}
{{ return(adapter.quote(name.replace(mark, mark ~ mark))) }}
{%- endmacro %}


{#
    A column, or another expression, as it stands in SQL. Words with only spaces between them are the
    name of a column, unless one of several is an operator; with `quote_columns: true` any text is.
#}
{% macro expression_in_sql(text, quote_columns) -%}
{% set word = "[\\w$" ~ (adapter.quote("x") | string)[:1] ~ "]+" %}
{% set operators = text.lower().split(" ") | select("in", [
    "and", "at", "between", "collate", "div", "glob", "ilike", "in", "is", "isnull", "like", "mod",
    "not", "notnull", "or", "regexp", "rlike", "similar", "when", "xor",
]) | list %}
{% set are_words = modules.re.fullmatch(word ~ "( +" ~ word ~ ")*", text) %}
{% if quote_columns is true or (are_words and (" " not in text or not operators)) -%}
{{ return(kanon_sql.name_in_sql(text, kanon_sql.quotes_all(quote_columns))) }}
{%- endif %}
{{- return(text) -}}
{%- endmacro %}


{# A name as it stands in SQL, without what quotes it. #}
{% macro unquoted(name) -%}
{% set mark = (adapter.quote("x") | string)[:1] %}
{% if name[:1] == mark and name[-1:] == mark and name | length > 2 -%}
{{ return(name[1:-1].replace(mark ~ mark, mark)) }}
{%- endif %}
{{- return(name) -}}
{%- endmacro %}


{# The name without its quotes, in lower case: what two names of one column have in common. #}
{% macro bare_name(name) -%}
{{ return((name | string).strip('"`') | lower) }}
{%- endmacro %}


{# One column of a test, as it stands in SQL; none where none is named. #}
{% macro column_of(test, argument, name, quote_columns) -%}
{% if name is none -%}
{{ return(none) }}
{%- elif name is not string or not name | trim -%}
{{ kanon_sql.refuse(test ~ ": " ~ argument ~ " must be the name of a column; found " ~ name) }}
{%- elif name.splitlines() | length > 1 or name.endswith("\n") -%}
{{ kanon_sql.refuse(test ~ ": the name of a column in " ~ argument ~ " has a line break. Rename it") }}
{%- elif kanon_sql.bare_name(name).startswith("kanon_") -%}
{{ kanon_sql.refuse(test ~ ": the column " ~ name ~ " has a name that the test needs itself; give it one that does not begin with kanon_") }}
{%- endif %}
{{- return(kanon_sql.name_in_sql(name, quote_columns)) -}}
{%- endmacro %}


{#
    What a test reads: its `relation`, and `columns`, `sensitive` and `entity` of that, as they
    stand in SQL. A column has one part.
#}
{% macro columns_of_test(test, model, quasi_identifiers, quote_columns=none, entity=none, sensitive=none) -%}
{% if quasi_identifiers is none -%}
{{ kanon_sql.refuse(test ~ " needs quasi_identifiers, a list of columns") }}
{%- elif quasi_identifiers is string or quasi_identifiers is mapping or quasi_identifiers is not iterable -%}
{{ kanon_sql.refuse(test ~ ": quasi_identifiers must be a list, as in [zip, age]; found " ~ quasi_identifiers) }}
{%- elif not quasi_identifiers -%}
{{ kanon_sql.refuse(
    test ~ ": quasi_identifiers is empty. Name the columns by which someone could recognise a person"
) }}
{%- endif %}
{{ return(kanon_sql.columns_in_parts(
    test, model, "quasi_identifiers", quasi_identifiers, {"sensitive": sensitive, "entity": entity},
    "a quasi-identifier, the sensitive attribute or the entity", quote_columns
)) }}
{%- endmacro %}


{#
    The relation of a test, its `columns`, which are `names` of the argument `listed`, and its `single`
    columns by their argument, as they stand in SQL. A column has one of the `parts`; those in `plain`
    are not compared.
#}
{% macro columns_in_parts(test, model, listed, names, single, parts, quote_columns, alias="kanon_source", plain=[]) -%}
{% do kanon_sql.refuse(test ~ ": limit: 0 throws away what the test finds, so it could not fail. Leave it out") if config.get("limit") == 0 %}
{% set quoted = kanon_sql.quotes_all(quote_columns) %}
{% set columns = [] %}
{% set bare = [] %}
{% for name in names %}
{% do kanon_sql.refuse(test ~ ": each of " ~ listed ~ " must be the name of a column; found null") if name is none %}
{% do columns.append(kanon_sql.column_of(test, "each of " ~ listed, name, quoted)) %}
{% do bare.append(kanon_sql.bare_name(name)) %}
{% endfor %}
{% for name in single.values() | reject("none") %}
{% do bare.append(kanon_sql.bare_name(name)) %}
{% endfor %}
{% for name in bare if bare.count(name) > 1 %}
{{ kanon_sql.refuse(test ~ ": the column " ~ name ~ " is named twice. A column is " ~ parts) }}
{% endfor %}
{% set own = {"columns": columns} %}
{% set compared = columns | list %}
{% set others = [] %}
{% for argument, name in single.items() %}
{% do own.update({argument: kanon_sql.column_of(test, argument, name, quoted)}) %}
{% do (others if argument in plain else compared).append(own[argument]) if name is not none %}
{% endfor %}
{% do kanon_sql.needs_columns(test, model, compared + others) %}
{% do kanon_sql.needs_plain_comparison(test, model, compared) if compared %}
{% do own.update({"relation": kanon_sql.records_of(model, alias, compared)}) %}
{{ return(own) }}
{%- endmacro %}


{# Whether every name is quoted. #}
{% macro quotes_all(quote_columns) -%}
{{ return(var("kanon_sql_quote_columns", false) if quote_columns is none else quote_columns) }}
{%- endmacro %}


{# --- other relations ------------------------------------------------------------------------ #}

{# The reference or the earlier release of a test, which must be one; `example` is a model's name. #}
{% macro relation_of_test(test, argument, relation, example) -%}
{% if relation is none -%}
{{ kanon_sql.refuse(test ~ " needs " ~ argument ~ ", as in " ~ argument ~ ": ref('" ~ example ~ "')") }}
{%- elif not kanon_sql.is_relation(relation) -%}
{{ kanon_sql.refuse(
    test ~ ": " ~ argument ~ " must be a relation; found " ~ (
        "the text '" ~ relation ~ "'. Write ref('" ~ relation ~ "'), or source() with the names of a source"
            if relation is string
            else relation
    )
) }}
{%- endif %}
{{- return(relation) -}}
{%- endmacro %}


{# The names that another relation gives to columns of the test, of which those in `known` have some. #}
{% macro names_in_other(test, argument, other, names, known, unknown) -%}
{% set names = names or {} %}
{% if names is not mapping -%}
{{ kanon_sql.refuse(
    test ~ ": " ~ argument ~ " must say what the " ~ other ~ " calls a column, as in {zip: zip_code}; found " ~ names
) }}
{%- endif %}
{% for name in names if name not in known -%}
{{ kanon_sql.refuse(test ~ ": " ~ argument ~ " names " ~ name ~ ", which " ~ unknown ~ ": " ~ known | join(", ")) }}
{%- endfor %}
{{- return(names) -}}
{%- endmacro %}


{# The records of another relation, of which these columns are compared, and others are needed. #}
{% macro records_of_other(test, relation, alias, compared, where, needed=none) -%}
{% set compared = compared | reject("none") | list %}
{% do kanon_sql.needs_columns(test, relation, compared + [needed]) %}
{% do kanon_sql.needs_plain_comparison(test, relation, compared) %}
{{ return(kanon_sql.records_of(relation, alias, compared, where)) }}
{%- endmacro %}


{#
    The `sides` of a test: its release, with the columns in `own`, and its reference. `union`: classes
    absent from the reference count their own size. `complete`: an absent class is an error.
#}
{% macro reference_of_test(test, raw_arguments, own, wildcard=false) -%}
{% set relation = kanon_sql.relation_of_test(test, "reference", raw_arguments.get("reference"), "voters") %}
{% set match = kanon_sql.one_of(test, "match", raw_arguments.get("match", "containment"), ["containment", "exact"]) %}
{% set missing = kanon_sql.one_of(test, "missing", raw_arguments.get("missing", "strict"), ["strict", "union", "error"]) %}
{% set quoted = kanon_sql.quotes_all(raw_arguments.get("quote_columns")) %}
{% set named = kanon_sql.names_in_other(
    test, "reference_columns", "reference", raw_arguments.get("reference_columns"),
    raw_arguments["quasi_identifiers"], "is not one of quasi_identifiers"
) %}
{% set entity = raw_arguments.get("reference_entity") %}
{% set weight = raw_arguments.get("reference_weight") %}
{% if entity is not none and weight is not none -%}
{{ kanon_sql.refuse(test ~ ": give reference_entity or reference_weight, not both") }}
{%- endif %}
{% set how = "by_pattern" if match == "containment" else "by_wildcard" if wildcard else "as_is" %}
{% set pairs = [] %}
{% for name in raw_arguments["quasi_identifiers"] %}
{% do pairs.append({
    "column": kanon_sql.column_of(test, "quasi_identifiers", name, quoted),
    "reference": kanon_sql.column_of(test, "reference_columns", named.get(name, name), quoted),
    "how": how,
    "labels": [],
}) %}
{% endfor %}
{% set entity = kanon_sql.column_of(test, "reference_entity", entity, quoted) %}
{% set weight = kanon_sql.column_of(test, "reference_weight", weight, quoted) %}
{% set compared = pairs | map(attribute="reference") | list + [entity] %}
{{ return({
    "sides": {
        "release": own["relation"],
        "columns": own["columns"],
        "entity": own["entity"],
        "wildcard": wildcard,
        "reference": kanon_sql.records_of_other(
            test, relation, "kanon_reference", compared, raw_arguments.get("reference_where"), weight
        ),
        "pairs": pairs,
        "matched": pairs if how != "as_is" else [],
        "referring": "reference_classes" if entity is none else "reference_people",
        "reference_entity": entity,
        "reference_weight": weight,
    },
    "union": missing == "union",
    "complete": missing == "error",
}) }}
{%- endmacro %}


{#
    The earlier release of a test, with its own quasi-identifiers, and its entity and sensitive attribute
    paired with the release's, of which `own` has the columns.
#}
{% macro earlier_of_test(test, raw_arguments, own, sensitive=none) -%}
{% set entity = raw_arguments.get("entity") %}
{% if entity is none -%}
{{ kanon_sql.refuse(test ~ " needs entity, the column that says which person a row is about, in both releases") }}
{%- endif %}
{% set relation = kanon_sql.relation_of_test(test, "earlier", raw_arguments.get("earlier"), "release_2024") %}
{% set quoted = kanon_sql.quotes_all(raw_arguments.get("quote_columns")) %}
{% set named = kanon_sql.names_in_other(
    test, "earlier_columns", "earlier release", raw_arguments.get("earlier_columns"),
    raw_arguments["quasi_identifiers"] + [entity, sensitive] | reject("none") | list, "has no part in the test"
) %}
{% set names = raw_arguments.get("earlier_quasi_identifiers") %}
{% if names is not none and (names is string or names is mapping or names is not iterable or not names) -%}
{{ kanon_sql.refuse(test ~ ": earlier_quasi_identifiers must be a list, as in [zip, age]; found " ~ names) }}
{%- endif %}
{% set columns = [] %}
{% for name in (names if names is not none else raw_arguments["quasi_identifiers"]) %}
{% do columns.append(
    kanon_sql.column_of(test, "each of earlier_quasi_identifiers", named.get(name, name), quoted)
) %}
{% endfor %}
{% set whose = raw_arguments.get("earlier_entity") %}
{% set whose = whose if whose is not none else named.get(entity, entity) %}
{% set whose = kanon_sql.column_of(test, "earlier_entity", whose, quoted) %}
{% set value = kanon_sql.column_of(test, "sensitive", named.get(sensitive, sensitive), quoted) %}
{% set arguments = {
    "earlier": kanon_sql.records_of_other(
        test, relation, "kanon_earlier", columns + [whose, value], raw_arguments.get("earlier_where")
    ),
    "earlier_columns": columns,
    "entities": {"column": own["entity"], "reference": whose, "how": "as_is"},
} %}
{% if sensitive is not none %}
{% do arguments.update({"values": {"column": own["sensitive"], "reference": value, "how": "as_is"}}) %}
{% endif %}
{{ return(arguments) }}
{%- endmacro %}


{#
    The stacked tables of a test on a synthetic one: the model, its original and a holdout. Whole
    records are compared by the columns that all of them have; `quasi_identifiers` may then be a part
    of these, and identifiers are left out of the models.
#}
{% macro stack_of_test(test, model, raw_arguments, own, sensitive=none) -%}
{% do kanon_sql.refuse(test ~ ": max_excess needs holdout, records that the generator has not seen") if raw_arguments.get("max_excess") is not none and raw_arguments.get("holdout") is none %}
{% set quoted = kanon_sql.quotes_all(raw_arguments.get("quote_columns")) %}
{% set entity = raw_arguments.get("entity") %}
{% set names = raw_arguments["quasi_identifiers"] + ([sensitive] if sensitive is not none else []) %}
{% set named = kanon_sql.names_in_other(
    test, "original_columns", "original", raw_arguments.get("original_columns"),
    names + [entity] | reject("none") | list, "has no part in the test"
) %}
{% set whose = raw_arguments.get("original_entity") %}
{% set whose = whose if whose is not none else named.get(entity, entity) %}
{% set whose = kanon_sql.column_of(test, "original_entity", whose, quoted) %}
{% set columns = own["columns"] + ([own["sensitive"]] if sensitive is not none else []) %}
{% set there = [] %}
{% for name in names %}
{% do there.append(kanon_sql.column_of(test, "original_columns", named.get(name, name), quoted)) %}
{% endfor %}
{% if test == "copied_records" %}
{% set known = [] %}
{% for name in columns + there + [own["entity"], whose] | reject("none") | list %}
{% do known.append(kanon_sql.bare_name(name)) %}
{% endfor %}
{% for name in kanon_sql.shared_columns(model, raw_arguments) if kanon_sql.bare_name(name) not in known %}
{% do columns.append(name) %}
{% do there.append(name) %}
{% endfor %}
{% endif %}
{% set tables = [kanon_sql.stacked_table("s", own["relation"], columns, own["entity"])] %}
{% for argument in ["original", "holdout"] if argument == "original" or raw_arguments.get(argument) is not none %}
{% set relation = kanon_sql.relation_of_test(test, argument, raw_arguments.get(argument), "patients") %}
{% do tables.append(kanon_sql.stacked_table("oh"[loop.index0], kanon_sql.records_of_other(
    test, relation, "kanon_" ~ argument, there + [whose], raw_arguments.get(argument ~ "_where")
), there, whose)) %}
{% endfor %}
{{ return({"tables": tables, "columns": columns, "people": whose is not none}) }}
{%- endmacro %}


{# One of the stacked tables. People are compared as text, as one of the tables may have none. #}
{% macro stacked_table(letter, relation, columns, person) -%}
{% set cells = [] %}
{% for column in columns %}
{% do cells.append({"column": column, "how": "as_is"}) %}
{% endfor %}
{{ return({
    "letter": letter, "relation": relation, "cells": cells,
    "person": {"column": person, "how": "as_text"} if person is not none else none,
}) }}
{%- endmacro %}


{# The columns that a model and the relations beside it have in common, in the order of the model. #}
{% macro shared_columns(model, raw_arguments) -%}
{% set known = [] %}
{% for relation in [model, raw_arguments.get("original"), raw_arguments.get("holdout")] if relation is not none and kanon_sql.may_be_queried(relation) %}
{% do known.append(get_columns_in_query("select * from " ~ relation)) %}
{% endfor %}
{% set shared = [] %}
{% for name in known[0] if known %}
{% set others = namespace(all=true) %}
{% for columns in known if name not in columns %}
{% set others.all = false %}
{% endfor %}
{% do shared.append(adapter.quote(name)) if others.all %}
{% endfor %}
{{ return(shared) }}
{%- endmacro %}


{# --- relations ------------------------------------------------------------------------------ #}

{% macro is_relation(hierarchy) -%}
{{ return(hierarchy is not none and hierarchy is not string and hierarchy.is_cte is defined) }}
{%- endmacro %}


{#
    The records of a relation that pass a filter, as a subquery. The subquery exposes the relation's
    declared columns alone. Several engines also have system columns, such as rowid and ctid, and read
    the relation's name as its whole row: in each of these every record differs. The `compared` columns
    of an ephemeral model are checked here, since no query can read the model before the test runs.
#}
{% macro records_of(relation, alias, compared, where=none) -%}
{% set apart = kanon_sql.distinctly_spelled(relation, compared) if kanon_sql.is_ephemeral(relation) else none %}
{% set conditions = [where if apart is none or where is none else "(" ~ where ~ ")", apart] | reject("none") | list %}
{{ return(
    "(select * from " ~ relation ~ (" where " ~ conditions | join(" and ") if conditions else "") ~ ") as " ~ alias
) }}
{%- endmacro %}


{# Refuse a name that is no column. Where the columns are unknown, and for a name in the wrong case, the
   database ends with an error of its own. #}
{% macro needs_columns(test, relation, names) -%}
{% set known = get_columns_in_query("select * from " ~ relation) if kanon_sql.may_be_queried(relation) else [] %}
{% set folded = known | map("lower") | list %}
{% for name in names if known and name is not none and kanon_sql.unquoted(name) | lower not in folded -%}
{{ kanon_sql.refuse(
    test ~ ": no column " ~ kanon_sql.unquoted(name) ~ " in " ~ relation ~ ". Columns: "
        ~ known | join(", ")
) }}
{%- endfor %}
{%- endmacro %}


{# --- thresholds ----------------------------------------------------------------------------- #}

{# Refuse a test without a threshold: it could not fail. #}
{% macro needs_one_of(test, thresholds) -%}
{% set present = thresholds.values() | reject("none") | list %}
{% do kanon_sql.refuse(test ~ " needs " ~ thresholds | join(" or ")) if not present %}
{%- endmacro %}


{# A count, or none where none is given. #}
{% macro count_of(test, name, value) -%}
{{ return(kanon_sql.positive_int(value, test ~ ": " ~ name) if value is not none else none) }}
{%- endmacro %}


{% macro is_number(value) -%}
{{ return(value is number and value is not boolean and value | abs <= 1.7976931348623157e308) }}
{%- endmacro %}


{# A number between two bounds, or none where none is given; `above` excludes the lower one. A share may be
   written as a percentage: 20% is 0.2. #}
{% macro number_of_test(test, name, value, least=0, most=none, above=false) -%}
{% if value is none -%}
{{ return(none) }}
{%- endif %}
{% set percentage = modules.re.match("^([0-9]+([.][0-9]+)?) ?%$", value) if most == 1 and value is string else none %}
{% set value = (percentage.group(1) ~ "e-2") | float if percentage else value %}
{% set words = ("above " if above else "from ") ~ least ~ (
    " to " ~ most if most is not none else "" if above else " on"
) %}
{% if not kanon_sql.is_number(value) or value < least or (above and value == least) or (most is not none and value > most) -%}
{{ kanon_sql.refuse(test ~ ": " ~ name ~ " must be a number " ~ words ~ "; found " ~ kanon_sql.as_found(value)) }}
{%- endif %}
{{- return(value) -}}
{%- endmacro %}


{# One of some words. #}
{% macro one_of(test, name, value, words) -%}
{% if value not in words -%}
{{ kanon_sql.refuse(test ~ ": " ~ name ~ " must be " ~ words | join(" or ") ~ "; found " ~ value) }}
{%- endif %}
{{- return(value) -}}
{%- endmacro %}


{# A list of values, or none where none is given; NULL stands for itself. #}
{% macro values_of_test(test, name, values) -%}
{% if values is not none and (values is string or values is mapping or values is not iterable or not values) -%}
{{ kanon_sql.refuse(test ~ ": " ~ name ~ " must be a list of at least one value, as in [first, second]; found " ~ values) }}
{%- endif %}
{{- return(values) -}}
{%- endmacro %}


{# Whether NULL matches everything in a quasi-identifier; there are no people then. #}
{% macro is_wildcard(test, nulls, entity=none) -%}
{% set wildcard = kanon_sql.one_of(test, "nulls", nulls, ["value", "wildcard"]) == "wildcard" %}
{% if wildcard and entity is not none -%}
{{ kanon_sql.refuse(test ~ ": nulls: wildcard has no meaning with an entity. Leave one of them out") }}
{%- endif %}
{{- return(wildcard) -}}
{%- endmacro %}


{# The values of an ordered distance with their places: numbers where all are, else text. #}
{% macro order_of_values(test, order) -%}
{% if kanon_sql.values_of_test(test, "order", order) is none -%}
{{ return(none) }}
{%- endif %}
{% set numbers = order | select("number") | reject("boolean") | list | length == order | length %}
{% set ordered = namespace(values=[], texts=[]) %}
{% for value in order %}
{% do kanon_sql.refuse(test ~ ": order must not name NULL, which ranks last") if value is none %}
{% set text = kanon_sql.value_as_text(value) %}
{% do kanon_sql.refuse(test ~ ": order names " ~ text ~ " twice") if text in ordered.texts %}
{% set ordered.texts = ordered.texts + [text] %}
{% set ordered.values = ordered.values + [[value if numbers else text, loop.index]] %}
{% endfor %}
{{ return(ordered.values) }}
{%- endmacro %}


{#
    The same SQL with a blank line between its CTEs and none elsewhere: dbt leaves the line of
    every block, which no package can have it trim, and `-%}` at each block would have the other host
    join lines. A text of the user's with lines of its own is left alone, as one may be a value.
#}
{% macro tidy(sql, written="") -%}
{% if "\n" in written | string -%}
{{ return(sql) }}
{%- endif %}
{% set lines = modules.re.sub("[ \\t]*\\n(?:[ \\t]*\\n)+", "\n", sql.strip()) %}
{% set parted = modules.re.sub("(?m)^( *)(with|\\),|union|union all)$", "\\1\\2\n", lines) %}
{{- return(modules.re.sub("(?m)^( *)\\)\n(?=\\1select|\\1union)|^( *)(?=union)", "\\g<0>\n", parted)) -}}
{%- endmacro %}
