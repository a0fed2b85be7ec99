"""A file that is written reads as the application that it was written from."""

from dataclasses import replace

import pytest

from prototype.applications import ALL, pipeline, source
from streamgauge.prototype import load_application, read_application
from streamgauge.prototype.file.writing import WIDTH, write_application
from streamgauge.prototype.graph.application import (
    Application,
    Data,
    Flow,
    PrototypeTask,
    Source,
    SourceTopic,
    TaskWindow,
)

from .test_document import EXAMPLES

EVERYTHING = pipeline(
    Source("a", 2, Data(30, 400, "zipf", 1.234567), Flow("burst", 12.5, 300, 0.25, 1.5, 3.0, "instance", 700.0)),
    Source("b", 1, Data(3, 17, "nonuniform"), Flow("sin", 2000.0, 12.5, offset_s=0.75), reliability=False),
    PrototypeTask("c", 3, ("a", "b"), "hash", 0.0, 0.000001, 0.25, 17.5, True, 0.333, 2.75, 12, reliability=False),
    PrototypeTask("d", 3, ("c",), "none", 1234.5, window=TaskWindow("sliding", 20, 5, "value")),
    PrototypeTask("e", 5, ("c",), "broadcast", 0.1, window=None),
)


def parts(application: Application) -> tuple[object, ...]:
    """Leave out levels, names that the file does not hold, and its text."""
    return application.sources, tuple(replace(task, level=0) for task in application.tasks)


def named(application: Application) -> Application:
    """Files allow no spaces in names."""
    return replace(
        application,
        tasks=tuple(
            replace(
                task,
                name=task.name.replace(" ", "_"),
                parents=tuple(parent.replace(" ", "_") for parent in task.parents),
            )
            for task in application.tasks
        ),
    )


@pytest.mark.parametrize("name", [*ALL, "everything"])
def test_a_written_application_is_read_again(name, tmp_path):
    application = named((ALL | {"everything": EVERYTHING})[name])
    path = tmp_path / "written.yaml"
    path.write_text(write_application(application, head=["One."], comments={"source": ["Two."]}))
    found = load_application(path)
    assert parts(found) == parts(application)
    assert found.warnings == ()


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.yaml")), ids=lambda path: path.stem)
def test_examples_are_read_again_as_pipelines(path):
    application = load_application(path)
    found = read_application(write_application(application), name="again.yaml")
    assert parts(found) == parts(application)
    assert found.schema == "pipeline"


def test_a_topic_is_read_again():
    external = pipeline(
        replace(source(), topic=SourceTopic("broker:9092", "us", "clicks")), PrototypeTask("a", 2, ("source",))
    )
    found = read_application(write_application(external), name="again.yaml")
    assert found.sources[0].topic == SourceTopic("broker:9092", "us", "clicks")


def test_comments_stand_before_what_they_are_about_and_no_line_is_too_long():
    words = "word " * 60
    text = write_application(ALL["linear"], head=[words, "Short."], comments={"second": [f"About this. {words}"]})
    lines = text.splitlines()
    assert max(map(len, lines)) <= WIDTH
    assert lines[lines.index("pipeline:") - 1] == "# Short."
    (about,) = (k for k, line in enumerate(lines) if line.startswith("    # About this."))
    assert lines[about - 1] == ""
    assert next(line for line in lines[about:] if not line.startswith("    #")) == "    - name: second"


def test_a_comment_cannot_end_itself():
    text = write_application(ALL["linear"], head=["one\npipeline: {tasks: []}"])
    assert text.startswith("# one pipeline: {tasks: []}\npipeline:\n")
