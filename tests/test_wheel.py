"""What is built and installed has everything that commands need, in a folder without the sources."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from made_runs.event_logs import NEWEST

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def installed(tmp_path_factory) -> Path:
    """The wheel's content in a folder of its own; the packages that it needs are those of this environment."""
    folder = tmp_path_factory.mktemp("wheel")
    build = f"import hatchling.build as b, os; os.chdir({str(ROOT)!r}); b.build_wheel({str(folder)!r})"
    done = subprocess.run([sys.executable, "-c", build], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    (wheel,) = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as file:
        file.extractall(folder / "site")
    return folder / "site"


@pytest.fixture
def call(installed, tmp_path):
    """Run the installed command in an empty folder."""

    def one(*arguments: str, before: Path | None = None) -> subprocess.CompletedProcess[str]:
        places = (before, installed) if before else (installed,)
        environ = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, places))}
        command = [sys.executable, "-m", "streamgauge", *arguments]
        return subprocess.run(command, cwd=tmp_path, env=environ, capture_output=True, text=True)

    return one


def test_the_wheel_holds_every_file_of_the_package_and_nothing_else(installed):
    def files(folder: Path) -> set[Path]:
        found = (path.relative_to(folder) for path in folder.rglob("*") if path.is_file() and path.suffix != ".pyc")
        return {path for path in found if not path.parts[0].endswith(("-info", ".pth"))}

    assert files(installed) == files(ROOT / "src")


@pytest.mark.parametrize(
    ("arguments", "shown"),
    [
        (["list"], "suite:smoke"),
        (["plan", "suite:smoke"], "nexmark-q1"),
        (["plan", "suite:routing"], "balanced"),
        (["describe", "prototype:diamond"], "diamond"),
        (["prototype", "export", "prototype:ysb"], "SparkSession"),
        (["model", "evaluate", "--plan"], "prototype:windowed"),
    ],
)
def test_an_installed_streamgauge_has_its_suites_and_prototypes(call, arguments, shown):
    done = call(*arguments)
    assert (done.returncode, done.stderr) == (0, "")
    assert shown in done.stdout


def test_an_installed_streamgauge_imports_and_reports_runs(call, tmp_path):
    assert call("runs", "import", str(NEWEST), "--query", "clicks").returncode == 0
    done = call("report", "latest")
    assert (done.returncode, "report" in done.stdout) == (0, True), done.stderr
    (page,) = tmp_path.glob("*.html")
    assert "clicks" in page.read_text()


def test_a_driver_without_spark_ends_a_fault_experiment_that_names_the_extra(call, tmp_path):
    missing = tmp_path / "missing"
    missing.mkdir()
    (missing / "pyspark.py").write_text("raise ModuleNotFoundError('No module named pyspark', name='pyspark')\n")
    done = call("fault", "ysb", "--quiet", before=missing)
    assert done.returncode == 4
    assert 'PySpark is not installed\n  pip install "streamgauge[spark]"' in done.stderr
