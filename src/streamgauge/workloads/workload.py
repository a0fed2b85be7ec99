"""What a workload is: a question, its events, a dataflow, and an independent reference for its answer."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

from streamgauge.events import EventStream, Field, Parameters
from streamgauge.events.dataframe import DataFrame
from streamgauge.workloads.executed_plan import PlanNode
from streamgauge.workloads.traits import Traits

if TYPE_CHECKING:
    import pyarrow as pa

OutputMode = Literal["append", "update", "complete"]
# The intended time of an event, in microseconds since the epoch, where a query carries it from its source to its sink.
INTENDED = "intended_us"


@dataclass(frozen=True)
class Window:
    """The event-time windows of a workload: their length, their slide and the column that has their time."""

    length_s: float
    slide_s: float
    column: str


class BatchStep(Protocol):
    """What an iterative workload does with each micro-batch of its dataflow; it holds what the next one needs.

    It runs in the driver, once per micro-batch and in their order, starts one Spark job and returns the rows that the
    micro-batch emitted. `series` has one entry for each micro-batch that held events: `events` counts all so far, and
    `mean_distance` is how far the state is from its goal.
    """

    series: list[dict[str, float]]

    def __call__(self, batch: DataFrame, batch_id: int, /) -> "pa.Table":
        """Take one micro-batch."""


@dataclass(frozen=True)
class ExpectedAnswer:
    """How the right answer of a workload is known, and over which finite stream it is verified.

    The reference is a DuckDB query over the finite table `events` (and parameters as named values).
    It is the specification: with every window closed, the final answer of the stream equals it.
    Where the answer depends on where micro-batches end, `function` takes its place: it gets events, parameters, seed
    and the number of events up to each of these ends, and its docstring says what it computes.
    With `keys`, later rows replace earlier ones, and the final answer is the last row of each.
    Where an answer depends on processing time, `invariant` is a query over the final `answer` that does not.
    """

    reference: Path | None = None
    function: "Callable[[pa.Table, Any, int, Sequence[int]], pa.Table] | None" = None
    keys: tuple[str, ...] = ()
    invariant: str | None = None
    events: int = 20_000
    rate_per_s: float = 1000.0
    # Events after the end that push the watermark past the last window; enough of them that every
    # filter of the dataflow lets one through.
    closing_events: int = 0

    @cached_property
    def sql(self) -> str | None:
        """The text of the reference."""
        return self.reference.read_text() if self.reference else None

    @property
    def text(self) -> str | None:
        """The reference as people read it: its SQL, or what its function says."""
        return inspect.getdoc(self.function) if self.function else self.sql

    @property
    def is_known(self) -> bool:
        """Whether there is an answer to compare with."""
        return self.reference is not None or self.function is not None


@dataclass(frozen=True)
class SinkBehaviour:
    """What happens to the rows of a dataflow, where a sink does not just take them.

    `each_batch` makes the step of an iterative workload from parameters and seed, once per query. `folders` are columns
    that name the folders into which a run writes the answer as CSV files, instead of dropping it.
    """

    each_batch: Callable[[Any, int], BatchStep] | None = None
    folders: tuple[str, ...] = ()


@dataclass(frozen=True)
class RunRules:
    """What every run of a workload keeps to.

    `conf` are Spark settings that the dataflow cannot run without, `defaults` settings of a run that hold where the
    user gives none. `limits` refuses a rate that the query does not allow with its parameters, and `check_plan` an
    executed plan that is not what was asked for.
    """

    conf: Mapping[str, str] = field(default_factory=dict)
    defaults: Mapping[str, Any] = field(default_factory=dict)
    limits: Callable[[Any, float], None] = lambda _p, _rate_per_s: None
    check_plan: Callable[[PlanNode], None] | None = None
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Workload:
    """One entry of the catalogue, or a user's own function in the same form.

    `variants` are other published definitions of the same query, by the value of the parameter `semantics`.
    """

    name: str
    family: str
    question: str
    events: EventStream
    parameters: type[Parameters]
    dataflow: Callable[..., DataFrame]
    traits: Traits
    output: tuple[Field, ...]
    output_mode: Callable[[Any], OutputMode | None] = lambda _: "append"
    window: Callable[[Any], Window] | None = None
    watermark_delay_s: Callable[[Any], float] = lambda _: 0.0
    answer: ExpectedAnswer = ExpectedAnswer()
    sink: SinkBehaviour = SinkBehaviour()
    rules: RunRules = RunRules()
    differences: str = ""
    variant: str = ""
    variants: "dict[str, Workload]" = field(default_factory=dict)

    def build(self, df: DataFrame, parameters: Any, seed: int, *, carry: tuple[str, ...] = ()) -> DataFrame:
        """Build the dataflow over a stream of its events that has this seed."""
        further = {"carry": carry} if carry else {}
        arguments = (parameters, seed) if self.traits.draws else (parameters,)
        return self.dataflow(df, *arguments, **further)

    def check(self, parameters: Any, rate_per_s: float) -> None:
        """Refuse a rate that events or query do not allow with these parameters."""
        self.events.check(parameters, rate_per_s)
        self.rules.limits(parameters, rate_per_s)

    def at_rate(self, parameters: Any, rate_per_s: float) -> Any:
        """Return the parameters for a rate that was found by measuring; refuse it where none allow it."""
        allowing = self.events.at_rate(parameters, rate_per_s)
        self.check(allowing, rate_per_s)
        return allowing
