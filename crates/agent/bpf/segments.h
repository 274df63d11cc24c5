/* SPDX-License-Identifier: Dual MIT/GPL */
/* Super-packets: many segments in one, with one header. */
#ifndef LASTHOP_SEGMENTS_H
#define LASTHOP_SEGMENTS_H

/*
 * In how many segments so much payload goes; what is no super-packet has no gso_size. Their number need not be known: who takes a packet
 * from a virtual machine or a tunnel (virtio_net_hdr), or moves its headers (bpf_skb_adjust_room), leaves 0 for whoever cuts it up.
 */
static __always_inline unsigned int segments_in(unsigned int payload, unsigned int gso_size, unsigned int gso_segs)
{
	if (!gso_size || payload <= gso_size)
		return 1;
	return gso_segs > 1 ? gso_segs : (payload - 1) / gso_size + 1;
}

#endif
