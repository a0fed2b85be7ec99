import re
import uuid

import numpy as np
import pytest

from streamgauge.events.identifiers import MAX_COUNT, identifier, identifier_array

UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-8[0-9a-f]{3}-[0-9a-f]{12}")


def test_ten_thousand_identifiers_are_different():
    assert len({identifier("ad", index) for index in range(10_001)}) == 10_001


def test_kinds_do_not_share_identifiers():
    kinds = ("ad", "campaign", "user", "page")
    assert len({identifier(kind, index) for kind in kinds for index in range(200)}) == 800


@pytest.mark.parametrize("index", [0, 1, 99, 100, 9_999, 10_000, 1_000_000, MAX_COUNT - 1])
def test_an_identifier_is_a_uuid_of_version_8(index):
    text = identifier("ad", index)
    assert UUID.fullmatch(text)
    assert uuid.UUID(text).version == 8
    assert uuid.UUID(text).variant == uuid.RFC_4122


def test_the_array_holds_the_same_identifiers():
    index = np.array([0, 5, 100, 12_345, MAX_COUNT - 1])
    assert identifier_array("page", index).tolist() == [identifier("page", int(i)) for i in index]


def test_fragments_that_must_tell_numbers_apart_do():
    """Each digit has a hundred fragments; were two equal, two numbers would share an identifier."""
    for position in range(4):
        numbers = [digit * 100**position for digit in range(100)]
        assert len({identifier("ad", number) for number in numbers}) == 100
