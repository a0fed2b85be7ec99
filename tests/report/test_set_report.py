"""Reports of sets: searches, scaling, surges, faults, suites and repetitions; and of groups that are compared."""

import json
import shutil
from dataclasses import replace

import pytest

from made_runs.samples import ORIGIN_US, answer, evidence
from made_runs.stored_runs import store_run
from report.test_html_report import HOSTILE, Page, charts, drawn, healthy_evidence
from report.test_markdown_report import cells
from streamgauge.clock import ManualClock
from streamgauge.errors import UsageError
from streamgauge.experiments.sustain import Sustained
from streamgauge.measure.search import Probe, Search, SearchSettings
from streamgauge.report.content.sets import MAX_SECTIONS
from streamgauge.report.content.subject import find_subject
from streamgauge.report.html.page import render_subject
from streamgauge.report.markdown import render_subject_markdown
from streamgauge.store import SetWriter
from streamgauge.verdict import Verdict


@pytest.fixture
def root(tmp_path):
    return tmp_path / "runs"


def store_set(root, kind, *, result=None, status="finished", members=(), title="ysb", **document):
    writer = SetWriter.create(
        root, kind=kind, title=title, document=document, clock=ManualClock(wall_offset_s=ORIGIN_US / 1e6)
    )
    for run_id, facts in members:
        writer.add(run_id, **facts)
    writer.update(status=status, **({"result": result} if result is not None else {}))
    return writer.set_id


def read(root, *references):
    return Page(render_subject(find_subject(root, references)))


def text(root, *references):
    return render_subject_markdown(find_subject(root, references))


def sections(page):
    return [e["text"].split()[0] for e in page.all("span", "run-id")][1:]


# A search


def searched(root):
    """A search between 1k/s and 4k/s, the runs of which are stored."""
    search = Search(SearchSettings(1000.0, within=0.5, confirm=True))
    writer = SetWriter.create(
        root, kind="sustain", title="ysb", document={"workload": "ysb"}, clock=ManualClock(wall_offset_s=1.0)
    )
    while (rate_per_s := search.next_rate()) is not None:
        passes = rate_per_s <= 3100
        run = store_run(root, evidence(rate_per_s=rate_per_s, limit=None if passes else 400))
        reasons = () if passes else ("backlog grows by 200 events/s",)
        search.add(Probe(rate_per_s, Verdict.PASS if passes else Verdict.FAIL, 15.0, run.run_id, reasons))
        writer.add(run.run_id, role="probe", rate_per_s=rate_per_s)
        writer.update(search=search.to_dict())
    writer.update(status="finished", result=Sustained(writer.set_id, "ysb", search, writer.path.parent).document())
    return writer.set_id, search


def test_a_search_shows_its_probes_in_order_and_the_interval(root):
    set_id, search = searched(root)
    page = read(root, set_id)
    assert page.all("h1")[0]["text"] == "Highest rate that ysb sustains"
    assert page.all("b", "badge")[0]["text"] == "PASS"
    assert "between 2.828k/s, which is sustained, and 4k/s, which is not" in page.words()
    rows = [e["text"].split() for e in page.all("tr") if e["text"].split()[-1:] == [search.probes[0].run_id]]
    assert rows[0][:3] == ["1", "1k/s", "pass"]
    chart = charts(page)["Probes"]
    shapes = [e["attributes"]["class"] for e in drawn(chart)]
    assert {"dots mark pass-mark", "dots mark fail-mark", "bar interval", "line way"} == set(shapes)
    told = [e["text"] for e in chart["elements"] if e["tag"] == "title"]
    assert "probe 3: 4k/s fails, backlog grows by 200 events/s" in told
    assert len(told) == len(search.probes) + 1


def test_only_the_runs_at_both_ends_have_sections_of_their_own(root):
    set_id, search = searched(root)
    ends = [probe.run_id for probe in search.probes if probe.rate_per_s > 2500]
    page = read(root, set_id)
    assert len(search.probes) > 4
    assert len(page.all("section", "run")) == 2
    assert set(sections(page)) <= set(ends)


def test_a_search_without_an_end_says_what_it_knows(root):
    probes = [Probe(1000.0, Verdict.PASS, 10.0), Probe(2000.0, Verdict.UNKNOWN, 10.0, None, ("too few batches",))]
    search = Search(SearchSettings(1000.0), probes)
    set_id = store_set(root, "sustain", status="interrupted", workload="ysb", search=search.to_dict())
    page = read(root, set_id)
    assert page.all("b", "badge")[0]["text"] == "UNKNOWN"
    assert "the set was interrupted before its end" in page.words()
    assert "at least 1k/s; no rate failed" in page.words()
    assert "dots mark unknown-mark" in [e["attributes"]["class"] for e in drawn(charts(page)["Probes"])]


def test_a_search_tells_how_far_its_probes_scatter(root):
    capacities = {1000.0: (Verdict.PASS, 1100.0), 1400.0: (Verdict.FAIL, 1300.0)}
    probes = [Probe(rate, verdict, 10.0, capacity_per_s=most) for rate, (verdict, most) in capacities.items()]
    set_id = store_set(root, "sustain", workload="ysb", search=Search(SearchSettings(1000.0), probes).to_dict())
    told = "capacity 1.1k/s to 1.3k/s by the micro-batches of 2 probes, which scatter by 12 %"
    assert told in read(root, set_id).words()


def test_a_search_that_was_killed_before_its_first_probe_has_no_chart(root):
    page = read(root, store_set(root, "sustain", status="running"))
    assert "The search ended before its first probe did." in page.words()
    assert "the set goes on" in page.words()


def test_runs_of_a_set_that_are_gone_are_named(root):
    set_id, search = searched(root)
    gone = search.probes[0].run_id
    shutil.rmtree(root / gone)
    (root / search.probes[1].run_id / "run.json").write_text("{")
    page = read(root, set_id)
    assert f"The run {gone} is left out: it is no longer there." in page.words()
    assert f"The run {search.probes[1].run_id} is left out: not JSON" in page.words()
    assert f"The run {gone} is left out: it is no longer there." in text(root, set_id)


# Scaling


SCALED = {
    "workload": "ysb",
    "verdict": "pass",
    "reason": "three core counts",
    "warnings": ["the machine was not idle"],
    "points": [
        {"cores": 1, "shuffle_partitions": None, "rate_per_s": 1e6, "run_id": "gone-1", "verdict": "pass"},
        {"cores": 2, "shuffle_partitions": None, "rate_per_s": 1.8e6, "run_id": "gone-2", "verdict": "pass"},
    ],
    "capacity": [
        {"cores": 1, "shuffle_partitions": None, "rate_per_s": 1e6, "low_per_s": 9e5, "high_per_s": 1.1e6,
         "speed_up": 1.0, "efficiency": 1.0, "runs": 3},
        {"cores": 2, "shuffle_partitions": None, "rate_per_s": 1.8e6, "low_per_s": None, "high_per_s": None,
         "speed_up": 1.8, "efficiency": 0.9, "runs": 1},
    ],
    "law": {"per_core": 1e6, "contention": 0.11, "coherence": None, "peak_cores": None, "r_squared": 0.999,
            "reason": "two core counts cannot separate coherence from contention",
            "curve": [[1, 1e6], [2, 1.8e6], [4, 3e6]]},
}  # fmt: skip


def test_scaling_shows_capacity_against_cores_with_law_and_ideal(root):
    page = read(root, store_set(root, "scale", result=SCALED))
    assert page.all("h1")[0]["text"] == "Scaling of ysb"
    chart = charts(page)["Capacity by cores"]
    classes = [e["attributes"]["class"] for e in drawn(chart)]
    assert {"line ideal", "line law", "dots mark c1", "line c1 thick"} == set(classes)
    assert "2 cores: 1.8M/s, speed-up 1.80, efficiency 90%" in [
        e["text"] for e in chart["elements"] if e["tag"] == "title"
    ]
    assert "1 one per core 1M/s 900k/s to 1.1M/s 1.00 100% 3" in page.words()
    assert "2 one per core 1.8M/s one run 1.80 90% 1" in page.words()
    assert "the machine was not idle" in page.words()


def test_scaling_without_a_law_still_shows_its_points(root):
    result = {key: value for key, value in SCALED.items() if key not in ("law", "capacity")} | {"law": None}
    page = read(root, store_set(root, "scale", result=result))
    assert "dots mark c1" in [e["attributes"]["class"] for e in drawn(charts(page)["Capacity by cores"])]
    empty = read(root, store_set(root, "scale", result={"verdict": "unknown", "reason": "nothing ran"}))
    assert "No number of cores has a capacity." in empty.words()


# Surge and fault


def test_a_surge_shades_its_spike_in_the_charts_of_the_load(root):
    run = store_run(root, healthy_evidence())
    result = {
        "workload": "ysb", "verdict": "pass", "reason": "worked off", "base_rate_per_s": 1000.0,
        "spike_rate_per_s": 5000.0, "spike_start_s": 10.0, "spike_end_s": 15.0, "capacity_per_s": None,
        "peak_latency_s": 2.5, "peak_backlog_events": 12000, "time_to_recover_s": 3.25, "run_id": run.run_id,
    }  # fmt: skip
    page = read(root, store_set(root, "surge", result=result, members=[(run.run_id, {"role": "surge"})]))
    found = charts(page)
    for title in ("Offered and processed rate", "Backlog", "End-to-end latency over time"):
        bands = [e for e in found[title]["elements"] if "spike" in (e["attributes"].get("class") or "").split()]
        assert bands, title
    assert not [e for e in found["State: rows"]["elements"] if "spike" in (e["attributes"].get("class") or "")]
    assert "recovered 3.25 s after the spike ended" in page.words()
    assert "capacity unknown" in page.words()
    assert "peak backlog 12k events" in page.words()


def test_a_fault_tells_what_was_lost_doubled_and_recovered(root):
    result = {"workload": "ysb", "verdict": "pass", "killed_at_s": 10.0, "restarted_at_s": 12.5, "recovery_s": 20.5,
              "caught_up_s": None, "rows_expected": 600, "rows_lost": 0, "rows_doubled": 0,
              "rows_recovered": 41}  # fmt: skip
    page = read(root, store_set(root, "fault", result=result))
    for told in ("first fault 10 s after the load began", "first results 20.5 s after the fault", "caught up unknown",
                 "rows expected 600", "rows lost 0", "rows doubled 0", "rows recovered 41"):  # fmt: skip
        assert told in page.words()
    assert "rows foreign" not in page.words()


def test_a_fault_says_that_doubling_was_not_visible(root):
    note = "doubled results are not visible: in output mode update a later row replaces the earlier one with its key"
    result = {"workload": "ysb", "verdict": "pass", "rows_lost": 0, "rows_doubled": None, "warnings": [note]}
    page = read(root, store_set(root, "fault", result=result))
    assert "rows doubled unknown" in page.words()
    assert note in page.words()


# Suites and repetitions


def suite_of(root, *, repetitions=2, kind="suite", hostile=""):
    rows, members = [], []
    for name, rate_per_s in (("slow", 500.0), (f"fast{hostile}", 1000.0)):
        for _ in range(repetitions):
            run = store_run(root, evidence(rate_per_s=rate_per_s, answer=answer()))
            members.append((run.run_id, {"name": name}))
            threshold = {"text": "end_to_end_latency_s.p95 < 2", "verdict": "pass", "reason": "", "value": 0.65}
            failed = {"text": f"batches > 10{hostile}", "verdict": "fail", "reason": "too few", "value": 8}
            unknown = {"text": "batches < 30", "verdict": "unknown", "reason": "not known", "value": None}
            rows.append({"name": name, "workload": "ysb", "run_id": run.run_id, "verdict": "pass", "reasons": [],
                         "thresholds": [threshold, failed, unknown]})  # fmt: skip
    compared = {"name": "slow", "verdict": "fail", "reason": "worse", "comparison": {"words": ["slow is later"]}}
    baseline = {"reference": "last-night", "verdict": "fail", "configurations": [compared]}
    result = {"suite": f"nightly{hostile}", "verdict": "pass", "runs": rows, "baseline": baseline}
    return store_set(root, kind, result=result, members=members, title="nightly")


def test_a_suite_shows_runs_thresholds_spread_and_common_charts(root):
    page = read(root, suite_of(root))
    assert page.all("h1")[0]["text"] == "Suite nightly"
    words = page.words()
    assert "runs 4: 4 pass" in words
    assert "baseline last-night: fail" in words
    assert "slow fail slow is later" in words
    assert "configuration end_to_end_latency_s.p95 < 2 batches > 10 batches < 30 slow 650 ms 8 fail unknown" in words
    assert words.count("650 ms 8 fail unknown") == 4
    assert "slow processed rate 2 500/s 500/s 500/s 0.0%" in words
    common = charts(page)["Processed rate"]
    keys = [e["text"] for e in common["elements"] if e["tag"] == "li"]
    assert keys == ["slow", "fast"]
    assert len(page.all("section", "run")) == 4


def test_a_large_suite_is_told_by_its_tables(root):
    page = read(root, suite_of(root, repetitions=MAX_SECTIONS))
    assert not page.all("section", "run")
    assert "Spread over repetitions" in page.words()


def test_repetitions_show_the_spread_over_the_runs(root):
    set_id = suite_of(root, kind="repeat")
    assert "Spread over repetitions" in read(root, set_id).words()
    assert cells(text(root, set_id).partition("### Spread")[2] or text(root, set_id))["slow"]


def test_a_suite_that_was_interrupted_shows_its_members(root):
    run = store_run(root, evidence())
    set_id = store_set(root, "suite", status="interrupted", members=[(run.run_id, {"name": "slow", "verdict": "pass"})])
    words = read(root, set_id).words()
    assert f"slow unknown pass {run.run_id}" in words
    assert "interrupted before its end" in words


def test_a_set_of_a_kind_that_is_not_known_shows_its_runs(root):
    run = store_run(root, evidence())
    page = read(root, store_set(root, "tune", members=[(run.run_id, {"verdict": "pass"})]))
    assert page.all("h1")[0]["text"] == "tune ysb"
    assert len(page.all("section", "run")) == 1


@pytest.mark.parametrize("kind", ["sustain", "scale", "surge", "fault", "suite", "repeat", "tune"])
@pytest.mark.parametrize(
    "result",
    [
        {},
        {"verdict": 7, "reason": None, "runs": "none", "points": [1, None], "capacity": [{}], "law": [], "probes": [{}],
         "sustainable_rate_per_s": 3, "baseline": ["a", {"words": ["b"]}], "spike_start_s": "x", "run_id": 5},
        {"verdict": "pass", "runs": [{}, {"thresholds": [None, {}]}], "law": {"curve": [[1], ["a", "b"]]},
         "points": [{"cores": "2", "rate_per_s": 1.0}], "probes": [{"rate_per_s": -1.0, "reasons": None}]},
    ],
)  # fmt: skip
def test_documents_of_others_never_break_a_report(root, kind, result):
    set_id = store_set(root, kind, result=result, members=[("no-such-run", {})])
    assert read(root, set_id).all("b", "badge")
    assert set_id in text(root, set_id)


def test_k5_names_in_sets_are_shown_as_they_are(root):
    set_id = suite_of(root, hostile=HOSTILE)
    page = read(root, set_id)
    assert not page.all("script")
    assert HOSTILE in page.words()
    assert "<script>" not in text(root, set_id)


def test_markdown_tells_the_same_as_the_page(root):
    set_id, search = searched(root)
    page, markdown = read(root, set_id).words(), text(root, set_id)
    assert markdown.startswith("# Highest rate that ysb sustains\n\n**PASS**")
    for told in ("between 2.828k/s, which is sustained, and 4k/s, which is not", search.reason):
        assert told in page
        assert told in markdown
    assert cells(markdown)["1"][0] == "1k/s"


# References


def test_a_beginning_of_a_run_and_of_a_set_is_ambiguous(root):
    run = store_run(root, evidence())
    set_id = store_set(root, "suite")
    assert find_subject(root, [run.run_id]).runs == (run,)
    assert find_subject(root, [set_id]).sets[0].stored.set_id == set_id
    common = "20231114"
    assert run.run_id.startswith(common) and set_id.startswith(common)
    with pytest.raises(UsageError, match="beginning of runs and of sets"):
        find_subject(root, [common])


def test_without_references_the_latest_run_is_meant(root):
    run = store_run(root, evidence())
    assert [r.run_id for r in find_subject(root, []).runs] == [run.run_id]


def test_an_unknown_reference_is_refused(root):
    with pytest.raises(UsageError, match="unknown run"):
        find_subject(root, ["nothing"])


def test_several_results_of_different_kinds_stand_after_each_other(root):
    run = store_run(root, evidence())
    scaled = store_set(root, "scale", result=SCALED)
    page = read(root, scaled, run.run_id)
    assert page.all("h1")[0]["text"] == "Report on 2 results"
    assert len(page.all("section", "set-of-runs")) == 1
    assert len(page.all("section", "run")) == 1


# Groups


def group(root, emitted_factor, count=6):
    """Runs that differ a little from each other, and by a factor from those of other groups."""
    ids = []
    for k in range(count):
        run = evidence(answer=answer())
        factor = emitted_factor * (1 + 0.01 * (k - count / 2))
        slower = [
            replace(
                b, emitted_us=b.started_us + round(200_000 * factor), finished_us=b.started_us + round(250_000 * factor)
            )
            for b in run.batches
        ]
        stored = store_run(root, replace(run, batches=slower))
        add_progress(stored, slower)
        ids.append(stored.run_id)
    return ",".join(ids)


def add_progress(stored, batches):
    """Write the reports from which a comparison reads the micro-batches."""
    from made_runs.stored_runs import progress

    lines = []
    for one in batches:
        document = progress(one)
        took_ms, emitted_ms = (one.finished_us - one.started_us) // 1000, (one.emitted_us - one.started_us) // 1000
        document["durationMs"] = {
            "addBatch": emitted_ms, "commitOffsets": took_ms - emitted_ms, "triggerExecution": took_ms,
        }  # fmt: skip
        lines.append(json.dumps(document))
    (stored.path / "events.jsonl").write_text("\n".join(lines) + "\n")


def test_groups_of_runs_are_compared_with_words_table_and_a_drawing_of_intervals(root):
    fast, slow = group(root, 1.0), group(root, 1.8)
    page = read(root, fast, slow)
    subject = find_subject(root, [fast, slow])
    pair = subject.compared.comparisons[0]
    assert page.all("b", "badge")[0]["text"] == pair.verdict.upper()
    for sentence in pair.words:
        assert sentence in page.words()
    lanes = page.all("div", "lane")
    assert len(lanes) == len(pair.metrics)
    moved = [metric for metric in pair.metrics if metric.significant]
    assert moved and len(page.all("div", "worse")) == sum(metric.better is False for metric in pair.metrics)
    for metric in pair.metrics:
        assert metric.title in page.words()
    assert charts(page)["Duration of micro-batches"]
    assert not page.all("section", "run")
    assert pair.verdict in text(root, fast, slow).lower()


def test_single_runs_keep_their_warning_that_nothing_follows(root):
    first, second = store_run(root, evidence()), store_run(root, evidence(rate_per_s=500.0))
    page = read(root, first.run_id, second.run_id)
    assert "One run each cannot separate a difference from chance" in page.words()
    listed = read(root, f"{first.run_id},{second.run_id}")
    assert "One run each cannot separate a difference from chance" in listed.words()
