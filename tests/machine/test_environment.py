import json

from streamgauge.machine.environment import PACKAGES, describe_environment


def test_e6_the_environment_is_described_without_java(tmp_path, monkeypatch):
    for name in ("PATH", "STREAMGAUGE_JAVA_PLACES"):
        monkeypatch.setenv(name, str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    found = describe_environment()
    assert found["java"] is None
    assert found["cores"] >= 1
    assert found["memory_bytes"] > 0
    assert set(found["packages"]) == set(PACKAGES)
    assert all(found["packages"].values())
    json.dumps(found)


def test_the_version_of_java_is_part_of_the_environment(tmp_path, monkeypatch):
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "java").write_text("")
    (tmp_path / "release").write_text('JAVA_VERSION="17.0.9"\n')
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert describe_environment()["java"] == "17"


def test_a_package_that_is_not_installed_has_no_version(monkeypatch):
    monkeypatch.setattr("streamgauge.machine.environment.PACKAGES", ("no-such-package",))
    assert describe_environment()["packages"] == {"no-such-package": None}
