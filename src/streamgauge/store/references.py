"""What a user means by a reference: a run, a set, or groups of replicated runs."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from streamgauge.errors import InvalidExperimentError, UsageError, closest
from streamgauge.store.layout import SETS_FOLDER, looks_like_run
from streamgauge.store.run_data import StoredRun, list_runs, may_be_run, read_run, run_folders
from streamgauge.store.sets import StoredSet, list_sets, read_set, set_files

_SHOWN = 10


@dataclass(frozen=True)
class RunGroup:
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


def names_of(groups: Iterable[RunGroup]) -> str:
    """Return the names of groups for a message; not all when they are many."""
    return _some([group.name for group in groups])


def _some(names: list[str]) -> str:
    return ", ".join(names[:_SHOWN]) + (", …" if len(names) > _SHOWN else "")


def open_run(root: str | Path, reference: str) -> StoredRun:
    """Open a run by its id or the beginning of it, the word `latest`, or the path of its directory."""
    return read_run(find_run(Path(root), reference))


def open_member(root: Path, run_id: str) -> StoredRun:
    """Open the run with exactly this id in `root`: documents of others name runs, and must not lead elsewhere."""
    is_name = run_id not in ("", ".", "..") and Path(run_id).name == run_id and "\0" not in run_id
    if not is_name or not may_be_run(root / run_id):
        raise UsageError(f'unknown run "{run_id}"', where=str(root), remedy="see `streamgauge runs list`")
    return read_run(root / run_id)


def find_run(root: Path, reference: str) -> Path:
    """Return the run directory that a reference means; it may be damaged."""
    names = sorted((folder.name for folder in run_folders(root)), reverse=True)
    if reference == "latest" and names:
        return list_runs(root)[0].path
    if reference in names:
        return root / reference
    if reference and _is_path_of_run(reference):
        return Path(reference).resolve()
    matches = [name for name in names if reference and name.startswith(reference)]
    if len(matches) > 1:
        what = f'"{reference}" is the beginning of {len(matches)} runs'
        raise UsageError(what, where=str(root), remedy=f"write more of one of these: {_some(matches)}")
    if not matches:
        raise UsageError(f'unknown run "{reference}"', where=str(root), remedy=_suggestion(reference, names))
    return root / matches[0]


def _is_path_of_run(reference: str) -> bool:
    """A word is a path only if a run is there; with a separator it can mean nothing else."""
    folder = Path(reference)
    try:
        return folder.is_dir() and ("/" in reference or looks_like_run(folder))
    except (OSError, ValueError):
        return False


def _suggestion(reference: str, names: list[str]) -> str:
    if not names:
        return "there are no runs here; start one with `streamgauge run`, or choose a place with --runs"
    remedy = closest(reference, names)
    if remedy.startswith("did you mean") or len(names) <= _SHOWN:
        return remedy
    return f"see `streamgauge runs list`; the newest are {', '.join(names[:_SHOWN])}"


def is_set(root: Path, reference: str) -> bool:
    """Return whether a reference is the id of a set below `root`, or the beginning of one."""
    return bool(reference) and any(file.stem.startswith(reference) for file in set_files(root))


def open_set(root: Path, reference: str) -> StoredSet:
    """Open a set by its id or the beginning of it."""
    files = {file.stem: file for file in set_files(root)}
    matches = [reference] if reference in files else [n for n in files if reference and n.startswith(reference)]
    if len(matches) != 1:
        what = f'unknown set "{reference}"' if not matches else f'"{reference}" is the beginning of {len(matches)} sets'
        remedy = closest(reference, list(files)) if files else "there are no sets here; choose a place with --runs"
        raise UsageError(what, where=str(root / SETS_FOLDER), remedy=remedy)
    return read_set(files[matches[0]])


def open_run_or_set(root: Path, reference: str) -> StoredRun | StoredSet:
    """Open the run or the set that a reference means."""
    return open_set(root, reference) if _means_set(root, reference) else _open_run(root, reference)


def _open_run(root: Path, reference: str) -> StoredRun:
    """Open a run; one that is unknown is held against the names of sets too."""
    try:
        return open_run(root, reference)
    except UsageError:
        runs = [run.run_id for run in list_runs(root)]
        sets = [stored.set_id for stored in list_sets(root)]
        if not sets or not reference or any(name.startswith(reference) for name in runs):
            raise
    remedy = closest(reference, [*runs, *sets])
    if not remedy.startswith("did you mean") and len(runs) + len(sets) > _SHOWN:
        remedy = f"see `streamgauge runs list`; the newest set is {sets[0]}"
    raise UsageError(f'unknown run or set "{reference}"', where=str(root), remedy=remedy)


def _means_set(root: Path, reference: str) -> bool:
    """Distinguish a set from a run: ids of both begin with the time, so that a short beginning may mean either."""
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


def resolve_groups(root: Path, reference: str) -> list[RunGroup]:
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
    found = open_run_or_set(root, reference)
    if isinstance(found, StoredSet):
        return _groups_of_set(root, found, reference)
    return [RunGroup(short_id(found.run_id), (found,), reference)]


def _is_folder(reference: str) -> bool:
    try:
        return Path(reference).is_dir()
    except OSError:
        return False  # a long list of runs is not the name of a file


def _listed(root: Path, reference: str) -> RunGroup:
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
    return RunGroup(f"{short_id(runs[0].run_id)}{more}", tuple(runs), reference)


def _groups_of_set(root: Path, stored: StoredSet, reference: str) -> list[RunGroup]:
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


def _group(root: Path, name: str, run_ids: Iterable[str], reference: str) -> RunGroup:
    runs, missing = [], []
    for run_id in run_ids:
        try:
            runs.append(open_member(root, run_id))
        except UsageError:
            missing.append(run_id)
    return RunGroup(name, tuple(runs), reference, tuple(missing))


def _configuration(root: Path, stored: StoredSet, name: str, reference: str) -> RunGroup:
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
