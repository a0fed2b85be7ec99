"""How the parameters of arrival laws are written, and read again.

The name of a field says what it holds: `peak_per_s` is written `peak=200k`, `phase_s` is written `phase=20s`.
"""

import re
from collections.abc import Callable
from dataclasses import fields
from typing import Any

from streamgauge.errors import UsageError
from streamgauge.units import MAX_SEED, parse_duration, parse_rate

_ZERO = re.compile(r"0+(\.0*)?\s*[kKMG]?(/s)?")
_PLAIN = re.compile(r"[^\s,()\"\\](?:[^,()\"\\]*[^\s,()\"\\])?")
_FACTOR = re.compile(r"(?:\d+(?:_\d{3})*\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")
_YES_NO = {"yes": True, "true": True, "no": False, "false": False}


def parameter_name(field: str) -> str:
    """Return the name that users write for a field.

    >>> parameter_name("burst_rate_per_s"), parameter_name("phase_s"), parameter_name("seed")
    ('burst_rate', 'phase', 'seed')
    """
    return field.removesuffix("_per_s").removesuffix("_s")


def write_rate(rate_per_s: float) -> str:
    """Write a rate such that exactly this number is read again.

    >>> write_rate(200_000.0), write_rate(12.5), write_rate(1e6 / 3)
    ('200k', '12.5', '333333.3333333333')
    >>> write_rate(1e9), write_rate(1_234_560.0), write_rate(1_234_567.0)
    ('1G', '1.23456M', '1234567')
    """
    for magnitude, suffix in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        text = write_factor(rate_per_s / magnitude)
        if rate_per_s >= magnitude and len(text) < 8 and float(text) * magnitude == rate_per_s:
            return text + suffix
    return write_factor(rate_per_s)


def write_factor(factor: float) -> str:
    """Write a plain number such that exactly this number is read again."""
    return repr(float(factor)).removesuffix(".0")


def write_duration(duration_s: float) -> str:
    """Write a duration such that exactly this number of seconds is read again.

    >>> write_duration(20.0), write_duration(0.25)
    ('20s', '0.25s')
    """
    return f"{write_factor(duration_s)}s"


def write_file(path: str) -> str:
    r"""Write a file's name, in quotes where it would be misread otherwise.

    >>> write_file("load.csv"), write_file("load (2).csv")
    ('load.csv', '"load (2).csv"')
    """
    if _PLAIN.fullmatch(path):
        return path
    escaped = path.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def write_value(field: str, value: Any) -> str:
    """Write the value of a field."""
    if field.endswith("_per_s"):
        return write_rate(value)
    if field.endswith("_s"):
        return write_duration(value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return str(value)
    return write_file(value) if isinstance(value, str) else write_factor(value)


def write_parameters(law: Any) -> str:
    """Write all parameters of a law."""
    names = [field.name for field in fields(law) if field.compare]
    return ", ".join(f"{parameter_name(name)}={write_value(name, getattr(law, name))}" for name in names)


def read_rate(text: str) -> float:
    """Read events per second, here also none.

    >>> read_rate("0"), read_rate("10k")
    (0.0, 10000.0)
    """
    return 0.0 if _ZERO.fullmatch(text) else parse_rate(text)


def read_factor(text: str) -> float:
    """Read a plain number.

    >>> read_factor("1.5")
    1.5
    """
    if not _FACTOR.fullmatch(text):
        raise UsageError(f'"{text}" is not a number above 0', remedy="use a plain number, e.g. 1.5")
    return float(text)


def read_seed(text: str) -> int:
    """Read a whole number of at most 63 bits and a sign.

    >>> read_seed("-7")
    -7
    """
    if not re.fullmatch(r"[+-]?\d{1,19}", text) or abs(int(text)) > MAX_SEED:
        raise UsageError(f'"{text}" is not a seed', remedy=f"use a whole number from {-MAX_SEED} to {MAX_SEED}")
    return int(text)


def read_choice(text: str) -> bool:
    """Read yes or no.

    >>> read_choice("yes")
    True
    """
    if text not in _YES_NO:
        raise UsageError(f'"{text}" is neither yes nor no', remedy="use yes or no")
    return _YES_NO[text]


_OTHER_FIELDS: dict[str, Callable[[str], Any]] = {
    "file": str,
    "loop": read_choice,
    "scale": read_factor,
    "seed": read_seed,
    "speed": read_factor,
}


def read_value(field: str, text: str) -> Any:
    """Read the value of a field; the error's `where` says nothing."""
    if field.endswith("_per_s"):
        return read_rate(text)
    return parse_duration(text) if field.endswith("_s") else _OTHER_FIELDS[field](text)
