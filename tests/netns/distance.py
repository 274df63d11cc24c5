# SPDX-License-Identifier: MIT OR Apache-2.0
"""Hosts at several distances behind one address, and connections to them.

``relay PID LOSS`` joins a TUN device ``lan`` here with a TUN device ``eth`` in the namespace of a
process, and loses a part of the TCP packets to it at random. A connection whose client's port is
20,000 + 1000 n + d, n < 16, is d milliseconds away, there and back. From SIGUSR1 on it takes the
feedback option out of what passes, as a middlebox may. A line of two numbers on its standard input
says by how many milliseconds TCP's way back is longer from then on, and how long what comes back
is held, to go on together. ``serve`` sends without an end to whoever connects, by a congestion
control, or by several in turn; ``fetch`` takes from it by several ports and prints how fast each
came. ``pour`` sends datagrams.

``virtual PID`` joins a device ``wan`` here with the device ``eth`` of a namespace as if that were a
virtual machine: super-packets stay whole, and nobody says how many segments they have.
"""

import contextlib
import ctypes
import fcntl
import heapq
import json
import math
import os
import random
import select
import signal
import socket
import struct
import sys
import threading
import time

PORT = 5301
NEAREST, FARTHEST = 20_000, 36_000


def tun(name: str, is_virtual: bool = False) -> int:
    fd = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    # TUNSETIFF; IFF_TUN | IFF_NO_PI, and IFF_VNET_HDR
    flags = 0x5001 if is_virtual else 0x1001
    fcntl.ioctl(fd, 0x400454CA, struct.pack("16sH22x", name.encode(), flags))
    if is_virtual:
        # TUNSETOFFLOAD; TUN_F_CSUM | TUN_F_TSO4 | TUN_F_TSO6
        fcntl.ioctl(fd, 0x400454D0, 7)
    return fd


def enter(pid: str) -> None:
    """Goes into the network namespace of a process."""
    there = os.open(f"/proc/{pid}/ns/net", os.O_RDONLY)
    if ctypes.CDLL(None, use_errno=True).setns(there, 0):
        raise OSError(ctypes.get_errno(), "setns")


def port_at(n: int, away_ms: int) -> int:
    """The port of a client so far away: others are at no distance."""
    port = NEAREST + 1000 * n + away_ms
    assert NEAREST <= port < FARTHEST, (n, away_ms)
    return port


def tcp_at(packet: bytes) -> int | None:
    """Where TCP begins, behind options of IPv4 or IPv6; None if it is something else."""
    if packet[0] >> 4 == 4:
        return (packet[0] & 15) * 4 if packet[9] == socket.IPPROTO_TCP else None
    at, kind = 40, packet[6]
    while kind in (socket.IPPROTO_HOPOPTS, socket.IPPROTO_ROUTING, socket.IPPROTO_DSTOPTS):
        if at + 2 > len(packet):
            return None
        kind, at = packet[at], at + 8 * (packet[at + 1] + 1)
    return at if kind == socket.IPPROTO_TCP else None


def away_s(packet: bytes, is_to_client: bool) -> float:
    """Half of the distance of a packet's client."""
    at = tcp_at(packet)
    if at is None:
        return 0.0
    (port,) = struct.unpack_from("!H", packet.ljust(at + 4, b"\0"), at + 2 * is_to_client)
    return (port - NEAREST) % 1000 / 2000 if NEAREST <= port < FARTHEST else 0.0


class WayBack:
    """What TCP's packets from the client meet before their distance, in their order."""

    def __init__(self) -> None:
        self.further_s = self.held_s = self.latest_s = 0.0

    def set(self, line: str) -> None:
        """What a line says."""
        self.further_s, self.held_s = (float(word) / 1e3 for word in line.split())

    def out_s(self, now_s: float) -> float:
        """When a packet that comes now has passed."""
        due_s = now_s + self.further_s
        if self.held_s:
            due_s = math.ceil(due_s / self.held_s) * self.held_s
        self.latest_s = max(self.latest_s, due_s)
        return self.latest_s


def without_option(packet: bytes) -> bytes:
    """TCP over IPv4 with nothing where the option of an experiment was, and its checksum right."""
    begin = tcp_at(packet)
    if packet[0] >> 4 != 4 or begin is None:
        return packet
    end = begin + (packet[begin + 12] >> 4) * 4
    left = bytearray(packet)
    at = begin + 20
    while at < end and left[at]:
        size = 1 if left[at] == 1 else max(left[at + 1], 2)
        if left[at] == 253:
            left[at : at + size] = bytes([1]) * size
        at += size
    words = f"!{(end - begin) // 2}H"
    more = sum(struct.unpack(words, left[begin:end])) - sum(struct.unpack(words, packet[begin:end]))
    (check,) = struct.unpack_from("!H", packet, begin + 16)
    # RFC 1624
    struct.pack_into("!H", left, begin + 16, 0xFFFF - ((0xFFFF - check) + more) % 0xFFFF)
    return bytes(left)


def relay(pid: str, loss: str = "0") -> None:
    strips: list[int] = []
    dice = random.Random(1)
    signal.signal(signal.SIGUSR1, lambda number, _: strips.append(number))
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(50))
    near = tun("lan")
    enter(pid)
    far = tun("eth")
    print("ready", flush=True)
    waiting: list[tuple[float, int, int, bytes]] = []
    count = 0
    back = WayBack()
    poll = select.epoll()
    for fd in (near, far, sys.stdin.fileno()):
        poll.register(fd, select.EPOLLIN)
    while True:
        now = time.monotonic()
        while waiting and waiting[0][0] <= now:
            _, _, to, packet = heapq.heappop(waiting)
            # The device may be down, or full.
            with contextlib.suppress(OSError):
                os.write(to, packet)
        for fd, _ in poll.poll(max(0.0, waiting[0][0] - now) if waiting else 1.0):
            if fd == sys.stdin.fileno():
                back.set(sys.stdin.readline())
                continue
            while True:
                try:
                    packet = os.read(fd, 65_536)
                except BlockingIOError:
                    break
                except OSError:
                    return  # the namespace is gone
                count += 1
                if fd == near and tcp_at(packet) and dice.random() < float(loss):
                    continue
                packet = without_option(packet) if strips else packet
                to = far if fd == near else near
                due = time.monotonic()
                if fd == far and tcp_at(packet):
                    due = back.out_s(due)
                due += away_s(packet, fd == near)
                heapq.heappush(waiting, (due, count, to, packet))


def virtual(pid: str) -> None:
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(50))
    near = tun("wan", is_virtual=True)
    enter(pid)
    far = tun("eth", is_virtual=True)
    print("ready", flush=True)
    poll = select.epoll()
    for fd in (near, far):
        poll.register(fd, select.EPOLLIN)
    while True:
        for fd, _ in poll.poll():
            try:
                packet = os.read(fd, 1 << 17)
            except BlockingIOError:
                continue
            except OSError:
                return  # the namespace is gone
            # The device may be down, or full.
            with contextlib.suppress(OSError):
                os.write(far if fd == near else near, packet)


def send_all(connection: socket.socket) -> None:
    data = bytes(65_536)
    try:
        while True:
            connection.sendall(data)
    except OSError:
        connection.close()


def turn(port: int, count: int) -> int:
    """Whose turn it is by n; each four begin with the next one, as distances repeat every four."""
    n = (port - NEAREST) // 1000
    return (n + n // 4) % count


def serve(*congestions: str) -> None:
    with socket.create_server(("::", PORT), family=socket.AF_INET6, dualstack_ipv6=True) as server:
        if congestions:
            # Reno where each has its own: who was BBR is paced from then on.
            first = congestions[0] if len(congestions) == 1 else "reno"
            server.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, first.encode())
        print("ready", flush=True)
        while True:
            connection, (_, port, *_) = server.accept()
            if len(congestions) > 1:
                congestion = congestions[turn(port, len(congestions))].encode()
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, congestion)
            threading.Thread(target=send_all, args=(connection,), daemon=True).start()


def fetch(host: str, warm_s: str, take_s: str, *ports: str) -> None:
    """Takes from each port for a while; a port may be followed by ``+SECONDS``, when it joins."""
    joins = sorted(
        (float(rest or 0), int(port)) for port, _, rest in (p.partition("+") for p in ports)
    )
    began = time.monotonic()
    first, last = began + float(warm_s), began + float(warm_s) + float(take_s)
    taken = {port: 0 for _, port in joins}
    # As other programs tell the time.
    from_s = time.time() + float(warm_s)
    poll = select.epoll()
    open_ones: dict[int, tuple[int, socket.socket]] = {}
    while (now := time.monotonic()) < last:
        while joins and began + joins[0][0] <= now:
            _, port = joins.pop(0)
            family = socket.AF_INET6 if ":" in host else socket.AF_INET
            connection = socket.socket(family)
            connection.bind(("", port))
            # What others send meanwhile is read: it would burst out once they may all go on.
            connection.setblocking(False)
            connection.connect_ex((host, PORT))
            open_ones[connection.fileno()] = (port, connection)
            poll.register(connection, select.EPOLLIN)
        for fd, _ in poll.poll(0.02):
            port, connection = open_ones[fd]
            got = len(connection.recv(1 << 20))
            if time.monotonic() >= first:
                taken[port] += got
    for _, connection in open_ones.values():
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        connection.close()
    bps = {port: 8 * got / float(take_s) for port, got in taken.items()}
    print(json.dumps({"from_s": from_s, "to_s": from_s + float(take_s), "bps": bps}))


def pour(host: str, bps: str) -> None:
    """Datagrams of 1250 B on the wire, at a constant rate, without an end."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        print("ready", flush=True)
        due = time.monotonic()
        while True:
            sock.sendto(bytes(1250 - 42), (host, PORT))
            due += 1250 * 8 / float(bps)
            time.sleep(max(0.0, due - time.monotonic()))


if __name__ == "__main__":
    does = {"relay": relay, "virtual": virtual, "serve": serve, "fetch": fetch, "pour": pour}
    does[sys.argv[1]](*sys.argv[2:])
