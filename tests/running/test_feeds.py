"""What a run counts of a topic, and how it joins a load that others have begun, without a broker."""

from dataclasses import replace
from types import SimpleNamespace

import pytest

from made_runs.samples import ORIGIN_US, batch, evidence
from measure.test_batch import progress
from streamgauge.clock import BoundedClock, ManualClock
from streamgauge.connectors.kafka.delivery import Delivery, LoadOrder
from streamgauge.connectors.kafka.load import Announcement
from streamgauge.connectors.kafka.topic import METRICS
from streamgauge.errors import RunFailedError, UsageError
from streamgauge.running.feeds import announced
from streamgauge.running.feeds.announced import AnnouncedLoad
from streamgauge.running.feeds.kafka import MIN_RECORDS, KafkaFeed
from streamgauge.running.lifecycle import create, new_run, prepare
from streamgauge.running.monitor import NoMonitor

ORDER = LoadOrder(
    address="localhost:1", topic="clicks", partitions=2, workload="ysb", stream="ysb", parameters={}, seed=3,
    rate_per_s=100.0, arrivals="constant", load_s=60.0, format="json",
)  # fmt: skip
LOAD = Announcement("load-1", ORDER, ORIGIN_US, {0: 10, 1: 10})


def state(root, **settings):
    """Return a run from Kafka of which 20 s of the load are over."""
    asked = {"source": "kafka", "rate": "1k", "duration": "20s", "warmup": "5s", "cores": 2}
    clock = ManualClock(now_s=20.0, wall_offset_s=ORIGIN_US / 1e6)
    made = new_run(*prepare("ysb", asked | settings), root, NoMonitor(), clock=clock)
    create(made)
    made.wall = BoundedClock(clock)
    made.schedule = ORDER.schedule()
    return made


def feed():
    made = KafkaFeed(partitions=2, base={0: 10, 1: 10}, ends={0: 10, 1: 10})
    made.name, made.format = "clicks", "json"
    return made


def report(batch_id, ends, records, malformed=0):
    offsets = {"clicks": {str(partition): end for partition, end in ends.items()}}
    source = {"endOffset": offsets, "latestOffset": offsets, "numInputRows": records}
    counts = {METRICS: {"records": records, "malformed": malformed}}
    return progress(batchId=batch_id, sources=[source], observedMetrics=counts)


def test_events_are_the_records_that_can_be_read_in_the_order_of_the_micro_batches(tmp_path):
    made, topic = state(tmp_path), feed()
    made.feed = topic
    made.take_progress(report(0, {0: 10, 1: 10}, 0))
    made.take_progress(report(1, {0: 15, 1: 15}, 10, malformed=1))
    made.take_progress(report(2, {0: 16, 1: 15}, 1))
    assert [(b.first, b.last) for b in made.batches] == [(0, 0), (0, 9), (9, 10)]
    assert (topic.records, topic.malformed, topic.holes) == (11, 1, [])


def test_a_count_that_differs_from_the_offsets_is_a_hole(tmp_path):
    made, topic = state(tmp_path), feed()
    topic.batch(made, report(1, {0: 15, 1: 15}, 9))
    assert topic.holes == ["micro-batch 1 counted 9 records, its offsets count 10"]


def test_a_topic_of_other_records_ends_the_run(tmp_path):
    made, topic = state(tmp_path), feed()
    topic.records = topic.malformed = MIN_RECORDS - 1
    topic.watch(made)
    topic.records = topic.malformed = MIN_RECORDS
    with pytest.raises(RunFailedError, match="none of 100 records in the topic is an event of ysb in the form json"):
        topic.watch(made)


def test_a_connector_that_does_not_fit_explains_why_a_query_did_not_start():
    error = RunFailedError("java.lang.NoSuchMethodError: org.apache.kafka.clients.x")
    assert "the Kafka connector does not fit" in str(feed().explain(error))
    other = RunFailedError("out of memory")
    assert feed().explain(other) is other


def test_a_run_takes_over_what_the_load_that_it_follows_decides(tmp_path):
    made = state(tmp_path)
    found = AnnouncedLoad.follow(made, "clicks", LOAD)
    assert (made.settings.rate_per_s, made.settings.seed, made.settings.warmup_s) == (100.0, 3, 0.0)
    assert "follows the load load-1 of 100/s" in made.notes[0]
    # What comes after it is enough for the run, whenever that has caught up.
    assert (found.continued.first, found.continued.load_s) == (6_000, 60.0 + 25.0 + announced.CATCH_UP_S)
    alone = AnnouncedLoad.follow(state(tmp_path, external_load=True), "clicks", LOAD)
    assert alone.continued.load_s == 60.0


@pytest.mark.parametrize(
    ("order", "kind", "said"),
    [
        (replace(ORDER, stream="words"), RunFailedError, "the topic holds words events, and ysb reads ysb"),
        (replace(ORDER, parameters={"campaigns": 7}), UsageError, "the load that runs has campaigns=7"),
    ],
)
def test_a_load_of_other_events_is_not_followed(tmp_path, order, kind, said):
    with pytest.raises(kind, match=said):
        AnnouncedLoad.follow(state(tmp_path), "clicks", replace(LOAD, order=order))


def joined(tmp_path, processed=6_000, **settings):
    made = state(tmp_path, **settings)
    made.feed = topic = feed()
    topic.sender = AnnouncedLoad.follow(made, "clicks", LOAD)
    made.query = SimpleNamespace(check=lambda: None)
    made.batches.append(batch(0, 0.0, 0, processed))
    topic.await_load(made)
    return made, topic


def test_a_query_that_has_caught_up_is_measured_after_its_own_warm_up(tmp_path):
    made, topic = joined(tmp_path)
    assert topic.begin(made) == ORIGIN_US
    # The load was 20 s old, and the user wants 5 s of warm-up and 20 s.
    assert (made.settings.warmup_s, made.settings.duration_s) == (pytest.approx(25.0), pytest.approx(20.0))
    assert len(made.notes) == 1


def test_a_query_that_does_not_catch_up_is_waited_for_until_the_deadline(tmp_path):
    made, _ = joined(tmp_path, processed=10)
    assert made.clock.monotonic_s() == pytest.approx(20.0 + announced.CATCH_UP_S, abs=0.2)


def test_a_load_that_is_too_short_leaves_less_or_is_continued(tmp_path):
    short, topic = joined(tmp_path, external_load=True, duration="50s")
    topic.begin(short)
    assert short.settings.duration_s == pytest.approx(35.0)
    assert "had only 35 s of 50 s left" in short.notes[-1]
    longer, topic = joined(tmp_path, duration="50s")
    topic.begin(longer)
    assert longer.settings.duration_s == pytest.approx(50.0)
    assert "the load ended 15 s before the run" in longer.notes[-1]


def test_what_a_load_sends_after_the_end_of_the_run_is_left_out(tmp_path):
    made, topic = joined(tmp_path)
    seen = replace(evidence(), reported_batches=20)
    made.begin(ORIGIN_US, 60.0)
    assert topic.sender.clipped(made, seen) == seen
    made.begin(ORIGIN_US, 12.0)
    closed = replace(seen, closed_us=ORIGIN_US + 12_000_000)
    clipped = topic.sender.clipped(made, closed)
    assert clipped.batches[-1].last == closed.offered < seen.batches[-1].last
    assert clipped.reported_batches == 20 - (len(seen.batches) - len(clipped.batches))


def test_how_well_a_followed_load_was_kept_is_what_it_reports_in_the_end(tmp_path, monkeypatch):
    made, topic = joined(tmp_path)
    topic.broker = None
    made.begin(ORIGIN_US, 60.0)
    said = [
        None,
        replace(LOAD, delivery=Delivery(5)),
        replace(LOAD, delivery=Delivery(6_000), closed_us=ORIGIN_US + 60),
    ]
    monkeypatch.setattr(announced, "last_announcement", lambda *_: said.pop(0))
    assert topic.sender.delivery(made, topic, Delivery(1)).sent == 6_001
    monkeypatch.setattr(announced, "last_announcement", lambda *_: replace(LOAD, load_id="another"))
    assert topic.sender.delivery(made, topic, Delivery(1)) is None
