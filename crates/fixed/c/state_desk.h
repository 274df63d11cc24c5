/* SPDX-License-Identifier: Dual MIT/GPL */
/* What a desk keeps of a station's connections, whose windows it sets together. */
#ifndef LASTHOP_STATE_DESK_H
#define LASTHOP_STATE_DESK_H

#include "state.h"

/* Connections whose windows one desk sets together. */
#define SEATS 16
/* Where their windows ended of late, each 2^21 ns: half a second, as long as paths to clients may be. */
#define ROWS 256
#define ROW_SHIFT 21

/* A connection at the desk of its station. Sequence numbers are the server's, but for `seq`. */
struct seat {
	struct flow_key key;
	u32 edge; /* where its window ends */
	u32 first_edge; /* where it ended as it sat down */
	u32 then_edge; /* where it ended a round trip ago */
	u32 received; /* the sequence number up to which bytes have arrived */
	u32 ack; /* the highest one acknowledged; its client's own, with time stamps, in the last ACK: */
	u32 seq;
	u32 stamp;
	u32 echo;
	u32 own_bytes; /* its client's own window */
	u16 own; /* the field that said so */
	u8 form; /* whether there is a time stamp, and the version of IP; 0: no update can be made of it */
	u8 is_closing;
	u32 scale;
	u32 mss;
	u32 weight_q8;
	u32 part_q8; /* of its weight a newcomer counts for so much beside others; 256: in full */
	u32 wire_q10; /* bytes of the queue for each of payload */
	u32 dither; /* what whole segments are rounded by */
	u32 is_there; /* it has sent of late */
	u32 is_limited; /* it has no more to send */
	u32 receiver_held_bytes; /* what its receiver holds back in the mean, and one; 0: it does not hold ACKs back */
	u32 receiver_waits_bytes; /* for how much it waits unless its timer ends that */
	u32 ace; /* AE, CWR and ECE in its last ACK; 0 where its ends do not count marks */
	u64 first_row; /* when it sat down */
	u64 first_ns;
	u64 last_ns; /* its last ACK of something new; 0: the seat is free */
	u64 delay_ns; /* d */
	u64 rate; /* rho smoothed */
	u64 of_share_q8; /* what arrived in 20 s, decayed */
	u64 at_present_q8; /* in 1 s */
	u64 used_q8; /* u: what of its window was in use, by Little's law, over 1 s */
	u64 held_q8; /* I, over 1 s */
	s64 lean_q24; /* z */
	u64 leaning_q24; /* p */
	u64 waiting_bytes; /* q: what it has in the queue */
	u64 window_bytes; /* w, of payload */
};

/* Where the windows of all seats ended. */
struct row {
	u32 edge[SEATS];
};

/*
 * What a desk goes by in a step, and what it adds up. It stands in memory and is read anew, for the verifier not to follow each
 * value that it may have.
 */
struct round {
	u64 now_ns;
	u64 rate;
	u64 wait_ns;
	u64 target_ns;
	u64 queue_bytes;
	u64 elapsed_ns; /* since the last step */
	u64 kept_second_q31; /* of what is averaged over 1 s and 20 s */
	u64 kept_share_q31;
	u64 held; /* of a seat: on the wire, and what of it is in its pipe */
	u64 pipe;
	u64 thought; /* what all are thought to have waiting; what part of it does */
	u64 weights_q8;
	u64 rates;
	u64 others; /* what slower and limited ones take of a seat's room */
	u64 leaning_q24; /* those who share it */
	s64 short_q16;
	u32 kappa_q10;
	u32 is_draining;
	u32 is_behind; /* somebody is faster */
	u32 form; /* of which updates may be made */
	u32 moved; /* the seats of others whose windows may move, a bit each */
	u32 is_hidden; /* the queue is */
	u64 timer_ns; /* of receivers that hold ACKs back */
};

/* A desk sets the windows of a station's connections. Under the station's lock, but for what a step does, of which there is one. */
struct desk {
	u64 stepped_ns; /* when it last did; 0: never */
	u64 row; /* the running one */
	u64 lean_ns; /* time in which weights have not moved yet */
	u64 refused_ns; /* when there was last no seat for one */
	u64 weights_q8; /* of those that are there */
	u32 is_busy; /* a step is being made */
	u32 found; /* the seat that was given away last */
	struct round round;
	struct recent_least crowd; /* what ACKs wait for each other at least */
	struct seat seats[SEATS];
	struct row rows[ROWS];
};

/* A window update: an ACK of another connection of the client whose ACK is at hand. */
struct update {
	struct flow_key key;
	u32 seq;
	u32 ack;
	u32 stamp;
	u32 echo;
	u16 window;
	u8 ace;
	u8 pad;
};

#endif
