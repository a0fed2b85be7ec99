"""What an application must answer, computed with NumPy and pandas from the tuples of its sources alone."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from streamgauge.prototype.graph.application import Application, PrototypeTask, Source, TaskWindow
from streamgauge.prototype.graph.values import (
    COLUMNS,
    COPIES,
    DRAWS,
    FILTER,
    INSTANCE,
    OF_WINDOWS,
    columns_of_windows,
    draw_field,
)

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pandas as pd
    import pyarrow as pa

_MASK = 0xFFFFFFFF
_SPARK_SEED = 42


def expected_tuples(events: "pa.Table", application: Application, seed: int) -> "pa.Table":
    """Every tuple that leaves the application in the end, computed with NumPy and pandas.

    Tasks are taken in their order, each gets the tuples of all its parents (to all of its instances, if they are
    broadcast), and gives those that its draws let through, as often as its draws say, with values cut to its size; or
    one tuple for each window and instance or value. Draws depend on the seed, the id and the name of the task alone.
    """
    done = component_tuples(events, application, seed)
    extra, sinks = columns_of_windows(application), application.sinks
    parts = [_with_columns_of_windows(done[sink.name], extra)[[*COLUMNS, *extra]] for sink in sinks]
    if len(sinks) > 1:
        parts = [part.assign(task=sink.name) for part, sink in zip(parts, sinks, strict=True)]
    return _table(_concatenated(parts))


def component_tuples(events: "pa.Table", application: Application, seed: int) -> "dict[str, pd.DataFrame]":
    """Return the tuples that every component forwards, with times in microseconds since the epoch."""
    import pyarrow as pa

    made = events.set_column(
        events.column_names.index("timestamp"), "timestamp", events["timestamp"].cast(pa.int64())
    ).to_pandas()
    done: dict[str, pd.DataFrame] = {}
    for index, source in enumerate(application.sources):
        done[source.name] = (made[made["source"] == index] if "source" in made else made)[list(COLUMNS)]
    for task in application.tasks:
        parents = [application.component(name) for name in task.parents]
        arrived = _received(done, parents)
        if task.routing == "broadcast":
            arrived = _broadcast(arrived, task.parallelism)
        if task.name in application.instance_origins:
            arrived = arrived.assign(instance=_instance(arrived, task, seed))
        done[task.name] = _performed(arrived, task, seed)
    return done


def _received(done: "Mapping[str, pd.DataFrame]", parents: "Sequence[Source | PrototypeTask]") -> "pd.DataFrame":
    if len(parents) == 1:
        return done[parents[0].name]
    parts = [done[parent.name] for parent in parents]
    extra = [name for name in OF_WINDOWS if any(name in part for part in parts)]
    return _concatenated([_with_columns_of_windows(part, extra)[[*COLUMNS, *extra]] for part in parts])


def _concatenated(parts: "Sequence[pd.DataFrame]") -> "pd.DataFrame":
    import pandas as pd

    return pd.concat(parts, ignore_index=True)


def _with_columns_of_windows(tuples: "pd.DataFrame", names: "Sequence[str]") -> "pd.DataFrame":
    import pandas as pd

    missing = {name: pd.array([None] * len(tuples), "Int64") for name in names if name not in tuples}
    return tuples.assign(**missing)


def _broadcast(tuples: "pd.DataFrame", instances: int) -> "pd.DataFrame":
    return _concatenated([tuples.assign(copy=instance) for instance in range(instances)])


def _instance(tuples: "pd.DataFrame", task: PrototypeTask, seed: int) -> "npt.NDArray[np.int64]":
    import numpy as np

    from streamgauge.events.draw import draw

    if task.routing == "broadcast":
        return np.asarray(tuples["copy"])
    if task.routing == "hash":
        known = {value: murmur3(value.encode()) % task.parallelism for value in tuples["value"].unique()}
        return np.asarray(tuples["value"].map(known), dtype=np.int64)
    field = draw_field(task.name, INSTANCE)
    return draw(tuples["id"].to_numpy(), seed=seed, field=field, below=task.parallelism)


def murmur3(data: bytes) -> int:
    """Return what Spark's `hash` returns for a text: MurmurHash3 for 32 bits, in which odd bytes count one by one.

    >>> murmur3(b"Spark"), murmur3(b"")
    (228093765, 142593372)
    """
    whole = len(data) - len(data) % 4
    words = [int.from_bytes(data[k : k + 4], "little") for k in range(0, whole, 4)]
    h = _SPARK_SEED
    for word in [*words, *(byte - 256 if byte > 127 else byte for byte in data[whole:])]:
        k = (word & _MASK) * 0xCC9E2D51 & _MASK
        h ^= (k << 15 | k >> 17) * 0x1B873593 & _MASK
        h = ((h << 13 | h >> 19) & _MASK) * 5 + 0xE6546B64 & _MASK
    h ^= len(data)
    h = (h ^ h >> 16) * 0x85EBCA6B & _MASK
    h = (h ^ h >> 13) * 0xC2B2AE35 & _MASK
    h ^= h >> 16
    return h - 2**32 if h >= 2**31 else h


def _performed(tuples: "pd.DataFrame", task: PrototypeTask, seed: int) -> "pd.DataFrame":
    import numpy as np

    from streamgauge.events.draw import draw

    if task.window is not None:
        tuples = _windows(tuples, task.window)
    numbers = tuples["id"].to_numpy()
    copies = np.ones(len(tuples), dtype=np.int64)
    if task.window is None and task.filtering:
        drawn = draw(numbers, seed=seed, field=draw_field(task.name, FILTER), below=DRAWS)
        copies = (drawn < round(task.filtering * DRAWS)).astype(np.int64)
    whole, rest = divmod(task.selectivity, 1.0)
    drawn = draw(numbers, seed=seed, field=draw_field(task.name, COPIES), below=DRAWS)
    copies = copies * (int(whole) + (drawn < round(rest * DRAWS)))
    tuples = tuples.loc[tuples.index.repeat(copies)].reset_index(drop=True)
    return tuples.assign(value=tuples["value"].str[: task.resized_data]) if task.resized_data else tuples


def _windows(tuples: "pd.DataFrame", window: TaskWindow) -> "pd.DataFrame":
    """Return one tuple per window and instance or value: the last one by id, num and value."""
    length_us, slide_us = (round(seconds * 1e6) for seconds in (window.duration_s, window.slide_s))
    tuples = tuples.reset_index(drop=True)
    time_us = tuples["timestamp"]
    parts = []
    for k in range(-(-length_us // slide_us)):
        start_us = time_us // slide_us * slide_us - k * slide_us
        inside = time_us < start_us + length_us
        parts.append(tuples.assign(end_us=start_us + length_us)[inside])
    earliest = "earliest" if "earliest" in tuples else "timestamp"
    placed = _concatenated(parts)
    placed = placed.assign(earliest=placed[earliest].fillna(placed["timestamp"]))
    key = "value" if window.key == "value" else "instance"
    groups = placed.sort_values(["id", "num", "value"], kind="stable").groupby(["end_us", key], sort=False)
    last = groups.tail(1).set_index(["end_us", key])
    numbers = groups.agg(count=("id", "size"), earliest=("earliest", "min"))
    found = last.drop(columns=["timestamp", "count", "earliest"], errors="ignore").join(numbers).reset_index()
    return found.assign(timestamp=found["end_us"] - 1)[[*COLUMNS, *OF_WINDOWS]]


def _table(tuples: "pd.DataFrame") -> "pa.Table":
    import pyarrow as pa

    types = {"value": pa.string(), "id": pa.int64(), "num": pa.int64(), "count": pa.int64(), "task": pa.string()}
    times = ("timestamp", "earliest")
    return pa.table(
        {
            name: pa.array(tuples[name], pa.int64()).cast(pa.timestamp("us", "UTC"))
            if name in times
            else pa.array(tuples[name], types[name])
            for name in tuples.columns
        }
    )
