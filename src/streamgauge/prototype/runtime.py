"""The functions that prototypes run on, in plain PySpark: a run calls them, and exported programs contain them.

Code lines have at most 88 characters, as wide as formatters leave the lines of a program by default.

Spark's optimizer moves, merges and drops what it can, and a prototype is only as good as its plan. So:

- A task changes `id` in a case that never happens, by an expression that holds its name and its CPU work. The name
  marks the task in the plan. The expression counts as random, because it asks for the partition: Spark then neither
  moves a filter below it, nor copies it into another expression, nor into the parts of a union. It also names all
  columns, so that none is left out on the way: tuples travel whole.
- Where tuples of a task go to several children, Spark would compute the task once for each of them. Only what
  goes through a shuffle is shared. Children that are reached by equal shuffles share that; otherwise tuples are handed
  over by one more shuffle, which leaves each of them in its partition.
"""

import math
from collections.abc import Sequence
from itertools import accumulate

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from streamgauge.events.columns import divide, draw, draw_in_slots, draw_key, modulo, pick, zipf_borders
from streamgauge.prototype.cpu_work import cpu_work, cpu_work_in_python, is_first_row, pause, sleep
from streamgauge.prototype.executed_plan import mark
from streamgauge.prototype.graph.flow import LEAST_PER_S, SOURCE_DRAWS
from streamgauge.prototype.graph.values import (
    COLUMNS,
    COPIES,
    DRAWS,
    FILTER,
    INDEX,
    INSTANCE,
    OF_WINDOWS,
    SOURCE,
    TYPES,
    bell_borders,
    draw_field,
    text_parts,
)

# With any option at all, Spark does not see that writing and reading undo each other.
JSON_OPTIONS = {"mode": "FAILFAST"}


def uniform_index(n: Column, seed: int, values: int) -> Column:
    """Draw the index of a value; all are equally likely."""
    return draw(n, draw_key(seed, INDEX), values)


def zipf_index(n: Column, seed: int, values: int, exponent: float) -> Column:
    """Draw the index of a value by Zipf's law."""
    return draw_in_slots(n, draw_key(seed, INDEX), zipf_borders(values, exponent))


def bell_index(n: Column, seed: int, values: int) -> Column:
    """Draw the index of a value by a bell."""
    return draw_in_slots(n, draw_key(seed, INDEX), bell_borders(values))


def text_of(index: Column, size: int, values: int) -> Column:
    """Return the text with an index, of that many letters and among that many texts."""
    constant, parts = text_parts(size, values)
    places = [(divide(index, divisor), choices) for divisor, choices in parts]
    texts = [pick(modulo(place, len(choices)), choices) for place, choices in places]
    whole = [F.lit(constant), *texts] if constant else texts
    return whole[0] if len(whole) == 1 else F.concat(*whole)


def number_in_instance(n: Column, instances: int) -> Column:
    """Return which tuple of its source instance a tuple is, from 1."""
    return divide(n, instances) + 1


def sine(t_us: Column, peak_per_s: float, offset_us: int, period_us: int) -> Column:
    """Return the rate of a sine."""
    turn = 2 * math.pi * progress(t_us, offset_us, period_us)
    return wave(peak_per_s, (1.0 + F.sin(turn)) / 2.0)


def rise(t_us: Column, peak_per_s: float, offset_us: int, period_us: int) -> Column:
    """Return a rate that rises, and falls at once."""
    return wave(peak_per_s, progress(t_us, offset_us, period_us))


def fall(t_us: Column, peak_per_s: float, offset_us: int, period_us: int) -> Column:
    """Return a rate that falls, and rises at once."""
    return wave(peak_per_s, 1.0 - progress(t_us, offset_us, period_us))


def progress(t_us: Column, offset_us: int, period_us: int) -> Column:
    """Return how much of its period a wave has done, from 0 to 1."""
    return ((t_us + offset_us) % period_us).cast("double") / float(period_us)


def wave(peak_per_s: float, share: Column) -> Column:
    """Return a share of the highest rate, and not less than the least rate."""
    return F.greatest(F.lit(LEAST_PER_S), peak_per_s * share)


def bursts(
    t_us: Column,
    rate_per_s: float,
    burst_per_s: float,
    offset_us: int,
    calm_us: int,
    burst_us: int,
) -> Column:
    """Return the rate of a source that is calm first, then has a burst, in turns."""
    is_calm = (t_us + offset_us) % (calm_us + burst_us) < calm_us
    return F.when(is_calm, rate_per_s).otherwise(burst_per_s)


def source_in_turn(n: Column, sources: int) -> Column:
    """Return the source of each event, if they take turns."""
    return (n % sources).cast("long")


def drawn_source(n: Column, seed: int, rates: Sequence[Column | float]) -> Column:
    """Draw the source of each event: the higher its rate at that time, the likelier."""
    drawn = draw(n, draw_key(seed, SOURCE), SOURCE_DRAWS)
    until = list(accumulate(rates, initial=0.0))[1:]
    place = drawn.cast("double") / float(SOURCE_DRAWS) * until[-1]
    index = F.lit(len(until) - 1)
    for k in reversed(range(len(until) - 1)):
        index = F.when(place < until[k], k).otherwise(index)
    return index.cast("long")


def of_source(*columns: Column) -> Column:
    """Choose the column of the source that a tuple comes from."""
    chosen = columns[-1]
    for index in reversed(range(len(columns) - 1)):
        chosen = F.when(F.col("source") == index, columns[index]).otherwise(chosen)
    return chosen


def from_sources(tuples: DataFrame, *indices: int) -> DataFrame:
    """Return the tuples of some of the sources, or of all."""
    if indices:
        tuples = tuples.where(F.col("source").isin(list(indices)))
    return tuples.select(*COLUMNS)


def unite(*parts: DataFrame) -> DataFrame:
    """Put streams together; columns that only some of them have are null in others."""
    known = [*COLUMNS, *OF_WINDOWS, "task"]
    names = [name for name in known if any(name in part.columns for part in parts)]
    first, *rest = (with_columns(part, names).select(*names) for part in parts)
    for part in rest:
        first = first.union(part)
    return first


def with_columns(df: DataFrame, names: Sequence[str]) -> DataFrame:
    """Add the columns that only results of windows have, null, where they are missing."""
    missing = [name for name in names if name not in df.columns]
    nulls = {name: F.lit(None).cast(OF_WINDOWS[name]) for name in missing}
    return df.withColumns(nulls) if nulls else df


def in_turns(df: DataFrame, instances: int) -> DataFrame:
    """Send tuples to the instances in turns."""
    return df.repartition(instances)


def by_value(df: DataFrame, instances: int) -> DataFrame:
    """Send tuples with the same value to the same instance."""
    # Not `repartition` by value: of two in a row Spark drops one, also where the
    # tuples between them are shared.
    return df.repartitionById(instances, value_instance(instances))


def value_instance(instances: int) -> Column:
    """Return the instance that the value of a tuple belongs to."""
    return F.pmod(F.hash("value"), F.lit(instances))


def broadcast(df: DataFrame, instances: int) -> DataFrame:
    """Send a copy of each tuple to every instance."""
    every = F.explode(F.sequence(F.lit(0), F.lit(instances - 1)))
    copies = df.withColumn("partition", every)
    return copies.repartitionById(instances, "partition").drop("partition")


def hand_over(df: DataFrame, instances: int) -> DataFrame:
    """Shuffle tuples to where they are, so that several tasks can read them."""
    placed = df.withColumn("partition", F.spark_partition_id())
    return placed.repartitionById(instances, "partition").drop("partition")


def with_partition(df: DataFrame) -> DataFrame:
    """Number the instance of each tuple: its partition."""
    return df.withColumn("instance", F.spark_partition_id())


def with_instance_of_value(df: DataFrame, instances: int) -> DataFrame:
    """Number the instance of each tuple: the one that its value is sent to."""
    return df.withColumn("instance", value_instance(instances))


def with_drawn_instance(
    df: DataFrame,
    seed: int,
    task: str,
    instances: int,
) -> DataFrame:
    """Number the instance of each tuple: any will do."""
    return df.withColumn("instance", draw_for(seed, task, INSTANCE, instances))


def draw_for(seed: int, task: str, purpose: int, below: int) -> Column:
    """Draw for a purpose of a task, by the id of the tuple."""
    return draw(F.col("id"), draw_key(seed, draw_field(task, purpose)), below)


def change_id(df: DataFrame, text: str, *cases: Column) -> DataFrame:
    """Change `id` in cases that never happen, which Spark knows only at run time.

    So it neither drops nor moves what they compute, and no column is left out before.
    """
    other = F.xxhash64(F.lit(text), *df.columns)
    first, *rest = cases
    chosen = F.when(first, other)
    for case in rest:
        chosen = chosen.when(case, other)
    return df.withColumn("id", chosen.otherwise(F.col("id")))


def never() -> Column:
    """Return a condition that is never true, and that Spark takes for random."""
    return F.spark_partition_id() < 0


def hold(df: DataFrame, text: str) -> DataFrame:
    """Put a step with a text into the plan, below which Spark moves nothing."""
    return change_id(df, text, never())


def work(df: DataFrame, task: str, cycles: int) -> DataFrame:
    """Spend the CPU work of a task on each tuple."""
    return change_id(df, mark(task), busy(task, cycles))


def busy(task: str, cycles: int) -> Column:
    """Return a condition that is never true, for which Spark does the CPU work."""
    if not cycles:
        return never()
    return (cpu_work(F.col("id"), task, cycles) == 0) & never()


def work_and_wait(
    df: DataFrame,
    task: str,
    cycles: int,
    wait_ms: float,
    batch_ms: float,
) -> DataFrame:
    """Spend the CPU work of a task on each tuple, and let the thread sleep besides.

    It sleeps for each tuple, and once more for the first one of a micro-batch.
    """
    cases = [busy(task, cycles), *waits(wait_ms, batch_ms)]
    return change_id(df, mark(task), *cases)


def waits(wait_ms: float, batch_ms: float) -> list[Column]:
    """Return conditions that are never true, for which the thread sleeps."""
    each = [sleep(wait_ms).isNull()] if wait_ms else []
    once = [is_first_row() & pause(batch_ms).isNull()] if batch_ms else []
    return each + once


def work_in_python(df: DataFrame, task: str, cycles: int, wait_ms: float, batch_ms: float) -> DataFrame:
    """Spend the CPU work of a task in Python workers, and let the thread sleep besides."""
    spent = cpu_work_in_python(F.col("id"), task, cycles) < 0
    return change_id(df, mark(task), never(), spent, *waits(wait_ms, batch_ms))


def parse_json(df: DataFrame) -> DataFrame:
    """Write each tuple as JSON and read it again."""
    schema = ", ".join(f"{name} {kind}" for name, kind in TYPES.items())
    read = F.from_json(F.to_json(F.struct(*COLUMNS)), schema, JSON_OPTIONS)
    # The time stays as it was: Spark knows that one to be the event time, and JSON
    # has only milliseconds.
    fields = {name: F.col(f"read.{name}") for name in COLUMNS if name != "timestamp"}
    return df.withColumn("read", read).withColumns(fields).drop("read")


def in_windows(df: DataFrame, length_s: int, slide_s: int) -> DataFrame:
    """Make a row of each tuple for every window that it is in."""
    window = F.window("timestamp", f"{length_s} seconds", f"{slide_s} seconds")
    return df.withColumn("window", window)


def last_by_value(df: DataFrame) -> DataFrame:
    """Make one tuple of each window and value: the last one."""
    # Numbers alone are added up in a hash table; with a text among them Spark sorts.
    last = [F.max("id").alias("id"), F.max_by("num", "id").alias("num")]
    found = df.groupBy("window", "value").agg(*last, *window_numbers(df))
    timestamp = F.window_time("window").alias("timestamp")
    return found.select("value", "id", "num", timestamp, *OF_WINDOWS)


def last_by_instance(df: DataFrame) -> DataFrame:
    """Make one tuple of each window and instance: the last one."""
    last = F.max(F.struct("id", "num", "value")).alias("last")
    found = df.groupBy("window", "instance").agg(last, *window_numbers(df))
    timestamp = F.window_time("window").alias("timestamp")
    return found.select("last.value", "last.id", "last.num", timestamp, *OF_WINDOWS)


def window_numbers(df: DataFrame) -> list[Column]:
    """Count the tuples of a window, and find the earliest time among them."""
    time = F.col("timestamp")
    if "earliest" in df.columns:
        time = F.coalesce("earliest", time)
    return [F.count("*").alias("count"), F.min(time).alias("earliest")]


def keep(df: DataFrame, seed: int, task: str, share: float) -> DataFrame:
    """Forward a share of the tuples."""
    return df.where(draw_for(seed, task, FILTER, DRAWS) < round(share * DRAWS))


def copy(df: DataFrame, seed: int, task: str, copies: float) -> DataFrame:
    """Forward that many copies of each tuple on average."""
    whole, rest = divmod(copies, 1.0)
    number = F.lit(int(whole))
    if rest:
        is_more = draw_for(seed, task, COPIES, DRAWS) < round(rest * DRAWS)
        number = number + F.when(is_more, 1).otherwise(0)
    every = F.explode(F.array_repeat(F.lit(0), number))
    return df.withColumn("copy", every).drop("copy")


def resize(df: DataFrame, size: int) -> DataFrame:
    """Cut values that are longer."""
    return df.withColumn("value", F.substring("value", 1, size))


def leave(df: DataFrame, task: str) -> DataFrame:
    """Name the task from which tuples leave the application."""
    return df.withColumn("task", F.lit(task))
