"""Is this machine ready? Each check says what it found and how to fix it."""

import os
import shutil
import socket
import sys
import tempfile
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from streamgauge.clock import SystemClock
from streamgauge.errors import StreamgaugeError
from streamgauge.extras import EXTRAS
from streamgauge.machine.environment import PACKAGES, installed_version
from streamgauge.machine.java import REMEDY, find_java
from streamgauge.measure.contention import SPARK_WAITS, Contention
from streamgauge.services.state import running_pids, state_folder
from streamgauge.store import runs_root
from streamgauge.units import format_bytes
from streamgauge.verdict import Verdict

MINIMUM_PYTHON = (3, 11)
MINIMUM_MEMORY_BYTES = 3 * 2**30
MINIMUM_DISK_BYTES = 2**30
WATCH_S = 1.0
QUIET = "machine"


@dataclass(frozen=True)
class Check:
    """One thing that was looked at."""

    name: str
    verdict: Verdict
    detail: str
    remedy: str = ""


@dataclass(frozen=True)
class Examination:
    """All checks."""

    checks: tuple[Check, ...]

    @property
    def verdict(self) -> Verdict:
        """Ready only when every check passes."""
        return Verdict.combine(check.verdict for check in self.checks)

    def document(self) -> dict[str, Any]:
        """Return the checks; the keys are those of `doctor --json`."""
        return {"verdict": self.verdict.value, "checks": [asdict(check) for check in self.checks]}


def _check(name: str, ok: bool, detail: str, remedy: str) -> Check:
    return Check(name, Verdict.PASS if ok else Verdict.FAIL, detail, "" if ok else remedy)


def _python() -> Check:
    found = ".".join(map(str, sys.version_info[:3]))
    return _check("Python", sys.version_info >= MINIMUM_PYTHON, found, "install Python 3.11 or newer")


def _java() -> Check:
    try:
        home, major = find_java(os.environ)
    except StreamgaugeError as error:
        return Check("Java", Verdict.FAIL, error.what, REMEDY)
    return Check("Java", Verdict.PASS, f"{major} in {home}")


def _packages() -> Check:
    found = {package: installed_version(package) for package in PACKAGES}
    wrong = [package for package, version in found.items() if version is None or _is_too_old(package, version)]
    detail = ", ".join(f"{package} {version or 'is missing'}" for package, version in found.items())
    return _check("packages", not wrong, detail, "; ".join(map(_install, wrong)))


def _is_too_old(package: str, version: str) -> bool:
    return package in EXTRAS and EXTRAS[package].is_too_old(version)


def _install(package: str) -> str:
    return EXTRAS[package].install if package in EXTRAS else f"pip install {package}"


def _memory() -> Check:
    import psutil

    total = psutil.virtual_memory().total
    return _check(
        "memory",
        total >= MINIMUM_MEMORY_BYTES,
        format_bytes(total),
        "3 GiB or more are needed to run Spark well",
    )


def _cores() -> Check:
    cores = os.cpu_count() or 1
    return Check("cores", Verdict.PASS, f"{cores}")


def _runs(root: Path) -> Check:
    existing = root
    try:
        while not existing.exists():
            existing = existing.parent
        with tempfile.TemporaryFile(dir=existing):
            free = shutil.disk_usage(existing).free
    except OSError as error:
        remedy = "choose another place with --runs or STREAMGAUGE_RUNS"
        return Check("runs", Verdict.FAIL, f"{root} cannot be written: {error.strerror}", remedy)
    return _check("runs", free >= MINIMUM_DISK_BYTES, f"{root}, {format_bytes(free)} free", "free at least 1 GiB")


def _loopback() -> Check:
    try:
        with socket.create_server(("127.0.0.1", 0)) as server:
            port = server.getsockname()[1]
            with socket.create_connection(("127.0.0.1", port), timeout=5):
                pass
    except OSError as error:
        remedy = "allow connections on 127.0.0.1: Spark talks to itself over it"
        return Check("loopback", Verdict.FAIL, f"no connection on 127.0.0.1: {error}", remedy)
    return Check("loopback", Verdict.PASS, "127.0.0.1 answers")


def _watch() -> Contention:
    from streamgauge.machine.resources import watch_machine

    return watch_machine(SystemClock(), WATCH_S, other_pids=running_pids(state_folder()))


def _quiet() -> Check:
    """Return whether others leave the machine to a run; a busy machine makes failures of queries inconclusive."""
    found = _watch()
    said = (
        [] if found.foreign_cores is None else [f"other processes use {found.foreign_cores:.2g} of {found.cores} cores"]
    )
    stalls = {"cores": found.cpu_some_share, "disks": found.io_some_share, "memory": found.memory_some_share}
    waits = [f"for {what} {share:.0%}" for what, share in stalls.items() if share is not None]
    said += [f"work waits {', '.join(waits)} of the time"] if waits else []
    said += [f"a CPU quota allows {found.quota_cores:.3g} cores"] if found.quota_cores is not None else []
    unseen = [what for what in found.not_visible if what != SPARK_WAITS]
    said += [f"not visible here: {', '.join(unseen)}"] if unseen else []
    remedy = "end other work or wait for its end; `top` shows it"
    return _check(QUIET, not found.is_contended, "; ".join(said), remedy)


def _spark() -> Check:
    from streamgauge.experiments.verify_all import verify

    try:
        result = verify(["hibench-identity"], count=2000)
    except StreamgaugeError as error:
        return Check("Spark", Verdict.FAIL, error.what, error.remedy or "see the message")
    first = result.workloads[0]
    detail = f"a stream of {first.stream.events} events in {first.batches} micro-batches gave the right answer"
    return Check("Spark", first.verdict, detail, "; ".join(first.reasons))


def examine(*, deep: bool = False, runs: str | Path | None = None) -> Examination:
    """Look at everything that a run needs; `deep` starts Spark as well."""
    root = runs_root(runs)
    quick: list[Callable[[], Check]] = [
        _python,
        _java,
        _packages,
        _memory,
        _cores,
        lambda: _runs(root),
        _loopback,
        _quiet,
    ]
    checks = [look() for look in quick]
    # A busy machine is slow and not broken: Spark can be tried on it.
    if deep and all(check.verdict is Verdict.PASS for check in checks if check.name != QUIET):
        checks.append(_spark())
    return Examination(tuple(checks))
