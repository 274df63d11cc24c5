// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a router writes into passing packets: the markers' laws, fed with the simulator's time and bytes.

use crate::error::ParameterError;
use crate::law::clamp::{Router, RouterParams};
use crate::packet::Signal;
use crate::units::{Bytes, Instant};

/// Which marker a queue has.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub enum MarkerConfig {
    /// Packets pass unmarked.
    #[default]
    None,
    /// CLAMP's price.
    Clamp(RouterParams),
}

/// A queue's marker.
#[derive(Clone, Debug)]
pub enum Marker {
    /// Packets pass unmarked.
    None,
    /// CLAMP's price. Boxed, as a queue without price should not carry its size.
    Clamp(Box<Router>),
}

impl Marker {
    /// The marker of an empty queue.
    ///
    /// # Errors
    /// If a parameter lies outside its domain.
    pub fn new(config: &MarkerConfig) -> Result<Self, ParameterError> {
        Ok(match *config {
            MarkerConfig::None => Self::None,
            MarkerConfig::Clamp(params) => {
                Self::Clamp(Box::new(Router::new(params).map_err(|error| error.within("price"))?))
            }
        })
    }

    /// A packet has joined the queue, which holds `queued` with it.
    #[inline]
    pub fn on_arrival(&mut self, now: Instant, queued: Bytes) {
        match self {
            Self::None => {}
            Self::Clamp(router) => router.on_arrival(now.as_secs_f64(), queued.as_f64()),
        }
    }

    /// Packets have been dropped from the queue, which holds `queued` without them.
    pub fn on_drop(&mut self, now: Instant, queued: Bytes) {
        match self {
            Self::None => {}
            Self::Clamp(router) => router.on_drop(now.as_secs_f64(), queued.as_f64()),
        }
    }

    /// A packet of `size` leaves, `queued` are behind it; its feedback is written into `signal`.
    #[inline]
    pub fn on_departure(&mut self, now: Instant, size: Bytes, queued: Bytes, signal: &mut Signal) {
        match self {
            Self::None => {}
            Self::Clamp(router) => {
                router.on_departure(now.as_secs_f64(), size.as_f64(), queued.as_f64());
                signal.raise_price(router.price_s());
            }
        }
    }

    /// The queue as the marker averages it \[B\].
    pub fn average_bytes(&self) -> Option<f64> {
        match self {
            Self::None => None,
            Self::Clamp(router) => Some(router.average_bytes()),
        }
    }

    /// The price \[s\].
    pub fn price(&self) -> Option<f64> {
        match self {
            Self::None => None,
            Self::Clamp(router) => Some(router.price_s()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_leaves_with_the_price_of_its_moment() {
        let config = MarkerConfig::Clamp(RouterParams::new(1000.0));
        let mut marker = Marker::new(&config).unwrap();
        // The first arrival after a long silence sets the average to the queue: e^(−2·100) is nothing.
        marker.on_arrival(Instant::from_nanos(100_000_000_000), Bytes::new(3000));
        let mut first = Signal::None;
        marker.on_departure(Instant::from_nanos(101_000_000_000), Bytes::new(1500), Bytes::new(1500), &mut first);
        assert_eq!(first, Signal::Price(0.0), "one departure gives no rate");
        let mut second = Signal::None;
        marker.on_departure(Instant::from_nanos(102_000_000_000), Bytes::new(1500), Bytes::ZERO, &mut second);
        // (3000 − 1000) B / 1500 B/s.
        assert!((second.price().unwrap() - 4.0 / 3.0).abs() < 1e-12, "{second:?}");
        assert_eq!(marker.average_bytes(), Some(3000.0));
    }

    #[test]
    fn no_marker_writes_nothing() {
        let mut marker = Marker::new(&MarkerConfig::None).unwrap();
        let mut signal = Signal::None;
        marker.on_departure(Instant::ZERO, Bytes::new(1500), Bytes::ZERO, &mut signal);
        assert_eq!((signal, marker.price(), marker.average_bytes()), (Signal::None, None, None));
    }

    #[test]
    fn errors_name_the_key() {
        let bad = MarkerConfig::Clamp(RouterParams { b: 0.0, ..RouterParams::new(0.0) });
        assert_eq!(Marker::new(&bad).unwrap_err().key, "price.b");
    }
}
