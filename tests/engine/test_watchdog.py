"""Every decision of the watch over Java, with a clock that is moved by hand; and the end of real processes."""

import os
import signal
import socket
import subprocess
import sys
import threading
from dataclasses import dataclass

import psutil
import pytest
from py4j.protocol import Py4JJavaError, Py4JNetworkError

from streamgauge.clock import ManualClock
from streamgauge.engine.spark.watchdog import (
    HANG_DEADLINE_S,
    INTERRUPTED_DEADLINE_S,
    LOOK_EVERY_S,
    WORKERS_EVERY_S,
    Heartbeat,
    Watchdog,
    has_stopped_worker,
    kill_session,
    session_members,
)
from streamgauge.errors import RunFailedError

DEADLINE_S = 20.0


@dataclass
class Java:
    """A process that does what a test says."""

    code: int | None = None
    is_answering: bool = True
    has_stopped_worker: bool = False
    kills: int = 0

    def kill(self):
        self.kills += 1


@pytest.fixture
def java():
    return Java()


@pytest.fixture
def watchdog(java, tmp_path):
    return Watchdog(
        poll=lambda: java.code,
        answers=lambda: java.is_answering,
        kill=java.kill,
        has_stopped=lambda: java.has_stopped_worker,
        clock=ManualClock(),
        log=tmp_path / "spark.log",
    )


def watch(watchdog, duration_s, every_s=LOOK_EVERY_S):
    for _ in range(round(duration_s / every_s)):
        watchdog.clock.sleep(every_s)
        watchdog.look()


def test_a_process_that_answers_is_left_alone(watchdog, java):
    watch(watchdog, 10 * HANG_DEADLINE_S)
    watchdog.check()
    assert java.kills == 0


@pytest.mark.parametrize(
    ("code", "said"), [(-9, "was killed by signal 9 (SIGKILL)"), (1, "ended by itself with exit code 1")]
)
def test_a_death_is_noticed_at_the_next_look_with_its_reason_and_moment(watchdog, java, code, said):
    with watchdog.explaining(lambda: ", 3.1 s into the load"), pytest.raises(RunFailedError) as caught:
        java.code = code
        watchdog.look()
        watchdog.check()
    assert caught.value.what == f"Spark's Java process {said}, 3.1 s into the load"
    assert caught.value.where == str(watchdog.log)
    # Its Python workers may live on.
    assert java.kills == 1


def test_a_process_that_does_not_answer_is_killed_at_the_deadline_and_not_before(watchdog, java):
    java.is_answering = False
    watch(watchdog, HANG_DEADLINE_S - LOOK_EVERY_S)
    assert (watchdog.failure, java.kills) == (None, 0)
    watch(watchdog, LOOK_EVERY_S)
    assert java.kills == 1
    with pytest.raises(RunFailedError, match="did not answer for 30 s and was killed"):
        watchdog.check()
    java.code = -9
    watch(watchdog, 1.0)
    assert java.kills == 1
    assert "did not answer" in str(watchdog.failure)


def test_an_answer_in_between_begins_the_deadline_anew(watchdog, java):
    for _ in range(3):
        java.is_answering = False
        watch(watchdog, 0.9 * HANG_DEADLINE_S)
        java.is_answering = True
        watch(watchdog, LOOK_EVERY_S)
    assert watchdog.failure is None


def test_a_stopped_worker_ends_the_run_at_the_deadline_and_not_before(watchdog, java):
    java.has_stopped_worker = True
    watch(watchdog, HANG_DEADLINE_S - LOOK_EVERY_S)
    watchdog.check()
    watch(watchdog, WORKERS_EVERY_S)
    with pytest.raises(RunFailedError, match="a Python worker of Spark was stopped for 30 s"):
        watchdog.check()
    assert java.kills == 1


def test_a_worker_that_goes_on_in_time_is_left_alone(watchdog, java):
    for _ in range(3):
        java.has_stopped_worker = True
        watch(watchdog, HANG_DEADLINE_S - 2 * WORKERS_EVERY_S)
        java.has_stopped_worker = False
        watch(watchdog, WORKERS_EVERY_S)
    watchdog.check()


def test_a_stopped_worker_of_a_session_is_seen_and_a_stopped_leader_is_not_taken_for_one():
    # A shell that waits for the sleeper that it has started, and prints its number.
    command = ["sh", "-c", "sleep 60 & echo $!; wait"]
    process = subprocess.Popen(command, start_new_session=True, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        worker = int(process.stdout.readline())
        os.kill(process.pid, signal.SIGSTOP)
        until(lambda: psutil.Process(process.pid).status() == psutil.STATUS_STOPPED)
        assert not has_stopped_worker(process.pid)
        os.kill(worker, signal.SIGSTOP)
        until(lambda: has_stopped_worker(process.pid))
    finally:
        kill_session(process.pid)
        process.wait()


def test_the_time_in_which_the_watch_itself_was_stopped_does_not_count(watchdog, java):
    java.is_answering = False
    watch(watchdog, 1.0)
    watch(watchdog, 3600.0, every_s=3600.0)
    assert watchdog.failure is None


def test_what_must_be_done_within_a_limit_is_ended_by_a_kill(watchdog, java):
    with watchdog.within(60.0, "the stop of the query"):
        watch(watchdog, 59.0)
        assert java.kills == 0
        watch(watchdog, 1.0)
    assert java.kills == 1
    with pytest.raises(RunFailedError, match="the stop of the query did not end within 60 s"):
        watchdog.check()


def test_a_limit_ends_with_what_it_is_for_and_an_outer_one_goes_on(watchdog, java):
    with watchdog.within(20.0, "all"):
        with watchdog.within(5.0, "a part"):
            watch(watchdog, 4.0)
        watch(watchdog, 19.0)
        assert java.kills == 0
        watch(watchdog, 1.0)
        assert java.kills == 1
    watch(watchdog, 100.0)
    assert java.kills == 1


def test_after_an_interrupt_neither_silence_nor_work_gets_more_than_seconds(watchdog, java, tmp_path):
    watchdog.interrupt()
    with watchdog.within(60.0, "the stop of the query"):
        watch(watchdog, INTERRUPTED_DEADLINE_S)
        assert java.kills == 0
        watch(watchdog, LOOK_EVERY_S)
        assert java.kills == 1
    silent = Watchdog(lambda: None, lambda: False, java.kill, ManualClock(), tmp_path)
    silent.interrupt()
    watch(silent, INTERRUPTED_DEADLINE_S)
    assert java.kills == 2


def test_errors_that_follow_from_a_death_name_the_death(watchdog, java):
    java.code = -9
    watchdog.look()
    with pytest.raises(RunFailedError, match="SIGKILL") as caught, watchdog.explaining(), watchdog.explaining():
        raise Py4JNetworkError("Answer from Java side is empty")
    assert caught.value is watchdog.failure


def test_a_connection_that_closed_before_the_death_was_noticed_waits_for_it(watchdog, java):
    def notice():
        java.code = -9
        watchdog.look()

    with pytest.raises(RunFailedError, match="SIGKILL"), watchdog.explaining():
        threading.Timer(0.05, notice).start()
        try:
            raise ConnectionResetError
        except ConnectionResetError as error:
            raise ValueError("a call failed") from error


def test_errors_of_a_living_process_stay_what_they_are(watchdog):
    for error in (ValueError("x"), Py4JJavaError.__new__(Py4JJavaError)):
        with pytest.raises(type(error)) as caught, watchdog.explaining():
            raise error
        assert caught.value is error


def test_after_an_interrupt_the_death_is_no_failure(watchdog, java):
    watchdog.interrupt()
    java.code = -9
    watchdog.look()
    with pytest.raises(KeyboardInterrupt), watchdog.explaining():
        watchdog.check()


@pytest.fixture
def server():
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.settimeout(DEADLINE_S)
        yield listening


def until(condition):
    for _ in range(2000):
        if condition():
            return
        threading.Event().wait(0.01)
    pytest.fail("did not happen in time")


def test_a_heartbeat_asks_again_after_every_answer_and_never_waits(server):
    heartbeat = Heartbeat(server.getsockname()[1], "secret")
    assert not heartbeat.answers()
    peer, _ = server.accept()
    with peer:
        assert peer.recv(100) == b"A\nsecret\n"
        assert not heartbeat.answers()
        for answer in (b"!yv\n", b"!yL17\n"):
            peer.sendall(answer)
            until(heartbeat.answers)
            assert peer.recv(100) == b"c\nz:java.lang.System\ncurrentTimeMillis\ne\n"
            assert not heartbeat.answers()
    # A closed connection is no answer, and the next look opens another one.
    assert not heartbeat.answers()
    assert not heartbeat.answers()
    server.accept()[0].close()
    heartbeat.close()


def test_a_heartbeat_without_a_server_is_no_answer():
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    assert not Heartbeat(port, "secret").answers()


# Like Spark's Python daemon, the child has a process group of its own; it is stopped, too.
FAMILY = """
import os, signal, subprocess, sys, time
child = subprocess.Popen(["sleep", "600"], process_group=0)
child.send_signal(signal.SIGSTOP)
print(child.pid, flush=True)
time.sleep(600)
"""


@pytest.mark.parametrize("is_leader_dead", [False, True])
def test_a_session_is_killed_with_all_process_groups_in_it(is_leader_dead):
    leader = subprocess.Popen([sys.executable, "-c", FAMILY], stdout=subprocess.PIPE, start_new_session=True)
    assert leader.stdout is not None
    child = psutil.Process(int(leader.stdout.readline()))
    assert {leader.pid, child.pid} <= set(session_members(leader.pid))
    if is_leader_dead:
        leader.kill()
        leader.wait(DEADLINE_S)
    kill_session(leader.pid)
    leader.wait(DEADLINE_S)
    leader.stdout.close()
    until(lambda: not child.is_running() or child.status() == psutil.STATUS_ZOMBIE)
    assert os.getsid(0) != leader.pid
