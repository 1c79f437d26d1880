{{ config(materialized="ephemeral") }}

select * from {{ ref("entries") }}
