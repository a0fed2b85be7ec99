import json
import os
import socket
from dataclasses import replace

import pytest

from made_runs.samples import ORIGIN_US, answer, at_us, batch, evidence, offline, resources, tasks
from streamgauge.conclude.evidence import GeneratorCost, Maximum
from streamgauge.conclude.summary import conclusion_of, summarise
from streamgauge.measure.records import ClockOffset, ExecutorUse, LostExecutor, MachineReading, TaskRecord
from streamgauge.verdict import Verdict
from streamgauge.workloads import Window

CONTRACT = {
    "verdict": None,
    "reasons": None,
    "offered_rate_per_s": None,
    "ingested_rate_per_s": None,
    "processed_rate_per_s": None,
    "end_to_end_latency_s": {"count", "mean", "p50", "p90", "p95", "p99", "max"},
    "backlog_events": {"mean", "max", "slope_per_s"},
    "batches": None,
    "batch_duration_s": {"mean", "p50", "p95", "max"},
    "phases_s": set(),
    "events": None,
}


def verdicts(summary):
    return {finding["question"]: finding["verdict"] for finding in summary["findings"]}


def emptied():
    """A run in which nothing but the first, empty micro-batch was reported."""
    run = evidence()
    return replace(run, batches=run.batches[:1])


@pytest.mark.parametrize("run", [evidence(), evidence(limit=400), emptied(), evidence(rate_per_s=0.01), offline()])
def test_the_keys_that_scripts_use_are_there_whatever_happened(run):
    summary = summarise(run)
    for key, parts in CONTRACT.items():
        assert key in summary
        assert (parts or set()) <= set(summary[key] if parts else ())
    json.dumps(summary, allow_nan=False)


def test_a_healthy_run_passes_with_exact_rates():
    summary = summarise(evidence())
    assert (summary["verdict"], summary["reasons"], summary["warnings"]) == ("pass", [], [])
    assert set(verdicts(summary).values()) == {"pass"}
    assert summary["offered_rate_per_s"] == 1000.0
    assert summary["ingested_rate_per_s"] == 1000.0
    assert summary["processed_rate_per_s"] == 1000.0
    assert (summary["events"], summary["events_processed"], summary["events_unprocessed"]) == (25_000, 25_000, 0)


def test_the_latency_of_a_healthy_run_has_its_closed_form():
    """A batch holds the events of half a second and emits 0.2 s after its start: 0.200, 0.201, … 0.699 s."""
    latency = summarise(evidence())["end_to_end_latency_s"]
    assert latency["count"] == 20_000
    assert latency["mean"] == pytest.approx(0.4495, rel=1e-9)
    assert latency["max"] == 0.699
    for name, exact_s in (("p50", 0.449), ("p90", 0.649), ("p95", 0.674), ("p99", 0.694)):
        assert latency[name] == pytest.approx(exact_s, rel=5e-3)


def test_the_backlog_of_a_healthy_run_is_what_arrives_during_a_batch():
    backlog = summarise(evidence())["backlog_events"]
    assert (backlog["mean"], backlog["max"], backlog["slope_per_s"]) == (200.0, 200, 0.0)


def test_batches_of_a_healthy_run_are_counted_and_timed():
    summary = summarise(evidence())
    assert summary["batches"] == 40
    assert summary["batch_duration_s"] == pytest.approx({"mean": 0.25, "p50": 0.25, "p95": 0.25, "max": 0.25})
    assert summary["batch_interval_s"]["mean"] == pytest.approx(0.5)
    assert summary["steady_state"]["from_s"] == 5.0
    assert summary["steady_state"]["until_s"] == 25.0


def test_the_same_evidence_gives_the_same_summary():
    assert summarise(evidence(limit=400)) == summarise(evidence(limit=400))


def test_a_run_that_is_slower_than_its_load_fails_with_the_growth():
    summary = summarise(evidence(limit=400))
    assert summary["verdict"] == "fail"
    assert verdicts(summary)["sustained"] == "fail"
    assert summary["reasons"][0] == "backlog grows by 200 events/s (20 % of the offered rate)"
    assert summary["offered_rate_per_s"] == 1000.0
    assert summary["processed_rate_per_s"] == pytest.approx(800.0)
    assert summary["ingested_rate_per_s"] == pytest.approx(800.0)
    assert summary["backlog_events"]["slope_per_s"] == pytest.approx(200.0)
    assert summary["events_unprocessed"] == 0


def test_events_that_wait_for_the_drain_keep_their_whole_latency():
    """The last of 25,000 events is created at 24.999 s and emitted by batch 63 at 31.7 s: no waiting is left out."""
    assert summarise(evidence(limit=400))["end_to_end_latency_s"]["max"] == pytest.approx(31.7 - 24.999, abs=0.5)


def test_a_gap_in_the_batch_ids_is_unknown():
    run = evidence()
    summary = summarise(replace(run, batches=[b for b in run.batches if b.batch_id != 20]))
    assert summary["verdict"] == "unknown"
    assert verdicts(summary)["evidence"] == "unknown"
    assert "micro-batch 20 is missing" in summary["reasons"][0]


def test_a_batch_that_spark_ran_and_nobody_reported_is_unknown():
    run = evidence()
    assert summarise(replace(run, reported_batches=len(run.batches)))["verdict"] == "pass"
    summary = summarise(replace(run, reported_batches=len(run.batches) + 1))
    assert summary["verdict"] == "unknown"
    assert "52 micro-batches, but 51 were reported" in summary["reasons"][0]


def test_events_that_were_never_processed_are_counted_and_make_the_verdict_unknown():
    run = evidence()
    summary = summarise(replace(run, batches=run.batches[:-1]))
    assert summary["verdict"] == "unknown"
    assert verdicts(summary)["drained"] == "unknown"
    assert summary["events_unprocessed"] == 25_000 - run.batches[-2].last == 499
    assert summary["events_processed"] == 24_501
    assert "499 of 25k events were not processed within 30 s" in summary["reasons"][0]


def test_a_large_unprocessed_rest_never_passes():
    run = evidence(limit=100, drain_s=5.0)
    summary = summarise(run)
    assert summary["verdict"] == "fail"
    assert summary["events_unprocessed"] == 25_000 - run.batches[-1].last > 10_000


def test_too_few_batches_are_unknown():
    summary = summarise(evidence(period_s=3.0))
    assert summary["verdict"] == "unknown"
    assert verdicts(summary)["sustained"] == "unknown"
    assert "a trend needs 10" in " ".join(summary["reasons"])


def test_no_batches_at_all_are_unknown_and_their_numbers_missing():
    run = evidence()
    for batches in ([], run.batches[:1]):
        summary = summarise(replace(run, batches=batches))
        assert summary["verdict"] != "pass"
        assert verdicts(summary)["evidence"] == "unknown"
        assert summary["processed_rate_per_s"] is None
        assert summary["end_to_end_latency_s"]["mean"] is None
        assert summary["backlog_events"]["mean"] is None
        assert summary["batch_duration_s"]["mean"] is None
        assert (summary["events"], summary["events_unprocessed"]) == (25_000, 25_000)


@pytest.mark.parametrize("jump_s", [0.2, -0.2, 3600.0, -3600.0])
def test_a_jump_of_the_wall_clock_is_unknown_however_large_it_is(jump_s):
    summary = summarise(evidence(resources=resources(jump_s=jump_s, jump_at_s=15.0)))
    assert summary["verdict"] == "unknown"
    assert verdicts(summary)["clock"] == "unknown"
    way, size = ("forward" if jump_s > 0 else "back"), ("60 min" if abs(jump_s) > 1 else "200 ms")
    assert f"the wall clock stepped {way} by {size}" in summary["reasons"]


@pytest.mark.parametrize("ppm", [49_000, -49_000])
def test_a_wall_clock_that_runs_at_another_pace_is_unknown(ppm):
    slewed = [replace(s, at_us=s.at_us + round(ppm * k)) for k, s in enumerate(resources())]
    summary = summarise(evidence(resources=slewed))
    assert (summary["verdict"], verdicts(summary)["clock"]) == ("unknown", "unknown")
    assert "(49,000 ppm)" in " ".join(summary["reasons"])


def test_an_overload_by_a_clock_that_stepped_is_not_blamed_on_the_query():
    samples = resources(jump_s=-3600.0, jump_at_s=15.0)
    summary = summarise(evidence(limit=400, resources=samples))
    assert (summary["verdict"], verdicts(summary)["sustained"]) == ("unknown", "unknown")
    assert summary["reasons"][0].startswith("inconclusive, by a clock that cannot be trusted: backlog grows")


def test_a_wrong_answer_stays_wrong_whatever_the_clock_did():
    run = evidence(resources=resources(jump_s=-3600.0, jump_at_s=15.0), answer=answer(Verdict.FAIL, missing=1))
    assert summarise(run)["verdict"] == "fail"


def test_micro_batches_that_a_step_of_the_clock_moved_by_an_hour_are_unknown():
    run = evidence(resources=resources(jump_s=-3600.0, jump_at_s=15.0))
    hour_us = 3_600_000_000
    moved = [
        replace(
            b, started_us=b.started_us - hour_us, emitted_us=b.emitted_us - hour_us, finished_us=b.finished_us - hour_us
        )
        if b.batch_id >= 30
        else b
        for b in run.batches
    ]
    summary = summarise(replace(run, batches=moved))
    assert summary["verdict"] == "unknown"
    assert "the wall clock stepped back by 60 min" in summary["reasons"]
    json.dumps(summary, allow_nan=False)


def test_a_jump_during_the_warm_up_counts_because_it_moves_the_load():
    summary = summarise(evidence(resources=resources(jump_s=2.0, jump_at_s=3.0)))
    assert verdicts(summary)["clock"] == "unknown"


def test_events_emitted_before_they_were_created_are_unknown():
    run = evidence()
    early = [replace(b, emitted_us=b.emitted_us - 300_000) if b.batch_id == 30 else b for b in run.batches]
    summary = summarise(replace(run, batches=early))
    assert summary["verdict"] == "unknown"
    assert "events were emitted before they were created" in " ".join(summary["reasons"])


@pytest.mark.parametrize(("core_s_per_event", "verdict"), [(0.0001, "fail"), (0.002, "unknown")])
def test_overload_is_blamed_on_the_generator_when_it_takes_most_of_the_cores(core_s_per_event, verdict):
    cost = GeneratorCost(core_s_per_event, ("ad_id",))
    summary = summarise(evidence(limit=400, generator=cost))
    assert verdicts(summary)["sustained"] == verdict
    assert ("generator-bound" in summary["reasons"][0]) == (verdict == "unknown")
    assert summary["generator"]["share_of_cores"] == pytest.approx(800 * core_s_per_event / 2)
    assert summary["generator"]["columns"] == ["ad_id"]


def test_an_expensive_generator_that_keeps_up_is_no_reason_to_doubt():
    summary = summarise(evidence(generator=GeneratorCost(0.0019, ("ad_id",))))
    assert summary["verdict"] == "pass"
    assert summary["generator"]["share_of_cores"] == pytest.approx(0.95)


def test_an_interrupted_run_is_unknown_and_counts_only_what_was_offered():
    run = evidence()
    early = [b for b in run.batches if b.started_us <= at_us(15.0)]
    summary = summarise(replace(run, batches=early, closed_us=at_us(15.0) - 1, is_interrupted=True))
    assert summary["verdict"] == "unknown"
    assert "the run was interrupted before its time" in summary["reasons"]
    assert summary["events"] == 15_000


def test_a_run_interrupted_in_the_warm_up_has_no_numbers():
    run = evidence()
    early = [b for b in run.batches if b.started_us <= at_us(2.0)]
    summary = summarise(replace(run, batches=early, closed_us=at_us(2.0), is_interrupted=True))
    assert summary["verdict"] == "unknown"
    assert summary["offered_rate_per_s"] is None
    assert summary["end_to_end_latency_s"]["count"] == 0


def test_a_wrong_answer_fails_a_fast_run():
    wrong = answer(Verdict.FAIL, missing=3, extra=1, reasons=["3 rows missing and 1 extra of 600 expected"])
    summary = summarise(evidence(answer=wrong))
    assert summary["verdict"] == "fail"
    assert summary["reasons"] == ["wrong answer: 3 rows missing and 1 extra of 600 expected"]
    assert (summary["answer"]["rows_missing"], summary["answer"]["rows_extra"]) == (3, 1)


def test_an_answer_that_could_not_be_compared_is_unknown():
    doubtful = answer(Verdict.UNKNOWN, reasons=["only 3 micro-batches ran"])
    summary = summarise(evidence(answer=doubtful))
    assert summary["verdict"] == "unknown"
    assert "only 3 micro-batches ran" in summary["reasons"][0]


def test_an_answer_that_could_not_be_compared_is_not_called_wrong():
    doubtful = answer(Verdict.UNKNOWN, reasons=["only 3 micro-batches ran"])
    assert "wrong" not in summarise(evidence(answer=doubtful))["reasons"][0]


def test_a_right_answer_is_part_of_the_summary():
    summary = summarise(evidence(answer=answer()))
    assert summary["verdict"] == "pass"
    assert summary["answer"]["rows_expected"] == summary["answer"]["rows_got"] == 600
    assert summarise(evidence())["answer"] is None


def test_a_starved_run_is_unknown_and_names_the_option_that_helps():
    summary = summarise(evidence(rate_per_s=2.0))
    assert summary["verdict"] == "unknown"
    assert "starved" in summary["reasons"][0]
    assert "--rate" in summary["reasons"][0]


def test_percentiles_need_ten_events_beyond_them():
    latency = summarise(evidence(rate_per_s=20.0))["end_to_end_latency_s"]
    assert latency["count"] == 400
    assert latency["p95"] is not None
    assert latency["p99"] is None


def test_latencies_that_still_rise_are_not_steady():
    run = evidence()
    slower = [replace(b, emitted_us=b.emitted_us + 10_000 * b.batch_id) for b in run.batches]
    summary = summarise(replace(run, batches=slower))
    assert verdicts(summary)["steady"] == "unknown"
    assert summary["steady_state"]["settled"] is False
    assert any("--warmup" in warning for warning in summary["warnings"])


@pytest.mark.parametrize("mode", ["append", "update"])
def test_windowed_results_report_their_latency_from_the_end_of_the_window(mode):
    summary = summarise(evidence(window=Window(5.0, 5.0, "window_start"), output_mode=mode))
    assert summary["window_latency_s"]["count"] > 0
    assert summary["window_latency_s"]["max"] < 2.0
    assert summarise(evidence())["window_latency_s"] is None


def test_phases_tell_running_tasks_from_scheduling():
    run = evidence()
    summary = summarise(replace(run, tasks=tasks(run.batches)))
    assert summary["phases_s"]["tasks"] == pytest.approx(0.1)
    assert summary["phases_s"]["scheduling"] == pytest.approx(0.04)
    assert "execution" not in summary["phases_s"]
    assert sum(summary["phases_s"].values()) == pytest.approx(0.25)
    assert summary["non_functional_share"] == pytest.approx(0.6)


def test_without_tasks_the_execution_is_not_split_and_the_share_unknown():
    summary = summarise(evidence())
    assert summary["phases_s"]["execution"] == pytest.approx(0.14)
    assert summary["non_functional_share"] is None


def test_stages_sum_up_the_tasks_of_the_measured_batches():
    run = evidence()
    work = summarise(replace(run, tasks=tasks(run.batches)))["stages"]
    assert (work["tasks"], work["failed_tasks"], work["missing_tasks"], work["executors"]) == (80, 0, 0, 1)
    assert work["cpu_s"] == pytest.approx(40 * 0.08)
    assert work["cpu_s_per_event"] == pytest.approx(0.08 / 500)
    assert work["skew"] == {"median": pytest.approx(1.5), "max": pytest.approx(1.5)}


def test_failed_and_missing_tasks_are_counted_and_warned_of():
    run = evidence()
    all_tasks = tasks(run.batches)
    measured = [k for k, task in enumerate(all_tasks) if task.batch_id == 30]
    all_tasks[measured[0]] = replace(all_tasks[measured[0]], is_ok=False)
    lost = all_tasks.pop(measured[1])
    assert isinstance(lost, TaskRecord)
    summary = summarise(replace(run, tasks=all_tasks))
    assert (summary["stages"]["failed_tasks"], summary["stages"]["missing_tasks"]) == (1, 1)
    assert any("1 tasks failed" in warning for warning in summary["warnings"])
    assert any("missing in Spark's event log" in warning for warning in summary["warnings"])


def test_tasks_of_a_batch_that_was_broken_off_at_the_end_are_not_missing():
    run = evidence()
    torn = [t for t in tasks([*run.batches, batch(51, 25.5, 25_000, 25_400)]) if t.batch_id < 51 or t.partition == 0]
    assert summarise(replace(run, tasks=torn))["stages"]["missing_tasks"] == 0


def test_resources_are_those_of_the_measured_time():
    used = summarise(evidence(resources=resources()))["resources"]
    assert used["cores_used"]["java"] == pytest.approx(1.2)
    assert used["peak_memory_bytes"]["java"] == 900 * 2**20
    assert used["clock_jump_s"] == pytest.approx(0.0, abs=1e-6)
    assert summarise(evidence())["resources"] is None


def test_cores_without_headroom_are_warned_of():
    busy = [replace(s, cpu_s=s.cpu_s | {"java": 1.95 * (s.monotonic_s - 50)}) for s in resources()]
    assert any("no headroom" in warning for warning in summarise(evidence(resources=busy))["warnings"])


def test_a_slower_reference_loop_is_warned_of():
    quiet = [replace(s, reference_loop_mean_s=0.52e-3, reference_loop_least_s=0.5e-3) for s in resources()]
    slowed = [replace(s, reference_loop_mean_s=(0.5 + 0.4 * (k % 2)) * 1e-3) for k, s in enumerate(quiet)]
    assert summarise(evidence(resources=quiet))["resources"]["slowdown"] == pytest.approx(1.04)
    assert summarise(evidence(resources=quiet))["warnings"] == []
    found = summarise(evidence(resources=slowed))
    assert found["resources"]["slowdown"] == pytest.approx(1.4, abs=0.02)
    assert found["warnings"] == [
        "CPU contention: the reference loop ran 1.42× slower than on a quiet machine; a quiet run may be faster"
    ]
    assert summarise(evidence(resources=resources()))["resources"]["slowdown"] is None


def test_stolen_time_is_warned_of():
    for share, told in ((0.07, "other tenants of this machine took 7% of its time"), (0.02, None)):
        stolen = [replace(s, stolen_s=share * os.cpu_count() * (s.monotonic_s - 50)) for s in resources()]
        assert summarise(evidence(resources=stolen))["warnings"] == ([told] if told else [])


# The machine


def beside(foreign_cores, *, own_cores=1.32, waited_share=0.5, **shown):
    """Samples of a machine with two cores, on which other processes use some of them."""
    return [
        replace(
            s,
            machine=MachineReading(
                cores=2,
                busy_s=1_000.0 + (own_cores + foreign_cores) * second,
                own_s=100.0 + own_cores * second,
                ran_s=(1 - waited_share) * second,
                waited_s=waited_share * second,
                **shown,
            ),
        )
        for second, s in enumerate(resources())
    ]


def test_an_overload_on_a_busy_machine_is_not_blamed_on_the_query():
    summary = summarise(evidence(limit=400, resources=beside(1.9, own_cores=0.07)))
    assert (summary["verdict"], verdicts(summary)["sustained"], verdicts(summary)["machine"]) == ("unknown",) * 3
    assert summary["reasons"][0].startswith("inconclusive, on a busy machine: backlog grows by 200 events/s")
    assert summary["reasons"][-1].startswith("other processes used 1.9 of 2 cores on average")
    assert not any("other processes" in warning for warning in summary["warnings"]), "said once"
    assert (summary["machine"]["contended"], summary["machine"]["foreign_cores"]) == (True, pytest.approx(1.9))


def test_an_overload_on_a_quiet_machine_fails():
    summary = summarise(evidence(limit=400, resources=beside(0.05, own_cores=1.9)))
    assert (summary["verdict"], verdicts(summary)["machine"]) == ("fail", "pass")
    assert summary["machine"]["contended"] is False


def test_a_pass_under_heavy_contention_is_inconclusive():
    summary = summarise(evidence(resources=beside(1.0, waited_share=0.5)))
    assert (summary["verdict"], verdicts(summary)["sustained"], verdicts(summary)["machine"]) == (
        "unknown", "pass", "unknown",
    )  # fmt: skip
    assert summary["reasons"] == [
        "other processes used 1 of 2 cores on average, and Spark waited for a core 50% of the time it wanted one; "
        "times measured here are not those of a quiet machine; not visible here: pressure stall information, "
        "CPU quota, clock frequency"
    ]


def test_a_pass_on_a_busy_machine_stays_a_pass_and_notes_it():
    summary = summarise(evidence(resources=beside(1.0, waited_share=0.3)))
    assert (summary["verdict"], verdicts(summary)["machine"]) == ("pass", "pass")
    assert summary["warnings"] == [
        "other processes used 1 of 2 cores on average, and Spark waited for a core 30% of the time it wanted one; "
        "a quiet run may be faster"
    ]


def test_a_wrong_answer_on_a_busy_machine_is_wrong():
    assert summarise(evidence(resources=beside(1.9), answer=answer(Verdict.FAIL, missing=1)))["verdict"] == "fail"


def test_events_left_of_an_offline_load_on_a_busy_machine_are_inconclusive_and_skipped_ones_are_not():
    run = offline()
    left = replace(run, batches=run.batches[:-3], resources=beside(1.9))
    assert verdicts(summarise(left))["processed"] == "unknown"
    kept = [replace(b, first=b.last) if b.batch_id == 3 else b for b in run.batches]
    skipped = replace(run, batches=kept, resources=beside(1.9))
    assert summarise(skipped)["verdict"] != "pass"


def test_what_a_system_does_not_show_is_said_and_not_called_0():
    summary = summarise(evidence(resources=resources()))
    (found,) = [f for f in summary["findings"] if f["question"] == "machine"]
    assert found["verdict"] == "pass"
    assert "not visible here: CPU of other processes" in found["reason"]
    assert summary["machine"]["foreign_cores"] is None
    json.dumps(summary, allow_nan=False)


def test_without_samples_nothing_is_said_about_the_machine():
    summary = summarise(evidence())
    assert summary["machine"] is None
    assert "machine" not in verdicts(summary)


def test_late_rows_are_counted_not_dropped():
    run = evidence()
    late = [replace(b, late_rows=2) for b in run.batches]
    summary = summarise(replace(run, batches=late))
    assert summary["state"]["late_rows"] == 2 * len(late)
    assert any("dropped as late" in warning for warning in summary["warnings"])


def test_batches_longer_than_the_trigger_are_warned_of():
    run = evidence()
    settings = replace(run.settings, trigger_s=0.1)
    assert any("--trigger" in warning for warning in summarise(replace(run, settings=settings))["warnings"])


def test_a_p99_that_rests_on_one_batch_is_warned_of():
    run = evidence()
    slow = [
        replace(b, emitted_us=b.emitted_us + 450_000, finished_us=b.finished_us + 450_000) if b.batch_id == 30 else b
        for b in run.batches
    ]
    summary = summarise(replace(run, batches=slow))
    assert any("p99 rests on one micro-batch" in warning for warning in summary["warnings"])


def test_times_count_from_the_start_of_the_load():
    run = evidence()
    later = replace(
        run,
        origin_us=run.origin_us + 10**9,
        closed_us=run.closed_us + 10**9,
        batches=[
            replace(b, **{name: getattr(b, name) + 10**9 for name in ("started_us", "emitted_us", "finished_us")})
            for b in run.batches
        ],
    )
    assert later.origin_us == ORIGIN_US + 10**9
    assert summarise(later) == summarise(run)


def test_cores_are_those_of_spark_and_not_of_the_tool():
    """Java uses 1.2 cores and its workers 0.1, over 20 s at 1000 events per second."""
    use = summarise(evidence(resources=resources()))["core_use"]
    assert use["used"] == pytest.approx(1.3)
    assert use["events_per_s_per_core"] == pytest.approx(1000 / 1.3)
    assert use["core_seconds"] == pytest.approx(26.0)


def test_without_samples_or_on_a_cluster_nothing_is_said_about_cores():
    assert summarise(evidence())["core_use"] is None
    assert summarise(evidence(resources=resources()[:6]))["core_use"] is None
    run = evidence(resources=resources())
    there = replace(run, settings=replace(run.settings, master="spark://host:7077"))
    assert summarise(there)["core_use"] is None


def test_without_a_rate_the_cores_are_known_and_their_throughput_is_not():
    run = evidence(resources=resources())
    use = summarise(replace(run, batches=run.batches[:1]))["core_use"]
    assert use["used"] == pytest.approx(1.3)
    assert use["events_per_s_per_core"] is None


def test_an_offline_run_gives_the_maximum_after_the_warm_up():
    """Batches of 1000 every 0.5 s are 2000 per second; the first 5000 events are warm-up."""
    summary = summarise(offline(answer=answer()))
    assert (summary["verdict"], summary["reasons"], summary["load"]) == ("pass", [], "offline")
    assert summary["processed_rate_per_s"] == summary["offline_rate_per_s"] == pytest.approx(2000.0)
    assert summary["events"] == summary["events_processed"] == 25_000
    assert summary["batches"] == 20
    assert summary["steady_state"]["from_s"] == pytest.approx(2.2)
    assert summary["steady_state"]["until_s"] == pytest.approx(12.2, abs=1e-5)


def test_the_warm_up_of_an_offline_run_does_not_count_however_slow_it_is():
    run = offline()
    slow = [
        replace(b, started_us=b.started_us - 30_000_000, emitted_us=b.emitted_us - 30_000_000) if b.last <= 4000 else b
        for b in run.batches
    ]
    assert summarise(replace(run, batches=slow))["processed_rate_per_s"] == pytest.approx(2000.0)


def test_without_a_warm_up_an_offline_run_counts_from_the_moment_the_query_is_let_at_the_events():
    run = offline()
    summary = summarise(replace(run, settings=replace(run.settings, warmup_s=0.0, duration_s=25.0)))
    assert summary["steady_state"]["from_s"] == 0.0
    assert summary["batches"] == 25


def test_an_offline_run_has_no_latency_and_no_backlog_and_says_so():
    summary = summarise(offline(window=Window(5.0, 5.0, "window_start")))
    assert summary["end_to_end_latency_s"]["count"] == 0
    assert {v for k, v in summary["end_to_end_latency_s"].items() if k != "count"} == {None}
    assert set(summary["backlog_events"].values()) == {None}
    assert summary["window_latency_s"] is None
    assert summary["offered_rate_per_s"] is None
    assert summary["steady_state"]["settled"] is None
    assert not {"sustained", "drained", "steady"} & set(verdicts(summary))
    assert any("latency and backlog mean nothing" in warning for warning in summary["warnings"])


def test_an_offline_run_with_events_left_at_its_deadline_fails():
    run = offline()
    summary = summarise(replace(run, batches=run.batches[:-2]))
    assert summary["verdict"] == verdicts(summary)["processed"] == "fail"
    assert summary["reasons"] == ["2k of 25k events were not processed within 250 s; lower --rate or raise --drain"]


def test_an_offline_run_that_skips_events_fails():
    run = offline()
    torn = [replace(b, first=b.first + 10) if b.batch_id == 12 else b for b in run.batches]
    summary = summarise(replace(run, batches=torn, reported_batches=len(torn)))
    assert summary["verdict"] == "fail"
    assert "10 of 25k events were not processed within 250 s" in summary["reasons"]


def test_events_of_an_offline_run_whose_report_is_lost_are_not_called_missing():
    run = offline()
    lost = [b for b in run.batches if b.batch_id != 12]
    summary = summarise(replace(run, batches=lost, reported_batches=len(run.batches)))
    assert summary["verdict"] == "unknown"


def test_an_interrupted_offline_run_is_unknown():
    run = offline()
    assert summarise(replace(run, batches=run.batches[:-2], is_interrupted=True))["verdict"] == "unknown"


@pytest.mark.parametrize(("per_batch", "verdict"), [(6000, "pass"), (10_000, "unknown")])
def test_an_offline_run_with_too_few_micro_batches_is_unknown(per_batch, verdict):
    summary = summarise(offline(per_batch=per_batch))
    assert summary["verdict"] == verdicts(summary)["maximum"] == verdict
    assert any("lower --max-rows-per-batch" in reason for reason in summary["reasons"]) == (verdict == "unknown")


def test_an_offline_run_with_a_wrong_answer_fails():
    assert summarise(offline(answer=answer(Verdict.FAIL, missing=1)))["verdict"] == "fail"


def test_an_expensive_generator_is_noted_in_an_offline_run():
    summary = summarise(offline(generator=GeneratorCost(0.0006, ("ad_id",))))
    assert summary["verdict"] == "pass"
    assert any("60% of the cores; the query alone would be faster" in warning for warning in summary["warnings"])


@pytest.mark.parametrize(("found", "verdict"), [(Verdict.PASS, "pass"), ("unknown", "unknown"), ("fail", "unknown")])
def test_a_doubtful_maximum_makes_an_online_run_unknown(found, verdict):
    run = evidence(maximum=Maximum(2000.0, "inner", Verdict(found), ("planted",)))
    summary = summarise(run)
    assert (summary["offline_rate_per_s"], summary["offline_run_id"]) == (2000.0, "inner")
    assert summary["offered_rate_per_s"] == 1000.0
    assert summary["verdict"] == verdicts(summary)["maximum"] == verdict
    assert ("planted" in " ".join(summary["reasons"])) == (verdict == "unknown")


def test_an_open_run_has_no_offline_rate():
    summary = summarise(evidence())
    assert (summary["load"], summary["offline_rate_per_s"], summary["offline_run_id"]) == ("open", None, None)


def test_of_a_cluster_executors_clocks_and_losses_are_told_and_only_sure_offsets_warned_of():
    here = socket.gethostname()
    clocks = [
        ClockOffset("0", here, 0.2, 0.01),
        ClockOffset("1", here, -0.06, 0.02),
        ClockOffset("2", here, -0.08, 0.01),
    ]
    used = [ExecutorUse("0", here, 4.0, 9), ExecutorUse("1", here, None, None)]
    lost = [LostExecutor("1", at_us(12.0), "worker lost")]
    run = evidence(resources=resources(), executors=used, clocks=clocks, lost=lost)
    there = replace(run, settings=replace(run.settings, master="spark://host:7077"))
    summary = summarise(there)
    assert [(e["executor"], e["cpu_s"]) for e in summary["executors"]] == [("0", 4.0), ("1", None)]
    assert [clock["offset_s"] for clock in summary["clocks"]] == [0.2, -0.06, -0.08]
    (fault,) = summary["faults"]
    assert (fault["name"], fault["at_s"], fault["detail"]) == ("executor 1 lost", pytest.approx(12.0), "worker lost")
    warned = [text for text in summary["warnings"] if "the clock of executor" in text]
    assert [text.split(" is ")[1].split(" the driver")[0] for text in warned] == ["200 ms ahead of", "80 ms behind"]
    assert any("executor 1 was lost" in text for text in summary["warnings"])
    assert summary["core_use"]["used"] == pytest.approx(1.3)
    elsewhere = replace(there, executors=[*used, ExecutorUse("2", "another", 1.0, 1)])
    assert summarise(elsewhere)["core_use"] is None


def test_the_histogram_of_a_conclusion_is_the_one_behind_the_latencies_of_its_summary():
    concluded = conclusion_of(evidence())
    assert concluded.latency.summary() == concluded.summary["end_to_end_latency_s"]
    assert concluded.summary == summarise(evidence())
