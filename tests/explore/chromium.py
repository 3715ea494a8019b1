"""A real browser that a test drives: Chromium by its own protocol over two pipes.

with Tab(folder, width=1280) as tab:
    tab.open("http://127.0.0.1:8046/")
    tab.wait("document.querySelectorAll('button').length > 3")
    assert tab.ask("document.title") == "..."
"""

from __future__ import annotations

import base64
import json
import os
import subprocess
from contextlib import suppress
from pathlib import Path
from time import monotonic, sleep
from typing import Any, BinaryIO

from tests.traces.report.browser import BROWSER

TIMEOUT_S = 60


class Tab:
    """One page of a browser of its own. complaints: what its console said of errors."""

    def __init__(self, folder: Path, width: int = 1280, dark: bool = False) -> None:
        self._folder, self._width, self._dark = folder, width, dark
        self._number = 0
        self._left = b""
        self._session = ""
        self.complaints: list[str] = []

    def __enter__(self) -> Tab:
        assert BROWSER is not None
        to_browser, ours = os.pipe()
        theirs, from_browser = os.pipe()[::-1]
        command = " ".join(
            [
                f"exec '{BROWSER}' --headless --no-sandbox --disable-gpu --no-first-run",
                "--remote-debugging-pipe --disable-background-networking --hide-scrollbars",
                f"'--user-data-dir={self._folder / 'profile'}' about:blank",
                f"3<&{to_browser} 4>&{theirs}",
            ]
        )
        self._process = subprocess.Popen(
            ["bash", "-c", command],
            pass_fds=(to_browser, theirs),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "HOME": str(self._folder)},
        )
        os.close(to_browser)
        os.close(theirs)
        self._out: BinaryIO = os.fdopen(ours, "wb", buffering=0)
        self._in = from_browser
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        attached = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.call(f"{domain}.enable")
        self.size(self._width, self._dark)
        return self

    def __exit__(self, *_: object) -> None:
        self._session = ""
        with suppress(OSError, AssertionError):
            self.call("Browser.close")
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
        self._out.close()
        os.close(self._in)

    def size(self, width: int, dark: bool = False, height: int = 1000) -> None:
        self.call(
            "Emulation.setDeviceMetricsOverride",
            **{"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False},
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])

    def open(self, address: str) -> None:
        self.call("Page.navigate", url=address)

    def ask(self, expression: str) -> Any:
        """The value of an expression of JavaScript; a promise is awaited."""
        found = self.call(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

    def wait(self, expression: str, seconds: float = TIMEOUT_S) -> None:
        """Until the expression is true; it may fail while a page is loaded."""
        until = monotonic() + seconds
        asked = f"(() => {{ try {{ return Boolean({expression}); }} catch {{ return false; }} }})()"
        while not self.ask(asked):
            assert monotonic() < until, f"in vain: {expression}; {self.complaints}"
            sleep(0.05)

    def key(self, key: str) -> None:
        for kind in ("keyDown", "keyUp"):
            text = {"text": key} if len(key) == 1 and kind == "keyDown" else {}
            self.call("Input.dispatchKeyEvent", type=kind, key=key, **text)

    def click(self, expression: str) -> None:
        """With the mouse, in the middle of the element."""
        x, y = self.ask(
            f"(() => {{ const e = {expression}; e.scrollIntoView({{block: 'center'}});"
            "const b = e.getBoundingClientRect();"
            "return [b.left + b.width / 2, b.top + b.height / 2]; })()"
        )
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def picture(self, path: Path) -> None:
        data = self.call("Page.captureScreenshot", format="png")["data"]
        path.write_bytes(base64.b64decode(data))

    def call(self, method: str, **given: Any) -> dict[str, Any]:
        self._number += 1
        message = {"id": self._number, "method": method, "params": given}
        if self._session:
            message["sessionId"] = self._session
        self._out.write(json.dumps(message).encode() + b"\0")
        while True:
            found = self._next()
            if found.get("id") == self._number:
                assert "error" not in found, (method, found["error"])
                result: dict[str, Any] = found["result"]
                return result
            self._hear(found)

    def _hear(self, event: dict[str, Any]) -> None:
        given = event.get("params", {})
        if event.get("method") == "Runtime.exceptionThrown":
            self.complaints.append(str(given["exceptionDetails"]))
        if event.get("method") == "Log.entryAdded" and given["entry"]["level"] == "error":
            self.complaints.append(str(given["entry"]))

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._left:
            more = os.read(self._in, 1 << 16)
            assert more, "the browser has gone"
            self._left += more
        line, _, self._left = self._left.partition(b"\0")
        found: dict[str, Any] = json.loads(line)
        return found
