"""Sets of runs on disk."""

import json
from pathlib import Path

import pytest

from streamgauge.clock import ManualClock, SystemClock
from streamgauge.errors import EnvironmentNotReadyError, InvalidExperimentError, UsageError
from streamgauge.store import SetWriter, is_set, list_runs, list_sets, open_set


def _made(root: Path, title: str = "ysb") -> SetWriter:
    return SetWriter.create(root, kind="sustain", title=title, document={"within": 0.05}, clock=SystemClock())


def test_a_set_names_its_runs_in_order_and_keeps_what_was_found(tmp_path: Path) -> None:
    writer = _made(tmp_path)
    writer.add("run-b", verdict="pass")
    writer.add("run-a", verdict="fail")
    writer.update(status="finished", result={"low": 1.0})
    stored = open_set(tmp_path, writer.set_id)
    assert stored.kind == "sustain"
    assert stored.run_ids == ["run-b", "run-a"]
    assert stored.document["result"] == {"low": 1.0}
    assert stored.document["within"] == 0.05


def test_sets_are_no_runs(tmp_path: Path) -> None:
    writer = _made(tmp_path)
    assert list_runs(tmp_path) == []
    assert [s.set_id for s in list_sets(tmp_path)] == [writer.set_id]
    assert is_set(tmp_path, writer.set_id)
    assert not is_set(tmp_path, "20200101")


def test_sets_of_the_same_second_are_listed_newest_first(tmp_path: Path) -> None:
    """The fake engine ends a set in milliseconds: names that begin with the same second do not show which is newer."""
    clock = ManualClock(now_s=1_790_000_000.25)
    titles = ["middle", "zebra", "apple"]
    for title in titles:
        SetWriter.create(tmp_path, kind="sustain", title=title, document={}, clock=clock)
        clock.sleep(0.1)
    assert [stored.document["title"] for stored in list_sets(tmp_path)] == titles[::-1]


def test_a_set_is_found_by_the_beginning_of_its_id(tmp_path: Path) -> None:
    writer = _made(tmp_path)
    assert open_set(tmp_path, writer.set_id[:-2]).set_id == writer.set_id


def test_an_unknown_and_an_ambiguous_beginning_are_refused(tmp_path: Path) -> None:
    first, second = _made(tmp_path), _made(tmp_path)
    with pytest.raises(UsageError, match="unknown set"):
        open_set(tmp_path, "nothing")
    common = first.set_id[:8]
    assert second.set_id.startswith(common)
    with pytest.raises(UsageError, match="beginning of 2 sets"):
        open_set(tmp_path, common)


def test_an_interrupted_set_can_go_on(tmp_path: Path) -> None:
    writer = _made(tmp_path)
    writer.add("one")
    writer.update(status="interrupted")
    again = SetWriter.resume(open_set(tmp_path, writer.set_id))
    again.add("two")
    stored = open_set(tmp_path, writer.set_id)
    assert stored.run_ids == ["one", "two"]
    assert stored.document["status"] == "running"


@pytest.mark.parametrize("step", ["os.fsync", "pathlib.Path.replace"])
def test_e3_a_disk_that_refuses_leaves_the_set_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    writer = _made(tmp_path)
    writer.add("one")

    def refuse(*_args: object, **_options: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(step, refuse)
        with pytest.raises(EnvironmentNotReadyError, match="No space left on device"):
            writer.add("two")
    assert open_set(tmp_path, writer.set_id).run_ids == ["one"]
    assert [path.name for path in (tmp_path / "sets").iterdir()] == [f"{writer.set_id}.json"]
    writer.add("two")
    assert open_set(tmp_path, writer.set_id).run_ids == ["one", "two"]


def test_e3_a_set_cut_at_any_byte_is_never_taken_for_a_set(tmp_path: Path) -> None:
    writer = _made(tmp_path)
    writer.add("one", verdict="pass")
    whole = writer.path.read_bytes().rstrip()
    for cut in range(len(whole)):
        writer.path.write_bytes(whole[:cut])
        with pytest.raises(InvalidExperimentError):
            open_set(tmp_path, writer.set_id)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '{"schema_version": 1, "members": [{}]}',
        '{"schema_version": 1, "members": 3}',
        json.dumps({"schema_version": 99, "members": []}),
    ],
)
def test_a_file_that_is_no_set_is_refused_and_not_listed(tmp_path: Path, text: str) -> None:
    (tmp_path / "sets").mkdir()
    (tmp_path / "sets" / "x.json").write_text(text)
    assert list_sets(tmp_path) == []
    with pytest.raises(InvalidExperimentError):
        open_set(tmp_path, "x")
