"""Conversion of Markdown messages to safe HTML. No I/O."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markupsafe import Markup

MOST_CHARACTERS: Final = 50_000
"""Maximum length of a message to render, in characters. Longer messages are shown as plain text to save time."""
_PLAIN: Final = re.compile(r"[^\W\d_](?:[^\W_]|[ ,.;:?!()'/%+-])*(?<! )")
"""Pattern for a line without Markdown or characters to escape, like most questions. Parsing it would take 0.3 ms."""
# Raw HTML, and links with schemes other than http, https and mailto, are shown as text. Images are not loaded.
_LINKS: Final = ("http://", "https://", "mailto:")


def _cell(renderer: RendererHTML, tokens: Sequence[Token], index: int, options: Any, environment: Any) -> str:
    tokens[index].attrs.pop("style", None)  # forbidden by the content security policy
    return renderer.renderToken(tokens, index, options, environment)


class _Parser(MarkdownIt):
    def validateLink(self, url: str) -> bool:  # noqa: N802  # the library's name
        return url.lower().startswith(_LINKS)


def _link(renderer: RendererHTML, tokens: Sequence[Token], index: int, options: Any, environment: Any) -> str:
    tokens[index].attrSet("rel", "noopener noreferrer nofollow")
    if not tokens[index].attrGet(
        "href"
    ):  # the parser does not validate an empty URL, which would link to the page itself
        tokens[index].attrs.pop("href", None)
    return renderer.renderToken(tokens, index, options, environment)


_PARSER: Final = _Parser("commonmark", {"html": False, "linkify": False}).enable("table").disable("image")
_PARSER.add_render_rule("link_open", _link)
for _name in ("th_open", "td_open"):
    _PARSER.add_render_rule(_name, _cell)


def rendered(text: str) -> Markup:
    """Render a message as HTML.

    All text that is not Markdown is escaped, including raw HTML.
    """
    if len(text) > MOST_CHARACTERS:
        return Markup('<p class="plain">{}</p>').format(text)
    if _PLAIN.fullmatch(text):
        return Markup(f"<p>{text}</p>\n")  # noqa: S704  # has nothing to escape
    return Markup(_PARSER.render(text))  # noqa: S704  # the parser escapes; raw HTML is off
