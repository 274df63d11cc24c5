# SPDX-License-Identifier: MIT OR Apache-2.0
"""The command ``lasthop``.

Commands live in ``lasthop.commands``, one module each, imported when called: a short run
must not wait for libraries that it does not use.
"""

from __future__ import annotations

import argparse
import io
import math
import os
import signal
import sys
from contextlib import suppress

from .commands import emulation
from .commands.emulation import file_name
from .errors import Terminated, UserError, tell

TYPE_CHECKING = False
if TYPE_CHECKING:
    # Like the libraries, typing is not waited for: a short run's time is that of its imports.
    from collections.abc import Callable, Sequence
    from typing import Any, NoReturn

DONE, FAILED, WRONG_INPUT, INTERRUPTED, TERMINATED = 0, 1, 2, 130, 143


class _Formatter(argparse.HelpFormatter):
    """Knows the terminal's width without the help of heavy imports."""

    def __init__(self, prog: str) -> None:
        width = os.environ.get("COLUMNS", "")
        try:
            columns = int(width) if width.isdecimal() else os.get_terminal_size().columns
        except OSError:
            columns = 80
        super().__init__(prog, width=max(columns - 2, 20))


class _Parser(argparse.ArgumentParser):
    """Says what is wrong with the arguments in one line."""

    def __init__(self, **options: Any) -> None:
        # Half an option is a slip, not a wish: --flow is no --flows.
        super().__init__(formatter_class=_Formatter, allow_abbrev=False, **options)

    def error(self, message: str) -> NoReturn:
        raise UserError(f"{message}{self._near(message)} (see {self.prog} --help)")

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Has the command's own parser complain of options that it does not know."""
        found, unknown = self.parse_known_args(args, namespace)
        if unknown:
            parser: Any = self
            for chosen in (found.command, getattr(found, "action", None)):
                if chosen is not None:
                    parser = parser.commands().get(chosen, parser)
            wanted = ""
            if found.command in emulation.VERBS and not unknown[0].startswith("-"):
                wanted = ": wanted -- before the command that is to run"
            parser.error(f"unrecognized arguments: {' '.join(unknown)}{wanted}")
        return found

    def commands(self) -> dict[str, Any]:
        """The parsers of its commands, by their names."""
        for action in self._actions:
            if isinstance(action, argparse._SubParsersAction):
                return dict(action.choices)
        return {}

    def _near(self, message: str) -> str:
        """Suggests a command or an option where what was written is near to one."""
        from .text import suggestion

        if "invalid choice" in message:
            words = message.split("'")
            return suggestion(words[1], words[3::2])
        if message.startswith("unrecognized arguments: -"):
            given = message.split()[2].partition("=")[0]
            return suggestion(given, self._option_string_actions)
        return ""


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command; returns its exit status."""
    try:
        try:
            own, inner = emulation.split(list(sys.argv[1:] if arguments is None else arguments))
            if not own:
                _parser().print_help(sys.stderr)
                return WRONG_INPUT
            options = _parser().parse_args(own)
            options.inner = inner
            status = int(_command(options)(options))
            _flush()
            return status
        except BrokenPipeError:
            # The reader has seen enough. Python must not complain again at exit.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return DONE
    except UserError as error:
        return _complain(str(error))
    except Terminated:
        tell("terminated")
        return TERMINATED
    except KeyboardInterrupt:
        tell("interrupted")
        return INTERRUPTED
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        return _complain(f"{where}{error.strerror or error}")
    except ValueError as error:
        from ._lasthop import ScenarioError, TraceError

        if not isinstance(error, ScenarioError | TraceError):
            raise
        file = getattr(options, "file", None)
        label = file if isinstance(file, str) else ""
        prefix = "" if not label or isinstance(error, TraceError) else f"{label}: "
        return _complain(f"{prefix}{error}")


def entry() -> NoReturn:
    """What the installed command calls. Leaves at once: threads may still be at work."""
    if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        signal.signal(signal.SIGTERM, _terminate)
    if sys.stdout is None:  # It was closed: what is printed goes nowhere.
        sys.stdout = os.fdopen(os.open(os.devnull, os.O_WRONLY), "w", encoding="utf-8")
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # What a terminal's encoding lacks, such as µ, must not end a run.
            stream.reconfigure(errors="replace")
    status = DONE
    try:
        status = main()
    except SystemExit as leave:
        status = leave.code if isinstance(leave.code, int) else FAILED
    with suppress(BrokenPipeError):  # The reader has seen enough.
        _flush()
    os._exit(status)


def _terminate(*_: object) -> NoReturn:
    raise Terminated


def _flush() -> None:
    """Hands over what was printed, where there is somebody to take it."""
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.flush()


def _complain(message: str) -> int:
    from .text import with_suggestion

    tell(with_suggestion(message))
    return WRONG_INPUT


def _command(options: argparse.Namespace) -> Callable[[argparse.Namespace], int]:
    from importlib import import_module

    main: Callable[[argparse.Namespace], int]
    main = import_module(f".commands.{options.module}", __package__).main
    return main


class _Version(argparse.Action):
    def __call__(self, *_: object, **__: object) -> NoReturn:
        from ._lasthop import version

        print(f"lasthop {version()}")
        raise SystemExit(DONE)


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="lasthop",
        description="TCP over the last, wireless hop: simulate scenarios, redraw papers, "
        "check their claims.",
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="print the version and exit")
    commands = parser.add_subparsers(
        dest="command", metavar="COMMAND", required=True, prog="lasthop"
    )

    def command(name: str, module: str, text: str) -> argparse.ArgumentParser:
        found: argparse.ArgumentParser = commands.add_parser(name, help=text, description=text)
        found.set_defaults(module=module)
        return found

    run = command("run", "run", "Run a scenario; several scenarios are shown side by side.")
    run.add_argument("files", nargs="+", metavar="FILE", help="scenario file or shipped scenario")
    _set_and_seed(run)
    run.add_argument("--json", action="store_true", help="print the result as JSON")
    for option, name, text in (
        ("--out", "FILE.parquet", "write the result"),
        ("--pcap", "FILE.pcapng", "write the packets for Wireshark"),
        ("--plot", "FILE.png", "draw rates and queues against time"),
    ):
        run.add_argument(option, type=file_name, metavar=name, help=text)
    run.add_argument("--pcap-end", choices=("sender", "receiver"),
                     help="the end of the flows at which packets are seen (sender)")  # fmt: skip
    run.add_argument("--threads", type=_positive, metavar="N",
                     help="threads for parts that share nothing (one a core)")  # fmt: skip

    _set_and_seed(emulation.add_parsers(command))

    sweep = command("sweep", "sweep", "Run a scenario over a grid of values and several seeds.")
    sweep.add_argument("file", metavar="FILE", help="scenario file or shipped scenario")
    sweep.add_argument(
        "--grid", action="append", default=[], metavar="PATH=V1,V2,…",
        help="values to try; repeat for more dimensions",
    )  # fmt: skip
    _set_and_seed(sweep)
    sweep.add_argument("--seeds", type=_positive, default=1, metavar="K", help="seeds per point")
    _workers(sweep)
    sweep.add_argument("--shard", type=_shard, metavar="I/N",
                       help="do only every N-th run, as one of N batch jobs")  # fmt: skip
    sweep.add_argument("--out", type=file_name, metavar="FILE.parquet", help="write the tables")
    sweep.add_argument("--mean", action="store_true",
                       help="print means over the seeds with 95 %% intervals")  # fmt: skip
    sweep.add_argument(
        "--plot", action="append", default=[], metavar="x=X,y=Y[,file=FILE.png]",
        help="draw means with 95 %% intervals: X a path of the grid or a figure, Y a figure: "
        "goodput, delay, fairness, flows.goodput_bps …; repeat for more (sweep.png, sweep-2.png …, "
        "or named after --out)",
    )  # fmt: skip
    sweep.add_argument("--json", action="store_true", help="print all results as JSON")

    tune = command(
        "tune", "tune", "Find the value of a key that gives a wanted delay, or the knee."
    )
    tune.add_argument("file", metavar="FILE", help="scenario file or shipped scenario")
    aim = tune.add_mutually_exclusive_group(required=True)
    aim.add_argument("--delay", type=_seconds("50 ms"), metavar="TIME",
                     help="the mean queueing delay that is wanted, e.g. 50 ms")  # fmt: skip
    aim.add_argument("--knee", type=_share, nargs="?", const=0.9, metavar="SHARE",
                     help="the least delay with this share of the most goodput (0.9)")  # fmt: skip
    tune.add_argument("--by", metavar="PATH",
                      help="the key (the price's a or target, or the buffer)")  # fmt: skip
    tune.add_argument("--from", dest="low", metavar="VALUE",
                      help="where the search begins (a 32nd of the value in the file)")  # fmt: skip
    tune.add_argument("--to", dest="high", metavar="VALUE",
                      help="where it ends (32 times the value in the file)")  # fmt: skip
    _set_and_seed(tune)
    tune.add_argument("--seeds", type=_positive, default=1, metavar="K", help="seeds per point")
    _workers(tune)
    tune.add_argument("--plot", type=file_name, metavar="FILE.png", help="draw the curve")
    tune.add_argument("--json", action="store_true", help="print what was found as JSON")

    fig = command("fig", "fig", "Redraw figures of the papers and check their claims.")
    fig.add_argument("ids", nargs="+", metavar="ID|PAPER|all", help="clamp:4c, clamp or all")
    fig.add_argument("--seed", type=_seed, default=1, metavar="N", help="first seed (1)")
    fig.add_argument("--seeds", type=_positive, metavar="K", help="seeds (quick 3, full 4)")
    fig.add_argument("--most-seeds", type=_positive, metavar="M",
                     help="up to M for claims that K leave open (quick K, full 32)")  # fmt: skip
    fig.add_argument("--scale", choices=("quick", "full"), default="quick",
                     help="full: the length of the paper's own runs")  # fmt: skip
    _workers(fig)
    fig.add_argument(
        "--out", type=file_name, metavar="DIR", default="out/fig", help="folder (out/fig)"
    )
    fig.add_argument("--json", action="store_true", help="print the claims as JSON")

    trace = command("trace", "trace", "Check, describe, draw, convert or make up rate traces.")
    actions = trace.add_subparsers(
        dest="action", metavar="ACTION", required=True, prog="lasthop trace"
    )

    def action(name: str, text: str) -> argparse.ArgumentParser:
        found: argparse.ArgumentParser = actions.add_parser(name, help=text, description=text)
        found.set_defaults(module="trace")
        return found

    kinds = "mahimahi trace (.down, .up), CSV (time_s,rate_bps) or log of mm-link"
    for name, text in (
        ("check", "Check traces."),
        ("stat", "Describe traces, side by side: duration, mean rate, outages."),
    ):
        describe = action(name, text)
        describe.add_argument("files", nargs="+", metavar="FILE", help=kinds)
        describe.add_argument("--json", action="store_true", help="print as JSON")
    draw = action("plot", "Draw traces: capacity shaded; of logs throughput, and delay below.")
    draw.add_argument("files", nargs="+", metavar="FILE", help=kinds)
    draw.add_argument(
        "--out", type=file_name, metavar="FILE.png", required=True, help="the picture"
    )
    draw.add_argument("--bin", type=_seconds("100 ms"), default=0.5, metavar="TIME",
                      help="width of the bins of rates (500 ms)")  # fmt: skip
    convert = action("convert", "Convert between mahimahi (.down, .up) and CSV (time_s,rate_bps).")
    convert.add_argument("file", metavar="FILE", help=kinds)
    convert.add_argument(
        "--out", type=file_name, metavar="FILE", required=True, help="a .csv or trace"
    )
    convert.add_argument("--bin", type=_seconds("100 ms"), default=0.1, metavar="TIME",
                         help="width of a CSV row (100 ms)")  # fmt: skip
    make = action("make", "Make up a trace like that of a phone on the move over LTE.")
    make.add_argument("--out", type=file_name, metavar="FILE", required=True, help="the trace")
    make.add_argument("--duration", type=_seconds("2 min"), default=30.0, metavar="TIME",
                      help="length, e.g. 2 min (30 s)")  # fmt: skip
    make.add_argument("--rate", type=_rate, default=8e6, metavar="RATE",
                      help="mean rate, e.g. 3 Mbit/s (8 Mbit/s)")  # fmt: skip
    make.add_argument("--manner", choices=("driving", "walking"), default="driving",
                      help="driving (the default): quick fading, short handovers; "
                           "walking: slow fading, outages of seconds")  # fmt: skip
    make.add_argument("--seed", type=_seed, default=1, metavar="N", help="seed (1)")

    listing = command("list", "list", "List papers, figures, scenarios and laws.")
    listing.add_argument("--json", action="store_true", help="print as JSON")

    rerun = command("rerun", "rerun", "Run again what a result file records and compare all bits.")
    rerun.add_argument("file", metavar="FILE", help="a .parquet of run or sweep")

    command("schema", "schema", "Print the JSON Schema of scenario files.")

    show = command("show", "show", "Draw a scenario's topology: hosts, links, access points.")
    show.add_argument("file", metavar="FILE", help="scenario file or shipped scenario")
    _set(show)
    show.add_argument("--out", type=file_name, metavar="FILE.svg",
                      help="the picture (NAME.svg)")  # fmt: skip

    check = command("check", "check", "Check a scenario without running it.")
    check.add_argument("file", metavar="FILE", help="scenario file or shipped scenario")
    _set(check)
    check.add_argument("--print", action="store_true", help="print it with the overrides applied")
    return parser


def _set(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--set", action="append", default=[], metavar="PATH=VALUE",
        help='override a value, e.g. --set "ap[0].price.a=5 kB"',
    )  # fmt: skip


def _set_and_seed(parser: argparse.ArgumentParser) -> None:
    _set(parser)
    parser.add_argument("--seed", type=_seed, metavar="N", help="seed (the scenario's own)")


def _workers(parser: argparse.ArgumentParser) -> None:
    group = parser.add_mutually_exclusive_group()
    group.add_argument("--jobs", type=_positive, metavar="N", help="threads (one a core)")
    group.add_argument("--dask", type=file_name, metavar="ADDRESS",
                       help="run on a Dask cluster, tcp://host:port")  # fmt: skip
    parser.add_argument("--patience", type=_seconds("10 min"), default=60.0, metavar="TIME",
                        help="how long to wait for a Dask worker, e.g. 10 min (60 s)")  # fmt: skip


def _shard(text: str) -> tuple[int, int]:
    index, slash, count = text.partition("/")
    if not (slash and index.isdecimal() and count.isdecimal() and 1 <= int(index) <= int(count)):
        raise argparse.ArgumentTypeError(f"{text}: wanted I/N, e.g. 2/8 for the second of eight")
    return int(index), int(count)


def _seconds(example: str) -> Callable[[str], float]:
    """Reads times, of which this is one that somebody might want."""
    return lambda text: _quantity(text, "s", f"a time with its unit, e.g. {example}")


def _share(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 < value < 1:
        raise argparse.ArgumentTypeError(f"{text}: wanted a share between 0 and 1, e.g. 0.9")
    return value


def _rate(text: str) -> float:
    return _quantity(text, "bps", "a rate with its unit, e.g. 8 Mbit/s")


def _quantity(text: str, ending: str, wanted: str) -> float:
    """A value with a unit, in plain units."""
    from ._lasthop import quantity

    found = quantity(text)
    if found is None or found[1] != ending or found[0] < 0:
        raise argparse.ArgumentTypeError(f"{text}: wanted {wanted}")
    return found[0]


def _positive(text: str) -> int:
    return _whole(text, 1, "a positive whole number")


def _seed(text: str) -> int:
    return _whole(text, 0, "a whole number from 0")


def _whole(text: str, least: int, wanted: str) -> int:
    try:
        value = int(text)
    except ValueError:
        value = least - 1
    if not least <= value < 2**63:
        limit = ", below 2^63" if value >= 2**63 else ""
        raise argparse.ArgumentTypeError(f"{text}: wanted {wanted}{limit}")
    return value
