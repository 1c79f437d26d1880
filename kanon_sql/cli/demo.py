"""The demo: a hospital release, the voter list that contains its patients, tables made of it.

A dbt project on the same tables shows how roles are followed.

A seeded generator makes every run identical. The columns are those of Sweeney's linkage attack: a
release without names, and a public list with names that shares three columns with it (Sweeney 2002,
k-anonymity, section 1).
"""

from __future__ import annotations

import csv
import datetime
import random
import shlex
import shutil
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.resources import files
from itertools import product
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from kanon_sql.errors import SpecError
from kanon_sql.question.yaml_document import shipped
from kanon_sql.results.writing import replaced_folder, write_atomically

if TYPE_CHECKING:
    from kanon_sql.auditing.result import AuditResult

SPEC = "kanon.yml"
RESULT = "result.json"
REPORT = "report.html"
DBT = "dbt"
SEED = 1997
VOTERS = 20_000
PATIENTS = 2_000


class Voter(NamedTuple):
    """A person on the voter list."""

    voter_id: str
    name: str
    birth_year: int
    sex: str
    zip_code: str


class Patient(NamedTuple):
    """A hospital stay of a voter; each has at most one."""

    patient_id: str
    name: str
    birth_year: int
    sex: str
    zip: str
    admitted: datetime.date
    diagnosis: str


class Visit(NamedTuple):
    """A patient's visit to a ward; most have several."""

    patient_id: str
    ward: str
    month: str


class MadeUp(NamedTuple):
    """A record of the synthetic table: nobody's, unless it was copied."""

    birth_year: int
    sex: str
    zip: str
    admitted: datetime.date
    diagnosis: str


class Cell(NamedTuple):
    """A cell of the published table: a number of patients, or a star."""

    zip: str
    diagnosis: str
    n: str


Row = TypeVar("Row", Voter, Patient, Visit, MadeUp, Cell)
SMALLEST_SHOWN = 5
"""Smaller cells of the published table are starred."""
TOTAL = "Total"
COPIED = 40
"""One in so many records of the synthetic table is a patient's."""


def write(folder: Path, *, overwrite: bool = False) -> None:
    """Write data and spec into `folder`, all or nothing.

    Raises `SpecError` for a non-empty folder, unless `overwrite` is given.
    """
    if folder.exists() and not folder.is_dir():
        raise SpecError(f"{folder} is a file; name a folder.")
    if folder.exists() and any(folder.iterdir()) and not overwrite:
        raise SpecError(f"{folder} is not empty; name another folder, or add --overwrite.")
    chance = random.Random(SEED)
    people = shipped("kanon_sql.cli", "demo_people.yml")
    voters = list(_voters(chance, people))
    patients = list(_patients(chance, voters, people["diagnoses"]))
    visits = list(_visits(chance, patients, people["wards"].split()))
    made_up = list(_made_up(chance, patients))
    with replaced_folder(folder) as unfinished:
        _write_csv(unfinished / "patients.csv", Patient, patients)
        _write_csv(unfinished / "voters.csv", Voter, voters)
        _write_csv(unfinished / "visits.csv", Visit, visits)
        _write_csv(unfinished / "published.csv", Cell, _cells(patients))
        _write_csv(unfinished / "synthetic.csv", MadeUp, made_up)
        for name in ("patients", "voters", "visits", "synthetic"):
            _write_parquet(unfinished / f"{name}.csv", unfinished / f"{name}.parquet")
        for name in ("voters", "visits", "synthetic"):
            (unfinished / f"{name}.csv").unlink()
        (unfinished / SPEC).write_text(_shipped_text("demo_spec.yml"), encoding="utf-8")
        for name, text in shipped("kanon_sql.cli", "demo_dbt.yml").items():
            path = unfinished / DBT / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")


def write_report(folder: Path, result: AuditResult) -> None:
    """Write the audit's result and its report into `folder`."""
    write_atomically(folder / RESULT, f"{result.to_json()}\n")
    result.to_html(folder / REPORT, overwrite=True)


def own_command() -> str:
    """The command that invokes this program, quoted for the shell.

    If it is not on the PATH, as in an environment that isn't activated, the full path.
    """
    program = Path(sys.argv[0])
    if program.parts[-2:] == ("kanon_sql", "__main__.py"):
        return f"{shlex.quote(sys.executable)} -m kanon_sql"
    on_path = shutil.which("kanon-sql")
    if program.stem != "kanon-sql" or (on_path and Path(on_path).resolve() == program.resolve()):
        return "kanon-sql"
    return shlex.quote(sys.argv[0])


def next_commands(folder: Path, command: str = "kanon-sql") -> str:
    """Suggested commands on the demo folder, invoking the program as `command`."""
    names = {"spec": SPEC, "report": REPORT, "table": "patients.csv"}
    names |= {"visits": "visits.parquet", "published": "published.csv"}
    names |= {"synthetic": "synthetic.parquet", "patients": "patients.parquet"}
    names |= {"project": f"{DBT}/README.md"}
    return Template(_shipped_text("demo_next.txt").rstrip()).substitute(
        {name: shlex.quote(str(folder / file)) for name, file in names.items()},
        command=command,
        marks=f"--total-label {TOTAL} --suppressed '*=1..{SMALLEST_SHOWN - 1}'",
    )


def _shipped_text(name: str) -> str:
    return files("kanon_sql.cli").joinpath(name).read_text(encoding="utf-8")


def _voters(chance: random.Random, people: Mapping[str, Any]) -> Iterator[Voter]:
    """Adults, mostly in a few ZIP codes."""
    zips, last_names = people["zips"].split(), people["last_names"].split()
    first_names = {sex: names.split() for sex, names in people["first_names"].items()}
    popularity = [1 / rank for rank in range(1, len(zips) + 1)]
    for number in range(1, VOTERS + 1):
        sex = chance.choice("FM")
        name = f"{chance.choice(first_names[sex])} {chance.choice(last_names)}"
        birth_year = round(chance.triangular(1925, 2006, 1975))
        [zip_code] = chance.choices(zips, popularity)
        yield Voter(f"V{number:05}", name, birth_year, sex, zip_code)


def _patients(
    chance: random.Random, voters: Sequence[Voter], diagnoses: Mapping[str, int]
) -> Iterator[Patient]:
    """A sample of the voters, with diagnoses weighted by age and sex."""
    first_day = datetime.date(2025, 1, 1)
    for number, voter in enumerate(chance.sample(voters, PATIENTS), start=1):
        weights = [weight * _relative_frequency(name, voter) for name, weight in diagnoses.items()]
        [diagnosis] = chance.choices(list(diagnoses), weights)
        admitted = first_day + datetime.timedelta(days=chance.randrange(365))
        yield Patient(
            f"P{number:04}",
            voter.name,
            voter.birth_year,
            voter.sex,
            voter.zip_code,
            admitted,
            diagnosis,
        )


def _visits(
    chance: random.Random, patients: Sequence[Patient], wards: Sequence[str]
) -> Iterator[Visit]:
    """One to eight visits of each patient in a year."""
    popularity = [1 / rank for rank in range(1, len(wards) + 1)]
    for patient in patients:
        for ward in chance.choices(wards, popularity, k=chance.randint(1, 8)):
            yield Visit(patient.patient_id, ward, f"2025-{chance.randint(1, 12):02}")


def _made_up(chance: random.Random, patients: Sequence[Patient]) -> Iterator[MadeUp]:
    """Records like those of patients: a person of one, the day and the ZIP code of another, and a
    diagnosis of a third of like age; some are copies."""
    for number, patient in enumerate(patients):
        alike = [chance.choice(patients) for _ in range(8)]
        ill = min(alike, key=lambda other: abs(other.birth_year - patient.birth_year))
        other = patient if number % COPIED == 0 else chance.choice(patients)
        diagnosis = patient.diagnosis if number % COPIED == 0 else ill.diagnosis
        yield MadeUp(patient.birth_year, patient.sex, other.zip, other.admitted, diagnosis)


def _cells(patients: Sequence[Patient]) -> Iterator[Cell]:
    """Patients by zip and diagnosis with all totals; small cells are starred by themselves."""
    counts = Counter(
        cell
        for patient in patients
        for cell in product((patient.zip, TOTAL), (patient.diagnosis, TOTAL))
    )
    for (zip_code, diagnosis), count in sorted(counts.items()):
        yield Cell(zip_code, diagnosis, str(count) if count >= SMALLEST_SHOWN else "*")


def _relative_frequency(diagnosis: str, voter: Voter) -> float:
    """Relative frequency of a diagnosis for someone of this age and sex."""
    old = voter.birth_year < 1960
    match diagnosis:
        case "hypertension" | "coronary disease":
            return 2 if old else 0.4
        case "breast cancer":
            return 2 if voter.sex == "F" else 0.01
        case "asthma" | "depression":
            return 0.5 if old else 1.5
    return 1


def _write_csv(path: Path, kind: type[Row], rows: Iterable[Row]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(kind._fields)
        writer.writerows(rows)


def _write_parquet(text: Path, table: Path) -> None:
    """Convert CSV to Parquet; ZIP codes stay text, to keep leading zeros."""
    import duckdb

    types = {"birth_year": "INTEGER", "admitted": "DATE"}
    with text.open(encoding="utf-8") as file:
        names = next(csv.reader(file))
    with duckdb.connect() as hub:
        records = hub.read_csv(
            str(text),
            header=True,
            auto_detect=False,
            columns={name: types.get(name, "VARCHAR") for name in names},
        )
        try:
            records.write_parquet(str(table))
        except duckdb.IOException:
            raise SpecError(f"{table.name} can't be written. Check the free space.") from None
