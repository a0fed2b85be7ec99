"""The catalogue of workloads."""

from functools import cache

from streamgauge.errors import UsageError, closest
from streamgauge.workloads.workload import OutputMode, Window, Workload

__all__ = ["OutputMode", "Window", "Workload", "catalogue", "find_workload", "find_workloads"]


@cache
def catalogue() -> dict[str, Workload]:
    """Return all workloads by name, in the order in which `list` shows them."""
    from streamgauge.workloads.hibench import fixwindow, identity, repartition, wordcount
    from streamgauge.workloads.ysb import ysb

    modules = (ysb, identity, repartition, wordcount, fixwindow)
    return {module.WORKLOAD.name: module.WORKLOAD for module in modules}


def find_workload(name: str) -> Workload:
    """Find a workload by its name."""
    known = catalogue()
    if name not in known:
        raise UsageError(f'unknown workload "{name}"', remedy=closest(name, known))
    return known[name]


def find_workloads(name: str) -> list[Workload]:
    """Find a workload by its name, or all of a suite."""
    suite = [workload for workload in catalogue().values() if workload.suite == name]
    return [find_workload(name)] if name in catalogue() or not suite else suite
