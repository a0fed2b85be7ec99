"""Reports of runs without micro-batches."""

import io

from rich.console import Console

from streamgauge.lookup import find_workload
from streamgauge.report.terminal.catalogue import describe_workload, print_workload


def printed(name: str) -> str:
    out = Console(file=io.StringIO(), width=100)
    print_workload(find_workload(name), out)
    return out.file.getvalue()


def test_describe_tells_the_modes_and_why_not_the_others():
    text = printed("ysb")
    assert "execution modes: micro-batch, real-time\n" in text
    assert "not micro-batch-async: it has state" in text
    assert "not continuous: it has state, and continuous mode only maps and filters" in text
    assert "not " not in printed("hibench-identity").split("execution modes:")[1].split("\n")[0]


def test_the_document_of_a_workload_has_a_reason_for_each_mode_that_is_not_possible():
    modes = describe_workload(find_workload("nexmark-q3"))["modes"]
    assert modes["micro-batch"] is None
    assert "joins two streams" in modes["real-time"]
