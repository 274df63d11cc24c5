// SPDX-License-Identifier: MIT OR Apache-2.0
//! What routers write into passing packets.
use crate::error::ParameterError;
use crate::packet::Signal;
use crate::units::{Bytes, Instant};

/// A marker's parameters.
#[derive(Clone, Debug, Default)]
pub enum MarkerConfig {
    /// Writes nothing.
    #[default]
    None,
}

/// The marker of one queue.
#[derive(Debug)]
pub enum Marker {
    /// Writes nothing.
    None,
}

impl Marker {
    /// A marker.
    ///
    /// # Errors
    /// A parameter outside its domain.
    pub fn new(config: &MarkerConfig) -> Result<Self, ParameterError> {
        match config {
            MarkerConfig::None => Ok(Self::None),
        }
    }

    /// A packet joined the queue, which now holds `queued`.
    #[inline]
    pub fn on_arrival(&mut self, _now: Instant, _queued: Bytes) {}

    /// A packet of `size` leaves and `queued` stays behind.
    #[inline]
    pub fn on_departure(&mut self, _now: Instant, _size: Bytes, _queued: Bytes, _signal: &mut Signal) {}
}
