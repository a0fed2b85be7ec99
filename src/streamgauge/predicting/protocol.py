"""The protocol of an evaluation: which configurations are measured, how long, and how often."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Self

from streamgauge.experiments.planned_runs import check_repetitions
from streamgauge.lookup import is_prototype
from streamgauge.model.baselines import ABLATIONS
from streamgauge.model.sample import WARM_BATCHES

# With a trigger, as many micro-batches as Java needs take longer than the warm-up of the protocol; this is the longest.
MAX_WARMUP_S = 120.0
# Starting Spark, verifying the answer, which also lets Java compile the query, and ending a run.
OVERHEAD_S = 30.0
# Processing the events of the offline run, and one prediction.
OFFLINE_S = 10.0
PREDICT_S = 0.25
MAX_REPETITIONS = 20


@dataclass(frozen=True)
class Step:
    """One configuration: its name, its rate as a share of the offline maximum, and what else it changes.

    `zipf` is another law of the keys: the exponent of Zipf's, or 0 for all alike. One that is measured `once` has no
    repetitions.
    """

    name: str
    share: float
    changes: Mapping[str, Any] = field(default_factory=dict)
    once: bool = False
    zipf: float | None = None


@dataclass(frozen=True)
class EvaluationProtocol:
    """The steps, how long each is measured, and how often."""

    steps: tuple[Step, ...]
    duration_s: float
    warmup_s: float
    repetitions: int

    def times(self, step: Step) -> int:
        """Return how often a step is measured."""
        return 1 if step.once else self.repetitions

    def warmup_of(self, step: Step) -> float:
        """Return how long the load of a step runs before it is measured."""
        return max(self.warmup_s, min(MAX_WARMUP_S, WARM_BATCHES * float(step.changes.get("trigger", 0.0))))

    def of(self, workload: str) -> Self:
        """Return the protocol with the steps that change anything in a workload."""
        return replace(self, steps=tuple(step for step in self.steps if _has_effect(workload, step)))

    @property
    def runs(self) -> int:
        """How many runs a workload takes, the offline one included."""
        return 1 + sum(self.times(step) for step in self.steps)

    @property
    def takes_s(self) -> float:
        """About how long a workload takes."""
        of_runs = sum(self.times(s) * (OVERHEAD_S + self.warmup_of(s) + self.duration_s) for s in self.steps)
        predictions = (self.runs - 1) * len(self.steps) * (1 + len(ABLATIONS))
        return of_runs + OVERHEAD_S + OFFLINE_S + predictions * PREDICT_S


def quick_protocol(repetitions: int = 2) -> EvaluationProtocol:
    """Return six configurations, each one setting away from the first."""
    steps = (
        Step("25%", 0.25),
        Step("50%", 0.5, once=True),
        Step("25%, trigger 1 s", 0.25, {"trigger": 1.0}, once=True),
        Step("25%, 1 core", 0.25, {"cores": 1}, once=True),
        Step("25%, 8 partitions", 0.25, {"shuffle_partitions": 8}, once=True),
        Step("25%, keys alike", 0.25, once=True, zipf=0.0),
    )
    return EvaluationProtocol(steps, 30.0, 35.0, repetitions)


def full_protocol(repetitions: int = 3) -> EvaluationProtocol:
    """Return the steps over rate, trigger, cores, partitions and skew."""
    steps = [Step(f"{share:.0%}", share) for share in (0.1, 0.3, 0.5, 0.7, 0.9)]
    steps += [Step(f"30%, trigger {t:g} s", 0.3, {"trigger": t}) for t in (0.5, 1.0, 2.0, 5.0)]
    steps += [Step(f"30%, {p} partitions", 0.3, {"shuffle_partitions": p}) for p in (1, 4, 8, 16)]
    steps += [Step("10%, 1 core", 0.1, {"cores": 1}), Step("30%, 1 core", 0.3, {"cores": 1})]
    steps += [Step("30%, keys alike", 0.3, zipf=0.0), Step("30%, Zipf 1", 0.3, zipf=1.0)]
    return EvaluationProtocol(tuple(steps), 60.0, 40.0, repetitions)


def choose_protocol(*, quick: bool, repeat: int | None) -> EvaluationProtocol:
    """Return the short or the long protocol."""
    make = quick_protocol if quick else full_protocol
    return make() if repeat is None else make(check_repetitions(repeat, most=MAX_REPETITIONS))


def _has_effect(workload: str, step: Step) -> bool:
    """Return whether a step changes anything.

    The partitions of a prototype are those of its file. Only prototypes have other keys: those of the catalogue have
    either one law, or enough keys that every task gets as many rows as the others.
    """
    return "shuffle_partitions" not in step.changes if is_prototype(workload) else step.zipf is None
