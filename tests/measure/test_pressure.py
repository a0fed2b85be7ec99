from dataclasses import replace

import numpy as np
import pytest

from streamgauge.arrivals import Constant, Schedule, parse_law
from streamgauge.measure import Batch, batch_latency
from streamgauge.measure.pressure import PressureState, find_pressure

from .samples import ORIGIN_US

RATE_PER_S = 1000.0
LOAD_S = 60.0


def history(
    *, load_s=LOAD_S, overhead_s=0.2, cost_s=2e-4, limit=None, trigger_s=0.0, stalls=(), noise=0.0, schedule=None
):
    """Micro-batches that take a fixed time and a time per event; each of `stalls` adds (from_s, extra_s) to one."""
    rng, schedule = np.random.default_rng(1), schedule or Constant(RATE_PER_S).schedule(load_s)
    batches, start_s, first, waiting = [], overhead_s, 0, list(stalls)
    while start_s < load_s + 10:
        created = int(schedule.created(round(start_s * 1e6)))
        last = min(created, first + (limit or created))
        duration_s = (overhead_s + cost_s * (last - first)) * (1 + noise * rng.uniform(-1, 1))
        if waiting and start_s >= waiting[0][0]:
            duration_s += waiting.pop(0)[1]
        started_us, finished_us = (ORIGIN_US + round(t * 1e6) for t in (start_s, start_s + duration_s))
        batches.append(Batch(len(batches), started_us, finished_us, finished_us, first, last, created - last, {}))
        first, start_s = last, start_s + duration_s
        if trigger_s:
            start_s = max(
                start_s, (np.floor(batches[-1].started_us / 1e6 / trigger_s) + 1) * trigger_s - ORIGIN_US / 1e6
            )
    return batches


def pressure(batches, *, trigger_s=0.0, load_s=LOAD_S, **options):
    end_us = ORIGIN_US + round(load_s * 1e6)
    return find_pressure(batches, origin_us=ORIGIN_US, load_end_us=end_us, trigger_s=trigger_s, **options)


@pytest.mark.parametrize("trigger_s", [0.0, 1.0])
def test_a_query_that_keeps_up_is_normal(trigger_s):
    found = pressure(history(noise=0.3, trigger_s=trigger_s), trigger_s=trigger_s)
    assert (found.state, found.episodes) == (PressureState.NORMAL, ())
    assert (found.total_s, found.longest_s, found.share, found.overruns) == (0.0, 0.0, 0.0, 0)
    assert found.reason == "every micro-batch emptied the queue in its time"


def test_stalls_that_are_made_up_for_are_alternating():
    stalls = [(10, 3.0), (25, 5.0), (45, 4.0)]
    found = pressure(history(stalls=stalls))
    assert found.state is PressureState.ALTERNATING
    assert len(found.episodes) == 3
    for episode, (at_s, extra_s) in zip(found.episodes, stalls, strict=True):
        assert at_s <= episode.start_s <= at_s + 0.3
        assert episode.length_s >= extra_s
        assert not episode.is_open
        # The events of the stall, and those of the micro-batch that it hit.
        assert extra_s * RATE_PER_S <= episode.peak_backlog <= (extra_s + 0.5) * RATE_PER_S
    assert found.total_s == pytest.approx(sum(e.length_s for e in found.episodes))
    assert found.longest_s == found.episodes[1].length_s
    assert found.share == pytest.approx(found.total_s / 59.8)
    assert found.reason.startswith("the query fell behind 3 times, for 6")


def test_a_trigger_that_is_missed_now_and_then_is_alternating():
    found = pressure(history(trigger_s=2.0, stalls=[(20, 2.5), (40, 2.5)]), trigger_s=2.0)
    assert found.state is PressureState.ALTERNATING
    assert [round(e.start_s) for e in found.episodes] == [20, 40]
    assert found.overruns == 2


def test_a_trigger_too_short_for_every_batch_is_not_back_pressure_while_the_queue_is_emptied():
    found = pressure(history(trigger_s=0.1), trigger_s=0.1)
    assert found.state is PressureState.NORMAL
    assert found.overruns >= 100


def test_a_limit_that_sometimes_cuts_a_batch_is_alternating():
    found = pressure(history(limit=800, stalls=[(20, 3.0)]))
    assert found.state is PressureState.ALTERNATING
    (episode,) = found.episodes
    assert episode.batches > 2
    assert 3000 <= episode.peak_backlog <= 3500
    # 800 events take 0.36 s, in which 360 come: the query gains 440 per micro-batch.
    assert episode.length_s == pytest.approx(3 + 0.25 + 3200 / 440 * 0.36, abs=0.8)


def test_overload_that_leaves_more_and_more_behind_is_persistent():
    found = pressure(history(cost_s=1.5e-3, limit=1000))
    assert found.state is PressureState.PERSISTENT
    (episode,) = found.episodes
    assert episode.is_open
    assert episode.end_s == LOAD_S
    assert found.share > 0.9
    assert found.reason.startswith("the query was behind from ")


def test_overload_without_a_limit_is_persistent_because_the_queue_grows():
    """At 1.02 times the capacity each micro-batch is a little longer than the one before."""
    found = pressure(history(cost_s=1.02e-3, noise=0.05))
    assert found.state is PressureState.PERSISTENT
    assert pressure(history(cost_s=1.3e-3, overhead_s=0.02)).state is PressureState.PERSISTENT


def test_slow_growth_below_the_band_is_persistent():
    steady = history(trigger_s=0.5, load_s=LOAD_S)
    growing = [replace(b, first=0, last=500 + 8 * k) for k, b in enumerate(steady)]
    start_us = [ORIGIN_US + round(1e6 * (0.5 * k + 0.004 * k * k)) for k in range(len(growing))]
    growing = [
        replace(b, started_us=s, emitted_us=s + 400_000, finished_us=s + 400_000)
        for b, s in zip(growing, start_us, strict=True)
    ]
    found = pressure(growing)
    assert (found.state, found.episodes) == (PressureState.PERSISTENT, ())
    assert found.reason.startswith("the queue grows by ")


def test_a_query_that_falls_behind_late_and_stays_there_is_persistent():
    slow = pressure(history(limit=300, overhead_s=0.28, cost_s=5e-5, stalls=[(10, 1.0), (40, 10.0)]))
    stuck = pressure(history(stalls=[(10, 3.0), (40, 40.0)]))
    for found in (slow, stuck):
        assert found.state is PressureState.PERSISTENT
        assert found.episodes[-1].is_open
    assert slow.episodes[-1].batches > 3
    assert stuck.episodes[-1].batches == 1


@pytest.mark.parametrize("stalls", [[(20, 3.0), (58, 5.0)], [(58, 5.0)]])
def test_a_stall_in_the_last_moment_is_not_called_persistent(stalls):
    found = pressure(history(stalls=stalls))
    assert found.state is PressureState.ALTERNATING
    assert [e.is_open for e in found.episodes] == [False, True][-len(stalls) :]
    assert found.episodes[-1].end_s == LOAD_S


def test_a_queue_that_gathers_while_no_batch_runs_is_an_episode():
    """Nothing starts for four seconds after the tenth one; the micro-batch after that takes no longer than others."""
    batches = history(cost_s=1e-6, load_s=56.0)
    shift_us = [4_000_000 if b.started_us > ORIGIN_US + 10_000_000 else 0 for b in batches]
    numbers = [b.last + shift_us[k] // 1000 for k, b in enumerate(batches)]
    paused = [
        replace(b, started_us=b.started_us + late, emitted_us=b.emitted_us + late, finished_us=b.finished_us + late)
        for b, late in zip(batches, shift_us, strict=True)
    ]
    paused = [replace(b, first=0 if not k else numbers[k - 1], last=numbers[k]) for k, b in enumerate(paused)]
    found = pressure(paused)
    assert found.state is PressureState.ALTERNATING
    (episode,) = found.episodes
    assert (episode.batches, round(episode.start_s)) == (1, 14)
    assert episode.peak_backlog == pytest.approx(4200, abs=5)


def test_a_load_that_only_varies_does_not_press():
    """The rate goes from 200 to 2000 and back in steps, always below capacity, with batches of about the same time."""
    per_step = np.array([200, 500, 1000, 2000, 1000, 500] * 10)
    schedule = Schedule(np.arange(len(per_step) + 1) * 1_000_000, np.concatenate(([0], np.cumsum(per_step))))
    found = pressure(history(schedule=schedule, cost_s=2e-5))
    assert found.state is PressureState.NORMAL


def test_few_batches_have_no_state_and_no_numbers():
    found = pressure(history(load_s=LOAD_S)[:9])
    assert (found.state, found.episodes) == (None, ())
    assert (found.total_s, found.longest_s, found.share, found.whole.throughput) == (None, None, None, None)
    assert found.reason == "9 micro-batches started under load, and a state needs 10"
    assert pressure([]).state is None


def test_four_batches_that_all_leave_events_behind_suffice():
    overloaded = [b for b in history(cost_s=1.5e-2, limit=1000) if b.left]
    assert len(overloaded) == 5
    assert pressure(overloaded).state is PressureState.PERSISTENT
    assert pressure(overloaded[:3]).state is None


def test_batches_after_the_load_and_those_without_events_do_not_count():
    batches = history()
    drained = [b for b in batches if b.events and b.started_us < ORIGIN_US + LOAD_S * 1e6]
    assert len(drained) < len(batches)
    assert pressure(batches) == pressure(drained)


def test_the_spread_inside_of_episodes_is_that_of_their_batches():
    schedule, batches = Constant(RATE_PER_S).schedule(LOAD_S), history(noise=0.1, stalls=[(10, 3.0), (25, 5.0)])
    latencies_s = [batch_latency(schedule, ORIGIN_US, b).mean_s if b.events else None for b in batches]
    found = pressure(batches, latencies_s=latencies_s)
    spans = [(ORIGIN_US + e.start_s * 1e6, ORIGIN_US + e.end_s * 1e6) for e in found.episodes]
    chosen = [any(low - 1 <= b.started_us < high - 1 for low, high in spans) for b in batches]
    inside_s = [s for s, is_inside in zip(latencies_s, chosen, strict=True) if is_inside]
    assert found.inside.latency == pytest.approx(np.std(inside_s, ddof=1) / np.mean(inside_s))
    assert found.outside.latency < 0.2 < found.inside.latency < found.whole.latency
    assert found.outside.throughput < found.whole.throughput


def test_the_spread_of_one_value_or_of_no_latencies_is_unknown():
    found = pressure(history())
    assert (found.inside.throughput, found.inside.latency, found.whole.latency) == (None, None, None)
    assert found.whole.throughput is not None


def test_states_follow_the_load_from_normal_to_persistent():
    """The same stalls take longer to make up for as events cost more, until one episode has no end."""
    rng = np.random.default_rng(3)
    stalls = [(float(t), 1.5) for t in np.sort(rng.uniform(2, 58, 12))]
    found = [pressure(history(cost_s=cost_s, limit=1200, stalls=stalls)) for cost_s in (1e-5, 4e-4, 1.5e-3)]
    light = pressure(history(cost_s=1e-5, limit=1200))
    assert light.state is PressureState.NORMAL
    assert [f.state for f in found] == [PressureState.ALTERNATING, PressureState.ALTERNATING, PressureState.PERSISTENT]
    assert len(found[2].episodes) == 1
    assert found[0].share < found[1].share < found[2].share


def test_every_batch_needs_a_latency_when_there_are_any():
    with pytest.raises(ValueError, match="one latency"):
        pressure(history(), latencies_s=[1.0])


def test_micro_batches_that_grow_with_the_rate_are_no_lasting_pressure_as_long_as_they_are_excused():
    """From 0.3 to 0.8 of the capacity, micro-batches become more than three times as long."""
    schedule = parse_law("ramp(from=1500, to=4000, over=60s)", rate_per_s=1.0).schedule(LOAD_S)
    batches = history(schedule=schedule)
    assert pressure(batches).state is PressureState.PERSISTENT
    assert pressure(batches, excused_s=3.0).state is not PressureState.PERSISTENT
    assert pressure(batches, excused_s=0.5).state is PressureState.PERSISTENT


def test_events_that_are_left_behind_are_never_excused():
    found = pressure(history(limit=100, overhead_s=0.2), excused_s=100.0)
    assert found.state is PressureState.PERSISTENT


def paced(waits_s, queues, *, took_s=None, left=None):
    """Micro-batches with these times between their starts, that find these queues and leave some of them."""
    starts_s = np.cumsum([0.0, *waits_s])
    took_s = [0.5] * len(queues) if took_s is None else took_s
    left = [0] * len(queues) if left is None else left
    batches, first = [], 0
    for k, (start_s, queue, duration_s, rest) in enumerate(zip(starts_s, queues, took_s, left, strict=True)):
        started_us, ended_us = (ORIGIN_US + round(1e6 * t) for t in (start_s, start_s + duration_s))
        batches.append(Batch(k, started_us, ended_us, ended_us, first, first + queue - rest, rest, {}))
        first += queue - rest
    return batches


def state(batches, **options):
    return pressure(batches, load_s=1e4, **options).state


@pytest.mark.parametrize(("trigger_s", "pressed"), [(0.5, 1), (0.6, 0), (0.0, 0), (0.3, 0)])
def test_a_trigger_that_most_micro_batches_keep_is_what_one_may_take(trigger_s, pressed):
    batches = paced([1.0] * 11, [100] * 12, took_s=[*[0.4] * 5, 0.6, *[0.4] * 6])
    assert len(pressure(batches, trigger_s=trigger_s, load_s=12.0).episodes) == pressed


@pytest.mark.parametrize(("trigger_s", "overruns"), [(0.4, 1), (0.5999, 1), (0.6, 0), (0.39, 12), (0.0, 0)])
def test_overruns_are_micro_batches_longer_than_the_trigger(trigger_s, overruns):
    batches = paced([1.0] * 11, [100] * 12, took_s=[*[0.4] * 5, 0.6, *[0.4] * 6])
    assert pressure(batches, trigger_s=trigger_s).overruns == overruns
    assert pressure(batches[3:7], trigger_s=trigger_s).overruns == min(overruns, 4)


def test_the_first_micro_batch_whose_wait_is_unknown_does_not_lower_the_usual_wait():
    # The lower quartile of nine waits is 4 s; with the unknown one as 0 it would be less than 2 s.
    waits_s = [1, 1, 4, 4, 4, 4, 4, 4, 6]
    assert state(paced(waits_s, [*[100] * 9, 1000])) is PressureState.NORMAL
    assert state(paced([*waits_s[:-1], 12.1], [*[100] * 9, 1000])) is not PressureState.NORMAL
    assert state(paced([*waits_s[:-1], 12.1], [*[100] * 9, 300])) is PressureState.NORMAL


@pytest.mark.parametrize(
    ("waits_s", "expected"),
    [
        ([1, 1, 1, 1, 1, 1, 1.6, 1.6, 1.6], PressureState.PERSISTENT),
        ([1, 1, 1, 1, 1, 1, 1.5, 1.5, 1.5], PressureState.NORMAL),
        # A third are three waits, at both ends, and their median counts.
        ([1, 1, 1, 2, 2, 2, 1.6, 1.6, 1], PressureState.PERSISTENT),
        ([1, 1, 2, 2, 2, 2, 1.6, 1.6, 1.6], PressureState.PERSISTENT),
        ([1, 2, 2, 2, 2, 2, 2.9, 2.9, 2.9], PressureState.NORMAL),
        ([2, 2, 1, 1, 1, 1, 2.9, 2.9, 2.9], PressureState.NORMAL),
        ([1, 1, 2.5, 1, 1, 1, 1.6, 1.6, 1.6], PressureState.PERSISTENT),
    ],
    ids=str,
)
def test_a_queue_grows_when_the_last_third_of_the_waits_is_half_as_long_again_as_the_first(waits_s, expected):
    queues = [100, 110, 120, 130, 140, 150, 160, 180, 190, 200]
    assert state(paced(waits_s, queues)) is expected
    assert state(paced(waits_s, [100] * 10)) is PressureState.NORMAL


@pytest.mark.parametrize(
    ("queues", "expected"),
    [
        ([100, 110, 120, 128, 136, 144, 152, 160, 165, 170], PressureState.NORMAL),
        ([100, 110, 120, 128, 136, 144, 152, 160, 166, 170], PressureState.PERSISTENT),
    ],
    ids=str,
)
def test_a_queue_grows_when_its_last_third_is_half_as_long_again_as_the_first(queues, expected):
    assert state(paced([1, 1, 1, 1, 1, 1, 1.6, 1.6, 1.6], queues)) is expected


def test_a_queue_that_grows_slowly_in_events_per_second_still_grows():
    waits_s = [100, 100, 100, 100, 100, 100, 160, 160, 160]
    found = pressure(paced(waits_s, [10, 11, 12, 13, 14, 15, 16, 18, 19, 20]), load_s=1e4)
    assert found.state is PressureState.PERSISTENT


def test_a_queue_whose_slope_may_be_nothing_does_not_grow():
    waits_s = [1, 1, 1, 1, 1, 1, 1.6, 1.6, 1.6]
    assert state(paced(waits_s, [100, 100, 240, 240, 101, 240, 100, 240, 240, 100])) is PressureState.NORMAL


@pytest.mark.parametrize(
    ("pressed", "load_s", "expected"),
    [
        # Three micro-batches to the end, or a tenth of the time.
        ("........................xxx", 27.0, PressureState.PERSISTENT),
        (".........................xx", 27.0, PressureState.ALTERNATING),
        (".........................xx", 27.8, PressureState.PERSISTENT),
        # Longer than every other.
        ("....xxx.................xxx", 27.0, PressureState.ALTERNATING),
        ("....xx...xxx............xxx", 27.0, PressureState.ALTERNATING),
        ("....xx...xx............xxxx", 27.0, PressureState.PERSISTENT),
        ("....xxxx...............xxx.", 27.0, PressureState.ALTERNATING),
    ],
)
def test_the_last_episode_persists_when_it_is_open_longest_and_not_short(pressed, load_s, expected):
    left = [50 if mark == "x" else 0 for mark in pressed]
    batches = paced([1.0] * 26, [100] * 27, left=left)
    assert pressure(batches, load_s=load_s).state is expected


@pytest.mark.parametrize(
    ("many", "said"), [(1, "fell behind once, for 2 s at most"), (2, "fell behind 2 times, for 2 s")]
)
def test_how_often_a_query_fell_behind_is_said(many, said):
    left = [0, 0, *[0, 50, 50, 0, 0] * many, *[0] * 8]
    assert said in pressure(paced([1.0] * (len(left) - 1), [100] * len(left), left=left), load_s=40.0).reason


@pytest.mark.parametrize(
    ("excused_s", "left", "expected"),
    [
        (1.6, 0, PressureState.NORMAL),
        (1.59, 0, PressureState.PERSISTENT),
        (1.6, 50, PressureState.PERSISTENT),
    ],
)
def test_longer_micro_batches_are_excused_up_to_a_length_and_while_nothing_is_left(excused_s, left, expected):
    batches = paced([1, 1, 1, 1, 1, 1, 1.6, 1.6, 1.6], [100, 110, 120, 130, 140, 150, 160, 180, 190, 200])
    last = replace(batches[-1], last=batches[-1].last - left, left=left)
    assert state([*batches[:-1], last], excused_s=excused_s) is expected


@pytest.mark.parametrize(
    ("last_s", "expected"), [((1.6, 1.6, 4.0), PressureState.NORMAL), ((4.0, 4.0, 1.6), PressureState.PERSISTENT)]
)
def test_the_median_of_the_last_third_of_the_waits_is_what_is_excused(last_s, expected):
    batches = paced([1, 1, 1, 2, 2, 2, *last_s], [100, 110, 120, 130, 140, 150, 160, 180, 190, 200])
    assert state(batches, excused_s=1.6) is expected


def test_a_micro_batch_that_starts_when_the_load_ends_does_not_count():
    batches = paced([1.0] * 9, [100] * 10)
    assert pressure(batches, load_s=9.0).state is None
    assert pressure(batches, load_s=9.000001).state is PressureState.NORMAL


def test_two_values_have_a_spread_and_one_has_none():
    batches = paced([1.0] * 9, [100] * 10)
    found = pressure(batches, load_s=1e4, latencies_s=[1.0, 3.0, *[None] * 8]).whole.latency
    assert found == pytest.approx(np.sqrt(2) / 2)
    assert pressure(batches, load_s=1e4, latencies_s=[1.0, *[None] * 9]).whole.latency is None


def test_the_last_third_of_few_waits_is_one_of_them():
    batches = paced([9.0, 9.0, 1.0], [100] * 4, left=[50, 50, 50, 50])
    assert state(batches, excused_s=5.0) is PressureState.PERSISTENT


@pytest.mark.parametrize(
    ("many", "leaving", "known"), [(10, 0, True), (9, 8, False), (9, 9, True), (4, 4, True), (3, 3, False)]
)
def test_ten_micro_batches_are_needed_or_four_that_all_leave_something(many, leaving, known):
    left = [50] * leaving + [0] * (many - leaving)
    found = pressure(paced([1.0] * (many - 1), [100] * many, left=left), load_s=1e4)
    assert (found.state is not None) is known


def test_spreads_are_those_of_the_rates_between_emissions_and_of_the_latencies():
    waits_s, queues = [1, 2, 1, 1, 2, 1, 1, 2, 1, 1], [100, 150, 100, 130, 100, 100, 170, 100, 100, 120, 100]
    left = [0] * 4 + [20, 20, 20] + [0] * 4
    latencies_s = [1.0, 1.2, 1.1, None, 2.0, 2.5, 2.2, 1.0, 1.3, 1.1, 1.4]
    batches = paced(waits_s, queues, left=left)
    found = pressure(batches, latencies_s=latencies_s, load_s=1e4)
    rates = [b.events / wait_s for b, wait_s in zip(batches[1:], waits_s, strict=True)]

    def variation(values):
        return pytest.approx(np.std(values, ddof=1) / np.mean(values))

    assert found.whole.throughput == variation(rates)
    assert found.inside.throughput == variation(rates[3:6])
    assert found.outside.throughput == variation(rates[:3] + rates[6:])
    assert found.whole.latency == variation([s for s in latencies_s if s is not None])
    assert found.inside.latency == variation([2.0, 2.5, 2.2])
    assert found.outside.latency == variation([1.0, 1.2, 1.1, 1.0, 1.3, 1.1, 1.4])


def test_emissions_at_one_time_have_no_rate():
    batches = paced([1.0] * 11, [100, 200] * 6)
    same = [replace(b, emitted_us=batches[5].emitted_us) if k == 6 else b for k, b in enumerate(batches)]
    rates = [200, 100, 200, 100, 200, 200 / 2, 100, 200, 100, 200]
    found = pressure(same, load_s=1e4).whole.throughput
    assert found == pytest.approx(np.std(rates, ddof=1) / np.mean(rates))
