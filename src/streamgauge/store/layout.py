"""What a run directory holds, and where run directories are."""

import os
import re
from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING

from streamgauge import files

if TYPE_CHECKING:
    from streamgauge.summary import Summary

SCHEMA_VERSION = 1

RUN_FILE = "run.json"
EVENTS_FILE = "events.jsonl"
SCHEDULE_FILE = "schedule.npy"
LOG_FILE = "spark.log"
LOCK_FILE = "lock"
WORK_FOLDER = "work"
# What everything says about runs of an engine that makes them up.
REHEARSAL = "this is a rehearsal: the engine is a fake, nothing was measured, and it is evidence of nothing"
SETS_FOLDER = "sets"

REMEDY = "choose another place with --runs or STREAMGAUGE_RUNS, or free space there"
STATUSES = ("running", "finished", "interrupted", "failed")
# Whose query was measured: ours under our load, or that of an application which was watched, or whose log was read.
ORIGINS = ("run", "attach", "import")
# What earlier versions called settings in run.json.
OLDER_SETTINGS = {"latency": "timing"}


def runs_root(given: str | Path | None = None, environ: Mapping[str, str] = os.environ) -> Path:
    """Return the folder of runs: the given one, or the default.

    >>> str(runs_root("here")), str(runs_root(None, {"STREAMGAUGE_RUNS": "/data/runs"})), str(runs_root(None, {}))
    ('here', '/data/runs', 'runs')
    """
    return Path(given) if given is not None else Path(environ.get("STREAMGAUGE_RUNS") or "runs")


def table_file(name: str) -> str:
    """Return the file of a table; a name that could lead to another folder is refused.

    >>> table_file("batches")
    'batches.parquet'
    """
    if not re.fullmatch(r"[a-z][a-z0-9_]*", name):
        raise ValueError(f"{name!r} is not the name of a table")
    return f"{name}.parquet"


def looks_like_run(folder: Path) -> bool:
    """Return whether a folder holds a run, perhaps a damaged one."""
    return any((folder / name).is_file() for name in (RUN_FILE, EVENTS_FILE))


def age_order(created: object, identifier: str) -> tuple[str, str]:
    """Return a key that sorts runs or sets by age; ids alone cannot, because two may begin with the same second.

    A damaged document has no time, but its id begins with the digits of one.

    >>> age_order("2026-03-01T10:00:00.5+00:00", "20260301T100000-z") < age_order(None, "20260301T100001-a")
    True
    """
    time = created if isinstance(created, str) else identifier
    return time.translate(str.maketrans("", "", "-:")), identifier


def disk_access(intent: str, path: Path) -> AbstractContextManager[None]:
    """Turn a refusal of the operating system into a message for users: `intent` failed at `path`."""
    return files.disk_access(intent, path, REMEDY)


def summary_head(run: Path, workload: str) -> "Summary":
    """Return what a summary says first: which run this is."""
    return {"schema_version": SCHEMA_VERSION, "run_id": run.name, "run_dir": str(run), "workload": workload}
