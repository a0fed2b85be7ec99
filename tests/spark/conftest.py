"""One Spark session for all tests that need one."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from streamgauge.engine.spark.session import Session, SessionSettings, open_session


@pytest.fixture(scope="session")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    scratch: Path = tmp_path_factory.mktemp("spark")
    with open_session(SessionSettings("local[2]", {}), scratch=scratch, log=scratch / "spark.log") as opened:
        opened.spark.conf.set("spark.sql.shuffle.partitions", "2")
        yield opened


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.spark)
