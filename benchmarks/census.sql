-- A census-like table: skewed ages and ZIP codes, strings of few and of many values, dates.
-- $rows records; sorted by nothing, repeatable for the same number of rows.
select
    person as person_id,
    cast(17 + floor(73 * pow(hash(person || ':age') / 18446744073709551616, 1.7)) as smallint) as age,
    case when hash(person || ':sex') % 100 < 51 then 'Female' else 'Male' end as sex,
    list_extract(
        ['White', 'Black', 'Asian-Pac-Islander', 'Amer-Indian-Eskimo', 'Other'],
        1 + cast(floor(5 * pow(hash(person || ':race') / 18446744073709551616, 3)) as integer)
    ) as race,
    list_extract(
        ['HS-grad', 'Some-college', 'Bachelors', 'Masters', 'Assoc-voc', '11th', 'Assoc-acdm', '10th',
         '7th-8th', 'Prof-school', '9th', '12th', 'Doctorate', '5th-6th', '1st-4th', 'Preschool'],
        1 + cast(floor(16 * pow(hash(person || ':education') / 18446744073709551616, 1.5)) as integer)
    ) as education,
    list_extract(
        ['Married-civ-spouse', 'Never-married', 'Divorced', 'Separated', 'Widowed',
         'Married-spouse-absent', 'Married-AF-spouse'],
        1 + cast(floor(7 * pow(hash(person || ':marital') / 18446744073709551616, 2)) as integer)
    ) as marital_status,
    list_extract(
        ['Adm-clerical', 'Craft-repair', 'Exec-managerial', 'Farming-fishing', 'Handlers-cleaners',
         'Machine-op-inspct', 'Other-service', 'Priv-house-serv', 'Prof-specialty',
         'Protective-serv', 'Sales', 'Tech-support', 'Transport-moving', 'Armed-Forces'],
        1 + cast(hash(person || ':occupation') % 14 as integer)
    ) as occupation,
    lpad(
        cast(501 + 3 * cast(floor(30000 * pow(hash(person || ':zip') / 18446744073709551616, 3)) as integer) as varchar),
        5,
        '0'
    ) as zip,
    date '1935-01-01' + cast(hash(person || ':birth') % 27000 as integer) as birth_date,
    'ICD-' || lpad(
        cast(cast(floor(100 * pow(hash(person || ':diagnosis') / 18446744073709551616, 2)) as integer) as varchar),
        3,
        '0'
    ) as diagnosis
from range($rows) as people(person)
