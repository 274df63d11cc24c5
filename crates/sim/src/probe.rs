// SPDX-License-Identifier: MIT OR Apache-2.0
//! Samples of windows, queues and radios at regular intervals.

use lasthop_core::packet::Parcel;
use lasthop_core::role::AnyMarker;
use lasthop_core::units::{Duration, Instant};

use crate::node::{Node, QueueState};
use crate::table::Table;

/// What was sampled so far.
#[derive(Debug)]
pub struct Recorder {
    every: Duration,
    from: Instant,
    last: Instant,
    flows: Vec<FlowSample>,
    queues: Vec<QueueSample>,
}

/// A flow's windows \[B\] at an instant.
#[derive(Clone, Copy, Debug)]
pub struct FlowSample {
    /// When.
    pub at: Instant,
    /// The flow's number.
    pub flow: u32,
    /// Congestion window.
    pub cwnd: u64,
    /// Advertised window.
    pub awnd: u64,
    /// Slow-start threshold.
    pub ssthresh: u64,
    /// Sent and not yet acknowledged.
    pub flight: u64,
    /// Acknowledged so far.
    pub acknowledged: u64,
    /// Smoothed round-trip time \[s\]; 0: not known yet.
    pub srtt_s: f64,
    /// Segments sent again, in the measured span so far.
    pub retransmits: u64,
}

#[derive(Clone, Copy, Debug)]
struct QueueSample {
    at: Instant,
    queue: u32,
    packets: u64,
    bytes: u64,
    average: f64,
    price: f64,
    fair_rate: f64,
    capacity: f64,
    departed: u64,
    snr: f64,
    margin: f64,
}

impl Recorder {
    /// Samples each `every` from `from` on, and at `last` at the latest.
    pub(crate) fn new(every: Duration, from: Instant, last: Instant) -> Self {
        Self { every, from, last, flows: vec![], queues: vec![] }
    }

    /// When the first sample is due.
    pub fn first(&self) -> Instant {
        self.from
    }

    /// When there is no more room for samples.
    pub fn last(&self) -> Instant {
        self.last
    }

    /// From one sample to the next.
    pub fn every(&self) -> Duration {
        self.every
    }

    /// When the sample after that of `now` is due; none if there is no more room.
    pub fn next(&self, now: Instant) -> Option<Instant> {
        Some(now + self.every).filter(|at| *at <= self.last)
    }

    /// Takes in samples of flows; those of one instant may come in several parts.
    pub fn extend_flows(&mut self, samples: impl IntoIterator<Item = FlowSample>) {
        self.flows.extend(samples);
    }

    /// Puts the samples of flows in order, where they did not come so.
    pub fn sort_flows(&mut self) {
        self.flows.sort_by_key(|sample| (sample.at, sample.flow));
    }

    /// Samples queues and radios.
    pub fn sample_queues<P: Parcel>(&mut self, now: Instant, nodes: &mut [Node<P>]) {
        let mut number = 0;
        for node in nodes {
            for queue in 0..node.queues() {
                self.queues.push(sample(now, number, &node.state(queue, now)));
                number += 1;
            }
        }
    }

    pub(crate) fn flow_table(&self) -> Table {
        // A window that nobody has bounded yet is shown as the greatest that fits.
        let bounded = |bytes: u64| i64::try_from(bytes).unwrap_or(i64::MAX);
        let mut table = Table::default();
        table.ints("time_ns", self.flows.iter().map(|s| s.at.as_nanos() as i64));
        table.ints("flow", self.flows.iter().map(|s| i64::from(s.flow)));
        table.ints("cwnd_bytes", self.flows.iter().map(|s| bounded(s.cwnd)));
        // The window field reaches 2³² − 1: that much bounds nobody.
        let advertised = |bytes: u64| if bytes >= u64::from(u32::MAX) { i64::MAX } else { bytes as i64 };
        table.ints("awnd_bytes", self.flows.iter().map(|s| advertised(s.awnd)));
        table.ints("ssthresh_bytes", self.flows.iter().map(|s| bounded(s.ssthresh)));
        table.ints("flight_bytes", self.flows.iter().map(|s| bounded(s.flight)));
        table.ints("acknowledged_bytes", self.flows.iter().map(|s| bounded(s.acknowledged)));
        let known = |rtt: f64| if rtt > 0.0 { rtt } else { f64::NAN };
        table.floats("rtt_s", self.flows.iter().map(|s| known(s.srtt_s)));
        table.ints("retransmits", self.flows.iter().map(|s| bounded(s.retransmits)));
        table
    }

    pub(crate) fn queue_table(&self) -> Table {
        let mut table = Table::default();
        table.ints("time_ns", self.queues.iter().map(|s| s.at.as_nanos() as i64));
        table.ints("queue", self.queues.iter().map(|s| i64::from(s.queue)));
        table.ints("packets", self.queues.iter().map(|s| s.packets as i64));
        table.ints("bytes", self.queues.iter().map(|s| s.bytes as i64));
        table.floats("average_bytes", self.queues.iter().map(|s| s.average));
        table.floats("price_s", self.queues.iter().map(|s| s.price));
        table.floats("fair_rate_bps", self.queues.iter().map(|s| s.fair_rate));
        table.floats("capacity_bps", self.queues.iter().map(|s| s.capacity));
        table.ints("departed_bytes", self.queues.iter().map(|s| s.departed as i64));
        table.floats("snr", self.queues.iter().map(|s| s.snr));
        table.floats("margin", self.queues.iter().map(|s| s.margin));
        table
    }
}

fn sample(at: Instant, queue: u32, state: &QueueState<'_>) -> QueueSample {
    let marker = state.marker;
    let (fair_rate, capacity) = marker.and_then(AnyMarker::fair_rate).unwrap_or((f64::NAN, f64::NAN));
    QueueSample {
        at,
        queue,
        packets: state.packets as u64,
        bytes: state.bytes.get(),
        average: marker.and_then(AnyMarker::average_bytes).unwrap_or(f64::NAN),
        price: marker.and_then(AnyMarker::price).unwrap_or(f64::NAN),
        fair_rate: fair_rate * 8.0,
        capacity: capacity * 8.0,
        departed: state.departed.get(),
        snr: state.snr.unwrap_or(f64::NAN),
        margin: state.margin.unwrap_or(f64::NAN),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_end_where_their_room_does() {
        let ms = |ms| Instant::ZERO + Duration::from_millis(ms);
        let recorder = Recorder::new(Duration::from_millis(10), ms(5), ms(25));
        assert_eq!(
            (recorder.first(), recorder.next(ms(5)), recorder.next(ms(15))),
            (ms(5), Some(ms(15)), Some(ms(25)))
        );
        assert_eq!(recorder.next(ms(25)), None);
    }
}
