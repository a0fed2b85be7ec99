from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from streamgauge.clock import ManualClock
from streamgauge.store import RunWriter

# 2026-11-15 19:45:03 UTC
START_S = 1_794_771_903.25


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(wall_offset_s=START_S)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "runs"


@pytest.fixture
def make(root: Path, clock: ManualClock) -> Callable[..., RunWriter]:
    """Make a run one second after the one before."""

    def one(workload: str = "ysb", **document: Any) -> RunWriter:
        clock.sleep(1.0)
        return RunWriter.create(root, workload=workload, document=document, clock=clock)

    return one


@pytest.fixture
def progress() -> Callable[[int], dict[str, Any]]:
    """Build the progress document of one micro-batch of ten events."""

    def one(batch_id: int) -> dict[str, Any]:
        return {
            "batchId": batch_id,
            "name": "größe",
            "timestamp": f"2026-11-15T19:45:{batch_id:02d}.000Z",
            "durationMs": {"addBatch": 300, "commitOffsets": 50, "triggerExecution": 500},
            "sources": [{"startOffset": {"n": 10 * batch_id}, "endOffset": {"n": 10 * batch_id + 10}}],
        }

    return one
