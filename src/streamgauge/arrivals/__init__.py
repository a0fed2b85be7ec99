"""Arrival laws: how many events exist at time t, and when event n is created."""

from streamgauge.arrivals.composition import Scaled, Sum, Then
from streamgauge.arrivals.constant import Constant
from streamgauge.arrivals.drawing import draw_law
from streamgauge.arrivals.law import BaseLaw as Law
from streamgauge.arrivals.levels import Burst, Square
from streamgauge.arrivals.parser import parse_law
from streamgauge.arrivals.poisson import Poisson
from streamgauge.arrivals.ramp import Ramp
from streamgauge.arrivals.schedule import Arrivals, Chunks, Schedule
from streamgauge.arrivals.steps import Steps
from streamgauge.arrivals.trace import Trace
from streamgauge.arrivals.waves import ReverseSawtooth, Sawtooth, Sine

__all__ = [
    "Arrivals",
    "Burst",
    "Chunks",
    "Constant",
    "Law",
    "Poisson",
    "Ramp",
    "ReverseSawtooth",
    "Sawtooth",
    "Scaled",
    "Schedule",
    "Sine",
    "Square",
    "Steps",
    "Sum",
    "Then",
    "Trace",
    "draw_law",
    "parse_law",
]
