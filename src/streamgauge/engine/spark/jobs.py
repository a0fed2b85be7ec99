"""What a job costs: CPU time of its tasks, as Spark counts it."""

from collections.abc import Callable
from uuid import uuid4

from streamgauge.engine.spark.session import Session

EVENTS_DEADLINE_MS = 10_000


def cpu_ns_of(session: Session, action: Callable[[], object]) -> int:
    """Run what starts Spark jobs, and return the CPU time of their tasks' own threads, in nanoseconds.

    Tasks count their own thread only: not the start of a task, not the garbage collector, not Python workers.
    """
    context = session.spark.sparkContext
    group = f"cpu-{uuid4()}"
    context.setJobGroup(group, "measure CPU time")
    try:
        action()
    finally:
        context.setLocalProperty("spark.jobGroup.id", None)
        context.setLocalProperty("spark.job.description", None)
    spark = context._jsc.sc()
    spark.listenerBus().waitUntilEmpty(EVENTS_DEADLINE_MS)
    tracker, store = context.statusTracker(), spark.statusStore()
    infos = [tracker.getJobInfo(job) for job in tracker.getJobIdsForGroup(group)]
    stages = {stage for info in infos if info is not None for stage in info.stageIds}
    return sum(int(store.lastStageAttempt(stage).executorCpuTime()) for stage in stages)
