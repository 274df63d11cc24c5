# SPDX-License-Identifier: MIT OR Apache-2.0
"""The simulators that are compared: how to get each, how to call it, how to read what it prints."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from workloads import PAYLOAD_BYTES, Dumbbell, Workload

BENCH = Path(__file__).resolve().parent
PEERS = BENCH / "peers"
SCENARIOS = BENCH.parent / "scenarios" / "bench"

NS3_REQUIREMENT = "ns3==3.44.*"
# A wheel carries the asserts and the log calls that an optimised build leaves out; two builds of
# the same release, on W1 to W3, differ by this factor.
NS3_WHEEL_PENALTY = 1.7


class UnavailableError(Exception):
    """A simulator cannot be used here; the message says why."""


@dataclass(frozen=True)
class Outcome:
    """What a run delivered. The queueing delay is known only where it was measured."""

    packets: int
    goodput_bps: float
    queue_delay_s: float | None
    flow_goodput_bps: tuple[float, ...]


class Program(ABC):
    """One simulator in one configuration."""

    name: str
    peer: str
    """What `--peers` calls it."""
    measures_delay_when_timed = False

    @abstractmethod
    def prepare(self, install: bool) -> None:
        """Make it callable, by installing it if `install`; raises `UnavailableError`."""

    @abstractmethod
    def command(self, workload: Workload, duration_s: float, monitor: bool = False) -> list[str]:
        """The command that runs `duration_s` of the workload."""

    def outcome(self, stdout: str) -> Outcome:
        """What the command's output says."""
        found = json.loads(stdout.strip().splitlines()[-1])
        return Outcome(
            packets=found["delivered_packets"],
            goodput_bps=found["goodput_bps"],
            queue_delay_s=found["mean_queue_delay_s"],
            flow_goodput_bps=tuple(found["flow_goodput_bps"]),
        )

    def runs(self, workload: Workload) -> bool:
        """Whether it can run the workload at all."""
        return workload.dumbbell is not None


class Lasthop(Program):
    """The simulator of this repository, by its command line."""

    peer = "lasthop"
    name = "lasthop"
    measures_delay_when_timed = True

    def __init__(self, command: str) -> None:
        self.words = shlex.split(command)

    def prepare(self, install: bool) -> None:
        """Look for the command; building lasthop is the Makefile's work."""
        del install
        if not self.words or shutil.which(self.words[0]) is None:
            raise UnavailableError(
                f"no command {' '.join(self.words)!r}: run `make setup`, or name it with --lasthop"
            )

    def command(self, workload: Workload, duration_s: float, monitor: bool = False) -> list[str]:
        """Queueing delay is always part of the summary, so `monitor` changes nothing."""
        del monitor
        file = str(SCENARIOS / f"{workload.name}.toml")
        return [*self.words, "run", file, "--json", "--set", f"duration={duration_s * 1e3:g} ms"]

    def outcome(self, stdout: str) -> Outcome:
        """Payload delivered in order, counted in packets; the delay of the busiest queue."""
        found: dict[str, Any] = json.loads(stdout)
        flows, queues = found["flows"], found["queues"]
        busiest = max(queues, key=lambda queue: float(queue["throughput_bps"]))
        return Outcome(
            packets=round(sum(flow["delivered_bytes"] for flow in flows) / PAYLOAD_BYTES),
            goodput_bps=sum(flow["goodput_bps"] for flow in flows),
            queue_delay_s=busiest["mean_delay_s"],
            flow_goodput_bps=tuple(flow["goodput_bps"] for flow in flows),
        )

    def runs(self, workload: Workload) -> bool:
        """Every workload has a scenario file."""
        del workload
        return True


class Ns2(Program):
    """ns-2 with one of its event schedulers."""

    peer = "ns2"

    def __init__(self, scheduler: str) -> None:
        self.scheduler = scheduler
        self.name = f"ns-2 {scheduler}"

    def prepare(self, install: bool) -> None:
        """Take `ns` from the path, or from the Debian package `ns2`."""
        if shutil.which("ns"):
            return
        if not install:
            raise UnavailableError("no command `ns`, and --no-install was given")
        if not shutil.which("apt-get"):
            raise UnavailableError("no command `ns`, and no apt-get to install ns2 with")
        become_root = [] if os.geteuid() == 0 else ["sudo", "-n"]
        if become_root and not shutil.which("sudo"):
            raise UnavailableError("no command `ns`; as root: apt-get install ns2")
        install_ns2 = [*become_root, "apt-get", "install", "-y", "--no-install-recommends", "ns2"]
        _make("apt-get install ns2", install_ns2)
        if not shutil.which("ns"):
            raise UnavailableError("apt-get install ns2 brought no command `ns`")

    def command(self, workload: Workload, duration_s: float, monitor: bool = False) -> list[str]:
        """The Tcl script takes pairs of key and value."""
        arguments = _dumbbell(workload).arguments()
        arguments["rtts_ms"] = arguments["rtts_ms"].replace(",", " ")
        arguments |= {"duration": f"{duration_s:g}", "scheduler": self.scheduler}
        if monitor:
            arguments["monitor"] = "1"
        pairs = [word for pair in arguments.items() for word in pair]
        return ["ns", str(PEERS / "dumbbell.tcl"), *pairs]


class Ns3(Program):
    """ns-3 from the PyPI wheel: its libraries called from C++, so no Python is timed."""

    peer = "ns3"
    name = "ns-3 wheel"

    modules = (
        "applications",
        "internet",
        "point-to-point",
        "traffic-control",
        "network",
        "bridge",
        "stats",
        "core",
    )

    def __init__(self) -> None:
        self.venv = BENCH / ".venv"
        self.binary = BENCH / ".build" / "dumbbell"

    def prepare(self, install: bool) -> None:
        """Unpack the wheel into bench/.venv and compile the script against it."""
        if not shutil.which("g++"):
            raise UnavailableError("no g++ to compile bench/peers/dumbbell.cc with")
        wheel = self._wheel()
        if wheel is None:
            if not install:
                raise UnavailableError("no wheel in bench/.venv, and --no-install was given")
            _make("python -m venv", [sys.executable, "-m", "venv", str(self.venv)])
            pip = [str(self.venv / "bin" / "python"), "-m", "pip", "install", "--quiet"]
            # The libraries alone: the Python bindings, which need cppyy, are not used.
            _make(f"pip install {NS3_REQUIREMENT}", [*pip, "--no-deps", NS3_REQUIREMENT])
            wheel = self._wheel()
        if wheel is None:
            raise UnavailableError(f"the wheel {NS3_REQUIREMENT} has no ns3/lib64 with libraries")
        sources = [PEERS / "dumbbell.cc", PEERS / "host_routing.h"]
        newest = max(source.stat().st_mtime for source in sources)
        if not self.binary.exists() or self.binary.stat().st_mtime < newest:
            self._compile(wheel, sources[0])

    def command(self, workload: Workload, duration_s: float, monitor: bool = False) -> list[str]:
        """The binary takes --key=value."""
        arguments = _dumbbell(workload).arguments() | {"duration": f"{duration_s:g}"}
        if monitor:
            arguments["monitor"] = "1"
        return [str(self.binary), *(f"--{key}={value}" for key, value in arguments.items())]

    def _wheel(self) -> Path | None:
        cores = sorted(self.venv.glob("lib*/python*/site-packages/ns3/lib64/libns3*-core.so"))
        return cores[0].parent.parent if cores else None

    def _compile(self, wheel: Path, source: Path) -> None:
        libraries = wheel / "lib64"
        core = next(libraries.glob("libns3*-core.so"))
        prefix = core.name.removeprefix("lib").removesuffix("core.so")
        self.binary.parent.mkdir(exist_ok=True)
        command = ["g++", "-std=c++20", "-O2", "-DNS3_BUILD_PROFILE_RELEASE"]
        # The headers have to see the switches that the libraries were built with.
        command += ["-DNS3_LOG_ENABLE", "-DNS3_ASSERT_ENABLE", f"-I{wheel / 'include'}"]
        command += [str(source), "-o", str(self.binary), f"-L{libraries}"]
        command += [f"-Wl,-rpath,{libraries}", "-Wl,--allow-shlib-undefined"]
        command += [f"-l{prefix}{module}" for module in self.modules]
        _make(f"g++ {source.name}", command)


def _dumbbell(workload: Workload) -> Dumbbell:
    if workload.dumbbell is None:
        raise ValueError(f"{workload.name} is no dumbbell")
    return workload.dumbbell


def _make(what: str, command: Sequence[str]) -> None:
    print(f"  {what} …", file=sys.stderr, flush=True)
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        last = (done.stderr.strip() or done.stdout.strip() or "no message").splitlines()[-1]
        raise UnavailableError(f"{what} failed: {last}")
