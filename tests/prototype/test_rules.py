"""NAMB's rules give the numbers of the thesis, and keep their promises for all others."""

from itertools import pairwise
from math import prod

import pytest

from streamgauge.prototype.file.rules import (
    component_levels,
    component_parents,
    filter_level,
    is_routed_first,
    spread_parallelism,
    spread_work,
    window_place,
)

VARIABILITIES = (0.1, 0.3, 0.5, 0.7, 0.9)


def numbers(text: str) -> tuple[int, ...]:
    return tuple(map(int, text.split()))


# Components, instances, and how they are spread with a variability of 0.5.
SPREADS = [
    (5, 18, "4 4 4 3 3", "2 3 4 4 5", "5 4 4 3 2", "2 3 6 5 2"),
    (6, 24, "4 4 4 4 4 4", "2 3 4 5 5 5", "5 5 5 4 3 2", "2 3 4 7 6 2"),
    (4, 96, "24 24 24 24", "12 19 25 40", "40 25 19 12", "12 20 40 24"),
    (3, 10, "4 3 3", "2 3 5", "5 3 2", "2 4 4"),
    (5, 10, "2 2 2 2 2", "1 2 2 2 3", "3 2 2 2 1", "1 2 3 3 1"),
    (5, 19, "4 4 4 4 3", "2 3 4 5 5", "5 5 4 3 2", "2 3 7 5 2"),
    (6, 19, "4 3 3 3 3 3", "2 2 3 4 4 4", "4 4 4 3 2 2", "2 2 4 5 4 2"),
]


@pytest.mark.parametrize(("components", "total", "balanced", "increasing", "decreasing", "pyramid"), SPREADS)
def test_instances_are_spread_as_in_the_thesis(components, total, balanced, increasing, decreasing, pyramid):
    assert spread_parallelism(total, components) == numbers(balanced)
    assert spread_parallelism(total, components, "increasing") == numbers(increasing)
    assert spread_parallelism(total, components, "decreasing") == numbers(decreasing)
    assert spread_parallelism(total, components, "pyramid") == numbers(pyramid)


@pytest.mark.parametrize(
    ("variability", "expected"),
    [
        (0.1, "3 3 4 4 4"),
        (0.2, "3 3 4 4 4"),
        (0.3, "3 3 4 4 4"),
        (0.5, "2 3 4 4 5"),
        (0.7, "1 3 3 4 7"),
        (0.9, "1 2 3 5 7"),
    ],
)
def test_a_larger_variability_spreads_instances_further(variability, expected):
    assert spread_parallelism(18, 5, "increasing", variability) == numbers(expected)


@pytest.mark.parametrize("components", range(2, 13))
def test_all_instances_are_spread_in_the_promised_order(components):
    for total in range(components, 81):
        balanced = spread_parallelism(total, components)
        assert max(balanced) - min(balanced) <= 1
        assert list(balanced) == sorted(balanced, reverse=True)
        for variability in VARIABILITIES:
            increasing = spread_parallelism(total, components, "increasing", variability)
            pyramid = spread_parallelism(total, components, "pyramid", variability)
            assert list(increasing) == sorted(increasing)
            assert spread_parallelism(total, components, "decreasing", variability) == increasing[::-1]
            top = pyramid.index(max(pyramid))
            assert list(pyramid[: top + 1]) == sorted(pyramid[: top + 1])
            assert list(pyramid[top:]) == sorted(pyramid[top:], reverse=True)
            for spread in (balanced, increasing, pyramid):
                assert len(spread) == components
                assert sum(spread) == total
                assert min(spread) >= 1


@pytest.mark.parametrize(
    ("balancing", "loads"),
    [
        ("balanced", (10, 10, 10, 10)),
        ("increasing", (10, 12, 14.4, 17.28)),
        ("decreasing", (10, 8, 6.4, 5.12)),
        ("pyramid", (10, 12, 9.6, 7.68)),
    ],
)
def test_the_load_goes_on_as_in_the_thesis(balancing, loads):
    assert spread_work(10.0, 4, balancing) == loads


def test_the_load_is_no_total_but_that_of_the_first_task():
    assert spread_work(3.0, 5, "decreasing") == (3.0, 2.4, 1.92, 1.536, 1.2288)
    assert spread_work(7.0, 1, "pyramid") == (7.0,)


def test_a_pyramid_of_loads_rises_to_the_middle_and_falls_from_there():
    for tasks in range(1, 30):
        loads = spread_work(5.0, tasks, "pyramid")
        steps = [round(after / before, 6) for before, after in pairwise(loads)]
        top = (tasks - 1) // 2
        assert steps == [1.2] * top + [0.8] * (tasks - 1 - top)
        assert loads[-1] == pytest.approx(5.0 * prod(steps))


@pytest.mark.parametrize(
    ("shape", "depth", "widths"),
    [
        ("linear", 2, "1 1"),
        ("linear", 5, "1 1 1 1 1"),
        ("diamond", 3, "1 2 1"),
        ("diamond", 5, "1 2 1 1 1"),
        ("star", 3, "2 1 2"),
        ("star", 5, "2 1 2 1 1"),
    ],
)
def test_levels_are_as_wide_as_the_shape_says(shape, depth, widths):
    levels = component_levels(shape, depth)
    assert tuple(levels.count(level) for level in range(1, depth + 1)) == numbers(widths)
    assert list(levels) == sorted(levels)


@pytest.mark.parametrize(("shape", "sources", "tasks"), [("linear", 1, -1), ("diamond", 1, 0), ("star", 2, 0)])
def test_a_shape_has_as_many_components_as_its_depth_says(shape, sources, tasks):
    for depth in range(3, 30):
        parents = component_parents(shape, depth)
        assert [bool(names) for names in parents] == [False] * sources + [True] * (depth + tasks)


def test_a_diamond_joins_both_branches_in_the_third_level():
    assert component_parents("diamond", 5) == ((), (0,), (0,), (1, 2), (3,), (4,))


def test_the_chain_of_a_star_goes_on_from_its_upper_branch():
    parents = component_parents("star", 5)
    assert parents == ((), (), (0, 1), (2,), (2,), (3,), (5,))
    sinks = set(range(7)) - {parent for names in parents for parent in names}
    assert sinks == {4, 6}


@pytest.mark.parametrize(("depth", "level"), [(2, 2), (3, 2), (4, 2), (5, 2), (6, 3), (7, 3), (8, 4), (20, 10)])
def test_the_middle_level_filters_but_never_the_sources(depth, level):
    assert filter_level(depth) == level


def test_windows_are_at_the_second_task_of_a_chain():
    assert [window_place(component_levels("linear", depth)) for depth in (2, 3, 4, 9)] == [1, 2, 2, 2]


def test_windows_are_at_the_join_of_a_diamond_and_at_the_upper_branch_of_a_star():
    assert window_place(component_levels("diamond", 4)) == 3
    assert window_place(component_levels("star", 4)) == 3


def test_only_edges_from_sources_and_into_the_join_are_routed_first():
    levels = range(2, 6)
    assert [level for level in levels if is_routed_first("linear", level)] == [2]
    assert [level for level in levels if is_routed_first("diamond", level)] == [2, 3]
    assert [level for level in levels if is_routed_first("star", level)] == [2]
