"""What a run directory holds, and where run directories are."""

import re
from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path

from streamgauge import files

SCHEMA_VERSION = 1

RUN_FILE = "run.json"
EVENTS_FILE = "events.jsonl"
SCHEDULE_FILE = "schedule.npy"
LOG_FILE = "spark.log"
WORK_FOLDER = "work"
SETS_FOLDER = "sets"

REMEDY = "choose another place with --runs or STREAMGAUGE_RUNS, or free space there"
STATUSES = ("running", "finished", "interrupted", "failed")
# Whose query was measured: ours under our load, or that of an application which was watched, or whose log was read.
ORIGINS = ("run", "attach", "import")


def default_root(environ: Mapping[str, str]) -> Path:
    """Return where runs are kept unless the user says otherwise.

    >>> str(default_root({"STREAMGAUGE_RUNS": "/data/runs"})), str(default_root({}))
    ('/data/runs', 'runs')
    """
    return Path(environ.get("STREAMGAUGE_RUNS") or "runs")


def table_file(name: str) -> str:
    """Return the file of a table; a name that could lead to another folder is refused.

    >>> table_file("batches")
    'batches.parquet'
    """
    if not re.fullmatch(r"[a-z][a-z0-9_]*", name):
        raise ValueError(f"{name!r} is not the name of a table")
    return f"{name}.parquet"


def looks_like_run(folder: Path) -> bool:
    """Tell whether a folder holds a run, perhaps a damaged one."""
    return any((folder / name).is_file() for name in (RUN_FILE, EVENTS_FILE))


def disk_access(intent: str, path: Path) -> AbstractContextManager[None]:
    """Turn a refusal of the operating system into a message for users: `intent` failed at `path`."""
    return files.disk_access(intent, path, REMEDY)
