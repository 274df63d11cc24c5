/* SPDX-License-Identifier: Dual MIT/GPL */
/* What the programs of routers and hosts keep, and what they are told; `src/feedback/shared.rs` mirrors it. */
#ifndef LASTHOP_FEEDBACK_H
#define LASTHOP_FEEDBACK_H

#include "xcp.h"

/* What a router is told. */
struct router_settings {
	struct qfcp_settings qfcp;
	struct xcp_settings xcp;
	u32 link_header_bytes;
	u32 exid;
	u32 observe_only;
	u32 is_xcp;
};

/* A device's queue; of the laws the one that is told. What is counted of the running interval is each processor's. */
struct router {
	struct bpf_spin_lock lock;
	u32 is_turning; /* a processor ends the interval */
	u32 told; /* QFCP: its rate, as a packet has it */
	u32 pad;
	u64 turns; /* so far */
	u64 collected[3]; /* what of the processors' sums the law has had */
	/* Of who is at a turn: what all have counted. */
	u64 sums[3];
	u64 least_bytes;
	u64 least_packets_q16;
	struct qfcp_router qfcp;
	struct xcp_router xcp;
	/* Of who is at a turn: what these will be. Here, for a program's stack has no room for it. */
	struct qfcp_router next_qfcp;
	struct xcp_router next_xcp;
};

/* What a processor counts, for itself; by the laws' own functions, of which only what counts is in use. */
struct tally {
	u64 turn; /* the one after which its least queues were begun */
	u64 packets;
	u64 asked; /* super-packets that asked */
	u64 lowered; /* those whose grant was too much */
	struct qfcp_router qfcp;
	struct xcp_router xcp;
};

/* What a host is told. */
struct host_settings {
	u32 exid;
	u32 is_xcp;
	u32 offers_all; /* not only what has chosen the control */
	u32 heeds_loss;
	u32 paces;
	u32 exid_beside; /* of another option that the group's connections may have in this one's place; 0: none */
	char name[16]; /* of the control */
};

/* What it tells. */
struct host_counts {
	u64 offered; /* connections that it has offered the option */
	u64 agreed; /* whose far end has it */
	u64 told; /* that a router has spoken to */
	u64 options; /* that came */
	u64 cramped; /* acknowledgements without room for it */
};

#endif
