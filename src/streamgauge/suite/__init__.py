"""Suite files: what to run, what must hold, in one YAML file."""

from streamgauge.suite.document import Suite, load_suite, read_suite
from streamgauge.suite.junit import BaselineResult, RunResult, junit_xml, refuse_unwritable, write_junit
from streamgauge.suite.matrix import Configuration, PlannedRun
from streamgauge.suite.orders import Order
from streamgauge.suite.schema import suite_schema
from streamgauge.suite.thresholds import Judgement, Threshold

__all__ = [
    "BaselineResult",
    "Configuration",
    "Judgement",
    "Order",
    "PlannedRun",
    "RunResult",
    "Suite",
    "Threshold",
    "junit_xml",
    "load_suite",
    "read_suite",
    "refuse_unwritable",
    "suite_schema",
    "write_junit",
]
