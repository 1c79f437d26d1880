"""The command line: what is typed in; exit code, stdout and stderr out."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kanon_sql.auditing.result import AuditResult
from kanon_sql.cli.main import main
from kanon_sql.cli.option_kinds import check_named, column_names
from kanon_sql.engines.run_options import RunOptions
from kanon_sql.errors import EngineError, SpecError
from kanon_sql.models.reference.models import KMap
from kanon_sql.models.sizes.models import KAnonymity
from kanon_sql.models.values.models import Homogeneity
from kanon_sql.question.spec import AuditSpec, json_schema
from kanon_sql.results.schema import schema_id
from kanon_sql.results.table import TableResult

asking = import_module("kanon_sql.auditing.auditor")

PATIENTS = """\
id,zip,sex,diagnosis
1,02138,F,flu
2,02138,F,flu
3,02138,M,flu
4,02138,M,asthma
5,02139,F,flu
"""
"""By zip: a class of four and one of one. By zip and sex: two of two, the first homogeneous."""

VOTERS = """\
zip_code,sex,voter_id,state
02138,F,a,MA
02138,F,b,MA
02138,F,c,NH
02138,M,d,MA
02138,M,e,MA
02139,F,f,MA
02139,F,g,MA
"""

SPEC = """\
version: 1
tables:
  - source: patients.csv
    quasi_identifiers: [zip]
    checks:
      - k_anonymity: {k: 2}
"""


@dataclass(frozen=True)
class Ended:
    code: int
    out: str
    err: str


@pytest.fixture(autouse=True)
def _folder(tmp_path, monkeypatch):
    """A folder with these files for every test, and an environment without options."""
    monkeypatch.chdir(tmp_path)
    for variable in [name for name in os.environ if name.startswith("KANON_SQL_")]:
        monkeypatch.delenv(variable)
    Path("patients.csv").write_text(PATIENTS)
    Path("voters.csv").write_text(VOTERS)
    Path("kanon.yml").write_text(SPEC)


@pytest.fixture
def run(capsys):
    """Run a command line in this process."""

    def typed(*arguments: str) -> Ended:
        with pytest.raises(SystemExit) as ended:
            main(list(arguments), prog_name="kanon-sql")
        out, err = capsys.readouterr()
        return Ended(ended.value.code, out, err)

    return typed


def shell(command: str, **settings) -> subprocess.CompletedProcess[str]:
    """Run `kanon-sql …` as a process of its own, in a shell."""
    program = f"{sys.executable} -c 'from kanon_sql.cli import main; main(prog_name=\"kanon-sql\")'"
    return subprocess.run(
        command.replace("kanon-sql", program, 1),
        shell=True,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        **settings,
    )


def achieved(ended: Ended, model: str) -> object:
    """What the JSON says of a model."""
    [table] = json.loads(ended.out)["tables"]
    return next(check["achieved"] for check in table["checks"] if check["model"] == model)


# How it ends


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ("audit patients.csv --qi zip --k 1", 0),
        ("audit patients.csv --qi zip", 0),
        ("audit patients.csv --qi zip --k 2", 1),
        ("audit patients.csv --qi zip --check homogeneity:sensitive=diagnosis", 1),
        ("audit patients.csv --qi zip --sensitive diagnosis", 0),
        ("audit patients.csv --qi zip --sensitive id --check homogeneity:sensitive=id", 1),
        ("audit patients.csv --qi zip --k 0", 2),
        ("audit patients.csv --qi town", 2),
        ("audit nowhere.csv --qi zip", 2),
        ("audit patients.csv --qi zip --where id=7", 4),
        ("audit kanon.yml", 1),
        ("compile patients.csv --qi zip --k 2", 0),
        ("validate kanon.yml", 0),
        ("validate patients.csv --qi town", 2),
        ("schema", 0),
        ("", 0),
        ("--help", 0),
    ],
)
def test_exit_codes(run, arguments, code):
    assert run(*arguments.split()).code == code


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        (["--quasi-identifiers", "zip"], ["--qi", "zip"]),
        (["--qi", "zip", "--t", "20%"], ["--qi", "zip", "--t", "0.2"]),
        (["--qi", "zip", "--check", "l-diversity:l=2"],
         ["--qi", "zip", "--check", "l_diversity:l=2"]),
        (["--qi", "zip", "--check", "KAnonymity:k=2"],
         ["--qi", "zip", "--check", "k_anonymity:k=2"]),
        (["--qi", "zip", "--check", "prosecutor-risk:max-at-risk=2.5 %"],
         ["--qi", "zip", "--check", "prosecutor_risk:max_at_risk=0.025"]),
    ],
)  # fmt: skip
def test_what_people_type_is_what_is_meant(run, typed, meant):
    first, second = (
        run("audit", "patients.csv", "--sensitive", "diagnosis", *arguments, "--format", "json")
        for arguments in (typed, meant)
    )
    assert first.code == second.code
    assert json.loads(first.out) == json.loads(second.out)


def test_dbt_package_prints_a_folder_that_dbt_can_install(run):
    ended = run("dbt-package")

    assert (ended.code, ended.err) == (0, "")
    assert (Path(ended.out.removesuffix("\n")) / "dbt_project.yml").is_file()


# What is asked


def test_column_names_are_quoted_as_in_csv():
    assert column_names("--qi", 'zip, "last, first","a""b",🏠') == [
        "zip",
        "last, first",
        'a"b',
        "🏠",
    ]


@pytest.mark.parametrize("level", ['"a,b"=1,n=1', '"a,b=1",n=1', 'n=1, "a,b"=1'])
def test_in_a_pair_the_column_or_the_whole_may_be_quoted(run, level):
    Path("odd.csv").write_text('"a,b",n\nx,y\n')
    columns = ["--qi", '"a,b",n', "--hierarchy", '"a,b"=suppress', "--hierarchy", "n=suppress"]
    linked = ["--reference", "odd.csv", "--reference-columns", '"a,b"=n', "--k-map", "1"]
    ended = run("audit", "odd.csv", *columns, "--level", level, *linked, "--format", "json")
    [table] = json.loads(ended.out)["tables"]
    assert table["levels"] == {"a,b": 1, "n": 1}


def test_lists_of_columns_may_be_repeated(run):
    once = run("audit", "patients.csv", "--qi", "zip,sex", "--format", "json")
    twice = run("audit", "patients.csv", "--qi", "zip", "--qi", "sex", "--format", "json")
    assert json.loads(once.out)["tables"][0]["quasi_identifiers"] == ["zip", "sex"]
    assert once == twice


def test_a_star_is_every_column_without_another_part(run):
    arguments = ["--qi", "*", "--sensitive", "diagnosis", "--identifiers", "id", "--format", "json"]
    ended = run("audit", "patients.csv", *arguments)
    assert json.loads(ended.out)["tables"][0]["quasi_identifiers"] == ["zip", "sex"]


def test_beside_a_star_some_columns_may_have_a_hierarchy(run):
    arguments = ["--qi", "*", "--identifiers", "id", "--hierarchy", "zip=prefix:3"]
    ended = run("audit", "patients.csv", *arguments, "--level", "zip=1", "--format", "json")
    [table] = json.loads(ended.out)["tables"]
    assert (table["quasi_identifiers"], table["levels"]) == (
        ["zip", "sex", "diagnosis"],
        {"zip": 1},
    )
    unknown = run("audit", "patients.csv", "--qi", "*", "--hierarchy", "zop=prefix:3")
    assert (unknown.code, 'no column "zop"' in unknown.err) == (2, True)


@pytest.mark.parametrize(
    ("text", "model"),
    [
        ("k_anonymity", KAnonymity()),
        ("k_anonymity:k=5", KAnonymity(k=5)),
        ("k_anonymity: k = 5 ", KAnonymity(k=5)),
        ("k_map:k=5,reference=no,match=exact", KMap(k=5, reference="no", match="exact")),
        ('homogeneity:sensitive="a, b"', Homogeneity(sensitive="a, b")),
        ("homogeneity:sensitive='it''s'", Homogeneity(sensitive="it's")),
    ],
)
def test_a_check_is_a_model_with_yaml_values(text, model):
    assert check_named(text) == model


def test_a_list_in_a_check_is_one_value():
    with pytest.raises(SpecError, match="k_anonymity: k must be a whole number"):
        check_named("k_anonymity:k=[1, 2]")


LINKED = [
    *["audit", "patients.csv", "--qi", "zip,sex", "--k-map", "2"],
    *["--reference", "voters.csv", "--reference-columns", "zip=zip_code"],
]


def test_k_map_takes_the_only_reference(run):
    ended = run(*LINKED, "--format", "json")
    assert (ended.code, achieved(ended, "k_map")) == (0, 2)


def test_a_reference_may_be_filtered_and_counted_in_people(run):
    ended = run(
        *[*LINKED, "--reference-entity", "voter_id", "--reference-where", "state = 'NH'"],
        *["--format", "json"],
    )
    assert (ended.code, achieved(ended, "k_map")) == (1, 0)


def test_options_of_several_references_begin_with_a_name(run):
    both = ["--reference", "old=voters.csv", "--reference", "new=voters.csv"]
    audit = ["audit", "patients.csv", "--qi", "zip", *both]
    assert run(*audit, "--k-map", "2").err == (
        "error: --k-map is ambiguous with several references: write --check "
        "k_map:k=2,reference=old or --check k_map:k=2,reference=new.\n"
    )
    assert run(*audit, "--reference-columns", "zip=zip_code").err == (
        "error: --reference-columns 'zip=zip_code' is for which reference? Begin it with a name "
        "and a colon: old:, new:.\n"
    )
    ended = run(
        *audit,
        *["--reference-columns", "old:zip=zip_code", "--reference-columns", "new:zip=zip_code"],
        *["--reference-where", "old: state = 'MA'", "--format", "json"],
        *["--check", "k_map:k=3,reference=old", "--check", "k_map:k=2,reference=new"],
    )
    checks = json.loads(ended.out)["tables"][0]["checks"]
    assert [(check["parameters"]["reference"], check["achieved"]) for check in checks[:2]] == [
        ("old", 2),
        ("new", 2),
    ]


def test_what_was_said_of_a_first_line_is_done(run):
    Path("nameless.csv").write_text("02138,F,flu\n02138,M,flu\n")
    nameless = "nameless.csv --header no"
    audit = run(*f"audit {nameless} --qi column_1 --format json".split())
    assert achieved(audit, "k_anonymity") == 2
    asked = "audit patients.csv --qi zip --reference nameless.csv --reference-columns zip=column_1"
    linked = run(*f"{asked} --reference-header no --k-map 2 --format json".split())
    assert achieved(linked, "k_map") == 0

    assert run(*f"init {nameless} --output nameless.yml".split()).code == 0
    assert "    header: false\n" in Path("nameless.yml").read_text()
    assert run("profile", "nameless.yml").out.startswith("nameless.csv · 2 records")
    wrong = run(*f"{asked} --reference-header maybe --k-map 2".split())
    assert wrong.err == "error: references.reference.header: must be yes or no; found 'maybe'.\n"


ODD = "a\x1b[31mb\u202e"
"""A name that turns a terminal red, and what follows it around."""


@pytest.mark.parametrize(
    "command",
    [
        "audit odd.parquet --qi * -v",
        "audit odd.parquet --qi zip",
        "audit odd.parquet --qi * --format markdown",
        "audit odd.parquet --qi * --dry-run",
        "audit odd.parquet --qi * --where x>1",
        "profile odd.parquet",
        "compile odd.parquet --qi *",
        "compile odd.parquet --qi sex --output-dir sql",
        "compile odd.parquet --qi sex --where ODD=1",
        "anonymize odd.parquet --qi * --k 1 --output odd.sql",
        "anonymize odd.parquet --qi * --k 1 --output odd.sql --emit dbt-model",
        "audit odd.parquet --qi ODD --reference ODD.csv --k-map 2",
        "init odd.parquet --output ODD.yml",
        "ODD",
    ],
)
def test_no_name_moves_the_cursor(run, command):
    pq.write_table(pa.table({ODD: ["1", "1"], "sex": ["x", "x"]}), "odd.parquet")
    Path(f"{ODD}.parquet").touch()

    ended = run(*(each.replace("ODD", ODD) for each in command.split()))

    written = [path.read_text() for path in Path().rglob("*.*") if path.suffix in (".sql", ".yml")]
    for text in (ended.out, ended.err, *written):
        assert "\x1b" not in text
        assert "\u202e" not in text


def test_an_error_names_the_variable_behind_an_option(run, monkeypatch):
    monkeypatch.setenv("KANON_SQL_K", "x")
    said = "error: --k must be a whole number, 1 or more; found "
    by_variable = f"{said}'x'. KANON_SQL_K sets --k.\n"
    assert run("audit", "patients.csv", "--qi", "zip") == Ended(2, "", by_variable)
    assert run("audit", "patients.csv", "--qi", "zip", "--k=y") == Ended(2, "", f"{said}'y'.\n")


def test_thresholds_replace_those_of_the_spec(run):
    Path("kanon.yml").write_text(f"{SPEC}    sensitive: [diagnosis]\n")

    def checks(*more):
        [table] = json.loads(run("audit", "kanon.yml", "--format", "json", *more).out)["tables"]
        return {
            (check["model"], check["parameters"].get("sensitive")): check["parameters"]
            for check in table["checks"]
            if check["holds"] is not None
        }

    own = checks()
    assert own["k_anonymity", None] == {"k": 2}
    assert checks("--k", "7") == own | {("k_anonymity", None): {"k": 7}}
    more = checks("--l", "3", "--check", "prosecutor_risk:max_average=0.7")
    assert more["l_diversity", "diagnosis"]["l"] == 3
    assert more["prosecutor_risk", None]["max_average"] == 0.7
    assert more["k_anonymity", None] == {"k": 2}


def test_a_spec_file_takes_what_is_about_the_run(run):
    limits = ["--threads", "1", "--memory-limit", "500MB", "--timeout", "60"]
    assert run("audit", "kanon.yml", *limits).code == 1


def test_every_option_can_be_set_by_the_environment(run, monkeypatch):
    for variable, value in {"QI": "zip\nsex", "K": "3", "FORMAT": "json", "FIRST": "4"}.items():
        monkeypatch.setenv(f"KANON_SQL_{variable}", value)
    ended = run("audit", "patients.csv")
    [table] = json.loads(ended.out)["tables"]
    assert ended.code == 1
    assert table["quasi_identifiers"] == ["zip", "sex"]
    assert table["summary"]["records"] == 4
    assert table["checks"][0]["parameters"] == {"k": 3}


# What is printed


def test_the_command_line_and_python_say_the_same(run):
    ended = run("audit", "kanon.yml", "--format", "json")
    assert (
        ended.out == asking.audit(AuditSpec.from_file("kanon.yml"), RunOptions()).to_json() + "\n"
    )


def test_the_human_text_is_plain_where_nobody_looks(run):
    ended = run("audit", "patients.csv", "--qi", "zip", "--k", "2")
    assert ended.out.startswith("patients.csv · 5 records · quasi-identifiers zip\n\n  VIOLATED  ")
    assert "\x1b" not in ended.out
    assert ended.err == ""


def test_no_value_is_printed_unless_asked(run):
    quiet = run("audit", "patients.csv", "--qi", "zip", "--k", "2")
    loud = run("audit", "patients.csv", "--qi", "zip", "--k", "2", "--show-values")
    assert "02139" not in quiet.out
    assert "02139" in loud.out
    assert "now contains personal data" in loud.out


def test_the_steps_are_told_on_stderr(run):
    plain = run("audit", "kanon.yml", "--format", "json")
    verbose = run("audit", "kanon.yml", "--format", "json", "-v")
    assert verbose.out == plain.out
    assert "How many classes of patients.csv by zip have each size, in records?" in verbose.err


def test_markdown(run):
    ended = run("audit", "kanon.yml", "--format", "markdown")
    assert ended.out.startswith("## patients.csv\n\n5 records · quasi-identifiers zip\n")


def test_compile_prints_what_audit_runs(run):
    ended = run("compile", "patients.csv", "--qi", "zip", "--k", "2")
    sql = json.loads(run("audit", "kanon.yml", "--format", "json").out)["tables"][0]["sql"]
    assert all(statement in ended.out for statement in sql.values())


def test_compile_prints_one_step(run):
    whole = run("compile", "kanon.yml")
    step = run("compile", "kanon.yml", "--step", "classes")
    assert step.out.startswith("-- Question   How many classes of patients.csv by")
    assert step.out.rstrip() in whole.out
    assert run("compile", "kanon.yml", "--step", "clases").err.endswith('Did you mean "classes"?\n')


def test_compile_knows_its_dialects(run):
    written = run("compile", "kanon.yml", "--dialect", "spark", "--step", "classes")
    assert "-- Dialect    spark, generated; " in written.out
    assert run("compile", "kanon.yml", "--dialect", "sprak").err.endswith('Did you mean "spark"?\n')


def test_validate_says_what_it_found(run):
    ended = run("validate", "kanon.yml")
    assert ended.out.startswith("patients.csv: 4 columns, 1 of them quasi-identifiers; ")


def test_schema_prints_the_schema(run):
    assert json.loads(run("schema").out) == {"$id": schema_id("spec"), **json_schema()}


# What is written


def test_the_output_is_the_result_and_stdout_stays_empty(run):
    printed = run("audit", "kanon.yml", "--format", "json")
    written = run("audit", "kanon.yml", "--format", "json", "--output", "result.json")
    assert written == Ended(1, "", "result.json written: violated.\n")
    assert Path("result.json").read_text(encoding="utf-8") == printed.out


def test_a_release_and_its_result_are_both_told_where_neither_is_printed(run):
    asked = ["anonymize", "patients.csv", "--qi", "zip", "--k", "2", "--max-suppressed", "2"]
    written = run(*asked, "--output", "release.csv", "--result", "result.json")
    assert written.err == "release.csv written.\nresult.json written: holds.\n"
    assert "\nThe check holds.\n" in written.out
    assert run(*asked, "-q", "--output", "b.csv", "--result", "b.json") == Ended(0, "", "")


def test_a_pipe_is_no_file_to_be_told_of(run):
    assert run("audit", "kanon.yml", "--output", os.devnull).err == ""


def test_overwrite_replaces_a_file(run):
    Path("there.txt").write_text("mine")
    run("audit", "kanon.yml", "--output", "there.txt", "--overwrite")
    assert Path("there.txt").read_text(encoding="utf-8").startswith("patients.csv · 5 records")


@pytest.mark.parametrize(
    ("arguments", "beginning"),
    [
        (["--output", "report"], "patients.csv · 5 records"),
        (["--output", "report.txt"], "patients.csv · 5 records"),
        (["--output", "report.page", "--format", "markdown"], "## patients.csv"),
    ],
)
def test_a_name_that_promises_nothing_else_is_taken(run, arguments, beginning):
    assert run("audit", "kanon.yml", *arguments).code == 1
    assert Path(arguments[1]).read_text(encoding="utf-8").startswith(beginning)


def test_nothing_is_left_of_a_file_that_could_not_be_written(run, monkeypatch):
    def fail(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "replace", fail)
    files = set(os.listdir())
    assert run("audit", "kanon.yml", "--output", "result.json") == Ended(
        2, "", "error: result.json can't be written: No space left on device.\n"
    )
    assert set(os.listdir()) == files


# What goes wrong


def test_a_table_on_which_the_engine_failed_leaves_stdout_empty(run, monkeypatch):
    failed = TableResult("big.parquet", "duckdb", "error", ("zip",), error="out of memory.")
    result = AuditResult((failed,), version="0.1.0")
    monkeypatch.setattr(asking, "audit", lambda *_, **__: result)
    assert run("audit", "kanon.yml", "--format", "json") == Ended(
        3, "", "error: big.parquet: out of memory.\n"
    )


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (EngineError("the disk is full."), 3, "error: the disk is full.\n"),
        (KeyboardInterrupt(), 130, "\nInterrupted; nothing was written.\n"),
        (
            ValueError("could not read 02138"),
            3,
            "error: something unforeseen went wrong (ValueError). -vv shows where, and may show "
            "values.\n",
        ),
    ],
)
def test_what_goes_wrong_is_a_sentence_without_values(run, monkeypatch, error, code, message):
    def fail(*_, **__):
        raise error

    monkeypatch.setattr(asking, "audit", fail)
    assert run("audit", "kanon.yml") == Ended(code, "", message)


def test_where_it_went_wrong_is_told_on_demand(run, monkeypatch):
    def fail(*_, **__):
        raise ValueError("could not read 02138")

    monkeypatch.setattr(asking, "audit", fail)
    assert "ValueError: could not read 02138" in run("audit", "kanon.yml", "-vv").err


# As a process


def test_help_loads_nothing_heavy():
    heavy = ("duckdb", "sqlglot", "pydantic", "rich", "jinja2", "yaml")
    script = (
        "import sys; from kanon_sql.cli import main\n"
        "for command in ([], ['audit'], ['baseline'], ['compile'], ['diff'], ['demo']):\n"
        "    main([*command, '--help'], standalone_mode=False)\n"
        f"print('loaded:', [name for name in {heavy} if name in sys.modules])"
    )
    ended = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True
    )
    assert ended.stdout.splitlines()[-1] == "loaded: []"


def test_errors_go_to_stderr():
    ended = shell("kanon-sql audit nowhere.csv --qi zip")
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr.startswith("error: ")
    assert "Traceback" not in ended.stderr


def test_a_reader_who_goes_away_changes_no_verdict():
    ended = shell("(kanon-sql audit kanon.yml; echo exit $? >&2) | true")
    assert ended.stderr == "exit 1\n"


STOPPED = """
import os, signal, sys
from importlib import import_module
from kanon_sql.cli.main import main

# As a terminal has them, whatever runs the tests ignores.
signal.signal(signal.SIGTERM, signal.SIG_DFL)
signal.signal(signal.SIGHUP, signal.SIG_DFL)
signal.signal(signal.SIGINT, signal.default_int_handler)

def stop():
    os.kill(os.getpid(), signal.{name})

room = import_module("kanon_sql.{room}")
done = room.{step}

def meanwhile(*arguments, **named):
    {before}
    answer = done(*arguments, **named)
    {after}
    return answer

room.{step} = meanwhile
main({arguments!r}.split())
"""
RELEASED = "anonymize patients.csv --qi zip --k 2 --max-suppressed 2 --output release.csv"


INTERRUPTED = """
import os, signal, sys

class Stop:
    def find_spec(self, name, path, target=None):
        if name == {module!r}:
            os.kill(os.getpid(), signal.SIGINT)

signal.signal(signal.SIGINT, signal.default_int_handler)
sys.meta_path.insert(0, Stop())
sys.argv = ["kanon-sql", "audit", "kanon.yml"]
from kanon_sql.__main__ import main
{before}
main()
"""


@pytest.mark.parametrize("module", ["kanon_sql.cli", "click", "kanon_sql.cli.commands", "duckdb"])
def test_ctrl_c_ends_with_130_and_a_sentence_while_modules_are_imported(module):
    program = INTERRUPTED.format(module=module, before="")
    ended = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False
    )
    assert (ended.returncode, ended.stdout) == (130, "")
    assert ended.stderr.strip() == "Interrupted; nothing was written."


def test_ctrl_c_at_the_end_changes_no_verdict():
    before = (
        "import kanon_sql.cli.main as line\n"
        "line.end_process = lambda code: os.kill(os.getpid(), signal.SIGINT)"
    )
    program = INTERRUPTED.format(module="", before=before)
    ended = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False
    )
    assert (ended.returncode, ended.stderr) == (1, "")


STILL_RUNNING = """
import threading, time, duckdb
from kanon_sql.cli.signals import end_process

session = duckdb.connect()
pairs = "select max(hash(a.range) ^ hash(b.range)) from range(10000000) a, range(10000000) b"
threading.Thread(target=session.execute, args=[pairs], daemon=True).start()
time.sleep(0.3)
session.interrupt()
end_process(4)
"""


def test_a_statement_that_is_cancelled_too_late_changes_no_exit_code():
    """DuckDB aborts the process if its exception meets an interpreter that ends."""
    ended = subprocess.run(
        [sys.executable, "-c", STILL_RUNNING],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (ended.returncode, ended.stderr) == (4, "")


def test_what_a_killed_run_leaves_is_removed_by_the_next_one(monkeypatch, tmp_path):
    spills = tmp_path / "spills"
    spills.mkdir()
    monkeypatch.setenv("TMPDIR", str(spills))
    program = STOPPED.format(
        room="anonymizing.anonymizer",
        step="delivered",
        before="stop()",
        after="pass",
        name="SIGKILL",
        arguments=RELEASED,
    )
    killed = subprocess.run([sys.executable, "-c", program], timeout=60, check=False)
    [unfinished] = Path().glob(".release.csv.*.kanon-sql")
    assert (killed.returncode, len([*spills.iterdir()])) == (-9, 1)

    ended = shell(f"kanon-sql {RELEASED}")
    assert ended.returncode == 0
    assert f"{unfinished} was left over by a run that was killed, and is removed." in " ".join(
        ended.stderr.split()
    )
    assert [*spills.iterdir(), *Path().glob(".release.csv.*")] == []


@pytest.mark.parametrize(
    ("room", "step", "before", "after", "code", "there", "name"),
    [
        ("results.writing", "put_in_place", "", "pass", 0, True, "SIGTERM"),
        ("anonymizing.release.delivery", "put_in_place", "stop()", "pass", 130, False, "SIGTERM"),
        ("anonymizing.release.delivery", "put_in_place", "stop()", "pass", 130, False, "SIGHUP"),
        ("anonymizing.release.delivery", "put_in_place", "stop()", "pass", 130, False, "SIGINT"),
        ("anonymizing.release.delivery", "put_in_place", "pass", "stop()", 0, True, "SIGTERM"),
        ("anonymizing.release.delivery", "put_in_place", "pass", "stop()", 0, True, "SIGHUP"),
        ("anonymizing.release.delivery", "put_in_place", "pass", "stop()", 0, True, "SIGINT"),
        ("anonymizing.anonymizer", "delivered", "pass", "stop()", 0, True, "SIGHUP"),
        ("anonymizing.anonymizer", "planned", "pass", "stop()", 130, False, "SIGINT"),
        ("results.writing", "check_writable", "stop()", "pass", 130, False, "SIGTERM"),
        ("auditing.opening", "connect", "pass", "stop()", 130, False, "SIGHUP"),
    ],
)
def test_a_signal_ends_with_130_or_once_a_file_is_in_place_with_what_was_decided(
    room, step, before, after, code, there, name
):
    program = STOPPED.format(
        room=room, step=step, before=before or "pass", after=after, name=name, arguments=RELEASED
    )
    ended = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False
    )
    assert (ended.returncode, Path("release.csv").exists()) == (code, there), ended.stderr
    assert ("nothing was written" in ended.stderr) is (code == 130)
    assert {*os.listdir()} - {"release.csv"} == {"patients.csv", "voters.csv", "kanon.yml"}


@pytest.mark.parametrize(
    "moment",
    [
        "sys.modules['kanon_sql.results.writing'] = type(sys)('half')\n    stop()",
        "exec('stop()')",
        "atexit.register(stop)\n    stop()",
        "atexit.register(signal.raise_signal, signal.SIGHUP)\n    stop()",
    ],
    ids=["while a room is imported", "in a text", "again at the end", "another at the end"],
)
def test_a_signal_at_an_awkward_moment_ends_with_130(moment):
    program = STOPPED.format(
        room="cli.commands",
        step="selected",
        before=f"import atexit\n    {moment}",
        after="pass",
        name="SIGTERM",
        arguments="audit patients.csv --qi zip",
    )
    ended = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False
    )
    assert (ended.returncode, ended.stdout) == (130, ""), ended.stderr


def test_an_interrupt_that_is_lost_in_c_ends_with_130_all_the_same(tmp_path):
    lost = "class Lost:\n    def __del__(self):\n        stop()\nLost()"
    program = STOPPED.format(
        room="auditing.auditor",
        step="answered",
        before="pass",
        after=f"exec({lost!r}, globals())",
        name="SIGTERM",
        arguments="audit patients.csv --qi zip --k 1",
    )
    ended = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False
    )
    assert ended.returncode == 130
