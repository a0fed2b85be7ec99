"""Reading prototype files: what is right is read, what is wrong is said with its place."""

import subprocess
import sys
from pathlib import Path

import pytest

from streamgauge.bundle import FOLDER
from streamgauge.errors import InvalidExperimentError, UsageError
from streamgauge.prototype import Application, is_prototype_file, load_application, read_application
from streamgauge.prototype.file.vocabulary import ANY_TASK, DATASTREAM, WORKFLOW, Group
from streamgauge.prototype.graph.application import Data, Flow, PrototypeTask, Source, SourceTopic, TaskWindow

HERE = Path(__file__).parent
EXAMPLES = FOLDER / "prototypes"
SOURCE = "pipeline:\n  tasks:\n  - {name: a}\n"


def read(text: str) -> Application:
    return read_application(text, name="some.yaml")


def pipeline(*entries: str) -> str:
    return "pipeline:\n  tasks:\n" + "".join(f"  - {{{entry}}}\n" for entry in entries)


def complaint(text: str) -> str:
    with pytest.raises(InvalidExperimentError) as caught:
        read(text)
    return str(caught.value)


def heads(message: str) -> list[str]:
    return [line.removeprefix("some.yaml:") for line in message.splitlines() if line.startswith("some.yaml:")]


def instances(application: Application) -> list[int]:
    return [component.parallelism for component in application.components]


def test_keys_that_are_absent_have_the_defaults_of_namb():
    application = read("workflow: {}")
    assert application.name == "some"
    assert application.schema == "workflow"
    assert application.sources == (Source("source", 4, Data(8, 100, "uniform"), Flow("uniform", 1000.0)),)
    assert application.tasks == (
        PrototypeTask("task_1", 3, ("source",), "balanced", 10.0, level=2),
        PrototypeTask("task_2", 3, ("task_1",), "balanced", 10.0, level=3),
    )
    assert (application.routing_scope, application.text, application.warnings) == ("all", "workflow: {}", ())


def test_a_stream_alone_feeds_the_default_workflow():
    application = read("datastream: {synthetic: {flow: {rate: 5}}}")
    assert [source.flow.rate_per_s for source in application.sources] == [5.0]
    assert len(application.tasks) == 2


def test_keys_that_a_task_does_not_have_get_the_defaults_of_namb():
    application = read(pipeline("name: a", "name: b, parents: [a]"))
    assert application.schema == "pipeline"
    assert application.sources == (Source("a", 1, Data(8, 100, "uniform"), Flow("uniform", 1000.0)),)
    assert application.tasks == (PrototypeTask("b", 1, ("a",), "none", 10.0, level=2),)


def test_all_keys_of_a_pipeline_are_read():
    application = read(
        pipeline(
            "name: a, parallelism: 2, reliability: false, data: {size: 3, values: 9, distribution: zipf, exponent: 2},"
            " flow: {distribution: burst, rate: 7, interval: 4, duration: 0.5, burst_rate: 70, offset: 2,"
            " rate_scope: instance}",
            "name: b, parallelism: 4, reliability: false, parents: [a], routing: broadcast, processing_us: 3,"
            " sojourn_ms: 0.5, batch_ms: 7.5, parse_json: true, filtering: 0.25, selectivity: 1.5, resizeddata: 2",
            "name: c, parallelism: 3, parents: [b, a], routing: hash, processing: 0.5,"
            " windowing: {enabled: true, type: sliding, duration: 20, interval: 5, key: value}",
        )
    )
    flow = Flow(
        "burst", 7.0, interval_s=4.0, duration_s=0.5, offset_s=2.0, rate_scope="instance", burst_rate_per_s=70.0
    )
    assert application.sources == (Source("a", 2, Data(3, 9, "zipf", 2), flow, reliability=False),)
    assert application.tasks == (
        PrototypeTask("b", 4, ("a",), "broadcast", 0.0, 3.0, 0.5, 7.5, True, 0.25, 1.5, 2, reliability=False, level=2),
        PrototypeTask("c", 3, ("b", "a"), "hash", 0.5, window=TaskWindow("sliding", 20, 5, "value"), level=3),
    )


def test_all_keys_of_a_workflow_are_read():
    application = read(
        "datastream:\n"
        "  synthetic:\n"
        "    data: {size: 4, values: 30, distribution: nonuniform}\n"
        "    flow: {distribution: sawtooth, rate: 50, phase: 60}\n"
        "workflow:\n"
        "  depth: 4\n"
        "  scalability: {parallelism: 18, balancing: pyramid, variability: 0.5}\n"
        "  connection: {shape: diamond, routing: hash}\n"
        "  workload: {processing: 10, balancing: pyramid}\n"
        "  reliability: false\n"
        "  filtering: 0.3\n"
        "  windowing: {enabled: true, type: tumbling, duration: 10}\n"
    )
    flow = Flow("sawtooth", 50.0, phase_s=60.0)
    assert application.sources == (Source("source", 2, Data(4, 30, "nonuniform"), flow, reliability=False),)
    assert instances(application) == [2, 3, 6, 5, 2]
    assert [task.processing for task in application.tasks] == [10.0, 12.0, 9.6, 7.68]
    assert [task.filtering for task in application.tasks] == [0.3, 0.3, 0.0, 0.0]
    assert [task.window for task in application.tasks] == [None, None, TaskWindow("tumbling", 10, 10), None]
    assert {task.routing for task in application.tasks} == {"hash"}
    assert not any(task.reliability for task in application.tasks)
    assert application.depth == 4


def test_the_diamond_of_the_examples_has_six_components_of_four_instances():
    application = load_application(EXAMPLES / "diamond.yaml")
    assert application.depth == 5
    assert instances(application) == [4] * 6
    assert [task.processing for task in application.tasks] == [3.0, 2.4, 1.92, 1.536, 1.2288]
    assert [task.parents for task in application.tasks][2] == ("task_1", "task_2")


def test_the_star_has_two_sources_alike_and_two_sinks():
    application = read("workflow: {depth: 5, connection: {shape: star}}")
    assert [source.name for source in application.sources] == ["source_1", "source_2"]
    assert [sink.name for sink in application.sinks] == ["task_3", "task_5"]
    assert application.tasks[0].parents == ("source_1", "source_2")


def test_both_components_of_a_wide_level_filter():
    application = read("workflow: {depth: 5, filtering: 0.5, connection: {shape: diamond}}")
    assert [task.filtering for task in application.tasks] == [0.5, 0.5, 0.0, 0.0, 0.0]
    application = read("workflow: {depth: 7, filtering: 0.5, connection: {shape: star}}")
    assert [task.name for task in application.tasks if task.filtering] == ["task_2", "task_3"]


def test_a_task_with_windows_does_not_filter():
    windows = "windowing: {enabled: true}"
    star = read(f"workflow: {{depth: 6, filtering: 0.5, connection: {{shape: star}}, {windows}}}")
    assert [(task.name, task.filtering, bool(task.window)) for task in star.tasks[:3]] == [
        ("task_1", 0.0, False),
        ("task_2", 0.0, True),
        ("task_3", 0.5, False),
    ]
    assert star.warnings == ()
    linear = read(f"workflow: {{depth: 6, filtering: 0.5, {windows}}}")
    assert not any(task.filtering for task in linear.tasks)
    assert linear.warnings == ("line 1: filtering has no effect: the only task that would filter has windows",)
    chosen = read(pipeline("name: a", f"name: b, parents: [a], filtering: 0.5, {windows}"))
    assert chosen.tasks[0].filtering == 0.0
    assert chosen.warnings == (
        'line 4: filtering has no effect: "b" has windows, and tasks with windows do not filter',
    )


def test_with_the_scope_first_only_edges_from_sources_and_into_the_join_are_routed():
    connection = "connection: {{shape: {}, routing: hash, routing_scope: first}}"
    text = f"workflow: {{{{depth: 5, scalability: {{{{parallelism: 28}}}}, {connection}}}}}"
    diamond, star = read(text.format("diamond")), read(text.format("star"))
    assert diamond.routing_scope == "first"
    assert [task.routing for task in diamond.tasks] == ["hash", "hash", "hash", "none", "none"]
    assert [task.routing for task in star.tasks] == ["hash", "none", "none", "none", "none"]


def test_a_load_in_microseconds_is_spread_like_one_in_cycles():
    application = read("workflow: {workload: {processing_us: 10, balancing: increasing}}")
    assert [(task.processing, task.processing_us) for task in application.tasks] == [(0.0, 10.0), (0.0, 12.0)]


def test_the_level_of_a_task_is_one_more_than_that_of_its_last_parent():
    application = read(
        pipeline("name: a", "name: b, parents: [a]", "name: c, parents: [b]", "name: d", "name: e, parents: [d, c]")
    )
    assert [(component.name, component.level) for component in application.components] == [
        ("a", 1),
        ("d", 1),
        ("b", 2),
        ("c", 3),
        ("e", 4),
    ]


def test_a_chained_task_of_a_pipeline_has_the_parallelism_that_spark_executes():
    application = read(
        pipeline(
            "name: a, parallelism: 4",
            "name: b, parallelism: 2, parents: [a]",
            "name: c, parallelism: 4, parents: [b]",
            "name: d, parallelism: 3, parents: [a], routing: hash",
            "name: e, parallelism: 5, parents: [c, d]",
            "name: f, parents: [e]",
        )
    )
    assert instances(application) == [4, 4, 4, 3, 7, 7]
    assert application.warnings == (
        'line 4: "b" has parallelism 2, but routing none chains it to "a" (4): Spark executes 4',
        'line 7: "e" has parallelism 5, but routing none chains it to "c" (4) and "d" (3): Spark executes 7',
        'line 8: "f" has parallelism 1, but routing none chains it to "e" (7): Spark executes 7',
    )


def test_a_task_that_is_chained_to_one_of_several_sources_runs_in_the_partitions_of_all():
    application = read(
        pipeline(
            "name: a, parallelism: 2",
            "name: b, parallelism: 3",
            "name: c, parallelism: 2, parents: [a]",
            "name: d, parallelism: 5, parents: [a, b]",
            "name: e, parallelism: 9, parents: [b, c, d]",
        )
    )
    assert instances(application) == [2, 3, 5, 5, 15]
    assert application.warnings == (
        'line 5: "c" has parallelism 2, but routing none chains it to "a" (2): '
        "Spark executes 5, because all sources share a stream of 5 partitions",
        'line 7: "e" has parallelism 9, but routing none chains it to "b" (3) and "c" (5) and "d" (5): '
        "Spark executes 15, because all sources share a stream of 5 partitions",
    )


def test_unions_of_unions_do_not_grow_without_bound():
    chain = [f"name: t{n}, parents: [t{n - 1}, t{n - 2}]" for n in range(2, 199)]
    (head,) = heads(complaint(pipeline("name: t0, parallelism: 10000", "name: t1, parents: [t0]", *chain)))
    assert head.startswith('9:5: "t6" has parallelism 1, but routing none chains it to "t5" (80,000) and "t4" (50,000)')


def test_a_chained_workflow_has_the_parallelism_that_spark_executes():
    text = "workflow:\n  depth: {}\n  scalability: {{parallelism: {}}}\n  connection: {{shape: {}, routing: none}}\n"
    assert read(text.format(4, 96, "linear")).warnings == ()
    linear = read(text.format(3, 10, "linear"))
    assert instances(linear) == [4, 4, 4]
    assert linear.warnings == (
        "line 4: routing none chains tasks to their parents: "
        "Spark executes 4 instead of 3 of task_1, 4 instead of 3 of task_2",
    )
    assert instances(read(text.format(4, 10, "diamond"))) == [2, 2, 2, 4, 4]
    assert instances(read(text.format(4, 12, "star"))) == [2, 2, 4, 4, 4, 4]


def test_a_topic_makes_an_external_source():
    external = "external: {kafka: {server: 'localhost:9092', group: g, topic: t}}"
    workflow = read(f"datastream: {{{external}}}")
    assert workflow.sources[0].topic == SourceTopic("localhost:9092", "g", "t")
    task = read(pipeline("name: a, kafka: {server: 'a:1,b:2'}", "name: b, parents: [a]"))
    assert task.sources[0].topic == SourceTopic("a:1,b:2", "namb_default", "namb_topic")
    both = read(f"datastream:\n  synthetic: {{}}\n  {external}\n")
    assert both.sources[0].topic
    assert both.warnings == ()
    without = read("datastream: {external: {kafka: {topic: t}}}")
    assert without.sources[0].topic is None
    assert without.warnings == ("line 1: kafka has no effect without a server",)


def test_anchors_and_merges_are_unfolded():
    text = "pipeline:\n  tasks:\n  - name: a\n  - &b {name: b, parents: [a], processing: 3}\n  - {<<: *b, name: c}\n"
    assert [(task.name, task.processing) for task in read(text).tasks] == [("b", 3.0), ("c", 3.0)]


# Files as NAMB 0.8 has them in its documentation and examples, with what is obsolete or has no use here.
OLD_WORKFLOW = """\
datastream:
  external:
    kafka: {server: localhost:9092, group: test, topic: test}
    zookeeper: {server: localhost:2181}
dataflow:
  depth: 3
  scalability: {parallelism: 3, balancing: balanced}
  connection: {shape: linear, routing: balanced}
  workload: {processing: 0}
  reliable: true
"""
OLD_PIPELINE = """\
pipeline:
  tasks:
  - name: source
    type: source
    synthetic:
      data: {size: 8, balancing: unbalanced}
      flow: {distribution: sinusoidal, phase: 60}
  - name: sink
    type: task
    reliable: false
    resizedata: 4
    parents: [source]
workflow: {depth: nonsense}
"""


def test_a_workflow_of_namb_is_read_with_a_warning_for_each_obsolete_name():
    application = read(OLD_WORKFLOW)
    assert application.warnings == (
        "line 4: zookeeper has no effect: Spark does not need it",
        "line 5: dataflow is an obsolete name; write workflow",
        "line 10: reliable is an obsolete name; write reliability",
    )
    assert instances(application) == [1, 1, 1]
    assert [task.processing for task in application.tasks] == [0.0, 0.0]


def test_a_pipeline_of_namb_is_read_with_a_warning_for_each_obsolete_name():
    application = read(OLD_PIPELINE)
    assert application.warnings == (
        "line 4: type is not needed: a task without parents is a source",
        "line 5: synthetic is obsolete in a task; write data and flow without it",
        "line 6: balancing is an obsolete name; write distribution",
        "line 6: unbalanced is an obsolete name; write nonuniform",
        "line 7: sinusoidal is an obsolete name; write sin",
        "line 9: type is not needed: a task without parents is a source",
        "line 10: reliable is an obsolete name; write reliability",
        "line 11: resizedata is an obsolete name; write resizeddata",
        "line 13: workflow is not read: pipeline has tasks",
    )
    assert application.schema == "pipeline"
    assert application.sources[0].flow == Flow("sin", 1000.0, phase_s=60.0)
    assert application.sources[0].data.distribution == "nonuniform"
    assert (application.tasks[0].resized_data, application.tasks[0].reliability) == (4, False)


def test_a_pipeline_without_tasks_leaves_the_workflow():
    application = read("pipeline: {tasks: []}\nworkflow: {depth: 2}\n")
    assert application.schema == "workflow"
    assert application.warnings == ("line 1: pipeline is not read: it has no tasks",)


@pytest.mark.parametrize(
    ("flow", "warning"),
    [
        ("phase: 5", "line 3: phase has no effect: distribution is uniform"),
        ("distribution: sin, burst_rate: 5", "line 3: burst_rate has no effect: distribution is sin"),
        ("distribution: burst, phase: 5", "line 3: phase has no effect: distribution is burst"),
    ],
)
def test_times_of_another_shape_are_said_to_have_no_effect(flow, warning):
    assert read(pipeline(f"name: a, flow: {{{flow}}}", "name: b, parents: [a]")).warnings == (warning,)


def test_an_exponent_without_its_law_is_said_to_have_no_effect():
    data = read(pipeline("name: a, data: {exponent: 2}", "name: b, parents: [a]"))
    assert data.warnings == ("line 3: exponent has no effect: distribution is uniform, not zipf",)


def test_windows_that_are_off_may_have_no_duration():
    application = read("workflow: {windowing: {enabled: false, duration: 0, interval: 0}}")
    assert not any(task.window for task in application.tasks)


@pytest.mark.parametrize("name", ["wrong_workflow", "wrong_pipeline"])
def test_all_mistakes_are_shown_at_once_with_line_mark_and_remedy(name):
    with pytest.raises(InvalidExperimentError) as caught:
        read_application((HERE / f"{name}.yaml").read_text(), name=f"{name}.yaml")
    assert f"{caught.value}\n" == (HERE / f"{name}.txt").read_text()
    assert caught.value.exit_code == 3


@pytest.mark.parametrize(
    ("text", "head"),
    [
        ("workflow: 3", "1:11: workflow needs keys with values"),
        ("workflow:", "1:1: workflow needs keys with values"),
        ("workflow: {depth: 1}", '1:19: depth "1" is out of range'),
        ("workflow: {depth: 3.0}", '1:19: depth "3.0" is not a whole number'),
        ("workflow: {depth: true}", '1:19: depth "true" is not a number'),
        ("workflow: {depth: 201}", '1:19: depth "201" is out of range'),
        ("workflow: {depth: 2, connection: {shape: star}}", "1:19: depth 2 is too small for a star"),
        (
            "workflow: {depth: 20}",
            "1:19: parallelism is 10 by default, but the linear shape of depth 20 has 20 components",
        ),
        (
            "workflow: {scalability: {parallelism: 4}, connection: {shape: star}}",
            "1:39: parallelism is 4, but the star shape of depth 3 has 5 components",
        ),
        (
            "workflow: {windowing: {enabled: true, type: sliding, duration: 5, interval: 8}}",
            "1:77: windows of 5 s every 8 s have gaps, which Spark does not allow",
        ),
        (
            "workflow: {windowing: {enabled: true, type: sliding, duration: 5}}",
            "1:64: windows of 5 s every 10 s have gaps, which Spark does not allow",
        ),
        ("workflow: {scalability: {variability: 0}}", '1:39: variability "0" is out of range'),
        ("workflow: {filtering: -0.1}", '1:23: filtering "-0.1" is out of range'),
        ("workflow: {filtering: .nan}", '1:23: filtering ".nan" is not a number'),
        (
            "workflow: {depth: 120, scalability: {parallelism: 500}, workload: {balancing: increasing}}",
            "1:79: increasing makes the CPU work of task_65 1,168,422",
        ),
        ("datastream: {synthetic: {data: {size: 0}}}", '1:39: size "0" is out of range'),
        ("datastream: {synthetic: {data: {size: 1}}}", "1:39: values is 100, but there are only 26 strings of size 1"),
        (
            "datastream: {synthetic: {data: {values: 10000001, distribution: zipf}}}",
            "1:41: values is 10,000,001, but Zipf's law takes at most 10,000,000",
        ),
        ("datastream: {synthetic: {flow: {rate: -1}}}", '1:39: rate "-1" is out of range'),
        ("datastream: {synthetic: {flow: {rate: 1e999}}}", '1:39: rate "1e999" is out of range'),
        (
            "datastream: {synthetic: {flow: {rate: 0, distribution: sawtooth}}}",
            "1:39: rate 0 is as fast as possible, so sawtooth has no rate to shape",
        ),
        (
            "datastream: {external: {kafka: {server: a:1}}}\nworkflow: {connection: {shape: star}}",
            "1:41: a star has two sources, but there is one topic",
        ),
        (
            "pipeline: {tasks: [{name: a, kafka: {server: 'b:1'}}, {name: c}, {name: t, parents: [a, c]}]}",
            '1:46: "a" reads a topic, but there are 2 sources',
        ),
        ("dataflow: {}\nworkflow: {}", '2:1: "workflow" is the same as "dataflow" in line 1'),
        ("workflow: {}\nworkflow: {}", '2:1: "workflow" is there already, in line 1'),
        ("wrokflow: {}", '1:1: a prototype file has no key "wrokflow"'),
        ("pipeline:", "1:1: pipeline needs the key tasks"),
        ("pipeline: {tasks: }", "1:1: pipeline has no tasks"),
        ("pipeline: {tasks: []}", "1:1: pipeline has no tasks"),
        ("pipeline: {tasks: {name: a}}", "1:19: tasks needs a list"),
        ("- pipeline", "1:1: a prototype file needs keys with values"),
        ("just words", "1:1: a prototype file needs keys with values"),
        ("workflow: {depth: 3", "1:20: this is not YAML: expected ',' or '}', but got '<stream end>'"),
        ("workflow:\n\tdepth: 3", "2:1: there is a tab here"),
        ("workflow: !!python/object:os.system {}", "1:11: tags are not supported"),
        ("workflow: {}\n--- {}", "2:1: a second document begins here"),
        (SOURCE, '3:12: no task gets the tuples of source "a"'),
        (pipeline("name: a, parents: [a]"), '3:25: "a" cannot be its own parent'),
        (pipeline("name: a", "name: b, parents: [A, a]"), '4:25: there is no task "A"'),
        (pipeline("name: b, parents: [a]", "name: a"), '3:25: parent "a" stands after "b", in line 4'),
        (
            pipeline("name: s", "name: a, parents: [s, b]", "name: b, parents: [a]"),
            "4:28: tuples go round in a circle: a → b → a",
        ),
        (pipeline("name: a", "name: a, parents: [a]"), '4:12: "a" is the name of another task already, in line 3'),
        (pipeline("name: a", "name: b, parents: [a, a]"), '4:28: parent "a" is there already'),
        (pipeline("name: a", "name: b, parents: []"), "4:24: parents needs a list of names"),
        (pipeline("name: a", "name: b, parents: [[a]]"), "4:25: parents needs a list of names"),
        (
            pipeline("name: a", "name: b, parents: [a], resizeddata: 1, resizedata: 1"),
            '4:45: "resizedata" is the same as "resizeddata" in line 4',
        ),
        (
            pipeline(
                "name: a, parallelism: 100000, flow: {rate: 20000, rate_scope: instance}", "name: b, parents: [a]"
            ),
            "3:49: 100,000 instances with 20,000 tuples per second each are too many",
        ),
        (
            pipeline("name: a, flow: {rate: 0}", "name: b", "name: c, parents: [a, b]"),
            '3:28: "a" is as fast as possible, but "b" has 1,000 tuples per second',
        ),
        (
            pipeline(
                "name: a, parallelism: 2",
                "name: b, parallelism: 4, parents: [a], windowing: {enabled: true}, routing: hash",
                "name: c, parallelism: 3, parents: [b], windowing: {enabled: true}, routing: hash",
            ),
            '5:28: "c" has windows and 3 instances, but "b" has windows and 4',
        ),
    ],
)
def test_a_mistake_is_shown_where_it_is(text, head):
    assert heads(complaint(text)) == [head]


@pytest.mark.parametrize("name", ["a b", "", "'a\"b'", "ä", "x" * 101, "-a"])
def test_names_are_plain_words(name):
    assert any(
        "cannot be used" in head or "has no value" in head for head in heads(complaint(f"{SOURCE}  - name: {name}"))
    )


@pytest.mark.parametrize("server", ["localhost", "localhost:", ":9092", "a:1,", "a b:1", "http://a:1"])
def test_a_server_is_a_host_and_a_port(server):
    message = complaint(f'datastream: {{external: {{kafka: {{server: "{server}"}}}}}}')
    assert heads(message) == [f'1:41: server "{server}" cannot be used']


@pytest.mark.parametrize("text", ["", "\n\n", "# nothing but words\n", "~", "---\n...\n", "{}"])
def test_an_empty_file_is_said_to_be_empty(text):
    assert heads(complaint(text)) == ["1:1: the file is empty"]


@pytest.mark.parametrize(
    ("text", "remedy"),
    [
        ("workflow: {dept: 3}", "did you mean `depth`?"),
        ("workflow: {shape: star}", "did you mean `workflow.connection.shape`?"),
        ("workflow: {connection: {shape: daimond}}", "did you mean `diamond`?"),
        ("workflow: {seed: 3}", "the seed is chosen with --seed"),
        ("datastream: {synthetic: {flow: {rate: 50k}}}", "without a unit or quotes"),
        ("datastream: {synthetic: {flow: {rate: '5'}}}", "without a unit or quotes"),
        ("pipelin: {}", "did you mean `pipeline`?"),
        (f"{SOURCE}  - {{name: b, parents: a}}", "write parents: [a]"),
        (f"{SOURCE}  - {{name: b, parents: [a], rooting: hash}}", "did you mean `routing`?"),
        (f"{SOURCE}  - {{name: b, processing: 3}}", "leave processing out, or add `parents: [NAME]`"),
    ],
)
def test_a_remedy_names_what_was_meant(text, remedy):
    assert remedy in complaint(text)


def test_more_tasks_than_allowed_are_refused():
    chain = [f"name: t{n}, parents: [t{n - 1}]" for n in range(1, 200)]
    assert len(read(pipeline("name: t0", *chain)).tasks) == 199
    message = complaint(pipeline("name: t0", *chain, "name: t200, parents: [t199]"))
    assert heads(message) == ["203:5: more than 200 tasks"]


def test_many_backward_edges_are_judged_at_once():
    names = [f"t{n}" for n in range(30)]
    message = complaint(pipeline(*(f"name: {name}, parents: [{', '.join(names)}]" for name in names)))
    assert len(heads(message)) == 50
    assert "more mistakes" in message


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("\n" * 150_000, "more than 10,000 lines"),
        ("#\n" * 20_000, "more than 10,000 lines"),
        ("pipeline: [" + "x, " * 6000 + "]", "more than 5,000 values"),
        ("[ " * 5000, "more than 20 levels"),
        (
            "a: &a [1, 1, 1, 1, 1, 1, 1, 1]\n" + "b: &b [*a, *a, *a, *a]\nc: &c [*b, *b, *b, *b]\n" * 80,
            "more than 5,000",
        ),
    ],
    ids=["blank", "comments", "values", "deep", "unfolding"],
)
def test_files_that_would_take_long_are_refused(text, what):
    assert what in complaint(text)


def test_a_million_lines_are_refused_without_being_read(tmp_path, monkeypatch):
    path = tmp_path / "long.yaml"
    path.write_text("pipeline:\n" + "- x\n" * 1_000_000)
    monkeypatch.setattr(
        "streamgauge.prototype.file.document.read_application", lambda *_, **__: pytest.fail("it was read")
    )
    with pytest.raises(InvalidExperimentError, match=r"long.yaml:1:1: more than 200,000 bytes"):
        load_application(path)
    assert is_prototype_file(path)


def test_a_file_is_read_from_disk_and_called_by_its_path(tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_bytes(b"\xef\xbb\xbfworkflow: {}\r\n")
    assert load_application(path).name == "mine"
    path.write_bytes(b"workflow: {}\n# m\xfcll\n")
    with pytest.raises(InvalidExperimentError, match=r"mine.yaml:2:4: the byte 0xFC is not UTF-8"):
        load_application(path)
    with pytest.raises(UsageError, match="cannot be read: No such file"):
        load_application(tmp_path / "nobody.yaml")
    with pytest.raises(UsageError, match="cannot be read: Is a directory"):
        load_application(tmp_path)


@pytest.mark.parametrize(
    ("text", "is_prototype"),
    [
        ("pipeline: {}", True),
        ("# words\ndatastream:\n  x: 1\n", True),
        ("dataflow:\n", True),
        ('"workflow": {}', True),
        ('{"pipeline": {"tasks": []}}', True),
        ("# words\n{ workflow: {} }", True),
        ("workflow: [\n'", True),
        ("pipelines: {}", True),
        ("streamgauge: 1\nname: workflows\nruns: []\n", False),
        ("streamgauge: 1\nworkflows: 1\n", False),
        ("x:\n  pipeline: {}\n", False),
        ("# pipeline: no\nother: 1\n", False),
        ("description: |\n  pipeline: {}\n", False),
        ("", False),
        ("\x00\x01", False),
    ],
)
def test_a_prototype_is_told_from_a_suite_by_its_keys(tmp_path, text, is_prototype):
    path = tmp_path / "some.yaml"
    path.write_text(text)
    assert is_prototype_file(path) is is_prototype


def test_what_cannot_be_read_is_no_prototype(tmp_path):
    assert not is_prototype_file(tmp_path)
    assert not is_prototype_file(tmp_path / "nobody.yaml")


def test_suites_are_no_prototypes():
    suites = sorted((FOLDER / "suites").glob("*.yaml"))
    assert suites
    assert not any(is_prototype_file(path) for path in suites)


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.yaml")), ids=lambda path: path.stem)
def test_the_examples_are_read_without_a_warning(path):
    assert is_prototype_file(path)
    application = load_application(path)
    assert application.name == path.stem
    assert application.warnings == ()
    assert application.sinks


def test_the_examples_show_every_extension_of_tasks_and_sources():
    text = (EXAMPLES / "extensions.yaml").read_text()
    ours = [member.name for member in _keys(ANY_TASK) if member.is_ours]
    assert {"processing_us", "sojourn_ms", "batch_ms", "parse_json", "selectivity", "burst_rate", "exponent"} <= set(
        ours
    )
    assert [name for name in ours if f"{name}:" not in text] == []


def _keys(group: Group):
    for member in group.members:
        yield from _keys(member) if isinstance(member, Group) else [member]


def test_defaults_are_in_the_domain_of_their_keys():
    keys = [key for group in (WORKFLOW, DATASTREAM, ANY_TASK) for key in _keys(group)]
    numbers = [key for key in keys if key.kind in ("whole", "number") and key.default is not None]
    assert len(numbers) > 15
    assert all(key.low <= key.default <= key.high for key in numbers)
    assert all(key.default in (None, *key.choices) for key in keys if key.kind == "choice")
    assert all(set(key.older_values.values()) <= set(key.choices) for key in keys)


def test_mistakes_are_found_without_spark_and_other_heavy_packages():
    program = (
        "import sys\n"
        "from pathlib import Path\n"
        "from streamgauge.errors import InvalidExperimentError\n"
        "from streamgauge.prototype import load_application\n"
        "try:\n    load_application(Path(sys.argv[1]))\n"
        "except InvalidExperimentError as error:\n    assert len(str(error).splitlines()) > 30\n"
        "else:\n    raise AssertionError('nothing was found')\n"
        "heavy = {'pyspark', 'numpy', 'pandas', 'scipy', 'pyarrow', 'pydantic', 'duckdb'}\n"
        "assert heavy.isdisjoint(sys.modules), heavy & set(sys.modules)\n"
    )
    path = HERE / "wrong_pipeline.yaml"
    done = subprocess.run([sys.executable, "-c", program, path], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
