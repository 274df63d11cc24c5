# SPDX-License-Identifier: MIT OR Apache-2.0
"""What a price's eight bytes cost at least: `python bench/gap.py`. It takes root.

By eight bytes a packet is made longer, and shorter again, by the kernel's own call, which is all
that a price needs of it: the least that the programs of `ap` and of `client` can take beside the
rest of their work. A program at each of two devices asks the clock before and after each call, in a
download over virtual Ethernet, once with the packets as the server's stack leaves them and once as
a card's driver would.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "netns"))
from counted import compiled, copy_packets, fast
from house import House, house

SUMS = "gap_sums"
PLACES = (("router", "lan", "egress"), ("client", "eth", "ingress"))
"""Where `ap` and `client` would be."""
PROGRAM = f"""
#include <linux/bpf.h>

static void *(*look_up)(void *, const void *) = (void *)BPF_FUNC_map_lookup_elem;
static __u64 (*now)(void) = (void *)BPF_FUNC_ktime_get_ns;
static long (*adjust)(void *, int, unsigned, __u64) = (void *)BPF_FUNC_skb_adjust_room;

struct {{
	int (*type)[BPF_MAP_TYPE_PERCPU_ARRAY];
	int (*max_entries)[4];
	__u32 *key;
	__u64 *value;
}} {SUMS} __attribute__((section(".maps"), used));

static inline void add(__u32 at, __u64 much)
{{
	__u64 *sum = look_up(&{SUMS}, &at);

	if (sum)
		*sum += much;
}}

__attribute__((section("classifier"), used)) int gap(struct __sk_buff *skb)
{{
	__u64 how = BPF_F_ADJ_ROOM_FIXED_GSO | BPF_F_ADJ_ROOM_NO_CSUM_RESET, at[4];

	if (skb->len < 500)
		return -1;
	at[0] = now();
	at[1] = now();
	if (adjust(skb, 8, BPF_ADJ_ROOM_NET, how))
		return -1;
	at[2] = now();
	if (adjust(skb, -8, BPF_ADJ_ROOM_NET, how))
		return -1;
	at[3] = now();
	add(0, 1);
	add(1, at[1] - at[0]);
	add(2, at[2] - at[1]);
	add(3, at[3] - at[2]);
	return -1;
}}

char LICENSE[] __attribute__((section("license"), used)) = "GPL";
"""


def sums(number: int) -> list[int]:
    """What the map of this number holds, all processors together."""
    words = ["bpftool", "-j", "map", "dump", "id", str(number)]
    told = json.loads(subprocess.run(words, capture_output=True, text=True, check=True).stdout)
    each = {one["formatted"]["key"]: one["formatted"]["values"] for one in told}
    return [sum(one["value"] for one in each[key]) for key in sorted(each)]


def measured(built: House, program: Path) -> list[list[float]]:
    """At each place: how often [1], and what a clock, a longer and a shorter packet take [ns]."""
    words = ["bpftool", "-j", "map", "show"]
    before = {one["id"] for one in json.loads(subprocess.check_output(words))}
    for where, device, way in PLACES:
        built.run(where, "tc", "qdisc", "add", "dev", device, "clsact")
        built.run(where, "tc", "filter", "add", "dev", device, way, "bpf", "da", "obj", program,
                  "sec", "classifier")  # fmt: skip
    fast(built, 2)
    maps = [one for one in json.loads(subprocess.check_output(words)) if one["id"] not in before]
    found = [sums(one["id"]) for one in maps if one.get("name") == SUMS]
    return [[count, *(each / max(count, 1) for each in rest)] for count, *rest in found]


def main() -> None:
    """Measures and prints."""
    argparse.ArgumentParser(description=__doc__.splitlines()[0]).parse_args()
    with compiled(PROGRAM) as program:
        for form in ("super-packets", "single packets, copied"):
            with house() as built:
                built.run("router", "tc", "qdisc", "del", "dev", "lan", "root")
                if form != "super-packets":
                    copy_packets(built)
                for (where, device, _), told in zip(PLACES, measured(built, program), strict=True):
                    count, clock, longer, shorter = told
                    print(
                        f"{form}, {where}'s {device}: {count:.0f} packets; 8 bytes more take"
                        f" {longer - clock:.0f} ns, 8 less {shorter - clock:.0f} ns; less the"
                        f" {clock:.0f} ns of a clock"
                    )


if __name__ == "__main__":
    main()
