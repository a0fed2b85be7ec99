"""Java packages by name: fetched once by Maven, kept in the cache, and used only with the digests that are known.

`jars.sha256` holds the digests, in the form of `sha256sum`: those of a folder are all of its jars.
"""

import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from xml.sax.saxutils import escape

from streamgauge.errors import EnvironmentNotReadyError
from streamgauge.files import cache_folder, disk_access, locked
from streamgauge.machine.java import find_java

GOAL = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies"
DEADLINE_S = 600.0
REMEDY = "choose another folder with STREAMGAUGE_CACHE"


@cache
def known_digests() -> Mapping[str, Mapping[str, str]]:
    """Return the SHA-256 digest of every jar, by folder."""
    found: dict[str, dict[str, str]] = {}
    for line in (files("streamgauge.services") / "jars.sha256").read_text(encoding="utf-8").splitlines():
        digest, path = line.split()
        folder, jar = path.split("/")
        found.setdefault(folder, {})[jar] = digest
    return found


def _require_known(name: str, folder: Path) -> None:
    """Refuse jars other than the known ones: whatever is in them would be executed."""
    known = known_digests().get(name, {})
    with disk_access("read Java packages", folder, REMEDY):
        found = {jar.name: hashlib.sha256(jar.read_bytes()).hexdigest() for jar in sorted(folder.glob("*.jar"))}
    for jar in sorted(found.keys() | known.keys()):
        if found.get(jar) != known.get(jar):
            there, expected = (digests.get(jar, "none") for digests in (found, known))
            raise EnvironmentNotReadyError(
                f"{jar} cannot be trusted: its SHA-256 digest is {there}, and {expected} is expected",
                where=str(folder),
                remedy="delete the folder and try again; if that does not help, Maven's repository has other files",
            )


def jars(name: str, coordinates: Sequence[str], say: Callable[[str], None], *, only_these: bool = False) -> Path:
    """Return the folder with the jars of `coordinates` (group:artifact:version) and of all they need at run time.

    The folder is there whole or not at all; when it is there, neither Maven nor a network is needed. With `only_these`
    nothing is fetched that they need.
    """
    folder = cache_folder(os.environ) / "jars" / name
    if folder.is_dir():
        _require_known(name, folder)
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
    with locked(folder.parent, "keep Java packages", REMEDY, lambda: say("waiting for another fetch by Maven")):
        if not folder.is_dir():
            say(f"fetching {coordinates[0]} by Maven, once")
            _fetch_into(folder, maven, coordinates, only_these=only_these)
    return folder


def _fetch_into(folder: Path, maven: str, coordinates: Sequence[str], *, only_these: bool) -> None:
    with disk_access("keep Java packages", folder, REMEDY):
        scratch = Path(tempfile.mkdtemp(prefix=f".new-{folder.name}-", dir=folder.parent))
    try:
        _fetch(maven, coordinates, scratch, only_these=only_these)
        _require_known(folder.name, scratch / "jars")
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
    """Return the line of Maven's output that says most.

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
