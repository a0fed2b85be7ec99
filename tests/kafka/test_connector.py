"""The connector of the installed Spark, or else a known one, or a clear message."""

import pytest

from streamgauge.errors import EnvironmentNotReadyError
from streamgauge.kafka import connector
from streamgauge.kafka.connector import KNOWN, brings_own_connector, conflict, find_connector
from streamgauge.services.packages import project


@pytest.fixture
def fetched(monkeypatch, tmp_path):
    """Play Maven: only the versions in the list can be had."""
    available: list[str] = []
    asked: list[str] = []

    def jars(name, coordinates, _tell, *, only_these):
        assert only_these
        version = coordinates[0].rpartition(":")[2]
        asked.append(version)
        if version not in available:
            raise EnvironmentNotReadyError(f"Maven did not fetch {coordinates[0]}: not found")
        folder = tmp_path / name
        folder.mkdir(exist_ok=True)
        (folder / f"connector-{version}.jar").touch()
        return folder

    monkeypatch.setattr(connector, "jars", jars)
    monkeypatch.setattr(connector, "jars_folder", lambda name: tmp_path / name)
    return available, asked


def silent(text: str) -> None:
    pass


def test_the_version_of_the_installed_spark_comes_first(fetched):
    available, asked = fetched
    available += ["9.9.9", KNOWN]
    found = find_connector(silent, "9.9.9")
    assert (found.version, found.note, asked) == ("9.9.9", None, ["9.9.9"])
    assert found.conf({"spark.jars": "mine.jar"})["spark.jars"].startswith("mine.jar,")


def test_a_known_set_is_used_and_said_when_the_own_one_cannot_be_had(fetched):
    available, asked = fetched
    available.append(KNOWN)
    found = find_connector(silent, "9.9.9")
    assert found.version == KNOWN
    assert "9.9.9" in (found.note or "")
    find_connector(silent, "9.9.9")
    assert asked == ["9.9.9", KNOWN, KNOWN], "what is known not to exist is not asked for again"


def test_neither_is_a_machine_that_is_not_ready(fetched):
    with pytest.raises(EnvironmentNotReadyError, match="Maven did not fetch"):
        find_connector(silent, "9.9.9")


def test_without_maven_the_message_is_about_maven(monkeypatch, tmp_path):
    monkeypatch.setenv("STREAMGAUGE_CACHE", str(tmp_path))
    monkeypatch.setenv("PATH", "")
    with pytest.raises(EnvironmentNotReadyError, match="Maven was not found"):
        find_connector(silent)


def test_a_connector_of_the_users_own_is_seen():
    assert brings_own_connector({"spark.jars.packages": "org.apache.spark:spark-sql-kafka-0-10_2.13:4.3.0"})
    assert not brings_own_connector({"spark.jars": "other.jar"})


def test_classes_that_do_not_fit_are_a_conflict_and_other_failures_are_not():
    found = conflict("x\njava.lang.NoSuchMethodError: org.apache.spark.sql.kafka010.A.b()\n")
    assert found is not None
    assert found.exit_code == 4
    assert "NoSuchMethodError" in found.what
    assert conflict("java.lang.NoSuchMethodError: somewhere else") is None
    assert conflict("kafka: topic is gone") is None


def test_packages_can_be_had_without_what_they_need():
    assert "<artifactId>*</artifactId>" in project(["g:a:1"], only_these=True)
    assert "exclusion" not in project(["g:a:1"])
