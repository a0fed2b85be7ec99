"""Operator partition: windows that close after a number of records of a key.

Spark has no windows by count, and no built-in aggregate remembers an order across micro-batches. So the operator is
arbitrary state in Python. One call per key and micro-batch would cost far more than the work: keys are put into
groups, and a call handles all keys of a group at once with NumPy.
"""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from pydantic import Field as Parameter

from streamgauge.events import Field
from streamgauge.events.columns import modulo
from streamgauge.events.dataframe import DataFrame
from streamgauge.events.keyed import EVENTS, KeyedEvents
from streamgauge.workloads.entry import entry
from streamgauge.workloads.traits import Operator, endless

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pandas as pd

    Longs = npt.NDArray[np.int64]

OUTPUT = (
    Field("key", "bigint", "the key"),
    Field("window_number", "bigint", "number of the window among those of the key, from 0"),
    Field("total", "bigint", "sum of the values of its records"),
)


class PartitionParameters(KeyedEvents):
    """Parameters of the events and of the windows."""

    window_records: int = Parameter(10, ge=1, le=1_000_000, description="records of a key that make a window")
    groups: int = Parameter(
        16, ge=1, le=10_000, description="groups of keys kept as one state; no effect on the answer"
    )


def close_windows(
    records: "tuple[Longs, Longs, Longs]", state: "Longs", size: int
) -> "tuple[tuple[Longs, Longs, Longs], Longs]":
    """Return the windows that the records (number, key, value) complete, as (key, window, total), and the new state.

    The state has three rows, sorted by key: the keys, their records so far, and the total of their open window.
    """
    import numpy as np

    number, key, value = records
    order = np.lexsort((number, key))
    key, value = key[order], value[order]
    keys, first, of_key, count = np.unique(key, return_index=True, return_inverse=True, return_counts=True)
    known = _extended(state, keys)
    at = np.searchsorted(known[0], keys)
    seen, open_total = known[1, at], known[2, at]
    window = (np.arange(len(key)) - first[of_key] + seen[of_key]) // size
    # A run is the records of one key and window; the first run of a key goes on where its state ends.
    runs = np.flatnonzero((np.diff(key, prepend=-1) != 0) | (np.diff(window, prepend=-1) != 0))
    firsts = np.searchsorted(runs, first)
    lasts = np.append(firsts[1:], len(runs)) - 1
    total = np.add.reduceat(value, runs)
    total[firsts] += open_total
    closed = window[runs] < ((seen + count) // size)[of_key[runs]]
    known[1, at] = seen + count
    known[2, at] = np.where(closed[lasts], 0, total[lasts])
    return (key[runs][closed], window[runs][closed], total[closed]), known


def _extended(state: "Longs", keys: "Longs") -> "Longs":
    """Return the state with rows for all keys."""
    import numpy as np

    every = np.union1d(state[0], keys)
    known = np.zeros((3, len(every)), dtype=np.int64)
    known[0] = every
    known[1:, np.searchsorted(every, state[0])] = state[1:]
    return known


def _in_python(size: int) -> "Callable[[Any, Iterator[pd.DataFrame], Any], Iterator[pd.DataFrame]]":
    """Wrap `close_windows` as Spark calls it: for a group, its new records in several frames, and its state."""

    def handle(_: Any, frames: "Iterator[pd.DataFrame]", state: Any) -> "Iterator[pd.DataFrame]":
        import numpy as np
        import pandas as pd

        batch = pd.concat(frames, ignore_index=True)
        before = np.frombuffer(state.get[0] if state.exists else b"", dtype=np.int64).reshape(3, -1)
        records = tuple(batch[name].to_numpy() for name in ("number", "key", "value"))
        windows, after = close_windows(records, before, size)
        state.update((after.tobytes(),))
        yield pd.DataFrame(dict(zip((field.name for field in OUTPUT), windows, strict=True)))

    return handle


def dataflow(df: DataFrame, p: PartitionParameters) -> DataFrame:
    """Add up the values of every `window_records` records of a key."""
    grouped = df.select("number", "key", "value", modulo(df["key"], p.groups).alias("key_group"))
    return grouped.groupBy("key_group").applyInPandasWithState(
        _in_python(p.window_records),
        outputStructType=", ".join(f"{field.name} {field.type}" for field in OUTPUT),
        stateStructType="keys binary",
        outputMode="append",
        timeoutConf="NoTimeout",
    )


WORKLOAD = entry(
    __file__,
    question="What is the sum of every 10 records of a key?",
    events=EVENTS,
    parameters=PartitionParameters,
    dataflow=dataflow,
    steps=(
        Operator.SHUFFLE.step("shuffle by group of keys"),
        Operator.PYTHON_STATE.step("arbitrary state in Python"),
    ),
    state=endless("one row per group of keys with the count and the open sum of each key, never dropped"),
    output=OUTPUT,
    differences=(
        "None: the operator is defined here. Spark has no native windows by count: this one runs in Python workers, "
        "so it also measures the way there and back. Records count in the order of their numbers."
    ),
)
