"""Execution modes of Spark, and which workload can run in which of them.

What Spark allows follows from what a dataflow does, so it is known before Spark starts. Where only Spark can tell, for
functions of users and for prototypes, it is asked when the query starts.
"""

from typing import Any, Literal

from streamgauge.workloads.workload import Workload

Mode = Literal["micro-batch", "micro-batch-async", "real-time", "continuous"]
MODES: tuple[Mode, ...] = ("micro-batch", "micro-batch-async", "real-time", "continuous")
# Modes whose results appear record by record, without micro-batches that could be timed.
UNBATCHED: tuple[Mode, ...] = ("real-time", "continuous")

BARE = "its rows do not carry the times of their events to the sink, so there would be no latency to measure"


def is_stateful(workload: Workload) -> bool:
    """Tell whether Spark keeps state for the dataflow."""
    return workload.state != "none"


def needs_shuffle(workload: Workload) -> bool:
    """Tell whether rows change their tasks on the way."""
    return is_stateful(workload) or "shuffle" in workload.operators


def refusal(workload: Workload, parameters: Any, mode: str) -> str | None:
    """Return why a workload cannot run in a mode, None if it can."""
    if mode == "micro-batch":
        return None
    if workload.each_batch is not None:
        return "it is iterative: a step in the driver needs every micro-batch"
    rules = {"micro-batch-async": _refuse_async, "real-time": _refuse_real_time, "continuous": _refuse_continuous}
    return rules[mode](workload, parameters)


def _refuse_async(workload: Workload, _: Any) -> str | None:
    if workload.folders:
        return "it writes files, and Spark tracks the progress of such a sink only synchronously"
    if is_stateful(workload):
        return "it has state, and Spark tracks progress asynchronously only without state"
    return None


def _refuse_real_time(workload: Workload, parameters: Any) -> str | None:
    if workload.folders:
        return "it writes files, and real-time mode has no such sink"
    if "stream-stream" in workload.operators:
        return "it joins two streams, and real-time mode joins a stream only with a table"
    if "Python" in workload.operators:
        return "it keeps state in Python, which real-time mode does not offer"
    if is_stateful(workload) and workload.output_mode(parameters) != "update":
        return "it puts out only final results (append), and real-time mode puts out updates"
    if "processing time" in workload.operators:
        return "its windows are of processing time, which stands still within a batch of real-time mode"
    return None if workload.carries else BARE


def _refuse_continuous(workload: Workload, _: Any) -> str | None:
    if workload.folders:
        return "it writes files, and continuous mode has no such sink"
    if is_stateful(workload):
        return "it has state, and continuous mode only maps and filters"
    if "join" in workload.operators:
        return "it joins with a table, and continuous mode only maps and filters"
    if needs_shuffle(workload):
        return "it shuffles, and continuous mode only maps and filters"
    return None if workload.carries else BARE


def possible_modes(workload: Workload) -> dict[str, str | None]:
    """Return all modes with the reason why the workload cannot run in it with default parameters, None if it can."""
    parameters = workload.parameters()
    return {mode: refusal(workload, parameters, mode) for mode in MODES}
