/* SPDX-License-Identifier: Dual MIT/GPL */
/*
 * Which segments of a connection bear a price. It makes them longer than their server knows, and a link on the way may be too small for that
 * while nobody says so: then each is lost, and sent again. What is sent again bears none, so that it arrives. Of the others one at a time is
 * watched: if it is acknowledged and was not sent again, its size fits. If it was sent again, only one of that size is tried at a time, from the
 * third one on later each time, and all bear prices again once one arrives. Where all is
 * well one in a while is enough. So an accident costs prices for a round trip, and a link that is too small a few segments. All under the station's lock.
 */
#ifndef LASTHOP_TRIAL_H
#define LASTHOP_TRIAL_H

#include "state.h"
#include "window.h"

/* After so many lost in a row, how long none is tried. */
LASTHOP_INLINE u64 trial_pause_ns(u32 lost)
{
	if (lost < TRIED_OFTEN)
		return lost > 1 ? RETRY_NS : 0;
	return least(LONG_RETRY_NS << least(2 * (lost - TRIED_OFTEN), 16), LAST_RETRY_NS);
}

/* The watched one was lost. */
LASTHOP_INLINE void trial_loses(struct trial *t, u64 now_ns)
{
	t->doubted = (u32)(t->doubted ? least(t->doubted, t->segment) : t->segment);
	t->lost += t->lost < TRIED_OFTEN + 16;
	t->segment = 0;
	t->until_ns = now_ns + trial_pause_ns(t->lost);
}

/* It has arrived. A smaller one tells nothing of those that are doubted. */
LASTHOP_INLINE void trial_wins(struct trial *t, u64 now_ns)
{
	if (t->segment >= t->doubted)
		t->doubted = t->lost = 0;
	t->sure_bytes = t->segment;
	t->segment = 0;
	if (!t->lost)
		t->until_ns = now_ns + SURE_NS;
}

/* Until when more data that are no larger than so much tell nothing; 0: there is doubt. */
LASTHOP_INLINE u64 trial_rests_until_ns(const struct trial *t)
{
	return t->lost ? 0 : t->until_ns;
}

LASTHOP_INLINE u32 trial_rests_bytes(const struct trial *t)
{
	return t->segment ? t->segment : t->sure_bytes;
}

/* Whether a segment is to be watched: a larger one rather than the one that is. */
LASTHOP_INLINE int trial_watches(const struct trial *t, u32 segment, u64 now_ns)
{
	if (t->lost)
		return !t->segment || segment >= t->doubted;
	return segment > trial_rests_bytes(t) || (!t->segment && now_ns >= t->until_ns);
}

/* What has gone on since it was last looked at. */
LASTHOP_INLINE void trial_goes_on(struct trial *t, u32 sent, u64 sent_ns)
{
	if (!t->has_sent || !is_after(sent, t->sent))
		return;
	t->sent = sent;
	t->sent_ns = sent_ns;
}

/* Data go on to the station: whether they are to bear a price, if there is room for one. Of a super-packet the first segment is watched. */
LASTHOP_INLINE int trial_sends(struct trial *t, const struct packet *p, u64 now_ns, int has_room)
{
	u32 end = p->seq + p->payload;
	int is_again = t->has_sent && is_after(t->sent, p->seq), is_late = excess(now_ns, t->sent_ns) >= TIMEOUT_NS;

	if (!t->has_sent || is_after(end, t->sent))
		t->sent = end;
	t->has_sent = 1;
	t->sent_ns = now_ns;
	if (is_again) {
		if (t->segment && (is_late || (is_after(t->end, p->seq) && is_after(end, t->begin))))
			trial_loses(t, now_ns);
		else if (!t->segment && !t->lost)
			/* It may have been one that fits no more. */
			t->until_ns = now_ns;
		return 0;
	}
	/* Where ACKs take another way. */
	if (t->segment >= t->doubted && t->segment && now_ns > t->until_ns)
		trial_wins(t, now_ns);
	if (!has_room)
		return 0;
	if (p->segment < TRIED_BYTES)
		return 1;
	if (t->lost && p->segment >= t->doubted && (t->segment >= t->doubted || now_ns < t->until_ns))
		return 0;
	if (trial_watches(t, p->segment, now_ns)) {
		t->segment = p->segment;
		t->begin = p->seq;
		t->end = p->seq + p->segment;
		/* A smaller one changes nothing of when one of those that are doubted is tried. */
		if (p->segment >= t->doubted)
			t->until_ns = now_ns + TRIED_NS;
	}
	return 1;
}

/* Its station acknowledges. */
LASTHOP_INLINE void trial_hears(struct trial *t, u32 ack, u64 now_ns)
{
	if (t->segment && !is_after(t->end, ack) && !is_after(ack, t->sent))
		trial_wins(t, now_ns);
}

#endif
