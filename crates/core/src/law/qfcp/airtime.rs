// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a medium that both directions share can carry, told by its time.
//!
//! On a WLAN an acknowledgement takes half as long as a packet of data, and the base station sends one for each packet that
//! comes in. A queue of them is nothing in bytes, and what leaves while it is drained, or while data are held back so that it
//! drains, says nothing of the capacity. In the medium's time all is of one measure: what comes takes so long a byte, and the
//! medium is full when it is never idle.

use super::equations;

/// The medium is full if it is idle for less than this share of the time.
const IDLE: f64 = 0.1;

/// What the medium can do.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Medium {
    /// What it would carry, of such traffic as comes, if it were never idle and another class had no more than it takes and its
    /// share \[B/s\].
    pub capacity: f64,
    /// What it would carry of it alone in the time that a packet of the queue takes, and one of the stations' \[B\].
    pub packet_bytes: f64,
    /// The latter.
    pub other_bytes: f64,
    /// Whether it is hardly ever idle.
    pub is_full: bool,
}

/// Keeps account of the medium's time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Airtime {
    running: Sums,
    average: Option<Sums>,
    /// Share of the time that another class leaves at least.
    share: f64,
}

/// Over an interval, or averaged over intervals.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Sums {
    /// What came, over the air and into the queue \[B\].
    input_bytes: f64,
    /// Packets that came into the queue, and that left it.
    joined: f64,
    left: f64,
    /// Packets that came over the air.
    crossed: f64,
    /// Time that the queue's packets took, and all others.
    own_s: f64,
    others_s: f64,
    /// Time that another class had, as a share of all.
    apart: f64,
    /// Share of the time in which the medium was busy.
    busy: f64,
}

impl Airtime {
    /// A packet comes to the queue, whether there is room or not.
    pub(super) fn joined(&mut self) {
        self.running.joined += 1.0;
    }

    /// A packet leaves the queue.
    pub(super) fn left(&mut self) {
        self.running.left += 1.0;
    }

    /// A packet comes over the air.
    pub(super) fn crossed(&mut self) {
        self.running.crossed += 1.0;
    }

    /// The medium was busy for so long, with the queue's own packet or with another.
    pub(super) fn busy(&mut self, airtime_s: f64, is_own: bool) {
        let Sums { own_s, others_s, .. } = &mut self.running;
        *(if is_own { own_s } else { others_s }) += airtime_s;
    }

    /// Another class had the medium for so long, and leaves `share` of the time at least.
    pub(super) fn gave_way(&mut self, airtime_s: f64, share: f64) {
        self.running.apart += airtime_s;
        self.share = share;
    }

    /// Packets that have left in this interval, and that came over the air.
    pub(super) fn departures(&self) -> (f64, f64) {
        (self.running.left, self.running.crossed)
    }

    /// Ends an interval that weighs `weight` in the averages. Nothing is known before the medium has carried something.
    pub(super) fn close(&mut self, input_bytes: f64, elapsed_s: f64, weight: f64) -> Option<Medium> {
        let running = core::mem::take(&mut self.running);
        let busy = (running.own_s + running.others_s) / elapsed_s;
        if busy <= 0.0 {
            return None;
        }
        let apart = running.apart / elapsed_s;
        let running = Sums { input_bytes, apart, busy: busy + apart, ..running };
        let average = self.average.map_or(running, |before| before.moved(&running, weight));
        self.average = Some(average);
        let packet_s = if average.left > 0.0 { average.own_s / average.left } else { 0.0 };
        let other_s = if average.crossed > 0.0 { average.others_s / average.crossed } else { 0.0 };
        let input_s = average.others_s + average.joined * packet_s;
        (input_s > 0.0).then(|| {
            let alone = average.input_bytes / input_s;
            let [packet_bytes, other_bytes] = [packet_s, other_s].map(|time_s| alone * time_s);
            let capacity = alone * (1.0 - average.apart).max(self.share);
            Medium { capacity, packet_bytes, other_bytes, is_full: average.busy > 1.0 - IDLE }
        })
    }
}

impl Sums {
    fn moved(&self, to: &Self, weight: f64) -> Self {
        let of = |field: fn(&Self) -> f64| equations::average(field(self), field(to), weight);
        Self {
            input_bytes: of(|sums| sums.input_bytes),
            joined: of(|sums| sums.joined),
            left: of(|sums| sums.left),
            crossed: of(|sums| sums.crossed),
            own_s: of(|sums| sums.own_s),
            others_s: of(|sums| sums.others_s),
            apart: of(|sums| sums.apart),
            busy: of(|sums| sums.busy),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An interval of 128 ms in which `data` packets of 1000 B come over the air and take 4 ms each, as many acknowledgements
    /// of 24 B are for the queue, and `sent` of them go, in 2 ms each.
    fn uploads(airtime: &mut Airtime, data: u32, sent: u32) -> Medium {
        for _ in 0..data {
            airtime.busy(1.0 / 256.0, false);
            airtime.joined();
        }
        for _ in 0..sent {
            airtime.busy(1.0 / 512.0, true);
            airtime.left();
        }
        airtime.close(1024.0 * f64::from(data), 0.125, 1.0).unwrap()
    }

    #[test]
    fn acknowledgements_that_wait_and_leave_do_not_change_what_the_medium_carries() {
        // 1024 B in 3/512 s: 512/3 kB/s. An acknowledgement takes a third of that time.
        let per_exchange = 1024.0 * 512.0 / 3.0;
        let mut airtime = Airtime::default();
        for (data, sent) in [(16, 16), (20, 8), (4, 32), (21, 21)] {
            let medium = uploads(&mut airtime, data, sent);
            assert!((medium.capacity - per_exchange).abs() < 1e-6, "{medium:?}");
            assert!((medium.packet_bytes - 1024.0 / 3.0).abs() < 1e-9, "{medium:?}");
        }
    }

    #[test]
    fn it_is_full_when_it_is_hardly_idle() {
        // 3/512 s each: 20 take 117 of 125 ms, 19 take 111.
        let mut airtime = Airtime::default();
        assert_eq!([20, 19].map(|n| uploads(&mut airtime, n, n).is_full), [true, false]);
    }

    #[test]
    fn another_class_leaves_its_share() {
        // 1000 B in a sixteenth of a second: 16 kB/s alone. The other class takes a quarter of the time, then three quarters.
        for (apart_s, left) in [(0.25, 0.75), (0.75, 0.5)] {
            let mut airtime = Airtime::default();
            airtime.joined();
            airtime.left();
            airtime.busy(0.0625, true);
            airtime.gave_way(apart_s, 0.5);
            let medium = airtime.close(1000.0, 1.0, 1.0).unwrap();
            assert_eq!((medium.capacity, medium.packet_bytes), (16_000.0 * left, 1000.0));
            assert!(!medium.is_full);
        }
    }

    #[test]
    fn what_was_before_fades() {
        let mut airtime = Airtime::default();
        airtime.busy(0.125, false);
        assert_eq!(airtime.close(1000.0, 0.125, 0.5).unwrap().capacity, 8000.0);
        // (1000 + 3000)/2 B in 125 ms.
        airtime.busy(0.125, false);
        assert_eq!(airtime.close(3000.0, 0.125, 0.5).unwrap().capacity, 16_000.0);
        assert_eq!(airtime.close(0.0, 0.125, 0.5), None, "a silent interval tells nothing");
    }
}
