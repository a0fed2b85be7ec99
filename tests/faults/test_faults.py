"""A killed driver, without Spark: what its files tell, and that loss and doubling are seen where they are planted."""

import io
import json
import shutil
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from rich.console import Console

from made_runs.samples import ORIGIN_US, batch
from streamgauge.arrivals import Constant
from streamgauge.clock import ManualClock, clock_motion
from streamgauge.conclude.findings import judge_clock
from streamgauge.engine.spark.gate import Gate, GateFile
from streamgauge.engine.spark.source import EmbeddedReader
from streamgauge.errors import InvalidExperimentError, RunFailedError, UsageError
from streamgauge.faults.driver import (
    DrivenQuery,
    DriverPlace,
    InFlight,
    ProgressFile,
    batches_committed,
    find_in_flight,
    planned_offset,
)
from streamgauge.faults.experiment import FaultExperiment
from streamgauge.faults.fault import fault
from streamgauge.faults.judgement import (
    OfferedLoad,
    compare_rows,
    count_recovered,
    find_caught_up,
    judge_events,
    judge_point,
    judge_replay,
    judge_results,
    judge_strike,
    why_doubles_are_hidden,
)
from streamgauge.faults.kinds import FAULTS, Strike
from streamgauge.faults.plan import KINDS, POINTS, PlannedFault, draw_faults, parse_at, parse_faults, shrink
from streamgauge.faults.point import Watch
from streamgauge.faults.result import Fault, Outage
from streamgauge.lookup import find_workload
from streamgauge.report.terminal.fault import print_fault
from streamgauge.running.lifecycle import await_end, create, open_load
from streamgauge.running.monitor import NoMonitor
from streamgauge.running.sinks.counted import SINKS, SinkPlace, read_files, read_rows, write_rows
from streamgauge.running.verify import Differences, closing_time_us, event_table
from streamgauge.settings.run_settings import RunSettings
from streamgauge.verdict import Verdict
from streamgauge.workloads import catalogue
from streamgauge.workloads.reference import reference_answer

SCHEDULE = Constant(100.0).schedule(20.0)
HIT = InFlight(7, 900, 1_000)
KILL = Strike(
    "driver",
    ORIGIN_US + 10_000_000,
    ORIGIN_US + 10_000_000,
    HIT,
    7,
    proof="driver ended with code -9, with 2 processes",
    return_code=-9,
    processes=("java", "python3"),
    is_driver_dead=True,
)
PLANNED = PlannedFault(10.0, "driver")
SAME = Differences(700, 700, 0, 0, 0, {})


def checkpoint(folder: Path, ends: list[int], committed: int) -> Path:
    """Spark's two logs: offsets of all micro-batches, commits of the first ones, and what else lies around."""
    for name in ("offsets", "commits"):
        (folder / name).mkdir()
        (folder / name / ".9.5f2c.tmp").touch()
        (folder / name / ".0.crc").touch()
    for batch_id, end in enumerate(ends):
        offset = json.dumps({"n": end, "left": 5})
        (folder / "offsets" / str(batch_id)).write_text(f'v1\n{{"batchWatermarkMs":0}}\n{offset}')
    for batch_id in range(committed):
        (folder / "commits" / str(batch_id)).write_text('v1\n{"nextBatchWatermarkMs":0}')
    return folder


def test_a_micro_batch_is_in_flight_between_its_offsets_and_its_commit(tmp_path):
    logs = checkpoint(tmp_path, [0, 400, 900], committed=2)
    assert find_in_flight(logs) == InFlight(2, 400, 900)
    assert batches_committed(logs) == 2
    assert planned_offset(logs, 1) == 400


@pytest.mark.parametrize(
    ("ends", "committed"), [([], 0), ([0, 400], 2), ([0, 400, 400], 2)], ids=["nothing", "all committed", "no events"]
)
def test_nothing_is_in_flight_when_all_is_committed_or_no_events_are_read(tmp_path, ends, committed):
    assert find_in_flight(checkpoint(tmp_path, ends, committed)) is None


def test_before_spark_has_made_its_checkpoint_nothing_is_in_flight(tmp_path):
    assert find_in_flight(tmp_path / "absent") is None


def test_a_line_of_progress_counts_when_it_is_whole(tmp_path):
    file = ProgressFile(tmp_path / "progress.jsonl")
    assert file.new() == []
    file.path.write_text('{"batchId": 0}\n{"batchId": 1}\n{"bat')
    assert file.new() == [{"batchId": 0}, {"batchId": 1}]
    assert file.new() == []
    with file.path.open("a") as more:
        more.write('chId": 2}\n')
    assert file.new() == [{"batchId": 2}]


def test_a_complete_gate_lets_every_event_exist_whatever_the_time(tmp_path):
    SCHEDULE.with_tail(3, after_s=7 * 86_400.0).save(tmp_path / "schedule.npy")
    source = EmbeddedReader({"control": str(tmp_path), "partitions": "2", "admission_target_s": "3.0"})
    Gate(ORIGIN_US, ORIGIN_US + 5_000_000).write(tmp_path)
    assert source.reportLatestOffset() == {"n": 501}
    Gate(ORIGIN_US, ORIGIN_US + 5_000_000, created=SCHEDULE.total + 3).write(tmp_path)
    assert source.reportLatestOffset() == {"n": 2_003}


def right_answer(name: str, **parameters) -> pa.Table:
    workload = catalogue()[name]
    chosen = workload.parameters.model_validate(parameters)
    events = event_table(workload, chosen, SCHEDULE, seed=1, load_us=ORIGIN_US)
    return reference_answer(workload, chosen, events).select([f.name for f in workload.output])


def fill(sink: Path, rows: pa.Table, batches: int = 4) -> None:
    """Write the rows as several micro-batches."""
    size = -(-rows.num_rows // batches)
    for batch_id in range(batches):
        write_rows(sink, f"{batch_id:08d}", rows.slice(batch_id * size, size), batch_id)


def compared(sink: Path, name: str, mode: str, **parameters) -> Differences:
    workload = catalogue()[name]
    chosen = workload.parameters.model_validate(parameters)
    return compare_rows(read_rows(sink), OfferedLoad(workload, chosen, SCHEDULE, 1, ORIGIN_US, mode))


@pytest.mark.parametrize(
    ("name", "mode", "parameters"),
    [("hibench-identity", "append", {}), ("ysb", "append", {"output": "append"}), ("ysb", "update", {})],
)
class TestPlantedFaults:
    def test_the_right_answer_has_no_differences(self, tmp_path, name, mode, parameters):
        fill(tmp_path / "sink", right_answer(name, **parameters))
        found = compared(tmp_path / "sink", name, mode, **parameters)
        assert found.rows_expected == found.rows_got > 100
        assert (found.rows_missing, found.rows_doubled, found.rows_foreign) == (0, 0, 0)
        assert judge_results(found).verdict is Verdict.PASS

    def test_a_micro_batch_without_its_file_is_lost(self, tmp_path, name, mode, parameters):
        rows = right_answer(name, **parameters)
        fill(tmp_path / "sink", rows)
        (tmp_path / "sink" / "00000001.parquet").unlink()
        found = compared(tmp_path / "sink", name, mode, **parameters)
        assert (found.rows_missing, found.rows_doubled, found.rows_foreign) == (-(-rows.num_rows // 4), 0, 0)
        assert judge_results(found).verdict is Verdict.FAIL
        assert found.examples["missing"]

    def test_a_row_that_nobody_expects_is_foreign(self, tmp_path, name, mode, parameters):
        rows = right_answer(name, **parameters)
        fill(tmp_path / "sink", rows)
        first = rows.column_names.index(next(n for n in ("line", "campaign_id") if n in rows.column_names))
        foreign = rows.slice(0, 2).set_column(first, rows.column_names[first], pa.array(["x", "y"]))
        write_rows(tmp_path / "sink", "00000009", foreign, 9)
        found = compared(tmp_path / "sink", name, mode, **parameters)
        assert (found.rows_missing, found.rows_doubled, found.rows_foreign) == (0, 0, 2)
        assert judge_results(found).verdict is Verdict.FAIL


@pytest.mark.parametrize(("name", "parameters"), [("hibench-identity", {}), ("ysb", {"output": "append"})])
def test_a_micro_batch_that_is_added_twice_is_doubled(tmp_path, name, parameters):
    rows = right_answer(name, **parameters)
    fill(tmp_path, rows)
    shutil.copy(tmp_path / "00000002.parquet", tmp_path / "00000002-2.parquet")
    found = compared(tmp_path, name, "append", **parameters)
    assert (found.rows_missing, found.rows_doubled, found.rows_foreign) == (0, -(-rows.num_rows // 4), 0)
    assert "doubled" in judge_results(found).reason


def test_where_later_rows_replace_earlier_ones_the_last_row_of_a_key_decides(tmp_path):
    rows = right_answer("ysb")
    fill(tmp_path, rows)
    shutil.copy(tmp_path / "00000002.parquet", tmp_path / "00000002-2.parquet")
    assert compared(tmp_path, "ysb", "update").rows_extra == 0
    wrong = rows.slice(0, 1).set_column(2, "views", pa.array([10**6]))
    write_rows(tmp_path, "00000009", wrong, 9)
    found = compared(tmp_path, "ysb", "update")
    assert (found.rows_missing, found.rows_foreign) == (1, 1)


def test_a_whole_output_that_is_written_twice_passes_in_update_mode_only_as_not_visible(tmp_path):
    rows = right_answer("ysb")
    fill(tmp_path, rows)
    for file in list(tmp_path.glob("*.parquet")):
        shutil.copy(file, tmp_path / f"{file.stem}-2.parquet")
    hidden = why_doubles_are_hidden(catalogue()["ysb"], "update", SINKS["append"])
    differences = compared(tmp_path, "ysb", "update")
    judged = judge_results(differences, "exactly-once", hidden)
    assert judged.verdict is Verdict.PASS
    assert judged.reason.startswith("nothing lost and nothing wrong; doubling was not visible")
    found = outcome(differences=differences, findings=(judged,), doubles_hidden=hidden)
    assert found.document()["rows_doubled"] is None
    assert found.document()["rows_lost"] == 0
    assert "doubled results are not visible: in output mode update" in found.document()["warnings"][0]
    assert f"nothing lost, doubling not visible; {rows.num_rows:,} results as expected" in printed(found)
    assert "note doubled results are not visible" in printed(found)
    # The same rows where every row counts.
    assert compared(tmp_path, "ysb", "append", output="append").rows_doubled == rows.num_rows


def test_hidden_doubles_do_not_hide_loss_and_wrong_rows():
    lost, foreign = Differences(700, 699, 1, 0, 0, {}), Differences(700, 701, 0, 1, 0, {})
    for wrong in (lost, foreign):
        judged = judge_results(wrong, "exactly-once", "later rows replace earlier ones")
        assert (judged.verdict, "an unknown number doubled" in judged.reason) == (Verdict.FAIL, True)


@pytest.mark.parametrize(
    ("name", "mode", "sink", "is_hidden"),
    [
        ("ysb", "update", "foreach-batch", True),
        ("ysb", "append", "foreach-batch", False),
        ("ysb", "append", "redis", True),
        ("hibench-wordcount", "complete", "foreach", True),
        ("hibench-identity", "append", "kafka", False),
    ],
)
def test_doubles_are_hidden_where_rows_replace_each_other(name, mode, sink, is_hidden):
    assert (why_doubles_are_hidden(catalogue()[name], mode, SINKS[sink]) is not None) == is_hidden


@pytest.mark.parametrize(
    ("name", "options", "mode", "planned"),
    [
        ("ysb", {}, "append", "25s driver offset-commit"),
        ("ysb", {"at": "30s"}, "append", "30s driver"),
        ("ysb", {"fault": "pause"}, "append", "25s pause"),
        ("ysb", {"parameters": {"output": "update"}}, "update", "25s driver offset-commit"),
        ("ysb", {"sink": "redis"}, "update", "25s driver offset-commit"),
        ("hibench-wordcount", {}, "update", "25s driver offset-commit"),
    ],
)
def test_by_default_rows_are_added_and_the_driver_dies_between_sink_and_commit(
    monkeypatch, name, options, mode, planned
):
    monkeypatch.setattr(FaultExperiment, "execute", lambda experiment: experiment)
    experiment = fault(name, **options)
    assert experiment.workload.output_mode(experiment.parameters) == mode
    assert [str(one) for one in experiment.planned] == [planned]
    # The driver process reads the same parameters.
    assert experiment.workload.parameters.model_validate(experiment.given) == experiment.parameters


def test_a_repeated_micro_batch_replaces_itself(tmp_path):
    rows = right_answer("hibench-identity")
    fill(tmp_path, rows)
    write_rows(tmp_path, "00000000", rows.slice(0, 500), 0)
    assert compared(tmp_path, "hibench-identity", "append").rows_extra == 0


def test_windows_of_the_closing_events_are_no_results(tmp_path):
    rows = right_answer("ysb")
    late = pa.array([closing_time_us(SCHEDULE, ORIGIN_US)], pa.timestamp("us", "UTC"))
    fill(tmp_path, rows)
    closing = rows.slice(0, 1).set_column(1, "window_start", late.cast(rows.schema.field("window_start").type))
    write_rows(tmp_path, "00000009", closing, 9)
    assert compared(tmp_path, "ysb", "update").rows_extra == 0


def test_a_sink_without_any_file_is_an_error(tmp_path):
    with pytest.raises(RunFailedError, match="emitted anything"):
        read_rows(tmp_path)


def test_recovered_are_windows_from_before_the_kill_that_came_out_after_it():
    ysb = catalogue()["ysb"]
    seconds = [0, 0, 0, 5, 12]
    starts = pa.array([ORIGIN_US + s * 1_000_000 for s in seconds], pa.timestamp("us", "UTC"))
    rows = pa.table(
        {
            "campaign_id": ["a", "a", "b", "b", "b"],
            "window_start": starts,
            "views": [1, 2, 3, 4, 5],
            "batch": [7, 8, 6, 9, 9],
        }
    )
    parameters = ysb.parameters()
    # Campaign a of the first window twice, b of the second: as keys 2, as rows 3.
    assert count_recovered(rows, ysb, parameters, KILL, 8, "update") == 2
    assert count_recovered(rows, ysb, parameters, KILL, 8, "append") == 3


def test_without_windows_recovered_is_what_micro_batches_with_events_from_before_the_kill_put_out():
    wordcount = catalogue()["hibench-wordcount"]
    rows = pa.table({"ip": ["a", "b", "c", "a", "d"], "records": [1, 2, 3, 4, 5], "batch": [6, 7, 8, 8, 9]})
    assert count_recovered(rows, wordcount, wordcount.parameters(), KILL, 8, "update") == 3


def test_f5_a_fault_counts_only_when_it_is_proven():
    assert judge_strike(PLANNED, KILL).verdict is Verdict.PASS
    for doubtful in (None, replace(KILL, doubt="the driver ended with code 0 before it was killed")):
        assert judge_strike(PLANNED, doubtful).verdict is Verdict.UNKNOWN


def test_the_micro_batch_in_flight_must_come_first_and_with_the_same_events():
    assert judge_replay(HIT, batch(7, 12.0, 900, 1_000)).verdict is Verdict.PASS
    for other in (batch(8, 12.0, 900, 1_000), batch(7, 12.0, 900, 1_200), batch(7, 12.0, 1_000, 1_000)):
        assert judge_replay(HIT, other).verdict is Verdict.FAIL


def test_every_event_must_be_in_exactly_one_micro_batch():
    whole = [batch(0, 0.0, 0, 0), batch(1, 1.0, 0, 900), batch(2, 9.0, 900, 1_000)]
    assert judge_events(whole, 1_000, 30.0).verdict is Verdict.PASS
    assert judge_events(whole[1:], 1_000, 30.0).verdict is Verdict.PASS
    for holed in ([whole[0], whole[2]], [whole[2]], [*whole[:2], batch(2, 9.0, 890, 1_000)]):
        assert "holes" in judge_events(holed, 1_000, 30.0).reason
    late = judge_events(whole[:2], 1_000, 30.0)
    assert (late.verdict, "100 of 1k events" in late.reason, "--drain" in late.reason) == (Verdict.UNKNOWN, True, True)


def outage(back_s: float) -> list:
    """Two micro-batches per second at 100/s until 10 s; the next one starts at `back_s` and takes all that waits."""
    starts_s = [*(0.5 * n for n in range(1, 21)), *(back_s + 0.5 * n for n in range(40))]
    ends = [int(SCHEDULE.created(round(start_s * 1e6))) for start_s in starts_s]
    pairs = zip([0, *ends], ends, strict=False)
    return [batch(n, start_s, *pair) for n, (start_s, pair) in enumerate(zip(starts_s, pairs, strict=True))]


def test_a_query_has_caught_up_when_backlog_and_latency_are_as_before():
    end_us, killed_us = ORIGIN_US + 20_000_000, ORIGIN_US + 10_400_000
    time_s, reason = find_caught_up(outage(15.0), SCHEDULE, ORIGIN_US, end_us, killed_us)
    # The first micro-batch after the restart is emitted at 15.2 s and is late; the second, at 15.7 s, is not.
    assert (time_s, reason) == (pytest.approx(5.3), None)


def test_what_is_emitted_after_the_load_shows_no_catching_up():
    end_us, killed_us = ORIGIN_US + 20_000_000, ORIGIN_US + 10_400_000
    for back_s in (19.0, 25.0):
        time_s, reason = find_caught_up(outage(back_s), SCHEDULE, ORIGIN_US, end_us, killed_us)
        assert time_s is None
        assert "--duration" in reason


def test_without_enough_micro_batches_before_the_kill_nobody_knows_what_is_normal():
    time_s, reason = find_caught_up(outage(15.0), SCHEDULE, ORIGIN_US, ORIGIN_US + 20_000_000, ORIGIN_US + 1_000_000)
    assert time_s is None
    assert "before the fault" in reason


def test_no_expected_results_prove_nothing():
    assert judge_results(Differences(0, 0, 0, 0, 0, {})).verdict is Verdict.UNKNOWN


@pytest.mark.parametrize(
    ("name", "options", "error", "said"),
    [
        ("ybs", {}, UsageError, "ysb"),
        ("ysb", {"at": "75s"}, UsageError, "--at"),
        ("ysb", {"at": "5 sek"}, UsageError, "--at"),
        ("ysb", {"at": "in-bach"}, UsageError, "in-batch"),
        ("ysb", {"fault": "drivr"}, UsageError, "driver"),
        ("ysb", {"sink": "parket"}, UsageError, "parquet"),
        ("ysb", {"sink": "parquet", "parameters": {"output": "update"}}, InvalidExperimentError, "append"),
        ("hibench-identity", {"sink": "parquet", "fault": "sink-stall"}, UsageError, "held up"),
        ("ysb", {"fault": "broker"}, UsageError, "no broker"),
        ("hibench-identity", {"sink": "redis"}, InvalidExperimentError, "layout of YSB"),
        ("ysb", {"fault": "worker", "cores": 2}, UsageError, "--master"),
        ("ysb", {"faults": "5s driver twice"}, UsageError, "--faults"),
        ("ysb", {"faults": " ; "}, UsageError, "no fault"),
        ("ysb", {"sequence": 1, "duration": "8s"}, UsageError, "do not fit"),
        ("ysb", {"down": "x"}, UsageError, "--down"),
        ("ysb", {"rate": "1M"}, UsageError, "too many"),
        ("ysb", {"master": "spark://elsewhere:7077"}, UsageError, "services up spark"),
        ("streambench-kmeans", {}, InvalidExperimentError, "keeps its state in the driver"),
        ("mine.py:build", {}, InvalidExperimentError, "no reference"),
    ],
)
def test_what_cannot_be_judged_is_refused_before_anything_starts(tmp_path, monkeypatch, name, options, error, said):
    monkeypatch.chdir(tmp_path)
    Path("mine.py").write_text("def build(df):\n    return df\n")
    with pytest.raises(error) as caught:
        fault(name, runs=tmp_path / "runs", **options)
    assert said in str(caught.value)
    assert caught.value.remedy
    assert not (tmp_path / "runs").exists()


def outcome(**changes) -> Fault:
    outage = Outage(10.5, 6.0, 8.25, 12.5, None, 9.5, 190_000)
    findings = (judge_strike(PLANNED, KILL), judge_replay(HIT, batch(7, 12.0, 900, 1_000)), judge_results(SAME))
    whole = Fault("set-1", "run-1", "ysb", findings, ORIGIN_US, 400_000, (KILL,), (outage,), SAME, 100, 100)
    return replace(whole, **changes)


def printed(found: Fault) -> str:
    out = io.StringIO()
    print_fault(found, Console(file=out, width=100, no_color=True, highlight=False))
    return " ".join(out.getvalue().split())


def test_a_pass_is_told_in_words_and_as_a_document():
    found = outcome()
    text = printed(found)
    assert text.startswith("PASS ysb")
    for words in (
        "nothing lost, nothing doubled; 700 results as expected",
        "driver 10 s into the load, with micro-batch 7 (100 events) in flight and 7 committed; driver ended",
        "first results 8.25 s after the fault, backlog and latency as before after 12.5 s",
        "latency 9.5 s, backlog 190k events",
        "400,000 offered, 100 read again",
    ):
        assert words in text
    document = json.loads(json.dumps(found.document(), allow_nan=False))
    assert (document["verdict"], document["reason"], document["killed_at_s"]) == ("pass", None, 10.0)
    assert (document["rows_lost"], document["rows_doubled"], document["rows_foreign"]) == (0, 0, 0)
    assert (document["driver_return_code"], document["batch_in_flight"]) == (-9, 7)


def test_f5_a_fail_shows_examples_and_a_fault_that_did_not_fire_is_unknown():
    wrong = Differences(700, 701, 1, 2, 2, {"missing": ["('a', 1)"], "extra": ["('b', 2)"]})
    failed = outcome(differences=wrong, findings=(judge_strike(PLANNED, KILL), judge_results(wrong)))
    assert "FAIL" in printed(failed)
    assert "1 lost, 2 doubled; 700 results expected" in printed(failed)
    assert "missing ('a', 1)" in printed(failed)
    empty = {"strikes": (), "outages": (), "differences": None, "recovered": None, "events_replayed": None}
    silent = outcome(findings=(judge_strike(PLANNED, None),), **empty)
    assert silent.verdict is Verdict.UNKNOWN
    assert "UNKNOWN" in printed(silent)
    assert "did not fire" in printed(silent)
    between = judge_strike(replace(PLANNED, point="offset-commit"), None)
    assert "no micro-batch whose rows the sink was seen to hold" in between.reason
    assert silent.document()["rows_lost"] is None


def test_a_point_that_is_not_proven_is_told_in_words_and_as_a_document():
    proven = replace(KILL, point="offset-commit", rows_in_sink=100)
    found = outcome(strikes=(proven,), findings=(judge_point(proven),))
    told = found.document()["faults"][0]
    assert (told["point"], told["point_is_proven"], told["rows_in_sink"]) == ("offset-commit", True, 100)
    assert "the sink held all 100 rows of micro-batch 7" in told["point_detail"]
    assert "the sink held all 100 rows of micro-batch 7" in printed(found)
    doubtful = replace(proven, rows_in_sink=60, point_doubt="the sink was seen to hold 60 of 100 rows")
    found = outcome(strikes=(doubtful,), findings=(judge_point(doubtful),))
    told = found.document()["faults"][0]
    assert (told["point_is_proven"], told["point_detail"]) == (False, doubtful.point_doubt)
    assert found.verdict is Verdict.UNKNOWN
    assert "between sink and commit is not proven: the sink was seen to hold 60 of 100 rows" in printed(found)
    assert outcome().document()["faults"][0]["point_is_proven"] is None


def test_every_fault_that_can_be_named_can_be_made():
    assert set(FAULTS) == set(KINDS)


def test_a_sink_of_at_least_once_may_double_but_not_lose():
    doubled, lost = Differences(700, 705, 0, 5, 5, {}), Differences(700, 699, 1, 0, 0, {})
    foreign = Differences(700, 701, 0, 1, 0, {})
    assert judge_results(doubled, "at-least-once").verdict is Verdict.PASS
    assert "5 doubled" in judge_results(doubled, "at-least-once").reason
    assert judge_results(doubled, "exactly-once").verdict is Verdict.FAIL
    assert judge_results(lost, "at-least-once").verdict is Verdict.FAIL
    assert judge_results(foreign, "at-least-once").verdict is Verdict.FAIL


def test_f7_a_drawn_sequence_lies_inside_the_load_in_order_and_can_be_written_down():
    for seed in range(20):
        drawn = draw_faults(seed, ["driver", "pause", "sink-stall"], load_s=60.0, count=4)
        times_s = [fault.at_s for fault in drawn]
        assert times_s == sorted(times_s)
        assert 9.0 <= times_s[0] <= times_s[-1] <= 48.0
        assert parse_faults("; ".join(map(str, drawn))) == drawn
    assert len({draw_faults(seed, KINDS, load_s=60.0) for seed in range(20)}) > 15


def test_f7_shrinking_finds_the_one_fault_that_matters_and_asks_few_questions():
    faults = [PlannedFault(float(n), "pause") for n in range(16)]
    asked = []

    def fails(part):
        asked.append(part)
        return faults[11] in part

    assert shrink(faults, fails) == (faults[11],)
    assert len(asked) <= 16
    assert shrink(faults, lambda part: len(part) == 16) == tuple(faults)


def test_a_time_and_a_point_can_be_asked_for_together():
    assert parse_at(None, otherwise_s=7.0) == (7.0, None)
    assert parse_at("12s, offset-commit", otherwise_s=7.0) == (12.0, "offset-commit")


class _Scene:
    def __init__(self, folder: Path, sink: str = "foreach-batch") -> None:
        self.place = DriverPlace(folder)
        self.sink = SINKS[sink]
        self.clock = ManualClock()
        self.due: int | None = None

    def sink_place(self) -> SinkPlace:
        return SinkPlace(self.place.sink, self.place.control, 1)

    def rows_due(self, _hit: InFlight) -> int | None:
        return self.due


def test_the_points_of_a_micro_batch_are_told_apart_by_the_logs_and_the_sink(tmp_path):
    scene = _Scene(tmp_path)
    scene.place.checkpoint.mkdir()
    scene.place.sink.mkdir()
    logs = checkpoint(scene.place.checkpoint, [400], committed=1)
    watches = {point: Watch(scene, point) for point in (*POINTS, None)}
    reached = lambda: {point for point, watch in watches.items() if watch.is_there()}  # noqa: E731
    assert reached() == set()
    # Nothing has changed since the last look: the next micro-batch is about to be planned.
    assert reached() == {"before-batch"}
    (logs / "offsets" / "1").write_text('v1\n{}\n{"n": 900}')
    assert reached() == {"in-batch", None}
    rows = pa.table({"line": ["a", "b"]})
    write_rows(scene.place.sink, "00000001", rows.slice(0, 0), 1)
    assert reached() == {"in-batch", None}, "a file without rows is no proof"
    write_rows(scene.place.sink, "00000001", rows, 1)
    assert reached() == {"offset-commit", None}
    (logs / "commits" / "1").touch()
    assert reached() == {"after-batch"}
    assert watches["after-batch"].is_still_there()
    (logs / "offsets" / "2").write_text('v1\n{}\n{"n": 950}')
    assert not watches["after-batch"].is_still_there()


def _spark_files(sink: Path, rows: pa.Table, batches: int) -> None:
    """Write what Spark's file sink writes, with a log that is compacted, and a file that was never committed."""
    (sink / "_spark_metadata").mkdir(parents=True)
    size, entries = -(-rows.num_rows // batches), []
    for batch_id in range(batches):
        file = sink / f"part-{batch_id}.parquet"
        pq.write_table(rows.slice(batch_id * size, size), file)
        entries.append(json.dumps({"path": file.as_uri(), "size": 1, "action": "add"}))
        is_compact = batch_id == batches - 2
        told = entries if is_compact else entries[-1:]
        name = f"{batch_id}.compact" if is_compact else str(batch_id)
        (sink / "_spark_metadata" / name).write_text("\n".join(["v1", *told]))
    pq.write_table(rows.slice(0, 10), sink / "part-left.parquet")


def test_of_sparks_file_sink_only_committed_files_count_each_once(tmp_path):
    rows = right_answer("hibench-identity")
    _spark_files(tmp_path, rows, 4)
    read = read_files(tmp_path)
    assert (read.num_rows, sorted(set(read["batch"].to_pylist()))) == (rows.num_rows, [0, 1, 2, 3])
    workload = catalogue()["hibench-identity"]
    options = {"seed": 1, "origin_us": ORIGIN_US, "output_mode": "append"}
    found = compare_rows(read, OfferedLoad(workload, workload.parameters(), SCHEDULE, **options))
    assert (found.rows_missing, found.rows_extra) == (0, 0)


def test_rows_that_were_written_as_text_come_back_exactly_and_a_torn_line_is_no_row(tmp_path):
    workload = catalogue()["hibench-identity"]
    rows = right_answer("hibench-identity").slice(0, 50)
    lines = [
        json.dumps({"created": row["created"].strftime("%Y-%m-%dT%H:%M:%S.%fZ"), "line": row["line"]})
        for row in rows.to_pylist()
    ]
    (tmp_path / "00000003-0-a.jsonl").write_text("\n".join(lines[:25]) + "\n")
    (tmp_path / "00000004-0-b.jsonl").write_text("\n".join(lines[25:]) + "\n" + lines[0][:20])
    read = SINKS["foreach"].read(SinkPlace(tmp_path, tmp_path, 1), workload.output)
    assert sorted(set(read["batch"].to_pylist())) == [3, 4]
    plain = lambda table: sorted((row["created"].timestamp(), row["line"]) for row in table.to_pylist())  # noqa: E731
    assert plain(read) == plain(rows)


class Stub:
    """A driver that reports nothing, on a clock that is set back in the middle of the load."""

    def __init__(self, clock):
        self.clock, self.progress = clock, SimpleNamespace(new=list)

    def check(self):
        self.clock.wall_offset_s = 1e9 - 3600.0 if self.clock.now_s > 10.0 else 1e9

    def started(self):
        return {"output_mode": "append"}


def test_t3_a_load_with_faults_ends_in_time_when_the_wall_clock_is_set_back(tmp_path):
    """Stands for the whole: the load, and what faults wait for, go by this time."""
    clock = ManualClock(wall_offset_s=1e9)
    settings = RunSettings(1000.0, 20.0, warmup_s=5.0, drain_s=30.0, master="local[2]")
    workload = find_workload("ysb")
    made = FaultExperiment(
        workload=workload, parameters=workload.parameters(), given={}, settings=settings, planned=(), down_s=1.0,
        root=tmp_path, monitor=NoMonitor(), clock=clock,
    )  # fmt: skip
    state = made.state
    create(state)
    state.schedule, state.cores, state.query = settings.law.schedule(25.0), 2, DrivenQuery(Stub(clock), print)
    made.feed.offered = GateFile(tmp_path)
    open_load(state)
    await_end(state)
    assert clock.monotonic_s() == pytest.approx(25.5, abs=0.2)
    assert json.loads((tmp_path / "gate.json").read_text())["created"] == 25_000
    found = judge_clock(clock_motion(state.query.readings))
    assert (found.verdict, found.reason) == (Verdict.UNKNOWN, "the wall clock stepped back by 60 min")
