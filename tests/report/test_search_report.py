import io

from rich.console import Console

from made_runs.samples import evidence
from made_runs.stored_runs import store_run
from streamgauge.experiments.sustain import Sustained
from streamgauge.measure.search import Probe, Search, SearchSettings
from streamgauge.report.terminal.search import print_search
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


def shown(rate_per_s, verdict, capacity_per_s):
    return Probe(rate_per_s, verdict, 1.0, capacity_per_s=capacity_per_s)


def test_a_search_says_how_likely_its_interval_holds_the_true_capacity(tmp_path):
    text = printed(tmp_path, [shown(800.0, Verdict.PASS, 1000.0), shown(1300.0, Verdict.FAIL, 1030.0)])
    line = next(line for line in text.splitlines() if line.startswith("confidence"))
    assert line.split(maxsplit=1)[1] == (
        "the true capacity is in this interval with about 96 %, from a scatter of 2.1 %"
    )


def test_a_search_whose_probes_show_no_scatter_has_no_probability(tmp_path):
    probes = [shown(950.0, Verdict.PASS, None), shown(1050.0, Verdict.FAIL, 1010.0)]
    text = printed(tmp_path, probes)
    assert "confidence" in text
    assert "unknown: fewer than two probes show a capacity, so its scatter cannot be measured" in text
    found = Sustained("set", "ysb", Search(SearchSettings(1000.0), probes), tmp_path).document()
    assert (found["interval_probability"], found["capacity_scatter"]) == (None, None)


def test_a_search_with_one_end_has_no_interval_to_be_sure_of(tmp_path):
    assert "confidence" not in printed(tmp_path, [shown(950.0, Verdict.PASS, 980.0), shown(900.0, Verdict.PASS, 960.0)])


def test_the_document_of_a_search_has_the_probability_and_the_scatter(tmp_path):
    probes = [shown(950.0, Verdict.PASS, 980.0), shown(1050.0, Verdict.FAIL, 1010.0)]
    search = Search(SearchSettings(1000.0), probes)
    found = Sustained("set", "ysb", search, tmp_path).document()
    assert found["interval_probability"] == search.interval_probability
    assert 0.75 < found["interval_probability"] < 0.85
    assert round(found["capacity_scatter"], 3) == 0.021
