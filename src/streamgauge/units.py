"""Parsing and printing of quantities; inside, everything is SI."""

import math
import re

from streamgauge.errors import UsageError

_QUANTITY = re.compile(r"^\s*([+-]?(?:\d+(?:_\d{3})*(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?)\s*([A-Za-zµ/]*)\s*$")
_MAGNITUDES = {"": 1.0, "k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9}
_DURATIONS_S = {"us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0}
MAX_RATE_PER_S = 1e9
MAX_CORES = 1024
MAX_PARTITIONS = 100_000
MAX_SEED = 2**63 - 1


def _split(text: str) -> tuple[float, str] | None:
    match = _QUANTITY.match(text)
    return (float(match.group(1)), match.group(2)) if match else None


def parse_rate(text: str | float, *, where: str = "--rate") -> float:
    """Read events per second.

    >>> parse_rate("200k"), parse_rate("1.5M"), parse_rate("2.5"), parse_rate("10k/s")
    (200000.0, 1500000.0, 2.5, 10000.0)
    """
    parts = _split(str(text))
    magnitude = _MAGNITUDES.get(parts[1].removesuffix("/s")) if parts else None
    if parts is None or magnitude is None:
        raise UsageError(
            f'rate "{text}" is not a number of events per second',
            where=where,
            remedy="use a number with an optional k, M or G, e.g. 200k or 1.5M",
        )
    rate_per_s = parts[0] * magnitude
    if not 0 < rate_per_s <= MAX_RATE_PER_S:
        raise UsageError(
            f'rate "{text}" is out of range',
            where=where,
            remedy=f"use more than 0 and at most {format_count(MAX_RATE_PER_S)} events per second",
        )
    return rate_per_s


def parse_count(text: str | int, *, where: str) -> int:
    """Read a whole number of things, 1 or more.

    >>> parse_count("20k", where="--count")
    20000
    """
    parts = _split(str(text))
    magnitude = _MAGNITUDES.get(parts[1]) if parts else None
    value = parts[0] * magnitude if parts and magnitude is not None else math.nan
    if not (1 <= value <= 2**53 and value == int(value)):
        raise UsageError(
            f'"{text}" is not a count',
            where=where,
            remedy="use a whole number from 1 on, with an optional k, M or G, e.g. 20k",
        )
    return int(value)


def parse_duration(text: str | float, *, where: str = "--duration", minimum_s: float = 0.0) -> float:
    """Read a duration; a bare number is refused because its unit would be a guess, except 0.

    >>> parse_duration("500ms"), parse_duration("2min"), parse_duration("0s"), parse_duration(1.5)
    (0.5, 120.0, 0.0, 1.5)
    """
    if isinstance(text, int | float):
        value_s = float(text)
    else:
        parts = _split(text)
        unit = "s" if parts == (0.0, "") else parts[1] if parts else ""
        if parts is None or unit not in _DURATIONS_S:
            raise UsageError(
                f'"{text}" is not a duration',
                where=where,
                remedy='use a number with us, ms, s, min or h, e.g. "30s" or "500ms"',
            )
        value_s = parts[0] * _DURATIONS_S[unit]
    if not minimum_s <= value_s <= 30 * 86400:
        raise UsageError(
            f'duration "{text}" is out of range',
            where=where,
            remedy=f"use {format_duration(minimum_s)} to 30 days",
        )
    return value_s


def parse_share(text: str | float, *, where: str, below: float = 1.0) -> float:
    """Read a share above 0 and below another, as a percentage or a number.

    >>> parse_share("5%", where="--within"), parse_share(0.05, where="--within")
    (0.05, 0.05)
    """
    try:
        is_percent = isinstance(text, str) and text.strip().endswith("%")
        value = float(str(text).strip().removesuffix("%")) / (100 if is_percent else 1)
    except ValueError:
        value = math.nan
    if not 0 < value < below:
        domain = "between 0% and 100%" if below == 1 else "above 0%"
        raise UsageError(f'"{text}" is no share {domain}', where=where, remedy="write e.g. 95% or 10%")
    return value


def format_count(value: float) -> str:
    """Print a number of things in at most four significant digits.

    >>> format_count(200_000), format_count(1_234_567), format_count(12), format_count(0.5)
    ('200k', '1.235M', '12', '0.5')
    """
    size = abs(value)
    for limit, suffix in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if size >= limit * 0.99995:
            return f"{value / limit:.4g}{suffix}"
    return f"{value:.4g}"


def format_rate(rate_per_s: float) -> str:
    """Print events per second.

    >>> format_rate(200_000)
    '200k/s'
    """
    return f"{format_count(rate_per_s)}/s"


def format_duration(duration_s: float) -> str:
    """Print a duration with the unit that fits it.

    >>> format_duration(0.0123), format_duration(12.34), format_duration(600), format_duration(0)
    ('12.3 ms', '12.34 s', '10 min', '0 s')
    """
    size = abs(duration_s)
    if size == 0 or not math.isfinite(duration_s):
        return f"{duration_s:g} s"
    if size < 0.9995e-3:
        return f"{duration_s * 1e6:.3g} µs"
    if size < 0.9995:
        return f"{duration_s * 1e3:.3g} ms"
    if size < 600:
        return f"{duration_s:.4g} s"
    return f"{duration_s / 60:.4g} min" if size < 3 * 3600 else f"{duration_s / 3600:.4g} h"


def format_bytes(size_bytes: float) -> str:
    """Print a size in binary units.

    >>> format_bytes(2048), format_bytes(3 * 1024**3)
    ('2 KiB', '3 GiB')
    """
    for power, suffix in ((4, "TiB"), (3, "GiB"), (2, "MiB"), (1, "KiB")):
        if abs(size_bytes) >= 1024**power:
            return f"{size_bytes / 1024**power:.4g} {suffix}"
    return f"{size_bytes:.4g} B"
