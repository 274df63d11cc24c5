# SPDX-License-Identifier: MIT OR Apache-2.0
"""Ends of datagrams: ``serve`` answers a request with a train of stamped datagrams.

What came to the one who asked is written as JSON: stamps of departure and of arrival in the
kernel, sizes, TOS.
"""

import json
import os
import socket
import struct
import sys
import time

PORT = 7007
TIMESTAMPNS = 35  # SO_TIMESTAMPNS
STAMP = struct.Struct("!IQ")


def now() -> int:
    return time.clock_gettime_ns(time.CLOCK_REALTIME)


def serve() -> None:
    """Sends ``count`` datagrams of ``size`` bytes of payload, one each ``gap_us``."""
    with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as sock:
        sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        sock.bind(("::", PORT))
        while True:
            request, peer = sock.recvfrom(2000)
            count, size, gap_us, tos = json.loads(request)
            sock.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, tos)
            sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_TCLASS, tos)
            due = now()
            for number in range(count):
                time.sleep(max(0, due - now()) / 1e9)
                sock.sendto(STAMP.pack(number, now()).ljust(size, b"x"), peer)
                due += gap_us * 1000
            sock.settimeout(0.001)
            while True:  # requests that came twice
                try:
                    sock.recvfrom(2000)
                except OSError:
                    break
            sock.settimeout(None)


def ask(out: str, host: str, count: str, size: str, gap_us: str, tos: str = "0") -> None:
    """Asks for a train and writes what came: (number, sent, came, size, tos) each."""
    found = []
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_DGRAM) as sock:
        sock.setsockopt(socket.SOL_SOCKET, TIMESTAMPNS, 1)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)
        sock.setsockopt(socket.IPPROTO_IP, socket.IP_RECVTOS, 1)
        if family == socket.AF_INET6:
            sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_RECVTCLASS, 1)
        request = json.dumps([int(count), int(size), int(gap_us), int(tos)]).encode()
        for _ in range(20):
            sock.sendto(request, (host, PORT))
            sock.settimeout(0.7 if not found else 1.0)
            try:
                while len(found) < int(count):
                    data, extra, _, _ = sock.recvmsg(70_000, 1000)
                    came, seen = 0, 0
                    for level, kind, value in extra:
                        if (level, kind) == (socket.SOL_SOCKET, TIMESTAMPNS):
                            seconds, ns = struct.unpack("qq", value)
                            came = seconds * 10**9 + ns
                        elif level in (socket.IPPROTO_IP, socket.IPPROTO_IPV6):
                            seen = value[0]
                    found.append([*STAMP.unpack(data[: STAMP.size]), came, len(data), seen])
            except OSError:
                pass
            if found:
                break
    with open(out, "w", encoding="utf-8") as file:
        json.dump(found, file)


def mtu(host: str) -> None:
    """Prints what becomes of datagrams that must not be split: of the MTU, and one byte more."""
    for size in (1472, 1473):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
            sock.setsockopt(socket.IPPROTO_IP, 10, 2)  # IP_MTU_DISCOVER, IP_PMTUDISC_DO
            try:
                sock.sendto(bytes(size), (host, PORT + 1))
                print(size, "sent")
            except OSError as error:
                print(size, os.strerror(error.errno or 0))


if __name__ == "__main__":
    {"serve": serve, "ask": ask, "mtu": mtu}[sys.argv[1]](*sys.argv[2:])
