"""The generator of `java.util.Random`, against values that Java prints and against itself."""

import hashlib

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from streamgauge.events.draw import hash_longs
from streamgauge.events.nexmark.random import JavaRandom, JavaRandoms, event_seeds, salt
from streamgauge.events.nexmark.urls import channel_id, channels, urls

SEEDS = st.integers(-(2**63), 2**63 - 1)


def one(seed):
    return JavaRandoms(np.array([seed]))


def test_any_signed_number_comes_up_as_in_java():
    random = one(0)
    assert [int(random.int32()[0]) for _ in range(3)] == [-1155484576, -723955400, 1033096058]


def test_bounded_numbers_come_up_as_in_java():
    many, single = one(0), JavaRandom(0)
    for n, expected in ((2, 1), (4, 3), (13, 10), (26, 21), (10_000, 3515)):
        assert many.below(n).tolist() == [single.below(n)] == [expected]


def test_doubles_and_longs_come_up_as_in_java():
    random = one(42)
    assert [float(random.double()[0]) for _ in range(2)] == [0.7275636800328681, 0.6832234717598454]
    assert random.int64()[0] == 5694868678511409995


def test_large_seeds_come_up_as_in_java():
    random = one(123456789012)
    assert [int(random.int32()[0]), int(random.below(1010)[0]), int(random.below(111)[0])] == [59424925, 857, 0]


# Bounds just above a power of two make Java draw again in half of all cases.
BOUNDS = st.one_of(st.integers(1, 2**31 - 2), st.sampled_from([2**30 + 1, 3 * 2**29, 2**30, 13, 26]))


@given(st.lists(st.tuples(SEEDS, BOUNDS), min_size=1, max_size=20))
def test_generators_side_by_side_draw_what_each_draws_alone(drawn):
    seeds, bounds = map(np.array, zip(*drawn, strict=True))
    many, singles = JavaRandoms(seeds), [JavaRandom(seed) for seed, _ in drawn]
    for _ in range(5):
        assert many.below(bounds).tolist() == [single.below(n) for single, (_, n) in zip(singles, drawn, strict=True)]
    assert many.state.tolist() == [single.state for single in singles]


@given(st.lists(st.tuples(SEEDS, st.booleans()), min_size=1, max_size=20), st.sampled_from([2**30 + 1, 2**30, 13]))
def test_generators_that_do_not_draw_keep_their_state(drawn, bound):
    seeds, where = map(np.array, zip(*drawn, strict=True))
    many, singles = JavaRandoms(seeds), [JavaRandom(seed) for seed, _ in drawn]
    values = many.below(bound, where)
    expected = [single.below(bound) if draws else None for single, (_, draws) in zip(singles, drawn, strict=True)]
    assert [int(v) if draws else None for v, draws in zip(values, where, strict=True)] == expected
    assert many.state.tolist() == [single.state for single in singles]


def test_small_and_large_bounds_of_longs_go_together():
    bounds = np.array([10, 2**31 - 2, 2**31 - 1, 10**15])
    seeds = np.full(4, 7)
    small, large = JavaRandoms(seeds).below(np.minimum(bounds, 2**31 - 2)), JavaRandoms(seeds).int64()
    drawn = JavaRandoms(seeds).long_below(bounds)
    assert drawn[:2].tolist() == small[:2].tolist()
    assert drawn[2:].tolist() == [abs(int(large[2])) % (2**31 - 1), abs(int(large[3])) % 10**15]


def test_seed_1_seeds_the_generators_with_the_event_ids():
    ids = np.arange(10)
    assert salt(1) == 0
    assert event_seeds(ids, seed=1, scrambled=False).tolist() == ids.tolist()
    assert event_seeds(ids, seed=1, scrambled=True).tolist() == hash_longs(ids).tolist()


def test_other_seeds_mix_in_a_number_of_48_bits():
    assert salt(2) == 0x79B97F4A7C15
    assert event_seeds(np.array([5]), seed=2, scrambled=False)[0] == 5 ^ 0x79B97F4A7C15
    assert 0 <= salt(-1) < 2**48


def test_the_addresses_are_those_of_the_deterministic_profile():
    text = "".join(f"{url}\n" for url in urls())
    assert hashlib.sha256(text.encode()).hexdigest() == (
        "08b801b3593e0c075a7d7f10753617a226b8d67db19a2649bce6c70a02addb0e"
    )


def test_some_channels_have_no_id_in_their_address():
    assert len(urls()) == len(channels()) == 10_004
    assert sum("&channel_id=" in url for url in urls()[4:]) == 8973
    assert not any("channel_id" in url for url in urls()[:4])


def test_the_hot_channels_come_first():
    directories = [url.removeprefix("https://www.nexmark.com/").rsplit("/", 1)[0] for url in urls()[:4]]
    assert directories == ["xnhd/xcat/bwmn", "rvx/xssd/leql", "lclb/of_/mah", "pfj/dexb/gmjn"]
    assert channels()[:6] == ("Google", "Facebook", "Baidu", "Apple", "channel-0", "channel-1")


def test_the_id_of_a_channel_ends_its_address():
    for channel in (0, 1, 2, 3, 9_999):
        url = urls()[4 + channel]
        assert url.endswith(("item.htm?query=1", f"&channel_id={channel_id(channel)}"))
