# SPDX-License-Identifier: MIT OR Apache-2.0
"""A headless browser of the Chromium family, driven by its own protocol over a pipe."""

import base64
import json
import os
import select
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from demands import demand_program

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
PATIENCE_S = 60.0
PLACES = """
import fcntl, os, sys
ends = [fcntl.fcntl(int(end), fcntl.F_DUPFD, 10) for end in sys.argv[1:3]]
for end, place in zip(ends, (3, 4)):
    os.dup2(end, place)
os.execv(sys.argv[3], sys.argv[3:])
"""
"""Puts the pipe's ends where the browser looks for them."""


def demand_browser() -> str:
    """The browser's path; without one, skips or fails the test."""
    return demand_program(*NAMES)


class Browser:
    """One page of a phone's size. ``within`` is put before the command, such as ``nsenter``."""

    def __init__(
        self, folder: Path, within: Sequence[str] = (), size: tuple[int, int] = (360, 740)
    ):
        program = demand_browser()
        self.said: list[str] = []
        """What the page's console said, and its errors."""
        self._number = 0
        self._rest = b""
        theirs, self._to = os.pipe()
        self._from, back = os.pipe()
        options = [
            "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
            "--no-first-run", "--remote-debugging-pipe", f"--user-data-dir={folder}/browser",
        ]  # fmt: skip
        self._process = subprocess.Popen(
            [*within, sys.executable, "-c", PLACES, str(theirs), str(back), program, *options],
            pass_fds=(theirs, back), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        os.close(theirs)
        os.close(back)
        self._session = ""
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        found = self.ask("Target.attachToTarget", targetId=target, flatten=True)
        self._session = found["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.ask(f"{domain}.enable")
        width, height = size
        self.ask("Emulation.setDeviceMetricsOverride",
            width=width, height=height, deviceScaleFactor=2, mobile=True)  # fmt: skip

    def ask(self, method: str, **parameters: object) -> dict[str, Any]:
        """The answer to a command of the browser's protocol."""
        self._number += 1
        message: dict[str, object] = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        while True:
            told = self._next()
            if told.get("id") == self._number:
                assert "error" not in told, (method, told)
                result: dict[str, Any] = told["result"]
                return result
            if told.get("method") in ("Runtime.exceptionThrown", "Log.entryAdded"):
                self.said.append(json.dumps(told["params"]))

    def _next(self) -> dict[str, Any]:
        deadline = time.monotonic() + PATIENCE_S
        while b"\0" not in self._rest:
            left = deadline - time.monotonic()
            ready, _, _ = select.select([self._from], [], [], max(left, 0))
            assert ready, "the browser does not answer"
            piece = os.read(self._from, 1 << 20)
            assert piece, "the browser has ended"
            self._rest += piece
        message, self._rest = self._rest.split(b"\0", 1)
        told: dict[str, Any] = json.loads(message)
        return told

    def open(self, address: str) -> None:
        """Goes to an address."""
        assert "errorText" not in self.ask("Page.navigate", url=address)

    def value(self, expression: str) -> Any:
        """What an expression of JavaScript is in the page."""
        found = self.ask("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    def picture(self, path: Path) -> None:
        """Writes how the page looks."""
        data = self.ask("Page.captureScreenshot", captureBeyondViewport=True)["data"]
        path.write_bytes(base64.b64decode(data))

    def close(self) -> None:
        """Ends it."""
        self._process.kill()
        self._process.wait()
        os.close(self._to)
        os.close(self._from)
