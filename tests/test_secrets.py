"""Secrets are masked in what is stored, refused where others could read them, and read from files and variables."""

import pytest

from streamgauge.errors import EnvironmentNotReadyError, UsageError
from streamgauge.secrets import MASK, mask_secrets, refuse_open_conf, resolve
from streamgauge.settings.run_settings import parse_settings


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


@pytest.mark.parametrize("reference", ["@/etc/secret", "env:KEY"])
def test_the_name_of_a_file_or_variable_is_not_masked(reference):
    assert mask_secrets({"spark.my.token": reference}) == {"spark.my.token": reference}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("spark.hadoop.fs.azure.account.key.mine.blob.core.windows.net", "hunter2"),
        ("spark.hadoop.fs.s3a.secret.key", "hunter2"),
        ("spark.authenticate.secret", "hunter2"),
        ("spark.ssl.keyPassword", "1234"),
        ("spark.driver.extraJavaOptions", "-Djavax.net.ssl.trustStorePassword=hunter2"),
        ("spark.my.address", "redis://joe:hunter2@h:1"),
    ],
)
def test_a_secret_of_spark_on_the_command_line_is_refused_without_being_repeated(name, value):
    with pytest.raises(UsageError, match="=@FILE") as caught:
        parse_settings(conf={name: value})
    assert caught.value.where == "--conf"
    assert name in caught.value.what
    assert value not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("spark.authenticate", "true"),
        ("spark.hadoop.fs.s3a.aws.credentials.provider", "org.apache.hadoop.fs.s3a.SimpleAWSCredentialsProvider"),
        ("spark.security.credentials.hive.enabled", "false"),
        ("spark.kafka.sasl.token.mechanism", "SCRAM-SHA-512"),
        ("spark.security.credentials.hive", "false"),
        ("spark.sql.adaptive.enabled", "true"),
        ("spark.my.token", "@/run/secrets/token"),
        ("spark.my.token", "env:TOKEN"),
    ],
)
def test_settings_about_secrets_and_references_to_them_are_taken(name, value):
    refuse_open_conf({name: value})
    assert parse_settings(conf={name: value}).conf == {name: value}


def test_values_come_from_files_and_variables(tmp_path, monkeypatch):
    (tmp_path / "password").write_text("x y\n")
    monkeypatch.setenv("PASSWORD", "z")
    assert resolve(f"@{tmp_path / 'password'}", "w") == "x y"
    assert resolve("env:PASSWORD", "w") == "z"
    assert resolve("plain", "w") == "plain"


def test_a_file_or_variable_that_is_not_there_is_named(tmp_path, monkeypatch):
    monkeypatch.delenv("PASSWORD", raising=False)
    with pytest.raises(EnvironmentNotReadyError, match="PASSWORD is not set"):
        resolve("env:PASSWORD", "w")
    with pytest.raises(EnvironmentNotReadyError, match="missing cannot be read: No such file"):
        resolve(f"@{tmp_path / 'missing'}", "w")


@pytest.mark.parametrize("reference", ["@/nowhere/secret", "env:NOT_SET_ANYWHERE"])
def test_a_reference_to_nothing_is_a_mistake_of_the_environment(reference):
    with pytest.raises(EnvironmentNotReadyError) as caught:
        resolve(reference, "--conf spark.my.token")
    assert caught.value.where == "--conf spark.my.token"
