"""The HTML report, read back as a browser would."""

import io
import json
import re
import shlex
import shutil
from dataclasses import replace
from html.parser import HTMLParser
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console

from made_runs.samples import answer, at_us, batch, evidence, offline, resources, tasks
from made_runs.stored_runs import begin_run, failed_run, kill, store_run
from report.rendered import render_report
from streamgauge.conclude.evidence import GeneratorCost
from streamgauge.conclude.stored_run import differences
from streamgauge.conclude.window import latency_histogram, measured_part
from streamgauge.errors import EnvironmentNotReadyError
from streamgauge.events import event_stream
from streamgauge.measure import Histogram
from streamgauge.measure.records import LostExecutor
from streamgauge.metrics import METRIC
from streamgauge.report.content import facts
from streamgauge.report.content.command import command
from streamgauge.report.content.configuration import question
from streamgauge.report.content.series import MAX_POINTS, RunSeries, read_series, thin
from streamgauge.report.content.stages import stage_rows
from streamgauge.report.html.axes import log_axis, percentile_axis, range_axis, value_axis
from streamgauge.report.html.chart import Canvas
from streamgauge.report.html.figures import _bin_counts, percentile_curve
from streamgauge.report.output import write_document
from streamgauge.report.terminal.run import print_summary
from streamgauge.secrets import MASK
from streamgauge.settings.run_settings import RunSettings
from streamgauge.settings.table import SETTINGS
from streamgauge.store import StoredRun
from streamgauge.verdict import Verdict
from streamgauge.workloads import Window

VOID = {"meta", "br", "img", "link", "input", "hr"}


def healthy_evidence(**changes):
    run = evidence(window=Window(5.0, 5.0, "window_start"), output_mode="update", answer=answer(), **changes)
    cost = GeneratorCost(2.5e-7, ("ad_id", "event_time", "event_type"))
    return replace(run, tasks=tasks(run.batches), resources=resources(), generator=cost)


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    """Where the runs are that no test changes."""
    return tmp_path_factory.mktemp("report") / "runs"


@pytest.fixture(scope="module")
def healthy(root):
    return store_run(root, healthy_evidence())


@pytest.fixture(scope="module")
def at_once(root):
    return store_run(root, offline(answer=answer(), resources=resources(60.0)))


@pytest.fixture(scope="module")
def overloaded(root):
    """A run that falls behind, whose first micro-batches are cut and whose last report is lost."""
    wrong = answer(Verdict.FAIL, missing=3, extra=1, reasons=["3 rows missing and 1 extra of 600 expected"])
    run = evidence(limit=400, answer=wrong)
    return store_run(root, replace(run, batches=run.batches[:-1]))


@pytest.fixture(scope="module")
def failed(root):
    return failed_run(root)


@pytest.fixture(scope="module")
def killed(root):
    return kill(begin_run(root, evidence(), at_us(20.0)))


class Page(HTMLParser):
    """The elements of a page, with their attributes and texts; elements must be closed in their order."""

    def __init__(self, text):
        super().__init__()
        self.elements, self._open = [], []
        self.feed(text)
        self.close()
        assert not self._open

    def handle_starttag(self, tag, attrs):
        element = {"tag": tag, "attributes": dict(attrs), "text": "", "parents": [e["tag"] for e in self._open]}
        self.elements.append(element)
        if tag not in VOID:
            self._open.append(element)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        self._open.pop()

    def handle_endtag(self, tag):
        assert self._open.pop()["tag"] == tag
        if tag not in ("data", "code", "b", "i", "span", "small"):
            self.handle_data(" ")

    def handle_data(self, data):
        for element in self._open:
            element["text"] += data

    def all(self, tag, style=None):
        return [
            e
            for e in self.elements
            if e["tag"] == tag and (style is None or style in (e["attributes"].get("class") or "").split())
        ]

    def words(self):
        return " ".join(self.all("body")[0]["text"].split())


def page(*runs):
    return Page(render_report(runs))


def on_terminal(stored):
    file = io.StringIO()
    print_summary(stored, Console(file=file, width=1000))
    return " ".join(file.getvalue().split())


def lookup(document, path):
    for key in path.split("."):
        document = document[key]
    return document


# Numbers


def marked_numbers(read):
    return [e for e in read.all("data") if "data-key" in e["attributes"] or "data-cell" in e["attributes"]]


@pytest.mark.parametrize("kind", ["healthy", "overloaded", "at_once"])
def test_e5_every_number_equals_that_of_the_summary_and_is_written_as_on_the_terminal(kind, request):
    stored = request.getfixturevalue(kind)
    found, printed = marked_numbers(page(stored)), on_terminal(stored)
    assert len(found) > 8
    for element in found:
        attributes = element["attributes"]
        path = attributes.get("data-key") or attributes["data-cell"]
        number = lookup(stored.document["summary"], path)
        assert float(attributes["value"]) == number, path
        assert element["text"] == METRIC[path].form(number)
        assert re.search(rf"(?<![\w.]){re.escape(element['text'])}(?![\w.])", printed), path


def test_the_lines_under_the_verdict_are_those_of_the_terminal(healthy, overloaded, at_once):
    for stored in (healthy, overloaded, at_once):
        printed, read = on_terminal(stored), page(stored).words()
        lines = facts.key_facts(stored.document["summary"])
        assert {"throughput", "events", "batches", "measured", "answer"} <= {name for name, _ in lines}
        for name, text in lines:
            assert f"{name} {text}" in printed
            assert text in read
        for name, mean, share in facts.phase_rows(stored.document["summary"]):
            assert f"{name.replace('_', ' ')} {mean} {share}" in printed


def test_verdict_reasons_and_notes_are_told(overloaded):
    read = page(overloaded)
    badge = read.all("b", "badge")[0]
    assert badge["text"] == "FAIL"
    summary = overloaded.document["summary"]
    for text in (*summary["reasons"], *summary["warnings"]):
        assert text in read.words()
    for finding in summary["findings"]:
        assert f"{finding['question']} {finding['verdict']} {finding['reason']}" in read.words()


def test_what_was_run_is_told(healthy):
    text = page(healthy).words()
    assert "How many views" in text or question(healthy) in text
    assert "constant arrivals, 1k/s" in text
    assert "5 s warm-up, 20 s measured, at most 30 s drain" in text
    assert "4.3.0, local[2], trigger as fast as possible, output mode update" in text
    assert "streamgauge 0.1.0, python 3.11.7, java 17, numpy 2.4.6, pyspark 4.3.0" in text


def test_what_is_not_known_is_called_unknown_and_never_zero(tmp_path):
    run = evidence()
    stored = store_run(tmp_path / "runs", replace(run, batches=run.batches[:1]))
    read = page(stored)
    unknown = {e["attributes"]["data-key"] for e in read.all("span", "unknown")}
    assert {"processed_rate_per_s", "end_to_end_latency_s.p99", "core_use.used"} <= unknown
    assert "No micro-batch with events was reported." in read.words()


def test_a_run_of_an_older_version_is_reported_too(healthy):
    later = ("load", "offline_rate_per_s", "offline_run_id", "core_use", "findings")
    summary = {key: value for key, value in healthy.document["summary"].items() if key not in later}
    older = replace(healthy, document=healthy.document | {"summary": summary})
    assert "offered 1k/s, ingested 1k/s, processed 1k/s" in page(older).words()


# One file


def test_k5_the_file_needs_no_other_and_no_script(healthy, overloaded):
    text = render_report([healthy, overloaded])
    read = Page(text)
    assert not re.search(r"https?:|//[a-z]|url\(|@import|@font-face", text)
    assert not [e for e in read.elements if e["tag"] in ("script", "link", "img", "iframe", "object", "embed", "base")]
    assert not [e for e in read.elements if {"src", "srcset", "action", "data", "xlink:href"} & set(e["attributes"])]
    assert all(e["attributes"]["href"].startswith("#") for e in read.all("a"))
    assert not [e for e in read.elements if any(name.startswith("on") for name in e["attributes"])]
    policy = [e["attributes"] for e in read.all("meta") if "http-equiv" in e["attributes"]]
    assert policy[0]["content"].startswith("default-src 'none'")


def test_the_same_runs_give_the_same_file(healthy, overloaded):
    assert render_report([healthy, overloaded]) == render_report([healthy, overloaded])


def test_anchors_lead_somewhere_and_are_unique(healthy, overloaded):
    read = page(healthy, overloaded)
    names = [e["attributes"]["id"] for e in read.elements if "id" in e["attributes"]]
    assert len(names) == len(set(names))
    assert {e["attributes"]["href"][1:] for e in read.all("a")} <= set(names)


HOSTILE = '<script>alert("x")</script>'


def test_k5_names_and_messages_of_others_are_shown_as_they_are(tmp_path):
    stored = store_run(
        tmp_path / "runs",
        healthy_evidence(),
        workload=HOSTILE,
        configuration={
            "parameters": {HOSTILE: "\" onload='x'"},
            "conf": {"spark.app.name": f"</code></pre>{HOSTILE}"},
        },
        reasons=[f"{HOSTILE} --rate <b>"],
        warnings=["use --<i>duration</i>", HOSTILE],
        findings=[{"question": HOSTILE, "verdict": "unknown", "reason": HOSTILE}],
    )
    for read in (page(stored), page(stored, stored)):
        assert not read.all("script")
        assert not read.all("i", None) or all(e["attributes"].get("class") for e in read.all("i"))
        assert not [e for e in read.elements if any(name.startswith("on") for name in e["attributes"])]
        assert HOSTILE in read.words()
        assert read.all("title")[0]["text"].startswith(HOSTILE) or len(read.all("section", "run")) == 2


def test_options_in_notes_are_set_apart(overloaded):
    assert "--duration" in [e["text"] for e in page(overloaded).all("code")]


def test_templates_and_style_are_part_of_the_package():
    names = {entry.name for entry in files("streamgauge.report.html").iterdir()}
    assert {"report.jinja", "run.jinja", "set.jinja", "chart.jinja", "style.css"} <= names


def test_a_file_that_cannot_be_written_is_named_with_a_way_out(tmp_path, healthy):
    with pytest.raises(EnvironmentNotReadyError, match=r"cannot write the report(.|\n)*--output"):
        write_document(render_report([healthy]), tmp_path / "missing" / "report.html")


# Charts


def charts(read):
    """Return title and content of each figure."""
    found, current = {}, None
    for element in read.elements:
        if element["tag"] == "figure":
            current = {"figure": element, "elements": []}
        elif current is not None and "figure" in element["parents"]:
            current["elements"].append(element)
            if element["tag"] == "h4":
                found.setdefault(element["text"], current)
    return found


def drawn(chart):
    """Return the shapes of a chart that show data."""
    return [
        e
        for e in chart["elements"]
        if (e["tag"] == "path" and e["attributes"]["d"])
        or (e["tag"] == "rect" and "strip" not in e["attributes"]["class"])
    ]


TIME_CHARTS = (
    "Offered and processed rate",
    "Backlog",
    "End-to-end latency over time",
    "Duration of micro-batches",
    "State: rows",
    "State: memory",
    "Cores in use",
    "Memory of processes",
)
OTHER_CHARTS = (
    "Distribution of end-to-end latency",
    "Percentiles of end-to-end latency",
    "Phases of micro-batches",
    "Mean and slowest task by stage",
)


def test_a_healthy_run_has_every_chart_with_data_and_an_explanation(healthy):
    found = charts(page(healthy))
    assert set(found) == {*TIME_CHARTS, *OTHER_CHARTS}
    for title, chart in found.items():
        assert drawn(chart), title
        explanation = [e for e in chart["elements"] if "explanation" in (e["attributes"].get("class") or "")]
        assert len(explanation) == 1, title
        assert explanation[0]["text"].endswith("."), title
        assert len([e for e in chart["elements"] if e["tag"] == "title"]) > 1, title


@pytest.mark.parametrize("kind", ["healthy", "overloaded", "failed", "killed"])
def test_no_chart_is_empty_what_is_missing_is_said_in_words(kind, request):
    for title, chart in charts(page(request.getfixturevalue(kind))).items():
        if "missing" in chart["figure"]["attributes"]["class"]:
            words = [e["text"] for e in chart["elements"] if e["tag"] == "p"]
            assert words and words[0].endswith("."), title
        else:
            assert drawn(chart), title


def test_warm_up_cut_and_drain_are_marked_in_every_chart_over_time(overloaded):
    found = charts(page(overloaded))
    for title in ("Offered and processed rate", "Backlog", "End-to-end latency over time", "State: rows"):
        bands = {e["attributes"]["class"]: e["attributes"]["style"] for e in found[title]["elements"]
                 if e["attributes"].get("class", "").startswith("band")}  # fmt: skip
        assert set(bands) - {"band behind"} == {"band warmup", "band cut", "band drain"}, title
        end_s = read_series(overloaded).end_s
        assert bands["band warmup"] == f"left:0%;width:{100 * 5 / end_s:.4g}%"
        assert bands["band cut"] == f"left:{100 * 5 / end_s:.4g}%;width:{100 * 10 / end_s:.4g}%"


def test_a_failed_run_says_why_it_has_no_numbers(failed):
    text = page(failed).words()
    assert "UNKNOWN" in text
    assert "(failed)" in text
    assert "no Java 17 or newer was found This run has no numbers" in text
    assert "There are no charts: the run ended before any event was offered." in text
    assert "The settings of this run are not stored." in text or "streamgauge run ysb" in text


def test_a_killed_run_shows_what_its_reports_still_tell(killed):
    read = page(killed)
    found = charts(read)
    for title in ("Offered and processed rate", "Backlog", "End-to-end latency over time", "Phases of micro-batches"):
        assert drawn(found[title]), title
    assert "The run has no samples of its processes" in read.words()
    assert "The run has no latency histogram" in read.words()


def test_an_offline_run_says_that_latency_and_backlog_mean_nothing(at_once):
    read = page(at_once)
    found = charts(read)
    assert "missing" in found["End-to-end latency and backlog"]["figure"]["attributes"]["class"]
    assert {"Backlog", "End-to-end latency over time"}.isdisjoint(found)
    assert drawn(found["Offered and processed rate"])
    assert "no rate was offered" in read.words()


def test_a_damaged_part_is_named_and_the_rest_shown(tmp_path, healthy):
    damaged = replace(healthy, path=Path(shutil.copytree(healthy.path, tmp_path / healthy.run_id)))
    (damaged.path / "tasks.parquet").write_bytes(b"no table")
    read = page(damaged)
    assert "A part of the run cannot be read and is left out" in read.words()
    assert "tasks.parquet: not a Parquet table" in read.words()
    assert drawn(charts(read)["Backlog"])


def test_the_trigger_is_drawn_where_there_is_one(tmp_path):
    run = healthy_evidence()
    stored = store_run(tmp_path / "runs", replace(run, settings=replace(run.settings, trigger_s=0.5)))
    chart = charts(page(stored))["Duration of micro-batches"]
    assert "trigger 500 ms" in [e["text"] for e in chart["elements"] if e["tag"] == "span"]


def test_convergence_is_drawn_where_there_is_any(tmp_path):
    series = [{"events": 200, "mean_distance": 1.8}, {"events": 20_000, "mean_distance": 0.13}]
    stored = store_run(tmp_path / "runs", replace(healthy_evidence(), convergence=series))
    assert drawn(charts(page(stored))["Convergence"])


def test_a_long_run_gives_a_file_of_bounded_size(tmp_path):
    run = evidence(duration_s=200.0)
    stored = store_run(tmp_path / "runs", replace(run, tasks=tasks(run.batches), resources=resources(500.0)))
    text = render_report([stored])
    assert len(read_series(stored).batches["events"]) > 400
    assert len(text) < 700_000
    assert "Each point stands for 2 micro-batches" in text


# Several runs


def test_several_runs_are_compared_in_a_table_and_in_common_charts(healthy, overloaded, failed):
    read = page(healthy, overloaded, failed)
    assert read.all("h1")[0]["text"] == "Comparison of 3 runs"
    assert len(read.all("section", "run")) == 3
    cells = [e for e in read.all("data") if "data-run" in e["attributes"]]
    for element in cells:
        attributes = element["attributes"]
        run = next(r for r in (healthy, overloaded, failed) if r.run_id == attributes["data-run"])
        number = lookup(run.document["summary"], attributes["data-cell"])
        assert float(attributes["value"]) == number
        assert element["text"] == METRIC[attributes["data-cell"]].text(run.document["summary"])
    assert len(cells) > 40
    assert failed.run_id in read.words().partition("Not drawn, because it has no such numbers:")[2]
    common = charts(read)["Mean end-to-end latency"]
    assert len([e for e in drawn(common) if "line" in e["attributes"]["class"]]) == 4


def test_the_backlog_of_an_offline_run_is_not_compared(healthy, at_once):
    common = charts(page(healthy, at_once))["Backlog"]
    assert f"Not drawn, because it has no such numbers: {at_once.run_id}." in common["elements"][-1]["text"]


def test_changes_are_against_the_first_run_and_only_where_a_ratio_means_something():
    first = {"processed_rate_per_s": 1000.0, "backlog_events": {"slope_per_s": 1.0, "mean": 0.0}, "batches": 10}
    second = {"processed_rate_per_s": 800.0, "backlog_events": {"slope_per_s": 2.0, "mean": 5.0}, "batches": 20}
    rows = {row.metric.path: row for row in facts.side_by_side([first, second])}
    assert rows["processed_rate_per_s"].changes == (None, "-20.0%")
    assert rows["backlog_events.slope_per_s"].changes == (None, None)
    assert rows["backlog_events.mean"].changes == (None, None)
    assert rows["batches"].changes == (None, None)
    assert "offered_rate_per_s" not in rows


def test_the_settings_that_differ_are_listed(healthy):
    assert dict(differences([asked(), asked(conf={"spark.x": "1"}, rate_per_s=500.0)])) == {
        "rate_per_s": ("1000.0", "500.0"),
        "conf.spark.x": ("not set", "1"),
    }
    assert differences([healthy, healthy]) == []
    assert "The runs have the same workload, settings, machine and versions." in page(healthy, healthy).words()


# Series


def test_offered_and_processed_rates_hold_all_events(healthy):
    series = read_series(healthy)
    for rates in (series.offered(), series.processed()):
        assert np.dot(rates.rate_per_s, rates.end_s - rates.start_s) == pytest.approx(25_000)


@pytest.mark.parametrize("kind", ["healthy", "overloaded", "at_once"])
def test_the_measured_micro_batches_are_those_of_the_summary(kind, request):
    stored = request.getfixturevalue(kind)
    assert len(read_series(stored).measured) == stored.document["summary"]["batches"]


def test_a_killed_run_has_the_columns_that_a_finished_one_stores(killed, healthy):
    rebuilt, stored = read_series(killed).batches, read_series(healthy).batches
    count = len(rebuilt["events"])
    names = ("backlog_events", "end_to_end_latency_mean_s", "end_to_end_latency_max_s", "events", "duration_s")
    for name in names:
        assert rebuilt[name] == pytest.approx(stored[name][:count], nan_ok=True), name


def test_stages_add_up_to_those_of_the_summary(healthy):
    series, summary = read_series(healthy), healthy.document["summary"]
    rows = stage_rows(series.tasks, series.measured)
    assert sum(row.tasks * row.batches for row in rows) == summary["stages"]["tasks"]
    assert sum(row.run_s * row.batches for row in rows) == pytest.approx(summary["stages"]["run_s"])
    assert max(row.skew_max for row in rows) == summary["stages"]["skew"]["max"]
    assert (rows[0].task_mean_s, rows[0].task_slowest_s) == pytest.approx((0.06, 0.09))


def test_a_stage_with_one_task_has_no_skew_and_failed_tasks_do_not_count():
    first, second = tasks([batch(1, 0.0, 0, 10)])
    assert stage_rows([first, replace(second, is_ok=False)], {1})[0].skew_max is None
    assert stage_rows([first, second], {2}) == []


def test_thinning_keeps_events_and_peaks():
    rng = np.random.default_rng(5)
    count = 3 * MAX_POINTS + 7
    columns = {
        "events": rng.integers(0, 100, count).astype(float),
        "backlog_events": rng.random(count),
        "emitted_us": np.arange(count, dtype=float),
        "end_to_end_latency_mean_s": rng.random(count),
    }
    thinned = thin(columns)
    assert len(thinned["events"]) <= MAX_POINTS
    assert thinned["events"].sum() == columns["events"].sum()
    assert thinned["backlog_events"].max() == columns["backlog_events"].max()
    assert thinned["emitted_us"][-1] == count - 1
    means = [np.dot(c["end_to_end_latency_mean_s"], c["events"]) for c in (thinned, columns)]
    assert means[0] == pytest.approx(means[1])


def test_the_percentile_curve_goes_through_the_quantiles_of_the_histogram():
    run = healthy_evidence()
    histogram = latency_histogram(run, measured_part(run))
    series = RunSeries(
        StoredRun("x", Path("x"), "finished", {"workload": "x"}),
        {"end_to_end_latency_s": histogram.summary()},
        latency=histogram.to_rows(),
    )
    xs, ys = percentile_curve(series)
    assert np.all(np.diff(xs) > 0) and np.all(np.diff(ys) >= 0)
    for q in (0.1, 0.5, 0.9, 0.99):
        row = np.searchsorted(xs, 1 / (1 - q), side="right") - 1
        assert ys[row] == pytest.approx(histogram.quantile_s(q), rel=0.01)


@given(st.lists(st.integers(1, 10**8), min_size=1, max_size=50))
@settings(max_examples=30, deadline=None)
def test_other_bins_hold_the_same_events(values_us):
    rows = Histogram.from_values_us(values_us).to_rows()
    edges_us = np.linspace(rows[0][0], rows[-1][1], 20)
    counts = _bin_counts(rows, edges_us)
    assert counts.sum() == pytest.approx(len(values_us))
    assert counts.min() >= -1e-9


# Axes


UNITS = st.sampled_from(["duration", "rate", "count", "bytes", "number", "share"])


@given(st.floats(1e-6, 1e13), UNITS)
@settings(max_examples=60, deadline=None)
def test_ticks_cover_the_values_are_few_and_have_labels_that_differ(high, unit):
    axis = value_axis(high, unit)
    assert axis.low == 0 and axis.high >= high * (1 - 1e-9)
    assert 2 <= len(axis.ticks) <= 7
    assert len({label for _, label in axis.ticks}) == len(axis.ticks)
    assert high / axis.high > 0.39


@given(st.floats(0, 1e6), st.floats(1e-3, 1e6))
@settings(max_examples=60, deadline=None)
def test_ticks_of_a_range_lie_in_it(low, span):
    axis = range_axis(low, low + span, "duration")
    assert all(axis.low - 1e-6 * span <= value <= axis.high + 1e-6 * span for value, _ in axis.ticks)
    assert 1 <= len(axis.ticks) <= 8


@pytest.mark.parametrize(
    ("axis", "labels"),
    [
        (value_axis(0.0123, "duration"), ["0", "5 ms", "10 ms", "15 ms"]),
        (value_axis(630_000, "rate"), ["0", "200k/s", "400k/s", "600k/s", "800k/s"]),
        (value_axis(140 * 2**20, "bytes"), ["0", "50 MiB", "100 MiB", "150 MiB"]),
        (value_axis(0.0, "count"), ["0", "0.2", "0.4", "0.6", "0.8", "1"]),
        (value_axis(10.0, "count", low=-10.0), ["-10", "-5", "0", "5", "10"]),
        (range_axis(0.0, 3600.0, "duration"), ["0", "10 min", "20 min", "30 min", "40 min", "50 min", "60 min"]),
        (log_axis(0.01, 2.0, "duration"), ["10 ms", "20 ms", "50 ms", "100 ms", "200 ms", "500 ms", "1 s", "2 s"]),
        (percentile_axis(1500.0), ["0", "50 %", "90 %", "99 %", "99.9 %"]),
    ],
)
def test_labels_are_round_and_carry_their_unit(axis, labels):
    assert [label for _, label in axis.ticks] == labels


def test_lines_have_gaps_where_values_are_missing():
    canvas = Canvas(range_axis(0.0, 4.0, "number"), value_axis(1.0, "number"))
    path = canvas.line([0, 1, 2, 3, 4], [0, 1, float("nan"), 1, 0], "c1")
    assert path.data == "M0 1000L250 0M750 0L1000 1000"


# The command


def planned(text):
    """Return what `plan` makes of the options of a `run` command."""
    from typer.testing import CliRunner

    from streamgauge.cli.main import app

    words = shlex.split(text.replace("\\\n", " "))
    assert words[:2] == ["streamgauge", "run"]
    result = CliRunner().invoke(app, ["plan", *words[2:], "--json"])
    assert result.exit_code == 0, result.output
    return json.loads(result.output)


def asked(workload="ysb", parameters=None, conf=None, path=Path("runs/x"), **changes):
    """Return a run of which only its settings are known."""
    chosen = replace(RunSettings(1000.0, 20.0, warmup_s=5.0, master="local[2]"), **changes)
    configuration = chosen.document() | {"parameters": parameters or {}, "conf": conf or {}}
    return StoredRun("x", path, "finished", {"workload": workload, "configuration": configuration})


def test_the_command_repeats_settings_and_parameters(tmp_path):
    from streamgauge.lookup import find_workload
    from streamgauge.workloads.parameters import choose_variant

    _, parameters = choose_variant(find_workload("nexmark-q5"), {"window_s": "20", "semantics": "flink"})
    conf = {"spark.a b": "it's $HOME"}
    stored = asked(
        "nexmark-q5", parameters.model_dump(), conf, rate_per_s=1234.5, duration_s=12.25, warmup_s=0.0, drain_s=7.0,
        trigger_s=0.5, shuffle_partitions=3, source_partitions=4, max_rows_per_batch=5000, seed=-7, verify=False,
        load="offline",
    )  # fmt: skip
    plan, document = planned(command(stored)), stored.document["configuration"]
    # `plan` does not run, so it does not verify either way.
    kept = {name: value for name, value in plan["settings"].items() if name != "verify"}
    assert kept == {name: value for name, value in document.items() if name in kept}
    assert plan["parameters"] == parameters.model_dump()


def test_defaults_of_the_workload_are_not_repeated():
    from streamgauge.lookup import find_workload

    stored = asked("nexmark-q5", find_workload("nexmark-q5").parameters().model_dump(), explore=True)
    lines = "--rate 1000", "--duration 20s", "--warmup 5s", "--trigger 0s", "--cores 2"
    assert command(stored) == " \\\n  ".join(["streamgauge run nexmark-q5", *lines])


def test_the_event_stream_of_a_function_is_named():
    text = command(asked("my file.py:build", event_stream("words").parameters().model_dump(), events="words"))
    assert text.startswith("streamgauge run 'my file.py:build'")
    assert "--events words" in text
    assert "--set" not in text, "the parameters are those of the stream"


def test_a_function_whose_event_stream_is_not_stored_has_no_command():
    assert command(asked("file.py:build", event_stream("words").parameters().model_dump())) == ""


def test_a_cluster_is_named_by_its_master():
    assert "--master spark://h:7077" in command(asked(master="spark://h:7077"))


def test_an_online_run_is_repeated_with_the_rate_that_was_asked_for(tmp_path):
    stored = asked(load="online", rate_per_s=777.0, path=tmp_path)
    stored.document["summary"] = {"offline_run_id": "inner"}
    assert "--rate" not in command(stored)
    inner = tmp_path / "offline" / "inner"
    inner.mkdir(parents=True)
    document = asked(load="offline").document | {"run_id": "inner", "status": "finished", "created": "2026"}
    (inner / "run.json").write_text(json.dumps(document | {"schema_version": 1}))
    assert "--load online" in command(stored)
    assert "--rate 1000" in command(stored)


def test_masked_secrets_are_pointed_out():
    stored = asked(conf={"spark.ssl.keyPassword": MASK})
    stored.document["reasons"] = ["stopped"]
    assert "values shown as ******** are secrets that were not stored" in page(stored).words()


def test_the_command_of_a_run_that_keeps_no_duration_has_none(tmp_path):
    stored = store_run(tmp_path, healthy_evidence())
    del stored.document["configuration"]["duration_s"]
    assert "--duration" not in command(stored)
    assert "--rate" in command(stored)


def test_the_command_has_an_option_for_every_setting_of_a_run():
    names = {setting.option for setting in SETTINGS.values() if setting.default is not True}
    names |= {f"--no-{name}" for name, setting in SETTINGS.items() if setting.default is True}
    everything = {
        "rate_per_s": 5.0, "duration_s": 2.0, "warmup_s": 3.0, "trigger_s": 1.0, "drain_s": 4.0, "load": "online",
        "arrivals": "sine(peak=2k, phase=20s)", "shuffle_partitions": 3, "source_partitions": 4,
        "max_rows_per_batch": 7, "seed": 8, "verify": False, "source": "other", "sink": "other", "mode": "other",
        "timing": "other", "kafka": "h:1", "topic": "t", "record_format": "binary", "redis": "h:2",
        "external_load": True, "kafka_options": {"sasl.password": "env:PASSWORD"}, "events": "words", "engine": "other",
    }  # fmt: skip
    parameters = event_stream("words").parameters().model_dump()
    parameters[next(iter(parameters))] = "changed"
    texts = [
        command(asked("file.py:build", parameters, {"spark.x": "1"}, **everything)),
        command(asked("ysb", master="yarn")),
    ]
    used = set(re.findall(r"--[a-z-]+", " ".join(texts)))
    assert used >= names


def test_the_law_of_the_load_is_repeated_as_it_was_written():
    assert "--arrivals 'sine(peak=2k, phase=20s)'" in command(asked(arrivals="sine(peak=2k, phase=20s)"))
    assert "--load online" in command(asked(load="online"))


def test_a_fault_is_listed_with_the_proof_of_its_point_or_without(tmp_path):
    point = {"name": "driver", "at_s": 12.0, "detail": "it is dead", "point_detail": "the sink held 3 of 5 rows"}
    for is_proven, shown in ((True, "it is dead; the sink"), (False, "it is dead; point not proven: the sink")):
        faults = [point | {"point_is_proven": is_proven}]
        text = render_report([store_run(tmp_path, healthy_evidence(), faults=faults)])
        assert f"{shown} held 3 of 5 rows" in text


def test_faults_are_marked_in_the_charts_over_time_and_listed(tmp_path):
    lost = [LostExecutor("1", at_us(12.0), f"worker lost {HOSTILE}")]
    text = render_report([store_run(tmp_path, healthy_evidence(lost=lost))])
    assert "<h3>Faults</h3>" in text
    assert text.count("<span>executor 1 lost</span>") >= 4
    assert HOSTILE not in text
    assert "<h3>Faults</h3>" not in render_report([store_run(tmp_path, healthy_evidence())])
