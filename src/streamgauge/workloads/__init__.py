"""The catalogue of workloads."""

from functools import cache
from importlib import import_module

from streamgauge.workloads.workload import OutputMode, Window, Workload

__all__ = ["OutputMode", "Window", "Workload", "catalogue", "catalogue_entry", "family_names"]


def _named(prefix: str, folder: str, *modules: str) -> dict[str, str]:
    return {f"{prefix}-{module.replace('_', '-')}": f"{folder}.{module}" for module in modules}


# The module of each workload by name, in the order in which `list` shows them; the folder is the family.
MODULES = {
    "ysb": "ysb.ysb",
    **_named("hibench", "hibench", "identity", "repartition", "wordcount", "fixwindow"),
    **_named("nexmark", "nexmark", *(f"q{number}" for number in range(24))),
    **_named("streambench", "streambench", "wordcount", "windowed_wordcount", "advclick", "kmeans"),
    **_named("operator", "operators", "map", "filter", "filtermap", "reduce", "rolling_count"),
    **_named("operator", "operators", "window_tumbling", "window_sliding", "session"),
    **_named("operator", "operators", "join_window", "join_left", "partition"),
}


@cache
def catalogue_entry(name: str) -> Workload:
    """Import one workload of the catalogue."""
    workload = import_module(f"streamgauge.workloads.{MODULES[name]}").WORKLOAD
    assert isinstance(workload, Workload)
    return workload


def catalogue() -> dict[str, Workload]:
    """Return all workloads by name, in the order in which `list` shows them."""
    return {name: catalogue_entry(name) for name in MODULES}


def family_names(family: str) -> list[str]:
    """Return the names of the workloads that belong together; none for an unknown family."""
    return [name for name, module in MODULES.items() if module.split(".")[0] == family]
