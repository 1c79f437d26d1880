-- Question   How many records in patients share each combination of zip and age, and what do they
--            share of diagnosis?
-- Model      k-anonymity. Every combination of quasi-identifier values occurs in at least k
--            records, so these columns never point at fewer than k of them. (Sweeney 2002,
--            k-anonymity: a model for protecting privacy, IJUFKS 10(5), definition 3)
-- Model      homogeneity. No class has a single value of the sensitive attribute, so belonging to a
--            class never gives the value away. (Machanavajjhala, Kifer, Gehrke, Venkitasubramaniam
--            2007, l-diversity: privacy beyond k-anonymity, ACM TKDD 1(1), section 2.1 (homogeneity
--            attack))
-- Model      l-diversity. Every class has at least l different values of the sensitive attribute,
--            so whoever can rule out l − 2 of them is still unsure. (Machanavajjhala, Kifer,
--            Gehrke, Venkitasubramaniam 2007, l-diversity: privacy beyond k-anonymity, ACM TKDD
--            1(1), section 3 (distinct l-diversity))
-- Model      entropy l-diversity. Guessing the sensitive value of someone in a class is at least as
--            uncertain as drawing one of l equally likely values. (Machanavajjhala, Kifer, Gehrke,
--            Venkitasubramaniam 2007, l-diversity: privacy beyond k-anonymity, ACM TKDD 1(1),
--            definition 4.1)
-- Model      recursive (c,l)-diversity. Even when l − 2 other values are ruled out, the most
--            frequent value of a class is less than c times as frequent as all that remain.
--            (Machanavajjhala, Kifer, Gehrke, Venkitasubramaniam 2007, l-diversity: privacy beyond
--            k-anonymity, ACM TKDD 1(1), definitions 4.2 and 4.5 (positive disclosure))
-- Model      (α,k)-anonymity. No sensitive value is held by more than a share α of a class, and
--            every class has at least k records. (Wong, Li, Fu, Wang 2006, (α,k)-anonymity: an
--            enhanced k-anonymity model for privacy preserving data publishing, ACM KDD)
-- Model      t-closeness. How the sensitive values are spread in a class differs from how they are
--            spread in the table by t at most, so belonging to a class tells little. (Li, Li,
--            Venkatasubramanian 2007, t-closeness: privacy beyond k-anonymity and l-diversity,
--            ICDE, sections 3 and 4)
-- Model      δ-disclosure privacy. Every sensitive value of the table is in every class about as
--            frequent as in the table, by a factor below exp(δ) either way. (Brickell, Shmatikov
--            2008, The cost of privacy: destruction of data-mining utility in anonymized data
--            publishing, ACM KDD, section 4)
-- Model      enhanced β-likeness. No sensitive value is more frequent in a class than in the table
--            by more than β, or −ln p where that is less, times its share there. (Cao, Karras 2012,
--            Publishing microdata with a robust privacy guarantee, PVLDB 5(11), definition 3)
-- Dialect    mariadb, generated; not executed here, as the tests of this release do
-- Table      "patients" stands for patients; its columns are taken to have the types that they have
--            here.

with

class_values as (
    select
        `zip`,
        `age`,
        `diagnosis` as kanon_sensitive_1,
        count(*) as kanon_records
    from (
        select
            `zip`,
            `age`,
            `diagnosis`
        from `patients`
        where
            (
                `age` > 30
                and cast(`zip` as char character set utf8mb4) collate utf8mb4_nopad_bin like '0%'
            )
    ) as kanon_source
    group by
        `zip`,
        `age`,
        `diagnosis`
),

value_totals as (
    select
        kanon_sensitive_1,
        sum(kanon_records) as kanon_value_total
    from class_values
    group by
        kanon_sensitive_1
),

value_shares as (
    select
        kanon_sensitive_1,
        cast(kanon_value_total as double) / nullif(sum(kanon_value_total) over (), 0) as kanon_share,
        count(*) over () as kanon_table_values
    from value_totals
),

compared_values as (
    select
        class_values.*,
        value_shares.kanon_share,
        value_shares.kanon_table_values,
        row_number() over (
            partition by class_values.`zip`, class_values.`age`
            order by class_values.kanon_records desc
        ) as kanon_rank
    from class_values
    inner join value_shares
        on value_shares.kanon_sensitive_1 <=> class_values.kanon_sensitive_1
),

classes as (
    select
        `zip`,
        `age`,
        sum(kanon_records) as kanon_size,
        sum(kanon_records) as kanon_records,
        count(*) as kanon_distinct,
        sum(case when kanon_sensitive_1 is null then 0 else 1 end) as kanon_known,
        sum(kanon_records) as kanon_total,
        sum(
            case
                when kanon_records > 0
                then kanon_records * ln(cast(kanon_records as double))
            end
        ) as kanon_log_sum,
        max(kanon_records) as kanon_most,
        max(case when kanon_sensitive_1 = 'flu' then kanon_records else 0 end) as kanon_most_alpha_k_anonymity,
        min(cast(kanon_records as double) / nullif(kanon_share, 0)) as kanon_lowest,
        sum(kanon_share) as kanon_present_share,
        max(cast(kanon_records as double) / nullif(kanon_share, 0)) as kanon_highest,
        max(kanon_table_values) as kanon_table_values,
        max(
            cast(kanon_records as double) / nullif((
                kanon_share * (
                    1 - ln(kanon_share)
                )
            ), 0)
        ) as kanon_highest_allowed
    from compared_values
    group by
        `zip`,
        `age`
),

distances as (
    select
        class_values.`zip`,
        class_values.`age`,
        sum(
            case
                when cast(class_values.kanon_records as double) / nullif(classes.kanon_total, 0) > value_shares.kanon_share
                then cast(class_values.kanon_records as double) / nullif(classes.kanon_total, 0) - value_shares.kanon_share
                else 0
            end
        ) as kanon_distance
    from class_values
    inner join classes
        on classes.`zip` <=> class_values.`zip`
        and classes.`age` <=> class_values.`age`
        and classes.kanon_lowest < classes.kanon_total
    inner join value_shares
        on value_shares.kanon_sensitive_1 <=> class_values.kanon_sensitive_1
    group by
        class_values.`zip`,
        class_values.`age`
),

compared_classes as (
    select
        classes.*,
        case
            when not distances.kanon_distance is null
            then distances.kanon_distance
            when classes.kanon_present_share < 1
            then 1 - classes.kanon_present_share
            else 0
        end as kanon_distance
    from classes
    left join distances
        on distances.`zip` <=> classes.`zip` and distances.`age` <=> classes.`age`
),

measured_classes as (
    select
        compared_classes.*,
        kanon_distinct as kanon_l_diversity,
        case
            when kanon_total > 0
            then exp(
                ln(cast(nullif(kanon_total, 0) as double)) - cast(kanon_log_sum as double) / nullif(kanon_total, 0)
            )
            else 0
        end as kanon_entropy_l_diversity,
        cast(kanon_most as double) / nullif((
            kanon_total - kanon_most
        ), 0) as kanon_recursive_cl_diversity,
        case
            when kanon_total > 0
            then cast(kanon_most_alpha_k_anonymity as double) / nullif(kanon_total, 0)
        end as kanon_alpha_k_anonymity,
        case when kanon_total > 0 then kanon_distance end as kanon_t_closeness,
        case
            when kanon_total > 0 and kanon_distinct = kanon_table_values
            then case
                when kanon_highest * kanon_lowest > cast(kanon_total as double) * kanon_total
                then ln(cast(kanon_highest as double) / nullif(kanon_total, 0))
                else ln(cast(kanon_total as double) / nullif(kanon_lowest, 0))
            end
        end as kanon_delta_disclosure,
        case
            when kanon_highest * kanon_lowest > cast(kanon_total as double) * kanon_total
            then ln(cast(kanon_highest as double) / nullif(kanon_total, 0))
            else ln(cast(kanon_total as double) / nullif(kanon_lowest, 0))
        end as kanon_delta_disclosure_present_only,
        case
            when kanon_highest_allowed > kanon_total * (
                1 + 1e-12
            )
            then null
            else case
                when kanon_highest > kanon_total
                then cast(kanon_highest as double) / nullif(kanon_total, 0) - 1
                when kanon_total > 0
                then 0
            end
        end as kanon_enhanced_beta_likeness
    from compared_classes
),

judged_classes as (
    select
        measured_classes.*,
        case when kanon_l_diversity < 2 then 1 else 0 end as kanon_l_diversity_violated,
        case
            when kanon_total = 0
            or ln(cast(nullif(kanon_total, 0) as double)) - cast(kanon_log_sum as double) / nullif(kanon_total, 0) < ln(1.5) - 1e-12
            then 1
            else 0
        end as kanon_entropy_l_diversity_violated,
        case when kanon_recursive_cl_diversity is null then 1 else 0 end as kanon_recursive_cl_diversity_infinite,
        case
            when not (
                kanon_most < cast((
                    kanon_total - kanon_most
                ) as decimal(18, 0)) * 2
            )
            then 1
            else 0
        end as kanon_recursive_cl_diversity_violated,
        case
            when kanon_size < 2
            or cast(kanon_most_alpha_k_anonymity as decimal(18, 0)) * 2 > kanon_total
            then 1
            else 0
        end as kanon_alpha_k_anonymity_violated,
        case when kanon_t_closeness > 0.2 + 1e-09 then 1 else 0 end as kanon_t_closeness_violated,
        case when kanon_total > 0 and kanon_distinct < kanon_table_values then 1 else 0 end as kanon_delta_disclosure_infinite,
        case
            when kanon_delta_disclosure >= 1.0 - 1e-12
            or kanon_total > 0
            and kanon_distinct < kanon_table_values
            then 1
            else 0
        end as kanon_delta_disclosure_violated,
        case when kanon_highest_allowed > kanon_total * (
            1 + 1e-12
        ) then 1 else 0 end as kanon_enhanced_beta_likeness_infinite,
        case
            when kanon_highest_allowed > kanon_total * (
                1 + 1e-12
            )
            or kanon_highest > kanon_total * (
                1 + 1.0
            ) * (
                1 + 1e-12
            )
            then 1
            else 0
        end as kanon_enhanced_beta_likeness_violated
    from measured_classes
)

select
    kanon_size,
    count(*) as kanon_classes,
    sum(kanon_records) as kanon_records,
    sum(case when `zip` is null or `age` is null then kanon_records else 0 end) as kanon_with_null,
    0 as kanon_suppressed,
    sum(case when kanon_distinct = 1 then 1 else 0 end) as kanon_homogeneous_classes,
    sum(case when kanon_distinct = 1 then kanon_records else 0 end) as kanon_homogeneous_records,
    sum(case when kanon_known = 1 and kanon_distinct > 1 then 1 else 0 end) as kanon_diverse_by_null_classes,
    sum(case when kanon_distinct < 2 then 1 else 0 end) as kanon_single_value_classes,
    min(kanon_l_diversity) as kanon_l_diversity,
    sum(kanon_l_diversity_violated) as kanon_l_diversity_violated_classes,
    sum(kanon_l_diversity_violated * kanon_records) as kanon_l_diversity_violated_records,
    min(kanon_entropy_l_diversity) as kanon_entropy_l_diversity,
    sum(kanon_entropy_l_diversity_violated) as kanon_entropy_l_diversity_violated_classes,
    sum(kanon_entropy_l_diversity_violated * kanon_records) as kanon_entropy_l_diversity_violated_records,
    max(kanon_recursive_cl_diversity) as kanon_recursive_cl_diversity,
    sum(kanon_recursive_cl_diversity_infinite) as kanon_recursive_cl_diversity_infinite_classes,
    sum(kanon_recursive_cl_diversity_violated) as kanon_recursive_cl_diversity_violated_classes,
    sum(kanon_recursive_cl_diversity_violated * kanon_records) as kanon_recursive_cl_diversity_violated_records,
    max(kanon_alpha_k_anonymity) as kanon_alpha_k_anonymity,
    sum(kanon_alpha_k_anonymity_violated) as kanon_alpha_k_anonymity_violated_classes,
    sum(kanon_alpha_k_anonymity_violated * kanon_records) as kanon_alpha_k_anonymity_violated_records,
    max(kanon_t_closeness) as kanon_t_closeness,
    sum(kanon_t_closeness_violated) as kanon_t_closeness_violated_classes,
    sum(kanon_t_closeness_violated * kanon_records) as kanon_t_closeness_violated_records,
    max(kanon_delta_disclosure) as kanon_delta_disclosure,
    max(kanon_delta_disclosure_present_only) as kanon_delta_disclosure_present_only,
    sum(kanon_delta_disclosure_infinite) as kanon_delta_disclosure_infinite_classes,
    sum(kanon_delta_disclosure_violated) as kanon_delta_disclosure_violated_classes,
    sum(kanon_delta_disclosure_violated * kanon_records) as kanon_delta_disclosure_violated_records,
    max(kanon_enhanced_beta_likeness) as kanon_enhanced_beta_likeness,
    sum(kanon_enhanced_beta_likeness_infinite) as kanon_enhanced_beta_likeness_infinite_classes,
    sum(kanon_enhanced_beta_likeness_violated) as kanon_enhanced_beta_likeness_violated_classes,
    sum(kanon_enhanced_beta_likeness_violated * kanon_records) as kanon_enhanced_beta_likeness_violated_records
from judged_classes
group by
    kanon_size
order by
    kanon_size
