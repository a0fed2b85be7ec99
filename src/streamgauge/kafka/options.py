"""How to reach a broker: its address and further settings, for the C client and for Spark's Java client.

Settings have the names of the C client. A value `@FILE` is what the file holds, and `env:NAME` what the variable holds;
secrets are given in one of these ways, so neither a command line nor a run directory ever shows them.
"""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from streamgauge.errors import EnvironmentNotReadyError, UsageError

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
            "ssl.keystore.certificate.chain": _read(options["ssl.certificate.location"], "ssl.certificate.location"),
            "ssl.keystore.key": _read(options["ssl.key.location"], "ssl.key.location"),
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


def _read(path: str, where: str) -> str:
    try:
        return Path(path).expanduser().read_text(encoding="utf-8").removesuffix("\n")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no text"
        raise EnvironmentNotReadyError(
            f"{path} cannot be read: {reason}", where=where, remedy="check the path"
        ) from error


def resolve(value: str, where: str) -> str:
    """Return what a value stands for.

    >>> resolve("SASL_SSL", "--kafka-option")
    'SASL_SSL'
    """
    if value.startswith("@"):
        return _read(value[1:], where)
    if value.startswith("env:"):
        name = value[len("env:") :]
        if name not in os.environ:
            raise EnvironmentNotReadyError(f"the variable {name} is not set", where=where, remedy=f"export {name}=...")
        return os.environ[name]
    return value


def refuse_open_password(address: str | None) -> None:
    """Refuse an address that holds a password."""
    if address is not None and re.search(r"://[^/\s]*@", address):
        raise UsageError(
            "the address holds a password, which would be visible on the command line and in what is stored",
            where="--redis",
            remedy="write --redis @FILE for what a file holds, or --redis env:NAME for a variable",
        )


def refuse_open_secrets(options: Mapping[str, str]) -> None:
    """Refuse secrets that stand on a command line, where every user of the machine can read them."""
    for name, value in options.items():
        if SECRET.search(name) and not value.startswith(("@", "env:")):
            raise UsageError(
                f"{name} is a secret, which would be visible on the command line and in what is stored",
                where="--kafka-option",
                remedy=f"write {name}=@FILE for what a file holds, or {name}=env:NAME for a variable",
            )
