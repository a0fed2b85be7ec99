"""Runs whose load varies, and runs that fall behind: what the charts show of them."""

from dataclasses import replace

import numpy as np
import pytest

from made_runs.samples import at_us, batch, evidence
from made_runs.stored_runs import store_run
from report.rendered import render_markdown
from report.test_html_report import charts, page
from streamgauge.report.content.series import Mark, read_series
from streamgauge.settings.run_settings import RunSettings


def sine_evidence():
    """A sine between 0 and 2,000 events/s, of which each micro-batch takes all there is."""
    settings = RunSettings(1000.0, 40.0, arrivals="sine(peak=2k, phase=10s)", warmup_s=5.0, master="local[2]")
    schedule = settings.law.schedule(settings.load_s)
    batches = [batch(0, -1.0, 0, 0)]
    while batches[-1].last < schedule.total:
        start_s = 0.5 * len(batches)
        last = int(schedule.created(round(start_s * 1e6)))
        batches.append(batch(len(batches), start_s, batches[-1].last, last))
    run = evidence()
    return replace(run, settings=settings, schedule=schedule, closed_us=at_us(settings.load_s), batches=batches)


@pytest.fixture(scope="module")
def sine(tmp_path_factory):
    return store_run(tmp_path_factory.mktemp("sine") / "runs", sine_evidence())


def test_the_law_is_offered_and_followed(sine):
    series = read_series(sine)
    offered, processed = series.offered(), series.processed()
    assert offered.rate_per_s.max() == pytest.approx(2000, rel=0.01)
    assert offered.rate_per_s.min() < 50
    middles = (processed.start_s + processed.end_s) / 2
    law = np.interp(middles - 0.4, (offered.start_s + offered.end_s) / 2, offered.rate_per_s)
    inside = (middles > 2) & (middles < 44)
    assert np.corrcoef(law[inside], processed.rate_per_s[inside])[0, 1] > 0.98
    chart = charts(page(sine))["Offered and processed rate"]
    lines = [e for e in chart["elements"] if e["tag"] == "path" and "offered" in e["attributes"]["class"]]
    heights = {part.partition("H")[0] for part in lines[0]["attributes"]["d"].split("V")}
    assert len(heights) > 50


def test_the_law_is_named_as_it_was_written(sine):
    assert "sine(peak=2k, phase=10s), " in page(sine).words()
    assert "on average in the measured time" in page(sine).words()


def test_a_load_that_varies_has_no_slope_to_tell(sine):
    read = page(sine)
    assert sine.document["summary"]["steady_state"]["settled"] is None
    assert "Highest backlog, events" in read.words()
    assert "backlog_events.slope_per_s" not in {e["attributes"].get("data-key") for e in read.elements}


PRESSED = {
    "state": "alternating",
    "reason": "the query fell behind 2 times, for 4 s at most",
    "episodes": [
        {"start_s": 8.0, "end_s": 10.0, "peak_backlog": 5, "batches": 3, "is_open": False},
        {"start_s": 14.0, "end_s": 18.0, "peak_backlog": 9, "batches": 5, "is_open": False},
    ],
    "total_s": 6.0, "longest_s": 4.0, "share": 0.3, "overruns": 0, "spread": {"throughput": 0.2, "latency": 0.4},
}  # fmt: skip


def shaded(chart, style):
    classes = [(e["attributes"].get("class") or "").split() for e in chart["elements"]]
    return [words for words in classes if words[:2] == ["band", style]]


def test_the_times_behind_are_shaded_in_the_backlog_and_explained(tmp_path):
    stored = store_run(tmp_path / "runs", evidence(), back_pressure=PRESSED)
    found = charts(page(stored))
    assert len(shaded(found["Backlog"], "behind")) == 2
    assert not shaded(found["End-to-end latency over time"], "behind")
    words = " ".join(e["text"] for e in found["Backlog"]["elements"])
    assert "Back-pressure is alternating: the query fell behind 2 times, for 4 s at most." in words
    assert "behind" in [e["text"] for e in found["Backlog"]["elements"] if e["tag"] == "li"]


def test_a_state_that_cannot_be_told_says_why(tmp_path):
    unknown = PRESSED | {"state": None, "reason": "3 micro-batches started under load", "episodes": []}
    stored = store_run(tmp_path / "runs", evidence(), back_pressure=unknown)
    assert "Back-pressure is unknown: 3 micro-batches started under load." in page(stored).words()


def test_a_run_of_an_older_version_has_no_times_behind(tmp_path):
    stored = store_run(tmp_path / "runs", evidence())
    summary = {key: value for key, value in stored.document["summary"].items() if key != "back_pressure"}
    older = replace(stored, document=stored.document | {"summary": summary})
    assert "Back-pressure" not in page(older).words()
    assert render_markdown([older])


def test_spans_are_shaded_where_the_load_shows(tmp_path):
    stored = store_run(tmp_path / "runs", evidence())
    assert read_series(stored, [Mark("spike", 8.0, 10.0)]).spans == (Mark("spike", 8.0, 10.0),)
