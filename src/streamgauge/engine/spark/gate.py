"""The gate of the embedded source: a small file that says when the load starts and ends."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path


@dataclass(frozen=True)
class Gate:
    """When the load starts and, if it ended early, when; microseconds since the epoch.

    With `created` exactly that many events of the schedule exist, whatever the time.
    """

    origin_us: int
    closed_us: int | None = None
    created: int | None = None

    def write(self, control: Path) -> None:
        """Open the gate, or narrow it, at once and as a whole."""
        temporary = control / "gate.json.new"
        temporary.write_text(json.dumps(asdict(self)))
        temporary.replace(control / "gate.json")


@dataclass(frozen=True)
class GateFile:
    """The gate of a source whose control folder this is."""

    control: Path

    def open(self, origin_us: int, closed_us: int | None = None, created: int | None = None) -> None:
        """Open the gate, or narrow it."""
        Gate(origin_us, closed_us, created).write(self.control)
