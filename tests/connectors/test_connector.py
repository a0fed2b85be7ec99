"""The connector of the installed Spark, or else a known one, or a clear message."""

import pytest

from streamgauge.connectors.kafka import connector
from streamgauge.connectors.kafka.connector import KNOWN, brings_own_connector, conflict, find_connector, folder_of
from streamgauge.errors import EnvironmentNotReadyError
from streamgauge.services.packages import known_digests, project


@pytest.fixture
def fetched(monkeypatch, tmp_path):
    """Play Maven, and let digests be known of the versions in the list."""
    known: dict[str, dict[str, str]] = {folder_of(KNOWN): {}}
    asked: list[str] = []

    def jars(name, coordinates, _tell, *, only_these):
        assert only_these
        asked.append(coordinates[0].rpartition(":")[2])
        folder = tmp_path / name
        folder.mkdir(exist_ok=True)
        (folder / f"connector-{asked[-1]}.jar").touch()
        return folder

    monkeypatch.setattr(connector, "jars", jars)
    monkeypatch.setattr(connector, "known_digests", lambda: known)
    return known, asked


def silent(text: str) -> None:
    pass


def test_the_version_of_the_installed_spark_comes_first(fetched):
    known, asked = fetched
    known[folder_of("9.9.9")] = {}
    found = find_connector(silent, "9.9.9")
    assert (found.version, found.note, asked) == ("9.9.9", None, ["9.9.9"])
    assert found.conf({"spark.jars": "mine.jar"})["spark.jars"].startswith("mine.jar,")


def test_a_connector_without_known_digests_is_not_fetched_and_the_note_says_so(fetched):
    _, asked = fetched
    found = find_connector(silent, "9.9.9")
    assert (found.version, asked) == (KNOWN, [KNOWN])
    assert "no digests are known for the one of 9.9.9" in (found.note or "")


def test_digests_are_known_of_the_connector_that_is_used_for_other_versions():
    assert any(jar.startswith("spark-sql-kafka") for jar in known_digests()[folder_of(KNOWN)])


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
