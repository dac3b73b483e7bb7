"""What all workbenches have in common, in a real browser against the real service."""

from __future__ import annotations

import json
import re
from io import BytesIO

import pytest
from PIL import Image

from service.page.views import FOLDER
from tests.page.conftest import link, opened
from tests.support.serving import serving

WORKBENCHES = ("groups", "timeline", "members", "keys", "placement")
SIZES = {"desktop": {"width": 1280, "height": 900}, "phone": {"width": 390, "height": 844}}


@pytest.mark.parametrize("name", WORKBENCHES)
@pytest.mark.parametrize(("scheme", "size"), [("light", "desktop"), ("dark", "desktop"), ("light", "phone")])
def test_axe_finds_nothing_serious_and_nothing_overflows(context_of, axe, name, scheme, size):
    page = opened(context_of(color_scheme=scheme, viewport=SIZES[size], bypass_csp=True).new_page(), f"/#/{name}")
    page.evaluate(axe)
    for summary in page.locator("summary").all():
        summary.click()
    found = page.evaluate("() => axe.run()")["violations"]
    serious = [
        (each["id"], [node["html"][:200] for node in each["nodes"]])
        for each in found
        if each["impact"] in ("serious", "critical")
    ]
    assert serious == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.parametrize("name", WORKBENCHES)
def test_screenshots(page, pictures, name):
    opened(page, f"/#/{name}").wait_for_load_state("networkidle")
    picture = Image.open(BytesIO(page.screenshot(full_page=True)))
    picture.quantize(256, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE).save(pictures / f"{name}.png", optimize=True)
    assert picture.width == SIZES["desktop"]["width"]


@pytest.mark.parametrize("name", WORKBENCHES)
def test_each_request_can_be_asked_again_elsewhere(page, client, name):
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    row = opened(page, f"/#/{name}").locator(".requests li").last
    row.get_by_role("button", name="Copy as curl").click()
    row.get_by_role("button", name="Copied").wait_for()
    command = page.evaluate("navigator.clipboard.readText()")
    path, body = re.fullmatch(r"curl 'http://127.0.0.1:\d+(/v1/\S+)' --json '(.*)'", command, re.DOTALL).groups()
    answer = client.post(path, json=json.loads(body.replace("'\\''", "'")))
    with page.expect_download() as downloaded:
        row.get_by_role("button", name="JSON").click()
    assert downloaded.value.path().read_text() == answer.text
    with page.expect_download() as downloaded:
        row.get_by_role("button", name="CSV").click()
    table = client.post(path, json=json.loads(body), headers={"Accept": "text/csv"})
    assert downloaded.value.path().read_text() == table.text


@pytest.mark.parametrize("kind", ["SVG", "PNG", "CSV"])
def test_a_picture_can_be_downloaded(page, kind):
    figure = opened(page, "/#/groups").locator("figure").first
    with page.expect_download() as downloaded:
        figure.get_by_role("button", name=f"as {kind}").click()
    content = downloaded.value.path().read_bytes()
    assert content.startswith({"SVG": b"<svg", "PNG": b"\x89PNG", "CSV": b"topic,partition"}[kind])
    assert len(content) > 500


def test_the_first_paint_comes_within_a_second(page):
    opened(page, "/")
    paint = page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime")
    assert paint < 1000


def test_a_damaged_link_and_one_of_another_browser_say_so(page):
    page.goto("/#/groups/abc")
    page.get_by_text("The link is damaged").wait_for()
    page.goto("/#/groups/input:AAAA")
    page.reload()
    page.get_by_text("is kept by the browser that made it").wait_for()


def test_a_service_that_turns_requests_away_is_asked_again(page):
    full = {"title": "The service is full", "status": 503, "detail": "Try again."}
    body = {"content_type": "application/problem+json", "body": json.dumps(full)}
    turned_away = {"headers": {"Retry-After": "1"}, "status": 503, **body}
    page.route("**/v1/group-assignments", lambda route: route.fulfill(**turned_away))
    page.goto("/#/groups")
    page.get_by_role("alert").get_by_text("The service is full").wait_for()
    page.get_by_text("asks to wait 1 s").wait_for()
    page.unroute_all()
    page.get_by_role("button", name="Try again").click()
    page.locator(".verdict").wait_for()
    assert page.get_by_role("alert").count() == 0


@pytest.mark.slow
def test_a_service_with_credentials_asks_for_a_token_and_the_tab_alone_keeps_it(context_of, tokens):
    path, by_scope = tokens
    with serving(ALLOCATOR_WORKERS="1", ALLOCATOR_AUTH="required", ALLOCATOR_TOKENS_FILE=str(path)) as server:
        page = context_of().new_page()
        page.goto(f"{server.url}/#/groups")
        field = page.get_by_label("This service answers callers with a token")
        field.fill(by_scope["groups"])
        field.press("Enter")
        page.locator(".verdict").wait_for()
        assert page.evaluate("[localStorage.length, sessionStorage.length, document.cookie]") == [0, 0, ""]
        assert by_scope["groups"] not in page.url
        page.reload()
        field.wait_for()


def test_the_state_is_in_the_link(context_of):
    page = opened(context_of().new_page(), "/#/groups")
    page.get_by_label("Change of billing-2").select_option("leaves")
    page.get_by_text("billing-5 joins and billing-2 leaves").wait_for()
    page.wait_for_url(re.compile("#/groups/.{30}"))
    again = opened(context_of().new_page(), page.url)
    assert again.locator(".verdict").inner_text() == page.locator(".verdict").inner_text()


def test_a_state_too_large_for_a_link_stays_in_the_browser(context_of):
    context = context_of()
    names = [f"{i * 2654435761 % 2**32:x}-{i * 40503 % 65536:x}" for i in range(2500)]
    state = {
        "group_protocol": "classic", "assignor": "range", "assignor_then": "", "members": [{"member_id": name} for name in names],
        "topics": [{"topic_name": "orders", "partitions_count": 5000}],
    }  # fmt: skip
    page = opened(context.new_page(), link("groups", state))
    page.wait_for_url("**/#/groups/input:*")
    first = page.url
    page.get_by_label("Change of", exact=False).first.select_option("leaves")
    page.wait_for_url(lambda url: url != first)
    assert "#/groups/input:" in page.url
    again = opened(context.new_page(), page.url)
    again.get_by_text(f"When {names[0]} leaves").wait_for()


def test_the_gallery_shows_every_picture(page):
    page.goto("/#/gallery")
    page.get_by_role("heading", name="Every picture").wait_for()
    drawn = page.locator("figure.example")
    assert drawn.count() > 10
    assert all(figure.locator("svg").count() == 1 for figure in drawn.all())
    named = {path.stem for path in (FOLDER / "pictures").glob("*.js")}
    assert {text.partition(":")[0] for text in drawn.locator("h3").all_inner_texts()} == named
    assert not re.search(r"NaN|Infinity|undefined", page.locator("main").inner_html())
