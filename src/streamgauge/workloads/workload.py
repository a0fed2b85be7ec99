"""What a workload is: a question, its events, a dataflow, and an independent reference for its answer."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from streamgauge.events import EventStream, Field, Parameters

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

OutputMode = Literal["append", "update", "complete"]


@dataclass(frozen=True)
class Window:
    """The event-time windows of a workload: their length, their slide and the column with their start."""

    length_s: float
    slide_s: float
    column: str


@dataclass(frozen=True)
class Workload:
    """One entry of the catalogue, or a user's own function in the same form.

    The reference is a DuckDB query over the finite table `events` (and `parameters` as named values).
    It is the specification: with every window closed, the final answer of the stream equals it.
    With `keys`, later rows replace earlier ones and the final answer is the last row of each.
    Where an answer depends on processing time, `invariant` is a query over the final `answer` that does not.
    `variants` are other published definitions of the same query, by the value of the parameter `semantics`.
    """

    name: str
    suite: str
    question: str
    events: EventStream
    parameters: type[Parameters]
    dataflow: "Callable[[DataFrame, Any], DataFrame]"
    output: tuple[Field, ...]
    output_mode: Callable[[Any], OutputMode | None]
    operators: str
    state: str
    reference: Path | None = None
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
    # Spark settings that the dataflow cannot run without.
    conf: Mapping[str, str] = field(default_factory=dict)
    limits: Callable[[Any, float], None] = lambda _p, _rate_per_s: None
    variant: str = ""
    variants: "dict[str, Workload]" = field(default_factory=dict)

    def check(self, parameters: Any, rate_per_s: float) -> None:
        """Refuse a rate that events or query do not allow with these parameters."""
        self.events.check(parameters, rate_per_s)
        self.limits(parameters, rate_per_s)

    @cached_property
    def reference_sql(self) -> str | None:
        """The text of the reference."""
        return self.reference.read_text() if self.reference else None
