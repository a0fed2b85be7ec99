"""The real servers: they answer, keep to loopback, and are gone afterwards."""

import base64
import ipaddress
import json
import os
import socket
import struct
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from pydantic import TypeAdapter

from streamgauge import services
from streamgauge.errors import EnvironmentNotReadyError
from streamgauge.files import cache_folder
from streamgauge.services.kafka import VERSION, cluster_id, properties
from streamgauge.services.processes import processes_of
from streamgauge.services.service import Service

from .conftest import has_ended


def require(name: str) -> None:
    """Skip where the packages of a service cannot be had, and say why; a start that fails is no reason to skip."""
    try:
        services.prepare(name)
    except EnvironmentNotReadyError as missing:
        pytest.skip(f"{name}: {missing}")


@pytest.fixture(scope="module")
def command(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Any]:
    """Call `services` as a process; a cache of its own keeps services of the developer out of this."""
    require("kafka")
    cache: Path = tmp_path_factory.mktemp("cache")
    jars = cache_folder(os.environ) / "jars" / f"kafka-{VERSION}"
    (cache / "jars").mkdir()
    (cache / "jars" / jars.name).symlink_to(jars)

    def call(*arguments: str) -> Any:
        words = [sys.executable, "-m", "streamgauge", "services", *arguments, "--json"]
        environ = os.environ | {"STREAMGAUGE_CACHE": str(cache)}
        done = subprocess.run(words, capture_output=True, text=True, timeout=300, env=environ)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return call


@pytest.fixture(scope="module")
def kafka(command: Callable[..., Any]) -> Iterator[Service]:
    """A broker that the command line brings up; whatever a test does, it goes down."""
    try:
        (found,) = command("up", "kafka")["services"]
        yield TypeAdapter(Service).validate_python(
            {**found, "recorded": found["status"], "starter": {"pid": 0, "started_s": 0.0}}
        )
    finally:
        command("down")


def listens_at(service: Service) -> set[str]:
    """Return all addresses at which processes of a service listen."""
    sockets = [found for process in processes_of(service) for found in process.net_connections(kind="inet")]
    return {found.laddr.ip for found in sockets if found.status in (psutil.CONN_LISTEN, psutil.CONN_NONE)}


def is_loopback(address: str) -> bool:
    parsed = ipaddress.ip_address(address)
    mapped = getattr(parsed, "ipv4_mapped", None)
    return (mapped or parsed).is_loopback


def brokers_known(port: int) -> set[int]:
    """Ask a broker for the cluster's members: a Metadata request, version 1, about no topics."""
    request = struct.pack(">hhih1si", 3, 1, 7, 1, b"t", 0)
    with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
        connection.sendall(struct.pack(">i", len(request)) + request)
        (length,) = struct.unpack(">i", connection.recv(4, socket.MSG_WAITALL))
        answer = connection.recv(length, socket.MSG_WAITALL)
    number, count = struct.unpack_from(">ii", answer)
    assert number == 7
    place, ports = 8, set()
    for _ in range(count):
        _, host_length = struct.unpack_from(">ih", answer, place)
        place += 6
        assert answer[place : place + host_length] == b"127.0.0.1"
        place += host_length
        its_port, rack_length = struct.unpack_from(">ih", answer, place)
        place += 6 + max(0, rack_length)
        ports.add(its_port)
    return ports


def test_a_cluster_id_is_sixteen_bytes_and_no_option():
    for _ in range(200):
        made = cluster_id()
        assert len(base64.urlsafe_b64decode(made + "==")) == 16
        assert not made.startswith("-")


def test_three_brokers_share_voters_and_copies_and_one_broker_asks_for_none(tmp_path):
    lines = properties(2, [1, 2, 3], [4, 5, 6], tmp_path).splitlines()
    assert "controller.quorum.voters=1@127.0.0.1:4,2@127.0.0.1:5,3@127.0.0.1:6" in lines
    assert "listeners=PLAINTEXT://127.0.0.1:2,CONTROLLER://127.0.0.1:5" in lines
    assert {"offsets.topic.replication.factor=3", "min.insync.replicas=2"} <= set(lines)
    alone = properties(1, [1], [4], tmp_path).splitlines()
    assert {"offsets.topic.replication.factor=1", "min.insync.replicas=1"} <= set(alone)


@pytest.mark.service
def test_one_broker_answers_as_a_cluster_of_one_on_loopback(kafka):
    port = int((kafka.address or "").rpartition(":")[2])
    assert brokers_known(port) == {port}
    assert listens_at(kafka)
    assert [address for address in listens_at(kafka) if not is_loopback(address)] == []
    assert kafka.settings == {"brokers": 1, "version": VERSION}


@pytest.mark.service
def test_records_come_back_from_the_broker(kafka):
    client = pytest.importorskip("confluent_kafka", reason="no Kafka client is installed: pip install confluent-kafka")
    admin = pytest.importorskip("confluent_kafka.admin")
    topics = admin.AdminClient({"bootstrap.servers": kafka.address})
    topics.create_topics([admin.NewTopic("t", 2)])["t"].result(20)
    producer = client.Producer({"bootstrap.servers": kafka.address})
    for number in range(100):
        producer.produce("t", str(number))
    assert producer.flush(20) == 0
    settings = {"bootstrap.servers": kafka.address, "group.id": "g", "auto.offset.reset": "earliest"}
    consumer = client.Consumer(settings)
    consumer.subscribe(["t"])
    values = [message.value() for message in consumer.consume(100, timeout=30)]
    consumer.close()
    assert sorted(values) == sorted(str(number).encode() for number in range(100))


@pytest.mark.service
def test_the_command_line_finds_shows_and_ends_the_broker(command, kafka):
    (again,) = command("up", "kafka")["services"]
    (shown,) = command("status")["services"]
    assert again["already_up"]
    assert again["address"] == shown["address"] == kafka.address
    assert (shown["status"], kafka.folder.is_dir()) == ("up", True)
    assert command("down")["ended"] == [{"name": "kafka", "folder": str(kafka.folder)}]
    assert command("status") == {"services": []}
    assert ([process.alive for process in kafka.processes], kafka.folder.exists()) == ([False], False)


@pytest.mark.service
def test_three_brokers_find_each_other_and_end_together(tmp_path):
    require("kafka")
    with services.running("kafka", brokers=3, folder=tmp_path) as service:
        ports = {int(address.rpartition(":")[2]) for address in (service.address or "").split(",")}
        assert len(ports) == 3
        assert all(brokers_known(port) == ports for port in ports)
        assert [address for address in listens_at(service) if not is_loopback(address)] == []
    assert [process for process in service.processes if process.alive] == []
    assert list(tmp_path.iterdir()) == []


@pytest.mark.service
def test_redis_keeps_a_value_on_loopback():
    require("redis")
    with services.running("redis") as service:
        host, _, port = (service.address or "").rpartition(":")
        with socket.create_connection((host, int(port)), timeout=5) as connection:
            connection.sendall(b"SET a 5\r\nGET a\r\n")
            answer = b""
            while not answer.endswith(b"5\r\n"):
                answer += connection.recv(64)
        assert answer == b"+OK\r\n$1\r\n5\r\n"
        assert listens_at(service) == {"127.0.0.1"}
    assert service.status == "broken"


@pytest.mark.service
def test_a_spark_cluster_of_two_workers_runs_a_job_and_leaves_no_executor(tmp_path):
    require("spark")
    code = (
        "from pyspark import SparkContext\n"
        "context = SparkContext()\n"
        "print(context.parallelize(range(2), 1).map(lambda n: (n, __import__('sys').prefix)).collect())\n"
        "context.stop()\n"
    )
    conf = {
        "spark.ui.enabled": "false",
        "spark.cores.max": "1",
        "spark.executor.memory": "450m",
        "spark.executor.extraJavaOptions": "-XX:TieredStopAtLevel=1",
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1",
    }
    options = " ".join(f"--conf {name}={value}" for name, value in conf.items())
    with services.running("spark", workers=2, cores=1, memory="512m", folder=tmp_path) as service:
        assert [process.name for process in service.processes] == ["master", "worker-1", "worker-2"]
        submit = f"--master {service.address} {options} pyspark-shell"
        # The settings of the cluster hold the secret that it asks for.
        environ = os.environ | {"SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_SUBMIT_ARGS": submit}
        environ["SPARK_CONF_DIR"] = str(service.folder / "conf")
        command = [sys.executable, "-c", code]
        done = subprocess.run(command, capture_output=True, text=True, env=environ, timeout=300)
        assert done.returncode == 0, done.stderr[-2000:]
        assert done.stdout.strip() == str([(n, sys.prefix) for n in range(2)]), "executors use the Python of this tool"
        assert [address for address in listens_at(service) if not is_loopback(address)] == []
        everything = processes_of(service)
    assert [process for process in everything if not has_ended(process)] == []
    assert list(tmp_path.iterdir()) == []
