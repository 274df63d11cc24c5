// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a router writes into passing packets: the markers' laws, fed with the simulator's time and bytes.

use crate::error::ParameterError;
use crate::law::{clamp, qfcp, xcp};
use crate::packet::{Signal, XcpHeader};
use crate::units::{Bytes, Instant};

/// Which marker a queue has.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub enum MarkerConfig {
    /// Packets pass unmarked.
    #[default]
    None,
    /// CLAMP's price.
    Clamp(clamp::RouterParams),
    /// XCP's, or XCP-b's, change of the window.
    Xcp(xcp::RouterParams),
    /// QFCP's rate.
    Qfcp(qfcp::RouterParams),
}

/// A queue's marker. Boxed, as a queue without one should not carry its size.
#[derive(Clone, Debug)]
pub enum Marker {
    /// Packets pass unmarked.
    None,
    /// CLAMP's price.
    Clamp(Box<clamp::Router>),
    /// XCP's, or XCP-b's, change of the window.
    Xcp(Box<xcp::Router>),
    /// QFCP's rate.
    Qfcp(Box<qfcp::Router>),
}

/// What a queue holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Held {
    /// Packets.
    pub packets: usize,
    /// Bytes, without what has been sent of the head.
    pub bytes: Bytes,
}

impl Marker {
    /// The marker of an empty queue.
    ///
    /// # Errors
    /// If a parameter lies outside its domain.
    pub fn new(config: &MarkerConfig) -> Result<Self, ParameterError> {
        let feedback = |error: ParameterError| error.within("feedback");
        Ok(match *config {
            MarkerConfig::None => Self::None,
            MarkerConfig::Clamp(params) => {
                Self::Clamp(Box::new(clamp::Router::new(params).map_err(|error| error.within("price"))?))
            }
            MarkerConfig::Xcp(params) => Self::Xcp(Box::new(xcp::Router::new(params).map_err(feedback)?)),
            MarkerConfig::Qfcp(params) => Self::Qfcp(Box::new(qfcp::Router::new(params).map_err(feedback)?)),
        })
    }

    /// A packet of `size` joins the queue, which holds `held` with it.
    #[inline]
    pub fn on_arrival(&mut self, now: Instant, size: Bytes, held: Held, signal: &Signal) {
        match self {
            Self::None => {}
            Self::Clamp(router) => router.on_arrival(now.as_secs_f64(), held.bytes.as_f64()),
            Self::Xcp(router) => {
                let before = held.bytes.as_f64() - size.as_f64();
                router.on_arrival(now.as_secs_f64(), size.as_f64(), before, xcp_header(signal).as_ref());
            }
            Self::Qfcp(router) => {
                let before = (held.packets.saturating_sub(1), held.bytes.as_f64() - size.as_f64());
                router.on_arrival(now.as_secs_f64(), size.as_f64(), before, rtt_s(signal));
            }
        }
    }

    /// A packet of `size` came and found no room.
    #[cold]
    pub fn on_overflow(&mut self, size: Bytes) {
        if let Self::Qfcp(router) = self {
            router.on_overflow(size.as_f64());
        }
    }

    /// Packets have been dropped from the queue, which holds `queued` without them.
    pub fn on_drop(&mut self, now: Instant, queued: Bytes) {
        match self {
            Self::None | Self::Xcp(_) | Self::Qfcp(_) => {}
            Self::Clamp(router) => router.on_drop(now.as_secs_f64(), queued.as_f64()),
        }
    }

    /// A packet of `size` leaves, `held` are behind it; its feedback is written into `signal`.
    #[inline]
    pub fn on_departure(&mut self, now: Instant, size: Bytes, held: Held, signal: &mut Signal) {
        match self {
            Self::None => {}
            Self::Clamp(router) => {
                router.on_departure(now.as_secs_f64(), size.as_f64(), held.bytes.as_f64());
                signal.raise_price(router.price_s());
            }
            Self::Xcp(router) => {
                let header = xcp_header(signal);
                let granted =
                    router.on_departure(now.as_secs_f64(), size.as_f64(), held.bytes.as_f64(), header.as_ref());
                if let Some(change_bytes) = granted {
                    signal.lower_change(change_bytes);
                }
            }
            Self::Qfcp(router) => {
                router.on_departure(now.as_secs_f64(), size.as_f64(), (held.packets, held.bytes.as_f64()));
                signal.lower_rate(router.rate());
                signal.break_silence();
            }
        }
    }

    /// The line has nothing to send.
    #[inline]
    pub fn on_rest(&mut self) {
        if let Self::Xcp(router) = self {
            router.on_rest();
        }
    }

    /// A packet of `size` has crossed a medium that both directions share, against the queue's own, which holds `held`. It
    /// is stamped where the router speaks for both.
    pub fn on_crossing(&mut self, now: Instant, size: Bytes, held: Held, signal: &mut Signal) {
        if let Self::Qfcp(router) = self
            && router.is_simplex()
        {
            let queue = (held.packets, held.bytes.as_f64());
            router.on_crossing(now.as_secs_f64(), size.as_f64(), queue, rtt_s(signal));
            signal.lower_rate(router.rate());
        }
    }

    /// The queue as the marker averages it \[B\].
    pub fn average_bytes(&self) -> Option<f64> {
        match self {
            Self::None | Self::Xcp(_) => None,
            Self::Clamp(router) => Some(router.average_bytes()),
            Self::Qfcp(router) => Some(router.average_bytes()),
        }
    }

    /// The price \[s\].
    pub fn price(&self) -> Option<f64> {
        match self {
            Self::Clamp(router) => Some(router.price_s()),
            Self::None | Self::Xcp(_) | Self::Qfcp(_) => None,
        }
    }

    /// The rate that a flow may have, and the capacity that the router reckons with \[B/s\].
    pub fn fair_rate(&self) -> Option<(f64, f64)> {
        match self {
            Self::Qfcp(router) => Some((router.rate(), router.capacity())),
            Self::None | Self::Clamp(_) | Self::Xcp(_) => None,
        }
    }
}

fn xcp_header(signal: &Signal) -> Option<xcp::Header> {
    let Signal::Xcp(XcpHeader { cwnd_bytes, rtt_s, change_bytes }) = *signal else { return None };
    Some(xcp::Header {
        cwnd_bytes: f64::from(cwnd_bytes),
        rtt_s: f64::from(rtt_s),
        change_bytes: f64::from(change_bytes),
    })
}

fn rtt_s(signal: &Signal) -> Option<f64> {
    match *signal {
        Signal::Qfcp(header) => Some(f64::from(header.rtt_s)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::law::clamp::RouterParams;
    use crate::packet::QfcpHeader;

    fn held(packets: usize, bytes: u64) -> Held {
        Held { packets, bytes: Bytes::new(bytes) }
    }

    #[test]
    fn a_packet_leaves_with_the_price_of_its_moment() {
        let config = MarkerConfig::Clamp(RouterParams::new(1000.0));
        let mut marker = Marker::new(&config).unwrap();
        // The first arrival after a long silence sets the average to the queue: e^(−2·100) is nothing.
        marker.on_arrival(Instant::from_nanos(100_000_000_000), Bytes::new(1500), held(2, 3000), &Signal::None);
        let mut first = Signal::None;
        marker.on_departure(Instant::from_nanos(101_000_000_000), Bytes::new(1500), held(1, 1500), &mut first);
        assert_eq!(first, Signal::Price(0.0), "one departure gives no rate");
        let mut second = Signal::None;
        marker.on_departure(Instant::from_nanos(102_000_000_000), Bytes::new(1500), held(0, 0), &mut second);
        // (3000 − 1000) B / 1500 B/s.
        assert!((second.price().unwrap() - 4.0 / 3.0).abs() < 1e-12, "{second:?}");
        assert_eq!(marker.average_bytes(), Some(3000.0));
    }

    #[test]
    fn no_marker_writes_nothing() {
        let mut marker = Marker::new(&MarkerConfig::None).unwrap();
        let mut signal = Signal::None;
        marker.on_departure(Instant::ZERO, Bytes::new(1500), held(0, 0), &mut signal);
        assert_eq!((signal, marker.price(), marker.average_bytes()), (Signal::None, None, None));
    }

    #[test]
    fn a_router_that_speaks_for_both_directions_stamps_both() {
        let stamped = |simplex| {
            let params = qfcp::RouterParams { simplex, ..qfcp::RouterParams::new(1e5, 1e6) };
            let mut marker = Marker::new(&MarkerConfig::Qfcp(params)).unwrap();
            let asked = Signal::Qfcp(QfcpHeader { rtt_s: 0.1, rate: f32::INFINITY, silent: 2 });
            let (mut own, mut other) = (asked, asked);
            marker.on_departure(Instant::ZERO, Bytes::new(1500), held(0, 0), &mut own);
            marker.on_crossing(Instant::ZERO, Bytes::new(1500), held(0, 0), &mut other);
            [own, other]
        };
        let header = |rate, silent| Signal::Qfcp(QfcpHeader { rtt_s: 0.1, rate, silent });
        // The queue that the other left has spoken for itself.
        assert_eq!(stamped(true), [header(1e5, 1), header(1e5, 2)]);
        assert_eq!(stamped(false), [header(1e5, 1), header(f32::INFINITY, 2)]);
    }

    #[test]
    fn errors_name_the_key() {
        let lost = MarkerConfig::Qfcp(qfcp::RouterParams::new(0.0, 1.0));
        assert_eq!(Marker::new(&lost).unwrap_err().key, "feedback.capacity");
        let told = xcp::Efficiency::Told { capacity: -1.0 };
        let lost = MarkerConfig::Xcp(xcp::RouterParams::new(told));
        assert_eq!(Marker::new(&lost).unwrap_err().key, "feedback.capacity");
        let bad = MarkerConfig::Clamp(RouterParams { b: 0.0, ..RouterParams::new(0.0) });
        assert_eq!(Marker::new(&bad).unwrap_err().key, "price.b");
    }
}
