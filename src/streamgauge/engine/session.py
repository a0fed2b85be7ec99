"""A Spark session of our own: quiet, on loopback, with everything it leaves behind in one scratch folder."""

import logging
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from streamgauge.engine.java import find_java
from streamgauge.errors import EnvironmentNotReadyError, InvalidExperimentError, StreamgaugeError, UsageError
from streamgauge.units import parse_duration

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SHUTDOWN_DEADLINE_S = 20.0
# Spark's own setting for how long to wait for executors.
EXECUTOR_DEADLINE = "spark.scheduler.maxRegisteredResourcesWaitingTime"
EXECUTOR_DEADLINE_S = 30.0
# Executors come one by one; when none has come for this long, these are all.
LAST_EXECUTOR_S = 2.0
EVENT_LOG = "event-log"
ARCHIVE = "streamgauge.zip"


@dataclass(frozen=True)
class SessionSettings:
    """What a Spark session needs to know before it starts.

    In one without an event log nothing is measured, so it need not be steady either.
    """

    master: str
    conf: Mapping[str, str]
    event_log: bool = True

    @property
    def is_local(self) -> bool:
        """Whether driver and executors share this process tree."""
        return self.master.startswith("local")


@dataclass(frozen=True)
class Session:
    """A running Spark session and the process behind it."""

    spark: "SparkSession"
    settings: SessionSettings
    scratch: Path
    log: Path
    process: "subprocess.Popen[bytes]"

    @property
    def cores(self) -> int:
        """Task slots over all executors, as Spark sees them now; one at least."""
        # Not its default parallelism, which on a cluster is 2 or more, however few cores there are.
        context = self.spark.sparkContext._jsc.sc()
        return max(1, int(context.maxNumConcurrentTasks(context.resourceProfileManager().defaultResourceProfile())))

    @contextmanager
    def with_conf(self, conf: Mapping[str, str]) -> Iterator[None]:
        """Let queries that start inside have these settings, unless the user has set them otherwise."""
        changes = {key: value for key, value in conf.items() if key not in self.settings.conf}
        before = {key: self.spark.conf.get(key, None) for key in changes}
        for key, value in changes.items():
            self.spark.conf.set(key, value)
        try:
            yield
        finally:
            for key, value in before.items():
                if value is None:
                    self.spark.conf.unset(key)
                else:
                    self.spark.conf.set(key, value)


def _heap_gib() -> int:
    """Return the memory of a local session: a quarter of the machine's, 1 GiB at least and 4 at most."""
    import psutil

    return max(1, min(4, int(psutil.virtual_memory().total / 2**30 / 4)))


def _steady_heap(settings: SessionSettings) -> str:
    """Return the options with which Java has all of its heap, and has written to it, before anything is measured.

    The first write to a page takes up to some microseconds, on virtual machines above all. By default Java takes more
    and more of its heap into use while the load runs, and micro-batches that do take several times as long as others.
    Its collector handles arrays longer than half a region one by one, and those of Spark's hash tables and shuffles
    are: with regions of a 256th of the heap, eight times the default, most are not.
    """
    import psutil

    is_roomy = psutil.virtual_memory().available >= 2 * _heap_gib() * 2**30
    if not settings.is_local or not settings.event_log or "spark.driver.memory" in settings.conf or not is_roomy:
        return ""
    region_mib = 1 << (4 * _heap_gib()).bit_length() - 1
    return f"-Xms{_heap_gib()}g -XX:+AlwaysPreTouch -XX:+UseTransparentHugePages -XX:G1HeapRegionSize={region_mib}m "


def spark_conf(settings: SessionSettings, scratch: Path) -> dict[str, str]:
    """Return the whole configuration; what the user sets wins."""
    local = {
        "spark.driver.memory": f"{_heap_gib()}g",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        # Spark's default starts four processes for every file of a checkpoint on a local disk.
        "spark.sql.streaming.checkpointFileManagerClass": (
            "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
        ),
    }
    ours = {
        "spark.master": settings.master,
        "spark.app.name": "streamgauge",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.local.dir": str(scratch / "spark"),
        "spark.sql.warehouse.dir": str(scratch / "warehouse"),
        # Whole stages become single methods, some of them longer than Java compiles by default.
        "spark.driver.extraJavaOptions": (
            f"{_steady_heap(settings)}-XX:-DontCompileHugeMethods "
            f"-Djava.io.tmpdir={scratch / 'tmp'} -Dderby.system.home={scratch}"
        ),
        "spark.executor.extraJavaOptions": "-XX:-DontCompileHugeMethods",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.streaming.numRecentProgressUpdates": "10000",
        "spark.sql.streaming.stopTimeout": "30s",
        "spark.eventLog.enabled": "true" if settings.event_log else "false",
        "spark.eventLog.dir": (scratch / EVENT_LOG).as_uri(),
        "spark.eventLog.rolling.enabled": "false",
        "spark.eventLog.compress": "false",
    }
    return ours | (local if settings.is_local else {}) | dict(settings.conf)


@contextmanager
def _environment(changes: Mapping[str, str]) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in changes}
    os.environ.update(changes)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def _python(settings: SessionSettings, scratch: Path) -> dict[str, str]:
    """Choose the Python of the workers: ours, or on a cluster whatever is there, with this package in an archive."""
    if settings.is_local:
        return {"PYSPARK_PYTHON": sys.executable}
    import streamgauge

    root = Path(streamgauge.__file__).parent
    archive = shutil.make_archive(str(scratch / Path(ARCHIVE).stem), "zip", root.parent, root.name)
    return {
        # The source plans in a worker beside the driver, which gets no files from the cluster.
        "PYTHONPATH": os.pathsep.join(filter(None, (archive, os.environ.get("PYTHONPATH")))),
        # Workers are started as `python3` everywhere; here that must be the one that has the packages.
        "PATH": os.pathsep.join((str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath))),
    }


def _write_properties(path: Path, conf: Mapping[str, str]) -> None:
    """Hand the configuration over in a private file: a command line is visible to every user."""
    with suppress(FileNotFoundError):
        path.unlink()
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        for key, value in conf.items():
            escaped = value.replace("\\", "\\\\").replace("\n", "\\n")
            file.write(f"{key}={escaped}\n")


def _launch(conf: Mapping[str, str], scratch: Path, log: Path) -> Any:
    from pyspark.errors import PySparkRuntimeError
    from pyspark.java_gateway import launch_gateway

    for folder in ("spark", "tmp", EVENT_LOG):
        (scratch / folder).mkdir(parents=True, exist_ok=True)
    properties = scratch / "spark.properties"
    _write_properties(properties, conf)
    home, _ = find_java(os.environ)
    environment = {
        "JAVA_HOME": str(home),
        "PYSPARK_SUBMIT_ARGS": f'--properties-file "{properties}" pyspark-shell',
        "SPARK_LOCAL_IP": "127.0.0.1",
    }
    if not conf["spark.master"].startswith("local"):
        del environment["SPARK_LOCAL_IP"]
    with _environment(environment), log.open("ab") as output:
        try:
            # A session of its own keeps the terminal's Ctrl-C away from Java and from Python workers.
            return launch_gateway(popen_kwargs={"stdout": output, "stderr": output, "start_new_session": True})
        except PySparkRuntimeError as error:
            raise EnvironmentNotReadyError(
                "Spark's Java process ended before it was ready",
                where=str(log),
                remedy=f"{_first_error(log)}; check --conf and the memory of this machine",
            ) from error
        except BaseException:
            _kill_half_started(properties)
            raise


def _kill_half_started(properties: Path) -> None:
    """End a Java process that nobody waits for any more; it is known by the file that it was given."""
    import psutil

    for process in psutil.Process().children(recursive=True):
        with suppress(psutil.Error):
            if any(str(properties) in word for word in process.cmdline()):
                process.kill()


def _first_error(log: Path) -> str:
    lines = [line.strip() for line in log.read_text(errors="replace").splitlines()]
    lines = [line for line in lines if line and not line.startswith("at ")]
    telling = [line for line in lines if any(word in line for word in ("nvalid", "rror", "xception"))]
    return (telling or lines or ["it said nothing"])[0][:300]


@contextmanager
def _unheard_bridge() -> Iterator[None]:
    """Keep tracebacks of broken off calls to Java to whoever listens to the log; by default nobody does."""
    root, nobody = logging.getLogger(), logging.NullHandler()
    root.addHandler(nobody)
    try:
        yield
    finally:
        root.removeHandler(nobody)


@contextmanager
def open_session(settings: SessionSettings, *, scratch: Path, log: Path) -> Iterator[Session]:
    """Start Spark, hand it out, and end it: no process, port or folder stays behind."""
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    if SparkContext._active_spark_context is not None:
        raise UsageError(
            "this Python process has an active Spark session already",
            remedy="stop it first, or call streamgauge from a process of its own",
        )
    conf = spark_conf(settings, scratch)
    with _unheard_bridge(), _environment(_python(settings, scratch)):
        gateway = _launch(conf, scratch, log)
        try:
            context = _connect(gateway, log)
            try:
                session = Session(SparkSession(context), settings, scratch, log, gateway.proc)
                if not settings.is_local:
                    _equip_executors(session)
                yield session
            except Exception:
                with suppress(Exception):
                    context.stop()
                raise
            except BaseException:
                # Interrupted in the middle of a call to Java, whose answer is still on its way: ask nothing more.
                context._accumulatorServer.shutdown()
                raise
            context.stop()
        finally:
            _close(gateway)


def _connect(gateway: Any, log: Path) -> Any:
    from pyspark import SparkConf, SparkContext

    handler = signal.getsignal(signal.SIGINT)
    try:
        # The properties are in the Java process already; a second copy would only repeat them.
        return SparkContext(gateway=gateway, conf=SparkConf(_jvm=gateway.jvm))
    except Exception as error:
        raise _not_started(error, log) from error
    finally:
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, handler)


def _not_started(error: Exception, log: Path) -> Exception:
    text = str(error)
    reason = next((line for line in text.splitlines() if "xception" in line), text.splitlines()[0] if text else "")
    if "BindException" in text or "Address already in use" in text:
        return EnvironmentNotReadyError(
            f"a port is in use: {reason.strip()[:200]}",
            where=str(log),
            remedy="choose another with --conf, or 0",
        )
    return EnvironmentNotReadyError(
        f"Spark did not start: {reason.strip()[:300]}", where=str(log), remedy="check --master and --conf"
    )


def _close(gateway: Any) -> None:
    """End Java first: it ends by itself when its input closes, and only then do connections to it close safely."""
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    process: subprocess.Popen[bytes] = gateway.proc
    with suppress(OSError):
        if process.stdin:
            process.stdin.close()
    try:
        process.wait(SHUTDOWN_DEADLINE_S)
    except subprocess.TimeoutExpired:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    with suppress(Exception):
        gateway.shutdown()
    SparkContext._gateway = SparkContext._jvm = SparkContext._active_spark_context = None
    SparkSession._instantiatedSession = None


def _executor_deadline_s(conf: Mapping[str, str]) -> float:
    given = conf.get(EXECUTOR_DEADLINE)
    return EXECUTOR_DEADLINE_S if given is None else parse_duration(given, where=f"--conf {EXECUTOR_DEADLINE}")


def _asked_executors(conf: Mapping[str, str]) -> int | None:
    """Return how many executors the settings ask for, if they do."""
    asked = conf.get("spark.executor.instances")
    if asked is None and "spark.cores.max" in conf and "spark.executor.cores" in conf:
        asked = str(int(conf["spark.cores.max"]) // int(conf["spark.executor.cores"]))
    return None if asked is None else int(asked)


def _executors(session: Session) -> int:
    """Return how many executors there are now; the driver itself is listed as well."""
    from py4j.protocol import Py4JError

    try:
        return int(session.spark.sparkContext._jsc.sc().getExecutorMemoryStatus().size()) - 1
    except Py4JError:
        # A master that nobody answers for makes Spark end the application by itself.
        return 0


def _equip_executors(session: Session) -> None:
    """Wait until the cluster has given its executors, so that their cores count, and give them this package."""
    deadline_s, asked = _executor_deadline_s(session.settings.conf), _asked_executors(session.settings.conf)
    start_s = changed_s = time.monotonic()
    found = 0
    while True:
        now_s = time.monotonic()
        count = _executors(session)
        if count != found:
            found, changed_s = count, now_s
        is_over = now_s - start_s > deadline_s
        if found and (found == asked or is_over or (asked is None and now_s - changed_s > LAST_EXECUTOR_S)):
            break
        if is_over:
            raise EnvironmentNotReadyError(
                f"{session.settings.master} offered no executor within {deadline_s:g} s",
                where=str(session.log),
                remedy=(
                    "check that the cluster is up, reaches this machine, and has free cores and memory; "
                    f"wait longer with --conf {EXECUTOR_DEADLINE}=60s"
                ),
            )
        time.sleep(0.1)
    session.spark.sparkContext.addPyFile(str(session.scratch / ARCHIVE))


RESERVED = {
    "spark.master": "use --master or --cores",
    "spark.sql.shuffle.partitions": "use --shuffle-partitions",
    "spark.eventLog.enabled": "leave it out: stage and task metrics are read from the event log",
    "spark.eventLog.dir": "leave it out: the event log is kept with the run",
    "spark.eventLog.compress": "leave it out: the event log is read while it is written",
    "spark.eventLog.rolling.enabled": "leave it out: the event log is read while it is written",
    "spark.sql.session.timeZone": "leave it out: events and references are in UTC",
}


def refuse_reserved(conf: Mapping[str, str]) -> None:
    """Refuse Spark settings that a run depends on, with what to do instead."""
    for key in conf:
        if key in RESERVED:
            raise InvalidExperimentError(f"{key} cannot be set", where="--conf", remedy=RESERVED[key])


@contextmanager
def temporary_session(settings: SessionSettings) -> Iterator[Session]:
    """Open a session whose scratch folder goes with it; after an error Spark's log is kept and named."""
    with tempfile.TemporaryDirectory(prefix="streamgauge-", ignore_cleanup_errors=True) as scratch:
        log = Path(scratch) / "spark.log"
        try:
            with open_session(settings, scratch=Path(scratch), log=log) as session:
                session.spark.conf.set("spark.sql.shuffle.partitions", str(session.cores))
                yield session
        except StreamgaugeError as error:
            if error.where == str(log):
                handle, kept = tempfile.mkstemp(prefix="streamgauge-spark-", suffix=".log")
                os.close(handle)
                shutil.copyfile(log, kept)
                error.where = kept
            raise
