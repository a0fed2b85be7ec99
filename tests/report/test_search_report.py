import io

from rich.console import Console

from streamgauge.experiment.search import Probe, Search, SearchSettings
from streamgauge.experiment.sustain import Sustained
from streamgauge.report.search import print_search
from streamgauge.verdict import Verdict


def printed(probes):
    search = Search(SearchSettings(1000.0, within=0.5, budget_s=1.0, probe_s=10.0), probes)
    out = io.StringIO()
    print_search(Sustained("20261116T000000-sustain-ysb-1a2b", "ysb", search), Console(file=out, width=120))
    return out.getvalue()


def test_a_search_shows_interval_probes_and_how_to_run_the_lower_end_again():
    text = printed(
        [Probe(1000.0, Verdict.PASS, 1.0, "a-run"), Probe(1400.0, Verdict.FAIL, 1.0, "b-run", ("too fast",))]
    )
    assert text.splitlines()[1].startswith("PASS  ysb")
    assert "between 1k/s, which is sustained, and 1.4k/s, which is not" in text
    assert "too fast" in text
    assert "streamgauge report 20261116T000000-sustain-ysb-1a2b" in text
    assert "streamgauge run ysb --rate 1000 --arrivals 'ramp(over=15s)' --warmup 15s --duration 60s" in text


def test_a_search_without_a_rate_that_passed_names_none_to_run_again():
    text = printed([Probe(1400.0, Verdict.FAIL, 1.0)])
    assert "below 1.4k/s; no rate passed" in text
    assert "run again" not in text
