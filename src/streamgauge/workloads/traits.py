"""What a dataflow does, as far as it decides where and how it can run: its steps, its state, and what it passes on."""

from dataclasses import dataclass
from enum import Enum, StrEnum


class Mode(StrEnum):
    """An execution mode of Spark."""

    MICRO_BATCH = "micro-batch"
    MICRO_BATCH_ASYNC = "micro-batch-async"
    REAL_TIME = "real-time"
    CONTINUOUS = "continuous"


class Operator(Enum):
    """A kind of step, with the words for it where a workload has none of its own."""

    FILTER = "filter"
    MAP = "map"
    FLATTEN = "flatten"
    SORT = "sort"
    SHUFFLE = "shuffle"
    AGGREGATE = "aggregate"
    PROCESSING_TIME_WINDOW = "window of processing time"
    SESSION = "merge sessions"
    DEDUPLICATE = "deduplicate"
    TOP = "top rows"
    TABLE_JOIN = "join with a table"
    STREAM_JOIN = "stream-stream join"
    PYTHON_STATE = "state in Python"
    FILES = "files"
    FEEDBACK = "step in the driver"
    UNKNOWN = "as written by the user"

    def step(self, text: str = "") -> "DataflowStep":
        """Return a step of this kind, in words."""
        return DataflowStep(self, text or self.value)


@dataclass(frozen=True)
class DataflowStep:
    """One thing that a dataflow does with rows."""

    operator: Operator
    text: str


class Retention(Enum):
    """How long state is kept."""

    NONE = "no state"
    BOUNDED = "until a watermark or a limit drops it"
    ENDLESS = "for ever"
    UNKNOWN = "not known"


@dataclass(frozen=True)
class State:
    """What a query keeps between micro-batches, in words, and for how long."""

    text: str
    retention: Retention


NO_STATE = State("none", Retention.NONE)


def bounded(text: str) -> State:
    """Return state that is dropped by a watermark or a limit."""
    return State(text, Retention.BOUNDED)


def endless(text: str) -> State:
    """Return state that is never dropped."""
    return State(text, Retention.ENDLESS)


@dataclass(frozen=True)
class Traits:
    """What a dataflow does.

    One that `draws` gets the seed as its third argument. One that `carries` takes names of further columns of the
    events as `carry`, and emits them at the end of its rows: as they are, or the largest of all events behind a row.
    """

    steps: tuple[DataflowStep, ...]
    state: State = NO_STATE
    draws: bool = False
    carries: bool = False

    @property
    def operators(self) -> str:
        """The steps in words."""
        return ", ".join(step.text for step in self.steps)

    def has(self, operator: Operator) -> bool:
        """Return whether there is a step of this kind."""
        return any(step.operator is operator for step in self.steps)

    @property
    def is_stateful(self) -> bool:
        """Return whether state is kept, or may be."""
        return self.state.retention is not Retention.NONE

    @property
    def needs_shuffle(self) -> bool:
        """Return whether rows change their Spark tasks on the way."""
        return self.is_stateful or self.has(Operator.SHUFFLE)
