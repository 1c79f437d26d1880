-- Question   How many classes of patients by zip and age have each size, in records, and what do
--            they share of diagnosis?
-- Where      patients: age > 30 and zip like '0%'
-- Required   kanon_size >= 2 in every row; kanon_too_small is 1 in those that fail. k is kanon_size
--            of the first row.
-- Required   kanon_l_diversity_violated_classes = 0 in every row.
-- Required   kanon_entropy_l_diversity_violated_classes = 0 in every row.
-- Required   kanon_recursive_cl_diversity_violated_classes = 0 in every row.
-- Required   kanon_alpha_k_anonymity_violated_classes = 0 in every row.
-- Required   kanon_t_closeness_violated_classes = 0 in every row.
-- Required   kanon_delta_disclosure_violated_classes = 0 in every row.
-- Required   kanon_enhanced_beta_likeness_violated_classes = 0 in every row.
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
-- Model      recursive (c,l)-diversity. Even if l − 2 other values are ruled out, the most frequent
--            value of a class occurs less than c times as often as all the remaining ones together.
--            (Machanavajjhala, Kifer, Gehrke, Venkitasubramaniam 2007, l-diversity: privacy beyond
--            k-anonymity, ACM TKDD 1(1), definitions 4.2 and 4.5 (positive disclosure))
-- Model      (α,k)-anonymity. No sensitive value has a share above α in any class, and every class
--            has at least k records. (Wong, Li, Fu, Wang 2006, (α,k)-anonymity: an enhanced
--            k-anonymity model for privacy preserving data publishing, ACM KDD)
-- Model      t-closeness. In every class, the distribution of the sensitive values is at most t
--            away from their distribution in the table, so the class adds little to what the table
--            says. (Li, Li, Venkatasubramanian 2007, t-closeness: privacy beyond k-anonymity and
--            l-diversity, ICDE, sections 3 and 4)
-- Model      δ-disclosure privacy. In every class, the share of every sensitive value of the table
--            differs from its share in the table by a factor below exp(δ), either way. (Brickell,
--            Shmatikov 2008, The cost of privacy: destruction of data-mining utility in anonymized
--            data publishing, ACM KDD, section 4)
-- Model      enhanced β-likeness. In no class is the share of a sensitive value more than 1 + β
--            times its share p in the table, or 1 − ln p times where that is less. (Cao, Karras
--            2012, Publishing microdata with a robust privacy guarantee, PVLDB 5(11), definition 3)
-- Dialect    postgres, generated; not executed here, as the tests of this release do
-- Table      "patients" stands for patients; its columns are assumed to have the same types as
--            here.

with

class_values as (
    select
        "zip",
        "age",
        "diagnosis" as kanon_sensitive_1,
        count(*) as kanon_records
    from (
        select
            "zip",
            "age",
            "diagnosis"
        from "patients"
        where
            ("age" > 30 and "zip" like '0%')
    ) as kanon_source
    group by
        "zip",
        "age",
        "diagnosis"
),

value_totals as (
    select
        kanon_sensitive_1,
        sum(kanon_records) as kanon_value_total
    from class_values
    group by
        kanon_sensitive_1
),

-- The share of each value in the table: what an attacker without the class knows of everyone.
value_shares as (
    select
        kanon_sensitive_1,
        cast(kanon_value_total as double precision) / nullif(sum(kanon_value_total) over (), 0) as kanon_share
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
    select
        count(*) as kanon_table_values
    from value_shares
),

-- The share of each value in a class: what an attacker who knows the class knows of everyone in it.
class_shares as (
    select
        class_values.*,
        cast(kanon_records as double precision)
            / nullif(sum(kanon_records) over (partition by "zip", "age"), 0) as kanon_class_share
    from class_values
),

-- Each value of a class with the shares that it is compared with.
-- array[a] = array[b] is a = b and true where both are NULL, joined by hashing.
compared_values as (
    select
        class_shares.*,
        bounded_shares.kanon_share,
        bounded_shares.kanon_allowed_share
    from class_shares
    inner join bounded_shares
        on array[bounded_shares.kanon_sensitive_1] = array[class_shares.kanon_sensitive_1]
),

-- One row per class, with the figures over its values.
classes as (
    select
        "zip",
        "age",
        sum(kanon_records) as kanon_size,
        count(*) as kanon_distinct,
        sum(case when kanon_sensitive_1 is null then 0 else 1 end) as kanon_known,
        ln(cast(sum(kanon_records) as double precision))
            - cast(sum(kanon_records * ln(cast(kanon_records as double precision))) as double precision)
                / nullif(sum(kanon_records), 0) as kanon_entropy,
        max(kanon_records) as kanon_most,
        sum(kanon_records) - max(kanon_records) as kanon_rest_recursive_cl_diversity,
        max(
            case when kanon_sensitive_1 = 'flu' then kanon_records else 0 end
        ) as kanon_most_alpha_k_anonymity,
        sum(
            case
                when kanon_class_share > kanon_share
                then kanon_class_share - kanon_share
                else 0
            end
        ) as kanon_distance,
        max(cast(kanon_class_share as double precision) / nullif(kanon_share, 0)) as kanon_highest_ratio,
        min(cast(kanon_class_share as double precision) / nullif(kanon_share, 0)) as kanon_lowest_ratio,
        max(
            cast(kanon_class_share as double precision) / nullif(kanon_allowed_share, 0)
        ) as kanon_highest_of_allowed
    from compared_values
    group by
        "zip",
        "age"
),

measured_classes as (
    select
        classes.*,
        table_values.kanon_table_values,
        exp(kanon_entropy) as kanon_entropy_l_diversity,
        cast(kanon_most as double precision)
            / nullif(kanon_rest_recursive_cl_diversity, 0) as kanon_recursive_cl_diversity,
        cast(kanon_most_alpha_k_anonymity as double precision)
            / nullif(kanon_size, 0) as kanon_alpha_k_anonymity,
        case
            when kanon_distinct < kanon_table_values
            then null
            when kanon_highest_ratio * kanon_lowest_ratio > 1
            then ln(kanon_highest_ratio)
            else -ln(kanon_lowest_ratio)
        end as kanon_delta_disclosure,
        case
            when kanon_highest_ratio * kanon_lowest_ratio > 1
            then ln(kanon_highest_ratio)
            else -ln(kanon_lowest_ratio)
        end as kanon_delta_disclosure_present_only,
        case
            when kanon_highest_of_allowed > 1 + 1e-12
            then null
            when kanon_highest_ratio > 1
            then kanon_highest_ratio - 1
            else 0
        end as kanon_enhanced_beta_likeness
    from classes
    cross join table_values
)

select
    kanon_size,
    case when kanon_size < 2 then 1 else 0 end as kanon_too_small,
    count(*) as kanon_classes,
    sum(kanon_size) as kanon_records,
    sum(case when "zip" is null or "age" is null then kanon_size else 0 end) as kanon_with_null,
    0 as kanon_suppressed,
    sum(case when kanon_distinct = 1 then 1 else 0 end) as kanon_homogeneous_classes,
    sum(case when kanon_distinct = 1 then kanon_size else 0 end) as kanon_homogeneous_records,
    sum(case when kanon_known = 1 and kanon_distinct > 1 then 1 else 0 end) as kanon_diverse_by_null_classes,
    sum(case when kanon_distinct < 2 then 1 else 0 end) as kanon_single_value_classes,
    min(kanon_distinct) as kanon_l_diversity,
    sum(case when kanon_distinct < 2 then 1 else 0 end) as kanon_l_diversity_violated_classes,
    sum(case when kanon_distinct < 2 then kanon_size else 0 end) as kanon_l_diversity_violated_records,
    min(kanon_entropy_l_diversity) as kanon_entropy_l_diversity,
    sum(
        case when kanon_entropy < ln(1.5) - 1e-12 then 1 else 0 end
    ) as kanon_entropy_l_diversity_violated_classes,
    sum(
        case when kanon_entropy < ln(1.5) - 1e-12 then kanon_size else 0 end
    ) as kanon_entropy_l_diversity_violated_records,
    max(kanon_recursive_cl_diversity) as kanon_recursive_cl_diversity,
    sum(
        case when kanon_recursive_cl_diversity is null then 1 else 0 end
    ) as kanon_recursive_cl_diversity_infinite_classes,
    sum(
        case
            when not (kanon_most < cast(kanon_rest_recursive_cl_diversity as decimal(18, 0)) * 2)
            then 1
            else 0
        end
    ) as kanon_recursive_cl_diversity_violated_classes,
    sum(
        case
            when not (kanon_most < cast(kanon_rest_recursive_cl_diversity as decimal(18, 0)) * 2)
            then kanon_size
            else 0
        end
    ) as kanon_recursive_cl_diversity_violated_records,
    max(kanon_alpha_k_anonymity) as kanon_alpha_k_anonymity,
    sum(
        case
            when kanon_size < 2
            or cast(kanon_most_alpha_k_anonymity as decimal(18, 0)) * 10
                > cast(kanon_size as decimal(18, 0)) * 5
            then 1
            else 0
        end
    ) as kanon_alpha_k_anonymity_violated_classes,
    sum(
        case
            when kanon_size < 2
            or cast(kanon_most_alpha_k_anonymity as decimal(18, 0)) * 10
                > cast(kanon_size as decimal(18, 0)) * 5
            then kanon_size
            else 0
        end
    ) as kanon_alpha_k_anonymity_violated_records,
    max(kanon_distance) as kanon_t_closeness,
    sum(case when kanon_distance > 0.2 + 1e-09 then 1 else 0 end) as kanon_t_closeness_violated_classes,
    sum(
        case when kanon_distance > 0.2 + 1e-09 then kanon_size else 0 end
    ) as kanon_t_closeness_violated_records,
    max(kanon_delta_disclosure) as kanon_delta_disclosure,
    max(kanon_delta_disclosure_present_only) as kanon_delta_disclosure_present_only,
    sum(
        case when kanon_distinct < kanon_table_values then 1 else 0 end
    ) as kanon_delta_disclosure_infinite_classes,
    sum(
        case
            when kanon_delta_disclosure >= 1.0 - 1e-12 or kanon_distinct < kanon_table_values
            then 1
            else 0
        end
    ) as kanon_delta_disclosure_violated_classes,
    sum(
        case
            when kanon_delta_disclosure >= 1.0 - 1e-12 or kanon_distinct < kanon_table_values
            then kanon_size
            else 0
        end
    ) as kanon_delta_disclosure_violated_records,
    max(kanon_enhanced_beta_likeness) as kanon_enhanced_beta_likeness,
    sum(
        case when kanon_highest_of_allowed > 1 + 1e-12 then 1 else 0 end
    ) as kanon_enhanced_beta_likeness_infinite_classes,
    sum(
        case
            when kanon_highest_of_allowed > 1 + 1e-12
            or kanon_highest_ratio > (1 + 1.0) * (1 + 1e-12)
            then 1
            else 0
        end
    ) as kanon_enhanced_beta_likeness_violated_classes,
    sum(
        case
            when kanon_highest_of_allowed > 1 + 1e-12
            or kanon_highest_ratio > (1 + 1.0) * (1 + 1e-12)
            then kanon_size
            else 0
        end
    ) as kanon_enhanced_beta_likeness_violated_records
from measured_classes
group by
    kanon_size
order by
    kanon_size
