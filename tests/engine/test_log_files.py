import gzip
import zlib
from pathlib import Path

import numpy as np
import pytest

from made_runs.event_logs import FOLDER, NEWEST, golden, head, text, write
from streamgauge.engine.spark.event_log import read_event_log
from streamgauge.engine.spark.log_files import TornError, event_log_files, read_lines
from streamgauge.errors import InvalidExperimentError, UsageError

ROLLED = FOLDER / "eventlog_v2_local-1"
WHOLE = gzip.decompress(NEWEST.read_bytes())


def lines(path):
    return [line for file in event_log_files(path) for line in read_lines(file)]


def torn_lines(path):
    found = []
    with pytest.raises(TornError):
        for line in read_lines(path):
            found.append(line)
    return found


@pytest.mark.parametrize(
    "path", [NEWEST, FOLDER / "local-1.lz4", FOLDER / "local-1.snappy", ROLLED], ids=lambda p: p.name
)
def test_every_form_of_a_log_holds_the_same_lines(path):
    assert lines(path) == WHOLE.splitlines()


def test_a_plain_log_holds_its_lines(tmp_path):
    (tmp_path / "log").write_bytes(WHOLE)
    assert lines(tmp_path / "log") == WHOLE.splitlines()


@pytest.mark.parametrize("name", ["local-1.lz4", "local-1.snappy", "eventlog_v2_local-1/events_1_local-1.zstd"])
@pytest.mark.parametrize("share", [0.3, 0.9, 0.999])
def test_a_compressed_log_that_breaks_off_is_read_up_to_there(tmp_path, name, share):
    data = (FOLDER / name).read_bytes()
    path = tmp_path / "torn"
    path.write_bytes(data[: int(share * len(data))])
    found = torn_lines(path)
    assert found == WHOLE.splitlines()[: len(found)]
    assert len(found) >= 0.5 * share**3 * len(list(read_lines(FOLDER / name)))


def test_a_gzip_file_that_breaks_off_is_read_up_to_there(tmp_path):
    path = tmp_path / "torn.gz"
    path.write_bytes(NEWEST.read_bytes()[:-2000])
    found = torn_lines(path)
    assert found == WHOLE.splitlines()[: len(found)] != []


@pytest.mark.parametrize("name", ["local-1.lz4", "local-1.snappy"])
def test_a_damaged_block_ends_the_log_there(tmp_path, name):
    data = bytearray((FOLDER / name).read_bytes())
    middle = len(data) // 2
    data[middle : middle + 400] = np.random.default_rng(1).bytes(400)
    path = tmp_path / "damaged"
    path.write_bytes(data)
    try:
        found = list(read_lines(path))
    except TornError:
        return
    # LZ4 has no redundancy of its own: a block may decode to something else, never to more.
    assert sum(map(len, found)) <= len(WHOLE)


def test_lzf_is_named_because_it_cannot_be_read(tmp_path):
    path = tmp_path / "local-1.lzf"
    path.write_bytes(b"ZV\x01\x00\x05\x00\x05hello")
    with pytest.raises(InvalidExperimentError, match="LZF") as refused:
        list(read_lines(path))
    assert "zstd, lz4 or snappy" in refused.value.remedy


@pytest.mark.parametrize("data", [b"", b"PK\x03\x04zip", b'{"a": 1}\n', b"[]\n", b"\x00" * 50], ids=range(5))
def test_what_is_no_log_is_refused(tmp_path, data):
    path = tmp_path / "thing"
    path.write_bytes(data)
    with pytest.raises(InvalidExperimentError, match="no event log of Spark"):
        read_event_log(path)


def test_a_path_that_leads_nowhere_is_a_mistake_of_the_caller(tmp_path):
    with pytest.raises(UsageError, match="does not exist"):
        event_log_files(tmp_path / "absent")


def test_a_log_on_another_machine_has_to_be_copied_first():
    with pytest.raises(UsageError, match="not on this machine") as refused:
        event_log_files(Path("hdfs://namenode/spark/local-1"))
    assert "copy" in refused.value.remedy


def test_of_a_folder_with_several_logs_one_has_to_be_named(tmp_path):
    for name in ("local-1", "local-2"):
        write(tmp_path / name, head())
    with pytest.raises(UsageError, match="2 files or logs") as refused:
        event_log_files(tmp_path)
    assert "local-1, local-2" in refused.value.remedy
    (tmp_path / "local-2").unlink()
    (tmp_path / ".local-1.crc").write_bytes(b"")
    assert event_log_files(tmp_path) == [tmp_path / "local-1"]


def test_an_empty_folder_is_no_log(tmp_path):
    with pytest.raises(InvalidExperimentError, match="no event log"):
        event_log_files(tmp_path)


def test_rolled_files_are_read_by_number_and_not_by_name(tmp_path):
    folder = tmp_path / "eventlog_v2_app"
    folder.mkdir()
    for number in (1, 2, 10):
        (folder / f"events_{number}_app").write_bytes(b"{}\n" * number)
    (folder / "appstatus_app.inprogress").write_bytes(b"")
    assert [len(list(read_lines(file))) for file in event_log_files(folder)] == [1, 2, 10]


def test_compaction_replaces_all_that_came_before_it(tmp_path):
    folder = tmp_path / "eventlog_v2_app"
    folder.mkdir()
    parts = {"events_1_app": golden()[:3], "events_3_app": head()[1:], "events_2_app.compact": head()}
    for name, documents in parts.items():
        write(folder / name, documents)
    (folder / "events_2_app").write_bytes(b"")
    assert [file.name for file in event_log_files(folder)] == ["events_2_app.compact", "events_3_app"]
    assert any("compacted" in note for note in read_event_log(folder).notes)


def test_a_line_longer_than_a_chunk_stays_whole(tmp_path):
    path = tmp_path / "log"
    long = b'{"Event":"' + b"x" * 3_000_000 + b'"}'
    path.write_bytes(long + b"\n" + long)
    assert list(read_lines(path)) == [long, long]


def test_concatenated_gzip_files_are_one_log(tmp_path):
    path = tmp_path / "log.gz"
    path.write_bytes(gzip.compress(text(head()[:2])) + gzip.compress(text(head()[2:])))
    assert b"\n".join(read_lines(path)) + b"\n" == text(head())


def test_a_checksum_that_does_not_fit_counts_as_broken_off(tmp_path):
    data = bytearray(gzip.compress(text(head())))
    data[-8:-4] = (zlib.crc32(b"other")).to_bytes(4, "little")
    path = tmp_path / "log.gz"
    path.write_bytes(data)
    torn_lines(path)
