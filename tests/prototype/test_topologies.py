"""The five topologies with which predictions are evaluated."""

import pytest

from streamgauge import bundle
from streamgauge.prototype.file.document import load_application

FOLDER = bundle.FOLDER / "prototypes" / "topologies"
PATHS = sorted(FOLDER.glob("*.yaml"))


def load(name):
    return load_application(FOLDER / f"{name}.yaml")


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_a_topology_is_read_without_a_warning_and_has_uneven_keys(path):
    application = load_application(path)
    assert application.warnings == ()
    (source,) = application.sources
    assert (source.data.distribution, source.data.values) == ("zipf", 16)


def test_there_are_the_five_of_the_thesis():
    assert [path.stem for path in PATHS] == ["all-in-one", "fields-to-fields", "join-split", "multiplier", "windowed"]


def test_fields_to_fields_routes_by_hash_twice_in_a_row():
    assert [task.routing for task in load("fields-to-fields").tasks] == ["balanced", "hash", "hash"]


def test_multipliers_make_ten_and_a_half_tuples_of_each():
    for name in ("multiplier", "all-in-one", "join-split"):
        (multiplier,) = [task for task in load(name).tasks if task.name == "multiplier"]
        assert multiplier.selectivity == 10.5


def test_windows_are_two_seconds_long_and_there_are_none_elsewhere():
    windows = {path.stem: [t.window for t in load_application(path).tasks if t.window] for path in PATHS}
    assert {name for name, found in windows.items() if found} == {"all-in-one", "join-split", "windowed"}
    assert all(window.duration_s == 2 for found in windows.values() for window in found)


def test_join_split_unites_two_branches_and_has_two_senders():
    tasks = {task.name: task for task in load("join-split").tasks}
    assert set(tasks["join"].parents) == {"plain", "multiplier"}
    assert [name for name, task in tasks.items() if task.parents == ("join",)] == ["first_sender", "second_sender"]
