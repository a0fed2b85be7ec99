"""The command and the Spark settings that would repeat a run."""

import shlex
from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from streamgauge.conclude.stored_run import workload_of
from streamgauge.errors import StreamgaugeError
from streamgauge.lookup import is_user_function
from streamgauge.secrets import MASK
from streamgauge.settings.run_settings import RunSettings
from streamgauge.settings.table import SETTINGS, Kind, Setting
from streamgauge.store import StoredRun, open_member

if TYPE_CHECKING:
    from streamgauge.workloads import Workload


def _number(value: float) -> str:
    """Write a number so that reading it gives the same one."""
    return str(int(value)) if float(value).is_integer() else repr(float(value))


def _seconds(value: float) -> str:
    return f"{_number(value)}s"


# What says most about a run is always written.
_ALWAYS = ("rate", "duration", "warmup", "trigger")
_WRITERS: dict[Kind, Callable[[Any], str]] = {"rate": _number, "duration": _seconds}
_DEFAULTS = {one.name: one.default for one in fields(RunSettings)}
# What a run of a prototype keeps beside its parameters: no option sets it.
_NOT_SET = ("application", "ns_per_cycle")


def _options(setting: Setting, value: Any) -> list[str]:
    """Return the options that give a setting a value."""
    if setting.kind == "flag":
        return [] if value is setting.default else [f"{'--' if value else '--no-'}{setting.option.removeprefix('--')}"]
    if setting.kind == "pairs":
        return [f"{setting.option} {shlex.quote(f'{name}={_text(inner)}')}" for name, inner in value.items()]
    if setting.name == "master":
        return [_master(value)]
    if setting.name not in _ALWAYS and value == _DEFAULTS[setting.field]:
        return []
    return [f"{setting.option} {shlex.quote(_WRITERS.get(setting.kind, str)(value))}"]


def _master(master: str) -> str:
    cores = master.removeprefix("local[").removesuffix("]")
    return f"--cores {cores}" if cores.isdigit() and master != cores else f"--master {shlex.quote(master)}"


def _changed(base: "Workload | None", events: str | None, parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters that differ from the defaults of the workload, or of the events of a user's function."""
    from streamgauge.events import event_streams

    parameters = {name: value for name, value in parameters.items() if name not in _NOT_SET}
    if base is None:
        stream = event_streams().get(events or "")
        usual = stream.parameters().model_dump() if stream else {}
        return {name: value for name, value in parameters.items() if (name, value) not in usual.items()}
    semantics = parameters.get("semantics")
    defaults = base.variants.get(str(semantics), base).parameters().model_dump()
    changed = {name: value for name, value in parameters.items() if value != defaults.get(name)}
    if semantics != base.parameters().model_dump().get("semantics"):
        changed = {"semantics": semantics, **changed}
    return changed


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _as_asked(stored: StoredRun) -> dict[str, Any]:
    """Return the settings with the rate that was asked for: an online run stores the one that it found."""
    configuration = stored.configuration
    inner = stored.summary.get("offline_run_id")
    if configuration.get("load") == "online" and inner:
        try:
            asked = open_member(stored.path / "offline", inner).configuration["rate_per_s"]
        except (StreamgaugeError, LookupError, TypeError):
            configuration.pop("rate_per_s", None)
        else:
            configuration["rate_per_s"] = asked
    return configuration


def command_lines(stored: StoredRun, times: float = 1.0) -> list[str]:
    """Return the command that repeats a run, `times` as long, an option per line.

    There is none when its settings are not known, or not ours. Older versions did not store which event stream a user's
    function read.
    """
    configuration = _as_asked(stored)
    if not configuration or stored.is_observed:
        return []
    workload = stored.document["workload"]
    if is_user_function(workload) and not configuration.get("events"):
        return []
    if configuration.get("duration_s") is not None:
        configuration["duration_s"] *= times
    parameters = configuration.get("parameters") or {}
    configuration["parameters"] = _changed(workload_of(stored), configuration.get("events"), parameters)
    options = [
        option
        for setting in SETTINGS.values()
        if (value := configuration.get(setting.field)) is not None
        for option in _options(setting, value)
    ]
    return [f"streamgauge run {shlex.quote(workload)}", *options]


def command(stored: StoredRun) -> str:
    """Return the command as text that a shell takes."""
    return " \\\n  ".join(command_lines(stored))


def spark_settings(stored: StoredRun) -> dict[str, str]:
    """Return the Spark settings that the run chose, the ones that follow from its options included."""
    configuration, load = stored.configuration, stored.load
    if not configuration:
        return {}
    partitions = configuration.get("shuffle_partitions") or load.get("cores")
    found = {"spark.master": configuration.get("master"), "spark.sql.shuffle.partitions": partitions}
    chosen = {name: str(value) for name, value in found.items() if value is not None}
    return {**chosen, **{str(k): str(v) for k, v in (configuration.get("conf") or {}).items()}}


def has_masked(stored: StoredRun) -> bool:
    """Return whether secrets are left out of the settings, so that the command needs them back."""
    return MASK in spark_settings(stored).values()
