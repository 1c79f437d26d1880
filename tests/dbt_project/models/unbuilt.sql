{{ config(materialized="ephemeral") }}

select * from {{ ref("patients") }}
