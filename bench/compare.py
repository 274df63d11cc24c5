# SPDX-License-Identifier: MIT OR Apache-2.0
"""Compares lasthop with ns-2 and ns-3 on the same work: `make bench`, or `python bench/compare.py`.

Each program runs each workload several times, the programs taking turns. What counts is the user
CPU time of the whole process; what its start and the building of the network take of it is said
apart. Medians are printed. lasthop is held against the faster of ns-2's event schedulers. The
peers' queueing delay comes from a run of its own that is not timed.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TypeVar

from measure import CommandError, Usage, run
from programs import NS3_WHEEL_PENALTY, Lasthop, Ns2, Ns3, Outcome, Program, UnavailableError
from workloads import WORKLOADS, Workload

T = TypeVar("T")

NS2_SCHEDULERS = ("Calendar", "Splay")

SETUP_S = 1e-3  # so short a run builds the network and does next to nothing else
SETUP_RUNS = 3
MOST_SETUP = 0.05


@dataclass
class Result:
    """All runs of one program on one workload."""

    workload: str
    program: str
    duration_s: float
    outcome: Outcome
    setup_user_s: float
    runs: list[Usage] = field(default_factory=list)

    @property
    def user_s(self) -> float:
        """User CPU time of a run, the median."""
        return statistics.median(usage.user_s for usage in self.runs)

    @property
    def peak_bytes(self) -> float:
        """Peak memory of a run, the median."""
        return statistics.median(usage.peak_bytes for usage in self.runs)

    @property
    def microseconds_a_packet(self) -> float:
        """User CPU time over packets delivered."""
        return self.user_s / self.outcome.packets * 1e6

    @property
    def work_microseconds_a_packet(self) -> float:
        """The same without the program's start and the building of the network."""
        return max(self.user_s - self.setup_user_s, 0.0) / self.outcome.packets * 1e6

    @property
    def setup_share(self) -> float:
        """What the start and the building are of the whole."""
        return self.setup_user_s / self.user_s

    @property
    def packets_a_second(self) -> float:
        """Packets delivered a second of user CPU time."""
        return 1e6 / self.microseconds_a_packet


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the comparison; returns the exit status."""
    options = parse_options(arguments)
    programs = available(options)
    if not programs:
        print("nothing to run", file=sys.stderr)
        return 1
    results: list[Result] = []
    failures: list[str] = []
    for workload in options.only:
        measured = measure_workload(workload, programs, options, failures)
        results += measured
        if measured:
            print_table(workload, measured)
    print_verdicts(results)
    for failure in failures:
        print(f"FAILED {failure}", file=sys.stderr)
    if options.json:
        document = {
            "ns3_wheel_penalty": NS3_WHEEL_PENALTY,
            "results": [as_json(result) for result in results],
            "failures": failures,
        }
        options.json.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    return 1 if failures else 0


def parse_options(arguments: Sequence[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    names = ",".join(workload.name for workload in WORKLOADS)
    parser.add_argument(
        "--only",
        type=choice_of({w.name: w for w in WORKLOADS}),
        default=list(WORKLOADS),
        metavar="LIST",
        help=f"workloads, of {names} (all)",
    )
    parser.add_argument(
        "--peers",
        type=choice_of({"ns2": "ns2", "ns3": "ns3"}),
        default=["ns2", "ns3"],
        metavar="LIST",
        help="peers, of ns2,ns3; an empty list for none (both)",
    )
    parser.add_argument("--runs", type=positive, default=3, metavar="K", help="timed runs (3)")
    parser.add_argument(
        "--lasthop", default="lasthop", metavar="COMMAND", help="how to call lasthop (lasthop)"
    )
    parser.add_argument("--no-install", action="store_true", help="install no peer")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all runs to FILE")
    return parser.parse_args(arguments)


def choice_of(known: dict[str, T]) -> Callable[[str], list[T]]:
    """A parser of lists such as `w1,w3`."""

    def parse(text: str) -> list[T]:
        names = [name.strip() for name in text.split(",") if name.strip()]
        for name in names:
            if name not in known:
                raise argparse.ArgumentTypeError(f"{name!r} is none of {', '.join(known)}")
        return [known[name] for name in names]

    return parse


def positive(text: str) -> int:
    """A whole number of 1 or more."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number of 1 or more")
    return int(text)


def available(options: argparse.Namespace) -> list[Program]:
    """The programs asked for that can be used here; says what is skipped, and why."""
    wanted: list[Program] = [Lasthop(options.lasthop)]
    if "ns2" in options.peers:
        wanted += [Ns2(scheduler) for scheduler in NS2_SCHEDULERS]
    if "ns3" in options.peers:
        wanted += [Ns3()]
    usable = []
    for program in wanted:
        try:
            program.prepare(install=not options.no_install)
        except UnavailableError as why:
            print(f"SKIPPED {program.name}: {why}")
        else:
            usable.append(program)
    return usable


def measure_workload(
    workload: Workload,
    programs: Sequence[Program],
    options: argparse.Namespace,
    failures: list[str],
) -> list[Result]:
    """Time every program that can run the workload, taking turns."""
    results: dict[Program, Result] = {}
    for turn in range(options.runs):
        for program in programs:
            if not program.runs(workload) or (turn > 0 and program not in results):
                continue
            duration_s = workload.part_s if isinstance(program, Ns3) else workload.duration_s
            say(f"{workload.name} {program.name} {turn + 1}/{options.runs}")
            try:
                if turn == 0:
                    results[program] = first_result(program, workload, duration_s)
                finished = run(program.command(workload, duration_s))
            except CommandError as why:
                failures.append(f"{workload.name} {program.name}: {why}")
                results.pop(program, None)
            else:
                results[program].runs.append(finished.usage)
    say("")
    return list(results.values())


def first_result(program: Program, workload: Workload, duration_s: float) -> Result:
    """What a program delivers, and what its start costs, from runs that are not timed."""
    setup = [run(program.command(workload, SETUP_S)).usage.user_s for _ in range(SETUP_RUNS)]
    monitored = run(program.command(workload, duration_s, monitor=True))
    return Result(
        workload=workload.name,
        program=program.name,
        duration_s=duration_s,
        outcome=program.outcome(monitored.stdout),
        setup_user_s=statistics.median(setup),
    )


def print_table(workload: Workload, results: Sequence[Result]) -> None:
    """One workload: a line a program."""
    own = find(results, workload.name, "lasthop")
    print(f"\n{workload.name.upper()}  {workload.title}; {workload.duration_s:g} s")
    print(
        f"  {'':<18}{'packets':>10}{'CPU s':>9}{'packets/CPU-s':>15}{'µs/packet':>11}"
        f"{'work µs':>9}{'start ms':>10}{'MiB':>8}{'lasthop is':>12}{'Mbit/s':>10}{'queue ms':>10}"
    )
    for result in results:
        whole = result.duration_s == workload.duration_s and workload.dumbbell is not None
        delay_s = result.outcome.queue_delay_s
        print(
            f"  {result.program:<18}{result.outcome.packets:>10}{result.user_s:>9.2f}"
            + cost_columns(result, own, 1.0)
            + (f"{result.outcome.goodput_bps / 1e6:>10.2f}" if whole else f"{'–':>10}")
            + (f"{delay_s * 1e3:>10.2f}" if whole and delay_s is not None else f"{'–':>10}")
        )
        if result.program == Ns3.name:
            print(
                f"  {'ns-3 optimised*':<18}{'':>10}{'':>9}"
                + cost_columns(result, own, NS3_WHEEL_PENALTY)
            )
    if find(results, workload.name, Ns3.name):
        print(
            f"  * estimated: the wheel's cost over {NS3_WHEEL_PENALTY}, for its asserts and"
            " logging; ns-3 has SACK on"
        )
        print(f"  ns-3 simulated {workload.part_s:g} s only")


def cost_columns(result: Result, own: Result | None, penalty: float) -> str:
    """Packets a second, µs a packet, memory and ratio, of a build faster by `penalty`."""
    ratio = ""
    if own and own is not result:
        times = result.microseconds_a_packet / penalty / own.microseconds_a_packet
        ratio = f"{times:.1f} ×"
    return (
        f"{result.packets_a_second * penalty:>15,.0f}"
        f"{result.microseconds_a_packet / penalty:>11.3f}"
        f"{result.work_microseconds_a_packet / penalty:>9.3f}{result.setup_user_s * 1e3:>10.1f}"
        f"{result.peak_bytes / 2**20:>8.1f}"
        f"{ratio:>12}"
    )


def print_verdicts(results: Sequence[Result]) -> None:
    """How the cost grows with the flows, and what was aimed at against what was found."""
    for program in dict.fromkeys(result.program for result in results):
        few, many = find(results, "w1", program), find(results, "w4", program)
        if few and many:
            whole = many.microseconds_a_packet / few.microseconds_a_packet
            work = many.work_microseconds_a_packet / few.work_microseconds_a_packet
            print(f"\n{program}: a packet in W4 costs {whole:.2f} × one in W1 (work {work:.2f} ×)")
    for workload in WORKLOADS:
        own = find(results, workload.name, "lasthop")
        if own:
            for line in verdicts(own, results):
                print(line)


def verdicts(own: Result, results: Sequence[Result]) -> list[str]:
    """What lasthop reaches on one workload, and what is aimed at."""
    name = own.workload
    lines = [verdict(name, "start-up over the whole", own.setup_share, MOST_SETUP)]
    if name == "f":
        lines.append(
            verdict(name, "packets a CPU-second", own.packets_a_second, 4e6, at_least=True)
        )
    ns2, ns3 = faster_ns2(results, name), find(results, name, Ns3.name)
    for peer, label, penalty, wanted in (
        (ns2, ns2.program if ns2 else "", 1.0, 10.0),
        (ns3, "ns-3 optimised*", NS3_WHEEL_PENALTY, 100.0),
    ):
        if peer is not None and name in ("w1", "w2", "w3"):
            ratio = peer.microseconds_a_packet / penalty / own.microseconds_a_packet
            lines.append(verdict(name, f"times as fast as {label}", ratio, wanted, at_least=True))
            memory = own.peak_bytes / peer.peak_bytes
            lines.append(verdict(name, f"memory over that of {peer.program}", memory, 1.0))
    if name in ("w1", "w3") and ns2:
        apart = abs(own.outcome.goodput_bps / ns2.outcome.goodput_bps - 1)
        lines.append(verdict(name, "goodput apart from ns-2's", apart, 0.03))
    few = find(results, "w1", "lasthop")
    if name == "w4" and few:
        growth = own.work_microseconds_a_packet / few.work_microseconds_a_packet
        lines.append(verdict(name, "work a packet over W1's", growth, 2.0))
    return lines


def faster_ns2(results: Sequence[Result], workload: str) -> Result | None:
    """ns-2 with the scheduler that is faster at the workload."""
    found = [find(results, workload, f"ns-2 {scheduler}") for scheduler in NS2_SCHEDULERS]
    known = [result for result in found if result is not None]
    return min(known, key=lambda result: result.microseconds_a_packet, default=None)


def verdict(name: str, what: str, value: float, bound: float, at_least: bool = False) -> str:
    """One line: reached or missed."""
    reached = value >= bound if at_least else value <= bound
    sign = "≥" if at_least else "≤"
    word = "reached" if reached else "MISSED"
    return f"{name.upper()}  {word:<8} {what}: {value:.4g} (wanted {sign} {bound:g})"


def find(results: Sequence[Result], workload: str, program: str) -> Result | None:
    """The result of one program on one workload."""
    return next((r for r in results if (r.workload, r.program) == (workload, program)), None)


def as_json(result: Result) -> dict[str, object]:
    """A result with what is derived from it."""
    return asdict(result) | {
        "user_s": result.user_s,
        "peak_bytes": result.peak_bytes,
        "us_per_packet": result.microseconds_a_packet,
        "work_us_per_packet": result.work_microseconds_a_packet,
        "packets_per_cpu_s": result.packets_a_second,
    }


def say(what: str) -> None:
    """Progress, on a terminal only."""
    if sys.stderr.isatty():
        print(f"\r\033[K{what}", end="", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
