"""The faults: for each a function that makes it happen and proves that it did.

A fault that is not proven counts for nothing: a process is gone, a server answers as another process, processes stood
still, the sink has said how long it was held, or the log names the full disk.
"""

import json
import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from signal import SIGKILL
from typing import TYPE_CHECKING, Any, Protocol

from streamgauge.engine.spark.query import NO_SPACE
from streamgauge.errors import EnvironmentNotReadyError
from streamgauge.faults.driver import (
    Driver,
    InFlight,
    batches_committed,
    find_in_flight,
    freeze,
    thaw,
)
from streamgauge.faults.plan import BETWEEN_SINK_AND_COMMIT, PlannedFault
from streamgauge.faults.point import WATCH_S, Watch, WatchedScene
from streamgauge.running.sinks.counted import LINGER_FILE, STALL_FILE, STALLED_FILE
from streamgauge.services import Service
from streamgauge.services.kafka import answers
from streamgauge.services.processes import processes_of
from streamgauge.services.restart import KilledServer, kill_server, start_again

if TYPE_CHECKING:
    import psutil

PAUSE_S = 2.0
BOOKED_S = 0.05
SETTLE_DEADLINE_S = 60.0
BROKER_DEADLINE_S = 60.0
DISK_BYTES = 32 << 20
FILLER = ".filler"
FILL_CHUNK = bytes(1 << 20)


@dataclass(frozen=True)
class Strike:
    """One fault that was made, and the proof of it; `doubt` says why it is not proven.

    `ended_us` is when what was stopped could go on; after the death of a driver that is the moment of its death.
    `rows_in_sink` is what the sink held of the micro-batch in flight when the driver was dead, `rows_due` what that had
    to give, and `point_doubt` why the point between sink and commit is not proven.
    """

    kind: str
    at_us: int
    ended_us: int
    in_flight: InFlight | None
    batches_committed: int
    proof: str = ""
    doubt: str | None = None
    point: str | None = None
    return_code: int | None = None
    processes: tuple[str, ...] = ()
    is_driver_dead: bool = False
    rows_in_sink: int | None = None
    rows_due: int | None = None
    point_doubt: str | None = None

    @property
    def point_proof(self) -> str | None:
        """What shows that the fault came between sink and commit, None where nothing does."""
        if self.in_flight is None or self.rows_in_sink is None or self.point_doubt is not None:
            return None
        return (
            f"the sink held all {self.rows_in_sink:,} rows of micro-batch {self.in_flight.batch_id}, "
            "which the commit log does not have"
        )


class Scene(WatchedScene, Protocol):
    """What a fault acts on."""

    down_s: float
    pause_s: float
    cluster: Service | None
    server: Service | None
    killed_servers: list[KilledServer]

    @property
    def log(self) -> Path:
        """Where Spark writes its log."""
        ...

    def now_us(self) -> int:
        """Return the time."""
        ...

    def look(self) -> None:
        """Take in what the driver has reported, whether it lives or not."""
        ...


def _reach(scene: Scene, point: str | None) -> bool:
    with closing(Watch(scene, point)) as watch:
        return watch.wait()


def _made(scene: Scene, fault: PlannedFault, at_us: int, **known: Any) -> Strike:
    """Describe a fault by what the logs say right after it."""
    checkpoint = scene.place.checkpoint
    with suppress(ValueError):
        known.setdefault("in_flight", find_in_flight(checkpoint))
    return Strike(
        kind=fault.kind,
        at_us=at_us,
        ended_us=known.pop("ended_us", at_us),
        in_flight=known.pop("in_flight", None),
        batches_committed=batches_committed(checkpoint),
        point=fault.point,
        **known,
    )


def kill_driver(scene: Scene, fault: PlannedFault) -> Strike | None:
    """Freeze all processes of the driver at the point, look once more, and kill them."""
    driver, watch = scene.driver, Watch(scene, fault.point)
    # Found before they are needed: that takes longer than to stop them.
    processes = driver.processes()
    linger = scene.place.control / LINGER_FILE
    if fault.point == BETWEEN_SINK_AND_COMMIT:
        linger.touch()
    try:
        return _kill_at(scene, fault, watch, driver, processes)
    finally:
        linger.unlink(missing_ok=True)
        watch.close()


def _kill_at(
    scene: Scene, fault: PlannedFault, watch: Watch, driver: Driver, processes: "list[psutil.Process]"
) -> Strike | None:
    while watch.wait():
        freeze(processes)
        if watch.is_still_there():
            hit = find_in_flight(scene.place.checkpoint)
            at_us = scene.now_us()
            code, names = driver.kill()
            scene.look()
            doubt = _doubt_death(code, names)
            between = hit if fault.point == BETWEEN_SINK_AND_COMMIT else None
            proof = f"driver ended with code {code}, with {len(names)} processes"
            return _made(
                scene,
                fault,
                at_us,
                in_flight=hit,
                proof=proof,
                doubt=doubt,
                return_code=code,
                processes=tuple(sorted(names)),
                is_driver_dead=True,
                rows_in_sink=watch.rows(between) if between else None,
                rows_due=scene.rows_due(between) if between else None,
            )
        thaw(processes)
    return None


def _doubt_death(code: int, names: list[str]) -> str | None:
    if code != -SIGKILL:
        return f"the driver ended with code {code} before it was killed"
    return None if "java" in names else "no Java process was killed with the driver"


def executors_of(service: Service, application: str) -> "list[psutil.Process]":
    """Return the executors of an application among the processes of a cluster."""
    import psutil

    found = []
    for process in processes_of(service):
        with suppress(psutil.Error):
            words = process.cmdline()
            if "--executor-id" in words and application in words:
                found.append(process)
    return sorted(found, key=lambda process: process.pid)


def _application(scene: Scene) -> str:
    return str((scene.driver.started() or {})["application"])


def kill_executor(scene: Scene, fault: PlannedFault) -> Strike | None:
    """Kill one executor with its Python workers."""
    import psutil

    assert scene.cluster is not None
    chosen = executors_of(scene.cluster, _application(scene))
    if not chosen or not _reach(scene, fault.point):
        return None
    victims = [chosen[0], *chosen[0].children(recursive=True)]
    hit, at_us = find_in_flight(scene.place.checkpoint), scene.now_us()
    for process in victims:
        with suppress(psutil.Error):
            process.kill()
    _, left = psutil.wait_procs(victims[:1], timeout=SETTLE_DEADLINE_S)
    alive = [p for p in left if p.is_running() and p.status() != psutil.STATUS_ZOMBIE]
    doubt = f"executor process {chosen[0].pid} does not end" if alive else None
    proof = f"executor process {chosen[0].pid} is gone, one of {len(chosen)}"
    return _made(scene, fault, at_us, in_flight=hit, proof=proof, doubt=doubt)


def kill_worker(scene: Scene, fault: PlannedFault) -> Strike | None:
    """Kill a worker with its executors, as the loss of a machine does."""
    assert scene.cluster is not None
    gone = {killed.server.name for killed in scene.killed_servers}
    workers = [p for p in scene.cluster.processes if p.name.startswith("worker") and p.name not in gone]
    if len(workers) < 2 or not _reach(scene, fault.point):
        return None
    hit, at_us = find_in_flight(scene.place.checkpoint), scene.now_us()
    killed = kill_server(scene.cluster, workers[-1].name)
    scene.killed_servers.append(killed)
    doubt = "the worker had no executor" if len(killed.pids) < 2 else None
    proof = f"{killed.server.name} (process {killed.server.pid}) is gone, with {len(killed.pids) - 1} that it started"
    return _made(scene, fault, at_us, in_flight=hit, proof=proof, doubt=doubt)


def restart_broker(scene: Scene, fault: PlannedFault) -> Strike | None:
    """Kill a broker and start it again on its data."""
    assert scene.server is not None
    at_us = scene.now_us()
    killed = kill_server(scene.server, scene.server.processes[0].name)
    end_us = at_us + round(scene.down_s * 1e6)
    while scene.now_us() < end_us:
        scene.tick()
    port = killed.server.port
    scene.server = start_again(killed, answers=lambda: answers(port), deadline_s=BROKER_DEADLINE_S)
    proof = f"{killed.server.name} was process {killed.server.pid} and answers as {scene.server.processes[0].pid}"
    return _made(scene, fault, at_us, ended_us=scene.now_us(), proof=proof)


def stall_sink(scene: Scene, fault: PlannedFault) -> Strike | None:
    """Hold the sink up: its server, or, where Python writes, the writer."""
    if scene.sink.server is not None:
        assert scene.server is not None
        return _stand_still(scene, fault, processes_of(scene.server))
    requested, stalled = scene.place.control / STALL_FILE, scene.place.control / STALLED_FILE
    stalled.unlink(missing_ok=True)
    requested.touch()
    try:
        while not stalled.exists():
            if scene.is_over():
                return None
            scene.tick(WATCH_S)
        at_us = scene.now_us()
        while scene.now_us() < at_us + round(scene.pause_s * 1e6):
            scene.tick()
    finally:
        requested.unlink()
    end_us = scene.now_us() + round(SETTLE_DEADLINE_S * 1e6)
    while (held_s := _held_s(stalled)) is None and scene.now_us() < end_us:
        scene.tick(WATCH_S)
    doubt = "the sink was not seen to go on" if held_s is None else None
    if held_s is not None and held_s < scene.pause_s:
        doubt = f"the sink stalled for {held_s:.2f} s only"
    proof = f"the sink stalled for {held_s or 0.0:.2f} s by its own clock"
    return _made(scene, fault, at_us, ended_us=scene.now_us(), proof=proof, doubt=doubt)


def _held_s(stalled: Path) -> float | None:
    stall = json.loads(stalled.read_text())
    return None if stall["end_s"] is None else float(stall["end_s"] - stall["start_s"])


def pause_driver(scene: Scene, fault: PlannedFault) -> Strike | None:
    """Let all processes of the driver stand still for a while."""
    processes = scene.driver.processes()
    return _stand_still(scene, fault, processes) if _reach(scene, fault.point) else None


def _stand_still(scene: Scene, fault: PlannedFault, processes: "list[psutil.Process]") -> Strike:
    import psutil

    at_us = scene.now_us()
    freeze(processes)
    try:
        # The system books CPU time that was used before a little later.
        scene.clock.sleep(BOOKED_S)
        hit, before_s = find_in_flight(scene.place.checkpoint), _cpu_s(processes)
        scene.clock.sleep(scene.pause_s)
        after_s = _cpu_s(processes)
        stopped = [p for p in processes if p.is_running() and p.status() == psutil.STATUS_STOPPED]
    finally:
        thaw(processes)
    ended_us = scene.now_us()
    doubt = None if stopped else "no process was seen stopped"
    if after_s > before_s:
        doubt = f"the processes used {after_s - before_s:.2f} s of CPU time meanwhile"
    proof = f"{len(stopped)} processes were stopped for {(ended_us - at_us) / 1e6:.2f} s"
    return _made(scene, fault, at_us, ended_us=ended_us, in_flight=hit, proof=proof, doubt=doubt)


def _cpu_s(processes: "list[psutil.Process]") -> float:
    import psutil

    total_s = 0.0
    for process in processes:
        with suppress(psutil.Error):
            times = process.cpu_times()
            total_s += times.user + times.system
    return total_s


def fill_disk(scene: Scene, fault: PlannedFault) -> Strike | None:
    """Fill the disk of the checkpoint until the query fails by it, and make room again."""
    driver, filler = scene.driver, scene.place.checkpoint / FILLER
    said_before = scene.log.stat().st_size
    at_us = scene.now_us()
    try:
        _fill(filler)
        end_us = at_us + round(SETTLE_DEADLINE_S * 1e6)
        while driver.process.poll() is None and scene.now_us() < end_us:
            scene.look()
            scene.clock.sleep(WATCH_S)
    finally:
        filler.unlink(missing_ok=True)
    with scene.log.open("rb") as log:
        log.seek(said_before)
        is_told = NO_SPACE.encode() in log.read()
    is_dead = driver.process.poll() is not None
    code = driver.kill()[0] if is_dead else None
    scene.look()
    doubt = None if is_told else "nothing in the log says that the disk was full"
    proof = f'the log says "{NO_SPACE}"' + (f", and the query ended with code {code}" if is_dead else "")
    ended_us = scene.now_us()
    return _made(
        scene, fault, at_us, ended_us=ended_us, proof=proof, doubt=doubt, return_code=code, is_driver_dead=is_dead
    )


def _fill(filler: Path) -> None:
    with filler.open("wb", buffering=0) as file:
        for chunk in (FILL_CHUNK, FILL_CHUNK[:4096], FILL_CHUNK[:1]):
            with suppress(OSError):
                while file.write(chunk):
                    pass


@contextmanager
def small_disk(folder: Path) -> Iterator[None]:
    """Put a disk of a few megabytes, in memory, at a folder; it goes with the block."""
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={DISK_BYTES},mode=700", "streamgauge", str(folder)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        said, is_made = done.stderr.strip(), done.returncode == 0
    except OSError as error:
        said, is_made = str(error), False
    if not is_made:
        raise EnvironmentNotReadyError(
            f"a small disk cannot be mounted: {said or 'mount says nothing'}",
            where=str(folder),
            remedy="the fault disk-full needs the right to mount; run it as root, or choose another --fault",
        )
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", str(folder)], capture_output=True, check=False)


FAULTS: Mapping[str, Callable[[Scene, PlannedFault], Strike | None]] = {
    "driver": kill_driver,
    "executor": kill_executor,
    "worker": kill_worker,
    "broker": restart_broker,
    "sink-stall": stall_sink,
    "disk-full": fill_disk,
    "pause": pause_driver,
}
