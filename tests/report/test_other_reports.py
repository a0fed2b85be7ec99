import io
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from streamgauge.conclude.verification import FiniteStream, Verification
from streamgauge.events import event_streams
from streamgauge.experiments.doctor import Check, Examination
from streamgauge.experiments.generate import Generation
from streamgauge.experiments.plan import make_plan
from streamgauge.experiments.verify_all import Verifications
from streamgauge.report.terminal.catalogue import (
    describe_events,
    describe_workload,
    print_events,
    print_list,
    print_workload,
)
from streamgauge.report.terminal.doctor import print_checks
from streamgauge.report.terminal.generation import print_generation
from streamgauge.report.terminal.plan import print_plan
from streamgauge.report.terminal.verification import print_verifications
from streamgauge.verdict import Verdict
from streamgauge.workloads import catalogue
from streamgauge.workloads.traits import Operator, Traits

HERE = Path(__file__).parent


def printed(show, *arguments):
    file = io.StringIO()
    show(*arguments, Console(file=file, width=100, highlight=False, markup=False, emoji=False))
    return "".join(f"{line.rstrip()}\n" for line in file.getvalue().splitlines())


def test_the_list_is_printed_as_in_the_file():
    files = {"suite": {"suite:smoke": "Does it work here?"}}
    text = printed(print_list, list(catalogue().values()), list(event_streams().values()), files)
    assert text == (HERE / "list.txt").read_text()


@pytest.mark.parametrize("name", list(catalogue()))
def test_a_description_shows_everything_that_defines_a_workload(name):
    workload = catalogue()[name]
    text = printed(print_workload, workload)
    flat = " ".join(text.split())
    assert workload.question in flat
    assert (workload.answer.text or "").strip().splitlines()[0] in text
    for f in (*workload.events.fields, *workload.output):
        assert f.name in text
    document = describe_workload(workload)
    assert document["reference"] == workload.answer.text
    assert {p["name"] for p in document["parameters"]} == set(workload.parameters.model_fields)
    for parameter in document["parameters"]:
        assert parameter["name"] in text


@pytest.mark.parametrize("name", list(catalogue()))
def test_the_dataflow_is_drawn_from_the_events_to_the_sink(name):
    workload = catalogue()[name]
    steps = describe_workload(workload)["dataflow"]
    assert steps == [f"{workload.events.name} events", *(step.text for step in workload.traits.steps), "sink"]
    assert f"dataflow: {' ─▶ '.join(steps)} " in " ".join(printed(print_workload, workload).split())


def test_a_long_dataflow_is_broken_before_an_arrow():
    traits = Traits(tuple(Operator.MAP.step(text) for text in ("a" * 50, "b" * 50, "c")))
    lines = printed(print_workload, replace(catalogue()["ysb"], traits=traits)).splitlines()
    first = next(k for k, line in enumerate(lines) if line.startswith("dataflow: "))
    assert lines[first : first + 2] == [f"dataflow: ysb events ─▶ {'a' * 50}", f"  ─▶ {'b' * 50} ─▶ c ─▶ sink"]


def test_a_workload_of_one_definition_does_not_speak_of_semantics():
    document = describe_workload(catalogue()["ysb"])
    assert (document["semantics"], document["variants"]) == (None, [])
    assert "semantics" not in printed(print_workload, catalogue()["ysb"])


def test_a_variant_is_described_by_what_is_different():
    text = " ".join(printed(print_workload, catalogue()["nexmark-q1"]).split())
    assert "semantics: flink with --set semantics=beam: columns auction bigint, bidder bigint, price bigint," in text
    text = printed(print_workload, catalogue()["nexmark-q5"])
    assert "with --set semantics=beam: the same columns; slide_s=5 by default\n" in text
    assert "semantics: beam\n" in printed(print_workload, catalogue()["nexmark-q6"])


def test_variants_are_in_the_document_with_their_references():
    workload = catalogue()["nexmark-q4"]
    document = describe_workload(workload)
    (variant,) = document["variants"]
    assert (document["semantics"], variant["semantics"]) == ("flink", "beam")
    assert variant["reference"] == workload.variants["beam"].answer.sql != document["reference"]
    assert [f["name"] for f in variant["output"]] == ["window_start", "category", "average_price"]
    assert variant["dataflow"][-2:] == ["average per sliding window", "sink"]
    text = " ".join(printed(print_workload, workload).split())
    assert f"reference with semantics=beam {' '.join(variant['reference'].split())}" in text


@pytest.mark.parametrize("name", list(event_streams()))
def test_a_description_shows_everything_that_defines_an_event_stream(name):
    stream = event_streams()[name]
    text = printed(print_events, stream)
    assert stream.summary in " ".join(text.split())
    assert all(f.name in text for f in stream.fields)
    assert [f["name"] for f in describe_events(stream)["schema"]] == [f.name for f in stream.fields]


def test_a_plan_is_printed_with_units():
    plan = make_plan("ysb", rate="200k", duration="1min", warmup="10s", trigger="500ms", cores=2, runs="runs")
    text = printed(print_plan, plan)
    for part in (
        "constant(rate=200k), 200k/s",
        "10 s warm-up, 60 s measured",
        "14,000,000 in all, 12,000,000 measured",
    ):
        assert part in text
    assert "local[2], trigger 500 ms, output mode update" in text


def test_a_plan_names_an_engine_that_is_not_spark():
    plan = make_plan("ysb", engine="fake(capacity=100k)", trigger="1s")
    text = printed(print_plan, plan)
    assert "fake(capacity=100k), trigger 1 s, output mode update" in text
    assert "Spark" not in text
    assert plan["engine"] == "fake"
    assert make_plan("ysb")["engine"] == "spark"


def test_a_plan_for_a_cluster_says_what_is_decided_later():
    text = printed(print_plan, make_plan("ysb", master="yarn", max_rows_per_batch="5k"))
    assert "source one per core, shuffle one per core" in text
    assert "5k events per micro-batch" in text


def test_a_plan_of_an_online_load_says_what_is_found_on_the_way():
    text = " ".join(printed(print_plan, make_plan("ysb", load="online", rate="200k", cores=2)).split())
    assert "offline, 8,000,000 events at once; then constant arrivals at half of the rate that they reached" in text
    assert "as long as the events need, at most" in text


def test_checks_show_their_remedy_only_where_it_is_needed():
    checks = (
        Check("Java", Verdict.FAIL, "no Java was found", "install it"),
        Check("memory", Verdict.PASS, "8 GiB", ""),
    )
    text = printed(print_checks, Examination(checks))
    assert "no Java was found; install it" in text
    assert "8 GiB;" not in text
    assert text.endswith("this machine is not ready\n")
    assert printed(print_checks, Examination(checks[1:])).endswith("this machine is ready\n")


def test_a_generation_shows_its_digest_and_files():
    result = Generation("ysb", 10_000, "json", ("events/part-00000.json", "events/part-00001.json"), "ab" * 32)
    text = printed(print_generation, result)
    assert "10,000 of ysb" in text
    assert "events/part-00000.json and 1 more" in text
    assert "ab" * 32 in text


def test_verifications_show_what_differs():
    wrong = Verification(
        name="ysb",
        verdict=Verdict.FAIL,
        reasons=("1 rows missing and 0 extra of 600 expected",),
        rows_expected=600,
        rows_got=599,
        rows_missing=1,
        rows_extra=0,
        batches=6,
        sha256=None,
        stream=FiniteStream(60_000, 1000.0),
        examples={"missing": ["('a', 3)"]},
    )
    text = printed(print_verifications, Verifications((wrong,)))
    assert "ysb: 1 rows missing and 0 extra of 600 expected" in text
    assert "  missing: ('a', 3)" in text
    assert "60,000" in text
