"""Events that the engine generates itself."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from streamgauge.arrivals import Schedule
from streamgauge.conclude.evidence import Evidence, External
from streamgauge.engine.engine import EmbeddedEvents, OfferedFeed
from streamgauge.measure import Batch, batch_from_progress
from streamgauge.running import phases
from streamgauge.running.explore import explores
from streamgauge.running.recount import recount_embedded
from streamgauge.running.sinks.none import NoSink

if TYPE_CHECKING:
    from streamgauge.running.state import RunState


@dataclass
class EmbeddedFeed:
    """Events by a schedule, behind a gate."""

    needs_connector = False
    is_embedded = True
    is_verified = True
    offered: OfferedFeed = field(init=False)

    def look_up(self, state: "RunState") -> None:
        """Nothing is needed."""

    def resolve(self, state: "RunState") -> None:
        """The engine does."""

    def offer(self, state: "RunState") -> OfferedFeed:
        """Offer the schedule, repeated where micro-batches of other sizes follow the load."""
        schedule = state.schedule
        offered = schedule.repeated() if explores(state.settings, state.workload) else schedule
        self.offered = state.session.offer(embedded_events(state, offered))
        return self.offered

    def explain(self, error: Exception) -> Exception:
        """Return the error."""
        return error

    def batch(self, state: "RunState", progress: Mapping[str, Any]) -> Batch | None:  # noqa: ARG002
        """Read the numbers of events from the offsets."""
        return batch_from_progress(progress)

    def await_load(self, state: "RunState") -> None:
        """The query has run an empty micro-batch, and waits."""

    def begin(self, state: "RunState") -> int:
        """Begin now, or as long ago as makes all events exist."""
        load_us = round(state.settings.load_s * 1e6)
        return state.now_us() - (load_us if state.settings.is_offline else 0)

    def open(self, state: "RunState") -> None:
        """Open the gate, or narrow it."""
        self.offered.open(state.origin_us, state.closed_us)

    def watch(self, state: "RunState") -> None:
        """Nothing runs beside the engine."""

    def end_load(self, state: "RunState") -> None:
        """Offer the rest of the load at once where the source, by a wall clock that was set back, would wait."""
        if round(state.clock.wall_s() * 1e6) < state.closed_us:
            self.offered.open(state.origin_us, state.closed_us, state.offered)

    def complete(self, state: "RunState", evidence: Evidence) -> Evidence:
        """Compare what the sink holds with the events."""
        if isinstance(state.sink, NoSink):
            return evidence
        state.enter(phases.RECOUNT)
        found = recount_embedded(state.workload, state.parameters, state.sink.read, evidence=evidence)
        details = state.sink.details(state.writer, evidence)
        return replace(evidence, external=External(has_generator=False, recount=found, details=details))

    def close(self) -> None:
        """Nothing was started."""


def embedded_events(state: "RunState", schedule: Schedule) -> EmbeddedEvents:
    """Return the events of a schedule as the settings of a run ask for them."""
    return EmbeddedEvents(
        state.workload,
        state.parameters,
        state.settings.seed,
        schedule,
        state.writer.work / "control",
        fields=state.fields,
        source_partitions=state.settings.source_partitions,
        max_rows_per_batch=state.settings.max_rows_per_batch,
        admission_target_s=state.settings.admission_target_s,
    )
