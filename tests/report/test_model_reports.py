"""Reports of sets that the model makes."""

import json

import pytest
from rich.console import Console

from made_runs.modelled_runs import ModelledRun
from streamgauge.predicting.calibrate import calibrate_model
from streamgauge.predicting.evaluate import follow
from streamgauge.predicting.protocol import EvaluationProtocol, quick_protocol
from streamgauge.report.content.subject import find_subject
from streamgauge.report.html.page import render_subject
from streamgauge.report.markdown import render_subject_markdown
from streamgauge.report.terminal.evaluation import print_evaluation
from streamgauge.report.terminal.model_calibration import print_model_calibration
from streamgauge.running.monitor import NoMonitor


def printed(show, found):
    out = Console(width=160, record=True, file=None, no_color=True, quiet=False)
    with out.capture() as captured:
        show(found, out)
    return captured.get()


@pytest.fixture(scope="module")
def evaluated(tmp_path_factory):
    root = tmp_path_factory.mktemp("runs")
    protocol = EvaluationProtocol(quick_protocol().steps[:2], duration_s=12.0, warmup_s=3.0, repetitions=1)
    return root, follow(protocol, ["ysb"], root=root, monitor=NoMonitor(), measure=ModelledRun())


def test_an_evaluation_prints_errors_noise_baselines_ablations_and_the_matrix(evaluated):
    text = printed(print_evaluation, evaluated[1])
    for word in ("mean latency, all pairs", "noise floor", "M/M/1 per stage", "without contention", "ysb, from"):
        assert word in text


def test_the_report_of_an_evaluation_has_the_same_tables_and_a_chart(evaluated):
    root, found = evaluated
    subject = find_subject(root, [found.set_id])
    page, text = render_subject(subject), render_subject_markdown(subject)
    for word in ("Errors of predictions", "Simpler models", "Without parts of the model", "Sustainable rate"):
        assert word in page
        assert word in text
    assert "Predicted against measured" in page
    median = next(line.median for line in found.lines if line.name == "mean latency, all pairs")
    assert f"{100 * median:.1f} %" in text
    # Both parts of an aim are there, or a line that misses one of them would look as if it were met.
    assert "10 %, p90 20 %" in page
    assert "10 %, p90 20 %" in text


def test_errors_without_end_are_told_in_the_page_as_on_the_terminal(evaluated):
    root, found = evaluated
    path = root / "sets" / f"{found.set_id}.json"
    whole = path.read_text()
    document = json.loads(whole)
    assert "no end" not in render_subject(find_subject(root, [found.set_id]))
    document["result"]["baselines"][1]["most"] = None
    try:
        path.write_text(json.dumps(document))
        assert "no end" in render_subject(find_subject(root, [found.set_id]))
    finally:
        path.write_text(whole)


def test_an_evaluation_without_a_result_is_still_told(evaluated, tmp_path):
    root, found = evaluated
    path = root / "sets" / f"{found.set_id}.json"
    whole = path.read_text()
    try:
        path.write_text(whole.replace('"result"', '"something else"'))
        assert "No pair has a latency." in render_subject(find_subject(root, [found.set_id]))
    finally:
        path.write_text(whole)


def test_a_calibration_tells_its_runs_and_how_to_use_it(tmp_path):
    found = calibrate_model(
        "ysb", rate="100k", duration="20s", warmup="5s", cores=2, runs=tmp_path, measure=ModelledRun()
    )
    text = printed(print_model_calibration, found)
    assert f"streamgauge predict {found.set_id}" in text
    assert "from the first run" in text
    assert "latency from all runs" in render_subject(find_subject(tmp_path, [found.set_id]))
