"""Java packages are fetched once, whole or not at all; Maven is played by a script."""

import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest

from streamgauge.errors import EnvironmentNotReadyError
from streamgauge.services import packages
from streamgauge.services.packages import jars, project

COORDINATES = ("g.one:a:1", "g.two:b:2.0")


@pytest.fixture
def maven(monkeypatch, tmp_path, cache) -> Callable[[str], Path]:
    """Put a `mvn` on the PATH that runs a shell script; `$out` is its output folder. Calls are counted in a file."""
    programs = tmp_path / "bin"
    programs.mkdir()
    monkeypatch.setenv("PATH", os.pathsep.join((str(programs), os.environ["PATH"])))
    calls = tmp_path / "calls"
    head = f'#!/bin/sh\necho "$@" >> {calls}\nfor w; do case $w in -DoutputDirectory=*) out=${{w#*=}};; esac; done\n'

    def put(script: str) -> Path:
        (programs / "mvn").write_text(head + script)
        (programs / "mvn").chmod(0o755)
        return calls

    return put


@pytest.fixture(autouse=True)
def digests(monkeypatch) -> dict[str, dict[str, str]]:
    """Let the digests of an empty jar be known."""
    known = {"thing-1": {"a.jar": hashlib.sha256(b"").hexdigest()}}
    monkeypatch.setattr(packages, "known_digests", lambda: known)
    return known


def silent(text: str) -> None:
    pass


def test_packages_are_fetched_once(maven, cache):
    calls = maven('mkdir -p "$out" && touch "$out/a.jar"')
    told: list[str] = []
    first = jars("thing-1", COORDINATES, told.append)
    second = jars("thing-1", COORDINATES, told.append)
    assert first == second == cache / "jars" / "thing-1"
    assert [path.name for path in first.iterdir()] == ["a.jar"]
    assert len(calls.read_text().splitlines()) == 1
    assert told == ["fetching g.one:a:1 by Maven, once"]
    assert {path.name for path in (cache / "jars").iterdir()} == {"thing-1", "lock"}, "nothing else stays"


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ('mkdir -p "$out"; touch "$out/a.jar"; echo "[ERROR] planted -> [Help 1]"; exit 1', "planted"),
        ("exit 0", "it said nothing"),
    ],
    ids=["fails in the middle", "does nothing"],
)
def test_a_fetch_that_fails_leaves_no_folder(maven, cache, script, said):
    maven(script)
    with pytest.raises(EnvironmentNotReadyError, match=f"g.two:b:2.0: {said}\n") as caught:
        jars("thing-1", COORDINATES, silent)
    assert caught.value.exit_code == 4
    assert [path.name for path in (cache / "jars").iterdir()] == ["lock"]


def test_without_maven_the_message_says_how_to_get_it(monkeypatch, tmp_path, cache):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(EnvironmentNotReadyError, match="Maven was not found") as caught:
        jars("thing-1", COORDINATES, silent)
    assert "apt-get install maven" in (caught.value.remedy or "")
    assert caught.value.where == str(cache / "jars" / "thing-1")


def test_the_project_names_every_package():
    root = ElementTree.fromstring(project((*COORDINATES, "g:a&b:3")))
    space = "{http://maven.apache.org/POM/4.0.0}"
    found = [tuple(part.text for part in entry) for entry in root.iter(f"{space}dependency")]
    assert found == [("g.one", "a", "1"), ("g.two", "b", "2.0"), ("g", "a&b", "3")]


@pytest.mark.parametrize(
    "script",
    ['echo changed > "$out/a.jar"', 'touch "$out/a.jar" "$out/b.jar"', 'touch "$out/b.jar"'],
    ids=["another content", "one jar more", "another name"],
)
def test_jars_other_than_the_known_ones_are_refused_and_not_kept(maven, cache, script):
    maven(f'mkdir -p "$out" && {script}')
    with pytest.raises(EnvironmentNotReadyError, match="cannot be trusted") as caught:
        jars("thing-1", COORDINATES, silent)
    assert caught.value.exit_code == 4
    assert [path.name for path in (cache / "jars").iterdir()] == ["lock"]


def test_jars_that_were_changed_in_the_cache_are_refused(maven, cache):
    maven('mkdir -p "$out" && touch "$out/a.jar"')
    (jars("thing-1", COORDINATES, silent) / "a.jar").write_text("changed")
    with pytest.raises(EnvironmentNotReadyError, match=r"a\.jar cannot be trusted"):
        jars("thing-1", COORDINATES, silent)


def test_packages_without_known_digests_are_refused(maven, digests):
    maven('mkdir -p "$out" && touch "$out/a.jar"')
    digests.clear()
    with pytest.raises(EnvironmentNotReadyError, match="none is expected"):
        jars("thing-1", COORDINATES, silent)
