import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamgauge.measure import account, check_batches

from .samples import make_batch


def healthy(count=5, events=100):
    return [make_batch(k, k * events, (k + 1) * events) for k in range(count)]


def test_e1_a_whole_history_has_no_holes():
    assert check_batches(healthy()) == []


def test_a_history_may_start_in_the_middle_and_hold_empty_batches():
    assert check_batches([make_batch(7, 700, 700), make_batch(8, 700, 900)]) == []


def test_v1_nothing_at_all_is_a_hole():
    assert check_batches([]) == ["no micro-batch was reported"]
    accounting = account(100, [])
    assert (accounting.processed, accounting.in_flight, accounting.lost) == (0, 100, 0)
    assert accounting.reasons == ("no micro-batch was reported",)


def test_v1_a_lost_batch_is_found_by_its_id_and_its_events():
    batches = healthy()
    del batches[2]
    assert check_batches(batches) == [
        "micro-batch 2 is missing",
        "events 200 to 299 are missing between micro-batches 1 and 3",
    ]
    accounting = account(600, batches)
    assert (accounting.processed, accounting.in_flight, accounting.lost) == (400, 100, 100)


def test_e1_several_lost_batches_are_named_as_a_range():
    batches = healthy()
    del batches[1:4]
    assert check_batches(batches)[0] == "micro-batches 1 to 3 are missing"


def test_v1_a_doubled_range_is_found_and_its_events_count_once():
    batches = [make_batch(0, 0, 100), make_batch(1, 0, 100), make_batch(2, 100, 200)]
    assert check_batches(batches) == ["events 0 to 99 are in micro-batch 1 but micro-batch 0 ends after them"]
    assert account(200, batches).processed == 200


def test_v1_a_foreign_range_is_found():
    accounting = account(400, healthy())
    assert accounting.reasons == ("micro-batch 4 holds events [400, 500), but only [0, 400) were offered",)
    assert (accounting.processed, accounting.in_flight, accounting.lost) == (400, 0, 0)


def test_e1_events_lost_before_the_first_batch_are_found():
    accounting = account(500, healthy()[1:])
    assert accounting.reasons == ("events 0 to 99 are missing before micro-batch 1",)
    assert accounting.lost == 100


def test_v1_reordered_batches_are_found():
    batches = healthy(3)
    batches[1], batches[2] = batches[2], batches[1]
    reasons = check_batches(batches)
    assert "micro-batch 1 came after micro-batch 2" in reasons
    assert "micro-batch 1 finished before micro-batch 2" in reasons


def test_a_batch_that_finished_before_its_predecessor_is_found():
    batches = [make_batch(0, 0, 10, started_s=5), make_batch(1, 10, 20, started_s=3)]
    assert check_batches(batches) == ["micro-batch 1 finished before micro-batch 0"]


def test_e1_a_repeat_with_the_same_events_is_allowed_and_counts_once():
    batches = [make_batch(0, 0, 10), make_batch(1, 10, 20), make_batch(1, 10, 20, started_s=3)]
    assert account(20, batches).reasons == ()
    assert account(20, batches).processed == 20


def test_e1_a_repeat_with_other_events_is_found():
    batches = [make_batch(0, 0, 10), make_batch(1, 10, 20), make_batch(1, 10, 25, started_s=3)]
    assert check_batches(batches) == ["micro-batch 1 was repeated with events [10, 25) instead of [10, 20)"]


def test_a_batch_that_ends_before_it_begins_is_found():
    assert check_batches([make_batch(0, 9, 5)]) == ["micro-batch 0 ends at event 5, before its first, 9"]


def test_e1_one_missing_event_is_named_in_the_singular():
    batches = [make_batch(0, 0, 10), make_batch(1, 11, 20)]
    assert check_batches(batches) == ["event 10 is missing between micro-batches 0 and 1"]


@given(st.lists(st.tuples(st.integers(0, 60), st.integers(0, 30)), max_size=8), st.integers(0, 80))
def test_v1_the_account_always_adds_up_and_counts_each_event_once(ranges, offered):
    batches = [make_batch(k, first, first + events) for k, (first, events) in enumerate(ranges)]
    held = {n for first, events in ranges for n in range(first, first + events) if n < offered}
    accounting = account(offered, batches)
    assert accounting.processed == len(held)
    assert accounting.lost >= 0
    assert accounting.in_flight >= 0
    assert accounting.offered == accounting.processed + accounting.in_flight + accounting.lost


@pytest.mark.parametrize("lost", range(1, 4))
def test_e1_any_lost_batch_inside_is_found(lost):
    batches = healthy()
    del batches[lost]
    assert account(500, batches).lost == 100


def test_two_micro_batches_may_finish_in_the_same_instant():
    first, second = make_batch(0, 0, 100, emitted_s=2.0), make_batch(1, 100, 200, emitted_s=2.0)
    assert check_batches([first, second]) == []
    early = make_batch(1, 100, 200, emitted_s=1.999999)
    assert check_batches([first, early]) == ["micro-batch 1 finished before micro-batch 0"]
