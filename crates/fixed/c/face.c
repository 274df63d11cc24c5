/* SPDX-License-Identifier: Dual MIT/GPL */
/* What Rust calls: each function of the headers by a name of its own. */
#include "arith.h"
#include "estimate.h"
#include "clamp.h"
#include "share.h"
#include "gamma.h"
#include "qfcp.h"
#include "window.h"
#include "wire.h"
#include "proxy.h"
#include "receiver.h"
#include "xcp.h"

#define FACE(type, name, list, call) \
	type lasthop_##name list; \
	type lasthop_##name list { return name call; }
#define FACE_DO(name, list, call) \
	void lasthop_##name list; \
	void lasthop_##name list { name call; }

FACE(u64, times_q31, (u64 x, u64 factor_q31), (x, factor_q31))
FACE(u64, squared_q31, (u64 factor_q31), (factor_q31))
FACE(u64, decay_1600ms_q31, (u64 t_ns), (t_ns))
FACE(u64, decay_q31, (u64 x_q24), (x_q24))
FACE(u64, decay_over_q31, (u64 t_ns, u64 span_ns), (t_ns, span_ns))
FACE(u64, log2_q16, (u64 x), (x))
FACE(u64, lasts_ns, (u64 bytes, u64 rate), (bytes, rate))
FACE(u64, rate_of, (u64 bytes, u64 t_ns), (bytes, t_ns))
FACE(u64, towards, (u64 before, u64 sample, u64 keep_q31), (before, sample, keep_q31))
FACE(u64, over_arrivals_q16, (u64 before_q16, u64 queue_q16, u64 gap_ns), (before_q16, queue_q16, gap_ns))
FACE(u64, smoothed, (u64 before, u64 sample, u32 shift), (before, sample, shift))
FACE_DO(busy_window_add, (struct busy_window *w, u64 now_ns, u64 bytes), (w, now_ns, bytes))
FACE_DO(busy_window_rest, (struct busy_window *w), (w))
FACE_DO(binned_rate_add, (struct binned_rate *r, u64 now_ns, u32 bytes), (r, now_ns, bytes))
FACE(u64, binned_rate, (const struct binned_rate *r), (r))
FACE(u64, recent_least, (const struct recent_least *l), (l))
FACE_DO(recent_least_turn, (struct recent_least *l, u64 now_ns, u64 span_ns), (l, now_ns, span_ns))
FACE_DO(recent_least_add, (struct recent_least *l, u64 now_ns, u64 sample_ns, u64 span_ns), (l, now_ns, sample_ns, span_ns))
FACE(u64, clamp_linear_q16, (u64 queue_q16, u64 a_bytes), (queue_q16, a_bytes))
FACE(u64, clamp_smooth_q16, (u64 queue_q16, u64 a_bytes), (queue_q16, a_bytes))
FACE(u32, clamp_price_q30, (u64 excess_q16, u64 rate), (excess_q16, rate))
FACE(s64, clamp_force_q16, (u32 phi_q8, u32 tau_bytes, u32 price_q30, u64 rate), (phi_q8, tau_bytes, price_q30, rate))
FACE(s64, clamp_scaled_change_q16, (s64 force_q16, u64 delay_ns, u64 gap_ns), (force_q16, delay_ns, gap_ns))
FACE(u64, clamp_delay_ns, (u64 before_ns, u64 awnd_bytes, u64 rate), (before_ns, awnd_bytes, rate))
FACE(s64, clamp_clipped_q16, (s64 change_q16, u32 payload_bytes, u32 most_bytes), (change_q16, payload_bytes, most_bytes))
FACE(u64, clamp_slow_start_q16, (u64 window_q16, u32 mss_bytes), (window_q16, mss_bytes))
FACE(u64, clamp_end_of_slow_start_q16, (u64 window_q16), (window_q16))
FACE(u64, clamp_floored_q16, (u64 window_q16, s64 change_q16, u64 floor_bytes), (window_q16, change_q16, floor_bytes))
FACE(u64, clamp_advertised, (u64 window_bytes, u64 own_bytes), (window_bytes, own_bytes))
FACE(u64, share_horizon_of_ns, (u32 i), (i))
FACE_DO(share_rate_add, (struct share_rate *r, u64 span_ns, u64 bytes), (r, span_ns, bytes))
FACE(u64, share_rate_over, (const struct share_rate *r, u32 i), (r, i))
FACE_DO(share_rate_raise, (struct share_rate *r, u64 rate), (r, rate))
FACE(u64, share_error_q20, (u64 rate_log_q16, u64 forecast_log_q16), (rate_log_q16, forecast_log_q16))
FACE(u64, share_loss_q20, (u64 before_q20, u64 error_q20), (before_q20, error_q20))
FACE(int, share_is_better, (u64 loss_q20, u64 present_q20), (loss_q20, present_q20))
FACE(u64, share_fair, (u64 rate, u64 weights_q8), (rate, weights_q8))
FACE(u64, share_smoothed, (u64 before, u64 fair, u64 gap_ns, u64 delay_ns), (before, fair, gap_ns, delay_ns))
FACE(u64, share_wait_ns, (u64 queue_bytes, u64 rate), (queue_bytes, rate))
FACE(s64, share_room_ns, (u64 target_ns, u64 wait_ns, u32 kappa_q10), (target_ns, wait_ns, kappa_q10))
FACE(u64, share_horizon_ns, (u64 delay_ns, s64 room_ns, u32 g_q10), (delay_ns, room_ns, g_q10))
FACE(u64, share_window_bytes, (u32 phi_q8, u64 fair, u64 horizon_ns), (phi_q8, fair, horizon_ns))
FACE(u64, share_rate_beside, (u64 rate, u64 others_q10, int is_all), (rate, others_q10, is_all))
FACE(u64, share_target_beside_ns, (u64 target_ns, u64 wait_ns, u64 others_q10), (target_ns, wait_ns, others_q10))
FACE(u64, share_payload, (u64 wire_bytes, u32 mss_bytes, u32 header_bytes), (wire_bytes, mss_bytes, header_bytes))
FACE(int, share_path_changed, (u64 least_ns, u64 before_ns, u64 delay_ns, u64 target_ns), (least_ns, before_ns, delay_ns, target_ns))
FACE(int, share_wants_probe, (u64 least_ns, u64 last_ns), (least_ns, last_ns))
FACE(u64, whole_segments, (u64 window_bytes, u32 mss_bytes, u32 random), (window_bytes, mss_bytes, random))
FACE(int, is_after, (u32 a, u32 b), (a, b))
FACE(u32, right_edge, (u32 ack, u64 window_bytes, u32 edge), (ack, window_bytes, edge))
FACE(u16, window_field, (u32 ack, u32 edge, u32 scale, u16 own), (ack, edge, scale, own))
FACE(u32, gaimd_friendly_alpha_q16, (u32 beta_q16), (beta_q16))
FACE(u64, gaimd_increase_q16, (u64 window_q16, u32 alpha_q16, u32 acked), (window_q16, alpha_q16, acked))
FACE(u64, gaimd_decrease_q16, (u64 window_q16, u32 beta_q16), (window_q16, beta_q16))
FACE(int, gamma_is_above, (u32 threshold_q16, u32 rtt, u32 min_rtt, u32 max_rtt), (threshold_q16, rtt, min_rtt, max_rtt))
FACE(int, gamma_is_below, (u32 threshold_q16, u32 rtt, u32 min_rtt, u32 max_rtt), (threshold_q16, rtt, min_rtt, max_rtt))
FACE(u64, gamma_share_q24, (u32 threshold_q16, u32 min_rtt, u32 max_rtt), (threshold_q16, min_rtt, max_rtt))
FACE(u64, gamma_drain_q24, (u32 min_rtt, u32 standing_rtt), (min_rtt, standing_rtt))
FACE(u32, gamma_fading_maximum, (u32 max_rtt, u32 standing_rtt), (max_rtt, standing_rtt))
FACE(int, gamma_waits, (u32 rtt, u32 min_rtt, u64 window_q16), (rtt, min_rtt, window_q16))
FACE(u64, gamma_cut_q16, (u64 window_q16, u64 share_q24), (window_q16, share_q24))
FACE(u16, wire_of, (u64 x), (x))
FACE(u64, wire_value, (u16 coded), (coded))
FACE(u16, wire_change_of, (s64 change_q8), (change_q8))
FACE(s64, wire_change_q8, (u16 coded), (coded))
FACE(u64, qfcp_flows_q16, (u64 input, u64 rate), (input, rate))
FACE(u64, qfcp_probed_capacity, (u64 capacity, u64 output, u64 packets_q16, u32 alpha_q16), (capacity, output, packets_q16, alpha_q16))
FACE(u64, qfcp_keep_q31, (u64 forgets_q24, u64 intervals_q16), (forgets_q24, intervals_q16))
FACE(u64, qfcp_fair_rate, (u64 capacity, u64 queue_q4, u64 aim_bytes, u32 beta_q16, u64 interval_ns, u64 flows_q16), (capacity, queue_q4, aim_bytes, beta_q16, interval_ns, flows_q16))
FACE(u64, qfcp_virtual_queue, (u64 queue, u64 dropped), (queue, dropped))
FACE(u64, qfcp_window_q16, (u64 rate, u32 rtt_us, u32 wire_bytes), (rate, rtt_us, wire_bytes))
FACE_DO(qfcp_control, (struct qfcp_router *r, const struct qfcp_settings *s, const struct qfcp_measured *m), (r, s, m))
FACE_DO(qfcp_count, (struct qfcp_router *r, const struct qfcp_sight *sight, u64 size_bytes, u32 rtt_us), (r, sight, size_bytes, rtt_us))
void lasthop_qfcp_turn(struct qfcp_router *r, const struct qfcp_settings *s, const struct qfcp_sight *sight);
void lasthop_qfcp_turn(struct qfcp_router *r, const struct qfcp_settings *s, const struct qfcp_sight *sight) { qfcp_turn(r, s, sight, qfcp_close); }
FACE(s64, xcp_told_change_q8, (u32 alpha_q16, u32 beta_q16, u64 capacity, u64 input, u64 queue_bytes, u64 d_ns), (alpha_q16, beta_q16, capacity, input, queue_bytes, d_ns))
FACE(u64, xcp_shuffled_q8, (u32 gamma_q16, u64 input, u64 d_ns, s64 change_q8), (gamma_q16, input, d_ns, change_q8))
FACE(u64, xcp_share_ns, (u32 rtt_us, u64 size_bytes, u64 cwnd_bytes), (rtt_us, size_bytes, cwnd_bytes))
FACE_DO(xcp_fill, (struct xcp_pot *pot, u64 amount_q8, u64 units), (pot, amount_q8, units))
FACE(u64, xcp_part_q8, (const struct xcp_pot *pot, u64 units), (pot, units))
FACE(u64, xcp_window_q16, (u64 window_q16, s64 change_q8, u32 rtt_us, u32 wire_bytes), (window_q16, change_q8, rtt_us, wire_bytes))
FACE_DO(xcp_turn, (struct xcp_router *r, const struct xcp_settings *s, u64 now_ns, u64 queue_bytes), (r, s, now_ns, queue_bytes))
FACE_DO(xcp_count, (struct xcp_router *r, u64 queue_bytes, const struct xcp_header *h, u64 share_ns), (r, queue_bytes, h, share_ns))
FACE(s64, xcp_deal_q8, (struct xcp_router *r, const struct xcp_header *h, u64 share_ns), (r, h, share_ns))

FACE_DO(station_look, (struct station *s, u64 now_ns, u64 queue_bytes, u64 departed_bytes), (s, now_ns, queue_bytes, departed_bytes))
FACE_DO(station_arrival, (struct station *s, u64 now_ns), (s, now_ns))
FACE_DO(station_pass, (struct station *s, u64 bytes, int is_other), (s, bytes, is_other))
FACE(u32, station_price_q30, (struct station *s, u64 now_ns, u64 a_bytes), (s, now_ns, a_bytes))
FACE(u64, station_rate, (const struct station *s), (s))
FACE(u64, station_weights, (const struct station *s), (s))
FACE_DO(receiver_arrival, (struct receiver *r, u64 now_ns, u32 bytes, u32 segments), (r, now_ns, bytes, segments))
FACE_DO(receiver_rtt, (struct receiver *r, u64 now_ns), (r, now_ns))
FACE_DO(receiver_let_go, (struct receiver *r), (r))
FACE_DO(receiver_window, (struct receiver *r, u64 gap_ns, u32 payload, u32 tau_bytes), (r, gap_ns, payload, tau_bytes))
FACE_DO(proxy_server_begins, (struct flow *f, const struct packet *p, u64 now_ns, u64 wait_ns), (f, p, now_ns, wait_ns))
FACE(u16, proxy_client_begins, (struct flow *f, const struct packet *p, u64 now_ns), (f, p, now_ns))
FACE(struct found, proxy_meets, (const struct settings *set, struct station *s, u64 now_ns, const struct glance *queue, u32 bytes, int is_other, int begins), (set, s, now_ns, *queue, bytes, is_other, begins))
FACE_DO(proxy_forwards, (const struct settings *set, struct flow *f, struct station *s, const struct packet *p, u64 now_ns, const struct glance *queue, const struct found *found, u32 weight_q8), (set, f, s, p, now_ns, *queue, *found, weight_q8))
FACE(u16, proxy_hears, (const struct settings *set, struct flow *f, struct station *s, const struct packet *p, u64 now_ns, const struct glance *queue, u32 random), (set, f, s, p, now_ns, *queue, random))
FACE_DO(proxy_rests, (struct flow *f, struct station *s), (f, s))
FACE(int, proxy_is_silent, (const struct flow *f, u64 now_ns), (f, now_ns))

/* The size of a structure that Rust mirrors. */
u32 lasthop_size_of(u32 which);
u32 lasthop_size_of(u32 which)
{
	static const u32 sizes[] = { sizeof(struct settings), sizeof(struct packet), sizeof(struct flow), sizeof(struct station),
				     sizeof(struct receiver), sizeof(struct glance), sizeof(struct found) };

	return which < sizeof(sizes) / sizeof(*sizes) ? sizes[which] : 0;
}
