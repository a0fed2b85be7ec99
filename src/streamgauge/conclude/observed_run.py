"""Evidence about a query that ran by itself: its load is what its reports show, from the second micro-batch on."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

from streamgauge.conclude.evidence import Evidence, Observed
from streamgauge.measure import Batch, observed_schedule
from streamgauge.measure.observed_load import look_us
from streamgauge.settings.run_settings import RunSettings

if TYPE_CHECKING:
    from streamgauge.measure.records import ResourceSample, StageRecord, TaskRecord


OBSERVED = "observed"


NO_BATCHES = "no micro-batch was reported"


def _settings(configuration: Mapping[str, Any], batches: Sequence[Batch], closed_us: int) -> RunSettings:
    """Return the settings as those of a run whose warm-up is the first micro-batch."""
    known = {field.name for field in fields(RunSettings)}
    given = {name: value for name, value in configuration.items() if name in known and value is not None}
    origin_us, first = batches[0].started_us, batches[0]
    load_s = max(1e-6, (closed_us - origin_us) / 1e6)
    # Rows that are emitted at the very end of the warm-up belong to it.
    warmup_s = (first.emitted_us + 1 - origin_us) / 1e6
    rate_per_s = max(1e-6, (batches[-1].last - first.last) / load_s)
    return replace(
        RunSettings(rate_per_s=rate_per_s, duration_s=max(0.0, load_s - warmup_s)),
        **{**given, "warmup_s": warmup_s, "drain_s": 0.0, "verify": False, "load": OBSERVED},
    )


def _closed_us(batches: Sequence[Batch]) -> int:
    return max(look_us(batches[-1]), batches[0].started_us + 1)


def observed_evidence(
    batches: list[Batch],
    *,
    tells_backlog: bool,
    configuration: Mapping[str, Any],
    cores: int,
    output_mode: str,
    tasks: "Collection[TaskRecord]",
    stages: "Collection[StageRecord]",
    resources: "list[ResourceSample]",
    notes: Sequence[str] = (),
    failure: str | None = None,
) -> Evidence:
    """Return what a query left behind, from the micro-batches of its reports; there must be one at least.

    The load ends with the last look at the sources: what came after it is not known.
    """
    if not batches:
        raise ValueError(NO_BATCHES)
    closed_us = _closed_us(batches)
    return Evidence(
        settings=_settings(configuration, batches, closed_us),
        schedule=observed_schedule(batches, configuration.get("trigger_s")),
        origin_us=batches[0].started_us,
        closed_us=closed_us,
        batches=batches,
        cores=cores,
        output_mode=output_mode,
        tasks=tasks,
        stages=stages,
        resources=resources,
        observed=Observed(tells_backlog, tuple(notes), failure),
    )


def load_of(batches: Sequence[Batch], *, cores: int, output_mode: str) -> dict[str, Any]:
    """Return when a query was seen, as run.json has it for the load of a run."""
    times = {"origin_us": batches[0].started_us, "closed_us": _closed_us(batches)}
    return {**times, "cores": cores, "output_mode": output_mode}
