"""The cost of a cycle is found on simulated machines whose cost is known."""

import numpy as np
import pytest

from streamgauge.errors import RunFailedError
from streamgauge.prototype.calibration import FORMS
from streamgauge.prototyping import calibrate
from streamgauge.prototyping.calibrate import (
    AMOUNTS,
    BARE_TUPLES,
    JOB_S,
    PARTS,
    PILOTS,
    fit_line,
    judge,
    lines_of,
    sample,
)
from streamgauge.verdict import Verdict

PASS, UNKNOWN = Verdict.PASS, Verdict.UNKNOWN
TUPLES = dict.fromkeys(AMOUNTS, 1000)
START_NS, WORKER_NS, BARE_NS = 3e6, 20e6, 40.0


def loads_of(cost, *, noise=0.0, repetitions=12, seed=1):
    """Return repeated measurements of a cost in nanoseconds, with noise as a share of it."""
    rng = np.random.default_rng(seed)
    factors = np.exp(rng.normal(0.0, noise, (len(AMOUNTS), repetitions)))
    return {load: [cost(load) * factor for factor in row] for load, row in zip(AMOUNTS, factors, strict=True)}


class Simulated:
    """A machine on which jobs, tuples and cycles have a price; a job without tuples starts no worker."""

    def __init__(self, ns_per_cycle, ns_per_tuple):
        self.ns_per_cycle, self.ns_per_tuple = ns_per_cycle, ns_per_tuple
        self.jobs = []

    def __call__(self, tuples, cycles):
        self.jobs.append((tuples, cycles))
        load_ns = self.ns_per_tuple + self.ns_per_cycle * cycles if cycles else 0.0
        return START_NS + (WORKER_NS if tuples and cycles else 0.0) + tuples * (BARE_NS + load_ns)


def test_a_line_is_found_as_it_is():
    line = fit_line(loads_of(lambda cycles: 70 + 0.9 * cycles), TUPLES)
    assert line.ns_per_cycle == pytest.approx(0.9)
    assert line.ns_per_tuple == pytest.approx(70)
    assert line.largest_error == pytest.approx(0, abs=1e-9)
    assert line.spread == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("seed", range(20))
def test_noise_moves_the_line_little_and_the_interval_holds_it(seed):
    line = fit_line(loads_of(lambda cycles: 70 + 0.9 * cycles, noise=0.03, seed=seed), TUPLES)
    assert line.ns_per_cycle == pytest.approx(0.9, rel=0.04)
    assert line.ns_per_cycle_low <= line.ns_per_cycle <= line.ns_per_cycle_high


def test_a_few_stalls_do_not_decide():
    loads = loads_of(lambda cycles: 70 + 0.9 * cycles)
    for stalled, load in enumerate(AMOUNTS):
        loads[load][stalled] *= 10
    line = fit_line(loads, TUPLES)
    assert line.ns_per_cycle == pytest.approx(0.9)
    assert line.spread == pytest.approx(0, abs=1e-9)


def test_a_cost_that_is_no_line_fails_at_the_load_where_it_bends():
    lines = {"native": fit_line(loads_of(lambda cycles: cycles * (1.1 if cycles == 50_000 else 1.0)), TUPLES)}
    verdict, reasons = judge(lines)
    assert verdict is Verdict.FAIL
    assert reasons[0] == "the native form is up to 10.0% away from a line, more than 5%"
    assert [point.cycles for point in lines["native"].points if abs(point.error) > 0.05] == [50_000]


def test_a_distance_that_not_all_parts_show_is_unknown():
    loads = loads_of(lambda cycles: 1.0 * cycles)
    # All but half of one part are slow at one load.
    loads[5000] = [5000 * (1.0 if turn in (0, PARTS) else 1.1) for turn in range(12)]
    verdict, reasons = judge({"arrow": fit_line(loads, TUPLES)})
    assert verdict is Verdict.UNKNOWN
    assert "not in all parts of the repetitions" in reasons[0]


def test_parts_that_differ_make_the_verdict_unknown():
    factors = [(1.0, 1.2, 1.4)[turn % PARTS] for turn in range(12)]
    loads = {load: [load * factor for factor in factors] for load in AMOUNTS}
    verdict, reasons = judge({"arrow": fit_line(loads, TUPLES)})
    assert verdict is Verdict.UNKNOWN
    assert reasons == (
        "parts of the repetitions of the arrow form differ by ±20.0%",
        "let nothing else run on this machine and calibrate again",
    )


def test_a_steady_line_passes():
    lines = {form: fit_line(loads_of(lambda cycles: 70 + 0.9 * cycles, noise=0.01), TUPLES) for form in FORMS}
    assert judge(lines) == (Verdict.PASS, ())


def test_the_cost_of_jobs_and_of_bare_tuples_is_taken_off():
    machines = {"native": Simulated(0.9, 20.0), "arrow": Simulated(4.0, 1500.0)}
    told = []
    found = sample(machines, repetitions=3, report_progress=told.append)
    for form, machine in machines.items():
        line = fit_line(found[form].ns_per_tuple, found[form].tuples)
        assert line.ns_per_cycle == pytest.approx(machine.ns_per_cycle, rel=1e-3)
        assert line.ns_per_tuple == pytest.approx(machine.ns_per_tuple, rel=0.02)
    assert told == [
        "warming up the native form",
        "warming up the arrow form",
        "repetition 1 of 3",
        "repetition 2 of 3",
        "repetition 3 of 3",
    ]


def test_every_job_takes_about_as_long_as_asked_for():
    machines = {"native": Simulated(0.9, 20.0), "arrow": Simulated(4.0, 1500.0)}
    found = sample(machines, repetitions=PARTS)
    for form, machine in machines.items():
        for cycles, tuples in found[form].tuples.items():
            assert machine(tuples, cycles) == pytest.approx(JOB_S[form] * 1e9 + START_NS + WORKER_NS, rel=0.02)
    assert (BARE_TUPLES, 0) in machines["native"].jobs


def test_forms_and_loads_take_turns():
    machines = {"native": Simulated(0.9, 20.0), "arrow": Simulated(4.0, 1500.0)}
    sample(machines, repetitions=5)
    assert [cycles for _, cycles in machines["arrow"].jobs[-10:]] == [*AMOUNTS, *AMOUNTS, *AMOUNTS][-10:]


def test_work_that_costs_nothing_is_refused():
    with pytest.raises(RunFailedError, match=r"CPU work in native form costs \S+ ns per cycle, which cannot be"):
        sample({"native": Simulated(0.0, 20.0)}, repetitions=3)


class Disturbed(Simulated):
    """One of three repetitions of the largest load is half as fast, as long as others use the machine."""

    def __init__(self, disturbed):
        super().__init__(0.9, 20.0)
        self.left = disturbed

    def __call__(self, tuples, cycles):
        taken_ns = super().__call__(tuples, cycles)
        # The pilots of this load come before the repetitions.
        turn = sum(1 for _, asked in self.jobs if asked == AMOUNTS[-1]) - PILOTS
        if cycles != AMOUNTS[-1] or turn % PARTS or turn <= 0 or not self.left:
            return taken_ns
        self.left -= 1
        return 2 * taken_ns


@pytest.mark.parametrize(("disturbed", "repetitions", "verdict"), [(0, 6, PASS), (2, 12, PASS), (100, 24, UNKNOWN)])
def test_where_repetitions_do_not_agree_there_are_more_up_to_a_limit(disturbed, repetitions, verdict):
    told = []
    found = sample({"native": Disturbed(disturbed)}, repetitions=6, report_progress=told.append)
    assert len(found["native"].ns_per_tuple[500]) == repetitions
    assert judge(lines_of(found))[0] is verdict
    assert told[-1] == (
        "repetition 6 of 6" if repetitions == 6 else f"repetition {repetitions} of up to 24, as parts differ"
    )


def test_this_machine_is_known_with_its_java(monkeypatch, tmp_path):
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "java").write_text("")
    (tmp_path / "release").write_text('JAVA_VERSION="17.0.9"\n')
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    found = calibrate.this_machine()
    assert found.java == "17"
    assert found.processor
    assert found.spark
