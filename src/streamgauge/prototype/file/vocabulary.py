"""The keys of prototype files: what each means, its domain and its default.

The reader, the schema for editors and the reference page all follow these tables. Defaults are those that NAMB 0.8
takes for keys that are absent.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from streamgauge.units import MAX_RATE_PER_S

MAX_COMPONENTS = 200
MAX_PARALLELISM = 100_000
MAX_SIZE = 1_000_000
# Values are numbered by 64-bit integers.
MAX_VALUES = 10**15
# Zipf's law needs a number for each value.
MAX_ZIPF_VALUES = 10_000_000
MAX_PROCESSING = 1_000_000
# Laws have a knot every 10 ms, and nothing in them may be shorter.
MIN_TIME_S = 0.01
MAX_TIME_S = 30 * 86_400
MAX_WAIT_MS = 60_000
MAX_COPIES = 1000

Kind = Literal["whole", "number", "choice", "flag", "text", "names"]
Value = float | str | bool | None

NAME = r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}"
_HOST = r"(?:\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9_.-]+):[0-9]{1,5}"
SERVER = rf"{_HOST}(?:,{_HOST})*"
TOPIC = r"[A-Za-z0-9._-]{1,249}"
_IN_WORDS = "letters, digits, dots, dashes and underscores"


@dataclass(frozen=True)
class Key:
    """One key with one value.

    A number is at least `low`, or above it where `is_above`, and at most `high`, or below it where `is_below`.
    `form` is a regular expression for a text, and `form_in_words` says it. `is_ours` marks what NAMB does not have.
    `older` are names of the key that NAMB had once, and `older_values` those of its choices.
    """

    name: str
    meaning: str
    kind: Kind
    default: Value = None
    low: float = 0
    high: float = 0
    is_above: bool = False
    is_below: bool = False
    choices: tuple[str, ...] = ()
    form: str = ""
    form_in_words: str = ""
    is_ours: bool = False
    our_choices: tuple[str, ...] = ()
    older: tuple[str, ...] = ()
    older_values: Mapping[str, str] = field(default_factory=dict)

    @property
    def domain(self) -> str:
        """What values it may have, in words.

        >>> SCALABILITY.key("variability").domain
        'a number above 0 and below 1'
        >>> WORKFLOW.key("depth").domain
        'a whole number from 2 to 200'
        """
        if self.kind == "choice":
            return f"{', '.join(self.choices[:-1])} or {self.choices[-1]}"
        if self.kind == "flag":
            return "true or false"
        if self.kind in ("text", "names"):
            return self.form_in_words
        kind = "a whole number" if self.kind == "whole" else "a number"
        low, high = f"{self.low:,.16g}", f"{self.high:,.16g}"
        if self.is_above:
            return f"{kind} above {low} and {'below' if self.is_below else 'at most'} {high}"
        return f"{kind} from {low} to {high}"


@dataclass(frozen=True)
class Group:
    """A key whose value is keys with values."""

    name: str
    meaning: str
    members: tuple["Key | Group", ...]
    older: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the keys in it, those of today."""
        return tuple(member.name for member in self.members)

    def member(self, name: str) -> "Key | Group | None":
        """Return a key by its name of today or by an older one."""
        return next((one for one in self.members if name == one.name or name in one.older), None)

    def key(self, name: str) -> Key:
        """Return a key with one value."""
        found = self.member(name)
        assert isinstance(found, Key)
        return found

    def group(self, name: str) -> "Group":
        """Return a key with keys in it."""
        found = self.member(name)
        assert isinstance(found, Group)
        return found


def _time(name: str, meaning: str, default: float) -> Key:
    return Key(name, meaning, "number", default, low=MIN_TIME_S, high=MAX_TIME_S)


BALANCINGS = ("balanced", "increasing", "decreasing", "pyramid")
ROUTINGS = ("none", "balanced", "hash", "broadcast")

_PROCESSING = Key(
    "processing",
    "CPU work of a task in thousands of cycles per tuple",
    "number",
    10.0,
    high=MAX_PROCESSING,
)
_PROCESSING_US = Key(
    "processing_us",
    "CPU work in microseconds of one core per tuple, instead of processing; needs the calibration of the machine",
    "number",
    high=60_000_000,
    is_ours=True,
)
_RELIABILITY = Key("reliability", "ask the engine for its delivery guarantee", "flag", True)
_FILTERING = Key("filtering", "share of the tuples that is forwarded; 0 forwards all", "number", 0.0, high=1)
_ROUTING = Key("routing", "how tuples reach the instances of a task", "choice", "none", choices=ROUTINGS)

DATA = Group(
    "data",
    "values of the tuples",
    (
        Key("size", "characters of a value", "whole", 8, low=1, high=MAX_SIZE),
        Key("values", "number of distinct values, at most 26^size", "whole", 100, low=1, high=MAX_VALUES),
        Key(
            "distribution",
            "how often each value comes: all alike, by a bell over their order, or by Zipf's law",
            "choice",
            "uniform",
            choices=("uniform", "nonuniform", "zipf"),
            our_choices=("zipf",),
            older=("balancing",),
            older_values={"balanced": "uniform", "unbalanced": "nonuniform"},
        ),
        Key("exponent", "exponent of Zipf's law; zipf only", "number", 1.0, high=10, is_above=True, is_ours=True),
    ),
)

FLOW = Group(
    "flow",
    "arrival of the tuples",
    (
        Key(
            "distribution",
            "shape of the rate over time",
            "choice",
            "uniform",
            choices=("uniform", "burst", "sin", "sawtooth", "revsawtooth"),
            older_values={"cbr": "uniform", "sinusoidal": "sin", "saw-tooth": "sawtooth"},
        ),
        Key(
            "rate",
            "tuples per second, the peak of a wave; 0 is as fast as possible",
            "number",
            1000.0,
            high=MAX_RATE_PER_S,
        ),
        _time("phase", "seconds of one wave; sin, sawtooth and revsawtooth only", 300.0),
        _time("interval", "calm seconds between two bursts; burst only", 300.0),
        _time("duration", "seconds of one burst; burst only", 120.0),
        Key(
            "offset",
            "seconds by which the shape starts later in its phase",
            "number",
            0.0,
            high=MAX_TIME_S,
            is_ours=True,
        ),
        Key(
            "burst_rate",
            "tuples per second during a burst; burst only",
            "number",
            high=MAX_RATE_PER_S,
            is_above=True,
            is_ours=True,
        ),
        Key(
            "rate_scope",
            "whether the rate is that of all instances of the source or of each",
            "choice",
            "total",
            choices=("total", "instance"),
            is_ours=True,
        ),
    ),
)

_SERVER = Key(
    "server",
    "address of a broker; it makes the source an external one",
    "text",
    form=SERVER,
    form_in_words="host:port, several with commas",
)
_CONSUMER_GROUP = Key(
    "group", "consumer group", "text", "namb_default", form=r"\S{1,249}", form_in_words="a word without blanks"
)
_TOPIC = Key("topic", "topic", "text", "namb_topic", form=TOPIC, form_in_words=_IN_WORDS)
# Spark needs no ZooKeeper; the keys are there because files of NAMB have them.
ZOOKEEPER = "address of a ZooKeeper, which Spark does not need"

SCALABILITY = Group(
    "scalability",
    "how many instances there are",
    (
        Key(
            "parallelism",
            "instances of all components together, one each at least",
            "whole",
            10,
            low=1,
            high=MAX_PARALLELISM,
        ),
        Key("balancing", "how instances are spread over the components", "choice", "balanced", choices=BALANCINGS),
        Key(
            "variability",
            "spread of the instances where they are not balanced",
            "number",
            0.5,
            high=1,
            is_above=True,
            is_below=True,
        ),
    ),
)
WINDOWING = Group(
    "windowing",
    "event-time windows of one task",
    (
        Key("enabled", "whether there are windows", "flag", False),
        Key("type", "windows side by side, or overlapping ones", "choice", "tumbling", choices=("tumbling", "sliding")),
        Key("duration", "seconds of a window", "whole", 30, high=MAX_TIME_S),
        Key("interval", "seconds from window to window; sliding only", "whole", 10, high=MAX_TIME_S),
        Key(
            "key",
            "whether a window gives one tuple for each instance or for each value",
            "choice",
            "instance",
            choices=("instance", "value"),
            is_ours=True,
        ),
    ),
)
WORKFLOW = Group(
    "workflow",
    "the application as a whole",
    (
        Key("depth", "number of levels, that of the sources included", "whole", 3, low=2, high=MAX_COMPONENTS),
        SCALABILITY,
        Group(
            "connection",
            "how components are connected",
            (
                Key("shape", "shape of the graph", "choice", "linear", choices=("linear", "diamond", "star")),
                Key("routing", _ROUTING.meaning, "choice", "balanced", choices=ROUTINGS),
                Key(
                    "routing_scope",
                    "which edges are routed: all, or those from sources and the join of a diamond",
                    "choice",
                    "all",
                    choices=("all", "first"),
                    is_ours=True,
                ),
            ),
        ),
        Group(
            "workload",
            "what tasks do with each tuple",
            (
                Key(
                    "processing",
                    "CPU work of the first task in thousands of cycles per tuple",
                    "number",
                    10.0,
                    high=MAX_PROCESSING,
                ),
                _PROCESSING_US,
                Key("balancing", "how CPU work changes from task to task", "choice", "balanced", choices=BALANCINGS),
            ),
        ),
        Key("reliability", _RELIABILITY.meaning, "flag", True, older=("reliable",)),
        _FILTERING,
        WINDOWING,
    ),
    older=("dataflow",),
)
DATASTREAM = Group(
    "datastream",
    "what the sources of a workflow emit",
    (
        Group("synthetic", "tuples that are made", (DATA, FLOW)),
        Group(
            "external",
            "tuples that come from elsewhere",
            (
                Group("kafka", "a topic of Apache Kafka", (_SERVER, _CONSUMER_GROUP, _TOPIC)),
                Group(
                    "zookeeper",
                    ZOOKEEPER,
                    (Key("server", ZOOKEEPER, "text", "localhost:2181", form=SERVER, form_in_words="host:port"),),
                ),
            ),
        ),
    ),
)

_COMMON = (
    Key("name", "name of the task, which no other has", "text", form=NAME, form_in_words=_IN_WORDS),
    Key("parallelism", "number of instances", "whole", 1, low=1, high=MAX_PARALLELISM),
    Key("reliability", _RELIABILITY.meaning, "flag", True, older=("reliable",)),
    Key("type", "said by parents already", "choice", choices=("source", "task")),
)
_OF_SOURCES = (
    DATA,
    FLOW,
    Group(
        "kafka",
        "a topic of Apache Kafka as the source",
        (
            _SERVER,
            _CONSUMER_GROUP,
            _TOPIC,
            Key("zookeeper", ZOOKEEPER, "text", "localhost:2181", form=SERVER, form_in_words="host:port"),
        ),
    ),
)
_OF_TASKS = (
    Key("parents", "tasks before this one whose tuples it gets", "names", form_in_words="a list of names"),
    _ROUTING,
    _PROCESSING,
    _PROCESSING_US,
    Key(
        "sojourn_ms",
        "milliseconds that each tuple waits without use of the processor",
        "number",
        0.0,
        high=MAX_WAIT_MS,
        is_ours=True,
    ),
    Key(
        "batch_ms",
        "milliseconds that each instance waits once in a micro-batch, without use of the processor",
        "number",
        0.0,
        high=MAX_WAIT_MS,
        is_ours=True,
    ),
    Key("parse_json", "whether each tuple is written as JSON and parsed", "flag", False, is_ours=True),
    _FILTERING,
    Key(
        "selectivity",
        "mean number of copies of each tuple that is forwarded",
        "number",
        1.0,
        high=MAX_COPIES,
        is_above=True,
        is_ours=True,
    ),
    Key(
        "resizeddata",
        "characters to which values are cut; 0 keeps them",
        "whole",
        0,
        high=MAX_SIZE,
        older=("resizedata",),
    ),
    WINDOWING,
)
SOURCE = Group("source", "a task without parents", (*_COMMON, *_OF_SOURCES))
TASK = Group("task", "a task with parents", (*_COMMON, *_OF_TASKS))
# A source as the documentation of NAMB writes it.
_SYNTHETIC = Group("synthetic", "what a source emits", (DATA, FLOW))
ANY_TASK = Group("task", "a source or a task", (*_COMMON, *_OF_SOURCES, *_OF_TASKS, _SYNTHETIC))

ROOTS = {"pipeline": "the application task by task", "workflow": WORKFLOW.meaning, "datastream": DATASTREAM.meaning}
