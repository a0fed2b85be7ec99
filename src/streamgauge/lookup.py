"""Find what a user names: an entry of the catalogue, a prototype or a suite file, or a function of their own.

Workloads are imported where they are found, so that a name costs nothing to look at.
"""

from typing import TYPE_CHECKING

from streamgauge.bundle import is_bundled
from streamgauge.errors import InvalidExperimentError, UsageError, closest

if TYPE_CHECKING:
    from streamgauge.workloads import Workload

YAML = (".yaml", ".yml")
# What a user's function reads where nothing else is said.
USUAL_EVENTS = "ysb"


def is_user_function(reference: str) -> bool:
    """Return whether a reference is `file.py:function`, or `example:NAME:function` of the package."""
    return ".py:" in reference or reference.endswith(".py") or is_bundled(reference, "example")


def is_prototype(name: str) -> bool:
    """Return whether a name is that of a prototype; of a file, only the name counts.

    >>> is_prototype("my/prototype.yaml"), is_prototype("prototype:ysb"), is_prototype("ysb")
    (True, True, False)
    """
    return name.endswith(YAML) or is_bundled(name, "prototype")


def is_suite(reference: str) -> bool:
    """Return whether a reference is a suite, by the keys of the file; what is not a prototype is read as one."""
    from streamgauge.prototype.file.document import is_prototype_file

    return is_bundled(reference, "suite") or (reference.endswith(YAML) and not is_prototype_file(reference))


def find_workload(name: str) -> "Workload":
    """Find a workload by its name, or read it from a prototype file."""
    from streamgauge.workloads import MODULES, catalogue_entry

    if is_prototype(name):
        return _prototype(name)
    if name in MODULES:
        return catalogue_entry(name)
    if is_suite(name):
        raise _is_a_suite(name)
    raise UsageError(f'unknown workload "{name}"', remedy=closest(name, MODULES))


def _prototype(name: str) -> "Workload":
    from streamgauge.prototype.file.document import is_suite_file
    from streamgauge.prototype.workload import prototype_workload

    if is_suite_file(name):
        raise _is_a_suite(name)
    return prototype_workload(name)


def _is_a_suite(name: str) -> InvalidExperimentError:
    return InvalidExperimentError(f"{name} is a suite, not a workload", remedy=f"run it with `streamgauge run {name}`")


def find_workloads(name: str) -> "list[Workload]":
    """Find a workload by its name, or all of a family."""
    from streamgauge.workloads import MODULES, catalogue_entry, family_names

    names = [] if name in MODULES else family_names(name)
    return [catalogue_entry(one) for one in names] or [find_workload(name)]


def resolve_workload(reference: str, events: str | None, *, import_code: bool = True) -> "Workload":
    """Find what a user named: an entry of the catalogue, a prototype file, or a function of their own."""
    if is_user_function(reference):
        from streamgauge.events import event_stream
        from streamgauge.workloads.user import user_workload

        return user_workload(reference, event_stream(events or USUAL_EVENTS), import_code=import_code)
    workload = find_workload(reference)
    if events is not None:
        raise UsageError(
            f"{reference} has its own events",
            where="--events",
            remedy="use --events only with file.py:function",
        )
    return workload
