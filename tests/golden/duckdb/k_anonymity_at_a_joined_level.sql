-- Question   How many classes of patients (age at ancestor 1) by zip and age have each size, in
--            records?
-- Where      patients: age < 60
-- Model      k-anonymity. Every combination of quasi-identifier values occurs in at least k
--            records, so these columns never point at fewer than k of them. (Sweeney 2002,
--            k-anonymity: a model for protecting privacy, IJUFKS 10(5), definition 3)
-- Dialect    duckdb, as executed

with

classes as (
    select
        "zip",
        "age",
        count(*) as kanon_size
    from (
        select
            kanon_raw."zip",
            kanon_hierarchy_2.kanon_label as "age"
        from (
            select
                "zip",
                "age"
            from "main"."patients"
            where ("age" < 60)
        ) as kanon_raw
        left join (
            select
                split_part(kanon_line, '|', 2) as kanon_value,
                split_part(kanon_line, '|', 3) as kanon_label
            from (
                select unnest(string_split(
                    '|0|from 0
                     |1|from 0
                     |2|from 0
                     |3|from 0
                     |4|from 0
                     |5|from 0
                     |6|from 0
                     |7|from 0
                     |8|from 0
                     |9|from 0
                     |10|from 0
                     |11|from 0
                     |12|from 0
                     |13|from 0
                     |14|from 0
                     |15|from 0
                     |16|from 0
                     |17|from 0
                     |18|from 0
                     |19|from 0
                     |20|from 20
                     |21|from 20
                     |22|from 20
                     |23|from 20
                     |24|from 20
                     |25|from 20
                     |26|from 20
                     |27|from 20
                     |28|from 20
                     |29|from 20
                     |30|from 20
                     |31|from 20
                     |32|from 20
                     |33|from 20
                     |34|from 20
                     |35|from 20
                     |36|from 20
                     |37|from 20
                     |38|from 20
                     |39|from 20
                     |40|from 40
                     |41|from 40
                     |42|from 40
                     |43|from 40
                     |44|from 40
                     |45|from 40
                     |46|from 40
                     |47|from 40
                     |48|from 40
                     |49|from 40
                     |50|from 40
                     |51|from 40
                     |52|from 40
                     |53|from 40
                     |54|from 40
                     |55|from 40
                     |56|from 40
                     |57|from 40
                     |58|from 40
                     |59|from 40
                     |60|from 60
                     |61|from 60
                     |62|from 60
                     |63|from 60
                     |64|from 60
                     |65|from 60
                     |66|from 60
                     |67|from 60
                     |68|from 60
                     |69|from 60
                     |70|from 60
                     |71|from 60
                     |72|from 60
                     |73|from 60
                     |74|from 60
                     |75|from 60
                     |76|from 60
                     |77|from 60
                     |78|from 60
                     |79|from 60
                     |80|from 80
                     |81|from 80
                     |82|from 80
                     |83|from 80
                     |84|from 80
                     |85|from 80
                     |86|from 80
                     |87|from 80
                     |88|from 80
                     |89|from 80
                     |90|from 80
                     |91|from 80
                     |92|from 80
                     |93|from 80
                     |94|from 80
                     |95|from 80
                     |96|from 80
                     |97|from 80
                     |98|from 80
                     |99|from 80
                     |100|from 100
                     |101|from 100
                     |102|from 100
                     |103|from 100
                     |104|from 100
                     |105|from 100
                     |106|from 100
                     |107|from 100
                     |108|from 100
                     |109|from 100
                     |110|from 100
                     |111|from 100
                     |112|from 100
                     |113|from 100
                     |114|from 100
                     |115|from 100
                     |116|from 100
                     |117|from 100
                     |118|from 100
                     |119|from 100
                     |120|from 120
                     |121|from 120
                     |122|from 120
                     |123|from 120
                     |124|from 120
                     |125|from 120
                     |126|from 120
                     |127|from 120
                     |128|from 120
                     |129|from 120
                     |130|from 120
                     |131|from 120
                     |132|from 120
                     |133|from 120
                     |134|from 120
                     |135|from 120
                     |136|from 120
                     |137|from 120
                     |138|from 120
                     |139|from 120
                     |140|from 140
                     |141|from 140
                     |142|from 140
                     |143|from 140
                     |144|from 140
                     |145|from 140
                     |146|from 140
                     |147|from 140
                     |148|from 140
                     |149|from 140
                     |150|from 140
                     |151|from 140
                     |152|from 140
                     |153|from 140
                     |154|from 140
                     |155|from 140
                     |156|from 140
                     |157|from 140
                     |158|from 140
                     |159|from 140
                     |160|from 160
                     |161|from 160
                     |162|from 160
                     |163|from 160
                     |164|from 160
                     |165|from 160
                     |166|from 160
                     |167|from 160
                     |168|from 160
                     |169|from 160
                     |170|from 160
                     |171|from 160
                     |172|from 160
                     |173|from 160
                     |174|from 160
                     |175|from 160
                     |176|from 160
                     |177|from 160
                     |178|from 160
                     |179|from 160
                     |180|from 180
                     |181|from 180
                     |182|from 180
                     |183|from 180
                     |184|from 180
                     |185|from 180
                     |186|from 180
                     |187|from 180
                     |188|from 180
                     |189|from 180
                     |190|from 180
                     |191|from 180
                     |192|from 180
                     |193|from 180
                     |194|from 180
                     |195|from 180
                     |196|from 180
                     |197|from 180
                     |198|from 180
                     |199|from 180
                     |200|from 200',
                    chr(10)
                )) as kanon_line
            ) as kanon_lines
        ) as kanon_hierarchy_2
            on kanon_hierarchy_2.kanon_value = cast(kanon_raw."age" as varchar)
    ) as kanon_source
    group by
        "zip",
        "age"
)

select
    kanon_size,
    count(*) as kanon_classes,
    sum(kanon_size) as kanon_records,
    sum(case when "zip" is null or "age" is null then kanon_size else 0 end) as kanon_with_null,
    sum(case when "zip" = '*' and "age" = '*' then kanon_size else 0 end) as kanon_suppressed
from classes
group by kanon_size
order by kanon_size
