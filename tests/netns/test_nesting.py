# SPDX-License-Identifier: MIT OR Apache-2.0
"""Emulations inside emulations, the small verbs, and the way out."""

import re
import subprocess
import sys
from collections.abc import Sequence

import pytest
from box import LATE_MS, Box, link
from demands import demand_program

LASTHOP = [sys.executable, "-m", "lasthop"]
PING = ["sh", "-c", "ping -q -c 5 -i 0.2 $LASTHOP_SERVER"]


def call(box: Box, *words: object) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [*LASTHOP, *map(str, words)], cwd=box.folder, capture_output=True, text=True,
        check=False, timeout=60,
    )  # fmt: skip


def verb(name: str, *words: str) -> list[str]:
    return [*LASTHOP, name, "--allow-lag", *words, "--"]


def fastest_ms(text: str) -> float:
    return float(text.rpartition("= ")[2].split("/")[0])


@pytest.mark.parametrize(
    ("outer", "least_ms"),
    [
        (["delay", "10 ms"], 20),
        # 1428 bytes with headers at 1 Mbit/s up and 10 Mbit/s down.
        (["link", "1 Mbit/s", "10 Mbit/s"], 0.1),
    ],
)
def test_a_verb_does_what_it_says(box: Box, outer: Sequence[str], least_ms: float) -> None:
    name, *words = outer
    done = call(box, name, "--allow-lag", *words, "--", *PING)
    assert done.returncode == 0, done.stderr
    assert least_ms <= fastest_ms(done.stdout) <= least_ms + LATE_MS


def test_a_link_has_the_rates_of_its_ways(box: Box) -> None:
    # 1428 bytes with headers take 114 ms at 100 kbit/s and 1.1 ms at 10 Mbit/s.
    ping = ["sh", "-c", "ping -q -c 3 -s 1400 $LASTHOP_SERVER"]
    done = call(box, "link", "--allow-lag", "100 kbit/s", "10 Mbit/s", "--", *ping)
    assert 115 <= fastest_ms(done.stdout) <= 115 + LATE_MS, done.stderr


@pytest.mark.parametrize(("way", "arrives"), [("up", False), ("down", True)])
def test_losses_are_on_their_way_alone(box: Box, way: str, arrives: bool) -> None:
    heard = (
        "import socket; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.bind(('', 7010))\n"
        "s.recv(9); open('heard', 'w').close()"
    )
    (box.folder / "heard.py").write_text(heard)
    send = (
        "import os, socket, time; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
        "for _ in range(5):\n"
        " s.sendto(b'x', (os.environ['LASTHOP_SERVER'], 7010)); time.sleep(0.1)\n"
    )
    inner = [sys.executable, "-c", send]
    serve = f"{sys.executable} heard.py"
    done = call(box, "loss", "--allow-lag", "--serve", serve, way, "99.99%", "--", *inner)
    assert done.returncode == 0, done.stderr
    assert (box.folder / "heard").exists() == arrives
    ping = ["ping", "-q", "-c", "2", "-W", "1", "100.64.0.1"]
    assert (
        " 100% packet loss" in call(box, "loss", "--allow-lag", way, "99.99%", "--", *ping).stdout
    )


def test_emulations_nest(box: Box) -> None:
    # There and back over 10, 15 and 20 ms; the server is the outermost's.
    inner = [*verb("delay", "15 ms"), *verb("delay", "20 ms"), *PING]
    done = call(box, "delay", "--allow-lag", "10 ms", "--", *inner)
    assert done.returncode == 0, done.stderr
    assert 90 <= fastest_ms(done.stdout) <= 90 + LATE_MS


def test_a_page_comes_through_two_scenarios(box: Box) -> None:
    (box.folder / "b.toml").write_text(link("5 Mbit/s", "5 ms"))
    script = (
        "curl -s --max-time 20 -o got http://$LASTHOP_SERVER:8000/b.toml && cmp got b.toml && "
        "ping -q -c 3 $LASTHOP_HOST && grep CapEff /proc/self/status"
    )
    words = [*LASTHOP, "emu", "b.toml", "--allow-lag", "--", "sh", "-c", script]
    done = box.run(link(), "--serve", f"{sys.executable} -m http.server 8000", inner=words)
    assert done.returncode == 0, done.stderr
    # Twice 10 ms and twice 5 ms to this machine, too.
    assert "CapEff:\t0000000000000000" in done.stdout
    assert fastest_ms(done.stdout.partition("CapEff")[0]) >= 30


def test_a_nested_one_without_rights_says_so(box: Box) -> None:
    # Not known as ourselves behind `env`: it has no right to connect to where it is.
    inner = ["env", *verb("delay", "10 ms"), "true"]
    done = box.run(link(), inner=inner)
    assert done.returncode == 1
    assert "--privileged" in done.stderr


def test_the_way_out_to_the_internet(box: Box) -> None:
    # A machine of its own, and beyond it one that knows no way back to addresses of emulations.
    script = f"""
unshare --net sh -c 'exec sleep 60 > /dev/null 2>&1' & far=$!
sleep 0.5
ip link set lo up
ip link add out type veth peer name in netns $far
ip addr add 203.0.113.1/24 dev out
ip link set out up
nsenter --net=/proc/$far/ns/net sh -c 'ip addr add 203.0.113.2/24 dev in; ip link set in up'
forwards() {{ echo "forwards: $(cat /proc/sys/net/ipv4/ip_forward)"; }}
echo 0 > /proc/sys/net/ipv4/ip_forward
{" ".join(LASTHOP)} delay --allow-lag "10 ms" -- ping -q -c 2 -W 1 203.0.113.2
{" ".join(LASTHOP)} delay --allow-lag --internet "10 ms" -- sh -c 'touch in; sleep 4' & longer=$!
while ! [ -e in ]; do sleep 0.05; done
{" ".join(LASTHOP)} delay --allow-lag --internet "10 ms" -- ping -q -c 3 -W 2 203.0.113.2
status=$?
forwards
wait $longer
forwards
kill $far
exit $status
"""
    demand_program("ip")
    done = subprocess.run(
        ["unshare", "--net", "sh", "-c", script], cwd=box.folder, capture_output=True,
        text=True, check=False, timeout=60,
    )  # fmt: skip
    closed, _, opened = done.stdout.partition("PING")[2].partition("PING")
    assert " 100% packet loss" in closed
    assert done.returncode == 0, done.stderr
    # Until the last of those goes that made the machine forward.
    assert re.findall("forwards: (.)", done.stdout) == ["1", "0"]
    assert 20 <= fastest_ms(opened) <= 20 + LATE_MS
