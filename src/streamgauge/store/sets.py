"""Sets of runs that answer one question together: a search, a scaling experiment, a suite.

A set is one JSON file in the folder `sets` beside the run directories; it names its runs and holds the conclusions.
"""

import json
import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

from streamgauge.clock import Clock
from streamgauge.errors import InvalidExperimentError, UsageError, closest
from streamgauge.store.layout import SCHEMA_VERSION, SETS_FOLDER, disk_access
from streamgauge.store.writer import write_json


@dataclass(frozen=True)
class StoredSet:
    """One set on disk: what it was for, the ids of its runs in their order, and what came out."""

    set_id: str
    path: Path
    document: dict[str, Any]

    @property
    def kind(self) -> str:
        """The command that made it."""
        return str(self.document["kind"])

    @property
    def run_ids(self) -> list[str]:
        """The runs, in the order in which they were made."""
        return [str(member["run_id"]) for member in self.document["members"]]


class SetWriter:
    """The only writer of one set."""

    def __init__(self, path: Path, document: dict[str, Any]) -> None:
        self.path = path
        self.document = document
        write_json(path, document)

    @classmethod
    def create(cls, root: Path, *, kind: str, title: str, document: Mapping[str, Any], clock: Clock) -> Self:
        """Make a set below `root`; `document` says what was asked for."""
        created = datetime.fromtimestamp(clock.wall_s(), UTC)
        slug = re.sub(r"[^a-z0-9]+", "-", f"{kind}-{title}".lower())[:50].strip("-")
        set_id = f"{created:%Y%m%dT%H%M%S}-{slug}-{secrets.token_hex(2)}"
        folder = root / SETS_FOLDER
        with disk_access("make the folder of sets", folder):
            folder.mkdir(parents=True, exist_ok=True)
        identity = {
            "schema_version": SCHEMA_VERSION,
            "set_id": set_id,
            "kind": kind,
            "title": title,
            "created": created.isoformat(timespec="microseconds"),
            "status": "running",
        }
        return cls(folder / f"{set_id}.json", {**identity, "members": [], **document})

    @classmethod
    def resume(cls, stored: StoredSet) -> Self:
        """Go on writing a set that was interrupted."""
        return cls(stored.path, stored.document | {"status": "running"})

    @property
    def set_id(self) -> str:
        """The name of the set."""
        return str(self.document["set_id"])

    def add(self, run_id: str, **facts: Any) -> None:
        """Add a run, with what the set knows about it."""
        self.update(members=[*self.document["members"], {"run_id": run_id, **facts}])

    def update(self, **fields: Any) -> None:
        """Replace fields of the document; a kill leaves the old or the new one."""
        changed = {**self.document, **fields}
        write_json(self.path, changed)
        self.document = changed


def list_sets(root: Path) -> list[StoredSet]:
    """List the readable sets below `root`, newest first."""
    found = []
    for path in sorted((root / SETS_FOLDER).glob("[!.]*.json"), reverse=True):
        try:
            found.append(_read(path))
        except InvalidExperimentError:
            continue
    return found


def is_set(root: Path, reference: str) -> bool:
    """Tell whether a reference means a set below `root`, and no run."""
    return bool(reference) and any(name.startswith(reference) for name in _names(root))


def open_set(root: Path, reference: str) -> StoredSet:
    """Open a set by its id or the beginning of it."""
    names = _names(root)
    matches = [name for name in names if name == reference] or [
        n for n in names if reference and n.startswith(reference)
    ]
    if len(matches) != 1:
        what = f'unknown set "{reference}"' if not matches else f'"{reference}" is the beginning of {len(matches)} sets'
        remedy = closest(reference, names) if names else "there are no sets here; choose a place with --runs"
        raise UsageError(what, where=str(root / SETS_FOLDER), remedy=remedy)
    return _read(root / SETS_FOLDER / f"{matches[0]}.json")


def _names(root: Path) -> list[str]:
    return sorted(path.stem for path in (root / SETS_FOLDER).glob("[!.]*.json"))


def _read(path: Path) -> StoredSet:
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        members = document["members"]
        if document["schema_version"] > SCHEMA_VERSION:
            raise InvalidExperimentError(
                f"schema version {document['schema_version']} is newer than {SCHEMA_VERSION}, the newest known here",
                where=str(path),
                remedy="update streamgauge, or read the set with the version that wrote it",
            )
        if not all(isinstance(member["run_id"], str) for member in members):
            raise TypeError("a member without a run id")
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise InvalidExperimentError(
            f"not a set of runs ({type(error).__name__}: {error})",
            where=str(path),
            remedy="restore the file from a copy, or remove it",
        ) from error
    return StoredSet(path.stem, path, document)
