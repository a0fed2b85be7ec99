"""What a workload is: a question, its events, a dataflow, and an independent reference for its answer."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

from streamgauge.events import EventStream, Field, Parameters
from streamgauge.workloads.executed_plan import PlanNode

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

OutputMode = Literal["append", "update", "complete"]
# The intended time of an event, in microseconds since the epoch, where a query carries it from its source to its sink.
INTENDED = "intended_us"


@dataclass(frozen=True)
class Window:
    """The event-time windows of a workload: their length, their slide and the column that tells their time."""

    length_s: float
    slide_s: float
    column: str


class BatchStep(Protocol):
    """What an iterative workload does with each micro-batch of its dataflow; it holds what the next one needs.

    It runs in the driver, once per micro-batch and in their order, starts one Spark job and returns the rows that the
    micro-batch put out. `series` has one entry for each micro-batch that held events: `events` counts all so far, and
    `mean_distance` tells how far the state is from its goal.
    """

    series: list[dict[str, float]]

    def __call__(self, batch: "DataFrame", batch_id: int, /) -> "pa.Table":
        """Take one micro-batch."""


@dataclass(frozen=True, eq=False)
class Workload:
    """One entry of the catalogue, or a user's own function in the same form.

    The reference is a DuckDB query over the finite table `events` (and `parameters` as named values).
    It is the specification: with every window closed, the final answer of the stream equals it.
    With `keys`, later rows replace earlier ones and the final answer is the last row of each.
    Where an answer depends on processing time, `invariant` is a query over the final `answer` that does not.
    `each_batch` makes the step of an iterative workload from parameters and seed, once per query. Where the answer
    depends on where micro-batches end, `reference_function` takes the place of the reference: it gets events,
    parameters, seed and the number of events up to each of these ends, and its docstring tells what it computes.
    `variants` are other published definitions of the same query, by the value of the parameter `semantics`.
    `defaults` are settings of a run that hold where the user gives none. A dataflow that `draws` gets the seed as its
    third argument. One that `carries` takes names of further columns of the events as `carry`, and puts them out at the
    end of its rows: as they are, or the largest of all events behind a row. `check_plan` refuses an executed plan that
    is not what was asked for.
    """

    name: str
    suite: str
    question: str
    events: EventStream
    parameters: type[Parameters]
    dataflow: "Callable[..., DataFrame]"
    output: tuple[Field, ...]
    output_mode: Callable[[Any], OutputMode | None]
    operators: str
    state: str
    reference: Path | None = None
    reference_function: "Callable[[pa.Table, Any, int, Sequence[int]], pa.Table] | None" = None
    each_batch: Callable[[Any, int], BatchStep] | None = None
    keys: tuple[str, ...] = ()
    window: Callable[[Any], Window] | None = None
    watermark_delay_s: Callable[[Any], float] = lambda _: 0.0
    differences: str = ""
    verify_events: int = 20_000
    verify_rate_per_s: float = 1000.0
    # Events after the end that push the watermark past the last window; enough of them that every
    # filter of the dataflow lets one through.
    closing_events: int = 0
    invariant: str | None = None
    # Columns that name the folders into which a run writes the answer as CSV files, instead of dropping it.
    folders: tuple[str, ...] = ()
    # Spark settings that the dataflow cannot run without.
    conf: Mapping[str, str] = field(default_factory=dict)
    limits: Callable[[Any, float], None] = lambda _p, _rate_per_s: None
    variant: str = ""
    variants: "dict[str, Workload]" = field(default_factory=dict)
    defaults: Mapping[str, Any] = field(default_factory=dict)
    draws: bool = False
    carries: bool = False
    check_plan: Callable[[PlanNode], None] | None = None
    warnings: tuple[str, ...] = ()

    def build(self, df: "DataFrame", parameters: Any, seed: int, *, carry: Sequence[str] = ()) -> "DataFrame":
        """Build the dataflow over a stream of its events that has this seed."""
        further = {"carry": carry} if carry else {}
        arguments = (parameters, seed) if self.draws else (parameters,)
        return self.dataflow(df, *arguments, **further)

    def check(self, parameters: Any, rate_per_s: float) -> None:
        """Refuse a rate that events or query do not allow with these parameters."""
        self.events.check(parameters, rate_per_s)
        self.limits(parameters, rate_per_s)

    def at_rate(self, parameters: Any, rate_per_s: float) -> Any:
        """Return the parameters for a rate that was found by measuring; refuse it where none allow it."""
        allowing = self.events.at_rate(parameters, rate_per_s)
        self.check(allowing, rate_per_s)
        return allowing

    @cached_property
    def reference_sql(self) -> str | None:
        """The text of the reference."""
        return self.reference.read_text() if self.reference else None

    @property
    def reference_text(self) -> str | None:
        """The reference as people read it: its SQL, or what its function says."""
        return inspect.getdoc(self.reference_function) if self.reference_function else self.reference_sql

    @property
    def has_reference(self) -> bool:
        """Whether there is an answer to compare with."""
        return self.reference is not None or self.reference_function is not None
