# SPDX-License-Identifier: MIT OR Apache-2.0
"""A server that writes a price into its own packets, and packets of nobody's.

``serve HEX`` sends without an end to whoever connects, with these options in the IP header of all
it sends. ``fetch`` takes from it. ``send FROM PORT TO PORT rst|ack NUMBER`` sends a reset with that
sequence number, or an acknowledgement of it, as if the one end of a connection had said so.
"""

import socket
import struct
import sys
import threading
import time

from distance import send_all

PORT = 5302


def serve(words: str) -> None:
    options = bytes.fromhex(words)
    with socket.create_server(("", PORT)) as server:
        print("ready", flush=True)
        while True:
            connection, _ = server.accept()
            connection.setsockopt(socket.IPPROTO_IP, socket.IP_OPTIONS, options)
            threading.Thread(target=send_all, args=(connection,), daemon=True).start()


def fetch(host: str, warm_s: str, take_s: str) -> None:
    """Takes for a while and prints how fast it came [bit/s]."""
    with socket.create_connection((host, PORT), 10) as connection:
        began, got = time.monotonic(), 0
        first, last = began + float(warm_s), began + float(warm_s) + float(take_s)
        while (now := time.monotonic()) < last:
            count = len(connection.recv(1 << 20))
            got += count if now >= first else 0
    print(8 * got / float(take_s))


def send(here: str, port: str, there: str, to: str, kind: str, number: str) -> None:
    ends = socket.inet_aton(here) + socket.inet_aton(there)
    seq, ack, flags = (int(number), 0, 4) if kind == "rst" else (0, int(number), 16)
    tcp = bytearray(
        struct.pack("!HHIIBBHHH", int(port), int(to), seq, ack, 5 << 4, flags, 500, 0, 0)
    )
    words = struct.unpack("!16H", ends + struct.pack("!HH", socket.IPPROTO_TCP, len(tcp)) + tcp)
    total = sum(words)
    total = (total & 0xFFFF) + (total >> 16)
    struct.pack_into("!H", tcp, 16, 0xFFFF - ((total & 0xFFFF) + (total >> 16)))
    with socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_TCP) as raw:
        raw.bind((here, 0))
        raw.sendto(tcp, (there, 0))


if __name__ == "__main__":
    {"serve": serve, "fetch": fetch, "send": send}[sys.argv[1]](*sys.argv[2:])
