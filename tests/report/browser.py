"""A real browser for the tests: Chromium, driven by its DevTools protocol through a pipe.

Nothing else to install.
"""

import base64
import fcntl
import itertools
import json
import os
import select
import shutil
import time
from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
    "--remote-debugging-pipe",
)
FREE = 10
"""The lowest descriptor that nobody has a fixed use for."""
PATIENCE = 60.0
"""Seconds until a silent browser is given up.

What is asked for takes a few of them on a busy machine.
"""


def found():
    """The path of a browser, or None."""
    return next(filter(None, map(shutil.which, NAMES)), None)


class Browser:
    """One Chromium and one page in it."""

    session = None
    """Of the page, once there is one."""

    def __init__(self, folder: Path) -> None:
        to_browser, self._out = os.pipe()
        self._in, from_browser = os.pipe()
        # The protocol is spoken on descriptors 3 and 4. Ours are moved out of their way first.
        ends = [fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, FREE) for end in (to_browser, from_browser)]
        places = [
            (os.POSIX_SPAWN_DUP2, end, place) for end, place in zip(ends, (3, 4), strict=True)
        ]
        silent = (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0)
        line = [found(), *FLAGS, f"--user-data-dir={folder}", "about:blank"]
        self.process = os.posix_spawn(line[0], line, os.environ, file_actions=[*places, silent])
        for end in (to_browser, from_browser, *ends):
            os.close(end)
        self._numbers, self._buffer, self.events = itertools.count(1), b"", []
        target = next(
            one for one in self.ask("Target.getTargets")["targetInfos"] if one["type"] == "page"
        )
        self.session = self.ask("Target.attachToTarget", targetId=target["targetId"], flatten=True)[
            "sessionId"
        ]
        for part in ("Page", "Runtime", "Network", "Log"):
            self.ask(f"{part}.enable")

    def ask(self, method, **params):
        """Call a method of the protocol; its answer. Events on the way are kept."""
        number = next(self._numbers)
        message = {"id": number, "method": method, "params": params} | (
            {"sessionId": self.session} if self.session else {}
        )
        os.write(self._out, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._read()
            if answer.get("id") == number:
                assert "error" not in answer, f"{method}: {answer['error']}"
                return answer["result"]
            self.events.append(answer)

    def _read(self):
        while b"\0" not in self._buffer:
            assert select.select([self._in], [], [], PATIENCE)[0], "the browser says nothing"
            part = os.read(self._in, 1 << 20)
            assert part, "the browser is gone"
            self._buffer += part
        line, self._buffer = self._buffer.split(b"\0", 1)
        return json.loads(line)

    def evaluate(self, expression):
        """The value of an expression in the page, as data."""
        answer = self.ask(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def wait(self, expression):
        """Until an expression in the page is true."""
        stop = time.monotonic() + PATIENCE
        while not self.evaluate(expression):
            assert time.monotonic() < stop, f"still not so: {expression}\n{self.complaints()}"
            time.sleep(0.05)

    def show(self, path, *, width, height=900, scheme="light", script=True):
        """Open a file in a window of this size."""
        self.events.clear()
        self.ask("Emulation.setScriptExecutionDisabled", value=not script)
        self.ask(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )
        self.scheme(scheme)
        self.ask("Page.navigate", url=Path(path).resolve().as_uri())
        self.wait("document.readyState === 'complete' && location.protocol === 'file:'")

    def scheme(self, scheme):
        """What the reader prefers: ``"light"`` or ``"dark"``."""
        self.ask(
            "Emulation.setEmulatedMedia",
            features=[{"name": "prefers-color-scheme", "value": scheme}],
        )

    def screenshot(self, path):
        """The whole page as PNG."""
        Path(path).write_bytes(
            base64.b64decode(self.ask("Page.captureScreenshot", captureBeyondViewport=True)["data"])
        )

    def pdf(self, path):
        """The page as it would be printed."""
        Path(path).write_bytes(base64.b64decode(self.ask("Page.printToPDF")["data"]))

    def mouse(self, kind, x, y):
        """``"mouseMoved"``, ``"mousePressed"`` or ``"mouseReleased"``."""
        button = {} if kind == "mouseMoved" else {"button": "left", "clickCount": 1}
        self.ask("Input.dispatchMouseEvent", type=kind, x=x, y=y, **button)

    def requested(self):
        """Addresses that the page asked for, but for files and data inside it."""
        urls = [
            event["params"]["request"]["url"]
            for event in self.events
            if event.get("method") == "Network.requestWillBeSent"
        ]
        return [url for url in urls if not url.startswith("data:")]

    def complaints(self):
        """Errors and messages of the console, exceptions, and what the content policy refused."""
        loud = ("Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded")
        return [event["params"] for event in self.events if event.get("method") in loud]

    def close(self):
        """End the browser that was started here."""
        self.session = None
        self.ask("Browser.close")
        os.waitpid(self.process, 0)
        os.close(self._in)
        os.close(self._out)
