"""The micro-batch model: what a query would do under other settings, from plain numbers, without Spark."""

from streamgauge.model.cost import TaskCost, contention
from streamgauge.model.fit import fit_model
from streamgauge.model.fitted_query import FittedModel, Ranges, RunPoint
from streamgauge.model.keys import explained_stages, with_keys
from streamgauge.model.prediction import Estimate, Prediction, predict
from streamgauge.model.query import Noise, QueryModel, Settings, StageModel
from streamgauge.model.queue import QueueResult, TupleGate, simulate_queue
from streamgauge.model.rows import Keys, OutputCurve, fold, partition_of, spark_hash
from streamgauge.model.sample import RunFacts, RunSample, make_sample
from streamgauge.model.schedule import makespan
from streamgauge.model.simulator import Simulation, simulate
from streamgauge.model.stability import BatchLine, CapacityModel
from streamgauge.model.trigger import ArrivalCurve, next_start

__all__ = [
    "ArrivalCurve",
    "CapacityModel",
    "Estimate",
    "FittedModel",
    "TupleGate",
    "Keys",
    "BatchLine",
    "Noise",
    "OutputCurve",
    "Prediction",
    "QueryModel",
    "QueueResult",
    "Ranges",
    "RunFacts",
    "RunPoint",
    "RunSample",
    "Settings",
    "Simulation",
    "StageModel",
    "TaskCost",
    "contention",
    "explained_stages",
    "fit_model",
    "fold",
    "make_sample",
    "makespan",
    "next_start",
    "partition_of",
    "predict",
    "simulate",
    "simulate_queue",
    "spark_hash",
    "with_keys",
]
