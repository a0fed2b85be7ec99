"""A mode that cannot be is refused before anything starts, with the reason."""

from dataclasses import replace

import numpy as np
import pytest

from streamgauge.conclude.evidence import Evidence, External, Recount
from streamgauge.conclude.summary import summarise
from streamgauge.connectors.kafka.delivery import Delivery
from streamgauge.errors import InvalidExperimentError, UsageError
from streamgauge.lookup import find_workload
from streamgauge.measure import Emissions, all_processed
from streamgauge.running.lifecycle import prepare
from streamgauge.running.modes import check_slots, with_slots
from streamgauge.settings.run_settings import parse_settings
from streamgauge.verdict import Verdict

KAFKA = {"source": "kafka", "cores": 2}
ORIGIN_US = 1_700_000_000_000_000


@pytest.mark.parametrize(
    ("workload", "settings", "reason"),
    [
        ("hibench-identity", {"mode": "real-time"}, "reads from Kafka, not from the embedded source"),
        ("hibench-identity", {"mode": "real-time", "sink": "noop", **KAFKA}, "not in the sink noop"),
        ("hibench-identity", {"mode": "real-time", "timing": "commit", **KAFKA}, "no micro-batches whose commit"),
        ("hibench-identity", {"mode": "real-time", "trigger": "1s", **KAFKA}, "lasts 5 s or more"),
        ("hibench-identity", {"mode": "continuous", "max_rows_per_batch": "5k", **KAFKA}, "as they come"),
        ("hibench-wordcount", {"mode": "continuous", **KAFKA}, "cannot run in continuous mode: it has state"),
        ("nexmark-q8", {"mode": "real-time", **KAFKA}, "it joins two streams"),
        ("ysb", {"mode": "micro-batch-async"}, "asynchronously only without state"),
        ("nexmark-q0", {"timing": "record"}, "known only between two topics"),
        ("nexmark-q22", {"timing": "record", "sink": "kafka", **KAFKA}, "do not carry the times"),
    ],
)
def test_what_is_not_possible_is_refused_with_the_reason(workload, settings, reason):
    with pytest.raises(InvalidExperimentError, match=reason) as refused:
        prepare(workload, settings)
    assert refused.value.exit_code == 3
    assert refused.value.remedy


def test_an_unknown_mode_names_the_closest_one():
    with pytest.raises(UsageError, match="real-time"):
        parse_settings(mode="realtime")


def test_outside_of_micro_batches_results_go_to_kafka_and_are_timed_one_by_one():
    found = parse_settings(mode="real-time", source="kafka")
    assert (found.sink, found.timing, found.rate_per_s) == ("kafka", "record", 10_000)
    usual = parse_settings()
    assert (usual.sink, usual.timing, usual.rate_per_s) == ("noop", "commit", 50_000)


def test_all_tasks_get_a_slot_where_the_user_says_nothing():
    settings = parse_settings(mode="real-time", source="kafka", cores=4)
    counted = with_slots(find_workload("hibench-wordcount"), settings)
    assert (counted.source_partitions, counted.shuffle_partitions) == (2, 2)
    plain = with_slots(find_workload("hibench-identity"), settings)
    assert (plain.source_partitions, plain.shuffle_partitions) == (4, None)
    batched = parse_settings(cores=4)
    assert with_slots(find_workload("hibench-wordcount"), batched) == batched


def test_more_tasks_than_slots_are_refused():
    settings = with_slots(find_workload("ysb"), parse_settings(mode="real-time", source="kafka", cores=2))
    check_slots(find_workload("ysb"), settings, partitions=1, slots=2)
    with pytest.raises(InvalidExperimentError, match="2 for the partitions of the topic and 1 after the shuffle"):
        check_slots(find_workload("ysb"), settings, partitions=2, slots=2)


def recount(verdict: Verdict) -> Recount:
    reasons = () if verdict is Verdict.PASS else ("wrong answer: 1 rows missing",)
    return Recount(verdict, reasons, 20_000, 0, 0, 20_000, 20_000, 0, 0)


def evidence(latency_us: int = 5000, *, shown: Verdict | None = Verdict.PASS, kept: float = 1.0) -> Evidence:
    """Return what a run in real-time mode leaves: one result per event, for a share of the events."""
    settings = parse_settings(mode="real-time", source="kafka", cores=2, rate=1000, warmup="5s", duration="15s")
    schedule = settings.law.schedule(settings.load_s)
    intended = ORIGIN_US + schedule.times_us(np.arange(round(schedule.total * kept))) // 1000 * 1000
    emissions = Emissions.of(intended + latency_us, intended)
    found = Evidence(
        settings=settings,
        schedule=schedule,
        origin_us=ORIGIN_US,
        closed_us=ORIGIN_US + 20_000_000,
        batches=emissions.slices(schedule, ORIGIN_US),
        cores=2,
        output_mode="update",
        emissions=emissions,
        external=External(delivery=Delivery(sent=schedule.total), recount=recount(shown) if shown else None),
    )
    if shown is Verdict.PASS:
        return replace(found, batches=all_processed(found.batches, found.offered))
    return found


def finding(summary, question: str) -> tuple[str, str]:
    return next((f["verdict"], f["reason"]) for f in summary["findings"] if f["question"] == question)


def test_a_run_without_micro_batches_is_judged_by_its_results():
    found = summarise(evidence())
    assert found["end_to_end_latency_s"]["p50"] == pytest.approx(0.005, rel=0.01)
    assert found["processed_rate_per_s"] == pytest.approx(1000, rel=0.01)
    assert (found["mode"], found["latency_until"], found["results"]) == ("real-time", "record", 20_000)
    assert found["verdict"] == "pass", found["reasons"]


def test_what_only_micro_batches_tell_is_unknown_and_says_why():
    found = summarise(evidence())
    assert found["batches"] is None
    assert found["batch_duration_s"]["mean"] is None
    assert (found["stages"]["failed_tasks"], found["state"]["rows_max"]) == (None, None)
    assert found["unknown"]["phases_s"] == "real-time mode has no micro-batches"


def test_without_a_recount_nobody_knows_that_all_was_processed():
    found = summarise(evidence(shown=None, kept=0.99))
    verdict, reason = finding(found, "drained")
    assert (verdict, found["verdict"]) == ("unknown", "unknown")
    assert "the last result is from 20" in reason
    assert "does not report progress" in reason


def test_results_that_end_early_are_an_overload():
    verdict, reason = finding(summarise(evidence(shown=None, kept=0.5)), "sustained")
    assert verdict == "fail"
    assert "overloaded" in reason


def test_a_wrong_recount_fails_the_run():
    assert summarise(evidence(shown=Verdict.FAIL))["verdict"] == "fail"


def test_results_from_the_future_make_the_clock_doubtful():
    verdict, reason = finding(summarise(evidence(latency_us=-4000)), "clock")
    assert verdict == "unknown"
    assert "before they were created" in reason
