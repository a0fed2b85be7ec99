"""CPU work in Python workers hashes exactly as many words as it says."""

import zlib

import pyarrow as pa
import pytest

from streamgauge.prototype.cpu_work import ARROW_BLOCK_CYCLES, spinning


@pytest.mark.parametrize("cycles", [0, 1, 500, ARROW_BLOCK_CYCLES, 3 * ARROW_BLOCK_CYCLES + 17])
def test_the_arrow_form_hashes_every_word_once_from_the_value_of_the_row(cycles):
    got = spinning(cycles)(pa.array([0, 7, 2**40])).to_pylist()
    assert got == [zlib.crc32(bytes(8 * cycles), start) for start in (0, 7, 2**40 & 0xFFFFFFFF)]
