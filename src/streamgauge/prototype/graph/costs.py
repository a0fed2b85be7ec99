"""What tuples cost: how many reach each component, and what all of them together ask of the processor."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from streamgauge.prototype.graph.application import Application, PrototypeTask
from streamgauge.prototype.graph.flow import mean_rate_per_s


@dataclass(frozen=True)
class Costs:
    """What one tuple of the sources costs on average; `ns_per_cycle` is None before it is measured."""

    application: Application
    ns_per_cycle: float | None = None

    @staticmethod
    def cycles(task: PrototypeTask) -> int | None:
        """Return the CPU work of a task in cycles per tuple; None where it is given as time."""
        return round(1000 * task.processing) if task.processing_us is None else None

    def cpu_us(self, task: PrototypeTask) -> float | None:
        """Return the CPU work of a task in microseconds of one core per tuple; None where that is not known."""
        cycles = self.cycles(task)
        if cycles is None:
            return task.processing_us
        return 0.0 if not cycles else None if self.ns_per_cycle is None else cycles * self.ns_per_cycle / 1000

    @cached_property
    def tuples(self) -> Mapping[str, float | None]:
        """How many tuples reach each component for one tuple of the sources.

        None where only results of windows arrive: their number depends on time, not on tuples.
        """
        rates = [mean_rate_per_s(source) or 0.0 for source in self.application.sources]
        shares = [rate / sum(rates) if all(rates) else 1 / len(rates) for rate in rates]
        reaching: dict[str, float | None] = {
            source.name: share for source, share in zip(self.application.sources, shares, strict=True)
        }
        leaving = dict(reaching)
        for task in self.application.tasks:
            copies = task.parallelism if task.routing == "broadcast" else 1
            arriving = [count for parent in task.parents if (count := leaving[parent]) is not None]
            count = copies * sum(arriving) if arriving else None
            reaching[task.name] = count
            kept = (task.filtering or 1.0) * task.selectivity
            leaving[task.name] = None if count is None or task.window else count * kept
        return reaching

    def times(self, task: PrototypeTask) -> float:
        """Return how often a task does its work for one tuple of the sources: for each window that a tuple is in."""
        windows = task.window.duration_s / task.window.slide_s if task.window else 1.0
        return windows * (self.tuples[task.name] or 0.0)

    @property
    def total_cycles(self) -> float:
        """Cycles in all tasks together, without the work that is given as time."""
        return sum(self.times(task) * (self.cycles(task) or 0) for task in self.application.tasks)

    @property
    def total_timed_us(self) -> float:
        """Microseconds of one core in all tasks whose work is given as time."""
        return sum(self.times(task) * (task.processing_us or 0.0) for task in self.application.tasks)

    @property
    def total_cpu_us(self) -> float | None:
        """Microseconds of one core in all tasks together; None where that is not known."""
        cycles = self.total_cycles
        if cycles and self.ns_per_cycle is None:
            return None
        return self.total_timed_us + cycles * (self.ns_per_cycle or 0.0) / 1000

    @property
    def rate_per_s(self) -> float | None:
        """The mean rate of all sources together; None where one of them has none of its own."""
        rates = [mean_rate_per_s(source) for source in self.application.sources]
        known = [rate for rate in rates if rate is not None]
        return sum(known) if len(known) == len(rates) else None

    @property
    def cores(self) -> float | None:
        """How many cores the work keeps busy at the mean rate; None where that is not known."""
        cpu_us, rate_per_s = self.total_cpu_us, self.rate_per_s
        return None if cpu_us is None or rate_per_s is None else cpu_us * rate_per_s / 1e6
