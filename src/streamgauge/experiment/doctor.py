"""Is this machine ready? Each check says what it found and how to mend it."""

import os
import shutil
import socket
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from streamgauge.engine.environment import PACKAGES
from streamgauge.engine.java import REMEDY, find_java
from streamgauge.errors import StreamgaugeError
from streamgauge.store import default_root
from streamgauge.units import format_bytes
from streamgauge.verdict import Verdict

MINIMUM_PYTHON = (3, 11)
MINIMUM_MEMORY_BYTES = 3 * 2**30
MINIMUM_DISK_BYTES = 2**30


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
    found, missing = [], []
    for package in PACKAGES:
        try:
            found.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            missing.append(package)
    detail = f"missing: {', '.join(missing)}" if missing else ", ".join(found)
    return _check("packages", not missing, detail, f"pip install {' '.join(missing)}")


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


def _spark() -> Check:
    from streamgauge.experiment.verification import verify

    try:
        result = verify(["hibench-identity"], events=2000)
    except StreamgaugeError as error:
        return Check("Spark", Verdict.FAIL, error.what, error.remedy or "see the message")
    first = result.workloads[0]
    detail = f"a stream of {first.stream.events} events in {first.batches} micro-batches gave the right answer"
    return Check("Spark", first.verdict, detail, "; ".join(first.reasons))


def examine(*, deep: bool = False, runs: str | Path | None = None) -> Examination:
    """Look at everything that a run needs; `deep` starts Spark as well."""
    root = Path(runs) if runs is not None else default_root(os.environ)
    quick: list[Callable[[], Check]] = [
        _python,
        _java,
        _packages,
        _memory,
        _cores,
        lambda: _runs(root),
        _loopback,
    ]
    checks = [look() for look in quick]
    if deep and all(check.verdict is Verdict.PASS for check in checks):
        checks.append(_spark())
    return Examination(tuple(checks))
