import json
from collections import Counter

import numpy as np
import pytest

from streamgauge.arrivals import Arrivals
from streamgauge.events.identifiers import identifier
from streamgauge.events.ysb import AD_TYPES, EVENT_TYPES, EVENTS, LATE_MS, LATE_ONE_IN, YsbEvents

BASE_US = 1_436_918_400_000_000


def make(count, *, seed=1, first=0, **parameters):
    n = np.arange(first, first + count)
    return EVENTS.arrays(YsbEvents(**parameters), seed, Arrivals.spaced(n, load_us=BASE_US, period_us=1_234))


def test_event_n_is_given_by_n_alone():
    events = make(20, first=123_450)
    for k in range(20):
        n = 123_450 + k
        assert events["ad_id"][k] == identifier("ad", n % 1000)
        assert events["user_id"][k] == identifier("user", n % 100)
        assert events["page_id"][k] == identifier("page", n // 100 % 100)
        assert events["ad_type"][k] == AD_TYPES[n % 5]
        assert events["event_type"][k] == EVENT_TYPES[n % 3]
        assert events["event_time"][k] == (BASE_US + n * 1_234) // 1000 * 1000
        assert events["ip_address"][k] == "1.2.3.4"


def test_the_text_is_json_with_spaces_and_all_values_as_text():
    events = make(50)
    names = [f.name for f in EVENTS.fields][:-1]
    for k in range(50):
        fields = {name: events[name][k] for name in names}
        fields["event_time"] = str(events["event_time"][k] // 1000)
        assert events["value"][k] == json.dumps(fields)


def test_the_text_has_about_253_bytes():
    sizes = [len(text.encode()) for text in make(3_000)["value"]]
    assert np.mean(sizes) == pytest.approx(253, abs=3)
    assert max(sizes) - min(sizes) == (len("sponsored-search") - len("mail")) + (len("purchase") - len("view"))


def test_over_3000_events_every_ad_is_viewed_exactly_once():
    events = make(3_000)
    views = Counter(events["ad_id"][events["event_type"] == "view"])
    assert views == Counter(identifier("ad", index) for index in range(1000))


def test_the_seed_does_not_change_deterministic_events():
    assert make(100, seed=1)["value"].tolist() == make(100, seed=2)["value"].tolist()


def test_random_events_depend_on_the_seed_and_repeat_with_it():
    one, again, other = (make(200, seed=seed, draws="random")["value"].tolist() for seed in (1, 1, 2))
    assert one == again
    assert sum(a == b for a, b in zip(one, other, strict=True)) == 0


def test_random_events_do_not_depend_on_where_a_partition_begins():
    whole = make(100, draws="random")["value"].tolist()
    assert make(40, draws="random", first=60)["value"].tolist() == whole[60:]


def test_random_fields_are_uniform_over_their_domains():
    events = make(30_000, draws="random", campaigns=5, ads_per_campaign=2)
    for name, size in (("event_type", 3), ("ad_type", 5), ("ad_id", 10)):
        counts = np.array(list(Counter(events[name]).values()))
        assert len(counts) == size
        # 30 is far above the 99.9 % quantile of chi-square with 9 degrees of freedom, 27.9.
        assert np.sum((counts - 30_000 / size) ** 2 / (30_000 / size)) < 30


def test_skew_shifts_event_times_by_50_down_to_minus_49_ms_and_uses_the_whole_range():
    shift_ms = (make(20_000, skew=True)["event_time"] - make(20_000)["event_time"]) // 1000
    assert set(shift_ms.tolist()) == set(range(-49, 51))


def test_l5_one_event_in_100_000_is_up_to_a_minute_late():
    count = 2_000_000
    n = np.arange(count)
    late_ms = -_shift_ms(n)
    share = np.count_nonzero(late_ms) / count
    assert share == pytest.approx(1 / LATE_ONE_IN, abs=4 * np.sqrt(count / LATE_ONE_IN) / count)
    assert late_ms.min() >= 0
    assert LATE_MS / 2 < late_ms.max() < LATE_MS


def _shift_ms(n):
    """Return how late events are, from the draws alone: two million whole events would take seconds."""
    from streamgauge.events import ysb
    from streamgauge.events.draw import draw

    is_late = draw(n, seed=1, field=ysb._IS_LATE, below=LATE_ONE_IN) == 0
    return -np.where(is_late, draw(n, seed=1, field=ysb._LATENESS, below=LATE_MS), 0)


def test_late_events_are_those_that_the_draws_name():
    late = np.flatnonzero(_shift_ms(np.arange(2_000_000)))[:3]
    for n in late.tolist():
        shift_ms = (make(1, first=n, late=True)["event_time"] - make(1, first=n)["event_time"]) // 1000
        assert shift_ms[0] == _shift_ms(np.array([n]))[0]


@pytest.mark.parametrize(
    ("parameters", "lateness_s"),
    [({}, 0.0), ({"skew": True}, 0.1), ({"late": True}, 60.0), ({"skew": True, "late": True}, 60.1)],
)
def test_the_greatest_lateness_is_known(parameters, lateness_s):
    assert YsbEvents(**parameters).max_lateness_s == pytest.approx(lateness_s)


def test_no_event_is_older_than_the_greatest_lateness_allows():
    parameters = YsbEvents(skew=True)
    times_us = make(20_000, skew=True)["event_time"]
    behind_us = np.maximum.accumulate(times_us) - times_us
    assert 0.09e6 < behind_us.max() <= parameters.max_lateness_s * 1e6


def test_the_table_has_the_schema_of_the_stream():
    n = np.arange(5)
    table = EVENTS.table(YsbEvents(), seed=1, arrivals=Arrivals.spaced(n, load_us=BASE_US, period_us=1))
    assert table.column_names == [f.name for f in EVENTS.fields]
    assert str(table.schema.field("event_time").type) == "timestamp[us, tz=UTC]"
    assert table.num_rows == 5
