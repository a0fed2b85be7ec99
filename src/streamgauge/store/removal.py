"""Remove runs, and what killed runs left behind."""

import shutil
from pathlib import Path

from streamgauge.errors import UsageError
from streamgauge.machine.lock import probe
from streamgauge.store.layout import LOCK_FILE, RUN_FILE, WORK_FOLDER, disk_access, looks_like_run
from streamgauge.store.references import find_run
from streamgauge.store.run_data import Writer, find_writer, is_over, list_runs


def remove_run(root: Path, reference: str) -> Path:
    """Delete the run that a reference means, damaged or not, and return where it was.

    Only run directories that lie in `root` itself are deleted: no links, nothing beside or above it.
    """
    folder = find_run(root, reference)
    with disk_access("remove the run", folder):
        if folder.is_symlink() or folder.resolve().parent != root.resolve():
            remedy = "name the folder that holds it with --runs, or remove it by hand"
            raise UsageError(f'"{reference}" does not lie in this folder of runs', where=str(root), remedy=remedy)
        if not looks_like_run(folder):
            remedy = "see `streamgauge runs list`, or remove the folder by hand"
            raise UsageError(f'"{reference}" is not a run directory', where=str(folder), remedy=remedy)
        if (writer := find_writer(folder)) is not None:
            raise _still_running(folder, writer)
        # First, so that a removal cut short leaves no run that looks whole.
        (folder / RUN_FILE).unlink(missing_ok=True)
        shutil.rmtree(folder)
    return folder


def _still_running(folder: Path, writer: Writer) -> UsageError:
    what, remedy = f"run {folder.name} is still running", f"stop it first with Ctrl-C or `kill -INT {writer.pid}`"
    if not writer.is_here:
        place = f"on {writer.host}, in another container or PID namespace, or before a restart"
        what, remedy = f"{what} elsewhere", f"stop process {writer.pid} there first: {place}"
        if probe(folder / LOCK_FILE) == "unknown":
            what = f"run {folder.name} may still be running elsewhere: its lock cannot be checked on this file system"
            remedy = f"if process {writer.pid} has ended there ({place}), remove the folder by hand"
    return UsageError(what, where=str(folder), remedy=remedy)


def sweep_scratch(root: Path) -> list[Path]:
    """Delete the scratch folders of runs that have certainly ended, and return those that are gone.

    It is not certain of runs of versions without locks that did not end themselves; `remove_run` deletes those.
    """
    removed = []
    for run in list_runs(root):
        work = run.path / WORK_FOLDER
        if run.status in ("running", "unreadable") or run.path.is_symlink() or not is_over(run.path):
            continue
        if work.is_dir():
            shutil.rmtree(work, ignore_errors=True)
            if not work.exists():
                removed.append(work)
    return removed
