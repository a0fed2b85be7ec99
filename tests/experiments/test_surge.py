import pytest

from made_runs.samples import answer, evidence
from streamgauge.conclude.summary import summarise
from streamgauge.errors import UsageError
from streamgauge.experiments.surge import judge_surge, surge
from streamgauge.measure import find_recovery
from streamgauge.verdict import Verdict

TIMES_S = [float(second) for second in range(40)]
CALM = [1.0] * 40


def recovery(values, *, times_s=TIMES_S):
    return find_recovery((times_s, values), (times_s, values), spike_start_s=10.0, spike_end_s=15.0)


def test_a_query_that_is_as_before_again_passes():
    values = CALM[:12] + [20.0] * 8 + [1.0] * 20
    found = recovery(values)
    assert found.time_to_recover_s == 5.0
    assert judge_surge(summarise(evidence()), found) == (Verdict.PASS, ())


def test_a_query_that_is_seen_not_to_recover_fails():
    verdict, reasons = judge_surge(summarise(evidence()), recovery(CALM[:12] + [20.0] * 28))
    assert verdict is Verdict.FAIL
    assert "not back to normal" in reasons[0]


def test_too_little_before_the_spike_is_unknown():
    found = recovery([20.0] * 30, times_s=TIMES_S[8:38])
    assert judge_surge(summarise(evidence()), found)[0] is Verdict.UNKNOWN


def test_a_wrong_answer_fails_however_fast_the_recovery():
    wrong = evidence(answer=answer(Verdict.FAIL, missing=1, reasons=["1 row missing"]))
    assert judge_surge(summarise(wrong), recovery(CALM))[0] is Verdict.FAIL


def test_an_overload_in_the_spike_is_not_held_against_the_query():
    """A backlog that grew is what a surge is for."""
    assert judge_surge(summarise(evidence(limit=400)), recovery(CALM))[0] is Verdict.PASS


def test_a_spike_below_the_load_is_refused_before_spark_starts(tmp_path):
    with pytest.raises(UsageError, match="does not rise above"):
        surge("ysb", rate="10k", spike="5k", runs=tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_spike_that_leaves_no_time_to_recover_is_refused(tmp_path):
    with pytest.raises(UsageError, match="more than half of the measured time"):
        surge("ysb", spike_duration="40s", duration="60s", runs=tmp_path)
