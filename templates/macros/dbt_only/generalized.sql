{#
    A model at given levels of its generalization hierarchies, as a SELECT:

        {{ kanon_sql.generalized(ref("patients"), {
            "age": {"clip": [10, 90], "levels": [{"width": 5}, {"width": 10}], "level": 2},
            "zip": {"mask": "right", "level": 2},
            "admitted": "month",
            "diagnosis": {"hierarchy": ref("diagnoses"), "level": 1},
            "sex": "suppress",
        }, identifiers=["name"]) }}

    A hierarchy is spelled as in a spec file, with `level` beside it, which may be left out where
    there is one level; a level by itself stands for a hierarchy of that one. `hierarchy` is a
    mapping of each value to its ancestors, or a relation: the raw value, then a column a level.
    `longest` says how many characters the longest value of a mask has, so that nobody has to look.

    Every other column stays as it is but `identifiers`, which are left out. The expressions are
    those of generalize.sql, over the raw value. The relation must exist when the model is
    compiled, because the types of its columns decide how they are written.
#}
{% macro generalized(relation, quasi_identifiers, identifiers=[]) %}
{% if not execute -%}
{{ return("select * from " ~ relation) }}
{%- endif %}
{% set fault = kanon_sql.fault_of_parts(quasi_identifiers, identifiers) %}
{% if fault -%}
{{ kanon_sql.refuse("generalized: " ~ fault) }}
{%- endif %}
{% set columns = kanon_sql.columns_of_relation(relation) %}
{% set hierarchies = kanon_sql.by_bare_name(quasi_identifiers, columns, relation) %}
{% set dropped = kanon_sql.by_bare_name(kanon_sql.as_mapping(identifiers), columns, relation) %}
{% set joined = namespace(labels=[]) %}
{% set shown = namespace(columns=[]) %}
{% for column in columns if column.name | lower not in dropped %}
{% set name = adapter.quote(column.name) %}
{% set value = "kanon_raw." ~ name %}
{% if column.name | lower in hierarchies %}
{% set hierarchy = kanon_sql.hierarchy_of(column, hierarchies[column.name | lower]) %}
{% if kanon_sql.is_relation(hierarchy["hierarchy"]) %}
{% set labels = kanon_sql.labels_in_relation(
    column, hierarchy, "kanon_labels_" ~ (joined.labels | length + 1), value
) %}
{% set joined.labels = joined.labels + [labels] %}
{% set value = labels["name"] ~ ".kanon_label" %}
{% else %}
{% set value = kanon_sql.at_level(relation, column, hierarchy, value) | trim %}
{% endif %}
{% endif %}
{% set shown.columns = shown.columns + [value | indent(4) ~ " as " ~ name] %}
{% endfor %}
{{ return(kanon_sql.tidy(kanon_sql.shown_columns(relation, shown.columns, joined.labels))) }}
{%- endmacro %}


{# What is read is put in brackets, because dbt may have given the relation an alias of its own. #}
{% macro shown_columns(relation, columns, joined) %}
select
{%- for column in columns %}
    {{ column }}{{ "," if not loop.last }}
{%- endfor %}

from (
    select *
    from {{ relation }}
) as kanon_raw
{% for labels in joined %}
{{ kanon_sql.join_labels(labels) }}
{% endfor %}
{%- endmacro %}


{# What is wrong with what is said of the columns; none where nothing is. #}
{% macro fault_of_parts(quasi_identifiers, identifiers) -%}
{% if quasi_identifiers is not mapping -%}
{{ return("quasi_identifiers must say what becomes of each column, as in {'age': {'width': 10}}; found " ~ quasi_identifiers) }}
{%- elif identifiers is string or identifiers is mapping or identifiers is not iterable -%}
{{ return("identifiers must be a list of columns, as in ['name']; found " ~ identifiers) }}
{%- endif %}
{% for name in quasi_identifiers | list + identifiers | list if name is not string -%}
{{ return("a column must be given by its name; found " ~ name) }}
{%- endfor %}
{% for name in quasi_identifiers if kanon_sql.is_among(name, identifiers) -%}
{{ return(name ~ " is one of identifiers, which are left out, so it can't be generalised too. Name it once") }}
{%- endfor %}
{{ return(none) }}
{%- endmacro %}


{# Whether a column is one of these, however it is spelled. #}
{% macro is_among(name, others) -%}
{% for other in others if kanon_sql.bare_name(other) == kanon_sql.bare_name(name) -%}
{{ return(true) }}
{%- endfor %}
{{- return(false) -}}
{%- endmacro %}


{# --- what the relation has ------------------------------------------------------------------ #}

{% macro columns_of_relation(relation) -%}
{% set columns = adapter.get_columns_in_relation(relation) if relation.is_cte is not true else [] %}
{% if not columns -%}
{{ kanon_sql.refuse("generalized: " ~ relation ~ " has no columns yet. Build it first, as a table or a view") }}
{%- endif %}
{{- return(columns) -}}
{%- endmacro %}


{% macro as_mapping(names) -%}
{% set found = {} %}
{% for name in names %}{% do found.update({name: true}) %}{% endfor %}
{{ return(found) }}
{%- endmacro %}


{# A mapping by column with the names in lower case; every one must be a column. #}
{% macro by_bare_name(mapping, columns, relation) -%}
{% set known = columns | map(attribute="name") | map("lower") | list %}
{% set found = {} %}
{% for name, value in mapping.items() %}
{% set bare = kanon_sql.bare_name(name) %}
{% if bare not in known -%}
{{ kanon_sql.refuse(
    "generalized: no column " ~ name ~ " in " ~ relation ~ ". Columns: "
        ~ columns | map(attribute="name") | join(", ")
) }}
{%- endif %}
{% do found.update({bare: value}) %}
{% endfor %}
{{ return(found) }}
{%- endmacro %}


{# The family of a column's type, in the words of generalize.sql: that of the first beginning. #}
{% macro type_named(column) -%}
{% set families = [
    ["TIMESTAMP", ["timestamp", "datetime"]],
    ["DATE", ["date"]],
    ["DOUBLE", ["double", "float", "real"]],
    ["BIGINT", ["bigint", "int8", "int64", "ubigint", "hugeint", "uhugeint"]],
    ["OTHER", ["interval", "bool"]],
    ["INTEGER", ["int", "smallint", "tinyint", "uint", "usmallint", "utinyint", "serial"]],
    ["DECIMAL", ["numeric", "decimal", "number", "bignumeric"]],
    ["VARCHAR", ["varchar", "char", "text", "string", "nvarchar", "bpchar", "enum", "uuid"]],
] %}
{% for family in families %}
{% for beginning in family[1] if (column.dtype | lower).startswith(beginning) %}
{{ return(family[0]) }}
{% endfor %}
{% endfor %}
{{ return("OTHER") }}
{%- endmacro %}


{# --- hierarchies ---------------------------------------------------------------------------- #}

{% macro is_relation(hierarchy) -%}
{{ return(hierarchy is not none and hierarchy is not string and hierarchy.is_cte is defined) }}
{%- endmacro %}


{#
    A hierarchy as a spec file has it, from one or from a level by itself: `clip`, `levels`,
    `hierarchy`, `level`, `longest`. Each of `depths` is a level of its own, and a mask has one
    for each character.
#}
{% macro hierarchy_of(column, given) -%}
{% set where = "generalized: " ~ column.name %}
{% set own = ["clip", "levels", "hierarchy", "level", "longest"] %}
{% set found = {"clip": none, "levels": none, "hierarchy": none, "level": none, "longest": none} %}
{% if given is string or given is not mapping -%}
{% do found.update({"levels": [given]}) %}
{%- else -%}
{% set step = {} %}
{% for key, value in given.items() %}
{% if key in own %}{% do found.update({key: value}) %}{% else %}{% do step.update({key: value}) %}{% endif %}
{% endfor %}
{% if step and (found["levels"] is not none or found["hierarchy"] is not none) -%}
{{ kanon_sql.refuse(where ~ ": unknown " ~ step | join(", ") ~ ". A hierarchy has " ~ own | join(", ")) }}
{%- endif %}
{% if step %}{% do found.update({"levels": [step]}) %}{% endif %}
{%- endif %}
{% set fault = kanon_sql.fault_of_hierarchy(found["levels"], found["hierarchy"], found["clip"]) %}
{% if fault -%}
{{ kanon_sql.refuse(where ~ ": " ~ fault) }}
{%- endif %}
{% if found["hierarchy"] is none %}
{% do found.update({"levels": kanon_sql.single_levels(found["levels"] or ["suppress"])}) %}
{% elif found["hierarchy"] is string or not found["hierarchy"] %}
{{ kanon_sql.refuse(
    where ~ ": hierarchy must be a mapping of values or a relation, as in ref('education'); found "
        ~ found["hierarchy"]
) }}
{% endif %}
{% if found["level"] is none -%}
{% if found["hierarchy"] is not none or found["levels"] | length != 1 or found["levels"][0]["mask"] is defined -%}
{{ kanon_sql.refuse(where ~ " has several levels; say which with level: 1, counted from the finest") }}
{%- endif %}
{% do found.update({"level": 1}) %}
{%- elif found["level"] is not integer or found["level"] is boolean or found["level"] < 0 -%}
{{ kanon_sql.refuse(where ~ ": level must be a whole number, 0 for the raw value; found " ~ found["level"]) }}
{%- endif %}
{{ return(found) }}
{%- endmacro %}


{# The levels with each of `depths` on its own. #}
{% macro single_levels(levels) -%}
{% set found = namespace(levels=[]) %}
{% for level in levels %}
{% if level is mapping and "depths" in level %}
{% for step in kanon_sql.truncations(level) %}
{% set found.levels = found.levels + [{"round": step}] %}
{% endfor %}
{% else %}
{% set found.levels = found.levels + [level] %}
{% endif %}
{% endfor %}
{{ return(found.levels) }}
{%- endmacro %}


{# --- what is no hierarchy, as kanon_sql/spec/hierarchy.py has it ------------------------------- #}

{# The levels of a date that have a name, from the finest to the coarsest. #}
{% macro periods() -%}
{{ return(["day", "month", "quarter", "year"]) }}
{%- endmacro %}


{# What is wrong with a hierarchy; none where nothing is. #}
{% macro fault_of_hierarchy(levels, hierarchy, clip) -%}
{% if levels is not none and (levels is string or levels is mapping or levels is not iterable or not levels) -%}
{{ return("levels must be a list, as in [{width: 5}, {width: 10}]; found " ~ levels) }}
{%- endif %}
{% for level in levels or [] if kanon_sql.fault_of_level(level) -%}
{{ return(kanon_sql.fault_of_level(level)) }}
{%- endfor %}
{% if hierarchy is not none and levels not in [none, ["suppress"]] -%}
{{ return("has both a hierarchy and levels; leave one of them out") }}
{%- endif %}
{% if clip is not none and not kanon_sql.is_clip(clip) -%}
{{ return("clip must be the lowest and the highest value kept, as in [10, 90] or [none, 90]; found " ~ clip) }}
{%- endif %}
{% for level in levels or [] if clip is not none and (level in kanon_sql.periods() or "years" in level) -%}
{{ return("clip is for numbers, and " ~ level ~ " is a level of dates; leave one of them out") }}
{%- endfor %}
{% for coarser in (levels or [])[1:] %}
{% set finer = levels[loop.index0] %}
{% if finer == "suppress" or (finer is mapping and "mask" in finer and coarser != "suppress") -%}
{{ return("nothing may follow suppress, and only suppress may follow mask; found " ~ coarser) }}
{%- elif kanon_sql.is_finer(finer, coarser) -%}
{{ return(coarser ~ " comes after " ~ finer ~ " and is finer; order levels from the finest to the coarsest") }}
{%- endif %}
{% endfor %}
{{ return(none) }}
{%- endmacro %}


{# What is wrong with a level; none where nothing is. #}
{% macro fault_of_level(level) -%}
{% set wanted = {
    "width": "a number above 0, 10^18 at most",
    "round": "a whole number from 1 to 10^18",
    "depths": "whole numbers from 1 to 18 in ascending order",
    "mask": "left or right",
    "prefix": "a whole number from 1 to 10^18",
    "cuts": "numbers in ascending order",
    "top": "a number",
    "bottom": "a number",
    "years": "a whole number from 1 to 10^18",
} %}
{% set kinds = level.keys() | select("in", wanted) | list if level is mapping else [] %}
{% if level in kanon_sql.periods() + ["suppress"] -%}
{{ return(none) }}
{%- elif not kinds -%}
{% set names = wanted.keys() | list + kanon_sql.periods() + ["suppress"] %}
{{ return(level ~ " is not a level. Levels: " ~ names | join(", ")) }}
{%- endif %}
{% set kind = kinds[0] %}
{% set unknown = level.keys() | reject("in", [kind, "origin"] if kind == "width" else [kind]) | list %}
{% if unknown -%}
{{ return("unknown " ~ unknown | join(", ") ~ " beside " ~ kind ~ " in " ~ level) }}
{%- elif not kanon_sql.is_number(level["origin"] if "origin" in level else 0) -%}
{{ return("origin must be a number; found " ~ level) }}
{%- elif not kanon_sql.is_argument_of(kind, level[kind]) -%}
{{ return(kind ~ " must be " ~ wanted[kind] ~ "; found " ~ level) }}
{%- endif %}
{{ return(none) }}
{%- endmacro %}


{# Whether a level can have been given this. #}
{% macro is_argument_of(kind, value) -%}
{% if kind == "mask" -%}
{{ return(value in ["left", "right"]) }}
{%- elif kind == "width" -%}
{{ return(kanon_sql.is_number(value) and 0 < value <= 10 ** 18) }}
{%- elif kind in ["round", "prefix", "years"] -%}
{{ return(kanon_sql.is_whole(value, 10 ** 18)) }}
{%- elif kind in ["top", "bottom"] -%}
{{ return(kanon_sql.is_number(value)) }}
{%- elif value is string or value is mapping or value is not iterable or not value -%}
{{ return(false) }}
{%- endif %}
{% for each in value if not (kanon_sql.is_number(each) if kind == "cuts" else kanon_sql.is_whole(each, 18)) -%}
{{ return(false) }}
{%- endfor %}
{{ return(value | unique | sort | list == value | list) }}
{%- endmacro %}


{% macro is_number(value) -%}
{{ return(value is number and value is not boolean and value | abs <= 1.7976931348623157e308) }}
{%- endmacro %}


{% macro is_whole(value, most) -%}
{{ return(value is integer and value is not boolean and 1 <= value <= most) }}
{%- endmacro %}


{# Whether it is two bounds in order, of which one may be open. #}
{% macro is_clip(clip) -%}
{% if clip is string or clip is mapping or clip is not iterable or clip | length != 2 -%}
{{ return(false) }}
{%- endif %}
{% set bounds = clip | reject("none") | list %}
{% for bound in bounds if not kanon_sql.is_number(bound) -%}
{{ return(false) }}
{%- endfor %}
{{ return(bounds | length > 0 and bounds | sort == bounds) }}
{%- endmacro %}


{# Whether two levels of a kind are in the wrong order. #}
{% macro is_finer(finer, coarser) -%}
{% for kind in ["width", "bottom"] if kind in finer and kind in coarser and coarser is mapping -%}
{{ return(coarser[kind] < finer[kind]) }}
{%- endfor %}
{% for kind in ["prefix", "top"] if kind in finer and kind in coarser and coarser is mapping -%}
{{ return(coarser[kind] > finer[kind]) }}
{%- endfor %}
{% if "cuts" in finer and "cuts" in coarser -%}
{% set shared = finer["cuts"] | select("in", coarser["cuts"]) | list %}
{{ return(shared == finer["cuts"] and shared | length < coarser["cuts"] | length) }}
{%- endif %}
{% set truncations = [kanon_sql.truncations(finer), kanon_sql.truncations(coarser)] %}
{% if truncations[0] and truncations[1] -%}
{{ return(truncations[1][0] < truncations[0][-1]) }}
{%- endif %}
{% set months = [kanon_sql.months(finer), kanon_sql.months(coarser)] %}
{{ return(none not in months and months[1] < months[0]) }}
{%- endmacro %}


{# The multiples that a level truncates to, from the finest. #}
{% macro truncations(level) -%}
{% if level is mapping and "depths" in level -%}
{% set found = namespace(steps=[]) %}
{% for depth in level["depths"] %}
{% set found.steps = found.steps + [10 ** depth] %}
{% endfor %}
{{ return(found.steps) }}
{%- endif %}
{{ return([level["round"]] if level is mapping and "round" in level else []) }}
{%- endmacro %}


{# How long a period of a date is; none where a level is of something else. #}
{% macro months(level) -%}
{% if level is mapping -%}
{{ return(12 * level["years"] if "years" in level else none) }}
{%- endif %}
{{ return({"day": 0, "month": 1, "quarter": 3, "year": 12}.get(level)) }}
{%- endmacro %}


{# The labels of a hierarchy that lies in a relation, as they stand after LEFT JOIN. A value with
   two parents has the first of them, so that no record is there twice. #}
{% macro labels_in_relation(column, hierarchy, name, value) -%}
{% set columns = kanon_sql.columns_of_relation(hierarchy["hierarchy"]) %}
{% if not 1 <= hierarchy["level"] < columns | length -%}
{{ kanon_sql.refuse(
    "generalized: " ~ column.name ~ " has levels 1 to " ~ (columns | length - 1) ~ " in "
        ~ hierarchy["hierarchy"] ~ ", so there is no level " ~ hierarchy["level"]
) }}
{%- endif %}
{% set raw = kanon_sql.as_text(adapter.quote(columns[0].name), kanon_sql.type_named(columns[0])) %}
{% set label = kanon_sql.as_text(
    adapter.quote(columns[hierarchy["level"]].name),
    kanon_sql.type_named(columns[hierarchy["level"]])
) %}
{{ return({
    "name": name,
    "sql": "(select " ~ raw ~ " as kanon_value, min(" ~ label ~ ") as kanon_label from " ~ hierarchy["hierarchy"] ~ " group by " ~ raw ~ ")",
    "key": kanon_sql.text_at(column, hierarchy, value) | trim,
}) }}
{%- endmacro %}


{# --- the expressions ------------------------------------------------------------------------ #}

{# The value of a column at a level. #}
{% macro at_level(relation, column, hierarchy, value) -%}
{% if hierarchy["level"] == 0 -%}
{{ return(value) }}
{%- endif %}
{% if hierarchy["hierarchy"] is not none -%}
{{ return(
    kanon_sql.ancestor(
        kanon_sql.text_at(column, hierarchy, value) | trim,
        kanon_sql.values_by_label(column, hierarchy)
    )
) }}
{%- endif %}
{% set last = hierarchy["levels"][-1] %}
{% set mask = hierarchy["levels"] | selectattr("mask", "defined") | list %}
{% if mask -%}
{{ return(kanon_sql.masked_at(relation, column, hierarchy, mask[0]["mask"], value)) }}
{%- endif %}
{% if hierarchy["level"] > hierarchy["levels"] | length -%}
{{ kanon_sql.refuse(
    "generalized: " ~ column.name ~ " has levels 0 to " ~ hierarchy["levels"] | length
        ~ ", so there is no level " ~ hierarchy["level"]
) }}
{%- endif %}
{{- return(kanon_sql.at_step(column, hierarchy, hierarchy["levels"][hierarchy["level"] - 1], value)) -}}
{%- endmacro %}


{# A masked value; beyond the mask there is only suppress. #}
{% macro masked_at(relation, column, hierarchy, side, value) -%}
{% set before = hierarchy["levels"] | selectattr("mask", "undefined") | reject("equalto", "suppress") | list %}
{% if before -%}
{{ kanon_sql.refuse("generalized: " ~ column.name ~ ": only suppress may stand beside mask") }}
{%- endif %}
{% set longest = kanon_sql.longest_of(relation, column, hierarchy) %}
{% set height = longest + (1 if hierarchy["levels"][-1] == "suppress" else 0) %}
{% if hierarchy["level"] > height -%}
{{ kanon_sql.refuse(
    "generalized: " ~ column.name ~ " has levels 0 to " ~ height ~ ", so there is no level "
        ~ hierarchy["level"]
) }}
{%- elif hierarchy["level"] > longest -%}
{{ return("'*'") }}
{%- endif %}
{{- return(kanon_sql.masked(kanon_sql.text_at(column, hierarchy, value) | trim, side, hierarchy["level"], longest)) -}}
{%- endmacro %}


{# How many characters the longest value has: what is said of it, or what the relation has; where
   there is none, as many as are masked. #}
{% macro longest_of(relation, column, hierarchy) -%}
{% if hierarchy["longest"] is not none -%}
{{ return(kanon_sql.positive_int(hierarchy["longest"], "generalized: " ~ column.name ~ ": longest")) }}
{%- endif %}
{% set text = kanon_sql.text_at(column, hierarchy, adapter.quote(column.name)) | trim %}
{% set answer = run_query("select coalesce(max(length(" ~ text ~ ")), 0) as kanon_longest from " ~ relation) %}
{{- return((answer.columns[0].values()[0] | int) or ([hierarchy["level"], 1] | max)) -}}
{%- endmacro %}


{# The value of a column at a level that is not a mask. #}
{% macro at_step(column, hierarchy, step, value) -%}
{% set type = kanon_sql.type_named(column) %}
{% set kind = kanon_sql.kind_of(type, hierarchy) %}
{% if step == "suppress" -%}
{{ return("'*'") }}
{%- elif step is string -%}
{{ return(
    kanon_sql.period(
        kanon_sql.date_of(
            value, kanon_sql.typed_for(column, ["DATE", "TIMESTAMP", "VARCHAR"], step)
        ),
        step
    )
) }}
{%- elif "years" in step -%}
{{ return(
    kanon_sql.years(
        kanon_sql.date_of(
            value, kanon_sql.typed_for(column, ["DATE", "TIMESTAMP", "VARCHAR"], step)
        ),
        step["years"]
    )
) }}
{%- elif "prefix" in step -%}
{{ return(kanon_sql.prefix(kanon_sql.text_at(column, hierarchy, value) | trim, step["prefix"])) }}
{%- endif %}
{% do kanon_sql.typed_for(column, ["INTEGER", "BIGINT", "DECIMAL", "DOUBLE", "VARCHAR"], step) %}
{% set number = kanon_sql.number_at(column, hierarchy, value) | trim %}
{% if "width" in step -%}
{{ return(kanon_sql.interval_at(column, kind, number, step["width"], step["origin"] if "origin" in step else 0)) }}
{%- elif "round" in step -%}
{{ return(kanon_sql.truncated(number, kind, step["round"])) }}
{%- elif "cuts" in step -%}
{{ return(kanon_sql.between_cuts(number, kind, kanon_sql.plain_numbers(step["cuts"]))) }}
{%- elif "top" in step -%}
{{ return(
    kanon_sql.coded(
        number,
        kind,
        ">=",
        kanon_sql.plain(step["top"]),
        kanon_sql.text_at(column, hierarchy, value) | trim
    )
) }}
{%- endif %}
{{- return(
    kanon_sql.coded(
        number,
        kind,
        "<",
        kanon_sql.plain(step["bottom"]),
        kanon_sql.text_at(column, hierarchy, value) | trim
    )
) -}}
{%- endmacro %}


{# The type of a column, if a level is for it. #}
{% macro typed_for(column, types, step) -%}
{% set type = kanon_sql.type_named(column) %}
{% if type not in types -%}
{{ kanon_sql.refuse("generalized: " ~ column.name ~ " is " ~ column.dtype ~ ", which the level " ~ step ~ " is not for. Choose another level") }}
{%- endif %}
{{- return(type) -}}
{%- endmacro %}


{# What kind of number a value is once it is clipped. #}
{% macro kind_of(type, hierarchy) -%}
{% set bounds = (hierarchy["clip"] or []) | reject("none") | list %}
{% set fractional = namespace(any=false) %}
{% for bound in bounds if bound != bound | int %}{% set fractional.any = true %}{% endfor %}
{% if type in ["VARCHAR", "DOUBLE"] -%}
{{ return("float") }}
{%- elif fractional.any or type == "DECIMAL" -%}
{{ return("decimal") }}
{%- endif %}
{{- return("wide" if type == "BIGINT" else "whole") -}}
{%- endmacro %}


{# A value as a number, clipped. #}
{% macro number_at(column, hierarchy, value) -%}
{% set type = kanon_sql.type_named(column) %}
{% set number = kanon_sql.number_of(value, type == "VARCHAR") | trim %}
{% if not hierarchy["clip"] -%}
{{ return(number) }}
{%- endif %}
{% if type in ["DATE", "TIMESTAMP", "OTHER"] or hierarchy["clip"] | length != 2 -%}
{{ kanon_sql.refuse(
    "generalized: " ~ column.name ~ ": clip is for numbers, as in [10, 90] or [none, 90]; found "
        ~ hierarchy["clip"]
) }}
{%- endif %}
{% set low = kanon_sql.plain(hierarchy["clip"][0]) if hierarchy["clip"][0] is not none else none %}
{% set high = kanon_sql.plain(hierarchy["clip"][1]) if hierarchy["clip"][1] is not none else none %}
{{- return(kanon_sql.clipped(number, kanon_sql.kind_of(type, hierarchy), low, high)) -}}
{%- endmacro %}


{# A value as a text, clipped, spelled as a question would spell it. #}
{% macro text_at(column, hierarchy, value) -%}
{% set type = kanon_sql.type_named(column) %}
{% if hierarchy["clip"] -%}
{% set whole = kanon_sql.kind_of(type, hierarchy) in ["whole", "wide"] %}
{{ return(kanon_sql.text_of(kanon_sql.number_at(column, hierarchy, value) | trim, "BIGINT" if whole else "DOUBLE")) }}
{%- endif %}
{% set spelled = column.dtype | lower in ["varchar", "text", "string", "character varying"] %}
{{- return(value if spelled else kanon_sql.text_of(value, type)) -}}
{%- endmacro %}


{# Intervals in whole units of as many digits as the width and the origin have. #}
{% macro interval_at(column, kind, number, width, origin) -%}
{% set digits = [kanon_sql.digits_of(width), kanon_sql.digits_of(origin)] | max %}
{% if digits and kind != "float" and kanon_sql.precision_of(column) + digits > 38 -%}
{% set kind = "float" %}
{% set number = kanon_sql.as_float(number) | trim %}
{%- endif %}
{% set whole = kanon_sql.in_units(width, digits) %}
{{- return(kanon_sql.interval(number, kind, whole, kanon_sql.in_units(origin, digits) % whole, digits)) -}}
{%- endmacro %}


{# How many digits a number of the column may have, the widest where its type does not say. #}
{% macro precision_of(column) -%}
{% set written = modules.re.search("\\(([0-9]+)", column.dtype) %}
{% if written -%}
{{ return(written.group(1) | int) }}
{%- endif %}
{{- return(38 if kanon_sql.type_named(column) == "DECIMAL" or "huge" in column.dtype | lower else 20) -}}
{%- endmacro %}


{# A number in digits, without an exponent and without what says nothing. #}
{% macro plain(number) -%}
{% set digits = kanon_sql.digits_of(number) %}
{% if digits == 0 -%}
{{ return(kanon_sql.in_units(number, 0) | string) }}
{%- endif %}
{% set units = kanon_sql.in_units(number, digits) %}
{% set text = ("%0" ~ (digits + 1) ~ "d") | format(units if units >= 0 else -units) %}
{{- return(("-" if units < 0 else "") ~ text[:-digits] ~ "." ~ text[-digits:]) -}}
{%- endmacro %}


{% macro plain_numbers(numbers) -%}
{% set found = namespace(texts=[]) %}
{% for number in numbers %}{% set found.texts = found.texts + [kanon_sql.plain(number)] %}{% endfor %}
{{ return(found.texts) }}
{%- endmacro %}


{# How many digits a number has after the point. #}
{% macro digits_of(number) -%}
{% set under = kanon_sql.as_decimal(number)[1] %}
{% for digits in range(18) if (10 ** digits) % under == 0 -%}
{% if loop.first %}{{ return(digits) }}{% endif %}
{%- endfor %}
{{- return(17) -}}
{%- endmacro %}


{# A number in units of so many digits after the point. #}
{% macro in_units(number, digits) -%}
{% set written = kanon_sql.as_decimal(number) %}
{{ return(written[0] * 10 ** digits // written[1]) }}
{%- endmacro %}


{# The raw values of a mapping under each label at a level. #}
{% macro values_by_label(column, hierarchy) -%}
{% set found = {} %}
{% for raw, above in hierarchy["hierarchy"].items() %}
{% set ancestors = [above] if above is string or above is not iterable else above %}
{% if hierarchy["level"] > ancestors | length -%}
{{ kanon_sql.refuse(
    "generalized: " ~ column.name ~ ": " ~ raw ~ " has " ~ ancestors | length
        ~ " ancestors, so there is no level " ~ hierarchy["level"]
) }}
{%- endif %}
{% set label = kanon_sql.value_as_text(ancestors[hierarchy["level"] - 1]) %}
{% do found.update({label: (found[label] if label in found else []) + [kanon_sql.value_as_text(raw)]}) %}
{% endfor %}
{{ return(found) }}
{%- endmacro %}
