"""One entry of the catalogue, as its module declares it."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from streamgauge.events import EventStream, Field, Parameters
from streamgauge.events.dataframe import DataFrame
from streamgauge.workloads import MODULES
from streamgauge.workloads.traits import NO_STATE, DataflowStep, State, Traits
from streamgauge.workloads.workload import ExpectedAnswer, Workload

_NAMES = {module: name for name, module in MODULES.items()}


def entry(
    file: str,
    *,
    question: str,
    events: EventStream,
    dataflow: Callable[..., DataFrame],
    output: tuple[Field, ...],
    steps: tuple[DataflowStep, ...],
    state: State = NO_STATE,
    carries: bool = False,
    parameters: type[Parameters] | None = None,
    answer: ExpectedAnswer | None = None,
    **others: Any,
) -> Workload:
    """Return the workload of the module `file`.

    The catalogue has its name and family. Its parameters are those of its events unless it has further ones, and its
    reference is the SQL file beside it unless it is a function.
    """
    path = Path(file)
    family = path.parent.name
    answer = answer or ExpectedAnswer()
    return Workload(
        name=_NAMES[f"{family}.{path.stem}"],
        family=family,
        question=question,
        events=events,
        parameters=parameters or events.parameters,
        dataflow=dataflow,
        traits=Traits(steps, state, carries=carries),
        output=output,
        answer=answer if answer.function else replace(answer, reference=path.with_suffix(".sql")),
        **others,
    )
