"""NAMB's rules: how a shape, a number of instances and CPU work become components.

Components are numbered level by level, sources first; places count from 0 and levels from 1.
A. Pagliari, "Evaluating the impact of streaming systems design on application performance", Université Côte d'Azur,
2021, sections 4.3 to 4.6.
"""

from collections.abc import Sequence
from math import ceil
from typing import Literal

Shape = Literal["linear", "diamond", "star"]
Balancing = Literal["balanced", "increasing", "decreasing", "pyramid"]

LEAST_DEPTH: dict[Shape, int] = {"linear": 2, "diamond": 3, "star": 3}
_WIDE_LEVELS: dict[Shape, tuple[int, ...]] = {"linear": (), "diamond": (2,), "star": (1, 3)}
_VARIABILITY_DECAY = 0.7
_RISE, _FALL = 1.2, 0.8
# CPU work keeps a millionth of a cycle, so that 10 * 1.2 * 1.2 is 14.4.
_WORK_DIGITS = 9


def component_levels(shape: Shape, depth: int) -> tuple[int, ...]:
    """Return the level of each component.

    >>> component_levels("star", 4)
    (1, 1, 2, 3, 3, 4)
    """
    wide = _WIDE_LEVELS[shape]
    return tuple(level for level in range(1, depth + 1) for _ in range(2 if level in wide else 1))


def component_parents(shape: Shape, depth: int) -> tuple[tuple[int, ...], ...]:
    """Return for each component those whose tuples it gets.

    A level gets the tuples of all components of the level before, except that the lower branch of a star ends there.

    >>> component_parents("diamond", 4)
    ((), (0,), (0,), (1, 2), (3,))
    >>> component_parents("star", 4)
    ((), (), (0, 1), (2,), (2,), (3,))
    """
    levels = component_levels(shape, depth)
    parents = []
    for level in levels:
        before = tuple(place for place, other in enumerate(levels) if other == level - 1)
        parents.append(before[:1] if shape == "star" and level == 4 else before)
    return tuple(parents)


def spread_parallelism(
    total: int, components: int, balancing: Balancing = "balanced", variability: float = 0.5
) -> tuple[int, ...]:
    """Spread instances over components, one each at least; `total` is not below `components`.

    >>> spread_parallelism(18, 5, "increasing"), spread_parallelism(18, 5, "pyramid")
    ((2, 3, 4, 4, 5), (2, 3, 6, 5, 2))
    """
    if balancing == "balanced":
        each, more = divmod(total, components)
        return tuple(each + (place < more) for place in range(components))
    if balancing == "pyramid":
        return tuple(_pyramid(total, components, variability))
    increasing = _increasing(total, components, variability)
    return tuple(increasing if balancing == "increasing" else reversed(increasing))


def _increasing(total: int, components: int, variability: float) -> list[int]:
    """Take a share from all slots and give it back to those behind, again and again with a smaller share."""
    slots = [total // components] * components
    carry = 0
    for first in range(components):
        for place in range(first, components):
            slots[place] = max(1, ceil((slots[place] + carry) * (1 - variability)))
        behind = components - 1 - first
        carry = (total - sum(slots)) // behind if behind else 0
        variability *= _VARIABILITY_DECAY
    slots[-1] += total - sum(slots)
    return slots


def _pyramid(total: int, components: int, variability: float) -> list[int]:
    pivot = components // 2
    if components == pivot + 1:
        return _increasing(total, components, variability)
    rising = total // components * (pivot + 1)
    falling = total - rising
    if falling > rising:
        rising, falling = falling, rising
    elif falling == rising:
        rising, falling = rising + 1, falling - 1
    slots = _increasing(rising, pivot + 1, variability)
    slots += reversed(_increasing(falling, components - pivot - 1, variability))
    for place in range(pivot, components - 1):
        if slots[place] >= slots[place + 1]:
            break
        slots[place], slots[place + 1] = slots[place + 1], slots[place]
    return slots


def spread_work(base: float, tasks: int, balancing: Balancing = "balanced") -> tuple[float, ...]:
    """Return the CPU work of each task; `base` is that of the first.

    >>> spread_work(10.0, 4, "decreasing"), spread_work(10.0, 4, "pyramid")
    ((10.0, 8.0, 6.4, 5.12), (10.0, 12.0, 9.6, 7.68))
    """
    rises = {"balanced": 0, "increasing": tasks, "decreasing": 0, "pyramid": (tasks - 1) // 2}[balancing]
    factor = 1.0 if balancing == "balanced" else _FALL
    work = [base * _RISE ** min(place, rises) * factor ** max(0, place - rises) for place in range(tasks)]
    return tuple(round(one, _WORK_DIGITS) for one in work)


def filter_level(depth: int) -> int:
    """Return the level whose tasks filter: the middle one, but no source.

    >>> [filter_level(depth) for depth in (2, 3, 4, 6, 8, 9)]
    [2, 2, 2, 3, 4, 4]
    """
    return max(2, depth // 2)


def window_place(levels: Sequence[int]) -> int:
    """Return which component windows: the first of level 3, or of level 2 where there is no other.

    >>> window_place(component_levels("diamond", 3)), window_place(component_levels("linear", 2))
    (3, 1)
    """
    return levels.index(min(3, max(levels)))


def is_routed_first(shape: Shape, level: int) -> bool:
    """Return whether tuples are redistributed before a level when only the first edges are routed.

    These are the edges from sources, and those into the join of a diamond; all others stay direct, to keep chains.
    """
    return level == 2 or (shape == "diamond" and level == 3)
