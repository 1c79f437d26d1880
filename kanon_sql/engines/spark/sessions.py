"""Spark sessions: one per URL, the settings of any verified."""

from __future__ import annotations

import glob
import logging
import os
import re
import signal
import socket
import threading
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from subprocess import DEVNULL
from typing import Any

from kanon_sql.engines.failures import required
from kanon_sql.engines.readers import folder_of_files, require_each_once
from kanon_sql.errors import EngineError, InputError, SpecError
from kanon_sql.files import LockedFolder, spill_folder

SETTINGS: Mapping[str, tuple[str, ...]] = {
    "spark.sql.session.timeZone": ("UTC", "Etc/UTC", "GMT", "Z", "+00:00"),
    "spark.sql.ansi.enabled": ("true",),
    "spark.sql.parser.escapedStringLiterals": ("false",),
    "spark.sql.parser.quotedRegexColumnNames": ("false",),
    "spark.sql.files.ignoreCorruptFiles": ("false",),
    "spark.sql.files.ignoreMissingFiles": ("false",),
}
"""Allowed values of the settings that affect text, dates or the records read."""

OURS = {name: values[0] for name, values in SETTINGS.items()} | {
    "spark.sql.variable.substitute": "false",
    "spark.sql.sources.partitionColumnTypeInference.enabled": "false",
}
"""The settings of a session started here."""

CONNECT_PORT = 15002
PATIENCE = 10
"""Seconds to wait for a TCP connection."""
RETRIES = 5
"""Initial number of retries: about 15 seconds instead of ten minutes."""

QUIET = "rootLogger.level = off\n"
"""Logging is off because Spark logs failing values."""


def started(url: str) -> Started:
    """The session of a URL, shared among its users. Raises `EngineError`."""
    with _STARTING:
        if url not in _STARTED:
            _STARTED[url] = _connected(url) if url.startswith("sc:") else _launched(url)
        shared = _STARTED[url]
        shared.users += 1
        return shared


def require_settings(session: Any) -> None:
    """Reject a session whose settings would change the data; none is changed here."""
    wrong = {
        name: values[0]
        for name, values in SETTINGS.items()
        if (session.conf.get(name, None) or values[0]).lower() not in [v.lower() for v in values]
    }
    if wrong:
        raise SpecError(
            "the Spark session has settings that could make results wrong, and was left unchanged. "
            f"Set {' and '.join(f'{name} to {value}' for name, value in wrong.items())}, for "
            f'example spark.conf.set("{next(iter(wrong))}", "{next(iter(wrong.values()))}").'
        )


def errors() -> Any:
    """The module with pyspark's exceptions."""
    return _driver("pyspark.errors")


VALUE_LOGGERS = ("SQLQueryContextLogger", "DataFrameQueryContextLogger")
"""PySpark loggers that print error messages, including values."""


class Started:
    """A session started here, with a count of its users."""

    def __init__(self, url: str, session: Any) -> None:
        self.url = url
        self.session = session
        self.users = 0

    def path(self, target: str) -> str:
        """A path in the form this session needs."""
        return target

    def close(self) -> None:
        """Stop the session when its last user closes it."""
        with _STARTING:
            self.users -= 1
            if self.users == 0:
                _STARTED.pop(self.url, None)
                self._stop()

    def _stop(self) -> None:
        with suppress(Exception):
            self.session.stop()


_STARTED: dict[str, Started] = {}
_STARTING = threading.RLock()


class Launched(Started):
    """A session whose Java process was launched here, and ends with it."""

    def __init__(
        self, url: str, session: Any, gateway: Any, spill: LockedFolder, on_interrupt: Any
    ):
        super().__init__(url, session)
        self._gateway = gateway
        self._spill = spill
        self._on_interrupt = on_interrupt

    def path(self, target: str) -> str:
        """An absolute file URL for local files; any other path unchanged.

        Glob characters in file names are escaped; Java ignores changes of the working directory.
        """
        if Path(target).is_dir():
            files = folder_of_files(target)
            _require_read_once(target, files)
        if Path(target).exists():
            return f"file:{not_a_glob(str(Path(target).absolute()))}"
        if "://" not in target and (matches := sorted(glob.glob(target))):
            _require_read_once(target, [Path(file) for file in matches])
            return f"file:{target if Path(target).is_absolute() else _here(target)}"
        return target

    def _stop(self) -> None:
        super()._stop()
        _end(self._gateway, self._spill)
        _restore(self._on_interrupt)


def _require_read_once(target: str, files: list[Path]) -> None:
    """Reject files that Spark would silently skip, or read twice."""
    require_each_once(map(str, files), target)
    unseen = [file.name for file in files if file.name.startswith(("_", "."))]
    if unseen:
        raise InputError(
            f"{target}: Spark reads no file whose name begins with _ or a dot, as {unseen[0]} "
            "does. Rename it, or name the others."
        )


def _here(target: str) -> str:
    return f"{not_a_glob(str(Path.cwd()))}/{target}"


def not_a_glob(path: str) -> str:
    """The path with the characters of a glob escaped."""
    return re.sub(r"([\\*?\[\]{}])", r"\\\1", path)


def _connected(url: str) -> Started:
    host = _hosts(url)[0]
    _require_reachable([host])
    with _quietly():
        connect = _driver("pyspark.sql.connect.session", extra="spark-connect")
        retries = _driver("pyspark.sql.connect.client.retries", extra="spark-connect")
        try:
            session = connect.SparkSession.builder.remote(url).create()
            patient = session.client.get_retry_policies()
            session.client.set_retry_policies([retries.DefaultPolicy(max_retries=RETRIES)])
            for name, value in OURS.items():
                session.conf.set(name, value)
            session.client.set_retry_policies(patient)
        except Exception as error:
            raise EngineError(
                f"Spark Connect at {host[0]}:{host[1]} can't be queried: it fails with "
                f"{type(error).__name__}."
            ) from None
    return Started(url, session)


def _launched(url: str) -> Started:
    master = url if url.startswith("spark://") else url.removeprefix("spark:")
    if not master:
        raise SpecError("which Spark? Connect to spark:local[2], or to spark://host:port.")
    with _quietly():
        pyspark = _driver("pyspark")
        if master.startswith("spark://"):
            _require_reachable(_hosts(master))
        if pyspark.SparkContext._gateway is not None:
            raise SpecError(
                "this process runs a Spark already, and can't run another one. Pass its session "
                "in place of a URL."
            )
        return _with_java(url, master, pyspark)


def _with_java(url: str, master: str, pyspark: Any) -> Started:
    spill = spill_folder()
    folder = spill.path
    (folder / "log4j2.properties").write_text(QUIET, encoding="ascii")
    conf = pyspark.SparkConf()
    for name, value in _configuration(master, folder).items():
        conf.set(name, value)
    on_interrupt = signal.getsignal(signal.SIGINT)
    logging.getLogger().addFilter(_is_news)
    gateway = None
    try:
        gateway = _driver("pyspark.java_gateway").launch_gateway(conf, {"stderr": DEVNULL})
        pyspark.SparkContext(conf=conf, gateway=gateway)
        session = _driver("pyspark.sql").SparkSession.builder.getOrCreate()
    except BaseException as error:
        _end(gateway, spill)
        _restore(on_interrupt)
        if not isinstance(error, Exception):
            raise
        raise EngineError(
            f"Spark can't be started at {master}. It needs Java 17 or newer: set JAVA_HOME, or "
            "have java on the PATH."
            if gateway is None
            else f"Spark can't be started at {master}: it fails with {type(error).__name__}."
        ) from None
    return Launched(url, session, gateway, spill, on_interrupt)


def _configuration(master: str, folder: Path) -> dict[str, str]:
    local = master.startswith("local")
    return {
        "spark.master": master,
        "spark.app.name": "kanon-sql",
        "spark.ui.enabled": "false",
        "spark.sql.catalogImplementation": "in-memory",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.sql.artifact.isolation.enabled": "false",
        "spark.sql.adaptive.enabled": "true",
        "spark.scheduler.mode": "FAIR",
        "spark.driver.extraJavaOptions": (
            f"-Dlog4j2.configurationFile=file:{folder / 'log4j2.properties'} "
            f"-Djava.io.tmpdir={folder}"
        ),
        **(
            {
                "spark.local.dir": str(folder),
                "spark.driver.host": "127.0.0.1",
                "spark.driver.bindAddress": "127.0.0.1",
                "spark.sql.shuffle.partitions": str(_partitions(master)),
            }
            if local
            else {}
        ),
        **OURS,
    }


def _partitions(master: str) -> int:
    """Four shuffle partitions per core: enough to balance load, few enough for small tables."""
    cores = re.match(r"local\[(\d+|\*)", master)
    if cores is None:
        return 4
    return 4 * (os.cpu_count() or 1 if cores[1] == "*" else int(cores[1]))


def _is_news(record: logging.LogRecord) -> bool:
    """Filter out py4j's log message on Ctrl-C."""
    return record.msg != "KeyboardInterrupt while sending command."


def _end(gateway: Any, spill: LockedFolder) -> None:
    """End the Java process, so that the next session launches a new one."""
    logging.getLogger().removeFilter(_is_news)
    if gateway is not None:
        context = _driver("pyspark").SparkContext
        with suppress(Exception):
            gateway.shutdown()
        with suppress(Exception):
            gateway.proc.stdin.close()
            gateway.proc.wait(timeout=PATIENCE)
        context._gateway = context._jvm = None
    spill.remove()


def _restore(on_interrupt: Any) -> None:
    """Restore the SIGINT handler that pyspark replaced."""
    if threading.current_thread() is threading.main_thread() and on_interrupt is not None:
        signal.signal(signal.SIGINT, on_interrupt)


def _hosts(url: str) -> list[tuple[str, int]]:
    """The (host, port) pairs of a URL, which may be followed by secrets.

    >>> _hosts("spark://one:7077,two:7078"), _hosts("sc://three/;token=secret")
    ([('one', 7077), ('two', 7078)], [('three', 15002)])
    """
    hosts = []
    for place in url.split("://", 1)[-1].split("/")[0].rpartition("@")[2].split(","):
        host, _, port = place.rpartition(":") if re.search(r":\d+$", place) else (place, "", "")
        if not host:
            raise SpecError("name the server, as in spark://host:7077 or sc://host:15002.")
        hosts.append((host.strip("[]"), int(port or CONNECT_PORT)))
    return hosts


def _require_reachable(hosts: list[tuple[str, int]]) -> None:
    """Raise unless a host accepts a connection; Spark itself would retry for minutes."""
    for host in hosts:
        with suppress(OSError), socket.create_connection(host, PATIENCE):
            return
    addresses = ", ".join(f"{host}:{port}" for host, port in hosts)
    raise EngineError(f"Spark can't be reached: nothing listens at {addresses}.")


@contextmanager
def _quietly() -> Iterator[None]:
    """Suppress pyspark's warnings about packages that aren't needed here."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="PySpark does not yet fully support pandas")
        yield


def _driver(module: str, extra: str = "spark") -> Any:
    is_connect = extra != "spark"
    need = (
        "Spark Connect needs pyspark and its connect extra" if is_connect else "Spark needs pyspark"
    )
    return required(module, need, extra)
