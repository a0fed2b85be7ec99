"""The schema for editors accepts what is right and refuses what is wrong in form."""

import json

import pytest
from ruamel.yaml import YAML

from streamgauge.errors import InvalidExperimentError
from streamgauge.prototype import prototype_schema, read_application
from streamgauge.prototype.file.vocabulary import DATASTREAM, SOURCE, TASK, WORKFLOW, Group, Key
from suite.json_schema import is_valid

from .test_document import EXAMPLES, pipeline

FILES = sorted(EXAMPLES.glob("*.yaml"))
SCHEMA = prototype_schema()


def fits(text: str) -> bool:
    return is_valid(YAML(typ="safe", pure=True).load(text), SCHEMA, SCHEMA)


def is_read(text: str) -> bool:
    try:
        read_application(text, name="some.yaml")
    except InvalidExperimentError:
        return False
    return True


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_the_examples_fit_the_schema_and_tell_editors_where_it_is(path):
    assert fits(path.read_text())
    assert path.read_text().splitlines()[0] == "# yaml-language-server: $schema=prototype.schema.json"


@pytest.mark.parametrize(
    "text",
    [
        "workflow: {}",
        "datastream: {external: {kafka: {server: 'a:1,[::1]:9092', topic: t}, zookeeper: {server: 'a:2'}}}",
        "datastream: {synthetic: {data: {distribution: zipf, exponent: 0.5}, flow: {rate: 0}}}",
        "workflow: {depth: 200, scalability: {parallelism: 200}, filtering: 1, windowing: {duration: 0}}",
        "workflow: {workload: {processing_us: 0.5}, connection: {routing: none, routing_scope: first}}",
        pipeline("name: a, type: source, flow: {rate: 2.5, phase: 0.01}", "name: b, parents: [a], filtering: 0"),
        pipeline("name: a", "name: b, parents: [a], selectivity: 1000, resizeddata: 3, windowing: {key: value}"),
    ],
)
def test_what_is_right_fits_the_schema_and_is_read(text):
    assert fits(text)
    assert is_read(text)


@pytest.mark.parametrize(
    "text",
    [
        "{}",
        "[]",
        "pipelines: {}",
        "pipeline: {tasks: []}",
        "pipeline: {task: []}",
        "workflow: []",
        "workflow: {depth: 1}",
        "workflow: {depth: 3.5}",
        "workflow: {depth: three}",
        "workflow: {scalability: {variability: 0}}",
        "workflow: {connection: {shape: circle}}",
        "workflow: {reliability: maybe}",
        "workflow: {filtering: 1.1}",
        "workflow: {filtering: -0.1}",
        "workflow: {windowing: {duration: 1.5}}",
        "workflow: {workload: {processing: -1}}",
        "datastream: {synthetic: {data: {size: 0}}}",
        "datastream: {synthetic: {flow: {rate: 50k}}}",
        "datastream: {synthetic: {flow: {phase: 0}}}",
        "datastream: {synthetic: {flow: {seed: 1}}}",
        "datastream: {external: {kafka: {server: nowhere}}}",
        *(
            pipeline("name: a", f"name: b, parents: [a], {wrong}")
            for wrong in (
                "routing: hashed",
                "data: {size: 3}",
                "selectivity: 0",
                "parse_json: 1",
                "parallelism: 0",
                "x: 1",
            )
        ),
        pipeline("name: a", "parents: [a]"),
        pipeline("name: a", "name: b, parents: a"),
        pipeline("name: a", "name: b, parents: []"),
        pipeline("name: a b", "name: b, parents: [a b]"),
        pipeline("name: a, routing: hash", "name: b, parents: [a]"),
    ],
)
def test_what_is_wrong_in_form_fits_neither_the_schema_nor_the_reader(text):
    assert not fits(text)
    assert not is_read(text)


def check_notes(group: Group, schema: dict) -> int:
    """Compare the keys of a group with those of its schema; return how many are marked as extensions."""
    if "$ref" in schema:
        schema = SCHEMA["$defs"][schema["$ref"].removeprefix("#/$defs/")]
    assert list(schema["properties"]) == list(group.names)
    marked = 0
    for member in group.members:
        inner = schema["properties"][member.name]
        assert inner["description"].startswith(member.meaning)
        if isinstance(member, Key):
            assert inner.get("default") == member.default
            is_marked = inner["description"].endswith("extension of streamgauge)")
            assert is_marked == bool(member.is_ours or member.our_choices)
            marked += is_marked
        else:
            marked += check_notes(member, inner)
    return marked


def test_the_schema_knows_every_key_and_marks_what_namb_does_not_have():
    roots = SCHEMA["properties"]
    assert set(roots) == {"pipeline", "workflow", "datastream"}
    # The keys of windows are at the workflow and at tasks, those of streams at the datastream and at sources.
    assert check_notes(WORKFLOW, roots["workflow"]) == 3
    assert check_notes(DATASTREAM, roots["datastream"]) == 5
    assert check_notes(SOURCE, SCHEMA["$defs"]["source"]) == 5
    assert check_notes(TASK, SCHEMA["$defs"]["task"]) == 6


def test_the_schema_beside_the_examples_is_the_one_of_this_version():
    stored = json.loads((EXAMPLES / "prototype.schema.json").read_text())
    assert stored == SCHEMA, "write json.dumps(prototype_schema(), indent=2) into the file"
