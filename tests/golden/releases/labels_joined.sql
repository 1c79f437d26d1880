-- visits as it may be released, by kanon-sql 0.1.0 with Datafly (Sweeney 2002, Achieving
-- k-anonymity privacy protection using generalization and suppression, IJUFKS 10(5)).
-- Required: k_anonymity (k 12); l_diversity (sensitive diagnosis, l 2).
-- Levels: area 1 (ancestor 1).
-- Released: 120 records in 3 classes, k = 15. Suppressed: 0 records; at most 12 might be.
-- Dialect: duckdb, as executed.
-- Personal data: visits_release_step_0, visits_release_step_1, visits_release_violating_classes.
-- They show raw values and records that are left out: nobody may read them who may not read
-- visits. Only visits_release may be published.
-- Run it with: duckdb -bail DATABASE < FILE
-- Views of these names are replaced in one transaction: all of them, or none.
-- Views of an earlier release that have other names stay: drop them by hand.


begin transaction;


-- The records of visits as they lie.
-- Personal data.
create or replace view visits_release_step_0 as
select
    "visit",
    "person",
    "name",
    "age",
    "area",
    "diagnosis",
    "area" as "kanon_raw_area"
from "main"."visits";


-- Generalisation 1: area from level 0 (raw value) to level 1 (ancestor 1).
-- Before it, area had 23 values, and violating classes had 120 records.
-- Personal data.
create or replace view visits_release_step_1 as
select
    records."visit",
    records."person",
    records."name",
    records."age",
    kanon_hierarchy_1.kanon_label as "area",
    records."diagnosis",
    records."kanon_raw_area"
from visits_release_step_0 as records
left join (
    select
        split_part(kanon_line, '|', 2) as kanon_value,
        split_part(kanon_line, '|', 3) as kanon_label
    from (
        select unnest(string_split(
            '|000|00*
             |001|00*
             |002|00*
             |003|00*
             |004|00*
             |005|00*
             |006|00*
             |007|00*
             |008|00*
             |009|00*
             |010|01*
             |011|01*
             |012|01*
             |013|01*
             |014|01*
             |015|01*
             |016|01*
             |017|01*
             |018|01*
             |019|01*
             |020|02*
             |021|02*
             |022|02*
             |023|02*
             |024|02*
             |025|02*
             |026|02*
             |027|02*
             |028|02*
             |029|02*
             |030|03*
             |031|03*
             |032|03*
             |033|03*
             |034|03*
             |035|03*
             |036|03*
             |037|03*
             |038|03*
             |039|03*
             |040|04*
             |041|04*
             |042|04*
             |043|04*
             |044|04*
             |045|04*
             |046|04*
             |047|04*
             |048|04*
             |049|04*
             |050|05*
             |051|05*
             |052|05*
             |053|05*
             |054|05*
             |055|05*
             |056|05*
             |057|05*
             |058|05*
             |059|05*
             |060|06*
             |061|06*
             |062|06*
             |063|06*
             |064|06*
             |065|06*
             |066|06*
             |067|06*
             |068|06*
             |069|06*
             |070|07*
             |071|07*
             |072|07*
             |073|07*
             |074|07*
             |075|07*
             |076|07*
             |077|07*
             |078|07*
             |079|07*
             |080|08*
             |081|08*
             |082|08*
             |083|08*
             |084|08*
             |085|08*
             |086|08*
             |087|08*
             |088|08*
             |089|08*
             |090|09*
             |091|09*
             |092|09*
             |093|09*
             |094|09*
             |095|09*
             |096|09*
             |097|09*
             |098|09*
             |099|09*
             |100|10*
             |101|10*
             |102|10*
             |103|10*
             |104|10*
             |105|10*
             |106|10*
             |107|10*
             |108|10*
             |109|10*
             |110|11*
             |111|11*
             |112|11*
             |113|11*
             |114|11*
             |115|11*
             |116|11*
             |117|11*
             |118|11*
             |119|11*
             |120|12*
             |121|12*
             |122|12*
             |123|12*
             |124|12*
             |125|12*
             |126|12*
             |127|12*
             |128|12*
             |129|12*
             |130|13*
             |131|13*
             |132|13*
             |133|13*
             |134|13*
             |135|13*
             |136|13*
             |137|13*
             |138|13*
             |139|13*
             |140|14*
             |141|14*
             |142|14*
             |143|14*
             |144|14*
             |145|14*
             |146|14*
             |147|14*
             |148|14*
             |149|14*
             |150|15*
             |151|15*
             |152|15*
             |153|15*
             |154|15*
             |155|15*
             |156|15*
             |157|15*
             |158|15*
             |159|15*
             |160|16*
             |161|16*
             |162|16*
             |163|16*
             |164|16*
             |165|16*
             |166|16*
             |167|16*
             |168|16*
             |169|16*
             |170|17*
             |171|17*
             |172|17*
             |173|17*
             |174|17*
             |175|17*
             |176|17*
             |177|17*
             |178|17*
             |179|17*
             |180|18*
             |181|18*
             |182|18*
             |183|18*
             |184|18*
             |185|18*
             |186|18*
             |187|18*
             |188|18*
             |189|18*
             |190|19*
             |191|19*
             |192|19*
             |193|19*
             |194|19*
             |195|19*
             |196|19*
             |197|19*
             |198|19*
             |199|19*
             |200|20*
             |201|20*
             |202|20*
             |203|20*
             |204|20*
             |205|20*
             |206|20*
             |207|20*
             |208|20*
             |209|20*
             |210|21*
             |211|21*
             |212|21*
             |213|21*
             |214|21*
             |215|21*
             |216|21*
             |217|21*
             |218|21*
             |219|21*
             |220|22*
             |221|22*
             |222|22*
             |223|22*
             |224|22*
             |225|22*
             |226|22*
             |227|22*
             |228|22*
             |229|22*
             |230|23*
             |231|23*
             |232|23*
             |233|23*
             |234|23*
             |235|23*
             |236|23*
             |237|23*
             |238|23*
             |239|23*',
            chr(10)
        )) as kanon_line
    ) as kanon_lines
) as kanon_hierarchy_1
    on kanon_hierarchy_1.kanon_value = records."kanon_raw_area";


-- The violating classes: below k, or failing a required check.
-- Personal data.
create or replace view visits_release_violating_classes as
with

class_values as (
    select
        "area",
        "diagnosis" as kanon_sensitive_1,
        count(*) as kanon_records
    from visits_release_step_1
    group by
        "area",
        "diagnosis"
),

-- One row per class, with the figures over its values.
classes as (
    select
        "area",
        sum(kanon_records) as kanon_size,
        count(*) as kanon_distinct
    from class_values
    group by
        "area"
)

select
    "area",
    kanon_size as kanon_records
from classes
where kanon_size < 12
    or kanon_distinct < 2;


-- What may be published: the records of violating classes are left out.
-- In the order of what is published, which says nothing else.
create or replace view visits_release as
with

published_records as (
    select
        records."visit",
        records."person",
        records."name",
        records."age",
        records."area",
        records."diagnosis"
    from visits_release_step_1 as records
    left join visits_release_violating_classes as violating
        on violating."area" is not distinct from records."area"
    where violating.kanon_records is null
)

select
    "visit",
    "person",
    "name",
    "age",
    "area",
    "diagnosis"
from published_records
order by
    "area" nulls last,
    "visit" nulls last,
    "person" nulls last,
    "name" nulls last,
    "age" nulls last,
    "diagnosis" nulls last;


commit;


-- To drop the views again, once visits_release, which reads the others, has been copied into a
-- table:
-- drop view visits_release;
-- drop view visits_release_violating_classes;
-- drop view visits_release_step_1;
-- drop view visits_release_step_0;
