"""StreamBench windowed WordCount: counted per word and window where the words are, then over all tasks."""

from typing import Literal

from pydantic import Field as Parameter

from streamgauge.events import Field
from streamgauge.events.dataframe import DataFrame, F
from streamgauge.events.words import EVENTS, WordsEvents
from streamgauge.workloads.entry import entry
from streamgauge.workloads.streambench.wordcount import words
from streamgauge.workloads.traits import Operator, bounded
from streamgauge.workloads.workload import ExpectedAnswer, Window


class WindowedWordcountParameters(WordsEvents):
    """Parameters of the events and of the window."""

    window_s: int = Parameter(1, ge=1, le=3600, description="length of the tumbling window, in seconds")
    output: Literal["append", "update"] = Parameter(
        "append", description="counts once per closed window, or as they grow, visible with every micro-batch"
    )


def dataflow(df: DataFrame, p: WindowedWordcountParameters) -> DataFrame:
    """Count each word of every window; Spark counts within each task before the shuffle."""
    # The window is found once per sentence, not once per word.
    timely = df.withWatermark("created", "0 seconds")
    windowed = timely.select(F.window("created", f"{p.window_s} seconds").alias("window"), "sentence")
    counts = windowed.select("window", words(windowed["sentence"])).groupBy("word", "window").count()
    return counts.select("word", F.col("window.start").alias("window_start"), F.col("count").alias("occurrences"))


WORKLOAD = entry(
    __file__,
    question="How often did each word occur in every second?",
    events=EVENTS,
    parameters=WindowedWordcountParameters,
    dataflow=dataflow,
    steps=(
        Operator.FLATTEN.step("split into words"),
        Operator.AGGREGATE.step("count within tasks"),
        Operator.SHUFFLE.step("shuffle by word"),
        Operator.AGGREGATE.step("windowed count"),
    ),
    state=bounded("one row per word and open window; dropped when the watermark passes the window's end"),
    output=(
        Field("word", "string", "the word"),
        Field("window_start", "timestamp", "start of the window"),
        Field("occurrences", "bigint", "how often the word occurred in the window"),
    ),
    output_mode=lambda p: p.output,
    window=lambda p: Window(p.window_s, p.window_s, "window_start"),
    differences=(
        "The original counts words per second; rates here are sentences, of 10.5 words on average. Its windows are "
        "over arrival time and the counts go into a running count; here they are over creation time and the counts of "
        "the windows are the answer."
    ),
    answer=ExpectedAnswer(keys=("word", "window_start"), closing_events=1),
)
