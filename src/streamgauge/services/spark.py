"""A Spark cluster of its own kind (standalone): a master and workers on loopback, from the installed PySpark."""

import json
import os
import re
import secrets
import socket
import sys
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import ClassVar

from streamgauge.errors import UsageError
from streamgauge.extras import EXTRAS
from streamgauge.files import disk_access
from streamgauge.machine.java import find_java
from streamgauge.secrets import write_properties
from streamgauge.services.launch import Launch, Say
from streamgauge.services.ports import LOOPBACK, free_ports, wanted_ports
from streamgauge.services.state import read_states, state_folder

DEADLINE_S = 90.0
DAEMON_MEMORY = "512m"
MOST_WORKERS = 32
SETTINGS = "conf"


@dataclass(frozen=True)
class Spark:
    """Settings of a cluster: how many workers, and what each of them offers to executors."""

    workers: int = 1
    cores: int = 1
    memory: str = "1g"
    port: int | None = None
    name: ClassVar[str] = "spark"

    def __post_init__(self) -> None:
        if not 1 <= self.workers <= MOST_WORKERS:
            what = f"{self.workers} workers cannot be started"
            raise UsageError(what, where="--workers", remedy=f"use 1 to {MOST_WORKERS}")
        if self.cores < 1:
            raise UsageError(f"a worker cannot have {self.cores} cores", where="--cores", remedy="use 1 or more")
        if not re.fullmatch(r"[1-9]\d*[mg]", self.memory):
            what = f'"{self.memory}" is no amount of memory'
            raise UsageError(what, where="--memory", remedy='use a number with m or g, e.g. "1g"')

    def prepare(self, say: Say) -> None:  # noqa: ARG002
        """Make sure of Java and of Spark's programs."""
        find_java(os.environ)
        spark_home()

    def settings(self) -> Mapping[str, int | str]:
        """Return what holds besides the port."""
        return {"workers": self.workers, "cores": self.cores, "memory": self.memory}

    def start(self, launch: Launch) -> str:
        """Start master and workers, and wait until the master knows all of them."""
        (port,) = wanted_ports(self.port, 1)
        page, *pages = free_ports(1 + 2 * self.workers)
        program = str(spark_home() / "bin" / "spark-class")
        environment = self._environment(launch.folder)
        address = f"spark://{LOOPBACK}:{port}"
        master = ["--host", LOOPBACK, "--port", str(port), "--webui-port", str(page)]
        command = [program, "org.apache.spark.deploy.master.Master", *master]
        launch.start("master", command, port=port, environment=environment)
        launch.wait_until({"master": lambda: alive_workers(page) is not None}, DEADLINE_S)
        for number in range(1, self.workers + 1):
            name = f"worker-{number}"
            own, its_page = pages[2 * number - 2 : 2 * number]
            options = {
                "host": LOOPBACK,
                "port": str(own),
                "webui-port": str(its_page),
                "cores": str(self.cores),
                "memory": self.memory,
                "work-dir": str(launch.folder / name),
            }
            words = [word for option, value in options.items() for word in (f"--{option}", value)]
            command = [program, "org.apache.spark.deploy.worker.Worker", *words, address]
            launch.start(name, command, port=own, environment=environment)
        launch.wait_until({"master": lambda: alive_workers(page) == self.workers}, DEADLINE_S)
        return address

    def _environment(self, folder: Path) -> dict[str, str]:
        home, _ = find_java(os.environ)
        settings = folder / SETTINGS
        with disk_access("write the cluster's settings", settings, "choose another place with --folder"):
            settings.mkdir()
            # Whoever can connect to a master can let its workers execute programs as the user who started it.
            secret = {"spark.authenticate": "true", "spark.authenticate.secret": secrets.token_hex(32)}
            write_properties(settings / "spark-defaults.conf", secret)
        options = {
            # A port that is taken is an error, not a reason to listen elsewhere.
            "spark.port.maxRetries": "0",
            # It knows no authentication, and its port is fixed.
            "spark.master.rest.enabled": "false",
            "spark.ui.killEnabled": "false",
            "java.io.tmpdir": str(folder),
        }
        return {
            "JAVA_HOME": str(home),
            "SPARK_HOME": str(spark_home()),
            # Settings of another Spark on this machine have no say.
            "SPARK_CONF_DIR": str(settings),
            "SPARK_LOCAL_IP": LOOPBACK,
            "SPARK_LOCAL_DIRS": str(folder / "local"),
            "SPARK_DAEMON_MEMORY": DAEMON_MEMORY,
            # Master and worker only start things: compiling little makes them start sooner.
            "SPARK_DAEMON_JAVA_OPTS": " ".join(
                ("-XX:TieredStopAtLevel=1 -XX:+UseSerialGC", *(f"-D{name}={value}" for name, value in options.items()))
            ),
            # Executors look for `python3` there: it must be the one that has the packages.
            "PATH": os.pathsep.join((str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath))),
        }


def spark_home() -> Path:
    """Return the folder of the installed PySpark, which holds all of Spark."""
    spec = find_spec("pyspark")
    places = list(spec.submodule_search_locations or ()) if spec else []
    if not places or not (Path(places[0]) / "bin" / "spark-class").is_file():
        raise EXTRAS["pyspark"].refuse("is not installed, or without Spark's programs")
    return Path(places[0])


def authentication(master: str) -> dict[str, str]:
    """Return the settings with which a driver may connect to a cluster of ours; none for any other master."""
    if not master.startswith("spark://"):
        return {}
    ours = [s.folder for s in read_states(state_folder()).values() if s.name == Spark.name and s.address == master]
    files = [folder / SETTINGS / "spark-defaults.conf" for folder in ours]
    lines = [line for file in files if file.is_file() for line in file.read_text(encoding="utf-8").splitlines()]
    return dict(line.split("=", 1) for line in lines)


def alive_workers(page: int) -> int | None:
    """Return how many workers the master knows and hears, or None when it does not answer yet."""
    try:
        with urllib.request.urlopen(f"http://{LOOPBACK}:{page}/json/", timeout=2.0) as answer:
            return int(json.load(answer)["aliveworkers"])
    except (OSError, ValueError, KeyError):
        return None


def worker_answers(port: int) -> bool:
    """Return whether a worker listens again."""
    try:
        with socket.create_connection((LOOPBACK, port), timeout=1.0):
            return True
    except OSError:
        return False
