"""NEXMark's events in NumPy: all generators draw side by side, in the order in which Beam draws.

The fields come as Arrow arrays, which know missing values: a person has no price.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from streamgauge.arrivals import Arrivals
from streamgauge.events.draw import Longs, draw
from streamgauge.events.nexmark import EVENTS, names
from streamgauge.events.nexmark.parameters import NexmarkEvents
from streamgauge.events.nexmark.random import JavaRandoms, event_seeds
from streamgauge.events.nexmark.urls import channels, urls

FIELDS = tuple(field.name for field in EVENTS.fields)
EXTRAS = ("person_extra", "auction_extra", "extra")
TIMESTAMP = pa.timestamp("us", "UTC")
SPACE = ord(" ")
LETTER_A = ord("a")
LETTERS = 26
LETTERS_PER_DRAW = 6
# Events are made in blocks whose characters fit in about this much memory.
BLOCK_BYTES = 2**26

Characters = npt.NDArray[np.uint8]


@dataclass(frozen=True)
class Happenings:
    """What is known of events before anything is drawn.

    `open_ms` is the time until as many auctions as can be in flight have been created.
    """

    n: Longs
    ids: Longs
    time_ms: Longs
    open_ms: Longs

    def only(self, rows: Longs) -> "Happenings":
        """Return some of the events."""
        return Happenings(self.n[rows], self.ids[rows], self.time_ms[rows], self.open_ms[rows])


def _first_ids(p: NexmarkEvents, n: Longs) -> tuple[Longs, Longs]:
    """Return the first id of each event's generator, and how many events it has made before."""
    if p.generators == 1 or p.split == "none":
        return np.zeros_like(n), n
    if p.split == "interleaved":
        return n % p.generators * p.events_per_generator, n // p.generators
    first = np.minimum(n // p.events_per_generator, p.generators - 1) * p.events_per_generator
    return first, n - first


def happenings(p: NexmarkEvents, arrivals: Arrivals) -> Happenings:
    """Return ids and times of events."""
    cycle = p.rate_cycle()

    def time_ms(m: Longs) -> Longs:
        if cycle is None:
            return arrivals.at(m * p.generators) // 1000
        return (arrivals.load_us + 1000 * cycle.time_ms(m)) // 1000

    first, k = _first_ids(p, arrivals.n)
    group = p.out_of_order_group
    number = k // group * group + k * names.OUT_OF_ORDER_PRIME % group
    now_ms = time_ms(number)
    return Happenings(arrivals.n, first + number, now_ms, time_ms(number + p.events_ahead) - now_ms)


def last_person(ids: Longs) -> Longs:
    """Return the number of the last person created up to each event, from 0."""
    return ids // names.CYCLE


def last_auction(ids: Longs) -> Longs:
    """Return the number of the last auction created up to each event, from 0; -1 before the first."""
    cycle, place = ids // names.CYCLE, ids % names.CYCLE
    created = np.clip(place - names.PERSONS_PER_CYCLE + 1, 0, names.AUCTIONS_PER_CYCLE)
    return cycle * names.AUCTIONS_PER_CYCLE + created - 1


def _person(p: NexmarkEvents, random: JavaRandoms, ids: Longs, ratio: int, hot_place: int) -> Longs:
    """Draw the number of a person: the hot one, or any of the active ones and some still to come."""
    is_hot = random.below(ratio) > 0
    hot = last_person(ids) // names.HOT_EVERY * names.HOT_EVERY + hot_place
    created = last_person(ids) + 1
    active = np.minimum(created, p.active_people)
    return np.where(is_hot, hot, created - active + random.below(active + names.PERSON_ID_LEAD, ~is_hot))


def _auction(p: NexmarkEvents, random: JavaRandoms, ids: Longs) -> Longs:
    """Draw the number of an auction: the hot one, or any of those in flight and some still to come."""
    is_hot = random.below(p.hot_auction_ratio) > 0
    last = last_auction(ids)
    hot = last // names.HOT_EVERY * names.HOT_EVERY
    lowest = np.maximum(last - p.in_flight_auctions, 0)
    return np.where(is_hot, hot, lowest + random.below(last - lowest + 1 + names.AUCTION_ID_LEAD, ~is_hot))


def _price(random: JavaRandoms) -> Longs:
    """Draw prices from 100 to 100,000,000 cents; their logarithm is uniform."""
    # NumPy's own power differs from that of the C and Java libraries in the last bit on some processors.
    powers = np.array([math.pow(10.0, exponent) for exponent in (random.double() * 6).tolist()])
    return np.floor(powers * 100 + 0.5).astype(np.int64)


def _strings(characters: Characters, start: Longs, stop: Longs) -> Any:
    """Return the texts whose k-th characters are row k, each cut to start..stop."""
    place = np.arange(len(characters))[:, np.newaxis]
    inside = (place >= start) & (place < stop)
    text = np.ascontiguousarray(characters.T)[np.ascontiguousarray(inside.T)]
    offsets = np.concatenate(([0], np.cumsum(stop - start))).astype(np.int32)
    return pa.StringArray.from_buffers(len(start), pa.py_buffer(offsets), pa.py_buffer(text))


def _text(random: JavaRandoms, below: int) -> Any:
    """Draw texts of letters and spaces, of 3 to `below` - 1 characters before they are stripped."""
    length = names.MIN_STRING_LENGTH + random.below(below - names.MIN_STRING_LENGTH)
    characters = np.full((below - 1, len(length)), SPACE, dtype=np.uint8)
    for place in range(below - 1):
        is_inside = place < length
        is_letter = is_inside & (random.below(13, is_inside) != 0)
        characters[place] = np.where(is_letter, LETTER_A + random.below(LETTERS, is_letter), SPACE)
    letters = characters != SPACE
    stop = np.where(letters.any(axis=0), below - 1 - letters[::-1].argmax(axis=0), 0)
    return _strings(characters, letters.argmax(axis=0), stop)


def _exact_text(random: JavaRandoms, length: Longs) -> Any:
    """Draw texts of these lengths; where Java's remainder is negative, characters before `a` come up too."""
    draws = -(-int(length.max(initial=0)) // LETTERS_PER_DRAW)
    characters = np.empty((draws * LETTERS_PER_DRAW, len(length)), dtype=np.uint8)
    for first in range(0, len(characters), LETTERS_PER_DRAW):
        drawn = random.int32(first < length)
        sign, rest = np.sign(drawn).astype(np.int8), np.abs(drawn).astype(np.uint32)
        for place in range(first, first + LETTERS_PER_DRAW):
            shorter = rest // np.uint32(LETTERS)
            characters[place] = LETTER_A + sign * (rest - shorter * np.uint32(LETTERS)).astype(np.int8)
            rest = shorter
    return _strings(characters, np.zeros_like(length), length)


def _padding(random: JavaRandoms, current: Longs, average: int) -> Any:
    """Draw the text that brings events of `current` bytes to `average` bytes, give or take a fifth of it."""
    missing = np.maximum(average - current, 0)
    spread = (missing + 2) // 5
    varies = spread > 0
    varied = np.where(varies, random.below(np.where(varies, 2 * spread, 1), varies), 0)
    return _exact_text(random, missing - spread + varied)


def _lengths(*texts: Any) -> Longs:
    return np.asarray(sum(pc.binary_length(text).to_numpy() for text in texts), dtype=np.int64)


def _join(*parts: Any, separator: str = "") -> Any:
    return pc.binary_join_element_wise(*parts, separator)


def _pick(values: tuple[str, ...], index: Longs) -> Any:
    return pa.array(values, pa.string()).take(pa.array(index))


def _persons(p: NexmarkEvents, random: JavaRandoms, events: Happenings) -> dict[str, Any]:
    digits = tuple(f"{number:04}" for number in range(10_000))
    texts = {
        "name": _join(
            _pick(names.FIRST, random.below(len(names.FIRST))),
            _pick(names.LAST, random.below(len(names.LAST))),
            separator=" ",
        ),
        "email_address": _join(_text(random, names.USER_LENGTH), "@", _text(random, names.HOST_LENGTH), ".com"),
        "credit_card": _join(*(_pick(digits, random.below(len(digits))) for _ in range(4)), separator=" "),
        "city": _pick(names.CITIES, random.below(len(names.CITIES))),
        "state": _pick(names.STATES, random.below(len(names.STATES))),
    }
    extra = _padding(random, names.PERSON_FIXED_BYTES + _lengths(*texts.values()), p.avg_person_bytes)
    return {"id": names.FIRST_PERSON_ID + last_person(events.ids), **texts, "person_extra": extra}


def _auctions(p: NexmarkEvents, random: JavaRandoms, events: Happenings) -> dict[str, Any]:
    seller = names.FIRST_PERSON_ID + _person(p, random, events.ids, p.hot_sellers_ratio, 0)
    category = names.FIRST_CATEGORY_ID + random.below(names.CATEGORIES)
    initial_bid = _price(random)
    open_ms = 1 + random.long_below(np.maximum(2 * events.open_ms, 1))
    item_name, description = _text(random, names.ITEM_NAME_LENGTH), _text(random, names.DESCRIPTION_LENGTH)
    reserve = initial_bid + _price(random)
    current = names.AUCTION_FIXED_BYTES + _lengths(item_name, description)
    return {
        "id": names.FIRST_AUCTION_ID + last_auction(events.ids),
        "item_name": item_name,
        "description": description,
        "initial_bid": initial_bid,
        "reserve": reserve,
        "expires": pa.array(1000 * (events.time_ms + open_ms), TIMESTAMP),
        "seller": seller,
        "category": category,
        "auction_extra": _padding(random, current, p.avg_auction_bytes),
    }


def _bids(p: NexmarkEvents, random: JavaRandoms, events: Happenings) -> dict[str, Any]:
    auction = names.FIRST_AUCTION_ID + _auction(p, random, events.ids)
    bidder = p.bidder_base + _person(p, random, events.ids, p.hot_bidders_ratio, 1)
    price = _price(random)
    extra = _padding(random, np.full(len(price), names.BID_FIXED_BYTES), p.avg_bid_bytes)
    # Channel and address are not Beam's: they are drawn last, so that Beam's fields stay as they are.
    is_hot = random.below(names.HOT_CHANNELS_RATIO) > 0
    hot = random.below(len(names.HOT_CHANNELS), is_hot)
    channel = np.where(is_hot, hot, len(names.HOT_CHANNELS) + random.below(names.CHANNELS, ~is_hot))
    return {
        "auction": auction,
        "bidder": bidder,
        "price": price,
        "channel": _pick(channels(), channel),
        "url": _pick(urls(), channel),
        "extra": extra,
    }


_MAKERS = {names.PERSON: _persons, names.AUCTION: _auctions, names.BID: _bids}


def event_types(ids: Longs) -> Longs:
    """Return 0 for persons, 1 for auctions, 2 for bids."""
    place = ids % names.CYCLE
    borders = np.array([names.PERSONS_PER_CYCLE, names.PERSONS_PER_CYCLE + names.AUCTIONS_PER_CYCLE])
    return np.searchsorted(borders, place, side="right")


def _block(p: NexmarkEvents, seed: int, arrivals: Arrivals) -> pa.Table:
    events = happenings(p, arrivals)
    kinds = event_types(events.ids)
    order, tables = [], []
    for kind, make in _MAKERS.items():
        rows = np.flatnonzero(kinds == kind)
        made = events.only(rows)
        random = JavaRandoms(event_seeds(made.ids, seed=seed, scrambled=p.is_scrambled))
        order.append(rows)
        tables.append(pa.table(make(p, random, made)))
    table = pa.concat_tables(tables, promote_options="default").combine_chunks().take(np.argsort(np.concatenate(order)))
    return _timed(p, seed, events, table.append_column("event_type", pa.array(kinds, pa.int32())))


def _timed(p: NexmarkEvents, seed: int, events: Happenings, table: pa.Table) -> pa.Table:
    """Add the event times, some of them too early, in the order of the fields."""
    time_ms = events.time_ms
    if p.delayed_draws:
        is_delayed = draw(events.n, seed=seed, field=names.DELAYED_FIELD, below=names.DELAY_DRAWS) < p.delayed_draws
        delay_ms = 1 + draw(events.n, seed=seed, field=names.DELAY_FIELD, below=1000 * p.delayed_up_to_s)
        time_ms = np.where(is_delayed, time_ms - delay_ms, time_ms)
        for name in EXTRAS:
            extra = pc.if_else(is_delayed, _join(names.LATE_PREFIX, table[name]), table[name])
            table = table.drop_columns(name).append_column(name, extra)
    return table.append_column("date_time", pa.array(1000 * time_ms, TIMESTAMP)).select(FIELDS)


def _blocks(arrivals: Arrivals, size: int) -> Iterator[Arrivals]:
    for start in range(0, max(len(arrivals.n), 1), size):
        yield Arrivals(*(getattr(arrivals, field.name)[start : start + size] for field in fields(Arrivals)))


def arrays(p: NexmarkEvents, seed: int, arrivals: Arrivals) -> Mapping[str, Any]:
    """Make events; every one depends on the parameters, the seed, its number and its own line of arrivals alone."""
    widest = max(p.avg_person_bytes, p.avg_auction_bytes, p.avg_bid_bytes, 100)
    table = pa.concat_tables(_block(p, seed, part) for part in _blocks(arrivals, BLOCK_BYTES // widest))
    return {name: table[name].combine_chunks() for name in FIELDS}
