"""Java packages by name: fetched once by Maven, kept in the cache."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from xml.sax.saxutils import escape

from streamgauge.engine.java import find_java
from streamgauge.errors import EnvironmentNotReadyError
from streamgauge.files import cache_folder, disk_access, locked

GOAL = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies"
DEADLINE_S = 600.0
REMEDY = "choose another folder with STREAMGAUGE_CACHE"


def jars_folder(name: str) -> Path:
    """Return where the jars of `name` are kept."""
    return cache_folder(os.environ) / "jars" / name


def jars(name: str, coordinates: Sequence[str], tell: Callable[[str], None], *, only_these: bool = False) -> Path:
    """Return the folder with the jars of `coordinates` (group:artifact:version) and of all they need at run time.

    The folder is there whole or not at all; when it is there, neither Maven nor a network is needed. With `only_these`
    nothing is fetched that they need.
    """
    folder = jars_folder(name)
    if folder.is_dir():
        return folder
    maven = shutil.which("mvn")
    if maven is None:
        raise EnvironmentNotReadyError(
            f"Maven was not found; it fetches {coordinates[0]}",
            where=str(folder),
            remedy="install it (Debian and Ubuntu: `apt-get install maven`; macOS: `brew install maven`), "
            "or copy this folder from a machine that has it",
        )
    # Maven's own store is not made for two at once.
    with locked(folder.parent, "keep Java packages", REMEDY, lambda: tell("waiting for another fetch by Maven")):
        if not folder.is_dir():
            tell(f"fetching {coordinates[0]} by Maven, once")
            _fetch_into(folder, maven, coordinates, only_these=only_these)
    return folder


def _fetch_into(folder: Path, maven: str, coordinates: Sequence[str], *, only_these: bool) -> None:
    with disk_access("keep Java packages", folder, REMEDY):
        scratch = Path(tempfile.mkdtemp(prefix=f".new-{folder.name}-", dir=folder.parent))
    try:
        _fetch(maven, coordinates, scratch, only_these=only_these)
        with disk_access("keep Java packages", folder, REMEDY):
            (scratch / "jars").rename(folder)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _fetch(maven: str, coordinates: Sequence[str], scratch: Path, *, only_these: bool) -> None:
    home, _ = find_java(os.environ)
    pom = scratch / "pom.xml"
    pom.write_text(project(coordinates, only_these=only_these), encoding="utf-8")
    command = [
        maven,
        "-B",
        "-q",
        "-f",
        str(pom),
        GOAL,
        f"-DoutputDirectory={scratch / 'jars'}",
        "-DincludeScope=runtime",
    ]
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=DEADLINE_S,
            env={**os.environ, "JAVA_HOME": str(home)},
            stdin=subprocess.DEVNULL,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise _not_fetched(coordinates, str(error)) from error
    if done.returncode != 0 or not any((scratch / "jars").glob("*.jar")):
        raise _not_fetched(coordinates, first_error(done.stdout + done.stderr))


def _not_fetched(coordinates: Sequence[str], reason: str) -> EnvironmentNotReadyError:
    return EnvironmentNotReadyError(
        f"Maven did not fetch {', '.join(coordinates)}: {reason}",
        remedy="check the network and Maven's settings, then try again",
    )


def first_error(output: str) -> str:
    """Return the line of Maven's output that tells most.

    >>> first_error("[INFO] Scanning\\n[ERROR] Could not find artifact g:a:jar:1 -> [Help 1]\\n[ERROR] more")
    'Could not find artifact g:a:jar:1'
    """
    errors = [line.partition("[ERROR]")[2].strip() for line in output.splitlines() if "[ERROR]" in line]
    lines = [line for line in errors or output.splitlines() if line.strip()]
    return (lines or ["it said nothing"])[0].partition(" -> [Help")[0].strip()[:400]


def project(coordinates: Sequence[str], *, only_these: bool = False) -> str:
    """Return a Maven project that does nothing but depend on `coordinates`, without what they need if `only_these`."""
    nothing = "<exclusions><exclusion><groupId>*</groupId><artifactId>*</artifactId></exclusion></exclusions>"
    dependencies = "".join(
        "<dependency>"
        + "".join(
            f"<{tag}>{escape(text)}</{tag}>"
            for tag, text in zip(("groupId", "artifactId", "version"), coordinate.split(":"), strict=True)
        )
        + f"{nothing if only_these else ''}</dependency>"
        for coordinate in coordinates
    )
    return (
        '<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>'
        "<groupId>streamgauge</groupId><artifactId>jars</artifactId><version>1</version><packaging>pom</packaging>"
        f"<dependencies>{dependencies}</dependencies></project>\n"
    )
