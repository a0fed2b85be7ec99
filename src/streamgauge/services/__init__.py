"""Real servers for development and tests: Kafka, Redis and a Spark cluster, on loopback, in a temporary folder."""

from streamgauge.services.control import address_of, bring_up, down, prepare, running, status, up
from streamgauge.services.service import ServerProcess, Service

__all__ = ["ServerProcess", "Service", "address_of", "bring_up", "down", "prepare", "running", "status", "up"]
