import itertools

import pytest

from prototype.graphs import DIAMOND, LINEAR, SKIPPING, STAR, TANGLED, edges, graph, random_graph
from streamgauge.prototype.graph.layout import GraphLayout, Net, Node, _inversions, _spread, lay_out

SEEDS = range(60)


def places(layout):
    return {node.name: (node.level, node.lane) for nodes in layout.levels for node in nodes if not node.is_passed}


def drawn_edges(layout):
    """Follow the lines of a layout from each component to the next ones."""
    below = {}
    for nets in layout.nets:
        for net in nets:
            for parent in net.parents:
                below.setdefault(parent, []).extend(net.children)

    def ends(node):
        for child in below.get(node, ()):
            yield from ends(child) if child.is_passed else [child.name]

    components = [node for nodes in layout.levels for node in nodes if not node.is_passed]
    return [(node.name, end) for node in components for end in ends(node)]


def test_a_line_goes_straight():
    assert places(lay_out(LINEAR)) == {"s": (1, 0.0), "a": (2, 0.0), "b": (3, 0.0), "c": (4, 0.0)}


def test_a_diamond_is_symmetric():
    assert places(lay_out(DIAMOND)) == {
        "s": (1, 0.5),
        "a": (2, 0.0),
        "b": (2, 1.0),
        "j": (3, 0.5),
        "k": (4, 0.5),
        "l": (5, 0.5),
    }


def test_a_star_goes_on_from_its_upper_branch():
    assert places(lay_out(STAR)) == {
        "r": (1, 0.0),
        "s": (1, 1.0),
        "h": (2, 0.5),
        "u": (3, 0.0),
        "l": (3, 1.0),
        "v": (4, 0.0),
        "w": (5, 0.0),
    }


@pytest.mark.parametrize("application", [LINEAR, DIAMOND, STAR, SKIPPING])
def test_shapes_that_need_no_crossing_have_none(application):
    assert lay_out(application).crossings == 0


def test_a_crossing_that_cannot_be_avoided_is_counted():
    assert lay_out(TANGLED).crossings > 0


def test_two_lines_that_change_sides_cross_once():
    a, b = Node("a", 1, 0.0), Node("b", 1, 1.0)
    c, d = Node("c", 2, 0.0), Node("d", 2, 1.0)
    assert GraphLayout(((a, b), (c, d)), ((Net((a,), (d,)), Net((b,), (c,))),)).crossings == 1
    assert GraphLayout(((a, b), (c, d)), ((Net((a,), (c,)), Net((b,), (d,))),)).crossings == 0
    # Lines of one net meet; they do not cross.
    assert GraphLayout(((a, b), (c, d)), ((Net((a, b), (c, d)),),)).crossings == 0


def test_a_level_that_is_passed_keeps_a_lane_free():
    layout = lay_out(graph(("a", "s"), ("b", "as")))
    assert [sorted(node.lane for node in nodes) for nodes in layout.levels] == [[0.5], [0.0, 1.0], [0.5]]
    assert [node.is_passed for node in layout.levels[1]] == [False, True]


def test_tuples_that_skip_levels_share_one_lane_on_their_way():
    layout = lay_out(graph(("a", "s"), ("b", "a"), ("c", "bs"), ("d", "cs")))
    assert [sum(node.is_passed for node in nodes) for nodes in layout.levels] == [0, 1, 1, 1, 0]


def test_children_of_the_same_parents_are_one_net():
    nets = lay_out(DIAMOND).nets
    assert [[(len(net.parents), len(net.children)) for net in level] for level in nets[:2]] == [[(1, 2)], [(2, 1)]]


@pytest.mark.parametrize("seed", SEEDS)
def test_every_edge_is_drawn_once_and_no_other(seed):
    application = random_graph(seed)
    assert sorted(drawn_edges(lay_out(application))) == sorted(edges(application))


@pytest.mark.parametrize("seed", SEEDS)
def test_nodes_of_a_level_are_a_lane_apart(seed):
    layout = lay_out(random_graph(seed))
    for nodes in layout.levels:
        lanes = [node.lane for node in nodes]
        assert all(b - a >= 1 for a, b in itertools.pairwise(lanes))
        assert all(lane >= 0 and (2 * lane).is_integer() for lane in lanes)
    assert min(node.lane for nodes in layout.levels for node in nodes) == 0


def test_sorting_leaves_fewer_crossings_than_the_order_of_the_file():
    def in_order(application):
        layout = lay_out(application)
        file = {component.name: k for k, component in enumerate(application.components)}
        moved = {}
        for nodes in layout.levels:
            ordered = sorted(nodes, key=lambda node: (node.is_passed, file[node.name]))
            moved |= {node: Node(node.name, node.level, float(k), node.is_passed) for k, node in enumerate(ordered)}
        nets = tuple(
            tuple(Net(tuple(map(moved.get, net.parents)), tuple(map(moved.get, net.children))) for net in level)
            for level in layout.nets
        )
        return GraphLayout(layout.levels, nets).crossings

    pairs = [(lay_out(random_graph(seed)).crossings, in_order(random_graph(seed))) for seed in SEEDS]
    assert sum(found for found, _ in pairs) < 0.7 * sum(before for _, before in pairs)


def test_the_same_application_is_laid_out_in_the_same_way():
    assert lay_out(random_graph(7)) == lay_out(random_graph(7))


def test_a_wide_and_deep_graph_is_laid_out_at_once():
    names = [f"{level}-{place}" for level in range(2, 40) for place in range(10)]
    application = graph(("2-0", "s"))
    tasks = [
        type(application.tasks[0])(
            name,
            1,
            ("s",) if name.startswith("2-") else (f"{int(name.split('-')[0]) - 1}-{(3 * k) % 10}", "s"),
            level=int(name.split("-")[0]),
        )
        for k, name in enumerate(names)
    ]
    layout = lay_out(type(application)("wide", "pipeline", application.sources, tuple(tasks)))
    assert len(layout.levels) == 39


@pytest.mark.parametrize("values", list(itertools.product(range(3), repeat=4)))
def test_inversions_are_those_of_all_pairs(values):
    assert _inversions(values) == sum(a > b for a, b in itertools.combinations(values, 2))


def test_places_that_are_far_enough_apart_stay():
    assert _spread([0.0, 1.0, 2.5]) == [0.0, 1.0, 2.5]
    assert _spread([2.0, 1.0, 0.0]) == [0.0, 1.0, 2.0]
