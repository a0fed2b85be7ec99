"""Which workload can run in which execution mode of Spark.

What Spark allows follows from what a dataflow does, so it is known before Spark starts. Where only Spark knows, for
functions of users and for prototypes, it is asked when the query starts.
"""

from typing import Any

from streamgauge.workloads.traits import Mode, Operator
from streamgauge.workloads.workload import Workload

MODES = tuple(Mode)

BARE = "its rows do not carry the times of their events to the sink, so there would be no latency to measure"


def refusal(workload: Workload, parameters: Any, mode: str) -> str | None:
    """Return why a workload cannot run in a mode, None if it can."""
    if mode == Mode.MICRO_BATCH:
        return None
    if workload.sink.each_batch is not None:
        return "it is iterative: a step in the driver needs every micro-batch"
    rules = {
        Mode.MICRO_BATCH_ASYNC: _refuse_async,
        Mode.REAL_TIME: _refuse_real_time,
        Mode.CONTINUOUS: _refuse_continuous,
    }
    return rules[Mode(mode)](workload, parameters)


def _refuse_async(workload: Workload, _: Any) -> str | None:
    if workload.sink.folders:
        return "it writes files, and Spark tracks the progress of such a sink only synchronously"
    if workload.traits.is_stateful:
        return "it has state, and Spark tracks progress asynchronously only without state"
    return None


def _refuse_real_time(workload: Workload, parameters: Any) -> str | None:
    traits = workload.traits
    if workload.sink.folders:
        return "it writes files, and real-time mode has no such sink"
    if traits.has(Operator.STREAM_JOIN):
        return "it joins two streams, and real-time mode joins a stream only with a table"
    if traits.has(Operator.PYTHON_STATE):
        return "it keeps state in Python, which real-time mode does not offer"
    if traits.is_stateful and workload.output_mode(parameters) != "update":
        return "it emits only final results (append), and real-time mode emits updates"
    if traits.has(Operator.PROCESSING_TIME_WINDOW):
        return "its windows are of processing time, which stalls within a batch of real-time mode"
    return None if traits.carries else BARE


def _refuse_continuous(workload: Workload, _: Any) -> str | None:
    traits = workload.traits
    if workload.sink.folders:
        return "it writes files, and continuous mode has no such sink"
    if traits.is_stateful:
        return "it has state, and continuous mode only maps and filters"
    if traits.has(Operator.TABLE_JOIN):
        return "it joins with a table, and continuous mode only maps and filters"
    if traits.needs_shuffle:
        return "it shuffles, and continuous mode only maps and filters"
    return None if traits.carries else BARE


def possible_modes(workload: Workload) -> dict[str, str | None]:
    """Return all modes with the reason why the workload cannot run in it with default parameters, None if it can."""
    parameters = workload.parameters()
    return {mode.value: refusal(workload, parameters, mode) for mode in MODES}
