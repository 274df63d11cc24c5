// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a proxy learns of a line's rate from looks at a queue that runs empty between them.

use lasthop_fixed::state::StationRecord;
use lasthop_fixed::station;

const US: u64 = 1000;
const MS: u64 = 1000 * US;
/// What a line of 1.25 MB/s carries in 10 ms.
const BURST: u64 = 12_500;

/// The looks at a queue, each so long after the one before: what it holds, and what has left since.
struct Looks {
    station: StationRecord,
    now_ns: u64,
    departed_bytes: u64,
}

impl Looks {
    fn new() -> Self {
        Self { station: StationRecord::default(), now_ns: MS, departed_bytes: 0 }
    }

    fn look(&mut self, after_ns: u64, queue_bytes: u64, gone_bytes: u64) {
        self.now_ns += after_ns;
        self.departed_bytes += gone_bytes;
        station::look(&mut self.station, self.now_ns, queue_bytes, self.departed_bytes);
    }

    /// The rate that is known by now lies between these \[kB/s\].
    #[track_caller]
    fn tells(&self, least: f64, most: f64) {
        let rate = station::rate(&self.station) as f64 / 1e3;
        assert!((least..=most).contains(&rate), "{rate} kB/s");
    }
}

/// A queue that never runs empty: 1.25 MB/s.
fn busy() -> Looks {
    let mut looks = Looks::new();
    (0..100).for_each(|_| looks.look(10 * MS, BURST, BURST));
    looks.tells(1249.0, 1251.0);
    looks
}

#[test]
fn a_line_that_sends_bursts_is_not_taken_for_slow() {
    let mut looks = busy();
    for _ in 0..200 {
        // What has come to an empty queue waits for its turn, and leaves all at once.
        looks.look(5 * MS, 0, 0);
        looks.look(20 * US, BURST, 0);
        looks.look(9900 * US, BURST, 0);
        looks.look(80 * US, 0, BURST);
    }
    looks.tells(1100.0, 1300.0);
}

#[test]
fn a_burst_at_the_end_of_a_wait_tells_of_no_rate() {
    let mut looks = busy();
    for _ in 0..200 {
        // It was seen as it came, and just before it left.
        looks.look(5 * MS, 0, 0);
        looks.look(10 * MS, BURST, 0);
        looks.look(100 * US, 0, BURST);
    }
    looks.tells(1249.0, 1251.0);
}

#[test]
fn a_faster_line_shows_though_its_queue_runs_empty() {
    // Twice as fast, each time until nothing waits: from below, for the line rests at the end.
    let mut looks = busy();
    for _ in 0..100 {
        looks.look(5 * MS, 0, 0);
        looks.look(100 * US, 10 * BURST, 0);
        looks.look(55 * MS, 0, 10 * BURST);
    }
    looks.tells(2000.0, 2500.0);
}
