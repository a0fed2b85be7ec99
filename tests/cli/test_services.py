"""`services` on the command line: mistakes, missing packages, and what it prints."""

import os
import socket

import pytest

MISTAKES = [
    (["up", "kafak"], '"kafak" is no service', "did you mean `kafka`?"),
    (["down", "kafak"], '"kafak" is no service', "did you mean `kafka`?"),
    (["up", "redis", "--brokers", "3"], "--brokers: not an option of redis", "name the service"),
    (["up", "kafka", "redis", "--port", "9"], "--port: kafka and redis cannot share a port", "one by one"),
    (["up", "kafka", "--brokers", "2"], "--brokers: 2 brokers", "use 1 or 3"),
    (["up", "spark", "--memory", "lots"], '--memory: "lots"', "with m or g"),
]


@pytest.fixture(autouse=True)
def own_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("STREAMGAUGE_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def redis(monkeypatch, tmp_path):
    """A `redis-server` that is there but cannot run."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "redis-server").write_text("#!/bin/sh\necho planted\nexit 1\n")
    (tmp_path / "bin" / "redis-server").chmod(0o755)
    monkeypatch.setenv("PATH", os.pathsep.join((str(tmp_path / "bin"), os.environ["PATH"])))


@pytest.mark.parametrize(("arguments", "what", "remedy"), MISTAKES, ids=[" ".join(a) for a, _, _ in MISTAKES])
def test_wrong_usage_of_services_ends_with_2(call, arguments, what, remedy):
    result = call("services", *arguments)
    assert (result.code, result.out) == (2, "")
    first, *rest = result.err.splitlines()
    assert what in first
    assert remedy in "\n".join(rest)


def test_a_missing_server_is_told_before_anything_starts(call, without_java, tmp_path):
    result = call("services", "up", "redis")
    assert result.code == 4
    assert "apt-get install redis-server" in result.err
    assert not (tmp_path / "cache").exists()


def test_missing_java_is_told(call, without_java):
    result = call("services", "up", "spark", "kafka")
    assert result.code == 4
    assert "no Java 17 or newer was found" in result.err


def test_a_port_in_use_ends_with_4(call, redis):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        result = call("services", "up", "redis", "--port", str(port))
    assert result.code == 4
    assert f"--port: port {port} cannot be used" in result.err


def test_a_start_that_fails_ends_with_4_and_shows_the_log(call, redis):
    result = call("services", "up", "redis", "--json")
    assert result.code == 4
    assert result.document["error"]["what"] == "redis did not start: server ended with exit code 1"
    assert result.document["error"]["remedy"].splitlines()[-1].strip() == "planted"


def test_nothing_is_up_at_first(call):
    assert call("services", "status").out == "no service is up\n"
    assert call("services", "status", "--json").document == {"services": []}
    assert call("services", "down").out == "no service was up\n"
    assert call("services", "down", "redis").out == "redis was not up\n"
    assert call("services", "down", "--json").document == {"ended": []}
