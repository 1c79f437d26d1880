{#
    Which cells of the reference a cell of the release matches, column by column.

    A cell matches itself. A lone `*` matches anything, NULL included. A `*` at either end matches
    exactly one character, at equal length. [a,b) [a,b] (a,b] [a,b[ ]a,b] match the numbers in
    between, as written. a-b does too, unless other cells of either column contradict a range; the
    range is open at b if another cell of the release begins there. NULL as a wildcard matches
    everything on both sides. A doubtful cell doesn't match, and the population is smaller.

    Cells are text with the prefix '=', and NULL is the empty text, so that equality joins them.

    If the release's generalisation is known, a cell matches the values with this label:
    `pair.labels`. The label isn't parsed as a range or a mask then, since a hierarchy may label the
    ages from 21 to 30 as 20-29.
#}
{% macro matching_cells(sides) %}
{% set parsed = sides.pairs | selectattr("how", "equalto", "by_pattern") | list %}
{% set equal = sides.pairs | selectattr("how", "equalto", "by_wildcard") | list %}
{% for pair in equal %}
{{ kanon_sql.cells_by_wildcard(sides.pairs.index(pair) + 1, pair, sides.referring) }}{{ ",\n" if not loop.last or parsed }}
{% endfor %}
{% if parsed %}
{{ kanon_sql.cells_by_pattern(sides, parsed) }}
{%- endif %}
{%- endmacro %}


{# Cells of the release that match those of a combination of the reference. #}
{% macro cells_in_release(sides, aliased=false) -%}
{% for pair in sides.pairs -%}
{% set cell = ("matching_" ~ loop.index ~ ".kanon_released")
    if pair in sides.matched
    else kanon_sql.aliases_in(sides.referring, [pair.column]) | trim -%}
{{ "" if loop.first else ",\n" }}    {{ cell }}{{ " as " ~ kanon_sql.alias(pair.column) if aliased }}
{%- endfor %}
{%- endmacro %}


{#
    FROM clause: each combination of the reference, once for every matching combination of the
    release.
#}
{% macro reference_with_cells_of_release(sides) -%}
from {{ sides.referring }}
{%- for pair in sides.matched %}
{% set place = sides.pairs.index(pair) + 1 %}

inner join {{ "matching_cells" if pair.how == "by_pattern" else "matching_cells_" ~ place }} as matching_{{ place }}
    on matching_{{ place }}.kanon_referred = {{ sides.referring }}.{{ kanon_sql.alias(pair.column) }}
{%- if pair.how == "by_pattern" %}

    and matching_{{ place }}.kanon_column = {{ place }}
{%- endif %}
{%- endfor %}
{%- endmacro %}


{# CTEs for a column whose cells match by equality, or by NULL as a wildcard. #}
{% macro cells_by_wildcard(place, pair, referring) -%}
released_cells_{{ place }} as (
    select distinct {{ kanon_sql.alias(pair.column) }} as kanon_cell
    from release_classes
),

referred_cells_{{ place }} as (
    select distinct {{ kanon_sql.alias(pair.column) }} as kanon_cell
    from {{ referring }}
),

matching_cells_{{ place }} as (
    select
        released.kanon_cell as kanon_released,
        referred.kanon_cell as kanon_referred
    from released_cells_{{ place }} as released
    inner join referred_cells_{{ place }} as referred
        on referred.kanon_cell = released.kanon_cell

    union

    select
        released.kanon_cell as kanon_released,
        referred.kanon_cell as kanon_referred
    from released_cells_{{ place }} as released
    cross join referred_cells_{{ place }} as referred
    where released.kanon_cell = '' or referred.kanon_cell = ''
)
{%- endmacro %}


{# CTEs for text columns, whose cells may be generalised. #}
{% macro cells_by_pattern(sides, parsed) -%}
{% set read = parsed | rejectattr("labels") | list %}
{% set places %}
{% for pair in read %}
{{ sides.pairs.index(pair) + 1 }}{{ ", " if not loop.last }}
{%- endfor %}
{% endset %}
{% set of_read = " and kanon_column in (" ~ places | trim ~ ")" if read != parsed else "" %}
-- Each distinct cell with the place of its column; '=' precedes its text, and '' is NULL.
cell_texts as (
    select
        kanon_column,
        kanon_cell,
        max(kanon_released) as kanon_released,
        max(kanon_referred) as kanon_referred,
        case when kanon_cell <> '' then substring(kanon_cell, 2, length(kanon_cell)) end as kanon_text
    from (
{% for pair in parsed %}
        select distinct
            {{ sides.pairs.index(pair) + 1 }} as kanon_column,
            {{ kanon_sql.alias(pair.column) }} as kanon_cell,
            1 as kanon_released,
            0 as kanon_referred
        from release_classes

        union all

        select distinct
            {{ sides.pairs.index(pair) + 1 }} as kanon_column,
            {{ kanon_sql.alias(pair.column) }} as kanon_cell,
            0 as kanon_released,
            1 as kanon_referred
        from {{ sides.referring }}
{% if not loop.last %}

        union all

{% endif %}
{% endfor %}
    ) as kanon_cells
    group by
        kanon_column,
        kanon_cell
),

{{ kanon_sql.parsed_cells("cells", "cell_texts") }},

{% if read %}
-- The lower end of each number, interval and range of the release.
starts as (
    select distinct
        kanon_column,
        coalesce(kanon_number, kanon_low) as kanon_start
    from cells
    where kanon_released = 1 and kanon_kind in ('number', 'interval', 'range')
),

-- Columns in which a-b may be an ordinary text.
columns_of_texts as (
    select distinct kanon_column
    from cells
    where kanon_kind in ('mask', 'text')
),

-- The cells that match numbers; a-b is open at b if another cell begins there.
ranges as (
    select
        cells.kanon_column,
        cells.kanon_cell,
        cells.kanon_low,
        cells.kanon_high,
        cells.kanon_low_open,
        case
            when cells.kanon_kind = 'range' and starts.kanon_start is not null then 1
            else cells.kanon_high_open
        end as kanon_high_open
    from cells
    left join starts
        on starts.kanon_column = cells.kanon_column
        and starts.kanon_start = cells.kanon_high
    left join columns_of_texts
        on columns_of_texts.kanon_column = cells.kanon_column
    where
        cells.kanon_released = 1
{% if of_read %}
        and cells.kanon_column in ({{ places | trim }})
{% endif %}
        and (
            cells.kanon_kind = 'interval'
            or (cells.kanon_kind = 'range' and columns_of_texts.kanon_column is null)
        )
),

-- The shapes of the release's masks: their length, and the stars before the kept characters.
masks as (
    select distinct
        kanon_column,
        kanon_length,
        kanon_stars_left,
        kanon_kept
    from cells
    where kanon_released = 1 and kanon_kind = 'mask'{{ of_read }}
),

-- The characters that each mask keeps of the cells of its length.
stems as (
    select
        cells.kanon_column,
        cells.kanon_cell,
        cells.kanon_kind,
        cells.kanon_released,
        cells.kanon_referred,
        masks.kanon_length,
        masks.kanon_stars_left,
        masks.kanon_kept,
        case
            when cells.kanon_stars_left = masks.kanon_stars_left and cells.kanon_kept = masks.kanon_kept
            then 1
            else 0
        end as kanon_is_mask,
        substring(cells.kanon_text, masks.kanon_stars_left + 1, masks.kanon_kept) as kanon_stem
    from cells
    inner join masks
        on masks.kanon_column = cells.kanon_column
        and masks.kanon_length = cells.kanon_length
),

{% endif %}
{% for pair in parsed %}
{% set place = sides.pairs.index(pair) + 1 %}
{% for label in pair.labels %}
labelled_cells_{{ place }}_{{ loop.index }} as (
    select
        kanon_cell,
        {{ label.sql | indent(8) }} as kanon_label
    from cell_texts
{% if label.joined %}
    {{ kanon_sql.join_labels(label.joined) | indent(4) }}
{% endif %}
    where kanon_referred = 1 and kanon_column = {{ place }}
),

{% endfor %}
{% endfor %}
{% if read %}
-- A cell matches itself; '*' any cell; a mask cells with its stem; a range its numbers.
{% else %}
-- A cell matches itself; '*' any cell; a label the values that have it.
{% endif %}
matching_cells as (
    select
        kanon_column,
        kanon_cell as kanon_released,
        kanon_cell as kanon_referred
    from cells
    where kanon_released = 1 and kanon_referred = 1

    union

    select
        released.kanon_column,
        released.kanon_cell as kanon_released,
        referred.kanon_cell as kanon_referred
    from cells as released
    inner join cells as referred
        on referred.kanon_column = released.kanon_column
    where
        released.kanon_released = 1
        and referred.kanon_referred = 1
        and {{ "(released.kanon_kind in ('any', 'null') or referred.kanon_kind = 'null')"
            if sides.wildcard
            else "released.kanon_kind = 'any'" }}
{%- if read %}


    union

    select
        released.kanon_column,
        released.kanon_cell as kanon_released,
        referred.kanon_cell as kanon_referred
    from stems as released
    inner join stems as referred
        on referred.kanon_column = released.kanon_column
        and referred.kanon_length = released.kanon_length
        and referred.kanon_stars_left = released.kanon_stars_left
        and referred.kanon_kept = released.kanon_kept
        and referred.kanon_stem = released.kanon_stem
    where
        released.kanon_released = 1
        and released.kanon_kind = 'mask'
        and released.kanon_is_mask = 1
        and referred.kanon_referred = 1

    union

    select
        ranges.kanon_column,
        ranges.kanon_cell as kanon_released,
        referred.kanon_cell as kanon_referred
    from ranges
    inner join cells as referred
        on referred.kanon_column = ranges.kanon_column
        and referred.kanon_number >= ranges.kanon_low
        and referred.kanon_number <= ranges.kanon_high
    where
        referred.kanon_referred = 1
        and (referred.kanon_number > ranges.kanon_low or ranges.kanon_low_open = 0)
        and (referred.kanon_number < ranges.kanon_high or ranges.kanon_high_open = 0)
{%- endif %}
{%- for pair in parsed %}
{% set place = sides.pairs.index(pair) + 1 %}
{%- for label in pair.labels %}


    union

    select
        released.kanon_column,
        released.kanon_cell as kanon_released,
        referred.kanon_cell as kanon_referred
    from cells as released
    inner join labelled_cells_{{ place }}_{{ loop.index }} as referred
        on referred.kanon_label = released.kanon_text
    where released.kanon_released = 1 and released.kanon_column = {{ place }}
{%- endfor %}
{%- endfor %}

)
{%- endmacro %}


{#
    Parses cells. kanon_kind is one of null, any, number, interval, range, mask, text; an interval
    or a range goes from kanon_low to kanon_high; in a mask, the kanon_kept characters after
    kanon_stars_left are known.
#}
{% macro parsed_cells(name, texts) -%}
-- The first and last characters of a text, and the marks of an interval, a range or a mask.
{{ name }}_taken_apart as (
    select
        {{ texts }}.*,
        length(kanon_text) as kanon_length,
        length(kanon_text) - length(ltrim(kanon_text, '*')) as kanon_stars_left,
        length(kanon_text) - length(rtrim(kanon_text, '*')) as kanon_stars_right,
        substring(kanon_text, 1, 1) as kanon_opens,
        substring(kanon_text, length(kanon_text), 1) as kanon_closes,
        position(',' in kanon_text) as kanon_comma,
        position('-' in substring(kanon_text, 2, length(kanon_text))) as kanon_dash
    from {{ texts }}
),

-- Whether it may be an interval or a range, and which ends of the interval are open.
{{ name }}_with_notation as (
    select
        {{ name }}_taken_apart.*,
        kanon_length - kanon_stars_left - kanon_stars_right as kanon_kept,
        case when kanon_opens in ('(', ']') then 1 else 0 end as kanon_low_open,
        case when kanon_closes in (')', '[') then 1 else 0 end as kanon_high_open,
        case
            when kanon_opens in ('[', '(', ']') and kanon_closes in (']', ')', '[') and kanon_comma > 1
            then 'interval'
            when kanon_dash > 0
            then 'range'
        end as kanon_notation
    from {{ name }}_taken_apart
),

{{ name }}_with_ends as (
    select
        {{ name }}_with_notation.*,
        case kanon_notation
            when 'interval' then trim(substring(kanon_text, 2, kanon_comma - 2))
            when 'range' then substring(kanon_text, 1, kanon_dash)
        end as kanon_low_text,
        case kanon_notation
            when 'interval' then trim(substring(kanon_text, kanon_comma + 1, kanon_length - kanon_comma - 1))
            when 'range' then substring(kanon_text, kanon_dash + 2, kanon_length)
        end as kanon_high_text
    from {{ name }}_with_notation
),

{{ name }}_with_numbers as (
    select
        {{ name }}_with_ends.*,
        {{ kanon_sql.number_or_null("kanon_text") | indent(8) }} as kanon_number,
        {{ kanon_sql.number_or_null("kanon_low_text") | indent(8) }} as kanon_low,
        {{ kanon_sql.number_or_null("kanon_high_text") | indent(8) }} as kanon_high
    from {{ name }}_with_ends
),

-- The kind of each cell: a number, an interval, a range, a mask or else a text.
{{ name }} as (
    select
        {{ name }}_with_numbers.*,
        case
            when kanon_text is null then 'null'
            when kanon_length > 0 and kanon_stars_left = kanon_length then 'any'
            when kanon_number is not null then 'number'
            when kanon_notation = 'interval' and kanon_low <= kanon_high then 'interval'
            when kanon_notation = 'range' and kanon_low < kanon_high then 'range'
            when kanon_stars_left + kanon_stars_right > 0 then 'mask'
            else 'text'
        end as kanon_kind
    from {{ name }}_with_numbers
)
{%- endmacro %}


{#
    Records with a cell that may stand for other values: every such cell has a star (a mask, or `*`), a
    hyphen (a range) or a comma (an interval). A text that has one by chance is parsed by the macros
    above.
#}
{% macro generalised_cells(relation, columns) -%}
select count(*) as kanon_generalised
from {{ relation }}
where
{% for column in columns %}
{% set text = kanon_sql.as_text(kanon_sql.ident(column), kanon_sql.type_of(column)) %}
    {{ "or " if not loop.first }}{{ text }} like '%*%'
    or {{ text }} like '%-%'
    or {{ text }} like '%,%'
{% endfor %}
{%- endmacro %}
