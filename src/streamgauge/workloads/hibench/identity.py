"""HiBench identity: read and write, nothing else; the cost of the pipeline itself."""

from streamgauge.events.dataframe import DataFrame
from streamgauge.events.hibench import EVENTS, HibenchEvents
from streamgauge.workloads.entry import entry
from streamgauge.workloads.hibench.records import RECORD
from streamgauge.workloads.traits import Operator


def dataflow(df: DataFrame, _: HibenchEvents, *, carry: tuple[str, ...] = ()) -> DataFrame:
    """Pass every record on."""
    return df.select("created", "line", *carry)


WORKLOAD = entry(
    __file__,
    question="What does the pipeline cost when nothing is computed?",
    events=EVENTS,
    dataflow=dataflow,
    steps=(Operator.MAP.step("project"),),
    carries=True,
    output=RECORD,
    differences="HiBench reports a latency per record when it is handled, before the commit; here the commit counts.",
)
