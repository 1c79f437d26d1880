"""The tables whose SQL is kept, and where."""

from __future__ import annotations

from places import TESTS

GOLDEN = TESTS / "golden" / "duckdb"


TABLES = """
create table patients as
select * from (values
    ('p1', '02138', 34, 'flu'),
    ('p1', '02138', 34, 'cold'),
    ('p2', '02138', 34, 'flu'),
    ('p3', '02139', 51, 'flu'),
    ('p3', '02139', 51, 'Flu'),
    ('p4', '0213*', null, 'cold')
) as patients (patient, zip, age, diagnosis);

create table voters as
select * from (values
    ('v1', '02138', 34, 9),
    ('v2', '02139', 51, 1),
    ('v3', '02139', null, 4),
    ('v4', '02140', null, 7)
) as voters (voter, zip_code, age, people);

create table patients_before as
select * from (values
    ('p1', '02138', 'flu'),
    ('p2', '02138', 'cold'),
    ('p3', '02139', 'flu'),
    ('p5', null, 'flu')
) as patients_before (person, zip_code, dx);

create table patients_original as
select * from (values
    ('p1', '02138', 34, 'flu'),
    ('p2', '02138', 34, 'cold'),
    ('p3', '02139', 51, 'flu'),
    ('p5', null, 51, 'flu')
) as patients_original (person, zip_code, age, dx)
"""
