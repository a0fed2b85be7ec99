"""An application as a Spark dataflow: every task a few transformations, every tuple a row.

Spark's optimizer moves, merges and drops what it can, and a prototype is only as good as its plan. So:

- A task changes `id` in a case that never happens, by an expression that holds its name and its load. The name marks
  the task in the plan. The expression counts as random, because it asks for the partition: Spark then neither moves a
  filter below it, nor copies it into another expression, nor into the parts of a union. It also names all columns, so
  that none is left out on the way: tuples travel whole.
- Where tuples of a task go to several children, Spark would compute the task once for each of them. Only what
  goes through a shuffle is shared. Children that are reached by equal shuffles share that; otherwise tuples are handed
  over by one more shuffle, which leaves each of them in its partition.
"""

import zlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from streamgauge.prototype.application import Application, Source, Task, Window
from streamgauge.prototype.calibration import LoadForm
from streamgauge.prototype.load import arrow_load, is_first, mark, native_load, pause, sojourn
from streamgauge.prototype.values import TUPLE

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

COLUMNS = tuple(field.name for field in TUPLE)
# What the results of windows have besides, by type.
OF_WINDOWS = {"count": "bigint", "earliest": "timestamp"}
JSON_SCHEMA = ", ".join(f"{field.name} {field.type}" for field in TUPLE)
# With any option at all, Spark does not see that writing and reading undo each other.
JSON_OPTIONS = {"mode": "FAILFAST"}
# Shares are compared with numbers drawn below this.
DRAWS = 2**40

FILTER, COPIES, INSTANCE = range(3)


def draw_field(task: str, purpose: int) -> int:
    """Return the number of the draws of a task for one purpose; it depends on the name alone."""
    return 4 * zlib.crc32(task.encode()) + purpose


def build(
    df: "DataFrame", application: Application, cycles: Mapping[str, int], form: LoadForm, seed: int
) -> "DataFrame":
    """Build the dataflow over the stream of all sources; `cycles` is the load of each task."""
    if application.has_windows:
        df = df.withWatermark("timestamp", "0 seconds")
    origins = {instance_origin(application, task).name for task in application.tasks if needs_instance(task)}
    streams: dict[str, DataFrame] = {}
    for task in application.tasks:
        routed = route(_received(df, application, streams, task), task)
        arrived = with_instance(routed, task, seed) if task.name in origins else routed
        done = perform(arrived, task, cycles[task.name], form, seed)
        streams[task.name] = hand_over(done, task.parallelism) if is_handed_over(application, task) else done
    return leave(application, streams)


def _received(df: "DataFrame", application: Application, streams: "Mapping[str, DataFrame]", task: Task) -> "DataFrame":
    """Unite the tuples of all parents; those of sources are a part of the one stream that there is."""
    from pyspark.sql import functions as F

    components = [application.component(name) for name in task.parents]
    sources = [component for component in components if isinstance(component, Source)]
    parts = [streams[component.name] for component in components if isinstance(component, Task)]
    if sources:
        indices = [application.sources.index(source) for source in sources]
        is_all = len(indices) == len(application.sources)
        parts.insert(0, (df if is_all else df.where(F.col("source").isin(indices))).select(*COLUMNS))
    return unite(parts)


def unite(parts: "Sequence[DataFrame]") -> "DataFrame":
    """Put streams together; what only the results of windows have is null for other tuples."""
    if len(parts) == 1:
        return parts[0]
    extra = [name for name in OF_WINDOWS if any(name in part.columns for part in parts)]
    first, *rest = (with_columns_of_windows(part, extra).select(*COLUMNS, *extra) for part in parts)
    for part in rest:
        first = first.union(part)
    return first


def with_columns_of_windows(df: "DataFrame", names: Sequence[str]) -> "DataFrame":
    """Add what the results of windows have, null, where it is missing."""
    from pyspark.sql import functions as F

    missing = {name: F.lit(None).cast(OF_WINDOWS[name]) for name in names if name not in df.columns}
    return df.withColumns(missing) if missing else df


def route(df: "DataFrame", task: Task) -> "DataFrame":
    """Take tuples to the partitions of a task."""
    from pyspark.sql import functions as F

    if task.routing == "balanced":
        return df.repartition(task.parallelism)
    if task.routing == "hash":
        # Not `repartition` by value: of two in a row Spark drops one, also where the tuples between them are shared.
        return df.repartitionById(task.parallelism, value_instance(task.parallelism))
    if task.routing == "broadcast":
        copies = df.withColumn("partition", F.explode(F.sequence(F.lit(0), F.lit(task.parallelism - 1))))
        return copies.repartitionById(task.parallelism, "partition").drop("partition")
    return df


def value_instance(instances: int) -> "Column":
    """Return the instance that the value of a tuple belongs to."""
    from pyspark.sql import functions as F

    return F.pmod(F.hash("value"), F.lit(instances))


def needs_instance(task: Task) -> bool:
    """Tell whether a task has windows for each of its instances."""
    return task.window is not None and task.window.key == "instance"


def instance_origin(application: Application, task: Task) -> Task:
    """Return the task whose routing decides in which instance a tuple is: a chained one is where its parent is."""
    while task.routing == "none" and len(task.parents) == 1:
        parent = application.component(task.parents[0])
        if isinstance(parent, Source) or parent.window is not None:
            break
        task = parent
    return task


def with_instance(df: "DataFrame", task: Task, seed: int) -> "DataFrame":
    """Number the instance of each tuple: its partition, or where any partition will do, a drawn number."""
    from pyspark.sql import functions as F

    from streamgauge.events.draw import draw_column

    if task.routing == "broadcast":
        return df.withColumn("instance", F.spark_partition_id())
    if task.routing == "hash":
        return df.withColumn("instance", value_instance(task.parallelism))
    field = draw_field(task.name, INSTANCE)
    return df.withColumn("instance", draw_column(F.col("id"), seed=seed, field=field, below=task.parallelism))


def perform(df: "DataFrame", task: Task, cycles: int, form: LoadForm, seed: int) -> "DataFrame":
    """Do what a task does with the tuples that have arrived."""
    if task.window is not None:
        # Spark drops rows without a time, and would do so further down, in what other tasks share.
        df = put_in_windows(hold(df, f"windows of {task.name}"), task.window)
    if task.parse_json:
        df = parse_json(df)
    df = spend(df, task, cycles, form)
    df = emit_windows(df, task.window) if task.window is not None else keep(df, task, seed)
    return resize(copy(df, task, seed), task.resized_data)


def parse_json(df: "DataFrame") -> "DataFrame":
    """Write each tuple as JSON and read it again."""
    from pyspark.sql import functions as F

    read = F.from_json(F.to_json(F.struct(*COLUMNS)), JSON_SCHEMA, JSON_OPTIONS)
    # The time stays as it was: Spark knows that one to be the event time, and JSON has only milliseconds.
    fields = {name: F.col(f"read.{name}") for name in COLUMNS if name != "timestamp"}
    return df.withColumn("read", read).withColumns(fields).drop("read")


def hold(df: "DataFrame", text: str) -> "DataFrame":
    """Put a step with a text and all columns into the plan, below which Spark moves nothing."""
    from pyspark.sql import functions as F

    never = F.spark_partition_id() < 0
    return df.withColumn("id", F.when(never, F.xxhash64(F.lit(text), *df.columns)).otherwise(F.col("id")))


def spend(df: "DataFrame", task: Task, cycles: int, form: LoadForm) -> "DataFrame":
    """Mark the task, and spend its load and its waiting times on every row.

    `id` stays as it is, in a way that only Spark at run time knows.
    """
    from pyspark.sql import functions as F

    if not (cycles or task.sojourn_ms or task.batch_ms):
        return hold(df, mark(task.name))
    number, never = F.col("id"), F.spark_partition_id() < 0
    other = F.xxhash64(F.lit(mark(task.name)), *df.columns)
    if cycles and form == "native":
        chosen = F.when((native_load(number, task.name, cycles) == 0) & never, other)
    else:
        chosen = F.when(never, other)
    if cycles and form == "arrow":
        chosen = chosen.when(arrow_load(number, task.name, cycles) < 0, other)
    if task.sojourn_ms:
        chosen = chosen.when(sojourn(task.sojourn_ms).isNull(), other)
    if task.batch_ms:
        chosen = chosen.when(is_first() & pause(task.batch_ms).isNull(), other)
    return df.withColumn("id", chosen.otherwise(number))


def put_in_windows(df: "DataFrame", window: Window) -> "DataFrame":
    """Make a row of every tuple for each window that it is in."""
    from pyspark.sql import functions as F

    length, slide = (f"{seconds} seconds" for seconds in (window.duration_s, window.slide_s))
    return df.withColumn("window", F.window("timestamp", length, slide))


def emit_windows(df: "DataFrame", window: Window) -> "DataFrame":
    """Make one tuple of each window of an instance or value: the last one, with their number and the earliest time."""
    from pyspark.sql import functions as F

    earliest = F.coalesce("earliest", "timestamp") if "earliest" in df.columns else F.col("timestamp")
    numbers = [F.count("*").alias("count"), F.min(earliest).alias("earliest")]
    timestamp = F.window_time("window").alias("timestamp")
    if window.key == "value":
        # Numbers alone are added up in a hash table; with a text among them Spark sorts.
        last = df.groupBy("window", "value").agg(F.max("id").alias("id"), F.max_by("num", "id").alias("num"), *numbers)
        return last.select("value", "id", "num", timestamp, *OF_WINDOWS)
    last = df.groupBy("window", "instance").agg(F.max(F.struct("id", "num", "value")).alias("last"), *numbers)
    return last.select("last.value", "last.id", "last.num", timestamp, *OF_WINDOWS)


def keep(df: "DataFrame", task: Task, seed: int) -> "DataFrame":
    """Forward a share of the tuples, drawn by their ids."""
    from pyspark.sql import functions as F

    from streamgauge.events.draw import draw_column

    if task.filtering in (0.0, 1.0):
        return df
    drawn = draw_column(F.col("id"), seed=seed, field=draw_field(task.name, FILTER), below=DRAWS)
    return df.where(drawn < round(task.filtering * DRAWS))


def copy(df: "DataFrame", task: Task, seed: int) -> "DataFrame":
    """Forward so many copies of each tuple: the whole part of the selectivity, and one more by a draw for the rest."""
    from pyspark.sql import functions as F

    from streamgauge.events.draw import draw_column

    if task.selectivity == 1.0:
        return df
    whole, rest = divmod(task.selectivity, 1.0)
    drawn = draw_column(F.col("id"), seed=seed, field=draw_field(task.name, COPIES), below=DRAWS)
    more = F.when(drawn < round(rest * DRAWS), 1).otherwise(0)
    copies = F.lit(int(whole)) + more if rest else F.lit(int(whole))
    return df.withColumn("copy", F.explode(F.array_repeat(F.lit(0), copies))).drop("copy")


def resize(df: "DataFrame", size: int) -> "DataFrame":
    """Cut values that are longer; 0 leaves all as they are."""
    from pyspark.sql import functions as F

    return df.withColumn("value", F.substring("value", 1, size)) if size else df


def share_shuffle(tasks: Sequence[Task]) -> bool:
    """Tell whether tasks are reached by equal shuffles, of which Spark makes one."""
    first = tasks[0]
    ways = {(task.parents, task.routing, task.parallelism) for task in tasks}
    return len(ways) == 1 and first.routing != "none"


def is_handed_over(application: Application, task: Task) -> bool:
    """Tell whether the tuples of a task need a shuffle of their own, so that it is computed only once."""
    children = application.children(task.name)
    return len(children) > 1 and not share_shuffle(children)


def hand_over(df: "DataFrame", partitions: int) -> "DataFrame":
    """Shuffle rows in such a way that each stays in its partition."""
    from pyspark.sql import functions as F

    placed = df.withColumn("partition", F.spark_partition_id())
    return placed.repartitionById(partitions, "partition").drop("partition")


def leave(application: Application, streams: "Mapping[str, DataFrame]") -> "DataFrame":
    """Put the tuples of all sinks together; where there are several, `task` names the one that they come from."""
    from pyspark.sql import functions as F

    sinks = application.sinks
    extra = columns_of_windows(application)
    several = len(sinks) > 1
    parts = []
    for sink in sinks:
        part = with_columns_of_windows(streams[sink.name], extra)
        parts.append(part.select(*COLUMNS, *extra, *([F.lit(sink.name).alias("task")] if several else [])))
    first, *rest = parts
    for part in rest:
        first = first.union(part)
    return first


def columns_of_windows(application: Application) -> tuple[str, ...]:
    """Return what the tuples that leave the application have besides, when some of them come out of windows."""
    windowed = application.results_of_windows
    return tuple(OF_WINDOWS) if any(sink.name in windowed for sink in application.sinks) else ()
