"""Whatever a prototype file holds, it is read or refused with a place, and never ends in a traceback."""

import re
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from streamgauge.errors import InvalidExperimentError
from streamgauge.prototype import read_application
from streamgauge.prototype.file.vocabulary import ANY_TASK, DATASTREAM, WORKFLOW, Group

from .test_document import EXAMPLES, OLD_PIPELINE, OLD_WORKFLOW

HERE = Path(__file__).parent
FILES = [*sorted(EXAMPLES.glob("*.yaml")), *sorted(HERE.glob("wrong_*.yaml"))]
TEXTS = [OLD_WORKFLOW, OLD_PIPELINE, *(path.read_text() for path in FILES)]
PIECES = [
    *("\t", "\n", " ", "- ", ": ", "&a ", "*a", "<<: ", "[", "]", "{", "}", "'", '"', "|", "> ", "%", "@", "!x ", "#"),
    *("~", "true", "0", "-1", "1e999", "9" * 30, ".nan", "\x00", "\x07", "\ufeff", "\u2028", "\x85", "\ud800", "\r"),
    *("--- ", "...\n", "? ", "\\", '"\\U99999999"', "%YAML 1.1\n", "parents", "[a, b]", "none", "synthetic", "0.5"),
]
HEAD = re.compile(r"changed\.yaml:\d+:\d+: \S")


def read_or_refused(text: str) -> bool:
    """Read a text; one that is refused says so with a place, in words that can be written."""
    try:
        application = read_application(text, name="changed.yaml")
    except InvalidExperimentError as error:
        assert HEAD.match(str(error))
        str(error).encode("utf-8")
        return False
    seen: set[str] = set()
    for component in application.components:
        assert component.name not in seen
        assert set(getattr(component, "parents", ())) <= seen
        assert component.parallelism >= 1
        seen.add(component.name)
    assert application.sources
    assert application.sinks
    return True


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
def test_a_changed_file_is_read_or_refused_with_line_and_column(text):
    read_or_refused(text)


@settings(max_examples=100, deadline=None, derandomize=True)
@given(st.text(max_size=40))
def test_any_text_is_refused_with_line_and_column(text):
    assert not read_or_refused(text)


VALUES = st.sampled_from(
    [
        "0",
        "1",
        "2",
        "-3",
        "0.5",
        "1e9",
        "10",
        "100",
        "a",
        "true",
        "uniform",
        "sin",
        "hash",
        "none",
        "star",
        "[a]",
        "{}",
        "~",
    ]
)


def written(group: Group) -> st.SearchStrategy[str]:
    """Mappings of the keys of a group, with values right and wrong."""
    members = st.one_of(
        *(
            written(member).map(lambda text, name=member.name: f"{name}: {text}")
            if isinstance(member, Group)
            else VALUES.map(lambda text, name=member.name: f"{name}: {text}")
            for member in group.members
        )
    )
    return st.lists(members, max_size=5, unique_by=lambda text: text.partition(":")[0]).map(
        lambda found: "{" + ", ".join(found) + "}"
    )


@settings(max_examples=50, deadline=None, derandomize=True)
@given(written(DATASTREAM), written(WORKFLOW))
def test_any_values_of_a_workflow_are_read_or_refused(datastream, workflow):
    read_or_refused(f"datastream: {datastream}\nworkflow: {workflow}\n")


@settings(max_examples=150, deadline=None, derandomize=True)
@given(st.lists(written(ANY_TASK), min_size=1, max_size=4))
def test_any_values_of_a_pipeline_are_read_or_refused(tasks):
    read_or_refused("pipeline:\n  tasks:\n" + "".join(f"  - {task}\n" for task in tasks))


@settings(max_examples=100, deadline=None, derandomize=True)
@given(st.lists(st.lists(st.integers(0, 9), max_size=3), min_size=1, max_size=8))
def test_any_graph_is_read_or_refused(graph):
    """Parents at random: some before, some after, some that do not exist, some twice."""
    lines = [
        f"  - {{name: t{n}" + (f", parents: [{', '.join(f't{m}' for m in parents)}]" if parents else "") + "}\n"
        for n, parents in enumerate(graph)
    ]
    is_right = all(m < n for n, parents in enumerate(graph) for m in parents)
    is_right = is_right and all(len(set(parents)) == len(parents) for parents in graph)
    read_names = {m for parents in graph for m in parents}
    is_right = is_right and all(n in read_names for n, parents in enumerate(graph) if not parents)
    assert read_or_refused("pipeline:\n  tasks:\n" + "".join(lines)) is is_right
