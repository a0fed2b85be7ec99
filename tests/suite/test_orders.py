"""Orders between the runs of a suite: read with their places, and shown only by runs that can show them."""

import pytest

from streamgauge.errors import InvalidExperimentError
from streamgauge.measure.statistics import compare_samples
from streamgauge.suite import Order, Suite, junit_xml, read_suite
from streamgauge.suite.orders import MAX_LENGTH, read_orders, runs_lacking
from streamgauge.suite.thresholds import Misreading
from streamgauge.verdict import Verdict

RATE = "processed_rate_per_s"
FAST = [98.0, 100.0, 101.0, 103.0]
SLOW = [49.0, 50.0, 51.0, 52.0]
TWO = "runs:\n  - {name: fast, workload: ysb, repetitions: 4}\n  - {name: slow, workload: nexmark-q1, repetitions: 4}\n"


def suite(body: str, runs: str = TWO) -> Suite:
    return read_suite(f"streamgauge: 1\nname: some\n{runs}{body}", name="some.yaml")


def complaint(body: str, runs: str = TWO) -> str:
    with pytest.raises(InvalidExperimentError) as caught:
        suite(body, runs)
    return str(caught.value)


def judge(text: str, left: list[float], right: list[float]):
    ((order, _, _),) = read_orders(RATE, text)
    return order.evaluate(left, right)


# What is written


def test_a_chain_is_an_order_for_each_of_its_signs():
    orders = [order for order, _, _ in read_orders(RATE, "none ~ 10% balanced > hash<last")]
    assert orders == [
        Order(RATE, "none", "~", "balanced", 0.1),
        Order(RATE, "balanced", ">", "hash"),
        Order(RATE, "hash", "<", "last"),
    ]
    assert [order.text for order in orders] == [
        f"{RATE}: none ~ 10% balanced",
        f"{RATE}: balanced > hash",
        f"{RATE}: hash < last",
    ]


def test_names_may_hold_brackets_equals_signs_and_spaces():
    text = "ysb[rate=10k,arrivals=constant(rate=1k)  for 2s then constant] < b[cores=2]"
    ((order, left, right),) = read_orders(RATE, text)
    assert order.left == "ysb[rate=10k,arrivals=constant(rate=1k) for 2s then constant]"
    assert text[left.start : left.end] == "ysb[rate=10k,arrivals=constant(rate=1k)  for 2s then constant]"
    assert text[right.start : right.end] == order.right == "b[cores=2]"


@pytest.mark.parametrize(
    ("text", "what", "marked"),
    [
        ("fast", "is no order", "fast"),
        ("a == b", "is no order", "a == b"),
        ("a >", 'a name is missing beside ">"', ">"),
        ("< b", 'a name is missing beside "<"', "<"),
        ("a > > b", 'a name is missing beside ">"', ">"),
        ("a >= b", 'knows no ">="', ">="),
        ("a ~ b", '"~" needs a tolerance', "~"),
        ("a ~ 0% b", '"~" needs a tolerance', "~"),
        ("a > 10% b", 'only "~" has a tolerance', ">"),
    ],
)
def test_what_is_no_order_is_refused_with_the_characters_that_say_so(text, what, marked):
    with pytest.raises(Misreading, match=what) as caught:
        read_orders(RATE, text)
    assert text[caught.value.start : caught.value.end] == marked


def test_a_text_without_end_is_refused():
    with pytest.raises(Misreading, match="at most"):
        read_orders(RATE, "a > " * MAX_LENGTH + "b")


# What is judged


@pytest.mark.parametrize(
    ("text", "left", "right", "verdict"),
    [
        ("a > b", FAST, SLOW, "pass"),
        ("a < b", SLOW, FAST, "pass"),
        ("a > b", SLOW, FAST, "fail"),
        ("a < b", FAST, SLOW, "fail"),
        ("a > b", FAST, FAST, "fail"),
        # The medians are in order, but single runs are not.
        ("a > b", [98.0, 99.0, 103.0, 104.0], [97.0, 98.5, 100.0, 105.0], "unknown"),
        # Three and three runs cannot show anything, however far apart they are.
        ("a > b", FAST[:3], SLOW[:3], "unknown"),
        ("a > b", FAST[:1], SLOW[:1], "unknown"),
        ("a ~ 10% b", FAST, [99.0, 100.0, 102.0, 104.0], "pass"),
        ("a ~ 10% b", FAST, SLOW, "fail"),
        ("a ~ 10% b", SLOW, FAST, "fail"),
        ("a ~ 10% b", FAST, [80.0, 95.0, 105.0, 120.0], "unknown"),
        ("a ~ 1% b", FAST, [99.0, 100.0, 102.0, 104.0], "unknown"),
        ("a ~ 10% b", FAST[:1], FAST[:1], "unknown"),
        # Shown to differ, but by less than the tolerance.
        ("a ~ 10% b", [103.0, 103.1, 103.2, 103.3], [100.0, 100.1, 100.2, 100.3], "pass"),
    ],
)
def test_an_order_holds_only_when_it_is_shown(text, left, right, verdict):
    assert judge(text, left, right).verdict == verdict


@pytest.mark.parametrize(("text", "right"), [("a > b", SLOW), ("a < b", SLOW), ("a ~ 10% b", FAST)])
def test_runs_made_one_after_the_other_decide_no_order(text, right):
    ((order, _, _),) = read_orders(RATE, text)
    found = order.evaluate(FAST, right, is_sequential=True)
    assert found.verdict is Verdict.UNKNOWN
    assert "made before those of the other" in found.text


def test_the_reason_tells_medians_ratio_interval_and_what_was_required():
    effect = compare_samples(SLOW, FAST)
    found = judge("fast > slow", FAST, SLOW)
    assert (found.left, found.right) == (100.5, 50.5)
    assert found.text == (
        f"fast has 100.5/s, slow 50.5/s: 1.99 times, between {effect.low:.3g} and {effect.high:.3g}, as required >"
    )
    assert judge("slow > fast", SLOW, FAST).text.endswith("but required >")
    assert judge("a ~ 1% b", FAST, FAST).text.endswith("which cannot decide ~ 1% at 95 % confidence")


@pytest.mark.parametrize(("left", "right", "said"), [([], SLOW, "of a "), (FAST, [], "of b "), ([], [], "a and of b ")])
def test_a_side_without_values_is_unknown(left, right, said):
    found = judge("a > b", left, right)
    assert found.verdict is Verdict.UNKNOWN
    assert said in found.text


@pytest.mark.parametrize("value", [0.0, -1.0, float("nan")])
def test_values_without_a_ratio_are_unknown(value):
    found = judge("a > b", FAST, [value] * 4)
    assert found.verdict is Verdict.UNKNOWN
    assert "have no ratio" in found.text


@pytest.mark.parametrize(
    ("text", "runs", "is_lacking"),
    [
        ("a > b", (4, 4), False),
        ("a > b", (3, 3), True),
        ("a > b", (3, 50), True),
        ("a > b", (4, 50), False),
        ("a ~ 5% b", (2, 2), False),
        ("a ~ 5% b", (2, 1), True),
    ],
)
def test_runs_that_are_too_few_for_any_answer_are_known_before(text, runs, is_lacking):
    ((order, _, _),) = read_orders(RATE, text)
    assert (runs_lacking(order, runs) is not None) is is_lacking


# What a file says


def test_orders_of_a_file_are_read():
    read = suite(
        f"orders:\n  - {RATE}: fast > slow\n  - {{batches: slow ~ 5% fast, end_to_end_latency_s.mean: slow > fast}}\n"
    )
    assert [order.text for order in read.orders] == [
        f"{RATE}: fast > slow",
        "batches: slow ~ 5% fast",
        "end_to_end_latency_s.mean: slow > fast",
    ]


def test_a_name_stands_for_the_settings_of_an_entry_but_not_for_what_varies():
    runs = (
        "runs:\n"
        "  - {name: base, workload: ysb, rate: 1k, matrix: {cores: [1, 2]}}\n"
        "  - {name: x, workload: ysb}\n"
        "  - {name: both, workload: [nexmark-q1, nexmark-q2]}\n"
    )
    read = suite("", runs)
    assert [configuration.name for configuration in read.configurations] == [
        *("base[cores=1]", "base[cores=2]", "x", "both[workload=nexmark-q1]", "both[workload=nexmark-q2]"),
    ]


def test_a_name_does_not_change_what_is_run():
    named = suite("", "runs: [{name: x, workload: ysb, rate: 1k}]\n").runs()[0]
    plain = suite("", "runs: [{workload: ysb, rate: 1k}]\n").runs()[0]
    assert (named.key, named.name, plain.name) == (plain.key, "x", "ysb[rate=1k]")


@pytest.mark.parametrize(
    ("body", "head", "remedy"),
    [
        (f"orders: [{{{RATE}: fast > slwo}}]", '6:40: no runs have the name "slwo"', "did you mean `slow`?"),
        (f"orders: [{{{RATE}: fsat > slow}}]", '6:33: no runs have the name "fsat"', "did you mean `fast`?"),
        (f"orders:\n  - {RATE}: 'fast > slwo'", '7:35: no runs have the name "slwo"', "did you mean `slow`?"),
        ("orders: [{processed_rate: fast > slow}]", '6:11: there is no metric "processed_rate"', f"mean `{RATE}`?"),
        ("orders: [{stages: fast > slow}]", '6:11: there is no metric "stages"', "it has several numbers"),
        (f"orders: [{{{RATE}: fast > fast}}]", "6:40: fast cannot differ from itself", "compare two names"),
        (f"orders: [{{{RATE}: fast >= slow}}]", '6:38: an order knows no ">="', "with one of < > or ~ 10%"),
        (f"orders: [{{{RATE}: [fast, slow]}}]", f"6:33: {RATE} needs names in their order", "NAME > NAME"),
        (f"orders: [{{{RATE}: }}]", f"{RATE} needs names in their order", "NAME > NAME"),
        ("orders: [fast > slow]", "6:10: an order needs a metric and names", "METRIC: NAME > NAME"),
        ("orders: []", "6:9: orders needs a list", "METRIC: NAME > NAME"),
        ("orders:", "6:1: orders needs a list", "METRIC: NAME > NAME"),
        ("ignore: [answer]", '6:10: "answer" cannot be ignored', "sustained"),
        ("ignore: sustained", "6:9: ignore needs a list of values", "e.g. [sustained]"),
    ],
)  # fmt: skip
def test_a_mistake_is_shown_where_it_is(body, head, remedy):
    message = complaint(body)
    assert head in message
    assert remedy in message
    assert message.count("some.yaml:") == 1


def test_an_order_that_its_runs_can_never_show_is_refused_before_they_run():
    runs = TWO.replace("repetitions: 4", "repetitions: 3")
    message = complaint(f"orders: [{{{RATE}: fast > slow}}]", runs)
    assert f"6:33: 3 and 3 runs can never decide {RATE}: fast > slow" in message
    assert "use `repetitions:` with 4 or more on each side" in message


def test_names_are_not_missed_where_the_runs_have_mistakes_themselves():
    message = complaint(f"orders: [{{{RATE}: fast > slow, batchez: fast > slow}}]", TWO.replace("ysb", "ybs"))
    assert "unknown workload" in message
    assert "no metric" in message
    assert "no runs have the name" not in message


def test_one_name_for_two_configurations_is_refused():
    message = complaint("", "runs:\n  - {name: a, workload: ysb}\n  - {name: a, workload: nexmark-q1}\n")
    assert "some.yaml:5:5: other runs have the name a already" in message


@pytest.mark.parametrize("name", ["a b", "a>b", "a[b]", "", "é", "x" * 101])
def test_a_name_that_cannot_stand_in_an_order_is_refused(name):
    assert ":4:" in complaint("", f"runs:\n  - {{name: '{name}', workload: ysb}}\n")


def test_questions_to_ignore_are_those_of_the_file_and_of_the_entry():
    read = suite(
        "ignore: [steady]\n", "runs: [{workload: ysb, ignore: [drained, sustained]}, {workload: nexmark-q1}]\n"
    )
    assert [c.ignored for c in read.configurations] == [("steady", "drained", "sustained"), ("steady",)]


def test_a_drift_belongs_to_a_baseline_and_is_a_share(tmp_path):
    assert suite(f"baseline: '{tmp_path}'\ndrift: 5%\n").drift == 0.05
    assert suite(f"baseline: '{tmp_path}'\n").drift is None
    assert "6:8: a drift needs a baseline" in complaint("drift: 5%")
    for wrong in ("much", "0%", "100%"):
        message = complaint(f"baseline: '{tmp_path}'\ndrift: '{wrong}'")
        assert f'some.yaml:7:8: "{wrong}" is not a share' in message


# What build servers read


def test_an_order_is_a_test_case():
    from xml.etree import ElementTree

    orders = [read_orders(RATE, text)[0][0] for text in ("a > b", "a < b", "a ~ 10% c")]
    judged = [(order, order.evaluate(FAST, side)) for order, side in zip(orders, (SLOW, SLOW, []), strict=True)]
    root = ElementTree.fromstring(junit_xml("some", [], orders=judged))
    cases = [(c.get("classname"), c.get("name"), [e.tag for e in c]) for c in root.iter("testcase")]
    assert cases == [
        ("some.orders", f"{RATE}: a > b", []),
        ("some.orders", f"{RATE}: a < b", ["failure"]),
        ("some.orders", f"{RATE}: a ~ 10% c", ["error"]),
    ]
    assert root.find(".//failure").get("message") == judged[1][1].text
