"""A result counts when its micro-batch is committed."""

from typing import TYPE_CHECKING

from streamgauge.conclude.evidence import Evidence
from streamgauge.settings.run_settings import RunSettings
from streamgauge.workloads import Workload

if TYPE_CHECKING:
    from streamgauge.running.state import RunState


class ByCommit:
    """Micro-batches report when they are committed, and up to which event."""

    carry = ()
    is_unbatched = False

    def settle(self, _workload: Workload, settings: RunSettings) -> RunSettings:
        """Leave the settings as they are."""
        return settings

    def check_slots(self, state: "RunState", slots: int | None) -> None:
        """Tasks of a micro-batch wait for each other."""

    def output_mode(self, state: "RunState") -> str | None:
        """Return that of the workload."""
        return state.workload.output_mode(state.parameters)

    def await_start(self, state: "RunState") -> None:
        """Wait for the first micro-batch, which is empty."""
        state.wait(lambda: bool(state.batches), "the first micro-batch")

    def has_processed(self, state: "RunState", offered: int) -> bool:
        """Look at the last micro-batch."""
        return state.batches[-1].last >= offered

    def complete(self, state: "RunState", evidence: Evidence) -> Evidence:
        """Leave it to the feed."""
        return state.feed.complete(state, evidence)
