from pathlib import Path

import pytest

from streamgauge.errors import RunFailedError
from streamgauge.experiment.parts import refuse_wrong_answer
from streamgauge.experiment.run import Run
from streamgauge.experiment.summary import summarise
from streamgauge.verdict import Verdict

from .samples import answer, evidence


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
