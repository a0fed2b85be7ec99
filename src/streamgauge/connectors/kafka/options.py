"""How to reach a broker: its address and further settings, for the C client and for Spark's Java client.

Settings have the names of the C client. Secrets are given as `@FILE` or `env:NAME`.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, get_args

from streamgauge.secrets import read_secret, refuse_open_secret, resolve

Format = Literal["json", "binary"]
FORMATS: tuple[Format, ...] = get_args(Format)
SECRET = re.compile(r"password|secret|token|jaas|\.pem$|key$", re.IGNORECASE)
# Certificates and keys as texts.
_PEM_TEXTS = {
    "ssl.ca.pem": "ssl.truststore.certificates",
    "ssl.certificate.pem": "ssl.keystore.certificate.chain",
    "ssl.key.pem": "ssl.keystore.key",
}
_LOGIN_MODULES = {
    "PLAIN": "org.apache.kafka.common.security.plain.PlainLoginModule",
    "SCRAM-SHA-256": "org.apache.kafka.common.security.scram.ScramLoginModule",
    "SCRAM-SHA-512": "org.apache.kafka.common.security.scram.ScramLoginModule",
}


@dataclass(frozen=True)
class KafkaPlace:
    """A cluster of brokers; `options` are as the user wrote them, without the secrets that they name."""

    address: str
    options: Mapping[str, str] = field(default_factory=dict)

    def client(self) -> dict[str, str]:
        """Return the settings of the C client, secrets included."""
        found = {name: resolve(value, f"--kafka-option {name}") for name, value in self.options.items()}
        return {"bootstrap.servers": self.address, **found}

    def spark(self) -> dict[str, str]:
        """Return the options of Spark's source and sink, secrets included."""
        found = {name: resolve(value, f"--kafka-option {name}") for name, value in self.options.items()}
        return {f"kafka.{name}": value for name, value in java_settings(self.address, found).items()}


def java_settings(address: str, options: Mapping[str, str]) -> dict[str, str]:
    """Say the settings of the C client in the words of the Java client."""
    known = {"sasl.mechanism", "sasl.mechanisms", "sasl.username", "sasl.password"}
    pem = {*_PEM_TEXTS, "ssl.ca.location", "ssl.certificate.location", "ssl.key.location", "ssl.key.password"}
    java = {"bootstrap.servers": address}
    java |= {name: value for name, value in options.items() if name not in known | pem}
    mechanism = options.get("sasl.mechanism", options.get("sasl.mechanisms"))
    if mechanism is not None:
        java |= {"sasl.mechanism": mechanism, **_login(mechanism, options)}
    for name, theirs in _PEM_TEXTS.items():
        if name in options:
            store = "truststore" if "ca" in name else "keystore"
            java |= {theirs: options[name], f"ssl.{store}.type": "PEM"}
    if "ssl.ca.location" in options:
        java |= {"ssl.truststore.type": "PEM", "ssl.truststore.location": options["ssl.ca.location"]}
    if "ssl.certificate.location" in options and "ssl.key.location" in options:
        java |= {
            "ssl.keystore.type": "PEM",
            "ssl.keystore.certificate.chain": read_secret(
                options["ssl.certificate.location"], "ssl.certificate.location"
            ),
            "ssl.keystore.key": read_secret(options["ssl.key.location"], "ssl.key.location"),
        }
    if "ssl.key.password" in options:
        java["ssl.key.password"] = options["ssl.key.password"]
    return java


def _login(mechanism: str, options: Mapping[str, str]) -> dict[str, str]:
    module = _LOGIN_MODULES.get(mechanism.upper())
    if module is None or "sasl.username" not in options:
        return {}
    name, password = (_quoted(options.get(key, "")) for key in ("sasl.username", "sasl.password"))
    return {"sasl.jaas.config": f"{module} required username={name} password={password};"}


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def refuse_open_secrets(options: Mapping[str, str]) -> None:
    """Refuse secrets that stand on a command line, where every user of the machine can read them."""
    for name, value in options.items():
        if SECRET.search(name):
            refuse_open_secret(name, value, option="--kafka-option")
