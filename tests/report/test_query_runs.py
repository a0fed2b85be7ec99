"""The queries over all runs in the documentation are run, and their answers worked out a second way."""

import re
from pathlib import Path

import pytest

from made_runs.samples import evidence
from made_runs.stored_runs import failed_run, store_run
from report.test_html_report import healthy_evidence
from streamgauge.clock import ManualClock
from streamgauge.measure import Histogram

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "query-runs.md"
BLOCKS = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Two runs of the same settings, one of others, and before them one that failed."""
    folder = tmp_path_factory.mktemp("queries")
    for run in (healthy_evidence(), healthy_evidence(), evidence(rate_per_s=500.0)):
        store_run(folder / "runs", run)
    failed_run(folder / "runs", clock=ManualClock())
    return folder


@pytest.fixture(autouse=True)
def here(folder, monkeypatch):
    monkeypatch.chdir(folder)


def rows(block):
    """Run the query of a block and return its rows as dictionaries."""
    import duckdb

    query = re.search(r'duckdb\.sql\("""(.*?)"""\)', block, re.DOTALL).group(1)
    found = duckdb.connect().sql(query)
    return [dict(zip(found.columns, row, strict=True)) for row in found.fetchall()]


def test_every_block_runs_as_it_is_written(capsys):
    assert len(BLOCKS) == 4
    for block in BLOCKS:
        exec(compile(block, str(PAGE), "exec"), {})
    assert "p95_s" in capsys.readouterr().out


def test_all_runs_are_listed_and_failed_ones_have_no_numbers():
    found = rows(BLOCKS[0])
    assert len(found) == 4
    assert sorted(row["processed_per_s"] is None for row in found) == [False, False, False, True]
    assert {round(row["processed_per_s"]) for row in found if row["processed_per_s"]} == {1000, 500}


def test_a_run_stands_beside_the_one_before_it_with_the_same_settings():
    changes = [row["p95_change"] for row in rows(BLOCKS[1])]
    assert sorted(changes, key=lambda change: change is None) == [0.0, None, None]


def test_histograms_of_repeated_runs_are_merged():
    from streamgauge.conclude.window import latency_histogram, measured_part

    run = healthy_evidence()
    one = latency_histogram(run, measured_part(run))
    both = one + one
    row = next(row for row in rows(BLOCKS[2]) if row["rate_per_s"] == 1000)
    assert (row["runs"], row["events"]) == (2, both.count)
    assert isinstance(both, Histogram)
    assert row["p50_s"] == pytest.approx(both.quantile_s(0.5))
    assert row["p99_s"] == pytest.approx(both.quantile_s(0.99))
