"""`prototype calibrate`, `prototype export` and `prototype fit` on the command line."""

import ast
from pathlib import Path

import pytest

from streamgauge.bundle import FOLDER
from streamgauge.prototype import read_application
from streamgauge.prototype.calibration import CostLine, CostPoint, CycleCalibration, read_calibration, this_machine
from streamgauge.prototyping.fit import Fitted
from streamgauge.prototyping.fit_errors import Error
from streamgauge.verdict import Verdict

EXAMPLES = FOLDER / "prototypes"
LINE = CostLine(0.8, 0.79, 0.82, 21.0, (CostPoint(500, 200_000, 421.0, 0.0), CostPoint(500_000, 250, 412_000.0, 0.03)))


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    """A place without a calibration."""
    monkeypatch.setenv("STREAMGAUGE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def measured(monkeypatch):
    """Let the measurement find what a test says, without Spark."""

    def set_(verdict=Verdict.PASS, reasons=()):
        lines = dict.fromkeys(("native", "arrow"), LINE)
        found = CycleCalibration("2026-11-16T08:00:00+00:00", this_machine(), lines, verdict, reasons)

        def calibrate(*, report_progress):
            report_progress("repetition 1 of 12")
            return found

        monkeypatch.setattr("streamgauge.prototyping.calibrate.calibrate", calibrate)
        return found

    return set_


def test_a_calibration_is_printed_and_kept(call, measured, cache):
    found = measured()
    result = call("prototype", "calibrate")
    assert result.code == 0
    assert "0.8 ns per cycle (0.79 to 0.82), and 0.021 µs per tuple" in result.out
    assert "+3.0%" in result.out
    assert str(cache / "calibration.json") in "".join(result.out.split())
    assert result.err == "calibrate: repetition 1 of 12\n"
    assert read_calibration() == found


def test_a_calibration_is_one_document_with_json(call, measured, cache):
    measured()
    document = call("prototype", "calibrate", "--json", "--quiet").document
    assert (document["verdict"], document["file"]) == ("pass", str(cache / "calibration.json"))
    assert document["lines"]["arrow"]["ns_per_cycle"] == 0.8
    assert document["machine"]["processor"] == this_machine().processor


@pytest.mark.parametrize(("verdict", "code"), [(Verdict.FAIL, 6), (Verdict.UNKNOWN, 7)])
def test_a_doubtful_calibration_is_kept_with_its_verdict(call, measured, verdict, code):
    measured(verdict, ("the native form is up to 7.0% away from a line, more than 5%",))
    result = call("prototype", "calibrate", "-q")
    assert (result.code, result.err) == (code, "")
    assert "  - the native form is up to 7.0% away from a line" in result.out
    assert read_calibration().verdict is verdict


def test_without_java_nothing_is_measured(call, without_java):
    result = call("prototype", "calibrate")
    assert result.code == 4
    assert "no Java 17 or newer was found" in result.err


def test_an_export_prints_the_program_and_nothing_else(call):
    result = call("prototype", "export", str(EXAMPLES / "wordcount.yaml"))
    assert (result.code, result.err) == (0, "")
    assert ast.get_docstring(ast.parse(result.out)).startswith("wordcount: a streaming application on Spark")


def test_mistakes_of_a_file_are_told_as_elsewhere(call, tmp_path):
    (tmp_path / "wrong.yaml").write_text("pipeline:\n  tasks:\n    - name: a\n    - name: b\n      parents: [c]\n")
    result = call("prototype", "export", "wrong.yaml")
    assert (result.code, result.out) == (3, "")
    assert "wrong.yaml:5:" in result.err


def test_a_file_that_is_not_there_is_named(call):
    result = call("prototype", "export", "absent.yaml")
    assert result.code in (2, 3)
    assert "absent.yaml" in result.err


def test_loads_in_microseconds_need_a_calibration_to_be_exported(call, measured):
    path = str(EXAMPLES / "extensions.yaml")
    refused = call("prototype", "export", path)
    assert (refused.code, refused.out) == (4, "")
    assert "streamgauge prototype calibrate" in refused.err
    measured().write()
    # 20 µs at 0.8 ns per cycle and 21 ns per tuple.
    assert (
        "# parser: in turns to 2 instances; 24,974 cycles, 20 µs; parses JSON" in call("prototype", "export", path).out
    )


@pytest.fixture
def fitted(monkeypatch):
    """Let a fit find what a test says, without runs and Spark."""
    found = Fitted(
        read_application("pipeline: {tasks: [{name: a}, {name: b, parents: [a]}]}", name="fitted"),
        "# A prototype.\npipeline:\n",
        (Error("end_to_end_latency_s.mean", 0.4, 0.41, -0.01, 0.06),),
        ("stage_1 has no CPU work, and takes 0.2 µs more",),
        ("one stage reads no tuples",),
        2,
    )
    asked = {}

    def fit(reference, **options):
        asked.update(options, reference=reference)
        return found

    monkeypatch.setattr("streamgauge.prototyping.fit.fit", fit)
    return asked


def test_a_fitted_prototype_is_printed_alone_and_how_close_it_is_beside_it(call, fitted):
    result = call("prototype", "fit", "latest", "--probes", "3", "--runs", "elsewhere")
    assert result.code == 0
    assert result.out == "# A prototype.\npipeline:\n"
    assert result.err.splitlines() == [
        "fit: end_to_end_latency_s.mean: 410 ms instead of 400 ms, +2.5% (-1.0% to +6.0%)",
        "fit: the query is cheaper than the prototype can be: stage_1 has no CPU work, and takes 0.2 µs more",
        "fit: one stage reads no tuples",
    ]
    assert (fitted["reference"], fitted["probes"], fitted["runs"]) == ("latest", 3, Path("elsewhere"))


def test_a_fit_is_one_document_with_json_and_silent_when_asked(call, fitted):
    document = call("prototype", "fit", "latest", "--json", "--quiet").document
    assert document["prototype"] == "# A prototype.\npipeline:\n"
    assert document["errors"][0]["change"] == pytest.approx(0.025)
    assert (document["probes"], len(document["cheaper"]), len(document["notes"])) == (2, 1, 1)
    assert call("prototype", "fit", "latest", "--quiet").err == ""


def test_a_run_that_is_not_there_or_a_wrong_number_of_probes_is_wrong_usage(call):
    assert call("prototype", "fit", "nothing").code == 2
    assert call("prototype", "fit", "latest", "--probes", "-1").code == 2
