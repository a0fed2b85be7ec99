"""The sink that drops everything."""

from typing import Any

from streamgauge.conclude.evidence import Evidence
from streamgauge.store import RunWriter


class NoSink:
    """Drops everything, or leaves it to the workload."""

    needs_connector = False
    results = None

    def prepare(self) -> None:
        """Nothing is needed."""

    def read(self) -> None:
        """Nothing is there."""

    def details(self, _writer: RunWriter, _evidence: Evidence) -> dict[str, Any]:
        """Nothing is known."""
        return {}
