# SPDX-License-Identifier: MIT OR Apache-2.0
"""What the kernel counts of BPF programs while a download goes on, for `agent.py` and `rates.py`.

Beside what is measured runs a program that does nothing: its time is that of the counting, which
is in the others' times as well.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "netns"))
from house import House

STATS = "kernel.bpf_stats_enabled"
"""The sysctl by which the kernel counts programs' times."""
NOTHING = "lasthop_nothing"
"""What the program is called that does nothing."""
PROGRAM = f"""
__attribute__((section("classifier"), used)) int {NOTHING}(void *packet)
{{
    (void)packet;
    return -1; /* whatever other program is there has its say */
}}

__attribute__((section("xdp"), used)) int lasthop_copied(void *packet)
{{
    (void)packet;
    return 2; /* XDP_PASS */
}}
"""


@dataclass(frozen=True)
class Runs:
    """The runs of a program since it was loaded."""

    name: str
    time_ns: int
    count: int

    def since(self, before: Runs) -> Runs:
        """Those that came after others of the same program."""
        return Runs(self.name, self.time_ns - before.time_ns, self.count - before.count)

    def each_ns(self) -> float:
        """What one takes."""
        return self.time_ns / max(self.count, 1)


def programs() -> dict[int, Runs]:
    """All programs of the machine that have a name, in the order of their loading."""
    if shutil.which("bpftool") is None:
        sys.exit("bpftool is missing: apt install bpftool")
    done = subprocess.run(
        ["bpftool", "-j", "prog", "show"], capture_output=True, text=True, check=True
    )
    told = sorted(json.loads(done.stdout), key=lambda one: int(one["id"]))
    return {
        one["id"]: Runs(one["name"], one.get("run_time_ns", 0), one.get("run_cnt", 0))
        for one in told
        if "name" in one
    }


@contextmanager
def counting(built: House) -> Iterator[None]:
    """The kernel counts while this lasts."""
    before = built.run("router", "sysctl", "-n", STATS).strip()
    built.run("router", "sysctl", "-qw", f"{STATS}=1")
    try:
        yield
    finally:
        built.run("router", "sysctl", "-qw", f"{STATS}={before}")


@contextmanager
def compiled(source: str) -> Iterator[Path]:
    """A program's object, as long as this lasts."""
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "program.o"
        clang = ["clang", "-target", "bpf", "-O2", "-g", "-I/usr/include/x86_64-linux-gnu"]
        clang += ["-x", "c", "-c", "-", "-o", str(program)]
        subprocess.run(clang, input=source, text=True, check=True)
        yield program


def copy_packets(built: House) -> None:
    """Has packets on their way to the client copied at each device, none longer than the link's.

    So they are as a card's driver makes them: in memory of their own, one by one. Virtual Ethernet
    hands on what the server's stack has made, of up to 64 kB, in memory that the server keeps.
    """
    with compiled(PROGRAM) as program:
        for where, device in (("router", "wan"), ("modem", "wan"), ("client", "eth")):
            built.run(where, "ip", "link", "set", "dev", device, "xdp", "obj", program,
                      "sec", "xdp")  # fmt: skip


def see_nothing(built: House, *ways: str) -> None:
    """Puts the program that does nothing to the router's device, `"egress"` or `"ingress"`."""
    with compiled(PROGRAM) as program:
        built.run("router", "tc", "qdisc", "add", "dev", "lan", "clsact")
        for way in ways:
            built.run("router", "tc", "filter", "add", "dev", "lan", way, "bpf", "da", "obj",
                      program, "sec", "classifier")  # fmt: skip


BLOCK_BYTES = 1_000_000
"""What a sender writes at once. Of iperf3's own 128 kB the MSS decides how many super-packets they
fill: with an MSS of 1440 B these are a quarter smaller than with one of 1448 B, agent or not."""


def fast(built: House, seconds: float, flows: int = 1) -> float:
    """What a download comes to [bit/s]."""
    with built.download(seconds, flows, block_bytes=BLOCK_BYTES) as result:
        pass
    return float(result["bps"])
