"""Drives a headless Chromium by its debugging pipe: no driver, no port, no library.

Messages are JSON ended by a zero byte, commands on the browser's descriptor 3, answers and events
on 4 (Chrome DevTools Protocol, --remote-debugging-pipe).
"""

import base64
import fcntl
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

PROGRAMS = ("chromium-headless-shell", "chromium", "google-chrome", "chrome")
_SECONDS = 60
# What the browser says of a script whose page is being left, or is not there yet.
_LEAVING = ("navigated", "context was destroyed", "Cannot find default execution context", "Cannot find context")


def program() -> str | None:
    """Return the first Chromium there is."""
    return next((found for name in PROGRAMS if (found := shutil.which(name))), None)


class Navigated(AssertionError):
    """The page was left before a script in it had ended."""


class Page:
    """One page, without network, and what it did that it should not have."""

    def __init__(self, commands: int, answers: int) -> None:
        """Open an empty page through the browser's pipes."""
        self._commands, self._answers, self._buffer, self._last = commands, answers, b"", 0
        self._session: str | None = None
        self.errors: list[str] = []  # exceptions and console messages
        self.requests: list[str] = []  # addresses outside the file itself
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        attached = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        self.call(
            "Network.emulateNetworkConditions",
            offline=True, latency=0, downloadThroughput=0, uploadThroughput=0,
        )  # fmt: skip
        self.resize(1280, 900)

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Send a command and return its result; events that come first are noted."""
        self._last += 1
        message: dict[str, Any] = {"id": self._last, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._commands, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._receive()
            if answer.get("id") == self._last:
                said = answer.get("error", {}).get("message", "")
                if any(words in said for words in _LEAVING):
                    raise Navigated(said)
                assert "error" not in answer, answer["error"]
                return answer["result"]
            self._note(answer)

    def open(
        self, path: Path, ready: str = "document.documentElement?.dataset.ready", choice: str = ""
    ) -> None:
        """Load a file and wait until `ready` is "true": by default until its scripts have run.

        `choice` is what stands behind "#" in the address. The page that is open is left first: it may be the same
        one, which is ready already, and the browser answers before it has left it.
        """
        self.call("Page.navigate", url="about:blank")
        self.wait('location.href === "about:blank"')
        self.call("Page.navigate", url=path.as_uri() + (f"#{choice}" if choice else ""))
        self.wait(f'{ready} === "true"')

    def wait(self, script: str) -> Any:
        """Evaluate JavaScript until its value is true, and return the value."""
        end = time.monotonic() + _SECONDS
        while not (value := self._run_unless_leaving(script)):
            assert time.monotonic() < end, f"{script} stays {value!r}; errors: {self.errors}"
            time.sleep(0.02)
        return value

    def _run_unless_leaving(self, script: str) -> Any:
        try:
            return self.run(script)
        except Navigated:
            return None

    def run(self, script: str) -> Any:
        """Evaluate JavaScript in the page and return its value."""
        done = self.call(
            "Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in done, done["exceptionDetails"]
        return done["result"].get("value")

    def resize(self, width: int, height: int) -> None:
        """Set the size of the window in CSS pixels."""
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width, height=height, deviceScaleFactor=1, mobile=False,
        )  # fmt: skip

    def prefer(self, scheme: str) -> None:
        """Tell the page that the user prefers `light` or `dark` colours."""
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.call("Emulation.setEmulatedMedia", features=features)

    def press(self, key: str, text: str = "") -> None:
        """Press and release a key as a user does, on what has the focus. The key may leave the page."""
        codes = {"Enter": 13, "Tab": 9, "Escape": 27, "ArrowRight": 39, "ArrowDown": 40, " ": 32}
        code = {"windowsVirtualKeyCode": codes.get(key, 0), "key": key}
        shown = {"text": text} if text else {}
        for event in ({"type": "keyDown", **shown}, {"type": "keyUp"}):
            with suppress(Navigated):
                self.call("Input.dispatchKeyEvent", **event, **code)

    def type(self, text: str) -> None:
        """Type a text into what has the focus."""
        self.call("Input.insertText", text=text)

    def screenshot(self) -> bytes:
        """Return the whole page as a PNG."""
        done = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=True)
        return base64.b64decode(done["data"])

    def _receive(self) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._answers], [], [], _SECONDS)
            assert ready, "Chromium does not answer"
            data = os.read(self._answers, 1 << 20)
            assert data, "Chromium has ended"
            self._buffer += data
        message, _, self._buffer = self._buffer.partition(b"\0")
        return json.loads(message)

    def _note(self, event: dict[str, Any]) -> None:
        method, given = event.get("method"), event.get("params", {})
        if method == "Runtime.exceptionThrown":
            self.errors.append(str(given["exceptionDetails"]))
        elif method == "Runtime.consoleAPICalled" and given["type"] in (
            "error",
            "warning",
            "assert",
        ):
            self.errors.append(str(given["args"]))
        elif method == "Log.entryAdded" and given["entry"]["level"] in ("error", "warning"):
            self.errors.append(str(given["entry"]))
        elif method == "Network.requestWillBeSent":
            address = given["request"]["url"]
            if not address.startswith(("file:", "data:", "about:")):
                self.requests.append(address)


@contextmanager
def browser() -> Iterator[Page]:
    """Start a browser with one page; it ends with the context."""
    found = program()
    assert found is not None
    to_browser, from_browser = os.pipe(), os.pipe()
    # Away from 3 and 4, which the shell is about to set.
    reads = fcntl.fcntl(to_browser[0], fcntl.F_DUPFD, 20)
    writes = fcntl.fcntl(from_browser[1], fcntl.F_DUPFD, 20)
    # Its processes end one after another, and may still write when the folder is removed.
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        process = subprocess.Popen(
            [
                *("bash", "-c", f'exec "$0" "$@" 3<&{reads} 4>&{writes}', found),
                *("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run"),
                *("--disable-dev-shm-usage", "--remote-debugging-pipe"),
                f"--user-data-dir={profile}",
            ],
            pass_fds=(reads, writes),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for descriptor in (reads, writes, to_browser[0], from_browser[1]):
            os.close(descriptor)
        try:
            yield Page(to_browser[1], from_browser[0])
        finally:
            os.close(to_browser[1])  # the browser ends when its pipe does
            os.close(from_browser[0])
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
