# SPDX-License-Identifier: MIT OR Apache-2.0
"""What the agent costs: `python bench/agent.py`. It takes root, and processors that are idle.

A download over virtual Ethernet as fast as the machine goes, without the agent and with it, in
turns: the kernel counts how long each of its programs runs, and what passes tells what is left of
the throughput. A program that does nothing sees the same packets: its time is that of the kernel's
own counting, which is in the others' as well. On a machine that others use, too, the least of
several rounds is the nearest to the truth.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "netns"))
from house import AGENT, House, house

STATS = "kernel.bpf_stats_enabled"
"""The sysctl by which the kernel counts programs' times."""


def runs(pid: int) -> list[tuple[int, int]]:
    """Times [ns] and numbers of runs of a process's programs, in the order of their loading."""
    found = {}
    for entry in Path(f"/proc/{pid}/fdinfo").iterdir():
        said = dict(line.split(":", 1) for line in entry.read_text().splitlines() if ":" in line)
        if "run_cnt" in said:
            found[int(said["prog_id"])] = int(said["run_time_ns"]), int(said["run_cnt"])
    return [found[number] for number in sorted(found)]


NOTHING = """
__attribute__((section("classifier"), used)) int lasthop_nothing(void *packet)
{
    (void)packet;
    return -1; /* whatever other program is there has its say */
}
"""


def see_nothing(built: House) -> None:
    """Puts the program that does nothing to where the agent will be."""
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "nothing.o"
        clang = ["clang", "-target", "bpf", "-O2", "-g", "-x", "c", "-c", "-", "-o", str(program)]
        subprocess.run(clang, input=NOTHING, text=True, check=True)
        built.run("router", "tc", "qdisc", "add", "dev", "lan", "clsact")
        for way in ("egress", "ingress"):
            built.run("router", "tc", "filter", "add", "dev", "lan", way, "bpf", "da", "obj",
                      program, "sec", "classifier")  # fmt: skip


def nothing() -> list[tuple[int, int]]:
    """Times [ns] and numbers of runs of that, both ways."""
    out = subprocess.run(["bpftool", "-j", "prog", "show", "name", "lasthop_nothing"],
                         capture_output=True, text=True, check=True).stdout  # fmt: skip
    found = json.loads(out)
    return [
        (program.get("run_time_ns", 0), program.get("run_cnt", 0))
        for program in sorted(found, key=lambda program: int(program["id"]))
    ]


def fast(built: House, seconds: float) -> float:
    """What a download comes to [bit/s]."""
    with built.download(seconds) as result:
        pass
    return float(result["bps"])


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2.0, help="of a download")
    options = parser.parse_args()
    bare, steered, data_ns, ack_ns = [], [], [], []
    empty_ns: list[float] = []
    with house() as built:
        built.run("router", "tc", "qdisc", "del", "dev", "lan", "root")
        see_nothing(built)
        before = built.run("router", "sysctl", "-n", STATS).strip()
        built.run("router", "sysctl", "-qw", f"{STATS}=1")
        try:
            for number in range(options.rounds):
                bare.append(fast(built, options.seconds))
                agent = built.agent("--target", "25 ms")
                past = nothing()
                steered.append(fast(built, options.seconds))
                since = [
                    (time - t, count - c)
                    for (time, count), (t, c) in zip(nothing(), past, strict=True)
                ]
                empty = [time / max(count, 1) for time, count in since]
                empty_ns.extend(empty)
                (data, ack, *_) = (time / max(count, 1) for time, count in runs(agent.pid))
                data_ns.append(data)
                ack_ns.append(ack)
                built.run("router", AGENT, "detach", "--dev", "lan")
                agent.wait()
                print(
                    f"{number + 1}: {bare[-1] / 1e9:.2f} Gbit/s bare, {steered[-1] / 1e9:.2f} with"
                    f" the agent; {data:.0f} ns a packet of data, {ack:.0f} ns an ACK,"
                    f" {empty[0]:.0f} and {empty[1]:.0f} ns for nothing",
                    flush=True,
                )
        finally:
            built.run("router", "sysctl", "-qw", f"{STATS}={before}")
    print(
        f"least: {min(data_ns):.0f} ns a packet of data, {min(ack_ns):.0f} ns an ACK,"
        f" {min(empty_ns):.0f} ns for nothing; the best round with it has"
        f" {max(steered) / max(bare):.3f} of the best without"
    )


if __name__ == "__main__":
    main()
