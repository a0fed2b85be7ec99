"""A calibration is kept, and used only on the machine that it was measured on."""

import json
from dataclasses import replace

import pytest

from streamgauge.errors import EnvironmentNotReadyError
from streamgauge.prototype.calibration import (
    CostLine,
    CostPoint,
    CycleCalibration,
    Platform,
    calibration_path,
    need_calibration,
    read_calibration,
    this_machine,
)
from streamgauge.verdict import Verdict

POINT = CostPoint(5000, 40_000, 4100.0, 0.02, -0.01, 0.03)
LINES = {"native": CostLine(0.8, 0.79, 0.82, 100.0, (POINT,)), "arrow": CostLine(4.0, 3.9, 4.1, -20.0, (POINT,))}
FOUND = CycleCalibration("2026-11-16T08:00:00+00:00", this_machine(), LINES, Verdict.UNKNOWN, ("too busy",))


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """An empty place for the calibration."""
    monkeypatch.setenv("STREAMGAUGE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def rewrite(change):
    FOUND.write()
    document = json.loads(calibration_path().read_text())
    change(document)
    calibration_path().write_text(json.dumps(document))


def test_a_calibration_is_read_as_it_was_written(folder):
    path = FOUND.write()
    assert path == folder / "calibration.json"
    assert read_calibration() == FOUND


def test_without_a_calibration_there_is_none():
    assert read_calibration() is None


def test_what_cannot_do_without_a_calibration_says_how_to_get_one():
    with pytest.raises(EnvironmentNotReadyError, match=r"parser: .*not known yet\n.*`streamgauge prototype calibrate`"):
        need_calibration("parser")
    FOUND.write()
    assert need_calibration("parser") == FOUND


@pytest.mark.parametrize(
    ("machine", "told"),
    [
        (replace(this_machine(), processor="an abacus"), "processor an abacus, here "),
        (replace(this_machine(), spark="3.5.0"), "Spark 3.5.0, here "),
        (Platform("an abacus", "8", None), "processor an abacus, here .*; Spark unknown, here "),
    ],
)
def test_the_calibration_of_another_machine_is_refused_with_both_names(machine, told):
    replace(FOUND, machine=machine).write()
    with pytest.raises(EnvironmentNotReadyError, match=rf"calibration.json: .*{told}.*\n.*measure it again"):
        read_calibration()


def test_another_java_is_refused_by_who_knows_it():
    measured = replace(FOUND, machine=replace(this_machine(), java="17"))
    measured.refuse_other(replace(this_machine(), java="17"))
    measured.refuse_other(this_machine())
    with pytest.raises(EnvironmentNotReadyError, match="Java 17, here 21"):
        measured.refuse_other(replace(this_machine(), java="21"))


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda d: d.pop("machine"), "machine: Field required"),
        (lambda d: d["lines"]["native"].update(ns_per_cycle="fast"), "lines.native.ns_per_cycle: "),
        (lambda d: d["lines"]["native"].update(ns_per_cycle=0), "has no cost of a cycle"),
        (lambda d: d["lines"].pop("arrow"), "has no cost of a cycle in native and arrow form"),
        (lambda d: d.update(schema_version=2), "has version 2, which is not 1"),
    ],
)
def test_a_damaged_calibration_is_refused_with_the_damage(change, told):
    rewrite(change)
    with pytest.raises(EnvironmentNotReadyError, match=rf"calibration.json: .*{told}.*\n.*measure it again"):
        read_calibration()


@pytest.mark.parametrize("text", [b"", b"{", b"\xff\xfe", b"[]"])
def test_a_file_that_is_no_calibration_is_refused(folder, text):
    folder.mkdir()
    calibration_path().write_bytes(text)
    with pytest.raises(EnvironmentNotReadyError, match="the calibration cannot be read"):
        read_calibration()


def test_a_folder_that_cannot_be_written_is_named(folder):
    folder.write_text("a file")
    with pytest.raises(EnvironmentNotReadyError, match=r"cannot keep the calibration: .*\n.*STREAMGAUGE_CACHE"):
        FOUND.write()


def test_a_time_becomes_the_cycles_that_take_it_together_with_what_else_a_load_costs():
    # 0.8 ns for each cycle, and 100 ns for each tuple.
    assert FOUND.cycles_in(10.0, "native") == 12_375
    assert 100 + 0.8 * FOUND.cycles_in(10.0, "native") == pytest.approx(10_000)
    # Less than nothing is nothing.
    assert FOUND.cycles_in(10.0, "arrow") == 2500
    assert FOUND.cycles_in(0.05, "native") == 0
