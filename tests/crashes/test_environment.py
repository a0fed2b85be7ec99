"""What the machine can refuse: ports, memory, a master; each with its message and exit code."""

import socket
from collections.abc import Callable

import pytest

from .conftest import Tool

SHORT = ("run", "hibench-identity", "--rate", "1k", "--duration", "2s", "--warmup", "0s", "--no-verify")


def test_a_port_in_use_is_named(start: Callable[..., Tool]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        tool = start(*SHORT, "--conf", f"spark.driver.port={port}", "--conf", "spark.port.maxRetries=0")
        assert tool.end() == 4
    assert "a port is in use" in tool.printed()
    assert "Traceback" not in tool.printed()


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("--master", "lokal[2]"), 2, "is not a master URL"),
        (("--conf", "spark.driver.memory=lots"), 4, "lots"),
        (("--conf", "spark.sql.shuffle.partitions=5"), 3, "--shuffle-partitions"),
    ],
)
def test_settings_that_spark_cannot_use_are_refused(
    start: Callable[..., Tool], arguments: tuple[str, ...], code: int, said: str
) -> None:
    tool = start(*SHORT, *arguments)
    assert (tool.end(), said in tool.printed()) == (code, True), tool.printed()
    assert "Traceback" not in tool.printed()
