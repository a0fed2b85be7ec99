"""Small applications for tests, one for every way in which tuples can go."""

from streamgauge.prototype.graph.application import Application, Data, Flow, PrototypeTask, Source, TaskWindow

VALUES = Data(size=4, values=20)


def source(name: str = "source", parallelism: int = 2, *, data: Data = VALUES, flow: Flow | None = None) -> Source:
    return Source(name, parallelism, data, flow or Flow(rate_per_s=1000.0))


def pipeline(*components: Source | PrototypeTask, name: str = "sample", text: str = "pipeline:") -> Application:
    sources = tuple(component for component in components if isinstance(component, Source))
    tasks = tuple(component for component in components if isinstance(component, PrototypeTask))
    return Application(name, "pipeline", sources, tasks, text=text)


LINEAR = pipeline(
    source(),
    PrototypeTask("first", 3, ("source",), "balanced", 0.1),
    PrototypeTask("second", 2, ("first",), "hash", 2.0),
    PrototypeTask("third", 2, ("second",), "none", 0.0),
)
DIAMOND = pipeline(
    source(),
    PrototypeTask("upper", 3, ("source",), "balanced", 0.1),
    PrototypeTask("lower", 2, ("source",), "balanced", 0.1, resized_data=2),
    PrototypeTask("join", 4, ("upper", "lower"), "hash", 0.1),
    PrototypeTask("end", 4, ("join",), "none", 0.1),
)
# Both children of `hub` are reached by equal shuffles.
STAR = pipeline(
    source("left", 1),
    source("right", 2, data=Data(size=3, values=100, distribution="nonuniform")),
    PrototypeTask("hub", 3, ("left", "right"), "balanced", 0.2),
    PrototypeTask("up", 2, ("hub",), "balanced", 0.1),
    PrototypeTask("down", 2, ("hub",), "balanced", 0.1),
    PrototypeTask("end", 3, ("up",), "hash", 0.1),
)
# One redistribution by value follows another into as many partitions, and both children share it.
HASHED = pipeline(
    source(),
    PrototypeTask("hub", 3, ("source",), "hash", 0.2),
    PrototypeTask("up", 3, ("hub",), "hash", 0.1),
    PrototypeTask("down", 3, ("hub",), "hash", 0.1),
    PrototypeTask("end", 3, ("up",), "hash", 0.1),
)
# Children of `hub` are reached in different ways, one of them without a shuffle.
FORK = pipeline(
    source(),
    PrototypeTask("hub", 3, ("source",), "balanced", 0.2),
    PrototypeTask("chained", 3, ("hub",), "none", 0.1),
    PrototypeTask("hashed", 2, ("hub",), "hash", 0.1, filtering=0.5),
    PrototypeTask("both", 4, ("hub", "hashed"), "balanced", 0.1),
)
SHRINKING = pipeline(
    source(data=Data(size=9, values=700, distribution="zipf", exponent=1.1)),
    PrototypeTask("filter", 2, ("source",), "none", 0.3, filtering=0.333),
    PrototypeTask("cut", 2, ("filter",), "none", 0.1, resized_data=7),
    PrototypeTask("cut more", 2, ("cut",), "balanced", 0.1, resized_data=8, filtering=0.5),
)
COPYING = pipeline(
    source(),
    PrototypeTask("copies", 2, ("source",), "balanced", 0.1, selectivity=2.25),
    PrototypeTask("everywhere", 3, ("copies",), "broadcast", 0.1, parse_json=True),
    PrototypeTask("fewer", 3, ("everywhere",), "none", 0.1, selectivity=0.4),
)
TUMBLING = pipeline(
    source(),
    PrototypeTask("parse", 2, ("source",), "balanced", 0.1),
    PrototypeTask("window", 3, ("parse",), "hash", 0.1, window=TaskWindow("tumbling", 3, 3)),
    PrototypeTask("end", 2, ("window",), "balanced", 0.1),
)
SLIDING = pipeline(
    source(),
    PrototypeTask(
        "window", 2, ("source",), "balanced", 0.1, window=TaskWindow("sliding", 5, 2, "value"), resized_data=3
    ),
)
# A window of windows, and a sink that sees the tuples before them.
WINDOWS = pipeline(
    source(),
    PrototypeTask("everywhere", 2, ("source",), "broadcast", 0.1),
    PrototypeTask("window", 2, ("everywhere",), "none", 0.1, window=TaskWindow("tumbling", 2, 2)),
    PrototypeTask("longer", 2, ("window",), "balanced", 0.1, window=TaskWindow("tumbling", 6, 6)),
    PrototypeTask("beside", 2, ("everywhere",), "none", 0.1, filtering=0.1),
)
FLOWS = pipeline(
    source("steady", 1, flow=Flow(rate_per_s=300.0)),
    source("wave", 2, flow=Flow("sin", 600.0, phase_s=7.0, offset_s=1.0), data=Data(size=5, values=26)),
    source("bursts", 1, flow=Flow("burst", 100.0, interval_s=3.0, duration_s=1.5, burst_rate_per_s=2000.0)),
    source("teeth", 1, flow=Flow("revsawtooth", 500.0, phase_s=4.0)),
    PrototypeTask("even", 2, ("steady", "wave"), "balanced", 0.1),
    PrototypeTask("rest", 2, ("bursts", "teeth", "even"), "hash", 0.1),
)
ALL = {
    "linear": LINEAR,
    "diamond": DIAMOND,
    "star": STAR,
    "hashed": HASHED,
    "fork": FORK,
    "shrinking": SHRINKING,
    "copying": COPYING,
    "tumbling": TUMBLING,
    "sliding": SLIDING,
    "windows": WINDOWS,
    "flows": FLOWS,
}
