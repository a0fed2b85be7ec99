"""Measures, prototypes, tunes and predicts stream-processing applications on Spark Structured Streaming.

>>> import streamgauge as sg
>>> sg.catalogue()["ysb"].question
'How many times was each campaign viewed in every 10 seconds?'
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from streamgauge._version import __version__

if TYPE_CHECKING:
    from streamgauge.experiment.doctor import examine
    from streamgauge.experiment.generate import Generation, generate
    from streamgauge.experiment.plan import make_plan
    from streamgauge.experiment.run import Run, run
    from streamgauge.experiment.verification import Verifications, verify
    from streamgauge.store import list_runs, open_run
    from streamgauge.verdict import Verdict
    from streamgauge.workloads import catalogue

__all__ = [
    "Generation",
    "Run",
    "Verdict",
    "Verifications",
    "__version__",
    "catalogue",
    "examine",
    "generate",
    "list_runs",
    "make_plan",
    "open_run",
    "run",
    "verify",
]

# Names are imported when they are first used, so that importing the package costs nothing.
_HOMES = {
    "Generation": "experiment.generate",
    "Run": "experiment.run",
    "Verdict": "verdict",
    "Verifications": "experiment.verification",
    "catalogue": "workloads",
    "examine": "experiment.doctor",
    "generate": "experiment.generate",
    "list_runs": "store",
    "make_plan": "experiment.plan",
    "open_run": "store",
    "run": "experiment.run",
    "verify": "experiment.verification",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'streamgauge' has no attribute '{name}'")
    return getattr(import_module(f"streamgauge.{_HOMES[name]}"), name)
