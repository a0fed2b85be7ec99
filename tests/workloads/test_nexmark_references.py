"""The NEXMark references: check values of 10,000 events, Beam's published row counts, small tables for the edges."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import streamgauge.workloads
from streamgauge.events import event_stream
from streamgauge.running.verify import BASE_TIME_US
from streamgauge.workloads.reference import connect

FOLDER = Path(streamgauge.workloads.__file__).parent / "nexmark"
BASE = datetime.fromtimestamp(BASE_TIME_US / 1e6, UTC)
PARAMETERS = {
    "auction_skip": 123,
    "expiry_s": 0,
    "gap_s": 10,
    "last": 10,
    "side_rows": 10_000,
    "slide_s": 2,
    "window_s": 10,
}
BEAM_PARAMETERS = {"side_rows": 500, "slide_s": 5}

BID = "auction bidder price date_time extra"
STATISTICS = " ".join(
    f"{group}_{what}" for what in ("bids", "bidders", "auctions") for group in ("total", "rank1", "rank2", "rank3")
)
JOINED_BID = "auction bidder price channel url bid_time bid_extra"
JOINED_AUCTION = "item_name description initial_bid reserve auction_time expires seller category auction_extra"
WINNING_BID = (
    "id item_name description initial_bid reserve date_time expires seller category extra"
    " auction bidder price bid_time bid_extra"
)
COLUMNS = {
    "q0": BID,
    "q1": BID,
    "q1-beam": BID,
    "q2": "auction price",
    "q3": "name city state id",
    "q4": "category auctions total_price average_price",
    "q4-beam": "window_start category average_price",
    "q5": "window_start auction num",
    "q5-beam": "window_start auction num",
    "q6": "seller average_price winners",
    "q7": "window_start auction price bidder date_time extra",
    "q7-beam": "window_start auction price bidder date_time extra",
    "q8": "id name window_start",
    "q8-beam": "id name reserve window_start",
    "q9": WINNING_BID,
    "q9-beam": WINNING_BID,
    "q10": f"{BID} dt hm",
    "q11": "bidder bids session_start session_end",
    "q12": "bidder bids",
    "q13": "auction bidder price date_time value",
    "q13-beam": "auction bidder price date_time value",
    "q14": "auction bidder price bid_time_type date_time extra c_counts",
    "q15": f"day {STATISTICS}",
    "q16": f"channel day minute {STATISTICS}",
    "q17": "auction day total_bids rank1_bids rank2_bids rank3_bids min_price max_price avg_price sum_price",
    "q18": "auction bidder price channel url date_time extra",
    "q19": "auction bidder price channel url date_time extra rank_number",
    "q20": f"{JOINED_BID} {JOINED_AUCTION}",
    "q21": "auction bidder price channel channel_id",
    "q22": "auction bidder price channel dir1 dir2 dir3",
    "q23": f"{JOINED_BID} name email_address credit_card city state {JOINED_AUCTION}",
}
# The types that a stream's answer can have as well; DuckDB's own 128-bit sums are not among them.
TYPES = {pa.int32(), pa.int64(), pa.string(), pa.timestamp("us", "UTC"), pa.decimal128(23, 3)}

# Over 10,000 events at 1000 per second.
CHECK_VALUES = [
    ("q0", "count(*), sum(auction), sum(bidder), sum(price)", (9200, 11526044, 9677982, 67588884531)),
    ("q1", "sum(price)", (Decimal("61370707154.148"),)),
    ("q1-beam", "sum(price)", (60154102700,)),
    ("q2", "count(*), sum(price)", (22, 159224884)),
    ("q3", "count(*), sum(id)", (17, 24012)),
    (
        "q4",
        "list((category, auctions, total_price, average_price) ORDER BY category)",
        (
            [
                (10, 67, 2164581342, 32307184),
                (11, 61, 2114239018, 34659656),
                (12, 68, 2395262835, 35224453),
                (13, 75, 2436516810, 32486890),
                (14, 61, 2161648780, 35436865),
            ],
        ),
    ),
    ("q4-beam", "count(*), sum(average_price)", (20, 890547228)),
    ("q5", "count(DISTINCT window_start), count(*), sum(num), sum(auction)", (9, 13, 18590, 15400)),
    ("q5-beam", "count(DISTINCT window_start), count(*), sum(num), sum(auction)", (3, 5, 7304, 5700)),
    ("q6", "count(*), sum(average_price), sum(winners)", (102, 4142705988, 272)),
    ("q7", "count(*), sum(price)", (1, 99865927)),
    ("q7-beam", "count(*), sum(price)", (1, 99865927)),
    ("q8", "count(*), sum(id)", (110, 117768)),
    ("q8-beam", "count(*), sum(reserve)", (600, 7928122254)),
    ("q9", "count(*), sum(price), sum(bidder)", (332, 11272248785, 356133)),
    ("q9-beam", "count(*), sum(price)", (272, 11815117934)),
    ("q10", "count(*), list(DISTINCT dt || ' ' || hm)", (9200, ["2015-07-15 00:00"])),
    (
        "q11",
        "count(*), max(bids), sum(epoch_ms(session_end) - epoch_ms(session_start))",
        (196, 3485, 2816855),
    ),
    ("q12", "count(*), sum(bids)", (196, 9200)),
    ("q13", "count(*), sum(value::BIGINT)", (9200, 11526044)),
    ("q13-beam", "count(*), sum(value::BIGINT)", (9200, 477982)),
    ("q14", "count(*), sum(c_counts), sum(price)", (2623, 3376, Decimal("32810994203.268"))),
    ("q15", "count(*), any_value(COLUMNS('.*_bids'))", (1, 9200, 3067, 3037, 3096)),
    ("q15", "any_value(COLUMNS('.*_bidders'))", (196, 171, 158, 166)),
    ("q15", "any_value(COLUMNS('.*_auctions'))", (378, 331, 344, 347)),
    ("q16", "count(*), sum(total_bidders), sum(total_auctions)", (3773, 4889, 5569)),
    (
        "q17",
        "count(*), sum(max_price), sum(min_price), sum(avg_price)",
        (378, 15370147735, 368545968, 3016924285),
    ),
    ("q18", "count(*)", (1789,)),
    ("q19", "count(*), sum(price)", (3002, 31533096439)),
    ("q20", "count(*), sum(price)", (714, 4626636346)),
    ("q21", "count(*), sum(channel_id::BIGINT)", (8753, 4541313456754)),
    ("q22", "count(*), sum(length(dir1) + length(dir2) + length(dir3))", (9200, 98854)),
    ("q23", "count(*)", (26427,)),
]

SCHEMA = pa.schema(
    {
        "event_type": pa.int32(),
        "id": pa.int64(),
        **dict.fromkeys(("name", "email_address", "credit_card", "city", "state", "person_extra"), pa.string()),
        **dict.fromkeys(("item_name", "description"), pa.string()),
        **dict.fromkeys(("initial_bid", "reserve"), pa.int64()),
        "expires": pa.timestamp("us", "UTC"),
        **dict.fromkeys(("seller", "category"), pa.int64()),
        "auction_extra": pa.string(),
        **dict.fromkeys(("auction", "bidder", "price"), pa.int64()),
        **dict.fromkeys(("channel", "url", "extra"), pa.string()),
        "date_time": pa.timestamp("us", "UTC"),
    }.items()
)
# Length and slide of windows, when something happens, and the starts of the windows that it belongs to.
UNEVEN_WINDOWS = [
    (3, 2, 2_999, (0, 2_000)),
    (3, 2, 3_000, (2_000,)),
    (3, 2, 4_000, (2_000, 4_000)),
    (2, 4, 1_999, (0,)),
    (2, 4, 2_000, ()),
]


def at(ms):
    return BASE + timedelta(milliseconds=ms)


def person(number, ms, **values):
    return {"event_type": 0, "id": number, "name": f"p{number}", "date_time": at(ms), **values}


def auction(number, ms, *, expires_ms=60_000, **values):
    others = {"reserve": 0, "seller": 1, "category": 10}
    return {"event_type": 1, "id": number, "date_time": at(ms), "expires": at(expires_ms), **others, **values}


def bid(number, price, ms, **values):
    others = {"bidder": 1, "channel": "channel-1", "url": "", "extra": ""}
    return {"event_type": 2, "auction": number, "price": price, "date_time": at(ms), **others, **values}


def events(*rows):
    return pa.Table.from_pylist(list(rows), SCHEMA)


def answer(name, table, **values):
    sql = (FOLDER / f"{name}.sql").read_text()
    values = PARAMETERS | (BEAM_PARAMETERS if name.endswith("-beam") else {}) | values
    connection = connect()
    connection.register("events", table)
    used = {key: value for key, value in values.items() if f"${key}" in sql}
    return connection.sql(sql, params=used).to_arrow_table()


def found(name, columns, rows, **values):
    """Return the asked columns of the answer to a hand-made table, sorted."""
    result = answer(name, events(*rows), **values).select(columns.split())
    return sorted(tuple(row.values()) for row in result.to_pylist())


def finite_table(number, rate_per_s, **values):
    stream = event_stream("nexmark")
    parameters = stream.parameters(**values)
    schedule = stream.schedule(parameters, number, rate_per_s)
    return stream.table(parameters, seed=1, arrivals=schedule.arrivals(np.arange(number), load_us=BASE_TIME_US))


@pytest.fixture(scope="module")
def ten_thousand_events():
    return finite_table(10_000, 1000.0)


def test_every_query_has_a_reference():
    assert {path.stem for path in FOLDER.glob("*.sql")} == set(COLUMNS)


@pytest.mark.parametrize("name", COLUMNS)
def test_a_reference_gives_the_agreed_columns_in_types_that_a_stream_has_too(name):
    result = answer(name, events())
    assert result.column_names == COLUMNS[name].split()
    assert set(result.schema.types) <= TYPES


def test_small_tables_have_the_schema_of_the_stream(ten_thousand_events):
    assert ten_thousand_events.schema == SCHEMA


def test_10_000_events_are_200_persons_600_auctions_and_9200_bids(ten_thousand_events):
    counts = ten_thousand_events["event_type"].value_counts().to_pylist()
    assert {row["values"]: row["counts"] for row in counts} == {0: 200, 1: 600, 2: 9200}


@pytest.mark.parametrize(("name", "measures", "expected"), CHECK_VALUES)
def test_10_000_events_give_the_check_values(ten_thousand_events, name, measures, expected):
    connection = connect()
    connection.register("result", answer(name, ten_thousand_events))
    assert connection.execute(f"SELECT {measures} FROM result").fetchone() == expected


@pytest.mark.parametrize(
    ("number", "rows"),
    [
        (100_000, {"q2": 351, "q5-beam": 12, "q7-beam": 1, "q8-beam": 6000, "q11": 1919}),
        (10_000, {"q4-beam": 40, "q9-beam": 298}),
    ],
)
def test_100_generators_give_the_row_counts_that_beam_publishes(number, rows):
    table = finite_table(number, 10_000.0, generators=100, num_events=number)
    assert {name: answer(name, table).num_rows for name in rows} == rows


@pytest.mark.parametrize("name", sorted(COLUMNS.keys() - {"q3", "q8", "q8-beam"}))
def test_without_bids_there_is_no_answer(name):
    rows = [person(1, 0), auction(1, 0), auction(123, 0)]
    assert answer(name, events(*rows)).num_rows == 0


def test_equal_bids_are_all_kept_and_counted():
    rows = [bid(5, 10, 1), bid(5, 10, 1)]
    assert found("q0", "auction price date_time", rows) == [(5, 10, at(1))] * 2
    assert found("q12", "bidder bids", rows) == [(1, 2)]


def test_q1_is_exact_or_cut_off_to_whole_cents():
    rows = [bid(1, price, 0) for price in (1, 3, 100_000_000)]
    assert found("q1", "price", rows) == [(Decimal("0.908"),), (Decimal("2.724"),), (Decimal(90_800_000),)]
    assert found("q1-beam", "price", rows) == [(0,), (2,), (89_000_000,)]


def test_q2_keeps_multiples_of_the_skip():
    rows = [bid(number, number, 0) for number in (1106, 1107, 1108, 1230)]
    assert found("q2", "auction price", rows) == [(1107, 1107), (1230, 1230)]
    assert found("q2", "auction", rows, auction_skip=2) == [(1106,), (1108,), (1230,)]


def test_q3_joins_in_either_order_and_filters_state_and_category():
    rows = [
        auction(10, 0, seller=1),
        person(1, 5_000, state="OR"),
        auction(11, 9_000, seller=1),
        auction(12, 9_000, seller=1, category=11),
        person(2, 0, state="WA"),
        auction(13, 0, seller=2),
        auction(14, 0, seller=3),
    ]
    assert found("q3", "name state id", rows) == [("p1", "OR", 10), ("p1", "OR", 11)]


@pytest.mark.parametrize("first", ["person", "auction"])
def test_q3_keeps_pairs_up_to_the_expiry_and_not_beyond(first):
    pairs = [(3_000_000, 1), (3_000_001, 2)]
    early, late = [(0, number) for _, number in pairs], pairs
    persons, auctions = (early, late) if first == "person" else (late, early)
    rows = [person(number, ms, state="CA") for ms, number in persons]
    rows += [auction(number, ms, seller=number) for ms, number in auctions]
    assert found("q3", "id", rows, expiry_s=3000) == [(1,)]
    assert found("q3", "id", rows) == [(1,), (2,)]


def test_q4_counts_both_ends_of_an_auction_and_ignores_the_reserve():
    rows = [
        auction(1, 1000, expires_ms=2000, reserve=10**9),
        *[bid(1, price, ms) for price, ms in ((900, 999), (10, 1000), (21, 2000), (800, 2001))],
        auction(2, 1000, expires_ms=2000),
        bid(2, 10, 1000),
        auction(3, 0),
    ]
    assert found("q4", COLUMNS["q4"], rows) == [(10, 2, 31, 15)]


def test_q4_of_beam_counts_a_winner_just_before_the_auction_expires_and_rounds_a_half_up():
    rows = [auction(1, 5_000, expires_ms=10_000, reserve=20), auction(2, 5_000, expires_ms=10_001, reserve=20)]
    rows += [bid(1, 20, 6_000), bid(1, 21, 0), bid(1, 500, 10_000), bid(2, 20, 10_000)]
    rows += [auction(3, 0, expires_ms=10_000, reserve=100), bid(3, 99, 5_000)]
    # 20.5 becomes 21 in the window that has both.
    expected = [(at(0), 10, 21), (at(5_000), 10, 21), (at(10_000), 10, 20)]
    assert found("q4-beam", COLUMNS["q4-beam"], rows) == expected


@pytest.mark.parametrize("name", ["q5", "q5-beam"])
def test_q5_keeps_all_auctions_with_the_most_bids_of_each_half_open_window(name):
    rows = [bid(1, 1, 0), bid(2, 1, 4_999), bid(2, 1, 5_000), bid(1, 1, 9_999), bid(3, 1, 10_000)]
    expected = [
        (at(-5_000), 1, 1),
        (at(-5_000), 2, 1),
        (at(0), 1, 2),
        (at(0), 2, 2),
        (at(5_000), 1, 1),
        (at(5_000), 2, 1),
        (at(5_000), 3, 1),
        (at(10_000), 3, 1),
    ]
    assert found(name, COLUMNS[name], rows, window_s=10, slide_s=5) == expected


@pytest.mark.parametrize(("window_s", "slide_s", "ms", "starts_ms"), UNEVEN_WINDOWS)
def test_windows_need_be_no_multiple_of_their_slide(window_s, slide_s, ms, starts_ms):
    starts = [(at(start),) for start in starts_ms]
    winner = [auction(1, 0, expires_ms=ms + 1), bid(1, 1, 0)]
    assert found("q4-beam", "window_start", winner, window_s=window_s, slide_s=slide_s) == starts
    for name in ("q5", "q5-beam"):
        assert found(name, "window_start", [bid(1, 1, ms)], window_s=window_s, slide_s=slide_s) == starts


def test_q6_takes_the_latest_winners_by_time_and_then_by_price():
    rows = [auction(number, 0, seller=7, expires_ms=10_000, reserve=5) for number in (1, 2, 3, 4)]
    rows += [bid(1, 900, 1_000), bid(2, 6, 2_000), bid(3, 9, 2_000), bid(4, 4, 3_000), bid(4, 10, 500)]
    assert found("q6", COLUMNS["q6"], rows, last=2) == [(7, 8, 4)]
    assert found("q6", COLUMNS["q6"], rows, last=1) == [(7, 9, 4)]
    assert found("q6", COLUMNS["q6"], rows) == [(7, 231, 4)]


def test_q6_takes_winners_as_beams_q9_does():
    rows = [auction(1, 0, seller=7), bid(1, 100, 3_000), bid(1, 100, 1_000), bid(1, 99, 4_000)]
    rows += [auction(2, 0, seller=7, expires_ms=5_000, reserve=50), bid(2, 50, 2_000), bid(2, 60, 5_000)]
    rows += [auction(3, 0, seller=7, reserve=50), bid(3, 49, 3_000)]
    assert found("q6", COLUMNS["q6"], rows, last=1) == [(7, 50, 2)]


def test_q7_includes_the_end_of_a_window_when_it_looks_for_the_highest_price():
    rows = [bid(1, 50, 0), bid(2, 50, 9_999), bid(3, 40, 9_999), bid(4, 50, 10_000), bid(5, 60, 10_001)]
    half_open = [(at(0), 1, 50), (at(0), 2, 50), (at(10_000), 5, 60)]
    assert found("q7-beam", "window_start auction price", rows) == half_open
    assert found("q7", "window_start auction price", rows) == sorted([*half_open, (at(0), 4, 50)])


@pytest.mark.parametrize("name", ["q4-beam", "q5", "q5-beam", "q7", "q7-beam", "q8", "q8-beam"])
def test_windows_are_aligned_to_the_epoch(name):
    rows = [person(1, 0), auction(1, 0, expires_ms=1), bid(1, 50, 0)]
    start = datetime.fromtimestamp(BASE_TIME_US // 1_000_000 // 7 * 7, UTC)
    assert start != BASE
    assert found(name, "window_start", rows, window_s=7, slide_s=7) == [(start,)]


def test_q8_has_one_row_per_person_and_beam_one_per_auction():
    rows = [
        person(1, 9_999),
        auction(1, 0, seller=1, reserve=5),
        auction(2, 9_999, seller=1, reserve=6),
        auction(3, 10_000, seller=1, reserve=7),
        person(2, 10_000),
        auction(4, 9_999, seller=2),
    ]
    assert found("q8", COLUMNS["q8"], rows) == [(1, "p1", at(0))]
    assert found("q8", COLUMNS["q8"], [*rows, person(1, 0)]) == [(1, "p1", at(0))]
    assert found("q8-beam", COLUMNS["q8-beam"], rows) == [(1, "p1", 5, at(0)), (1, "p1", 6, at(0))]


def test_q9_counts_both_ends_of_an_auction_and_ignores_the_reserve():
    rows = [auction(number, 1000, expires_ms=2000, reserve=10**9) for number in (1, 2, 3)]
    rows += [bid(1, 10, 1000), bid(1, 90, 999), bid(2, 20, 2000), bid(2, 90, 2001), bid(3, 90, 999)]
    assert found("q9", "id price bid_time", rows) == [(1, 10, at(1000)), (2, 20, at(2000))]


def test_q9_of_beam_needs_the_reserve_ends_before_expiry_and_takes_bids_before_the_auction():
    rows = [auction(number, 1000, expires_ms=2000, reserve=50) for number in (1, 2, 3)]
    rows += [bid(1, 50, 0), bid(1, 90, 2000), bid(2, 60, 1999), bid(2, 49, 1500), bid(3, 49, 1500), bid(4, 90, 1500)]
    assert found("q9-beam", "id price bid_time", rows) == [(1, 50, at(0)), (2, 60, at(1999))]


@pytest.mark.parametrize(("name", "column"), [("q9", "extra"), ("q9-beam", "extra"), ("q20", "auction_extra")])
def test_the_padding_of_bid_and_auction_is_kept_apart(name, column):
    rows = [auction(1, 0, auction_extra="of the auction"), bid(1, 5, 0, extra="of the bid")]
    assert found(name, f"{column} bid_extra", rows) == [("of the auction", "of the bid")]


@pytest.mark.parametrize("name", ["q9", "q9-beam"])
def test_q9_breaks_ties_by_time_bidder_and_extra(name):
    tied = [
        bid(1, 10, 3, bidder=1, extra="z"),
        bid(1, 10, 2, bidder=5, extra="z"),
        bid(1, 10, 2, bidder=4, extra="B"),
        bid(1, 10, 2, bidder=4, extra="a"),
        bid(1, 9, 1, bidder=1, extra="z"),
    ]
    for rows in (tied, tied[::-1]):
        assert found(name, "bid_time bidder bid_extra", [auction(1, 0), *rows]) == [(at(2), 4, "a")]


def test_q10_names_day_and_minute_in_utc():
    day_ms = 86_400_000
    assert found("q10", "dt hm", [bid(1, 1, day_ms - 1), bid(1, 1, day_ms)]) == [
        ("2015-07-15", "23:59"),
        ("2015-07-16", "00:00"),
    ]


def test_q11_joins_bids_exactly_one_gap_apart_and_parts_those_further_away():
    rows = [bid(1, 1, ms) for ms in (0, 10_000, 10_000, 20_001)] + [bid(1, 1, 5_000, bidder=2)]
    assert found("q11", COLUMNS["q11"], rows) == [
        (1, 1, at(20_001), at(30_001)),
        (1, 3, at(0), at(20_000)),
        (2, 1, at(5_000), at(15_000)),
    ]
    assert len(found("q11", "bids", rows, gap_s=3600)) == 2


def test_q13_looks_up_the_remainder_of_the_auction_or_for_beam_of_the_bidder():
    rows = [bid(10_000, 1, 0, bidder=1001), bid(10_007, 1, 0, bidder=1500)]
    assert found("q13", "auction value", rows) == [(10_000, "0"), (10_007, "7")]
    assert found("q13-beam", "auction value", rows) == [(10_000, "1"), (10_007, "0")]


def test_q14_has_hours_7_and_19_apart_from_day_and_night():
    rows = [bid(hour, 2_000_000, hour * 3_600_000 + ms) for hour in range(24) for ms in (0, 3_599_999)]
    kinds = dict(found("q14", "auction bid_time_type", rows))
    assert [hour for hour, kind in kinds.items() if kind == "otherTime"] == [7, 19]
    assert [hour for hour, kind in kinds.items() if kind == "dayTime"] == list(range(8, 19))
    assert [hour for hour, kind in kinds.items() if kind == "nightTime"] == [*range(7), 20, 21, 22, 23]
    assert len(found("q14", "auction bid_time_type", rows)) == 48


def test_q14_compares_exact_prices_and_counts_small_c():
    prices = (1_101_321, 1_101_322, 55_066_079, 55_066_080)
    rows = [bid(1, price, 0, extra=extra) for price, extra in zip(prices, ("c", "", "cCcabc", "c"), strict=True)]
    assert found("q14", "price c_counts", rows) == [
        (Decimal("1000000.376"), 0),
        (Decimal("49999999.732"), 3),
    ]


@pytest.mark.parametrize("name", ["q15", "q16"])
def test_statistics_have_three_ranks_that_share_no_price_and_count_bidders_and_auctions_once(name):
    prices = (9_999, 10_000, 999_999, 1_000_000)
    rows = [bid(number, price, 0, bidder=number) for number, price in enumerate(prices)]
    rows += [bid(0, 1, 86_400_000, bidder=bidder) for bidder in (1, 2)]
    assert found(name, COLUMNS["q15"], rows * 2) == [
        ("2015-07-15", 8, 2, 4, 2, 4, 1, 2, 1, 4, 1, 2, 1),
        ("2015-07-16", 4, 4, 0, 0, 2, 2, 0, 0, 1, 1, 0, 0),
    ]


def test_q16_has_a_row_per_channel_and_day_with_the_last_minute():
    rows = [bid(1, 10_000, minute * 60_000) for minute in (5, 61, 7)] + [bid(1, 1, 0, channel="Apple")]
    assert found("q16", "channel day minute total_bids", rows) == [
        ("Apple", "2015-07-15", "00:00", 1),
        ("channel-1", "2015-07-15", "01:01", 3),
    ]


def test_q17_has_a_row_per_auction_and_day_and_cuts_the_average_off():
    rows = [bid(1, price, 0) for price in (9_999, 10_000, 999_999, 1_000_000)]
    rows += [bid(1, 7, 86_400_000), bid(2, 7, 0), bid(2, 8, 0)]
    assert found("q17", COLUMNS["q17"], rows) == [
        (1, "2015-07-15", 4, 1, 2, 1, 9_999, 1_000_000, 504_999, 2_019_998),
        (1, "2015-07-16", 1, 1, 0, 0, 7, 7, 7, 7),
        (2, "2015-07-15", 2, 2, 0, 0, 7, 8, 7, 15),
    ]


def test_q18_breaks_ties_by_price_channel_url_and_extra():
    tied = [
        bid(1, 99, 0),
        bid(1, 9, 5, channel="z", url="z", extra="z"),
        bid(1, 10, 5, channel="a", url="z", extra="z"),
        bid(1, 10, 5, channel="b", url="a", extra="z"),
        bid(1, 10, 5, channel="b", url="b", extra="Z"),
        bid(1, 10, 5, channel="b", url="b", extra="a"),
    ]
    for rows in (tied, tied[::-1]):
        assert found("q18", "price channel url extra", rows) == [(10, "b", "b", "a")]


def test_q18_keeps_one_bid_per_bidder_and_auction():
    rows = [bid(1, 1, 0), bid(1, 2, 1), bid(2, 3, 0), bid(1, 4, 0, bidder=2)]
    assert found("q18", "auction bidder price", rows) == [(1, 1, 2), (1, 2, 4), (2, 1, 3)]


def test_q19_numbers_the_ten_highest_bids_of_each_auction():
    rows = [bid(1, price, 0) for price in range(12)] + [bid(2, 5, 0)]
    ranks = found("q19", "auction rank_number price", rows)
    assert ranks == [*((1, rank, 12 - rank) for rank in range(1, 11)), (2, 1, 5)]


def test_q19_breaks_ties_by_time_bidder_extra_and_url():
    tied = [
        bid(1, 10, 1, bidder=1, extra="a", url="a"),
        bid(1, 10, 1, bidder=1, extra="a", url="b"),
        bid(1, 10, 1, bidder=1, extra="b", url="a"),
        bid(1, 10, 1, bidder=2, extra="z", url="z"),
        bid(1, 10, 2, bidder=1, extra="z", url="z"),
    ]
    order = [("b", "a"), ("a", "b"), ("a", "a"), ("z", "z"), ("z", "z")]
    for rows in (tied, tied[::-1]):
        ranked = found("q19", "rank_number extra url bidder", rows)
        assert [(extra, url) for _, extra, url, _ in ranked] == order
        assert [bidder for *_, bidder in ranked] == [1, 1, 1, 2, 1]


def test_q20_joins_in_either_order_and_takes_category_10():
    rows = [bid(1, 5, 0), auction(1, 1_000), bid(1, 6, 99_000), auction(2, 0, category=11), bid(2, 7, 0), bid(3, 8, 0)]
    assert found("q20", "auction price bid_time auction_time", rows) == [
        (1, 5, at(0), at(1_000)),
        (1, 6, at(99_000), at(1_000)),
    ]


def test_q20_keeps_pairs_up_to_the_expiry_and_not_beyond():
    rows = [auction(1, 10_000), *(bid(1, 1, ms) for ms in (-1, 0, 20_000, 20_001))]
    assert found("q20", "bid_time", rows, expiry_s=10) == [(at(0),), (at(20_000),)]


def test_q21_knows_four_channels_in_any_case_and_else_asks_the_url():
    url = "https://www.nexmark.com/a/b/c/item.htm?query=1"
    rows = [
        bid(1, 1, 0, channel="APPLE", url=f"{url}&channel_id=9"),
        bid(2, 1, 0, channel="google", url=url),
        bid(3, 1, 0, channel="Facebook", url=url),
        bid(4, 1, 0, channel="bAIDU", url=url),
        bid(5, 1, 0, url=f"{url}&channel_id=-2147483648"),
        bid(6, 1, 0, url=f"{url}&channel_id=12&more=3"),
        bid(7, 1, 0, url="channel_id=4"),
        bid(8, 1, 0, url=url),
        bid(9, 1, 0, url="https://www.nexmark.com/?channel_id=4"),
        bid(10, 1, 0, url=f"{url}&my_channel_id=4"),
        bid(11, 1, 0, channel="apples", url=url),
        bid(12, 1, 0, url=f"{url}&channel_id="),
    ]
    ids = [(1, "0"), (2, "1"), (3, "2"), (4, "3"), (5, "-2147483648"), (6, "12"), (7, "4")]
    assert found("q21", "auction channel_id", rows) == ids


def test_q22_has_nothing_for_directories_that_the_url_lacks():
    rows = [bid(1, 1, 0, url="https://host/a/of_/c/item.htm?query=1"), bid(2, 1, 0, url="https://host/a")]
    assert found("q22", "auction dir1 dir2 dir3", rows) == [(1, "a", "of_", "c"), (2, "a", None, None)]


def test_q23_pairs_each_bid_of_a_person_with_each_auction_of_that_person():
    rows = [
        bid(77, 5, 0, bidder=1),
        bid(78, 6, 0, bidder=1),
        person(1, 9_000),
        auction(20, 5_000, seller=1, item_name="x"),
        auction(21, 5_000, seller=1, item_name="y"),
        person(2, 0),
        bid(79, 7, 0, bidder=2),
        bid(80, 8, 0, bidder=3),
        auction(22, 0, seller=3),
    ]
    assert found("q23", "auction name item_name", rows) == [
        (77, "p1", "x"),
        (77, "p1", "y"),
        (78, "p1", "x"),
        (78, "p1", "y"),
    ]


def test_q23_needs_both_person_and_auction_within_the_expiry_of_the_bid():
    rows = [person(1, 0), auction(1, 20_000, seller=1), auction(2, 20_001, seller=1)]
    rows += [bid(9, 1, ms) for ms in (9_999, 10_000, 10_001)]
    assert found("q23", "bid_time auction_time", rows, expiry_s=10) == [(at(10_000), at(20_000))]
