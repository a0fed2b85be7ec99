"""Promises about whole runs: what a stall, a planted fault or a jump of the clock does to numbers and verdict."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

from made_runs.samples import DURATION_S, ORIGIN_US, WARMUP_S, at_us, batch, evidence, resources
from made_runs.simulated_server import Server
from streamgauge.arrivals import Constant
from streamgauge.clock import ManualClock
from streamgauge.conclude.evidence import GeneratorCost
from streamgauge.conclude.summary import summarise
from streamgauge.engine.fake import FakeEngine, FakeFeed, FakeSession
from streamgauge.engine.spark.gate import Gate
from streamgauge.engine.spark.source import EmbeddedReader
from streamgauge.measure.search import Search, SearchSettings
from streamgauge.running.lifecycle import execute, new_run, prepare


def verdicts(summary):
    return {finding["question"]: finding["verdict"] for finding in summary["findings"]}


# The load


@dataclass
class FakeTime:
    """Stands for the module `time` where the source looks at it."""

    clock: ManualClock

    def time_ns(self):
        return round(self.clock.wall_s() * 1e9)

    def monotonic(self):
        return self.clock.monotonic_s()


def test_l3_the_source_offers_by_the_clock_however_long_the_query_stalls(tmp_path, monkeypatch):
    clock = ManualClock(wall_offset_s=ORIGIN_US / 1e6)
    monkeypatch.setattr("streamgauge.engine.spark.source.time", FakeTime(clock))
    schedule = Constant(1000.0).schedule(10.0)
    schedule.save(tmp_path / "schedule.npy")
    Gate(ORIGIN_US).write(tmp_path)
    source = EmbeddedReader({"control": str(tmp_path), "partitions": "1", "admission_target_s": "3.0"})
    start, lateness_s = source.initialOffset(), []
    for pause_s in (0.1005, 0.1, 0.1, 5.0, 0.1):
        clock.sleep(pause_s)
        end = source.latestOffset(start, source.getDefaultReadLimit())
        assert end["n"] == schedule.created(round(clock.monotonic_s() * 1e6))
        lateness_s.append(clock.monotonic_s() - int(schedule.times_us(start["n"])) / 1e6)
        (partition,) = source.partitions(start, end)
        first, last, base, events, segment_us, span_us, _ = (np.asarray(column) for column in partition.columns)
        taken = np.concatenate([np.arange(a, b + 1) for a, b in zip(first, last, strict=True)])
        chunk = np.repeat(np.arange(len(first)), last - first + 1)
        times_us = segment_us[chunk] + (taken - base[chunk]) * span_us[chunk] // events[chunk]
        assert np.array_equal(times_us, ORIGIN_US + schedule.times_us(np.arange(start["n"], end["n"])))
        start = end
    assert lateness_s == pytest.approx([0.1005, 0.1, 0.1, 5.0, 0.1], abs=1e-3)


def test_l3_a_query_that_stalls_for_three_seconds_is_offered_the_same_load():
    server, load_s = Server(cores=1, service_s=1e-4, noise=0.0), WARMUP_S + DURATION_S
    run = evidence()
    summaries = []
    for stalls in ({}, {15.0: 3.0}):
        batches = server.batches(run.schedule, np.random.default_rng(1), until_s=load_s + 30.0, stalls=stalls)
        summaries.append(summarise(replace(run, batches=batches)))
    smooth, stalled = summaries
    assert stalled["offered_rate_per_s"] == pytest.approx(smooth["offered_rate_per_s"], rel=1e-3)
    assert stalled["events"] == stalled["events_processed"] == smooth["events"] == 25_000
    assert smooth["end_to_end_latency_s"]["max"] < 0.5
    # An event due when the stall begins waits for that micro-batch, 3.11 s, and for the 3,110 events after it, 0.41 s.
    assert stalled["end_to_end_latency_s"]["max"] == pytest.approx(3.52, abs=0.03)
    assert stalled["backlog_events"]["max"] > 3000


@pytest.mark.parametrize("achieved", [0.5, 0.9, 0.98])
def test_l4_a_generator_that_makes_less_than_99_percent_of_the_load_is_blamed_and_the_verdict_unknown(achieved):
    run = evidence(limit=round(500 * achieved))
    slow = GeneratorCost(run.cores / (1000.0 * achieved), ("ad_id",))
    summary = summarise(replace(run, generator=slow))
    assert summary["processed_rate_per_s"] == pytest.approx(1000 * achieved, rel=0.01)
    assert (summary["verdict"], verdicts(summary)["sustained"]) == ("unknown", "unknown")
    assert summary["reasons"][0].startswith("generator-bound: ")
    fast = GeneratorCost(0.1 * slow.core_s_per_event, ("ad_id",))
    assert summarise(replace(run, generator=fast))["verdict"] == "fail"


# Time


def one_by_one(run, *, service_us, stall_us):
    """Answer one event per micro-batch, the next one when the last is done; nothing is done during the stall."""
    batches, free_us = [], 0
    for n, intended_us in enumerate(run.schedule.times_us(np.arange(run.offered)).tolist()):
        start_us = max(intended_us, free_us)
        free_us = (stall_us[1] if stall_us[0] <= start_us < stall_us[1] else start_us) + service_us
        times = {"started_us": ORIGIN_US + start_us, "emitted_us": ORIGIN_US + free_us}
        batches.append(replace(batch(n, 0.0, n, n + 1), **times, finished_us=ORIGIN_US + free_us))
    return batches


def test_t1_a_stall_of_one_second_in_ten_is_reported_from_intended_time_beside_the_short_micro_batches():
    run = evidence(rate_per_s=100.0, warmup_s=0.0, duration_s=10.0)
    batches = one_by_one(run, service_us=1_000, stall_us=(7_000_000, 8_000_000))
    summary = summarise(replace(run, batches=batches))
    assert summary["end_to_end_latency_s"]["count"] == 1000
    assert summary["end_to_end_latency_s"]["p99"] == pytest.approx(0.911, rel=5e-3)
    assert summary["end_to_end_latency_s"]["max"] == 1.001
    assert summary["batch_duration_s"]["p95"] == pytest.approx(0.001)
    assert summary["batch_duration_s"]["max"] == pytest.approx(1.001)


def test_t2_a_single_event_with_a_negative_latency_flags_the_run():
    run = evidence()
    early = [replace(b, emitted_us=b.emitted_us - 200_500) if b.batch_id == 30 else b for b in run.batches]
    summary = summarise(replace(run, batches=early))
    assert (summary["verdict"], verdicts(summary)["clock"]) == ("unknown", "unknown")
    assert summary["reasons"] == ["1 events were emitted before they were created: the clock jumped"]


@pytest.mark.parametrize("jump_s", [0.06, -0.06, 3600.0, -3600.0])
def test_t2_a_jump_of_the_clock_flags_the_run(jump_s):
    summary = summarise(evidence(resources=resources(jump_s=jump_s, jump_at_s=15.0)))
    assert (summary["verdict"], verdicts(summary)["clock"]) == ("unknown", "unknown")


class Jumping:
    """Watches a run, and sets the wall clock once, at a time of the monotonic clock."""

    def __init__(self, clock, jump_s, jump_at_s):
        self.clock, self.jump_s, self.jump_at_s = clock, jump_s, jump_at_s

    def show(self, _snapshot):
        if self.clock.monotonic_s() > self.jump_at_s:
            self.clock.wall_offset_s += self.jump_s
            self.jump_s = 0.0


class CappedFeed(FakeFeed):
    """A feed that holds back its last events."""

    def created(self, now_us):
        return min(super().created(now_us), 24_900)


class Capped(FakeSession):
    """A session whose feed is capped."""

    def offer(self, events):
        return CappedFeed(events)


def loaded(tmp_path, *, capacity="1M", jump_s=0.0, jump_at_s=26.0, is_capped=False):
    """Let a load of 25,000 events run on a clock that is moved by hand, and return how it went."""
    clock = ManualClock(wall_offset_s=ORIGIN_US / 1e6)
    asked = {"rate": 1000, "duration": "20s", "warmup": "5s", "drain": "30s", "engine": f"fake(capacity={capacity})"}
    workload, parameters, settings = prepare("ysb", asked)
    session = Capped(FakeEngine(), 2, tmp_path, clock) if is_capped else None
    watching = Jumping(clock, jump_s, jump_at_s)
    made = new_run(workload, parameters, settings, tmp_path / "runs", watching, clock=clock, session=session)
    execute(made)
    return made


@pytest.mark.parametrize("jump_s", [3600.0, -3600.0])
def test_t3_a_jump_of_the_wall_clock_makes_the_drain_neither_longer_nor_shorter(tmp_path, jump_s):
    made = loaded(tmp_path, jump_s=jump_s, is_capped=True)
    assert made.clock.wall_s() - made.clock.monotonic_s() == pytest.approx(ORIGIN_US / 1e6 + jump_s)
    assert made.clock.monotonic_s() == pytest.approx(25.0 + 30.0, abs=0.3)


def test_t3_a_wall_clock_that_is_set_back_does_not_make_the_load_longer(tmp_path):
    made = loaded(tmp_path, jump_s=-3600.0, jump_at_s=10.0)
    assert made.clock.monotonic_s() == pytest.approx(25.5, abs=0.5)
    assert made.batches[-1].last == 25_000, "the source, which sees the wall clock, offers the rest at once"


def test_t3_a_wall_clock_that_is_set_forward_ends_no_phase(tmp_path):
    made = loaded(tmp_path, jump_s=3600.0, jump_at_s=10.0)
    assert made.clock.monotonic_s() == pytest.approx(24.5, abs=0.7)


# Sustained, steady, drained


@pytest.mark.parametrize(("cores", "service_s"), [(1, 1e-3), (2, 1e-3), (4, 5e-4)])
def test_c3_the_capacity_of_c_servers_with_service_time_s_is_found_within_five_percent_of_c_by_s(cores, service_s):
    server, rng = Server(cores=cores, service_s=service_s, trigger_s=0.5), np.random.default_rng(cores)
    search = Search(SearchSettings(0.7 * cores / service_s, within=0.03))
    while (rate_per_s := search.next_rate()) is not None:
        search.add(server.probe(rate_per_s, warmup_s=30.0, duration_s=150.0, rng=rng))
    for end_per_s in (search.bracket.low_per_s, search.bracket.high_per_s):
        assert end_per_s == pytest.approx(cores / service_s, rel=0.05)


def test_c4_a_run_that_never_settles_is_unknown():
    run = evidence(duration_s=300.0)
    slower = [replace(b, emitted_us=b.emitted_us + 1_000 * b.batch_id) for b in run.batches]
    summary = summarise(replace(run, batches=slower))
    assert (summary["verdict"], verdicts(summary)["steady"]) == ("unknown", "unknown")
    assert summary["reasons"] == [summary["steady_state"]["reason"]]
    assert "still rise by" in summary["reasons"][0]


def test_c5_a_run_ends_as_soon_as_every_offered_event_is_accounted_for(tmp_path):
    made = loaded(tmp_path)
    assert made.batches[-1].last == 25_000
    assert made.clock.monotonic_s() == pytest.approx(25.0, abs=0.3)


def test_c5_a_deadline_ends_a_drain_and_the_missing_events_are_counted(tmp_path):
    made = loaded(tmp_path, is_capped=True)
    assert made.clock.monotonic_s() == pytest.approx(25.0 + 30.0, abs=0.3)
    summary = summarise(evidence(batches=made.batches))
    assert (summary["verdict"], verdicts(summary)["drained"]) == ("unknown", "unknown")
    assert (summary["events"], summary["events_processed"], summary["events_unprocessed"]) == (25_000, 24_900, 100)
    assert summary["reasons"][0].startswith("100 of 25k events were not processed within 30 s")


# Delivery and evidence


def without(batches, batch_id):
    return [b for b in batches if b.batch_id != batch_id]


def changed(batches, batch_id, **fields):
    return [replace(b, **fields) if b.batch_id == batch_id else b for b in batches]


PLANTED = {
    "lost": (lambda found: without(found, 30), "micro-batch 30 is missing"),
    "doubled": (lambda found: changed(found, 30, first=found[29].first), "events 14001 to 14500 are in micro-batch 30"),
    "foreign": (lambda found: changed(found, 50, last=25_010), "holds events [24501, 25010), but only [0, 25000)"),
    "reordered": (lambda found: [*found[:30], found[31], found[30], *found[32:]], "micro-batch 30 came after"),
    "nothing": (lambda found: found[:0], "no micro-batch was reported"),
}


@pytest.mark.parametrize("fault", PLANTED)
def test_v1_a_planted_fault_in_the_history_of_a_run_makes_it_unknown_and_is_named_with_its_events(fault):
    plant, said = PLANTED[fault]
    run = evidence()
    assert summarise(run)["verdict"] == "pass"
    summary = summarise(replace(run, batches=plant(run.batches)))
    assert summary["verdict"] == "unknown"
    assert any(said in reason for reason in summary["reasons"])


@pytest.mark.parametrize("fault", PLANTED)
def test_v1_offered_events_are_processed_lost_or_in_flight_whatever_happened(fault):
    run = evidence()
    batches = PLANTED[fault][0](run.batches)
    held = {n for b in batches for n in range(b.first, min(b.last, run.offered))}
    summary = summarise(replace(run, batches=batches))
    assert summary["events"] == run.offered
    assert summary["events_processed"] == len(held)
    assert summary["events_unprocessed"] == run.offered - 1 - max(held, default=-1)


@pytest.mark.parametrize("missing", [1, 2, 17, 30, 49])
def test_e1_any_micro_batch_whose_report_is_missing_makes_the_run_unknown(missing):
    run = evidence()
    summary = summarise(replace(run, batches=without(run.batches, missing)))
    assert (summary["verdict"], verdicts(summary)["evidence"]) == ("unknown", "unknown")
    assert f"micro-batch {missing} is missing" in summary["reasons"][0]


def test_e1_the_events_of_the_reports_are_those_that_are_accounted_for():
    run = evidence()
    summary = summarise(replace(run, reported_batches=len(run.batches)))
    assert summary["events_processed"] == sum(b.events for b in run.batches) == run.offered
    for reported in (len(run.batches) - 1, len(run.batches) + 1):
        assert summarise(replace(run, reported_batches=reported))["verdict"] == "unknown"


EMPTY = {
    "no micro-batches": lambda run: replace(run, batches=[]),
    "no rows processed": lambda run: replace(run, batches=run.batches[:1]),
    "no rows offered": lambda _: evidence(rate_per_s=0.01),
    "nothing in the measured time": lambda run: replace(
        run, batches=[run.batches[0], batch(1, 26.0, 0, run.offered), batch(2, 26.5, run.offered, run.offered)]
    ),
    "nothing after the warm-up": lambda run: replace(
        run, batches=[b for b in run.batches if b.emitted_us < at_us(WARMUP_S)], closed_us=at_us(WARMUP_S) - 1
    ),
}


@pytest.mark.parametrize("kind", EMPTY)
def test_e2_a_run_without_batches_rows_or_samples_is_unknown_and_has_no_numbers(kind):
    summary = summarise(EMPTY[kind](evidence()))
    assert summary["verdict"] == "unknown"
    assert verdicts(summary)["evidence"] == "unknown"
    assert summary["batches"] == 0
    assert summary["processed_rate_per_s"] is None
    assert summary["batch_duration_s"]["mean"] is None
