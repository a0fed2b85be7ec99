"""Where components stand when an application is drawn: levels one way, lanes the other.

A layered drawing after Sugiyama, Tagawa and Toda (1981). An edge that skips levels passes them on a lane of its own;
barycentres order the lanes, and every lane goes to the mean of those that it is connected with.
"""

from bisect import bisect_right, insort
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from math import floor

from streamgauge.prototype.graph.application import Application

ORDERING_SWEEPS = 8
PLACING_SWEEPS = 4


@dataclass(frozen=True)
class Node:
    """A place in the drawing: a component, or a level that the tuples of the component pass on their way.

    `lane` counts from 0 in halves.
    """

    name: str
    level: int
    lane: float
    is_passed: bool = False


@dataclass(frozen=True)
class Net:
    """Nodes of one level whose tuples all go to all of some nodes of the next level."""

    parents: tuple[Node, ...]
    children: tuple[Node, ...]


@dataclass(frozen=True)
class GraphLayout:
    """A drawing as nodes by level, and the nets between each level and the next one."""

    levels: tuple[tuple[Node, ...], ...]
    nets: tuple[tuple[Net, ...], ...]

    @cached_property
    def lanes(self) -> float:
        """The room that the nodes take, in lanes."""
        return 1.0 + max(node.lane for nodes in self.levels for node in nodes)

    @cached_property
    def crossings(self) -> int:
        """How often two lines cross that have no end in common."""
        return sum(_net_crossings(nets) for nets in self.nets)


# A component, or the passage of a component's tuples through a level: its name, the level, and whether it is passed.
_Key = tuple[str, int, bool]
_Levels = list[list[_Key]]
_Links = Mapping[_Key, Sequence[_Key]]


def _keys(application: Application) -> tuple[_Levels, dict[_Key, list[_Key]]]:
    """Return the nodes of each level in the order of the file, and the parents of each node."""
    levels: _Levels = [[] for _ in range(application.depth)]
    parents: dict[_Key, list[_Key]] = {}
    level_of = {component.name: component.level for component in application.components}
    for component in application.components:
        parents[(component.name, component.level, False)] = []
        levels[component.level - 1].append((component.name, component.level, False))
    for task in application.tasks:
        for name in dict.fromkeys(task.parents):
            above: _Key = (name, level_of[name], False)
            for level in range(level_of[name] + 1, task.level):
                passed: _Key = (name, level, True)
                if passed not in parents:
                    parents[passed] = [above]
                    levels[level - 1].append(passed)
                above = passed
            parents[(task.name, task.level, False)].append(above)
    return levels, parents


def _turned(parents: _Links) -> dict[_Key, list[_Key]]:
    """Return the children of each node."""
    children: dict[_Key, list[_Key]] = {key: [] for key in parents}
    for key, above in parents.items():
        for one in above:
            children[one].append(key)
    return children


def _inversions(values: Sequence[int]) -> int:
    """Count the pairs that stand in the wrong order.

    >>> _inversions([2, 0, 1, 1])
    3
    """
    seen: list[int] = []
    count = 0
    for value in values:
        count += len(seen) - bisect_right(seen, value)
        insort(seen, value)
    return count


def _count_crossings(levels: _Levels, parents: _Links) -> int:
    count = 0
    for upper, lower in pairwise(levels):
        place = {key: k for k, key in enumerate(upper)}
        # By lower end first, and from the left, so that lines which share their lower end do not cross.
        count += _inversions([k for key in lower for k in sorted(place[one] for one in parents[key])])
    return count


def _sorted(level: list[_Key], beside: list[_Key], links: _Links, *, is_turned: bool) -> list[_Key]:
    """Order a level by the mean place of what its nodes are connected with; `is_turned` turns round what is equal."""
    place = {key: k for k, key in enumerate(beside)}
    mean = {
        key: sum(place[one] for one in links[key]) / len(links[key]) if links[key] else float(k)
        for k, key in enumerate(level)
    }
    return sorted(reversed(level) if is_turned else level, key=lambda key: mean[key])


def _swapped(levels: _Levels, parents: _Links, children: _Links, *, is_turned: bool) -> _Levels:
    """Swap neighbours wherever that leaves fewer crossings, or as many where `is_turned`."""
    place = {key: k for level in levels for k, key in enumerate(level)}

    def crossings(left: _Key, right: _Key) -> int:
        sides = ((links[left], links[right]) for links in (parents, children))
        return sum(place[a] > place[b] for lefts, rights in sides for a in lefts for b in rights)

    swapped = [list(level) for level in levels]
    for level in swapped:
        for k in range(len(level) - 1):
            left, right = level[k], level[k + 1]
            if crossings(right, left) < crossings(left, right) + is_turned:
                level[k], level[k + 1] = right, left
                place[left], place[right] = k + 1, k
    return swapped


def _ordered(levels: _Levels, parents: _Links, children: _Links) -> _Levels:
    """Return the best order found; that of the file unless another one has fewer crossings."""
    best, fewest = levels, _count_crossings(levels, parents)
    current = [list(level) for level in levels]
    for sweep in range(ORDERING_SWEEPS):
        if not fewest:
            break
        is_turned = sweep % 2 == 1
        for k in range(1, len(current)):
            current[k] = _sorted(current[k], current[k - 1], parents, is_turned=is_turned)
        for k in range(len(current) - 2, -1, -1):
            current[k] = _sorted(current[k], current[k + 1], children, is_turned=is_turned)
        current = _swapped(current, parents, children, is_turned=is_turned)
        if (count := _count_crossings(current, parents)) < fewest:
            best, fewest = [list(level) for level in current], count
    return best


def _spread(wanted: Sequence[float]) -> list[float]:
    """Move places as little as possible, in the sum of squares, so that each is at least 1 after the one before.

    Isotonic regression by pooling of neighbours.

    >>> _spread([0.0, 0.0, 5.0])
    [-0.5, 0.5, 5.0]
    """
    pools: list[tuple[float, int]] = []
    for k, place in enumerate(wanted):
        mean, count = place - k, 1
        while pools and pools[-1][0] > mean:
            before, size = pools.pop()
            mean, count = (before * size + mean * count) / (size + count), size + count
        pools.append((mean, count))
    flat = [mean for mean, count in pools for _ in range(count)]
    return [place + k for k, place in enumerate(flat)]


def _lanes(levels: _Levels, parents: _Links, children: _Links) -> dict[_Key, float]:
    lanes = {key: float(k) for level in levels for k, key in enumerate(level)}

    def settle(level: list[_Key], links: _Links) -> None:
        near = ([lanes[one] for one in links[key]] or [lanes[key]] for key in level)
        lanes.update(zip(level, _spread([sum(places) / len(places) for places in near]), strict=True))

    for _ in range(PLACING_SWEEPS):
        for level in levels[1:]:
            settle(level, parents)
        for level in reversed(levels[:-1]):
            settle(level, children)
    first = min(lanes.values())
    # Halves of lanes are enough, and keep the distance of 1.
    return {key: floor(2 * (lane - first) + 0.5) / 2 for key, lane in lanes.items()}


def _nets(level: Sequence[Node], parents: Mapping[Node, tuple[Node, ...]]) -> tuple[Net, ...]:
    """Group the nodes of a level by their parents."""
    groups: dict[tuple[Node, ...], list[Node]] = {}
    for node in level:
        if parents[node]:
            groups.setdefault(parents[node], []).append(node)
    return tuple(Net(above, tuple(nodes)) for above, nodes in groups.items())


def _net_crossings(nets: Sequence[Net]) -> int:
    """Count the pairs of lines of different nets that cross."""
    lines = [(p.lane, c.lane, k) for k, net in enumerate(nets) for p in net.parents for c in net.children]
    return sum(
        (a[0] - b[0]) * (a[1] - b[1]) < 0 and a[2] != b[2]
        for k, a in enumerate(lines)
        for b in lines[k + 1 :]
    )  # fmt: skip


def lay_out(application: Application) -> GraphLayout:
    """Place the components of an application; linear, diamond and star shapes have no crossings."""
    levels, parents = _keys(application)
    children = _turned(parents)
    levels = _ordered(levels, parents, children)
    lanes = _lanes(levels, parents, children)
    node = {key: Node(key[0], key[1], lane, is_passed=key[2]) for key, lane in lanes.items()}
    above = {
        node[key]: tuple(sorted((node[one] for one in found), key=lambda n: n.lane)) for key, found in parents.items()
    }
    placed = tuple(tuple(node[key] for key in level) for level in levels)
    return GraphLayout(placed, tuple(_nets(level, above) for level in placed[1:]))
