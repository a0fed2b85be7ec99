"""Results in Redis, in the layout of the Yahoo Streaming Benchmark."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from streamgauge.conclude.evidence import Evidence
from streamgauge.engine.engine import RedisResults
from streamgauge.errors import EnvironmentNotReadyError
from streamgauge.events import Parameters
from streamgauge.secrets import resolve
from streamgauge.settings.run_settings import RunSettings
from streamgauge.store import RunWriter

if TYPE_CHECKING:
    import pyarrow as pa

YSB_COLUMNS = ("campaign_id", "window_start", "views")


class RedisSink:
    """Counts of YSB in Redis, in Yahoo's layout; a count is overwritten, so repeating a micro-batch changes nothing."""

    needs_connector = False

    def __init__(self, address: str, parameters: Parameters, after: Callable[[], None] | None = None) -> None:
        self.address, self.parameters, self.after = address, parameters, after

    def prepare(self) -> None:
        """Remove the windows of earlier runs, and write campaigns and ads."""
        from streamgauge.workloads.ysb.redis_layout import connect_redis, prepare

        prepare(connect_redis(self.address), self.parameters)  # type: ignore[arg-type]

    @property
    def results(self) -> RedisResults:
        """The server."""
        return RedisResults(self.address, self.after)

    def windows(self) -> "pa.Table":
        """Return all counts with the times of their last updates."""
        from streamgauge.workloads.ysb.redis_layout import connect_redis, read_windows

        return read_windows(connect_redis(self.address))

    def read(self) -> "pa.Table":
        """Read all counts."""
        from streamgauge.workloads.reference import connect

        connection = connect()
        connection.register("windows", self.windows())
        start = "make_timestamptz(window_start_ms * 1000) AS window_start"
        return connection.sql(f"SELECT campaign_id, {start}, views, 0 AS batch FROM windows").to_arrow_table()

    def details(self, writer: RunWriter, evidence: Evidence) -> dict[str, Any]:
        """Store the windows, and return Yahoo's latency: from the end of a window to its last update.

        Windows count that begin and end in the measured time.
        """
        import numpy as np

        from streamgauge.measure import Histogram

        windows = self.windows()
        writer.write_table("redis", windows)
        length_ms = round((evidence.window.length_s if evidence.window else 0) * 1000)
        start_ms = windows["window_start_ms"].to_numpy()
        until_ms = evidence.closed_us // 1000
        inside = (start_ms >= evidence.measured_from_us // 1000) & (start_ms + length_ms <= until_ms)
        late_ms = windows["updated_ms"].to_numpy()[inside] - start_ms[inside] - length_ms
        return {"yahoo_latency_s": Histogram.from_values_us(np.maximum(late_ms, 0) * 1000).summary()}


def redis_address(settings: RunSettings) -> str:
    """Return the Redis that the settings name, or the one that runs here."""
    if settings.redis is not None:
        return resolve(settings.redis, "--redis")
    from streamgauge.services import address_of

    if (address := address_of("redis")) is not None:
        return address
    raise EnvironmentNotReadyError(
        "no Redis is named, and none is up on this machine",
        where="--redis",
        remedy="name one with --redis host:port, or start one with `streamgauge services up redis`",
    )
