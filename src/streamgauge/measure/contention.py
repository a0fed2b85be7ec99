"""How much of the machine others took while something was measured, and whether that is too much.

Counters only grow; two readings and the time between them make a `Contention`. What a system does not show is None,
never 0.
"""

import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from streamgauge.clock import ClockMotion, clock_motion
from streamgauge.measure.records import MachineReading, ResourceSample

# A run is contended above these. Background work of a machine at rest takes a few percent of it.
MAX_FOREIGN_SHARE = 0.1
MAX_STOLEN_SHARE = 0.1
NOTED_STOLEN_SHARE = 0.05
MAX_THROTTLED_SHARE = 0.1
# On a quiet machine, the reference loop takes 1.05 to 1.15 times its least on average: caches are cold.
MAX_SLOWDOWN = 1.2
# With cores to spare for all, threads that want to run wait for less than this share of the time.
MIN_WAITED_SHARE = 0.05
# Beside other processes, a query that waits this long has times that are not its own, though it may keep up.
HEAVY_WAITED_SHARE = 1 / 3
# Notes only: it is unknown whose writing it was. A checkpoint on a slow disk waits for a few percent of the time.
MAX_IO_STALL_SHARE = 0.2
MAX_MEMORY_STALL_SHARE = 0.05
SPARK_WAITS = "Spark's waiting for cores"


@dataclass(frozen=True)
class Contention:
    """What others took of the machine over some time; None is what this system does not show.

    `foreign_cores` are the cores that other processes used on average, `waited_share` how much of the time in which
    Spark's threads wanted a core they waited for one, `slowdown` that of the reference loop. Stalls are shares of the
    time in which some, or all, tasks of the machine waited: those of the experiment itself are among them.
    """

    cores: int | None = None
    foreign_cores: float | None = None
    waited_share: float | None = None
    slowdown: float | None = None
    stolen_share: float | None = None
    quota_cores: float | None = None
    throttled_share: float | None = None
    cpu_some_share: float | None = None
    io_some_share: float | None = None
    io_full_share: float | None = None
    memory_some_share: float | None = None
    memory_full_share: float | None = None
    frequency_hz: float | None = None

    @property
    def foreign_share(self) -> float | None:
        """The share of all cores that other processes used."""
        return None if self.foreign_cores is None or not self.cores else self.foreign_cores / self.cores

    @property
    def level(self) -> float:
        """How contended the machine was by the worst witness: above 1 is above a limit.

        CPU of other processes counts only if Spark's threads waited for cores: a large machine has enough for both.
        """
        is_free = self.waited_share is not None and self.waited_share < MIN_WAITED_SHARE
        shares = (
            (self.slowdown, MAX_SLOWDOWN),
            (None if is_free else self.foreign_share, MAX_FOREIGN_SHARE),
            (self.stolen_share, MAX_STOLEN_SHARE),
            (self.throttled_share, MAX_THROTTLED_SHARE),
        )
        return max((value / limit for value, limit in shares if value is not None), default=0.0)

    @property
    def is_contended(self) -> bool:
        """Others took enough to change what a run measures."""
        return self.level > 1.0

    @property
    def is_heavy(self) -> bool:
        """Beside other processes, Spark waited for more than a third of the time: its times are not its own."""
        return (self.foreign_share or 0.0) > MAX_FOREIGN_SHARE and (self.waited_share or 0.0) > HEAVY_WAITED_SHARE

    @property
    def reasons(self) -> tuple[str, ...]:
        """What is above its limit, with the amount."""
        return tuple(self._reasons())

    def _reasons(self) -> Iterator[str]:
        share = self.foreign_share or 0.0
        if share > MAX_FOREIGN_SHARE and (self.waited_share is None or self.waited_share >= MIN_WAITED_SHARE):
            waited = "" if self.waited_share is None else f", and Spark waited for a core {self.waited_share:.0%} of"
            waited += " the time it wanted one" if waited else ""
            yield f"other processes used {self.foreign_cores:.2g} of {self.cores} cores on average{waited}"
        if (self.slowdown or 0.0) > MAX_SLOWDOWN:
            yield f"CPU contention: the reference loop ran {self.slowdown:.3g}× slower than on a quiet machine"
        if (self.stolen_share or 0.0) > MAX_STOLEN_SHARE:
            yield f"other tenants of this machine took {self.stolen_share:.0%} of its time"
        if (self.throttled_share or 0.0) > MAX_THROTTLED_SHARE:
            limit = "" if self.quota_cores is None else f" of {self.quota_cores:.3g} cores"
            yield f"the CPU quota{limit} was used up in {self.throttled_share:.0%} of its periods"

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader should know but is too little, or not known to be the doing of others."""
        return tuple(self._notes())

    def _notes(self) -> Iterator[str]:
        stolen = self.stolen_share or 0.0
        if NOTED_STOLEN_SHARE < stolen <= MAX_STOLEN_SHARE:
            yield f"other tenants of this machine took {stolen:.0%} of its time"
        stalls = (
            ("disks", self.io_full_share, MAX_IO_STALL_SHARE),
            ("memory", self.memory_full_share, MAX_MEMORY_STALL_SHARE),
        )
        yield from (
            f"for {share:.0%} of the time everything that had work waited for {what}, which may be this run's own doing"
            for what, share, limit in stalls
            if share is not None and share > limit
        )

    @property
    def not_visible(self) -> tuple[str, ...]:
        """What this system does not show."""
        shown = {
            "CPU of other processes": self.foreign_cores,
            SPARK_WAITS: self.waited_share,
            "pressure stall information": self.cpu_some_share,
            "CPU quota": self.throttled_share,
            "clock frequency": self.frequency_hz,
        }
        return tuple(what for what, value in shown.items() if value is None)


def contention(
    first: MachineReading,
    last: MachineReading,
    elapsed_s: float,
    *,
    slowdown: float | None = None,
    stolen_share: float | None = None,
) -> Contention:
    """Return what others took between two readings."""
    return Contention(
        cores=last.cores,
        foreign_cores=_foreign_cores(first, last, elapsed_s),
        waited_share=_waited_share(first, last),
        slowdown=slowdown,
        stolen_share=stolen_share,
        quota_cores=last.quota_cores,
        throttled_share=_throttled_share(first, last),
        cpu_some_share=_share(first.cpu_some_s, last.cpu_some_s, elapsed_s),
        io_some_share=_share(first.io_some_s, last.io_some_s, elapsed_s),
        io_full_share=_share(first.io_full_s, last.io_full_s, elapsed_s),
        memory_some_share=_share(first.memory_some_s, last.memory_some_s, elapsed_s),
        memory_full_share=_share(first.memory_full_s, last.memory_full_s, elapsed_s),
        frequency_hz=last.frequency_hz,
    )


def _share(before: float | None, after: float | None, of: float) -> float | None:
    return None if before is None or after is None or of <= 0 else max(0.0, after - before) / of


def _foreign_cores(first: MachineReading, last: MachineReading, elapsed_s: float) -> float | None:
    busy, own = _share(first.busy_s, last.busy_s, elapsed_s), _share(first.own_s, last.own_s, elapsed_s)
    # The system counts all processes in whole ticks, and single ones exactly: the difference may come out below 0.
    return None if busy is None or own is None else max(0.0, busy - own)


def _waited_share(first: MachineReading, last: MachineReading) -> float | None:
    ran, waited = _share(first.ran_s, last.ran_s, 1.0), _share(first.waited_s, last.waited_s, 1.0)
    return None if ran is None or waited is None or not ran + waited else waited / (ran + waited)


def _throttled_share(first: MachineReading, last: MachineReading) -> float | None:
    if first.periods is None or last.periods is None:
        return None
    # Without a quota there are no periods, and nothing is throttled.
    return _share(first.throttled_periods, last.throttled_periods, max(1, last.periods - first.periods))


def contention_of(samples: Sequence[ResourceSample], cores: int | None) -> Contention | None:
    """Return what others took of the machine between the first and the last sample; None without two of them.

    `cores` are those of the machine where the samples do not have them: earlier versions stored no counters.
    """
    if len(samples) < 2:
        return None
    first, last = samples[0], samples[-1]
    elapsed_s = last.monotonic_s - first.monotonic_s
    before, after = first.machine or MachineReading(), last.machine or MachineReading()
    stolen_s, cores = max(0.0, last.stolen_s - first.stolen_s), after.cores or cores or 1
    found = contention(
        before,
        after,
        elapsed_s,
        slowdown=slowdown(samples),
        stolen_share=stolen_s / elapsed_s / cores if elapsed_s > 0 else None,
    )
    clocks_hz = [s.machine.frequency_hz for s in samples if s.machine and s.machine.frequency_hz]
    return replace(found, frequency_hz=statistics.fmean(clocks_hz) if clocks_hz else None)


def motion_of_clock(samples: Sequence[ResourceSample]) -> ClockMotion:
    """Return how the wall clock moved against the monotonic clock over the samples."""
    return clock_motion([(sample.at_us / 1e6, sample.monotonic_s) for sample in samples])


def slowdown(samples: Sequence[ResourceSample]) -> float | None:
    """Return how much longer the reference loop took on average than on a quiet machine; None where it did not run.

    The quiet machine is the least of all times: so a processor that is as slow all the time, as under the heat of its
    own load, is not slowed down, and one that is slow for most of the time is.
    """
    loops = [
        (s.reference_loop_mean_s, s.reference_loop_least_s)
        for s in samples
        if s.reference_loop_mean_s and s.reference_loop_least_s
    ]
    if not loops:
        return None
    return statistics.fmean(mean_s for mean_s, _ in loops) / min(least_s for _, least_s in loops)
