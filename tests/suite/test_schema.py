"""The schema for editors accepts what is right and refuses what is wrong in form."""

import json

import pytest
from ruamel.yaml import YAML

from streamgauge.bundle import FOLDER, bundled
from streamgauge.errors import InvalidExperimentError
from streamgauge.settings.table import GROUPS, KEYS
from streamgauge.suite import read_suite, suite_schema
from streamgauge.suite.reading import FILE_KEYS, RUN_KEYS

from .json_schema import is_valid

SUITES = list(bundled("suite").values())
SCHEMA = suite_schema()


def fits(text: str) -> bool:
    return is_valid(YAML(typ="safe", pure=True).load(text), SCHEMA, SCHEMA)


def is_read(text: str) -> bool:
    try:
        read_suite(text, name="some.yaml")
    except InvalidExperimentError:
        return False
    return True


@pytest.mark.parametrize("path", SUITES, ids=lambda path: path.stem)
def test_ready_suites_fit_the_schema(path):
    assert fits(path.read_text())


@pytest.mark.parametrize(
    "entry",
    [
        "workload: ysb",
        "workload: [ysb, nexmark-q1]",
        "{workload: ysb, rate: 2.5, trigger: 0, duration: 1 min, seed: -3, verify: false, load: online}",
        "{workload: ysb, rate: 10k/s, max_rows_per_batch: 100k, warmup: 0s}",
        "{workload: ysb, set: {campaigns: 3}, conf: {spark.a: true}}",
        "{workload: ysb, matrix: {rate: [1k, 2000], set.campaigns: [1], conf.spark.a: [x, 2.5, true]}}",
        '{workload: ysb, thresholds: ["batches>1", end_to_end_latency_s.p95 < 2 s]}',
        "{workload: ysb, name: base, ignore: [sustained, drained, steady]}",
    ],
)
def test_what_is_right_fits_the_schema_and_is_read(entry):
    text = f"streamgauge: 1\nname: some\nruns:\n  - {entry}\n"
    assert fits(text)
    assert is_read(text)


@pytest.mark.parametrize(
    "text",
    [
        "streamgauge: 2\nname: a\nruns: [{workload: ysb}]",
        "streamgauge: '1'\nname: a\nruns: [{workload: ysb}]",
        "name: a\nruns: [{workload: ysb}]",
        "streamgauge: 1\nname: a b\nruns: [{workload: ysb}]",
        "streamgauge: 1\nname: a\nruns: []",
        "streamgauge: 1\nname: a\nruns: {workload: ysb}",
        "streamgauge: 1\nname: a\nruns: [{rate: 1k}]",
        "streamgauge: 1\nname: a\nmore: 1\nruns: [{workload: ysb}]",
        "streamgauge: 1\nname: a\ndefaults: {workload: ysb}\nruns: [{workload: ysb}]",
        "streamgauge: 1\nname: a\nthresholds: batches > 1\nruns: [{workload: ysb}]",
        *(
            f"streamgauge: 1\nname: a\nruns: [{{workload: {entry}}}]"
            for entry in (
                "ybs",
                "[]",
                "ysb, rat: 1k",
                "ysb, rate: 1x",
                "ysb, rate: 0",
                "ysb, rate: [1k]",
                "ysb, duration: 5",
                "ysb, duration: 5 sek",
                "ysb, cores: 0",
                "ysb, cores: two",
                "ysb, load: closed",
                "ysb, verify: maybe",
                "ysb, set: [1]",
                "ysb, set: {campaigns: [1]}",
                "ysb, matrix: {}",
                "ysb, matrix: {rate: 1k}",
                "ysb, matrix: {rate: []}",
                "ysb, matrix: {set: [1]}",
                "ysb, repetitions: 0",
                "ysb, thresholds: [batchez > 1]",
                "ysb, thresholds: [batches = 1]",
                "ysb, thresholds: [1 < batches]",
                "ysb, thresholds: []",
                "ysb, name: a>b",
                "ysb, ignore: [answer]",
                "ysb, ignore: []",
            )
        ),
    ],
)
def test_what_is_wrong_in_form_fits_neither_the_schema_nor_the_reader(text):
    assert not fits(text)
    assert not is_read(text)


ORDERED = "streamgauge: 1\nname: a\nruns:\n  - {workload: [ysb, nexmark-q1], repetitions: 4}\norders: "


@pytest.mark.parametrize(
    "orders", ["[{batches: ysb > nexmark-q1}]", "[{batches: ysb~10%nexmark-q1, events: ysb < nexmark-q1}]"]
)
def test_orders_that_are_right_fit_the_schema_and_are_read(orders):
    assert fits(ORDERED + orders)
    assert is_read(ORDERED + orders)


@pytest.mark.parametrize(
    "orders",
    ["[]", "batches", "[batches]", "[{}]", "[{batchez: ysb > nexmark-q1}]", "[{batches: ysb}]", "[{batches: ysb >}]",
     "[{batches: ysb >= nexmark-q1}]", "[{batches: ysb ~ nexmark-q1}]", "[{batches: [ysb, nexmark-q1]}]"],
)  # fmt: skip
def test_orders_that_are_wrong_in_form_fit_neither_the_schema_nor_the_reader(orders):
    assert not fits(ORDERED + orders)
    assert not is_read(ORDERED + orders)


def test_the_schema_knows_every_key_with_its_meaning_and_is_json():
    run = SCHEMA["properties"]["runs"]["items"]["properties"]
    assert set(SCHEMA["properties"]) == set(FILE_KEYS)
    assert set(run) == {*RUN_KEYS, *KEYS, *GROUPS}
    assert all(schema["description"] for schema in (*SCHEMA["properties"].values(), *run.values()))
    assert json.loads(json.dumps(SCHEMA)) == SCHEMA


def test_the_schema_beside_the_ready_suites_is_the_one_of_this_version():
    assert json.loads((FOLDER / "suites/suite.schema.json").read_text()) == SCHEMA, "run scripts/settings"


@pytest.mark.parametrize("path", SUITES, ids=lambda path: path.stem)
def test_ready_suites_tell_editors_where_the_schema_is(path):
    up = "../" * (len(path.relative_to(FOLDER).parts) - 2)
    assert path.read_text().splitlines()[0] == f"# yaml-language-server: $schema={up}suite.schema.json"
