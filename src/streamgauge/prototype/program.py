"""The functions that exported programs are made of, as text: each program has those that it calls.

They say what `dataflow`, `load`, `values` and `flow` say, in plain PySpark. Tests compare the plans and the rows of
both. Words in angle brackets are filled in.
"""

from streamgauge.prototype.dataflow import DRAWS, JSON_OPTIONS, JSON_SCHEMA
from streamgauge.prototype.flow import DRAWS as SOURCE_DRAWS
from streamgauge.prototype.flow import LEAST_PER_S
from streamgauge.prototype.load import NATIVE_BLOCK_CYCLES, WORD_BYTES

KEY = '''
def key(field: int) -> Column:
    """Return the number that keeps the draws of one field apart from all others."""
    return F.xxhash64(F.lit(SEED).cast("long"), F.lit(field).cast("long"))
'''

DRAW = '''
def draw(number: Column, field: int, below: int) -> Column:
    """Draw a whole number for each tuple: the same one in every run."""
    return F.pmod(F.xxhash64(key(field), number), F.lit(below).cast("long"))
'''

DRAW_FOR = '''
def draw_for(task: str, purpose: int, below: int) -> Column:
    """Draw for a purpose of a task, by the id of the tuple."""
    return draw(F.col("id"), 4 * zlib.crc32(task.encode()) + purpose, below)
'''

PICK = '''
def pick(index: Column, texts: Sequence[str]) -> Column:
    """Look a text up in a constant list."""
    constant = F.split(F.lit("|".join(texts)), "[|]")
    return F.coalesce(F.get(constant, index.cast("int")), F.lit(texts[0]))
'''

LETTERS = '''
def letters(index: Column, place: int, texts: Sequence[str] = PAIRS) -> Column:
    """Return the letters at a place of the value with an index; the last pair is 0."""
    rest = F.call_function("div", index, F.lit(len(PAIRS) ** place).cast("long"))
    return pick(rest % F.lit(len(texts)).cast("long"), texts)
'''

DRAW_SLOT = '''
def draw_slot(number: Column, borders: Sequence[int]) -> Column:
    """Draw a slot between two borders, then one of the indices in it."""
    drawn = F.xxhash64(key(INDEX), number)
    slot = drawn.bitwiseAND(F.lit(SLOTS - 1).cast("long"))
    widths = [max(high - low, 1) for low, high in pairwise(borders)]
    low = pick(slot, [str(border) for border in borders[:-1]]).cast("long")
    width = pick(slot, [str(width) for width in widths]).cast("long")
    return low + F.pmod(F.shiftright(drawn, 16), width)
'''

ZIPF = '''
def zipf_borders(values: int, exponent: float) -> list[int]:
    """Cut Zipf's law over the values into slots that are equally likely."""
    reached = list(accumulate(1.0 / (k + 1.0) ** exponent for k in range(values)))
    shares = [slot / SLOTS - 1e-12 for slot in range(SLOTS + 1)]
    until = [value / reached[-1] for value in reached]
    return [min(bisect_left(until, share), values - 1) for share in shares]
'''

BELL = '''
def bell_borders(values: int) -> list[int]:
    """Cut a bell over the values into slots that are equally likely."""
    normal = NormalDist(values / 2, values / 5)
    low, high = normal.cdf(-0.5), normal.cdf(values - 0.5)
    shares = [max(slot / SLOTS - 1e-12, 0.0) for slot in range(SLOTS + 1)]
    last = [ceil(normal.inv_cdf(low + (high - low) * share) - 0.5) for share in shares]
    return [min(max(index, 0), values - 1) for index in last]
'''

OF_SOURCES = '''
def of_sources(tuples: DataFrame, *indices: int) -> DataFrame:
    """Return the tuples of some of the sources."""
    return tuples.where(F.col("source").isin(list(indices))).select(*COLUMNS)
'''

TURN = '''
def turn(t_us: Column, offset_us: int, period_us: int) -> Column:
    """Return how much of its period a wave has done, from 0 to 1."""
    return ((t_us + offset_us) % period_us).cast("double") / float(period_us)
'''

WAVE = '''
def wave(peak_per_s: float, share: Column) -> Column:
    """Return a share of the highest rate; no wave falls below <least> tuple per second."""
    return F.greatest(F.lit(<least>), peak_per_s * share)
'''.replace("<least>", str(LEAST_PER_S), 2).replace(f"{LEAST_PER_S} tuple", f"{LEAST_PER_S:g} tuple")

BURSTS = '''
def bursts(
    t_us: Column, offset_us: int, calm_us: int, burst_us: int, rate: float, high: float
) -> Column:
    """Return the rate of a source that is calm first, then has a burst, in turns."""
    is_calm = (t_us + offset_us) % (calm_us + burst_us) < calm_us
    return F.when(is_calm, rate).otherwise(high)
'''

SOURCE_OF = '''
def source_of(n: Column, rates: Sequence[Column | float]) -> Column:
    """Draw the source of each event: the higher its rate at that time, the likelier."""
    until = list(accumulate(rates))
    place = draw(n, SOURCE, <draws>).cast("double") / float(<draws>) * until[-1]
    index = F.lit(len(until) - 1)
    for k in reversed(range(len(until) - 1)):
        index = F.when(place < until[k], k).otherwise(index)
    return index.cast("long")
'''.replace("<draws>", f"2**{SOURCE_DRAWS.bit_length() - 1}")

LOAD = '''
def load(number: Column, task: str, cycles: int) -> Column:
    """Hash so many words of <word> bytes; the name of the task marks it in Spark's plan."""
    blocks, rest = divmod(cycles, BLOCK_CYCLES)
    parts = [number, F.lit(f"task {task}")]
    if blocks:
        # The length depends on the row in no way that an optimizer knows.
        length = F.shiftright(number, 63) + F.lit(blocks).cast("long")
        text = F.lit("x" * (<word> * BLOCK_CYCLES))
        parts.append(F.array_repeat(text, length.cast("int")))
    if rest:
        parts.append(F.lit("x" * (<word> * rest)))
    return F.xxhash64(*parts)
'''.replace("<word>", str(WORD_BYTES))

SPEND = '''
def spend(number: Column, task: str, cycles: int) -> Column:
    """Choose another number, after the load, in a case that never happens.

    Spark cannot know that it never does, so it neither drops nor moves the load.
    """
    never = F.spark_partition_id() < 0
    if not cycles:
        return F.when(never, load(number, task, 0))
    return F.when((load(number, task, cycles) == 0) & never, F.lit(-1).cast("long"))
'''

WORK = '''
def work(df: DataFrame, task: str, cycles: int) -> DataFrame:
    """Spend the load of a task on each tuple; its `id` stays as it is."""
    number = F.col("id")
    return df.withColumn("id", spend(number, task, cycles).otherwise(number))
'''

SLEEP = '''
def sleep(wait_ms: float) -> Column:
    """Let the thread sleep; the result is never null."""
    java = ("java.util.concurrent.locks.LockSupport", "parkNanos")
    return F.reflect(*map(F.lit, java), F.lit(round(wait_ms * 1e6)).cast("long"))
'''

PAUSE = '''
def pause(wait_ms: float) -> Column:
    """Let the thread sleep for whole milliseconds; the result is never null."""
    milliseconds = F.lit(max(1, round(wait_ms))).cast("long")
    return F.reflect(F.lit("java.lang.Thread"), F.lit("sleep"), milliseconds)
'''

WAIT = '''
def wait(
    df: DataFrame, task: str, cycles: int, wait_ms: float, batch_ms: float = 0.0
) -> DataFrame:
    """Spend the load of a task on each tuple, and let the thread sleep besides.

    It sleeps for each tuple, and once more for the first one of a micro-batch.
    """
    number, other = F.col("id"), F.lit(-1).cast("long")
    spent = spend(number, task, cycles)
    if wait_ms:
        spent = spent.when(sleep(wait_ms).isNull(), other)
    if batch_ms:
        # Rows of a partition are numbered in the lower 33 bits.
        row = F.monotonically_increasing_id().bitwiseAND(F.lit(2**33 - 1))
        spent = spent.when((row == 0) & pause(batch_ms).isNull(), other)
    return df.withColumn("id", spent.otherwise(number))
'''

BY_VALUE = '''
def by_value(df: DataFrame, instances: int) -> DataFrame:
    """Send tuples with the same value to the same instance."""
    return df.repartitionById(instances, value_instance(instances))
'''

VALUE_INSTANCE = '''
def value_instance(instances: int) -> Column:
    """Return the instance that the value of a tuple belongs to."""
    return F.pmod(F.hash("value"), F.lit(instances))
'''

BROADCAST = '''
def broadcast(df: DataFrame, instances: int) -> DataFrame:
    """Send a copy of each tuple to every instance."""
    every = F.explode(F.sequence(F.lit(0), F.lit(instances - 1)))
    copies = df.withColumn("partition", every)
    return copies.repartitionById(instances, "partition").drop("partition")
'''

HAND_OVER = '''
def hand_over(df: DataFrame, instances: int) -> DataFrame:
    """Shuffle tuples to where they are, so that several tasks can read them."""
    placed = df.withColumn("partition", F.spark_partition_id())
    return placed.repartitionById(instances, "partition").drop("partition")
'''

UNITE = '''
def unite(*parts: DataFrame) -> DataFrame:
    """Put streams together; what only windows give is null for other tuples."""
    extra = [name for name in OF_WINDOWS if any(name in part.columns for part in parts)]
    alike = [with_columns(part, extra).select(*COLUMNS, *extra) for part in parts]
    first, *rest = alike
    for part in rest:
        first = first.union(part)
    return first
'''

WITH_COLUMNS = '''
def with_columns(df: DataFrame, names: Sequence[str]) -> DataFrame:
    """Add columns of results of windows, null, where they are missing."""
    missing = [name for name in names if name not in df.columns]
    nulls = {name: F.lit(None).cast(OF_WINDOWS[name]) for name in missing}
    return df.withColumns(nulls) if nulls else df
'''

KEEP = '''
def keep(df: DataFrame, task: str, share: float) -> DataFrame:
    """Forward a share of the tuples."""
    return df.where(draw_for(task, FILTER, DRAWS) < round(share * DRAWS))
'''

COPY = '''
def copy(df: DataFrame, task: str, copies: float) -> DataFrame:
    """Forward so many copies of each tuple on average."""
    whole, rest = divmod(copies, 1.0)
    number = F.lit(int(whole))
    if rest:
        is_more = draw_for(task, COPIES, DRAWS) < round(rest * DRAWS)
        number = number + F.when(is_more, 1).otherwise(0)
    every = F.explode(F.array_repeat(F.lit(0), number))
    return df.withColumn("copy", every).drop("copy")
'''

RESIZE = '''
def resize(df: DataFrame, size: int) -> DataFrame:
    """Cut values that are longer."""
    return df.withColumn("value", F.substring("value", 1, size))
'''

PARSE_JSON = '''
def parse_json(df: DataFrame) -> DataFrame:
    """Write each tuple as JSON and read it again; its time stays as it was."""
    schema = "<schema>"
    text = F.to_json(F.struct(*COLUMNS))
    df = df.withColumn("read", F.from_json(text, schema, <options>))
    fields = {name: F.col(f"read.{name}") for name in COLUMNS if name != "timestamp"}
    return df.withColumns(fields).drop("read")
'''.replace("<schema>", JSON_SCHEMA).replace("<options>", str(JSON_OPTIONS).replace("'", '"'))

INSTANCE_BY_PARTITION = '''
def with_partition(df: DataFrame) -> DataFrame:
    """Number the instance of each tuple: its partition."""
    return df.withColumn("instance", F.spark_partition_id())
'''

INSTANCE_BY_VALUE = '''
def with_instance_of_value(df: DataFrame, instances: int) -> DataFrame:
    """Number the instance of each tuple: the one that its value is sent to."""
    return df.withColumn("instance", value_instance(instances))
'''

INSTANCE_BY_DRAW = '''
def with_drawn_instance(df: DataFrame, task: str, instances: int) -> DataFrame:
    """Number the instance of each tuple: any will do."""
    return df.withColumn("instance", draw_for(task, INSTANCE, instances))
'''

IN_WINDOWS = '''
def in_windows(df: DataFrame, length_s: int, slide_s: int) -> DataFrame:
    """Make a row of each tuple for every window that it is in."""
    window = F.window("timestamp", f"{length_s} seconds", f"{slide_s} seconds")
    return df.withColumn("window", window)
'''

COUNTED = '''
def counted(df: DataFrame) -> list[Column]:
    """Count the tuples of a window, and tell the earliest time among them."""
    time = F.col("timestamp")
    if "earliest" in df.columns:
        time = F.coalesce("earliest", time)
    return [F.count("*").alias("count"), F.min(time).alias("earliest")]
'''

LAST_BY_VALUE = '''
def last_by_value(df: DataFrame) -> DataFrame:
    """Make one tuple of each window and value: the last one."""
    numbers = [F.max("id").alias("id"), F.max_by("num", "id").alias("num")]
    last = df.groupBy("window", "value").agg(*numbers, *counted(df))
    timestamp = F.window_time("window").alias("timestamp")
    return last.select("value", "id", "num", timestamp, *OF_WINDOWS)
'''

LAST_BY_INSTANCE = '''
def last_by_instance(df: DataFrame) -> DataFrame:
    """Make one tuple of each window and instance: the last one."""
    newest = F.max(F.struct("id", "num", "value")).alias("last")
    last = df.groupBy("window", "instance").agg(newest, *counted(df))
    timestamp = F.window_time("window").alias("timestamp")
    fields = ("last.value", "last.id", "last.num")
    return last.select(*fields, timestamp, *OF_WINDOWS)
'''

LEAVE = '''
def leave(df: DataFrame, task: str) -> DataFrame:
    """Tell tuples by the task that they leave the application from."""
    return df.select(*COLUMNS, F.lit(task).alias("task"))
'''

LEAVE_BESIDE_WINDOWS = '''
def leave_beside_windows(df: DataFrame, task: str) -> DataFrame:
    """Tell tuples by the task that they leave the application from."""
    alike = with_columns(df, list(OF_WINDOWS))
    return alike.select(*COLUMNS, *OF_WINDOWS, F.lit(task).alias("task"))
'''

# What every program has, in which words in angle brackets are those of the application.

HEAD = '''
"""<name>: a streaming application on Spark, exported from a prototype.

Its tasks do no real work. They keep the processor busy: a cycle of load hashes 8 bytes.

    python app.py --events 20000                count what leaves, of 20,000 events
    python app.py --rate 1000 --duration 60     run it as a stream, for a minute
    spark-submit app.py --sink console          the same with Spark's own launcher
"""
'''

ARRIVE = '''
def arrive(events: DataFrame) -> DataFrame:
    """Let so many events through that they arrive at the rates of the sources."""
    drawn = draw(F.col("n"), ARRIVAL, DRAWS).cast("double") / float(DRAWS)
    return events.where(drawn * <peak> < sum(rates(F.col("t_us"))))
'''

NUMBERS = '''
def numbers(spark: SparkSession, args: argparse.Namespace) -> DataFrame:
    """Return the numbers of events, n, with their times<also>."""
    source, n = spark.readStream, F.col("value")
    if args.events is None and args.rate:
        rows_per_s = <rows>
        stream = source.format("rate").option("rowsPerSecond", rows_per_s)
<t_us>        timestamp = F.col("timestamp")
    else:
        # A bounded run is one micro-batch. Without a rate, one follows the other.
        rows = 100_000 if args.events is None else args.events<one>
        stream = source.format("rate-micro-batch").option("rowsPerBatch", rows)
        t_us = F.floor(n * 1e6 / (args.rate or <offline>))
<closing>        timestamp = F.timestamp_micros(F.lit(START_US) + t_us)
    rows = stream.option("numPartitions", <partitions>).load()
<select>
'''

CLOSING = """\
        if args.events is not None:
            # One more event, a week later, closes all windows.
            t_us = F.when(n < args.events, t_us).otherwise(t_us + WEEK_US)
"""

SESSION = '''
def session() -> SparkSession:
    """Start Spark, so that the parallelism of a task is its number of partitions."""
    # Whole stages become methods, longer than Java compiles by default. spark-submit
    # starts Java before this line: give it as --driver-java-options there.
    java = "-XX:-DontCompileHugeMethods"
    return (
        SparkSession.builder.appName(<title>)
        .config("spark.driver.extraJavaOptions", java)
        .config("spark.executor.extraJavaOptions", java)
<conf>
        .getOrCreate()
    )
'''

COUNT = '''
def count(results: DataFrame, args: argparse.Namespace) -> None:
    """Run to the end of the input, and print how many tuples leave each last task."""
    rows = dict.fromkeys(SINKS, 0)

    def add(batch: DataFrame, _: int) -> None:
<body>

    writer = results.writeStream.foreachBatch(add).trigger(availableNow=True)
    start(writer, args).awaitTermination()
    for task, number in rows.items():
        print(f"{task}: {number}")
'''

RUN = '''
def run(results: DataFrame, args: argparse.Namespace) -> None:
    """Run until the time is over, or until someone stops it."""
    query = start(results.writeStream.format(args.sink).queryName("results"), args)
    query.awaitTermination(args.duration)
    query.stop()
    if args.sink == "memory":
        print(f"{results.sparkSession.table('results').count()} tuples")
'''

START = '''
def start(writer: DataStreamWriter, args: argparse.Namespace) -> StreamingQuery:
    """Start the query, from its checkpoint where there is one."""
    if args.checkpoint:
        writer = writer.option("checkpointLocation", args.checkpoint)
    return writer.start()
'''

ARGUMENTS = '''
def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--rate", type=int, default=<rate>, help="events per second; 0: no limit")
    add("--duration", type=float, help="seconds; default: until stopped")
    add("--checkpoint", help="folder to go on from after a stop")
    add("--sink", choices=("noop", "console", "memory"), default="noop")
    add("--events", type=int, help="count what comes out of so many events, and end")
    args = parser.parse_args()
    if args.rate < 0 or (args.events is not None and args.events < 1):
        parser.error("--rate must not be negative, and --events must be 1 or more")
    return args
'''

MAIN = '''
def main() -> None:
    """Run the application."""
    args = arguments()
    spark = session()
    events = numbers(spark, args)
<arrive>    results = application(tuples(events))
    if args.events is None:
        run(results, args)
    else:
        count(results, args)
    spark.stop()
'''

ARRIVING = """\
    if args.events is None and args.rate:
        events = arrive(events)
"""

MAIN_CALL = """
if __name__ == "__main__":
    main()
"""

# All that stands in every program, or in many.
WHOLE = ARRIVE + NUMBERS + SESSION + START + COUNT + RUN + ARGUMENTS + MAIN

# In the order in which programs have them, by the name that they are called by.
FUNCTIONS = {
    "key": KEY,
    "draw": DRAW,
    "draw_for": DRAW_FOR,
    "pick": PICK,
    "letters": LETTERS,
    "draw_slot": DRAW_SLOT,
    "zipf_borders": ZIPF,
    "bell_borders": BELL,
    "turn": TURN,
    "wave": WAVE,
    "bursts": BURSTS,
    "source_of": SOURCE_OF,
    "load": LOAD,
    "spend": SPEND,
    "work": WORK,
    "sleep": SLEEP,
    "pause": PAUSE,
    "wait": WAIT,
    "of_sources": OF_SOURCES,
    "value_instance": VALUE_INSTANCE,
    "by_value": BY_VALUE,
    "broadcast": BROADCAST,
    "hand_over": HAND_OVER,
    "with_columns": WITH_COLUMNS,
    "unite": UNITE,
    "keep": KEEP,
    "copy": COPY,
    "resize": RESIZE,
    "parse_json": PARSE_JSON,
    "with_partition": INSTANCE_BY_PARTITION,
    "with_instance_of_value": INSTANCE_BY_VALUE,
    "with_drawn_instance": INSTANCE_BY_DRAW,
    "in_windows": IN_WINDOWS,
    "counted": COUNTED,
    "last_by_value": LAST_BY_VALUE,
    "last_by_instance": LAST_BY_INSTANCE,
    "leave": LEAVE,
    "leave_beside_windows": LEAVE_BESIDE_WINDOWS,
}

# Lines of constants, by the names that they define.
CONSTANTS = {
    ("SEED",): "# Of everything that is drawn.\nSEED = <seed>",
    ("COLUMNS",): 'COLUMNS = ("value", "id", "num", "timestamp")',
    ("OF_WINDOWS",): "# What results of windows have besides.\n"
    'OF_WINDOWS = {"count": "bigint", "earliest": "timestamp"}',
    ("PAIRS",): "PAIRS = [one + other for one in ascii_lowercase for other in ascii_lowercase]",
    ("INDEX", "SOURCE", "ARRIVAL"): "# What sources draw numbers for.\nINDEX, SOURCE, ARRIVAL = 1, 2, 3",
    ("FILTER", "COPIES", "INSTANCE"): "# What tasks draw numbers for.\nFILTER, COPIES, INSTANCE = 0, 1, 2",
    ("DRAWS",): f"# Shares are compared with numbers drawn below this.\nDRAWS = 2**{DRAWS.bit_length() - 1}",
    ("SLOTS",): "SLOTS = 4096",
    ("BLOCK_CYCLES",): f"# Loads are hashed in blocks that stay in the cache.\nBLOCK_CYCLES = {NATIVE_BLOCK_CYCLES}",
    ("SINKS",): "<sinks>",
    ("START_US",): "# 2015-07-15: bounded runs have a fixed past.\nSTART_US = 1_436_918_400_000_000",
    ("WEEK_US",): "WEEK_US = 7 * 86_400 * 1_000_000",
}

# Imports by the names that they give.
MODULES = {"argparse": "argparse", "math": "math", "zlib": "zlib"}
NAMES = {
    "bisect_left": "bisect",
    "Sequence": "collections.abc",
    "accumulate": "itertools",
    "pairwise": "itertools",
    "ceil": "math",
    "NormalDist": "statistics",
    "ascii_lowercase": "string",
}
