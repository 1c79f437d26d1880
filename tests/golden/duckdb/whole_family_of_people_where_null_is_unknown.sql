-- Question   How many classes of patients by zip and age have each size, in people, and what do
--            they share of diagnosis?
-- Model      k-anonymity. Every combination of quasi-identifier values occurs in at least k
--            records, so these columns never point at fewer than k of them. (Sweeney 2002,
--            k-anonymity: a model for protecting privacy, IJUFKS 10(5), definition 3)
-- Model      homogeneity. No class has a single value of the sensitive attribute, so knowing the
--            class alone never gives the value away. (Machanavajjhala, Kifer, Gehrke,
--            Venkitasubramaniam 2007, l-diversity: privacy beyond k-anonymity, ACM TKDD 1(1),
--            section 2.1 (homogeneity attack))
-- Model      l-diversity. Every class has at least l different values of the sensitive attribute,
--            so an attacker who rules out l − 2 of them is still left with two. (Machanavajjhala,
--            Kifer, Gehrke, Venkitasubramaniam 2007, l-diversity: privacy beyond k-anonymity, ACM
--            TKDD 1(1), section 3 (distinct l-diversity))
-- Model      entropy l-diversity. The sensitive value of a person in a class is at least as
--            uncertain, by its entropy, as one of l equally likely values. (Machanavajjhala, Kifer,
--            Gehrke, Venkitasubramaniam 2007, l-diversity: privacy beyond k-anonymity, ACM TKDD
--            1(1), definition 4.1)
-- Model      (α,k)-anonymity. No sensitive value has a share above α in any class, and every class
--            has at least k records. (Wong, Li, Fu, Wang 2006, (α,k)-anonymity: an enhanced
--            k-anonymity model for privacy preserving data publishing, ACM KDD)
-- Model      p-sensitive k-anonymity. Every class has at least p different values of the sensitive
--            attribute, and at least k records. (Truta, Vinay 2006, Privacy protection: p-sensitive
--            k-anonymity property, ICDE Workshops)
-- Model      t-closeness. In every class, the distribution of the sensitive values is at most t
--            away from their distribution in the table, so the class adds little to what the table
--            says. (Li, Li, Venkatasubramanian 2007, t-closeness: privacy beyond k-anonymity and
--            l-diversity, ICDE, sections 3 and 4)
-- Model      δ-disclosure privacy. In every class, the share of every sensitive value of the table
--            differs from its share in the table by a factor below exp(δ), either way. (Brickell,
--            Shmatikov 2008, The cost of privacy: destruction of data-mining utility in anonymized
--            data publishing, ACM KDD, section 4)
-- Model      basic β-likeness. In no class is the share of a sensitive value more than 1 + β times
--            its share in the table. (Cao, Karras 2012, Publishing microdata with a robust privacy
--            guarantee, PVLDB 5(11), definition 2)
-- Model      enhanced β-likeness. In no class is the share of a sensitive value more than 1 + β
--            times its share p in the table, or 1 − ln p times where that is less. (Cao, Karras
--            2012, Publishing microdata with a robust privacy guarantee, PVLDB 5(11), definition 3)
-- Dialect    duckdb, as executed

with

class_value_people as (
    select
        "zip",
        "age",
        "diagnosis" as kanon_sensitive_1,
        "patient" as kanon_entity,
        count(*) as kanon_records
    from "main"."patients"
    group by
        "zip",
        "age",
        "diagnosis",
        "patient"
),

-- Each person counts once for a value, however many of their records have it.
class_values as (
    select
        "zip",
        "age",
        kanon_sensitive_1,
        count(*) * case when kanon_sensitive_1 is null then 0 else 1 end as kanon_counted
    from class_value_people
    group by
        "zip",
        "age",
        kanon_sensitive_1
),

value_totals as (
    select
        kanon_sensitive_1,
        sum(kanon_counted) as kanon_value_total
    from class_values
    where kanon_sensitive_1 is not null
    group by kanon_sensitive_1
),

-- The share of each value in the table: what an attacker without the class knows of everyone.
value_shares as (
    select
        kanon_sensitive_1,
        cast(kanon_value_total as double) / nullif(sum(kanon_value_total) over (), 0) as kanon_share
    from value_totals
),

-- In a class, a value may have up to (1 - ln p) times its share p of the table.
bounded_shares as (
    select
        value_shares.*,
        kanon_share * (1 - ln(kanon_share)) as kanon_allowed_share
    from value_shares
),

table_values as (
    select count(*) as kanon_table_values
    from value_shares
),

-- The share of each value in a class: what an attacker who knows the class knows of everyone in it.
class_shares as (
    select
        class_values.*,
        cast(kanon_counted as double) / nullif(
            sum(kanon_counted) over (
                partition by
                    "zip",
                    "age"
            ),
            0
        ) as kanon_class_share
    from class_values
),

-- Each value of a class with the shares that it is compared with.
compared_values as (
    select
        class_shares.*,
        bounded_shares.kanon_share,
        bounded_shares.kanon_allowed_share
    from class_shares
    left join bounded_shares
        on bounded_shares.kanon_sensitive_1 is not distinct from class_shares.kanon_sensitive_1
),

-- Each person once in a class, whatever values they have there.
class_people as (
    select
        "zip",
        "age",
        kanon_entity,
        sum(kanon_records) as kanon_records,
        max(case when kanon_sensitive_1 is null then 0 else 1 end) as kanon_known
    from class_value_people
    group by
        "zip",
        "age",
        kanon_entity
),

people_of_classes as (
    select
        "zip",
        "age",
        count(*) as kanon_size,
        sum(kanon_known) as kanon_size_known,
        sum(kanon_records) as kanon_records,
        sum(case when kanon_entity is null then kanon_records else 0 end) as kanon_without_entity
    from class_people
    group by
        "zip",
        "age"
),

values_of_classes as (
    select
        "zip",
        "age",
        max(kanon_counted) as kanon_most_people,
        sum(case when kanon_sensitive_1 is null then 0 else 1 end) as kanon_distinct,
        ln(cast(nullif(sum(kanon_counted), 0) as double))
            - cast(
                sum(
                    case when kanon_counted > 0 then kanon_counted * ln(cast(kanon_counted as double)) end
                ) as double
            )
                / nullif(sum(kanon_counted), 0) as kanon_entropy,
        max(kanon_counted) as kanon_most,
        sum(
            case when kanon_class_share > kanon_share then kanon_class_share - kanon_share else 0 end
        ) as kanon_distance,
        sum(kanon_counted) as kanon_total,
        max(cast(kanon_class_share as double) / nullif(kanon_share, 0)) as kanon_highest_ratio,
        min(cast(kanon_class_share as double) / nullif(kanon_share, 0)) as kanon_lowest_ratio,
        max(cast(kanon_class_share as double) / nullif(kanon_allowed_share, 0)) as kanon_highest_of_allowed
    from compared_values
    group by
        "zip",
        "age"
),

-- Both halves come from class_value_people and have every class, so the join loses none.
classes as (
    select
        people_of_classes.*,
        values_of_classes.kanon_most_people,
        values_of_classes.kanon_distinct,
        values_of_classes.kanon_entropy,
        values_of_classes.kanon_most,
        values_of_classes.kanon_distance,
        values_of_classes.kanon_total,
        values_of_classes.kanon_highest_ratio,
        values_of_classes.kanon_lowest_ratio,
        values_of_classes.kanon_highest_of_allowed
    from people_of_classes
    inner join values_of_classes
        on values_of_classes."zip" is not distinct from people_of_classes."zip"
        and values_of_classes."age" is not distinct from people_of_classes."age"
),

measured_classes as (
    select
        classes.*,
        table_values.kanon_table_values,
        case
            when kanon_most_people = kanon_size_known and kanon_size_known > 0 then 1
            else kanon_distinct
        end as kanon_l_diversity,
        coalesce(exp(case
            when kanon_most_people = kanon_size_known and kanon_size_known > 0 then 0
            else kanon_entropy
        end), 0) as kanon_entropy_l_diversity,
        cast(kanon_most as double) / nullif(kanon_size_known, 0) as kanon_alpha_k_anonymity,
        case
            when kanon_most_people = kanon_size_known and kanon_size_known > 0 then 1
            else kanon_distinct
        end as kanon_p_sensitive_k_anonymity,
        case when kanon_total > 0 then kanon_distance end as kanon_t_closeness,
        case
            when kanon_distinct > 0 and kanon_distinct < kanon_table_values then null
            when kanon_highest_ratio * kanon_lowest_ratio > 1 then ln(kanon_highest_ratio)
            else -ln(kanon_lowest_ratio)
        end as kanon_delta_disclosure,
        case
            when kanon_highest_ratio * kanon_lowest_ratio > 1 then ln(kanon_highest_ratio)
            else -ln(kanon_lowest_ratio)
        end as kanon_delta_disclosure_present_only,
        case
            when kanon_highest_ratio > 1 then kanon_highest_ratio - 1
            when kanon_highest_ratio is not null then 0
        end as kanon_basic_beta_likeness,
        case
            when kanon_highest_of_allowed > 1 + 1e-12 then null
            when kanon_highest_ratio > 1 then kanon_highest_ratio - 1
            when kanon_highest_ratio is not null then 0
        end as kanon_enhanced_beta_likeness
    from classes
    cross join table_values
)

select
    kanon_size,
    count(*) as kanon_classes,
    sum(kanon_records) as kanon_records,
    sum(case when "zip" is null or "age" is null then kanon_records else 0 end) as kanon_with_null,
    0 as kanon_suppressed,
    sum(
        case when kanon_most_people = kanon_size_known and kanon_size_known > 0 then 1 else 0 end
    ) as kanon_homogeneous_classes,
    sum(
        case
            when kanon_most_people = kanon_size_known and kanon_size_known > 0
            then kanon_records
            else 0
        end
    ) as kanon_homogeneous_records,
    sum(
        case
            when kanon_distinct > 1 and kanon_most_people = kanon_size_known and kanon_size_known > 0
            then 1
            else 0
        end
    ) as kanon_certain_among_others_classes,
    sum(case when kanon_distinct < 2 then 1 else 0 end) as kanon_single_value_classes,
    min(kanon_l_diversity) as kanon_l_diversity,
    min(kanon_entropy_l_diversity) as kanon_entropy_l_diversity,
    max(kanon_alpha_k_anonymity) as kanon_alpha_k_anonymity,
    min(kanon_p_sensitive_k_anonymity) as kanon_p_sensitive_k_anonymity,
    max(kanon_t_closeness) as kanon_t_closeness,
    max(kanon_delta_disclosure) as kanon_delta_disclosure,
    max(kanon_delta_disclosure_present_only) as kanon_delta_disclosure_present_only,
    sum(
        case when kanon_distinct > 0 and kanon_distinct < kanon_table_values then 1 else 0 end
    ) as kanon_delta_disclosure_infinite_classes,
    max(kanon_basic_beta_likeness) as kanon_basic_beta_likeness,
    max(kanon_enhanced_beta_likeness) as kanon_enhanced_beta_likeness,
    sum(
        case when kanon_highest_of_allowed > 1 + 1e-12 then 1 else 0 end
    ) as kanon_enhanced_beta_likeness_infinite_classes,
    sum(kanon_without_entity) as kanon_without_entity
from measured_classes
group by kanon_size
order by kanon_size
