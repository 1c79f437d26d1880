"""Sparks for tests: one session in this process, and whole clusters beside it."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import urlopen

from java import java_home

FLAGS = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xshare:auto"
"""Java for programs that live for seconds. Its second compiler, which optimises, would take more
time than it saves."""
LASTING = f"{FLAGS} -XX:ReservedCodeCacheSize=256m -XX:MetaspaceSize=400m -Xmn512m"
"""And for the session of this process, which compiles thousands of plans: room for their code, so
that none is thrown away and compiled again."""

PLAIN = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.cache.maxEntries": "10000",
    "spark.driver.memory": "2g",
}
"""A dozen records take less time than Java to be compiled for them; clusters do as they are used
to."""


def environment() -> dict[str, str]:
    """What a Spark process needs to find Java, start soon, and be seen by this machine alone."""
    return {
        "JAVA_HOME": str(java_home()),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_SUBMIT_OPTS": FLAGS,
        "SPARK_DAEMON_JAVA_OPTS": FLAGS,
    }


@cache
def local_spark() -> Any:
    """The session of this process, set as someone would have it who wants to be audited."""
    os.environ.update(environment() | {"SPARK_SUBMIT_OPTS": LASTING})
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="PySpark does not yet fully support pandas")
        from pyspark.sql import SparkSession

        builder = SparkSession.builder.master("local[2]")
        for name, value in {
            "spark.ui.enabled": "false",
            "spark.ui.showConsoleProgress": "false",
            "spark.log.level": "OFF",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.sql.catalogImplementation": "in-memory",
            "spark.sql.session.timeZone": "UTC",
            "spark.sql.timestampType": "TIMESTAMP_NTZ",
            "spark.sql.shuffle.partitions": "1",
            **PLAIN,
        }.items():
            builder = builder.config(name, value)
        return builder.getOrCreate()


@dataclass(frozen=True)
class Cluster:
    """A master with two workers."""

    url: str
    page: str
    settings: Path
    """The SPARK_CONF_DIR of its users, whose executors start as soon as it did."""

    def state(self) -> dict[str, Any]:
        with urlopen(self.page) as answer:
            found: dict[str, Any] = json.load(answer)
            return found

    def applications(self) -> list[dict[str, Any]]:
        """Those that have ended, the last one last."""
        ended: list[dict[str, Any]] = self.state()["completedapps"]
        return sorted(ended, key=lambda application: application["starttime"])

    def is_complete(self) -> bool:
        with suppress(HTTPError, ValueError):  # the page is there before what it shows
            return int(self.state()["aliveworkers"]) == 2
        return False


@contextmanager
def cluster_in(folder: Path) -> Iterator[Cluster]:
    port, page = free_port(), free_port()
    settings = folder / "conf"
    settings.mkdir()
    (settings / "spark-defaults.conf").write_text(f"spark.executor.extraJavaOptions {FLAGS}\n")
    started = Cluster(f"spark://127.0.0.1:{port}", f"http://127.0.0.1:{page}/json/", settings)
    with ExitStack() as running:
        deploy = "org.apache.spark.deploy"
        own = ["--host", "127.0.0.1", "--port", str(port), "--webui-port", str(page)]
        running.enter_context(java_program(folder, f"{deploy}.master.Master", *own))
        until(lambda: listens(port))
        for worker in ("one", "two"):
            own = ["-c", "1", "-m", "1g", "--webui-port", "0", "--host", "127.0.0.1"]
            own += ["--work-dir", str(folder / worker), started.url]
            running.enter_context(java_program(folder, f"{deploy}.worker.Worker", *own))
        until(lambda: listens(page) and started.is_complete())
        yield started


@contextmanager
def connect_server_in(folder: Path) -> Iterator[str]:
    """A server of Spark Connect: its URL."""
    port = free_port()
    own = ["--master", "local[2]", "--conf", f"spark.connect.grpc.binding.port={port}"]
    own += ["--conf", "spark.ui.enabled=false"]
    own += ["--conf", f"spark.sql.warehouse.dir={folder / 'warehouse'}"]
    server = "org.apache.spark.sql.connect.service.SparkConnectServer"
    submit = ["org.apache.spark.deploy.SparkSubmit", *own, "--class", server, "spark-internal"]
    with java_program(folder, *submit):
        until(lambda: listens(port))
        yield f"sc://127.0.0.1:{port}"


@contextmanager
def java_program(folder: Path, *arguments: str) -> Iterator[None]:
    """A program of Spark's, run until what it is for is done."""
    import pyspark

    program = [str(Path(pyspark.__file__).parent / "bin" / "spark-class"), *arguments]
    with (folder / "log.txt").open("ab") as log:
        running = subprocess.Popen(
            program, env=os.environ | environment(), cwd=folder, stdout=log, stderr=log
        )
        try:
            yield
        finally:
            running.terminate()
            running.wait(timeout=60)


def free_port() -> int:
    with closing(socket.socket()) as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port


def listens(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), 1).close()
    except OSError:
        return False
    return True


def until(so: Callable[[], bool], seconds: float = 120) -> None:
    """Come back once it is so."""
    end = time.monotonic() + seconds
    while not so():
        assert time.monotonic() < end, "it takes too long"
        time.sleep(0.05)
