# SPDX-License-Identifier: MIT OR Apache-2.0
"""Many short connections: ``serve BYTES`` gives so much to whoever connects, and closes.

``fetch HOST COUNT AT_ONCE`` takes it so often, so many at a time, and prints how much each brought,
and how long they took, from the shortest on.
"""

import asyncio
import json
import sys
import time

PORT = 5302


async def serve(size: str) -> None:
    data = bytes(int(size))

    async def give(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(data)
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(give, "0.0.0.0", PORT, backlog=1024)
    print("ready", flush=True)
    await server.serve_forever()


async def fetch(host: str, count: str, at_once: str) -> None:
    left, sizes, took_s = int(count), [], []

    async def take() -> None:
        nonlocal left
        while left > 0:
            left -= 1
            began = time.monotonic()
            reader, writer = await asyncio.open_connection(host, PORT)
            sizes.append(len(await reader.read(-1)))
            took_s.append(time.monotonic() - began)
            writer.close()

    began = time.monotonic()
    await asyncio.gather(*(take() for _ in range(int(at_once))))
    all_s = time.monotonic() - began
    print(json.dumps({"sizes": sizes, "took_s": sorted(took_s), "all_s": all_s}))


if __name__ == "__main__":
    if sys.argv[1] == "serve":
        asyncio.run(serve(sys.argv[2]))
    else:
        asyncio.run(fetch(*sys.argv[2:]))
