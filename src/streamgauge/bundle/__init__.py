"""Files that come with the package: ready suites, prototypes, the JSON Schemas of both for editors, and examples.

`suite:smoke`, `prototype:ysb` and `example:my_query` name them, whatever folder they are in.
"""

import ast
import re
from pathlib import Path
from typing import Literal

from streamgauge.errors import UsageError, closest

Kind = Literal["suite", "prototype", "example"]

FOLDER = Path(__file__).parent
_ENDINGS: dict[Kind, str] = {"suite": ".yaml", "prototype": ".yaml", "example": ".py"}
_REFERENCE = re.compile(r"(suite|prototype|example):(.*)", re.DOTALL)


def bundled(kind: Kind, folder: str = "**") -> dict[str, Path]:
    """Return the files of one kind by name; with `folder`, only those of one folder below.

    >>> bundled("suite")["smoke"].name, list(bundled("prototype", "topologies"))[:2]
    ('smoke.yaml', ['all-in-one', 'fields-to-fields'])
    """
    paths = (FOLDER / f"{kind}s").glob(f"{folder}/*{_ENDINGS[kind]}")
    return {path.stem: path for path in sorted(paths, key=lambda path: (len(path.parts), path))}


def is_bundled(reference: str, kind: Kind) -> bool:
    """Return whether a reference names a file of the package, one that exists or not.

    >>> is_bundled("suite:smoke", "suite"), is_bundled("smoke.yaml", "suite")
    (True, False)
    """
    return reference.startswith(f"{kind}:")


def locate(reference: str | Path) -> Path:
    """Return the file that a reference names: one of the package, or a path as it is.

    >>> locate("prototype:ysb").name, locate("folder/mine.yaml").name
    ('ysb.yaml', 'mine.yaml')
    """
    match = _REFERENCE.fullmatch(str(reference))
    if match is None:
        return Path(reference)
    kind = next(kind for kind in _ENDINGS if kind == match[1])
    known = bundled(kind)
    if match[2] not in known:
        raise UsageError(f'streamgauge has no {kind} "{match[2]}"', remedy=closest(match[2], known))
    return known[match[2]]


def summary(path: Path) -> str:
    """Return what a file says of itself: the description of a suite, the first sentence about another.

    >>> summary(locate("prototype:windowed"))
    'Windows behind a balanced routing (Cooper 2020, "windowed").'
    """
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        return str(ast.get_docstring(ast.parse(text))).partition("\n")[0]
    if description := re.search(r"^description: (.+)$", text, re.MULTILINE):
        return description[1]
    comment = " ".join(re.findall(r"^# (?!yaml-language-server)(.+)$", text, re.MULTILINE))
    return re.split(r"(?<=\.) ", comment)[0]
