import socket

import pytest

from streamgauge.errors import EnvironmentNotReadyError, UsageError
from streamgauge.services.ports import free_ports, wanted_ports


def test_free_ports_can_be_bound():
    for port in free_ports(3):
        with socket.create_server(("127.0.0.1", port)):
            pass


def test_wanted_ports_follow_each_other():
    (first,) = free_ports(1)
    assert wanted_ports(first, 1) == [first]


def test_a_port_in_use_is_named():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(EnvironmentNotReadyError, match=f"port {port} cannot be used") as caught:
            wanted_ports(port, 1)
    assert caught.value.remedy == "choose another one, or leave it out for a free one"


@pytest.mark.parametrize(("first", "count"), [(0, 1), (-1, 1), (65536, 1), (65534, 3)])
def test_ports_that_do_not_exist_are_refused(first, count):
    with pytest.raises(UsageError, match="there is no port"):
        wanted_ports(first, count)
