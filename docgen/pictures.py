"""Pictures of the dashboard and of a chat for README and docs: run `make run`, then `python -m docgen.pictures URL`.

URL is the address that `make run` prints. `make docs` does not include them, because they show the time of the run.
"""

from __future__ import annotations

import asyncio
import io
import os
import pty
import re
import select
import shutil
import subprocess
import sys
from pathlib import Path
from urllib.parse import parse_qs, urljoin, urlsplit

from playwright.async_api import Page, async_playwright
from rich.console import Console
from rich.text import Text

FOLDER = Path(__file__).parents[1] / "docs/pictures"
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"]
WIDTH = 1180
SAID = (
    "How much is a ticket for students?",
    "/down Students have been free since May",
    "So what does a student pay?",
)
"""Lines that a person types into the chat."""
COLUMNS = 96
QUIET_SECONDS = 4.0
"""Time without output after which the chat waits for the next line, in seconds."""


async def draw(url: str) -> None:
    """Save screenshots of the overview, of the regressed issue, of one of its transcripts, and of a chat."""
    async with async_playwright() as parts:
        browser = await parts.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
        page = await browser.new_page(viewport={"width": WIDTH, "height": 900}, color_scheme="light")
        await page.goto(url)
        await page.goto(urljoin(url, "/?at=demo/support"))  # the sample; a chat has a project of its own
        await save(page, "dashboard", 1700)
        await page.get_by_role("link", name="Issues", exact=True).click()
        await page.locator("tr", has_text="Regressed").locator("th a").first.click()
        await save(page, "issue", 1700)
        await page.get_by_role("link", name="Read the conversation").first.click()
        await page.wait_for_selector("article.transcript")
        await save(page, "transcript", 760)
        page = await browser.new_page(viewport={"width": WIDTH, "height": 1700})  # without the dashboard's policy
        chat = as_svg(await asyncio.to_thread(chat_with, url))
        await page.set_content(f"<body style='margin: 0'>{chat}</body>")
        await page.locator("svg").first.screenshot(path=FOLDER / "chat.png")
        await browser.close()


def chat_with(url: str) -> str:
    """Return what a terminal shows of a chat at `url`, with its control sequences."""
    run = urlsplit(url)
    [token] = parse_qs(run.query)["token"]
    command = [
        sys.executable,
        "-m",
        "examples.chat",
        "--url",
        f"{run.scheme}://{run.netloc}",
        "--token",
        token,
        "--user",
        "ann",
    ]
    screen, terminal = pty.openpty()
    environment = {**os.environ, "COLUMNS": str(COLUMNS), "TERM": "xterm-256color"}
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=terminal, stderr=terminal, env=environment, bufsize=0
    ) as chat:
        assert chat.stdin is not None
        shown = _printed(screen)
        for line in SAID:
            chat.stdin.write(f"{line}\n".encode())
            shown += f"\x1b[1myou> \x1b[0m{line}\n{_printed(screen)}"
        chat.terminate()
    return shown.rstrip()


def _printed(screen: int) -> str:
    """Return what is printed until nothing has been printed for QUIET_SECONDS."""
    printed = b""
    while select.select([screen], [], [], QUIET_SECONDS)[0]:
        printed += os.read(screen, 65_536)
    return printed.decode().replace("\r\n", "\n")


def as_svg(shown: str) -> str:
    """Return a picture of a terminal as SVG, in fonts of this machine."""
    console = Console(record=True, width=COLUMNS, file=io.StringIO(), force_terminal=True, color_system="truecolor")
    console.print(Text.from_ansi(shown))
    svg = re.sub(r"@font-face\s*\{.*?\}", "", console.export_svg(title="agent-feedback chat"), flags=re.DOTALL)
    return svg.replace("Fira Code", "DejaVu Sans Mono")


async def save(page: Page, name: str, height: int) -> None:
    """Save a screenshot of the top of the page, at most `height` pixels high."""
    await page.wait_for_load_state()
    whole = await page.evaluate("document.documentElement.scrollHeight")
    await page.set_viewport_size({"width": WIDTH, "height": min(height, whole)})
    await page.screenshot(path=FOLDER / f"{name}.png")


if __name__ == "__main__":
    asyncio.run(draw(sys.argv[1]))
