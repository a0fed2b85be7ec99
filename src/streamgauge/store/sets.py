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
from streamgauge.errors import InvalidExperimentError
from streamgauge.store.json_text import damaged, parse_object, problems_of_version
from streamgauge.store.layout import RUN_FILE, SCHEMA_VERSION, SETS_FOLDER, age_order, disk_access
from streamgauge.store.writer import write_json

_REMEDY = "restore the file from a copy, or remove it"
_TEXTS = ("kind", "title")
_MEMBER_TEXTS = ("key", "name", "workload", "verdict", "role")
_MEMBER_NUMBERS = ("took_s", "repetition")


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
        members = [*self.document["members"], {"run_id": run_id, **facts}]
        rehearsal = {"rehearsal": True} if _is_rehearsal(self.path.parent.parent / run_id) else {}
        self.update(members=members, **rehearsal)

    def update(self, **fields: Any) -> None:
        """Replace fields of the document; a kill leaves the old or the new one."""
        changed = {**self.document, **fields}
        write_json(self.path, changed)
        self.document = changed


def _is_rehearsal(folder: Path) -> bool:
    try:
        return bool(json.loads((folder / RUN_FILE).read_text()).get("rehearsal"))
    except (OSError, ValueError):
        return False


def list_sets(root: Path) -> list[StoredSet]:
    """List the readable sets below `root`, newest first."""
    found = []
    for path in set_files(root):
        try:
            found.append(read_set(path))
        except InvalidExperimentError:
            continue
    return sorted(found, key=lambda stored: age_order(stored.document.get("created"), stored.set_id), reverse=True)


def set_files(root: Path) -> list[Path]:
    """Return the files of the sets below `root`, oldest first; they may be damaged."""
    return sorted((root / SETS_FOLDER).glob("[!.]*.json"))


def read_set(path: Path) -> StoredSet:
    """Read the set in a file."""
    document = parse_object(_text(path), path, remedy=_REMEDY)
    problems = problems_of_version(document, path, "set")
    problems += [f'"{key}" must be text' for key in _TEXTS if not isinstance(document.get(key), str)]
    problems += _problems_of_members(document.get("members"))
    if problems:
        raise damaged(f"not a set of runs: {'; '.join(problems)}", path, _REMEDY)
    return StoredSet(path.stem, path, document)


def _text(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise damaged(f"not a set of runs: {error.strerror or error}", path, _REMEDY) from error


def _problems_of_members(members: Any) -> list[str]:
    if not isinstance(members, list):
        return ['"members" must be a list']
    for number, member in enumerate(members, 1):
        if not isinstance(member, dict) or not isinstance(member.get("run_id"), str):
            return [f"member {number} has no run id"]
        wrong = [key for key in _MEMBER_TEXTS if not isinstance(member.get(key, ""), str | None)]
        wrong += [key for key in _MEMBER_NUMBERS if not _is_number(member.get(key, 0))]
        if wrong:
            return [f"member {number} has a wrong {', '.join(wrong)}"]
    return []


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e18
