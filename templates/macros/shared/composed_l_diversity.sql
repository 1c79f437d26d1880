{#
    Composed l-diversity: whoever looks for a person in the classes of two releases that fit, and
    knows that the sensitive value is the same in both, is left with at least l values. The
    candidates of a pair of classes, one of either release with a person in both of them, are the
    values that both classes have; nothing needs to link the records. A pair without a candidate
    says that the value changed, which misleads whoever attacks.

    Ganta, Kasiviswanathan, Smith 2008, Composition attacks and auxiliary information in data
    privacy, ACM KDD, section 2 (intersection attack).

    An attribute is its `values`, those of the release with those of the earlier one and how they
    are compared (`as_is`, or `as_text`), its `place` among all that are asked, and the `measures`
    of the checks, which see of each pair how many values are left (`kanon_candidates`) and how many
    people are in it (`kanon_size`). `unknown` reads a NULL as no value at all. What is asked of
    pairs stands in the statement of composed k-anonymity; this one asks of people, each once, in
    however many pairs: `flags`, which are names of `pair_verdicts`.

    The values of a pair are set apart before they are compared (`select distinct`, which changes no
    row): no planner may then join the values of both releases first, which has a row for each two
    classes that share a value.
#}
{% macro composed_l_diversity(
    release, columns, entities, earlier, earlier_columns, attribute, pair_verdicts, flags,
    unknown=false
) %}
with

{{ kanon_sql.sets_of_people(release, columns, entities, earlier, earlier_columns) }},

{{ kanon_sql.sets_of_pairs() }},

{{ kanon_sql.sets_of_candidates(release, columns, earlier, earlier_columns, attribute, unknown) }},

{{ kanon_sql.people_of_pairs(attribute.place, pair_verdicts, flags) }}

{{ kanon_sql.flagged_people(flags) }}
{%- endmacro %}


{# Each person of both releases in each pair of their classes, and how many are in a pair. #}
{% macro sets_of_pairs() %}
-- Each person of both in every pair of their classes.
people_in_pairs as (
    select
        people.kanon_entity,
        coalesce(release_several.kanon_class, people.kanon_release_first) as kanon_release_class,
        coalesce(earlier_several.kanon_class, people.kanon_earlier_first) as kanon_earlier_class
    from people
    left join release_several
        on release_several.kanon_entity = people.kanon_entity
    left join earlier_several
        on earlier_several.kanon_entity = people.kanon_entity
),

pairs as (
    select
        kanon_release_class,
        kanon_earlier_class,
        count(*) as kanon_size
    from people_in_pairs
    group by
        kanon_release_class,
        kanon_earlier_class
)
{%- endmacro %}


{# The sets that it names: each pair with its people and how many values of an attribute are left. #}
{% macro sets_of_candidates(release, columns, earlier, earlier_columns, attribute, unknown=false) %}
{% set place, values = attribute.place, attribute["values"] %}
{{ kanon_sql.values_of_classes(
    "release", release, columns, place, values, values.column, unknown
) }},

{{ kanon_sql.values_of_classes(
    "earlier", earlier, earlier_columns, place, values, values.reference, unknown
) }},

-- The values that a pair may have by this release; distinct, so that no planner joins the values of
-- both first, with a row for any two classes that share one.
pair_values_{{ place }} as (
    select distinct
        pairs.kanon_release_class,
        pairs.kanon_earlier_class,
        release_values_{{ place }}.kanon_value
    from pairs
    inner join release_values_{{ place }}
        on release_values_{{ place }}.kanon_class = pairs.kanon_release_class
),

-- How many of them the earlier release leaves.
candidates_{{ place }} as (
    select
        pair_values_{{ place }}.kanon_release_class,
        pair_values_{{ place }}.kanon_earlier_class,
        count(*) as kanon_candidates
    from pair_values_{{ place }}
    inner join earlier_values_{{ place }}
        on earlier_values_{{ place }}.kanon_class = pair_values_{{ place }}.kanon_earlier_class
        and {{ kanon_sql.same(
            "earlier_values_" ~ place ~ ".kanon_value", "pair_values_" ~ place ~ ".kanon_value"
        ) }}
    group by
        pair_values_{{ place }}.kanon_release_class,
        pair_values_{{ place }}.kanon_earlier_class
),

-- Every pair, those to which none is left too.
measured_pairs_{{ place }} as (
    select
        pairs.*,
        coalesce(candidates_{{ place }}.kanon_candidates, 0) as kanon_candidates
    from pairs
    left join candidates_{{ place }}
        on candidates_{{ place }}.kanon_release_class = pairs.kanon_release_class
        and candidates_{{ place }}.kanon_earlier_class = pairs.kanon_earlier_class
)
{%- endmacro %}


{# The values of each class of a release, once. #}
{% macro values_of_classes(side, relation, columns, place, values, value, unknown=false) %}
{{ side }}_values_{{ place }} as (
    select
        {{ side }}_classes.kanon_class,
        {{ side }}_cells.kanon_value
    from (
        select distinct
            {{ kanon_sql.named_in(side, columns) | trim | indent(12) }}
            {{ kanon_sql.cell(
                values, kanon_sql.ident(value), kanon_sql.type_of(value)
            ) }} as kanon_value
        from {{ relation | indent(8) }}
{% if unknown %}
        where {{ kanon_sql.ident(value) }} is not null
{% endif %}
    ) as {{ side }}_cells
    inner join {{ side }}_classes
        {{ kanon_sql.in_the_class(side, columns, side ~ "_cells") | trim | indent(8) }}
)
{%- endmacro %}


{# The people of both releases, with what is said of any pair that they are in. #}
{% macro people_of_pairs(place, pair_verdicts, flags) %}
judged_pairs as (
    select
        measured_pairs_{{ place }}.*,
{% for verdict in pair_verdicts %}
        {{ verdict.expression | indent(8) }} as {{ verdict.name }}{{ "," if not loop.last }}
{% endfor %}
    from measured_pairs_{{ place }}
),

judged_people as (
    select
        people_in_pairs.kanon_entity,
{% for flag in flags %}
        max(judged_pairs.{{ flag }}) as {{ flag }}{{ "," if not loop.last }}
{% endfor %}
    from people_in_pairs
    inner join judged_pairs
        on judged_pairs.kanon_release_class = people_in_pairs.kanon_release_class
        and judged_pairs.kanon_earlier_class = people_in_pairs.kanon_earlier_class
    group by people_in_pairs.kanon_entity
)
{%- endmacro %}


{# How many there are of whom each thing is said. #}
{% macro flagged_people(flags) %}
select
    count(*) as kanon_in_both,
{% for flag in flags %}
    sum({{ flag }}) as {{ flag }}_people{{ "," if not loop.last }}
{% endfor %}
from judged_people
{%- endmacro %}


{# What is said of all pairs together; the checks' own names are told apart by the attribute. #}
{% macro candidates_in_short(place, measures) %}
select
    min(case when kanon_candidates > 0 then kanon_candidates end) as kanon_least_{{ place }}
{%- for measure in measures %},
    {{ measure | indent(4) }}
{%- endfor %}

from measured_pairs_{{ place }}
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
{% set attribute = {"values": values, "place": 1} %}
{% set measures = [kanon_sql.classes_where(too_few, "composed_l_diversity_violated")] %}
{% set ctes %}
with

{{ kanon_sql.sets_of_people(relation, columns, entities, earlier, earlier_columns) | trim }},

{{ kanon_sql.sets_of_pairs() | trim }},

{{ kanon_sql.sets_of_candidates(
    relation, columns, earlier, earlier_columns, attribute, unknown
) | trim }},

{{ kanon_sql.people_of_pairs(1, verdicts.named, flags) | trim }},

pairs_asked as (
    {{ kanon_sql.candidates_in_short(1, measures) | trim | indent(4) }}
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
        pairs_asked.kanon_least_1 as achieved,
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
