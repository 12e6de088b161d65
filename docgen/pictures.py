"""Pictures of the dashboard for README and docs: run `make run`, then `python -m docgen.pictures URL`.

URL is the address that `make run` prints. `make docs` does not include them, because they show the time of the run.
"""

from __future__ import annotations

import asyncio
import shutil
import sys
from pathlib import Path
from urllib.parse import urljoin

from playwright.async_api import Page, async_playwright

FOLDER = Path(__file__).parents[1] / "docs/pictures"
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"]
WIDTH = 1180


async def draw(url: str) -> None:
    """Save screenshots of the overview, of the largest issue, and of one of its transcripts."""
    async with async_playwright() as parts:
        browser = await parts.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
        page = await browser.new_page(viewport={"width": WIDTH, "height": 900}, color_scheme="light")
        await page.goto(url)
        await page.goto(urljoin(url, "/?at=demo/support"))  # the sample; a chat has a project of its own
        await save(page, "dashboard", 1700)
        await page.get_by_role("link", name="Issues", exact=True).click()
        await page.locator("tr th a").first.click()
        await save(page, "issue", 1700)
        await page.get_by_role("link", name="Read the conversation").first.click()
        await page.wait_for_selector("article.transcript")
        await save(page, "transcript", 760)
        await browser.close()


async def save(page: Page, name: str, height: int) -> None:
    """Save a screenshot of the top of the page, at most `height` pixels high."""
    await page.wait_for_load_state()
    full_height = await page.evaluate("document.documentElement.scrollHeight")
    await page.set_viewport_size({"width": WIDTH, "height": min(height, full_height)})
    await page.screenshot(path=FOLDER / f"{name}.png")


if __name__ == "__main__":
    asyncio.run(draw(sys.argv[1]))
