/* SPDX-License-Identifier: Dual MIT/GPL */
/* The share window at the proxy, and what it is told of the queue. Under the station's lock. */
#ifndef LASTHOP_PROXY_SHARE_H
#define LASTHOP_PROXY_SHARE_H

#include "flow.h"
#include "share.h"
#include "state.h"
#include "station.h"
#include "window.h"

/* What the law is told of the queue. */
struct told {
	u64 rate; /* mu */
	u64 wait_ns; /* y */
	u64 weights_q8; /* Phi */
	u64 limited_q8; /* of it those that count for what they take */
	u64 taken; /* what these take */
	u64 nearest_ns; /* to the nearest client and back, without the queue */
	u64 span_began_ns; /* of its minima */
	u32 others_q10; /* what of the traffic is not steered */
	u32 least_part_q10; /* what the steered have at least beside that */
	u32 theirs_q10; /* what of the wait is not the steered ones' */
	u32 random;
	u32 is_probing;
	u64 target_ns; /* T, or the longest queue that all flows bear */
	u64 lacking_ns; /* by what it rests below that */
	u64 timer_ns; /* of receivers that hold ACKs back */
};

/* The window that the law gives a flow now, in whole segments. */
LASTHOP_INLINE u64 proxy_share_window(const volatile struct settings *settings, struct flow *f, u64 now_ns,
				      const struct told *told)
{
	u64 delay_ns = flow_delay_ns(f, told->nearest_ns);
	u64 rate = share_rate_beside(told->rate, told->others_q10, told->least_part_q10, !settings->is_hidden);
	/* What others fill beyond T itself counts, however short a queue is wanted. */
	u64 beside_ns = share_target_beside_ns(settings->target_ns, told->wait_ns, told->theirs_q10);
	u64 target_ns = beside_ns > settings->target_ns ? beside_ns : told->target_ns;
	u64 weights_q8 = most(told->weights_q8, f->weight_q8);
	/* Who takes less has its share, and others what it leaves of that. */
	u64 fair = f->flags & (FLOW_LIMITED_NOW | FLOW_LIMITED_BEFORE) ? share_fair(rate, weights_q8) :
									  share_of_rest(rate, weights_q8, told->taken, told->limited_q8);
	u32 kappa_q10 = share_kappa_q10(settings->theta_ns, delay_ns);
	s64 room_ns = share_room_ns(share_rest_ns(target_ns, told->lacking_ns), told->wait_ns, kappa_q10);
	u64 bytes;

	f->fair = share_smoothed(f->fair, fair, now_ns - f->fair_ns, delay_ns);
	f->fair_ns = now_ns;
	READ_ANEW();
	bytes = share_window_bytes(f->weight_q8, f->fair, told->is_probing ? delay_ns / 2 : share_horizon_ns(delay_ns, room_ns));
	/* Where the queue is hidden, all rates are of payload. */
	if (!settings->is_hidden)
		bytes = share_payload(bytes, f->mss, f->header_bytes);
	READ_ANEW();
	if (!told->is_probing)
		bytes = flow_leans(f, bytes, told->wait_ns < told->target_ns / 2);
	READ_ANEW();
	if (flow_allows_for_held(settings, f))
		bytes = flow_with_held(f, bytes, told->is_probing, told->timer_ns);
	/* Where the queue is seen that makes up for what receivers hold back, which is not asked there. */
	if (settings->is_hidden)
		bytes = window_before_rounding(bytes, flow_scale(f));
	return whole_segments(bytes, f->mss, told->random);
}

#endif
