"""Services come up once, are told apart from other processes, and leave nothing behind."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import pytest

from streamgauge import services
from streamgauge.errors import EnvironmentNotReadyError, UsageError
from streamgauge.services import redis, state
from streamgauge.services.control import bring_up
from streamgauge.services.processes import MARK, processes_of, spawn
from streamgauge.services.state import read_states, state_folder, write_state

from .conftest import has_ended


@pytest.fixture(autouse=True)
def nothing_stays(redis_that, cache: Path) -> Iterator[None]:
    redis_that("works")
    yield
    for service in read_states(state_folder()).values():
        for process in processes_of(service):
            process.kill()


def folders(tmp_path: Path) -> list[Path]:
    return [path for path in (tmp_path / "tmp").glob("streamgauge-redis-*") if path.is_dir()]


def sleeper(tmp_path: Path, **environment: str) -> "subprocess.Popen[bytes]":
    """A process that has nothing to do with any service, unless it is marked."""
    command = [sys.executable, "-SEc", "import time; time.sleep(600)"]
    return subprocess.Popen(command, env={**os.environ, **environment})


def edit_state(cache: Path, **changes: object) -> None:
    path = state_folder() / "redis.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


def test_a_service_that_is_up_answers_at_its_address():
    service = services.up("redis")
    host, port = (service.address or "").split(":")
    assert (host, service.status) == ("127.0.0.1", "up")
    assert redis.answers(int(port))
    assert services.status() == [service]


def test_a_second_up_finds_the_first():
    first, first_already = bring_up("redis", settings={})
    second, second_already = bring_up("redis", settings={})
    assert (first_already, second_already) == (False, True)
    assert second == first


def test_two_that_come_at_once_start_one(tmp_path):
    with ThreadPoolExecutor() as pool:
        found = list(pool.map(lambda _: bring_up("redis", settings={}), range(2)))
    assert sorted(already for _, already in found) == [False, True]
    assert found[0][0] == found[1][0]
    assert len(folders(tmp_path)) == 1


def test_other_settings_than_those_that_hold_are_refused():
    service = services.up("redis")
    with pytest.raises(UsageError, match=r"redis is up with port \d+, not 1234"):
        services.up("redis", port=1234)
    assert services.up("redis", port=service.processes[0].port) == service


def test_down_ends_the_processes_and_deletes_the_data(tmp_path):
    service = services.up("redis")
    assert folders(tmp_path) == [service.folder]
    assert services.down() == [service]
    assert not psutil.pid_exists(service.processes[0].pid)
    assert (folders(tmp_path), services.status(), services.down(["redis"])) == ([], [], [])


def test_down_with_another_name_leaves_a_service_up():
    service = services.up("redis")
    assert services.down(["kafka"]) == []
    assert service.status == "up"


def test_a_service_whose_server_was_killed_is_broken_and_is_replaced(tmp_path):
    service = services.up("redis")
    os.kill(service.processes[0].pid, signal.SIGKILL)
    psutil.Process(service.processes[0].pid).wait(10)
    assert services.status()[0].status == "broken"
    replaced = services.up("redis")
    assert replaced.status == "up"
    assert folders(tmp_path) == [replaced.folder]


def test_a_service_of_which_a_part_runs_is_not_replaced(cache):
    service = services.up("redis")
    (state,) = read_states(state_folder())
    alive = json.loads(state.read_text())["processes"][0]
    edit_state(cache, processes=[alive, {**alive, "name": "second", "started_s": 1.0}])
    with pytest.raises(EnvironmentNotReadyError, match="only partly up: second has ended"):
        services.up("redis")
    assert service.processes[0].alive
    services.down()
    assert not service.processes[0].alive


def test_a_process_that_got_the_number_of_a_server_is_left_alone(cache, tmp_path):
    services.up("redis")
    stranger = sleeper(tmp_path)
    (state,) = read_states(state_folder())
    recorded = json.loads(state.read_text())["processes"][0]
    # As if the server had ended long ago and the system had given its number to somebody else.
    edit_state(cache, processes=[recorded, {**recorded, "pid": stranger.pid, "started_s": 12345.0}])
    try:
        services.down()
        assert stranger.poll() is None
    finally:
        stranger.kill()
        stranger.wait()


def test_a_process_that_was_started_but_not_recorded_is_found(cache):
    service = services.up("redis")
    edit_state(cache, processes=[])
    (found,) = services.status()
    assert [process.pid for process in processes_of(found)] == [service.processes[0].pid]
    services.down()
    assert not psutil.pid_exists(service.processes[0].pid)


def test_what_servers_start_ends_with_them(tmp_path):
    code = "import subprocess, sys; subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)']).wait()"
    service = services.up("redis")
    parent = spawn([sys.executable, "-c", code], folder=service.folder, log=tmp_path / "log", environment={})
    end_s = time.monotonic() + 20
    while not (children := psutil.Process(parent.pid).children()):
        assert time.monotonic() < end_s, "the child never came"
    assert {parent.pid, children[0].pid} <= {process.pid for process in processes_of(service)}
    services.down()
    assert has_ended(children[0])


def test_the_mark_of_another_service_does_not_count(tmp_path):
    service = services.up("redis")
    other = sleeper(tmp_path, **{MARK: str(service.folder) + "-other"})
    try:
        services.down()
        assert other.poll() is None
    finally:
        other.kill()
        other.wait()


def test_a_folder_that_is_not_ours_is_never_deleted(cache, tmp_path):
    services.up("redis")
    (tmp_path / "precious").mkdir()
    edit_state(cache, folder=str(tmp_path / "precious"))
    services.down()
    assert (tmp_path / "precious").is_dir()


def test_a_server_that_fails_is_told_with_its_last_lines_and_leaves_nothing(redis_that, tmp_path):
    redis_that("fail")
    with pytest.raises(EnvironmentNotReadyError) as caught:
        services.up("redis")
    error = caught.value
    assert error.what == "redis did not start: server ended with exit code 3"
    assert "java.lang.Error: planted" in (error.remedy or "")
    assert "D.java" not in (error.remedy or "")
    assert "D.java" in Path(error.where or "").read_text(), "the whole log is kept"
    assert (folders(tmp_path), services.status()) == ([], [])


def test_a_server_that_does_not_answer_in_time_is_ended(redis_that, monkeypatch, tmp_path):
    redis_that("hang")
    monkeypatch.setattr(redis, "DEADLINE_S", 0.2)
    with pytest.raises(EnvironmentNotReadyError, match="server does not answer within 0 s"):
        services.up("redis")
    assert (folders(tmp_path), services.status()) == ([], [])


def test_an_interrupted_start_leaves_nothing(redis_that, monkeypatch, tmp_path):
    redis_that("hang")

    def interrupt(port: int) -> bool:
        raise KeyboardInterrupt

    monkeypatch.setattr(redis, "answers", interrupt)
    with pytest.raises(KeyboardInterrupt):
        services.up("redis")
    assert (folders(tmp_path), services.status()) == ([], [])
    mine = psutil.Process().children(recursive=True)
    assert [child for child in mine if "redis-server" in " ".join(child.cmdline())] == []


def test_a_private_service_runs_beside_the_other_and_ends_with_its_block(tmp_path):
    shared = services.up("redis")
    with pytest.raises(ZeroDivisionError), services.running("redis") as own:
        assert (own.status, shared.status) == ("up", "up")
        assert own.address != shared.address
        assert services.down() == [shared], "a service of a living process stays"
        assert own.status == "up"
        1 / 0  # noqa: B018
    assert own.status == "broken"
    assert (folders(tmp_path), services.status()) == ([], [])


def test_a_private_service_whose_owner_is_gone_is_ended_by_the_next_command(cache, tmp_path):
    with services.running("redis") as own:
        (state,) = read_states(state_folder())
        gone = {**json.loads(state.read_text()), "starter": {"pid": os.getpid(), "started_s": 1.0}}
        state.write_text(json.dumps(gone))
        shared = services.up("redis")
        assert (own.status, shared.status) == ("broken", "up")
        assert folders(tmp_path) == [shared.folder]


def test_a_start_that_was_broken_off_is_begun_again(cache):
    service = services.up("redis")
    edit_state(cache, recorded="starting", starter={"pid": os.getpid(), "started_s": 1.0})
    assert services.status()[0].status == "broken"
    again = services.up("redis")
    assert (again.status, service.status) == ("up", "broken")


def test_services_of_another_host_or_pid_namespace_on_the_same_cache_are_not_touched(cache, monkeypatch):
    service = services.up("redis")
    elsewhere = {"host": "other", "boot_id": None, "pid_namespace": "pid:[1]"}
    with monkeypatch.context() as patch:
        patch.setattr(state, "current_place", lambda: elsewhere)
        assert services.status() == services.down() == []
    assert service.folder.is_dir()
    assert not service.dead


def test_what_is_no_state_is_named(cache):
    state_folder().mkdir(parents=True)
    path = state_folder() / "redis.json"
    path.write_text('{"name": "redis", "folder": 5}')
    with pytest.raises(EnvironmentNotReadyError, match="not the state of a service") as caught:
        services.down()
    assert caught.value.where == str(path)
    path.unlink()


def test_a_state_survives_writing_and_reading(cache):
    service = services.up("redis")
    write_state(state_folder() / "copy.json", service)
    assert read_states(state_folder())[state_folder() / "copy.json"] == service


@pytest.mark.parametrize("folder", ["absent", "a-file"])
def test_a_folder_that_cannot_be_used_is_named(tmp_path, folder):
    (tmp_path / "a-file").touch()
    with pytest.raises(EnvironmentNotReadyError, match="cannot make the folder") as caught:
        services.up("redis", folder=tmp_path / folder)
    assert caught.value.where == str(tmp_path / folder)
    assert services.status() == []


def test_a_cache_that_cannot_be_written_is_named(monkeypatch, tmp_path):
    (tmp_path / "a-file").touch()
    monkeypatch.setenv("STREAMGAUGE_CACHE", str(tmp_path / "a-file"))
    with pytest.raises(EnvironmentNotReadyError, match="cannot record services") as caught:
        services.up("redis")
    assert "STREAMGAUGE_CACHE" in (caught.value.remedy or "")


@pytest.mark.parametrize(
    ("name", "settings", "said"),
    [
        ("kafak", {}, "did you mean `kafka`"),
        ("redis", {"prot": 1}, "did you mean `port`"),
        ("kafka", {"brokers": 2}, "use 1 or 3"),
        ("spark", {"workers": 0}, "use 1 to 32"),
        ("spark", {"cores": 0}, "use 1 or more"),
        ("spark", {"memory": "lots"}, "with m or g"),
    ],
)
def test_wrong_names_and_settings_are_refused(name, settings, said):
    with pytest.raises(UsageError, match=said):
        services.up(name, **settings)


@pytest.mark.fault
def test_a_service_whose_starter_was_killed_is_found_and_ended(redis_that, cache):
    redis_that("hang")
    tool = subprocess.Popen([sys.executable, "-m", "streamgauge", "services", "up", "redis", "--quiet"])
    end_s = time.monotonic() + 60
    while not any(service.processes for service in services.status()):
        assert tool.poll() is None
        assert time.monotonic() < end_s, "the server never came"
        time.sleep(0.05)
    assert services.status()[0].status == "starting"
    tool.kill()
    tool.wait()
    (service,) = services.status()
    assert service.processes[0].alive, "there must be something to end"
    assert service.status == "broken"
    assert services.down() == [service]
    assert not service.processes[0].alive
    assert not service.folder.exists()
