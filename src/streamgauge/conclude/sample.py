"""What the model takes from a stored run: its settings, and the columns of its measured micro-batches and tasks."""

from typing import Any

from streamgauge.conclude.stored_run import evidence_of
from streamgauge.conclude.window import measured_part
from streamgauge.errors import InvalidExperimentError
from streamgauge.model import RunFacts, RunSample, make_sample
from streamgauge.model.sample import BATCH_COLUMNS, MIN_BATCHES, TASK_COLUMNS, Columns, as_if_quiet, with_explored
from streamgauge.store import StoredRun
from streamgauge.workloads import catalogue


def sample_of(stored: StoredRun, *, least: int = MIN_BATCHES, with_warmup: bool = False) -> RunSample:
    """Read the sample of a stored run; a run that cannot be used is refused with the reason.

    `least` is how many micro-batches it must have: the measured ones or, `with_warmup`, all that hold events.
    """
    if stored.is_rehearsal:
        raise _unusable(stored, "the run is a rehearsal, which is evidence of nothing")
    if not stored.load or not stored.configuration:
        raise _unusable(stored, "the run ended before any event was offered")
    batches, tasks = _columns(stored, "batches", BATCH_COLUMNS), _columns(stored, "tasks", TASK_COLUMNS)
    for name, columns in (("batches", batches), ("tasks", tasks)):
        if not columns:
            raise _unusable(stored, f"the run has no {name}")
    measured = measured_part(evidence_of(stored))
    taken = [batch for batch in stored.batches() if batch.events] if with_warmup else measured.batches
    numbers = [batch.batch_id for batch in taken]
    try:
        sample = make_sample(_facts(stored), batches, tasks, numbers, steady=measured.steady, least=least)
    except InvalidExperimentError as error:
        raise _unusable(stored, error.what) from error
    explored = [_columns(stored, *table) for table in (("explored", BATCH_COLUMNS), ("explored_tasks", TASK_COLUMNS))]
    return as_if_quiet(with_explored(sample, batches, *explored) if all(explored) else sample)


def _unusable(stored: StoredRun, what: str) -> InvalidExperimentError:
    remedy = "choose a run that was measured with tasks, such as one of `streamgauge run`"
    return InvalidExperimentError(what, where=str(stored.path), remedy=remedy)


def _columns(stored: StoredRun, name: str, wanted: tuple[str, ...]) -> Columns:
    found = stored.columns(name, wanted)
    missing = [column for column in wanted if column not in found]
    if found and missing:
        raise _unusable(stored, f"the table {name} lacks {', '.join(missing)}")
    return found


def _facts(stored: StoredRun) -> RunFacts:
    configuration: dict[str, Any] = stored.configuration
    cores = int(stored.load.get("cores") or 1)
    environment = stored.document.get("environment") or {}
    return RunFacts(
        run_id=stored.run_id,
        workload=str(stored.document["workload"]),
        cores=cores,
        processors=max(cores, int(environment.get("cores") or cores)),
        trigger_s=float(configuration.get("trigger_s") or 0.0),
        source_partitions=int(configuration.get("source_partitions") or cores),
        shuffle_partitions=int(configuration.get("shuffle_partitions") or cores),
        slide_s=_slide_s(stored),
        adapts=not stored.is_observed,
        slowdown=(stored.summary.get("resources") or {}).get("slowdown"),
    )


def _slide_s(stored: StoredRun) -> float | None:
    """Return the slide of the windows of a workload of the catalogue, when it writes them as they close."""
    workload = catalogue().get(str(stored.document["workload"]))
    if workload is None or workload.window is None or stored.load.get("output_mode") != "append":
        return None
    try:
        return float(workload.window(workload.parameters(**(stored.configuration.get("parameters") or {}))).slide_s)
    except (TypeError, ValueError):
        return None
