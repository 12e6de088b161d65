"""Debian's Chromium for tests of pages. Without it, or without playwright, the tests are skipped with the reason."""

from __future__ import annotations

import os
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.support.waits import PATIENCE_SECONDS

playwright = pytest.importorskip("playwright.async_api")
expect = playwright.expect
expect.set_options(timeout=PATIENCE_SECONDS * 1000)
CHROMIUM = shutil.which("chromium")
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
SCREENSHOTS = os.environ.get("WIDGET_SCREENSHOTS")
needs_chromium = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="Chromium needed: apt-get install chromium"),
]


@asynccontextmanager
async def launched() -> AsyncIterator[Any]:
    """Start a browser."""
    async with playwright.async_playwright() as parts:
        chromium = await parts.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        yield chromium
        await chromium.close()


@asynccontextmanager
async def opened(browser: Any, **options: Any) -> AsyncIterator[tuple[Any, list[str]]]:
    """Open a page; yield it with the messages of its console and the failures of its network.

    An aborted request is no failure: the browser cancels the request for the icon when the page is left.
    """
    context = await browser.new_context(**options)
    page = await context.new_page()
    complaints: list[str] = []
    page.on("console", lambda line: complaints.append(line.text) if line.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on(
        "requestfailed",
        lambda request: complaints.append(request.url) if request.failure != "net::ERR_ABORTED" else None,
    )
    yield page, complaints
    await context.close()


async def picture(page: Any, name: str) -> None:
    if SCREENSHOTS:
        await page.screenshot(path=str(Path(SCREENSHOTS) / f"{name}.png"), full_page=True)
