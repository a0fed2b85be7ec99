import subprocess
import sys
from collections import Counter
from importlib import import_module

import pytest

from streamgauge.errors import UsageError
from streamgauge.events import event_streams
from streamgauge.lookup import find_workload, find_workloads
from streamgauge.running.verify import default_stream, expected_answers
from streamgauge.workloads import MODULES, catalogue, family_names
from streamgauge.workloads.parameters import describe_parameters

WORKLOADS = list(catalogue().values())


@pytest.fixture(params=WORKLOADS, ids=lambda workload: workload.name)
def workload(request):
    return request.param


def test_the_catalogue_holds_five_families():
    assert Counter(workload.family for workload in WORKLOADS) == {
        "ysb": 1,
        "hibench": 4,
        "nexmark": 24,
        "streambench": 4,
        "operators": 11,
    }
    assert [w.name for w in find_workloads("nexmark")] == [f"nexmark-q{number}" for number in range(24)]


def test_every_workload_says_what_it_asks_and_does(workload):
    assert catalogue()[workload.name] is workload
    assert workload.question.endswith("?")
    assert workload.traits.operators
    assert workload.traits.state.text
    assert workload.differences
    assert workload.events is event_streams()[workload.events.name]


def test_every_workload_has_a_reference_in_sql_or_in_numpy(workload):
    if workload.answer.function is not None:
        assert workload.answer.reference is None
        assert workload.answer.text
        return
    assert workload.answer.reference.suffix == ".sql"
    assert "FROM events" in workload.answer.sql
    assert workload.answer.sql.startswith("--"), "a reference says in words what it computes"


def test_every_workload_has_an_output_schema_with_meanings(workload):
    names = [f.name for f in workload.output]
    assert len(set(names)) == len(names) > 0
    assert all(f.meaning for f in workload.output)
    assert set(workload.answer.keys) <= set(names)
    if workload.window is not None:
        assert workload.window(workload.parameters()).column in names


def test_the_last_row_of_a_key_is_defined_wherever_rows_are_updated(workload):
    if workload.output_mode(workload.parameters()) == "update":
        assert workload.answer.keys


def test_windows_are_closed_by_events_after_the_end(workload):
    """Windows without a column in the answer, and what closes by other times, are closed all the same."""
    assert workload.answer.closing_events > 0 or workload.window is None


def test_every_parameter_has_a_description_a_domain_and_a_default_inside_it(workload):
    described = describe_parameters(workload.parameters)
    assert described
    for parameter in described:
        assert parameter.effect
        assert parameter.domain not in ("", "number", "whole number"), parameter.name
    workload.parameters(**{p.name: p.default for p in described})


def test_every_workload_has_a_stored_answer_of_its_default_stream(workload):
    stored, stream = expected_answers()[workload.name], default_stream(workload)
    assert (stored["events"], stored["rate_per_s"], stored["seed"]) == (stream.events, stream.rate_per_s, stream.seed)


def test_there_is_no_stored_answer_without_a_workload():
    assert set(expected_answers()) == set(catalogue())


@pytest.mark.parametrize("name", MODULES)
def test_a_workload_is_in_the_module_that_the_table_names(name):
    workload = import_module(f"streamgauge.workloads.{MODULES[name]}").WORKLOAD
    assert workload.name == name
    assert name in family_names(workload.family)


def test_one_workload_is_found_without_the_others():
    found = (
        "import sys; from streamgauge.lookup import find_workload; find_workload('nexmark-q5');"
        "print([name for name in sys.modules if '.nexmark.q' in name and 'query' not in name])"
    )
    printed = subprocess.run([sys.executable, "-c", found], capture_output=True, text=True, check=True).stdout
    assert printed.strip() == "['streamgauge.workloads.nexmark.q5']"


def test_a_workload_is_found_by_its_name_and_a_family_by_its_own():
    assert find_workload("ysb").name == "ysb"
    assert [w.name for w in find_workloads("ysb")] == ["ysb"]
    assert {w.family for w in find_workloads("hibench")} == {"hibench"}
    assert len(find_workloads("hibench")) == 4


@pytest.mark.parametrize("find", [find_workload, find_workloads])
def test_an_unknown_workload_gets_the_closest_name(find):
    with pytest.raises(UsageError) as caught:
        find("ybs")
    assert caught.value.what == 'unknown workload "ybs"'
    assert caught.value.remedy == "did you mean `ysb`?"
