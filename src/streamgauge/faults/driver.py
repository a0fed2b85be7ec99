"""The driver of a query as a process of its own: what it is ordered, what it does, and how it is watched and killed.

`python -m streamgauge.faults.driver FOLDER` reads its order as one line of JSON from standard input. A second line
asks it to process all events that exist, and to end. When the input closes, whoever gave the order is gone, and the
driver goes too.

The folder holds what outlives a driver, in `control`, `checkpoint` and `sink`, and one folder per attempt for the rest.
"""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from streamgauge import errors
from streamgauge.arrivals import Schedule
from streamgauge.clock import Clock, SystemClock
from streamgauge.engine.engine import EmbeddedEvents, QueryOrder
from streamgauge.engine.spark.watchdog import Watchdog, session_members
from streamgauge.errors import EXIT_INTERRUPTED, RunFailedError, StreamgaugeError
from streamgauge.events import Parameters
from streamgauge.files import write_text_whole
from streamgauge.lookup import find_workload
from streamgauge.measure.records import LostExecutor, TaskRecord
from streamgauge.running.sinks.counted import SINKS, SinkPlace
from streamgauge.settings.run_settings import RunSettings
from streamgauge.workloads import Workload
from streamgauge.workloads.parameters import choose_variant

if TYPE_CHECKING:
    import psutil

    from streamgauge.engine.spark.engine import OpenSpark
    from streamgauge.engine.spark.query import Query

MODULE = "streamgauge.faults.driver"
PROGRESS_FILE = "progress.jsonl"
STARTED_FILE = "started.json"
ERROR_FILE = "error.json"
POLL_S = 0.1
GONE_DEADLINE_S = 20.0
FAILURE_DEADLINE_S = 10.0


@dataclass(frozen=True)
class DriverOrder:
    """What a driver has to do; its fields are JSON values. `sink` is one of `SINKS`, on a server at `address`."""

    attempt: int
    workload: str
    parameters: Mapping[str, Any]
    settings: Mapping[str, Any]
    log: str
    fields: tuple[str, ...] | None = None
    sink: str = "foreach-batch"
    address: str | None = None
    topic: str = ""


@dataclass(frozen=True)
class DriverPlace:
    """Where a driver finds and leaves its files."""

    folder: Path

    @property
    def control(self) -> Path:
        """Schedule and gate of the source."""
        return self.folder / "control"

    @property
    def checkpoint(self) -> Path:
        """Spark's offset log, commit log and state."""
        return self.folder / "checkpoint"

    @property
    def sink(self) -> Path:
        """The rows that came out, where the sink writes files."""
        return self.folder / "sink"

    def attempt(self, number: int) -> Path:
        """Return the folder of one driver process."""
        return self.folder / f"attempt-{number}"

    def of_sink(self, order: DriverOrder, workload: Workload, parameters: Parameters) -> SinkPlace:
        """Return where the sink of an order writes."""
        return SinkPlace(self.sink, self.control, order.attempt, order.address, order.topic, workload, parameters)


@dataclass(frozen=True)
class InFlight:
    """A micro-batch that is planned but not committed, of the events first <= n < last."""

    batch_id: int
    first: int
    last: int


def _ids(folder: Path) -> list[int]:
    try:
        return sorted(int(name) for name in os.listdir(folder) if name.isdigit())  # noqa: PTH208
    except FileNotFoundError:
        return []


def planned_offset(checkpoint: Path, batch_id: int) -> int:
    """Return where a micro-batch ends, by Spark's offset log; before the first one no event is processed."""
    if batch_id < 0:
        return 0
    *_, offset = (checkpoint / "offsets" / str(batch_id)).read_text().splitlines()
    return int(json.loads(offset)["n"])


def batches_committed(checkpoint: Path) -> int:
    """Return how many micro-batches Spark has committed."""
    return max(_ids(checkpoint / "commits"), default=-1) + 1


def batches_planned(checkpoint: Path) -> int:
    """Return how many micro-batches Spark has planned."""
    return max(_ids(checkpoint / "offsets"), default=-1) + 1


def find_in_flight(checkpoint: Path) -> InFlight | None:
    """Return the micro-batch with events that is in the offset log and not yet in the commit log."""
    planned, committed = max(_ids(checkpoint / "offsets"), default=-1), batches_committed(checkpoint)
    if planned < committed:
        return None
    first, last = planned_offset(checkpoint, planned - 1), planned_offset(checkpoint, planned)
    return InFlight(planned, first, last) if last > first else None


class ProgressFile:
    """The progress documents of one driver, read while it writes them."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._read_until = 0

    def new(self) -> list[dict[str, Any]]:
        """Return the documents since the last call; a line that is not whole yet, or never will be, is left out."""
        try:
            with self.path.open("rb") as file:
                file.seek(self._read_until)
                whole, newline, _ = file.read().rpartition(b"\n")
        except FileNotFoundError:
            return []
        self._read_until += len(whole) + len(newline)
        return [json.loads(line) for line in whole.splitlines()]


class Driver:
    """A running driver process, seen from outside."""

    def __init__(self, order: DriverOrder, place: DriverPlace, clock: Clock) -> None:
        self.order, self.clock = order, clock
        self.folder = place.attempt(order.attempt)
        self.folder.mkdir(parents=True)
        self.progress = ProgressFile(self.folder / PROGRESS_FILE)
        with Path(order.log).open("ab") as log:
            # A session of its own keeps the terminal's Ctrl-C away: who started it decides what happens to it. Modules
            # in the current folder (-P) are none of its business.
            self.process = subprocess.Popen(
                [sys.executable, "-P", "-m", MODULE, str(place.folder)],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self.watchdog = Watchdog(
            poll=lambda: None,
            answers=lambda: not self._is_stopped(),
            kill=lambda: None,
            clock=clock,
            log=Path(order.log),
            name="the driver process",
        )
        self._tell(json.dumps(asdict(order)))

    def _is_stopped(self) -> bool:
        import psutil

        try:
            return bool(psutil.Process(self.process.pid).status() == psutil.STATUS_STOPPED)
        except psutil.NoSuchProcess:
            return False

    def _tell(self, line: str) -> None:
        assert self.process.stdin is not None
        # A process that has gone receives nothing; `check` says why.
        with suppress(BrokenPipeError):
            self.process.stdin.write(line.encode() + b"\n")
            self.process.stdin.flush()

    def started(self) -> dict[str, Any] | None:
        """Return what the driver says about its query once that runs: time, cores, output mode, fields, application."""
        try:
            return dict(json.loads((self.folder / STARTED_FILE).read_text()))
        except FileNotFoundError:
            return None

    def check(self) -> None:
        """Raise what ended the driver, if it has ended by itself and not as asked, or that it hangs."""
        code = self.process.poll()
        if code is None:
            self.watchdog.look()
            self.watchdog.check()
        if code in (None, 0):
            return
        try:
            error = json.loads((self.folder / ERROR_FILE).read_text())
        except FileNotFoundError:
            raise RunFailedError(
                f"the driver process ended by itself with code {code}",
                where=self.order.log,
                remedy="its log there has the whole story",
            ) from None
        raise getattr(errors, error["kind"])(error["what"], where=error["where"], remedy=error["remedy"])

    def finish(self) -> None:
        """Ask the driver to process all that there is, and to end."""
        self._tell("finish")

    def processes(self) -> "list[psutil.Process]":
        """Return the driver and all that it started, or has left behind: Java and its Python workers."""
        import psutil

        code = self.process.poll()
        if code is not None:
            return [] if code == 0 else self._left_behind()
        try:
            driver = psutil.Process(self.process.pid)
            return [driver, *driver.children(recursive=True)]
        except psutil.NoSuchProcess:
            return []

    def _left_behind(self) -> "list[psutil.Process]":
        """Return what a driver that died has left: a Java whose command line names its folder, and its session."""
        import psutil

        found = []
        for java in psutil.process_iter(["cmdline"]):
            if any(str(self.folder) in word for word in java.info["cmdline"] or ()):
                for pid in session_members(java.pid):
                    with suppress(psutil.NoSuchProcess):
                        found.append(psutil.Process(pid))
        return found

    def kill(self) -> tuple[int, list[str]]:
        """Kill all processes at once, as a crash of the machine does; return the driver's code and the names of all."""
        import psutil

        found = self.processes()
        names = [_name(process) for process in found]
        for process in found:
            with suppress(psutil.NoSuchProcess):
                process.kill()
        code = self.process.wait(GONE_DEADLINE_S)
        if self.process.stdin is not None:
            with suppress(BrokenPipeError):
                self.process.stdin.close()
        end_s = self.clock.monotonic_s() + GONE_DEADLINE_S
        while any(_is_alive(process) for process in found):
            if self.clock.monotonic_s() > end_s:
                raise RunFailedError(
                    f"processes {', '.join(str(p.pid) for p in found if _is_alive(p))} do not end when killed",
                    remedy="see what they wait for with `ps`; a disk that does not answer looks like this",
                )
            self.clock.sleep(0.01)
        return code, names


class DrivenQuery:
    """The query of a driver process, which may be replaced by another; what it reports goes to `receive`.

    The driver keeps no evidence but its progress. `readings` are wall and monotonic time at every look.
    """

    unreadable_events = 0
    convergence = None

    def __init__(self, driver: Driver, receive: Callable[[dict[str, Any]], None]) -> None:
        self.driver, self._receive = driver, receive
        self.readings: list[tuple[float, float]] = []

    @property
    def output_mode(self) -> str:
        """The output mode, when the query has started."""
        return str((self.driver.started() or {}).get("output_mode"))

    def check(self) -> None:
        """Take in what the driver has reported; raise what ended it."""
        self.driver.check()
        self.take()
        self.readings.append((self.driver.clock.wall_s(), self.driver.clock.monotonic_s()))

    def take(self) -> None:
        """Take in what the driver has reported, whether it lives or not."""
        for document in self.driver.progress.new():
            self._receive(document)

    def tasks_running(self) -> int:
        """Not known from outside."""
        return 0

    def stop(self) -> None:
        """Kill the driver and everything that it has started."""
        self.driver.kill()

    def tasks(self, apart: Collection[int] = ()) -> tuple[list[TaskRecord], list[TaskRecord]]:  # noqa: ARG002
        """There is no event log."""
        return [], []

    def lost_executors(self) -> list[LostExecutor]:
        """There is no event log."""
        return []

    def batches_run(self) -> None:
        """Events that close windows are in micro-batches that do not count."""

    def executed_plan(self) -> None:
        """Not known from outside."""


def freeze(processes: "Iterable[psutil.Process]") -> None:
    """Stop processes where they are."""
    import psutil

    for process in processes:
        with suppress(psutil.NoSuchProcess):
            process.suspend()


def thaw(processes: "Iterable[psutil.Process]") -> None:
    """Let stopped processes go on."""
    import psutil

    for process in processes:
        with suppress(psutil.NoSuchProcess):
            process.resume()


def _name(process: "psutil.Process") -> str:
    import psutil

    try:
        return str(process.name())
    except psutil.NoSuchProcess:
        return "gone"


def _is_alive(process: "psutil.Process") -> bool:
    import psutil

    try:
        # One that nobody has collected yet runs no more.
        return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def drive(order: DriverOrder, place: DriverPlace, finish: threading.Event, clock: Clock) -> None:
    """Run the query of an order on the checkpoint that there is, until `finish` is set and all is processed."""
    from streamgauge.engine.spark.engine import SparkEngine

    settings = RunSettings(**order.settings)
    folder = place.attempt(order.attempt)
    opening = SparkEngine().open(settings, scratch=folder, log=Path(order.log), clock=clock, measured=False)
    with opening as session, (folder / PROGRESS_FILE).open("ab", buffering=0) as progress:
        session.set_shuffle_partitions(settings.shuffle_partitions or session.cores)
        session.session.spark.conf.set("spark.sql.parquet.outputTimestampType", "TIMESTAMP_MICROS")
        query, said = _start(session, order, settings, place, progress)
        try:
            _tell(folder / STARTED_FILE, {"at_us": round(clock.wall_s() * 1e6), "cores": session.cores, **said})
            while not finish.wait(POLL_S):
                query.check()
            _process_all(session, query)
        finally:
            query.stop()


def _start(
    session: "OpenSpark", order: DriverOrder, settings: RunSettings, place: DriverPlace, progress: IO[bytes]
) -> "tuple[Query, dict[str, Any]]":
    workload, parameters = choose_variant(find_workload(order.workload), order.parameters)
    fields = order.fields or session.fields_read(workload, parameters, place.attempt(order.attempt) / "empty")
    events = EmbeddedEvents(
        workload,
        parameters,
        settings.seed,
        Schedule.load(place.control / "schedule.npy"),
        place.control,
        fields=tuple(fields),
        source_partitions=settings.source_partitions,
        max_rows_per_batch=settings.max_rows_per_batch,
        admission_target_s=settings.admission_target_s,
    )

    def receive(document: dict[str, Any]) -> None:
        progress.write(json.dumps(document).encode() + b"\n")

    query = session.start(
        QueryOrder(
            workload=workload,
            parameters=parameters,
            seed=settings.seed,
            feed=session.offer(events),
            checkpoint=place.checkpoint,
            results=SINKS[order.sink].results(place.of_sink(order, workload, parameters)),
            output_mode=workload.output_mode(parameters),
            trigger_s=settings.trigger_s,
        ),
        receive,
    )
    application = str(session.session.spark.sparkContext.applicationId)
    return query, {"output_mode": query.output_mode, "fields": list(fields), "application": application}


def _process_all(session: "OpenSpark", query: "Query") -> None:
    """Wait until every event that exists is processed, and the micro-batches without events that follow are done."""
    try:
        for active in session.session.spark.streams.active:
            active.processAllAvailable()
    except Exception:
        # A query that fails meanwhile gives a better account of it than this call does.
        query.wait(lambda: False, deadline_s=FAILURE_DEADLINE_S, what="the end of the failed query")
    query.check()


def _tell(path: Path, document: Mapping[str, Any]) -> None:
    remedy = "make room, or choose another place with --runs"
    write_text_whole(path, json.dumps(document), intent=f"write {path.name}", remedy=remedy)


def _listen(pipe: IO[bytes], finish: threading.Event) -> None:
    while pipe.readline():
        finish.set()
    # Java ends by itself when the process that it serves is gone, unless it is stopped.
    _kill_children()
    os._exit(EXIT_INTERRUPTED)


def _kill_children() -> None:
    import psutil

    for process in psutil.Process().children(recursive=True):
        with suppress(psutil.NoSuchProcess):
            process.kill()


def main() -> None:
    """Carry out the order that stands on standard input."""
    # Without a buffer, whose lock a thread that waits for input would hold until the very end.
    pipe = open(0, "rb", buffering=0, closefd=False)  # noqa: SIM115
    place, order = DriverPlace(Path(sys.argv[1])), DriverOrder(**json.loads(pipe.readline()))
    finish = threading.Event()
    threading.Thread(target=_listen, args=(pipe, finish), daemon=True).start()
    try:
        drive(order, place, finish, SystemClock())
    except StreamgaugeError as error:
        document = {"kind": type(error).__name__, "what": error.what, "where": error.where, "remedy": error.remedy}
        _tell(place.attempt(order.attempt) / ERROR_FILE, document)
        sys.exit(error.exit_code)


if __name__ == "__main__":
    main()
