"""Texts of others on their way to a terminal: shown as they are, never obeyed by it."""

import sys
import unicodedata

# Controls of a terminal (also those of one byte, C1), marks that reorder or hide text, halves of characters, and
# separators that end a line in some places.
_UNPRINTABLE = {"Cc", "Cf", "Cs", "Zl", "Zp"}
# Some languages and joined emoji need the two joiners, which move and hide nothing.
_KEPT = "\n\t\N{ZERO WIDTH NON-JOINER}\N{ZERO WIDTH JOINER}"
_REPLACEMENT = "\N{REPLACEMENT CHARACTER}"


def _is_printable(character: str) -> bool:
    return character in _KEPT or unicodedata.category(character) not in _UNPRINTABLE


def printable(text: str) -> str:
    r"""Replace every character that a terminal would obey instead of showing; line ends and tabs stay.

    >>> printable("\x1b[32mPASS\x1b[0m\r\u202e")
    '�[32mPASS�[0m��'
    """
    if text.isprintable():
        return text
    return "".join(c if _is_printable(c) else _REPLACEMENT for c in text)


def on_one_line(text: str) -> str:
    r"""Return a text without line ends and tabs, so that it cannot pass for a line of ours.

    >>> on_one_line("ysb\nPASS  ysb")
    'ysb PASS  ysb'
    """
    return printable(" ".join(text.replace("\t", " ").splitlines()))


def echo(text: str, *, err: bool = False, nl: bool = True) -> None:
    """Print a text on standard output, or on standard error."""
    stream = sys.stderr if err else sys.stdout
    stream.write(printable(text) + ("\n" if nl else ""))
    stream.flush()
