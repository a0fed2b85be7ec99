"""Sentences of StreamBench's WordCount: numbers as words, uniform or by Zipf's law.

A word is a number with leading zeros. A sentence is a stretch of a text that is made once from the seed and repeats
without end: the first word is drawn uniformly, the number of words from a normal law, rounded up. In the text every
word has its share by the law, in random order, so words have the law too, while the engine cuts a sentence out of the
text in one step: drawing every word and writing it down would cost ten times as much, more than counting it does.
"""

import math
from collections.abc import Mapping, Sequence
from functools import lru_cache
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field as Parameter

from streamgauge.events.columns import divide, pick
from streamgauge.events.dataframe import DataFrame, F
from streamgauge.events.stream import EventStream, Field, Parameters

if TYPE_CHECKING:
    from streamgauge.arrivals import Arrivals
    from streamgauge.events.draw import Longs

DIGITS = 5
WIDTH = len("00001 ")
# A uniform text holds every word equally often and at least that many words; one by Zipf's law holds that many words
# that each word has its share to 1 / 65,536.
UNIFORM_WORDS = 4096
ZIPF_WORDS = 65_536
# The normal law is cut into that many slots of equal probability.
SLOTS = 1000

_TEXT, _START, _LENGTH = range(1, 4)


class WordsEvents(Parameters):
    """Parameters of the sentences."""

    law: Literal["uniform", "zipf"] = Parameter("uniform", description="law of the words: all alike, or Zipf's")
    words: int = Parameter(10_000, ge=1, le=99_999, description="number of distinct words")
    zipf_exponent: float = Parameter(1.0, ge=0.0, le=3.0, description="exponent of Zipf's law")
    words_per_sentence_mean: float = Parameter(10.0, ge=0.0, le=100.0, description="mean of the normal law of lengths")
    words_per_sentence_sd: float = Parameter(1.0, ge=0.0, le=20.0, description="its standard deviation")

    @property
    def lengths(self) -> list[int]:
        """Equally likely numbers of words: those at the middle of each slot of the normal law, rounded up."""
        mean, sd, normal = self.words_per_sentence_mean, self.words_per_sentence_sd, NormalDist()
        return [max(1, math.ceil(mean + sd * normal.inv_cdf((k + 0.5) / SLOTS))) for k in range(SLOTS)]


def _shares(p: WordsEvents) -> "Longs":
    """Return the words of the text in ascending order, each as often as the law says."""
    import numpy as np

    if p.law == "uniform":
        return np.repeat(np.arange(1, p.words + 1), -(-UNIFORM_WORDS // p.words))
    cumulative = np.cumsum(1.0 / np.arange(1, p.words + 1) ** p.zipf_exponent)
    middles = (np.arange(ZIPF_WORDS) + 0.5) / ZIPF_WORDS * cumulative[-1]
    return np.asarray(np.searchsorted(cumulative, middles) + 1)


@lru_cache(maxsize=4)
def _text(p: WordsEvents, seed: int) -> tuple[str, int]:
    """Return the text, and how many words it has before it repeats; the longest sentence fits in from any of them."""
    import numpy as np

    from streamgauge.events.draw import hash_longs, stream_key

    shares = _shares(p)
    order = np.argsort(hash_longs(stream_key(seed, _TEXT), np.arange(len(shares))), kind="stable")
    words = np.resize(shares[order], len(shares) + max(p.lengths))
    return " ".join(f"{word:0{DIGITS}}" for word in words.tolist()), len(shares)


def _frame(rows: DataFrame, p: WordsEvents, seed: int, wanted: Sequence[str]) -> DataFrame:
    from streamgauge.events.draw import draw_column

    text, count = _text(p, seed)
    start = draw_column(F.col("n"), seed=seed, field=_START, below=count).cast("int")
    length = pick(draw_column(F.col("n"), seed=seed, field=_LENGTH, below=SLOTS), p.lengths).cast("int")
    # Bytes are cut in constant time; characters would be counted from the beginning of the text.
    cut = F.substring(F.lit(text.encode()), start * WIDTH + 1, length * WIDTH - 1)
    fields = {"created": F.timestamp_millis(divide(F.col("time_us"), 1000)), "sentence": cut.cast("string")}
    return rows.select(*(fields[name].alias(name) for name in wanted))


def _arrays(p: WordsEvents, seed: int, arrivals: "Arrivals") -> Mapping[str, Any]:
    import numpy as np

    from streamgauge.events.draw import draw

    text, count = _text(p, seed)
    start = draw(arrivals.n, seed=seed, field=_START, below=count) * WIDTH
    length = np.array(p.lengths)[draw(arrivals.n, seed=seed, field=_LENGTH, below=SLOTS)] * WIDTH - 1
    sentences = [text[s : s + size] for s, size in zip(start.tolist(), length.tolist(), strict=True)]
    return {"created": arrivals.time_us // 1000 * 1000, "sentence": sentences}


EVENTS = EventStream(
    name="words",
    summary="sentences of about ten numbers as words, uniform or by Zipf's law",
    fields=(
        Field("created", "timestamp", "when the sentence was created, in whole milliseconds"),
        Field("sentence", "string", "words of five digits, separated by blanks"),
    ),
    parameters=WordsEvents,
    frame=_frame,
    arrays=_arrays,
)
