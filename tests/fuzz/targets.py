"""What is damaged, and which commands then read it."""

import gzip
import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random

import pyarrow as pa
import pyarrow.parquet as pq

from made_runs.event_logs import GOLDEN, NEWEST
from made_runs.modelled_runs import ModelledRun
from made_runs.stored_runs import FakeRun, store_run
from report.test_html_report import healthy_evidence
from report.test_set_report import searched, suite_of
from streamgauge.bundle import FOLDER
from streamgauge.experiments import suite as suites
from streamgauge.experiments.suite import run_suite
from streamgauge.observe.import_log import import_event_log

from .mutators import JSON, LINES, TEXT, damage

HERE = Path(__file__).parent
PROJECT = HERE.parents[1]
RELEASED = HERE.parent / "store" / "released"
SUITE = """\
streamgauge: 1
name: some
defaults: {rate: 1k, duration: 10s}
runs:
  - {workload: [ysb, nexmark-q1], repetitions: 2, matrix: {trigger: [1s, 2s]}}
thresholds: [batches > 10, "end_to_end_latency_s.p99 < 2 s"]
"""
TRACE = "time_s,rate_per_s\n" + "".join(f"{100 + k},{10 * (k % 7)}\n" for k in range(40))
KEYS = "key,weight\n" + "".join(f"k{k},{1 / (k + 1):.5f}\n" for k in range(40))
# Log files of Spark are long; what a case changes is one line in a few hundred.
_LOG_LINES = 400

Command = tuple[str, ...]


@dataclass(frozen=True)
class Case:
    """A damaged folder: the commands to run in it, what was done to which file, and whether imports are checked."""

    commands: list[Command]
    what: str
    imports: bool = False


@dataclass(frozen=True)
class Target:
    """One kind of input: `make` damages it in the working folder, which holds a copy of the template."""

    name: str
    make: Callable[[Path, Random], Case]
    needs: tuple[str, ...] = ()


@contextmanager
def without_spark() -> Iterator[None]:
    """Let suites store runs that never happened."""
    before = suites.run
    suites.run = FakeRun()  # type: ignore[assignment]
    try:
        yield
    finally:
        suites.run = before


def build_template(folder: Path) -> None:
    """Make the files that cases damage: runs of every kind, sets, and files that users write."""
    runs = folder / "runs"
    shutil.copytree(RELEASED / "0.1.0", runs)
    store_run(runs, healthy_evidence())
    modelled = ModelledRun()
    for rate in ("100k", "150k"):
        modelled.store(runs, "ysb", rate=rate)
    import_event_log(NEWEST, query="clicks", runs=runs)
    (folder / "some.yaml").write_text(SUITE)
    with without_spark():
        run_suite(folder / "some.yaml", runs=runs)
    searched(runs)
    suite_of(runs)
    for path in (FOLDER / "prototypes").glob("*.yaml"):
        shutil.copy(path, folder / f"prototype-{path.name}")
    for path in (FOLDER / "suites").glob("*.yaml"):
        shutil.copy(path, folder / f"suite-{path.name}")
    (folder / "trace.csv").write_text(TRACE)
    (folder / "keys.csv").write_text(KEYS)
    columns = {"time_s": [100.0, 101.0, 103.0], "rate_per_s": [10.0, 30.0, 20.0]}
    pq.write_table(pa.table(columns), folder / "trace.parquet")
    for path in GOLDEN:
        lines = gzip.decompress(path.read_bytes()).splitlines(keepends=True)
        (folder / path.stem).write_bytes(b"".join(_shortened(lines)))


def _shortened(lines: list[bytes]) -> list[bytes]:
    """Keep what is said once and every few of what is said often."""
    seen: dict[str, int] = {}
    kept = []
    for line in lines:
        kind = str(json.loads(line)["Event"])
        seen[kind] = seen.get(kind, 0) + 1
        if seen[kind] <= _LOG_LINES // 8:
            kept.append(line)
    return kept


def _runs(folder: Path) -> list[Path]:
    return sorted(path for path in (folder / "runs").iterdir() if (path / "run.json").is_file())


def _reading(run: Path, others: list[Path], rng: Random) -> list[Command]:
    """Choose a few commands that read a run, and list all of them."""
    other = rng.choice(others).name
    choice: list[Command] = [
        ("runs", "show", run.name),
        ("runs", "show", run.name, "--json"),
        ("report", run.name, "-o", "r.html"),
        ("report", run.name, "-o", "-"),
        ("report", run.name, other, "-o", "r.html"),
        ("runs", "export", run.name, "--format", rng.choice(("csv", "json", "parquet")), "-o", "exported"),
        ("compare", run.name, other),
        ("compare", other, run.name, "--json"),
        ("predict", run.name),
        ("predict", other, run.name, "--json"),
        ("prototype", "fit", run.name, "--probes", "0"),
    ]
    return [("runs", "list"), *rng.sample(choice, 4)]


def _file_of_run(file: str) -> Callable[[Path, Random], Case]:
    def make(folder: Path, rng: Random) -> Case:
        runs = [run for run in _runs(folder) if list(run.glob(file))]
        run = rng.choice(runs)
        path = rng.choice(sorted(run.glob(file)))
        way = damage(path, rng)
        commands = [*_reading(run, _runs(folder), rng)]
        if rng.random() < 0.1:
            commands.append(("runs", "remove", run.name))
        return Case(commands, f"{way} in {path.relative_to(folder)}")

    return make


def _set(folder: Path, rng: Random) -> Case:
    path = rng.choice(sorted((folder / "runs" / "sets").glob("*.json")))
    way = damage(path, rng)
    choice: list[Command] = [
        ("report", path.stem, "-o", "r.html"),
        ("report", path.stem, "-o", "-"),
        ("compare", path.stem),
        ("compare", f"{path.stem}:ysb", f"{path.stem}:nexmark"),
        ("predict", path.stem),
        ("run", "some.yaml", "--resume", path.stem, "--quiet", "--yes"),
        ("run", "some.yaml", "--resume", path.stem, "--quiet", "--yes", "--junit", "j.xml", "--json"),
        ("report", "nothing", "-o", "r.html"),
    ]
    return Case(rng.sample(choice, 3), f"{way} in {path.relative_to(folder)}")


def _suite(folder: Path, rng: Random) -> Case:
    path = rng.choice([*sorted(folder.glob("suite-*.yaml")), folder / "some.yaml"])
    way = damage(path, rng)
    return Case([("plan", path.name), ("plan", path.name, "--json")], f"{way} in {path.name}")


def _prototype(folder: Path, rng: Random) -> Case:
    path = rng.choice(sorted(folder.glob("prototype-*.yaml")))
    way = damage(path, rng)
    choice: list[Command] = [
        ("describe", path.name),
        ("describe", path.name, "--json"),
        ("plan", path.name),
        ("prototype", "export", path.name),
    ]
    return Case(rng.sample(choice, 2), f"{way} in {path.name}")


def _trace(folder: Path, rng: Random) -> Case:
    path = folder / rng.choice(("trace.csv", "trace.parquet"))
    way = damage(path, rng)
    law = f"trace(file={path.name}{rng.choice(('', ', loop=true', ', scale=1000', ', speed=1e6'))})"
    return Case([("describe", "--arrivals", law), ("plan", "ysb", "--arrivals", law)], f"{way} in {path.name}")


def _keys(folder: Path, rng: Random) -> Case:
    path = folder / "keys.csv"
    way = damage(path, rng)
    run = next(run for run in _runs(folder) if "150000" in (run / "run.json").read_text())
    return Case([("predict", run.name, "--keys", path.name)], f"{way} in {path.name}")


def _event_log(folder: Path, rng: Random) -> Case:
    path = rng.choice(sorted(folder.glob("spark-*")))
    way = damage(path, rng, (*LINES, *TEXT))
    if rng.random() < 0.2:
        packed = path.with_name(f"{path.name}.gz")
        packed.write_bytes(gzip.compress(path.read_bytes()))
        way += f" and {damage(packed, rng, TEXT)}"
        path = packed
    json_ = ("--json",) if rng.random() < 0.3 else ()
    return Case([("runs", "import", path.name, *json_)], f"{way} in {path.name}", imports=True)


def _calibration(folder: Path, rng: Random) -> Case:
    point = {"cycles": 1, "tuples": 10, "ns_per_tuple": 11.0, "error": 0.01}
    line = {"ns_per_cycle": 1.5, "ns_per_cycle_low": 1.4, "ns_per_cycle_high": 1.6, "ns_per_tuple": 9.0}
    document = {
        "schema_version": 1,
        "created": "2026-11-15T19:45:03+00:00",
        "verdict": "pass",
        "reasons": [],
        "machine": {"processor": "x", "java": "17", "spark": "4.3.0"},
        "lines": {"native": line | {"points": [point]}},
    }
    path = folder / "cache" / "calibration.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(document))
    way = damage(path, rng, JSON)
    return Case([("describe", "prototype-ysb.yaml"), ("plan", "prototype-ysb.yaml")], f"{way} in {path.name}")


TARGETS = {
    target.name: target
    for target in (
        Target("run", _file_of_run("run.json"), ("runs",)),
        Target("progress", _file_of_run("events.jsonl"), ("runs",)),
        Target("table", _file_of_run("*.parquet"), ("runs",)),
        Target("schedule", _file_of_run("schedule.npy"), ("runs",)),
        Target("set", _set, ("runs", "some.yaml")),
        Target("suite", _suite, ("some.yaml", "suite-*.yaml")),
        Target("prototype", _prototype, ("prototype-*.yaml",)),
        Target("trace", _trace, ("trace.*",)),
        Target("keys", _keys, ("runs", "keys.csv")),
        Target("log", _event_log, ("spark-*",)),
        Target("calibration", _calibration, ("prototype-ysb.yaml",)),
    )
}
