{#
    Composed l-diversity: whoever looks for a person in the classes of two releases that fit, and
    knows that the sensitive value is the same in both, is left with at least l values. The
    candidates of a pair of classes, one of either release with a person in both of them, are the
    values that both classes have; nothing needs to link the records. A pair without a candidate
    says that the value changed, which misleads whoever attacks.

    Ganta, Kasiviswanathan, Smith 2008, Composition attacks and auxiliary information in data
    privacy, ACM KDD, section 2 (intersection attack).

    `entities` and `values` are the entity and the sensitive attribute of the release, each with
    that of the earlier one and how they are compared: `as_is`, or `as_text`. `unknown` reads a NULL
    as no value at all. `measures` are what the checks ask of the pairs, of which `kanon_candidates`
    is how many values are left and `kanon_size` how many people are in it. With `flags`, which are
    names of `pair_verdicts`, one row says how many people are in a pair that has one: each once, in
    however many.

    The values of a pair are set apart before they are compared (`select distinct`, which changes no
    row): no planner may then join the values of both releases first, which has a row for each two
    classes that share a value.
#}
{% macro composed_l_diversity(
    release, columns, entities, values, earlier, earlier_columns, unknown=false, measures=[],
    pair_verdicts=[], flags=[]
) %}
with

{{ kanon_sql.sets_of_pairs(
    release, columns, entities, values, earlier, earlier_columns, unknown
) }}
{%- if flags %},

{{ kanon_sql.people_of_pairs(columns, earlier_columns, pair_verdicts, flags) }}


{{ kanon_sql.flagged_people(flags) }}
{%- else %}


{{ kanon_sql.pairs_in_short(measures) }}
{%- endif %}
{%- endmacro %}


{# The sets that it names: each pair of classes, with its people and the values left to them. #}
{% macro sets_of_pairs(release, columns, entities, values, earlier, earlier_columns, unknown) %}
{% set of_release = kanon_sql.names_in_release(columns) %}
{% set of_earlier = kanon_sql.names_in_earlier(earlier_columns) %}
{{ kanon_sql.people_of_both_releases(release, columns, entities, earlier, earlier_columns) }},

{{ kanon_sql.sizes_in_both("pairs", "people", of_release, of_earlier) }},

release_values as (
    select distinct
{% for column in columns %}
        {{ kanon_sql.aliased(kanon_sql.ident(column), column) }},
{% endfor %}
        {{ kanon_sql.cell(
            values, kanon_sql.ident(values.column), kanon_sql.type_of(values.column)
        ) }} as kanon_value
    from {{ release | indent(4) }}
{% if unknown %}
    where {{ kanon_sql.ident(values.column) }} is not null
{% endif %}
),

earlier_values as (
    select distinct
{% for column in earlier_columns %}
        {{ kanon_sql.ident(column) }} as kanon_earlier_{{ loop.index }},
{% endfor %}
        {{ kanon_sql.cell(
            values, kanon_sql.ident(values.reference), kanon_sql.type_of(values.reference)
        ) }} as kanon_value
    from {{ earlier | indent(4) }}
{% if unknown %}
    where {{ kanon_sql.ident(values.reference) }} is not null
{% endif %}
),

pair_values as (
    select distinct
{% for name in of_release + of_earlier %}
        pairs.{{ name }},
{% endfor %}
        release_values.kanon_value
    from pairs
    inner join release_values
{% for name in of_release %}
        {{ "on" if loop.first else "and" }} {{ kanon_sql.same("release_values." ~ name, "pairs." ~ name) }}
{% endfor %}
),

candidates as (
    select
{% for name in of_release + of_earlier %}
        pair_values.{{ name }},
{% endfor %}
        count(*) as kanon_candidates
    from pair_values
    inner join earlier_values
{% for name in of_earlier %}
        {{ "on" if loop.first else "and" }} {{ kanon_sql.same("earlier_values." ~ name, "pair_values." ~ name) }}
{% endfor %}
        and {{ kanon_sql.same("earlier_values.kanon_value", "pair_values.kanon_value") }}
    group by
{% for name in of_release + of_earlier %}
        pair_values.{{ name }}{{ "," if not loop.last }}
{% endfor %}
),

pair_sides as (
    select
{% for name in of_release + of_earlier %}
        {{ name }},
{% endfor %}
        kanon_size,
        0 as kanon_candidates
    from pairs

    union all

    select
{% for name in of_release + of_earlier %}
        {{ name }},
{% endfor %}
        0 as kanon_size,
        kanon_candidates
    from candidates
),

measured_pairs as (
    select
{% for name in of_release + of_earlier %}
        {{ name }},
{% endfor %}
        sum(kanon_size) as kanon_size,
        sum(kanon_candidates) as kanon_candidates
    from pair_sides
    group by
{% for name in of_release + of_earlier %}
        {{ name }}{{ "," if not loop.last }}
{% endfor %}
)
{%- endmacro %}


{# The people of both releases, with what is said of any pair that they are in. #}
{% macro people_of_pairs(columns, earlier_columns, pair_verdicts, flags) %}
{% set of_release = kanon_sql.names_in_release(columns) %}
{% set of_earlier = kanon_sql.names_in_earlier(earlier_columns) %}
judged_pairs as (
    select
        measured_pairs.*,
{% for verdict in pair_verdicts %}
        {{ verdict.expression }} as {{ verdict.name }}{{ "," if not loop.last }}
{% endfor %}
    from measured_pairs
),

people as (
    select
        release_people.kanon_entity,
{% for flag in flags %}
        max(judged_pairs.{{ flag }}) as {{ flag }}{{ "," if not loop.last }}
{% endfor %}
    from release_people
    inner join earlier_people
        on earlier_people.kanon_entity = release_people.kanon_entity
    inner join judged_pairs
{% for name in of_release %}
        {{ "on" if loop.first else "and" }} {{ kanon_sql.same(
            "judged_pairs." ~ name, "release_people." ~ name
        ) }}
{% endfor %}
{% for name in of_earlier %}
        and {{ kanon_sql.same("judged_pairs." ~ name, "earlier_people." ~ name) }}
{% endfor %}
    group by release_people.kanon_entity
)
{%- endmacro %}


{# How many there are of whom each thing is said. #}
{% macro flagged_people(flags) %}
select
    count(*) as kanon_in_both,
{% for flag in flags %}
    sum({{ flag }}) as {{ flag }}_people{{ "," if not loop.last }}
{% endfor %}
from people
{%- endmacro %}


{# What is said of all pairs together. #}
{% macro pairs_in_short(measures) %}
select
    count(*) as kanon_classes,
    coalesce(sum(kanon_size), 0) as kanon_memberships,
    min(case when kanon_candidates > 0 then kanon_candidates end) as kanon_least
{%- for measure in measures %},
    {{ measure | indent(4) }}
{%- endfor %}

from measured_pairs
{%- endmacro %}


{# A pair of classes that leaves too few candidates; one without any misleads. #}
{% macro composed_l_diversity_violated(l) -%}
kanon_candidates > 0 and kanon_candidates < {{ kanon_sql.positive_int(l, "l") }}
{%- endmacro %}


{# A pair that gives its people's value away. #}
{% macro composed_l_diversity_certain() -%}
kanon_candidates = 1
{%- endmacro %}


{# A pair whose people's value did change. #}
{% macro composed_l_diversity_changed() -%}
kanon_candidates = 0
{%- endmacro %}


{# The test: l values left by every pair of classes that leaves any. What is at risk are people. #}
{% macro composed_l_diversity_failures(
    relation, columns, l, entities, values, earlier, earlier_columns, unknown=false
) %}
{% set too_few = kanon_sql.composed_l_diversity_violated(l) %}
{% set flagged = [
    ("kanon_certain", kanon_sql.composed_l_diversity_certain()),
    ("kanon_changed", kanon_sql.composed_l_diversity_changed()),
    ("kanon_composed_l_diversity_violated", too_few),
] %}
{% set verdicts = namespace(named=[]) %}
{% for name, predicate in flagged %}
{% set verdicts.named = verdicts.named + [
    {"expression": kanon_sql.flag(predicate) | trim, "name": name}
] %}
{% endfor %}
{% set flags = verdicts.named | map(attribute="name") | list %}
{% set measures = [kanon_sql.classes_where(too_few, "composed_l_diversity_violated")] %}
{% set ctes %}
with

{{ kanon_sql.sets_of_pairs(
    relation, columns, entities, values, earlier, earlier_columns, unknown
) | trim }},

{{ kanon_sql.people_of_pairs(columns, earlier_columns, verdicts.named, flags) | trim }},

pairs_asked as (
    {{ kanon_sql.pairs_in_short(measures) | trim | indent(4) }}
),

people_asked as (
    {{ kanon_sql.flagged_people(flags) | trim | indent(4) }}
),

measured as (
    select
        (
            select count(*)
            from {{ relation | indent(12) }}
        ) as records,
        coalesce(pairs_asked.kanon_composed_l_diversity_violated_classes, 0) as violating_classes,
        coalesce(people_asked.kanon_composed_l_diversity_violated_people, 0) as violating_people,
        pairs_asked.kanon_least as achieved,
        people_asked.kanon_in_both as in_both,
        coalesce(people_asked.kanon_certain_people, 0) as certain_people,
        coalesce(people_asked.kanon_changed_people, 0) as changed_people
    from pairs_asked
    cross join people_asked
)
{%- endset %}
{{ kanon_sql.told_failures(
    ctes,
    violated="measured.violating_people > 0",
    failures="measured.violating_people",
    columns=[
        "violating_classes", "violating_people", "achieved", "in_both",
        "certain_people", "changed_people",
    ],
    relation=relation, entity=entities.column, earlier=earlier, earlier_entity=entities.reference,
    more=[
        {
            "statement": kanon_sql.strangers("records"),
            "counted": "kanon_strangers",
            "set": "strangers",
            "are": "records and nobody of them in the earlier release",
        },
        {
            "statement": kanon_sql.without_candidates(),
            "counted": "kanon_without_candidates",
            "set": "without_candidates",
            "are": "people and no value that any of them may have in both releases",
        },
    ]
) }}
{%- endmacro %}


{# How many people are in both releases, where no value of any of them is in both of their classes. #}
{% macro without_candidates() -%}
select case when achieved is null then in_both else 0 end as kanon_without_candidates
from measured
{%- endmacro %}


{% test composed_l_diversity(
    model,
    quasi_identifiers=none,
    sensitive=none,
    l=none,
    earlier=none,
    earlier_where=none,
    earlier_columns=none,
    earlier_quasi_identifiers=none,
    earlier_entity=none,
    entity=none,
    sensitive_nulls="value",
    quote_columns=none,
    column_name=none
) -%}
{{- config(fail_calc="coalesce(sum(failures), 0)") -}}
{% do kanon_sql.needs_one_of("composed_l_diversity", {"l": l}) -%}
{% set l = kanon_sql.count_of("composed_l_diversity", "l", l) -%}
{% set unknown = kanon_sql.is_unknown("composed_l_diversity", sensitive_nulls) -%}
{% set asked = kanon_sql.columns_of_sensitive_test(
    "composed_l_diversity", model, quasi_identifiers, quote_columns, entity, sensitive, column_name
) -%}
{% set before = kanon_sql.earlier_of_test(
    "composed_l_diversity", quasi_identifiers, entity, earlier,
    where=earlier_where, columns=earlier_columns, own=earlier_quasi_identifiers,
    own_entity=earlier_entity, quote_columns=quote_columns,
    sensitive=sensitive if sensitive is not none else column_name
) -%}
{{ kanon_sql.tidy(kanon_sql.composed_l_diversity_failures(
    asked["relation"],
    asked["columns"],
    l=l,
    entities={"column": asked["entity"], "reference": before["entity"], "how": "as_is"},
    values={"column": asked["sensitive"], "reference": before["sensitive"], "how": "as_is"},
    earlier=before["relation"],
    earlier_columns=before["columns"],
    unknown=unknown
), model) }}
{%- endtest %}
