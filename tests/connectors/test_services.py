"""The real thing: a broker with and without login and encryption, a Redis, Spark's connector, and runs through them."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from streamgauge import services
from streamgauge.connectors.kafka.client import Broker
from streamgauge.connectors.kafka.connector import find_connector
from streamgauge.connectors.kafka.delivery import LoadOrder
from streamgauge.connectors.kafka.load import Announcement, last_announcement
from streamgauge.connectors.kafka.options import KafkaPlace
from streamgauge.connectors.kafka.records import KEY, record_fields
from streamgauge.engine.spark.engine import OpenSpark
from streamgauge.engine.spark.session import Session, SessionSettings, open_session
from streamgauge.errors import EnvironmentNotReadyError, RunFailedError
from streamgauge.events.ysb import EVENTS
from streamgauge.machine.java import find_java
from streamgauge.running.lifecycle import run
from streamgauge.services.kafka import properties
from streamgauge.services.ports import LOOPBACK, free_ports
from streamgauge.workloads.ysb.redis_layout import connect_redis, list_id, prepare, read_windows, window_id, write_rows
from streamgauge.workloads.ysb.ysb import YsbParameters

pytestmark = pytest.mark.service
SECRET = "hunter2-hunter2"
NAMES = [field.name for field in record_fields(EVENTS)]
BROKEN = [
    b"no JSON",
    b'{"ad_id": "x"}',
    b"\xff",
    json.dumps(dict.fromkeys(NAMES, "9" * 19)).encode(),
    json.dumps(dict.fromkeys(NAMES, "x")).replace('"', "'").encode(),
]
QUICK = {"rate": "2k", "warmup": "1s", "duration": "3s", "drain": "90s", "verify": False}


@dataclass(frozen=True)
class Servers:
    kafka: str
    secured: str
    certificate: Path
    redis: str
    session: Session
    runs: Path


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Servers]:
    """One broker that also listens with login and encryption, one Redis, one Spark session with the connector."""
    try:
        services.prepare("kafka")
        services.prepare("redis")
        connector = find_connector(lambda _: None)
    except EnvironmentNotReadyError as missing:
        pytest.skip(str(missing))
    (secured,) = free_ports(1)
    folder = tmp_path_factory.mktemp("kafka")
    keys, certificate = folder / "broker.p12", folder / "broker.pem"
    store = ("-alias", "broker", "-keystore", str(keys), "-storepass", SECRET)
    name = ("-dname", f"CN={LOOPBACK}", "-ext", f"SAN=ip:{LOOPBACK}")
    keytool("-genkeypair", *store, *name, "-keyalg", "RSA", "-validity", "2")
    keytool("-exportcert", *store, "-rfc", "-file", str(certificate))

    def with_login(node: int, ports: Any, controllers: Any, data: Path) -> str:
        login = "org.apache.kafka.common.security.plain.PlainLoginModule required"
        users = f'username="admin" password="{SECRET}" user_admin="{SECRET}";'
        lines = properties(node, ports, controllers, data)
        # Both what it listens to and what it tells clients.
        lines = lines.replace("listeners=PLAINTEXT", f"listeners=LOGIN://{LOOPBACK}:{secured},PLAINTEXT")
        lines = lines.replace("map=CONTROLLER", "map=LOGIN:SASL_SSL,CONTROLLER", 1)
        lines += f"sasl.enabled.mechanisms=PLAIN\nlistener.name.login.plain.sasl.jaas.config={login} {users}\n"
        return lines + f"ssl.keystore.location={keys}\nssl.keystore.password={SECRET}\n"

    patch = pytest.MonkeyPatch()
    patch.setattr("streamgauge.services.kafka.properties", with_login)
    try:
        with (
            services.running("kafka", folder=folder) as kafka,
            services.running("redis", folder=folder) as redis,
            open_session(
                SessionSettings("local[2]", connector.conf({})), scratch=folder / "spark", log=folder / "spark.log"
            ) as session,
        ):
            runs = folder / "runs"
            yield Servers(str(kafka.address), f"{LOOPBACK}:{secured}", certificate, str(redis.address), session, runs)
    finally:
        patch.undo()


def await_load(servers: Servers, topic: str, feeder: "subprocess.Popen[str]") -> None:
    broker = Broker(KafkaPlace(servers.kafka))
    deadline_s = time.monotonic() + 60
    while last_announcement(broker, topic) is None:
        assert time.monotonic() < deadline_s
        assert feeder.poll() is None, feeder.communicate()
        time.sleep(0.1)


def keytool(*words: str) -> None:
    home, _ = find_java(os.environ)
    subprocess.run([home / "bin" / "keytool", *words], check=True, capture_output=True)


def produce(servers: Servers, topic: str, values: list[bytes]) -> None:
    producer = Broker(KafkaPlace(servers.kafka)).producer()
    for value in values:
        producer.produce(topic, value)
    assert producer.flush(20) == 0


def command(*words: str) -> "subprocess.Popen[str]":
    call = [sys.executable, "-m", "streamgauge", *words]
    return subprocess.Popen(call, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


PROTOTYPE = """
pipeline:
  tasks:
    - {{name: clicks, kafka: {{server: "{server}", topic: proto}}, data: {{size: 8, values: 50}}, flow: {{rate: 2000}}}}
    - {{name: work, parents: [clicks], parallelism: 2, routing: hash, processing: 1}}
"""


def test_a_prototype_reads_the_topic_that_its_file_names(servers, tmp_path):
    file = tmp_path / "clicks.yaml"
    file.write_text(PROTOTYPE.format(server=servers.kafka))
    asked = {"warmup": "1s", "duration": "3s", "drain": "90s", "verify": False}
    found = run(str(file), runs=servers.runs, session=OpenSpark(servers.session), **asked)
    configuration = found.stored().document["configuration"]
    assert [configuration[name] for name in ("source", "topic", "rate_per_s")] == ["kafka", "proto", 2000.0]
    assert (found.summary["records"], found.summary["events_processed"]) == (8_000, 8_000)
    assert found.summary["malformed_records"] == 0


def test_counts_in_redis_have_yahoos_layout_and_writing_them_again_changes_nothing(servers):
    client = connect_redis(servers.redis)
    client.set("foreign", "stays")
    prepare(client, YsbParameters(campaigns=2, ads_per_campaign=1))
    campaigns = sorted(name.decode() for name in client.smembers("campaigns"))
    rows = [(campaigns[0], 10_000, 3), (campaigns[0], 20_000, 4), (campaigns[1], 10_000, 5)]
    for _ in range(2):
        write_rows(servers.redis, rows)
    assert client.hget(campaigns[0], "10000").decode() == window_id(campaigns[0], 10_000)
    assert client.hget(campaigns[0], "windows").decode() == list_id(campaigns[0])
    assert client.lrange(list_id(campaigns[0]), 0, -1) == [b"20000", b"10000"]
    found = client.hgetall(window_id(campaigns[1], 10_000))
    assert found[b"seen_count"] == b"5"
    assert abs(float(found[b"time_updated"]) / 1000 - time.time()) < 60
    read = read_windows(client).select(["campaign_id", "window_start_ms", "views"]).to_pylist()
    assert sorted(tuple(row.values()) for row in read) == sorted(rows)
    prepare(client, YsbParameters(campaigns=1, ads_per_campaign=1))
    assert read_windows(client).num_rows == 0
    assert client.get("foreign") == b"stays"


def test_ysb_goes_through_kafka_into_redis_and_the_recount_agrees(servers, monkeypatch):
    monkeypatch.setenv("STREAMGAUGE_TEST_SECRET", SECRET)
    Broker(KafkaPlace(servers.kafka)).make_topic("ysb", 2)
    found = run(
        "ysb",
        source="kafka",
        sink="redis",
        kafka=servers.kafka,
        redis=servers.redis,
        # Of no use without TLS, but it must not be seen anywhere.
        kafka_options={"ssl.key.password": "env:STREAMGAUGE_TEST_SECRET"},
        runs=servers.runs,
        session=OpenSpark(servers.session),
        **QUICK,
    ).summary
    assert found["recount"]["verdict"] == "pass", found["recount"]
    assert (found["recount"]["events"], found["recount"]["events_lost"], found["records"]) == (8_000, 0, 8_000)
    assert found["events_unprocessed"] == 0
    assert found["delivery"]["sent"] == 8_000
    assert found["end_to_end_latency_s"]["count"] > 0
    assert found["partitions_apart_s"] < 1
    assert set(found["yahoo_latency_s"]) >= {"count", "p50"}
    # How many micro-batches ended in time is a matter of the machine.
    assert [reason for reason in found["reasons"] if "holes" in reason or "match" in reason] == []
    stored = [path for path in Path(found["run_dir"]).rglob("*") if path.is_file()]
    assert [path for path in stored if SECRET.encode() in path.read_bytes()] == []
    logs = [*servers.session.scratch.rglob("event-log/*"), servers.session.log]
    assert [path for path in logs if path.is_file() and SECRET.encode() in path.read_bytes()] == []


def test_malformed_records_are_counted_and_kept_aside_and_the_results_go_to_a_topic(servers):
    broker = Broker(KafkaPlace(servers.kafka))
    broker.make_topic("dirty", 2)
    feeder = command(
        "load", "ysb", "--kafka", servers.kafka, "--topic", "dirty", "--rate", "2k", "--duration", "12s", "-q"
    )
    try:
        await_load(servers, "dirty", feeder)
        produce(servers, "dirty", BROKEN)
        found = run(
            "ysb",
            source="kafka",
            sink="kafka",
            kafka=servers.kafka,
            topic="dirty",
            external_load=True,
            runs=servers.runs,
            session=OpenSpark(servers.session),
            **QUICK | {"duration": "30s"},
        )
        assert feeder.wait(60) in (0, 7)
    finally:
        feeder.kill()
        feeder.communicate()
    summary = found.summary
    assert any("follows the load" in warning for warning in summary["warnings"])
    assert (summary["malformed_records"], summary["records"], summary["events_processed"]) == (5, 24_005, 24_000)
    assert sorted(found.to_pandas("malformed")["raw"]) == sorted(BROKEN)
    assert summary["recount"]["verdict"] == "pass", summary["recount"]
    assert summary["recount"]["rows_expected"] > 0
    assert summary["result_topic"] == "dirty.results"


def test_a_load_that_ends_before_the_run_is_continued_as_if_it_had_not(servers):
    place = ("--topic", "continued", "--kafka", servers.kafka)
    feeder = command("load", "ysb", *place, "--rate", "2k", "--duration", "5s", "--quiet")
    try:
        await_load(servers, "continued", feeder)
        found = run(
            "ysb",
            source="kafka",
            sink="redis",
            kafka=servers.kafka,
            redis=servers.redis,
            topic="continued",
            runs=servers.runs,
            session=OpenSpark(servers.session),
            **QUICK | {"duration": "6s"},
        ).summary
    finally:
        feeder.kill()
        feeder.communicate()
    assert any("went on with it by the same law" in warning for warning in found["warnings"])
    assert found["events_processed"] == found["records"] == found["events"] > 2_000 * 6
    assert (found["recount"]["verdict"], found["recount"]["events_lost"]) == ("pass", 0), found["recount"]
    assert found["delivery"]["sent"] == found["events"]


def test_binary_records_of_nexmark_give_the_same_answer(servers):
    found = run(
        "nexmark-q2",
        source="kafka",
        sink="kafka",
        record_format="binary",
        kafka=servers.kafka,
        runs=servers.runs,
        session=OpenSpark(servers.session),
        **QUICK,
    ).summary
    assert (found["records"], found["malformed_records"]) == (8_000, 0)
    assert found["recount"]["verdict"] == "pass", found["recount"]


def test_a_topic_with_other_records_ends_the_run_with_their_schema(servers):
    broker = Broker(KafkaPlace(servers.kafka))
    broker.make_topic("other", 1)
    feeder = command(
        "load", "hibench-identity", "--kafka", servers.kafka, "--topic", "other", "--rate", "1k", "--duration", "20s",
        "-q",
    )  # fmt: skip
    try:
        deadline_s = time.monotonic() + 60
        while last_announcement(broker, "other") is None:
            assert time.monotonic() < deadline_s
            if feeder.poll() is not None:
                pytest.fail(feeder.stderr.read())
            time.sleep(0.1)
        with pytest.raises(RunFailedError, match="ysb reads ysb"):
            run(
                "ysb",
                source="kafka",
                kafka=servers.kafka,
                topic="other",
                runs=servers.runs,
                session=OpenSpark(servers.session),
            )
        feeder.send_signal(signal.SIGINT)
        assert feeder.wait(30) == 130
    finally:
        feeder.kill()
        feeder.communicate()
    ended = last_announcement(broker, "other")
    assert ended is not None
    assert ended.closed_us is not None
    assert ended.closed_us < ended.end_us


def test_a_load_that_begins_while_the_run_prepares_its_own_ends_the_run(servers, monkeypatch):
    order = LoadOrder(servers.kafka, "taken", 2, "ysb", "ysb", {}, 1, 100.0, "constant", 60.0)
    found = iter([None, Announcement("other", order, 0, {0: 0, 1: 0})])
    monkeypatch.setattr("streamgauge.running.feeds.kafka.running_load", lambda *_: next(found))
    with pytest.raises(RunFailedError, match='the load other has begun to fill the topic "taken"'):
        run(
            "ysb",
            source="kafka",
            kafka=servers.kafka,
            topic="taken",
            runs=servers.runs,
            session=OpenSpark(servers.session),
            **QUICK,
        )
    assert sum(Broker(KafkaPlace(servers.kafka)).ends("taken", 2).values()) == 0


def test_keys_of_records_tell_the_numbers_of_the_events(servers):
    done = command(
        "load", "ysb", "--kafka", servers.kafka, "--topic", "numbered", "--rate", "5k", "--duration", "1s",
        "--partitions", "3", "--processes", "2", "--json", "-q",
    )  # fmt: skip
    out, err = done.communicate(timeout=60)
    assert done.returncode in (0, 7), err
    assert json.loads(out)["events"] == 5_000
    from streamgauge.connectors.kafka.reading import read_records

    broker = Broker(KafkaPlace(servers.kafka))
    ends = broker.ends("numbered", 3)
    keys = [key for keys, _ in read_records(broker, "numbered", dict.fromkeys(range(3), 0), ends) for key in keys]
    assert sorted(KEY.unpack(key)[0] for key in keys if key is not None) == list(range(5_000))


def test_a_missing_topic_a_refused_login_a_foreign_certificate_and_a_right_login_over_tls(servers, monkeypatch):
    with pytest.raises(RunFailedError, match='there is no topic "nowhere"'):
        run("ysb", source="kafka", kafka=servers.kafka, topic="nowhere", external_load=True, runs=servers.runs)
    login = {
        "security.protocol": "SASL_SSL",
        "ssl.ca.location": str(servers.certificate),
        "sasl.mechanism": "PLAIN",
        "sasl.username": "admin",
        "sasl.password": "env:STREAMGAUGE_TEST_SECRET",
    }
    monkeypatch.setenv("STREAMGAUGE_TEST_SECRET", "wrong")
    with pytest.raises(EnvironmentNotReadyError, match="refuses the connection") as caught:
        Broker(KafkaPlace(servers.secured, login), deadline_s=5).topics()
    assert caught.value.exit_code == 4
    monkeypatch.setenv("STREAMGAUGE_TEST_SECRET", SECRET)
    without = {name: value for name, value in login.items() if name != "ssl.ca.location"}
    with pytest.raises(EnvironmentNotReadyError, match="refuses the connection"):
        Broker(KafkaPlace(servers.secured, without), deadline_s=5).topics()
    assert "ysb" in Broker(KafkaPlace(servers.secured, login)).topics()
    found = run(
        "ysb",
        source="kafka",
        kafka=servers.secured,
        kafka_options=login,
        runs=servers.runs,
        session=OpenSpark(servers.session),
        **QUICK | {"duration": "1s"},
    ).summary
    assert found["records"] == 4_000
    places = [Path(found["run_dir"]), servers.session.scratch]
    stored = [path for place in places for path in place.rglob("*") if path.is_file()]
    seen = [path for path in [*stored, servers.session.log] if SECRET.encode() in path.read_bytes()]
    assert seen == []


def test_no_server_is_named_and_none_is_up(monkeypatch, tmp_path):
    monkeypatch.setenv("STREAMGAUGE_CACHE", str(tmp_path))
    for given in ({"source": "kafka"}, {"sink": "redis"}, {"sink": "kafka"}):
        with pytest.raises(EnvironmentNotReadyError, match="is up on this machine") as caught:
            run("ysb", runs=tmp_path / "runs", **given)
        assert "services up" in str(caught.value.remedy)
    assert os.listdir(tmp_path / "runs")  # noqa: PTH208
