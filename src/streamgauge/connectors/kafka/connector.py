"""Spark's Kafka connector: the jars that fit the installed Spark, fetched once by Maven."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from streamgauge.errors import EnvironmentNotReadyError
from streamgauge.services.packages import jars, known_digests

CLIENTS = "org.apache.kafka:kafka-clients:3.9.2"
POOL = "org.apache.commons:commons-pool2:2.13.1"
# Parts of different versions that work together, for a Spark whose own connector is not known.
KNOWN = "4.2.0"
KNOWN_TOKENS = "4.1.0-preview1"
# Java's words for classes that are missing or do not fit each other.
CONFLICTS = (
    "NoSuchMethodError",
    "NoClassDefFoundError",
    "ClassNotFoundException",
    "AbstractMethodError",
    "IncompatibleClassChangeError",
    "Failed to find data source: kafka",
)


@dataclass(frozen=True)
class Connector:
    """The connector's jars; `note` says what a reader of results should know about them."""

    version: str
    jars: tuple[Path, ...]
    note: str | None = None

    def conf(self, given: Mapping[str, str]) -> dict[str, str]:
        """Return the setting that gives Spark the connector beside the user's own jars."""
        theirs = [name for name in given.get("spark.jars", "").split(",") if name]
        return {"spark.jars": ",".join([*theirs, *map(str, self.jars)])}


def coordinates(connector: str, tokens: str) -> tuple[str, ...]:
    """Return the packages of a connector; what they need besides, Spark has."""
    group = "org.apache.spark"
    return (
        f"{group}:spark-sql-kafka-0-10_2.13:{connector}",
        f"{group}:spark-token-provider-kafka-0-10_2.13:{tokens}",
        CLIENTS,
        POOL,
    )


def find_connector(say: Callable[[str], None], spark: str | None = None) -> Connector:
    """Return the connector of the installed Spark or, where its digests are not known, one that works with it."""
    wanted = spark or version("pyspark")
    chosen, tokens, note = wanted, wanted, None
    if folder_of(wanted) not in known_digests():
        chosen, tokens = KNOWN, KNOWN_TOKENS
        note = f"the Kafka connector is that of Spark {KNOWN}: no digests are known for the one of {wanted}"
    folder = jars(folder_of(chosen), coordinates(chosen, tokens), say, only_these=True)
    return Connector(chosen, tuple(sorted(folder.glob("*.jar"))), note)


def folder_of(connector: str) -> str:
    """Return the name of the folder with the jars of a connector.

    >>> folder_of("4.2.0")
    'spark-kafka-4.2.0'
    """
    return f"spark-kafka-{connector}"


def brings_own_connector(conf: Mapping[str, str]) -> bool:
    """Return whether the user gives Spark a Kafka connector."""
    return any("spark-sql-kafka" in conf.get(key, "") for key in ("spark.jars", "spark.jars.packages"))


def conflict(text: str) -> EnvironmentNotReadyError | None:
    """Return what to say when a failure of Spark comes from a connector that does not fit."""
    found = next((line for line in text.splitlines() if any(word in line for word in CONFLICTS)), None)
    if found is None or not any(word in text for word in ("kafka", "Kafka")):
        return None
    return EnvironmentNotReadyError(
        f"the Kafka connector does not fit this Spark: {found.strip()[:200]}",
        where="spark.jars",
        remedy=f"leave out connectors of your own in --conf, or use one for Spark {version('pyspark')}",
    )
