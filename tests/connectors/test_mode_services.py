"""Execution modes with a real broker and Spark's connector."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from streamgauge import services
from streamgauge.clock import SystemClock
from streamgauge.connectors.kafka.client import Broker
from streamgauge.connectors.kafka.connector import find_connector
from streamgauge.connectors.kafka.delivery import LoadOrder
from streamgauge.connectors.kafka.load import Load
from streamgauge.connectors.kafka.options import KafkaPlace
from streamgauge.connectors.kafka.reading import read_messages
from streamgauge.connectors.kafka.records import KEY
from streamgauge.engine.spark.engine import OpenSpark
from streamgauge.engine.spark.session import Session, SessionSettings, open_session
from streamgauge.errors import EnvironmentNotReadyError, InvalidExperimentError
from streamgauge.running.lifecycle import Run, run

pytestmark = pytest.mark.service
QUICK = {"rate": "500", "warmup": "1s", "duration": "4s", "drain": "60s", "verify": False}


@dataclass(frozen=True)
class Servers:
    kafka: str
    session: Session
    runs: Path

    def run(self, workload: str, mode: str, **further: Any) -> Run:
        return run(
            workload,
            mode=mode,
            source="kafka",
            kafka=self.kafka,
            topic=f"{workload}-{mode}",
            runs=self.runs,
            session=OpenSpark(self.session),
            **QUICK | further,
        )


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Servers]:
    """One broker and one Spark session with the connector and slots for all tasks of both stages."""
    try:
        services.prepare("kafka")
        connector = find_connector(lambda _: None)
    except EnvironmentNotReadyError as missing:
        pytest.skip(str(missing))
    folder = tmp_path_factory.mktemp("modes")
    settings = SessionSettings("local[4]", connector.conf({}))
    with (
        services.running("kafka", folder=folder) as kafka,
        open_session(settings, scratch=folder / "spark", log=folder / "spark.log") as session,
    ):
        yield Servers(str(kafka.address), session, folder / "runs")


def test_the_time_of_a_record_is_the_intended_time_of_its_event(servers):
    broker = Broker(KafkaPlace(servers.kafka))
    order = LoadOrder(
        address=servers.kafka,
        topic="stamped",
        partitions=broker.make_topic("stamped", 1),
        workload="hibench-identity",
        stream="hibench",
        parameters={},
        seed=1,
        rate_per_s=1000.0,
        arrivals="constant",
        load_s=1.0,
    )
    load = Load(order, processes=1, clock=SystemClock())
    try:
        origin_us = load.begin()
        load.close_at(origin_us + 1_000_000)
        assert load.finish(origin_us + 1_000_000).sent == 1000
    finally:
        load.end()
    messages = [m for some in read_messages(broker, "stamped", {0: 0}, {0: 1000}) for m in some]
    assert [m.timestamp()[1] for m in messages] == [KEY.unpack(m.key())[1] // 1000 for m in messages]


@pytest.mark.parametrize(
    ("workload", "mode"),
    [
        ("hibench-identity", "real-time"),
        ("hibench-wordcount", "real-time"),
        ("hibench-identity", "continuous"),
    ],
)
def test_results_without_micro_batches_are_timed_one_by_one_and_recounted(servers, workload, mode):
    found = servers.run(workload, mode, source_partitions=2, shuffle_partitions=2)
    summary = found.summary
    assert summary["recount"]["verdict"] == "pass", summary["recount"]
    assert (summary["recount"]["events"], summary["events_unprocessed"], summary["records"]) == (2500, 0, 2500)
    assert summary["results"] >= 2500
    assert 1500 < summary["end_to_end_latency_s"]["count"] <= 2000
    assert summary["end_to_end_latency_s"]["p50"] > 0
    assert summary["batches"] is None
    assert sum(found.to_pandas("latency")["count"]) == summary["end_to_end_latency_s"]["count"]
    assert not [f for f in summary["findings"] if f["question"] == "drained" and f["verdict"] != "pass"]


def test_micro_batches_are_timed_by_the_same_rule_when_asked(servers):
    summary = servers.run("hibench-identity", "micro-batch-async", sink="kafka", timing="record").summary
    assert (summary["mode"], summary["latency_until"], summary["results"]) == ("micro-batch-async", "record", 2500)
    assert summary["batches"] > 0
    assert summary["recount"]["verdict"] == "pass", summary["recount"]
    # Results are in the topic before their micro-batch is committed, so no commit is needed for a latency.
    assert 1500 < summary["end_to_end_latency_s"]["count"] <= 2000


def test_what_spark_refuses_when_the_query_starts_is_told_like_what_is_known_before(servers):
    with pytest.raises(
        InvalidExperimentError, match=r"Spark cannot run this in real-time mode: .*concurrent task slots"
    ):
        servers.run("hibench-repartition", "real-time", source_partitions=1, shuffle_partitions=1)
