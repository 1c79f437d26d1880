"""Manifests as `dbt compile` writes them, from the models of a test."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

Case = Mapping[str, Any]
_REF = re.compile(r"\{\{ (\w+) \}\}")


def manifest(case: Case, sources: Mapping[str, Case] = {}) -> dict[str, Any]:
    """The manifest of a project whose models read `{{ name }}`: a model, or a table of `raw`."""
    tables = {**sources, **case.get("sources", {})}
    models = {model["name"]: model for model in case["models"]}
    ids = {name: f"source.shop.raw.{name}" for name in tables}
    ids |= {name: f"model.shop.{name}" for name in models}
    relations: dict[str, str | None] = {name: f'"db"."raw"."{name}"' for name in tables}
    relations |= {
        name: None if model.get("materialized") == "ephemeral" else f'"db"."main"."{name}"'
        for name, model in models.items()
    }
    nodes: dict[str, Any] = {}
    for name, model in models.items():
        nodes[ids[name]] = _model(model, models, relations, ids)
        for number, test in enumerate(model.get("tests", ())):
            node = _test(test, ids[name], ids, number)
            nodes[node["unique_id"]] = node
    return {
        "metadata": {"project_name": "shop", "adapter_type": case.get("dialect", "duckdb")},
        "nodes": nodes,
        "sources": {
            ids[name]: {
                "resource_type": "source",
                "unique_id": ids[name],
                "name": name,
                "source_name": "raw",
                "package_name": "shop",
                "original_file_path": "models/sources.yml",
                "relation_name": relations[name],
                "columns": _columns(columns),
            }
            for name, columns in tables.items()
        },
        "exposures": {
            name: {"name": name, "depends_on": {"nodes": [ids[each] for each in read]}}
            for name, read in case.get("exposures", {}).items()
        },
    }


def _columns(columns: Case) -> dict[str, Any]:
    """Columns by name; each has a role, none, or settings of its own."""
    found = {}
    for name, role in columns.items():
        settings = {"role": role} if isinstance(role, str) else dict(role or {})
        tags = settings.pop("tags", [])
        meta = {"kanon_sql": settings} if settings else {}
        found[name] = {"name": name, "tags": tags, "config": {"meta": meta}}
    return found


def _model(
    model: Case, models: Case, relations: Mapping[str, str | None], ids: Mapping[str, str]
) -> dict[str, Any]:
    name, sql = model["name"], model.get("sql")
    read = list(dict.fromkeys([*_REF.findall(sql or ""), *model.get("reads", ())]))
    is_python = model.get("language") == "python"
    has_sql = sql is not None and model.get("compiled", True)
    return {
        "resource_type": "model",
        "unique_id": ids[name],
        "name": name,
        "package_name": "shop",
        "language": model.get("language", "sql"),
        "original_file_path": f"models/{name}.{'py' if is_python else 'sql'}",
        "patch_path": "shop://models/schema.yml",
        "relation_name": relations[name],
        "columns": _columns(model.get("columns") or {}),
        "tags": [],
        "access": model.get("access", "protected"),
        "config": {
            "materialized": model.get("materialized", "table"),
            "meta": {"kanon_sql": model["meta"]} if model.get("meta") else {},
        },
        "depends_on": {"nodes": [ids[each] for each in read if each != name]},
        "compiled_code": _compiled(sql, models, relations) if has_sql else None,
    }


def _compiled(sql: str, models: Case, relations: Mapping[str, str | None]) -> str:
    """SQL with its relations, and with ephemeral models as CTEs before its own."""
    inlined: dict[str, str] = {}

    def inline(text: str) -> str:
        for name in dict.fromkeys(_REF.findall(text)):
            if relations[name] is None and name not in inlined:
                inlined[name] = inline(models[name]["sql"])
        return _REF.sub(lambda ref: relations[ref[1]] or f"__dbt__cte__{ref[1]}", text)

    own = inline(sql)
    if not inlined:
        return own
    ctes = ", ".join(f"__dbt__cte__{name} as (\n{text}\n)" for name, text in inlined.items())
    return f"with {ctes}, {own[5:]}" if own.startswith("with ") else f"with {ctes}\n{own}"


def _test(test: Case, tested: str, ids: Mapping[str, str], number: int) -> dict[str, Any]:
    upstream = [tested, *([ids[test["to"]]] if "to" in test else [])]
    unique_id = f"test.shop.{test['name']}_{tested.rpartition('.')[2]}_{number}"
    return {
        "resource_type": "test",
        "unique_id": unique_id,
        "name": unique_id.split(".")[2],
        "attached_node": tested,
        "config": {"severity": test.get("severity", "ERROR")},
        "depends_on": {"nodes": upstream},
        "test_metadata": {
            "name": test["name"],
            "namespace": test.get("namespace", "kanon_sql"),
            "kwargs": {"model": "{{ get_where_subquery(ref('it')) }}", **test["arguments"]},
        },
    }


def flows(column: Case) -> str:
    """What a column of a result carries, in the notation of the worked examples."""
    carried = (
        f"{each['role']} {each['how']} {','.join(short(each['from']))}"
        for each in column["carries"]
    )
    return ("; ".join(carried) or "-") + (" ?" if column["cant_tell"] else "")


def short(labels: Sequence[str]) -> list[str]:
    """Origins without the name of the source."""
    return [label.removeprefix("raw.") for label in labels]
