# SPDX-License-Identifier: MIT OR Apache-2.0
"""The arguments of the commands that run others behind an emulated network."""

from __future__ import annotations

import re
from argparse import ArgumentTypeError
from ipaddress import ip_address

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser
    from collections.abc import Callable

VERBS = ("emu", "delay", "link", "loss")
"""Commands behind whose ``--`` stands another."""

STDOUT = "-"
"""What ``--json`` without a file stands for."""

WATCH = "127.0.0.1:9470"
"""Where the page is if ``--watch`` does not say."""

BEHIND = (
    "COMMAND reaches this machine as $LASTHOP_HOST and what --serve runs as $LASTHOP_SERVER: "
    "lasthop delay '20 ms' -- sh -c 'ping -c 1 $LASTHOP_SERVER'. Others are reached with "
    "--internet alone: lasthop delay '20 ms' --internet -- ping -c 1 example.com. Its own "
    "loopback, 127.0.0.1, is not behind the network."
)

MAY_STAND_ALONE = {"--json": (r".*\.json", STDOUT), "--watch": (r"[\w.:\[\]]+:\d+", WATCH)}
"""Options with or without a value: how a value looks, and what stands for none."""


def split(arguments: list[str]) -> tuple[list[str], list[str] | None]:
    """A command's own arguments, and those behind ``--`` for what it is to run.

    A file behind ``--json`` is known by its ending, an address behind ``--watch`` by its port: what
    follows may be the scenario.
    """
    if arguments[:1] not in [[verb] for verb in VERBS]:
        return arguments, None
    at = arguments.index("--") if "--" in arguments else len(arguments)
    own: list[str] = []
    for word in arguments[:at]:
        if own and own[-1] in MAY_STAND_ALONE and re.fullmatch(MAY_STAND_ALONE[own[-1]][0], word):
            own[-1] = f"{own[-1]}={word}"
        else:
            own.append(word)
    own = [
        f"{word}={MAY_STAND_ALONE[word][1]}" if word in MAY_STAND_ALONE else word for word in own
    ]
    return own, arguments[at + 1 :] if at < len(arguments) else None


def add_parsers(command: Callable[[str, str, str], ArgumentParser]) -> ArgumentParser:
    """Adds the commands; gives the parser of ``emu``, which has more options than these."""
    emu = command("emu", "emu", "Run a scenario in real time, between real kernels.")
    emu.usage = "lasthop emu [options] FILE [-- COMMAND …]"
    emu.epilog = (
        "COMMAND runs behind the network as with mm-link: in it, $LASTHOP_HOST is this machine "
        "and $LASTHOP_SERVER what --serve runs; 127.0.0.1 is its own and not behind the network. "
        "Without it the scenario's flows run over sockets."
    )
    emu.add_argument("file", metavar="FILE", help="scenario file or shipped scenario")
    _common(emu)
    emu.add_argument("--station", metavar="NAME",
                     help="where COMMAND runs (the first flow's)")  # fmt: skip
    emu.add_argument("--flows", action="store_true", help="run the flows beside COMMAND too")
    emu.add_argument("--proxy", action="store_true",
                     help="one lasthop-agent in place of prices and receivers' laws")  # fmt: skip
    emu.add_argument("--ipv6", action="store_true", help="run the flows over IPv6")
    emu.add_argument("--out", type=file_name, metavar="FILE.parquet", help="write the result")
    emu.add_argument("--plot", type=file_name, metavar="FILE.png",
                     help="draw rates and queues against time")  # fmt: skip

    delay = command("delay", "shells", "Run a command behind a delay, as mm-delay does.")
    delay.usage = "lasthop delay [options] TIME -- COMMAND …"
    delay.add_argument("time", metavar="TIME", type=_time, help='one way, such as "20 ms"')
    link = command("link", "shells", "Run a command behind a link, as mm-link does.")
    link.usage = "lasthop link [options] UP DOWN -- COMMAND …"
    for way in ("up", "down"):
        text = f'the way {way}: a mahimahi trace, or a rate such as "10 Mbit/s"'
        link.add_argument(way, metavar=way.upper(), help=text)
    link.add_argument(
        "--queue", metavar="SIZE", type=_size, help='buffer of each way, such as "100 kB"'
    )
    loss = command("loss", "shells", "Run a command behind random losses, as mm-loss does.")
    loss.usage = "lasthop loss [options] up|down SHARE -- COMMAND …"
    loss.add_argument("way", metavar="up|down", choices=("up", "down"), help="which way")
    loss.add_argument("share", metavar="SHARE", type=_share, help="of the packets, such as 1%%")
    for parser in (delay, link, loss):
        parser.epilog = BEHIND
        _common(parser)
        parser.set_defaults(
            set=[],
            seed=None,
            station=None,
            flows=False,
            proxy=False,
            ipv6=False,
            out=None,
            plot=None,
        )
    return emu


def _common(parser: ArgumentParser) -> None:
    parser.add_argument("--serve", action="append", default=[], metavar="COMMAND",
                        help="run a server on the other side; repeat for more")  # fmt: skip
    parser.add_argument("--cc", metavar="NAME",
                        help="the kernel's congestion control: bbr, cubic …")  # fmt: skip
    parser.add_argument("--user", metavar="NAME",
                        help="run commands as NAME (the caller, also under sudo)")  # fmt: skip
    parser.add_argument("--privileged", action="store_true",
                        help="run commands with all of root's rights")  # fmt: skip
    parser.add_argument("--internet", action="store_true",
                        help="let commands reach whatever this machine reaches")  # fmt: skip
    parser.add_argument("--offload", action="store_true",
                        help="join packets that leave together, as network cards do")  # fmt: skip
    parser.add_argument("--allow-lag", action="store_true",
                        help="accept a run that its own checks refuse")  # fmt: skip
    parser.add_argument("--log", type=file_name, metavar="PREFIX",
                        help="write PREFIX.down and PREFIX.up in mm-link's format")  # fmt: skip
    parser.add_argument("--json", nargs="?", const=STDOUT, metavar="FILE.json",
                        help="write the result as JSON, or print it")  # fmt: skip
    parser.add_argument("--watch", nargs="?", const=WATCH, type=_address, metavar="ADDRESS:PORT",
                        help=f"show what runs on a page of this machine ({WATCH})")  # fmt: skip


def file_name(text: str) -> str:
    """A name that is not empty."""
    if not text:
        raise ArgumentTypeError('"": wanted a name')
    return text


def _address(text: str) -> str:
    """An address of this machine alone, and a port."""
    host, _, port = text.rpartition(":")
    try:
        is_here = ip_address(host.strip("[]")).is_loopback and 0 < int(port) < 1 << 16
    except ValueError:
        is_here = False
    if not is_here:
        wanted = f"an address of this machine alone and a port, such as {WATCH}"
        raise ArgumentTypeError(f"{text}: wanted {wanted}")
    return text


def _time(text: str) -> str:
    return _with_unit(text, ("s",), 'a time with its unit, such as "20 ms"')


def _size(text: str) -> str:
    return _with_unit(text, ("bytes", "packets"), 'a size with its unit, such as "100 kB"')


def _with_unit(text: str, endings: tuple[str, ...], wanted: str) -> str:
    """A value with a unit, as it was written."""
    from .._lasthop import quantity

    found = quantity(text)
    if found is None or found[1] not in endings:
        raise ArgumentTypeError(f"{text}: wanted {wanted}")
    return text


def _share(text: str) -> float:
    try:
        share = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        share = -1.0
    if not 0 <= share < 1:
        raise ArgumentTypeError(f'{text}: wanted a share below 100%, such as "1%" or 0.01')
    return share
