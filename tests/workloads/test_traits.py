"""What workloads declare about their dataflows, and what follows from it."""

import ast
import inspect
from importlib import import_module

import pytest

from prototype.applications import pipeline, source
from streamgauge.prototype.graph.application import PrototypeTask
from streamgauge.prototype.workload import application_workload
from streamgauge.workloads import catalogue
from streamgauge.workloads.modes import refusal
from streamgauge.workloads.traits import NO_STATE, Mode, Operator, Retention, Traits, bounded, endless
from streamgauge.workloads.workload import Workload

CATALOGUE = {**catalogue(), **{f"{w.name} {n}": v for w in catalogue().values() for n, v in w.variants.items()}}


@pytest.mark.parametrize("name", CATALOGUE)
def test_a_workload_declares_its_steps_and_its_state(name):
    traits = CATALOGUE[name].traits
    assert traits.steps
    assert not traits.has(Operator.UNKNOWN)
    assert traits.state.retention is not Retention.UNKNOWN
    assert (traits.state == NO_STATE) == (traits.state.text == "none")


def methods_called(workload: Workload) -> set[str]:
    """Return the names of all methods that the module of a dataflow calls."""
    tree = ast.parse(inspect.getsource(import_module(workload.dataflow.__module__)))
    return {node.func.attr for node in ast.walk(tree) if isinstance(node, ast.Call) and hasattr(node.func, "attr")}


@pytest.mark.parametrize("name", [name for name, workload in CATALOGUE.items() if not workload.traits.is_stateful])
def test_a_dataflow_that_declares_no_state_keeps_none(name):
    stateful = {"groupBy", "withWatermark", "dropDuplicates", "transformWithState", "applyInPandasWithState"}
    assert methods_called(CATALOGUE[name]).isdisjoint(stateful)


def test_a_step_has_words_of_its_own_or_those_of_its_kind():
    traits = Traits((Operator.FILTER.step(), Operator.MAP.step("project"), Operator.STREAM_JOIN.step()))
    assert traits.operators == "filter, project, stream-stream join"
    assert traits.has(Operator.STREAM_JOIN)
    assert not traits.has(Operator.TABLE_JOIN)


def test_state_and_shuffles_move_rows_between_tasks():
    assert not Traits((Operator.MAP.step(),)).needs_shuffle
    assert Traits((Operator.SHUFFLE.step(),)).needs_shuffle
    assert Traits((Operator.MAP.step(),), bounded("a row per key")).needs_shuffle
    assert Traits((Operator.MAP.step(),), endless("a row per key")).is_stateful


def test_words_decide_nothing():
    named = application_workload(
        pipeline(source(), PrototypeTask("stream-stream join in Python", 2, ("source",), "none", 0.1)), name="x.yaml"
    )
    assert not named.traits.needs_shuffle
    assert "do not carry the times" in str(refusal(named, named.parameters(), Mode.REAL_TIME))
