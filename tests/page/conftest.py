"""One browser and one server for all tests of the page. Errors that it logs and violations of its policy fail a test."""

from __future__ import annotations

import json
import os
import zlib
from base64 import urlsafe_b64encode
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import sync_playwright

from tests.support.golden import PROJECT
from tests.support.programs import program

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from playwright.sync_api import Browser, BrowserContext, Page

    from tests.support.serving import Server

FLAGS = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync", "--disable-dev-shm-usage"),
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",  # a page that asks an outside host shows it
)

LARGEST_WAIT = 30_000
"""Milliseconds that a test waits for the page, which may share its processors with other tests."""


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """Debian's Chromium."""
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=program("chromium"), args=FLAGS)
        yield chromium
        chromium.close()


def rejected_by_the_service(message: str) -> bool:
    """What Chromium logs of each answer that is an error, which tests expect."""
    return message.startswith("Failed to load resource: the server responded with a status of")


@pytest.fixture
def context_of(browser: Browser, server: Server) -> Iterator[Callable[..., BrowserContext]]:
    """Makes contexts, each a browser of its own, for the shared server."""
    contexts: list[BrowserContext] = []
    logged: list[str] = []

    def make(**options: object) -> BrowserContext:
        made = browser.new_context(**{"viewport": {"width": 1280, "height": 900}, "base_url": server.url, **options})
        made.set_default_timeout(LARGEST_WAIT)
        made.on("weberror", lambda error: logged.append(str(error.error)))
        made.on("console", lambda message: logged.append(message.text) if message.type in {"error", "warning"} else None)
        contexts.append(made)
        return made

    yield make
    for context in contexts:
        context.close()
    assert [message for message in logged if not rejected_by_the_service(message)] == []


@pytest.fixture
def page(context_of: Callable[..., BrowserContext]) -> Page:
    """A tab."""
    return context_of().new_page()


def link(name: str, state: object) -> str:
    """The link to a state of a workbench."""
    packer = zlib.compressobj(wbits=-15)
    text = packer.compress(json.dumps(state).encode()) + packer.flush()
    return f"/#/{name}/{urlsafe_b64encode(text).decode().rstrip('=')}"


def opened(page: Page, path: str) -> Page:
    """The tab, once its first answer is shown."""
    page.goto(path)
    page.locator(".verdict").wait_for()
    return page


@pytest.fixture(scope="session")
def pictures(tmp_path_factory) -> Path:
    """Where screenshots go: docs/page, if ``make screenshots`` takes them."""
    return PROJECT / os.environ["SCREENSHOTS"] if "SCREENSHOTS" in os.environ else tmp_path_factory.mktemp("screenshots")


@pytest.fixture(scope="session")
def axe() -> str:
    """axe-core, which looks for what keeps people from using a page. Skips the test where it is not installed."""
    path = PROJECT / "node_modules" / "axe-core" / "axe.min.js"
    if not path.exists():
        assert "CI" not in os.environ, "npm ci has not run"
        pytest.skip("axe-core is not installed: npm ci")
    return path.read_text()
