"""From Kafka to Kafka, every result counts by itself: from its event's time to its arrival in the topic.

The broker stamps results, and they carry the times of their events, so a latency needs no micro-batch. The modes
without micro-batches report next to nothing about their progress: what they have done is seen in their results.
"""

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from streamgauge.conclude.evidence import Evidence
from streamgauge.connectors.kafka.results import read_emissions
from streamgauge.measure import Emissions, all_processed
from streamgauge.running import phases
from streamgauge.running.feeds.kafka import KafkaFeed
from streamgauge.running.modes import check_slots, local_slots, with_slots
from streamgauge.running.sinks.kafka import KafkaSink
from streamgauge.running.timing.by_commit import ByCommit
from streamgauge.settings.run_settings import RunSettings
from streamgauge.verdict import Verdict
from streamgauge.workloads import Workload
from streamgauge.workloads.workload import INTENDED

if TYPE_CHECKING:
    from streamgauge.running.state import RunState

LOOK_S = 0.5
# A query without a new result for this long, while nothing is sent, has nothing left to do.
QUIET_S = 3.0


@dataclass
class ByRecord:
    """Results in a topic, timed one by one; `committed` is the timing of the micro-batches, where there are any."""

    is_unbatched: bool
    carry: tuple[str, ...] = (INTENDED,)
    committed: ByCommit = field(default_factory=ByCommit)
    is_quiet: bool = False
    results: int = -1
    looked_s: float = float("-inf")
    changed_s: float = float("-inf")

    def settle(self, workload: Workload, settings: RunSettings) -> RunSettings:
        """Give every task a slot."""
        return with_slots(workload, settings)

    def check_slots(self, state: "RunState", slots: int | None) -> None:
        """Refuse to start more tasks than can run at once; before the session is asked, the master gives the number."""
        known = slots
        if known is None and state.given_session is None:
            known = local_slots(state.settings)
        if known is not None:
            check_slots(state.workload, state.settings, partitions=_feed(state).partitions, slots=known)

    def output_mode(self, state: "RunState") -> str | None:
        """Return that of the workload; real-time mode has one only."""
        return "update" if state.settings.mode == "real-time" else self.committed.output_mode(state)

    def await_start(self, state: "RunState") -> None:
        """Wait for the first micro-batch, or until the tasks run that never end."""
        if not self.is_unbatched:
            return self.committed.await_start(state)
        return state.wait(lambda: state.query.tasks_running() >= _feed(state).partitions, "the start of the tasks")

    def has_processed(self, state: "RunState", offered: int) -> bool:
        """Look whether results still come, where there are no micro-batches."""
        if not self.is_unbatched:
            return self.committed.has_processed(state, offered)
        now_s = state.clock.monotonic_s()
        if now_s - self.looked_s >= LOOK_S:
            self.looked_s = now_s
            sink = _sink(state)
            results = sum(_result_ends(state).values())
            if results != self.results:
                self.results, self.changed_s = results, now_s
            has_begun = results > sum(sink.base.values())
            self.is_quiet = has_begun and _is_sent(state, offered) and now_s - self.changed_s >= QUIET_S
        return self.is_quiet

    def complete(self, state: "RunState", evidence: Evidence) -> Evidence:
        """Read the results; without micro-batches, slices of the time in which they came take their place."""
        state.enter(phases.RESULTS)
        sink = _sink(state)
        emissions = read_emissions(_feed(state).broker, sink.topic, sink.base, _result_ends(state))
        evidence = replace(evidence, emissions=emissions)
        if not self.is_unbatched:
            return self.committed.complete(state, evidence)
        _feed(state).count(state)
        slices = emissions.slices(state.schedule, state.origin_us)
        # Tasks that never end are in no log, nor are all of Spark's own reports there.
        seen = replace(evidence, batches=slices, tasks=[], reported_batches=None)
        is_drained = self._is_drained(state, emissions)
        claimed = replace(seen, batches=all_processed(slices, seen.offered)) if is_drained else seen
        done = state.feed.complete(state, claimed)
        recount = done.external.recount if done.external else None
        is_shown = recount is not None and recount.verdict is not Verdict.FAIL
        return done if is_shown else replace(done, batches=_feed(state).sender.clipped(state, seen).batches)

    def _is_drained(self, state: "RunState", emissions: Emissions) -> bool:
        """Return whether results have come from the end of the load, and no more of them."""
        if not len(emissions.intended_us):
            return False
        return self.is_quiet and int(emissions.intended_us.max()) >= state.closed_us - round(QUIET_S * 1e6)


def _feed(state: "RunState") -> KafkaFeed:
    assert isinstance(state.feed, KafkaFeed)
    return state.feed


def _sink(state: "RunState") -> KafkaSink:
    assert isinstance(state.sink, KafkaSink)
    return state.sink


def _result_ends(state: "RunState") -> dict[int, int]:
    return _feed(state).broker.ends(_sink(state).topic, _sink(state).partitions)


def _is_sent(state: "RunState", offered: int) -> bool:
    """Return whether the load is out."""
    load = _feed(state).load
    return load is None or load.delivery().sent >= offered
