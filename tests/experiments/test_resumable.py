import pytest

from streamgauge.errors import UsageError
from streamgauge.experiments.resumable import interruptible, open_resumable
from streamgauge.store import open_set

ASKED = {"workload": "ysb", "configuration": {"rate_per_s": 10.0, "cores": 2}}


def opened(root, resume=None, **changes):
    usual = {"kind": "sustain", "title": "ysb", "document": ASKED, "same": ("configuration",)}
    return open_resumable(root, resume, **usual | changes)


def test_a_set_is_created_and_can_be_resumed(tmp_path):
    writer = opened(tmp_path)
    writer.add("one", key="a")
    writer.update(status="interrupted")
    again = opened(tmp_path, writer.set_id)
    assert (again.set_id, again.document["status"]) == (writer.set_id, "running")
    assert [member["run_id"] for member in again.document["members"]] == ["one"]


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"kind": "scale"}, "is a set of sustain ysb"),
        ({"title": "nexmark-q1"}, "is a set of sustain ysb"),
        ({"document": {"configuration": {"rate_per_s": 20.0, "cores": 2}}}, "with other settings: rate_per_s"),
        ({"document": ASKED | {"steps": ["a"]}, "same": ("steps",)}, "with other settings: steps"),
        ({"keys": {"b"}}, "none of the 1 runs of .* is planned any more"),
    ],
)
def test_another_experiment_is_not_resumed_and_its_set_stays_as_it_is(tmp_path, changes, what):
    writer = opened(tmp_path)
    writer.add("one", key="a")
    writer.update(status="interrupted")
    with pytest.raises(UsageError, match=what) as caught:
        opened(tmp_path, writer.set_id, **changes)
    assert (caught.value.where, "leave --resume out" in caught.value.remedy) == ("--resume", True)
    assert open_set(tmp_path, writer.set_id).document["status"] == "interrupted"


def test_a_set_without_runs_is_resumed_whatever_was_planned(tmp_path):
    writer = opened(tmp_path)
    assert opened(tmp_path, writer.set_id, keys={"b"}).set_id == writer.set_id


@pytest.mark.parametrize("error", [KeyboardInterrupt(), ValueError("planted")])
def test_an_error_marks_the_set_and_says_how_to_resume(tmp_path, error):
    writer = opened(tmp_path)
    with pytest.raises(type(error)) as caught, interruptible(writer, lambda: "2 of 3 runs are done"):
        raise error
    assert open_set(tmp_path, writer.set_id).document["status"] == "interrupted"
    expected = f"2 of 3 runs are done; to resume, repeat the command with --resume {writer.set_id}"
    assert caught.value.__notes__ == [expected]


def test_what_cannot_be_resumed_is_marked_without_a_hint(tmp_path):
    writer = opened(tmp_path)
    with pytest.raises(ValueError, match="planted") as caught, interruptible(writer):
        raise ValueError("planted")
    assert open_set(tmp_path, writer.set_id).document["status"] == "interrupted"
    assert not hasattr(caught.value, "__notes__")


def test_an_error_is_not_replaced_when_the_set_cannot_be_written(tmp_path):
    writer = opened(tmp_path)
    writer.path.unlink()
    writer.path.parent.rmdir()
    with pytest.raises(ValueError, match="planted"), interruptible(writer):
        raise ValueError("planted")
