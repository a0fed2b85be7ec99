"""What a run needs of an engine: a session, a feed that it offers, a query into a sink, and evidence of its work.

An engine is a module `streamgauge.engine.NAME` with an object `ENGINE`, or an entry point of the group
`streamgauge.engines`. `ENGINE` takes the options of the notation `name(option=value, ...)` and returns an `Engine`.
"""

import os
import re
import shutil
import tempfile
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from importlib.util import find_spec
from inspect import getattr_static
from pathlib import Path
from traceback import walk_tb
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from streamgauge.arrivals import Schedule
from streamgauge.clock import Clock
from streamgauge.connectors.kafka.options import KafkaPlace
from streamgauge.connectors.kafka.topic import Topic
from streamgauge.errors import EnvironmentNotReadyError, RunFailedError, StreamgaugeError, UsageError, closest
from streamgauge.events import Parameters
from streamgauge.measure.records import ClockOffset, ExecutorUse, LostExecutor, ResourceSample, TaskRecord
from streamgauge.settings.run_settings import RunSettings
from streamgauge.workloads import Workload
from streamgauge.workloads.executed_plan import PlanNode

if TYPE_CHECKING:
    import pyarrow as pa

T = TypeVar("T")

GROUP = "streamgauge.engines"
_OWN = ("spark", "fake")
_NOTATION = re.compile(r"\s*(?P<name>[A-Za-z][\w-]*)\s*(?:\((?P<options>[^()]*)\))?\s*")


@dataclass(frozen=True)
class EmbeddedEvents:
    """Events that the engine generates itself by a schedule; `folder` is empty, for what steers the generator.

    Only the named `fields` are read. Without a limit, admission adapts so that a micro-batch takes about
    `admission_target_s` at most.
    """

    workload: Workload
    parameters: Parameters
    seed: int
    schedule: Schedule
    folder: Path
    fields: tuple[str, ...] | None = None
    source_partitions: int | None = None
    max_rows_per_batch: int | None = None
    admission_target_s: float = 3.0


@dataclass(frozen=True)
class TopicEvents:
    """Events that are records of a topic; with `counted`, the query counts them and those that cannot be read."""

    workload: Workload
    parameters: Parameters
    topic: Topic
    max_rows_per_batch: int | None = None
    counted: bool = True
    carry: tuple[str, ...] = ()


class OfferedFeed(Protocol):
    """Events that a query of the same session can read."""

    def open(self, origin_us: int, closed_us: int | None = None, created: int | None = None) -> None:
        """Let the load run from `origin_us` on, until `closed_us`; with `created`, that many events exist now.

        It may be called again, with an earlier end or another number. Only embedded events have a gate.
        """


@dataclass(frozen=True)
class TopicResults:
    """Results go to a topic as JSON objects, keyed by the keys of the workload."""

    place: KafkaPlace
    topic: str


@dataclass(frozen=True)
class RedisResults:
    """Counts of YSB go to Redis in Yahoo's layout; `after` is called when a micro-batch is written."""

    address: str
    after: Callable[[], None] | None = None


# What makes a writer of a stream, both of the engine's own kind, where only one engine has such a sink.
MakeWriter = Callable[[Any], Any]
Results = TopicResults | RedisResults | MakeWriter


@dataclass(frozen=True)
class QueryOrder:
    """A query to start. Without `results` they are dropped, or left to the workload.

    Without an output mode, the engine chooses one that the query allows.
    """

    workload: Workload
    parameters: Parameters
    seed: int
    feed: OfferedFeed
    checkpoint: Path
    results: Results | None = None
    output_mode: str | None = None
    trigger_s: float = 0.0
    mode: str = "micro-batch"
    carry: tuple[str, ...] = ()


@dataclass(frozen=True)
class FiniteOrder:
    """A stream that ends: its events are those of a schedule that began at `origin_us`."""

    workload: Workload
    parameters: Parameters
    seed: int
    schedule: Schedule
    origin_us: int
    folder: Path
    max_rows_per_batch: int
    fields: tuple[str, ...]


@dataclass(frozen=True)
class FiniteAnswer:
    """All rows that a stream emitted, with their `batch`, and how many micro-batches held events.

    `borders` counts the events up to the end of each micro-batch, where the answer depends on that.
    """

    rows: "pa.Table"
    batches: int
    borders: tuple[int, ...] = ()


class Query(Protocol):
    """A query that runs."""

    @property
    def output_mode(self) -> str:
        """The output mode: append, update or complete."""

    def check(self) -> None:
        """Deliver progress that is there; raise when the query has failed or the engine is dead."""

    def tasks_running(self) -> int:
        """Return how many tasks of the query run now."""

    def stop(self) -> None:
        """Stop the query, and wait until everything that it reported has arrived."""

    def tasks(self, apart: Collection[int] = ()) -> tuple[Collection[TaskRecord], list[TaskRecord]]:
        """Return the tasks of the query; those of the micro-batches `apart` separately."""

    @property
    def unreadable_events(self) -> int:
        """How many records of the engine about its tasks cannot be read."""

    def lost_executors(self) -> list[LostExecutor]:
        """Return the executors that were lost since the query began."""

    def batches_run(self) -> int | None:
        """Return how many micro-batches the engine has committed by its own log; None without one."""

    def executed_plan(self) -> PlanNode | None:
        """Return the plan of the last micro-batch; None where the engine has none."""

    @property
    def convergence(self) -> list[dict[str, float]] | None:
        """What an iterative workload reports for each micro-batch; None for others."""


class Executors(Protocol):
    """The executors of a cluster as they were before the load."""

    @property
    def clocks(self) -> Sequence[ClockOffset]:
        """How far their clocks are from the driver's."""

    def use(self) -> list[ExecutorUse]:
        """Return what each has used since."""


class Sampler(Protocol):
    """Samples what the processes of a run use, until it is stopped."""

    @property
    def samples(self) -> list[ResourceSample]:
        """The samples so far."""

    def start(self) -> None:
        """Begin."""

    def stop(self) -> None:
        """Take a last sample and end; further calls do nothing."""


class Session(Protocol):
    """An engine that is ready for queries."""

    @property
    def cores(self) -> int:
        """How many tasks run at once."""

    @property
    def scratch(self) -> Path:
        """A folder for temporary files, which the session deletes."""

    def set_shuffle_partitions(self, count: int) -> None:
        """Let queries that start from now on have that many partitions after a shuffle."""

    def fields_read(self, workload: Workload, parameters: Parameters, folder: Path) -> tuple[str, ...]:
        """Return the fields of the events that the dataflow of a workload reads; `folder` is for temporary files."""

    def generator_cost(self, workload: Workload, parameters: Parameters, fields: tuple[str, ...]) -> float | None:
        """Measure the CPU seconds that generating an event takes by itself; None where nothing can be measured."""

    def run_to_end(self, order: FiniteOrder) -> FiniteAnswer | None:
        """Run a finite stream to its end; None where the engine computes no answers."""

    def offer(self, events: EmbeddedEvents | TopicEvents) -> OfferedFeed:
        """Make events ready for a query of this session."""

    def start(self, order: QueryOrder, receive: Callable[[dict[str, Any]], None]) -> Query:
        """Start a query; `receive` gets a progress document, as events.jsonl stores it, for each micro-batch."""

    def executors(self) -> Executors | None:
        """Look at the executors of a cluster; None where there is no cluster."""

    def sampler(self, executors: Executors | None, other_pids: Sequence[int]) -> Sampler:
        """Return what samples the resources of this session, `other_pids` included."""

    def malformed_records(self, events: TopicEvents, ends: Mapping[int, int]) -> "pa.Table":
        """Return the records up to the offsets `ends` that cannot be read."""

    def check(self) -> None:
        """Raise when the engine is dead."""

    def hurry(self) -> None:
        """Give everything that goes on only a few seconds more. Signal handlers may call this."""

    def explaining(self, moment: Callable[[], str]) -> AbstractContextManager[None]:
        """Name the death of the engine as the cause of errors that follow from it; `moment` says when it was."""


class Engine(Protocol):
    """What runs queries."""

    @property
    def name(self) -> str:
        """The name by which users choose it."""

    @property
    def title(self) -> str:
        """The name for people."""

    @property
    def is_rehearsal(self) -> bool:
        """Whether its runs show how a command goes, and measure nothing."""

    def clock(self) -> Clock:
        """Return the clock of its runs."""

    def refuse(self, settings: RunSettings) -> None:
        """Raise an `InvalidExperimentError` for settings that it cannot run."""

    def open(
        self, settings: RunSettings, *, scratch: Path, log: Path, clock: Clock, measured: bool = True
    ) -> AbstractContextManager[Session]:
        """Start it, and end it with everything that it has started; without `measured`, no evidence is kept."""


def parse_engine(text: str) -> tuple[str, dict[str, str]]:
    """Read the name of an engine and its options.

    >>> parse_engine("fake(capacity=200k, noise=5%)")
    ('fake', {'capacity': '200k', 'noise': '5%'})
    """
    found = _NOTATION.fullmatch(text)
    parts = [part.partition("=") for part in (found["options"] or "").split(",") if part.strip()] if found else []
    if found is None or not all(name.strip() and equals and value.strip() for name, equals, value in parts):
        remedy = 'write a name, or e.g. "fake(capacity=200k, noise=5%)"'
        raise UsageError(f'"{text}" is not an engine', where="--engine", remedy=remedy)
    return found["name"], {name.strip(): value.strip() for name, _, value in parts}


def find_engine(text: str) -> Engine:
    """Return the engine that `--engine` names, with its options."""
    name, options = parse_engine(text)
    make = _factory(name)
    if not callable(make):
        raise _broken(name, f"its ENGINE is a {type(make).__name__} that cannot be called")
    try:
        engine: Engine = make(options)
    except (UsageError, EnvironmentNotReadyError):
        raise
    except Exception as error:
        raise _broken(name, f"{type(error).__name__}: {error}") from error
    return conforming(engine, Engine, name)


def _factory(name: str) -> Any:
    module = f"streamgauge.engine.{name}"
    plugged = {entry.name: entry for entry in entry_points(group=GROUP)}
    try:
        if name in plugged:
            return plugged[name].load()
        if name in ("engine", "admission") or not name.isidentifier() or find_spec(module) is None:
            raise UsageError(f'"{name}" is not an engine', where="--engine", remedy=closest(name, {*_OWN, *plugged}))
        return import_module(module).ENGINE
    except UsageError:
        raise
    except Exception as error:
        raise _broken(name, f"{type(error).__name__}: {error}") from error


def _broken(name: str, reason: str) -> EnvironmentNotReadyError:
    return EnvironmentNotReadyError(
        f"the engine {name} cannot be used: {reason}",
        where="--engine",
        remedy="it does not follow the protocol of streamgauge.engine.engine; report it to its authors",
    )


@cache
def _members(protocol: Any) -> tuple[str, ...]:
    return tuple(sorted(name for name in vars(protocol) if not name.startswith("_")))


def conforming(found: T, protocol: Any, name: str) -> T:
    """Return what an engine gave, or refuse it where parts of the protocol are missing."""
    missing = [member for member in _members(protocol) if not _has(found, member)]
    if missing:
        raise _broken(name, f"its {protocol.__name__} lacks {', '.join(missing)}")
    return found


def _has(found: Any, member: str) -> bool:
    """Return whether there is such a member, without computing a property."""
    try:
        getattr_static(found, member)
    except AttributeError:
        return False
    return True


@contextmanager
def failing_by_name(engine: Engine) -> Iterator[None]:
    """Fail the run, by the name of the engine, where code of a plug-in raises what no run expects; our bugs pass."""
    try:
        yield
    except StreamgaugeError:
        raise
    except Exception as error:
        where = _line_of(engine, error)
        if where is None:
            raise
        raise RunFailedError(
            f"the engine {engine.name} failed with {type(error).__name__}: {error}",
            where=where,
            remedy="report it to the authors of the engine",
        ) from error


def _line_of(engine: Engine, error: Exception) -> str | None:
    """Return the innermost line of a plug-in that an error has passed; None where it has passed none."""
    if engine.name in _OWN:
        return None
    module = type(engine).__module__
    package = ".".join(module.split(".")[: 3 if module.startswith(f"{__package__}.") else 1])
    found = None
    for frame, line in walk_tb(error.__traceback__):
        if f"{frame.f_globals.get('__name__')}.".startswith(f"{package}."):
            found = f"{frame.f_code.co_filename}:{line}"
    return found


@contextmanager
def temporary_folder() -> Iterator[tuple[Path, Path]]:
    """Yield a folder that goes in the end, and the engine's log in it; after an error that names it the log is kept."""
    with tempfile.TemporaryDirectory(prefix="streamgauge-", ignore_cleanup_errors=True) as scratch:
        log = Path(scratch) / "spark.log"
        try:
            yield Path(scratch), log
        except StreamgaugeError as error:
            if error.where == str(log):
                handle, kept = tempfile.mkstemp(prefix="streamgauge-spark-", suffix=".log")
                os.close(handle)
                shutil.copyfile(log, kept)
                error.where = kept
            raise


@contextmanager
def temporary_session(
    engine: Engine, settings: RunSettings, clock: Clock, *, measured: bool = True
) -> Iterator[Session]:
    """Open a session whose scratch folder goes with it."""
    with (
        failing_by_name(engine),
        temporary_folder() as (scratch, log),
        engine.open(settings, scratch=scratch, log=log, clock=clock, measured=measured) as opened,
    ):
        session = conforming(opened, Session, engine.name)
        session.set_shuffle_partitions(session.cores)
        yield session
