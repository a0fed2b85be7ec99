"""The command line as a process of its own: what it imports, and its shell completion."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

STREAMGAUGE = Path(sys.executable).with_name("streamgauge")
REPORT_IMPORTS = """
import sys
from streamgauge.cli.main import main
try:
    main()
finally:
    heavy = {name.split(".")[0] for name in sys.modules} & set(HEAVY)
    print(*sorted(heavy), file=sys.stderr)
"""


def imported(arguments, cwd, heavy=("pyspark", "py4j")):
    """Return which of the heavy packages a command imports."""
    command = [sys.executable, "-c", f"HEAVY = {heavy!r}\n{REPORT_IMPORTS}", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, cwd=cwd, timeout=60)
    assert "Traceback" not in done.stderr, done.stderr
    return set(done.stderr.splitlines()[-1].split())


@pytest.mark.parametrize(
    "arguments",
    [["--help"], ["list"], ["describe", "ysb"], ["plan", "ysb"], ["runs", "list"], ["doctor"]],
    ids=" ".join,
)
def test_k3_commands_that_need_no_spark_do_not_import_it(arguments, tmp_path):
    assert imported(arguments, tmp_path) == set()


def test_showing_a_finished_run_imports_neither_spark_nor_numeric_libraries(store, tmp_path):
    store({"verdict": "unknown", "reasons": ["planted"]})
    heavy = ("pyspark", "py4j", "numpy", "pandas", "pyarrow", "duckdb")
    assert imported(["runs", "show"], tmp_path, heavy) == set()


def test_k3_help_imports_no_numeric_library(tmp_path):
    assert imported(["--help"], tmp_path, ("numpy", "pandas", "pyarrow", "duckdb", "pydantic")) == set()


def test_shell_completion_is_shown():
    environ = os.environ | {"_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"}
    command = [STREAMGAUGE, "--show-completion", "bash"]
    done = subprocess.run(command, capture_output=True, text=True, env=environ, timeout=60)
    assert done.returncode == 0
    assert "_STREAMGAUGE_COMPLETE=complete_bash" in done.stdout


def test_shell_completion_knows_the_commands():
    environ = os.environ | {"_STREAMGAUGE_COMPLETE": "complete_bash", "COMP_WORDS": "streamgauge ", "COMP_CWORD": "1"}
    done = subprocess.run([STREAMGAUGE], capture_output=True, text=True, env=environ, timeout=60)
    assert {"list", "describe", "plan", "run", "verify", "generate", "doctor", "runs"} <= set(done.stdout.split())


def test_the_package_is_a_command_too():
    done = subprocess.run(
        [sys.executable, "-m", "streamgauge", "run", "ybs"], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 2
    assert done.stdout == ""
    assert "did you mean `ysb`?" in done.stderr


def test_a_reader_who_leaves_early_sees_no_traceback():
    process = subprocess.Popen(
        [sys.executable, "-m", "streamgauge", "describe", "ysb"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    process.stdout.close()
    _, err = process.communicate(timeout=60)
    assert "Traceback" not in err
