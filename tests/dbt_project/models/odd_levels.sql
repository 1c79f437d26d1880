select 'F' as "raw ""value""", 'woman' as "user"
union all
select 'M', 'man'
