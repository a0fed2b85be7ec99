"""The reference does what the tasks say, by counting and by closed forms."""

from dataclasses import replace

import numpy as np
import pytest

from prototype.applications import COPYING, DIAMOND, LINEAR, SLIDING, STAR, TUMBLING, WINDOWS, pipeline, source
from streamgauge.arrivals import Arrivals
from streamgauge.prototype.graph.application import PrototypeTask, TaskWindow
from streamgauge.prototype.parameters import parameters_of
from streamgauge.prototype.reference import component_tuples, expected_tuples, murmur3
from streamgauge.prototype.workload import application_events

EVENTS, PERIOD_US = 4000, 5000


def made(application, seed=1):
    parameters = parameters_of(application)
    stream = application_events(application, parameters)
    arrivals = Arrivals.spaced(np.arange(EVENTS), load_us=1_000_000_000, period_us=PERIOD_US)
    return stream.table(parameters(), seed=seed, arrivals=arrivals)


def leaving(application, seed=1):
    return expected_tuples(made(application, seed), application, seed).to_pandas()


def done(application, name, seed=1):
    return component_tuples(made(application, seed), application, seed)[name]


def test_a_chain_that_only_works_forwards_every_tuple_as_it_is():
    assert expected_tuples(made(LINEAR), LINEAR, 1).equals(made(LINEAR).select(["value", "id", "num", "timestamp"]))


def test_a_tuple_that_takes_both_branches_of_a_diamond_arrives_twice_at_the_join():
    found = leaving(DIAMOND)
    assert found["id"].value_counts().unique().tolist() == [2]
    assert sorted(found["value"].str.len().unique()) == [2, 4]


def test_both_children_of_a_fork_get_the_whole_stream_and_sinks_are_told_apart():
    assert leaving(STAR)["task"].value_counts().to_dict() == {"down": EVENTS, "end": EVENTS}


@pytest.mark.parametrize("share", [0.1, 0.333, 0.9])
def test_a_filter_forwards_its_share_and_another_task_draws_others(share):
    first, second = (PrototypeTask(name, 1, ("source",), filtering=share, processing=0) for name in ("first", "second"))
    kept = [set(leaving(pipeline(source(), task))["id"]) for task in (first, second)]
    spread = 5 * np.sqrt(share * (1 - share) / EVENTS)
    assert all(abs(len(ids) / EVENTS - share) < spread for ids in kept)
    assert abs(len(kept[0] & kept[1]) / EVENTS - share**2) < spread


def test_the_same_seed_drops_the_same_tuples_and_another_seed_others():
    application = pipeline(source(), PrototypeTask("filter", 1, ("source",), filtering=0.5, processing=0))
    same, again, other = (set(leaving(application, seed)["id"]) for seed in (1, 1, 2))
    assert same == again
    assert abs(len(same & other) / EVENTS - 0.25) < 0.05


def test_selectivity_is_the_mean_number_of_copies():
    copies = done(COPYING, "copies")["id"].value_counts()
    assert set(copies) == {2, 3}
    assert abs(copies.mean() - 2.25) < 5 * np.sqrt(0.25 * 0.75 / EVENTS)


def test_a_broadcast_makes_a_copy_for_every_instance():
    assert len(done(COPYING, "everywhere")) == 3 * len(done(COPYING, "copies"))


def test_values_are_cut_and_never_made_longer():
    application = pipeline(
        source(),
        PrototypeTask("cut", 1, ("source",), resized_data=3),
        PrototypeTask("not", 1, ("cut",), resized_data=9),
    )
    assert set(leaving(application)["value"].str.len()) == {3}


def test_tumbling_windows_hold_every_tuple_once_and_give_the_last_one():
    before, windows = done(TUMBLING, "parse"), done(TUMBLING, "window")
    assert windows["count"].sum() == len(before)
    assert windows["earliest"].min() == before["timestamp"].min()
    ends_us = (windows["timestamp"] + 1).unique()
    assert set(ends_us % 3_000_000) == {0}
    first_end_us = ends_us.min()
    inside = before[before["timestamp"] < first_end_us].assign(
        instance=lambda one: [murmur3(value.encode()) % 3 for value in one["value"]]
    )
    groups = inside.groupby("instance")
    found = windows[windows["timestamp"] == first_end_us - 1].sort_values("id")
    assert found["count"].tolist() == groups.size()[groups["id"].max().sort_values().index].tolist()
    assert found["id"].tolist() == sorted(groups["id"].max())
    assert found["value"].tolist() == before.loc[found["id"], "value"].tolist()


def test_a_tuple_is_in_every_sliding_window_over_its_time():
    windows = done(SLIDING, "window")
    # Windows of 5 s every 2 s: tuples of every first second are in three, those of every other in two.
    arrived = done(SLIDING, "source")["timestamp"]
    expected = sum(3 if time_us // 1_000_000 % 2 == 0 else 2 for time_us in arrived)
    assert windows["count"].sum() == expected
    assert set(windows["value"].str.len()) == {3}


def test_a_window_of_windows_counts_their_results_and_keeps_the_earliest_time_of_a_source():
    inner, outer = done(WINDOWS, "window"), done(WINDOWS, "longer")
    assert outer["count"].sum() == len(inner)
    assert outer["earliest"].min() == done(WINDOWS, "source")["timestamp"].min()


def test_results_of_windows_and_other_tuples_leave_together():
    found = leaving(WINDOWS)
    assert found[found["task"] == "beside"]["count"].isna().all()
    assert found[found["task"] == "longer"]["count"].notna().all()


def test_a_window_of_each_value_has_one_tuple_per_value():
    window = replace(TUMBLING.tasks[1], window=TaskWindow("tumbling", 3, 3, "value"))
    application = pipeline(source(), TUMBLING.tasks[0], window)
    found = leaving(application)
    assert found.groupby(["timestamp", "value"]).size().max() == 1
    assert found["count"].sum() == EVENTS


def test_a_windowed_task_does_not_filter():
    (window,) = SLIDING.tasks
    filtering = pipeline(source(), replace(window, filtering=0.01))
    assert len(leaving(filtering)) == len(leaving(SLIDING))


def test_the_hash_of_a_text_is_that_of_spark():
    # From Spark's own documentation and tests of `hash`.
    assert murmur3(b"Spark") == 228093765
