"""Queries that run by themselves, seen from outside: what is known about them, and how it is stored as a run.

The load of such a query is not ours. What its reports tell about it is in `measure/observed.py`; the first micro-batch
is not measured, because nobody knows since when its rows had waited.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

from streamgauge.engine.environment import MASK, mask_secrets
from streamgauge.experiment.evidence import Evidence, Observed
from streamgauge.experiment.settings import RunSettings
from streamgauge.measure import Batch, infer_trigger_s, observed_batches, observed_schedule, tells_backlog
from streamgauge.measure.observed import look_us

if TYPE_CHECKING:
    from streamgauge.engine.eventlog import QueryLog, Stage, Task
    from streamgauge.engine.resources import ResourceSample
    from streamgauge.experiment.run import Run
    from streamgauge.store import RunWriter

OBSERVED = "observed"
NO_BATCHES = "no micro-batch was reported"
# Settings that change how fast a query is. The others name places, ports and times, which differ from start to start.
_TELLING = re.compile(
    r"spark\.(sql\.(?!warehouse)|shuffle\.|memory\.|locality\.|speculation|dynamicAllocation\.|serializer$|task\.cpus$"
    r"|default\.parallelism$|scheduler\.mode$|(driver|executor)\.(cores|memory|memoryOverhead|instances)$)"
)
# How Spark itself hides secrets in what it writes down.
_REDACTED = "(redacted)"


def telling_settings(settings: Mapping[str, str]) -> dict[str, str]:
    """Return the settings of Spark that can change how fast a query is, without secrets.

    >>> telling_settings({"spark.sql.ansi.enabled": "true", "spark.app.id": "local-1", "spark.sql.token": "x"})
    {'spark.sql.ansi.enabled': 'true', 'spark.sql.token': '********'}
    """
    chosen = {key: value for key, value in sorted(settings.items()) if _TELLING.match(key)}
    return mask_secrets({key: MASK if _REDACTED in value else value for key, value in chosen.items()})


def _endpoints(documents: Sequence[Mapping[str, Any]]) -> tuple[str | None, str | None]:
    """Return the sources and the sink of a query in words."""
    if not documents:
        return None, None
    last = documents[-1]
    sources = ", ".join(str(source.get("description")) for source in last["sources"])
    return sources, (last.get("sink") or {}).get("description")


def shuffle_partitions(documents: Sequence[Mapping[str, Any]], query: "QueryLog") -> int | None:
    """Return into how many parts a query shuffles: as its state says, whose number is fixed, or as it is set."""
    operators = [operator for document in documents for operator in document.get("stateOperators") or ()]
    stored = [int(operator["numShufflePartitions"]) for operator in operators if "numShufflePartitions" in operator]
    return stored[-1] if stored else query.shuffle_partitions


def source_partitions(stages: "Sequence[Stage]") -> int | None:
    """Return in how many parts a query reads its sources: the tasks of stages that read no other, in most batches."""
    tasks: Counter[int] = Counter()
    for stage in stages:
        if not stage.parents and stage.stage_attempt == 0:
            tasks[stage.batch_id] += stage.stage_tasks
    return Counter(tasks.values()).most_common(1)[0][0] if tasks else None


def observed_configuration(
    documents: Sequence[Mapping[str, Any]],
    query: "QueryLog",
    *,
    settings: Mapping[str, str],
    trigger_s: float | None,
    mode: str = "micro-batch",
) -> dict[str, Any]:
    """Return the settings of a query, in the words of our own runs; `null` where nobody can tell."""
    source, sink = _endpoints(documents)
    return {
        "load": OBSERVED,
        "trigger_s": trigger_s,
        "master": settings.get("spark.master"),
        "shuffle_partitions": shuffle_partitions(documents, query),
        "source_partitions": source_partitions(query.stages),
        "source": source,
        "sink": sink,
        "mode": mode,
        "conf": telling_settings(settings),
        "parameters": {},
    }


def find_trigger(documents: Sequence[Mapping[str, Any]]) -> float | None:
    """Tell the trigger interval from the reports, if it can be told."""
    return infer_trigger_s(observed_batches(documents))


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
    documents: Sequence[Mapping[str, Any]],
    *,
    configuration: Mapping[str, Any],
    cores: int,
    output_mode: str,
    tasks: "list[Task]",
    stages: "list[Stage]",
    resources: "list[ResourceSample]",
    notes: Sequence[str] = (),
    failure: str | None = None,
) -> Evidence:
    """Return what a query left behind, from its reports; there must be one of a micro-batch at least.

    The load ends with the last look at the sources: what came after it is not known.
    """
    batches = observed_batches(documents)
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
        observed=Observed(tells_backlog(documents), tuple(notes), failure),
    )


def load_of(batches: Sequence[Batch], *, cores: int, output_mode: str) -> dict[str, Any]:
    """Return when a query was seen, as run.json has it for the load of a run."""
    times = {"origin_us": batches[0].started_us, "closed_us": _closed_us(batches)}
    return {**times, "cores": cores, "output_mode": output_mode}


def store_observed(writer: "RunWriter", evidence: Evidence, *, workload: str) -> "Run":
    """Sum up what was seen of a query, and end its run."""
    from streamgauge.engine.eventlog import stages_table, tasks_table
    from streamgauge.engine.resources import resources_table
    from streamgauge.experiment.run import Run
    from streamgauge.experiment.summary import summarise
    from streamgauge.experiment.tables import batches_table, latency_table
    from streamgauge.store import SCHEMA_VERSION

    summary = {
        "schema_version": SCHEMA_VERSION,
        "run_id": writer.run_id,
        "run_dir": str(writer.path),
        "workload": workload,
        **summarise(evidence),
    }
    writer.update(load=load_of(evidence.batches, cores=evidence.cores, output_mode=evidence.output_mode))
    writer.write_table("batches", batches_table(evidence))
    writer.write_table("tasks", tasks_table(evidence.tasks))
    writer.write_table("stages", stages_table(evidence.stages))
    if evidence.resources:
        writer.write_table("resources", resources_table(evidence.resources))
    writer.write_table("latency", latency_table(evidence))
    failure = evidence.observed.failure if evidence.observed is not None else None
    writer.finish(
        "failed" if failure else "finished",
        summary=summary,
        verdict=summary["verdict"],
        reasons=summary["reasons"],
    )
    return Run(writer.run_id, writer.path, summary)


def store_unseen(writer: "RunWriter", *, workload: str, failure: str | None = None, notes: Sequence[str] = ()) -> "Run":
    """End the run of a query that has reported no micro-batch."""
    from streamgauge.experiment.run import Run

    reasons = [f"the query failed: {failure}" if failure else NO_BATCHES, *notes]
    writer.finish("failed" if failure else "finished", verdict="unknown", reasons=reasons)
    return Run(writer.run_id, writer.path, {"workload": workload, "verdict": "unknown", "reasons": reasons})
