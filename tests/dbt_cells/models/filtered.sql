select * from {{ ref("entries") }}
