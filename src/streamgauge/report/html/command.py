"""The command and the Spark settings that would repeat a run."""

import shlex
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields
from typing import Any

from streamgauge.engine.environment import MASK
from streamgauge.errors import StreamgaugeError
from streamgauge.experiment.settings import RunSettings
from streamgauge.store import StoredRun, open_run


def _number(value: float) -> str:
    """Write a number so that reading it gives the same one."""
    return str(int(value)) if float(value).is_integer() else repr(float(value))


def _seconds(value: float) -> str:
    return f"{_number(value)}s"


# The settings that `run` has options for, in the order of its help; the first four are always written.
_OPTIONS: tuple[tuple[str, str, Callable[[Any], str]], ...] = (
    ("rate_per_s", "--rate", _number),
    ("duration_s", "--duration", _seconds),
    ("warmup_s", "--warmup", _seconds),
    ("trigger_s", "--trigger", _seconds),
    ("load", "--load", str),
    ("arrivals", "--arrivals", str),
    ("drain_s", "--drain", _seconds),
    ("shuffle_partitions", "--shuffle-partitions", str),
    ("source_partitions", "--source-partitions", str),
    ("max_rows_per_batch", "--max-rows-per-batch", str),
    ("source", "--source", str),
    ("sink", "--sink", str),
    ("mode", "--mode", str),
    ("latency", "--latency", str),
    ("kafka", "--kafka", str),
    ("topic", "--topic", str),
    ("format", "--format", str),
    ("redis", "--redis", str),
    ("seed", "--seed", str),
)
_ALWAYS = 4
# What a run of a prototype keeps beside its parameters: no option sets it.
_NOT_SET = ("application", "ns_per_cycle")


def _settings(configuration: Mapping[str, Any]) -> list[str]:
    defaults = {f.name: f.default for f in fields(RunSettings) if f.default is not MISSING}
    found = []
    for place, (name, option, write) in enumerate(_OPTIONS):
        value = configuration.get(name)
        if value is not None and (place < _ALWAYS or value != defaults.get(name)):
            found.append(f"{option} {shlex.quote(write(value))}")
    return found


def _master(master: str) -> str:
    cores = master.removeprefix("local[").removesuffix("]")
    return f"--cores {cores}" if cores.isdigit() and master != cores else f"--master {shlex.quote(master)}"


def _changed(workload: str, parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters that differ from the defaults of the workload, or all of them when it is not known."""
    from streamgauge.workloads import find_workload

    parameters = {name: value for name, value in parameters.items() if name not in _NOT_SET}
    try:
        base = find_workload(workload)
    except StreamgaugeError:
        return parameters
    semantics = parameters.get("semantics")
    defaults = base.variants.get(str(semantics), base).parameters().model_dump()
    changed = {name: value for name, value in parameters.items() if value != defaults.get(name)}
    if semantics != base.parameters().model_dump().get("semantics"):
        changed = {"semantics": semantics, **changed}
    return changed


def _events(workload: str, parameters: Mapping[str, Any]) -> str | None:
    """Name the event stream of a user's function by its parameters, where only one stream has these."""
    from streamgauge.events import event_streams
    from streamgauge.workloads.user import is_user_function

    if not is_user_function(workload):
        return None
    fitting = [n for n, s in event_streams().items() if set(s.parameters.model_fields) == set(parameters)]
    return fitting[0] if len(fitting) == 1 else None


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _as_asked(stored: StoredRun) -> dict[str, Any]:
    """Return the settings with the rate that was asked for: an online run stores the one that it found."""
    configuration = dict(stored.document.get("configuration") or {})
    inner = (stored.document.get("summary") or {}).get("offline_run_id")
    if configuration.get("load") == "online" and inner:
        try:
            asked = open_run(stored.path / "offline", inner).document["configuration"]["rate_per_s"]
        except (StreamgaugeError, LookupError, TypeError):
            configuration.pop("rate_per_s", None)
        else:
            configuration["rate_per_s"] = asked
    return configuration


def command_lines(stored: StoredRun, times: float = 1.0) -> list[str]:
    """Return the command that repeats a run, so many times as long, an option per line.

    There is none when its settings are not known, or not ours.
    """
    configuration = _as_asked(stored)
    if not configuration or stored.is_observed:
        return []
    workload, parameters = stored.document["workload"], configuration.get("parameters") or {}
    if configuration.get("duration_s") is not None:
        configuration["duration_s"] *= times
    options = _settings(configuration)
    if configuration.get("master"):
        options.append(_master(configuration["master"]))
    if events := _events(workload, parameters):
        options.append(f"--events {events}")
    if configuration.get("verify") is False:
        options.append("--no-verify")
    if configuration.get("explore") is False:
        options.append("--no-explore")
    if configuration.get("external_load"):
        options.append("--external-load")
    for name, value in (configuration.get("kafka_options") or {}).items():
        options.append(f"--kafka-option {shlex.quote(f'{name}={value}')}")
    for name, value in _changed(workload, parameters).items():
        options.append(f"--set {shlex.quote(f'{name}={_text(value)}')}")
    for name, value in (configuration.get("conf") or {}).items():
        options.append(f"--conf {shlex.quote(f'{name}={value}')}")
    return [f"streamgauge run {shlex.quote(workload)}", *options]


def command(stored: StoredRun) -> str:
    """Return the command as text that a shell takes."""
    return " \\\n  ".join(command_lines(stored))


def spark_settings(stored: StoredRun) -> dict[str, str]:
    """Return the Spark settings that the run chose, the ones that follow from its options included."""
    configuration, load = stored.document.get("configuration") or {}, stored.document.get("load") or {}
    if not configuration:
        return {}
    partitions = configuration.get("shuffle_partitions") or load.get("cores")
    found = {"spark.master": configuration.get("master"), "spark.sql.shuffle.partitions": partitions}
    chosen = {name: str(value) for name, value in found.items() if value is not None}
    return {**chosen, **{str(k): str(v) for k, v in (configuration.get("conf") or {}).items()}}


def has_masked(stored: StoredRun) -> bool:
    """Tell whether secrets are left out of the settings, so that the command needs them back."""
    return MASK in spark_settings(stored).values()
