# SPDX-License-Identifier: MIT OR Apache-2.0
"""A server that writes a price into its own packets.

``serve HEX`` sends without an end to whoever connects, with these options in the IP header of all
it sends. ``fetch`` takes from it.
"""

import socket
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


if __name__ == "__main__":
    {"serve": serve, "fetch": fetch}[sys.argv[1]](*sys.argv[2:])
