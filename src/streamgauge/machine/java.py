"""Finding a Java that Spark can run on, without starting Spark."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from streamgauge.errors import EnvironmentNotReadyError

MINIMUM_JAVA = 17
REMEDY = (
    "install Java 17 or newer (Debian and Ubuntu: `apt-get install openjdk-17-jre-headless`; "
    "macOS: `brew install openjdk@17`) and set JAVA_HOME if it is not on the PATH"
)
_PLACES = ("/usr/lib/jvm", "/opt/java", "/opt/homebrew/opt", "/Library/Java/JavaVirtualMachines")


def _candidates(environ: Mapping[str, str]) -> Iterator[Path]:
    if home := environ.get("JAVA_HOME"):
        yield Path(home)
    if java := shutil.which("java", path=environ.get("PATH", os.defpath)):
        yield Path(java).resolve().parent.parent
    places = environ.get("STREAMGAUGE_JAVA_PLACES", os.pathsep.join(_PLACES)).split(os.pathsep)
    for place in map(Path, filter(None, places)):
        if place.is_dir():
            for entry in sorted(place.iterdir(), reverse=True):
                yield entry
                yield entry / "Contents" / "Home"


def java_version(home: Path) -> int | None:
    """Return the major version of the Java at `home`, or None when there is none that runs."""
    java = home / "bin" / "java"
    if not java.is_file():
        return None
    release = home / "release"
    text = release.read_text(errors="replace") if release.is_file() else _ask(java)
    # A release file also holds versions of other things, such as IMPLEMENTOR_VERSION="18.9" of a Java 11.
    match = re.search(r'(?:^JAVA_VERSION=|version )"(?:1\.)?(\d+)', text, re.MULTILINE)
    return int(match.group(1)) if match else None


def _ask(java: Path) -> str:
    try:
        return subprocess.run([java, "-version"], capture_output=True, text=True, timeout=20, check=False).stderr
    except (OSError, subprocess.TimeoutExpired):
        return ""


def find_java(environ: Mapping[str, str]) -> tuple[Path, int]:
    """Return the home and major version of the first Java that is new enough."""
    too_old = []
    for home in _candidates(environ):
        version = java_version(home)
        if version is not None and version >= MINIMUM_JAVA:
            return home, version
        if version is not None:
            too_old.append(f"Java {version} in {home}")
    found = f"; found only {', '.join(dict.fromkeys(too_old))}" if too_old else ""
    raise EnvironmentNotReadyError(f"no Java {MINIMUM_JAVA} or newer was found{found}", remedy=REMEDY)


if __name__ == "__main__":
    try:
        print(*find_java(os.environ))  # noqa: T201
    except EnvironmentNotReadyError as error:
        sys.exit(str(error))
