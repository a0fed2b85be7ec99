"""What an event stream is: a schema, parameters, and event n as a pure function of (seed, n, time)."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict

from streamgauge.events.dataframe import DataFrame

if TYPE_CHECKING:
    import pyarrow as pa

    from streamgauge.arrivals import Arrivals, Schedule


@dataclass(frozen=True)
class Field:
    """One column: its name, its SQL type (as Spark writes it) and its meaning."""

    name: str
    type: str
    meaning: str


class Parameters(BaseModel):
    """What users set with `--set name=value`; every field has a domain, a default and a description."""

    model_config = ConfigDict(extra="forbid", frozen=True)


def _arrow_type(spark_type: str) -> Any:
    import pyarrow as pa

    types = {
        "string": pa.string(),
        "timestamp": pa.timestamp("us", "UTC"),
        "bigint": pa.int64(),
        "int": pa.int32(),
        "double": pa.float64(),
    }
    return types[spark_type]


@dataclass(frozen=True, eq=False)
class EventStream:
    """A kind of events.

    `frame` and `arrays` are twins: for the same parameters, seed and arrivals they give the same events, one in
    Spark, one in NumPy. The rows that `frame` gets have the columns of `Arrivals`, all BIGINT; it makes the wanted
    fields.
    `schedule` makes the arrivals of a finite data set (from the number of events and the rate) where even spacing
    is not enough, and `check` refuses rates that the parameters do not allow; `at_rate` changes them for a rate that
    was found by measuring, where no user can ask for less. `texts` are further formats, by whose digests
    data sets of other programs can be compared. `text` names the field that holds the others as JSON
    text, all of them as strings and times in milliseconds, if there is one; `lines` makes it fast, as bytes.
    """

    name: str
    summary: str
    fields: tuple[Field, ...]
    parameters: type[Parameters]
    frame: Callable[[DataFrame, Any, int, Sequence[str]], DataFrame]
    arrays: "Callable[[Any, int, Arrivals], Mapping[str, Any]]"
    schedule: "Callable[[Any, int, float], Schedule] | None" = None
    check: Callable[[Any, float], None] = lambda _p, _rate_per_s: None
    at_rate: Callable[[Any, float], Any] = lambda p, _rate_per_s: p
    texts: "Mapping[str, Callable[[pa.Table], bytes]]" = field(default_factory=dict)
    text: str | None = None
    lines: "Callable[[Any, int, Arrivals], list[bytes]] | None" = None

    def table(self, parameters: Parameters, *, seed: int, arrivals: "Arrivals") -> "pa.Table":
        """Make the events with NumPy, as an Arrow table in the order of the schema."""
        import pyarrow as pa

        arrays = self.arrays(parameters, seed, arrivals)
        return pa.table({f.name: pa.array(arrays[f.name], _arrow_type(f.type)) for f in self.fields})
