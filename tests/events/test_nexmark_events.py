"""NEXMark's events against digests of Beam's own, against a plain transcription, and by their laws."""

import hashlib
import math
from datetime import UTC, datetime, timedelta

import numpy as np
import pyarrow as pa
import pytest

from streamgauge.arrivals import Arrivals, Schedule
from streamgauge.errors import InvalidExperimentError
from streamgauge.events.nexmark import arrays as module
from streamgauge.events.nexmark import names
from streamgauge.events.nexmark.arrays import EXTRAS, FIELDS, arrays
from streamgauge.events.nexmark.canonical import canonical_lines
from streamgauge.events.nexmark.clock import ClockStep, period_us
from streamgauge.events.nexmark.parameters import NexmarkEvents
from streamgauge.events.nexmark.rates import at_rate, check, schedule

BASE_MS = 1_436_918_400_000
START = datetime(2015, 7, 15, tzinfo=UTC)


def make(events, rate=1000, *, seed=1, n=None, **parameters):
    """Make the events of a finite data set, or those with the numbers n of it."""
    p = NexmarkEvents(**parameters)
    numbers = np.arange(events) if n is None else n
    return pa.table(arrays(p, seed, schedule(p, events, rate).arrivals(numbers, load_us=1000 * BASE_MS)))


def digest(table, *, with_channel=False):
    return hashlib.sha256(canonical_lines(table, with_channel=with_channel)).hexdigest()


def lines(table, *, with_channel=True):
    return canonical_lines(table, with_channel=with_channel).decode().splitlines()


def numbers(table, name):
    return table[name].drop_null().to_numpy()


def extras(table):
    return pa.compute.coalesce(*(table[name] for name in EXTRAS)).to_pylist()


def bids(table):
    return table.filter(pa.compute.equal(table["event_type"], names.BID))


@pytest.fixture(scope="module")
def small():
    return make(10_000)


@pytest.fixture(scope="module")
def medium():
    return make(100_000)


def test_ten_thousand_events_are_those_of_beam(small):
    assert digest(small) == "48fd9af0263610bdb2bf9a6525b4d85d0270e1b6e967b2b1a297275f0003bcc5"


def test_a_hundred_thousand_events_are_those_of_beam(medium):
    assert digest(medium) == "a5bc8e9e35e2c40875e7019576ad9490a5b06873630c4da76292108a74c1fe82"


@pytest.mark.parametrize(
    ("events", "parameters", "expected"),
    [
        (100_000, {}, "7f00c7ffd8cc214bd53a13d06834fef135f4b4dc9e6aa67748cd087cb67efb84"),
        (
            100_000,
            {"generators": 100, "split": "concatenated"},
            "fd807e48c63299d57e42ba065d9e31237299bd4d0d0097ac6de80690a26a45e1",
        ),
        (
            20_000,
            {"out_of_order_group": 1000},
            "4eeeca436baa15c17e9d35df7389587811fd08e99baa50a8f51ecd53451b4efa",
        ),
        (
            20_000,
            {"generators": 2, "split": "none", "first_rate": 1000, "next_rate": 4000},
            "e338b182cc3a047f47e769fcab542df59e143843ba63b729fcaa308231fce7a4",
        ),
    ],
    ids=["10,000 per second", "100 generators", "out of order", "sine"],
)
def test_beam_s_options_give_beam_s_events(events, parameters, expected):
    assert digest(make(events, 10_000, **parameters)) == expected


def test_channels_and_addresses_are_those_of_the_deterministic_profile(small, medium):
    assert digest(small, with_channel=True) == "f622dfb83e86cc57bfac5d46d8fc78433e8930e541beb5bbba0c7d9eb782b85a"
    assert digest(medium, with_channel=True) == "f01155c4c0063c3fe90d16e31fd1f2f4c7bc9e74986f26584ae1263154e3be19"


def test_the_first_events_are_a_person_three_auctions_and_bids(small):
    person, auction, *_, bid = small.slice(0, 5).to_pylist()
    assert [person[f] for f in FIELDS[:7]] == [
        *(0, 1000, "Peter Jones", "nhd@xcat.com", "7241 7320 9143 4888", "Portland", "WY")
    ]
    assert person["date_time"] == START
    assert [auction[f] for f in ("event_type", "id", "item_name", "description")] == [
        *(1, 1000, "wkx mgee", "eszpqxtdxrvwmmywkmogoahf")
    ]
    assert [auction[f] for f in ("initial_bid", "reserve", "seller", "category")] == [28873, 29448, 1000, 13]
    assert auction["date_time"] == START + timedelta(milliseconds=1)
    assert auction["expires"] == START + timedelta(milliseconds=2752)
    assert [bid[f] for f in ("event_type", "auction", "bidder", "price")] == [2, 1000, 1001, 32530001]
    assert bid["date_time"] == START + timedelta(milliseconds=4)


def test_fields_of_other_types_are_null(small):
    of = {
        names.PERSON: {"id", *FIELDS[2:8]},
        names.AUCTION: {"id", *FIELDS[8:16]},
        names.BID: set(FIELDS[16:22]),
    }
    everywhere = {"event_type", "date_time"}
    for kind, own in of.items():
        rows = small.filter(pa.compute.equal(small["event_type"], kind))
        filled = {name for name in FIELDS if rows[name].null_count < len(rows)}
        assert filled == own | everywhere
        assert all(rows[name].null_count == 0 for name in filled)


def test_columns_have_the_types_of_the_schema(small):
    texts = {*FIELDS[2:10], "auction_extra", "channel", "url", "extra"}
    times = {"expires", "date_time"}
    for name in FIELDS:
        expected = pa.string() if name in texts else pa.timestamp("us", "UTC") if name in times else pa.int64()
        assert small[name].type == (pa.int32() if name == "event_type" else expected)


# A transcription of Beam's generator for one event at a time, to compare options that no digest covers.


class Plain:
    def __init__(self, seed):
        self.state = (seed ^ 0x5DEECE66D) % 2**48

    def next(self, bits):
        self.state = (self.state * 0x5DEECE66D + 0xB) % 2**48
        return self.state >> (48 - bits)

    def int(self):
        drawn = self.next(32)
        return drawn - 2**32 if drawn >= 2**31 else drawn

    def below(self, n):
        if n >= 2**31 - 1:
            return abs(((self.int() << 32) + self.int() + 2**63) % 2**64 - 2**63) % n
        drawn = self.next(31)
        if n & -n == n:
            return (n * drawn) >> 31
        while drawn - drawn % n + n - 1 >= 2**31:
            drawn = self.next(31)
        return drawn % n

    def price(self):
        uniform = (self.next(26) * 2**27 + self.next(27)) / 2**53
        return math.floor(math.pow(10, uniform * 6) * 100 + 0.5)

    def text(self, limit):
        length = 3 + self.below(limit - 3)
        return "".join(" " if self.below(13) == 0 else chr(97 + self.below(26)) for _ in range(length)).strip()

    def padding(self, current, average):
        if current > average:
            return ""
        missing = average - current
        spread = math.floor(missing * 0.2 + 0.5)
        length = missing - spread + (self.below(2 * spread) if spread else 0)
        text = ""
        while len(text) < length:
            drawn = self.int()
            for _ in range(6):
                text += chr(97 + int(math.fmod(drawn, 26)))
                drawn = int(drawn / 26)
        return text[:length]


def last_auction(e):
    cycle, place = divmod(e, 50)
    return 3 * cycle - 1 if place < 1 else 3 * cycle + min(place - 1, 2)


def plain_person(p, random, e, ratio, hot):
    if random.below(ratio) > 0:
        return e // 50 // 100 * 100 + hot
    created = e // 50 + 1
    active = min(created, p.active_people)
    return created - active + random.below(active + 10)


def plain_bid(p, random, e):
    last = last_auction(e)
    low = max(last - p.in_flight_auctions, 0)
    is_hot = random.below(p.hot_auction_ratio) > 0
    auction = last // 100 * 100 if is_hot else low + random.below(last - low + 11)
    bidder = plain_person(p, random, e, p.hot_bidders_ratio, 1)
    price, extra = random.price(), random.padding(32, p.avg_bid_bytes)
    channel = random.below(4) if random.below(2) > 0 else 4 + random.below(10_000)
    name, url = module.channels()[channel], module.urls()[channel]
    return ["B", 1000 + auction, p.bidder_base + bidder, price, None, extra, name, url]


def plain_auction(p, random, e, open_ms):
    seller = 1000 + plain_person(p, random, e, p.hot_sellers_ratio, 0)
    category, initial_bid = 10 + random.below(5), random.price()
    life_ms = 1 + random.below(max(2 * open_ms, 1))
    item, description = random.text(20), random.text(100)
    reserve = initial_bid + random.price()
    extra = random.padding(48 + len(item) + len(description), p.avg_auction_bytes)
    number = 1000 + last_auction(e)
    return ["A", number, item, description, initial_bid, reserve, None, life_ms, seller, category, extra]


def plain_line(p, e, period_ms):
    random = Plain(e)
    if e % 50 >= 4:
        fields = plain_bid(p, random, e)
        fields[4] = BASE_MS + e * period_ms
    else:
        fields = plain_auction(p, random, e, p.in_flight_auctions * 50 // 3 * period_ms)
        fields[6] = BASE_MS + e * period_ms
        fields[7] += fields[6]
    return "\t".join(map(str, fields))


@pytest.mark.parametrize(
    ("period_ms", "parameters"),
    [
        (1, {}),
        (7, {"hot_auction_ratio": 1, "hot_sellers_ratio": 1, "hot_bidders_ratio": 3}),
        (1, {"in_flight_auctions": 1, "active_people": 1, "bidder_base": 2000}),
        (2, {"avg_auction_bytes": 100, "avg_bid_bytes": 34}),
        (1, {"avg_auction_bytes": 0, "avg_bid_bytes": 35}),
        (1, {"avg_auction_bytes": 9000, "avg_bid_bytes": 500}),
        # Auctions are open so long that their ends need 64-bit draws.
        (20_000, {"in_flight_auctions": 100_000}),
        # So long that Java draws every other end again.
        (400, {"in_flight_auctions": 80_531}),
    ],
)
def test_options_change_the_events_as_in_a_plain_transcription(period_ms, parameters):
    p = NexmarkEvents(**parameters)
    n = np.concatenate([np.arange(300), np.arange(70_000, 70_200), np.arange(10**10, 10**10 + 100)])
    n = n[n % 50 > 0]
    arrivals = Arrivals.spaced(n, load_us=1000 * BASE_MS, period_us=1000 * period_ms)
    made = lines(pa.table(arrays(p, 1, arrivals)))
    assert made == [plain_line(p, int(e), period_ms) for e in n]


def test_of_fifty_events_one_is_a_person_and_three_are_auctions(medium):
    counts = np.bincount(medium["event_type"].to_numpy())
    assert counts.tolist() == [2_000, 6_000, 92_000]


def test_persons_and_auctions_are_numbered_in_order(medium):
    for kind, first in ((names.PERSON, 1000), (names.AUCTION, 1000)):
        ids = medium.filter(pa.compute.equal(medium["event_type"], kind))["id"].to_numpy()
        assert np.array_equal(ids, first + np.arange(len(ids)))


def test_prices_are_log_uniform(medium):
    prices = numbers(medium, "price")
    assert prices.min() >= 100
    assert prices.max() <= 100_000_000
    assert np.median(prices) == pytest.approx(100_000, rel=0.05)
    assert np.all(numbers(medium, "reserve") >= numbers(medium, "initial_bid") + 100)


def test_bids_have_54_to_81_characters_of_padding(medium):
    lengths = np.unique(pa.compute.binary_length(bids(medium)["extra"]).to_numpy())
    assert lengths.tolist() == list(range(54, 82))


def test_events_are_padded_to_their_mean_sizes(medium):
    texts = {
        names.PERSON: (FIELDS[2:8], 8, 200),
        names.AUCTION: (("item_name", "description", "auction_extra"), 48, 500),
        names.BID: (("extra",), 32, 100),
    }
    for kind, (fields, fixed, mean) in texts.items():
        rows = medium.filter(pa.compute.equal(medium["event_type"], kind))
        sizes = sum(pa.compute.binary_length(rows[name]).to_numpy() for name in fields) + fixed
        assert sizes.mean() == pytest.approx(mean, abs=1)


def test_auctions_end_after_they_begin_and_live_as_long_as_a_hundred_take(medium):
    auctions = medium.filter(pa.compute.equal(medium["event_type"], names.AUCTION))
    life_ms = (
        auctions["expires"].cast(pa.int64()).to_numpy() - auctions["date_time"].cast(pa.int64()).to_numpy()
    ) / 1e3
    assert life_ms.min() >= 1
    assert life_ms.max() <= 2 * 1666
    assert life_ms.mean() == pytest.approx(1666, rel=0.03)


def hot_runs(table):
    """Return the lengths of runs of bids that are all, or none, for the hot auction."""
    is_hot = (table["auction"].to_numpy() % 100) == 0
    return np.diff(np.flatnonzero(np.diff(is_hot, prepend=~is_hot[0], append=~is_hot[-1])))


def test_beam_s_seeding_makes_long_runs_of_hot_bids_and_scrambled_seeding_does_not(medium):
    scrambled = make(20_000, seeding="scrambled")
    assert hot_runs(bids(medium)).max() > 1_000
    assert hot_runs(bids(scrambled)).max() < 30
    assert hot_runs(bids(scrambled)).mean() == pytest.approx(2, abs=0.1)


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"generators": 7, "num_events": 3_000},
        {"generators": 7, "num_events": 3_000, "split": "concatenated", "out_of_order_group": 100},
        {"out_of_order_group": 1000, "delayed_share": 0.3, "seeding": "scrambled"},
        {"first_rate": 100, "next_rate": 900, "rate_shape": "square", "rate_period_s": 3},
        {"clock": "fine"},
    ],
)
def test_every_event_can_be_made_alone(parameters):
    whole = make(3_000, 777, **parameters)
    some = np.random.default_rng(1).permutation(3_000)[:200]
    assert make(3_000, 777, n=some, **parameters).equals(whole.take(some))
    assert make(3_000, 777, n=np.array([2_999]), **parameters).equals(whole.slice(2_999))


def test_blocks_do_not_show_in_the_events(small, monkeypatch):
    monkeypatch.setattr(module, "BLOCK_BYTES", 500 * 77)
    assert make(1_000).equals(small.slice(0, 1_000))


def test_no_events_are_an_empty_table_with_all_columns(small):
    assert make(100, n=np.arange(0)).equals(small.slice(0, 0))


def test_seeds_give_events_of_their_own(small):
    other = make(10_000, seed=2)
    assert np.mean(numbers(other, "price") == numbers(small, "price")) < 0.01
    assert other["date_time"].equals(small["date_time"])
    assert other["event_type"].equals(small["event_type"])


@pytest.mark.parametrize("group", [2, 1000, 954])
def test_out_of_order_events_are_shuffled_inside_their_groups(group, small):
    shuffled, ordered = lines(make(10_000, out_of_order_group=group)), lines(small)
    assert shuffled != ordered or group == 2
    for start in range(0, 10_000 - group + 1, group):
        assert sorted(shuffled[start : start + group]) == sorted(ordered[start : start + group])


def test_groups_of_a_multiple_of_953_are_refused():
    with pytest.raises(InvalidExperimentError, match="out_of_order_group=1906"):
        NexmarkEvents(out_of_order_group=1906)


def test_delayed_events_are_earlier_and_marked_and_otherwise_the_same(small):
    delayed = make(10_000, delayed_share=0.1, delayed_up_to_s=2)
    changed = ["date_time", *EXTRAS]
    assert delayed.drop_columns(changed).equals(small.drop_columns(changed))
    earlier_us = small["date_time"].cast(pa.int64()).to_numpy() - delayed["date_time"].cast(pa.int64()).to_numpy()
    is_late = earlier_us > 0
    assert is_late.mean() == pytest.approx(0.1, abs=0.01)
    assert earlier_us[is_late].min() >= 1_000
    assert earlier_us[is_late].max() <= 2_000_000
    assert earlier_us[is_late].mean() == pytest.approx(1_000_000, rel=0.06)
    marks = [("LATE: " if late else "") + text for late, text in zip(is_late, extras(small), strict=True)]
    assert extras(delayed) == marks


@pytest.mark.parametrize(("share", "late"), [(0.0, 0), (1.0, 500)])
def test_none_or_all_events_can_be_delayed(share, late):
    assert sum(text.startswith("LATE: ") for text in extras(make(500, delayed_share=share))) == late


def test_generators_in_turn_make_the_same_events_as_one_after_the_other():
    parameters = {"generators": 10, "num_events": 5_000}
    after, turns = (lines(make(5_000, split=split, **parameters)) for split in ("concatenated", "interleaved"))
    assert turns == [after[g * 500 + k] for k in range(500) for g in range(10)]


def test_the_last_generator_makes_the_rest():
    made = lines(make(1_007, generators=10, num_events=1_007, split="concatenated"))
    content = [line.split("\t")[:4] for line in lines(make(1_007))]
    bid = [k for k in range(1_007) if made[k].startswith("B")]
    assert [made[k].split("\t")[:4] for k in bid] == [content[k] for k in bid]


def test_without_a_split_events_are_further_apart(small):
    wide = make(1_000, generators=3, split="none")["date_time"].cast(pa.int64()).to_numpy()
    assert np.array_equal(wide - 1000 * BASE_MS, 3000 * np.arange(1_000))


def test_bidders_of_the_suite_for_flink_are_a_thousand_higher(small):
    shifted = make(10_000, bidder_base=2000)
    assert np.array_equal(numbers(shifted, "bidder"), numbers(small, "bidder") + 1000)


def test_a_square_of_rates_has_two_steps():
    p = NexmarkEvents(first_rate=1000, next_rate=3000, rate_shape="square", rate_period_s=5)
    cycle = p.rate_cycle()
    assert cycle.steps == (ClockStep(0, 1000, 0), ClockStep(3_000, 333, 3_000))
    # Three seconds hold 9,009 whole periods of 333 microseconds.
    assert (cycle.events, cycle.length_ms) == (12_009, 5_999)
    assert cycle.time_ms(np.array([0, 2_999, 3_000, 3_004, 12_008, 12_009])).tolist() == [
        *(0, 2_999, 3_000, 3_001, 5_999, 5_999)
    ]


def test_a_sine_of_rates_starts_at_the_first_rate_and_turns_at_the_next():
    steps = NexmarkEvents(first_rate=1000, next_rate=4000).rate_cycle().steps
    assert len(steps) == 10
    assert (steps[0].delay_us, steps[5].delay_us) == (1000, 250)
    assert [s.delay_us for s in steps[1:5]] == [s.delay_us for s in steps[:5:-1]]


def test_equal_rates_are_a_constant_rate():
    cycle = NexmarkEvents(first_rate=3000, next_rate=3000, generators=2).rate_cycle()
    m = np.array([0, 1, 999, 1_000, 123_456_789])
    assert np.array_equal(cycle.time_ms(m), m * 666 // 1000)


def test_steps_without_an_event_are_left_out():
    p = NexmarkEvents(first_rate=1, next_rate=100, generators=5, rate_shape="square", rate_period_s=2)
    assert p.rate_cycle().steps == (ClockStep(0, 50_000, 0),)
    assert p.rate_cycle().time_ms(np.array([19, 20])).tolist() == [950, 1_000]


@pytest.mark.parametrize(
    ("parameters", "what"),
    [
        ({"first_rate": 1000}, "only one of the two is set"),
        ({"next_rate": 1000}, "only one of the two is set"),
        ({"first_rate": 0.5, "next_rate": 2}, "less than one event per second"),
        ({"first_rate": 1, "next_rate": 2, "generators": 1000}, "too short for a single event"),
        ({"generators": 10, "num_events": 9}, "num_events=9"),
    ],
)
def test_parameters_that_do_not_fit_together_are_refused(parameters, what):
    with pytest.raises(InvalidExperimentError, match=what):
        NexmarkEvents(**parameters)


def test_the_base_of_bidders_can_be_given_as_text():
    assert NexmarkEvents(bidder_base="2000").bidder_base == 2000


@pytest.mark.parametrize("rate", [1, 3, 7, 999, 10_000, 666_666, 666_667, 1_999_999, 2_000_000, 5_000_000])
def test_whole_rates_have_beam_s_period(rate):
    assert period_us(rate) == (1_000_000 + rate // 2) // rate


def test_beam_s_clock_spaces_events_by_whole_microseconds():
    assert schedule(NexmarkEvents(), 1_000, 3_000) == Schedule(np.array([0, 333_000]), np.array([0, 1_000]))


def test_long_data_sets_keep_their_spacing():
    long = schedule(NexmarkEvents(), 10**9, 1000)
    n = np.array([0, 10**8, 999_999_999])
    assert long.total == 10**9
    assert np.array_equal(long.times_us(n), n * 1000)


def test_the_fine_clock_meets_the_rate_exactly():
    fine = schedule(NexmarkEvents(clock="fine"), 9_000_000, 3_000_000)
    assert (fine.total, fine.end_us) == (9_000_000, 3_000_000)


def test_rates_that_were_found_by_measuring_get_a_clock_that_goes_on():
    given = NexmarkEvents(generators=2)
    assert at_rate(given, 2_000_000) is given
    found = at_rate(given, 2_000_001)
    assert found == NexmarkEvents(generators=2, clock="fine")
    check(found, 2_000_001)


def test_rates_beyond_beam_s_clock_are_refused():
    check(NexmarkEvents(), 2_000_000)
    check(NexmarkEvents(clock="fine"), 2_000_001)
    with pytest.raises(InvalidExperimentError, match="clock=fine"):
        check(NexmarkEvents(), 2_000_001)


def test_a_changed_event_changes_its_line_only(small):
    planted = small.set_column(
        FIELDS.index("price"),
        "price",
        pa.compute.if_else(pa.compute.equal(small["price"], 32530001), 1, small["price"]),
    )
    changed = [k for k, (a, b) in enumerate(zip(lines(small), lines(planted), strict=True)) if a != b]
    assert changed == [4]
