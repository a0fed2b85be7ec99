"""What a run needs to know of how its results are timed."""

from typing import TYPE_CHECKING, Protocol

from streamgauge.conclude.evidence import Evidence
from streamgauge.settings.run_settings import RunSettings
from streamgauge.workloads import Workload

if TYPE_CHECKING:
    from streamgauge.running.state import RunState


class Timing(Protocol):
    """How results are timed, and how the end of the work is seen."""

    @property
    def carry(self) -> tuple[str, ...]:
        """Columns of the events that the query carries to its sink."""

    @property
    def is_unbatched(self) -> bool:
        """Whether there are no micro-batches."""

    def settle(self, workload: Workload, settings: RunSettings) -> RunSettings:
        """Decide what the user has left open."""

    def check_slots(self, state: "RunState", slots: int | None) -> None:
        """Refuse a query that needs more slots than there are; None where their number is not known yet."""

    def output_mode(self, state: "RunState") -> str | None:
        """Return the output mode of the query, None where the engine chooses."""

    def await_start(self, state: "RunState") -> None:
        """Wait until the query is at work."""

    def has_processed(self, state: "RunState", offered: int) -> bool:
        """Return whether that many events are processed."""

    def complete(self, state: "RunState", evidence: Evidence) -> Evidence:
        """Add what is known when the query has ended."""
