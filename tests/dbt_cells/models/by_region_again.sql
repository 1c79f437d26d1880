select * from {{ ref("by_region") }}
