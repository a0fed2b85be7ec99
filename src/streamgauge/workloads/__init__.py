"""The catalogue of workloads."""

from functools import cache
from importlib import import_module

from streamgauge.errors import UsageError, closest
from streamgauge.workloads.workload import OutputMode, Window, Workload

__all__ = ["OutputMode", "Window", "Workload", "catalogue", "find_workload", "find_workloads", "is_prototype"]


# One module per workload, in the order in which `list` shows them.
MODULES = (
    "ysb.ysb",
    *(f"hibench.{name}" for name in ("identity", "repartition", "wordcount", "fixwindow")),
    *(f"nexmark.q{number}" for number in range(24)),
    *(f"streambench.{name}" for name in ("wordcount", "windowed_wordcount", "advclick", "kmeans")),
    *(f"operators.{name}" for name in ("map", "filter", "filtermap", "reduce", "rolling_count")),
    *(f"operators.{name}" for name in ("window_tumbling", "window_sliding", "session")),
    *(f"operators.{name}" for name in ("join_window", "join_left", "partition")),
)


def _load(module: str) -> Workload:
    workload = import_module(f"streamgauge.workloads.{module}").WORKLOAD
    assert isinstance(workload, Workload)
    return workload


@cache
def catalogue() -> dict[str, Workload]:
    """Return all workloads by name, in the order in which `list` shows them."""
    return {workload.name: workload for name in MODULES for workload in [_load(name)]}


def is_prototype(name: str) -> bool:
    """Tell a prototype file from a name of the catalogue.

    >>> is_prototype("examples/prototypes/ysb.yaml"), is_prototype("ysb")
    (True, False)
    """
    return name.endswith((".yaml", ".yml"))


def find_workload(name: str) -> Workload:
    """Find a workload by its name, or read it from a prototype file."""
    if is_prototype(name):
        from streamgauge.prototype.workload import prototype_workload

        return prototype_workload(name)
    known = catalogue()
    if name not in known:
        raise UsageError(f'unknown workload "{name}"', remedy=closest(name, known))
    return known[name]


def find_workloads(name: str) -> list[Workload]:
    """Find a workload by its name, or all of a suite."""
    suite = [workload for workload in catalogue().values() if workload.suite == name]
    return [find_workload(name)] if name in catalogue() or not suite else suite
