from pathlib import Path

import pytest

from made_runs.samples import answer, evidence
from streamgauge.conclude.summary import summarise
from streamgauge.errors import RunFailedError
from streamgauge.experiments.probes import refuse_wrong_answer
from streamgauge.running.lifecycle import Run
from streamgauge.verdict import Verdict


def found(**changes):
    return Run("20231114T221320-ysb-1a2b", Path("runs"), summarise(evidence(**changes)) | {"workload": "ysb"})


def test_a_wrong_answer_ends_an_experiment_of_several_runs():
    wrong = answer(Verdict.FAIL, missing=2, extra=1, reasons=["2 rows missing"])
    with pytest.raises(RunFailedError, match="wrong answer: 2 rows missing and 1 extra") as caught:
        refuse_wrong_answer(found(answer=wrong))
    assert caught.value.remedy == "see `streamgauge verify ysb`"


@pytest.mark.parametrize("changes", [{}, {"answer": answer()}, {"answer": answer(), "limit": 400}])
def test_no_answer_a_right_one_and_an_overload_are_no_reason_to_end(changes):
    refuse_wrong_answer(found(**changes))
