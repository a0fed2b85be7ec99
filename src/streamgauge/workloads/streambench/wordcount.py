"""StreamBench WordCount: a running count per word."""

from streamgauge.events import Field
from streamgauge.events.dataframe import Column, DataFrame, F
from streamgauge.events.words import EVENTS, WordsEvents
from streamgauge.workloads.entry import entry
from streamgauge.workloads.traits import Operator, endless
from streamgauge.workloads.workload import ExpectedAnswer


def words(sentence: Column) -> Column:
    """Return one row per word.

    Sentences hold digits and single blanks only, so cutting at a blank finds the words that the original finds, which
    cuts at non-word characters and makes letters small, at half the cost.
    """
    return F.explode(F.split(sentence, " ")).alias("word")


def dataflow(df: DataFrame, _: WordsEvents, *, carry: tuple[str, ...] = ()) -> DataFrame:
    """Count each word since the start."""
    grouped = df.select(words(df["sentence"]), *carry).groupBy("word")
    return grouped.agg(F.count("*").alias("occurrences"), *(F.max(name).alias(name) for name in carry))


WORKLOAD = entry(
    __file__,
    question="How often has each word occurred so far?",
    events=EVENTS,
    dataflow=dataflow,
    steps=(
        Operator.FLATTEN.step("split into words"),
        Operator.SHUFFLE.step("shuffle by word"),
        Operator.AGGREGATE.step("running count in keyed state"),
    ),
    state=endless("one row per word, never dropped: it grows to `words` rows"),
    carries=True,
    output=(
        Field("word", "string", "the word"),
        Field("occurrences", "bigint", "how often it has occurred since the start"),
    ),
    output_mode=lambda _: "update",
    differences=(
        "The original counts words per second; rates here are sentences, of 10.5 words on average. Sentences are cut "
        "at blanks, which gives the same words. Spark counts within each task before the shuffle."
    ),
    answer=ExpectedAnswer(keys=("word",)),
)
