import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from made_runs.stored_runs import store_summary
from streamgauge.cli.main import main
from streamgauge.clock import ManualClock
from streamgauge.extras import EXTRAS

# 2026-11-15 19:45:03 UTC
START_S = 1_794_771_903.25


@dataclass(frozen=True)
class Outcome:
    """How a command ended and what it wrote."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        """Standard output as exactly one JSON document."""
        return json.loads(self.out)


@pytest.fixture
def call(monkeypatch, capsys, tmp_path) -> Callable[..., Outcome]:
    """Run the command line in this process, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("STREAMGAUGE_RUNS", raising=False)

    def one(*arguments: str) -> Outcome:
        monkeypatch.setattr(sys, "argv", ["streamgauge", *arguments])
        capsys.readouterr()
        code = 0
        try:
            main()
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else int(end.code is not None)
        out, err = capsys.readouterr()
        return Outcome(code, out, err)

    return one


@pytest.fixture
def without_java(monkeypatch, tmp_path):
    """A machine on which no Java can be found."""
    empty = tmp_path / "no-java-here"
    empty.mkdir()
    monkeypatch.setenv("PATH", str(empty))
    monkeypatch.setenv("JAVA_HOME", "")
    monkeypatch.setenv("STREAMGAUGE_JAVA_PLACES", str(empty))


@pytest.fixture
def without_extras(monkeypatch):
    """An installation without the packages of any extra, as far as this process goes."""
    for name in [name for name in sys.modules if name.partition(".")[0] in EXTRAS]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(sys, "meta_path", [_Missing(), *sys.meta_path])


class _Missing:
    """Finds no package of an extra, as if it were not installed."""

    def find_spec(self, name: str, *_: object) -> None:
        if name in EXTRAS:
            raise ModuleNotFoundError(f"No module named '{name}'", name=name)


@pytest.fixture
def store(tmp_path) -> Callable[..., Path]:
    """Store finished runs in ./runs, each one second after the one before."""
    clock = ManualClock(wall_offset_s=START_S)

    def one(summary: dict[str, Any] | None = None, *, status="finished", reasons=()) -> Path:
        clock.sleep(1.0)
        return store_summary(tmp_path / "runs", summary, status=status, reasons=reasons, clock=clock).path

    return one
