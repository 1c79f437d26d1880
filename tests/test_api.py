"""The Python surface as people type it, and what they are told where it is not understood."""

from __future__ import annotations

import inspect
import os
import pydoc
import random
import re
import stat
import subprocess
import sys
import types
import uuid
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pydantic
import pytest

import kanon_sql as kanon
from kanon_sql.anonymizing.release.options import ReleaseArguments, ReleaseOptions
from kanon_sql.engines.run_options import RunArguments, RunOptions
from kanon_sql.models.catalogue import ALL_MODELS
from kanon_sql.question.arguments import CellArguments, TableArguments

PEOPLE = pd.DataFrame(
    {"zip": ["02138", "02138", "02139", "02141"], "age": [30, 30, 41, 52], "disease": list("abcc")}
)
SECRET = re.compile("0213[0-9]|02141")
MASKED = {"zip": {"levels": [{"mask": "right"}]}}


def parts(result: kanon.AuditResult) -> list[tuple[str, Any, bool | None]]:
    return [(check.model, check.achieved, check.holds) for check in result.checks]


def test_what_is_demanded_in_short() -> None:
    result = kanon.audit(PEOPLE, ["zip"], sensitive="disease", k=3, l=2, t=0.1, k_map=1,
                         references=PEOPLE)  # fmt: skip

    assert {(model, holds) for model, _, holds in parts(result) if holds is not None} == {
        ("k_anonymity", False), ("l_diversity", False), ("t_closeness", False), ("k_map", True),
    }  # fmt: skip


def test_the_only_other_table_may_stand_alone_with_what_is_said_of_it() -> None:
    voters = PEOPLE.rename(columns={"zip": "zip_code"})
    said = {"source": voters, "columns": {"zip": "zip_code"}}

    for references in (said, {"source": voters.rename(columns={"zip_code": "zip"})}):
        result = kanon.audit(PEOPLE, ["zip"], k_map=1, references=references)
        assert result.holds

    composed = [kanon.ComposedKAnonymity(k=2)]
    result = kanon.audit(
        PEOPLE, ["zip"], entity="age", checks=composed, earlier_releases={**said, "entity": "age"}
    )
    assert result.checks[0].achieved == 1


@pytest.mark.parametrize(
    "checks",
    [
        kanon.KAnonymity(3),
        [kanon.KAnonymity(k=3)],
        {"k_anonymity": {"k": 3}},
        [{"k_anonymity": {"k": 3}}],
        (check for check in [kanon.KAnonymity(3)]),
    ],
)
def test_checks_in_any_form_gate(checks: Any) -> None:
    assert parts(kanon.audit(PEOPLE, "zip", checks=checks)) == [("k_anonymity", 1, False)]


@pytest.mark.parametrize(
    "names",
    ["zip", ["zip"], ("zip",), {"zip"}, {"zip": None}, PEOPLE.columns[:1], pd.Series(["zip"]),
     np.array(["zip"]), (name for name in ["zip"]), PEOPLE[["zip"]]],
)  # fmt: skip
def test_columns_in_any_form(names: Any) -> None:
    assert kanon.audit(PEOPLE, names).tables[0].quasi_identifiers == ("zip",)


def test_columns_that_pandas_numbers() -> None:
    assert kanon.audit(pd.DataFrame([["a", 1], ["a", 2]]), [0], k=2).holds


def test_a_set_of_columns_has_one_order() -> None:
    names = {"zip", "age", "disease"}

    assert kanon.audit(PEOPLE, names).tables[0].quasi_identifiers == ("age", "disease", "zip")


@pytest.mark.parametrize(
    "frame",
    [
        PEOPLE.astype({"zip": "category"}),
        PEOPLE.assign(age=pd.array([1, None, 2, 2], dtype="Int64")),
        PEOPLE[PEOPLE.age < 100],
        pl.from_pandas(PEOPLE).lazy(),
    ],
)
def test_frames_of_every_kind(frame: Any) -> None:
    assert parts(kanon.audit(frame, "zip", k=2)) == [("k_anonymity", 1, False)]


def test_numbers_of_other_libraries() -> None:
    assert kanon.KAnonymity(np.int64(5)) == kanon.KAnonymity(k=5)
    assert kanon.TCloseness(np.float32(0.1)) == kanon.TCloseness(t=0.1)
    assert kanon.TCloseness(Decimal("0.1")) == kanon.TCloseness(t=0.1)


def kinds(annotation: Any) -> set[Any]:
    """The types of a union, choices one by one; a container by what it is in general."""
    origin, inner = get_origin(annotation), get_args(annotation)
    if origin in (Union, types.UnionType):
        return set().union(*map(kinds, inner))
    if origin is Annotated:
        return kinds(inner[0])
    if origin is Literal:
        return set(inner)
    plain = origin or annotation
    if isinstance(plain, type) and issubclass(plain, pydantic.BaseModel | Mapping):
        return {Mapping}
    if isinstance(plain, type) and issubclass(plain, Iterable) and plain is not str:
        return {Iterable}
    return {plain}


@pytest.mark.parametrize(
    ("keywords", "model"),
    [
        (TableArguments, kanon.TableSpec),
        (CellArguments, kanon.PublishedSpec),
        (RunArguments, RunOptions),
        (ReleaseArguments, ReleaseOptions),
    ],
)
def test_a_keyword_takes_what_its_model_takes(keywords: Any, model: Any) -> None:
    fields = get_type_hints(model)
    for name, annotation in get_type_hints(keywords).items():
        assert kinds(annotation) == {Any} or kinds(fields[name]) <= kinds(annotation), name


def test_a_signature_has_every_keyword_with_the_default_of_its_model() -> None:
    defaults = {
        name: each.default for name, each in inspect.signature(kanon.anonymize).parameters.items()
    }

    assert (defaults["data"], defaults["k_map"]) == (inspect.Parameter.empty, None)
    assert (defaults["nulls"], defaults["suppressed"], defaults["emit"], defaults["timeout"]) == (
        "value", "remove", "views", None,
    )  # fmt: skip
    assert "others" not in defaults
    help_ = pydoc.plain(pydoc.render_doc(kanon.tables))
    assert "absent: \"Literal['zero', 'suppressed']\" = 'zero'" in help_


CALLS: dict[str, dict[str, Any]] = {
    "audit": {"quasi_identifiers": ["zip"]},
    "anonymize": {"quasi_identifiers": MASKED, "k": 2, "max_suppressed": 1},
    "profile": {"quasi_identifiers": ["zip"]},
    "tables": {"by": "zip"},
    "tradeoff": {"quasi_identifiers": MASKED, "k": [2]},
}


@pytest.mark.parametrize("verb", CALLS)
def test_every_default_of_a_signature_may_be_given(verb: str) -> None:
    call = getattr(kanon, verb)
    defaults = {
        name: each.default
        for name, each in inspect.signature(call).parameters.items()
        if each.default is not each.empty
    }

    result = call(PEOPLE, **(defaults | CALLS[verb]))
    assert str(result).splitlines()[:-1] == str(call(PEOPLE, **CALLS[verb])).splitlines()[:-1]


def test_null_is_a_label_of_totals() -> None:
    sums = pa.table({"region": ["N", "S", None], "n": [4, 5, 9]})
    result = kanon.tables(sums, "region", value="n", published=True, total_label=None, threshold=5)

    assert result.checks[0].details["violating_cells"] == 1


def test_models_say_what_they_take() -> None:
    help_ = pydoc.plain(pydoc.render_doc(kanon.TCloseness))

    assert (
        str(inspect.signature(kanon.KAnonymity))
        == "(k: int | None = None, *, columns: list[str] | None = None)"
    )
    assert str(inspect.signature(kanon.KMapEstimate)) == (
        "(k: int, *, population: int, alpha: float = 0.05, "
        "test: Literal['zero_truncated_poisson', 'poisson'] = 'zero_truncated_poisson')"
    )
    assert "t: Maximum distance between the distribution of a class and that of the table." in help_
    machinery = "model_(dump|config|validate)|__pydantic"
    if tuple(map(int, pydantic.VERSION.split(".")[:2])) >= (2, 11):
        # Before, a class has its fields in a plain attribute, which help() finds.
        machinery += "|model_fields|FieldInfo"
        assert not [name for name in dir(kanon.KAnonymity(3)) if name.startswith("model_")]
    assert not re.search(machinery, help_)
    assert (
        repr(kanon.TCloseness(0.2, distance="ordered")) == "TCloseness(t=0.2, distance='ordered')"
    )


@pytest.mark.parametrize("model", ALL_MODELS.values())
def test_the_help_of_a_model_is_its_parameters_and_its_words(model: Any) -> None:
    help_ = pydoc.plain(pydoc.render_doc(model))
    listed = set(re.findall(r"^ \|  (\w+)(?:\(.*)?$", help_, re.MULTILINE))

    assert listed - {model.__name__} == {"name", "gates", "parameters"}
    assert not re.search(r"\{\d\}|ClassWords", help_)
    for words in ("Guarantee", "Formula", "Limits", "Source", *model.model_fields):
        assert f" |  {words}: " in help_


RELEASE = {"zip": ["0213*", "0213*", "0213*"], "age": [30, 30, 41], "disease": ["a", "b", "c"]}


def test_a_release_is_a_table() -> None:
    release = kanon.anonymize(PEOPLE, MASKED, k=2, max_suppressed=1).release
    frame, table = release.to_pandas(), release.to_arrow()

    assert {name: sorted(values) for name, values in table.to_pydict().items()} == RELEASE
    assert table.to_pylist() == frame.to_dict("records") == release.to_polars().to_dicts()
    assert isinstance(release.to_polars(), pl.DataFrame)


def test_a_release_is_given_whatever_the_order_of_its_sums() -> None:
    draw = random.Random(5)
    people = pd.DataFrame(
        {"age": [draw.randint(18, 70) for _ in range(400)],
         "disease": [draw.choice("abcde") for _ in range(400)]}
    )  # fmt: skip
    ages = {"age": {"levels": [{"width": 5}, {"width": 20}, "suppress"]}}

    for _ in range(8):
        result = kanon.anonymize(people, ages, k=4, sensitive="disease", algorithm="local")
        assert result.release.to_arrow().num_rows == 400


def test_a_release_stays_what_it_was_and_its_file_goes_with_it() -> None:
    people = PEOPLE.copy()
    result = kanon.anonymize(people, MASKED, k=2, max_suppressed=1)
    people.loc[3, "zip"] = "02138"
    assert result.kept_records is not None
    file = result.kept_records.file

    assert result.release.to_pandas()["zip"].to_list() == RELEASE["zip"]
    assert [stat.S_IMODE(file.parent.stat().st_mode), *file.parent.iterdir()] == [0o700, file]
    del result
    assert not file.parent.exists()


FORKED = """
import os, warnings
import pandas as pd
import kanon_sql as kanon

warnings.simplefilter("ignore", DeprecationWarning)
people = pd.DataFrame({"zip": ["02138", "02138", "02139", "02139"]})
result = kanon.anonymize(people, ["zip"], k=2)
file = result.kept_records.file
child = os.fork()
if child == 0:
    del result
    os._exit(0)
os.waitpid(child, 0)
print(file.exists())
del result
print(file.parent.exists())
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_release_outlives_a_child_of_its_process() -> None:
    """In a process of its own, as that of the tests may be too large to be copied."""
    ended = subprocess.run(
        [sys.executable, "-c", FORKED], capture_output=True, text=True, check=False
    )

    assert (ended.stdout.split(), ended.stderr) == (["True", "False"], "")


def test_a_release_that_is_a_parquet_file_is_read_from_it(tmp_path: Path) -> None:
    output = tmp_path / "release.parquet"
    result = kanon.anonymize(PEOPLE, MASKED, k=2, max_suppressed=1, output=output)

    assert result.kept_records is not None
    assert result.kept_records.file == output
    assert result.release.to_pandas()["zip"].to_list() == RELEASE["zip"]
    output.unlink()
    with pytest.raises(kanon.EngineError, match="not the release that was written; call anonymize"):
        result.release.to_pandas()


def test_a_release_of_values_that_no_parquet_file_holds_is_not_given() -> None:
    connection = duckdb.connect()
    connection.execute("create table people as select 'x' as zip, interval 3 day as stay, 1 as n")
    result = kanon.anonymize("people", ["zip"], k=1, engine=connection)

    assert result.status == "holds"
    for _ in range(2):
        with pytest.raises(kanon.InputError, match=r"can't hold the values of \"stay\""):
            result.release.to_arrow()


def test_what_may_not_be_published_is_no_table() -> None:
    result = kanon.anonymize(PEOPLE, {"zip": {"levels": [{"prefix": 4}]}}, k=4, max_suppressed=0)

    assert (result.status, result.kept_records) == ("violated", None)
    with pytest.raises(kanon.PrivacyViolation, match="no release that may be published"):
        result.release.to_arrow()


def test_views_of_a_frame_read_the_table_it_will_be() -> None:
    views = kanon.anonymize(
        PEOPLE, MASKED, k=2, max_suppressed=1, name="patients"
    ).anonymization.views

    assert 'from "patients"' in views[0]


def test_parts_of_a_result_are_frames() -> None:
    result = kanon.anonymize(PEOPLE, MASKED, k=2, max_suppressed=1)

    assert result.checks.to_pandas()[["model", "holds", "achieved"]].to_dict("records") == [
        {"model": "k_anonymity", "holds": True, "achieved": 3}
    ]
    assert list(result.histogram.to_pandas()["records"]) == [3]
    assert result.tables[0].histogram.to_pandas().equals(result.histogram.to_pandas())
    assert list(result.anonymization.steps.to_pandas()["attribute"]) == ["zip"]


MADE: dict[str, Callable[[], Any]] = {
    "audit": lambda: kanon.audit(PEOPLE, ["zip"], sensitive="disease", k=2, l=2),
    "anonymize": lambda: kanon.anonymize(PEOPLE, MASKED, k=2, max_suppressed=1),
    "profile": lambda: kanon.profile(PEOPLE, ["zip"], sensitive="disease"),
    "profile of columns": lambda: kanon.profile(PEOPLE, subsets=2, suda=2),
    "profile of nothing": lambda: kanon.profile(PEOPLE.iloc[:0], ["zip"]),
    "tradeoff": lambda: kanon.tradeoff(PEOPLE, MASKED, k=[2, 3, 50]),
}


@pytest.mark.parametrize("made", MADE)
def test_a_result_is_read_back(made: str, tmp_path: Path) -> None:
    result = MADE[made]()
    file = tmp_path / "result.json"
    file.write_text(result.to_json(), encoding="utf-8")

    for source in (file, str(file), result.to_json(), result.to_dict()):
        read = kanon.from_json(source)
        assert read == result
        assert (type(read), read.to_dict()) == (type(result), result.to_dict())
        assert str(read).splitlines()[:-1] == str(result).splitlines()[:-1]


@pytest.mark.parametrize(
    ("source", "told"),
    [
        ("nowhere.json", "there is no file nowhere.json"),
        ('{"a": "02138"}', "the text is nothing that kanon-sql wrote"),
        ("{", "the text:1:2: this is not JSON"),
        ({"a": object()}, "the mapping is not what to_dict() gives"),
        (3, "a result is read from a path, a text or a mapping, and not from an int"),
        (
            kanon.audit(PEOPLE, ["zip"]).diff(kanon.audit(PEOPLE, ["zip"])).to_json(),
            "is a comparison, and a result is needed: a comparison is made of two of them",
        ),
    ],
)
def test_what_is_no_result_is_refused(source: Any, told: str) -> None:
    with pytest.raises(kanon.InputError) as raised:
        kanon.from_json(source)

    assert told in str(raised.value)
    assert not SECRET.search(str(raised.value))


# --- tables in Python, without quasi-identifiers ---------------------------------------------


NO_RELATIONS = duckdb.__version__ < "2"


def of_relations() -> AbstractContextManager[object]:
    """What is asked of a relation, which DuckDB answers from 2.0 on."""
    refusal = pytest.raises(kanon.InputError, match=r"from DuckDB 2\.0 on")
    return refusal if NO_RELATIONS else nullcontext()


def without_names(result: Any) -> dict[str, Any]:
    [table] = result.to_dict()["tables"]
    return {key: value for key, value in table.items() if key not in ("name", "sql")}


@pytest.mark.parametrize(
    "asked",
    [
        {},
        {"quasi_identifiers": ["zip"]},
        {"subsets": 2, "suda": 2},
        {"subsets": 2, "suda": 2, "columns": ["zip", "disease"], "nulls": "value"},
        {"subsets": 2, "entity": "disease"},
    ],
)
def test_a_relation_is_profiled_as_its_table_is(asked: dict[str, Any]) -> None:
    relation = duckdb.connect().from_df(PEOPLE)
    with of_relations():
        assert without_names(kanon.profile(relation, **asked)) == without_names(
            kanon.profile(PEOPLE, **asked)
        )


def test_what_each_k_costs_is_told_of_a_relation() -> None:
    relation = duckdb.connect().from_df(PEOPLE)
    of_table = kanon.tradeoff(PEOPLE, MASKED, k=[2, 3])
    with of_relations():
        of_relation = kanon.tradeoff(relation, MASKED, k=[2, 3])
        assert of_relation.tradeoff.points == of_table.tradeoff.points
    why = r"from DuckDB 2\.0 on" if NO_RELATIONS else "where nothing is kept"
    with pytest.raises(kanon.InputError, match=why):
        kanon.anonymize(relation, MASKED, k=2)


@pytest.mark.parametrize(
    "kind", ["pyarrow", "pandas", "polars", *([] if NO_RELATIONS else ["relation"])]
)
def test_a_spec_is_begun_from_what_no_file_can_name(kind: str, tmp_path: Path) -> None:
    table = {
        "pandas": lambda: PEOPLE,
        "polars": lambda: pl.from_pandas(PEOPLE).lazy(),
        "pyarrow": lambda: pl.from_pandas(PEOPLE).to_arrow(),
        "relation": lambda: duckdb.connect().from_df(PEOPLE),
    }[kind]()
    file = tmp_path / "kanon.yml"

    kanon.init(table, output=file)
    text = file.read_text(encoding="utf-8")

    assert "  - source:    # " in text
    assert "      zip:    # name suggests postcode" in text
    with pytest.raises(kanon.SpecError, match=r"kanon.yml:9:12: must be a file, a glob or a table"):
        kanon.AuditSpec.from_file(file)


@pytest.mark.parametrize("kind", ["csv", "parquet", "two", "several"])
def test_the_file_that_a_lazy_frame_reads_is_never_written(kind: str, tmp_path: Path) -> None:
    source = tmp_path / f"people].{'csv' if kind == 'csv' else 'parquet'}"
    table = pl.from_pandas(PEOPLE)
    if kind == "csv":
        table.write_csv(source)
        lazy = pl.scan_csv(source, infer_schema=False)
    else:
        table.write_parquet(source)
        table.write_parquet(tmp_path / "others.parquet")
        if kind == "several":
            table.write_parquet(tmp_path / "a few.parquet")
        lazy = pl.scan_parquet(source if kind == "parquet" else str(tmp_path / "*.parquet"))
    before = source.read_bytes()

    with pytest.raises(kanon.SpecError, match="people"):
        kanon.anonymize(
            lazy.filter(pl.col("zip") != ""), MASKED, k=1, output=source, overwrite=True
        )

    assert source.read_bytes() == before


def test_a_hierarchy_may_be_a_word(tmp_path: Path) -> None:
    in_words = kanon.audit(
        PEOPLE, {"zip": "mask:right", "age": "width:20"}, levels={"zip": 1, "age": 1}
    )
    spelled = {**MASKED, "age": {"levels": [{"width": 20}]}}

    assert (
        in_words.tables[0].summary
        == kanon.audit(PEOPLE, spelled, levels={"zip": 1, "age": 1}).tables[0].summary
    )
    with pytest.raises(kanon.SpecError, match=r"quasi_identifiers.zip: mesk:right: .* no builder"):
        kanon.audit(PEOPLE, {"zip": "mesk:right"})


def test_views_of_a_frame_say_that_they_need_the_name_of_a_table() -> None:
    nameless, named = (
        kanon.anonymize(PEOPLE, MASKED, k=2, max_suppressed=1, name=name).anonymization.views
        for name in (None, "patients")
    )

    assert nameless[0].startswith("-- A pandas.DataFrame is no table.")
    assert 'name="patients"' in nameless[0]
    assert named[0].startswith("create")


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_times_keep_their_zone_and_their_months_are_said_to_be_those_of_utc(library: str) -> None:
    zone = "Europe/Berlin"
    times = pd.date_range("2020-01-31 22:00", periods=6, freq="h", tz=zone)
    pandas = pd.DataFrame({"at": times, "zip": ["a"] * 6})
    data = {"pandas": pandas, "polars": pl.from_pandas(pandas), "pyarrow": pa.table(pandas)}[
        library
    ]

    kept = kanon.anonymize(data, ["zip"], k=3, insensitive={"at": "of a clock"}).release
    assert str(kept.to_pandas()["at"].dtype.tz) == zone
    assert (
        kept.to_polars().schema["at"].time_zone
        == kept.to_arrow().schema.field("at").type.tz
        == zone
    )
    assert sorted(kept.to_pandas()["at"]) == list(times)

    months = kanon.anonymize(data, {"at": {"date": "month"}}, k=3, insensitive="zip")
    assert '"at" has a time zone. Its days, months and years are those of UTC.' in (
        months.tables[0].warnings
    )
    audited = kanon.audit(data, {"at": "month"}, levels={"at": 1})
    assert '"at" has a time zone. Its days, months and years are those of UTC.' in str(
        " ".join(str(audited).split())
    )
    assert not any("time zone" in each for each in kanon.audit(data, ["at"]).tables[0].warnings)
    released = kanon.anonymize(data, ["zip"], k=3, insensitive={"at": "of a clock"})
    assert '"at" has a time zone: a data frame keeps it' in " ".join(str(released).split())


@pytest.mark.parametrize("short", ["month", ["month", "year"], {"years": 5}, {"date": "5y"}])
def test_levels_of_dates_have_short_forms(short: Any) -> None:
    days = pd.DataFrame({"day": pd.date_range("2020-01-01", periods=8)})

    assert kanon.audit(days, {"day": short}, levels={"day": 1}).tables[0].summary.k == 8


@pytest.mark.parametrize("path_of", [str, Path])
def test_a_hierarchy_is_the_path_of_a_file(tmp_path: Path, path_of: Any) -> None:
    (tmp_path / "age.csv").write_text("20,young\n30,young\n70,old\n", encoding="utf-8")
    file = path_of(tmp_path / "age.csv")
    people = pd.DataFrame({"age": ["20", "30", "70"], "zip": ["a", "a", "b"]})

    [audited] = kanon.audit(people, {"age": file}, levels={"age": 1}).tables
    [published] = kanon.tables(people, ["age", "zip"], hierarchies={"age": file}).tables

    assert audited.summary.classes == 2
    assert (
        published.cells.cells
        == kanon.tables(people, ["age", "zip"], hierarchies={"age": str(file)})
        .tables[0]
        .cells.cells
    )


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_a_hierarchy_is_a_frame_of_any_library(library: str) -> None:
    ages = pd.DataFrame({"age": range(20)})
    frame = pd.DataFrame({"age": range(20), "half": ["low"] * 10 + ["high"] * 10})

    def as_library(frame: pd.DataFrame) -> Any:
        return {"pandas": frame, "polars": pl.from_pandas(frame), "pyarrow": pa.table(frame)}[
            library
        ]

    [table] = kanon.audit(ages, {"age": as_library(frame)}, levels={"age": 1}).tables
    assert table.summary.k == 10
    for wrong, said in (
        (frame.assign(half=[None, *["low"] * 19]), "the frame lacks a value"),
        (pd.concat([frame, frame.assign(half="all")]), "gives a raw value two parents"),
    ):
        with pytest.raises(kanon.SpecError, match=said):
            kanon.audit(ages, {"age": as_library(wrong)}, levels={"age": 1})


ODD: dict[str, Any] = {
    "numbers of 128 bits": lambda: pl.DataFrame({"odd": pl.Series([1] * 8, dtype=pl.Int128)}),
    "numbers of 16 bits": lambda: pa.table({"odd": pa.array(np.ones(8, dtype=np.float16))}),
    "256 bits": lambda: pa.table({"odd": pa.array([10**40] * 8, pa.decimal256(50, 2))}),
    "long doubles": lambda: pd.DataFrame({"odd": np.ones(8, dtype=np.longdouble)}),
    "periods": lambda: pd.DataFrame({"odd": pd.period_range("2020-01", periods=8, freq="M")}),
    "complex numbers": lambda: pd.DataFrame({"odd": np.arange(8) + 1j}),
    "dictionaries": lambda: pd.DataFrame({"odd": [{"a": n} for n in range(8)]}),
    "identifiers": lambda: pd.DataFrame({"odd": [uuid.UUID(int=n) for n in range(8)]}),
    "zones and none": lambda: pd.DataFrame(
        {"odd": pd.Series([pd.Timestamp(0, tz="UTC"), pd.Timestamp(0)] * 4, dtype=object)}
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", ODD)
def test_a_column_that_duckdb_cant_read_is_named_and_stops_nothing(kind: str) -> None:
    odd = ODD[kind]()
    match odd:
        case pd.DataFrame():
            data = odd.assign(zip="a")
        case pl.DataFrame():
            data = odd.with_columns(zip=pl.lit("a"))
        case _:
            data = odd.append_column("zip", pa.array(["a"] * 8))

    result = kanon.audit(data, ["zip"], k=8)

    assert result.holds
    assert any('"odd" is not looked at' in each for each in result.tables[0].warnings)
    [column] = (each for each in kanon.profile(data).tables[0].columns if each.column == "odd")
    assert column.distinct is None
    with pytest.raises(kanon.SpecError, match=r'"odd".*Convert it'):
        kanon.audit(data, ["odd"], k=2)
    assert kanon.anonymize(data, ["zip"], k=2, identifiers="odd").holds


def test_a_duration_is_refused_with_its_conversion() -> None:
    spans = pd.DataFrame({"stay": pd.to_timedelta(range(8), unit="D"), "zip": ["a"] * 8})

    for frame, way in ((spans, ".dt.days"), (pl.from_pandas(spans), ".dt.total_days()")):
        assert kanon.audit(frame, ["zip"], k=2).holds
        with pytest.raises(kanon.SpecError) as refused:
            kanon.audit(frame, ["stay"], k=2)
        assert f'is a timedelta: convert it, for example df["stay"]{way}.' in str(refused.value)


@pytest.mark.parametrize(
    "levels",
    ["width:5,10", [5, 10], {"width": [5, 10]}, {"levels": [5, 10]}, {"levels": "width:5,10"},
     {"levels": [{"width": 5}, {"width": 10}]}, [{"width": 5}, {"width": 10}],
     ["width:5", "width:10"], [5, 10, "suppress"], (5, 10), np.array([5, 10]), pd.Series([5, 10]),
     range(5, 11, 5), {"levels": [5, 10, "suppress"]}],
    ids=str,
)  # fmt: skip
def test_levels_come_in_several_forms(levels: Any) -> None:
    ages = pd.DataFrame({"age": range(20)})

    assert kanon.audit(ages, {"age": levels}, levels={"age": 2}).tables[0].summary.k == 10


@pytest.mark.parametrize("module", [pd, pl], ids=["pandas", "polars"])
def test_a_frame_is_a_hierarchy(module: Any) -> None:
    ages = pd.DataFrame({"age": range(20)})
    half = ["low"] * 8 + ["high"] * 12
    hierarchy = module.DataFrame({"age": range(20), "half": half, "all": ["*"] * 20})

    for given in (hierarchy, {"levels": hierarchy}):
        assert kanon.audit(ages, {"age": given}, levels={"age": 1}).tables[0].summary.k == 8


def test_an_error_has_no_frames_of_ours_but_one() -> None:
    with pytest.raises(kanon.SpecError) as raised:
        kanon.audit(PEOPLE, ["zpi"])

    assert [Path(each.path).name for each in raised.traceback] == ["test_api.py", "arguments.py"]


def test_what_is_printed_names_no_option_of_the_command_line() -> None:
    violated = kanon.audit(PEOPLE, ["zip", "age"], k=2)
    release = kanon.anonymize(PEOPLE, MASKED, k=2, max_suppressed=1)

    for shown in (violated, release, kanon.profile(PEOPLE), kanon.tradeoff(PEOPLE, MASKED)):
        assert not re.search(r"(?<![\w-])--[a-z]", str(shown))


@pytest.mark.parametrize("form", ["pandas", "polars", "arrow"])
def test_figures_are_data_frames(form: str) -> None:
    reference = kanon.DeltaPresence(min=0.1, max=0.9, reference="people")
    asked: dict[str, Any] = {"sensitive": "disease", "references": {"people": PEOPLE}}
    result = kanon.audit(PEOPLE, ["zip"], k=2, checks=[reference], **asked)
    [table] = result.tables
    assert result.risk == table.risk
    several = {
        "model": table.checks, "size": table.histogram, "attacker": result.risk,
        "column": kanon.profile(PEOPLE), "loss": kanon.tradeoff(PEOPLE, MASKED, k=[2, 3]),
        "figure": result.diff(result),
    }  # fmt: skip
    for column, each in several.items():
        frame = getattr(each, f"to_{form}")()
        names = frame.column_names if form == "arrow" else list(frame.columns)
        assert (len(frame), column in names) == (len(each.rows()), True)
        assert len(repr(each)) < 300 or not isinstance(each, tuple)


def test_a_comparison_reads_from_the_earlier_result_to_this_one() -> None:
    earlier, later = (kanon.audit(PEOPLE, ["zip"], k=k) for k in (1, 2))

    assert str(later.diff(earlier)).splitlines()[0] == "earlier result → this result"


def test_a_chart_draws_itself_in_a_notebook() -> None:
    """Bars of named sizes need Vega-Lite; lines also come as an SVG."""
    result = kanon.audit(PEOPLE, ["zip"], k=2)

    for name, drawn in (("class_sizes", False), ("risk", True)):
        chart = result.chart(name)
        bundle = chart._repr_mimebundle_()
        assert bundle["application/vnd.vegalite.v5+json"] == dict(chart)
        assert bundle.get("image/svg+xml", "").startswith("<svg") == drawn
        assert len(repr(chart)) < 80


def test_a_measure_of_nothing_is_zero_without_a_sign() -> None:
    """|ln(q / p)| is -ln(1) where q = p."""
    table = pa.table({"a": [1, 1], "s": ["x", "x"]})
    result = kanon.audit(table, ["a"], checks=[kanon.DeltaDisclosure(sensitive="s")], first=1)

    assert "δ is 0\n" in str(result)
    assert "only the first 1&nbsp;record " in re.sub("<[^>]*>", " ", result.to_html())


FUNCTIONS = [
    *(kanon.audit, kanon.compile, kanon.tables, kanon.anonymize, kanon.profile, kanon.init),
    *(kanon.tradeoff, kanon.lineage, kanon.explain),
]


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda each: each.__name__)
def test_the_help_of_a_function_is_a_sentence_and_its_parameters(function: Any) -> None:
    first, blank, *_ = function.__doc__.splitlines()
    listed = function.__doc__.partition("\nParameters:\n\n")[2]

    assert (first[-1], blank) == (".", "")
    names = re.findall(r"^(\w+): \S.*", listed, re.MULTILINE)
    assert names == list(inspect.signature(function).parameters)
    assert not re.search(r"--[a-z]", listed)


def test_a_violation_is_raised_with_its_verdict() -> None:
    result = kanon.audit(PEOPLE, ["zip"], sensitive="disease", k=3, l=2, name="people")

    with pytest.raises(kanon.PrivacyViolation) as raised:
        result.raise_if_violated()

    first, *verdicts = str(raised.value).splitlines()
    assert first == "not every check holds:"
    assert verdicts == [
        "people: k-anonymity: k is 1, asked for 3; 4 records (100 %) in 3 classes of fewer than 3 "
        "records",
        "people: l-diversity disease: l is 1, asked for 2; 2 records (50.0 %) in 2 classes with "
        "fewer than 2 values",
    ]


def test_the_charts_are_listed() -> None:
    result = kanon.audit(PEOPLE, ["zip"], k=3)

    assert result.chart() == ["class_sizes", "risk"]
    assert all(result.chart(name)["data"]["values"] for name in result.chart())
    assert kanon.tables(PEOPLE, ["zip"]).chart() == []
