"""Simulated runs, some above their capacity and some below it, judged as runs are."""

import importlib.util
import sys
from pathlib import Path

import pytest

from streamgauge.verdict import Verdict


def _benchmark():
    path = Path(__file__).parents[2] / "benchmarks" / "verdicts.py"
    spec = importlib.util.spec_from_file_location("benchmark_of_verdicts", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


BENCHMARK = _benchmark()
SLOW, FAST = BENCHMARK.SERVERS


def sustained(found):
    return next(finding for finding in found.findings if finding.question == "sustained")


@pytest.mark.parametrize("noise", [0.0, 0.05])
def test_c1_a_ramp_to_more_than_the_capacity_does_not_pass_although_every_micro_batch_takes_all(noise):
    found = BENCHMARK.judged(SLOW, "ramp(from=1000, to=3000, over=30s)", noise, 1)
    assert found.verdict is Verdict.FAIL
    assert "by their length micro-batches can process 1.97" in sustained(found).reason
    assert "offers 3k/s" in sustained(found).reason


@pytest.mark.parametrize(
    "law",
    [
        "sine(peak=1.4M, phase=20s)",
        "poisson(rate=800k)",
        "burst(rate=288k, burst_rate=2.88M, interval=8s, duration=2s)",
        "ramp(from=200k, to=800k, over=60s)",
        "steps(200k, 400k, 600k, 800k, each=15s)",
        "constant(rate=300k) for 25s then constant(rate=1.5M) for 5s then constant(rate=300k)",
    ],
)
@pytest.mark.parametrize("server", [SLOW, FAST], ids=["slow", "fast"])
def test_c1_loads_that_are_followed_pass_also_with_peaks_above_the_capacity(server, law):
    found = BENCHMARK.judged(server, f"({law}) * {server.capacity_per_s / 1e6:g}", 0.05, 1)
    assert (found.verdict, [f.reason for f in found.findings if f.verdict is not Verdict.PASS]) == (Verdict.PASS, [])
    assert found.pressure.state != "persistent"


@pytest.mark.parametrize("law", BENCHMARK.LAWS)
def test_c1_hardly_any_simulated_overload_passes_and_hardly_any_light_load_fails(law):
    """Eight overloaded runs of each law, none of which passes, and four light ones, none of which fails."""
    for server in (SLOW, FAST):
        overloaded = BENCHMARK.verdicts(server, law, 1.15, 0.15, range(4))
        assert overloaded[Verdict.PASS] == 0, server
        light = BENCHMARK.verdicts(server, law, 0.8, 0.15, range(2))
        assert light[Verdict.FAIL] == 0, server


def test_the_load_factor_is_the_mean_rate_of_the_last_third_by_the_capacity():
    law = BENCHMARK.scaled(BENCHMARK.LAWS["ramp"], 1.1, 2000.0)
    assert law == "ramp(from=333k, to=1M, over=30s) * 0.0022"
    found = BENCHMARK.judged(SLOW, law, 0.05, 1)
    assert "the last third of the time offers 2.2k/s" in found.trend.reason
