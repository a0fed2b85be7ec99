"""Whatever a file holds, it is read or refused with a place, and never ends in a traceback."""

import re
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from streamgauge.bundle import FOLDER
from streamgauge.errors import InvalidExperimentError
from streamgauge.suite import read_suite

SUITES = sorted((FOLDER / "suites").glob("*.yaml"))
RIGHT = """\
streamgauge: 1
name: right
x: &usual {rate: 10k}
defaults: {<<: *usual, set: {}, conf: {spark.x: true}}
runs:
  - {workload: nexmark-q5, matrix: {rate: [10k, 20k], set.window_s: [2, 4], load: [open, offline]}, repetitions: 2}
  - {workload: ysb, arrivals: "burst(rate=1k)", thresholds: ["batches > (2 + 3) * 1 / 4"]}
"""
TEXTS = [RIGHT, (Path(__file__).parent / "wrong.yaml").read_text(), *(path.read_text() for path in SUITES)]
PIECES = [
    *("\t", "\n", " ", "- ", ": ", "&a ", "*a", "<<: ", "[", "]", "{", "}", "'", '"', "|", "> ", "%", "@", "!x ", "#"),
    *("~", "true", "0", "-1", "1e999", "9" * 30, ".nan", "\x00", "\x07", "\ufeff", "\u2028", "\x85", "\ud800", "\r"),
    *("--- ", "...\n", "? ", "\\", '"\\U99999999"', "%YAML 1.1\n", "rate", "set.x", "conf.", "ysb", "a.py:b", "burst("),
]
HEAD = re.compile(r"changed\.yaml:\d+:\d+: \S")


@st.composite
def changed_files(draw: st.DrawFn) -> str:
    """A file with a few characters lost, pieces put in or lines doubled."""
    text = draw(st.sampled_from(TEXTS))
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(text)))
        kind = draw(st.sampled_from(["insert", "delete", "double"]))
        if kind == "insert":
            text = text[:at] + draw(st.sampled_from(PIECES)) + text[at:]
        elif kind == "delete":
            text = text[:at] + text[at + draw(st.integers(1, 12)) :]
        else:
            lines = text.split("\n")
            line = draw(st.integers(0, len(lines) - 1))
            text = "\n".join([*lines[:line], lines[line], *lines[line:]])
    return text


@settings(max_examples=150, deadline=None, derandomize=True)
@given(changed_files())
def test_k1_a_changed_file_is_read_or_refused_with_line_and_column(text):
    try:
        assert read_suite(text, name="changed.yaml").size >= 1
    except InvalidExperimentError as error:
        assert HEAD.match(str(error))
        str(error).encode("utf-8")


@settings(max_examples=100, deadline=None, derandomize=True)
@given(st.text(max_size=40))
def test_k1_any_text_is_refused_with_line_and_column(text):
    try:
        read_suite(text, name="changed.yaml")
        raise AssertionError("this cannot be a suite")
    except InvalidExperimentError as error:
        assert HEAD.match(str(error))
