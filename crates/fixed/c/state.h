/* SPDX-License-Identifier: Dual MIT/GPL */
/*
 * What the programs keep, and what they are told. Rust reads these structures by their layout: `src/state.rs` mirrors
 * them, and tests compare the two by the types' descriptions in the programs and by their sizes on the host.
 */
#ifndef LASTHOP_STATE_H
#define LASTHOP_STATE_H

#include "share.h"
#include "estimate.h"

/* What stands in memory is read anew from here on. */
#define READ_ANEW() __asm__ volatile("" ::: "memory")

#define TCP_FIN 1
#define TCP_SYN 2
#define TCP_RST 4
#define TCP_ACK 16
/* Of the flags those that tell of congestion: ECE and CWR. */
#define TCP_OF_CONGESTION 192

#define TICK_NS (100 * NS_PER_MS)
/* What of a tick must be busy for it to judge forecasts. */
#define TICK_BUSY_NS (30 * NS_PER_MS)
/* The least epoch over which flows are counted. */
#define EPOCH_NS (300 * NS_PER_MS)
/* The time over which it is averaged what a flow takes, and since when one is known that is not on its way to its share any more. */
#define TAKEN_NS NS_PER_S
#define SETTLING_NS (2 * NS_PER_S)
/* A window of so many segments is not filled by one that has little to send. */
#define FILLED_SEGMENTS 3
/* ACKs of something new that come so much later than a round trip after the ones before: nothing was under way meanwhile. */
#define RESTED_NS (200 * NS_PER_MS)
/* A window of fewer segments is small: what it is multiplied by goes by what its connection takes. */
#define LEANING_SEGMENTS 4
/* What one takes counts as so many shares at most, for what it acknowledges is its own word. */
#define MOST_SHARES 4
/* Who has had something under way for so long has had its share by now, or does not get it. */
#define ASKING_NS (3 * NS_PER_S)
/* For so many epochs a flow may have a shorter queue that does not help it: by then it has a pace of its own. */
#define PATIENCE 16
/* Minima are of one to two spans, but for paths over a hidden queue (path_settled_ns). */
#define LEAST_SPAN_NS (10 * NS_PER_S)
/* A time stamp that was not echoed in time is given up. */
#define ECHO_NS (10 * NS_PER_S)
/* Segments that a connection may begin with. */
#define FIRST_SEGMENTS 10
/* Slots of 2^20 ns: what is to be acknowledged when, so far ahead as paths to clients may be long: half a second. */
#define SLOT_SHIFT 20
#define SLOTS 512
/* Of a queue that is seen so many looks are kept, one in so many units of 1024 ns. */
#define LOOKS (SLOTS / 2)
#define LOOK_UNITS 1000
/* Round trips that are measured at once on a connection, one begun each millisecond at most. */
#define SAMPLES 8
/* How long a path is looked at before it may count as another one. */
#define PATH_NS (500 * NS_PER_MS)
/* When in a span of minima a drain is due. */
#define PROBE_AFTER_NS (LEAST_SPAN_NS / 4 * 3)
/* As long as there is such a one, there may be a drain each so long. */
#define UNSURE_NS (2 * NS_PER_S)
/* Receivers acknowledge fewer segments than these each, in the beginning. */
#define QUICK_SEGMENTS 32
/* How many segments there are to choose from to look at. */
#define PASS_SEGMENTS 8
/* A connection of so many bytes is worth a drain where its path is not sure. */
#define WORTHY_BYTES 100000
/* A clock of time stamps is believed after so long, if it then counts milliseconds within a quarter, or a little later; it never is after so long. */
#define CLOCK_NS NS_PER_S
#define CLOCK_LAST_NS (16 * NS_PER_S)
/* What keeps differences of two clocks above 0. */
#define CLOCK_BIAS_NS (1ULL << 50)
/* So much slower than time passes by what an ACK waits becomes a part of its way: what is timed by it reads as little high. */
#define CLOCK_SLEW_SHIFT 4
/* Of a pause between two ACKs no more than this counts. */
#define CLOCK_PAUSE_NS (NS_PER_S / 10)
/* No receiver holds an ACK back for longer (RFC 9293, 3.8.6.3). */
#define TIMER_NS (NS_PER_S / 2)
/* An ACK that comes so long after its path and the queue account for has waited for its receiver's timer. */
#define LATE_NS (NS_PER_S / 50)
/* A line whose receivers wait seems as slow as they make it: while nothing waits there by so much more is tried, with the usual quarter by half. */
#define TRIED_Q10 1229
/* A connection that is silent for so long has nothing under way any more. */
#define SILENT_NS (2 * NS_PER_S)

/* A price is good for so long once data come without one. */
#define STALE_NS NS_PER_S

/* Rules that give flows their weights. */
#define WEIGHT_RULES 16

/* Whose weight it is: what is 0 is not asked for. */
struct weight_rule {
	u32 prefix[4]; /* of the client's or the server's address; IPv4 as ::ffff:a.b.c.d */
	u32 prefix_bits;
	u32 weight_q8;
	u16 port; /* of either, in network order */
	u8 dscp;
	u8 has_dscp;
	u32 pad;
};

/* What the programs are told when they are loaded. */
struct settings {
	u64 target_ns; /* T */
	u64 theta_ns; /* of the share window's kappa */
	u64 average_ns; /* over how long CLAMP's queue is averaged */
	u32 g_q10;
	u32 kappa_q10; /* the station window's */
	u32 link_header_bytes; /* 14 on Ethernet, 0 where packets begin with IP */
	u32 observe_only;
	u32 is_hidden; /* the queue is somewhere downstream, known from ACKs alone */
	u32 is_clamp; /* CLAMP's law, else the share window */
	u32 a_bytes; /* CLAMP's a */
	u32 tau_bytes; /* and tau */
	u32 refill_q10; /* and gamma, by which its windows grow while the queue is empty */
	u32 is_station; /* the station window for as many connections as a desk has seats; the others have the share window */
	u32 moves_others; /* it sends window updates for connections whose ACK is not at hand */
	u32 rule_count;
	u32 has_dscp; /* a rule goes by it */
	u32 by_client; /* each client has a queue of its own, which is hidden; else all have one */
	struct weight_rule rules[WEIGHT_RULES];
};

/* A connection, as a device's clients see it. */
struct flow_key {
	u32 client[4]; /* an IPv4 address as ::ffff:a.b.c.d */
	u32 server[4];
	u16 client_port;
	u16 server_port;
};

/* What of a packet matters. */
struct packet {
	struct flow_key key;
	u32 ip_at; /* where the IP header begins */
	u32 tcp_at; /* and TCP's */
	u32 mss_at; /* where the option is that tells `mss`, if that is not 0 */
	u32 payload; /* bytes, of all segments of a super-packet */
	u32 segment; /* bytes of the largest segment */
	u32 header_bytes; /* what precedes the payload, once */
	u32 size_bytes; /* on the wire, as a qdisc counts it */
	u32 seq;
	u32 ack;
	u32 stamp; /* TSval */
	u32 echo; /* TSecr */
	u32 price_at; /* where an access point's price is; 0: there is none */
	u32 price_q30;
	u16 window; /* the field */
	u16 window_raw; /* the same in network order */
	u16 check_raw; /* the checksum, as it stands there */
	u16 mss;
	u8 flags;
	u8 scale;
	u8 has_scale;
	u8 has_stamp;
	u8 is_foreign;
	u8 ip_version; /* 0: none that is known */
	u8 dscp;
	u8 is_plain; /* nothing is between the fixed part of the IP header and TCP's */
	u8 ace; /* AE, CWR and ECE (RFC 9768, 3) */
	u8 pad[3];
};

/* The path to a client and back: its least round trip, and whether it is another one by now. */
struct path {
	struct recent_least least;
	u64 look_ns; /* when the running look began */
	u64 now_ns; /* the least round trip in it; 0: none */
	u64 last_ns; /* in the one before */
};

/* The client's clock, by its time stamps. */
struct clock {
	u64 began_ns; /* when the first stamp came; 0: none yet */
	u32 first; /* that stamp */
	u32 state; /* CLOCK_... */
	struct recent_least offset; /* how long after its stamp an ACK came at least, and a bias */
	u64 base_ns; /* what of that counts as the way; 0: not known */
	u64 based_ns; /* when that was */
};

/* Segments in a row that are as large as each other, and smaller than their connection's are taken for. */
struct alike {
	u32 bytes; /* each */
	u32 end; /* the sequence number behind the last one */
	u32 count;
};

/* So many are as large as they can be, and so large at least. */
#define ALIKE_SEGMENTS 16
#define ALIKE_BYTES 536

/* What of its window a connection has used since it last joined an epoch. */
struct use {
	u64 heard_ns; /* the last ACK of something new */
	u64 used; /* what was acknowledged, each byte for its round trip [B 1024 ns] */
	u64 held; /* and its window, for as long as that was open */
	u64 bytes; /* what was acknowledged */
};

/* What it takes of the line, and beside how long a queue its sender takes that. */
struct bearing {
	u64 used_mean; /* both over a second */
	u64 held_mean;
	u64 known_ns; /* when it first joined an epoch; 0: never */
	u64 joined_ns; /* when it last did */
	u64 taken; /* over a second [B/s] */
	u64 bears_ns; /* the longest queue beside which its sender fills its window; 0: any */
	u64 rested_ns; /* when it last had nothing under way to its client */
	u32 asked; /* epochs in which a shorter queue, which it asked for, has not helped it, less those in which it was well */
	u32 lean_q10; /* what its window is multiplied by where that is small; 0: 1 */
};

#define CLOCK_UNKNOWN 0
#define CLOCK_MILLISECONDS 1
#define CLOCK_OTHER 2

#define FLOW_ESTABLISHED 1 /* both SYNs were seen */
#define FLOW_CLIENT_SCALES 2
#define FLOW_SERVER_SCALES 4
#define FLOW_FROM_CLIENT 8 /* the client opened it */
#define FLOW_LIMITED 16 /* its window has been lowered */
#define FLOW_SERVER_ENDED 32 /* the server's FIN was seen: it has no more to send */
#define FLOW_STARTED 128 /* CLAMP's slow start is over */
#define FLOW_MAY_PACE 256 /* and no queue has told since that the path is full: its sender may only have been pacing */
#define FLOW_COUNTED 512 /* it was counted in some epoch */
#define FLOW_LOOKED_AT 1024 /* whether its receiver holds ACKs back is known beyond its first segments */
#define FLOW_APART 2048 /* a segment is looked at for how long the one before it is held back */
#define FLOW_LIMITED_NOW 4096 /* it has no more to send, and counts for what it takes in the epoch that it has joined */
#define FLOW_LIMITED_BEFORE 8192 /* and did in the one before */
#define FLOW_SMALL 16384 /* its window is */
#define FLOW_WAITS 32768 /* its receiver is seen to wait for more segments than two */
#define FLOW_COUNTS 65536 /* it is known for how many its receiver waits: so many were told while more was under way */
#define FLOW_BY_STAMP 131072 /* what its client said bore a time stamp: its answer tells by that */
#define FLOW_SAID_AGAIN 262144 /* the SYN that opened it was said again */
#define FLOW_UNTOLD 524288 /* its handshake tells no path */
#define FLOW_CLIENT_ENDED 1048576 /* the client's was */
#define FLOW_ACCURATE 2097152 /* its ends count marks by RFC 9768, accurate ECN */
#define FLOW_UNHEARD 4194304 /* its ACKs take another way */
#define FLOW_UNSURE 64 /* its path is known from a handshake beside a queue only */

/*
 * Under the lock of its station. Two processors hand it to and fro, data's and ACKs', and each line of the cache with it: first stands
 * what each ACK needs, in lines of 64 bytes. The first ends with `dscp`: in the kernel's table half of that line is the key's.
 */
struct flow {
	u32 flags;
	u32 mss; /* the largest payload of a segment */
	u32 header_bytes; /* what else of it is on the wire */
	u32 sent; /* the highest sequence number forwarded, and one */
	u32 ack; /* the highest one acknowledged */
	u32 delivered; /* the sequence number up to which bytes have arrived, as far as ACKs and their duplicates tell */
	u32 edge; /* where the window ends that was advertised */
	u16 scale; /* of the client's windows */
	u16 dscp; /* of its data */

	u32 epoch; /* the last one it was counted in */
	u32 station; /* the number of what it shares its queue with */
	u32 weight_q8;
	u32 duplicates; /* ACKs in a row that say nothing new */
	u64 seen_ns; /* its last packet */
	u64 acknowledged_bytes;
	u64 asked_ns; /* when the client said something that the server will answer; 0: nothing */
	u32 asked_stamp; /* its time stamp */
	u32 opened_seq; /* the sequence number of the SYN that opened it */
	u64 rtt_ns; /* the last round trip to the client, the queue included */
	u64 window_bytes; /* w */

	u16 window; /* the receiver's own field in the last ACK */
	u16 seat; /* its place at the desk of its station, and one; 0: none */
	u32 told_bytes_q8; /* what an ACK tells of that is new, smoothed; 0: not known, or not asked */
	u64 fair; /* rho smoothed: of a weight of 1 */
	u64 fair_ns; /* when that was */
	u64 ack_delay_ns; /* z: what ACKs have waited, smoothed */
	struct use use;

	struct path path; /* of its own: behind one address there may be several hosts */
	struct recent_least upstream; /* from the agent to the server and back */
	struct clock clock;

	u64 forwarded_bytes;
	/* Segments under way whose round trips are being measured. Where the queue is seen, it is one, the first. */
	u32 sample_end[SAMPLES]; /* the sequence number behind it */
	union {
		u64 sent_ns[SAMPLES]; /* 0: none */
		struct {
			u64 sent_ns;
			u64 there_ns; /* when it was last known to be in the queue */
			u64 leaves_bytes; /* how much has departed once it has left that */
		} only;
	} sample;
	u32 sample_place_bytes[SAMPLES]; /* what had gone on to all clients by then, itself included; 0: nothing to go by */
	u64 sampled_ns; /* when the last sample was begun */
	struct bearing bearing;
	u64 begin_ns; /* of a handshake that the server began: when, then its round trip until that counts; 0: there is none */
	u64 begin_wait_ns; /* what its handshake's sample waited in the queue, as far as is known */
	u64 forwarded_ns; /* when its last new segment went on */
	u64 heard_ns; /* the last ACK that told of something new */
	u32 second_end; /* the sequence number behind a segment that is looked at */
	u8 pass_segments; /* so many are passed by before one is looked at */
	u8 waits_segments; /* for how many its receiver waits unless a timer ends that; less than 2: for two */
	u16 passed_segments; /* how many were passed by */
	u32 second_ns; /* how long after the one before it went on */
	u32 apart_ns; /* for how long a receiver holds back what its ACK tells of, but for the last of it, smoothed */
	u32 told_ns; /* between two such ACKs, smoothed */
	u32 look_bytes; /* what it is to have this once, whatever its window */
	struct alike alike;
	u32 said; /* the client's own next sequence number */
	u32 counted_q8; /* for how much of its weight a newcomer counts in the last epoch that it has joined; 0: it is none */
	u32 pad;

	/* CLAMP's. */
	u64 delivery; /* its rate, by what is under way [B/s] */
	u64 clamp_q16; /* w */
	u64 clamp_ns; /* when that was */
	u64 allowed; /* what its window allows, smoothed; 0: its sender leaves of it, or it is in slow start [B/s] */
	u64 pooled; /* what it has, if it takes part in its epoch's mean [B/s] */
	s64 drift; /* how fast it moves towards that of the one before [B/s] */
};

/* What shares one queue: a client's connections where it is hidden, all of them where it is the device's. */
struct station_key {
	u32 client[4];
};

/* First what each packet needs, as with flows: in lines of 64 bytes of which the device's own has its first end with `other_bytes`. */
struct station {
	u32 lock; /* of its connections as well */
	u32 epoch; /* the running one */
	u64 seen_ns; /* the last look at the queue */
	u64 queue_bytes; /* what it held */
	u64 departed_bytes; /* what had left it */
	u64 passed_bytes; /* in the running tick, towards the clients */
	u64 other_bytes; /* what of it is not steered */

	u64 period_ns; /* of late, since the last look but one that found the queue empty */
	u64 period_bytes; /* what has left in it */
	u64 tick_ns; /* when the running tick began */
	u64 tick_bytes;
	u64 tick_busy_ns;
	u64 tick_busy_bytes;
	u64 span_ns; /* a busy span that is being put together */
	u64 span_bytes;

	u64 epoch_ns; /* when the running epoch began */
	u64 delay_most_ns; /* the longest round trip among the flows counted in it */
	u64 known_rate; /* mu [B/s]; 0: not known */
	u32 others_q10; /* what part of what passes is not steered, of late */
	u32 least_part_q10; /* what part of the rate the steered have at least beside that */
	u64 weights_q8; /* of those flows */
	u64 last_weights_q8; /* in the one before */
	u64 limited_q8; /* the weights of those that count for what they take */
	u64 last_limited_q8; /* in the one before */

	u64 taken; /* what these take [B/s] */
	u64 last_taken; /* in the one before */
	struct path path; /* to the nearest client */

	u64 lacking_ns; /* by what the queue rests below T */
	u64 bears_ns; /* the longest queue that each flow of the running epoch bears; 0: any */
	u64 last_bears_ns; /* of the one before */
	/* What the last ACK told. It stands here for the verifier not to follow each value that it may have. */
	u64 sent_ns; /* when it was sent */
	u64 sample_ns; /* a round trip to the client; 0: none */
	u32 newly_bytes; /* what it acknowledged that was not yet */
	u8 wants_probe; /* the queue is to be drained */
	u8 is_late; /* that had waited for its receiver's timer */
	u8 is_alone; /* all of it: no other segment was under way */
	u8 is_part; /* and it was more than one, but less than its receiver waits for */
	u32 surely_bytes; /* what was in the queue at the last ACK at least */
	u8 is_floored; /* single segments hold more than is wanted */
	u8 has_moved; /* the path counts as another one, by what may have been a queue */
	u8 is_exact; /* the last ACK ended with a segment before which it is known what had gone on, and had not waited for a timer */
	u8 doubt; /* whether all that is beyond the path is a queue */
	u32 short_q10; /* what the path holds over windows that do not fill it while there is no queue; 0: they do */
	u32 left_bytes; /* what was due at the last ACK and had not arrived: the queue, and what receivers hold back */
	u64 timer_ns; /* what single segments wait for their receiver's timer, smoothed; 0: not known */
	u32 kept_bytes; /* what had arrived and was not acknowledged where ACKs told that exactly, smoothed */
	u32 keeps_bytes; /* what receivers hold back at most that wait for more than two segments, in the running epoch */
	u32 most_keeps_bytes; /* that, or what it was in the one before if that was more */
	u32 sure_bytes; /* what was under way when the path was last not in doubt */

	/* Where the queue is hidden: payload. */
	u64 due_bytes; /* what was to be acknowledged by the beginning of `slot`, had there been no queue */
	u64 delivered_bytes; /* what was acknowledged */
	u64 forwarded_bytes; /* what went on to the clients */
	u64 reached_bytes; /* what of that lies before the last segment that is known to have arrived, and that itself */
	u64 arrived_bytes; /* what is known to have arrived, at the last ACK */
	u64 farthest_slot; /* in which the last of it is due */
	u64 slot;
	u64 probe_until_ns; /* until then the queue is drained */

	u32 chosen; /* horizon */
	u32 price_q30; /* CLAMP's, the last that was asked for */
	u64 last_delay_most_ns; /* the longest round trip in the epoch before */
	u64 taker_most_ns; /* of those that take half of their share at least, in the running one: so long it takes the queue to drain */
	u64 last_taker_most_ns; /* in the one before */
	u64 delay_least_ns; /* the shortest in the running one, without the queue; 0: none */
	u64 last_delay_least_ns; /* in the one before */
	u64 pooled_weights_q8; /* of those that are compared with each other, in the running epoch */
	u64 pooled; /* what they have [B/s] */
	u64 last_pooled_weights_q8; /* in the one before */
	u64 last_pooled;
	u64 short_q8_ns; /* m of all that do not count for what they take, each by its weight, the sum */
	u64 kappa_q18; /* and of kappa */
	struct share_rate rate;
	/* Connections that nobody steers: those whose ACKs take another way, and that began before the agent did. */
	u64 unsteered_bytes; /* theirs of other_bytes */
	u64 unsteered_q8; /* their weights in the running epoch */
	u64 last_unsteered_q8; /* in the one before */
	u32 unsteered_part_q10; /* of what passes, of late */
	u32 theirs_q10; /* what of the wait is others' */
	u64 average_q16; /* CLAMP's queue */
	u64 average_ns; /* when that was */
	u64 a_bytes; /* its a, raised where many flows share a slow link */
	u64 sure_rate; /* when the path was last not in doubt [B/s] */
	u64 forecast_q16[SHARE_HORIZONS]; /* log2 of the rates at the beginning of the tick */
	u64 loss_q20[SHARE_HORIZONS];
	/* What is due in each slot from `slot` on, where the queue is hidden. Else when the proxy looked, and what had left by then, `slot` times. */
	u32 ring[SLOTS];
};

/*
 * Whether a connection's segments arrive with a price, which makes them longer than its server knows: one at a time is watched. See trial.h.
 */
struct trial {
	u64 sent_ns; /* its last data */
	u64 until_ns; /* the watched one has arrived if more is sent then; while none is: before that none is watched, or sent of a size that is doubted */
	u32 sent; /* the highest sequence number of what went to the client */
	u32 has_sent;
	u32 begin; /* the watched one */
	u32 end;
	u32 segment; /* its payload; 0: none is watched */
	u32 doubted; /* the least size of those lost; 0: none */
	u32 lost; /* in a row */
	u32 sure_bytes; /* the size of the last that has arrived */
};

/* Smaller segments fit with a price, wherever TCP goes (RFC 9293, 3.7.1). */
#define TRIED_BYTES 536
/* Who sends on for so long has had no need to send the watched one again. */
#define TRIED_NS (4 * NS_PER_S)
/* Once one has arrived, for so long none is watched. */
#define SURE_NS (100 * NS_PER_MS)
/* Who sends again after such a silence takes all that is under way for lost: a timeout is no shorter (RFC 6298, 2.4, Linux). */
#define TIMEOUT_NS (200 * NS_PER_MS)
/* After the second in a row that is lost none is tried for so long. */
#define RETRY_NS (500 * NS_PER_MS)
/* After so many, which are no accident, for so long, and for four times as long after each other one, up to the last. */
#define TRIED_OFTEN 3
#define LONG_RETRY_NS (8 * NS_PER_S)
#define LAST_RETRY_NS (512 * NS_PER_S)

/*
 * A connection that an access point lets pass: it is counted, its handshake tells the path, and its ACKs what of its window it uses. Under
 * the station's lock.
 */
struct passer {
	u64 asked_ns; /* when its station's SYN went on; 0: that has been answered */
	u64 told_ns; /* when its server's did */
	u64 wait_ns; /* in the queue, as that one joined it */
	u64 path_ns; /* to its server and its station and back, without the queue; 0: not known */
	u32 counted; /* the epoch it was counted in, and one; 0: none */
	u32 mss; /* the largest payload of a segment */
	u32 flags; /* FLOW_ESTABLISHED, FLOW_CLIENT_SCALES, FLOW_SERVER_SCALES, FLOW_BY_STAMP, FLOW_SAID_AGAIN, FLOW_UNTOLD */
	u32 scale; /* of its station's windows */
	u32 ack; /* the highest sequence number acknowledged */
	u32 edge; /* where the window ends that was advertised */
	u32 asked_stamp; /* the time stamp of its station's SYN */
	u32 opened_seq; /* the sequence number of the SYN that opened it */
	struct use use;
	struct bearing bearing;
	struct trial trial;
};

/* A connection whose data may come with the price of an access point. */
struct receiver {
	u32 lock;
	u32 flags;
	u32 scale; /* of the station's windows */
	u32 mss; /* the largest payload of a segment */
	u32 weight_q8;
	u32 ack; /* the highest sequence number acknowledged */
	u32 edge; /* where the window ends that was advertised */
	u32 duplicates; /* ACKs in a row that say nothing new */
	u32 price_q30; /* the last one */
	u32 field; /* the station's own in its last ACK */
	u64 own_bytes; /* the window that it was */
	u64 seen_ns; /* its last packet */
	u64 arrived_ns; /* its last data */
	u64 arrived_bytes; /* their payload so far */
	u64 acknowledged_bytes;
	u64 priced_ns; /* when the last price came; 0: none yet */
	u64 delay_ns; /* d */
	u64 window_q16; /* w; 0: there is no price to go by */
	u64 rtt_ns; /* smoothed */
	u64 last_rtt_ns; /* the last one */
	struct recent_least path; /* the least round trip of late */
	u64 asked_ns; /* when the station said something that the server will answer; 0: nothing */
	u32 asked_stamp; /* its time stamp */
	u32 opened_seq; /* the sequence number of the SYN that opened it */
	u64 round_ns; /* when the running round trip began */
	u64 round_bytes; /* what arrived in it */
	u64 last_round_bytes; /* in the one before */
	u64 train_ns; /* since when data have come without a pause; 0: none yet */
	u64 train_bytes; /* their payload since */
	u64 surplus_bytes; /* what is still allowed by a window that was larger */
	u64 unpriced_ns; /* since when prices are 0; 0: the last one was not */
	u64 refilled_ns; /* when its window was last refilled; 0: never, or what was lost since tells of it */
	u64 overflown_ns; /* when that was last too much for the buffer; 0: never */
	u64 pooled; /* the rate with which it takes part in the pool's epoch, B/s; 0: it does not */
	s64 drift; /* how fast its window moves to the mean meanwhile, B/s */
	u32 epoch; /* the last one that it has met */
	u32 arrived; /* the sequence number up to which bytes have arrived, those behind a hole counted as if there were none */
	u32 reached; /* the highest sequence number that came */
	struct alike alike;
	struct binned_rate arrivals;
};

/* The connections of a station, taken together: see pool.h. */
struct pool {
	u32 lock;
	u32 epoch; /* the running one */
	u64 began_ns; /* when it did */
	u64 length_ns;
	u64 rates; /* of those that take part, B/s */
	u64 weights_q8; /* theirs */
	u64 rtt_ns; /* the longest round trip among them */
	u64 queue_ns; /* the longest queue that they see */
	u64 mean; /* in the epoch before: the rate for a weight of 1 */
	u64 last_queue_ns;
};

/* Packets and bytes by what became of them. */
struct count {
	u64 packets;
	u64 bytes;
};

enum counted {
	COUNTED_DATA, /* to clients, of connections that are steered */
	COUNTED_ACK, /* from clients, of those */
	COUNTED_LOWERED, /* the window of an ACK was lowered */
	COUNTED_MIDSTREAM, /* TCP whose beginning was not seen */
	COUNTED_UNHEARD, /* data of connections whose ACKs take another way, or that no window allowed */
	COUNTED_FOREIGN, /* MPTCP, TCP-MD5, TCP-AO */
	COUNTED_FULL, /* connections for which there was no room */
	COUNTED_FRAGMENT,
	COUNTED_UDP,
	COUNTED_IPSEC,
	COUNTED_MALFORMED,
	COUNTED_OTHER,
	COUNTED_STAMPED, /* the access point wrote its price into it */
	COUNTED_OVERWRITTEN, /* there was another one in it */
	COUNTED_UNSTAMPED, /* there was no room for it */
	COUNTED_MSS, /* the segments that a station asks for were made smaller by the price's room */
	COUNTED_MTU, /* so was the MTU that a router names of a packet that was too big */
	COUNTED_PRICED, /* it came with a price, which was taken out */
	COUNTED_UNPRICED, /* data of a connection that is known came without one */
	COUNTED_UPDATED, /* window updates for connections whose ACK was not at hand */
	COUNTED_KINDS,
};

#endif
