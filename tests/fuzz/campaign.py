"""Damage inputs by chance, run the commands that read them, and keep every case that ends in a traceback.

A case is a target and a seed: `run:17` is always the same case.
"""

import argparse
import contextlib
import io
import os
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
import unicodedata
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random

from streamgauge.cli.main import main as streamgauge

from .targets import TARGETS, Case, Target, build_template, without_spark

# 1 is a bug of ours; 130 nobody asked for.
ALLOWED_CODES = (0, 2, 3, 4, 5, 6, 7)
# A command that takes longer on so little data will not end.
PATIENCE_S = 60
MEMORY_BYTES = 4 << 30
FAILURES = Path("fuzz-failures")


@dataclass(frozen=True)
class Failure:
    """One case that went wrong, and how to repeat it."""

    case: str
    command: str
    what: str
    problem: str

    @property
    def head(self) -> str:
        """The last line of the problem, which names it."""
        return self.problem.strip().splitlines()[-1][:200]


def _too_long(*_: object) -> None:
    raise TimeoutError(f"no answer after {PATIENCE_S} s")


def call(arguments: tuple[str, ...]) -> tuple[int, str, str]:
    """Run the command line in this process; a bug of ours comes through as the exception that it is."""
    out, err = io.StringIO(), io.StringIO()
    before, sys.argv = sys.argv, ["streamgauge", *arguments]
    signal.signal(signal.SIGALRM, _too_long)
    signal.alarm(PATIENCE_S)
    code = 0
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            streamgauge()
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    finally:
        signal.alarm(0)
        sys.argv = before
    return code, out.getvalue(), err.getvalue()


def _obeyed(text: str) -> list[str]:
    """Return what a terminal would obey."""
    return [c for c in text if c not in "\n\t" and unicodedata.category(c) in ("Cc", "Cs")]


def _problem(arguments: tuple[str, ...], folder: Path, case: Case) -> str | None:
    """Run a command and return what is wrong with how it ended."""
    runs = _folders(folder / "runs")
    try:
        code, out, err = call(arguments)
    except Exception:
        return traceback.format_exc()
    left = sorted(_folders(folder / "runs") - runs) if case.imports else []
    wrong = {
        f"exit code {code}": code not in ALLOWED_CODES,
        f"one damaged run hides the others: exit code {code}": arguments == ("runs", "list") and code != 0,
        f"the output holds controls: {sorted(set(_obeyed(out + err)))!r}": bool(_obeyed(out + err)),
        f"exit code {code} without a message: {out!r}": code in (2, 3, 4, 5) and not err.strip(),
        f"exit code {code}, and a run is left: {left}": code != 0 and bool(left),
    }
    found = [problem for problem, is_there in wrong.items() if is_there]
    if found:
        return "\n".join((err, *found))
    shown = (_problem(("runs", "show", run_id), folder, Case([], "")) for run_id in left)
    return next((problem for problem in shown if problem is not None), None)


def _folders(runs: Path) -> set[str]:
    return {path.name for path in runs.iterdir()} if runs.is_dir() else set()


def _copy(template: Path, folder: Path, target: Target) -> None:
    for pattern in target.needs:
        for path in template.glob(pattern):
            if path.is_dir():
                shutil.copytree(path, folder / path.name)
            else:
                shutil.copy(path, folder / path.name)


@contextlib.contextmanager
def _inside(folder: Path) -> Iterator[None]:
    before = Path.cwd()
    chosen = {"STREAMGAUGE_RUNS": str(folder / "runs"), "STREAMGAUGE_CACHE": str(folder / "cache"), "NO_COLOR": "1"}
    kept = {name: os.environ.get(name) for name in chosen}
    os.environ.update(chosen)
    os.chdir(folder)
    try:
        with without_spark():
            yield
    finally:
        os.chdir(before)
        for name, value in kept.items():
            os.environ.pop(name) if value is None else os.environ.__setitem__(name, value)


def run_case(template: Path, target: Target, seed: int, *, keep: Path | None = None) -> Failure | None:
    """Run one case; where it fails, its files are kept below `keep`."""
    name = f"{target.name}:{seed}"
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        _copy(template, folder, target)
        case = target.make(folder, Random(name))
        with _inside(folder):
            for arguments in case.commands:
                problem = _problem(arguments, folder, case)
                if problem is not None:
                    failure = Failure(name, " ".join(("streamgauge", *arguments)), case.what, problem)
                    if keep is not None:
                        _keep(failure, folder, keep / f"{target.name}-{seed}")
                    return failure
    return None


def _keep(failure: Failure, folder: Path, place: Path) -> None:
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(folder, place, ignore_dangling_symlinks=True)
    text = f"{failure.case}\n{failure.what}\n{failure.command}\n\n{failure.problem}\n"
    (place / "failure.txt").write_text(text, errors="replace")


def _limit_memory() -> None:
    """Let a command that asks for too much fail by itself, not the machine."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, resource.getrlimit(resource.RLIMIT_AS)[1]))


def _say(text: str) -> None:
    sys.__stdout__.write(f"{text}\n")  # type: ignore[union-attr]
    sys.__stdout__.flush()  # type: ignore[union-attr]


def _report(cases: Counter[str], failures: list[Failure]) -> None:
    failed = Counter(failure.case.partition(":")[0] for failure in failures)
    _say(f"{'target':<14}{'cases':>8}{'failures':>10}")
    for name in cases:
        _say(f"{name:<14}{cases[name]:>8,}{failed[name]:>10,}")
    _say(f"{'in all':<14}{cases.total():>8,}{len(failures):>10,}")
    for head, count in Counter(failure.head for failure in failures).most_common():
        first = next(failure for failure in failures if failure.head == head)
        _say(f"\n{count} times: {head!r}\n  {first.what}: {first.command!r}\n  repeat: make fuzz CASE={first.case}")


def main(arguments: list[str]) -> int:
    """Run cases for some minutes, or one again; returns 1 when any failed."""
    parser = argparse.ArgumentParser(prog="fuzz", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=int(time.time()), help="the first seed; default the time")
    parser.add_argument("--target", choices=sorted(TARGETS), action="append", help="only this; repeatable")
    parser.add_argument("--case", help="TARGET:SEED, run again with its traceback")
    given = parser.parse_args(arguments)
    _limit_memory()
    with tempfile.TemporaryDirectory() as place:
        template = Path(place)
        build_template(template)
        if given.case:
            name, _, seed = given.case.partition(":")
            failure = run_case(template, TARGETS[name], int(seed), keep=FAILURES.absolute())
            _say(f"{failure.what}\n{failure.command}\n{failure.problem}" if failure else f"{given.case} is fine")
            return int(failure is not None)
        return _campaign(template, given.target or list(TARGETS), given.minutes, given.seed)


def _campaign(template: Path, names: list[str], minutes: float, seed: int) -> int:
    cases: Counter[str] = Counter()
    failures: list[Failure] = []
    keep, end_s = FAILURES.absolute(), time.monotonic() + 60 * minutes
    _say(f"{minutes:g} minutes from seed {seed}")
    while time.monotonic() < end_s:
        for name in names:
            cases[name] += 1
            failure = run_case(template, TARGETS[name], seed, keep=keep)
            failures += [failure] if failure else []
        seed += 1
    _report(cases, failures)
    if failures:
        _say(f"\ninputs and tracebacks are in {FAILURES}/")
    return int(bool(failures))
