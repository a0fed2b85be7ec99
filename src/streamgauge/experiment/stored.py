"""Reading stored runs: the summary as it was, the evidence behind it, what a killed run tells, and repetitions."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from streamgauge.errors import InvalidExperimentError, UsageError, closest
from streamgauge.store import (
    SCHEMA_VERSION,
    StoredRun,
    StoredSet,
    is_set,
    list_runs,
    list_sets,
    open_run,
    open_set,
)
from streamgauge.store.layout import RUN_FILE, SETS_FOLDER, table_file
from streamgauge.verdict import Verdict

if TYPE_CHECKING:
    from streamgauge.engine.eventlog import Task
    from streamgauge.engine.resources import ResourceSample
    from streamgauge.experiment.evidence import Evidence, Maximum

Row = TypeVar("Row")
# What a foreign or damaged document does to code that expects one of ours.
_FOREIGN = (AttributeError, LookupError, TypeError, ValueError)
_SHOWN_NAMES = 10


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
        return {**head, **_partial(stored, reasons)}
    except _FOREIGN as error:
        raise _foreign("the configuration or the load is", stored, RUN_FILE, error) from error


def _foreign(what: str, stored: StoredRun, file: str, error: Exception) -> InvalidExperimentError:
    return InvalidExperimentError(
        f"{what} not one of ours ({type(error).__name__}: {error})",
        where=str(stored.path / file),
        remedy="restore the file from a copy, or remove the run with `streamgauge runs remove`",
    )


def _partial(stored: StoredRun, reasons: list[str]) -> dict[str, Any]:
    from streamgauge.experiment.summary import summarise

    summary = summarise(evidence_of(stored))
    return {**summary, "verdict": "unknown", "reasons": [*reasons, *summary["reasons"]]}


def evidence_of(stored: StoredRun) -> "Evidence":
    """Rebuild what a run left behind, from its files.

    Not there, because no file holds them: the window of the workload, the answer compared with the reference, and how
    many micro-batches Spark says that it ran. Of the clocks only the wall clock is stored, so its jumps are not seen.
    """
    if not stored.document.get("load"):
        raise InvalidExperimentError(
            "the run ended before any event was offered",
            where=str(stored.path),
            remedy="choose a run that was measured; `streamgauge runs list` shows them",
        )
    try:
        return _evidence(stored)
    except _FOREIGN as error:
        raise _foreign("the configuration or the load is", stored, RUN_FILE, error) from error


def _evidence(stored: StoredRun) -> "Evidence":
    return _observed(stored) if stored.is_observed else _offered(stored)


def _observed(stored: StoredRun) -> "Evidence":
    from streamgauge.engine.eventlog import Stage
    from streamgauge.experiment.observed import observed_evidence

    load, query = stored.document["load"], stored.document.get("query") or {}
    return observed_evidence(
        stored.progress(),
        configuration=stored.document["configuration"],
        cores=load["cores"],
        output_mode=load.get("output_mode", "unknown"),
        tasks=_tasks(stored),
        stages=_rows(stored, "stages", lambda row: Stage(**row)),
        resources=_resources(stored),
        notes=query.get("notes") or (),
        failure=query.get("failure"),
    )


def _offered(stored: StoredRun) -> "Evidence":
    from streamgauge.experiment.evidence import Evidence, GeneratorCost
    from streamgauge.experiment.settings import RunSettings

    load, summary, batches = stored.document["load"], stored.document.get("summary") or {}, stored.batches()
    configuration = {k: v for k, v in stored.document["configuration"].items() if k != "parameters"}
    closed_us = load["closed_us"]
    if not summary and batches:
        # Nobody knows when the process died; the load is counted until its last sign of life.
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
        tasks=_tasks(stored),
        resources=_resources(stored),
        generator=GeneratorCost(generator["core_s_per_event"], tuple(generator["columns"])) if generator else None,
        maximum=_maximum(load["maximum"]) if load.get("maximum") else None,
        convergence=summary.get("convergence"),
        is_interrupted=stored.status != "finished",
    )


def _maximum(document: Mapping[str, Any]) -> "Maximum":
    from streamgauge.experiment.evidence import Maximum

    verdict, reasons = Verdict(document["verdict"]), tuple(document.get("reasons") or ())
    return Maximum(document["rate_per_s"], document["run_id"], verdict, reasons)


def _rows(stored: StoredRun, name: str, make: Callable[[dict[str, Any]], Row]) -> list[Row]:
    table = stored.table(name)
    try:
        return [] if table is None else [make(row) for row in table.to_pylist()]
    except _FOREIGN as error:
        raise _foreign("the table is", stored, table_file(name), error) from error


def _tasks(stored: StoredRun) -> "list[Task]":
    from streamgauge.engine.eventlog import Task

    return _rows(stored, "tasks", lambda row: Task(**row))


def _resources(stored: StoredRun) -> "list[ResourceSample]":
    from streamgauge.engine.resources import ROLES, ResourceSample

    return _rows(
        stored,
        "resources",
        lambda row: ResourceSample(
            at_us=row["at_us"],
            monotonic_s=row["at_us"] / 1e6,
            cpu_s={role: row[f"{role}_cpu_s"] for role in ROLES},
            memory_bytes={role: row[f"{role}_memory_bytes"] for role in ROLES},
            stolen_s=row["stolen_s"],
            # Runs of earlier versions have none.
            look_mean_s=row.get("look_mean_s"),
            look_least_s=row.get("look_least_s"),
        ),
    )


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
            **_flat(run.document.get("configuration") or {}),
            **_flat(run.document.get("environment") or {}),
        }
        for run in runs
    ]
    names = {name: None for document in flat for name in document}
    rows = [(name, tuple(document.get(name, "not set") for document in flat)) for name in names]
    return [(name, texts) for name, texts in rows if len(set(texts)) > 1]


@dataclass(frozen=True)
class Group:
    """Replicated runs of one configuration; `reference` is what the user wrote, `missing` are runs that are gone."""

    name: str
    runs: tuple[StoredRun, ...]
    reference: str = ""
    missing: tuple[str, ...] = ()


def short_id(name: str) -> str:
    """Return the id of a run or a set without its time.

    >>> short_id("20261116T044039-ysb-effa")
    'ysb-effa'
    """
    return re.sub(r"^\d{8}T\d{6}-", "", name)


def resolve_groups(root: Path, reference: str) -> list[Group]:
    """Find the runs that a reference means.

    A run (its id, the beginning of it, `latest`, or a path) and a list of runs with commas are one group each. A set
    has one group per configuration, or a single one when its runs have no names; `SET:NAME` is one of its
    configurations, by its name or a part of it that no other has.
    """
    if not _is_folder(reference):
        set_part, colon, name = reference.partition(":")
        if colon:
            return [_configuration(root, open_set(root, set_part), name, reference)]
        if "," in reference:
            return [_listed(root, reference)]
    if _means_set(root, reference):
        return _groups_of_set(root, open_set(root, reference), reference)
    run = _open_run(root, reference)
    return [Group(short_id(run.run_id), (run,), reference)]


def _is_folder(reference: str) -> bool:
    try:
        return Path(reference).is_dir()
    except OSError:
        return False  # a long list of runs is no name of a file


def _open_run(root: Path, reference: str) -> StoredRun:
    """Open a run; a word that means nothing is held against the names of sets too."""
    try:
        return open_run(root, reference)
    except UsageError:
        runs = [run.run_id for run in list_runs(root)]
        sets = [stored.set_id for stored in list_sets(root)]
        if not sets or not reference or any(name.startswith(reference) for name in runs):
            raise
    remedy = closest(reference, [*runs, *sets])
    if not remedy.startswith("did you mean") and len(runs) + len(sets) > _SHOWN_NAMES:
        remedy = f"see `streamgauge runs list`; the newest set is {sets[0]}"
    raise UsageError(f'unknown run or set "{reference}"', where=str(root), remedy=remedy)


def _means_set(root: Path, reference: str) -> bool:
    """Tell a set from a run: ids of both begin with the time, so that a short beginning may mean either."""
    if not is_set(root, reference):
        return False
    runs = [run.run_id for run in list_runs(root) if run.run_id.startswith(reference)]
    if not runs or (root / SETS_FOLDER / f"{reference}.json").is_file():
        return True
    if reference in runs:
        return False
    raise UsageError(
        f'"{reference}" is the beginning of runs and of sets',
        where=str(root),
        remedy=f"write more of it, e.g. {runs[0]}",
    )


def _listed(root: Path, reference: str) -> Group:
    runs = [_open_run(root, part.strip()) for part in reference.split(",") if part.strip()]
    if not runs:
        raise UsageError(f'"{reference}" names no run', remedy="write runs with commas between them, e.g. RUN1,RUN2")
    for k, run in enumerate(runs):
        if run.path.resolve() in [other.path.resolve() for other in runs[:k]]:
            raise UsageError(
                f"run {run.run_id} is named twice in {reference}",
                remedy="name every run once: a run does not repeat itself",
            )
    more = f" and {len(runs) - 1} more" if len(runs) > 1 else ""
    return Group(f"{short_id(runs[0].run_id)}{more}", tuple(runs), reference)


def _groups_of_set(root: Path, stored: StoredSet, reference: str) -> list[Group]:
    ids: dict[str, list[str]] = {}
    for member in stored.document["members"]:
        # The repetitions of a configuration are numbered.
        name = re.sub(r"#\d+$", "", str(member.get("name") or "")) or short_id(stored.set_id)
        if member["run_id"] and member["run_id"] not in ids.setdefault(name, []):
            ids[name].append(member["run_id"])
    if not any(ids.values()):
        raise InvalidExperimentError(
            f"set {stored.set_id} has no runs", where=str(stored.path), remedy="choose a set whose runs were made"
        )
    return [_group(root, name, run_ids, reference) for name, run_ids in ids.items()]


def _group(root: Path, name: str, run_ids: Iterable[str], reference: str) -> Group:
    runs, missing = [], []
    for run_id in run_ids:
        try:
            runs.append(open_run(root, run_id))
        except UsageError:
            missing.append(run_id)
    return Group(name, tuple(runs), reference, tuple(missing))


def _configuration(root: Path, stored: StoredSet, name: str, reference: str) -> Group:
    groups = _groups_of_set(root, stored, reference)
    for matches in (
        [group for group in groups if group.name == name],
        [group for group in groups if name and group.name.startswith(name)],
        [group for group in groups if name and name in group.name],
    ):
        if len(matches) == 1:
            return matches[0]
        if matches:
            what = f'"{name}" is part of {len(matches)} names in {stored.set_id}'
            raise UsageError(what, where=reference, remedy=f"write more of one of these: {names_of(matches)}")
    what = f'no configuration "{name}" in {stored.set_id}' if name else "the name of a configuration is missing"
    raise UsageError(what, where=reference, remedy=f"known names: {names_of(groups)}")


def names_of(groups: Iterable[Group]) -> str:
    """Return the names of groups for a message; not all when they are many."""
    names = [group.name for group in groups]
    return ", ".join(names[:_SHOWN_NAMES]) + (", …" if len(names) > _SHOWN_NAMES else "")
