"""What a user names: a workload, a prototype, a suite, or a function."""

import pytest

from streamgauge.errors import InvalidExperimentError, UsageError
from streamgauge.lookup import find_workload, is_prototype, is_suite, is_user_function

SUITE = "streamgauge: 1\nruns:\n  - workload: ysb\n"


@pytest.fixture
def write(tmp_path):
    def written(text, name="mine.yaml"):
        (tmp_path / name).write_text(text)
        return str(tmp_path / name)

    return written


@pytest.mark.parametrize(
    ("reference", "kinds"),
    [
        ("ysb", (False, False, False)),
        ("job.py:build", (True, False, False)),
        ("prototype:ysb", (False, True, False)),
        ("suite:smoke", (False, False, True)),
    ],
)
def test_a_reference_is_one_of_four_kinds(reference, kinds):
    assert (is_user_function(reference), is_prototype(reference), is_suite(reference)) == kinds


def test_a_file_is_a_suite_or_a_prototype_by_its_keys(write):
    assert is_suite(write(SUITE))
    assert not is_suite(write("pipeline: {tasks: []}"))
    assert is_suite(write("runs: []")), "mistakes of a suite are told by those who read suites"


@pytest.mark.parametrize("text", [SUITE, "runs: []\n"])
def test_a_suite_is_refused_where_a_workload_is_needed(write, text):
    path = write(text)
    with pytest.raises(InvalidExperimentError) as caught:
        find_workload(path)
    assert caught.value.what == f"{path} is a suite, not a workload"
    assert caught.value.remedy == f"run it with `streamgauge run {path}`"


def test_a_ready_made_suite_is_refused_too():
    with pytest.raises(InvalidExperimentError, match="suite:smoke is a suite, not a workload"):
        find_workload("suite:smoke")


def test_a_file_that_does_not_exist_cannot_be_read(tmp_path):
    with pytest.raises(UsageError, match="cannot be read: No such file"):
        find_workload(str(tmp_path / "nobody.yaml"))
