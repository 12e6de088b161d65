"""Messages as HTML: Markdown is rendered, and no message can add markup of its own."""

from __future__ import annotations

from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reporting.pages import markdown
from reporting.pages.markdown import MOST_CHARACTERS, rendered
from tests.support.damaged import BUDGET

ALLOWED = {
    "p", "br", "em", "strong", "code", "pre", "ul", "ol", "li", "blockquote", "h1", "h2", "h3", "h4", "h5", "h6", "hr",
    "a", "table", "thead", "tbody", "tr", "th", "td",
}  # fmt: skip


class Seen(HTMLParser):
    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))


def test_markdown_and_code_are_rendered() -> None:
    html = rendered("**Yes**, use `x`:\n\n```python\nprint('<b>')\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |")
    assert "<strong>Yes</strong>" in html
    assert "<code>x</code>" in html
    assert "<code class=\"language-python\">print('&lt;b&gt;')" in html
    assert "<td>2</td>" in html


@given(st.text("aZ1\u00e9\u0663\u5b57 _-+.,;:?!()'/%*`[]<>&\"\\#|~=\n\t\u00a0", max_size=12))
def test_plain_lines_are_rendered_as_the_parser_does(text: str) -> None:
    assert rendered(text) == markdown._PARSER.render(text)


@pytest.mark.parametrize(
    "text",
    [
        "<script>alert(1)</script>",
        '<img src=x onerror="alert(1)">',
        "[x](javascript:alert(1))",
        "[x](data:text/html,hi)",
        "[x](//evil.example)",
        "![x](https://evil.example/pixel.png)",
        '[x](https://a.example/"onmouseover="alert(1))',
        "&lt;script&gt;",
    ],
)
def test_nothing_hostile_becomes_markup(text: str) -> None:
    check(rendered(text))


PIECES = (
    "[x",
    "](https://a.example)",
    "](javascript:a)",
    "](data:text/html,a)",
    "](//a)",
    "]()",
    "<",
    ">",
    "<script>",
    '"',
    "'",
    " onclick=a",
    "`",
    "```a",
    "*",
    "**",
    "# ",
    "- ",
    "> ",
    "\n\n| a |\n|:-:|\n| b |\n",
    "!",
    "&lt;",
    "\n",
    "a",
    " ",
)
HOSTILE = st.text(max_size=300) | st.lists(st.sampled_from(PIECES), max_size=30).map("".join)


@given(HOSTILE)
@BUDGET
def test_whatever_is_written_only_known_tags_come_out(text: str) -> None:
    check(rendered(text))


def check(html: str) -> None:
    for tag, attributes in Seen(str(html)).tags:
        assert tag in ALLOWED, tag
        assert set(attributes) <= {"href", "rel", "title", "class", "start"}, attributes
        if "href" in attributes:
            assert (attributes["href"] or "").lower().startswith(("http://", "https://", "mailto:"))
            assert attributes["rel"] == "noopener noreferrer nofollow"


def test_a_link_is_a_link() -> None:
    assert 'href="https://ok.example/a?b=1&amp;c"' in rendered("[x](https://ok.example/a?b=1&c)")


def test_a_very_long_message_stays_plain() -> None:
    html = rendered("*x*" + "<" * MOST_CHARACTERS)
    assert html.startswith('<p class="plain">*x*&lt;')
