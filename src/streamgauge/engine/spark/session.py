"""A Spark session of our own: quiet, on loopback, with everything it leaves behind in one scratch folder."""

import logging
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import warnings
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from streamgauge.clock import Clock, SystemClock
from streamgauge.engine.engine import temporary_folder
from streamgauge.engine.spark import watchdog as watchdogs
from streamgauge.engine.spark.watchdog import Heartbeat, Watchdog, kill_session, watch_java
from streamgauge.errors import EnvironmentNotReadyError, UsageError
from streamgauge.extras import require
from streamgauge.machine.java import find_java
from streamgauge.secrets import WORDS, resolve, write_properties
from streamgauge.units import parse_duration

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

READY_DEADLINE_S = 180.0
STOP_DEADLINE_S = 60.0
SHUTDOWN_DEADLINE_S = 20.0
# After an error or an interrupt nothing is worth a longer wait.
ABORT_DEADLINE_S = 3.0
KILLED_DEADLINE_S = 5.0
READY_POLL_S = 0.05
# Spark's own setting for how long to wait for executors.
EXECUTOR_DEADLINE = "spark.scheduler.maxRegisteredResourcesWaitingTime"
EXECUTOR_DEADLINE_S = 30.0
# Executors come one by one; when none has come for this long, these are all.
LAST_EXECUTOR_S = 2.0
EVENT_LOG = "event-log"
_LOOPBACK = r"(?:127(?:\.\d+){3}|localhost|\[::1\]):\d+"
_LOOPBACK_MASTER = re.compile(rf"spark://{_LOOPBACK}(?:,{_LOOPBACK})*")
_REDACTION = "spark.redaction.regex"
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

    @property
    def is_on_loopback(self) -> bool:
        """Whether nothing of the session is on another machine, so that nothing needs to listen beyond loopback."""
        return self.is_local or _LOOPBACK_MASTER.fullmatch(self.master) is not None


@dataclass(frozen=True)
class Session:
    """A running Spark session and the process behind it."""

    spark: "SparkSession"
    settings: SessionSettings
    scratch: Path
    log: Path
    process: "subprocess.Popen[bytes]"
    watchdog: Watchdog

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
    from streamgauge.services.spark import authentication

    loopback = {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
    local = {
        "spark.driver.memory": f"{_heap_gib()}g",
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
        # Files that are read are deleted: the log of a long run does not fill the disk.
        "spark.eventLog.rolling.enabled": "true",
        "spark.eventLog.rolling.maxFileSize": "10m",
        "spark.eventLog.compress": "false",
    }
    ours |= (loopback if settings.is_on_loopback else {}) | (local if settings.is_local else {})
    theirs = authentication(settings.master)
    theirs |= {key: resolve(value, f"--conf {key}") for key, value in settings.conf.items()}
    # Spark masks by fewer words than secrets have, and a log of a killed run may stay behind.
    masked = "|".join(filter(None, (f"(?i){WORDS}", theirs.get(_REDACTION))))
    return ours | theirs | {_REDACTION: masked}


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
    root = Path(__file__).parents[2]
    archive = shutil.make_archive(str(scratch / Path(ARCHIVE).stem), "zip", root.parent, root.name)
    return {
        # The source plans in a worker beside the driver, which gets no files from the cluster.
        "PYTHONPATH": os.pathsep.join(filter(None, (archive, os.environ.get("PYTHONPATH")))),
        # Workers are started as `python3` everywhere; here that must be the one that has the packages.
        "PATH": os.pathsep.join((str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath))),
    }


@dataclass(frozen=True)
class _Java:
    """A Java process that is ready for calls, and how to reach it."""

    process: "subprocess.Popen[bytes]"
    port: int
    secret: str


def _launch(conf: Mapping[str, str], scratch: Path, log: Path, clock: Clock) -> _Java:
    """Start Java as PySpark does, but wait for it no longer than the deadline."""
    from pyspark.find_spark_home import _find_spark_home

    home, _ = find_java(os.environ)
    for folder in ("spark", "tmp", EVENT_LOG):
        (scratch / folder).mkdir(parents=True, exist_ok=True)
    properties = scratch / "spark.properties"
    write_properties(properties, conf)
    # Java writes its secret there: a folder that the owner alone can read.
    address_file = Path(tempfile.mkdtemp(prefix="gateway-", dir=scratch)) / "gateway"
    environment = {
        **os.environ,
        "JAVA_HOME": str(home),
        "SPARK_CONNECT_MODE": "0",
        "_PYSPARK_DRIVER_CONN_INFO_PATH": str(address_file.absolute()),
    }
    if SessionSettings(conf["spark.master"], {}).is_on_loopback:
        environment["SPARK_LOCAL_IP"] = "127.0.0.1"
    command = [str(Path(_find_spark_home()) / "bin" / "spark-submit"), "--properties-file", str(properties)]
    with log.open("ab") as output:
        # A session of its own keeps the terminal's Ctrl-C away from Java and from Python workers.
        process = subprocess.Popen(
            [*command, "pyspark-shell"],
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=output,
            env=environment,
            start_new_session=True,
        )
    try:
        _await_ready(process, address_file, log, clock)
        return _Java(process, *_read_gateway(address_file))
    except BaseException:
        _end(process, 0.0)
        raise
    finally:
        shutil.rmtree(address_file.parent, ignore_errors=True)
        # Java has read it, or never will, and it may hold secrets.
        properties.unlink(missing_ok=True)


def _await_ready(process: "subprocess.Popen[bytes]", address_file: Path, log: Path, clock: Clock) -> None:
    end_s = clock.monotonic_s() + READY_DEADLINE_S
    # Java gives the file this name when it is whole.
    while not address_file.exists():
        if process.poll() is not None:
            raise EnvironmentNotReadyError(
                "Spark's Java process ended before it was ready",
                where=str(log),
                remedy=f"{_first_error(log)}; check --conf and the memory of this machine",
            )
        if clock.monotonic_s() > end_s:
            raise EnvironmentNotReadyError(
                f"Spark's Java process was not ready within {READY_DEADLINE_S:.0f} s, and was killed",
                where=str(log),
                remedy="see Spark's log there, and whether this machine is overloaded",
            )
        clock.sleep(READY_POLL_S)


def _read_gateway(address_file: Path) -> tuple[int, str]:
    from pyspark.serializers import UTF8Deserializer, read_int

    with address_file.open("rb") as file:
        return read_int(file), str(UTF8Deserializer().loads(file))


def _open_gateway(java: _Java) -> Any:
    """Connect to a Java process that is there; PySpark finds it by its environment."""
    from pyspark.java_gateway import launch_gateway

    with _environment({"PYSPARK_GATEWAY_PORT": str(java.port), "PYSPARK_GATEWAY_SECRET": java.secret}):
        gateway = launch_gateway()
    gateway.proc = java.process
    return gateway


def _first_error(log: Path) -> str:
    lines = [line.strip() for line in log.read_text(errors="replace").splitlines()]
    lines = [line for line in lines if line and not line.startswith("at ")]
    errors_said = [line for line in lines if any(word in line for word in ("nvalid", "rror", "xception"))]
    return (errors_said or lines or ["it said nothing"])[0][:300]


@contextmanager
def _unheard_bridge() -> Iterator[None]:
    """Keep tracebacks of interrupted calls to Java to whoever listens to the log; by default nobody does."""
    root, nobody = logging.getLogger(), logging.NullHandler()
    root.addHandler(nobody)
    try:
        yield
    finally:
        root.removeHandler(nobody)


@contextmanager
def open_session(
    settings: SessionSettings,
    *,
    scratch: Path,
    log: Path,
    hang_deadline_s: float | None = None,
    clock: Clock | None = None,
) -> Iterator[Session]:
    """Start Spark, hand it out, and end it: no process, port or folder stays behind.

    Java is killed when it does not answer for `hang_deadline_s`; its death, by that or otherwise, is a failed run.
    """
    if require("pyspark").SparkContext._active_spark_context is not None:
        raise UsageError(
            "this Python process has an active Spark session already",
            remedy="stop it first, or call streamgauge from a process of its own",
        )
    clock = clock or SystemClock()
    conf = spark_conf(settings, scratch)
    with _unheard_bridge(), _environment(_python(settings, scratch)):
        java = _launch(conf, scratch, log, clock)
        heartbeat = Heartbeat(java.port, java.secret)
        hang_deadline_s = watchdogs.HANG_DEADLINE_S if hang_deadline_s is None else hang_deadline_s
        watchdog = watch_java(java.process, heartbeat, clock=clock, log=log, hang_deadline_s=hang_deadline_s)
        bridge, wait_s = _Bridge(), ABORT_DEADLINE_S
        try:
            with closing(heartbeat), watchdog.watching(), watchdog.explaining():
                yield from _serve(java, bridge, watchdog, settings=settings, scratch=scratch, clock=clock)
            wait_s = ABORT_DEADLINE_S if watchdog.is_interrupted else SHUTDOWN_DEADLINE_S
        finally:
            # Java first: connections to it close safely only when it has gone.
            _end(java.process, wait_s)
            _forget(bridge)


@dataclass
class _Bridge:
    """What PySpark keeps for its calls to Java; None until it is there."""

    gateway: Any = None
    context: Any = None


def _serve(
    java: _Java, bridge: _Bridge, watchdog: Watchdog, *, settings: SessionSettings, scratch: Path, clock: Clock
) -> Iterator[Session]:
    """Connect to Java, hand the session out, and stop Spark, unless a call to Java was interrupted."""
    with watchdog.within(READY_DEADLINE_S, "the start of Spark"):
        bridge.gateway = _open_gateway(java)
        bridge.context = _connect(bridge.gateway, watchdog.log)
    try:
        session = Session(_spark(bridge.context, watchdog.log), settings, scratch, watchdog.log, java.process, watchdog)
        if not settings.is_local:
            _equip_executors(session, clock)
        yield session
    except Exception:
        _stop(bridge.context, watchdog)
        raise
    # After an interrupt the answer to a call may still be on its way: Java is asked nothing more, and ended.
    _stop(bridge.context, watchdog)


def _stop(context: Any, watchdog: Watchdog) -> None:
    """Stop Spark in order, if there is still a Java that does it; nothing that was measured depends on it."""
    if watchdog.failure is not None:
        return
    with (
        suppress(Exception),
        warnings.catch_warnings(),
        watchdog.within(STOP_DEADLINE_S, "the stop of Spark"),
    ):
        warnings.simplefilter("ignore")
        context.stop()


def _connect(gateway: Any, log: Path) -> Any:
    from pyspark import SparkConf, SparkContext

    handler = signal.getsignal(signal.SIGINT)
    try:
        # The properties are in the Java process already; a second copy would only repeat them.
        context = SparkContext(gateway=gateway, conf=SparkConf(_jvm=gateway.jvm))
        # It would print the end of its connection to a Java that died.
        context._accumulatorServer.handle_error = lambda *_: None
        return context
    except Exception as error:
        raise _not_started(error, log) from error
    finally:
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, handler)


def _spark(context: Any, log: Path) -> "SparkSession":
    """Return the session of a context, which has ended already where a master refuses the application."""
    from py4j.protocol import Py4JError
    from pyspark.sql import SparkSession

    try:
        return SparkSession(context)
    except Py4JError as error:
        raise _not_started(error, log) from error


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


def _end(process: "subprocess.Popen[bytes]", wait_s: float) -> None:
    """End Java, which ends by itself when its input closes, and whatever is left of its session."""
    try:
        with suppress(OSError):
            if process.stdin:
                process.stdin.close()
        with suppress(subprocess.TimeoutExpired):
            process.wait(wait_s)
    finally:
        # In a thread, which another interrupt does not reach.
        killer = threading.Thread(target=kill_session, args=(process.pid,))
        killer.start()
        killer.join()
        with suppress(subprocess.TimeoutExpired):
            process.wait(KILLED_DEADLINE_S)


def _forget(bridge: _Bridge) -> None:
    """Close what PySpark has opened, and let it forget the session."""
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    with suppress(Exception):
        if bridge.context is not None and bridge.context._accumulatorServer is not None:
            bridge.context._accumulatorServer.shutdown()
    with suppress(Exception):
        if bridge.gateway is not None:
            bridge.gateway.shutdown()
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
        # A master that does not answer makes Spark end the application by itself.
        return 0


def _equip_executors(session: Session, clock: Clock) -> None:
    """Wait until the cluster has given its executors, so that their cores count, and give them this package."""
    deadline_s, asked = _executor_deadline_s(session.settings.conf), _asked_executors(session.settings.conf)
    start_s = changed_s = clock.monotonic_s()
    found = 0
    while True:
        session.watchdog.check()
        now_s = clock.monotonic_s()
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
        clock.sleep(0.1)
    session.spark.sparkContext.addPyFile(str(session.scratch / ARCHIVE))


@contextmanager
def temporary_session(settings: SessionSettings) -> Iterator[Session]:
    """Open a session whose scratch folder goes with it; after an error Spark's log is kept and named."""
    with temporary_folder() as (scratch, log), open_session(settings, scratch=scratch, log=log) as session:
        session.spark.conf.set("spark.sql.shuffle.partitions", str(session.cores))
        yield session
