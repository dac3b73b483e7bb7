"""One browser and one server for all tests of the page. Errors that it logs and violations of its policy fail a test."""

from __future__ import annotations

import json
import os
import zlib
from base64 import b64encode, urlsafe_b64decode, urlsafe_b64encode
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
import requests
from playwright.sync_api import expect, sync_playwright

from tests.support.golden import PROJECT
from tests.support.programs import chromium

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from playwright.sync_api import Browser, BrowserContext, Locator, Page

    from tests.support.serving import Server

FLAGS = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync", "--disable-dev-shm-usage"),
    # Its own omnibox would be a page in a process of its own for each context. This replaces Playwright's list, hence the rest.
    "--disable-features=WebUIOmniboxPopup,WebUIOmniboxAimPopup,PaintHolding,HttpsUpgrades,MediaRouter,OptimizationHints",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",  # a page that asks an outside host shows it
)

DESKTOP = {"width": 1280, "height": 900}

LARGEST_WAIT = 120_000
"""Milliseconds that a test waits for the page, which may share its processors with many others; one that passes never does."""


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """Debian's Chromium."""
    expect.set_options(timeout=LARGEST_WAIT)
    path = chromium()  # before Playwright starts, whose driver needs libraries that come with Chromium
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=path, args=FLAGS, timeout=LARGEST_WAIT)
        yield launched
        launched.close()


def rejected_by_the_service(message: str) -> bool:
    """What Chromium logs of each answer that is an error, which tests expect."""
    return message.startswith("Failed to load resource: the server responded with a status of")


class Contexts:
    """Makes contexts, each a browser of its own for the shared server, and has what their pages log."""

    def __init__(self, browser: Browser, server: Server) -> None:
        self._browser, self._url = browser, server.url
        self.made: list[BrowserContext] = []
        self.logged: list[str] = []

    def __call__(self) -> BrowserContext:
        """Another context."""
        clipboard = ["clipboard-read", "clipboard-write"]
        made = self._browser.new_context(viewport=DESKTOP, base_url=self._url, permissions=clipboard)
        made.set_default_timeout(LARGEST_WAIT)
        made.on("weberror", lambda error: self.logged.append(str(error.error)))
        made.on("console", lambda message: self.logged.append(message.text) if message.type in {"error", "warning"} else None)
        self.made.append(made)
        return made

    def faults(self) -> list[str]:
        """What was logged since the last call, but for what tests expect."""
        messages = [message for message in self.logged if not rejected_by_the_service(message)]
        self.logged.clear()
        return messages


@pytest.fixture(scope="package")
def shared(browser: Browser, server: Server) -> Iterator[Contexts]:
    """The context of all tests, with one tab: a new one would start a process and compile the page's files again."""
    contexts = Contexts(browser, server)
    contexts().new_page()
    yield contexts
    contexts.made[0].close()


@pytest.fixture
def page(shared: Contexts) -> Iterator[Page]:
    """The tab. ``opened`` leaves nothing of the test before but the page's own files, which take half a second to load."""
    [tab, *_] = shared.made[0].pages
    yield tab
    for other in shared.made[0].pages[1:]:
        other.close()
    tab.unroute_all(behavior="ignoreErrors")
    tab.emulate_media(reduced_motion="null", color_scheme="null")
    tab.set_viewport_size(DESKTOP)
    assert shared.faults() == []


@pytest.fixture(scope="package")
def elsewhere(browser: Browser, server: Server) -> Iterator[Contexts]:
    """Another context, which has nothing of what the first one keeps."""
    contexts = Contexts(browser, server)
    contexts().new_page()
    yield contexts
    contexts.made[0].close()


@pytest.fixture
def other_page(elsewhere: Contexts) -> Iterator[Page]:
    """Its tab: as the page of somebody else."""
    yield elsewhere.made[0].pages[0]
    assert elsewhere.faults() == []


class Answer(NamedTuple):
    """What the service answered."""

    status_code: int
    text: str

    @property
    def json(self) -> Any:
        """The value of its text."""
        return json.loads(self.text)


class Service:
    """Asks the server of the page without the page: its kernels are loaded."""

    def __init__(self, url: str) -> None:
        self._url = url

    def post(self, path: str, **request: Any) -> Answer:
        """The answer to a request, which is as those of the module ``requests``."""
        response = requests.post(self._url + path, timeout=LARGEST_WAIT / 1000, **request)
        return Answer(response.status_code, response.text)


@pytest.fixture
def service(server: Server) -> Service:
    """The service that the page asks."""
    return Service(server.url)


def link(name: str, state: object) -> str:
    """The link to a state of a workbench."""
    packer = zlib.compressobj(wbits=-15)
    text = packer.compress(json.dumps(state).encode()) + packer.flush()
    return f"/#/{name}/{urlsafe_b64encode(text).decode().rstrip('=')}"


def linked(url: str) -> str:
    """The JSON of the state that a link has in it, if it has one."""
    text = url.partition("/#/")[2].partition("/")[2]
    return zlib.decompress(urlsafe_b64decode(text + "=" * (-len(text) % 4)), wbits=-15).decode() if text else ""


def opened(page: Page, path: str) -> Page:
    """The tab, once the first answer to a state is shown, with nothing left of what was shown before."""
    if "/#/" in page.url:
        page.goto("/#/nothing")
        page.get_by_text("This page has no workbench named nothing").wait_for()
    page.goto(path)
    page.locator(".verdict").wait_for()
    return page


def settled(page: Page) -> Page:
    """The tab, once all its requests are answered and its pictures are drawn for the room that they have."""
    page.wait_for_function(
        """() => document.querySelector('.answer[aria-busy=false]') && [...document.querySelectorAll('.picture')].every(
            (frame) => Math.abs(frame.firstElementChild.getAttribute('width') - Math.max(frame.clientWidth, 240)) <= 1)"""
    )
    return page


SHOWN = """(within, text) => {
    window.shown = new Promise((resolve) => {
        const observer = new MutationObserver(() => {
            const button = [within, ...within.querySelectorAll('button')].find((each) => each.textContent === text);
            if (!button) return;
            observer.disconnect();
            resolve(button);
        });
        observer.observe(within, { characterData: true, childList: true, subtree: true });
    });
}"""
"""Has the page itself wait for a button with a text, which may be there for a moment only."""


def copied(page: Page, button: Locator) -> str:
    """What a button puts on the clipboard."""
    button.evaluate(SHOWN, "Copied")
    button.click()
    page.evaluate("shown.then(() => {})")
    return str(page.evaluate("navigator.clipboard.readText()"))


class MainThread:
    """What the thread that draws the page has used of a processor since this was made: a busy machine does not change it much."""

    def __init__(self, page: Page) -> None:
        self._session = page.context.new_cdp_session(page)
        self._session.send("Performance.enable")
        self._started = self._now()

    def _now(self) -> float:
        metrics = self._session.send("Performance.getMetrics")["metrics"]
        return next(float(metric["value"]) for metric in metrics if metric["name"] == "ThreadTime")

    def seconds(self) -> float:
        """The seconds so far."""
        return self._now() - self._started


def downloaded(page: Page, part: Locator, button: str) -> bytes:
    """What a button in a part of the page gives."""
    with page.expect_download() as download:
        part.get_by_role("button", name=button).click()
    return download.value.path().read_bytes()


def pasted(page: Page, text: str, label: str = "Paste your own") -> None:
    """Paste a text into the field with this label, as a browser does it."""
    page.get_by_label(label).evaluate(
        """(field, text) => {
        const clipboardData = new DataTransfer();
        clipboardData.setData('text/plain', text);
        const paste = new ClipboardEvent('paste', { bubbles: true, cancelable: true, clipboardData });
        if (field.dispatchEvent(paste)) throw new Error('the text would stay in the field');
    }""",
        text,
    )


def dropped(page: Page, label: str, files: dict[str, bytes]) -> None:
    """Drag files onto the place with this label and over the text in it, as a browser does it, and drop them there."""
    page.evaluate(
        """async ([label, files]) => {
        const target = [...document.querySelectorAll('.drop')].find((each) => each.textContent.includes(label));
        const inner = target.querySelector('span');
        const dataTransfer = new DataTransfer();
        for (const [name, text] of files) {
            dataTransfer.items.add(new File([Uint8Array.from(atob(text), (char) => char.charCodeAt(0))], name));
        }
        const taken = (type, on, relatedTarget = null) =>
            !on.dispatchEvent(new DragEvent(type, { bubbles: true, cancelable: true, dataTransfer, relatedTarget }));
        const looks = async (over) => {
            await new Promise((go) => requestAnimationFrame(() => setTimeout(go)));
            if (target.classList.contains('over') !== over) throw new Error(`over: ${!over}`);
        };
        if (!taken('dragover', target)) throw new Error('no file can be dropped here');
        await looks(true);
        taken('dragleave', target, inner);
        await looks(true);
        taken('dragleave', target, document.body);
        await looks(false);
        taken('dragover', inner);
        await looks(true);
        if (!taken('drop', inner)) throw new Error('the browser would open the file');
        await looks(false);
    }""",
        [label, [[name, b64encode(content).decode()] for name, content in files.items()]],
    )


@pytest.fixture(scope="session")
def pictures() -> Path | None:
    """Where screenshots go: docs/page, if ``make screenshots`` takes them."""
    return PROJECT / os.environ["SCREENSHOTS"] if "SCREENSHOTS" in os.environ else None


@pytest.fixture(scope="session")
def axe() -> str:
    """axe-core, which looks for what keeps people from using a page. Skips the test where it is not installed."""
    path = PROJECT / "node_modules" / "axe-core" / "axe.min.js"
    if not path.exists():
        assert "CI" not in os.environ, "npm ci has not run"
        pytest.skip("axe-core is not installed: npm ci")
    return path.read_text()
