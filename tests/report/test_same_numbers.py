"""One stored run, told in every way: the numbers agree to the digit that is printed."""

import json
import math
import re
from dataclasses import replace
from html import escape

import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from made_runs.stored_runs import store_run
from report.rendered import render_markdown
from report.test_html_report import healthy_evidence, marked_numbers, on_terminal, page
from report.test_markdown_report import cells
from streamgauge.cli.main import app
from streamgauge.conclude.evidence import External
from streamgauge.conclude.stored_run import summary_of
from streamgauge.measure import Histogram
from streamgauge.metrics import METRIC
from streamgauge.report.content import facts
from streamgauge.report.notebook import run_html
from streamgauge.units import format_count, format_duration, format_rate


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    return store_run(tmp_path_factory.mktemp("same") / "runs", healthy_evidence())


@pytest.fixture(scope="module")
def document(stored):
    """What `runs show --json` prints."""
    result = CliRunner().invoke(app, ["runs", "show", stored.run_id, "--runs", str(stored.path.parent), "--json"])
    assert result.exit_code == 0, result.output
    return json.loads(result.output)


def from_tables(stored, document):
    """Work key numbers out from the Parquet tables alone, with plain sums."""
    load, steady = stored.document["load"], document["steady_state"]
    rows = pq.read_table(stored.path / "batches.parquet").to_pylist()
    from_us = load["origin_us"] + round(steady["from_s"] * 1e6)
    until_us = load["origin_us"] + round(steady["until_s"] * 1e6)
    measured = [row for row in rows if row["events"] and from_us <= row["emitted_us"] <= until_us]
    buckets = pq.read_table(stored.path / "latency.parquet").to_pylist()
    total = sum(bucket["count"] for bucket in buckets)

    def percentile(share):
        reached = 0
        for bucket in buckets:
            reached += bucket["count"]
            if reached >= math.ceil(share * total):
                return (bucket["low_us"] + bucket["high_us"] - 1) / 2e6
        raise AssertionError

    times_s = [(row["emitted_us"] - from_us) / 1e6 for row in measured]
    events = [row["last"] for row in measured]
    mean_s, mean_events = sum(times_s) / len(times_s), sum(events) / len(events)
    spread = sum((t - mean_s) ** 2 for t in times_s)
    rate = sum((t - mean_s) * (n - mean_events) for t, n in zip(times_s, events, strict=True)) / spread
    return {
        "batches": str(len(measured)),
        "events_processed": f"{sum(row['events'] for row in rows):,}",
        "processed_rate_per_s": format_rate(rate),
        "batch_duration_s.mean": format_duration(sum(row["duration_s"] for row in measured) / len(measured)),
        "batch_duration_s.max": format_duration(max(row["duration_s"] for row in measured)),
        "backlog_events.mean": format_count(sum(row["backlog_events"] for row in measured) / len(measured)),
        "backlog_events.max": format_count(max(row["backlog_events"] for row in measured)),
        "state.rows_max": format_count(max(row["state_rows"] for row in measured)),
        **{f"end_to_end_latency_s.p{p}": format_duration(percentile(p / 100)) for p in (50, 90, 95, 99)},
    }


def test_e5_the_tables_give_the_numbers_that_are_printed(stored, document):
    printed, read, text = on_terminal(stored), page(stored), render_markdown([stored])
    words = read.words()
    for path, number in from_tables(stored, document).items():
        assert METRIC[path].text(document) == number
        for place in (printed, words, text):
            assert re.search(rf"(?<![\w.]){re.escape(number)}(?![\w.])", place), (path, number)


def test_e5_terminal_json_html_and_markdown_agree(stored, document):
    printed = on_terminal(stored)
    for element in marked_numbers(page(stored)):
        path = element["attributes"].get("data-key") or element["attributes"]["data-cell"]
        number = document
        for key in path.split("."):
            number = number[key]
        assert float(element["attributes"]["value"]) == number
        assert element["text"] in printed
    found = cells(render_markdown([stored]).partition("## What was run")[0])
    for name, text in facts.key_facts(document):
        assert found[name] == [text]
        assert f"{name} {text}" in printed
    for row in facts.latency_rows(document):
        assert found[row.name] == list(row.texts)


def test_every_kind_of_latency_is_told_in_every_way(tmp_path):
    latency = Histogram.from_values_us([1_000 * n for n in range(1, 2001)]).summary()
    with_redis = External(has_generator=False, details={"yahoo_latency_s": latency})
    run = store_run(tmp_path / "runs", replace(healthy_evidence(), external=with_redis))
    row = next(row for row in facts.latency_rows(summary_of(run)) if row.name == "Yahoo's (2000 counts)")
    assert row.texts[-1] == "2 s"
    assert f"{row.name} {' '.join(row.texts)}" in on_terminal(run)
    assert cells(render_markdown([run]))[row.name] == list(row.texts)
    shown = {e["attributes"].get("data-cell"): e["text"] for e in marked_numbers(page(run))}
    assert [shown[metric.path] for metric in row.metrics] == list(row.texts)
    assert "".join(f"<td>{escape(cell)}</td>" for cell in (row.name, *row.texts)) in run_html(run)
    assert "Yahoo's latency mean" in [one.metric.title for one in facts.side_by_side([summary_of(run)])]


def test_e5_the_json_is_what_the_run_directory_holds(stored, document):
    kept = json.loads((stored.path / "run.json").read_text())["summary"]
    assert {key: document[key] for key in kept} == kept


def test_e5_a_notebook_shows_numbers_of_the_terminal(stored):
    printed = on_terminal(stored)
    shown = re.findall(r"<td>([^<]*)</td>", run_html(stored))
    numbers = [n for cell in shown for n in re.findall(r"\d[\d.,]*(?:[kMG](?:/s)?|/s| m?s)?", cell)]
    assert len(numbers) > 10
    for number in numbers:
        assert number.rstrip(",") in printed, number
