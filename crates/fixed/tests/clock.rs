// SPDX-License-Identifier: MIT OR Apache-2.0
//! ACKs are timed by their clients' own clocks, which may stand still, and are known by what they count.

use lasthop_fixed::estimate::recent_least;
use lasthop_fixed::proxy::{self, Glance};
use lasthop_fixed::state::{FlowRecord, PacketRecord, Settings, StationRecord, TCP_ACK, TCP_SYN};

const MS: u64 = 1_000_000;
const SEGMENT: u32 = 1440;
const SCALE: u8 = 7;
/// Without its own window's end in sight.
const WINDOW: u16 = 20_000;
/// A segment and its ACK each so long.
const EVERY_MS: u64 = 10;
const MILLISECONDS: u32 = 1;

/// A download whose client is 10 ms away.
struct Download {
    settings: Settings,
    flow: FlowRecord,
    station: StationRecord,
    seq: u32,
}

impl Download {
    fn new(is_hidden: u32) -> Self {
        let settings = Settings { target_ns: 25 * MS, theta_ns: 50 * MS, g_q10: 901, is_hidden, ..Settings::default() };
        let mut flow = FlowRecord::default();
        flow.weight_q8 = 256;
        let begins = |flags| PacketRecord {
            flags,
            mss: SEGMENT as u16,
            window: WINDOW,
            has_scale: 1,
            scale: SCALE,
            seq: u32::from(flags & TCP_ACK == 0),
            ack: 1,
            ..PacketRecord::default()
        };
        proxy::client_begins(&mut flow, &begins(TCP_SYN), MS);
        proxy::server_begins(&mut flow, &begins(TCP_SYN | TCP_ACK), 2 * MS, 0);
        Self { settings, flow, station: StationRecord::default(), seq: 1 }
    }

    /// A segment goes on, and its ACK comes after 10 ms, which its client's clock shows, and `late_ms` more.
    fn step(&mut self, at_ms: u64, late_ms: u64, stamp_ms: u64) {
        let queue = Glance::default();
        let bare = PacketRecord { flags: TCP_ACK, window: WINDOW, has_stamp: 1, ..PacketRecord::default() };
        let data = PacketRecord { payload: SEGMENT, segment: SEGMENT, seq: self.seq, ..bare };
        let now_ns = at_ms * MS;
        let found = proxy::meets(&self.settings, &mut self.station, now_ns, &queue, SEGMENT, 1, 0, 0);
        proxy::forwards(&self.settings, &mut self.flow, &mut self.station, &data, now_ns, &queue, &found, 0);
        self.seq += SEGMENT;
        let ack = PacketRecord { ack: self.seq, stamp: stamp_ms as u32, ..bare };
        let now_ns = (at_ms + 10 + late_ms) * MS;
        proxy::hears(&self.settings, &mut self.flow, &mut self.station, &ack, now_ns, &queue, 0);
    }
}

#[test]
fn a_client_that_slept_is_not_late_for_as_long() {
    for is_hidden in [0, 1] {
        for asleep_ms in [600, 2000, 10_000, 3_600_000] {
            let mut download = Download::new(is_hidden);
            let until_ms = 10_000;
            for at_ms in (10..until_ms).step_by(EVERY_MS as usize) {
                download.step(at_ms, 0, 5000 + at_ms);
            }
            assert_eq!(download.flow.clock_state, MILLISECONDS);
            for at_ms in (until_ms..until_ms + 5000).step_by(EVERY_MS as usize) {
                download.step(asleep_ms + at_ms, 0, 5000 + at_ms);
                let z_ns = download.flow.ack_delay_ns;
                assert!(z_ns < 20 * MS, "{is_hidden}: asleep for {asleep_ms} ms, {at_ms}: {z_ns}");
            }
            let path_ns = recent_least(&download.station.path.least);
            assert!((9 * MS..=12 * MS).contains(&path_ns), "{is_hidden}: {asleep_ms}: {path_ns}");
        }
    }
}

#[test]
fn acks_that_wait_in_the_first_second_do_not_hide_what_a_clock_counts() {
    for late_ms in [0, 200, 300, 900] {
        let mut download = Download::new(1);
        for at_ms in (10..14_000).step_by(EVERY_MS as usize) {
            download.step(at_ms, if at_ms < 500 { 0 } else { late_ms }, 5000 + at_ms);
        }
        assert_eq!(download.flow.clock_state, MILLISECONDS, "{late_ms}");
    }
}

#[test]
fn another_unit_is_none_that_is_gone_by() {
    for (unit_ms, late_ms) in [(4, 0), (4, 300), (10, 0), (2, 0)] {
        let mut download = Download::new(1);
        for at_ms in (10..20_000).step_by(EVERY_MS as usize) {
            download.step(at_ms, if at_ms < 500 { 0 } else { late_ms }, 5000 + at_ms / unit_ms);
            assert_ne!(download.flow.clock_state, MILLISECONDS, "{unit_ms} {late_ms}: {at_ms}");
        }
    }
}
