"""Settings of the client, in the words of both clients, with secrets kept out of sight."""

import json

import pytest

from streamgauge.connectors.kafka.options import KafkaPlace, java_settings, refuse_open_secrets
from streamgauge.errors import UsageError
from streamgauge.settings.run_settings import parse_settings

SECRET = 's3cret;"\\'


@pytest.fixture
def options(tmp_path, monkeypatch):
    (tmp_path / "password").write_text(SECRET + "\n")
    return {
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "SCRAM-SHA-256",
        "sasl.username": "joe",
        "sasl.password": f"@{tmp_path / 'password'}",
        "ssl.ca.location": "/etc/ca.pem",
    }


def test_both_clients_get_the_same_login(options):
    place = KafkaPlace("h:1", options)
    assert place.client()["sasl.password"] == SECRET
    spark = place.spark()
    assert spark["kafka.bootstrap.servers"] == "h:1"
    assert spark["kafka.sasl.mechanism"] == "SCRAM-SHA-256"
    assert spark["kafka.sasl.jaas.config"] == (
        'org.apache.kafka.common.security.scram.ScramLoginModule required username="joe" password="s3cret;\\"\\\\";'
    )
    assert spark["kafka.ssl.truststore.location"] == "/etc/ca.pem"
    assert spark["kafka.ssl.truststore.type"] == "PEM"
    assert not {"kafka.sasl.password", "kafka.sasl.username", "kafka.ssl.ca.location"} & set(spark)


def test_a_key_and_its_certificate_become_a_key_store(tmp_path):
    (tmp_path / "key").write_text("KEY\n")
    (tmp_path / "certificate").write_text("CERTIFICATE\n")
    options = {
        "ssl.key.location": str(tmp_path / "key"),
        "ssl.certificate.location": str(tmp_path / "certificate"),
        "ssl.key.password": "p",
    }
    texts = {"ssl.key.pem": "KEY", "ssl.certificate.pem": "CERTIFICATE", "ssl.ca.pem": "CA"}
    assert java_settings("h:1", texts) == {
        "bootstrap.servers": "h:1",
        "ssl.keystore.key": "KEY",
        "ssl.keystore.certificate.chain": "CERTIFICATE",
        "ssl.keystore.type": "PEM",
        "ssl.truststore.certificates": "CA",
        "ssl.truststore.type": "PEM",
    }
    java = java_settings("h:1", options)
    assert (java["ssl.keystore.key"], java["ssl.keystore.certificate.chain"]) == ("KEY", "CERTIFICATE")
    assert java["ssl.key.password"] == "p"


def test_other_settings_pass_through():
    assert java_settings("h:1", {"client.id": "me"}) == {"bootstrap.servers": "h:1", "client.id": "me"}


@pytest.mark.parametrize("name", ["sasl.password", "ssl.key.password", "sasl.oauthbearer.client.secret"])
def test_a_secret_on_the_command_line_is_refused_without_being_repeated(name):
    with pytest.raises(UsageError, match=f"{name}=@FILE") as caught:
        parse_settings(source="kafka", kafka_options={name: "hunter2"})
    assert "hunter2" not in str(caught.value)
    refuse_open_secrets({name: "env:NAME"})


def test_a_password_in_an_address_is_refused_without_being_repeated():
    with pytest.raises(UsageError, match="--redis @FILE") as caught:
        parse_settings(sink="redis", redis="redis://joe:hunter2@h:1/0")
    assert "hunter2" not in str(caught.value)
    assert parse_settings(sink="redis", redis="redis://h:1/0").redis == "redis://h:1/0"


def test_what_is_stored_of_the_settings_holds_no_secret(options):
    settings = parse_settings(source="kafka", kafka_options=options)
    assert SECRET not in json.dumps(settings.document())
    assert settings.document()["kafka_options"]["sasl.password"].startswith("@")


@pytest.mark.parametrize(
    ("given", "option"),
    [
        ({"kafka": "h:1"}, "--kafka"),
        ({"topic": "t"}, "--topic"),
        ({"kafka_options": {"a": "b"}}, "--kafka-option"),
        ({"sink": "kafka", "record_format": "binary"}, "--record-format"),
        ({"external_load": True}, "--external-load"),
        ({"source": "kafka", "redis": "h:1"}, "--redis"),
        ({"source": "kafka", "load": "offline"}, "--load"),
    ],
)
def test_options_that_nothing_uses_are_refused(given, option):
    with pytest.raises(UsageError) as caught:
        parse_settings(**given)
    assert caught.value.where == option
