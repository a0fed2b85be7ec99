"""Reading stored runs: the summary as it was, or, for a run that was killed, what its evidence still tells."""

from typing import Any

from streamgauge.errors import InvalidExperimentError
from streamgauge.store import SCHEMA_VERSION, StoredRun


def summary_of(stored: StoredRun) -> dict[str, Any]:
    """Return the summary of a run; a run without one gets a partial summary with the verdict unknown."""
    head = {
        "schema_version": SCHEMA_VERSION,
        "run_id": stored.run_id,
        "run_dir": str(stored.path),
        "workload": stored.document["workload"],
    }
    if stored.document.get("summary"):
        return {**stored.document["summary"], **head}
    reasons = list(stored.document.get("reasons") or [])
    if stored.status == "running":
        return {**head, "verdict": "unknown", "reasons": ["the run is still going on"]}
    load, batches = stored.document.get("load"), stored.batches()
    if not load or not batches:
        return {
            **head,
            "verdict": "unknown",
            "reasons": reasons or ["the run ended before any event was offered"],
        }
    try:
        return {**head, **_partial(stored, load, reasons)}
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        raise InvalidExperimentError(
            f"the configuration or the load is not one of ours ({type(error).__name__}: {error})",
            where=str(stored.path / "run.json"),
            remedy="restore the file from a copy, or remove the run with `streamgauge runs remove`",
        ) from error


def _partial(stored: StoredRun, load: dict[str, Any], reasons: list[str]) -> dict[str, Any]:
    from streamgauge.experiment.evidence import Evidence, Maximum
    from streamgauge.experiment.settings import RunSettings
    from streamgauge.experiment.summary import summarise

    batches = stored.batches()
    configuration = {k: v for k, v in stored.document["configuration"].items() if k != "parameters"}
    evidence = Evidence(
        settings=RunSettings(**configuration),
        schedule=stored.schedule(),
        origin_us=load["origin_us"],
        # Nobody knows when the process died; the load is counted until its last sign of life.
        closed_us=min(load["closed_us"], max(load["origin_us"], batches[-1].finished_us)),
        batches=batches,
        cores=load.get("cores", 1),
        output_mode=load.get("output_mode", "unknown"),
        maximum=Maximum(**load["maximum"]) if load.get("maximum") else None,
        is_interrupted=True,
    )
    summary = summarise(evidence)
    return {**summary, "verdict": "unknown", "reasons": [*reasons, *summary["reasons"]]}
