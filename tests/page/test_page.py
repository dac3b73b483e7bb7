"""What all workbenches have in common, in a real browser against the real service."""

from __future__ import annotations

import json
import re
from io import BytesIO

import pytest
from PIL import Image, ImageChops, ImageStat
from playwright.sync_api import expect

from service.page.views import FOLDER
from tests.page.conftest import DESKTOP, MainThread, copied, downloaded, dropped, link, opened, settled
from tests.support.serving import serving

WORKBENCHES = ("groups", "timeline", "history", "members", "keys", "trace", "placement", "disks")
DESCRIBED_GROUP = """
GROUP    TOPIC   PARTITION  CURRENT-OFFSET  LOG-END-OFFSET  LAG  CONSUMER-ID  HOST        CLIENT-ID
billing  orders  0          100             160             60   c-1          /127.0.0.1  c
billing  orders  1          100             140             40   c-2          /127.0.0.1  c
"""
DESCRIBED_TOPIC = "Topic: orders\tPartition: 0\tLeader: 1\tReplicas: 1,2\tIsr: 1,2\n"
TOPICS = [{"topic_name": "orders", "partitions_count": 6}]
SIZES = {"desktop": DESKTOP, "phone": {"width": 390, "height": 844}}


NARROW = """() => [document.documentElement, ...document.querySelectorAll('.cards')].every(
    (part) => part.scrollWidth <= part.clientWidth || (innerWidth > 640 && part.matches('.cards')))"""
"""Whether the page does not scroll sideways, nor on a phone a table with many columns."""


WIDE = """() => {
    const style = new CSSStyleSheet();
    style.replaceSync('.picture svg { min-width: 2000px }');
    document.adoptedStyleSheets = [style];
}"""
"""Makes all pictures as wide as in a window that just became narrow."""


@pytest.mark.parametrize("name", WORKBENCHES)
def test_axe_finds_nothing_serious_and_nothing_overflows(page, axe, name):
    settled(opened(page, f"/#/{name}"))
    page.evaluate(axe)
    page.locator("summary").evaluate_all("(all) => all.forEach((each) => each.click())")
    for scheme, size, rules in [("light", "phone", {}), ("dark", "desktop", {"runOnly": ["color-contrast"]})]:
        page.emulate_media(color_scheme=scheme)
        page.set_viewport_size(SIZES[size])
        assert settled(page).evaluate(NARROW), size
        page.evaluate(WIDE)
        options = {"resultTypes": ["violations"], "preload": False, **rules}
        found = page.evaluate("async (options) => (await axe.run(options)).violations", options)
        serious = [
            (each["id"], [node["html"][:200] for node in each["nodes"]])
            for each in found
            if each["impact"] in ("serious", "critical")
        ]
        assert serious == [], (scheme, size)
        page.evaluate("document.adoptedStyleSheets = []")


PLACES = """() => [...document.querySelectorAll('.picture > svg')].map((svg) => {
    const { left, top, right, bottom } = svg.getBoundingClientRect();
    return [left + scrollX, top + scrollY, right + scrollX, bottom + scrollY].map(Math.round);
})"""


@pytest.mark.parametrize("name", WORKBENCHES)
def test_screenshots_and_downloads(page, pictures, service, name):
    """Each request can be asked again elsewhere, and each picture leaves the page as SVG, PNG and CSV."""
    settled(opened(page, f"/#/{name}"))
    picture = Image.open(BytesIO(page.screenshot(full_page=True)))
    seen = picture.convert("L")
    assert picture.width == SIZES["desktop"]["width"]
    if pictures is not None:
        picture = picture.quantize(256, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
        picture.save(pictures / f"{name}.png", optimize=True)
    row = page.locator(".requests li").last
    command = copied(page, row.get_by_role("button", name="Copy as curl"))
    path, body = re.fullmatch(r"curl 'http://127.0.0.1:\d+(/v1/\S+)' --json '(.*)'", command, re.DOTALL).groups()
    body = json.loads(body.replace("'\\''", "'"))
    assert downloaded(page, row, "JSON").decode() == service.post(path, json=body).text
    assert downloaded(page, row, "CSV").decode() == service.post(path, json=body, headers={"Accept": "text/csv"}).text
    figures = page.locator("figure").all()
    assert figures
    places = page.evaluate(PLACES)
    for figure, place in zip(figures, places, strict=True):
        svg, png, csv = (downloaded(page, figure, f"as {kind}") for kind in ("SVG", "PNG", "CSV"))
        assert not re.search(r"NaN|Infinity|undefined", svg.decode())
        drawn = Image.open(BytesIO(png))
        assert f'width="{drawn.width // 2}" height="{drawn.height // 2}"' in svg.decode()
        assert len(drawn.convert("RGB").getcolors(2**24)) > 2
        looks = drawn.convert("L").resize((place[2] - place[0], place[3] - place[1]))
        assert ImageStat.Stat(ImageChops.difference(looks, seen.crop(place))).mean[0] < 3
        figure.get_by_text("Data", exact=True).press("Enter")  # the table behind the picture
        columns = figure.locator("thead th").all_inner_texts()
        assert csv.decode().splitlines()[0] == ",".join(columns)
        assert len(csv.decode().splitlines()) > figure.locator("tbody tr").count() > 0


CHANGES = [
    ("groups", {"price_per_gb": 0.02}, {"members": [{"member_id": "a"}, {"member_id": "a"}]}, "/members/1"),
    ("members", {"members_counts": [2, 3, 7]}, {"consumption_rate": -1}, "/consumption_rate"),
    (
        "keys",
        {
            "target_mb_per_second": 90,
            "producer_mb_per_second": 9,
            "consumer_mb_per_second": 5,
            "histogram": [{"key": "k", "records": 2}, {"key": None, "records": 3}],
        },
        {"max_skew": "x"},
        "/max_skew",
    ),
]


@pytest.mark.parametrize(("name", "change", "wrong", "pointer"), CHANGES, ids=[change[0] for change in CHANGES])
def test_the_request_is_changed_as_json(page, service, name, change, wrong, pointer):
    opened(page, f"/#/{name}").locator("summary", has_text="Request as JSON").click()
    raw = page.get_by_label("Request as JSON")
    path = re.search(r"/v1/\S+", page.locator(".requests code").first.inner_text())[0]
    body = json.loads(raw.input_value())
    assert service.post(path, json=body).status_code == 200
    with page.expect_request(f"**{path}") as asked:
        raw.fill(json.dumps(body | change))
        raw.press("Tab")
    sent = asked.value.post_data_json
    assert sent | change == sent or name == "keys"
    page.wait_for_function("() => document.querySelector('.answer[aria-busy=true]') === null")
    taken = json.loads(raw.input_value())
    assert service.post(path, json=taken).json == service.post(path, json=body | change).json
    raw.fill(json.dumps(taken | wrong))
    raw.press("Tab")
    page.locator(".faults").get_by_text(pointer).first.wait_for()
    page.locator(".faults").get_by_role("button", name="line").first.click()


def test_the_first_paint_takes_less_than_a_second(page):
    page.goto("/livez")
    thread = MainThread(page)
    opened(page, "/")
    assert page.evaluate("performance.getEntriesByName('first-contentful-paint').length") == 1
    assert thread.seconds() < 1  # 0.2 s, with the answer and its pictures


def test_a_damaged_link_and_one_of_another_browser_say_so(page):
    page.goto("/#/groups/abc")
    page.get_by_text("The link is damaged").wait_for()
    page.goto("/#/groups/input:AAAA")
    page.get_by_text("is kept by the browser that made it").wait_for()


def test_a_service_that_turns_requests_away_is_asked_again(page):
    full = {"title": "The service is full", "status": 503, "detail": "Try again."}
    body = {"content_type": "application/problem+json", "body": json.dumps(full)}
    turned_away = {"headers": {"Retry-After": "1"}, "status": 503, **body}
    opened(page, "/#/disks")
    page.route("**/v1/group-assignments", lambda route: route.fulfill(**turned_away))
    page.goto("/#/groups")
    page.get_by_role("alert").get_by_text("The service is full").wait_for()
    page.get_by_text("asks to wait 1 s").wait_for()
    page.unroute_all()
    page.get_by_role("button", name="Try again").click()
    page.locator(".verdict").wait_for()
    assert page.get_by_role("alert").count() == 0


def test_nothing_moves_for_a_reader_who_waits_or_wants_less_motion(page):
    settled(opened(page, "/#/placement"))
    page.route("**/v1/reassignments", lambda _: None)  # never answered
    button = page.get_by_role("button", name="broker 4")
    place = button.bounding_box()
    button.click()
    page.get_by_role("status").filter(has_text="The service computes").wait_for()
    assert button.bounding_box() == place  # what is about to be pressed stays where it is
    assert page.locator("progress").is_visible()
    page.emulate_media(reduced_motion="reduce")
    assert not page.locator("progress").is_visible()
    assert page.evaluate("document.getAnimations().length") == 0


@pytest.mark.slow
def test_a_service_with_credentials_asks_for_a_token_and_the_tab_alone_keeps_it(other_page, tokens):
    path, by_scope = tokens
    with serving(forked=True, ALLOCATOR_WORKERS="1", ALLOCATOR_AUTH="required", ALLOCATOR_TOKENS_FILE=str(path)) as server:
        page = other_page
        page.goto(f"{server.url}/#/groups")
        field = page.get_by_label("This service answers callers with a token")
        for scope in ("keys", "groups"):  # the first is no token
            field.fill(by_scope.get(scope, scope))
            with page.expect_response("**/v1/group-assignments") as answered:
                field.press("Enter")
        assert answered.value.ok
        page.locator(".verdict").wait_for()
        assert page.evaluate("[localStorage.length, sessionStorage.length, document.cookie]") == [0, 0, ""]
        assert by_scope["groups"] not in page.url
        for name in ("timeline", "members"):
            page.get_by_role("link", name=name.title()).click()
            page.locator("nav [aria-current]", has_text=name.title()).wait_for()
            page.locator(".verdict").wait_for()
            assert field.count() == 0
        for name, scope in [("keys", "partitions"), ("placement", "placements"), ("disks", None)]:
            page.get_by_role("link", name=name.title()).click()
            if scope:  # the token of the workbench before may not ask this
                field.fill(by_scope[scope])
                field.press("Enter")
            page.locator(".verdict").wait_for()
            field.wait_for(state="detached")
        page.get_by_role("button", name="/data/b is removed").wait_for(timeout=8_000)
        page.locator(".requests li").get_by_role("button", name="Copy as curl").click()
        with page.expect_download() as downloaded:
            page.locator(".requests li").get_by_role("button", name="CSV").click()
        assert downloaded.value.path().read_text().startswith('"topic_name",')
        page.reload()
        field.wait_for()


def test_the_state_is_in_the_link(page, other_page):
    opened(page, "/#/groups")
    page.get_by_label("Change of billing-2").select_option("leaves")
    page.get_by_text("range gives 4 members").wait_for()
    page.wait_for_url(re.compile("#/groups/.{30}"))
    again = opened(other_page, page.url)
    assert again.locator(".verdict").inner_text() == page.locator(".verdict").inner_text()


def test_an_answer_leaves_what_is_being_typed(page):
    opened(page, "/#/groups")
    field = page.get_by_label("Rack of billing-1")
    field.fill("z")  # and not yet entered
    page.get_by_label("Change of billing-2").evaluate(
        "(select) => { select.value = 'leaves'; select.dispatchEvent(new Event('change', { bubbles: true })); }"
    )
    page.get_by_text("range gives 4 members").wait_for()
    assert field.input_value() == "z"
    field.press("Enter")
    page.wait_for_function("() => document.querySelector('.answer[aria-busy=true]') === null")
    assert field.input_value() == "z"


LATER = "() => { const now = performance.now() + 600; const from = Date.now(); performance.now = () => now + Date.now() - from; }"


STILL = "() => { const now = performance.now(); performance.now = () => now; }"


def test_back_and_forward_step_through_the_states(page, request):
    request.addfinalizer(lambda: page.evaluate("delete performance.now"))
    opened(page, "/#/groups").evaluate(STILL)
    page.get_by_label("Change of billing-3").select_option("leaves")
    page.wait_for_url(re.compile("#/groups/.{30}"))
    opened(page, "/#/groups")  # at once, and yet a step that no change replaces
    texts = [page.locator(".verdict").inner_text()]
    for left, member in [(4, "billing-1"), (3, "billing-2")]:
        before = page.url
        page.get_by_label(f"Change of {member}").select_option("leaves")
        page.get_by_text(f"range gives {left} members").wait_for()
        page.wait_for_url(lambda url, before=before: url != before)
        texts.append(page.locator(".verdict").inner_text())
        page.evaluate(LATER)  # two changes within half a second are one step
    page.get_by_role("link", name="Disks").click()
    page.get_by_role("heading", name="What moves between the disks").wait_for()
    for step, expected in [("Back", texts[2]), ("Back", texts[1]), ("Back", texts[0]), ("Forward", texts[1])]:
        page.go_back() if step == "Back" else page.go_forward()
        page.locator(".verdict", has_text=expected).wait_for()
    page.get_by_role("link", name="Keys").click()
    page.get_by_role("link", name="Groups").click()  # where it was left
    page.locator(".verdict", has_text=texts[1]).wait_for()
    page.get_by_role("link", name="Example").click()
    page.locator(".verdict", has_text=texts[0]).wait_for()


GOES_ON = """() => {
    const encode = btoa;
    window.btoa = (bytes) => {
        location.hash = "#/disks";
        window.btoa = encode;
        return encode(bytes);
    };
}"""


def test_the_link_of_a_change_does_not_call_back_a_reader_who_goes_on(page):
    opened(page, "/#/groups").evaluate(GOES_ON)  # while the link is made
    page.get_by_label("Change of billing-3").select_option("leaves")
    page.get_by_role("heading", name="What moves between the disks").wait_for()
    assert page.url.endswith("#/disks")
    page.get_by_role("link", name="Groups").click()  # with the change
    expect(page.get_by_label("Change of billing-3")).to_have_value("leaves")


FOLLOWS = """([select, link]) => {
    const [encode, Unpacking] = [btoa, DecompressionStream];
    const written = new Promise((resolve) => {
        window.btoa = (bytes) => {
            setTimeout(resolve);
            window.btoa = encode;
            return encode(bytes);
        };
    });
    window.DecompressionStream = function (format) {
        window.DecompressionStream = Unpacking;
        const { readable, writable } = new TransformStream({ start: () => written });
        return { writable, readable: readable.pipeThrough(new Unpacking(format)) };
    };
    select.value = 'leaves';
    select.dispatchEvent(new Event('change', { bubbles: true }));
    location.hash = link;
}"""
"""Changes a state, and follows a link that takes longer to unpack than the change's own link takes to be made."""


def test_the_link_of_a_change_does_not_call_back_a_reader_who_follows_a_large_one(page):
    opened(page, "/#/groups")
    followed = link("members", {"assignor": "range", "topics": TOPICS, "members": [{"member_id": "a"}]}).removeprefix("/")
    page.evaluate(FOLLOWS, [page.get_by_label("Change of billing-3").element_handle(), followed])
    page.get_by_role("heading", name="How many members").wait_for()
    assert page.url.endswith(followed)
    page.get_by_role("link", name="Groups").click()
    expect(page.get_by_label("Change of billing-3")).to_have_value("leaves")


def test_a_state_too_large_for_a_link_stays_in_the_browser(page):
    names = [f"{i * 2654435761 % 2**32:x}-{i * 40503 % 65536:x}" for i in range(2500)]
    state = {
        "group_protocol": "classic", "assignor": "range", "assignor_then": "", "members": [{"member_id": name} for name in names],
        "topics": [{"topic_name": "orders", "partitions_count": 5000}],
    }  # fmt: skip
    opened(page, link("groups", state))
    page.get_by_label("Change of", exact=False).first.select_option("leaves")
    page.wait_for_url("**/#/groups/input:*")
    again = opened(page.context.new_page(), page.url)
    again.get_by_text("range gives 2,499 members").wait_for()


@pytest.mark.parametrize("name", WORKBENCHES)
def test_a_blank_start_has_nothing_of_the_example(page, name):
    page.goto(f"/#/{name}/blank")
    page.locator(".verdict, .problem").wait_for()
    filled = "(all) => all.filter((each) => each.type !== 'range' && each.value).map((each) => each.value)"
    planned = ["24"] if name == "keys" else ["0"] if name in ("timeline", "members") else []
    assert page.locator(".editor input:not([type=checkbox])").evaluate_all(filled) == planned
    page.reload()
    page.locator(".verdict, .problem").wait_for()
    page.get_by_role("link", name="Example").click()
    page.locator(".verdict").wait_for()


DROPS = [
    ("groups", "Open files", "group.txt", DESCRIBED_GROUP, "2 owned partitions"),
    ("members", "Open files", "group.txt", DESCRIBED_GROUP, "The lag is 100"),
    ("keys", "Open CSV", "orders.csv", "key\na\nb\na\n", "2 keys, 3 records"),
    ("placement", "Open files", "topics.txt", DESCRIBED_TOPIC, "orders: 1 partition on 2 brokers"),
]


@pytest.mark.parametrize(("name", "label", "file", "content", "expected"), DROPS, ids=[drop[0] for drop in DROPS])
def test_a_file_is_dropped(page, name, label, file, content, expected):
    opened(page, f"/#/{name}")
    dropped(page, label, {file: content.encode()})
    page.get_by_text(expected).first.wait_for()


def test_a_file_that_misses_its_place_does_not_replace_the_page(page):
    opened(page, "/#/keys")
    opens = """(kind) => {
        const dataTransfer = new DataTransfer();
        if (kind === 'file') dataTransfer.items.add(new File(['a'], 'a.csv'));
        else dataTransfer.setData('text/plain', 'a');
        return document.querySelector('textarea').dispatchEvent(
            new DragEvent('drop', { bubbles: true, cancelable: true, dataTransfer }));
    }"""
    assert [page.evaluate(opens, kind) for kind in ("file", "text")] == [False, True]


def test_the_gallery_shows_every_picture(page):
    page.goto("/#/gallery")
    page.get_by_role("heading", name="Every picture").wait_for()
    drawn = page.locator("figure.example")
    assert drawn.count() > 10
    expect(drawn.locator(".picture > svg:only-child")).to_have_count(drawn.count())
    named = {path.stem for path in (FOLDER / "pictures").glob("*.js")}
    assert {text.partition(":")[0] for text in drawn.locator("h3").all_inner_texts()} == named
    assert not re.search(r"NaN|Infinity|undefined", page.locator("main").inner_html())


def test_an_amount_that_rounds_to_the_next_unit_is_in_that_unit(page):
    """And does not part from it at the end of a line."""
    opened(page, "/")
    shown = page.evaluate(
        """async () => {
            const { duration, percent, size } = await import(new URL('format.js', document.querySelector('script[src]').src));
            return [
                [0, 0.5, 0.9996, 59.94, 59.96, 599.6, 3599, 7260, 1e6].map(duration),
                [0, 999, 999.6, 99949, 99951, 999499, 999500, 1e6, 1.5e18].map(size),
                [null, 0, 0.001, 0.0994, 0.0996, 1].map(percent),
            ];
        }"""
    )
    assert [[amount.replace("\N{NO-BREAK SPACE}", "_") for amount in kind] for kind in shown] == [
        ["0_s", "500_ms", "1.0_s", "59.9_s", "1_min 0_s", "10_min", "1_h", "2_h 1_min", "12_days"],
        ["0_B", "999_B", "1.0_kB", "99.9_kB", "100_kB", "999_kB", "1.0_MB", "1.0_MB", "1,500_PB"],
        ["–", "0%", "0.1%", "9.9%", "10%", "100%"],
    ]
