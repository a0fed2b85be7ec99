"""Counts in Redis, in the layout of Yahoo's benchmark.

| key | content |
|---|---|
| `campaigns` | set of campaign ids |
| an ad's id | its campaign |
| a campaign's id | hash: start of a window in milliseconds -> id of the window; `windows` -> id of a list |
| id of the list | starts of the campaign's windows |
| id of a window | hash: `seen_count`, and `time_updated` in milliseconds by the clock of Redis |

A count is overwritten, not added to: writing a micro-batch once more changes nothing but `time_updated`. The ids of
windows and lists follow from campaign and window.
"""

import uuid
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any

from streamgauge.errors import EnvironmentNotReadyError
from streamgauge.events.identifiers import identifier
from streamgauge.events.ysb import YsbEvents
from streamgauge.extras import require

if TYPE_CHECKING:
    import pyarrow as pa

CAMPAIGNS = "campaigns"
WINDOWS = "windows"
DEADLINE_S = 10.0
PIPELINE_ROWS = 1_000
# One step for Redis: no reader sees a window without its place in the list, and no crash leaves one.
WRITE = """
if redis.call('HSETNX', KEYS[1], ARGV[1], ARGV[2]) == 1 then
  redis.call('HSETNX', KEYS[1], 'windows', ARGV[3])
  redis.call('LPUSH', ARGV[3], ARGV[1])
end
local now = redis.call('TIME')
redis.call('HSET', ARGV[2], 'seen_count', ARGV[4], 'time_updated', now[1] * 1000 + math.floor(now[2] / 1000))
"""


def connect_redis(address: str) -> Any:
    """Open a connection to host:port or a redis:// address, and see that it answers."""
    redis = require("redis")
    url = address if "://" in address else f"redis://{address}"
    shown = address.rpartition("@")[2]
    try:
        client = redis.Redis.from_url(url, socket_timeout=DEADLINE_S, socket_connect_timeout=DEADLINE_S)
        client.ping()
    except ValueError as error:
        raise EnvironmentNotReadyError(
            f"{shown} is not an address of Redis", where="--redis", remedy="use host:port or redis://host:port/0"
        ) from error
    except redis.AuthenticationError as error:
        raise EnvironmentNotReadyError(
            f"Redis refuses the connection: {error}",
            where=shown,
            remedy="write --redis @FILE, or env:NAME, that holds redis://user:password@host:port/0",
        ) from error
    except redis.RedisError as error:
        raise EnvironmentNotReadyError(
            f"Redis does not answer: {error}",
            where=shown,
            remedy="check --redis and that Redis is up; `streamgauge services up redis` starts one here",
        ) from error
    return client


def window_id(campaign: str, start_ms: int) -> str:
    """Return the id of a window."""
    return str(uuid.uuid5(uuid.NAMESPACE_OID, f"{campaign} {start_ms}"))


def list_id(campaign: str) -> str:
    """Return the id of the list of a campaign's windows."""
    return str(uuid.uuid5(uuid.NAMESPACE_OID, campaign))


def prepare(client: Any, p: YsbEvents) -> None:
    """Remove what an earlier run has left, and write campaigns and ads."""
    clear(client)
    pipeline = client.pipeline(transaction=False)
    for campaign in range(p.campaigns):
        name = identifier("campaign", campaign)
        pipeline.sadd(CAMPAIGNS, name)
        for ad in range(campaign * p.ads_per_campaign, (campaign + 1) * p.ads_per_campaign):
            pipeline.set(identifier("ad", ad), name)
    pipeline.execute()


def clear(client: Any) -> None:
    """Remove all windows of all campaigns, and nothing else."""
    for campaigns in _packs(client.sscan_iter(CAMPAIGNS)):
        hashes = client.pipeline(transaction=False)
        for campaign in campaigns:
            hashes.hvals(campaign)
        pipeline = client.pipeline(transaction=False)
        for campaign, ids in zip(campaigns, hashes.execute(), strict=True):
            pipeline.delete(campaign, *ids)
        pipeline.execute()
    client.delete(CAMPAIGNS)


def _packs(rows: Iterable[Any]) -> Iterator[list[Any]]:
    iterator = iter(rows)
    while pack := list(islice(iterator, PIPELINE_ROWS)):
        yield pack


def write_rows(address: str, rows: Iterable[Any]) -> None:
    """Write the rows (campaign, start of the window in milliseconds, count) of a task."""
    client: Any = None
    for pack in _packs(rows):
        client = client or connect_redis(address)
        pipeline = client.pipeline(transaction=False)
        for campaign, start_ms, count in pack:
            values = (start_ms, window_id(campaign, start_ms), list_id(campaign), count)
            pipeline.eval(WRITE, 1, campaign, *values)
        pipeline.execute()
    if client is not None:
        client.close()


def read_windows(client: Any) -> "pa.Table":
    """Return what Redis knows: campaign_id, window_start_ms, views and updated_ms, by its list of windows."""
    import pyarrow as pa

    columns: dict[str, list[Any]] = {"campaign_id": [], "window_start_ms": [], "views": [], "updated_ms": []}
    for packed in client.sscan_iter(CAMPAIGNS):
        campaign = packed.decode()
        ids = {key.decode(): value for key, value in client.hgetall(campaign).items()}
        listed = client.lrange(ids[WINDOWS], 0, -1) if WINDOWS in ids else []
        pipeline = client.pipeline(transaction=False)
        for start in listed:
            pipeline.hmget(ids[start.decode()], "seen_count", "time_updated")
        for start, (views, updated) in zip(listed, pipeline.execute(), strict=True):
            found = (campaign, int(start), int(views), int(float(updated)))
            for column, value in zip(columns.values(), found, strict=True):
                column.append(value)
    types = (pa.string(), pa.int64(), pa.int64(), pa.int64())
    return pa.table({name: pa.array(column, t) for (name, column), t in zip(columns.items(), types, strict=True)})
