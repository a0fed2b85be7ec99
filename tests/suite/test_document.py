"""Reading suite files: what is right is read, what is wrong is said with its place."""

from pathlib import Path

import pytest

from streamgauge.errors import InvalidExperimentError, UsageError
from streamgauge.running.lifecycle import prepare
from streamgauge.suite import Configuration, Suite, load_suite, read_suite

HERE = Path(__file__).parent


def suite(body: str, **options) -> Suite:
    return read_suite(f"streamgauge: 1\nname: some\n{body}", name="some.yaml", **options)


def complaint(body: str, **options) -> str:
    with pytest.raises(InvalidExperimentError) as caught:
        suite(body, **options)
    return str(caught.value)


def heads(message: str) -> list[str]:
    return [line for line in message.splitlines() if line.startswith("some.yaml:")]


def prepared(configuration: Configuration) -> None:
    prepare(configuration.workload, {**configuration.settings, "parameters": configuration.parameters})


def test_a_file_is_read_into_settings_in_si_units():
    read = suite(
        "description: Says what it is for.\n"
        "defaults: {rate: 20k, duration: 1 min, set: {campaigns: 10}, conf: {spark.ui.enabled: true}}\n"
        "runs:\n"
        "  - workload: ysb\n"
        "    warmup: 500ms\n"
        "    set: {ads_per_campaign: 5}\n"
        "    cores: 2\n"
        "    verify: false\n"
        "    max_rows_per_batch: 10k\n"
    )
    assert read.name == "some"
    assert read.description == "Says what it is for."
    (only,) = read.configurations
    assert only.arguments() == {
        "workload": "ysb",
        "parameters": {"campaigns": 10, "ads_per_campaign": 5},
        "rate": 20_000.0,
        "duration": 60.0,
        "warmup": 0.5,
        "cores": 2,
        "verify": False,
        "max_rows_per_batch": 10_000,
        "conf": {"spark.ui.enabled": "true"},
    }
    prepared(only)


def test_what_an_entry_says_replaces_the_defaults_name_by_name():
    read = suite(
        "defaults: {rate: 1k, set: {campaigns: 10, ads_per_campaign: 2}}\n"
        "runs: [{workload: ysb, rate: 2k, matrix: {set.campaigns: [20, 30]}}]\n"
    )
    assert [c.settings["rate"] for c in read.configurations] == [2000.0, 2000.0]
    assert [dict(c.parameters) for c in read.configurations] == [
        {"campaigns": 20, "ads_per_campaign": 2},
        {"campaigns": 30, "ads_per_campaign": 2},
    ]


def test_thresholds_of_the_file_and_of_the_entry_come_together_once_each():
    read = suite(
        "thresholds: [batches > 1, batches > 2]\n"
        "runs: [{workload: ysb, thresholds: [batches > 3, batches > 1]}, {workload: nexmark-q1}]\n"
    )
    assert [[t.text for t in c.thresholds] for c in read.configurations] == [
        ["batches > 1", "batches > 2", "batches > 3"],
        ["batches > 1", "batches > 2"],
    ]


def test_anchors_and_merges_are_unfolded():
    read = suite(
        "defaults: &usual {rate: 10k, warmup: 5 s}\n"
        "runs:\n"
        "  - &first {workload: ysb, trigger: 1 s}\n"
        "  - {<<: *first, workload: nexmark-q1}\n"
        "  - {<<: [{rate: 30k}, *usual], workload: nexmark-q2}\n"
    )
    assert [c.settings["rate"] for c in read.configurations] == [10_000.0, 10_000.0, 30_000.0]
    assert [c.settings.get("trigger") for c in read.configurations] == [1.0, 1.0, None]


def test_all_mistakes_are_shown_at_once_with_line_mark_and_remedy(tmp_path):
    text = (HERE / "wrong.yaml").read_text()
    with pytest.raises(InvalidExperimentError) as caught:
        read_suite(text, name="wrong.yaml", root=tmp_path)
    assert f"{caught.value}\n" == (HERE / "wrong.txt").read_text()


@pytest.mark.parametrize(
    ("body", "head"),
    [
        ("runs: [{workload: ysb, rat: 1k}]", 'some.yaml:3:24: a run has no key "rat"'),
        ("runs: [{workload: ysb, rate: 1x}]", 'some.yaml:3:30: rate "1x" is not a number of events per second'),
        ("runs: [{workload: ysb, rate: 0}]", 'some.yaml:3:30: rate "0" is out of range'),
        ("runs: [{workload: ysb, trigger: 5}]", 'some.yaml:3:33: trigger "5" is not a duration'),
        ("runs: [{workload: ysb, duration: 10ms}]", 'some.yaml:3:34: duration "10ms" is out of range'),
        ("runs: [{workload: ysb, cores: 2.5}]", 'some.yaml:3:31: cores "2.5" cannot be used'),
        ("runs: [{workload: ysb, cores: true}]", 'some.yaml:3:31: cores "True" cannot be used'),
        ("runs: [{workload: ysb, seed: 99999999999999999999}]", 'some.yaml:3:30: seed "99999999999999999999" cannot'),
        ("runs: [{workload: ysb, load: closed}]", 'some.yaml:3:30: load "closed" is not available'),
        ("runs: [{workload: ysb, verify: 1}]", 'some.yaml:3:32: verify "1" is neither true nor false'),
        ("runs: [{workload: ysb, arrivals: 5}]", 'some.yaml:3:34: arrivals "5" is not a text'),
        ("runs: [{workload: ysb, events: words}]", "some.yaml:3:24: ysb has its own events"),
        ("runs: [{workload: ysb, master: yarn, cores: 2}]", "some.yaml:3:24: master and cores exclude each other"),
        ("runs: [{workload: ysb, set: [1]}]", "some.yaml:3:29: set needs names with values"),
        ("runs: [{workload: ysb, set: {campaigns: [1, 2]}}]", "some.yaml:3:41: set.campaigns takes one value"),
        ("runs: [{workload: ysb, set: {campaigns: 0}}]", 'some.yaml:3:41: campaigns "0" is outside its domain'),
        ("runs: [{workload: ysb, set: {nobody: 1}}]", 'some.yaml:3:30: ysb has no parameter "nobody"'),
        ("runs: [{workload: ysb, matrix: {rate: []}}]", "some.yaml:3:39: rate needs a list of values"),
        ("runs: [{workload: ysb, matrix: {rate: [[1]]}}]", "some.yaml:3:40: rate needs a list of single values"),
        ("runs: [{workload: ysb, matrix: {set: [1]}}]", 'some.yaml:3:33: a matrix has no key "set"'),
        ("runs: [{workload: ysb, repetitions: 1001}]", 'some.yaml:3:37: repetitions "1001" cannot be used'),
        ("runs: [{workload: []}]", "some.yaml:3:19: workload needs a list of values"),
        ("runs: [{rate: 1k}]", "some.yaml:3:8: this run has no workload"),
        ("runs: [ysb]", "some.yaml:3:8: a run needs keys with values"),
        ("runs: ysb", "some.yaml:3:7: runs needs a list"),
        ("runs: [{workload: a.py}]", 'some.yaml:3:19: "a.py" does not name a function'),
        ("runs: [{workload: a.py:f}]", 'some.yaml:3:19: there is no file "a.py"'),
        ("name: twice\nruns: [{workload: ysb}]", 'some.yaml:3:1: "name" is there already, in line 2'),
        ("runs: [{workload: ysb, rate: *nobody}]", "some.yaml:3:30: there is no anchor &nobody before this"),
        ("runs: [{workload: !!str ysb}]", "some.yaml:3:19: tags are not supported"),
        ("runs: [{workload: ysb}]\n--- 2", "some.yaml:4:1: a second document begins here"),
        ("runs:\n\t- workload: ysb", "some.yaml:4:1: there is a tab here"),
        ("runs: [{workload: 'ysb}]", "some.yaml:3:19: this is not YAML: found unexpected end of stream"),
        ('runs: [{workload: "\\U99999999"}]', "some.yaml:3:8: this is not YAML"),
        ("runs: [{workload: ysb, rate: \x07}]", "some.yaml:3:30: the character U+0007 is not allowed in YAML"),
        ("runs: [{workload: ysb, ? [a] : b}]", "some.yaml:3:26: a key must be a word"),
        ("runs: [{workload: ysb, <<: 3}]", "some.yaml:3:28: only keys with values can be merged"),
    ],
)
def test_a_mistake_is_shown_where_it_is(body, head):
    assert any(line.startswith(head) for line in heads(complaint(body))), complaint(body)


@pytest.mark.parametrize("text", ["", "\n\n", "# nothing but words\n", "~", "---\n...\n"])
def test_an_empty_file_is_said_to_be_empty(text):
    with pytest.raises(InvalidExperimentError, match=r"empty.yaml:1:1: the file is empty"):
        read_suite(text, name="empty.yaml")


def test_a_value_that_is_missing_is_shown_at_its_key():
    assert heads(complaint("runs:\n  - workload: ysb\n    rate:\n    cores: 1\n")) == [
        "some.yaml:5:5: rate has no value"
    ]


def test_settings_that_do_not_go_together_are_shown_at_one_of_them():
    body = "runs:\n  - workload: nexmark-q5\n    set: {slide_s: 3}\n    matrix: {set.window_s: [9, 10]}\n"
    assert heads(complaint(body)) == ["some.yaml:6:32: window_s=10 is not a multiple of slide_s=3"]


def test_a_rate_that_the_events_do_not_allow_is_shown_at_the_rate():
    (head,) = heads(complaint("runs:\n  - workload: nexmark-q1\n    matrix: {rate: [1M, 5M]}\n"))
    assert head.startswith("some.yaml:5:25: nexmark-q1: at 5,000,000 events/s")


def test_remedies_speak_of_the_file_not_of_the_command_line():
    message = complaint("runs: [{workload: nexmark-q1, rate: 5M}]")
    assert "use set: {clock: fine}" in message
    assert "--" not in message


def test_parameters_are_those_of_the_semantics_that_the_entry_chooses():
    body = "runs: [{{workload: nexmark-q5, set: {{semantics: {semantics}, window_s: 10}}}}]"
    assert suite(body.format(semantics="flink")).configurations[0].parameters["semantics"] == "flink"
    assert 'semantics "nobody" is outside its domain' in complaint(body.format(semantics="nobody"))


def test_a_law_that_offers_nothing_in_time_is_refused():
    body = "runs: [{workload: nexmark-q4, arrivals: 'constant(rate=0) for 1h then constant'}]"
    assert "offers no event in the 40 s of warm-up and measurement" in complaint(body)


def test_the_place_inside_a_law_or_threshold_is_marked():
    message = complaint("runs: [{workload: ysb, arrivals: 'burst(rats=1k)', thresholds: [\"batches < batchez\"]}]")
    assert heads(message) == [
        'some.yaml:3:41: burst has no parameter "rats"',
        'some.yaml:3:76: there is no metric "batchez"',
    ]


def test_a_caller_may_refuse_configurations_for_reasons_of_its_own():
    body = (
        "defaults: {conf: {spark.master: yarn}}\n"
        "runs:\n  - {workload: ysb, rate: 900M, duration: 10 h}\n  - {workload: ysb, master: moon}\n"
    )
    assert suite(body).size == 2
    assert heads(complaint(body, check=prepared)) == [
        "some.yaml:5:27: more than 10^13 events in one run",
        'some.yaml:6:29: "moon" is not a master URL',
    ]
    (head,) = heads(complaint(body.replace("900M", "9k").replace(", master: moon", ", rate: 1k"), check=prepared))
    assert head == "some.yaml:3:33: spark.master cannot be set"


@pytest.mark.parametrize(
    "body", ["runs: [{workload: ysb, latency: record}]", "runs: [{workload: ysb, matrix: {latency: [commit]}}]"]
)
def test_an_old_key_is_refused_with_the_new_one(body):
    assert "it is now `timing`" in complaint(body)


def test_the_same_configuration_twice_is_refused_however_it_is_spelled():
    message = complaint("runs:\n  - {workload: ysb, matrix: {rate: [10k, 10000]}}\n  - {workload: ysb, rate: 10.0k}\n")
    assert heads(message) == [
        "some.yaml:4:42: ysb[rate=10000] is the same as ysb[rate=10k] before it",
        "some.yaml:5:27: ysb[rate=10.0k] is the same as ysb[rate=10k] before it",
    ]


def test_a_function_of_the_users_own_takes_the_parameters_of_its_events(tmp_path):
    (tmp_path / "mine.py").write_text("def build(df): return df\n")
    body = "runs: [{{workload: mine.py:build, events: {events}, set: {{campaigns: 5}}}}]"
    (only,) = suite(body.format(events="ysb"), root=tmp_path).configurations
    assert only.arguments() == {"workload": "mine.py:build", "parameters": {"campaigns": 5}, "events": "ysb"}
    message = complaint(body.format(events="keyed"), root=tmp_path)
    assert heads(message) == ['some.yaml:3:55: mine.py:build has no parameter "campaigns"']
    assert 'unknown event stream "yzb"' in complaint(body.format(events="yzb"), root=tmp_path)


def test_a_function_whose_code_changed_is_another_run(tmp_path):
    body, keys = "runs: [{workload: mine.py:build}]", set()
    for code in ("def build(df): return df\n", "def build(df): return df.limit(1)\n"):
        (tmp_path / "mine.py").write_text(code)
        keys.add(suite(body, root=tmp_path).runs()[0].key)
    assert len(keys) == 2


def test_a_baseline_is_a_path_that_exists(tmp_path):
    (tmp_path / "before.json").write_text("{}")
    assert suite("baseline: before.json\nruns: [{workload: ysb}]", root=tmp_path).baseline == "before.json"
    body = "baseline: after.json\nruns: [{workload: ysb}]"
    assert heads(complaint(body, root=tmp_path)) == ['some.yaml:3:11: there is no baseline "after.json"']


def test_a_baseline_may_be_looked_up_elsewhere_and_refused_there():
    def find(reference: str) -> None:
        if reference != "20261115T194503-suite-smoke-2358":
            raise UsageError(f'unknown run "{reference}"', remedy="did you mean another?")

    text = "streamgauge: 1\nname: some\nbaseline: {}\nruns: [{{workload: ysb}}]\n"
    known = "20261115T194503-suite-smoke-2358"
    assert read_suite(text.format(known), name="some.yaml", find_baseline=find).baseline == known
    with pytest.raises(InvalidExperimentError) as caught:
        read_suite(text.format("other"), name="some.yaml", find_baseline=find)
    first, *_, last = str(caught.value).splitlines()
    assert first == 'some.yaml:3:11: there is no baseline "other": unknown run "other"'
    assert last.endswith("^^^^^ did you mean another?")


def test_many_mistakes_are_cut_off_with_their_number():
    message = complaint("runs: [" + ", ".join(f"{{workload: nobody{n}}}" for n in range(60)) + "]")
    assert len(heads(message)) == 50
    assert message.endswith("and 10 more mistakes")


def test_long_lines_are_cut_around_the_mistake():
    message = complaint(f"description: {'x' * 500}\nruns: [{{workload: ysb, conf: {{a: {'y' * 500}}}, rate: 1x}}]")
    assert max(len(line) for line in message.splitlines()) < 200
    shown, mark = message.splitlines()[1:3]
    assert shown[mark.index("^") :].startswith("1x")


def test_what_would_move_the_cursor_is_not_printed():
    message = complaint('runs: [{workload: "\\e[2Jysb"}]\nname\x1b: 3')
    assert "\x1b" not in message


def test_a_file_above_a_megabyte_is_refused_without_being_read(tmp_path, monkeypatch):
    path = tmp_path / "long.yaml"
    path.write_text("- x\n" * 1_000_000)
    monkeypatch.setattr("streamgauge.suite.document.read_suite", lambda *_, **__: pytest.fail("it was read"))
    with pytest.raises(InvalidExperimentError, match=r"long.yaml:1:1: more than 1,000,000 bytes"):
        load_suite(path)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("[ " * 5000, "more than 20 levels"),
        ("- x\n" * 10_001, "more than 10,000 values"),
        (
            "a: &a [1, 1, 1, 1, 1, 1, 1, 1]\n" * 1
            + "".join(f"b{n}: &{'bcdefghi'[n]} [{', '.join(['*' + 'abcdefgh'[n]] * 8)}]\n" for n in range(8)),
            "more than 10,000 values",
        ),
        ("&a [*a]", "no anchor &a before this"),
    ],
    ids=["deep", "long", "unfolding", "in itself"],
)
def test_files_that_would_take_forever_are_refused(text, what):
    with pytest.raises(InvalidExperimentError, match=what):
        read_suite(text, name="hostile.yaml")


def test_a_matrix_without_bounds_is_refused_before_it_is_unfolded():
    lists = ", ".join(f"conf.c{n}: [{', '.join(map(str, range(100)))}]" for n in range(20))
    (head,) = heads(complaint(f"runs: [{{workload: ysb, matrix: {{{lists}}}}}]"))
    assert head == "some.yaml:3:8: the suite has more than 10,000 runs, most of them here"


def test_a_file_is_read_from_disk_and_called_by_its_path(tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_bytes(b"\xef\xbb\xbfstreamgauge: 1\r\nname: mine\r\nruns: [{workload: ysb}]\r\n")
    assert load_suite(path).name == "mine"
    path.write_bytes(b"streamgauge: 1\nname: m\xfcll\n")
    with pytest.raises(InvalidExperimentError, match=r"mine.yaml:2:8: the byte 0xFC is not UTF-8"):
        load_suite(path)
    with pytest.raises(UsageError, match="cannot be read: No such file"):
        load_suite(tmp_path / "nobody.yaml")
    with pytest.raises(UsageError, match="cannot be read: Is a directory"):
        load_suite(tmp_path)
