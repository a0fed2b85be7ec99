"""NEXMark events in Spark, bit for bit those of Beam's generator.

Draws follow each other, so a field depends on all draws before it. Every state of the random generator is a column of
its own in a chain of projections, so that Spark computes it once; only those that the wanted fields depend on are made.
Persons and auctions have strings whose characters take one or two draws each: those are folded over a sequence, which
Spark interprets, for the rows of their own kind only.

Columns are written as SQL, because building each of their thousands of operations by a call to Java takes seconds.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING

from streamgauge.events.columns import SEPARATOR
from streamgauge.events.draw import stream_key
from streamgauge.events.nexmark import names, urls
from streamgauge.events.nexmark.parameters import NexmarkEvents
from streamgauge.events.nexmark.random import INCREMENT, MASK, MULTIPLIER, salt
from streamgauge.events.nexmark.rates import MAX_LIFE_MS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

TWO_31 = 2**31
# Marks beside the 48 bits of a state: it made a space, or no character yet.
SPACE, NOTHING = 2**48, 2**49
NEVER = 1e-18
# Ten times what the shorter way to a price can be off.
PRICE_ERROR = 1e-5
ANSI = "spark.sql.ansi.enabled"


def _pick(index: str, values: Sequence[str] | Sequence[int]) -> str:
    """Look a value up in a constant list, as `columns.pick` does."""
    texts = f"split(r'{SEPARATOR.join(map(str, values))}', '{SEPARATOR}')"
    if isinstance(values[0], int):
        return f"coalesce(get(cast({texts} AS array<bigint>), cast({index} AS int)), {values[0]}L)"
    return f"coalesce(get({texts}, cast({index} AS int)), r'{values[0]}')"


@cache
def _jump(draws: int) -> tuple[int, int]:
    """Return factor and summand that advance the generator by some draws at once."""
    factor, summand = 1, 0
    for _ in range(draws):
        factor, summand = factor * MULTIPLIER & MASK, (summand * MULTIPLIER + INCREMENT) & MASK
    return factor, summand


def _after(state: str, draws: int = 1) -> str:
    """Advance the 48-bit generator; the product may leave 64 bits, of which only the low 48 matter."""
    factor, summand = _jump(draws)
    return f"(({state} * {factor}L + {summand}L) & {MASK}L)"


def _bits31(state: str) -> str:
    return f"shiftright({state}, 17)"


def _accepted(state: str, bound: int | str, most: int) -> str:
    """Draw again while Java's `nextInt(bound)` does, for bounds up to `most`.

    The loop is unrolled until leaving it too early is less likely than once in 10**18 draws.
    """
    limit = f"{TWO_31 - TWO_31 % bound}L" if isinstance(bound, int) else f"({TWO_31}L - {TWO_31}L % {bound})"
    repetitions = math.ceil(math.log(NEVER) / math.log(most / TWO_31)) - 1
    result = _after(state, repetitions)
    for k in reversed(range(repetitions)):
        drawn = _after(state, k) if k else state
        result = f"if({_bits31(drawn)} >= {limit}, {result}, {drawn})"
    return result


def _below(state: str, bound: int | str) -> str:
    """Return the number 0..bound-1 that an accepted state stands for."""
    u = _bits31(state)
    if isinstance(bound, str):
        return f"if({bound} & ({bound} - 1L) = 0, shiftright({bound} * {u}, 31), {u} % {bound})"
    is_power_of_two = bound & (bound - 1) == 0
    return f"shiftright({state}, {49 - bound.bit_length()})" if is_power_of_two else f"({u} % {bound}L)"


class Recipe:
    """Named columns, each defined by others; `make` adds the wanted ones to rows, in as few projections as possible."""

    def __init__(self) -> None:
        self.definitions: dict[str, tuple[str, tuple[str, ...]]] = {}

    def define(self, name: str, sql: str, *uses: str) -> str:
        """Define a column by an expression over the columns that it uses."""
        self.definitions[name] = (sql, uses)
        return name

    def _level(self, name: str, found: dict[str, int]) -> int:
        """Find how many projections a column needs: one more than the highest of those it uses."""
        if name not in found:
            found[name] = 1 + max((self._level(used, found) for used in self.definitions[name][1]), default=0)
        return found[name]

    def make(self, rows: "DataFrame", wanted: Sequence[str]) -> "DataFrame":
        """Add the wanted columns to rows, and drop what is not wanted."""
        found = dict.fromkeys(rows.columns, 0)
        top = max(self._level(name, found) for name in wanted)
        present = set(rows.columns)
        for level in range(1, top + 1):
            later = {used for name, at in found.items() if at > level for used in self.definitions[name][1]} | {*wanted}
            made = [name for name, at in found.items() if at == level]
            present &= later
            rows = rows.selectExpr(*sorted(present), *(f"{self.definitions[name][0]} AS {name}" for name in made))
            present |= {*made}
        return rows.select(*wanted)

    def depends(self, name: str, on: Callable[[str], bool]) -> bool:
        """Return whether a column is, or is made from, one for which `on` holds."""
        uses = self.definitions[name][1] if name in self.definitions else ()
        return on(name) or any(self.depends(used, on) for used in uses)

    def inputs(self, names: Iterable[str], is_inside: Callable[[str], bool]) -> set[str]:
        """Return the columns outside that the columns inside are made from, down from some inside."""
        inputs = set()
        for name in names:
            uses = self.definitions[name][1]
            inputs |= {used for used in uses if not is_inside(used)}
            inputs |= self.inputs((used for used in uses if is_inside(used)), is_inside)
        return inputs


class Draws(Recipe):
    """The draws of an event, in their order."""

    def __init__(self) -> None:
        super().__init__()
        self.folds: set[str] = set()

    def fold(self, name: str, sql: str, *uses: str) -> str:
        """Define a column that takes long to make."""
        self.folds.add(name)
        return self.define(name, sql, *uses)

    def draw(self, name: str, before: str, bound: int | str | None = None, most: int = 0) -> str:
        """Define the state after the state `before`; with a bound, the next accepted one."""
        if bound is None or (isinstance(bound, int) and TWO_31 % bound == 0):
            return self.define(name, _after(before), before)
        first = self.define(f"{name}_first", _after(before), before)
        uses = (bound,) if isinstance(bound, str) else ()
        return self.define(name, _accepted(first, bound, most or int(bound)), first, *uses)

    def draw_price(self, name: str, before: str) -> str:
        """Define a price, log-uniform from 100 to 100,000,000, and return the state after it."""
        first = self.draw(f"{name}_26", before)
        second = self.draw(f"{name}_27", first)
        bits = f"(shiftleft(shiftright({first}, 22), 27) + shiftright({second}, 21))"
        exponent = self.define(f"{name}_exponent", f"cast({bits} AS double) * {2.0**-53!r}D * 6D", first, second)
        # Java's pow takes five times as long as its exp, which is good enough unless rounding hangs on the last digits.
        near = self.define(f"{name}_near", f"exp({exponent} * {math.log(10)!r}D) * 100D + 0.5D", exponent)
        rounded = self.define(f"{name}_rounded", f"cast({near} AS bigint)", near)
        exact = f"cast(pow(10D, {exponent}) * 100D + 0.5D AS bigint)"
        is_safe = f"abs({near} - cast({rounded} AS double) - 0.5D) < {0.5 - PRICE_ERROR!r}D"
        self.define(name, f"if({is_safe}, {rounded}, {exact})", near, rounded, exponent)
        return second

    def draw_text(self, name: str, before: str, max_length: int, kind: int) -> str:
        """Define a text of 3 to max_length - 1 characters, then stripped, and return the state after it."""
        bound = max_length - names.MIN_STRING_LENGTH
        chosen = self.draw(f"{name}_length", before, bound)
        length = self.define(f"{name}_size", f"{names.MIN_STRING_LENGTH}L + {_below(chosen, bound)}", chosen)
        text = f"if(event_type = {kind}, {_fold_text(chosen, length)}, NULL)"
        both = self.fold(f"{name}_folded", text, chosen, length, "event_type")
        self.define(name, f"trim(concat({both}.text, {_drawn_character(f'{both}.drawn')}))", both)
        return self.define(f"{name}_end", f"{both}.drawn & {MASK}L", both)

    def draw_padding(self, name: str, before: str, texts: Sequence[str], fixed: int, average: int, kind: int) -> None:
        """Define the padding that brings an event with these texts near its average size."""
        lengths = " - ".join(f"length({text})" for text in texts)
        room = self.define(f"{name}_room", f"{average - fixed}L - {lengths}", *texts)
        spread = self.define(f"{name}_spread", f"greatest(cast({room} * 0.2D + 0.5D AS bigint), 0L)", room)
        bound = self.define(f"{name}_bound", f"greatest({spread} * 2L, 1L)", spread)
        chosen = self.draw(f"{name}_chosen", before, bound, most=max(average, 2))
        drawn = f"if({spread} > 0, {_below(chosen, bound)}, 0L)"
        size = self.define(f"{name}_size", f"greatest({room} - {spread}, 0L) + {drawn}", room, spread, chosen, bound)
        start = self.define(f"{name}_from", f"if({spread} > 0, {chosen}, {before})", spread, chosen, before)
        padding = _fold_padding(start, size)
        self.fold(name, f"if(event_type = {kind}, {padding}, NULL)", start, size, "event_type")


def _fold_text(state: str, length: str) -> str:
    """Fold characters: draw below 13, where 0 is a space, otherwise draw a letter below 26.

    What is carried is the state that made the last character, marked if that was a space, and the text before it.
    """

    def letter(draws: int, retries: int = 2) -> str:
        drawn = _after("c.drawn", draws)
        again = letter(draws + 1, retries - 1) if retries else drawn
        return f"if({_bits31(drawn)} >= {TWO_31 - TWO_31 % 26}L, {again}, {drawn})"

    def character(draws: int, retries: int = 2) -> str:
        drawn = _after("c.drawn", draws)
        again = character(draws + 1, retries - 1) if retries else drawn
        accepted = f"if({_bits31(drawn)} % 13L = 0, {drawn} | {SPACE}L, {letter(draws + 1)})"
        return f"if({_bits31(drawn)} >= {TWO_31 - TWO_31 % 13}L, {again}, {accepted})"

    text = f"concat(c.text, {_drawn_character('c.drawn')})"
    begin = f"named_struct('drawn', {state} | {NOTHING}L, 'text', '')"
    merged = f"named_struct('drawn', {character(1)}, 'text', {text})"
    return f"aggregate(sequence(1L, {length}), {begin}, (c, k) -> {merged})"


def _drawn_character(drawn: str) -> str:
    return f"if({drawn} < {SPACE}L, char(97 + {_bits31(drawn)} % 26L), if({drawn} < {NOTHING}L, ' ', ''))"


def _six_characters(state: str) -> str:
    """Return the six characters of one draw as twelve hexadecimal digits; divisions cut toward zero."""
    v = f"((shiftright({state}, 16) ^ {TWO_31}L) - {TWO_31}L)"
    digits = (f"({v} div {26**k}L) % 26L * {256 ** (5 - k)}L" for k in range(6))
    return f"hex({0x616161616161}L + {' + '.join(digits)})"


def _characters(binary: str, size: str) -> str:
    """Return the first `size` characters of bytes."""
    return f"cast(substring({binary}, 1, cast({size} AS int)) AS string)"


def _fold_padding(state: str, size: str) -> str:
    """Fold `size` characters, six per draw."""
    merged = f"named_struct('drawn', {_after('c.drawn')}, 'text', concat(c.text, {_six_characters('c.drawn')}))"
    begin = f"named_struct('drawn', {_after(state)}, 'text', '')"
    draws = f"(({size} + 5L) div 6L)"
    numbers = f"slice(sequence(0L, {draws}), 2, cast({draws} AS int))"
    return _characters(f"unhex(aggregate({numbers}, {begin}, (c, k) -> {merged}).text)", size)


def _identity(r: Draws, p: NexmarkEvents, seed: int) -> None:
    """Define event id, kind, time and the generator's first state."""
    generators, share, group = p.generators, p.events_per_generator, p.out_of_order_group
    first, place = "0L", "n"
    if generators > 1 and p.split == "interleaved":
        first, place = f"n % {generators}L * {share}L", f"n div {generators}L"
    elif generators > 1 and p.split == "concatenated":
        first = f"least(n div {share}L, {generators - 1}L) * {share}L"
        place = f"n - {first}"
    inside = f"(place % {group}L)"
    permuted = f"place - {inside} + {inside} * {names.OUT_OF_ORDER_PRIME % group}L % {group}L"
    r.define("place", place, "n")
    r.define("number", permuted if group > 1 else "place", "place")
    r.define("event_id", f"number + {first}", "number", "n")
    offset = f"event_id % {names.CYCLE}L"
    kind = f"if({offset} >= 4, {names.BID}, if({offset} >= 1, {names.AUCTION}, {names.PERSON}))"
    r.define("event_type", kind, "event_id")
    r.define("last_person", f"event_id div {names.CYCLE}L", "event_id")
    # Only auctions and bids ask for it.
    r.define("last_auction", f"event_id div {names.CYCLE}L * 3L + least({offset}, 3L) - 1L", "event_id")
    seeded = f"(xxhash64(event_id) & {MASK}L)" if p.is_scrambled else "event_id"
    r.define("s0", f"{seeded} ^ {salt(seed) ^ MULTIPLIER}L", "event_id")
    if generators == group == 1 and not p.first_rate:
        r.define("time_ms", "time_us div 1000L", "time_us")
    else:
        r.define("time_ms", *_time_ms(p, "number"))


def _time_ms(p: NexmarkEvents, number: str) -> tuple[str, ...]:
    """Return the time of a generator's event in milliseconds since the epoch, and what it uses."""
    cycle = p.rate_cycle()
    if cycle is None:
        away = f"({number} * {p.generators}L - base)"
        rest = f"pmod({away}, events)"
        line = f"segment_us + ({away} - {rest}) div events * span_us + {rest} * span_us div events"
        return f"({line}) div 1000L", "number", "base", "events", "segment_us", "span_us"
    event = f"({number} % {cycle.events}L)"
    inside = ""
    for step in cycle.steps:
        value = f"{step.offset_ms}L + ({event} - {step.first_event}L) * {step.delay_us}L div 1000L"
        inside = f"if({event} >= {step.first_event}L, {value}, {inside})" if inside else value
    return f"load_us div 1000L + {number} div {cycle.events}L * {cycle.length_ms}L + {inside}", "number", "load_us"


def _define_other(r: Draws, name: str, before: str, *, known: str, most: int, lead: int) -> None:
    """Define the draw of one of the last `most` persons or auctions, or of one of the next `lead`."""
    high = most + lead
    drawn = r.define(f"{name}_first", _after(before), before)
    bound = r.define(f"{name}_bound", f"least({known}, {most}L) + {lead}L", known)
    state = r.define(
        f"{name}_state",
        f"if({known} >= {most}, {_accepted(drawn, high, high)}, {_accepted(drawn, bound, high)})",
        *(known, drawn, bound),
    )
    number = f"if({known} >= {most}, {_below(state, high)}, {_below(state, bound)})"
    r.define(name, f"greatest({known} - {most}L, 0L) + {number}", known, state, bound)


def _hot(column: str) -> str:
    """Return the hot one among a hundred consecutive numbers."""
    return f"{column} div {names.HOT_EVERY}L * {names.HOT_EVERY}L"


def _define_person(r: Draws, name: str, before: str, *, hot_ratio: int, hot: int, base: int, p: NexmarkEvents) -> str:
    """Define a person's id, that of the hot one or of any active one; return the state after it."""
    first = r.draw(f"{name}_1", before, hot_ratio)
    known = r.define(f"{name}_known", "last_person + 1L", "last_person")
    other = f"{name}_other"
    _define_other(r, other, first, known=known, most=p.active_people, lead=names.PERSON_ID_LEAD)
    is_hot = r.define(f"{name}_is_hot", f"{_below(first, hot_ratio)} > 0", first)
    r.define(name, f"if({is_hot}, {_hot('last_person')} + {hot}L, {other}) + {base}L", is_hot, "last_person", other)
    return r.define(f"{name}_end", f"if({is_hot}, {first}, {other}_state)", is_hot, first, f"{other}_state")


def _bid(r: Draws, p: NexmarkEvents) -> None:
    """Define the fields of a bid."""
    first = r.draw("b_1", "s0", p.hot_auction_ratio)
    known = r.define("b_known", "last_auction + 1L", "last_auction")
    # The last one, and the `in_flight_auctions` before it.
    _define_other(r, "b_other", first, known=known, most=p.in_flight_auctions + 1, lead=names.AUCTION_ID_LEAD)
    is_hot = r.define("b_is_hot", f"{_below(first, p.hot_auction_ratio)} > 0", first)
    auction = f"if({is_hot}, {_hot('last_auction')}, b_other) + {names.FIRST_AUCTION_ID}L"
    r.define("b_auction", auction, is_hot, "last_auction", "b_other")
    after = r.define("b_2", f"if({is_hot}, {first}, b_other_state)", is_hot, first, "b_other_state")
    after = _define_person(r, "b_bidder", after, hot_ratio=p.hot_bidders_ratio, hot=1, base=p.bidder_base, p=p)
    after = r.draw_price("b_price", after)
    after = _bid_padding(r, p, after)
    _bid_channel(r, after)


def _define_six_characters(r: Draws, state: str) -> str:
    """Define what `_six_characters` returns as one number of six bytes.

    Divisions are multiplications, and the sign, as random as a coin, is not a branch.
    """
    half, scaled = 26**3, -(-(2**46) // 26**3)
    value = r.define(f"{state}_value", f"shiftright(shiftleft({state}, 16), 32)", state)
    sign = f"shiftright({value}, 63)"
    size = r.define(f"{state}_abs", f"({value} ^ {sign}) - {sign}", value)
    upper = r.define(f"{state}_high", f"shiftright({size} * {scaled}L, 46)", size)
    # The first three digits, and the next three; what is left over of 31 bits is not used.
    first = r.define(f"{state}_1", f"{size} - {half}L * {upper}", size, upper)
    second = r.define(f"{state}_2", f"{upper} - {half}L * shiftright({upper} * {scaled}L, 46)", upper)

    def bytes_of(digits: str) -> str:
        tens, hundreds = f"shiftright({digits} * 40330L, 20)", f"shiftright({digits} * 24819L, 24)"
        return f"(shiftleft({digits}, 16) - {tens} * {26 * 256**2 - 256}L - {hundreds} * {26 * 256 - 1}L)"

    packed = f"(shiftleft({bytes_of(first)}, 24) + {bytes_of(second)})"
    return r.define(f"{state}_6", f"{0x616161616161}L + ({packed} ^ {sign}) - {sign}", value, first, second)


def _eights(sixes: Sequence[str]) -> list[str]:
    """Turn numbers of six bytes into numbers of eight, the last one filled up with zeros."""
    words = []
    for word in range(math.ceil(len(sixes) * 6 / 8)):
        index, skipped = divmod(word * 8, 6)
        parts = [f"shiftleft({sixes[index]}, {16 + 8 * skipped})"]
        if index + 1 < len(sixes):
            parts.append(f"shiftright({sixes[index + 1]}, {32 - 8 * skipped})")
        words.append(" | ".join(parts))
    return words


def _bid_padding(r: Draws, p: NexmarkEvents, before: str) -> str:
    """Define a bid's padding. Its size hardly varies, so each of its draws is a jump of its own and not a fold."""
    room = max(p.avg_bid_bytes - names.BID_FIXED_BYTES, 0)
    spread = math.floor(room * 0.2 + 0.5)
    shortest, longest = room - spread, room - spread + max(2 * spread - 1, 0)
    start = r.draw("b_pad", before, 2 * spread) if spread else before
    size = r.define("b_size", f"{shortest}L + {_below(start, 2 * spread) if spread else '0L'}", start)
    states = [r.define(f"b_pad{k}", _after(start, k + 1), start) for k in range(-(-longest // 6))]
    sixes = [_define_six_characters(r, state) for state in states]
    eights = ", ".join(f"cast({word} AS binary)" for word in _eights(sixes))
    r.define("b_extra", _characters(f"concat({eights})", size) if sixes else "''", size, *sixes)
    after = start
    for k, state in enumerate(states):
        after = state if 6 * k < shortest else f"if({size} > {6 * k}, {state}, {after})"
    return r.define("b_padded", after, start, size, *states)


def _bid_channel(r: Draws, before: str) -> None:
    """Define channel and url: one of four hot ones, or one of ten thousand."""
    first = r.draw("b_c1", before)
    drawn = r.draw("b_c2", first)
    is_hot = r.define("b_is_hot_channel", f"{_below(first, names.HOT_CHANNELS_RATIO)} > 0", first)
    hot = r.define("b_hot", _below(drawn, len(names.HOT_CHANNELS)), drawn)
    state = r.define("b_c3", _accepted(drawn, names.CHANNELS, names.CHANNELS), drawn)
    cold = r.define("b_cold", f"cast({_below(state, names.CHANNELS)} AS int)", state)
    channel = f"if({is_hot}, {_pick(hot, names.HOT_CHANNELS)}, concat('channel-', cast({cold} AS string)))"
    r.define("b_channel", channel, is_hot, hot, cold)
    hot_urls = urls.urls()[: len(names.HOT_CHANNELS)]
    r.define("b_url", f"if({is_hot}, {_pick(hot, hot_urls)}, {_cold_url(cold)})", is_hot, hot, cold)


def _cold_url(channel: str) -> str:
    """Return the address of one of the ten thousand channels.

    What all addresses share stays out of the table of addresses, because it travels with every plan.
    """
    cold = urls.urls()[len(names.HOT_CHANNELS) :]
    directories = [url.removeprefix(urls.PREFIX).partition(urls.SUFFIX)[0] for url in cold]
    without_id = ", ".join(str(k) for k, url in enumerate(cold) if urls.CHANNEL_ID not in url)
    last = f"if({channel} IN ({without_id}), '', concat('{urls.CHANNEL_ID}', cast({_channel_id(channel)} AS string)))"
    return f"concat('{urls.PREFIX}', {_pick(channel, directories)}, '{urls.SUFFIX}', {last})"


def _channel_id(channel: str) -> str:
    """Return the absolute value of the 32 reversed bits of a channel's number, as Java has it."""
    reversed_7 = [int(f"{k:07b}"[::-1], 2) for k in range(128)]
    low, high = _pick(f"{channel} & 127", reversed_7), _pick(f"shiftright({channel}, 7)", reversed_7)
    bits = f"shiftleft(shiftleft({low}, 7) + {high}, 18)"
    return f"if({bits} = {TWO_31}L, -{TWO_31}L, if({bits} > {TWO_31}L, {2**32}L - {bits}, {bits}))"


def _auction(r: Draws, p: NexmarkEvents) -> None:
    """Define the fields of an auction."""
    after = _define_person(r, "a_seller", "s0", hot_ratio=p.hot_sellers_ratio, hot=0, base=names.FIRST_PERSON_ID, p=p)
    after = r.draw("a_1", after, names.CATEGORIES)
    r.define("a_category", f"{_below(after, names.CATEGORIES)} + {names.FIRST_CATEGORY_ID}L", after)
    after = r.draw_price("a_initial_bid", after)
    ahead, *uses = _time_ms(p, f"(number + {p.events_ahead}L)")
    bound = r.define("a_bound", f"greatest(({ahead} - time_ms) * 2L, 1L)", "time_ms", *uses)
    after = r.draw("a_2", after, bound, most=MAX_LIFE_MS)
    r.define("a_expires", f"timestamp_millis(time_ms + 1L + {_below(after, bound)})", "time_ms", after, bound)
    after = r.draw_text("a_item_name", after, names.ITEM_NAME_LENGTH, names.AUCTION)
    after = r.draw_text("a_description", after, names.DESCRIPTION_LENGTH, names.AUCTION)
    after = r.draw_price("a_margin", after)
    r.define("a_reserve", "a_initial_bid + a_margin", "a_initial_bid", "a_margin")
    texts = ("a_item_name", "a_description")
    r.draw_padding("a_extra", after, texts, names.AUCTION_FIXED_BYTES, p.avg_auction_bytes, names.AUCTION)


def _person(r: Draws, p: NexmarkEvents) -> None:
    """Define the fields of a person."""

    def one_of(name: str, before: str, texts: Sequence[str]) -> str:
        after = r.draw(f"{name}_drawn", before, len(texts))
        r.define(name, _pick(_below(after, len(texts)), texts), after)
        return after

    after = one_of("p_first", "s0", names.FIRST)
    after = one_of("p_last", after, names.LAST)
    r.define("p_name", "concat(p_first, ' ', p_last)", "p_first", "p_last")
    after = r.draw_text("p_user", after, names.USER_LENGTH, names.PERSON)
    after = r.draw_text("p_host", after, names.HOST_LENGTH, names.PERSON)
    r.define("p_email_address", "concat(p_user, '@', p_host, '.com')", "p_user", "p_host")
    groups = []
    for k in range(4):
        after = r.draw(f"p_card{k}", after, 10_000)
        groups.append(after)
    digits = ", ".join(f"lpad(cast({_below(group, 10_000)} AS string), 4, '0')" for group in groups)
    r.define("p_credit_card", f"concat_ws(' ', {digits})", *groups)
    after = one_of("p_city", after, names.CITIES)
    after = one_of("p_state", after, names.STATES)
    texts = ("p_name", "p_email_address", "p_credit_card", "p_city", "p_state")
    r.draw_padding("p_extra", after, texts, names.PERSON_FIXED_BYTES, p.avg_person_bytes, names.PERSON)


def _lateness(r: Draws, p: NexmarkEvents, seed: int) -> None:
    """Define by how many milliseconds an event is late; 0 for most."""
    is_late = f"pmod(xxhash64({stream_key(seed, names.DELAYED_FIELD)}L, n), {names.DELAY_DRAWS}L) < {p.delayed_draws}"
    by = f"pmod(xxhash64({stream_key(seed, names.DELAY_FIELD)}L, n), {p.delayed_up_to_s * 1000}L) + 1L"
    r.define("late_ms", f"if({is_late}, {by}, 0L)" if p.delayed_draws else "0L", "n")


# The stream's fields that belong to one kind of event, and the columns that hold them.
OWN_FIELDS = {
    names.PERSON: {
        **{name: f"p_{name}" for name in ("name", "email_address", "credit_card", "city", "state")},
        "person_extra": "p_extra",
    },
    names.AUCTION: {
        **{
            f: f"a_{f}" for f in ("item_name", "description", "initial_bid", "reserve", "expires", "seller", "category")
        },
        "auction_extra": "a_extra",
    },
    names.BID: {name: f"b_{name}" for name in ("auction", "bidder", "price", "channel", "url", "extra")},
}


def _fields(r: Draws, p: NexmarkEvents) -> None:
    """Define the stream's fields; those of another kind of event are null."""
    for kind, columns in OWN_FIELDS.items():
        for name, column in columns.items():
            if column.endswith("extra") and p.delayed_draws:
                value = f"concat(if(late_ms > 0, '{names.LATE_PREFIX}', ''), {column})"
                r.define(name, f"if(event_type = {kind}, {value}, NULL)", "event_type", column, "late_ms")
            else:
                r.define(name, f"if(event_type = {kind}, {column}, NULL)", "event_type", column)
    numbers = f"if(event_type = {names.PERSON}, last_person, if(event_type = {names.AUCTION}, last_auction, NULL))"
    r.define("id", f"{numbers} + {names.FIRST_PERSON_ID}L", "event_type", "last_person", "last_auction")
    r.define("date_time", "timestamp_millis(time_ms - late_ms)", "time_ms", "late_ms")


@contextmanager
def _wrapping_arithmetic(spark: "SparkSession") -> Iterator[None]:
    """Let the operations that are built inside wrap around, as Java's do, instead of checking every one of them.

    Spark fixes this when it builds an operation; the query that reads the events keeps the session's own setting.
    """
    before = spark.conf.get(ANSI)
    spark.conf.set(ANSI, "false")
    try:
        yield
    finally:
        spark.conf.set(ANSI, before)


def frame(rows: "DataFrame", p: NexmarkEvents, seed: int, fields: Sequence[str]) -> "DataFrame":
    """Turn arrivals into events with the wanted fields.

    Fields that need folds are made last, so that filters by the others save the work.
    """
    r = Draws()
    _identity(r, p, seed)
    _lateness(r, p, seed)
    _bid(r, p)
    _auction(r, p)
    _person(r, p)
    _fields(r, p)
    is_last = cache(lambda name: r.depends(name, lambda other: other in r.folds))
    last = [name for name in fields if is_last(name)]
    first = [name for name in fields if not is_last(name)]
    with _wrapping_arithmetic(rows.sparkSession):
        if last:
            inputs = r.inputs(last, is_last)
            rows = _shielded(r.make(rows, [*first, *sorted(inputs - {*first})]), ["event_type"])
            return _shielded(r.make(rows, fields), first)
        return _shielded(r.make(rows, fields), ["event_type"])


def _shielded(made: "DataFrame", free: Sequence[str]) -> "DataFrame":
    """Keep filters away from values that are drawn one after the other.

    Spark moves a filter below the projections that it can see, and writes out in full what it filters by: without end
    for these values. It moves filters by the free columns below this, and no others.
    """
    drawn = [name for name in made.columns if name not in free]
    if not drawn or len(drawn) == len(made.columns):
        return made
    pairs = ", ".join(f"'{name}', {name}" for name in drawn)
    kept = [name for name in made.columns if name in free]
    return made.selectExpr(*kept, f"inline(array(named_struct({pairs})))").select(*made.columns)
