{{ config(materialized="view") }}

select * from {{ ref("written_apart") }}
