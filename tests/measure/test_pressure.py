from dataclasses import replace

import numpy as np
import pytest

from streamgauge.arrivals import Constant, Schedule
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
