"""Where it is called from: a notebook, a thread, another process, one without a terminal."""

from __future__ import annotations

import asyncio
import importlib.util
import multiprocessing
import os
import pickle
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path

import nbclient
import nbformat
import pyarrow as pa
import pytest

import kanon_sql as kanon
from kanon_sql.auditing.result import AuditResult

PEOPLE = pa.table({"zip": ["02138", "02138", "02139"], "sex": ["F", "F", "M"]})
ASK = "kanon.{call}(pa.table({{'zip': ['02138', '02138', '02139']}}), ['zip']{more})"


@pytest.fixture
def kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A kernel of this Python, as VS Code starts one: with ipykernel and nothing besides."""
    folder = tmp_path / "kernels" / "plain"
    folder.mkdir(parents=True)
    launch = f'["{sys.executable}", "-m", "ipykernel_launcher", "-f", "{{connection_file}}"]'
    (folder / "kernel.json").write_text(f'{{"argv": {launch}, "display_name": "plain"}}')
    monkeypatch.setenv("JUPYTER_PATH", str(tmp_path))
    monkeypatch.setenv("JUPYTER_PLATFORM_DIRS", "1")
    return tmp_path


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")
def test_a_notebook_without_widgets(kernel: Path) -> None:
    assert importlib.util.find_spec("ipywidgets") is None, "then this test would test nothing"
    cells = [
        "import kanon_sql as kanon, pyarrow as pa\n" + ASK.format(call="audit", more=", k=2"),
        ASK.format(call="anonymize", more=", k=2, max_suppressed=1"),
        ASK.format(call="profile", more=""),
        "async def asked():\n    return " + ASK.format(call="audit", more=", timeout=60") + "\n"
        "print((await asked()).status)",
    ]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])

    nbclient.NotebookClient(
        notebook, timeout=120, kernel_name="plain", resources={"metadata": {"path": str(kernel)}}
    ).execute()

    [audit], [release], [profile], [printed] = (cell.outputs for cell in notebook.cells)
    assert "VIOLATED" in audit.data["text/plain"]
    assert "VIOLATED" in audit.data["text/html"]
    assert "holds" in release.data["text/plain"]
    assert "zip" in profile.data["text/html"]
    assert printed.text == "measured\n"


def test_a_prompt_shows_one_line() -> None:
    assert repr(kanon.audit(PEOPLE, ["zip"], k=2)) == (
        "<AuditResult violated: pyarrow.Table violated>"
    )
    assert (
        repr(kanon.profile(PEOPLE, ["zip"])) == "<ProfileResult measured: pyarrow.Table measured>"
    )


def asked(k: int) -> AuditResult:
    return kanon.audit(PEOPLE, ["zip"], k=k, timeout=60)


def misnamed(_: int) -> AuditResult:
    return kanon.audit(PEOPLE, ["zipcode"])


def test_threads_and_an_event_loop() -> None:
    async def waited() -> str:
        return (await asyncio.to_thread(asked, 2)).status

    with ThreadPoolExecutor(4) as pool:
        found = [result.status for result in pool.map(asked, [1, 2] * 4)]

    assert found == ["holds", "violated"] * 4
    assert asyncio.run(waited()) == "violated"


def test_a_process_that_is_spawned() -> None:
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        assert [result.status for result in pool.map(asked, [1, 2])] == ["holds", "violated"]
        with pytest.raises(kanon.SpecError, match='has no column "zipcode"'):
            list(pool.map(misnamed, [1]))


def test_what_is_sent_elsewhere_has_no_records() -> None:
    result = kanon.anonymize(PEOPLE, ["zip"], k=2, max_suppressed=1)
    sent = pickle.loads(pickle.dumps(result))

    assert sent.to_dict() == result.to_dict()
    assert sent.anonymization.views == ()
    assert b"02138" not in pickle.dumps(sent)
    with pytest.raises(kanon.InputError, match="call anonymize again"):
        sent.release.to_pandas()


def run(program: str, **more: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, **more
    )  # type: ignore[call-overload, no-any-return]


@pytest.fixture
def csv(tmp_path: Path) -> Path:
    path = tmp_path / "people.csv"
    path.write_text("zip,sex\n02138,F\n02138,F\n02139,M\n")
    return path


@pytest.mark.parametrize(("k", "exit_code"), [(1, 0), (2, 1)])
def test_no_streams_change_no_verdict(csv: Path, k: int, exit_code: int) -> None:
    done = run(
        "import sys; sys.stdin = sys.stdout = sys.stderr = None\n"
        "from kanon_sql.cli import main\n"
        f"main(['audit', {str(csv)!r}, '--qi', 'zip', '--k', '{k}'])"
    )

    assert (done.returncode, done.stdout) == (exit_code, "")


@pytest.mark.skipif(sys.platform == "win32", reason="Windows keeps a folder that is in use")
@pytest.mark.skipif(
    sys.version_info[:3] == (3, 13, 0), reason="Python 3.13.0 compiles nothing in such a folder"
)
def test_a_folder_that_is_gone(csv: Path, tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    done = run(
        f"import os; os.makedirs({str(gone)!r}); os.chdir({str(gone)!r}); os.rmdir({str(gone)!r})\n"
        "import kanon_sql as kanon\n"
        f"print(kanon.audit({str(csv)!r}, ['zip'], k=2).status)"
    )

    assert (done.stdout, done.stderr) == ("violated\n", "")


def test_nowhere_to_spill_to(monkeypatch: pytest.MonkeyPatch) -> None:
    def none() -> str:
        raise FileNotFoundError(2, "No usable temporary directory found")

    monkeypatch.setattr("tempfile.gettempdir", none)
    with pytest.raises(kanon.EngineError, match="TMPDIR"):
        asked(2)


def test_a_home_that_nobody_may_write(csv: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir(mode=0o500)
    done = run(
        f"import kanon_sql as kanon; print(kanon.audit({str(csv)!r}, ['zip'], k=2).status)",
        env={**os.environ, "HOME": str(home)},
    )

    assert (done.stdout, done.stderr, list(home.iterdir())) == ("violated\n", "", [])
