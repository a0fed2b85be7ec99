import pytest

import streamgauge.measure
from streamgauge.verdict import Verdict

PASS, FAIL, UNKNOWN = Verdict.PASS, Verdict.FAIL, Verdict.UNKNOWN


@pytest.mark.parametrize(
    ("verdicts", "combined"),
    [
        ([PASS, PASS], PASS),
        ([PASS, UNKNOWN], UNKNOWN),
        ([UNKNOWN, FAIL, PASS], FAIL),
        ([], UNKNOWN),
    ],
)
def test_fail_beats_unknown_beats_pass(verdicts, combined):
    assert Verdict.combine(verdicts) is combined


def test_public_names_are_sorted_and_exist():
    names = streamgauge.measure.__all__
    assert names == sorted(names)
    assert all(hasattr(streamgauge.measure, name) for name in names)
