"""Run directories: written as a run happens, readable after a kill at any byte, without Java."""

from streamgauge.store.layout import REHEARSAL, SCHEMA_VERSION, runs_root
from streamgauge.store.references import (
    RunGroup,
    is_set,
    open_member,
    open_run,
    open_run_or_set,
    open_set,
    resolve_groups,
)
from streamgauge.store.removal import remove_run, sweep_scratch
from streamgauge.store.run_data import RunListing, StoredRun, list_runs
from streamgauge.store.sets import SetWriter, StoredSet, list_sets
from streamgauge.store.writer import RunWriter

__all__ = [
    "REHEARSAL",
    "SCHEMA_VERSION",
    "RunGroup",
    "RunListing",
    "RunWriter",
    "SetWriter",
    "StoredRun",
    "StoredSet",
    "runs_root",
    "is_set",
    "list_runs",
    "list_sets",
    "open_member",
    "open_run",
    "open_run_or_set",
    "open_set",
    "remove_run",
    "resolve_groups",
    "sweep_scratch",
]
