"""Suite files: what to run, what must hold, in one YAML file."""

from streamgauge.suite.document import Suite, load_suite, read_suite
from streamgauge.suite.junit import RunResult, junit_xml
from streamgauge.suite.matrix import Configuration, PlannedRun
from streamgauge.suite.metrics import METRICS
from streamgauge.suite.progress import Done, SuiteProgress
from streamgauge.suite.schema import suite_schema
from streamgauge.suite.thresholds import Judgement, Threshold, parse_threshold

__all__ = [
    "METRICS",
    "Configuration",
    "Done",
    "Judgement",
    "PlannedRun",
    "RunResult",
    "Suite",
    "SuiteProgress",
    "Threshold",
    "junit_xml",
    "load_suite",
    "parse_threshold",
    "read_suite",
    "suite_schema",
]
