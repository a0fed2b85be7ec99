"""What the system counts: CPU of other processes, waits for cores, quotas, stalls, clock frequency.

Files are read below a root, so that tests can make up a machine. What a system does not show is None, never 0.
"""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from streamgauge.measure.records import MachineReading

ROOT = Path("/")
CPU_FOLDER, CGROUP_FOLDER = "sys/devices/system/cpu", "sys/fs/cgroup"


@dataclass(frozen=True)
class Quota:
    """What a control group allows, and how often it held its processes up; `cores` is None without a limit."""

    cores: float | None
    periods: int
    throttled_periods: int


def _text(path: Path) -> str | None:
    """Return a file of the kernel; None where there is none, or none that may be read."""
    try:
        return path.read_text()
    except OSError:
        return None


def read_stalls_s(root: Path, resource: str) -> dict[str, float]:
    """Return for "some" and "full" how long tasks have waited for a resource so far; empty without PSI."""
    found = {}
    for line in (_text(root / "proc/pressure" / resource) or "").splitlines():
        kind, *words = line.split()
        values = dict(word.partition("=")[::2] for word in words)
        with suppress(KeyError, ValueError):
            found[kind] = int(values["total"]) / 1e6
    return found


def read_frequency_hz(root: Path) -> float | None:
    """Return the mean clock frequency of the processors."""
    values = [_text(path) for path in sorted((root / CPU_FOLDER).glob("cpu[0-9]*/cpufreq/scaling_cur_freq"))]
    known = [int(value) * 1e3 for value in values if value and value.strip().isdigit()]
    return sum(known) / len(known) if known else None


def read_quota(root: Path) -> Quota | None:
    """Return the tightest CPU limit of this process's control group and those around it; None where none is seen."""
    found = [quota for folder in _cgroup_folders(root) if (quota := _quota_of(folder)) is not None]
    limited = [quota for quota in found if quota.cores is not None]
    if limited:
        return min(limited, key=lambda quota: quota.cores or 0.0)
    return found[0] if found else None


def _cgroup_folders(root: Path) -> Iterator[Path]:
    """Yield the folders of the CPU controller, version 2 or 1, from the innermost group outwards."""
    for line in (_text(root / "proc/self/cgroup") or "").splitlines():
        _, _, rest = line.partition(":")
        controllers, _, group = rest.partition(":")
        for name in {"": ("", "unified"), "cpu": ("cpu", "cpu,cpuacct")}.get(_controller(controllers), ()):
            # In a container the group's path is often that outside of it: what exists of it counts.
            path = PurePosixPath(group.lstrip("/"))
            yield from (root / CGROUP_FOLDER / name / part for part in (path, *path.parents))


def _controller(controllers: str) -> str:
    return "cpu" if "cpu" in controllers.split(",") else controllers


def _quota_of(folder: Path) -> Quota | None:
    text = _text(folder / "cpu.stat")
    if text is None:
        return None
    fields = dict(line.split(maxsplit=1) for line in text.splitlines() if " " in line)
    # Where the controller limits nothing, these are missing.
    return Quota(_limit_cores(folder), int(fields.get("nr_periods", 0)), int(fields.get("nr_throttled", 0)))


def _limit_cores(folder: Path) -> float | None:
    words = (_text(folder / "cpu.max") or "").split()
    if not words:
        words = [(_text(folder / name) or "").strip() for name in ("cpu.cfs_quota_us", "cpu.cfs_period_us")]
    with suppress(ValueError):
        quota_us, period_us = map(int, words)
        return quota_us / period_us if quota_us > 0 else None
    return None


def read_waits_s(root: Path, pid: int) -> dict[int, tuple[float, float]]:
    """Return for each thread of a process how long it ran, and how long it waited for a core; empty where unknown."""
    found = {}
    for path in (root / "proc" / str(pid) / "task").glob("*/schedstat"):
        words = (_text(path) or "").split()
        if len(words) >= 2:
            found[int(path.parent.name)] = (int(words[0]) / 1e9, int(words[1]) / 1e9)
    return found


def read_machine(
    root: Path,
    *,
    cores: int | None,
    busy_s: float | None,
    own_s: float | None,
    waits_s: Iterable[tuple[float, float]] = (),
) -> MachineReading:
    """Read what the system shows; CPU times come from whoever watches the processes."""
    io, memory, quota = read_stalls_s(root, "io"), read_stalls_s(root, "memory"), read_quota(root)
    threads = list(waits_s)
    return MachineReading(
        cores=cores,
        busy_s=busy_s,
        own_s=own_s,
        ran_s=sum(ran_s for ran_s, _ in threads) if threads else None,
        waited_s=sum(waited_s for _, waited_s in threads) if threads else None,
        cpu_some_s=read_stalls_s(root, "cpu").get("some"),
        io_some_s=io.get("some"),
        io_full_s=io.get("full"),
        memory_some_s=memory.get("some"),
        memory_full_s=memory.get("full"),
        quota_cores=quota.cores if quota else None,
        periods=quota.periods if quota else None,
        throttled_periods=quota.throttled_periods if quota else None,
        frequency_hz=read_frequency_hz(root),
    )
