"""What of a suite is done, so that a suite that was broken off goes on where it stopped."""

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self

from streamgauge.errors import EnvironmentNotReadyError, InvalidExperimentError
from streamgauge.verdict import Verdict

SCHEMA_VERSION = 1


@dataclass(frozen=True)
class Done:
    """A run that has ended: where it is stored and what came out."""

    run_id: str
    verdict: Verdict
    name: str = ""


class SuiteProgress:
    """A JSON file that maps the keys of runs to what came out of them; after every record it is whole on disk.

    One process writes it at a time. Verdicts are those at the time of the run: when thresholds have changed since,
    judge the stored run anew.
    """

    def __init__(self, path: Path, done: Mapping[str, Done]) -> None:
        """Go on from `done`; use `open` to read what there is."""
        self.path = path
        self._done = dict(done)

    @classmethod
    def open(cls, path: Path) -> Self:
        """Read the file, or begin without one."""
        try:
            text = path.read_text(encoding="utf-8")
        except FileNotFoundError:
            return cls(path, {})
        except OSError as error:
            raise _not_accessible("read", path, error) from error
        except UnicodeDecodeError as error:
            raise _damaged(path, "it is not UTF-8") from error
        return cls(path, _read_document(path, text))

    def find(self, key: str) -> Done | None:
        """Return what came out of a run; None when it has to be run."""
        return self._done.get(key)

    def __contains__(self, key: object) -> bool:
        return key in self._done

    def __len__(self) -> int:
        return len(self._done)

    def record(self, key: str, done: Done) -> None:
        """Note that a run has ended; a key that is there already gets the new result."""
        self._done[key] = done
        document = {
            "schema_version": SCHEMA_VERSION,
            "runs": {key: asdict(done) for key, done in self._done.items()},
        }
        _write_atomically(self.path, json.dumps(document, indent=2) + "\n")


def _read_document(path: Path, text: str) -> dict[str, Done]:
    try:
        document: Any = json.loads(text)
        version, runs = document["schema_version"], document["runs"]
        if version != SCHEMA_VERSION:
            raise _damaged(path, f"its version {version!r} is not known")
        return {str(key): _read_done(entry) for key, entry in runs.items()}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise _damaged(path, "it is not what a suite writes") from error


def _read_done(entry: Mapping[str, Any]) -> Done:
    if not isinstance(entry["run_id"], str) or not isinstance(entry["name"], str):
        raise TypeError("run_id and name are texts")
    return Done(entry["run_id"], Verdict(entry["verdict"]), entry["name"])


def _write_atomically(path: Path, text: str) -> None:
    """Write beside `path`, then put it in place in one step."""
    temporary = path.with_name(f".new-{path.name}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with temporary.open("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError as error:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise _not_accessible("write", path, error) from error


def _damaged(path: Path, why: str) -> InvalidExperimentError:
    remedy = "remove the file to run the whole suite again"
    return InvalidExperimentError(f"the progress of the suite cannot be read: {why}", where=str(path), remedy=remedy)


def _not_accessible(verb: str, path: Path, error: OSError) -> EnvironmentNotReadyError:
    reason = error.strerror or str(error)
    what = f"cannot {verb} the progress of the suite: {reason}"
    return EnvironmentNotReadyError(what, where=str(path), remedy="free space there, or choose another place")
