"""Measures lineage of roles beside sqlglot's parser alone.

    python benchmarks/lineage.py                    500 made models, some seconds
    python benchmarks/lineage.py --queries 2000     and a longer trial of soundness with DuckDB
    python benchmarks/lineage.py --manifest FILE    compiled projects alone: how much can't be told

Writes its part of benchmarks/results.md. CPU seconds of one process.

Aims: 500 models of 1,500 characters in 5 s cold, and at most 2.6 times the parse plus 2.5 s; from
the cache at most 0.6 of that. No column that changes with an origin is said not to carry it. Of
100 models of a compiled project, lineage can't be told at its root in fewer than one.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import sqlglot
from run import publish

from kanon_sql.tracing.lineage import lineage_of

TESTS = Path(__file__).parent.parent / "tests"
sys.path.append(str(TESTS / "support"))
ROLES = {
    "patient_id": "entity",
    "email": "identifier",
    "zip": "quasi_identifier",
    "birth_date": "quasi_identifier",
    "sex": "quasi_identifier",
    "diagnosis": "sensitive",
}
SOURCES, PARENTS, MODELS = 20, 3, 500
CTE = (
    "{alias} as (\n  select patient_id, zip, lower(sex) as sex, birth_date, email, diagnosis,\n"
    "    amount, coalesce(status, 'none') as status, cast(created as timestamp) as created,\n"
    "    case when kind in ('a', 'b', 'c') then 1 else 0 end as kind\n"
    "  from {table}\n  where status is not null\n)"
)
BODY = """
joined as (
  select c0.patient_id, c0.zip, c1.sex, date_trunc('month', c0.birth_date) as birth_date, c0.email,
    c2.diagnosis, c0.amount + c1.amount as amount, c0.status, c1.kind, c2.created,
    row_number() over (partition by c0.patient_id order by c1.created desc) as nth,
    sum(c2.amount) over (partition by c0.zip) as amount_of_zip
  from c0
  left join c1 on c0.patient_id = c1.patient_id
  left join c2 on c1.patient_id = c2.patient_id and c2.status <> 'void'
),
final as (
  select patient_id, zip, sex, birth_date, email, max(diagnosis) as diagnosis,
    sum(amount) as amount, max(status) as status, max(kind) as kind, max(created) as created,
    count(*) as visits
  from joined where nth = 1 group by patient_id, zip, sex, birth_date, email
)
select * from final"""


def node(unique_id: str, relation: str, **more: Any) -> dict[str, Any]:
    name = unique_id.rpartition(".")[2]
    return {
        "unique_id": unique_id,
        "name": name,
        "package_name": "made",
        "original_file_path": f"models/{name}.sql",
        "relation_name": relation,
        **more,
    }


def made() -> dict[str, Any]:
    """A manifest of made models, each of three parents that came shortly before it."""
    chance = random.Random(3)
    columns = {
        name: {"config": {"meta": {"kanon_sql": {"role": role}}}} for name, role in ROLES.items()
    }
    sources = {
        f"source.made.raw.t{number}": node(
            f"source.made.raw.t{number}",
            f'"db"."raw"."t{number}"',
            resource_type="source",
            source_name="raw",
            columns=columns if number % 2 == 0 else {},
        )
        for number in range(SOURCES)
    }
    relations = {key: each["relation_name"] for key, each in sources.items()}
    nodes = {}
    for number in range(MODELS):
        parents = chance.sample(list(relations)[-60:], PARENTS)
        ctes = [
            CTE.format(alias=f"c{place}", table=relations[parent])
            for place, parent in enumerate(parents)
        ]
        key = f"model.made.m{number}"
        relations[key] = f'"db"."main"."m{number}"'
        nodes[key] = node(
            key,
            relations[key],
            resource_type="model",
            language="sql",
            columns={},
            config={"materialized": "table"},
            depends_on={"nodes": parents},
            compiled_code=f"with {', '.join(ctes)},{BODY}",
        )
    metadata = {"project_name": "made", "adapter_type": "duckdb"}
    return {"metadata": metadata, "nodes": nodes, "sources": sources}


def seconds(call: Any) -> float:
    began = time.process_time()
    call()
    return time.process_time() - began


def times() -> Iterator[str]:
    with tempfile.TemporaryDirectory() as folder:
        manifest, path = made(), Path(folder) / "manifest.json"
        path.write_text(json.dumps(manifest))
        texts = [each["compiled_code"] for each in manifest["nodes"].values()]
        parse = seconds(lambda: [sqlglot.parse(text, read="duckdb") for text in texts])
        cold = seconds(lambda: lineage_of(path))
        lineage_of(path, cache=folder)
        cached = seconds(lambda: lineage_of(path, cache=folder))
    yield "| models | characters each | parse alone | cold (aim) | from the cache (aim) |"
    yield "|---|---|---|---|---|"
    yield (
        f"| {MODELS} | {sum(map(len, texts)) // MODELS:,} | {parse:.2f} s "
        f"| {cold:.2f} s ({2.6 * parse + 2.5:.2f}) | {cached:.2f} s ({0.6 * cold:.2f}) |"
    )


def soundness(queries: int) -> Iterator[str]:
    from random_queries import tried_queries
    from soundness import missed

    tried = [*tried_queries(99, queries)]
    changed = sum(len(origins) for each in tried for origins in each.changed)
    lost = sum(len(missed(each)) for each in tried)
    yield "| random queries | columns that changed with an origin | missed (aim: 0) |"
    yield "|---|---|---|"
    yield f"| {queries:,} | {changed:,} | {lost} |"


NAMED = {
    "identifier": r"e?mail|ssn|phone|passport|(first|last|full)_?name|address",
    "quasi_identifier": r"birth|zip|postal|city|county|gender|sex\b|race|ethnic|\bage\b",
    "entity": r"(customer|user|patient|person|client|guest|member|employee|account)s?_?(id|key)$",
    "event": r"(_at|_date|_time|date)$",
    "sensitive": r"amount|price|salary|diagn|condition|score|rating|expense",
}
"""The names by which columns of the sources and seeds of a compiled project get roles."""


def with_roles(manifest: dict[str, Any]) -> dict[str, Any]:
    """A manifest whose sources and seeds have roles, by the names that the SQL has."""
    nodes = manifest["nodes"].values()
    sql = " ".join(str(each.get("compiled_code") or "").casefold() for each in nodes)
    columns = {}
    for word in sorted(set(re.findall(r"[a-z_]\w*", sql))):
        role = next((role for role, pattern in NAMED.items() if re.search(pattern, word)), None)
        if role:
            columns[word] = {"name": word, "config": {"meta": {"kanon_sql": {"role": role}}}}
    seeds = [each for each in nodes if each["resource_type"] == "seed"]
    for root in (*manifest["sources"].values(), *seeds):
        root["columns"] = columns
    return manifest


def projects(manifests: list[str]) -> Iterator[str]:
    heads = "project|adapter|models|columns|with a role|expose|can't tell (at the root)|cold"
    yield f"| {heads.replace('|', ' | ')} |"
    yield "|---" * 8 + "|"
    for file in manifests:
        manifest = with_roles(json.loads(Path(file).read_text()))
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "manifest.json"
            path.write_text(json.dumps(manifest))
            began = time.process_time()
            lineage = lineage_of(path).lineage
            cold = time.process_time() - began
        found = lineage.summary
        roots = {doubt.node for model in lineage.models for doubt in model.cant_tell}
        yield (
            f"| {lineage.project} | {lineage.dialect} | {found.models} | {found.columns:,} "
            f"| {found.with_role:,} | {found.exposed} | {found.cant_tell} ({len(roots)}) "
            f"| {cold:.1f} s |"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--queries", type=int, default=300)
    parser.add_argument("--manifest", nargs="+", metavar="FILE")
    options = parser.parse_args()
    timed = "CPU seconds of one process."
    sections = [("Beside the parser alone", times()), ("Soundness", soundness(options.queries))]
    if options.manifest:
        sections = [("Compiled projects", projects(options.manifest))]
        timed += " Every source and seed has roles, by the names of columns."
    publish("Lineage of roles", sections, timed)


if __name__ == "__main__":
    main()
