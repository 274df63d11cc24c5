// SPDX-License-Identifier: MIT OR Apache-2.0
//! The routers of QFCP and XCP by BPF_PROG_TEST_RUN: what becomes of single packets. It takes root.

#[path = "support/skipped.rs"]
mod skipped;

use lasthop_agent::feedback::router::FeedbackRouter;
use lasthop_agent::feedback::shared::{RouterSettings, qfcp_settings};
use lasthop_agent::load::Gso;
use lasthop_core::law::qfcp::QfcpRouterParams;
use lasthop_core::units::Rate;
use lasthop_fixed::wire;
use lasthop_fixed::xcp::{self, XcpRouter, XcpSettings};
use proptest::prelude::*;
use skipped::or_skipped;

/// TCX_NEXT: another program, or the stack, goes on with the packet.
const PASSES_ON: u32 = u32::MAX;
const STAMP: [u8; 12] = [1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2];
const ASKS: [u8; 12] = [253, 12, 0x4c, 0x51, 0, 0, 0xff, 0xff, 0, 0, 0, 0];
/// What the router has at the start [B/s].
const RATE: u64 = 1_250_000;

/// The program of QFCP; none where it may not be loaded.
fn router() -> Option<FeedbackRouter> {
    let params = QfcpRouterParams {
        probing: false,
        ..QfcpRouterParams::new(Rate::from_bps(8 * RATE), Rate::from_bps(8 * RATE))
    };
    let settings = RouterSettings {
        qfcp: qfcp_settings(&params),
        link_header_bytes: 14,
        exid: 0x4c51,
        ..RouterSettings::default()
    };
    loaded(&settings)
}

/// That of XCP: a capacity of `RATE`, and XCP's own gains.
fn xcp_router() -> Option<FeedbackRouter> {
    let xcp = XcpSettings { capacity: RATE, alpha_q16: 26_214, beta_q16: 14_811, gamma_q16: 6554, pad: 0 };
    loaded(&RouterSettings { xcp, link_header_bytes: 14, exid: 0x4c58, is_xcp: 1, ..RouterSettings::default() })
}

fn loaded(settings: &RouterSettings) -> Option<FeedbackRouter> {
    or_skipped(FeedbackRouter::load(settings))
}

fn folded(bytes: &[u8], mut sum: u32) -> u16 {
    for pair in bytes.chunks(2) {
        sum += u32::from(pair[0]) << 8 | u32::from(*pair.get(1).unwrap_or(&0));
    }
    while sum >> 16 > 0 {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

/// A segment over Ethernet with these options.
fn frame(v6: bool, options: &[u8]) -> Vec<u8> {
    let tcp = 20 + options.len() + 8;
    let mut frame = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2];
    if v6 {
        frame.extend([0x86, 0xdd, 0x60, 0, 0, 0]);
        frame.extend((tcp as u16).to_be_bytes());
        frame.extend([6, 64]);
        frame.extend([[0xfd; 16], [0xfc; 16]].concat());
    } else {
        frame.extend([8, 0, 0x45, 0]);
        frame.extend((20 + tcp as u16).to_be_bytes());
        frame.extend([0, 1, 0x40, 0, 64, 6, 0, 0, 10, 1, 0, 2, 10, 2, 0, 2]);
    }
    let at = frame.len();
    frame.extend([0, 80, 1, 0, 0, 0, 0, 1, 0, 0, 0, 2, ((20 + options.len()) as u8) << 2, 16, 1, 0, 0, 0, 0, 0]);
    frame.extend(options);
    frame.extend([7; 8]);
    let sum = !unsummed(&frame, at);
    frame[at + 16..at + 18].copy_from_slice(&sum.to_be_bytes());
    frame
}

/// The sum over a segment that begins at `at`, and its pseudo-header: 0xffff where the checksum is right.
fn unsummed(frame: &[u8], at: usize) -> u16 {
    let addresses = if at == 34 { &frame[26..34] } else { &frame[22..54] };
    let begin = folded(addresses, 6 + (frame.len() - at) as u32);
    folded(&frame[at..], begin.into())
}

#[test]
fn what_asks_is_told_what_it_may_have() {
    let Some(router) = router() else { return };
    for v6 in [false, true] {
        // Where Linux has it, alone, and before a time stamp.
        for (options, option_at) in
            [([&STAMP[..], &ASKS].concat(), 12), (ASKS.to_vec(), 0), ([&ASKS[..], &STAMP].concat(), 0)]
        {
            let sent = frame(v6, &options);
            let (verdict, left) = router.try_packet(&sent).unwrap();
            let tcp_at = if v6 { 54 } else { 34 };
            let granted_at = tcp_at + 20 + option_at + 6;
            let granted = u16::from_be_bytes([left[granted_at], left[granted_at + 1]]);
            assert_eq!((verdict, granted), (PASSES_ON, wire::of(RATE)), "{v6} {option_at}");
            assert_eq!(unsummed(&left, tcp_at), 0xffff);
            let mut expected = sent;
            expected[granted_at..granted_at + 2].copy_from_slice(&granted.to_be_bytes());
            expected[tcp_at + 16..tcp_at + 18].copy_from_slice(&left[tcp_at + 16..tcp_at + 18]);
            assert_eq!(left, expected, "nothing else is touched");
        }
    }
    let told = router.counts().unwrap();
    assert_eq!((told.packets, told.asked, told.lowered), (6, 6, 6));
}

#[test]
fn what_has_less_already_or_does_not_ask_stays() {
    let Some(router) = router() else { return };
    let mut less = ASKS;
    less[6..8].copy_from_slice(&wire::of(RATE / 2).to_be_bytes());
    let mut other = ASKS;
    other[2] = 0;
    let echo = [253, 8, 0x4c, 0x51, 0xff, 0xff, 0, 0];
    for options in [&less[..], &other, &echo, &STAMP, &[]] {
        let sent = frame(false, options);
        assert_eq!(router.try_packet(&sent).unwrap(), (PASSES_ON, sent), "{options:?}");
    }
    let mut udp = frame(false, &ASKS);
    udp[23] = 17;
    assert_eq!(router.try_packet(&udp).unwrap(), (PASSES_ON, udp));
}

/// A segment that asks an XCP router, with a round-trip time of 10 ms and a window of 15 kB; and what it is granted.
fn asked_of_xcp(router: &FeedbackRouter, asked: u16) -> u16 {
    let mut option = ASKS;
    option[3] = 0x58;
    option[6..8].copy_from_slice(&asked.to_be_bytes());
    option[8..10].copy_from_slice(&wire::of(10_000).to_be_bytes());
    option[10..12].copy_from_slice(&wire::of(15_000).to_be_bytes());
    let sent = frame(false, &[&STAMP[..], &option].concat());
    let (verdict, left) = router.try_packet(&sent).unwrap();
    assert_eq!((verdict, unsummed(&left, 34)), (PASSES_ON, 0xffff));
    u16::from_be_bytes([left[72], left[73]])
}

#[test]
fn a_change_of_the_rate_is_dealt_out() {
    let Some(router) = xcp_router() else { return };
    // In the first interval nothing is known: nobody is told to change.
    assert_eq!(asked_of_xcp(&router, wire::ANY_CHANGE), 0);
    // Who has been told to slow down elsewhere is not told anything more.
    let less = wire::change_of(-1000 << 8);
    assert_eq!(asked_of_xcp(&router, less), less);
    // The line is idle but for a packet now and then: each interval after one with packets has what is spare to deal out.
    let spare = 0.4 * RATE as f64;
    let granted: Vec<f64> = (0..400)
        .map(|_| {
            std::thread::sleep(std::time::Duration::from_millis(3));
            wire::change_q8(asked_of_xcp(&router, wire::ANY_CHANGE)) as f64 / 256.0
        })
        .collect();
    let greatest = granted.iter().copied().fold(0.0, f64::max);
    assert!((0.02..=1.01).contains(&(greatest / spare)), "{greatest} {spare}");
    assert!(granted.iter().all(|change| *change >= 0.0), "{granted:?}");
    let (told, counts) = (router.record().unwrap(), router.counts().unwrap());
    assert_eq!((counts.packets, counts.asked, counts.lowered), (402, 402, 401));
    assert!(
        told.xcp.intervals > 10 && told.xcp.raise.left_q8 as f64 / 256.0 <= 1.01 * spare && told.qfcp.intervals == 0
    );
}

/// What the kernel's router keeps is what the host's does: by the same code, and the same numbers to the bit.
#[test]
fn kernel_and_host_count_alike() {
    let Some(router) = xcp_router() else { return };
    for _ in 0..5 {
        asked_of_xcp(&router, wire::ANY_CHANGE);
    }
    let counted = router.processors().unwrap();
    let sum = |of: fn(&XcpRouter) -> u64| counted.iter().map(|one| of(&one.xcp)).sum::<u64>();
    let size = frame(false, &[&STAMP[..], &ASKS].concat()).len() as u64;
    let share_ns = xcp::share_ns(10_000, size, wire::value(wire::of(15_000)));
    let found = (sum(|xcp| xcp.shares_ns), sum(|xcp| xcp.rtt_shares), sum(|xcp| xcp.input_bytes));
    assert_eq!(found, (5 * share_ns, 5 * 10_000 * share_ns, 5 * size));
}

#[test]
fn segments_of_a_super_packet_are_counted_if_nobody_has() {
    for gso_segs in [3, 0] {
        let Some(router) = router() else { return };
        // 8 B of payload.
        let sent = frame(false, &STAMP);
        router.try_packet_beside(&sent, Gso { gso_size: 3, gso_segs }).unwrap();
        let told = router.counts().unwrap();
        assert_eq!((told.packets, told.bytes), (3, (sent.len() + 2 * (sent.len() - 8)) as u64));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]
    #[test]
    fn whatever_comes_passes(cuts in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6), whole in any::<bool>()) {
        thread_local!(static ROUTERS: [Option<FeedbackRouter>; 2] = [router(), xcp_router()]);
        ROUTERS.with(|routers| for (router, of_xcp) in routers.iter().zip([false, true]) {
            let Some(router) = router else { return };
            let mut option = ASKS;
            option[3] = if of_xcp { 0x58 } else { 0x51 };
            let mut sent = frame(false, &[&STAMP[..], &option].concat());
            for (at, byte) in &cuts {
                let at = at.index(sent.len());
                sent[at] = *byte;
            }
            if !whole {
                sent.truncate(60);
            }
            let (verdict, left) = router.try_packet(&sent).unwrap();
            assert_eq!((verdict, left.len()), (PASSES_ON, sent.len()));
        });
    }
}
