"""The speed of Apache Flink on NEXMark queries, for comparison with the same queries, events and cores elsewhere.

Each job runs in a Flink cluster of its own, all in one JVM, with one slot per core. A source inside Flink makes the
events, computing only the fields that a query reads, and a sink drops the results. State lives on the heap and there
are no checkpoints; the other settings are in `settings.properties`. Each query runs twice: first with few events to
warm up, then measured.

`duration_s` is the time from all tasks running to the job's end, by the job's own timestamps; `events_per_s` follows
from it. Flink compiles a query anew for each job, so the first part of a run is slower: `steady_events_per_s` leaves
out the first quarter of the events. `job_duration_s` also has the time to deploy the tasks, and `cpu_s` tells whether
the job had all the cores: much less than `duration_s` times the cores means that something else used them, or that one
task was the bottleneck.
"""

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
QUERIES = ["q0", "q1", "q2", "q3", "q5", "q7", "q8", "q11", "q17", "q18", "q20", "q21", "q22"]
CHECK_EVENTS, CHECK_RATE_PER_S = 10_000, 1_000
SPEED_EVENTS, SPEED_RATE_PER_S = 10_000_000, 100_000
# The parallel collector took a third less CPU than the default one on queries with much state.
JAVA_OPTIONS = "-XX:+UseParallelGC -XX:NewRatio=3 -XX:+AlwaysPreTouch"
ENVIRONMENT_NOT_READY = 4
CHECK_FAILED = 5

# Rows and sums per column after 10,000 events at 1,000/s. Text counts with its length unless it is a whole number,
# times count in milliseconds from the first event.
EXPECTED: dict[str, dict[str, Any]] = {
    "events": {"sha256": "f622dfb83e86cc57bfac5d46d8fc78433e8930e541beb5bbba0c7d9eb782b85a"},
    "q0": {"rows": 9200, "auction": 11526044, "bidder": 9677982, "price": 67588884531},
    "q1": {"rows": 9200, "price": Decimal("61370707154.148")},
    "q2": {"rows": 22, "price": 159224884},
    "q3": {"rows": 17, "id": 24012},
    "q5": {"rows": 13, "auction": 15400, "num": 18590},
    "q7": {"rows": 1, "price": 99865927},
    "q8": {"rows": 110, "id": 117768},
    "q11": {"rows": 196, "bids": 9200, "session_start": 939213, "session_end": 3756068},
    "q17": {"rows": 378, "min_price": 368545968, "max_price": 15370147735, "avg_price": 3016924285},
    "q18": {"rows": 1789},
    "q20": {"rows": 714, "price": 4626636346},
    "q21": {"rows": 8753, "channel_id": 4541313456754},
    "q22": {"rows": 9200, "dir1": 32152, "dir2": 33402, "dir3": 33300},
}


def _fail(message: str) -> None:
    sys.stderr.write(f"{message}\n")
    sys.exit(ENVIRONMENT_NOT_READY)


def _java(program: str) -> str:
    home = os.environ.get("JAVA_HOME")
    path = shutil.which(str(Path(home) / "bin" / program) if home else program)
    if path is None:
        _fail(
            f"{program} is not {f'in JAVA_HOME ({home})' if home else 'on the path'}; install a JDK, version 17 or 21"
        )
    return str(path)


def flink_jars(venv: Path) -> Path:
    """Return the folder of Flink's jars, after installing them into `venv` where necessary."""
    pattern = "lib/python*/site-packages/pyflink/lib"
    if not any(venv.glob(pattern)):
        sys.stderr.write(f"installing Flink into {venv}\n")
        pip = [str(venv / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([sys.executable, "-m", "venv", str(venv)], check=True)
        subprocess.run([*pip, "--requirement", str(HERE / "requirements.txt")], check=True)
    return next(venv.glob(pattern))


def class_path(jars: Path, classes: Path) -> str:
    """Compile the generator and runner into `classes`; return what Java needs to find them, and Flink."""
    sources = sorted(str(file) for file in (HERE / "java" / "nexmark").glob("*.java"))
    subprocess.run([_java("javac"), "-cp", f"{jars}/*", "-d", str(classes), *sources], check=True)
    return os.pathsep.join([str(classes), str(HERE / "java"), f"{jars}/*"])


@contextmanager
def _cores(count: int) -> Iterator[None]:
    """Let processes that are started inside use only so many cores, where the system can do that."""
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, sorted(before)[:count])
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def results(options: argparse.Namespace, mode: str) -> Iterator[dict[str, Any]]:
    """Run the queries in a JVM of their own and return what it tells about each, as soon as it is known."""
    with tempfile.TemporaryDirectory(prefix="streamgauge-flink-") as scratch:
        classes = Path(scratch) / "classes"
        classes.mkdir()
        command = [
            _java("java"),
            f"-Xms{options.heap}",
            f"-Xmx{options.heap}",
            f"-XX:ActiveProcessorCount={options.cores}",
            *options.java_options.split(),
            f"-Djava.io.tmpdir={scratch}",
            *("--add-opens", "java.base/java.util=ALL-UNNAMED"),
            *("-cp", class_path(flink_jars(options.venv), classes), "nexmark.Main", mode, str(HERE)),
            *map(str, (options.cores, options.events, options.rate, options.warmup_events)),
            *options.queries,
        ]
        with _cores(options.cores):
            process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        try:
            assert process.stdout is not None
            for line in process.stdout:
                yield json.loads(line, parse_float=Decimal)
            if process.wait() != 0:
                raise subprocess.CalledProcessError(process.returncode, "java")
        finally:
            process.kill()
            process.wait()


def measure(options: argparse.Namespace) -> None:
    found = []
    if not options.json:
        print(f"Flink, {options.cores} cores, {options.events:,} events, {options.rate:,} per second of event time")
        print(f"{'query':6} {'duration':>10} {'events/s':>12} {'steady':>12} {'CPU':>9}")
    for result in results(options, "speed"):
        found.append({key: float(value) if isinstance(value, Decimal) else value for key, value in result.items()})
        if not options.json:
            print(
                f"{result['query']:6} {result['duration_s']:8.2f} s {result['events_per_s']:12,}"
                f" {result['steady_events_per_s']:12,} {result['cpu_s']:7.2f} s",
                flush=True,
            )
    if options.json:
        print(json.dumps({"engine": "flink", "cores": options.cores, "rate_per_s": options.rate, "results": found}))


def check(options: argparse.Namespace) -> bool:
    """Print rows and sums of each query; tell whether they are the known ones, if they are known."""
    known = (options.events, options.rate) == (CHECK_EVENTS, CHECK_RATE_PER_S)
    right = True
    for result in results(options, "check"):
        expected = EXPECTED.get(result["query"], {}) if known else {}
        wrong = {key: value for key, value in expected.items() if result.get(key) != value}
        right &= not wrong
        verdict = "unknown" if not expected else "wrong" if wrong else "right"
        if options.json:
            print(json.dumps({**result, "verdict": verdict}, default=str), flush=True)
            continue
        print(f"{result.pop('query'):6} {verdict:7}", *(f"{key}={value}" for key, value in result.items()), flush=True)
        if wrong:
            print(f"{'':6} expected", *(f"{key}={value}" for key, value in wrong.items()))
    return right


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", dest="events", type=int, help=f"default {SPEED_EVENTS}, with --check {CHECK_EVENTS}")
    parser.add_argument("--rate", type=int, help=f"per second of event time: {SPEED_RATE_PER_S} or {CHECK_RATE_PER_S}")
    parser.add_argument("--queries", type=lambda text: text.split(","), default=QUERIES, help="for example q0,q5")
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--warmup-events", type=int, help="default: a fifth of the events; 0 for no warm-up")
    parser.add_argument("--heap", default="6g", help="heap of the JVM, for example 6g")
    parser.add_argument("--java-options", default=JAVA_OPTIONS, help=f"default {JAVA_OPTIONS}")
    parser.add_argument("--venv", type=Path, default=HERE / ".venv", help="where Flink is, or is to be installed")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--check", action="store_true", help="print the results of the queries instead of their speed")
    options = parser.parse_args()
    unknown = [name for name in options.queries if name not in QUERIES]
    if unknown:
        parser.error(f"unknown query {', '.join(unknown)}; there are {', '.join(QUERIES)}")
    if options.events is None:
        options.events = CHECK_EVENTS if options.check else SPEED_EVENTS
    if options.rate is None:
        options.rate = CHECK_RATE_PER_S if options.check else SPEED_RATE_PER_S
    if options.warmup_events is None:
        options.warmup_events = options.events // 5
    return options


def main() -> None:
    options = _options()
    # Without this, SIGTERM ends Python at once and leaves the JVM behind.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    if not options.check:
        measure(options)
    elif not check(options):
        sys.exit(CHECK_FAILED)


if __name__ == "__main__":
    main()
