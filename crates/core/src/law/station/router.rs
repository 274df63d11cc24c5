// SPDX-License-Identifier: MIT OR Apache-2.0
//! The router's side of the station window: it says what it has sent, what waits and for how long a packet did, and knows nothing of
//! flows.
//!
//! A packet has room for the stamp of one line. Of two on its path the later one speaks in every other packet, so that the agent hears of
//! both as they are; if that spoke which has the longer queue, each would seem longer than it is.

use crate::error::ParameterError;
use crate::law::share::equations::{code, next_dither, rate_of};
use crate::packet::{Signal, StationStamp};
use crate::parameter::Parameter;
use crate::parameters;
use crate::role::{Held, MarkerLaw, Passing};
use crate::units::Instant;

/// The unit of a coarse stamp's wait \[s\], and of its count of what was sent \[B\].
const TICK_S: f64 = 1e-5;
const SENT_STEP: u32 = 256;
/// Bits of a coarse count of what was sent, in bytes.
const COARSE_BITS: u32 = 24;
/// Steps of an octave.
const STEPS: f64 = 8.0;
/// In which part of the packets that another line has stamped a line speaks itself.
const SPEAKS: f64 = 0.5;
/// Binary digits of a turn that lines take, each its own.
const DIGITS: u32 = 16;

parameters! {
    /// The station window's router.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct StationRouterParams {
        /// Whether a stamp has room for 4 bytes alone: queue and wait by 8 bits each, in eighths of an octave (of bytes, and of 10 µs),
        /// and what was sent in units of 256 B by 16 bits.
        pub coarse: bool = false;
    }
}

/// One queue's stamps.
#[derive(Clone, Copy, Debug)]
pub struct StationRouter {
    coarse: bool,
    line: u8,
    /// As even as a sequence can be, so that no flow is always told of the one line.
    turn: f64,
    /// All that has left \[B\], modulo 2³².
    sent_bytes: u32,
}

impl StationRouter {
    /// Whether its stamps have no room for the number of its line.
    pub fn is_coarse(&self) -> bool {
        self.coarse
    }

    /// Its stamps count what was sent modulo two to the power of this.
    pub fn sent_bits(&self) -> u32 {
        if self.coarse { COARSE_BITS } else { u32::BITS }
    }

    /// The stamp of a packet of `size_bytes` that leaves `behind_bytes` and has waited for `waited_s`.
    pub fn stamp(&mut self, size_bytes: u32, behind_bytes: f64, waited_s: f64) -> StationStamp {
        self.sent_bytes = self.sent_bytes.wrapping_add(size_bytes);
        let own = StationStamp { line: self.line, ..StationStamp::default() };
        let sent_bytes = self.sent_bytes;
        if self.coarse {
            // Of 0 the code is 0, and that is of 1. A wait is rounded down: of one that were too long the round trip would seem too
            // short, and the least of those is taken.
            let ticks = libm::exp2(libm::floor(STEPS * libm::log2(waited_s / TICK_S + 1.0)) / STEPS) - 1.0;
            StationStamp {
                sent_bytes: sent_bytes % (1 << COARSE_BITS) / SENT_STEP * SENT_STEP,
                behind_bytes: (rate_of(code(behind_bytes + 1.0)) - 1.0) as f32,
                waited_s: (ticks * TICK_S) as f32,
                ..own
            }
        } else {
            StationStamp { sent_bytes, behind_bytes: behind_bytes as f32, waited_s: waited_s as f32, ..own }
        }
    }
}

impl MarkerLaw for StationRouter {
    type Params = StationRouterParams;

    fn set_up(params: StationRouterParams) -> Result<Self, ParameterError> {
        params.validate()?;
        Ok(Self { coarse: params.coarse, line: 0, turn: 0.0, sent_bytes: 0 })
    }

    fn call_line(&mut self, number: u8) {
        self.line = number;
    }

    #[inline]
    fn on_departure(&mut self, now: Instant, packet: Passing, held: Held, signal: &mut Signal) {
        let waited_s = (now - packet.arrived).as_secs_f64();
        let it_is_its_turn = signal.station().is_some() && {
            self.turn = next_dither(self.turn);
            // Lines that take a binary digit each of the same sequence speak independently of each other.
            let digit = (u32::from(self.line) + DIGITS - 2) % DIGITS;
            let place = self.turn * f64::from(1 << digit);
            place - libm::floor(place) < SPEAKS
        };
        signal.stamp_station(self.stamp(packet.size.get() as u32, held.bytes.as_f64(), waited_s), it_is_its_turn);
    }
}
