"""The table of resources over time: how it is written, and how those of earlier versions are read."""

from collections.abc import Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from streamgauge.machine.process import ROLES
from streamgauge.measure.records import MachineReading, ResourceSample

if TYPE_CHECKING:
    import pyarrow as pa


# What the table calls the counters of the machine.
_MACHINE = "machine_"


def resources_table(samples: list[ResourceSample]) -> "pa.Table":
    """Return the samples as a table."""
    import pyarrow as pa

    columns: dict[str, list[float | None]] = {
        "at_us": [s.at_us for s in samples],
        "monotonic_s": [s.monotonic_s for s in samples],
        "stolen_s": [s.stolen_s for s in samples],
        "reference_loop_mean_s": [s.reference_loop_mean_s for s in samples],
        "reference_loop_least_s": [s.reference_loop_least_s for s in samples],
    }
    for role in ROLES:
        columns[f"{role}_cpu_s"] = [s.cpu_s[role] for s in samples]
        columns[f"{role}_memory_bytes"] = [s.memory_bytes[role] for s in samples]
    machines = [s.machine or MachineReading() for s in samples]
    columns |= {f"{_MACHINE}{f.name}": [getattr(m, f.name) for m in machines] for f in fields(MachineReading)}
    return pa.table(columns)


def sample_from_row(row: Mapping[str, Any]) -> ResourceSample:
    """Read a row of the table; earlier versions knew less, and called the reference loop a look."""
    names = [f.name for f in fields(MachineReading)]
    is_known = f"{_MACHINE}{names[0]}" in row
    return ResourceSample(
        at_us=row["at_us"],
        monotonic_s=row.get("monotonic_s", row["at_us"] / 1e6),
        cpu_s={role: row[f"{role}_cpu_s"] for role in ROLES},
        memory_bytes={role: row[f"{role}_memory_bytes"] for role in ROLES},
        stolen_s=row["stolen_s"],
        reference_loop_mean_s=row.get("reference_loop_mean_s", row.get("look_mean_s")),
        reference_loop_least_s=row.get("reference_loop_least_s", row.get("look_least_s")),
        machine=MachineReading(**{name: row.get(f"{_MACHINE}{name}") for name in names}) if is_known else None,
    )
