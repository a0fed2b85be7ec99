"""The stages of a query, told from runs of a few micro-batches whose tables are written by hand."""

from dataclasses import replace

import numpy as np
import pytest

from streamgauge.model import OutputCurve, RunFacts
from streamgauge.model.sample import PHASE_COLUMNS, RunSample, StageSample
from streamgauge.model.structure import Structure, _explained, _fit_curve

EVENTS = np.array([1000.0, 2000.0, 3000.0, 4000.0, 5000.0, 6000.0])


def split(total, tasks):
    """Return rows of all tasks of a stage, per micro-batch, as a column per task."""
    return np.repeat(np.asarray(total, dtype=np.float64)[:, np.newaxis] / tasks, tasks, axis=1)


def stage(*, read=None, written=None, rows=None, tasks=2, cpu_s=0.1, from_s=1.0, until_s=2.0, row_bytes=10.0, many=6):
    """Return a stage that reads and writes these totals per micro-batch."""
    read, written, rows = (np.zeros(many) if total is None else np.asarray(total) for total in (read, written, rows))
    shape = np.ones((many, tasks))
    return StageSample(
        launched_s=np.broadcast_to(np.reshape(from_s, (-1, 1)), (many, tasks)) * shape,
        finished_s=np.broadcast_to(np.reshape(until_s, (-1, 1)), (many, tasks)) * shape,
        cpu_s=cpu_s * shape,
        input_rows=split(rows, tasks),
        read_rows=split(read, tasks),
        read_bytes=split(read * row_bytes, tasks),
        written_rows=split(written, tasks),
        written_bytes=split(written * row_bytes, tasks),
    )


def run(*stages, events=EVENTS, run_id="r", every_s=1.0, state=None, watermark_s=None, **facts):
    """Return a run with these stages, whose micro-batches start one after the other."""
    many = len(events)
    chosen = {"cores": 2, "processors": 2, "trigger_s": 0.0, "source_partitions": 2, "shuffle_partitions": 2} | facts
    watermark_s = np.full(many, np.nan) if watermark_s is None else np.asarray(watermark_s, dtype=np.float64)
    return RunSample(
        facts=RunFacts(run_id, "made-up", **chosen),
        numbers=np.arange(many, dtype=np.float64),
        started_s=every_s * np.arange(many),
        events=np.asarray(events, dtype=np.float64),
        duration_s=np.ones(many),
        phases_s={name: np.zeros(many) for name in PHASE_COLUMNS},
        between_s=np.zeros(many),
        watermark_s=watermark_s,
        watermark_before_s=np.append(np.nan, watermark_s[:-1]),
        state_rows=np.zeros(many) if state is None else np.asarray(state, dtype=np.float64),
        stages=stages,
    )


def source(**changes):
    return stage(**({"rows": EVENTS, "written": EVENTS / 2} | changes))


def test_a_stage_reads_those_that_wrote_what_it_read():
    # Some micro-batches of the first stage write nothing, and the last stage joins two others.
    some = np.array([0.0, 50.0, 0.0, 70.0, 30.0, 0.0])
    stages = (source(), stage(rows=EVENTS, written=some), stage(read=some), stage(read=EVENTS / 2 + some))
    found = Structure([run(*stages)], None)
    assert found.reads == [(), (), (1,), (0, 1)]
    assert found.notes == []


def test_of_stages_that_wrote_the_same_the_latest_is_read():
    found = Structure([run(source(), stage(read=EVENTS / 2, written=EVENTS / 2), stage(read=EVENTS / 2))], None)
    assert found.reads == [(), (0,), (1,)]


@pytest.mark.parametrize(("share", "reads"), [(1.01, (0,)), (0.99, (0,)), (1.012, ()), (0.988, ())])
def test_a_hundredth_of_the_rows_may_be_missing(share, reads):
    read = EVENTS / 2
    found = Structure([run(source(written=read * (1 + (share - 1) * 0.999)), stage(read=read))], None)
    assert found.reads[1] == reads
    assert found.notes == ([] if reads else ["what stage 2 reads is taken to grow with the events"])


def test_four_stages_are_not_added_up():
    parts = [source(written=EVENTS / k) for k in (2, 3, 5, 7)]
    three, four = (sum(EVENTS / k for k in kinds) for kinds in ((2, 3, 5), (2, 3, 5, 7)))
    assert Structure([run(*parts, stage(read=three))], None).reads[-1] == (0, 1, 2)
    assert Structure([run(*parts, stage(read=four))], None).reads[-1] == ()


def test_a_source_reads_what_grows_with_the_events_and_a_table_does_not():
    table = stage(rows=np.full(6, 500.0), cpu_s=9.0)
    shuffled = stage(read=EVENTS / 2, rows=EVENTS)
    found = Structure([run(table, source(), shuffled)], None)
    assert found.sources == [False, True, False]
    assert [found.kind(k) for k in range(3)] == ["table", "source", "shuffle"]


def test_rows_that_vary_without_the_events_are_no_source():
    odd = stage(rows=[9.0, 1.0, 9.0, 1.0, 1.0, 9.0], cpu_s=9.0)
    assert Structure([run(odd, source())], None).sources == [False, True]


def test_where_micro_batches_are_alike_the_stage_that_works_most_is_the_source():
    alike = np.full(6, 1000.0)
    stages = [stage(rows=alike, cpu_s=cpu_s) for cpu_s in (0.1, 0.3, 0.2)]
    assert Structure([run(*stages, events=alike)], None).sources == [False, True, False]
    # What reads a shuffle works more, and is no source.
    reader = stage(read=alike, rows=alike, cpu_s=5.0)
    assert Structure([run(*stages, reader, events=alike)], None).sources == [False, True, False, False]


@pytest.mark.parametrize(("row_bytes", "unit"), [(4096.0, "rows"), (4097.0, "bytes")])
def test_fat_rows_are_counted_by_their_bytes(row_bytes, unit):
    stages = source(row_bytes=row_bytes), stage(read=EVENTS / 2, row_bytes=row_bytes)
    found = Structure([run(*stages)], None)
    assert found.units == ["rows", unit]
    size = EVENTS / 2 * (row_bytes if unit == "bytes" else 1)
    assert found.data[1].size == pytest.approx(np.repeat(size / 2, 2))
    # What the first stage writes is counted as its reader counts it.
    assert found.data[0].written == pytest.approx(np.repeat(size / 2, 2))


def test_every_task_of_every_run_has_an_entry():
    first = run(source(tasks=2), run_id="a", state=EVENTS)
    more = replace(run(source(tasks=2), run_id="a"), explored=None)
    other = run(source(tasks=3), run_id="b", cores=4, processors=8)
    found = Structure([first, more, other], None)
    assert (found.batches, found.processes, found.processors, found.is_stateful) == (18, 2, 8, True)
    assert found.run.tolist() == [0] * 6 + [1] * 6 + [2] * 6
    assert found.process.tolist() == [0] * 12 + [1] * 6
    assert np.flatnonzero(found.is_new).tolist() == [0, 6, 12]
    assert found.cores.tolist() == [2] * 12 + [4] * 6
    data = found.data[0]
    assert data.batch.tolist() == [k for k in range(12) for _ in range(2)] + [
        k for k in range(12, 18) for _ in range(3)
    ]
    assert data.tasks.tolist() == [2] * 24 + [3] * 18
    assert data.size == pytest.approx(np.concatenate([np.repeat(EVENTS / 2, 2)] * 2 + [np.repeat(EVENTS / 3, 3)]))
    assert data.state == pytest.approx(np.concatenate([np.repeat(EVENTS / 2, 2), np.zeros(12 + 18)]))
    assert data.wall_s.tolist() == [1.0] * 42
    assert data.sums(data.size, 18) == pytest.approx(np.tile(EVENTS, 3))
    assert [rows.tolist() for rows in found.source_rows()] == [
        (EVENTS / 2).tolist(), (EVENTS / 2).tolist(), (EVENTS / 3).tolist(),
    ]  # fmt: skip


def test_rows_of_a_source_that_are_no_events_are_an_even_share_of_them():
    chunks = replace(source(), input_rows=np.tile([1.0, 3.0], (6, 1)) * np.arange(1, 7)[:, np.newaxis])
    found = Structure([run(chunks)], None)
    assert found.data[0].size == pytest.approx(np.repeat(EVENTS / 2, 2))
    assert found.shares(0) == (0.5, 0.5)
    skewed = replace(source(), input_rows=np.stack([EVENTS * 0.75, EVENTS * 0.25], axis=1))
    assert Structure([run(skewed)], None).shares(0) == (0.75, 0.25)


def test_shares_are_those_of_the_run_with_most_partitions():
    coarse = run(source(), stage(read=EVENTS / 2))
    rows = np.outer(EVENTS / 2, [0.5, 0.3, 0.2])
    fine = run(source(), replace(stage(read=EVENTS / 2, tasks=3), read_rows=rows), shuffle_partitions=3)
    found = Structure([coarse, fine, coarse], None)
    assert found.shares(1) == pytest.approx((0.5, 0.3, 0.2))
    assert found.tasks(1) == "shuffle"
    assert Structure([run(source(), stage())], None).shares(1) == ()


@pytest.mark.parametrize(("early", "after"), [(0, (0,)), (1, (0,)), (2, ())])
def test_a_stage_comes_after_those_that_have_ended_when_it_starts_nine_times_of_ten(early, after):
    many = 10
    events = np.linspace(1000.0, 2000.0, many)
    # Two milliseconds before the end are still after it.
    from_s = np.where(np.arange(many) < early, 1.997, 1.9981)
    first, second = stage(rows=events, many=many), stage(many=many, from_s=from_s, until_s=3.0)
    assert Structure([run(first, second, events=events)], None).after(1) == after


def test_a_stage_comes_after_what_it_reads_whatever_the_clocks_say():
    stages = source(), stage(read=EVENTS / 2, from_s=0.5), stage(from_s=5.0, until_s=6.0)
    found = Structure([run(*stages)], None)
    assert [found.after(k) for k in range(3)] == [(), (0,), (0, 1)]


@pytest.mark.parametrize(
    ("counts", "cores", "sources", "shuffles", "expected", "noted"),
    [
        ((2, 3), (4, 4), (5, 5), (2, 3), "shuffle", False),
        ((2, 3), (4, 4), (2, 3), (5, 5), "source", False),
        ((2, 3), (2, 3), (2, 4), (5, 5), "cores", False),
        # The likely setting wins where several agree.
        ((2, 3), (2, 3), (2, 3), (2, 3), "shuffle", False),
        ((7, 7), (2, 3), (2, 3), (2, 3), 7, False),
        ((7, 6, 6), (2, 3, 4), (2, 3, 4), (2, 3, 4), 6, True),
    ],
)
def test_the_number_of_tasks_goes_by_the_setting_with_which_it_agrees(
    counts, cores, sources, shuffles, expected, noted
):
    runs = [
        run(source(), stage(read=EVENTS / 2, tasks=tasks), cores=c, source_partitions=s, shuffle_partitions=p)
        for tasks, c, s, p in zip(counts, cores, sources, shuffles, strict=True)
    ]
    found = Structure(runs, None)
    assert found.tasks(1) == expected
    assert bool(found.notes) is noted


def test_a_source_or_a_table_has_tasks_by_partitions_or_cores_where_several_settings_agree():
    found = Structure([run(source(), stage())], None)
    assert (found.tasks(0), found.tasks(1)) == ("source", "cores")


def test_rows_in_state_grow_with_the_rate():
    quick = run(source(), state=[300.0] * 6, every_s=1.0)
    slow = run(source(), state=[100.0] * 6, every_s=3.0)
    found = Structure([quick, slow], None).state()
    assert found.retention_s == 1.0
    assert found.rows([quick.rate_per_s, slow.rate_per_s]) == pytest.approx([300, 100], rel=0.02)
    assert Structure([run(source())], None).state().rows(1000.0) == 0.0


# Windows.

CLOSING_S = np.array([0.5, 1.5, 2.5, 3.5, 4.5, 5.5, 6.5, 7.5, 8.5, 9.5])


def windowed(rate_per_s=1000.0, rows=50.0, *, slide_s=2.0, noise=0.0, **facts):
    """Return a run whose second stage writes some rows for every window that a watermark closes."""
    events = rate_per_s * np.where(np.arange(10) % 3, 1.02, 0.96)
    before_s = np.append(np.nan, CLOSING_S[:-1])
    closed = np.nan_to_num(np.floor(CLOSING_S / slide_s) - np.floor(before_s / slide_s))
    wobble = noise * np.array([1, -1, 1, 1, -1, 1, -1, -1, 1, -1])
    written = rows * closed + wobble
    first = stage(rows=events, written=events, many=10)
    return run(first, stage(read=events, written=written, many=10), events=events, watermark_s=CLOSING_S, **facts)


@pytest.mark.parametrize("slide_s", [2.0, 3.0, 4.0])
def test_the_slide_is_the_one_that_explains_when_rows_are_written(slide_s):
    found = Structure([windowed(slide_s=slide_s)], None)
    assert found.slide_s == slide_s
    assert found.output(0) == (found.curves[0], None)
    rows, closing = found.output(1)
    assert rows == OutputCurve(0.0)
    # A second of the run has about 1000 events.
    assert closing(slide_s * found.samples[0].rate_per_s) == pytest.approx(50.0)


def test_a_slide_that_explains_too_little_is_none():
    assert Structure([windowed(noise=20.0)], None).slide_s is None
    assert Structure([windowed(noise=20.0)], None).output(1)[1] is None


def test_a_slide_that_is_known_is_believed_and_one_that_is_asked_for_more_so():
    known = windowed(noise=20.0, slide_s=2.0)
    stored = replace(known, facts=replace(known.facts, slide_s=4.0))
    assert Structure([stored], None).slide_s == 4.0
    assert Structure([stored], 2.0).slide_s == 2.0
    assert Structure([stored], 2.0).output(1)[1] is not None


def test_rows_that_go_by_what_is_read_are_not_those_of_windows():
    events = np.array([100.0, 900.0] * 5)
    stages = stage(rows=events, written=events, many=10), stage(read=events, written=events / 2, many=10)
    found = Structure([run(*stages, events=events, watermark_s=CLOSING_S)], 2.0)
    curve, closing = found.output(1)
    assert closing is None
    assert curve.per_row == pytest.approx(0.5)


@pytest.mark.parametrize(("second", "expected"), [(2000.0, 100.0), (1000.0, 100.0)])
def test_windows_of_runs_at_two_rates_have_rows_by_the_events_of_a_slide(second, expected):
    both = [windowed(1000.0, 50.0), windowed(second, 0.05 * second)]
    _, closing = Structure(both, None).output(1)
    assert closing(2 * 2000.0) == pytest.approx(expected, rel=0.05)


def test_windows_at_one_rate_have_a_level_number_of_rows_where_all_keys_are_met():
    met = windowed(1000.0, 50.0)
    # Tasks of the source write 40 rows each, whatever they read.
    level = replace(met.stages[0], written_rows=split(np.full(10, 80.0), 2))
    fewer = replace(met.stages[1], read_rows=split(np.full(10, 80.0), 2))
    _, closing = Structure([replace(met, stages=(level, fewer))], None).output(1)
    assert closing([2000.0, 20_000.0]) == pytest.approx([50.0, 50.0], rel=0.01)
    _, straight = Structure([met], None).output(1)
    assert straight(20_000.0) == pytest.approx(500.0, rel=0.05)


# Curves.


def test_a_line_through_the_origin_explains_what_it_leaves_of_the_variance():
    x, y = np.array([1.0, 2.0, 3.0]), np.array([1.0, 2.0, 6.0])
    slope = (x @ y) / (x @ x)
    expected = 1 - ((y - slope * x) ** 2).sum() / ((y - 3.0) ** 2).sum()
    assert _explained(x, y) == pytest.approx(expected)
    assert _explained(x, 2 * x) == 1.0
    assert _explained(x, np.full(3, 2.0)) == 0.0
    assert _explained(np.zeros(3), y) == 0.0


def test_a_stage_that_writes_or_reads_nothing_has_no_curve():
    assert _fit_curve(np.array([1.0, 2.0]), np.zeros(2)) == OutputCurve(0.0)
    assert _fit_curve(np.zeros(2), np.array([1.0, 2.0])) == OutputCurve(0.0)


def test_rows_of_tasks_that_read_nothing_do_not_count():
    rows, written = np.array([0.0, 100.0, 0.0, 200.0]), np.array([7.0, 50.0, 9.0, 100.0])
    assert _fit_curve(rows, written) == OutputCurve(0.5)


def test_rows_that_do_not_vary_with_those_read_say_where_the_curve_ends():
    rows = np.array([100.0, 400.0, 900.0, 1600.0])
    curve = _fit_curve(rows, np.array([50.0, 50.0, 51.0, 51.0]))
    assert curve.most == pytest.approx(50.5)
    assert curve([400.0, 1600.0]) == pytest.approx([50.5, 50.5], rel=0.05)
    # It begins ten times as steep as a line.
    assert curve.per_row == pytest.approx(10 * 152_500 / 3_540_000)


@pytest.mark.parametrize(("widest", "is_bent"), [(118.0, False), (160.0, True)])
def test_a_bend_is_only_seen_where_rows_vary(widest, is_bent):
    true = OutputCurve(1.0, 60.0)
    rows = np.linspace(90.0, widest, 50)
    # The noise keeps rows out from being level.
    curve = _fit_curve(rows, true(rows) * np.where(np.arange(50) % 2, 1.05, 0.95))
    assert bool(np.isfinite(curve.most)) is is_bent


@pytest.mark.parametrize("true", [OutputCurve(0.8, 500.0), OutputCurve(2.0, 3000.0), OutputCurve(0.3)])
def test_a_curve_that_was_planted_is_found_again(true):
    rows = np.linspace(10.0, 2000.0, 1000)
    found = _fit_curve(rows, true(rows))
    assert found(rows) == pytest.approx(true(rows), rel=0.05, abs=5.0)
    assert bool(np.isfinite(found.most)) is bool(np.isfinite(true.most))


def test_a_stage_that_reads_a_shuffle_now_and_then_is_no_source():
    some = np.array([0.0, 50.0, 0.0, 70.0, 30.0, 0.0])
    assert Structure([run(source(written=some), stage(read=some, rows=EVENTS))], None).sources == [True, False]


@pytest.mark.parametrize(("noise", "is_source"), [(1.5, True), (6.0, False)])
def test_rows_of_a_source_may_scatter_around_the_events(noise, is_source):
    rng = np.random.default_rng(1)
    events = rng.uniform(1000.0, 2000.0, 400)
    rows = 1e5 + events + noise * events.std() * rng.standard_normal(400)
    busy = stage(rows=np.full(400, 5.0), cpu_s=9.0, many=400)
    found = Structure([run(stage(rows=rows, many=400), busy, events=events)], None)
    # Correlations of 0.55 and 0.16; without a source that is seen, the busy stage is one.
    assert found.sources == [is_source, not is_source]


@pytest.mark.parametrize(("rows", "shares"), [(101.0, (0.75, 0.25)), (102.0, (0.5, 0.5)), (99.0, (0.75, 0.25))])
def test_rows_of_a_source_are_events_when_their_number_is_the_same_within_a_hundredth(rows, shares):
    alike = np.full(6, 100.0)
    skewed = replace(stage(rows=alike), input_rows=np.outer(np.full(6, rows), [0.75, 0.25]))
    assert Structure([run(skewed, events=alike)], None).shares(0) == shares


def test_where_every_stage_reads_a_shuffle_the_first_stands_for_the_source():
    found = Structure([run(stage(read=EVENTS, tasks=4), stage(read=EVENTS, tasks=3))], None)
    assert found.sources == [False, False]
    assert found.source_rows()[0].tolist() == (EVENTS / 4).tolist()


@pytest.mark.parametrize("known", [True, False])
def test_windows_must_explain_twice_as_much_as_rows_unless_their_slide_is_known(known):
    # What is written goes by what is read as well as by the windows that close.
    closed = np.array([0.0, 0, 1, 0, 1, 0, 1, 0, 1, 0])
    wobble = np.array([1.0, -1, 1, 1, -1, 1, -1, -1, 1, -1])
    read = 1000 * closed + 12 * wobble + 30
    written = 50 * closed + 0.8 * np.roll(wobble, 2) + 0.6 * wobble
    events = read
    stages = stage(rows=events, written=read, many=10), stage(read=read, written=np.maximum(written, 0), many=10)
    made = run(*stages, events=events, watermark_s=CLOSING_S)
    found = Structure([made], 2.0 if known else None)
    assert found.slide_s == 2.0
    assert (found.output(1)[1] is not None) is known


def test_rows_in_state_that_do_not_grow_with_the_rate_are_level():
    quick, slow = (run(source(), state=[100.0] * 6, every_s=every_s) for every_s in (1.0, 3.0))
    found = Structure([quick, slow], None).state()
    assert found.rows([quick.rate_per_s, slow.rate_per_s]) == pytest.approx([100, 100], rel=0.02)
