"""HiBench identity: read and write, nothing else; the cost of the pipeline itself."""

from collections.abc import Sequence
from pathlib import Path

from streamgauge.events.dataframe import DataFrame
from streamgauge.events.hibench import EVENTS, HibenchEvents
from streamgauge.workloads.hibench.records import RECORD
from streamgauge.workloads.traits import Operator, Traits
from streamgauge.workloads.workload import ExpectedAnswer, Workload


def dataflow(df: DataFrame, _: HibenchEvents, *, carry: Sequence[str] = ()) -> DataFrame:
    """Pass every record on."""
    return df.select("created", "line", *carry)


WORKLOAD = Workload(
    name="hibench-identity",
    family="hibench",
    question="What does the pipeline cost when nothing is computed?",
    events=EVENTS,
    parameters=HibenchEvents,
    dataflow=dataflow,
    traits=Traits(steps=(Operator.MAP.step("project"),), carries=True),
    output=RECORD,
    differences="HiBench reports a latency per record when it is handled, before the commit; here the commit counts.",
    answer=ExpectedAnswer(reference=Path(__file__).with_name("identity.sql")),
)
