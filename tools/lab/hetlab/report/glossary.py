# SPDX-License-Identifier: GPL-2.0
"""The words of a page: what they mean, and links from where they are used to the glossary at its end."""

import functools
import re
import tomllib
from dataclasses import dataclass
from pathlib import Path

from markupsafe import Markup, escape

FILE = Path(__file__).with_name("glossary.toml")


@dataclass(frozen=True)
class Term:
    """An entry: its anchor, name, meaning, and the words of a page that link to it (upper case counts as lower)."""

    anchor: str
    name: str
    text: str
    words: tuple[str, ...]


@functools.cache
def terms() -> tuple[Term, ...]:
    """All entries, in the order of the alphabet."""
    found = [
        Term(f"term-{key}", entry["name"], " ".join(entry["text"].split()), tuple(entry["words"]))
        for key, entry in tomllib.loads(FILE.read_text(encoding="utf-8")).items()
    ]
    return tuple(sorted(found, key=lambda term: term.name.lower()))


@functools.cache
def _pattern() -> re.Pattern[str]:
    """Any word of any entry; of words that begin alike the longest."""
    words = sorted((word for term in terms() for word in term.words), key=len, reverse=True)
    return re.compile(r"(?<![\w\-])(" + "|".join(map(re.escape, words)) + r")(?![\w\-])", re.IGNORECASE)


def linked(text: str) -> Markup:
    """A text, escaped, with the first use of each entry's words as a link to it."""
    anchors = {word.lower(): term.anchor for term in terms() for word in term.words}
    used: set[str] = set()

    def link(match: re.Match[str]) -> str:
        anchor = anchors[match[0].lower()]
        if anchor in used:
            return match[0]
        used.add(anchor)
        return f'<a class="term" href="#{anchor}">{match[0]}</a>'

    return Markup(_pattern().sub(link, str(escape(text))))
