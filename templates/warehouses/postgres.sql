{#
    What is asked of Postgres' catalogue before an audit. It is sent as it stands here.
#}

{# Every table and view that a name may mean, with its database and schema: also those that may not
   be read, which stand before others of the same name. #}
{% macro postgres_tables() %}
select
    current_database(),
    {{ postgres_schema() }},
    pg_class.relname
from pg_class
inner join pg_namespace
    on pg_namespace.oid = pg_class.relnamespace
where
    pg_class.relkind in ('r', 'p', 'v', 'm', 'f')
    and has_schema_privilege(pg_namespace.oid, 'usage')
    and not pg_is_other_temp_schema(pg_namespace.oid)
{%- endmacro %}


{# The schemas in which the session looks up a name, in order. #}
{% macro postgres_path() %}
select
    current_database(),
    {{ postgres_schema() }}
from unnest(current_schemas(true)) with ordinality as path(schema, place)
inner join pg_namespace
    on pg_namespace.nspname = path.schema
order by path.place
{%- endmacro %}


{# A schema as the session calls it: that of its temporary tables has a number in the catalogue. #}
{% macro postgres_schema() -%}
case when pg_namespace.oid = pg_my_temp_schema() then 'pg_temp' else pg_namespace.nspname end
{%- endmacro %}


{# What the catalogue calls the schema of the session's temporary tables. #}
{% macro postgres_temporary() %}
select nspname
from pg_namespace
where oid = pg_my_temp_schema()
{%- endmacro %}


{# The columns of a table: the name, the type (of a domain, the one at its ground), its kind,
   whether different texts of it may be equal: those in a range, an array or a record too; and
   whether it is a number without a scale, of which the values have to be looked at. #}
{% macro postgres_columns(schema, table) %}
with recursive domains as (
    select
        oid as domain,
        typbasetype as type,
        typtypmod as modifier
    from pg_type
    where typtype = 'd'

    union all

    select
        domains.domain,
        pg_type.typbasetype,
        pg_type.typtypmod
    from domains
    inner join pg_type
        on pg_type.oid = domains.type
    where pg_type.typtype = 'd'
),

grounds as (
    select domains.*
    from domains
    inner join pg_type
        on pg_type.oid = domains.type
    where pg_type.typtype <> 'd'
),

parts as (
    select
        pg_attribute.attrelid as relation,
        pg_attribute.attnum as place,
        pg_attribute.atttypid as type,
        pg_attribute.atttypmod as modifier,
        pg_attribute.attcollation as collation,
        false as within
    from pg_attribute
    inner join pg_class
        on pg_class.oid = pg_attribute.attrelid
    inner join pg_namespace
        on pg_namespace.oid = pg_class.relnamespace
    where
        pg_namespace.nspname = {{ kanon_sql.literal(schema) }}
        and pg_class.relname = {{ kanon_sql.literal(table) }}
        and pg_attribute.attnum > 0

    union

    select
        parts.relation,
        parts.place,
        inner_types.type,
        inner_types.modifier,
        inner_types.collation,
        parts.within or inner_types.within
    from parts
    cross join lateral (
        select
            pg_type.typbasetype as type,
            pg_type.typtypmod as modifier,
            0::oid as collation,
            false as within
        from pg_type
        where
            pg_type.oid = parts.type
            and pg_type.typtype = 'd'

        union all

        select
            pg_type.typelem,
            parts.modifier,
            0::oid,
            true
        from pg_type
        where
            pg_type.oid = parts.type
            and pg_type.typelem <> 0
            and pg_type.typlen = -1

        union all

        select
            pg_range.rngsubtype,
            -1,
            pg_range.rngcollation,
            true
        from pg_range
        where
            pg_range.rngtypid = parts.type
            {# Postgres 13 has no such column. #}
            or to_jsonb(pg_range) ->> 'rngmultitypid' = parts.type::text

        union all

        select
            fields.atttypid,
            fields.atttypmod,
            fields.attcollation,
            true
        from pg_type
        inner join pg_attribute as fields
            on fields.attrelid = pg_type.typrelid
        where
            pg_type.oid = parts.type
            and pg_type.typtype = 'c'
            and fields.attnum > 0
    ) as inner_types
),

merging as (
    select
        parts.relation,
        parts.place
    from parts
    inner join pg_type
        on pg_type.oid = parts.type
    left join pg_collation
        on pg_collation.oid = parts.collation
    where
        pg_type.typname in ('citext', 'char', 'jsonb')
        {# A number without a scale, or a span of time, that is a column is looked at elsewhere. #}
        or (parts.within and pg_type.typname = 'numeric' and parts.modifier = -1)
        or (parts.within and pg_type.typname = 'interval')
        {# What someone has made may have any equality. #}
        or (
            pg_type.typtype = 'b'
            and pg_type.typcategory <> 'A'
            and pg_type.typnamespace <> 'pg_catalog'::regnamespace
            and pg_type.typname not in ('hstore', 'ltree')
        )
        {# What has a length is padded to it as it is stored. #}
        or (pg_type.typname = 'bpchar' and parts.modifier = -1)
        or not pg_collation.collisdeterministic
)

select
    pg_attribute.attname,
    format_type(pg_type.oid, coalesce(grounds.modifier, pg_attribute.atttypmod)),
    pg_type.typtype,
    (pg_attribute.attrelid, pg_attribute.attnum) in (select merging.relation, merging.place from merging),
    pg_type.typname = 'numeric'
        and coalesce(grounds.modifier, pg_attribute.atttypmod) = -1
        and has_column_privilege(pg_class.oid, pg_attribute.attnum, 'select')
from pg_attribute
left join grounds
    on grounds.domain = pg_attribute.atttypid
inner join pg_type
    on pg_type.oid = coalesce(grounds.type, pg_attribute.atttypid)
inner join pg_class
    on pg_class.oid = pg_attribute.attrelid
inner join pg_namespace
    on pg_namespace.oid = pg_class.relnamespace
where
    pg_namespace.nspname = {{ kanon_sql.literal(schema) }}
    and pg_class.relname = {{ kanon_sql.literal(table) }}
    and pg_attribute.attnum > 0
    and not pg_attribute.attisdropped
order by pg_attribute.attnum
{%- endmacro %}


{# Whether numbers of each column, in their order, are written in several ways and count as one, as
   1.0 and 1.00 do: at different scales, and some with more zeros than they need. #}
{% macro postgres_written_apart(schema, table, columns) %}
select
{% for name in columns %}
    {% set value = kanon_sql.ident(name) %}
    coalesce(
        min(scale({{ value }})) <> max(scale({{ value }}))
        and max(scale({{ value }}) - min_scale({{ value }})) > 0,
        false
    ){{ "," if not loop.last }}
{% endfor %}
from {{ kanon_sql.ident(schema) }}.{{ kanon_sql.ident(table) }}
{%- endmacro %}


{# The columns of a table that may be read, and whether the order of a column's texts is its own
   and not that of the database. #}
{% macro postgres_collations(schema, table) %}
select
    pg_attribute.attname,
    coalesce(pg_collation.collname <> 'default', false)
from pg_attribute
left join pg_collation
    on pg_collation.oid = pg_attribute.attcollation
inner join pg_class
    on pg_class.oid = pg_attribute.attrelid
inner join pg_namespace
    on pg_namespace.oid = pg_class.relnamespace
where
    pg_namespace.nspname = {{ kanon_sql.literal(schema) }}
    and pg_class.relname = {{ kanon_sql.literal(table) }}
    and pg_attribute.attnum > 0
    and not pg_attribute.attisdropped
    and has_column_privilege(pg_class.oid, pg_attribute.attnum, 'select')
order by pg_attribute.attnum
{%- endmacro %}


{# A table whose texts are all in the order of the database: those of two orders can't be
   compared. Each name comes with whether it has an order of its own. #}
{% macro postgres_view(relation, columns) %}
select
{% for name, is_own in columns %}
    {{ kanon_sql.ident(name) }}{{ ' collate "default" as ' ~ kanon_sql.ident(name) if is_own }}{{ "," if not loop.last }}
{% endfor %}
from {{ relation }}
{%- endmacro %}


{# Whether the transaction has written nothing, and so can be ended without a loss. #}
{% macro postgres_has_written_nothing() %}
select pg_current_xact_id_if_assigned() is null
{%- endmacro %}


{# After how many milliseconds a statement is stopped. #}
{% macro postgres_statement_timeout() %}
select cast(setting as integer)
from pg_settings
where name = 'statement_timeout'
{%- endmacro %}


{# How the transaction reads. #}
{% macro postgres_transaction() %}
select
    current_setting('transaction_read_only'),
    current_setting('transaction_isolation')
{%- endmacro %}
