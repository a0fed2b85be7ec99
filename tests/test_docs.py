"""The documentation shows commands, options, files and Python that exist."""

import re
import shlex
from pathlib import Path

import pytest
import typer

from streamgauge.cli.main import app

ROOT = Path(__file__).parents[1]
PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")])
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def blocks(language: str) -> list[tuple[str, str]]:
    found = [(page, BLOCK.findall(page.read_text())) for page in PAGES]
    return [(page.name, text) for page, all_blocks in found for name, text in all_blocks if name == language]


def commands() -> list[tuple[str, list[str]]]:
    lines = [(page, line) for page, text in blocks("sh") for line in text.replace("\\\n", " ").splitlines()]
    words = [(page, shlex.split(line.replace("|", " ; ").replace("&&", " ; "), comments=True)) for page, line in lines]
    return [(page, found) for page, found in words if found and found[0].endswith("streamgauge")]


def known_options(words: list[str]) -> tuple[set[str], list[str]]:
    """Follow the words of a command line into the tree of commands and return the options known there."""
    command = typer.main.get_command(app)
    rest = words[1 : words.index(";")] if ";" in words else words[1:]
    while hasattr(command, "commands") and rest and not rest[0].startswith("-"):
        assert rest[0] in command.commands, f"no command {rest[0]}"
        command, rest = command.commands[rest[0]], rest[1:]
    options = {name for parameter in command.params for name in (*parameter.opts, *parameter.secondary_opts)}
    return options | {"-h", "--help", "--install-completion", "--show-completion"}, rest


def test_every_command_line_of_the_documentation_can_be_parsed():
    assert len(commands()) > 10
    for page, words in commands():
        options, rest = known_options(words)
        used = {word.partition("=")[0] for word in rest if re.match(r"--?[a-z]", word)}
        assert used <= options, f"{page}: {' '.join(words)}"


def test_every_python_block_of_the_documentation_compiles():
    assert blocks("python")
    for page, text in blocks("python"):
        compile(text.replace(">>> ", "").replace("... ", ""), page, "exec")


def anchors(text: str) -> set[str]:
    """Return the anchors of a page's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.+)$", BLOCK.sub("", text), re.MULTILINE)
    found: dict[str, int] = {}
    for heading in headings:
        plain = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading)
        anchor = re.sub(r"[^\w\- ]", "", plain.lower()).replace(" ", "-")
        found[anchor] = found.get(anchor, -1) + 1
    return {f"{anchor}-{n}" if n else anchor for anchor, times in found.items() for n in range(times + 1)}


def dead_links(page: Path) -> list[str]:
    """Return the links of a page to files or headings that do not exist."""
    dead = []
    for target in re.findall(r"\]\(([^)\s]+)[^)]*\)", BLOCK.sub("", page.read_text())):
        name, _, anchor = target.partition("#")
        to = page.parent / name if name else page
        if not name.startswith("http") and not (to.exists() and (not anchor or anchor in anchors(to.read_text()))):
            dead.append(target)
    return dead


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_of_the_documentation_lead_somewhere(page):
    assert dead_links(page) == []


def test_links_to_missing_files_and_headings_are_found(tmp_path):
    (tmp_path / "other.md").write_text("# Some `code`, and more\n## Twice\n## Twice\n```sh\n# no heading\n```\n")
    right = ["other.md", "other.md#some-code-and-more", "other.md#twice-1", "#own", "https://example.org/#x"]
    wrong = ["none.md", "other.md#some", "other.md#twice-2", "other.md#no-heading", "#twice"]
    page = tmp_path / "page.md"
    page.write_text("# Own\n" + "\n".join(f"[x]({target})" for target in (*right, *wrong)))
    assert dead_links(page) == wrong
