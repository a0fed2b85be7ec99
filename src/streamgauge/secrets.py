"""Settings that hold secrets: how they are given, recognised, refused where others could read them, and masked.

A value `@FILE` is what the file holds, and `env:NAME` what the variable holds. Secrets are given in one of these ways,
so neither a command line nor a run directory ever shows them.
"""

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from streamgauge.errors import EnvironmentNotReadyError, UsageError

WORDS = r"secret|passw(?:or)?d|passphrase|token|credential|private|(?:api|access|account|encryption)[._-]?key|sasl|jaas"
MASK = "********"
_SECRET = re.compile(WORDS, re.IGNORECASE)
# Java options, login modules and addresses carry secrets inside their values.
_HOLDS_SECRET = re.compile(rf"(?:{WORDS})[\w.-]*\s*[=:]|://[^/\s:@]*:[^/\s@]+@", re.IGNORECASE)
# Names that are about secrets and hold none: which class, mechanism or file, whether, how long.
_ABOUT_SECRETS = re.compile(
    r"(?:provider|class|type|mechanism|enabled|location|path|file|interval|timeout)s?$", re.IGNORECASE
)
_REFERENCES = ("@", "env:")
_MANNERS = "write {name}=@FILE for what a file holds, or {name}=env:NAME for a variable"


def mask_secrets(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Replace the values of settings whose names sound secret, or that hold something that does.

    A value that only names a file or a variable stays: the secret itself is not in it.

    >>> mask_secrets({"spark.ssl.keyPassword": "x", "spark.ui.enabled": "false"})
    {'spark.ssl.keyPassword': '********', 'spark.ui.enabled': 'false'}
    """
    return {
        key: MASK if not _is_reference(value) and (_SECRET.search(key) or _HOLDS_SECRET.search(str(value))) else value
        for key, value in settings.items()
    }


def _is_reference(value: Any) -> bool:
    return isinstance(value, str) and value.startswith(_REFERENCES)


def resolve(value: str, where: str) -> str:
    """Return what a value stands for.

    >>> resolve("SASL_SSL", "--kafka-option")
    'SASL_SSL'
    """
    if value.startswith("@"):
        return read_secret(value[1:], where)
    if value.startswith("env:"):
        name = value[len("env:") :]
        if name not in os.environ:
            raise EnvironmentNotReadyError(f"the variable {name} is not set", where=where, remedy=f"export {name}=...")
        return os.environ[name]
    return value


def read_secret(path: str, where: str) -> str:
    """Return what a file holds, without the end of its last line."""
    try:
        return Path(path).expanduser().read_text(encoding="utf-8").removesuffix("\n")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not a text file"
        raise EnvironmentNotReadyError(
            f"{path} cannot be read: {reason}", where=where, remedy="check the path"
        ) from error


def refuse_open_secret(name: str, value: str, *, option: str) -> None:
    """Refuse a setting that sounds secret unless it names a file or a variable."""
    if _is_reference(value):
        return
    raise UsageError(
        f"{name} is a secret, which would be visible on the command line and in what is stored",
        where=option,
        remedy=_MANNERS.format(name=name),
    )


def refuse_open_conf(conf: Mapping[str, str]) -> None:
    """Refuse secrets of Spark settings on a command line, where every user of the machine can read them."""
    for name, value in conf.items():
        is_named = _SECRET.search(name) and not _ABOUT_SECRETS.search(name) and value.lower() not in ("true", "false")
        if is_named or _HOLDS_SECRET.search(value):
            refuse_open_secret(name, value, option="--conf")


def refuse_open_password(address: str | None) -> None:
    """Refuse an address that holds a password."""
    if address is not None and re.search(r"://[^/\s]*@", address):
        raise UsageError(
            "the address holds a password, which would be visible on the command line and in what is stored",
            where="--redis",
            remedy="write --redis @FILE for what a file holds, or --redis env:NAME for a variable",
        )


def write_properties(path: Path, conf: Mapping[str, str]) -> None:
    """Hand settings over in a private file: a command line is visible to every user."""
    path.unlink(missing_ok=True)
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        for key, value in conf.items():
            escaped = value.replace("\\", "\\\\").replace("\n", "\\n")
            file.write(f"{key}={escaped}\n")
