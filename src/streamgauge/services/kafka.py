"""Apache Kafka without ZooKeeper: one node, or three, each of them broker and controller."""

import base64
import os
import socket
import struct
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import ClassVar

from streamgauge.errors import UsageError
from streamgauge.files import disk_access
from streamgauge.machine.java import find_java
from streamgauge.services.launch import Launch, Say
from streamgauge.services.packages import jars
from streamgauge.services.ports import LOOPBACK, free_ports, wanted_ports

VERSION = "4.3.1"
# The server writes its log through SLF4J and brings no writer of its own that fits.
PACKAGES = (f"org.apache.kafka:kafka_2.13:{VERSION}", "org.slf4j:slf4j-simple:1.7.36")
HEAP = "-Xmx512m"
FORMAT_DEADLINE_S = 60.0
DEADLINE_S = 90.0
API_VERSIONS = 18


@dataclass(frozen=True)
class Kafka:
    """Settings of Kafka; with three brokers and a port, the next two ports are used as well."""

    brokers: int = 1
    port: int | None = None
    name: ClassVar[str] = "kafka"

    def __post_init__(self) -> None:
        if self.brokers not in (1, 3):
            raise UsageError(f"{self.brokers} brokers cannot be started", where="--brokers", remedy="use 1 or 3")

    def prepare(self, say: Say) -> None:
        """Make sure of Java and of Kafka's packages."""
        find_java(os.environ)
        self._jars(say)

    def settings(self) -> Mapping[str, int | str]:
        """Return what holds besides the port."""
        return {"brokers": self.brokers, "version": VERSION}

    def start(self, launch: Launch) -> str:
        """Format the disks, start the brokers, and wait until each of them takes requests."""
        ports = wanted_ports(self.port, self.brokers)
        controllers = free_ports(self.brokers)
        cluster, packages = cluster_id(), self._jars(lambda _: None)
        names = [f"broker-{node}" for node in range(1, self.brokers + 1)]
        files = []
        for node, name in enumerate(names, start=1):
            file = launch.folder / f"{name}.properties"
            text = properties(node, ports, controllers, launch.folder / name)
            with disk_access("write the broker's settings", file, "choose another place with --folder"):
                file.write_text(text, encoding="utf-8")
            files.append(file)
            format_ = ["kafka.tools.StorageTool", "format", "--cluster-id", cluster, "--config", str(file)]
            command = [*_java(packages, "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"), *format_]
            launch.run(f"format-{node}", command, environment={}, deadline_s=FORMAT_DEADLINE_S)
        for name, port, file in zip(names, ports, files, strict=True):
            launch.start(name, [*_java(packages), "kafka.Kafka", str(file)], port=port, environment={})
        launch.wait_until({name: partial(answers, port) for name, port in zip(names, ports, strict=True)}, DEADLINE_S)
        return ",".join(f"{LOOPBACK}:{port}" for port in ports)

    def _jars(self, say: Say) -> Path:
        return jars(f"kafka-{VERSION}", PACKAGES, say)


def _java(packages: Path, *options: str) -> list[str]:
    home, _ = find_java(os.environ)
    return [str(home / "bin" / "java"), HEAP, "-Djava.awt.headless=true", *options, "-cp", f"{packages}/*"]


def cluster_id() -> str:
    """Return a fresh id in Kafka's form: 16 bytes, and no dash in front that would make it an option."""
    first, *rest = uuid.uuid4().bytes
    return base64.urlsafe_b64encode(bytes((first & 0x7F, *rest))).decode().rstrip("=")


def properties(node: int, ports: Sequence[int], controllers: Sequence[int], data: Path) -> str:
    """Return the settings of one broker; nothing listens beyond loopback."""
    replicas, in_sync = len(ports), min(2, len(ports))
    voters = ",".join(f"{number}@{LOOPBACK}:{port}" for number, port in enumerate(controllers, start=1))
    client, controller = ports[node - 1], controllers[node - 1]
    settings = {
        "process.roles": "broker,controller",
        "node.id": node,
        "controller.quorum.voters": voters,
        "controller.listener.names": "CONTROLLER",
        "inter.broker.listener.name": "PLAINTEXT",
        "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
        "listeners": f"PLAINTEXT://{LOOPBACK}:{client},CONTROLLER://{LOOPBACK}:{controller}",
        "advertised.listeners": f"PLAINTEXT://{LOOPBACK}:{client}",
        "log.dirs": data,
        # A misspelt topic is a mistake, not a new topic.
        "auto.create.topics.enable": "false",
        "default.replication.factor": replicas,
        "min.insync.replicas": in_sync,
        "offsets.topic.replication.factor": replicas,
        "transaction.state.log.replication.factor": replicas,
        "transaction.state.log.min.isr": in_sync,
        "share.coordinator.state.topic.replication.factor": replicas,
        "share.coordinator.state.topic.min.isr": in_sync,
        # The defaults, 50 each, make the first consumer and the first transaction wait for seconds.
        "offsets.topic.num.partitions": 3,
        "transaction.state.log.num.partitions": 3,
        "share.coordinator.state.topic.num.partitions": 3,
        "group.initial.rebalance.delay.ms": 0,
    }
    return "".join(f"{name}={value}\n" for name, value in settings.items())


def answers(port: int) -> bool:
    """Return whether a broker on loopback takes requests; it does so only when it has joined its cluster."""
    client = b"streamgauge"
    request = struct.pack(f">hhih{len(client)}s", API_VERSIONS, 0, 1, len(client), client)
    try:
        with socket.create_connection((LOOPBACK, port), timeout=1.0) as connection:
            connection.sendall(struct.pack(">i", len(request)) + request)
            answer = connection.recv(10, socket.MSG_WAITALL)
    except OSError:
        return False
    # Length, then the number of the request, then an error code of 0.
    return len(answer) == 10 and answer[4:] == struct.pack(">ih", 1, 0)
