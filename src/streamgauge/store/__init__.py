"""Run directories: written as a run happens, readable after a kill at any byte, without Java."""

from streamgauge.store.layout import SCHEMA_VERSION, default_root
from streamgauge.store.reader import RunListing, StoredRun, list_runs, open_run
from streamgauge.store.removal import remove_run, sweep_scratch
from streamgauge.store.sets import SetWriter, StoredSet, is_set, list_sets, open_set
from streamgauge.store.writer import RunWriter

__all__ = [
    "SCHEMA_VERSION",
    "RunListing",
    "RunWriter",
    "SetWriter",
    "StoredRun",
    "StoredSet",
    "default_root",
    "is_set",
    "list_runs",
    "list_sets",
    "open_run",
    "open_set",
    "remove_run",
    "sweep_scratch",
]
