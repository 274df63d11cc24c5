/* SPDX-License-Identifier: Dual MIT/GPL */
/*
 * What answers what, by which all agents tell a path: any of the packets that begin a connection may have been said again, and what a server
 * sends after a rest is no answer.
 */
#ifndef LASTHOP_HANDSHAKE_H
#define LASTHOP_HANDSHAKE_H

#include "state.h"
#include "window.h"

/* Whether a SYN without an ACK is said again: it opens what is open. */
LASTHOP_INLINE int opens_again(const struct packet *p, u32 opened_seq)
{
	return p->seq == opened_seq;
}

/* Whether a RST refuses what opened a connection (RFC 9293, 3.10.7.3). */
LASTHOP_INLINE int is_refused(const struct packet *p, u32 opened_seq)
{
	return p->flags & TCP_ACK && p->ack == opened_seq + 1;
}

/* A station says something that its server will answer, by its stamp, if it bears one (RFC 7323, 4.1), and as a SYN perhaps not for the first time. */
LASTHOP_INLINE u32 asks_by(u32 flags, const struct packet *p, int is_again)
{
	flags = p->has_stamp ? flags | FLOW_BY_STAMP : flags & ~FLOW_BY_STAMP;
	return is_again ? flags | FLOW_SAID_AGAIN : flags;
}

/* Whether the next step of a handshake is taken: a SYN-ACK answers a SYN, and an ACK that. */
LASTHOP_INLINE int is_next_step(u32 flags, const struct packet *p)
{
	return (p->flags & (TCP_SYN | TCP_ACK)) == (flags & FLOW_ESTABLISHED ? TCP_ACK : TCP_SYN | TCP_ACK);
}

/*
 * Whether both ends count marks: a SYN-ACK has CWR, or AE alone, which one without accurate ECN has not (RFC 9768, 3.1.1). Where it says so
 * for another reason its client has no such bits, and none to repeat.
 */
LASTHOP_INLINE u32 counts_marks(const struct packet *p)
{
	return p->flags & TCP_ACK && 0x5c >> (p->ace & 7) & 1 ? FLOW_ACCURATE : 0;
}

/* Whether a packet echoes that stamp or a later one. */
LASTHOP_INLINE int is_echoed(u32 asked_stamp, const struct packet *p)
{
	return p->has_stamp && !is_after(asked_stamp, p->echo);
}

/* Whether a packet of the server answers what was said with that stamp or later. Where it bore none, any packet does. */
LASTHOP_INLINE int is_answered(u32 flags, u32 asked_stamp, const struct packet *p)
{
	return !(flags & FLOW_BY_STAMP) || is_echoed(asked_stamp, p);
}

/* Whether its SYN-ACK answers the SYN that was said last: as a matter of course where there was one, else as far as stamps tell. */
LASTHOP_INLINE int is_last_answered(u32 flags, u32 asked_stamp, const struct packet *p)
{
	return !(flags & FLOW_SAID_AGAIN) || (flags & FLOW_BY_STAMP && is_echoed(asked_stamp, p));
}

/* The same where nothing would ever tell a path but the handshake: it is the last one that is answered most likely. */
LASTHOP_INLINE int is_last_likely_answered(u32 flags, u32 asked_stamp, const struct packet *p)
{
	return !(flags & FLOW_BY_STAMP && p->has_stamp) || is_last_answered(flags, asked_stamp, p);
}

/* Whether an answer came so long after what was said, and behind a silence for most of that time. */
LASTHOP_INLINE int is_mostly_rest(u64 now_ns, u64 last_ns, u64 sample_ns)
{
	return excess(now_ns, last_ns) > sample_ns / 2;
}

#endif
