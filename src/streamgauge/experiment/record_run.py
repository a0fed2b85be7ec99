"""A run from Kafka to Kafka in which every result counts by itself: from its event's time to its arrival in the topic.

The broker stamps results, and they carry the times of their events, so no micro-batch is needed to tell a latency. The
modes without micro-batches say next to nothing about their progress: what they have done is seen in their results.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from streamgauge.experiment.evidence import Evidence
from streamgauge.experiment.kafka_run import KafkaExperiment
from streamgauge.experiment.modes import check_slots, is_unbatched, local_slots, with_slots
from streamgauge.experiment.run import START_DEADLINE_S
from streamgauge.experiment.sinks import KafkaSink
from streamgauge.kafka.results import read_emissions
from streamgauge.measure import Batch, Emissions, all_processed
from streamgauge.store import RunWriter
from streamgauge.verdict import Verdict
from streamgauge.workloads.workload import INTENDED

if TYPE_CHECKING:
    from streamgauge.engine.query import Query
    from streamgauge.engine.session import Session

LOOK_S = 0.5
# A query without a new result for so long, while nothing is sent, has nothing left to do.
QUIET_S = 3.0


@dataclass
class RecordExperiment(KafkaExperiment):
    """One run in the making whose results are timed one by one."""

    carry: tuple[str, ...] = (INTENDED,)
    is_quiet: bool = False
    results: int = -1
    looked_s: float = float("-inf")
    changed_s: float = float("-inf")

    @property
    def is_unbatched(self) -> bool:
        """Whether there are no micro-batches."""
        return is_unbatched(self.settings)

    def _measure(self, writer: RunWriter) -> Evidence:
        self.settings = with_slots(self.workload, self.settings)
        return super()._measure(writer)

    def _find_load(self, writer: RunWriter) -> None:
        super()._find_load(writer)
        slots = local_slots(self.settings)
        if slots is not None and self.session is None:
            self._check_slots(slots)

    def _check_slots(self, slots: int) -> None:
        check_slots(self.workload, self.settings, partitions=self.partitions, slots=slots)

    def _output_mode(self) -> str | None:
        return "update" if self.settings.mode == "real-time" else super()._output_mode()

    def _start(self, session: "Session", writer: RunWriter, cores: int) -> "tuple[Query, str]":
        self._check_slots(cores)
        return super()._start(session, writer, cores)

    def _await_start(self, query: "Query") -> None:
        if not self.is_unbatched:
            return super()._await_start(query)
        return query.wait(
            lambda: query.tasks_running() >= self.partitions, deadline_s=START_DEADLINE_S, what="the start of the tasks"
        )

    def _batch(self, progress: Mapping[str, Any]) -> Batch | None:
        return None if self.is_unbatched else super()._batch(progress)

    def _has_processed(self, offered: int) -> bool:
        if not self.is_unbatched:
            return super()._has_processed(offered)
        now_s = self.clock.monotonic_s()
        if now_s - self.looked_s >= LOOK_S:
            self.looked_s = now_s
            results = sum(self._result_ends().values())
            if results != self.results:
                self.results, self.changed_s = results, now_s
            has_begun = results > sum(self._topic_sink.base.values())
            self.is_quiet = has_begun and self._is_sent(offered) and now_s - self.changed_s >= QUIET_S
        return self.is_quiet

    def _is_sent(self, offered: int) -> bool:
        """Tell whether the load is out; one that is not ours tells it only at its end."""
        return self.load is None or self.load.delivery().sent >= offered

    @property
    def _topic_sink(self) -> KafkaSink:
        assert isinstance(self.sink, KafkaSink)
        return self.sink

    def _result_ends(self) -> dict[int, int]:
        return self.broker.ends(self._topic_sink.topic, self._topic_sink.partitions)

    def _completed(self, session: "Session", writer: RunWriter, evidence: Evidence) -> Evidence:
        self._enter("reading the results")
        sink = self._topic_sink
        emissions = read_emissions(self.broker, sink.topic, sink.base, self._result_ends())
        evidence = replace(evidence, emissions=emissions)
        if not self.is_unbatched:
            return super()._completed(session, writer, evidence)
        self._count_records(session, writer)
        slices = emissions.slices(self.schedule, self.origin_us)
        # Tasks that never end are in no log, nor are all of Spark's own reports there.
        seen = replace(evidence, batches=slices, tasks=[], reported_batches=None)
        claimed = replace(seen, batches=all_processed(slices, seen.offered)) if self._is_drained(emissions) else seen
        done = super()._completed(session, writer, claimed)
        recount = done.external.recount if done.external else None
        is_shown = recount is not None and recount.verdict is not Verdict.FAIL
        return done if is_shown else replace(done, batches=self._clipped(seen).batches)

    def _is_drained(self, emissions: Emissions) -> bool:
        """Tell whether results have come from the end of the load, and no more of them."""
        if not len(emissions.intended_us):
            return False
        return self.is_quiet and int(emissions.intended_us.max()) >= self.closed_us - round(QUIET_S * 1e6)

    def _count_records(self, session: "Session", writer: RunWriter) -> None:
        """Count what the topic holds, as the query has no metrics to do so."""
        from streamgauge.engine.kafka import malformed_records

        self.ends = self.broker.ends(self.topic_name, self.partitions)
        self.records = sum(self.ends.values()) - sum(self.base.values())
        table = malformed_records(session.spark, self.workload.events, self.parameters, self._topic(), self.ends)
        self.malformed = table.num_rows
        if self.malformed:
            writer.write_table("malformed", table)

    def _keep_malformed(self, session: "Session", writer: RunWriter) -> None:
        if not self.is_unbatched:
            super()._keep_malformed(session, writer)

    def _apart_s(self) -> float | None:
        return None if self.is_unbatched else super()._apart_s()
