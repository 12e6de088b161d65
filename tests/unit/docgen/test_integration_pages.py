"""Code in the pages of docs/integrations is that of the examples, and every example is in a page."""

from __future__ import annotations

from docgen.integration_pages import ROOT, files, text

MARK = "<!-- examples/integrations/{}, copied by `make docs` -->"
EXAMPLES = [
    str(path.relative_to(ROOT / "examples/integrations"))
    for path in sorted((ROOT / "examples/integrations").rglob("*"))
    if path.suffix in {".py", ".ts"} and "node_modules" not in path.parts
]


def test_the_code_under_a_mark_is_that_of_the_file() -> None:
    mark = MARK.format("trl_kto.py")
    page = text(f"a\n\n{mark}\n\n```python\nold\n```\n\nb\n")
    code = (ROOT / "examples/integrations/trl_kto.py").read_text("utf-8")
    docstring, _, rest = code.partition("\n\n")
    assert docstring.startswith('"""')
    assert page == f"a\n\n{mark}\n\n```python\n{rest.rstrip()}\n```\n\nb\n"


def test_other_code_is_left() -> None:
    page = "```python\nold\n```\n"
    assert text(page) == page


def test_every_example_is_in_a_page() -> None:
    pages = "\n".join(page.read_text("utf-8") for page in files())
    assert len(EXAMPLES) >= 6
    assert [name for name in EXAMPLES if MARK.format(name) not in pages] == []
