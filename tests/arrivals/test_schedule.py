import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamgauge.arrivals import Arrivals, Schedule
from streamgauge.arrivals import schedule as schedule_module


@st.composite
def schedules(draw):
    segments = draw(st.integers(1, 5))
    spans = draw(st.lists(st.integers(1, 10**7), min_size=segments, max_size=segments))
    events = draw(st.lists(st.integers(0, 300), min_size=segments, max_size=segments))
    if not sum(events):
        events[0] = 1
    return Schedule(np.cumsum([0, *spans]), np.cumsum([0, *events]))


@st.composite
def schedules_with_ranges(draw):
    schedule = draw(schedules())
    first = draw(st.integers(0, schedule.total))
    return schedule, first, draw(st.integers(first, schedule.total))


def all_times(schedule):
    return schedule.times_us(np.arange(schedule.total))


@given(schedules())
def test_intended_times_never_decrease_and_stay_inside_the_load(schedule):
    times = all_times(schedule)
    assert np.all(np.diff(times) >= 0)
    assert times[0] >= schedule.time_us[0]
    assert times[-1] < schedule.end_us


@given(schedules(), st.lists(st.integers(-10, 6 * 10**7), max_size=20))
def test_l1_created_counts_exactly_the_events_up_to_a_time(schedule, extra):
    times = all_times(schedule)
    probes = np.unique(np.concatenate([times - 1, times, times + 1, schedule.time_us, extra]).astype(np.int64))
    assert np.array_equal(schedule.created(probes), np.searchsorted(times, probes, side="right"))


@given(schedules())
def test_an_event_is_created_at_its_own_time_and_not_before(schedule):
    numbers = np.arange(schedule.total)
    times = all_times(schedule)
    assert np.all(schedule.created(times) > numbers)
    assert np.all(schedule.created(times - 1) <= numbers)


@given(schedules_with_ranges())
def test_the_sum_of_times_is_exact_up_to_rounding(drawn):
    schedule, first, last = drawn
    truth = int(schedule.times_us(np.arange(first, last)).sum())
    assert schedule.sum_times_us(first, last) == pytest.approx(truth, abs=last - first + 1)


@given(schedules_with_ranges(), st.integers(1, 500))
def test_l2_chunks_cover_the_range_once_and_reproduce_every_time(drawn, max_events):
    schedule, first, last = drawn
    chunks = schedule.chunks(first, last, max_events)
    numbers, times = [], []
    for k in range(len(chunks.first)):
        n = np.arange(chunks.first[k], chunks.last[k] + 1)
        assert 1 <= len(n) <= max_events
        numbers.extend(n)
        times.extend(chunks.origin_us[k] + (n - chunks.base[k]) * chunks.span_us[k] // chunks.events[k])
    assert numbers == list(range(first, last))
    assert times == list(schedule.times_us(np.arange(first, last)))


@given(schedules_with_ranges())
def test_all_columns_of_chunks_have_the_same_length(drawn):
    schedule, first, last = drawn
    chunks = schedule.chunks(first, last, 50)
    columns = (chunks.first, chunks.last, chunks.base, chunks.events, chunks.origin_us, chunks.span_us)
    assert len({len(column) for column in columns}) == 1


def test_an_empty_range_has_no_chunks():
    schedule = Schedule(np.array([0, 100]), np.array([0, 10]))
    assert len(schedule.chunks(4, 4, 10).last) == 0


@given(schedules(), st.integers(0, 50), st.sampled_from([0.000_001, 0.5, 3.0]))
def test_a_tail_keeps_the_load_and_adds_events_after_it(schedule, events, after_s):
    longer = schedule.with_tail(events, after_s=after_s)
    assert longer.total == schedule.total + events
    assert np.array_equal(longer.times_us(np.arange(schedule.total)), all_times(schedule))
    tail = longer.times_us(np.arange(schedule.total, longer.total))
    assert np.all(tail == schedule.end_us + round(after_s * 1e6))


@given(schedules())
def test_a_load_followed_by_itself_begins_as_it_was(schedule):
    longer = schedule.repeated()
    assert (longer.total, longer.end_us) == (2 * schedule.total, 2 * schedule.end_us + 1)
    assert longer.created(schedule.end_us) == schedule.total
    assert np.array_equal(longer.times_us(np.arange(schedule.total)), all_times(schedule))
    again = longer.times_us(np.arange(schedule.total, longer.total))
    assert np.array_equal(again, all_times(schedule) + schedule.end_us + 1)


@given(schedules())
def test_a_saved_schedule_is_read_back_equal(tmp_path_factory, schedule):
    path = tmp_path_factory.mktemp("schedule") / "schedule.npy"
    schedule.save(path)
    assert Schedule.load(path) == schedule


@pytest.mark.parametrize(
    ("time_us", "count"),
    [([0], [0]), ([0, 1], [1, 2]), ([0, 0], [0, 1]), ([0, 5, 9], [0, 4, 3]), ([0, 2**40], [0, 2**30])],
)
def test_impossible_knots_are_refused(time_us, count):
    with pytest.raises(ValueError):
        Schedule(np.array(time_us), np.array(count))


@pytest.mark.parametrize("number", [-1, 10])
def test_event_numbers_outside_the_schedule_are_refused(number):
    with pytest.raises(ValueError, match=r"0\.\.9"):
        Schedule(np.array([0, 100]), np.array([0, 10])).times_us(number)


def test_the_line_of_an_event_gives_its_own_time_and_that_of_its_neighbours():
    schedule = Schedule(np.array([0, 1000, 5000]), np.array([0, 10, 14]))
    arrivals = schedule.arrivals(np.arange(14), load_us=7)
    assert arrivals.time_us.tolist() == (schedule.times_us(np.arange(14)) + 7).tolist()
    assert arrivals.at(arrivals.n).tolist() == arrivals.time_us.tolist()
    # Beyond the knot the line of the event goes on as it is.
    assert arrivals.at(np.full(14, 12)).tolist() == [1207] * 10 + [3007] * 4
    assert arrivals.load_us.tolist() == [7] * 14


def test_evenly_spaced_arrivals_lie_on_one_line():
    arrivals = Arrivals.spaced([5, 6, 9], load_us=100, period_us=3, base=5)
    assert arrivals.time_us.tolist() == [100, 103, 112]
    assert arrivals.at(np.array([4, 5, 6])).tolist() == [97, 100, 103]


def test_a_file_is_what_numpy_saves_and_a_long_one_is_mapped(tmp_path, monkeypatch):
    short = Schedule(np.array([0, 10, 20]), np.array([0, 3, 3]))
    short.save(tmp_path / "short.npy")
    np.save(tmp_path / "numpy.npy", np.stack([short.time_us, short.count]))
    assert (tmp_path / "short.npy").read_bytes() == (tmp_path / "numpy.npy").read_bytes()
    assert not isinstance(Schedule.load(tmp_path / "short.npy").count.base, np.memmap)
    monkeypatch.setattr(schedule_module, "MAPPED_BYTES", 0)
    mapped = Schedule.load(tmp_path / "short.npy")
    assert isinstance(mapped.count, np.memmap)
    assert mapped == short
    assert all_times(mapped).tolist() == all_times(short).tolist()


@pytest.mark.parametrize("fault", ["time", "count", "product"])
@pytest.mark.parametrize("at", [1, 3, 4, 9])
def test_a_wrong_knot_is_found_in_every_part(monkeypatch, fault, at):
    monkeypatch.setattr(schedule_module, "PART_KNOTS", 4)
    time_us, count = np.arange(0, 100, 10), np.arange(10)
    assert Schedule(time_us, count).total == 9
    if fault == "time":
        time_us[at] = time_us[at - 1]
    elif fault == "count":
        count[at] = count[at - 1] - 1
    else:
        time_us[at:] += 2**40
        count[at:] += 2**23
    with pytest.raises(ValueError, match="exact arithmetic" if fault == "product" else "must have"):
        Schedule(time_us, count)
