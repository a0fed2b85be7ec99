import math
import re
from collections import Counter

import numpy as np
import pytest

from streamgauge.arrivals import Arrivals
from streamgauge.events.words import EVENTS, SLOTS, WordsEvents

BASE_US = 1_436_918_400_000_000


def make(count, *, seed=1, first=0, **parameters):
    n = np.arange(first, first + count)
    return EVENTS.arrays(WordsEvents(**parameters), seed, Arrivals.spaced(n, load_us=BASE_US, period_us=777))


def words(sentences):
    return np.array([int(word) for sentence in sentences for word in sentence.split(" ")])


def normal_cdf(x):
    return (1 + math.erf(x / math.sqrt(2))) / 2


def test_a_sentence_is_words_of_five_digits_with_single_blanks_between_them():
    sentences = make(2_000)["sentence"]
    assert all(re.fullmatch(r"\d{5}( \d{5})*", sentence) for sentence in sentences)


@pytest.mark.parametrize("law", ["uniform", "zipf"])
def test_a_sentence_has_10_and_a_half_words_on_average_as_rounding_up_adds_one_half(law):
    sentences = make(20_000, law=law)["sentence"]
    assert len(words(sentences)) / len(sentences) == pytest.approx(10.5, abs=0.1)


@pytest.mark.parametrize(("mean", "sd"), [(10.0, 1.0), (3.0, 2.0), (40.0, 10.0), (5.5, 0.3)])
def test_l5_lengths_have_the_normal_law_rounded_up_and_at_least_one_word(mean, sd):
    counts = Counter(WordsEvents(words_per_sentence_mean=mean, words_per_sentence_sd=sd).lengths)
    assert counts.total() == SLOTS
    for length in range(1, max(counts) + 1):
        share = sum(count for short, count in counts.items() if short <= length) / SLOTS
        assert share == pytest.approx(normal_cdf((length - mean) / sd), abs=1 / SLOTS)


@pytest.mark.parametrize(("mean", "length"), [(0.0, 1), (1.0, 1), (7.0, 7), (7.2, 8)])
def test_without_spread_all_sentences_are_alike_in_length(mean, length):
    sentences = make(300, words_per_sentence_mean=mean, words_per_sentence_sd=0.0)["sentence"]
    assert {len(sentence.split(" ")) for sentence in sentences} == {length}


@pytest.mark.parametrize("count", [1, 7, 10_000, 99_999])
def test_words_are_the_numbers_from_1_to_the_size_of_the_list(count):
    found = words(make(50_000, words=count)["sentence"])
    assert found.min() >= 1
    assert found.max() <= count
    assert len(np.unique(found)) == pytest.approx(count, rel=0.01)


@pytest.mark.parametrize("seed", [1, 2])
def test_uniform_words_are_all_alike(seed):
    counts = np.bincount(words(make(40_000, seed=seed)["sentence"]), minlength=10_001)[1:]
    expected = counts.sum() / 10_000
    statistic = np.sum((counts - expected) ** 2 / expected)
    # Neighbours in the text come together, so the spread of the statistic is sqrt(10.5) times that of chi-square.
    assert statistic == pytest.approx(10_000, abs=4 * math.sqrt(2 * 10_000 * 10.5))


def test_with_zipf_s_law_the_first_word_has_a_share_of_one_in_the_harmonic_number():
    found = words(make(40_000, law="zipf")["sentence"])
    assert np.mean(found == 1) == pytest.approx(1 / np.sum(1 / np.arange(1, 10_001)), rel=0.02)


@pytest.mark.parametrize(("size", "exponent"), [(100, 1.0), (1_000, 0.5), (50, 2.0)])
def test_l5_with_zipf_s_law_all_words_have_their_shares(size, exponent):
    found = words(make(40_000, law="zipf", words=size, zipf_exponent=exponent)["sentence"])
    weights = 1 / np.arange(1, size + 1) ** exponent
    observed = np.cumsum(np.bincount(found, minlength=size + 1)[1:]) / len(found)
    # 1.95 / sqrt(n) is the 99.9 % quantile of Kolmogorov's distance, here with sentences as independent samples.
    assert np.max(np.abs(observed - np.cumsum(weights / weights.sum()))) < 1.95 / math.sqrt(40_000)


def test_sentences_depend_on_the_seed_and_repeat_with_it():
    one, again, other = (make(200, seed=seed)["sentence"] for seed in (1, 1, 2))
    assert one == again
    assert sum(a == b for a, b in zip(one, other, strict=True)) == 0


def test_sentences_do_not_depend_on_where_a_partition_begins():
    assert make(40, first=60, law="zipf")["sentence"] == make(100, law="zipf")["sentence"][60:]


def test_creation_times_are_whole_milliseconds_and_never_later_than_the_schedule():
    early_us = BASE_US + np.arange(1_000) * 777 - make(1_000)["created"]
    assert np.all((early_us >= 0) & (early_us < 1000))
