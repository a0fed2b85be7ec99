"""Whether a run can be in the mode that it asks for, checked before Spark starts."""

import re
from dataclasses import replace
from typing import Any

from streamgauge.errors import InvalidExperimentError
from streamgauge.settings.run_settings import RunSettings
from streamgauge.settings.table import UNBATCHED
from streamgauge.workloads import Workload
from streamgauge.workloads.modes import BARE, refusal

# Spark allows no shorter batches of real-time mode.
MIN_REAL_TIME_S = 5.0
ASYNC_SINKS = ("noop", "kafka")


def is_unbatched(settings: RunSettings) -> bool:
    """Return whether results appear one by one, not with micro-batches."""
    return settings.mode in UNBATCHED


def check_mode(workload: Workload, parameters: Any, settings: RunSettings) -> None:
    """Refuse a mode that workload, source, sink or trigger do not allow."""
    where, mode = f"--mode {settings.mode}", settings.mode
    reason = refusal(workload, parameters, mode)
    if reason is not None:
        remedy = f"use --mode micro-batch; `streamgauge describe {workload.name}` lists the modes of the workload"
        raise InvalidExperimentError(f"{workload.name} cannot run in {mode} mode: {reason}", where=where, remedy=remedy)
    if is_unbatched(settings):
        _check_unbatched(settings, where)
    if mode == "micro-batch-async" and settings.sink not in ASYNC_SINKS:
        what = f"Spark tracks the progress of the sink {settings.sink} only synchronously"
        raise InvalidExperimentError(what, where=where, remedy="use --sink noop or --sink kafka")
    if settings.timing == "record":
        _check_record_timing(workload, settings)


def _check_unbatched(settings: RunSettings, where: str) -> None:
    if settings.source != "kafka":
        what = f"{settings.mode} mode reads from Kafka, not from the {settings.source} source"
        raise InvalidExperimentError(what, where=where, remedy="add --source kafka")
    if settings.sink != "kafka":
        what = f"the latency of single records is known only in Kafka, not in the sink {settings.sink}"
        raise InvalidExperimentError(what, where=where, remedy="use --sink kafka")
    if settings.timing != "record":
        what = f"{settings.mode} mode has no micro-batches whose commit could count"
        raise InvalidExperimentError(what, where="--timing commit", remedy="leave --timing out")
    if settings.max_rows_per_batch is not None:
        what = f"{settings.mode} mode takes records as they come"
        raise InvalidExperimentError(what, where="--max-rows-per-batch", remedy="leave it out")
    if settings.mode == "real-time" and 0 < settings.trigger_s < MIN_REAL_TIME_S:
        what = f"a batch of real-time mode lasts {MIN_REAL_TIME_S:.0f} s or more; it decides nothing but checkpoints"
        raise InvalidExperimentError(what, where="--trigger", remedy="leave it out for Spark's 5 minutes")


def _check_record_timing(workload: Workload, settings: RunSettings) -> None:
    where = "--timing record"
    if (settings.source, settings.sink) != ("kafka", "kafka"):
        what = "the times of single records are known only between two topics"
        raise InvalidExperimentError(what, where=where, remedy="add --source kafka --sink kafka")
    if not workload.traits.carries:
        what = f"{workload.name} cannot be measured so: {BARE}"
        raise InvalidExperimentError(what, where=where, remedy="use --timing commit")


def local_slots(settings: RunSettings) -> int | None:
    """Return how many tasks a master of this machine runs at once, None for a cluster."""
    found = re.fullmatch(r"local\[(\d+)\]", settings.master)
    return int(found[1]) if found else None


def with_slots(workload: Workload, settings: RunSettings) -> RunSettings:
    """Give every task a slot where all run at once and the user says nothing: half of them read if there is a shuffle.

    On a cluster, whose slots are not known yet, Spark itself reports when there are too few.
    """
    slots = local_slots(settings)
    if not is_unbatched(settings) or slots is None:
        return settings
    if not workload.traits.needs_shuffle:
        return replace(settings, source_partitions=settings.source_partitions or slots)
    shuffled = settings.shuffle_partitions
    reading = settings.source_partitions or max(1, slots - shuffled if shuffled else slots // 2)
    return replace(settings, source_partitions=reading, shuffle_partitions=shuffled or max(1, slots - reading))


def check_slots(workload: Workload, settings: RunSettings, *, partitions: int, slots: int) -> None:
    """Refuse to start more tasks than can run at once: in these modes none of them ever ends."""
    shuffled = (settings.shuffle_partitions or slots) if workload.traits.needs_shuffle else 0
    if is_unbatched(settings) and partitions + shuffled > slots:
        parts = f"{partitions} for the partitions of the topic" + (
            f" and {shuffled} after the shuffle" * bool(shuffled)
        )
        raise InvalidExperimentError(
            f"{settings.mode} mode runs all tasks at once, {parts}, and there are {slots} slots",
            where="--cores",
            remedy="raise --cores (it may exceed the machine's), or name a --topic with fewer partitions",
        )
