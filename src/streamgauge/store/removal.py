"""Remove runs, and what killed runs left behind."""

import shutil
from pathlib import Path

from streamgauge.errors import UsageError
from streamgauge.store.layout import RUN_FILE, WORK_FOLDER, disk_access, looks_like_run
from streamgauge.store.reader import find_run, list_runs, running_process


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
        if (pid := running_process(folder)) is not None:
            remedy = f"stop it first with Ctrl-C or `kill -INT {pid}`"
            raise UsageError(f"run {folder.name} is still running", where=str(folder), remedy=remedy)
        # First, so that a removal cut short leaves no run that looks whole.
        (folder / RUN_FILE).unlink(missing_ok=True)
        shutil.rmtree(folder)
    return folder


def sweep_scratch(root: Path) -> list[Path]:
    """Delete the scratch folders of runs that run no more, and return those that are gone."""
    removed = []
    for run in list_runs(root):
        work = run.path / WORK_FOLDER
        if run.status in ("running", "unreadable") or run.path.is_symlink():
            continue
        if work.is_dir():
            shutil.rmtree(work, ignore_errors=True)
            if not work.exists():
                removed.append(work)
    return removed
