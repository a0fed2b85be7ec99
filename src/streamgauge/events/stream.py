"""What an event stream is: a schema, parameters, and event n as a pure function of (seed, n, time)."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa
    from pyspark.sql import Column


@dataclass(frozen=True)
class Field:
    """One column: its name, its SQL type (as Spark writes it) and its meaning."""

    name: str
    type: str
    meaning: str


class Parameters(BaseModel):
    """What users set with `--set name=value`; every field has a domain, a default and a description."""

    model_config = ConfigDict(extra="forbid", frozen=True)


@dataclass(frozen=True)
class EventStream:
    """A kind of events.

    `columns` and `arrays` are twins: for the same parameters, seed, event numbers and creation times
    (microseconds since the epoch) they give the same events, one as Spark columns, one as NumPy arrays.
    """

    name: str
    summary: str
    fields: tuple[Field, ...]
    parameters: type[Parameters]
    columns: "Callable[[Any, int, Column, Column], Mapping[str, Column]]"
    arrays: "Callable[[Any, int, npt.NDArray[np.int64], npt.NDArray[np.int64]], Mapping[str, Any]]"

    def table(
        self,
        parameters: Parameters,
        *,
        seed: int,
        n: "npt.NDArray[np.int64]",
        time_us: "npt.NDArray[np.int64]",
    ) -> "pa.Table":
        """Make the events with NumPy, as an Arrow table in the order of the schema."""
        import pyarrow as pa

        arrays = self.arrays(parameters, seed, n, time_us)
        types = {"string": pa.string(), "timestamp": pa.timestamp("us", "UTC"), "bigint": pa.int64()}
        return pa.table({f.name: pa.array(arrays[f.name], types[f.type]) for f in self.fields})
