# SPDX-License-Identifier: MIT OR Apache-2.0
"""The page of an agent, in a real browser as narrow as a phone."""

import os
import time
from pathlib import Path

from browser import Browser, demand_browser
from house import AGENT, house, until

PAGE = "127.0.0.1:9469"
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
