"""How engines are found, and what happens with one that breaks its protocol."""

import re
import sys
from contextlib import nullcontext
from types import ModuleType, SimpleNamespace

import pytest

from streamgauge.engine import engine
from streamgauge.engine.engine import Engine, Query, Session, conforming, find_engine, parse_engine
from streamgauge.engine.fake import FakeEngine, FakeQuery, FakeSession
from streamgauge.engine.spark.engine import OpenSpark, SparkEngine
from streamgauge.engine.spark.query import Query as SparkQuery
from streamgauge.errors import EnvironmentNotReadyError, InvalidExperimentError, RunFailedError, UsageError
from streamgauge.experiments.verify_all import verify
from streamgauge.faults.fault import fault
from streamgauge.running import lifecycle
from streamgauge.running.lifecycle import run
from streamgauge.settings.run_settings import parse_settings
from streamgauge.store import open_run
from streamgauge.verdict import Verdict


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("spark", ("spark", {})),
        (" fake ( capacity = 200k , noise=5% ) ", ("fake", {"capacity": "200k", "noise": "5%"})),
        ("fake()", ("fake", {})),
    ],
)
def test_an_engine_is_written_as_a_name_and_options(text, found):
    assert parse_engine(text) == found


@pytest.mark.parametrize("text", ["", "(", "fake(", "fake(capacity)", "fake(capacity=)", "fake(=1)", "fake)", "../x"])
def test_what_is_not_an_engine_is_refused_with_an_example(text):
    with pytest.raises(UsageError, match="is not an engine") as caught:
        find_engine(text)
    assert "fake(capacity=200k" in caught.value.remedy


@pytest.mark.parametrize(("text", "said"), [("fkae", "did you mean `fake`"), ("engine", "known names: fake, spark")])
def test_an_unknown_engine_names_the_known_ones(text, said):
    with pytest.raises(UsageError, match=said):
        find_engine(text)


@pytest.mark.parametrize(
    "text", ["fake(speed=1)", "fake(capacity=0)", "fake(noise=100%)", "fake(noise=x)", "spark(cores=2)"]
)
def test_wrong_options_are_mistakes_of_the_user(text):
    with pytest.raises(UsageError) as caught:
        find_engine(text)
    assert caught.value.remedy


def test_options_of_the_fake_engine():
    assert find_engine("fake") == FakeEngine(1e6, 0.05)
    assert find_engine("fake(capacity=200k, noise=0%)") == FakeEngine(200_000.0, 0.0)


def test_spark_is_found_and_runs_by_the_clock_of_the_machine():
    found = find_engine("spark")
    assert (found.name, found.is_rehearsal) == ("spark", False)
    found.refuse(parse_settings(source="kafka"))


def plugged(monkeypatch, made):
    module = ModuleType("streamgauge.engine.planted")
    module.__spec__ = SimpleNamespace(name="streamgauge.engine.planted")
    module.ENGINE = made
    monkeypatch.setitem(sys.modules, "streamgauge.engine.planted", module)


def test_an_engine_comes_in_as_one_module(monkeypatch):
    plugged(monkeypatch, lambda options: FakeEngine(name=options["as"]))
    assert find_engine("planted(as=other)").name == "other"


def test_an_engine_comes_in_as_an_entry_point(monkeypatch):
    entry = SimpleNamespace(name="flow", load=lambda: lambda _options: FakeEngine(name="flow"))
    monkeypatch.setattr(engine, "entry_points", lambda group: [entry] if group == "streamgauge.engines" else [])
    assert find_engine("flow").name == "flow"
    with pytest.raises(UsageError, match="did you mean `flow`"):
        find_engine("flwo")


def fails(_options):
    raise ZeroDivisionError("planted")


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (42, "its ENGINE is a int that cannot be called"),
        (fails, "ZeroDivisionError: planted"),
        (lambda _: object(), "its Engine lacks clock, is_rehearsal, name, open, refuse, title"),
        (
            lambda _: SimpleNamespace(name="x", title="x", is_rehearsal=False, clock=1, open=1),
            "its Engine lacks refuse",
        ),
    ],
)
def test_an_engine_that_breaks_its_protocol_is_named_with_what_is_missing(monkeypatch, made, said):
    plugged(monkeypatch, made)
    with pytest.raises(EnvironmentNotReadyError, match=re.escape(said)) as caught:
        find_engine("planted")
    assert caught.value.exit_code == 4
    assert caught.value.where == "--engine"


def test_a_module_that_cannot_be_imported_is_a_broken_engine(monkeypatch):
    entry = SimpleNamespace(name="flow", load=lambda: (_ for _ in ()).throw(ImportError("no flow here")))
    monkeypatch.setattr(engine, "entry_points", lambda **_: [entry])
    with pytest.raises(EnvironmentNotReadyError, match="ImportError: no flow here"):
        find_engine("flow")


class BrokenSession(FakeSession):
    def start(self, order, receive):  # noqa: ARG002
        raise ZeroDivisionError("planted")


class BrokenEngine(FakeEngine):
    def open(self, settings, *, scratch, log, clock, measured=True):  # noqa: ARG002
        return nullcontext(BrokenSession(self, 1, scratch, clock))


def test_an_engine_that_raises_in_the_middle_of_a_run_fails_the_run_by_name(monkeypatch, tmp_path):
    plugged(monkeypatch, lambda _: BrokenEngine(name="planted"))
    said = re.escape("the engine planted failed with ZeroDivisionError: planted")
    with pytest.raises(RunFailedError, match=said) as caught:
        run("ysb", engine="planted", duration="5s", runs=tmp_path)
    assert caught.value.exit_code == 5
    assert f"{__file__}:" in caught.value.where
    assert open_run(tmp_path, caught.value.run_id).status == "failed"


def test_a_bug_of_ours_under_a_plugged_in_engine_stays_a_bug(monkeypatch, tmp_path):
    class Other(FakeEngine):
        pass

    plugged(monkeypatch, lambda _: Other(name="planted"))
    monkeypatch.setattr(Other, "__module__", "other_package")
    monkeypatch.setattr(lifecycle, "start_query", fails)
    with pytest.raises(ZeroDivisionError):
        run("ysb", engine="planted", duration="5s", runs=tmp_path)


def test_an_engine_of_ours_keeps_the_traceback_of_its_bugs(monkeypatch, tmp_path):
    monkeypatch.setattr(FakeSession, "start", BrokenSession.start)
    with pytest.raises(ZeroDivisionError):
        run("ysb", engine="fake", duration="5s", runs=tmp_path)


@pytest.mark.parametrize(
    ("made", "protocol"),
    [
        (SparkEngine(), Engine), (FakeEngine(), Engine), (OpenSpark(None), Session),
        (FakeSession(FakeEngine(), 1, None, None), Session),
    ],
)  # fmt: skip
def test_our_own_engines_keep_the_protocol(made, protocol):
    assert conforming(made, protocol, "own") is made


@pytest.mark.parametrize("made", [SparkQuery, FakeQuery])
def test_our_own_queries_keep_the_protocol(made):
    members = {name for name in vars(Query) if not name.startswith("_")}
    # The output mode is known when a query has started.
    assert members - set(dir(made)) == {"output_mode"}


def test_a_rehearsal_is_not_verified_and_never_right():
    (found,) = verify(["ysb"], engine="fake").workloads
    assert (found.verdict, found.reasons) == (Verdict.UNKNOWN, ("not verified: a rehearsal computes no answer",))


def test_faults_cannot_be_rehearsed(tmp_path):
    with pytest.raises(InvalidExperimentError, match="has no processes to kill"):
        fault("ysb", engine="fake", runs=tmp_path)
