"""What a run was run on: machine and versions."""

import os
import platform
import re
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from streamgauge._version import __version__
from streamgauge.errors import EnvironmentNotReadyError
from streamgauge.machine.java import find_java

PACKAGES = ("duckdb", "numpy", "pandas", "pyarrow", "pyspark")


def processor() -> str:
    """Return the name of the processor."""
    try:
        text = Path("/proc/cpuinfo").read_text()
    except OSError:
        return platform.processor()
    match = re.search(r"model name\s*:\s*(.+)", text)
    return match.group(1) if match else platform.processor()


def installed_version(package: str) -> str | None:
    """Return the version of an installed package; None where there is none."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def describe_environment() -> dict[str, Any]:
    """Return machine and versions; needs neither Java nor Spark to be there."""
    import psutil

    try:
        java: str | None = str(find_java(os.environ)[1])
    except EnvironmentNotReadyError:
        java = None
    return {
        "streamgauge": __version__,
        "python": platform.python_version(),
        "java": java,
        "packages": {package: installed_version(package) for package in PACKAGES},
        "system": platform.platform(),
        "processor": processor(),
        "cores": os.cpu_count(),
        "memory_bytes": psutil.virtual_memory().total,
    }
