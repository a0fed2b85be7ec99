"""Measures, prototypes, tunes and predicts stream-processing applications on Spark Structured Streaming.

>>> import streamgauge as sg
>>> sg.catalogue()["ysb"].question
'How many times was each campaign viewed in every 10 seconds?'
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from streamgauge._version import __version__

if TYPE_CHECKING:
    from streamgauge.experiment.attach import Attachment, attach
    from streamgauge.experiment.compare import Comparisons, compare
    from streamgauge.experiment.doctor import examine
    from streamgauge.experiment.fault import fault
    from streamgauge.experiment.fault_result import Fault
    from streamgauge.experiment.generate import Generation, generate
    from streamgauge.experiment.imported import Imported, import_event_log
    from streamgauge.experiment.load import Loaded, load
    from streamgauge.experiment.plan import make_plan
    from streamgauge.experiment.predict import Predictions, predict, predict_all
    from streamgauge.experiment.run import Run, run
    from streamgauge.experiment.scale import Scale, scale
    from streamgauge.experiment.suite import SuiteResult, repeat, run_suite
    from streamgauge.experiment.surge import Surge, surge
    from streamgauge.experiment.sustain import Sustained, sustain
    from streamgauge.experiment.verification import Verifications, verify
    from streamgauge.model import Prediction
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
_HOMES = {
    "Attachment": "experiment.attach",
    "Comparisons": "experiment.compare",
    "Fault": "experiment.fault_result",
    "Generation": "experiment.generate",
    "Imported": "experiment.imported",
    "Loaded": "experiment.load",
    "Prediction": "model",
    "Predictions": "experiment.predict",
    "Run": "experiment.run",
    "Scale": "experiment.scale",
    "SuiteResult": "experiment.suite",
    "Surge": "experiment.surge",
    "Sustained": "experiment.sustain",
    "Verdict": "verdict",
    "Verifications": "experiment.verification",
    "attach": "experiment.attach",
    "catalogue": "workloads",
    "compare": "experiment.compare",
    "examine": "experiment.doctor",
    "fault": "experiment.fault",
    "generate": "experiment.generate",
    "import_event_log": "experiment.imported",
    "list_runs": "store",
    "load": "experiment.load",
    "make_plan": "experiment.plan",
    "open_run": "store",
    "predict": "experiment.predict",
    "predict_all": "experiment.predict",
    "repeat": "experiment.suite",
    "run": "experiment.run",
    "run_suite": "experiment.suite",
    "scale": "experiment.scale",
    "surge": "experiment.surge",
    "sustain": "experiment.sustain",
    "verify": "experiment.verification",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'streamgauge' has no attribute '{name}'")
    return getattr(import_module(f"streamgauge.{_HOMES[name]}"), name)
