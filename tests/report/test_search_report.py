import io

from rich.console import Console

from experiment.samples import evidence
from report.test_html_report import store_run
from streamgauge.experiment.search import Probe, Search, SearchSettings
from streamgauge.experiment.sustain import Sustained
from streamgauge.report.search import print_search
from streamgauge.verdict import Verdict


def printed(root, probes):
    search = Search(SearchSettings(1000.0, within=0.5, budget_s=1.0, probe_s=10.0), probes)
    out = io.StringIO()
    print_search(Sustained("20261116T000000-sustain-ysb-1a2b", "ysb", search, root), Console(file=out, width=200))
    return out.getvalue()


def test_a_search_shows_interval_probes_and_how_to_run_both_ends_again_for_longer(tmp_path):
    low, high = (store_run(tmp_path, evidence(rate_per_s=rate_per_s)).run_id for rate_per_s in (1000.0, 1400.0))
    text = printed(
        tmp_path, [Probe(1000.0, Verdict.PASS, 1.0, low), Probe(1400.0, Verdict.FAIL, 1.0, high, ("too fast",))]
    )
    assert text.splitlines()[1].startswith("PASS  ysb")
    assert "between 1k/s, which is sustained, and 1.4k/s, which is not" in text
    assert "too fast" in text
    assert "streamgauge report 20261116T000000-sustain-ysb-1a2b" in text
    again = {line.split()[0]: line for line in text.splitlines() if " again " in line}
    assert "streamgauge run ysb --rate 1000 --duration 60s --warmup 5s" in again["low"]
    assert "streamgauge run ysb --rate 1400 --duration 60s --warmup 5s" in again["high"]


def test_a_search_without_a_rate_that_passed_names_none_to_run_again(tmp_path):
    text = printed(tmp_path, [Probe(1400.0, Verdict.FAIL, 1.0)])
    assert "below 1.4k/s; no rate passed" in text
    assert "again" not in text
