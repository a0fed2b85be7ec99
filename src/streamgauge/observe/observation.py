"""Queries that run by themselves, seen from outside: what is known about them, and how it is stored as a run.

The load of such a query is not ours. What its reports say about it is in `measure/observed_load.py`; the first
micro-batch is not measured, because it is unknown since when its rows had waited.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from streamgauge.conclude.evidence import Evidence
from streamgauge.conclude.observed_run import NO_BATCHES, OBSERVED, load_of
from streamgauge.measure import infer_trigger_s, observed_batches
from streamgauge.measure.records import StageRecord, TaskRecord
from streamgauge.secrets import MASK, mask_secrets
from streamgauge.summary import Summary

if TYPE_CHECKING:
    from streamgauge.engine.spark.event_log import QueryLog
    from streamgauge.running.lifecycle import Run
    from streamgauge.store import RunWriter

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


def _endpoints(documents: Collection[Mapping[str, Any]]) -> tuple[str | None, str | None]:
    """Return the sources and the sink of a query in words, as the last report has them."""
    last = None
    for document in documents:
        last = document
    if last is None:
        return None, None
    sources = ", ".join(str(source.get("description")) for source in last["sources"])
    return sources, (last.get("sink") or {}).get("description")


def shuffle_partitions(documents: Collection[Mapping[str, Any]], query: "QueryLog") -> int | None:
    """Return into how many parts a query shuffles: as its state says, whose number is fixed, or as it is set."""
    stored = None
    for document in documents:
        for operator in document.get("stateOperators") or ():
            stored = int(operator["numShufflePartitions"]) if "numShufflePartitions" in operator else stored
    return query.shuffle_partitions if stored is None else stored


def source_partitions(stages: Iterable[StageRecord]) -> int | None:
    """Return in how many parts a query reads its sources: the tasks of stages that read no other, in most batches."""
    tasks: Counter[int] = Counter()
    for stage in stages:
        if not stage.parents and stage.stage_attempt == 0:
            tasks[stage.batch_id] += stage.stage_tasks
    return Counter(tasks.values()).most_common(1)[0][0] if tasks else None


def observed_configuration(
    documents: Collection[Mapping[str, Any]],
    query: "QueryLog",
    *,
    settings: Mapping[str, str],
    trigger_s: float | None,
    mode: str = "micro-batch",
) -> dict[str, Any]:
    """Return the settings of a query, in the words of our own runs; `null` where unknown."""
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


def find_trigger(documents: Collection[Mapping[str, Any]]) -> float | None:
    """Infer the trigger interval from the reports; None when unknown."""
    return infer_trigger_s(observed_batches(documents))


def store_observed(writer: "RunWriter", evidence: Evidence, *, workload: str) -> "Run":
    """Sum up what was seen of a query, and end its run."""
    from streamgauge.conclude.summary import conclusion_of
    from streamgauge.conclude.tables import batches_table, latency_table
    from streamgauge.running.lifecycle import Run
    from streamgauge.store.layout import summary_head
    from streamgauge.store.resource_table import resources_table
    from streamgauge.store.spool import tables_of

    found = conclusion_of(evidence)
    summary: Summary = {**summary_head(writer.path, workload), **found.summary}
    writer.update(load=load_of(evidence.batches, cores=evidence.cores, output_mode=evidence.output_mode))
    writer.write_table("batches", batches_table(evidence))
    writer.write_table("tasks", tables_of(TaskRecord, evidence.tasks))
    writer.write_table("stages", tables_of(StageRecord, evidence.stages))
    if evidence.resources:
        writer.write_table("resources", resources_table(evidence.resources))
    writer.write_table("latency", latency_table(evidence, found.latency))
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
    from streamgauge.running.lifecycle import Run

    reasons = [f"the query failed: {failure}" if failure else NO_BATCHES, *notes]
    writer.finish("failed" if failure else "finished", verdict="unknown", reasons=reasons)
    return Run(writer.run_id, writer.path, {"workload": workload, "verdict": "unknown", "reasons": reasons})
