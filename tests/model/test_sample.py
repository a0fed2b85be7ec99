"""What is taken from the tables of a run, held against tables of a few lines."""

from dataclasses import replace

import numpy as np
import pytest

from streamgauge.errors import InvalidExperimentError
from streamgauge.measure import SteadyState
from streamgauge.model import RunFacts
from streamgauge.model import make_sample as joined
from streamgauge.model.query import QUIET_SLOWDOWN
from streamgauge.model.sample import PHASE_COLUMNS, as_if_quiet, with_explored

ORIGIN_US = 1_700_000_000_000_000
FACTS = RunFacts("r", "made-up", 2, 4, 0.0, 2, 3)
# Tasks of the two stages of every micro-batch.
SHAPE = (2, 3)


def make_sample(facts, batches, tasks, **options):
    """Make a sample of all micro-batches that hold events."""
    return joined(facts, batches, tasks, batches["batch_id"][batches["events"] > 0], **options)


def tables(many=10, *, every_s=1.0, took_s=0.6, first_id=0, shapes=None, **columns):
    """Return micro-batches that follow each other, and their tasks; `shapes` are tasks per stage and micro-batch."""
    ids = np.arange(first_id, first_id + many)
    started_us = ORIGIN_US + np.round(1e6 * every_s * (ids - first_id)).astype(np.int64)
    took_us = round(1e6 * took_s)
    batches = {
        "batch_id": ids,
        "started_us": started_us,
        "emitted_us": started_us + took_us - 50_000,
        "finished_us": started_us + took_us,
        "events": 100 + ids,
        "duration_s": np.full(many, took_s),
        "watermark_us": started_us - 2_000_000,
        "state_rows": 7 * ids,
        **{f"{name}_s": np.full(many, 0.01 * (k + 1)) for k, name in enumerate(PHASE_COLUMNS)},
    }
    rows = [
        task
        for k in range(many)
        for task in tasks_of(int(ids[k]), int(started_us[k]), SHAPE if shapes is None else shapes[k])
    ]
    return batches | columns, {name: np.array([row[name] for row in rows]) for name in rows[0]}


def tasks_of(number, started_us, shape):
    """Return the tasks of a micro-batch; every column shows which task it is."""
    for stage, tasks in enumerate(shape):
        for partition in range(tasks):
            mark = 1000 * number + 10 * stage + partition
            yield {
                "batch_id": number, "stage_id": 10 * number + stage, "stage_tasks": tasks, "partition": partition,
                "launched_us": started_us + 100_000 * (stage + 1),
                "finished_us": started_us + 150_000 * (stage + 1) + partition,
                "is_ok": True, "cpu_s": mark / 1e6, "input_rows": mark + 1, "shuffle_read_rows": mark + 2,
                "shuffle_read_bytes": mark + 3, "shuffle_write_rows": mark + 4, "shuffle_write_bytes": mark + 5,
            }  # fmt: skip


def marks(numbers, stage):
    return [[1000 * number + 10 * stage + partition for partition in range(SHAPE[stage])] for number in numbers]


def test_every_stage_has_a_row_per_micro_batch_and_a_column_per_partition_in_any_order_of_the_tables():
    batches, tasks = tables(first_id=3)
    rng = np.random.default_rng(1)
    mixed = [
        {n: c[order] for n, c in t.items()} for t in (batches, tasks) for order in [rng.permutation(len(t["batch_id"]))]
    ]
    sample = make_sample(FACTS, *mixed)
    numbers = range(3, 13)
    assert sample.numbers.tolist() == list(numbers)
    assert (sample.batches, sample.before) == (10, 3)
    assert sample.started_s.tolist() == list(range(10))
    assert sample.events.tolist() == [100 + number for number in numbers]
    assert sample.state_rows.tolist() == [7 * number for number in numbers]
    assert {name: set(values.tolist()) for name, values in sample.phases_s.items()} == {
        name: {0.01 * (k + 1)} for k, name in enumerate(PHASE_COLUMNS)
    }
    assert [stage.tasks for stage in sample.stages] == list(SHAPE)
    for k, stage in enumerate(sample.stages):
        assert (1e6 * stage.cpu_s).tolist() == pytest.approx(np.array(marks(numbers, k)))
        for more, name in enumerate(("input_rows", "read_rows", "read_bytes", "written_rows", "written_bytes"), 1):
            assert (getattr(stage, name) - more).tolist() == marks(numbers, k)
        assert stage.launched_s == pytest.approx(np.full((10, SHAPE[k]), 0.1 * (k + 1)))
        assert stage.wall_s == pytest.approx(0.05 * (k + 1) + 1e-6 * np.tile(np.arange(SHAPE[k]), (10, 1)))


def test_the_rate_is_what_came_in_after_the_first_start_by_the_time_since_then():
    batches, tasks = tables(9, every_s=2.0, events=np.array([999, *[100] * 8]))
    assert make_sample(FACTS, batches, tasks).rate_per_s == 50.0


def test_only_measured_micro_batches_count():
    batches, tasks = tables(12)
    assert joined(FACTS, batches, tasks, range(1, 11)).numbers.tolist() == list(range(1, 11))
    assert joined(FACTS, batches, tasks, {1, 2, 3, 4, 6, 7, 8, 9, 77}).numbers.tolist() == [1, 2, 3, 4, 6, 7, 8, 9]


def test_eight_micro_batches_are_needed_unless_fewer_are_asked_for():
    with pytest.raises(InvalidExperimentError, match=r"only 7 micro-batches .* of at least 8"):
        make_sample(FACTS, *tables(7))
    assert make_sample(FACTS, *tables(8)).batches == 8
    assert make_sample(FACTS, *tables(2), least=2).batches == 2


@pytest.mark.parametrize(("other", "concerned"), [(10, False), (11, True)])
def test_fewer_than_half_of_the_micro_batches_with_the_usual_stages_are_a_concern(other, concerned):
    shapes = [(1,) * (1 + k // 2) for k in range(2, 2 + other)] + [SHAPE] * 10
    sample = make_sample(FACTS, *tables(10 + other, shapes=shapes))
    assert sample.numbers.tolist() == list(range(other, other + 10))
    assert bool(sample.concerns) is concerned
    assert all(f"only 10 of {10 + other} micro-batches of r" in concern for concern in sample.concerns)


def test_a_task_that_ran_twice_leaves_its_micro_batch_out():
    batches, tasks = tables()
    again = np.flatnonzero(tasks["batch_id"] == 4)[:1]
    twice = {name: np.append(column, column[again]) for name, column in tasks.items()}
    assert make_sample(FACTS, batches, twice).numbers.tolist() == [0, 1, 2, 3, 5, 6, 7, 8, 9]


def test_a_micro_batch_without_any_task_is_left_out():
    batches, tasks = tables()
    rest = {name: column[tasks["batch_id"] != 9] for name, column in tasks.items()}
    assert make_sample(FACTS, batches, rest).batches == 9


def late_by(batches, tasks, **facts):
    return make_sample(replace(FACTS, **facts), batches, tasks).between_s.tolist()


def test_the_next_micro_batch_begins_as_late_as_it_does_after_the_end_of_the_one_before():
    batches, tasks = tables(10, every_s=0.7, took_s=0.6)
    assert late_by(batches, tasks) == pytest.approx([0.1] * 10)


def test_a_wait_for_events_a_gap_in_the_numbers_and_the_end_have_the_usual_delay():
    batches, tasks = tables(10, every_s=0.604, took_s=0.6)
    # Nine gaps: the fourth is a pause that is too long, the sixth is one just short enough.
    batches["started_us"][4:] += 247_000
    batches["finished_us"][4:] += 247_000
    batches["started_us"][6:] += 246_000
    batches["finished_us"][6:] += 246_000
    assert late_by(batches, tasks) == pytest.approx([0.004, 0.004, 0.004, 0.004, 0.004, 0.25, *[0.004] * 4])
    batches["started_us"][6:] -= 240_000
    batches["finished_us"][6:] -= 240_000
    skipped = np.where(batches["batch_id"] >= 6, batches["batch_id"] + 1, batches["batch_id"])
    moved = np.where(tasks["batch_id"] >= 6, tasks["batch_id"] + 1, tasks["batch_id"])
    assert late_by(batches | {"batch_id": skipped}, tasks | {"batch_id": moved}) == pytest.approx([0.004] * 10)


@pytest.mark.parametrize(("early_us", "between_s"), [(1000, 0.0), (1001, 0.004)])
def test_a_start_up_to_a_millisecond_early_is_on_time_and_an_earlier_one_says_nothing(early_us, between_s):
    batches, tasks = tables(10, every_s=0.604, took_s=0.6)
    batches["finished_us"][2] = batches["started_us"][3] + early_us
    assert late_by(batches, tasks) == pytest.approx([0.004, 0.004, between_s, *[0.004] * 7])


def test_nothing_known_of_delays_is_five_milliseconds():
    assert late_by(*tables(10, every_s=5.0, took_s=0.6)) == [0.005] * 10


def test_a_trigger_makes_the_next_multiple_of_the_clock_the_time_at_which_it_could_start():
    # Starts are 12 ms after every second; the fifth micro-batch overruns and the sixth follows 30 ms after it.
    batches, tasks = tables(10)
    for name in ("started_us", "emitted_us", "finished_us"):
        batches[name] = batches[name] + 12_000
    batches["finished_us"][4] = batches["started_us"][5] + 70_000
    batches["started_us"][5] += 100_000
    assert late_by(batches, tasks, trigger_s=1.0) == pytest.approx([0.012] * 4 + [0.03] + [0.012] * 5)


def test_watermarks_are_in_seconds_and_unknown_ones_are_no_number():
    seconds = [None, 0, *range(1, 9)]
    watermark_us = np.array([np.nan if s is None else 1_000_000 * s for s in seconds])
    batches, tasks = tables(10, watermark_us=watermark_us)
    # The first micro-batch holds no events, so that the second one has one before it.
    batches["events"][0] = 0
    sample = make_sample(FACTS, batches, tasks)
    nan = float("nan")
    np.testing.assert_array_equal(sample.watermark_s, [nan, *range(1, 9)])
    np.testing.assert_array_equal(sample.watermark_before_s, [nan, nan, *range(1, 8)])
    assert np.isnan(make_sample(FACTS, *tables()).watermark_before_s[0])


@pytest.mark.parametrize(
    ("change", "concerned"), [(None, False), (0.25, False), (-0.25, False), (0.26, True), (-0.26, True)]
)
def test_a_run_that_still_moves_by_more_than_a_quarter_of_its_mean_is_a_concern(change, concerned):
    steady = SteadyState(0, False, "no steady state", change)
    sample = make_sample(FACTS, *tables(), steady=steady)
    assert sample.concerns == (("r has no steady state",) if concerned else ())


def test_times_are_those_of_a_processor_that_nothing_slows_and_everything_else_stays():
    batches, tasks = tables()
    more, more_tasks = tables(2, first_id=10)
    plain = with_explored(make_sample(FACTS, batches, tasks), batches, more, more_tasks)
    assert as_if_quiet(plain) is plain
    twice = as_if_quiet(replace(plain, facts=replace(FACTS, slowdown=2 * QUIET_SLOWDOWN), explored=None))
    assert twice.explored is None
    assert twice.duration_s == pytest.approx(plain.duration_s / 2)
    assert twice.between_s == pytest.approx(plain.between_s / 2)
    assert twice.phases_s["execution"] == pytest.approx(plain.phases_s["execution"] / 2)
    for name in ("launched_s", "finished_s", "cpu_s", "wall_s"):
        assert getattr(twice.stages[1], name) == pytest.approx(getattr(plain.stages[1], name) / 2)
    assert twice.stages[1].read_rows.tolist() == plain.stages[1].read_rows.tolist()
    assert (twice.started_s.tolist(), twice.events.tolist()) == (plain.started_s.tolist(), plain.events.tolist())
    slowed = replace(plain.explored, facts=replace(FACTS, slowdown=2 * QUIET_SLOWDOWN))
    both = as_if_quiet(replace(plain, facts=slowed.facts, explored=slowed))
    assert both.explored.duration_s == pytest.approx(plain.explored.duration_s / 2)


def test_micro_batches_after_the_load_are_taken_when_they_hold_events_and_have_the_same_stages():
    batches, tasks = tables()
    more, more_tasks = tables(4, first_id=10, shapes=[SHAPE, (2,), SHAPE, SHAPE], events=np.array([1, 5, 0, 7]))
    for name in ("started_us", "emitted_us", "finished_us"):
        more[name] = more[name] + 60_000_000
    sample = make_sample(FACTS, batches, tasks)
    found = with_explored(sample, batches, more, more_tasks).explored
    assert found.numbers.tolist() == [10, 13]
    assert found.events.tolist() == [1, 7]
    assert found.started_s.tolist() == [60, 63]
    assert found.stages[1].read_rows.tolist() == [[10012, 10013, 10014], [13012, 13013, 13014]]
    none = more | {"events": np.zeros(4)}
    assert with_explored(sample, batches, none, more_tasks).explored is None
