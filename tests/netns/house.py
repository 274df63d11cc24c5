# SPDX-License-Identifier: MIT OR Apache-2.0
"""A house in network namespaces: a server, a router, a modem, the client.

The agent is at the router's device `lan`. What is slow is a token bucket: its qdisc, or where the
queue is to be hidden, that of the modem's `lan`. With `distances` the client's address stands for
hosts that are at different ones, and a part of what goes there may be lost. With `virtual` the
server is a virtual machine, as far as its device tells.
"""

import json
import os
import re
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from demands import demand, demand_program

ROOT = Path(__file__).parent.parent.parent
AGENT = os.environ.get("LASTHOP_AGENT", str(ROOT / "target" / "release" / "lasthop-agent"))
DISTANCE = Path(__file__).with_name("distance.py")
SERVER, CLIENT = "10.2.0.2", "10.1.0.2"
SERVER6 = "fd00:2::2"
SYN_SENT = "02"
PATIENCE_S = 30.0
BURST_BYTES = 2900
"""Of the token bucket. While what waits is as long as the burst, a timer that is late by
microseconds loses tokens. Two segments of 1400 B, 2948 B with their headers, pass one of 3000 B
as a super-packet, and lose 6 % of 100 Mbit/s. Here each goes by itself, as longer ones do."""
SUMS = """
import fcntl, socket, struct, sys
value = bytearray(struct.pack("II", 0x17, 0))  # ETHTOOL_STXCSUM
import ctypes
held = (ctypes.c_char * 8).from_buffer(value)
request = struct.pack("16sP16x", sys.argv[1].encode(), ctypes.addressof(held))
fcntl.ioctl(socket.socket(socket.AF_INET, socket.SOCK_DGRAM), 0x8946, request)  # SIOCETHTOOL
"""


def demand_agent() -> None:
    """Skips or fails a test where there is no agent, or a kernel that cannot run it."""
    for program in ("ip", "tc", "nsenter", "iperf3"):
        demand_program(program)
    demand("" if Path(AGENT).exists() else f"no {AGENT}: make setup builds it")
    demand("; ".join(_lacking()))


@cache
def _lacking() -> list[str]:
    """What keeps the agent from running here: two seconds, for the kernel reads all programs."""
    done = subprocess.run([AGENT, "doctor", "--json"], capture_output=True, text=True, check=False)
    return [f["why"] for f in json.loads(done.stdout)["findings"] if f["verdict"] == "no"]


def until(true: Callable[[], object], patience_s: float = PATIENCE_S) -> None:
    """Waits for something that will be."""
    deadline = time.monotonic() + patience_s
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.05)


class House:
    """The namespaces, each held by a process that sleeps."""

    def __init__(
        self, rate: str, limit: int, congestion: str, slow: str, distances: bool, loss: float,
        virtual: bool,
    ) -> None:  # fmt: skip
        names = ("server", "router", "modem", "client")
        self.holders = {name: self._hold() for name in names}
        self.agents: list[subprocess.Popen[str]] = []
        self.helpers: list[subprocess.Popen[str]] = []
        self.relay: subprocess.Popen[str] | None = None
        try:
            self._build(rate, limit, congestion, slow, distances, loss, virtual)
        except BaseException:
            self.close()
            raise

    def _build(
        self, rate: str, limit: int, congestion: str, slow: str, distances: bool, loss: float,
        virtual: bool,
    ) -> None:  # fmt: skip
        run = self.run
        pid = {name: holder.pid for name, holder in self.holders.items()}
        for name in self.holders:
            run(name, "ip", "link", "set", "lo", "up")
            run(name, "sysctl", "-qw", f"net.ipv4.tcp_congestion_control={congestion}",
                # IPv6 works at once: link-local addresses too are taken as they are.
                "net.ipv6.conf.all.accept_dad=0", "net.ipv6.conf.default.accept_dad=0")  # fmt: skip
        wires = [("router", "wan", "server", "eth", 2), ("router", "lan", "modem", "wan", 3),
                 ("modem", "lan", "client", "eth", 1)]  # fmt: skip
        for near, here, far, there, net in wires:
            if distances and far == "client":
                self.relay = self.helper(near, "relay", pid[far], loss)
                # Ports that stand for distances are for those who ask for them.
                run(far, "sysctl", "-qw", "net.ipv4.ip_local_port_range=40000 60999")
            elif virtual and far == "server":
                self.helper(near, "virtual", pid[far])
            else:
                run(near, "ip", "link", "add", here, "type", "veth", "peer", "name", there,
                    "netns", str(pid[far]))  # fmt: skip
            for name, device, number in ((near, here, 1), (far, there, 2)):
                run(name, "ip", "addr", "add", f"10.{net}.0.{number}/24", "dev", device)
                run(name, "ip", "addr", "add", f"fd00:{net}::{number}/64", "dev", device, "nodad")
                run(name, "ip", "link", "set", device, "up")
        for name in ("router", "modem"):
            run(name, "sysctl", "-qw", "net.ipv4.ip_forward=1", "net.ipv6.conf.all.forwarding=1")
        for name, to, net, number in (("client", "default", 1, 1), ("server", "default", 2, 1),
                                      ("modem", "default", 3, 1), ("router", 1, 3, 2)):  # fmt: skip
            v4, v6 = (to, to) if to == "default" else (f"10.{to}.0.0/24", f"fd00:{to}::/64")
            run(name, "ip", "route", "add", v4, "via", f"10.{net}.0.{number}")
            run(name, "ip", "-6", "route", "add", v6, "via", f"fd00:{net}::{number}")
        self.slow, self.limit = slow, limit
        self.tbf("add", rate)

    def tbf(self, verb: str, rate: str) -> None:
        """The token bucket, which `add` makes and `change` leaves what it holds."""
        self.run(self.slow, "tc", "qdisc", verb, "dev", "lan", "root", "tbf",
                 "rate", rate, "burst", BURST_BYTES, "limit", self.limit)  # fmt: skip

    def carried(self) -> int:
        """What the token bucket has sent so far [B]."""
        (root,) = json.loads(self.run(self.slow, "tc", "-s", "-j", "qdisc", "show", "dev", "lan"))
        return int(root["bytes"])

    @staticmethod
    def _hold() -> subprocess.Popen[bytes]:
        here = os.readlink("/proc/self/ns/net")
        holder = subprocess.Popen(["unshare", "--net", "sleep", "600"])
        deadline = time.monotonic() + PATIENCE_S
        while os.readlink(f"/proc/{holder.pid}/ns/net") == here:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        return holder

    def within(self, name: str) -> list[str]:
        """What put before a command runs it there."""
        return ["nsenter", f"--net=/proc/{self.holders[name].pid}/ns/net"]

    def _words(self, name: str, words: Sequence[object]) -> list[str]:
        return [*self.within(name), *map(str, words)]

    def run(self, name: str, *words: object) -> str:
        """What a command prints that succeeds."""
        done = self.ask(name, *words)
        assert done.returncode == 0, (words, done.stderr)
        return done.stdout

    def ask(self, name: str, *words: object) -> subprocess.CompletedProcess[str]:
        """What becomes of a command."""
        return subprocess.run(
            self._words(name, words), capture_output=True, text=True, check=False, timeout=120
        )

    def start(self, name: str, *words: object) -> subprocess.Popen[str]:
        """A command that goes on."""
        pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
        return subprocess.Popen(self._words(name, words), text=True, **pipes)

    def helper(self, name: str, *words: object) -> subprocess.Popen[str]:
        """What `distance.py` does, once it is ready; it ends with the house."""
        helper = self.start(name, sys.executable, DISTANCE, *words)
        self.helpers.append(helper)
        assert helper.stdout is not None
        assert helper.stdout.readline() == "ready\n", helper.communicate()
        return helper

    def way_back(self, further_ms: float = 0.0, held_ms: float = 0.0) -> None:
        """TCP's way from the client takes longer from now on, or brings what it holds together."""
        assert self.relay is not None
        assert self.relay.stdin is not None
        self.relay.stdin.write(f"{further_ms} {held_ms}\n")
        self.relay.stdin.flush()

    def another_way(self) -> None:
        """A wire past the agent from the modem to the router, which nothing takes yet."""
        self.run("router", "ip", "link", "add", "by", "type", "veth", "peer", "name", "by",
                 "netns", str(self.holders["modem"].pid))  # fmt: skip
        for name, number in (("router", 1), ("modem", 2)):
            self.run(name, "ip", "addr", "add", f"10.4.0.{number}/24", "dev", "by")
            self.run(name, "ip", "link", "set", "by", "up")
            self.run(name, "sysctl", "-qw", "net.ipv4.conf.all.rp_filter=0",
                     "net.ipv4.conf.by.rp_filter=0")  # fmt: skip
        self.run("modem", "ip", "route", "add", "default", "via", "10.4.0.1", "table", "77")

    def turn_away(self, verb: str, port: int) -> None:
        """What a client says from a port takes the other way (`add`), or does no longer (`del`)."""
        rule = ("ipproto", "tcp", "sport", str(port), "lookup", "77")
        self.run("modem", "ip", "rule", verb, *rule)

    def hold_the_first_syn(self, for_s: float) -> None:
        """Waits for the client's first SYN and lets it stand before the relay for so long."""
        assert self.relay is not None
        connections = Path(f"/proc/{self.holders['client'].pid}/net/tcp")
        self.relay.send_signal(signal.SIGSTOP)
        try:
            while f" {SYN_SENT} " not in connections.read_text():
                time.sleep(0.001)
            time.sleep(for_s)
        finally:
            self.relay.send_signal(signal.SIGCONT)

    def fetch(
        self, ports: Sequence[object], warm_s: float, take_s: float, host: str = SERVER
    ) -> dict[int, float]:
        """What connections from these ports get [bit/s], each by itself."""
        return self.taken(ports, warm_s, take_s, host)[0]

    def taken(
        self, ports: Sequence[object], warm_s: float, take_s: float, host: str = SERVER
    ) -> tuple[dict[int, float], float, float]:
        """The same, and from when to when, as pings tell the time [s]."""
        words = ("fetch", host, warm_s, take_s, *ports)
        done = json.loads(self.run("client", sys.executable, DISTANCE, *words))
        rates = {int(port): float(bps) for port, bps in done["bps"].items()}
        return rates, done["from_s"], done["to_s"]

    def watched(
        self, ports: Sequence[object], warm_s: float, take_s: float
    ) -> tuple[list[float], dict[str, Any], list[dict[str, Any]]]:
        """What connections from these ports get [bit/s], and what the agent says of it.

        Its status 1.5 s after their start, and those while it is measured what they get.
        """
        with ThreadPoolExecutor() as pool:
            done = pool.submit(self.fetch, ports, warm_s, take_s)
            ends = time.monotonic() + warm_s + take_s
            time.sleep(1.5)
            before, after = self.status(), []
            time.sleep(warm_s - 1.5)
            while time.monotonic() < ends - 0.5:
                after.append(self.status())
                time.sleep(0.4)
            return list(done.result().values()), before, after

    def agent(
        self, *options: object, dev: str = "lan", mode: str = "proxy", where: str = "router"
    ) -> subprocess.Popen[str]:
        """An agent at the router or elsewhere, once it answers."""
        agent = self.start(where, AGENT, mode, "--dev", dev, *options)
        self.agents.append(agent)
        deadline = time.monotonic() + PATIENCE_S
        while self.ask(where, AGENT, "status", "--dev", dev).returncode:
            assert agent.poll() is None, agent.communicate()
            assert time.monotonic() < deadline
            time.sleep(0.05)
        return agent

    def status(self, dev: str = "lan", where: str = "router") -> dict[str, Any]:
        """What the agent tells."""
        found: dict[str, Any] = json.loads(self.run(where, AGENT, "status", "--dev", dev, "--json"))
        return found

    def rate_bps(self, where: str = "router", readings: int = 8, every_s: float = 0.1) -> float:
        """The middle of what the agent tells of its queue: one reading may be 4 % off."""
        seen = []
        for _ in range(readings):
            (queue,) = self.status(where=where)["queues"]
            seen.append(queue["rate_bps"])
            time.sleep(every_s)
        return statistics.median(seen)

    def programs(self, dev: str = "lan", where: str = "router") -> bool:
        """Whether any program is at a device."""
        done = self.run(where, AGENT, "doctor", "--dev", dev, "--json")
        findings = {f["what"]: f["verdict"] for f in json.loads(done)["findings"]}
        return findings["tcx"] != "full"

    @contextmanager
    def download(
        self, seconds: float, flows: int = 1, host: str = SERVER, port: int = 5201,
        pace_bps: float = 0, at: str = CLIENT, block_bytes: int = 0,
    ) -> Iterator[dict[str, Any]]:  # fmt: skip
        """Flows from the server to an address of the client; what they came to is there at the end.

        Each sends as fast as it can, or at a pace, in blocks of so many bytes or of iperf3's own.
        """
        server = self.start("server", "iperf3", "-s", "-1", "-p", port)
        deadline = time.monotonic() + PATIENCE_S
        while f":{port}" not in self.run("server", "ss", "-ltn"):
            assert time.monotonic() < deadline
            time.sleep(0.02)
        options = ["-R", "-J", "-O", "1", "-t", seconds, "-P", flows, "-p", port]
        options += ["-b", int(pace_bps)]
        if block_bytes:
            options += ["-l", block_bytes]
        if at != CLIENT:
            options += ["-B", at]
        client = self.start("client", "iperf3", "-c", host, *options)
        result: dict[str, Any] = {}
        try:
            yield result
            out, err = client.communicate(timeout=60)
            assert client.returncode == 0, out + err
            end = json.loads(out)["end"]
            result["bps"] = end["sum_received"]["bits_per_second"]
            result["each"] = [s["receiver"]["bits_per_second"] for s in end["streams"]]
        finally:
            for process in (client, server):
                process.kill()
                process.communicate()

    def ping_ms(
        self, count: int, every_s: float = 0.05, host: str = SERVER, at: str = ""
    ) -> list[float]:
        """Round trips of pings."""
        return [ms for _, ms in self.pings(count, every_s, host, at)]

    def pings(
        self, count: int, every_s: float, host: str = SERVER, at: str = ""
    ) -> list[tuple[float, float]]:
        """When pings from an address were answered [s], and their round trips [ms]."""
        options = ["-I", at] if at else []
        out = self.run("client", "ping", "-D", "-c", count, "-i", every_s, *options, host)
        found = re.findall(r"^\[([0-9.]+)\].* time=([0-9.]+)", out, re.MULTILINE)
        assert found
        return [(float(at_s), float(ms)) for at_s, ms in found]

    def spread(self, name: str, device: str) -> None:
        """Has what a device receives handled by all processors, a connection by one (RPS)."""
        mask = f"{(1 << (os.cpu_count() or 1)) - 1:x}"
        asked = (
            f"mount -t sysfs none /sys; echo {mask} > /sys/class/net/{device}/queues/rx-0/rps_cpus"
        )
        self.run(name, "unshare", "--mount", "sh", "-ec", asked)

    def sum_in_software(self, name: str, device: str) -> None:
        """Has a device's checksums computed before packets leave it, as a capture wants them."""
        self.run(name, sys.executable, "-c", SUMS, device)

    def close(self) -> None:
        """Ends what was started, and the namespaces with it."""
        for process in (*self.agents, *self.helpers):
            process.kill()
            process.communicate()
        for holder in self.holders.values():
            holder.kill()
            holder.wait()


@contextmanager
def house(
    rate: str = "10mbit",
    limit: int = 1_000_000,
    congestion: str = "reno",
    slow: str = "router",
    distances: bool = False,
    loss: float = 0.0,
    virtual: bool = False,
) -> Iterator[House]:
    demand_agent()
    built = House(rate, limit, congestion, slow, distances, loss, virtual)
    try:
        yield built
    finally:
        built.close()
