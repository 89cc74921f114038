"""The live page in a real browser, while rows come in: light, dark, on a phone, and over a
restart of the server.
"""

import os
from pathlib import Path

import pytest

from report.browser import Browser, found

pytestmark = pytest.mark.skipif(
    found() is None,
    reason="no browser: install chromium to see the live page (Debian: apt-get install chromium)",
)
DRAWN = "document.documentElement.dataset.drawn === '3'"
TEXT = "document.body.innerText"


@pytest.fixture
def browser(tmp_path):
    one = Browser(tmp_path / "browser")
    yield one
    one.close()


@pytest.fixture(scope="module")
def screenshots(tmp_path_factory):
    """Where screenshots go: SWORDPLAY_SCREENSHOTS, if it is set."""
    named = os.environ.get("SWORDPLAY_SCREENSHOTS")
    path = Path(named) if named else tmp_path_factory.mktemp("screenshots")
    path.mkdir(parents=True, exist_ok=True)
    return path


def feed(client, first, count, waiting=7):
    """Rows of a target that can be learned; the last few wait for their answers."""
    rows = [
        (f"r{k}", {"a": k % 24, "b": "xyz"[k % 3]}, 2.0 * (k % 24) + 5.0 * (k % 3))
        for k in range(first, first + count)
    ]
    assert client.post("/ask", [{"id": name, "x": x} for name, x, _ in rows])[0] == 200
    assert (
        client.post("/tell", [{"id": name, "y": y} for name, _, y in rows[: count - waiting]])[0]
        == 200
    )
    return count - waiting


def open_page(browser, port, *, width=1000, scheme="light"):
    browser.ask(
        "Emulation.setDeviceMetricsOverride",
        width=width,
        height=900,
        deviceScaleFactor=1,
        mobile=False,
    )
    browser.scheme(scheme)
    browser.ask("Page.navigate", url=f"http://127.0.0.1:{port}/")
    browser.wait("document.readyState === 'complete' && location.protocol === 'http:'")
    browser.wait(DRAWN)


def at_event(client):
    return f"document.documentElement.dataset.event >= {client.get('/health')[1]['event']}"


def test_the_page_follows_the_rows(launcher, browser, tmp_path, screenshots):
    server = launcher.start("--state", tmp_path / "state")
    client = server.client()
    open_page(browser, server.port)
    browser.wait(f"{TEXT}.includes('No row has come yet')")
    feed(client, -1, 1, waiting=0)
    browser.wait(at_event(client))
    assert "1 asked, no prediction answered yet" in browser.evaluate(
        TEXT
    )  # nothing was known when it was asked
    feed(client, 0, 60)
    browser.wait(at_event(client))
    figures = client.get("/models/default/summary")[1]
    assert figures["pending"] == 7
    text = browser.evaluate(TEXT)
    assert "over the last 53 answers" in text
    assert "61, 54, 0" in text
    assert "r52" in text
    rows = "document.querySelector('figure.chart').dataset.rows"
    assert int(browser.evaluate(rows)) == 53
    feed(client, 60, 200, waiting=0)
    browser.wait(at_event(client))
    assert "261, 254, 0" in browser.evaluate(TEXT)
    assert 100 <= int(browser.evaluate(rows)) <= 200  # two and two have become one
    assert "r259" in browser.evaluate(TEXT)
    drawn = "document.querySelector('figure.chart .mark-line path').getAttribute('d').length"
    assert browser.evaluate(drawn) > 500
    points, count, inside = client.get("/models/default/summary")[1]["points"], 0, 0.0
    while count < 100:  # answers that the last share is taken of
        (before, *_), (rows, _, share, _) = points[-2:]
        count, inside, points = count + rows - before, inside + (rows - before) * share, points[:-1]
    shares = "[...document.querySelectorAll('figure.chart')[1].chart.rows].map((row) => row.y0)"
    assert browser.evaluate(f"{shares}.at(-1)") == pytest.approx(inside / count)
    assert browser.complaints() == []
    assert {url.partition("?")[0] for url in browser.requested()} <= {
        f"http://127.0.0.1:{server.port}{path}" for path in ("/", "/events")
    }
    browser.screenshot(screenshots / "live-light.png")
    browser.scheme("dark")
    dark = browser.evaluate("getComputedStyle(document.body).backgroundColor")
    assert sum(map(int, dark[4:-1].split(","))) < 150
    browser.screenshot(screenshots / "live-dark.png")
    open_page(browser, server.port, width=360)
    browser.wait(at_event(client))
    assert browser.evaluate("document.documentElement.scrollWidth") <= 360
    assert (
        browser.evaluate(
            "(one => one.scrollWidth - one.clientWidth)(document.getElementById('live-last'))"
        )
        <= 0
    )
    browser.screenshot(screenshots / "live-phone.png")
    client.close()
    server.stop()
    browser.wait(f"{TEXT}.includes('does not answer') || {TEXT}.includes('has stopped')")
    again = launcher.start("--state", tmp_path / "state", "--port", server.port)
    client = again.client()
    feed(client, 300, 10, waiting=0)
    browser.wait(at_event(client))
    assert "271, 264, 0" in browser.evaluate(TEXT)
    client.close()
    again.stop()
