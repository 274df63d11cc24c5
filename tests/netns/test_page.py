# SPDX-License-Identifier: MIT OR Apache-2.0
"""The page of an agent and of an emulation, in a real browser as narrow as a phone."""

import os
import re
import signal
import socket
import time
from pathlib import Path

from box import Box
from browser import Browser, demand_browser
from house import AGENT, house, until

PAGE = "127.0.0.1:9469"
WATCHED = "127.0.0.1:9471"
EMULATED = """
title = "Two phones and a price"
duration = "120 s"
warmup = "1 s"
[[ap]]
name = "ap"
delay = "2 ms"
radio = { kind = "constant", rate = "4 Mbit/s" }
queue = { limit = "60 kB" }
price = { kind = "linear", a = "5 kB" }
[[flow]]
name = "a"
station = "phone"
rtt = "20 ms"
sender = "cubic"
receiver = "linux"
[[flow]]
name = "b"
station = "tablet"
rtt = "30 ms"
sender = "cubic"
receiver = "linux"
"""
TEXTS = "[...document.querySelectorAll('{}')].map((found) => found.textContent)"
DRAWN = """
[...document.querySelectorAll("canvas")].map((canvas) => {
  const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  const colours = new Set();
  for (let i = 0; i < data.length; i += 4) {
    if (data[i + 3] === 255) colours.add(data.slice(i, i + 3).join());
  }
  return ["0,114,178", "230,159,0"].some((colour) => colours.has(colour));
})
"""
"""Whether each plot has lines: the colours of the first two."""


def test_it_is_read_on_a_phone(tmp_path: Path) -> None:
    demand_browser()
    with house(limit=300_000) as built:
        built.agent("--metrics", PAGE)
        browser = Browser(tmp_path, built.within("router"))
        try:
            with built.download(7, flows=2):
                browser.open(f"http://{PAGE}/")
                state = "document.getElementById('state')?.textContent ?? ''"
                cells = TEXTS.format("#stations td")
                # Once the plots have lines, and the table what the line carries.
                until(lambda: (row := browser.value(cells)) and float(row[2]) > 5)
                station, flows, _, window, rtt = browser.value(cells)
                assert (station, flows) == ("10.1.0.2", "3")
                assert float(window) > 10 and float(rtt) > 0
                assert "3 flows, queue " in browser.value(state)
            time.sleep(1)
            assert browser.value(DRAWN) == [True, True, True]
            assert browser.value("document.title") == "lan – lasthop"
            # Nothing sticks out to the right.
            assert browser.value("document.documentElement.scrollWidth") <= 360
            assert browser.value("innerWidth") == 360
            titles = browser.value(TEXTS.format(".u-title"))
            assert titles == ["Queue [ms]", "Rate [Mbit/s]", "Window [kB]"]
            assert {"lan", "target", "10.1.0.2"} <= set(browser.value(TEXTS.format(".u-label")))
            if shown := os.environ.get("LASTHOP_PICTURE"):
                browser.picture(Path(shown))
            built.run("router", AGENT, "detach", "--dev", "lan")
            until(lambda: browser.value("document.getElementById('state').className") == "lost")
            # That it does not answer any more is all that was said.
            assert all("ERR_CONNECTION_REFUSED" in said for said in browser.said), browser.said
        finally:
            browser.close()


def test_an_emulation_is_watched(box: Box, tmp_path: Path) -> None:
    demand_browser()
    running = box.start(EMULATED, "--watch", WATCHED)
    browser = Browser(tmp_path)
    try:
        assert running.stderr.readline() == f"lasthop: the page: http://{WATCHED}/\n"

        def is_there() -> bool:
            with socket.socket() as sock:
                return sock.connect_ex(("127.0.0.1", 9471)) == 0

        until(is_there)
        browser.open(f"http://{WATCHED}/")
        cells = TEXTS.format("#stations td")
        until(lambda: len(row := browser.value(cells)) == 10 and float(row[2]) + float(row[7]) > 2)
        until(lambda: browser.value(DRAWN) == [True] * 4)
        assert browser.value(TEXTS.format("#stations td:first-child")) == ["phone", "tablet"]
        assert browser.value("document.title") == "Two phones and a price – lasthop"
        titles = browser.value(TEXTS.format(".u-title"))
        assert titles == ["Queue [ms]", "Price [ms]", "Rate [Mbit/s]", "Window [kB]"]
        assert {"ap/phone", "ap/tablet", "phone", "tablet"} <= set(
            browser.value(TEXTS.format(".u-label"))
        )
        told = re.compile(r"2 flows, queue [\d.]+ ms, price [\d.]+ ms, at [\d.]+ Mbit/s$")
        state = "document.getElementById('state').textContent"
        until(lambda: told.search(browser.value(state)))
        # Its buffer of 60 kB at half of 4 Mbit/s: .24 s at most.
        waits_ms = browser.value(
            "samples.flatMap((sample) => sample.queues.map((queue) => queue.delay_s * 1e3))"
        )
        assert 50 < max(waits_ms) < 500
        assert browser.value("document.documentElement.scrollWidth") <= 360
        if shown := os.environ.get("LASTHOP_PICTURE"):
            browser.picture(Path(shown).with_stem("emulation"))
        running.send_signal(signal.SIGINT)
        until(lambda: browser.value("document.getElementById('state').className") == "lost")
    finally:
        running.kill()
        running.communicate()
        browser.close()


def test_the_page_of_an_emulation_is_for_this_machine_alone(box: Box) -> None:
    wanted = "wanted an address of this machine alone and a port, such as 127.0.0.1:9470"
    for address in ("0.0.0.0:9471", "127.0.0.1:0", "[::1]:70000"):
        done = box.run(EMULATED, "--watch", address)
        assert done.returncode == 2
        (line,) = done.stderr.splitlines()
        assert f"--watch: {address}: {wanted}" in line
    with socket.create_server(("127.0.0.1", 9472)):
        done = box.run(EMULATED, "--watch", "127.0.0.1:9472")
    assert done.returncode == 2
    assert "--watch = 127.0.0.1:9472: wanted an address that is free" in done.stderr
