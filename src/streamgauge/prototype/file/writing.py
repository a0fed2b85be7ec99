"""An application as a prototype file, with comments; reading the file gives the application again."""

import textwrap
from collections.abc import Iterator, Mapping, Sequence

from streamgauge.prototype.graph.application import Application, Data, Flow, PrototypeTask, Source, TaskWindow

WIDTH = 118
# Keys that shape an arrival, by its distribution, with the attribute that each is.
_SHAPING: Mapping[str, Sequence[tuple[str, str]]] = {
    "uniform": (),
    "burst": (("interval", "interval_s"), ("duration", "duration_s"), ("burst_rate", "burst_rate_per_s")),
    "sin": (("phase", "phase_s"),),
    "sawtooth": (("phase", "phase_s"),),
    "revsawtooth": (("phase", "phase_s"),),
}


def write_application(
    application: Application, *, head: Sequence[str] = (), comments: Mapping[str, Sequence[str]] | None = None
) -> str:
    """Write the Pipeline schema; `head` are comments at its beginning, and `comments` those of components."""
    lines = [*_commented(head, ""), "pipeline:", "  tasks:"]
    for number, component in enumerate(application.components):
        keys = _source(component) if isinstance(component, Source) else _task(component)
        written = [f"{key}: {value}" for key, value in keys]
        lines += [""] if number else []
        lines += _commented((comments or {}).get(component.name, ()), "    ")
        lines += [f"    - {written[0]}", *(f"      {line}" for line in written[1:])]
    return "\n".join(lines) + "\n"


def _commented(sentences: Sequence[str], indent: str) -> Iterator[str]:
    """Write comments, each beginning on a line of its own."""
    for sentence in sentences:
        # What a comment quotes must not end it.
        text = " ".join(sentence.split())
        for line in textwrap.wrap(text, WIDTH - len(indent) - 2) or [""]:
            yield f"{indent}# {line}".rstrip()


def number(value: float) -> str:
    """Write a number as short as it can be read back.

    >>> number(100000.0), number(0.25), number(1e-7), number(1e22)
    ('100000', '0.25', '0.0000001', '10000000000000000000000')
    """
    if float(value).is_integer():
        return str(int(value))
    text = repr(float(value))
    return text if "e" not in text else f"{value:.20f}".rstrip("0")


def _in_braces(keys: Sequence[tuple[str, str]]) -> str:
    return "{" + ", ".join(f"{key}: {value}" for key, value in keys) + "}"


def _flag(value: bool) -> str:
    return "true" if value else "false"


def _source(source: Source) -> Iterator[tuple[str, str]]:
    yield "name", source.name
    yield "parallelism", str(source.parallelism)
    if not source.reliability:
        yield "reliability", "false"
    if source.topic is not None:
        topic = source.topic
        keys = [("server", _quoted(topic.server)), ("group", _quoted(topic.group)), ("topic", _quoted(topic.name))]
        yield "kafka", _in_braces(keys)
        return
    yield "data", _data(source.data)
    yield "flow", _flow(source.flow)


def _quoted(text: str) -> str:
    return f'"{text}"'


def _data(data: Data) -> str:
    keys = [("size", str(data.size)), ("values", str(data.values)), ("distribution", data.distribution)]
    return _in_braces([*keys, ("exponent", number(data.exponent))] if data.distribution == "zipf" else keys)


def _flow(flow: Flow) -> str:
    keys = [("distribution", flow.distribution), ("rate", number(flow.rate_per_s))]
    for key, attribute in _SHAPING[flow.distribution]:
        if getattr(flow, attribute) is not None:
            keys.append((key, number(getattr(flow, attribute))))
    if flow.offset_s and flow.distribution != "uniform":
        keys.append(("offset", number(flow.offset_s)))
    if flow.rate_scope != "total":
        keys.append(("rate_scope", flow.rate_scope))
    return _in_braces(keys)


def _task(task: PrototypeTask) -> Iterator[tuple[str, str]]:
    yield "name", task.name
    yield "parallelism", str(task.parallelism)
    if not task.reliability:
        yield "reliability", "false"
    yield "parents", f"[{', '.join(task.parents)}]"
    yield "routing", task.routing
    if task.processing_us is None:
        yield "processing", number(task.processing)
    else:
        yield "processing_us", number(task.processing_us)
    for key, value, default in (
        ("sojourn_ms", task.sojourn_ms, 0.0),
        ("batch_ms", task.batch_ms, 0.0),
        ("filtering", task.filtering, 0.0),
        ("selectivity", task.selectivity, 1.0),
        ("resizeddata", task.resized_data, 0),
    ):
        if value != default:
            yield key, number(value)
    if task.parse_json:
        yield "parse_json", _flag(task.parse_json)
    if task.window is not None:
        yield "windowing", _window(task.window)


def _window(window: TaskWindow) -> str:
    keys = [("enabled", "true"), ("type", window.type), ("duration", str(window.duration_s))]
    if window.type == "sliding":
        keys.append(("interval", str(window.interval_s)))
    return _in_braces([*keys, ("key", window.key)])
