"""Measures, prototypes, tunes and predicts stream-processing applications on Spark Structured Streaming.

>>> import streamgauge as sg
>>> sg.catalogue()["ysb"].question
'How many times was each campaign viewed in every 10 seconds?'
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from streamgauge._version import __version__

if TYPE_CHECKING:
    from streamgauge.conclude.comparison import Comparisons, compare
    from streamgauge.experiments.doctor import examine
    from streamgauge.experiments.generate import Generation, generate
    from streamgauge.experiments.load import Loaded, load
    from streamgauge.experiments.plan import make_plan
    from streamgauge.experiments.scale import Scale, scale
    from streamgauge.experiments.suite import repeat, run_suite
    from streamgauge.experiments.suite_result import SuiteResult
    from streamgauge.experiments.surge import Surge, surge
    from streamgauge.experiments.sustain import Sustained, sustain
    from streamgauge.experiments.verify_all import Verifications, verify
    from streamgauge.faults.fault import fault
    from streamgauge.faults.result import Fault
    from streamgauge.model import Prediction
    from streamgauge.observe.attach import Attachment, attach
    from streamgauge.observe.import_log import Imported, import_event_log
    from streamgauge.predicting.predict import Predictions, predict, predict_all
    from streamgauge.running.lifecycle import Run, run
    from streamgauge.store import list_runs, open_run
    from streamgauge.verdict import Verdict
    from streamgauge.workloads import catalogue

__all__ = [
    "Attachment",
    "Comparisons",
    "Fault",
    "Generation",
    "Imported",
    "Loaded",
    "Prediction",
    "Predictions",
    "Run",
    "Scale",
    "SuiteResult",
    "Surge",
    "Sustained",
    "Verdict",
    "Verifications",
    "__version__",
    "attach",
    "catalogue",
    "compare",
    "examine",
    "fault",
    "generate",
    "import_event_log",
    "list_runs",
    "load",
    "make_plan",
    "open_run",
    "predict",
    "predict_all",
    "repeat",
    "run",
    "run_suite",
    "scale",
    "surge",
    "sustain",
    "verify",
]

# Names are imported when they are first used, so that importing the package costs nothing.
_EXPORTS = {
    "conclude.comparison": "Comparisons compare",
    "experiments.doctor": "examine",
    "experiments.generate": "Generation generate",
    "experiments.load": "Loaded load",
    "experiments.plan": "make_plan",
    "experiments.scale": "Scale scale",
    "experiments.suite": "repeat run_suite",
    "experiments.suite_result": "SuiteResult",
    "experiments.surge": "Surge surge",
    "experiments.sustain": "Sustained sustain",
    "experiments.verify_all": "Verifications verify",
    "faults.fault": "fault",
    "faults.result": "Fault",
    "model": "Prediction",
    "observe.attach": "Attachment attach",
    "observe.import_log": "Imported import_event_log",
    "predicting.predict": "Predictions predict predict_all",
    "running.lifecycle": "Run run",
    "store": "list_runs open_run",
    "verdict": "Verdict",
    "workloads": "catalogue",
}
_HOMES = {name: home for home, names in _EXPORTS.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'streamgauge' has no attribute '{name}'")
    # What notebooks show of runs.
    import_module("streamgauge.report.notebook")
    return getattr(import_module(f"streamgauge.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return __all__
