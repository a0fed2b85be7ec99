import signal

import pytest

from streamgauge import errors
from streamgauge.errors import StreamgaugeError, closest

EXIT_CODES = {
    "UsageError": 2,
    "InvalidExperimentError": 3,
    "EnvironmentNotReadyError": 4,
    "RunFailedError": 5,
    "UnknownVerdictError": 7,
}


@pytest.mark.parametrize(("name", "exit_code"), EXIT_CODES.items())
def test_k2_every_branch_of_the_tree_has_its_exit_code(name, exit_code):
    kind = getattr(errors, name)
    assert issubclass(kind, StreamgaugeError)
    assert kind.exit_code == exit_code
    assert kind("x").exit_code == exit_code


def test_the_tree_has_no_other_branches():
    assert {kind.__name__ for kind in StreamgaugeError.__subclasses__()} == set(EXIT_CODES)


def test_the_exit_codes_of_verdicts_are_those_of_their_errors():
    assert errors.UnknownVerdictError.exit_code == errors.EXIT_UNKNOWN
    assert (errors.EXIT_OK, errors.EXIT_BUG, errors.EXIT_FAIL, errors.EXIT_INTERRUPTED) == (0, 1, 6, 130)
    assert errors.EXIT_BROKEN_PIPE == 128 + signal.SIGPIPE


def test_the_tree_is_drawn_at_the_top_of_the_module():
    for name, exit_code in EXIT_CODES.items():
        line = next(line for line in errors.__doc__.splitlines() if name in line)
        assert str(exit_code) in line


def test_a_message_says_what_is_wrong_where_and_what_to_do():
    error = errors.UsageError('rate "x" is not a number', where="--rate", remedy="use 200k")
    assert str(error) == '--rate: rate "x" is not a number\n  use 200k'
    assert error.args == (str(error),)


def test_parts_of_a_message_that_are_missing_leave_no_trace():
    assert str(StreamgaugeError("broken")) == "broken"
    assert str(StreamgaugeError("broken", where="a.py:3")) == "a.py:3: broken"
    assert str(StreamgaugeError("broken", remedy="mend it")) == "broken\n  mend it"


@pytest.mark.parametrize(
    ("name", "remedy"),
    [
        ("ybs", "did you mean `ysb`?"),
        ("wordcount", "did you mean `hibench-wordcount`?"),
        ("qqq", "known names: hibench-wordcount, ysb"),
        ("", "known names: hibench-wordcount, ysb"),
    ],
)
def test_an_unknown_name_gets_the_closest_known_one_or_all(name, remedy):
    assert closest(name, ["ysb", "hibench-wordcount"]) == remedy


def test_where_no_names_are_known_the_remedy_says_so():
    assert closest("build", []) == "there are none to choose from"
