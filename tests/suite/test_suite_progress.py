"""What is done is known after every run, whatever happens in between."""

import json
from pathlib import Path

import pytest

from streamgauge.errors import EnvironmentNotReadyError, InvalidExperimentError
from streamgauge.suite import Done, SuiteProgress
from streamgauge.verdict import Verdict


def test_what_is_recorded_is_found_again(tmp_path):
    path = tmp_path / "new" / "progress.json"
    progress = SuiteProgress.open(path)
    assert len(progress) == 0
    progress.record("k1", Done("20261115T194503-ysb-2358", Verdict.PASS, "ysb"))
    progress.record("k2", Done("20261115T194603-ysb-1111", Verdict.UNKNOWN))
    again = SuiteProgress.open(path)
    assert len(again) == 2
    assert again.find("k1") == Done("20261115T194503-ysb-2358", Verdict.PASS, "ysb")
    assert again.find("k2").verdict is Verdict.UNKNOWN
    assert "k1" in again
    assert again.find("k3") is None


def test_a_run_that_is_repeated_has_its_last_result(tmp_path):
    progress = SuiteProgress.open(tmp_path / "progress.json")
    progress.record("k", Done("one", Verdict.FAIL))
    progress.record("k", Done("two", Verdict.PASS))
    assert SuiteProgress.open(progress.path).find("k") == Done("two", Verdict.PASS)


def test_a_write_that_breaks_off_leaves_the_file_as_it_was(tmp_path, monkeypatch):
    progress = SuiteProgress.open(tmp_path / "progress.json")
    progress.record("k1", Done("one", Verdict.PASS))

    def break_off(_self: Path, _target: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", break_off)
    with pytest.raises(EnvironmentNotReadyError, match="No space left on device"):
        progress.record("k2", Done("two", Verdict.PASS))
    assert [path.name for path in tmp_path.iterdir()] == ["progress.json"]
    assert len(SuiteProgress.open(progress.path)) == 1


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[]",
        b"3",
        b"\xff",
        b'{"schema_version": 1}',
        b'{"schema_version": 2, "runs": {}}',
        b'{"schema_version": 1, "runs": []}',
        b'{"schema_version": 1, "runs": {"k": {}}}',
        b'{"schema_version": 1, "runs": {"k": {"run_id": 3, "name": "", "verdict": "pass"}}}',
        b'{"schema_version": 1, "runs": {"k": {"run_id": "a", "name": "", "verdict": "fine"}}}',
        b"[" * 100_000,
    ],
)
def test_a_damaged_file_is_refused_not_taken_for_an_empty_one(tmp_path, content):
    path = tmp_path / "progress.json"
    path.write_bytes(content)
    with pytest.raises(InvalidExperimentError, match="cannot be read"):
        SuiteProgress.open(path)


def test_the_file_is_plain_json(tmp_path):
    progress = SuiteProgress.open(tmp_path / "progress.json")
    progress.record("k", Done("one", Verdict.PASS, "ysb"))
    document = json.loads(progress.path.read_text())
    assert document == {
        "schema_version": 1,
        "runs": {"k": {"run_id": "one", "verdict": "pass", "name": "ysb"}},
    }


def test_a_folder_in_its_place_is_said_to_be_one(tmp_path):
    with pytest.raises(EnvironmentNotReadyError, match="cannot read the progress"):
        SuiteProgress.open(tmp_path)
