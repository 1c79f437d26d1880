{#
    Catalogue queries on Postgres before an audit. Sent as written, without transpiling.
#}

{#
    Tables and views that a name may resolve to, with their database and schema, including
    unreadable ones, which may shadow others.
#}
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


{# Schemas of the search path, in order. #}
{% macro postgres_path() %}
select
    current_database(),
    {{ postgres_schema() }}
from unnest(current_schemas(true)) with ordinality as path(schema, place)
inner join pg_namespace
    on pg_namespace.nspname = path.schema
order by path.place
{%- endmacro %}


{#
    Schema name for the session: pg_temp for its temporary tables, whose schema has a number in the
    catalogue.
#}
{% macro postgres_schema() -%}
case when pg_namespace.oid = pg_my_temp_schema() then 'pg_temp' else pg_namespace.nspname end
{%- endmacro %}


{# Catalogue name of the session's temporary schema. #}
{% macro postgres_temporary() %}
select nspname
from pg_namespace
where oid = pg_my_temp_schema()
{%- endmacro %}


{#
    Columns of a table: name, type (the base type of a domain), kind, whether different texts in it
    may be equal (also inside a range, an array or a composite type), and whether its type is a number
    without a scale, so that the values have to be checked.
#}
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
        {# Such a column itself is checked elsewhere; here it is part of another type. #}
        or (parts.within and pg_type.typname = 'numeric' and parts.modifier = -1)
        or (parts.within and pg_type.typname = 'interval')
        {# A user-defined type may have any equality operator. #}
        or (
            pg_type.typtype = 'b'
            and pg_type.typcategory <> 'A'
            and pg_type.typnamespace <> 'pg_catalog'::regnamespace
            and pg_type.typname not in ('hstore', 'ltree')
        )
        {# With a declared length, the stored text is padded to it. #}
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


{#
    Whether each numeric column has equal values at different scales, such as 1.0 and 1.00, some
    with more zeros than needed.
#}
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


{#
    Readable columns of a table, and whether a column has a collation other than the database's
    default.
#}
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


{#
    Table with all texts in the default collation: texts of two collations can't be compared. Each
    name comes with whether its column has a collation of its own.
#}
{% macro postgres_view(relation, columns) %}
select
{% for name, is_own in columns %}
    {{ kanon_sql.ident(name) }}{{ ' collate "default" as ' ~ kanon_sql.ident(name) if is_own }}{{ "," if not loop.last }}
{% endfor %}
from {{ relation }}
{%- endmacro %}


{# Whether the transaction has written nothing, so that it can be rolled back without loss. #}
{% macro postgres_has_written_nothing() %}
select pg_current_xact_id_if_assigned() is null
{%- endmacro %}


{# Statement timeout in milliseconds. #}
{% macro postgres_statement_timeout() %}
select cast(setting as integer)
from pg_settings
where name = 'statement_timeout'
{%- endmacro %}


{# Identifier under which another transaction reads this one's snapshot. #}
{% macro postgres_exported_snapshot() %}
select pg_export_snapshot()
{%- endmacro %}


{# Read-only flag and isolation level of the transaction. #}
{% macro postgres_transaction() %}
select
    current_setting('transaction_read_only'),
    current_setting('transaction_isolation')
{%- endmacro %}
