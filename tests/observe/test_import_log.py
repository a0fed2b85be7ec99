"""Event logs of other applications become runs: those that Spark wrote, and ones with planted faults."""

import gzip
import json
from collections import Counter
from datetime import datetime

import pytest

from made_runs.event_logs import (
    FOLDER,
    GOLDEN,
    NEWEST,
    QUERY,
    RUN,
    START_MS,
    batches,
    golden,
    head,
    is_kind,
    job,
    kafka,
    progress,
    steady,
    tail,
    text,
    without,
    write,
)
from report.rendered import render_markdown, render_report
from streamgauge.clock import ManualClock
from streamgauge.conclude.comparison import compare
from streamgauge.conclude.stored_run import evidence_of, summary_of
from streamgauge.errors import InvalidExperimentError, UsageError
from streamgauge.experiments.export import export_run
from streamgauge.observe.import_log import import_event_log
from streamgauge.report.terminal.run import print_summary
from streamgauge.store import list_runs


@pytest.fixture
def load(tmp_path):
    """Import a log, and return its runs as they are stored, by workload."""
    clock = ManualClock(now_s=1_700_000_000.0)

    def one(log, **options):
        path = log if hasattr(log, "exists") else write(tmp_path / "local-1", log)
        imported = import_event_log(path, runs=tmp_path / "runs", clock=clock, **options)
        return {run.summary["workload"]: run.stored() for run in imported.runs}

    return one


def raw_tasks(documents):
    """Count tasks by run and micro-batch in a second way: by the jobs of each stage."""
    place = {}
    for document in documents:
        properties = document.get("Properties") or {}
        if is_kind(document, "JobStart") and "streaming.sql.batchId" in properties:
            for stage in document["Stage IDs"]:
                place[stage] = properties["spark.jobGroup.id"], int(properties["streaming.sql.batchId"])
    return Counter(place[d["Stage ID"]] for d in documents if is_kind(d, "TaskEnd") and d["Stage ID"] in place)


def reports_of(documents, name):
    found = [document["progress"] for document in documents if is_kind(document, "QueryProgressEvent")]
    return [report for report in found if report["name"] == name]


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.stem)
def test_every_query_of_a_log_becomes_a_run_with_all_its_micro_batches_and_tasks(load, path):
    documents, runs = golden(path), load(path)
    assert set(runs) == {"clicks", "clickstream"}
    for workload, name in (("clicks", "clicks"), ("clickstream", None)):
        stored, reports = runs[workload], reports_of(documents, name)
        found = stored.batches()
        assert [b.batch_id for b in found] == [report["batchId"] for report in reports]
        assert [b.events for b in found] == [report["sources"][0]["numInputRows"] for report in reports]
        assert [b.duration_s for b in found] == [r["durationMs"]["triggerExecution"] / 1000 for r in reports]
        tasks = Counter(stored.table("tasks")["batch_id"].to_pylist())
        run_id = stored.document["query"]["run_id"]
        assert tasks == {b: n for (run, b), n in raw_tasks(documents).items() if run == run_id}
        assert stored.document["summary"]["stages"]["missing_tasks"] == 0


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.stem)
def test_what_a_log_tells_is_known_and_what_it_does_not_tell_is_null_with_a_reason(load, path):
    stored = load(path)["clicks"]
    summary, configuration = stored.document["summary"], stored.document["configuration"]
    assert (configuration["trigger_s"], configuration["shuffle_partitions"]) == (2.0, 3)
    assert configuration["source_partitions"] == 2
    assert (configuration["master"], stored.document["load"]["cores"]) == ("local[2]", 2)
    assert stored.document["environment"]["packages"]["pyspark"] == path.stem.removeprefix("spark-")
    # 2000 rows in every two seconds; the first micro-batches took longer.
    assert 950 < summary["processed_rate_per_s"] < 1500
    assert summary["state"]["rows_max"] > 0
    assert summary["stages"]["skew"]["max"] >= 1
    assert set(summary["phases_s"]) >= {"tasks", "scheduling", "query_planning"}
    for key in ("offered_rate_per_s", "events", "events_unprocessed"):
        assert summary[key] is None
        assert summary["unknown"][key]
    for key in ("end_to_end_latency_s", "backlog_events"):
        assert set(summary[key].values()) <= {None, 0}
        assert summary["unknown"][key]
    assert summary["verdict"] == "unknown"
    assert any("do not report what they still hold" in reason for reason in summary["reasons"])
    json.dumps(summary, allow_nan=False)


def test_a_run_says_that_it_was_imported_and_from_which_query(load):
    stored = load(NEWEST)["clickstream"]
    query = stored.document["query"]
    assert (stored.origin, stored.is_observed, stored.status) == ("import", True, "finished")
    assert query["name"] is None
    assert query["application"]["name"] == "clickstream"
    assert stored.document["configuration"]["trigger_s"] == 0.0


@pytest.mark.parametrize("name", ["local-1.lz4", "local-1.snappy", "eventlog_v2_local-1"])
def test_the_form_of_a_log_does_not_change_what_it_tells(load, name):
    plain, other = load(NEWEST)["clicks"].document["summary"], load(FOLDER / name)["clicks"].document["summary"]
    changed = {key for key in plain if plain[key] != other[key]}
    assert changed == {"run_id", "run_dir"}


def test_stages_are_joined_to_their_job_and_micro_batch(load):
    rows = load([*head(), *batches(steady(3)), *tail()])["clicks"].table("stages").to_pylist()
    assert [(r["batch_id"], r["job_id"], r["stage_id"], r["parents"]) for r in rows][:3] == [
        (0, 0, 0, ""),
        (0, 0, 1, "0"),
        (1, 1, 2, ""),
    ]
    assert rows[1]["finished_us"] - rows[1]["submitted_us"] == 300_000
    assert all(row["is_ok"] for row in rows)


def test_the_latency_from_source_to_sink_is_half_a_period_and_the_duration(load):
    # A batch of 10 000 rows takes 200 ms and 0.05 ms per row; one is triggered every second.
    summary = load([*head(), *batches(steady(40)), *tail()])["clicks"].document["summary"]
    assert summary["source_to_sink_latency_s"]["mean"] == pytest.approx(1.2, abs=1e-3)
    assert summary["processed_rate_per_s"] == pytest.approx(10_000)
    assert summary["batch_duration_s"]["mean"] == pytest.approx(0.7)


def in_kafka(count, *, taken=10_000, offered=10_000):
    sources = [[kafka(taken, taken * (k + 1), max(taken, offered) * (k + 1))] for k in range(count)]
    return [progress(k, START_MS + k * 1000, taken, sources=sources[k]) for k in range(count)]


def test_a_source_that_tells_its_backlog_allows_a_verdict(load):
    summary = load([*head(), *batches(in_kafka(40)), *tail()])["clicks"].document["summary"]
    assert (summary["verdict"], summary["reasons"]) == ("pass", [])
    assert summary["backlog_events"]["max"] is not None
    assert summary["events_unprocessed"] == 0


def test_a_backlog_that_grows_fails(load):
    summary = load([*head(), *batches(in_kafka(40, offered=11_000)), *tail()])["clicks"].document["summary"]
    assert summary["verdict"] == "fail"
    assert any("grows by 1k events/s" in reason for reason in summary["reasons"])
    assert summary["back_pressure"]["state"] == "persistent"
    assert summary["events_unprocessed"] == 40_000


def test_a_query_that_takes_ever_longer_fails_although_its_source_tells_nothing(load):
    starts = [round(1000 * 1.12**k) for k in range(30)]
    reports = [
        progress(k, START_MS + starts[k], 10 * (starts[k] - starts[k - 1]) if k else 10, took_ms=starts[k] // 9)
        for k in range(30)
    ]
    summary = load([*head(), *batches(reports), *tail()])["clicks"].document["summary"]
    assert summary["back_pressure"]["state"] == "persistent"
    assert summary["verdict"] != "pass"


# Planted faults.


@pytest.mark.parametrize("cut", [30, 3000, 30_000])
def test_a_log_that_breaks_off_in_a_line_is_imported_with_a_note(load, tmp_path, cut):
    torn = tmp_path / "torn"
    torn.write_bytes(gzip.decompress(NEWEST.read_bytes())[:-cut])
    found = load(torn)["clicks"]
    assert any("breaks off" in note for note in found.document["summary"]["warnings"])
    whole = load(NEWEST)["clicks"].batches()
    assert found.batches() == whole[: len(found.batches())] != []
    assert found.status == "finished"


def test_a_log_of_an_application_that_runs_or_crashed_is_imported_with_a_note(load):
    summary = load([*head(), *batches(steady(12))])["clicks"].document["summary"]
    assert summary["batches"] == 10
    assert "the log ends while the query runs" in summary["warnings"]


def test_lost_task_ends_are_counted(load):
    documents = [*head(), *batches(steady(12)), *tail()]
    lost = [d for d in documents if is_kind(d, "TaskEnd") and d["Stage ID"] in (8, 11, 13)]
    summary = load(without(documents, lambda d: d in lost[:4]))["clicks"].document["summary"]
    assert summary["stages"]["missing_tasks"] == 4
    assert any("4 tasks are missing" in note for note in summary["warnings"])


def test_a_stage_of_which_every_task_end_is_lost_is_missed_too(load):
    documents = [*head(), *batches(steady(12)), *tail()]
    summary = load(without(documents, lambda d: is_kind(d, "TaskEnd") and d["Stage ID"] == 9))["clicks"].document
    assert summary["summary"]["stages"]["missing_tasks"] == 3


def test_a_log_without_tasks_says_what_is_not_known(load):
    documents = [*head(), *batches(steady(12)), *tail()]
    kinds = ("TaskEnd", "StageCompleted", "JobStart")
    summary = load(without(documents, lambda d: d["Event"].endswith(kinds)))["clicks"].document["summary"]
    assert any("no task of this query was logged" in note for note in summary["warnings"])
    assert "execution" in summary["phases_s"]
    assert summary["stages"]["cpu_s_per_event"] is None


def test_a_lost_report_is_a_hole(load):
    reports = steady(40)
    del reports[20]
    summary = load([*head(), *batches(reports), *tail()])["clicks"].document["summary"]
    assert summary["verdict"] == "unknown"
    assert any("micro-batch 20 is missing" in reason for reason in summary["reasons"])


def test_a_line_that_is_damaged_in_the_middle_is_left_out_and_told(load, tmp_path):
    lines = text([*head(), *batches(steady(12)), *tail()]).splitlines(keepends=True)
    lines[20] = lines[20][:50] + b"\n"
    lines[30] = b"\xff\xfe nonsense\n"
    path = tmp_path / "damaged"
    path.write_bytes(b"".join(lines))
    summary = load(path)["clicks"].document["summary"]
    assert any("2 lines of the log cannot be read" in note for note in summary["warnings"])


@pytest.mark.parametrize(
    "wrong",
    [
        {"durationMs": {"addBatch": "long"}},
        {"durationMs": None},
        {"timestamp": "yesterday"},
        {"batchId": None},
        {"sources": [{"numInputRows": -5}]},
        {"sources": [{"numInputRows": 10**30}]},
        {"sources": None},
        {"stateOperators": [{}]},
    ],
    ids=range(8),
)
def test_a_report_that_is_none_of_sparks_is_left_out(load, wrong):
    reports = steady(12)
    reports[6] |= wrong
    documents = [d for d in batches(steady(12)) if not is_kind(d, "QueryProgressEvent")]
    documents += [{"Event": d["Event"], "progress": r} for d, r in zip(_progress_events(), reports, strict=True)]
    summary = load([*head(), *documents, *tail()])["clicks"].document["summary"]
    assert any("1 lines of the log" in note for note in summary["warnings"])
    assert any("micro-batch 6 is missing" in reason for reason in summary["reasons"])


def _progress_events():
    return [d for d in batches(steady(12)) if is_kind(d, "QueryProgressEvent")]


def test_two_queries_that_run_at_the_same_time_are_kept_apart(load):
    other = {"id": QUERY[:-1] + "2", "runId": RUN[:-1] + "2", "name": "views"}
    mixed = []
    for mine, theirs in zip(batches(steady(12)), batches(steady(12, rows=7)), strict=True):
        if is_kind(theirs, "QueryProgressEvent"):
            theirs["progress"] |= other
        elif is_kind(theirs, "JobStart"):
            theirs["Properties"] |= {"spark.jobGroup.id": other["runId"], "sql.streaming.queryId": other["id"]}
            theirs["Stage Infos"] = [{**s, "Stage ID": s["Stage ID"] + 1000} for s in theirs["Stage Infos"]]
        elif is_kind(theirs, "TaskEnd"):
            theirs["Stage ID"] += 1000
        else:
            theirs["Stage Info"]["Stage ID"] += 1000
        mixed += [mine, theirs]
    runs = load([*head(), *mixed, *tail()])
    assert {name: run.batches()[-1].last for name, run in runs.items()} == {"clicks": 120_000, "views": 84}
    for name, offset in (("clicks", 0), ("views", 1000)):
        stages = runs[name].table("tasks")["stage_id"].to_pylist()
        assert sorted(set(stages)) == [offset + k for k in range(24)]


def test_a_query_that_was_restarted_has_a_run_for_each_of_its_runs(tmp_path):
    later = [d | {"progress": d["progress"] | {"runId": RUN[:-1] + "9"}} for d in _progress_events()]
    log = write(tmp_path / "log", [*head(), *batches(steady(12)), *later, *tail()])
    runs = import_event_log(log, runs=tmp_path / "runs").runs
    assert [run.stored().document["query"]["run_id"] for run in runs] == [RUN, RUN[:-1] + "9"]
    assert len(import_event_log(log, query=RUN, runs=tmp_path / "runs").runs) == 1


def test_jobs_with_a_group_of_the_users_own_belong_to_their_query(load):
    documents = [*head(), *batches(steady(12)), *tail()]
    for document in documents:
        if is_kind(document, "JobStart"):
            document["Properties"]["spark.jobGroup.id"] = "my own group"
    runs = load(documents)
    assert list(runs) == ["clicks"]
    assert runs["clicks"].table("tasks").num_rows == 60


def test_a_query_can_be_chosen_by_name_and_by_the_beginning_of_its_ids(load):
    assert list(load(NEWEST, query="clicks")) == ["clicks"]
    chosen = load(NEWEST)["clickstream"].document["query"]
    for beginning in (chosen["id"][:6], chosen["run_id"][:6]):
        assert list(load(NEWEST, query=beginning)) == ["clickstream"]


def test_an_unknown_query_is_refused_with_the_closest_name(load):
    with pytest.raises(UsageError, match='no query "click"') as refused:
        load(NEWEST, query="click")
    assert "clicks" in refused.value.remedy
    with pytest.raises(UsageError):
        load(NEWEST, query="")


def test_a_log_of_batch_jobs_alone_is_refused(load):
    documents = without(golden(), lambda d: "treaming" in json.dumps(d))
    with pytest.raises(InvalidExperimentError, match="no streaming query"):
        load(documents)


@pytest.mark.parametrize("version", ["2.4.8", "1.6.0", "unknown"])
def test_a_log_that_is_too_old_is_refused(load, version):
    with pytest.raises(InvalidExperimentError, match=f"Spark {version}"):
        load([*head(version), *batches(steady(3)), *tail()])


@pytest.mark.parametrize("version", ["3.2.4", "4.4.0", "5.0.0"])
def test_a_version_without_a_log_among_the_tests_is_read_with_a_note(load, version):
    summary = load([*head(version), *batches(steady(12)), *tail()])["clicks"].document["summary"]
    assert any(f"of Spark {version}" in note for note in summary["warnings"])
    assert summary["batches"] == 10


def test_a_log_without_its_beginning_is_read_with_a_note(load):
    stored = load([*batches(steady(12)), *tail()])["clicks"]
    notes = stored.document["summary"]["warnings"]
    assert any("beginning of the log is missing" in note for note in notes)
    assert any("at most 3 tasks ran at once" in note for note in notes)
    assert stored.document["load"]["cores"] == 3


def test_a_query_that_failed_is_a_failed_run_with_its_reason(load):
    exception = (
        "org.apache.spark.SparkException: Job aborted.\n\tat a.b.C\nCaused by: java.io.IOException: disk is full"
    )
    stored = load([*head(), *batches(steady(12)), *tail(exception)])["clicks"]
    assert stored.status == "failed"
    assert any("the query failed" in reason and "disk is full" in reason for reason in stored.document["reasons"])


def test_a_query_without_a_micro_batch_is_stored_with_the_reason(load):
    stored = load([*head(), job(0, 0, {0: 2})])["clicks"]
    assert summary_of(stored)["reasons"][0] == "no micro-batch was reported"
    assert summary_of(stored)["verdict"] == "unknown"
    assert "no micro-batch" in render_markdown([stored])
    render_report([stored])


def test_few_rows_are_too_few(load):
    summary = load([*head(), *batches(steady(30, rows=2)), *tail()])["clicks"].document["summary"]
    assert any("only 60 rows were seen" in reason for reason in summary["reasons"])


def test_a_query_that_never_reads_a_row_has_no_numbers_and_no_crash(load):
    stored = load([*head(), *batches(steady(30, rows=0)), *tail()])["clicks"]
    assert stored.document["summary"]["verdict"] == "unknown"
    assert stored.document["summary"]["batches"] == 0
    render_report([stored])


def test_secrets_are_not_stored(load, tmp_path):
    leaking = text(golden()).replace(b"*********(redacted)", b"open-sesame")
    leaking = leaking.replace(b"NoopTable", b"jdbc://me:open-sesame@host/db")
    assert leaking.count(b"open-sesame") > 10
    path = tmp_path / "leaking"
    path.write_bytes(leaking)
    for stored in load(path).values():
        for file in stored.path.rglob("*"):
            assert b"open-sesame" not in file.read_bytes()
        assert stored.document["configuration"]["conf"]["spark.sql.clickstream.password"] == "********"


# What reads runs reads these too.


def test_an_imported_run_is_shown_reported_and_exported(load, tmp_path, capsys):
    stored = load(NEWEST)["clicks"]
    print_summary(stored)
    shown = capsys.readouterr().out
    assert "source to sink, estimated" in shown
    assert "offered unknown" in shown
    page, words = render_report([stored]), render_markdown([stored])
    for text_ in (page, words):
        assert "no command of streamgauge repeats it" in text_
        assert "streamgauge run clicks" not in text_
    for form in ("parquet", "csv", "json"):
        written = export_run(stored, format=form, output=tmp_path / f"export-{form}")
        assert written.files
        assert written.missing == ("resources",)
    assert "clicks" in stored._repr_html_()
    assert list_runs(stored.path.parent)[0].status == "finished"


def test_imported_runs_are_compared_in_what_they_have(load):
    first, second = load(NEWEST)["clicks"], load(GOLDEN[0])["clicks"]
    (found,) = compare([first.run_id, second.run_id], runs=first.path.parent).comparisons
    assert {m.name for m in found.metrics} >= {"processed_rate_per_s", "batch_duration_s.mean"}
    assert not any(m.name.startswith("end_to_end") for m in found.metrics)
    assert any(d.name == "packages.pyspark" for d in found.differences)


def test_an_imported_run_is_not_compared_with_another_query(load):
    runs = load(NEWEST)
    with pytest.raises(InvalidExperimentError, match="different experiments"):
        compare([run.run_id for run in runs.values()], runs=runs["clicks"].path.parent)


def test_the_evidence_of_an_imported_run_gives_its_summary_again(load):
    from streamgauge.conclude.summary import summarise

    stored = load(NEWEST)["clicks"]
    again = json.loads(json.dumps(summarise(evidence_of(stored))))
    assert {key: stored.document["summary"][key] for key in again} == again


def test_a_run_whose_process_was_killed_tells_what_was_stored(load):
    stored = load(NEWEST)["clicks"]
    document = json.loads((stored.path / "run.json").read_text())
    document |= {"status": "running", "summary": None, "process": {"pid": 2**22 + 1, "started_s": 1.0}}
    (stored.path / "run.json").write_text(json.dumps(document))
    for table in ("batches", "tasks", "stages", "latency"):
        (stored.path / f"{table}.parquet").unlink()
    killed = list_runs(stored.path.parent)
    assert {run.status for run in killed} >= {"interrupted"}
    from streamgauge.store import open_run

    again = open_run(stored.path.parent, stored.run_id)
    assert summary_of(again)["batches"] == document_batches(stored)
    render_report([again])
    assert export_run(again, output=stored.path.parent / "out").files


def document_batches(stored):
    return stored.document["summary"]["batches"]


def test_the_time_of_a_report_is_kept_to_the_millisecond(load):
    first = load(NEWEST)["clicks"]
    (report, *_) = reports_of(golden(), "clicks")
    assert first.batches()[0].started_us == round(datetime.fromisoformat(report["timestamp"]).timestamp() * 1e6)


def test_a_log_that_turns_out_to_be_damaged_leaves_no_run(tmp_path):
    documents = golden()
    reports = [d for d in documents if is_kind(d, "QueryProgressEvent")]
    # The last report of the last query: the runs of the others are stored already.
    reports[-1]["progress"]["durationMs"]["triggerExecution"] = 10**30
    with pytest.raises(InvalidExperimentError, match="what Spark does not write") as caught:
        import_event_log(write(tmp_path / "log", documents), runs=tmp_path / "runs")
    assert caught.value.where == str(tmp_path / "log")
    assert list((tmp_path / "runs").iterdir()) == []
