"""What stored runs hold: the summary as it was, the evidence behind it, the workload, and how settings differ."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from streamgauge.errors import InvalidExperimentError, StreamgaugeError
from streamgauge.store import StoredRun
from streamgauge.store.json_text import FOREIGN, foreign
from streamgauge.store.layout import RUN_FILE, summary_head
from streamgauge.summary import Summary
from streamgauge.verdict import Verdict

if TYPE_CHECKING:
    from streamgauge.conclude.evidence import Evidence, Maximum
    from streamgauge.workloads import Workload


def summary_of(stored: StoredRun) -> Summary:
    """Return the summary of a run; a run without one gets a partial summary with the verdict unknown."""
    head = summary_head(stored.path, stored.document["workload"])
    if stored.summary:
        return {"verdict": "unknown", "reasons": [], **stored.summary, **head}
    reasons = list(stored.document.get("reasons") or [])
    if stored.status == "running":
        return {**head, "verdict": "unknown", "reasons": ["the run is still going on"]}
    if not stored.load or not stored.batches():
        return {**head, "verdict": "unknown", "reasons": reasons or ["the run ended before any event was offered"]}
    try:
        return {**head, **_partial(stored, reasons)}
    except FOREIGN as error:
        raise foreign("the configuration or the load is", stored.path / RUN_FILE, error) from error


def _partial(stored: StoredRun, reasons: list[str]) -> Summary:
    from streamgauge.conclude.summary import summarise

    summary = summarise(evidence_of(stored))
    return {**summary, "verdict": "unknown", "reasons": [*reasons, *summary["reasons"]]}


def evidence_of(stored: StoredRun) -> "Evidence":
    """Rebuild what a run left behind, from its files.

    Not there, because no file holds them: the window of the workload, the answer compared with the reference, and how
    many micro-batches Spark says that it ran. Of the clocks only the wall clock is stored, so its jumps are not seen.
    """
    if not stored.load:
        raise InvalidExperimentError(
            "the run ended before any event was offered",
            where=str(stored.path),
            remedy="choose a run that was measured; `streamgauge runs list` shows them",
        )
    try:
        return _observed(stored) if stored.is_observed else _offered(stored)
    except FOREIGN as error:
        raise foreign("the configuration or the load is", stored.path / RUN_FILE, error) from error


def _observed(stored: StoredRun) -> "Evidence":
    from streamgauge.conclude.observed_run import observed_evidence
    from streamgauge.measure import tells_backlog

    load, query = stored.load, stored.document.get("query") or {}
    return observed_evidence(
        stored.batches(),
        tells_backlog=tells_backlog(stored.read_progress()),
        configuration=stored.configuration,
        cores=load["cores"],
        output_mode=load.get("output_mode", "unknown"),
        tasks=stored.tasks(),
        stages=stored.stages(),
        resources=stored.resources(),
        notes=query.get("notes") or (),
        failure=query.get("failure"),
    )


def _offered(stored: StoredRun) -> "Evidence":
    from streamgauge.conclude.evidence import Evidence, GeneratorCost
    from streamgauge.settings.run_settings import RunSettings

    load, summary, batches = stored.load, stored.summary, stored.batches()
    configuration = {k: v for k, v in stored.configuration.items() if k != "parameters"}
    closed_us = load["closed_us"]
    if not summary and batches:
        # It is unknown when the process died; the load is counted until its last sign of life.
        closed_us = min(closed_us, max(load["origin_us"], batches[-1].finished_us))
    generator = summary.get("generator")
    return Evidence(
        settings=RunSettings(**configuration),
        schedule=stored.schedule(),
        origin_us=load["origin_us"],
        closed_us=closed_us,
        batches=batches,
        cores=load.get("cores", 1),
        output_mode=load.get("output_mode", "unknown"),
        tasks=stored.tasks(),
        resources=stored.resources(),
        generator=GeneratorCost(generator["core_s_per_event"], tuple(generator["columns"])) if generator else None,
        maximum=_maximum(load["maximum"]) if load.get("maximum") else None,
        convergence=cast(list[dict[str, float]] | None, summary.get("convergence")),
        is_interrupted=stored.status != "finished",
    )


def _maximum(document: Mapping[str, Any]) -> "Maximum":
    from streamgauge.conclude.evidence import Maximum

    verdict, reasons = Verdict(document["verdict"]), tuple(document.get("reasons") or ())
    return Maximum(document["rate_per_s"], document["run_id"], verdict, reasons)


def workload_of(stored: StoredRun) -> "Workload | None":
    """Return the workload of a run, as far as it is known without files of the name that the run gives.

    A prototype is read from the copy in the run: the file of that name may be another, or none of anybody's business.
    """
    from streamgauge.lookup import is_prototype
    from streamgauge.prototype.file.document import read_application
    from streamgauge.prototype.workload import application_workload
    from streamgauge.workloads import catalogue

    name = stored.document["workload"]
    text = (stored.configuration.get("parameters") or {}).get("application")
    if stored.is_observed or not (is_prototype(name) and isinstance(text, str)):
        return None if stored.is_observed else catalogue().get(name)
    try:
        return application_workload(read_application(text, name=name), name=name)
    except StreamgaugeError:
        return None


def _flat(document: Mapping[str, Any], prefix: str = "") -> dict[str, str]:
    """Return nested settings as names with dots and texts."""
    found: dict[str, str] = {}
    for key, value in document.items():
        if isinstance(value, Mapping):
            found |= _flat(value, f"{prefix}{key}.")
        else:
            found[f"{prefix}{key}"] = "not set" if value is None else str(value)
    return found


def differences(runs: Sequence[StoredRun]) -> list[tuple[str, tuple[str, ...]]]:
    """Return the settings and versions in which runs differ, and workload and machine if those do."""
    flat = [
        {
            "workload": run.document["workload"],
            **_flat(run.configuration),
            **_flat(run.document.get("environment") or {}),
        }
        for run in runs
    ]
    names = {name: None for document in flat for name in document}
    rows = [(name, tuple(document.get(name, "not set") for document in flat)) for name in names]
    return [(name, texts) for name, texts in rows if len(set(texts)) > 1]


def refuse_other_queries(runs: Sequence[StoredRun]) -> None:
    """Refuse runs of different workloads, or of one with different parameters: those are different queries."""
    first = runs[0]
    for other in runs[1:]:
        workloads = [run.document["workload"] for run in (first, other)]
        a, b = (run.configuration.get("parameters") or {} for run in (first, other))
        different = sorted(name for name in {*a, *b} if a.get(name) != b.get(name))
        if workloads[0] != workloads[1]:
            what = f"{first.run_id} measured {workloads[0]}, {other.run_id} {workloads[1]}"
        elif different:
            what = f"{first.run_id} and {other.run_id} differ in {', '.join(different)}"
        else:
            continue
        raise InvalidExperimentError(f"these runs are not of one query: {what}", remedy="choose runs of the same query")
