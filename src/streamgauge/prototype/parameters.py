"""What a user can set for a prototype, and the CPU work that follows from it."""

from typing import ClassVar

from pydantic import Field as Parameter
from pydantic import computed_field

from streamgauge.events.stream import Parameters
from streamgauge.prototype.calibration import WorkForm, need_calibration, read_calibration, this_machine
from streamgauge.prototype.graph.application import Application, PrototypeTask
from streamgauge.prototype.graph.costs import Costs


class PrototypeParameters(Parameters):
    """What can be set for every prototype; the file decides everything else."""

    prototype: ClassVar[Application]

    load_form: WorkForm = Parameter(
        "native", description="CPU work as Spark's own expressions, or in Python workers with Arrow"
    )

    zipf: float | None = Parameter(
        None,
        ge=0.0,
        le=10.0,
        description="exponent of Zipf's law over all values, 0 for all alike; by default the file decides",
    )

    @computed_field  # type: ignore[prop-decorator]
    @property
    def application(self) -> str:
        """The text of the file, kept with every run."""
        return self.prototype.text

    @computed_field  # type: ignore[prop-decorator]
    @property
    def ns_per_cycle(self) -> float | None:
        """The measured cost by which microseconds become cycles; None where it is not used or not known."""
        known = read_calibration() if self.timed else None
        return None if known is None else known.ns_per_cycle(self.load_form)

    @property
    def timed(self) -> tuple[PrototypeTask, ...]:
        """The tasks whose work is given in microseconds."""
        return tuple(task for task in self.prototype.tasks if task.processing_us is not None)

    def cycles(self) -> dict[str, int]:
        """Return the CPU work of every task in cycles; work in microseconds needs a calibration of this machine."""
        cycles = {task.name: Costs.cycles(task) or 0 for task in self.prototype.tasks}
        if self.timed:
            known = need_calibration(self.timed[0].name)
            known.refuse_other(this_machine())
            cycles |= {task.name: known.cycles_in(task.processing_us or 0.0, self.load_form) for task in self.timed}
        return cycles


def parameters_of(application: Application) -> type[PrototypeParameters]:
    """Return the parameters of one application."""

    class Own(PrototypeParameters):
        prototype: ClassVar[Application] = application

    return Own
