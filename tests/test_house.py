"""The house rules that a machine can keep: layers, lazy imports, names that are the same."""

from __future__ import annotations

import ast
import collections
import doctest
import functools
import importlib
import inspect
import os
import pkgutil
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import oracle
import oracle_cells
import pytest
import yaml
from jinja2 import Environment, meta
from links import tracked
from places import HOUSE, ROOT, TESTS
from pydantic import BaseModel
from rewrites import WITH_RULES, pairs_of
from schemas import faults
from warehouses import ENGINES

import kanon_sql
from kanon_sql.cli.option_kinds import PIPELINE_FORMATS
from kanon_sql.engines import SCHEMES, connect
from kanon_sql.engines.dbapi import DBAPI
from kanon_sql.engines.servers import SERVERS
from kanon_sql.models import FAMILIES
from kanon_sql.models.base import IN_WORDS, Model
from kanon_sql.models.catalogue import ALL_MODELS, CELL_MODELS, MODELS
from kanon_sql.report.words.check_phrases import has_phrases
from kanon_sql.sql import macros
from kanon_sql.sql.dialects import rules_of
from kanon_sql.sql.dialects.traits import TRAITS, Traits

RULE = (
    "errors files | question sql | plan engines results | report | auditing | anonymizing profiling"
    " tracing | api cli | assistant explore | __main__"
)
"""The packages from the ground up. One imports only what stands left of the bars around it."""

FLOORS = {
    package: floor for floor, packages in enumerate(RULE.split("|")) for package in packages.split()
}
FREE = {("files", "errors"), ("cli", "api"), ("cli", "assistant"), ("cli", "explore")}
"""Between the same bars only these know one another; a command opens the assistant's server, and
the local page."""

LAYER_OF_FILE = {
    **dict.fromkeys(("models", "base", "catalogue", "described", "examples", "risk"), "question"),
    **dict.fromkeys(("plan", "published_plan", "cell_question"), "plan"),
    "words": "report",
    **dict.fromkeys(("verdicts", "audit", "derivability", "open_cells", "estimates"), "auditing"),
    **dict.fromkeys(
        ("suppressed_cells", "whole_tables", "linear_programs", "cell_list"), "auditing"
    ),
}
"""The layer of every file of `models`: each family's room spans several."""


def layer(module: str) -> str:
    """The layer of a module: its package, in the rooms of models by its file's name."""
    _, package, *inner = module.split(".")
    if package != "models":
        return package
    return (
        "question"
        if inner in ([], *([family] for family in FAMILIES))
        else LAYER_OF_FILE[inner[-1]]
    )


MODULES = sorted(module.name for module in pkgutil.walk_packages(kanon_sql.__path__, "kanon_sql."))


def imported(file: Path, *, of: str, of_any_family: bool = True) -> set[str]:
    """What a file imports from a package: in functions, for type checkers and by name too. A part
    of a computed family may be that `of_any_family`."""
    found = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        match node:
            case ast.ImportFrom(module=str(module), level=0):
                names = [f"{module}.{alias.name}" for alias in node.names]
            case ast.Import():
                names = [alias.name for alias in node.names]
            case ast.Call(
                func=ast.Name("import_module" | "__import__") | ast.Attribute(attr="import_module"),
                args=[ast.Constant(str(name)), *_],
            ):
                names = [name]
            case ast.Call(func=ast.Name("family_part"), args=[ast.Constant(family), part]):
                names = [f"kanon_sql.models.{family}.{ast.literal_eval(part)}"]
            case ast.Call(func=ast.Name("family_part"), args=[_, ast.Constant(part)]) if (
                of_any_family
            ):
                names = [f"kanon_sql.models.{family}.{part}" for family in FAMILIES]
            case _:
                continue
        found |= {name for name in names if name.split(".")[0] == of}
    return found


def imported_rooms(module: str, *, of_any_family: bool = True) -> set[str]:
    """The modules of this package that a module imports."""
    file = Path(importlib.import_module(module).__file__ or "")
    names = imported(file, of="kanon_sql", of_any_family=of_any_family)
    return {
        name if name in MODULES else name.rpartition(".")[0]
        for name in names
        if name != "kanon_sql"
    } - {module}


@pytest.mark.parametrize("module", MODULES)
def test_a_package_imports_only_what_stands_left_of_it(module: str) -> None:
    own = layer(module)
    others = {layer(room) for room in imported_rooms(module)} - {own}

    assert {
        other for other in others if FLOORS[other] >= FLOORS[own] and (own, other) not in FREE
    } == set()


def test_no_modules_go_round_in_circles() -> None:
    above = {module: imported_rooms(module) for module in MODULES}
    while ground := [module for module, below in above.items() if not below & above.keys()]:
        for module in ground:
            del above[module]

    assert above == {}


@pytest.mark.parametrize("module", MODULES)
def test_a_file_is_one_idea(module: str) -> None:
    """Its docstring begins with one noun phrase: two ideas are two files."""
    phrase, *_ = (importlib.import_module(module).__doc__ or "").split("\n\n")

    assert phrase.endswith(".")
    assert not re.search(r"\band\b|\.\s", phrase)
    assert not re.match(r"\w+s (an?|the|its|one|each|every)\b", phrase), "a verb"


def _folder(module: str) -> Path:
    """The package that holds a module, or that a module is."""
    return Path(importlib.import_module(module).__file__ or "").parent


MOST_FLOORS = 9


def test_a_package_has_few_floors() -> None:
    """The longest chain of imports from file to file within one package."""
    inside = {
        module: {other for other in imported_rooms(module) if _folder(other) == _folder(module)}
        for module in MODULES
    }

    @functools.cache
    def floor(module: str) -> int:
        return 1 + max((floor(below) for below in inside[module]), default=0)

    assert {module for module in MODULES if floor(module) > MOST_FLOORS} == set()


SMALL = 60
SMALL_ON_PURPOSE = {
    "kanon_sql.auditing.families": "what the verdicts of a family must have, to build one by",
    "kanon_sql.engines.duckdb.export_casts": "the casts a release is written by, reviewed alone",
    "kanon_sql.engines.semantic_checks": "what every database must do, with its words in a file",
}
"""Files under 60 lines that one other file imports, each with its reason."""


def test_no_small_file_is_imported_by_one_other_alone() -> None:
    """But in the rooms of models, whose files are the layers."""
    importers = collections.Counter(below for module in MODULES for below in imported_rooms(module))
    small = {
        module
        for module in MODULES
        if importers[module] == 1
        and not module.startswith("kanon_sql.models.")
        and not hasattr(importlib.import_module(module), "__path__")
        and len(Path(importlib.import_module(module).__file__ or "").read_text().splitlines())
        < SMALL
    }

    assert small == set(SMALL_ON_PURPOSE)


SAME_NAME = {"MariaDB": "sqlglot registers a dialect by the name of its class"}


def test_a_public_class_has_a_name_of_its_own() -> None:
    classes = collections.Counter(
        node.name
        for file in HOUSE.rglob("*.py")
        for node in ast.parse(file.read_text(encoding="utf-8")).body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    )

    assert {name for name, times in classes.items() if times > 1} == set(SAME_NAME)


@pytest.mark.parametrize(
    ("package", "homes"),
    [
        ("duckdb", {"engines", "cli"}),
        ("sqlglot", {"engines", "sql"}),
        ("jinja2", {"report", "question", "sql"}),
        ("yaml", {"question"}),
        ("click", {"cli"}),
        ("mcp", {"assistant"}),
        ("mcp_types", {"assistant"}),
    ],
)
def test_a_dependency_is_known_to_few_packages(package: str, homes: set[str]) -> None:
    files = {file for file in HOUSE.rglob("*.py") if imported(file, of=package)}

    assert {file.relative_to(HOUSE).parts[0] for file in files} <= homes


ENGINE_NAMES = {*TRAITS, *SCHEMES}
"""Names of engines and dialects, and the schemes of their URLs."""
NAMED_ELSEWHERE = {
    "auditing/datasets.py": "what OpenLineage calls the namespaces of databases",
    "auditing/contract.py": "what contracts (ODCS) call the types of servers",
    "question/contract.py": "what contracts (ODCS) call the types of servers",
    "question/dbt/project.py": "what dbt calls its adapters",
    "files.py": "the schemes of URLs that name a database file",
    "sql/quoting.py": "the dialect that templates are written in",
    "sql/flows.py": "the scopes of aliases in the SQL of others, which is only read",
    "sql/expression_flows.py": "which of two names comes first in the SQL of others",
    "sql/macros.py": "the folders of templates",
}
"""Files that name engines in the words of another format, each with its reason."""


def test_engines_are_named_in_engines_alone() -> None:
    """A difference between databases is a trait of a dialect or a method of an engine."""
    naming = set()
    for file in HOUSE.rglob("*.py"):
        name = file.relative_to(HOUSE).as_posix()
        if name.startswith(("engines/", "sql/dialects/")):
            continue
        tree = ast.parse(file.read_text(encoding="utf-8"))
        literals = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)}
        naming |= {name} if literals & ENGINE_NAMES else set()

    assert naming == set(NAMED_ELSEWHERE)


OPTIONAL = {
    "assistant": {"cli.commands"},
    "explore": {"cli.commands"},
    "question.contract": {"", "assistant.server", "auditing.contract", "cli.question"},
    "question.dbt": {
        *("cli.question", "question.contract"),
        *("anonymizing.release.delivery", "anonymizing.release.options"),
        *("tracing.exposure", "tracing.inherited", "tracing.project", "tracing.lineage"),
    },
    "auditing.contract": {"cli.commands"},
    "auditing.worksheet": {"cli.commands"},
    "report.pipelines": {
        *("auditing.contract", "cli.commands", "cli.output", "cli.manual", "report.lineage"),
    },
}
"""The optional parts, each with those that may import it: the registry of commands, the readers of
targets and of forms, and the formats that one is made of."""


@pytest.mark.parametrize("part", OPTIONAL)
def test_an_optional_part_is_behind_its_door(part: str) -> None:
    def is_inside(module: str) -> bool:
        return f"{module}.".startswith(f"kanon_sql.{part}.")

    outside = {module for module in MODULES if not is_inside(module)} | {"kanon_sql"}
    importers = {
        module.removeprefix("kanon_sql").removeprefix(".")
        for module in outside
        if any(is_inside(each) for each in imported_rooms(module))
    }

    assert importers - OPTIONAL[part] == set()


OWN_ROOMS = {"earlier", "events", "synthetic", "cells"}
"""The families that the core knows by the registry alone, but for these:"""
NEIGHBOURS = {
    "events": {
        "profiling.profiler": "the curve of known events in a profile",
        **dict.fromkeys(
            ("report.audit", "report.profile", "report.charts", "report.signed.figures"),
            "the blocks, the chart and the page of that curve",
        ),
        "report.words.tables": "the heading of a table with events",
    },
    "synthetic": {
        "report.audit": "the block of attackers on a synthetic table",
        "report.charts": "the intervals of the comparison with a holdout",
        "report.words.tables": "the heading of a synthetic table, and what its figures leave out",
        **dict.fromkeys(
            ("report.signed.figures", "report.signed.scope"), "the section on what it was made from"
        ),
    },
    "earlier": {
        "anonymizing.violating_classes": "what can't be suppressed class by class",
    },
    "cells": {},
}


@pytest.mark.parametrize("family", sorted(OWN_ROOMS))
def test_a_family_is_named_in_its_room(family: str) -> None:
    room = f"kanon_sql.models.{family}"
    importers = {
        module.removeprefix("kanon_sql.")
        for module in MODULES
        if not module.startswith(room)
        and module not in ("kanon_sql.models", "kanon_sql.models.catalogue")
        and any(each.startswith(room) for each in imported_rooms(module, of_any_family=False))
    }

    assert importers == set(NEIGHBOURS[family])


IN_SHORT = "k, l, t and k-map, which have arguments of their own"
NAMED_OUTSIDE = {
    **dict.fromkeys(
        ("cli/question.py", "cli/cells_question.py", "question/arguments.py"),
        f"{IN_SHORT}; dominance too",
    ),
    **dict.fromkeys(("question/dbt/manifest.py", "question/dbt/node.py"), IN_SHORT),
    **dict.fromkeys(("explore", "anonymizing/look.py"), IN_SHORT),
    **dict.fromkeys(
        (
            *("anonymizing/tradeoff.py", "anonymizing/violating_classes.py"),
            "anonymizing/release/release_job.py",
            *("anonymizing/search/table_constraints.py", "question/policy.py"),
        ),
        "the k that a release must have, and what else asks for a class size",
    ),
    **dict.fromkeys(
        ("profiling/profile_plan.py", "report/words/tables.py"),
        "the classes of a table, which are those of k-anonymity",
    ),
    **dict.fromkeys(
        ("results/table.py", "results/compared.py", "assistant/figures.py", "plan/check_sql.py"),
        "homogeneity, which is measured beside every check",
    ),
    "auditing/warnings.py": "l-diversity, which an advice on homogeneity names",
    **dict.fromkeys(
        ("profiling/identifying.py", "profiling/profiler.py"), "the curve of known events"
    ),
    "results/confidential.py": "the rules of a published table",
    **dict.fromkeys(
        ("results/cells.py", "results/schema.py", "question/question_parts.py"),
        "a key of the result or the spec that is called as a rule",
    ),
    "report/release.py": "why no coarser level meets composed k-anonymity",
    **dict.fromkeys(("tracing/exposure.py", "tracing/people.py"), "the test that it proposes"),
}
"""Files outside the rooms that name a model, each with its reason. What else
is known of a model is a variable of its class."""


def test_a_model_is_named_in_its_room() -> None:
    naming = set()
    for file in HOUSE.rglob("*.py"):
        name = file.relative_to(HOUSE).as_posix()
        if name.startswith("models/") or name == "__init__.py":
            continue
        nodes = [*ast.walk(ast.parse(file.read_text(encoding="utf-8")))]
        literals = {node.value for node in nodes if isinstance(node, ast.Constant)}
        imports = {node.name for node in nodes if isinstance(node, ast.alias)}
        classes = {model.__name__ for model in ALL_MODELS.values()}
        if literals & ALL_MODELS.keys() or imports & classes:
            naming.add("explore" if "explore" in name else name)

    assert naming == set(NAMED_OUTSIDE)


def test_every_package_says_what_it_is_in_one_sentence() -> None:
    packages = [
        module for module in MODULES if hasattr(importlib.import_module(module), "__path__")
    ]
    words = {package: importlib.import_module(package).__doc__ or "" for package in packages}

    assert [package for package, text in words.items() if not text.strip().endswith(".")] == []


def test_importing_the_package_loads_nothing_heavy() -> None:
    heavy = ["duckdb", "sqlglot", "pydantic", "jinja2", "rich", "click", "yaml", "pyarrow"]
    code = f"import kanon_sql, sys; print([m for m in {heavy} if m in sys.modules])"

    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert run.stdout == "[]\n"


def test_an_audit_loads_the_families_that_it_asks_about(tmp_path: Path) -> None:
    """And those that the plan of classes is made of."""
    (tmp_path / "people.csv").write_text("zip\n0213\n0213\n")
    code = (
        "import sys; from kanon_sql.cli import main; "
        "main(['audit', 'people.csv', '--qi', 'zip', '--k', '2'], standalone_mode=False); "
        f"print([f for f in {[*FAMILIES]} if f'kanon_sql.models.{{f}}.models' in sys.modules])"
    )

    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path
    )

    assert run.stdout.splitlines()[-1] == "['sizes', 'values']"


def test_no_annotation_of_a_pydantic_model_is_a_text() -> None:
    """Each would be evaluated when its module is imported, which takes most of the import."""
    kinds = [kind for module in MODULES for kind in vars(importlib.import_module(module)).values()]
    models = {kind for kind in kinds if isinstance(kind, type) and issubclass(kind, BaseModel)}
    own = {model for model in models if model.__module__.startswith("kanon_sql.")}

    assert {
        model.__name__
        for model in own
        if any(isinstance(kind, str) for kind in vars(model).get("__annotations__", {}).values())
    } == set()


def test_every_public_name_can_be_had() -> None:
    assert [name for name in kanon_sql.__all__ if not hasattr(kanon_sql, name)] == []


@pytest.mark.parametrize("module", MODULES)
def test_what_is_public_says_what_it_means(module: str) -> None:
    room = importlib.import_module(module)
    public = {
        name: member
        for name, member in vars(room).items()
        if not name.startswith("_")
        and getattr(member, "__module__", None) == module
        and (inspect.isclass(member) or inspect.isfunction(member))
    }

    assert room.__doc__
    if module.endswith(".models") or module.removeprefix("kanon_sql.").startswith(
        (
            "api",
            "errors",
            "models.base",
            "question.spec",
            "question.table",
            "results.check",
            "results.table",
            "results.tabular",
            "auditing.auditor",
        )
    ):
        assert [name for name, member in public.items() if not _own_docstring(member)] == []


SPOKEN_ABOUT = r"(asked|told|said|spoken|beside|demanded|wanted|nobody|somebody)"
"""Words of narration, where the field has a term: requested, printed, label, other, required."""
IN_TERMS = ("api", "errors", "files", "sql", "engines", "results")
"""The packages whose public functions are named and described in the field's terms."""


@pytest.mark.parametrize("module", [each for each in MODULES if each.split(".")[1] in IN_TERMS])
def test_what_is_public_is_named_in_terms_of_the_field(module: str) -> None:
    """Names of classes, functions and parameters, and the first lines of their docstrings."""
    tree = ast.parse(Path(importlib.import_module(module).__file__ or "").read_text("utf-8"))
    narrated = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef | ast.FunctionDef) and not node.name.startswith("_"):
            inner = ast.walk(node.args) if isinstance(node, ast.FunctionDef) else ()
            names = [each.arg for each in inner if isinstance(each, ast.arg)]
            words = [word for name in (node.name, *names) for word in name.lower().split("_")]
            first_line = (ast.get_docstring(node) or "").partition("\n")[0]
            if re.search(rf"\b{SPOKEN_ABOUT}\b", f"{' '.join(words)} {first_line}"):
                narrated.add(node.name)

    assert narrated == set()


def _own_docstring(member: object) -> str | None:
    """The docstring, where it is not the one that a dataclass makes; a model has its promise."""
    text = member.__dict__.get("__doc__") if inspect.isclass(member) else member.__doc__
    text = text or getattr(member, "promise", None)
    return None if text and text.startswith(f"{getattr(member, '__name__', '')}(") else text


@pytest.mark.parametrize("module", MODULES)
def test_its_examples_run(module: str) -> None:
    assert doctest.testmod(importlib.import_module(module)).failed == 0


# --- a model has one name ----------------------------------------------------------------


DOCUMENTED = "conformance/test_dbt.py -k documents"
OWN_STATEMENTS = "auditing/test_check_statement.py -k text"


def written_by(tests: str) -> str:
    """How a text that is generated is written."""
    return f"; written by KANON_SQL_UPDATE_GOLDEN=1 .venv/bin/python -m pytest tests/{tests}"


def test_every_family_is_a_room_with_models() -> None:
    rooms = {file.parent.name for file in (HOUSE / "models").glob("*/__init__.py")}

    assert rooms == {*FAMILIES} == {model.family for model in ALL_MODELS.values()}


@pytest.mark.parametrize("name", MODELS)
def test_nothing_of_a_model_is_missing(name: str) -> None:
    """What the checklist at the top of the catalogue lists, by where it belongs."""
    model = MODELS[name]
    family = importlib.import_module(model.__module__)
    macro_file = macros.folder() / "macros" / "shared" / f"{name}.sql"
    macro = macro_file.read_text(encoding="utf-8") if macro_file.exists() else ""
    own_macro = rf"{{% macro {name}(_failures)?\("
    documented = (macros.folder() / "macros" / "_macros.yml").read_text(encoding="utf-8")
    index = (ROOT / "kanon_sql/report/pages/README.md").read_text(encoding="utf-8")
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    measured = (TESTS / "models" / "homogeneity.yml").read_text(encoding="utf-8")
    family_sql = (TESTS / "golden/duckdb/whole_family.sql").read_text(encoding="utf-8")
    in_dbt = (TESTS / "dbt_project" / "models" / "tests.yml").read_text(encoding="utf-8")
    is_measured = model.family == "values" and not any(
        each.is_required() for each in model.model_fields.values()
    )
    missing = {
        f"{family.__name__}: {model.__name__} in __all__": model.__name__ not in family.__all__,
        **{
            f"kanon_sql/models/{file}: {each} of {name}": not getattr(model, each, None)
            for each, file in DECLARED.items()
        },
        f"{family.__name__}: thresholds and worst of {model.__name__}": not (
            hasattr(model, "thresholds") and hasattr(model, "worst")
        ),
        f"{family.__name__}: the words of {model.__name__}": not has_phrases(name),
        f"templates/macros/shared/{name}.sql": not (
            not model.in_one_statement or re.search(own_macro, macro)
        ),
        f"templates/macros/shared/{name}.sql: its dbt test": not (
            not model.in_one_statement or f"{{% test {name}(" in macro
        ),
        f"tests/models/{name}.yml": not (TESTS / "models" / f"{name}.yml").exists(),
        f"tests/models/homogeneity.yml: a line of model: {name} in measured-unasked": (
            is_measured and f"model: {name}," not in measured
        ),
        f"tests/support/oracle.py: {name}": name not in oracle.MODELS,
        f"tests/dbt_project/models/tests.yml: kanon_sql.{name} that holds and that fails": not (
            not model.in_one_statement or in_dbt.count(f"kanon_sql.{name}:") >= 2
        ),
        f"README.md: its row{written_by('test_house.py')}": f"\n| `{name}` |" not in readme,
        f"kanon_sql/report/pages/README.md: its row{written_by('test_readme.py -k index')}": (
            f"\n| `{name}` |" not in index
        ),
        f"templates/macros/_macros.yml: its dbt test{written_by(DOCUMENTED)}": not (
            not model.in_one_statement or f"- name: test_{name}\n" in documented
        ),
        f"tests/golden/duckdb/own_statements/{name}.sql{written_by(OWN_STATEMENTS)}": not (
            not model.in_one_statement
            or (TESTS / "golden" / "duckdb" / "own_statements" / f"{name}.sql").exists()
        ),
        f"tests/golden/duckdb/whole_family.sql{written_by('plan/test_golden_sql.py')}": (
            is_measured
            and not model.of_numbers
            and not model.counts_violations
            and f"kanon_{name}" not in family_sql
        ),
    }

    lacking = [each for each, is_missing in missing.items() if is_missing]
    assert not lacking, "\n".join([f"missing of {name}:", *lacking])


DECLARED = {
    **dict.fromkeys(("title", "promise", "formula", "limitation", "source"), "models.toml"),
    **dict.fromkeys(("asked_as", "holds_when"), "models.toml"),
    "example": "examples.toml",
}
"""What a model says of itself, and where."""


WITHOUT_A_MACRO = {"derivable"}
"""Models of cells that are computed step by step in the embedded DuckDB."""


@pytest.mark.parametrize("name", CELL_MODELS)
def test_nothing_of_a_model_of_cells_is_missing(name: str) -> None:
    model = CELL_MODELS[name]
    macro_file = macros.folder() / "macros" / "shared" / f"{name}.sql"
    macro = macro_file.read_text(encoding="utf-8") if macro_file.exists() else ""
    examples = (TESTS / "cells" / "worked_examples.json").read_text(encoding="utf-8")

    assert [each for each in DECLARED if not getattr(model, each, None)] == []
    assert model.__name__ in importlib.import_module(model.__module__).__all__
    assert has_phrases(name)
    assert name in WITHOUT_A_MACRO or f"{{% macro {name}(" in macro
    assert name in WITHOUT_A_MACRO | {"rounded"} or hasattr(oracle_cells, name)
    assert f'"{name}"' in examples or name == "rounded"


def test_nothing_is_left_of_a_model_that_is_gone() -> None:
    examples = {file.stem for file in (TESTS / "models").glob("*.yml")}

    assert set(MODELS) == set(oracle.MODELS) == examples


def test_the_readme_lists_every_model() -> None:
    """The rows are the models' own words; KANON_SQL_UPDATE_GOLDEN=1 writes them anew."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    head = "| model | asked as | holds when |\n|---|---|---|\n"
    above, _, below = readme.partition(head)
    rows = "".join(
        f"| `{name}` | `{model.asked_as}` | {model.holds_when} |\n"
        for name, model in ALL_MODELS.items()
    )
    _, _, rest = below.partition("\n\n")
    expected = f"{above}{head}{rows}\n{rest}"
    if os.environ.get("KANON_SQL_UPDATE_GOLDEN"):
        (ROOT / "README.md").write_text(expected, encoding="utf-8")
        readme = expected

    assert readme == expected


@pytest.mark.parametrize("dialect", WITH_RULES)
def test_every_rewrite_rule_has_a_pair(dialect: str) -> None:
    rules = {node.__name__ for node in rules_of(dialect)}
    pairs = {pair.rule for pair in pairs_of(dialect)}

    assert pairs == rules, f"pairs in tests/sql/rewrites/{dialect}.sql"


def test_every_macro_file_opens_with_what_it_computes() -> None:
    files = (macros.folder() / "macros" / "shared").glob("*.sql")

    assert {file.read_text(encoding="utf-8")[:3] for file in files} == {"{#\n"}


@pytest.mark.parametrize(
    "file", sorted((macros.folder() / "macros" / "shared").glob("*.sql")), ids=lambda f: f.stem
)
def test_macros_keep_to_the_jinja_that_both_hosts_have(file: Path) -> None:
    """The test of a model stands below its macros, and is dbt's alone."""
    text = re.sub(r"\{#.*?#\}", "", file.read_text(encoding="utf-8"), flags=re.DOTALL)
    text = re.sub(r"\{% test .*?endtest -?%\}", "", text, flags=re.DOTALL)
    outside = re.sub(r"\{%-? macro .*?endmacro -?%\}", "", text, flags=re.DOTALL)
    of_dbt = r"\b(ref|var|config|adapter|target|exceptions|log|run_query)\("

    assert outside.strip() == ""
    assert re.findall(r"\{%\+|\{\{\+|\{% ?do ", text) == []
    assert re.findall(rf"\{{[%{{](?:(?![%}}]\}}).)*{of_dbt}", text) == []


def test_no_macro_is_hidden_by_a_method_of_the_namespace() -> None:
    """In dbt the namespace is a dict: `kanon_sql.keys` would be its method."""
    assert set(dir({})) & {*macros.macro_names(), *macros.HOST} == set()


@pytest.mark.parametrize("model", MODELS)
def test_every_worked_example_has_a_name_of_its_own_and_is_cited(model: str) -> None:
    file = TESTS / "models" / f"{model}.yml"
    examples = yaml.safe_load(file.read_text(encoding="utf-8"))
    ids = [each["id"] for each in examples]

    assert sorted(ids) == sorted(set(ids))
    assert [each["id"] for each in examples if not (each["source"] and each["note"])] == []


def test_every_macro_knows_the_names_that_it_uses() -> None:
    """A macro is compiled alone, and finds the others of its file, `kanon_sql` and `return`."""
    environment = Environment(trim_blocks=True, lstrip_blocks=True)
    sources = macros._sources()
    unknown = {
        name: meta.find_undeclared_variables(environment.parse(source.text))
        - {"kanon_sql", "return", *environment.globals}
        - {other for other, each in sources.items() if each.path == source.path}
        # What only some branches set is taken for unknown.
        - set(re.findall(r"{%-? *set (\w+)", source.text))
        for name, source in sources.items()
    }
    written = sum(
        len(re.findall(r"{%-? *macro ", source.read_text(encoding="utf-8")))
        for source in {each.path for each in sources.values()}
    )

    assert {name: names for name, names in unknown.items() if names} == {}
    assert len(sources) == written


# --- an engine too -----------------------------------------------------------------------


@pytest.mark.parametrize("scheme", SCHEMES)
def test_nothing_of_an_engine_is_missing(scheme: str) -> None:
    """What the checklist at the top of `kanon_sql.engines` lists, by where it belongs."""
    room, name = SCHEMES[scheme]
    engine = getattr(importlib.import_module(f"kanon_sql.engines.{room}"), name)
    traits = TRAITS.get(engine.dialect, Traits())
    rules = HOUSE / "sql" / "dialects" / f"{traits.like or engine.dialect}.py"
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    is_embedded = traits.embedded
    schemes = [each for each, place in SCHEMES.items() if place == SCHEMES[scheme]]
    title = getattr(engine, "title", "") or name.removesuffix("Engine")
    page = (HOUSE / "report" / "pages" / "warehouses.md").read_text(encoding="utf-8")
    in_dialects = (TESTS / "sql" / "test_dialects.py").read_text(encoding="utf-8")
    in_connect = (TESTS / "engines" / "test_connect.py").read_text(encoding="utf-8")
    missing = {
        "engines/servers.py: SERVERS": issubclass(engine, DBAPI) and engine not in SERVERS,
        f"engines/__init__.py: {scheme}: in the words of connect": not any(
            f"`{each}:" in (connect.__doc__ or "") for each in schemes
        ),
        f"report/pages/warehouses.md: {title}": title not in page,
        f"tests/sql/test_dialects.py: LACKING of {engine.dialect}": not (
            is_embedded or f'    "{engine.dialect}": ' in in_dialects
        ),
        f"tests/support/warehouses.py: {engine.dialect}, or tests/engines/test_connect.py: URLS": (
            not is_embedded
            and engine.dialect not in ENGINES
            and f'    "{scheme}": f"{scheme}:' not in in_connect
            and f'    "{scheme}": "{scheme}:' not in in_connect
        ),
        f"sql/dialects/traits.py: TRAITS of {engine.dialect}": engine.dialect not in TRAITS,
        f"sql/dialects/{engine.dialect}.py": not (is_embedded or rules.exists()),
        f"tests/golden/{engine.dialect}": not (TESTS / "golden" / engine.dialect).is_dir(),
        f"pyproject.toml: the extra {engine.name}": not (
            is_embedded
            or getattr(engine, "driver", "") in sys.stdlib_module_names
            or engine.name in project["optional-dependencies"]
        ),
    }

    lacking = [each for each, is_missing in missing.items() if is_missing]
    assert not lacking, "\n".join([f"missing of {scheme}:", *lacking])


def test_the_dialects_that_tests_run_are_those_of_engines_that_they_start() -> None:
    executed = {dialect for dialect, traits in TRAITS.items() if traits.executed}

    assert executed == {"duckdb", *ENGINES}


@pytest.mark.parametrize("form", PIPELINE_FORMATS)
def test_nothing_of_an_output_format_is_missing(form: str) -> None:
    """What `.github/ARCHITECTURE.md` lists, by where it belongs."""
    room = HOUSE / "report" / "pipelines" / f"{form}.py"
    page = (HOUSE / "report" / "pages" / "pipelines.md").read_text(encoding="utf-8")
    privacy = (TESTS / "test_privacy.py").read_text(encoding="utf-8")
    missing = {
        f"kanon_sql/report/pipelines/{form}.py: render": not (
            room.exists() and "def render(" in room.read_text(encoding="utf-8")
        ),
        f"tests/reports/pipeline.{form}": not list((TESTS / "reports").glob(f"pipeline.{form}*")),
        f"tests/test_privacy.py: {form} in FORMATS": f'"{form}"' not in privacy,
        f"kanon_sql/report/pages/pipelines.md: `{form}`": f"`{form}`" not in page,
    }

    lacking = [each for each, is_missing in missing.items() if is_missing]
    assert not lacking, "\n".join([f"missing of {form}:", *lacking])


# --- and what the code host reads ----------------------------------------------------------

FORGE = ROOT / ".github"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
SCHEMAS = {
    **{
        f".github/ISSUE_TEMPLATE/{each.name}": "vendor.github-issue-forms"
        for each in sorted((FORGE / "ISSUE_TEMPLATE").glob("*.yml"))
        if each.stem != "config"
    },
    ".github/ISSUE_TEMPLATE/config.yml": "vendor.github-issue-config",
    **{
        f".github/workflows/{each.name}": "vendor.github-workflows"
        for each in sorted((FORGE / "workflows").iterdir())
    },
    ".github/dependabot.yml": "vendor.dependabot",
    "CITATION.cff": "vendor.citation-file-format",
}


def test_what_a_code_host_looks_for_is_there() -> None:
    """And every form is checked against its schema."""
    forms = {f".github/ISSUE_TEMPLATE/{each}.yml" for each in ("bug", "wrong-figure", "source")}
    pages = ("ARCHITECTURE", "CONTRIBUTING", "PULL_REQUEST_TEMPLATE", "SECURITY")

    assert forms <= set(SCHEMAS)
    assert {".github/workflows/gate.yml", ".github/workflows/canary.yml"} <= set(SCHEMAS)
    assert [each for each in pages if not (FORGE / f"{each}.md").exists()] == []


@pytest.mark.parametrize("name", SCHEMAS)
def test_a_file_for_the_code_host_fits_its_schema(name: str) -> None:
    assert faults(ROOT / name, SCHEMAS[name]) == ""


@pytest.mark.parametrize("name", ["gate", "canary"])
def test_a_workflow_reads_only_and_has_a_time_limit(name: str) -> None:
    file = FORGE / "workflows" / f"{name}.yml"
    workflow = yaml.safe_load(file.read_text(encoding="utf-8"))

    assert workflow["permissions"] == {"contents": "read"}
    assert faults(file, "custom.github-workflows-require-timeout") == ""


def test_the_gate_runs_on_every_python_that_is_supported() -> None:
    workflow = yaml.safe_load((FORGE / "workflows" / "gate.yml").read_text(encoding="utf-8"))
    [job] = workflow["jobs"].values()
    classified = [
        each.removeprefix("Programming Language :: Python :: ")
        for each in PROJECT["classifiers"]
        if each.startswith("Programming Language :: Python :: 3.")
    ]

    assert job["strategy"]["matrix"]["python"] == classified
    assert PROJECT["requires-python"] == f">={classified[0]}"
    assert job["steps"][-1] == {"run": ".ci/run"}


def test_the_canary_takes_the_pre_release_of_duckdb() -> None:
    workflow = yaml.safe_load((FORGE / "workflows" / "canary.yml").read_text(encoding="utf-8"))
    steps = " ".join(step.get("run", "") for step in workflow["jobs"]["duckdb"]["steps"])

    assert "pip install --pre --upgrade duckdb" in steps
    assert "-m pytest" in steps
    # PyYAML reads the key `on` as true.
    assert workflow[True]["schedule"]


def test_versions_are_those_of_the_project() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    security = (FORGE / "SECURITY.md").read_text(encoding="utf-8")

    assert citation["version"] == PROJECT["version"]
    assert citation["license"] == PROJECT["license"]
    assert citation["authors"] == [{"name": "The kanon-sql contributors"}]
    assert f"| {PROJECT['version'].rpartition('.')[0]} | yes |" in security


def test_what_is_asked_before_a_commit_is_run_by_the_gate() -> None:
    contributing = (FORGE / "CONTRIBUTING.md").read_text(encoding="utf-8")
    gate = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    [block] = re.findall(r"^```sh\n(.*?)^```$", contributing, re.MULTILINE | re.DOTALL)

    assert contributing.partition(block)[0].endswith("## Before a commit\n\n```sh\n")
    assert 'section "Before a commit" .github/CONTRIBUTING.md |' in gate
    assert {"ruff", "mypy", "pytest"} <= set(re.findall(r"-m (\w+)", block))


ARCHITECTURE = (FORGE / "ARCHITECTURE.md").read_text(encoding="utf-8")


def test_every_path_that_the_architecture_names_exists() -> None:
    named = re.findall(r"`([\w./-]+/|[\w./-]*/[\w./-]+|[\w-]+\.(?:md|py|toml))`", ARCHITECTURE)

    assert len(named) > 40
    assert [each for each in named if not (ROOT / each).exists()] == []


def test_the_layers_of_the_architecture_are_those_that_are_enforced() -> None:
    assert f"```layers\n{RULE}\n```" in ARCHITECTURE


def test_every_word_in_a_data_file_is_read() -> None:
    """A key with a slip of the pen would be passed over, or be missed in a report alone."""
    code = "\n".join(file.read_text(encoding="utf-8") for file in HOUSE.rglob("*.py"))
    words = tomllib.loads((HOUSE / "report/words/wording.toml").read_text(encoding="utf-8"))
    names = [*words, *words["sentences"], *words["shown"], *words["attackers"]]
    numbered = [re.sub(r"_\d$", "_{m}", name) for name in names]
    unread = [name for name in numbered if not re.search(f"""["']{re.escape(name)}["']""", code)]
    unknown = [
        f"{name}.{key}"
        for name, parts in IN_WORDS.items()
        for key in parts
        if name not in ALL_MODELS or key not in Model.__annotations__
    ]

    assert not unread
    assert not unknown


def test_neither_wheel_nor_top_level_grows() -> None:
    build = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["hatch"]
    names = {each.partition("/")[0] for each in tracked()}

    assert build["build"]["targets"]["wheel"]["packages"] == ["kanon_sql"]
    assert {each for each in names if not each.startswith(".")} == {
        "CHANGELOG.md", "CITATION.cff", "LICENSE", "README.md", "benchmarks", "kanon_sql",
        "pyproject.toml", "templates", "tests",
    }  # fmt: skip
