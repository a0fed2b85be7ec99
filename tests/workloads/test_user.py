import subprocess
import sys

import pytest

from streamgauge.errors import InvalidExperimentError, UsageError
from streamgauge.events import event_stream
from streamgauge.lookup import is_user_function
from streamgauge.workloads.user import find_function, load_function, user_workload


@pytest.fixture
def write(tmp_path):
    """Write a user's file; what importing it leaves behind is taken away again."""
    modules, path = set(sys.modules), list(sys.path)

    def one(text, name="my_query.py"):
        file = tmp_path / name
        file.write_text(text)
        return file

    yield one
    sys.path[:] = path
    for name in set(sys.modules) - modules:
        if (getattr(sys.modules[name], "__file__", None) or "").startswith(str(tmp_path)):
            del sys.modules[name]


@pytest.mark.parametrize(
    ("reference", "is_one"),
    [("q.py:build", True), ("a/b/q.py:build", True), ("q.py", True), ("ysb", False), ("hibench-identity", False)],
)
def test_a_function_is_told_from_a_name(reference, is_one):
    assert is_user_function(reference) is is_one


def test_a_function_is_found_in_its_file(write):
    file = write("def build(df):\n    return df\n")
    function, found = load_function(f"{file}:build")
    assert function("x") == "x"
    assert found == file.resolve()


def test_a_file_may_import_its_neighbour(write):
    write("FACTOR = 3\n", "my_neighbour.py")
    file = write("from my_neighbour import FACTOR\ndef build(df):\n    return FACTOR\n")
    assert load_function(f"{file}:build")[0](None) == 3


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(UsageError) as caught:
        load_function(f"{tmp_path}/absent.py:build")
    assert caught.value.what == f"there is no file {tmp_path}/absent.py"
    assert "colon" in caught.value.remedy


@pytest.mark.parametrize("ending", ["", ":"])
def test_a_file_without_a_function_is_refused_with_an_example(write, ending):
    file = write("def build(df):\n    return df\n")
    with pytest.raises(UsageError, match="does not name a function") as caught:
        load_function(f"{file}{ending}")
    assert ":build" in caught.value.remedy


def test_a_wrong_name_gets_the_closest_function(write):
    file = write("def build(df):\n    return df\nANSWER = 42\n")
    with pytest.raises(UsageError) as caught:
        load_function(f"{file}:biuld")
    assert caught.value.what == 'no function "biuld"'
    assert caught.value.where == str(file)
    assert caught.value.remedy == "did you mean `build`?"


def test_a_value_that_cannot_be_called_is_no_function(write):
    file = write("ANSWER = 42\n")
    with pytest.raises(UsageError) as caught:
        load_function(f"{file}:ANSWER")
    assert caught.value.remedy == "there are none to choose from"


def test_an_import_that_fails_shows_the_line_of_the_file(write):
    file = write("import math\n\nfrom absent_module import thing\n")
    with pytest.raises(InvalidExperimentError) as caught:
        load_function(f"{file}:build")
    assert caught.value.where == f"{file}:3"
    assert "ModuleNotFoundError: No module named 'absent_module'" in caught.value.what
    assert caught.value.remedy
    assert caught.value.exit_code == 3


def test_an_error_deep_in_a_file_shows_the_innermost_line(write):
    file = write("def half():\n    return 1 / 0\n\nhalf()\n")
    with pytest.raises(InvalidExperimentError, match="ZeroDivisionError") as caught:
        load_function(f"{file}:build")
    assert caught.value.where == f"{file}:2"


def test_a_file_that_is_no_python_shows_the_line(write):
    file = write("x = 1\ndef build(df:\n")
    with pytest.raises(InvalidExperimentError, match="SyntaxError") as caught:
        load_function(f"{file}:build")
    assert caught.value.where == f"{file}:2"


def test_a_file_that_fails_to_import_leaves_nothing_behind(write):
    file = write("raise ValueError('no')\n", "my_failing_query.py")
    with pytest.raises(InvalidExperimentError, match="ValueError: no"):
        load_function(f"{file}:build")
    assert "my_failing_query" not in sys.modules


def test_a_file_named_like_a_module_in_use_does_not_replace_it(write):
    import json

    file = write("def build(df):\n    return df\n", "json.py")
    function, _ = load_function(f"{file}:build")
    assert function(1) == 1
    assert sys.modules["json"] is json


def test_a_file_that_ends_the_process_is_an_error_of_the_file(write):
    file = write("import sys\nsys.exit(3)\n")
    with pytest.raises(InvalidExperimentError, match="SystemExit"):
        load_function(f"{file}:build")


def test_a_function_becomes_a_workload_over_the_chosen_events(write):
    file = write("def build(df):\n    return df\n")
    workload = user_workload(f"{file}:build", event_stream("hibench"))
    assert workload.events.name == "hibench"
    assert workload.question == "How does my_query.py:build behave?"
    assert workload.answer.reference is None
    assert workload.output_mode(workload.parameters()) is None


def test_a_function_travels_to_workers_that_cannot_find_its_file(write, tmp_path):
    text = "FACTOR = 3\ndef triple(x):\n    return FACTOR * x\ndef build(df):\n    return triple(df)\n"
    function, _ = load_function(f"{write(text)}:build")
    cloudpickle = pytest.importorskip("pyspark.cloudpickle")
    (tmp_path / "pickled").write_bytes(cloudpickle.dumps(function))
    code = "import pickle, sys; print(pickle.load(open(sys.argv[1], 'rb'))(14))"
    command = [sys.executable, "-c", code, str(tmp_path / "pickled")]
    assert subprocess.run(command, capture_output=True, text=True, cwd="/", check=True).stdout == "42\n"


def test_a_file_may_define_data_classes(write):
    text = (
        "from __future__ import annotations\nfrom dataclasses import dataclass\n"
        "@dataclass\nclass Row:\n    x: int\ndef build(df):\n    return Row(1)\n"
    )
    assert load_function(f"{write(text)}:build")[0](None).x == 1


@pytest.mark.parametrize(
    "text",
    [
        "def build(df):\n    return df\n",
        "build = lambda df: df\n",
        "from other import build\n",
        "from other import something as build\n",
        "from other import *\n",
        "try:\n    from fast import build\nexcept ImportError:\n    def build(df):\n        return df\n",
    ],
)
def test_a_function_is_found_without_executing_its_file(write, tmp_path, text):
    file = write(f"open({str(tmp_path / 'executed')!r}, 'w')\n{text}")
    assert find_function(f"{file}:build") == (file.resolve(), "build")
    assert user_workload(f"{file}:build", event_stream("ysb"), import_code=False).question
    assert not (tmp_path / "executed").exists()


@pytest.mark.parametrize(
    "text", ["def biuld(df):\n    return df\n", "def biuld(df):\n    build = df\n    return build\n"]
)
def test_a_name_that_a_file_does_not_bind_is_refused_without_executing_it(write, text):
    file = write(f"{text}raise SystemExit(1)\n")
    with pytest.raises(UsageError, match='no function "build"') as caught:
        find_function(f"{file}:build")
    assert caught.value.remedy == "did you mean `biuld`?"


@pytest.mark.parametrize("content", ["def build(df:\n", "x = '\0'\n", "x = " + "(" * 5000 + "\n"])
def test_a_file_that_cannot_be_parsed_is_refused_without_executing_it(write, content):
    file = write(content)
    with pytest.raises(InvalidExperimentError, match="cannot be imported"):
        find_function(f"{file}:build")
