import json

import pytest

from streamgauge.engine.environment import MASK, PACKAGES, describe_environment, mask_secrets


@pytest.mark.parametrize(
    "key",
    [
        "spark.ssl.keyPassword",
        "spark.ssl.trustStorePasswd",
        "spark.authenticate.secret",
        "spark.hadoop.fs.s3a.access.key",
        "spark.hadoop.fs.s3a.SECRET.key",
        "spark.hadoop.fs.azure.account.key.mine.blob.core.windows.net",
        "spark.my.api_key",
        "spark.my.apikey",
        "spark.oauth.token",
        "spark.kafka.sasl.jaas.config",
        "spark.my.credentials",
        "spark.my.privateKey",
        "spark.my.passphrase",
    ],
)
def test_e6_settings_with_secret_names_are_masked(key):
    assert mask_secrets({key: "hunter2"}) == {key: MASK}


@pytest.mark.parametrize(
    "value",
    [
        "-Djavax.net.ssl.trustStorePassword=hunter2 -Xmx1g",
        'org.apache.kafka.PlainLoginModule required username="u" password="hunter2";',
        "redis://user:hunter2@host:6379/0",
        "-Dfs.s3a.secret.key=hunter2",
    ],
)
def test_e6_values_that_hold_a_secret_are_masked_whatever_their_name(value):
    assert "hunter2" not in str(mask_secrets({"spark.driver.extraJavaOptions": value}))


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("spark.ui.enabled", "false"),
        ("spark.sql.shuffle.partitions", "2"),
        ("spark.master", "spark://host:7077"),
        ("spark.driver.extraJavaOptions", "-Xmx1g -Dfile.encoding=UTF-8"),
        ("spark.number", 3),
        ("spark.none", None),
    ],
)
def test_other_settings_stay_as_they_are(key, value):
    assert mask_secrets({key: value}) == {key: value}


def test_masking_leaves_its_argument_alone():
    settings = {"spark.my.token": "x"}
    mask_secrets(settings)
    assert settings == {"spark.my.token": "x"}


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
    monkeypatch.setattr("streamgauge.engine.environment.PACKAGES", ("no-such-package",))
    assert describe_environment()["packages"] == {"no-such-package": None}
