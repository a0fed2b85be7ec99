"""The digests of Beam's data sets, met by the events that Spark makes; the larger ones are held by the NumPy twin."""

from pathlib import Path
from typing import Any

import pytest

from streamgauge.engine.spark.session import Session
from streamgauge.experiments.generate import generate

CASES: list[tuple[int, int, str, dict[str, Any], str]] = [
    (10_000, 1_000, "canonical", {}, "48fd9af0263610bdb2bf9a6525b4d85d0270e1b6e967b2b1a297275f0003bcc5"),
    (
        100_000,
        10_000,
        "canonical",
        {"generators": 100, "split": "concatenated"},
        "fd807e48c63299d57e42ba065d9e31237299bd4d0d0097ac6de80690a26a45e1",
    ),
    (
        20_000,
        10_000,
        "canonical",
        {"out_of_order_group": 1000},
        "4eeeca436baa15c17e9d35df7389587811fd08e99baa50a8f51ecd53451b4efa",
    ),
    (
        20_000,
        1_000,
        "canonical",
        {"generators": 2, "split": "none", "first_rate": 1000, "next_rate": 4000},
        "e338b182cc3a047f47e769fcab542df59e143843ba63b729fcaa308231fce7a4",
    ),
    (10_000, 1_000, "canonical-with-channel", {}, "f622dfb83e86cc57bfac5d46d8fc78433e8930e541beb5bbba0c7d9eb782b85a"),
]


@pytest.mark.parametrize(("events", "rate", "format_", "parameters", "digest"), CASES)
def test_the_digest_of_the_data_set_is_met(
    session: Session, tmp_path: Path, events: int, rate: int, format_: str, parameters: dict[str, Any], digest: str
) -> None:
    written = generate(
        "nexmark",
        count=events,
        rate=rate,
        format=format_,
        parameters=parameters,
        output=tmp_path / "events",
        source_partitions=2,
        session=session,
    )
    assert written.sha256 == digest
