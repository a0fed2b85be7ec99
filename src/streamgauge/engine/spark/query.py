"""A streaming query under measurement: start, watch, stop."""

import shutil
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from streamgauge.engine.spark.event_log import QueryTasks
from streamgauge.engine.spark.executed_plan import read_plan
from streamgauge.engine.spark.listener import Progress, ProgressListener, add_listener
from streamgauge.engine.spark.session import EVENT_LOG, Session
from streamgauge.errors import InvalidExperimentError, RunFailedError, StreamgaugeError
from streamgauge.measure.records import LostExecutor, TaskRecord
from streamgauge.store.spool import Rows
from streamgauge.workloads.executed_plan import PlanNode
from streamgauge.workloads.workload import BatchStep

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

NO_SPACE = "No space left on device"
# With less than this a disk counts as full: the rest is too small for what Spark wanted to write.
FULL_BYTES = 2**20
OUTPUT_MODES = ("append", "update", "complete")
START_DEADLINE_S = 180.0
BUS_DEADLINE_MS = 10_000
# Spark itself gives a query half of this to stop.
STOP_DEADLINE_S = 60.0
# How long a query that has not ended in time may take to say so.
SLACK_S = 60.0
# How often Spark keeps its progress where there are no micro-batches: its own default, and that of its guide.
REAL_TIME_BATCH = "5 minutes"
CONTINUOUS_EPOCH = "1 second"
# What Spark says when a query has started that its mode does not allow.
MODE_REFUSALS = (
    "STREAMING_REAL_TIME_MODE",
    "INSUFFICIENT_SLOT",
    "TRIGGER_INTERVAL",
    "async progress tracking",
    "Continuous processing",
)


class Query:
    """One running streaming query whose progress goes to `receive`, batch by batch."""

    def __init__(
        self,
        session: Session,
        query: Any,
        listener: ProgressListener,
        remove: Callable[[], None],
        checkpoint: Path,
        *,
        mode: str = "micro-batch",
        output_mode: str = "append",
        step: BatchStep | None = None,
    ) -> None:
        self.session = session
        self.mode, self.output_mode = mode, output_mode
        self._step = step
        self._query = query
        self._listener = listener
        self._remove = remove
        self.checkpoint = checkpoint
        self.run_id = str(query.runId)
        self._tasks = QueryTasks(session.scratch / EVENT_LOG, query_run_id=self.run_id)

    def check(self) -> None:
        """Take in what Spark logged; raise when Java is dead, the query has ended by itself, or progress is lost."""
        self.session.watchdog.check()
        if self._listener.failure is not None:
            raise self._listener.failure
        if self._listener.terminated.is_set():
            raise self._failure()
        self._tasks.follow()

    def wait(self, condition: Callable[[], bool], *, deadline_s: float, what: str) -> None:
        """Block until `condition` holds; the query must stay alive meanwhile."""
        clock = self.session.watchdog.clock
        end_s = clock.monotonic_s() + deadline_s
        while not condition():
            self.check()
            if clock.monotonic_s() > end_s:
                raise RunFailedError(
                    f"{what} did not happen within {deadline_s:.0f} s",
                    where=str(self.session.log),
                    remedy="see Spark's log there; a cluster without free executors looks like this",
                )
            clock.sleep(0.02)

    def _failure(self) -> StreamgaugeError:
        error = self._query.exception()
        reason = failure_reason(str(error)) if error else "it stopped without saying why"
        if self.mode != "micro-batch" and any(words in reason for words in MODE_REFUSALS):
            return refused_mode(self.mode, reason, f"--mode {self.mode}")
        return query_failure(str(error or reason), self.session)

    def tasks_running(self) -> int:
        """Return how many tasks of the query run now."""
        tracker = self.session.spark.sparkContext.statusTracker()
        jobs = [tracker.getJobInfo(job) for job in tracker.getJobIdsForGroup(self.run_id)]
        stages = [tracker.getStageInfo(stage) for job in jobs if job is not None for stage in job.stageIds]
        return sum(stage.numActiveTasks for stage in stages if stage is not None)

    def stop(self) -> None:
        """Stop the query, running batch included, and wait until all that it reported has arrived."""
        with self.session.watchdog.within(STOP_DEADLINE_S, "the stop of the query"):
            with suppress(Exception):
                self._query.stop()
            with suppress(Exception):
                self.session.spark.sparkContext._jsc.sc().listenerBus().waitUntilEmpty(BUS_DEADLINE_MS)
            with suppress(Exception):
                self._remove()

    def tasks(self, apart: Collection[int] = ()) -> tuple[Collection[TaskRecord], list[TaskRecord]]:
        """Return the tasks that Spark has logged for this query; those of the micro-batches `apart` separately."""
        if not apart:
            return self._tasks.all(), []
        rest, separate = Rows(TaskRecord, self.session.scratch), list[TaskRecord]()
        for task in self._tasks.all():
            (separate if task.batch_id in apart else rest).append(task)
        return rest, separate

    @property
    def convergence(self) -> list[dict[str, float]] | None:
        """What an iterative workload reports for each micro-batch."""
        return self._step.series if self._step else None

    @property
    def unreadable_events(self) -> int:
        """How many lines of Spark's event log could not be read."""
        return self._tasks.unreadable

    def lost_executors(self) -> list[LostExecutor]:
        """Return the executors that the application has lost since the query began, as far as the log was read."""
        return self._tasks.lost

    def executed_plan(self) -> PlanNode:
        """Return the plan of the last micro-batch; there must have been one."""
        return read_plan(self._query._jsq.streamingQuery().lastExecution().executedPlan())

    def batches_run(self) -> int | None:
        """Return how many micro-batches Spark has committed, by its own log."""
        commits = self.checkpoint / "commits"
        if not commits.is_dir():
            return None
        return max((int(entry.name) + 1 for entry in commits.iterdir() if entry.name.isdigit()), default=None)


def _trigger(mode: str, trigger_s: float) -> dict[str, Any]:
    """Say a trigger to Spark; outside of micro-batches it is how often progress is kept, by default as Spark says."""
    interval = f"{round(trigger_s * 1000)} milliseconds"
    if mode == "real-time":
        return {"realTime": interval if trigger_s else REAL_TIME_BATCH}
    if mode == "continuous":
        return {"continuous": interval if trigger_s else CONTINUOUS_EPOCH}
    return {"processingTime": interval}


def _progress_options(mode: str) -> dict[str, str]:
    return {"asyncProgressTrackingEnabled": "true"} if mode == "micro-batch-async" else {}


def refused_mode(mode: str, reason: str, where: str) -> InvalidExperimentError:
    """Say that Spark itself does not run a query in a mode."""
    remedy = "use --mode micro-batch; `streamgauge describe` lists the modes of a workload"
    if "INSUFFICIENT_SLOT" in reason:
        remedy = "all tasks of all stages run at once: raise --cores, or lower the numbers of partitions"
    return InvalidExperimentError(f"Spark cannot run this in {mode} mode: {reason}", where=where, remedy=remedy)


def failure_reason(text: str) -> str:
    """Pick the line that matters of Spark's long account of a failure."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    python_error = [line for line in lines if line.split(":")[0].endswith(("Error", "Exception")) and " " in line]
    chosen = python_error[-1] if python_error else lines[0] if lines else "no reason given"
    return chosen.split(" SQLSTATE")[0][:400]


def query_failure(text: str, session: Session) -> RunFailedError:
    """Say why a query failed, by Spark's account of it and by what is left of the disk that it writes to."""
    if NO_SPACE in text or shutil.disk_usage(session.scratch).free < FULL_BYTES:
        return RunFailedError(
            "the disk is full, and the streaming query cannot write to it any more",
            where=str(session.scratch),
            remedy="free some space there, or choose a folder on another disk with --runs",
        )
    return RunFailedError(
        f"the streaming query failed: {failure_reason(text)}",
        where=str(session.log),
        remedy="Spark's log there has the whole story",
    )


def start_query(
    session: Session,
    df: "DataFrame",
    *,
    output_mode: str | None,
    trigger_s: float,
    checkpoint: Path,
    receive: Callable[[Progress], None],
    where: str,
    each_batch: BatchStep | None = None,
    folders: Sequence[str] = (),
    write: "Callable[[DataFrame], Any] | None" = None,
    mode: str = "micro-batch",
) -> Query:
    """Start `df` into the no-op sink, or hand each micro-batch to `each_batch`, or write CSV files into `folders`.

    The folders are named by these columns and lie beside the checkpoint. `write` makes a writer of the stream instead
    of these. With no output mode given, the first that Spark accepts is used. `mode` is the execution mode.
    """
    from pyspark.errors import AnalysisException, IllegalArgumentException

    refusals = []
    for output in (output_mode,) if output_mode else OUTPUT_MODES:
        listener = ProgressListener(receive)
        remove = add_listener(session.spark, listener)
        try:
            writer = df.writeStream.foreachBatch(each_batch) if each_batch else df.writeStream.format("noop")
            if folders:
                writer = (
                    df.writeStream.format("csv").partitionBy(*folders).option("path", str(checkpoint.parent / "log"))
                )
            if write is not None:
                writer = write(df)
            writer = (
                writer.outputMode(output)
                .option("checkpointLocation", str(checkpoint))
                .options(**_progress_options(mode))
                .trigger(**_trigger(mode, trigger_s))
            )
            with session.watchdog.within(START_DEADLINE_S, "the start of the query"):
                query = writer.start()
            return Query(session, query, listener, remove, checkpoint, mode=mode, output_mode=output, step=each_batch)
        except (AnalysisException, IllegalArgumentException) as error:
            remove()
            refusals.append(str(error).split("\n")[0].split(" SQLSTATE")[0])
    if mode != "micro-batch":
        raise refused_mode(mode, refusals[0], where)
    raise InvalidExperimentError(
        f"Spark cannot run this as a streaming query: {refusals[0]}",
        where=where,
        remedy="see the Structured Streaming guide for unsupported operations; a watermark often helps",
    )


def run_to_end(
    session: Session,
    df: "DataFrame",
    keep: "Callable[[DataFrame, int], None]",
    *,
    output_mode: str,
    checkpoint: Path,
    deadline_s: float = 600.0,
) -> int:
    """Run a bounded stream until its end, hand each micro-batch to `keep`, and return how many held events."""
    from pyspark.errors import StreamingQueryException

    with session.watchdog.within(deadline_s + SLACK_S, "the finite stream"):
        query = (
            df.writeStream.foreachBatch(keep)
            .outputMode(output_mode)
            .option("checkpointLocation", str(checkpoint))
            .trigger(availableNow=True)
            .start()
        )
        try:
            # An interrupt aborts this call to Java, whose answer is still on its way: nothing more may be asked then.
            ended = query.awaitTermination(deadline_s)
        except StreamingQueryException as error:
            raise query_failure(str(error), session) from error
        if not ended:
            query.stop()
            raise RunFailedError(f"the stream did not end within {deadline_s:.0f} s", remedy="lower --count")
        return sum(1 for progress in query.recentProgress if progress.numInputRows > 0)
