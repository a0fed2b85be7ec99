"""What a run needs to know of where its results go."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

from streamgauge.conclude.evidence import Evidence
from streamgauge.engine.engine import Results
from streamgauge.store import RunWriter

if TYPE_CHECKING:
    import pyarrow as pa


class Sink(Protocol):
    """A sink; `results` says to the engine what to do with them, None to drop them."""

    @property
    def needs_connector(self) -> bool:
        """Whether Spark needs its Kafka connector for it."""

    @property
    def results(self) -> Results | None:
        """Where the engine writes."""

    def prepare(self) -> None:
        """Make it ready for a new run."""

    def read(self) -> "pa.Table | None":
        """Return what it holds, as the columns of the query's output and `batch`, which gives the order."""

    def details(self, writer: RunWriter, evidence: Evidence) -> Mapping[str, Any]:
        """Return what it adds to the summary, and store its table."""
