"""Ways to damage a file: bytes, lines, JSON documents, Parquet tables and NumPy arrays. All chance comes from `rng`."""

import io
import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

Mutator = Callable[[bytes, Random], bytes]

# Nested deeper than parsers go; put in as text, because `json.dumps` would not get through it.
_DEEP = "@deep@"
HOSTILE_TEXTS = (
    "", " ", "\x1b[32mPASS\x1b[0m", "a\nPASS  b\r", "\u202e", "\x00", "\ud800", "[green]x[/]", "{0.__class__}", "%s%n",
    "../../etc/passwd", "/etc/hostname", "<script>alert(1)</script>", "x" * 100_000, "NaN", "1e999", "9" * 400,
    "none.yaml",
)  # fmt: skip
HOSTILE_NUMBERS = (
    0, -1, 1, 2, 1e308, -1e308, 5e-324, 2**31, 2**63 - 1, 2**63, -(2**63), 10**30, 10**400, float("nan"), float("inf"),
    float("-inf"), 0.5, 1e15, 1e18,
)  # fmt: skip
HOSTILE_VALUES = (None, True, False, [], {}, [[]], [None], {"": None}, {"a": {"b": []}}, _DEEP)


def _some(rng: Random, text: bytes) -> tuple[int, int]:
    start = rng.randrange(len(text) + 1)
    return start, min(len(text), start + rng.choice((1, 2, 8, 64, 1024)))


def flip(text: bytes, rng: Random) -> bytes:
    changed = bytearray(text)
    for _ in range(rng.choice((1, 1, 3, 20))):
        if changed:
            changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def truncate(text: bytes, rng: Random) -> bytes:
    return text[: rng.randrange(len(text) + 1)]


def lose(text: bytes, rng: Random) -> bytes:
    start, end = _some(rng, text)
    return text[:start] + text[end:]


def double(text: bytes, rng: Random) -> bytes:
    start, end = _some(rng, text)
    return text[:end] + text[start:end] + text[end:]


def insert(text: bytes, rng: Random) -> bytes:
    at = rng.randrange(len(text) + 1)
    return text[:at] + rng.randbytes(rng.choice((1, 4, 100))) + text[at:]


def recode(text: bytes, rng: Random) -> bytes:
    readable = text.decode("utf-8", "replace")
    return rng.choice(
        (
            readable.encode("utf-16"),
            readable.encode("utf-32"),
            readable.encode("latin-1", "replace"),
            b"\xef\xbb\xbf" + text,
            text.replace(b"\n", b"\r"),
            text.replace(b"e", "é".encode("latin-1")),
        )
    )


def empty(_: bytes, rng: Random) -> bytes:
    return rng.choice((b"", b"\n", b"\x00" * 100, b"null", b"[]", b"{}", b'"text"', b"1"))


def shuffle_lines(text: bytes, rng: Random) -> bytes:
    lines = text.split(b"\n")
    at, other = rng.randrange(len(lines)), rng.randrange(len(lines))
    kind = rng.randrange(4)
    if kind == 0:
        lines.insert(at, lines[at])
    elif kind == 1:
        del lines[at]
    elif kind == 2:
        lines[at], lines[other] = lines[other], lines[at]
    else:
        lines *= 2
    return b"\n".join(lines)


BYTES: tuple[Mutator, ...] = (flip, truncate, lose, double, insert, recode, empty)
TEXT: tuple[Mutator, ...] = (*BYTES, shuffle_lines, shuffle_lines)


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Yield every container and key in a document, which may be nested deeper than Python's stack."""
    waiting = [value]
    while waiting:
        container = waiting.pop()
        keys = container if isinstance(container, dict) else range(len(container) if isinstance(container, list) else 0)
        for key in keys:
            yield container, key
            waiting.append(container[key])


def hostile_value(old: Any, rng: Random) -> Any:
    """Return something else than a value: of another type, or of the same type and hardly possible."""
    kind = rng.randrange(6)
    if kind == 0:
        return rng.choice(HOSTILE_TEXTS)
    if kind == 1 or (kind < 4 and isinstance(old, int | float)):
        return rng.choice(HOSTILE_NUMBERS)
    if kind == 2 and isinstance(old, str):
        return rng.choice((old + "\x1b[2J", old[:-1], old.upper(), old * 1000, old.replace("0", "9")))
    if kind == 3:
        return rng.choice(([old], {"value": old}, str(old), [old] * 3))
    if kind == 4 and isinstance(old, int | float):
        return rng.choice((-old, old * 1000, old // 1000, str(old)))
    return rng.choice(HOSTILE_VALUES)


def _change_document(document: Any, rng: Random) -> None:
    places = list(_places(document))
    if not places:
        return
    # Half of the changes are near the top, where a document has few keys and readers look first.
    top = [place for place in places if place[0] is document]
    container, key = rng.choice(top if rng.random() < 0.3 else places)
    kind = rng.randrange(8)
    if kind == 0:
        del container[key]
    elif kind == 1 and isinstance(container, list):
        container.insert(key, container[key])
    elif kind == 1:
        container[rng.choice(HOSTILE_TEXTS)] = container.pop(key)
    elif kind == 2:
        container[key] = _swapped_in(places, rng)
    else:
        container[key] = hostile_value(container[key], rng)


def _swapped_in(places: list[tuple[Any, Any]], rng: Random) -> Any:
    container, key = rng.choice(places)
    return json.loads(json.dumps(container[key]))


def change_json(text: bytes, rng: Random) -> bytes:
    """Change a few values of a document; the rest stays valid."""
    document = json.loads(text)
    for _ in range(rng.choice((1, 1, 1, 2, 5))):
        _change_document(document, rng)
    deep = "[" * 100_000 + "]" * 100_000
    return json.dumps(document).replace(f'"{_DEEP}"', deep).encode()


def change_line(text: bytes, rng: Random) -> bytes:
    """Change the document on one line, or on all lines in the same way."""
    lines = text.splitlines()
    if not lines:
        return text
    seed = rng.randrange(2**32)
    chosen = range(len(lines)) if rng.random() < 0.2 else [rng.randrange(len(lines))]
    for place in chosen:
        # The last line of a run that was killed may be cut short.
        with suppress(ValueError):
            lines[place] = change_json(lines[place], Random(seed))
    return b"\n".join(lines) + b"\n"


JSON: tuple[Mutator, ...] = (*(change_json,) * 8, *TEXT)
LINES: tuple[Mutator, ...] = (*(change_line,) * 8, *TEXT)

_EXTREME_INTS = (-1, 0, 2**62, -(2**62), 2**63 - 1, None)
_EXTREME_FLOATS = (float("nan"), float("inf"), -1.0, 0.0, 1e308, None)


def _extreme(column: pa.ChunkedArray, rng: Random) -> pa.Array:
    """Return a column of which one or all values are extreme."""
    values = column.to_pylist()
    pool = _EXTREME_FLOATS if pa.types.is_floating(column.type) else _EXTREME_INTS
    if not (pa.types.is_floating(column.type) or pa.types.is_integer(column.type)):
        return pa.array([rng.choice(HOSTILE_TEXTS[:10]).replace("\ud800", "") for _ in values])
    chosen = range(len(values)) if rng.random() < 0.3 or not values else [rng.randrange(len(values))]
    for place in chosen:
        values[place] = rng.choice(pool)
    return pa.array(values, column.type)


def _other_type(column: pa.ChunkedArray, rng: Random) -> pa.Array:
    values = column.to_pylist()
    return rng.choice(
        (
            lambda: pa.array([str(value) for value in values]),
            lambda: pa.array([None] * len(values)),
            lambda: pa.array([[value] for value in values]),
            lambda: pa.array([{"value": value} for value in values]),
            lambda: pa.array([bool(value) for value in values]),
            lambda: pa.array([float(place) for place in range(len(values))]),
            lambda: pa.array([b"\xff"] * len(values)),
        )
    )()


def _change_table(table: pa.Table, rng: Random) -> pa.Table:
    names = table.column_names
    at, other = rng.randrange(len(names)), rng.randrange(len(names))
    hostile = [rng.choice(HOSTILE_TEXTS[2:4]) if k == at else name for k, name in enumerate(names)]
    return rng.choice(
        (
            lambda: table.drop_columns([names[at]]),
            lambda: table.set_column(at, names[at], table.column(other)),
            lambda: table.slice(0, rng.choice((0, 0, 1))),
            lambda: pa.concat_tables([table] * 2),
            lambda: table.take(pa.array(range(table.num_rows - 1, -1, -1), pa.int64())),
            lambda: table.rename_columns(hostile),
            lambda: table.append_column("stranger", table.column(at)),
            lambda: table.set_column(at, names[at], _other_type(table.column(at), rng)),
            lambda: table.set_column(at, names[at], _extreme(table.column(at), rng)),
        )
    )()


def change_parquet(text: bytes, rng: Random) -> bytes:
    """Change columns or rows of a table that stays readable."""
    table = pq.read_table(io.BytesIO(text))
    for _ in range(rng.choice((1, 1, 2))):
        if table.num_columns:
            table = _change_table(table, rng)
    out = io.BytesIO()
    pq.write_table(table, out)
    return out.getvalue()


PARQUET: tuple[Mutator, ...] = (*(change_parquet,) * 5, *BYTES)


def change_array(text: bytes, rng: Random) -> bytes:
    """Change an array that stays readable."""
    array = np.load(io.BytesIO(text))
    changed = rng.choice(
        (
            lambda: -array,
            lambda: array[::-1],
            lambda: array[:, :1],
            lambda: array[:, :0],
            lambda: array.T,
            lambda: array * 10**9,
            lambda: array.astype(float) * np.nan,
            lambda: array.astype(str),
            lambda: np.full_like(array, 2**62),
            lambda: array.reshape(-1),
            lambda: np.array([{"a": 1}], dtype=object),
        )
    )()
    out = io.BytesIO()
    np.save(out, changed)
    return out.getvalue()


ARRAY: tuple[Mutator, ...] = (*(change_array,) * 3, *BYTES)


def mutators_for(path: Path) -> tuple[Mutator, ...]:
    """Return the ways to damage a file, by its name."""
    known = {".json": JSON, ".jsonl": LINES, ".parquet": PARQUET, ".npy": ARRAY}
    return known.get(path.suffix, TEXT)


def damage(path: Path, rng: Random, mutators: tuple[Mutator, ...] | None = None) -> str:
    """Damage a file in one way, and return which."""
    mutator = rng.choice(mutators or mutators_for(path))
    path.write_bytes(mutator(path.read_bytes(), rng))
    return mutator.__name__
