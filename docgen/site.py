"""The documentation site: `python -m docgen.site`. Copies the repository's pages, and builds them with Zensical.

Pages keep their paths, so that their links hold. A link to a file that is no page leads to the repository.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).parents[1]
REPOSITORY = "https://github.com/agent-feedback/agent-feedback/blob/main/"
_PICTURES = {".png", ".svg"}
_LINK = re.compile(r"(\]\(|src=\"|href=\")(?!https?:|mailto:|#|/)([^)\s#\"]+)")
_CODE = re.compile(r"(^```.*?^```|`[^`\n]+`)", re.MULTILINE | re.DOTALL)
_CONFIGURATION = """[project]
site_name = "agent-feedback"
site_description = "Feedback on AI agents as one deduplicated, replayable stream of reward events"
repo_url = "https://github.com/agent-feedback/agent-feedback"
docs_dir = "pages"
site_dir = "site"
use_directory_urls = false
nav = [
  {{ "Start" = "index.md" }},
  {{ "Documentation" = "docs/index.md" }},
{sections}]

[project.theme]
font = false
features = ["navigation.sections", "navigation.top", "toc.follow", "search.highlight", "content.code.copy"]

[[project.theme.palette]]
scheme = "default"
media = "(prefers-color-scheme: light)"

[[project.theme.palette]]
scheme = "slate"
media = "(prefers-color-scheme: dark)"
"""


def pages() -> dict[PurePosixPath, str]:
    """Return the text of the repository's pages, by path on the site. The README is the site's first page."""
    git = shutil.which("git") or "git"
    listed = subprocess.run([git, "ls-files", "*.md"], cwd=ROOT, capture_output=True, text=True, check=True)
    files = [PurePosixPath(name) for name in listed.stdout.split()]
    places = {file: PurePosixPath("index.md") if file == PurePosixPath("README.md") else file for file in files}
    return {place: _linked((ROOT / file).read_text("utf-8"), file, places) for file, place in places.items()}


def _linked(text: str, file: PurePosixPath, places: dict[PurePosixPath, PurePosixPath]) -> str:
    """Return a page's text. Links to files that are not on the site are replaced by links to the repository."""

    def replaced(link: re.Match[str]) -> str:
        target = PurePosixPath(_resolved(file.parent, link[2]))
        if target in places:
            up = "../" * len(places[file].parent.parts)
            return f"{link[1]}{up}{places[target]}"
        if target.suffix in _PICTURES or not (ROOT / target).exists():
            return link[0]  # the build names a link that leads nowhere
        return f"{link[1]}{REPOSITORY}{target}"

    parts = _CODE.split(text)
    return "".join(part if number % 2 else _LINK.sub(replaced, part) for number, part in enumerate(parts))


def _resolved(folder: PurePosixPath, link: str) -> str:
    found: list[str] = []
    for part in (*folder.parts, *PurePosixPath(link).parts):
        if part == "..":
            found.pop()
        elif part != ".":
            found.append(part)
    return "/".join(found)


def navigation(index: str) -> str:
    """Return the navigation: the sections of docs/index.md, each with the pages that it links to."""
    sections = []
    for section in index.split("\n## ")[1:]:
        heading, _, body = section.partition("\n")
        links = dict.fromkeys(
            _resolved(PurePosixPath("docs"), link.partition("#")[0])
            for link in re.findall(r"\]\((?!https?:)([^)]+\.md)[^)]*\)", body)
        )
        names = ", ".join(f'"{link}"' for link in links if link != "README.md")
        sections.append(f'  {{ "{heading.partition(":")[0]}" = [{names}] }},\n')
    return "".join(sections)


def main() -> int:
    """Build the site. Return Zensical's exit code, which is not 0 if a link is broken."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("zensical", help="the program zensical")
    parser.add_argument("folder", type=Path, help="where the site is built; FOLDER/site is the result")
    arguments = parser.parse_args()
    source = arguments.folder / "pages"
    shutil.rmtree(source, ignore_errors=True)
    found = pages()
    for place, text in found.items():
        (source / place).parent.mkdir(parents=True, exist_ok=True)
        (source / place).write_text(text, "utf-8")
    for picture in (ROOT / "docs/pictures").iterdir():
        (source / "docs/pictures").mkdir(parents=True, exist_ok=True)
        shutil.copy(picture, source / "docs/pictures")
    index = (ROOT / "docs/index.md").read_text("utf-8")
    configuration = arguments.folder / "zensical.toml"
    configuration.write_text(_CONFIGURATION.format(sections=navigation(index)), "utf-8")
    done = subprocess.run([arguments.zensical, "build", "--strict", "--config-file", str(configuration)], check=False)
    if done.returncode == 0:
        sys.stdout.write(f"{len(found)} pages: {arguments.folder / 'site' / 'index.html'}\n")
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
