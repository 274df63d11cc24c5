/* SPDX-License-Identifier: Dual MIT/GPL */
/* From a window in bytes to the field of a TCP header. */
#ifndef LASTHOP_WINDOW_H
#define LASTHOP_WINDOW_H

#include "arith.h"
#include "state.h"

/* Whole segments: floor(w/mss + U), U uniform in [0, 1) as 2^-32 of `random`; one at least. w up to 2^34 B. */
LASTHOP_INLINE u64 whole_segments(u64 window_bytes, u32 mss_bytes, u32 random)
{
	u64 n;

	if (!mss_bytes)
		return window_bytes;
	n = (window_bytes + ((u64)random * mss_bytes >> 32)) / mss_bytes;
	return most(n, 1) * mss_bytes;
}

/*
 * Whether a window is more than what its receiver waits for. Of what is told once there are k segments, half of k - 1 are held back in the
 * mean, half of one at least, and that is allowed for.
 */
LASTHOP_INLINE int window_is_waited_for(u64 window_bytes, u32 mss_bytes, u32 held_bytes, u32 waits_bytes)
{
	return window_bytes + most(held_bytes, mss_bytes / 2) >= waits_bytes;
}

/*
 * The window of a connection whose receiver acknowledges once it has `waits_bytes`, k segments, two at least, and holds back `held_bytes`
 * in the mean. Below four segments senders let single ones go, and one that makes no pair is held for a round trip: half of a segment
 * there. Fewer than k wait for the receiver's timer, while which `timed_bytes` would go at the connection's rate: where the window is
 * less than k - 1 segments with that, so it is. Where it would be more, it is of k - 1 or k in turn for that rate to come out, station#20
 * s (k - 1 + (w + h - (k - 1) s)/(s - u + h)), u what is held back, half a segment at least. Now and then there are two at least, for the
 * path to be seen without the timer.
 */
LASTHOP_INLINE u64 window_beside_held(u64 window_bytes, u32 mss_bytes, u32 held_bytes, u32 waits_bytes, u64 timed_bytes)
{
	u64 half = mss_bytes / 2, fewer = excess(waits_bytes, mss_bytes), timed = least(timed_bytes, 1ULL << 34), all = window_bytes + timed;

	if (window_is_waited_for(window_bytes, mss_bytes, held_bytes, waits_bytes))
		return most(window_bytes + most(held_bytes, least(half, excess(4 * (u64)mss_bytes, window_bytes) / 2)), waits_bytes);
	if (all > fewer)
		all = fewer + (all - fewer) * mss_bytes / most(excess(mss_bytes + timed, most(held_bytes, half)), 1);
	return most(all, mss_bytes + mss_bytes / 16);
}

/* Whether sequence number a is later than b (RFC 9293, 3.4). */
LASTHOP_INLINE int is_after(u32 a, u32 b)
{
	return (int)(a - b) > 0;
}

/* By how many bytes it is. */
LASTHOP_INLINE u32 after_by(u32 a, u32 b)
{
	return is_after(a, b) ? a - b : 0;
}

/*
 * The largest payload of a segment, after one. What the client offers may be more than its path carries: once some in a row are alike, while
 * there are more of them to send, they are as large as they can be.
 */
LASTHOP_INLINE u32 largest_segment(struct alike *a, u32 mss_bytes, const struct packet *p, u64 under_way_bytes)
{
	if (p->segment >= mss_bytes || p->segment < ALIKE_BYTES)
		return (u32)most(p->segment, mss_bytes);
	if (p->segment != a->bytes || p->seq != a->end || under_way_bytes < 4 * (u64)p->segment)
		a->count = 0;
	a->bytes = p->segment;
	a->end = p->seq + p->payload;
	return ++a->count < ALIKE_SEGMENTS ? mss_bytes : p->segment;
}

/*
 * Whether a number of the server's may be what its client expects, where it has acknowledged so far and has allowed so much; who expects
 * another one heeds no RST and no FIN there (RFC 9293, 3.10.7.4). A FIN may stand behind the window.
 */
LASTHOP_INLINE int is_expected(u32 seq, u32 ack, u32 edge, u32 sent)
{
	return !is_after(ack, seq) && !is_after(seq, (is_after(edge, sent) ? edge : sent) + 1);
}

/* The shift of a connection's windows, by its client's option: none unless both sides have one (RFC 7323, 2.2). */
LASTHOP_INLINE u32 window_scale(u32 flags, u32 scale)
{
	u32 both = FLOW_CLIENT_SCALES | FLOW_SERVER_SCALES;

	return (flags & both) == both ? scale & 15 : 0;
}

/* The right edge of a window, which never moves left of the one advertised before. Windows up to 2^30 B. */
LASTHOP_INLINE u32 right_edge(u32 ack, u64 window_bytes, u32 edge)
{
	u32 wanted = ack + (u32)least(window_bytes, 1 << 30);

	return is_after(edge, wanted) ? edge : wanted;
}

/*
 * From where the window of an ACK goes on, where so much has arrived: what has arrived behind a hole is not under way any more, and a
 * sender that is told of it (RFC 2018) sends on. It is told where the options have more than a time stamp.
 */
LASTHOP_INLINE u32 window_from(const struct packet *p, u32 arrived)
{
	int is_told = p->header_bytes > p->tcp_at + 20 + (p->has_stamp ? 12 : 0);

	return is_told && !p->payload && is_after(arrived, p->ack) ? arrived : p->ack;
}

/*
 * The header's field for that edge: rounded up, so that the edge stays, at most the receiver's own, never raised. An edge
 * that is no later than the ACK says nothing: the field stays as it is, so that no window of ours is ever zero.
 */
LASTHOP_INLINE u16 window_field(u32 ack, u32 edge, u32 scale, u16 own)
{
	u64 up = (1ULL << (scale & 15)) - 1;

	if (!is_after(edge, ack))
		return own;
	return (u16)least(((u64)(edge - ack) + up) >> (scale & 15), own);
}

/*
 * The field that an ACK is to say of a connection that has a window, in whole segments; 0: it has none yet, and its client's own stands. Who
 * has used up all that was allowed, and nothing has moved that, is allowed a window more: as an ACK that nobody hears, or that opens a window
 * which was closed. What is said stands, though it be the client's own field, or one that is rounded up: the edge is never left of it. An ACK
 * is current unless it is older than another, or of what was never sent.
 */
LASTHOP_INLINE u16 field_said(u32 *edge, const struct packet *p, int is_current, u64 window_bytes, u32 mss, u32 scale)
{
	int is_used_up = !is_after(*edge, p->ack);
	u16 window = p->window;
	u32 said;

	if (is_used_up && !is_current)
		return window;
	if (window_bytes && window && is_used_up)
		*edge = right_edge(p->ack, whole_segments(window_bytes, mss, 0), *edge);
	if (window_bytes)
		window = window_field(p->ack, *edge, scale, window);
	said = p->ack + ((u32)window << (scale & 15));
	if (is_after(said, *edge))
		*edge = said;
	return window;
}

/* A window less what that adds in the mean: half of the field's unit. */
LASTHOP_INLINE u64 window_before_rounding(u64 window_bytes, u32 scale)
{
	return excess(window_bytes, (1ULL << (scale & 15)) / 2);
}

#endif
