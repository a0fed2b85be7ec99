import os

import pytest

from streamgauge.errors import EnvironmentNotReadyError
from streamgauge.machine.java import find_java, java_version


@pytest.fixture
def home(tmp_path):
    """Make a Java home that is never started: its release file tells the version."""

    def one(name, version=None, *, release=None, script=None):
        folder = tmp_path / name
        (folder / "bin").mkdir(parents=True)
        java = folder / "bin" / "java"
        java.write_text(script or "#!/bin/sh\nexit 1\n")
        java.chmod(0o755)
        text = release if release is not None else f'JAVA_VERSION="{version}"\n' if version else None
        if text is not None:
            (folder / "release").write_text(text)
        return folder

    return one


@pytest.fixture
def environ(tmp_path):
    """An environment in which no Java can be found."""
    empty = tmp_path / "empty"
    empty.mkdir()
    return {"PATH": str(empty), "STREAMGAUGE_JAVA_PLACES": str(empty)}


@pytest.mark.parametrize(
    ("release", "version"),
    [
        ('JAVA_VERSION="17.0.9"\n', 17),
        ('JAVA_VERSION="1.8.0_392"\n', 8),
        ('IMPLEMENTOR="Debian"\nJAVA_VERSION="21"\n', 21),
        ('IMPLEMENTOR_VERSION="18.9"\nJAVA_VERSION="11.0.2"\n', 11),
        ("nothing of interest\n", None),
        ("", None),
    ],
)
def test_the_version_is_read_from_the_release_file(home, release, version):
    assert java_version(home("jdk", release=release)) == version


@pytest.mark.parametrize(
    ("answer", "version"),
    [('openjdk version "17.0.9" 2023-10-17', 17), ('java version "1.8.0_392"', 8), ("no such thing", None)],
)
def test_without_a_release_file_java_itself_is_asked(home, answer, version):
    assert java_version(home("jdk", script=f"#!/bin/sh\necho '{answer}' >&2\n")) == version


def test_a_java_that_cannot_be_started_has_no_version(home):
    assert java_version(home("jdk", script="#!/no/such/interpreter\n")) is None


def test_a_folder_without_java_has_no_version(tmp_path):
    assert java_version(tmp_path) is None


def test_java_home_comes_first(home, environ):
    chosen, other = home("chosen", "17.0.1"), home("other", "21")
    environ |= {"JAVA_HOME": str(chosen), "PATH": str(other / "bin")}
    assert find_java(environ) == (chosen, 17)


def test_the_path_comes_next_and_links_are_followed(home, environ, tmp_path):
    real = home("real", "21")
    links = tmp_path / "links"
    links.mkdir()
    (links / "java").symlink_to(real / "bin" / "java")
    assert find_java(environ | {"PATH": str(links)}) == (real, 21)


def test_known_places_come_last(home, environ, tmp_path):
    found = home("jvm/java-17", "17")
    home("jvm/java-11", "11")
    assert find_java(environ | {"STREAMGAUGE_JAVA_PLACES": str(tmp_path / "jvm")}) == (found, 17)


def test_several_places_are_searched_and_missing_ones_skipped(home, environ, tmp_path):
    found = home("second/jdk/Contents/Home", "21")
    places = os.pathsep.join([str(tmp_path / "absent"), str(tmp_path / "second")])
    assert find_java(environ | {"STREAMGAUGE_JAVA_PLACES": places}) == (found, 21)


def test_a_java_home_that_is_too_old_or_wrong_does_not_end_the_search(home, environ):
    old, new = home("old", "11.0.2"), home("new", "17")
    assert find_java(environ | {"JAVA_HOME": str(old), "PATH": str(new / "bin")}) == (new, 17)
    assert find_java(environ | {"JAVA_HOME": "/no/such/home", "PATH": str(new / "bin")}) == (new, 17)


def test_a_java_that_is_too_old_is_named(home, environ):
    old = home("old", "11.0.2")
    with pytest.raises(EnvironmentNotReadyError) as caught:
        find_java(environ | {"JAVA_HOME": str(old), "PATH": str(old / "bin")})
    assert caught.value.what == f"no Java 17 or newer was found; found only Java 11 in {old}"


def test_without_java_the_remedy_says_how_to_get_it(environ):
    with pytest.raises(EnvironmentNotReadyError) as caught:
        find_java(environ)
    assert caught.value.what == "no Java 17 or newer was found"
    assert "apt-get install openjdk-17-jre-headless" in caught.value.remedy
    assert "JAVA_HOME" in caught.value.remedy
    assert caught.value.exit_code == 4


def test_an_empty_list_of_places_is_not_the_current_folder(home, environ, tmp_path, monkeypatch):
    home("jdk", "17")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(EnvironmentNotReadyError):
        find_java(environ | {"STREAMGAUGE_JAVA_PLACES": ""})


def test_only_the_given_environment_counts(home, environ, monkeypatch):
    monkeypatch.setenv("PATH", str(home("jdk", "17") / "bin"))
    monkeypatch.setattr(os, "defpath", environ["PATH"])
    del environ["PATH"]
    with pytest.raises(EnvironmentNotReadyError):
        find_java(environ)
